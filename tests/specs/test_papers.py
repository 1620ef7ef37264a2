"""Papers on record: whole, and consistent where a figure stands twice."""

import dataclasses

import pytest

from hwlab.specs.chips import chip
from hwlab.specs.papers import paper, papers


@pytest.mark.parametrize("record", papers(), ids=lambda p: p.id)
def test_a_paper_is_named_by_its_first_author_and_year_and_says_where_it_is(record):
    assert record.id == f"{record.authors[0].lower()}-{record.date.year}"
    assert record.url.startswith("https://") and record.title and record.organisation
    assert not record.venue or int(record.venue[-4:]) - record.date.year in (0, 1)


def test_relations_are_taken_from_papers_on_record():
    known = {p.id: p for p in papers()}
    for record in papers():
        for relation, origin in record.credits.items():
            assert relation in record.states and relation in known[origin].states
            assert known[origin].date < record.date


def test_what_google_measured_against_the_a100_is_a_range_each():
    gives = paper("jouppi-2023").gives
    for name in ("a100_power_over_tpu_v4", "tpu_v4_over_a100_speed"):
        assert 1 < gives[f"{name}_low"] < gives[f"{name}_high"] < 2
    # The larger saving of power is near what the two measured and design powers allow
    allows = chip("a100-sxm-80gb").tdp_watts / chip("tpu-v4").figure("measured_watts.max").value
    assert gives["a100_power_over_tpu_v4_high"] < allows


def test_records_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        paper("kaplan-2020").title = "Another"
