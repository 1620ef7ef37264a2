"""The ledger: whole, each row once, and nothing in it but what a reader may read."""

import re

import pytest

from hwlab.specs.claims import CHECKS, SOURCE_TEXTS, VERDICTS, Claim, claim, claims
from hwlab.specs.figure import UnknownId


def test_there_are_334_claims_and_each_is_in_one_chapter():
    rows = claims()
    assert len(rows) == 334
    assert len({c.id for c in rows}) == 334
    assert [c.id for c in rows] == sorted(c.id for c in rows)
    by_chapter = [claims(chapter=number) for number in range(1, 18)]
    assert all(by_chapter)
    assert sum(map(len, by_chapter)) == 334


def test_the_sources_verdicts_and_kinds_of_check_are_all_in_use():
    assert {c.source_text for c in claims()} == set(SOURCE_TEXTS)
    assert {c.verdict for c in claims()} == set(VERDICTS)
    assert {c.check for c in claims()} == set(CHECKS)
    assert sum(len(claims(verdict=verdict)) for verdict in VERDICTS) == 334


def test_chapter_two_shows_the_fourteen_rows_about_matrix_products():
    ids = "C003 C004 C005 C006 C007 C008 C009 C013 C014 C015 C021 C022 C024 C105"
    assert [c.id for c in claims(chapter=2)] == ids.split()


def test_every_claim_has_a_sentence_and_a_reason_and_every_verdict_but_unchecked_a_source():
    for c in claims():
        assert len(c.sentence) > 10 and len(c.explanation) > 5, c.id
        assert c.sources or c.verdict == "unchecked" or c.check == "opinion", c.id


def test_the_ledger_names_no_file_of_a_workplace_and_no_claim_set_aside():
    for c in claims():
        text = " ".join((c.sentence, c.explanation, *c.figures, *c.sources))
        assert not re.search(r"(?<![\w.])/(?:work|root|tmp|home)\b|\.txt\b|\bseed\b|C186|C236|C237", text), c.id
        assert all(source.count("(") == source.count(")") for source in c.sources), c.id


def test_an_unknown_claim_is_refused_with_the_nearest_ids():
    with pytest.raises(UnknownId, match="no claim 'C0091'; nearest: C091, C009"):
        claim("C0091")
    with pytest.raises(UnknownId, match="no claim None"):
        claim(None)
    with pytest.raises(ValueError, match="must be one of confirmed"):
        claims(verdict="true")


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [("verdict", "true", "must be one of"), ("source_text", "book", "must be one of"), ("chapter", 18, "1 to 17")],
)
def test_a_record_refuses_what_the_ledger_cannot_mean(field, value, says):
    good = claim("C009")
    fields = {name: getattr(good, name) for name in Claim.__slots__}
    with pytest.raises(ValueError, match=says):
        Claim(**{**fields, field: value})
