"""Claims on trial: the computed verdict is the ledger's, and another input turns it."""

from importlib import import_module
from pathlib import Path

import pytest

from hwlab.specs.claims import claim, claims
from hwlab.specs.models import model
from hwlab.specs.papers import paper
from hwlab.studies.flop_shares import mamba_block, resnet50, transformer
from hwlab.studies.trials import bound, judged_by_choice, judged_by_source, trial, try_claim, within_factor


@pytest.mark.parametrize("id", bound())
def test_the_recomputed_verdict_is_the_ledgers(id):
    found = try_claim(id)
    assert found.verdict == claim(id).verdict
    assert len(found.recomputed) > 5 and found.by.startswith("hwlab.studies.trials.")


def test_every_row_of_chapter_two_is_bound_and_so_are_those_that_open_it():
    ids = {c.id for c in claims(chapter=2)} | {"C030", "C031", "C032", "C033"}
    assert ids <= set(bound())


TURNED = {
    id: case
    for path in sorted((Path(__file__).parent / "turned").glob("*.py"))
    for id, case in import_module(f"tests.studies.turned.{path.stem}").TURNED.items()
}
"""Claim -> (function that gives the inputs, the verdict under them): a file a topic, as the trials have."""


def test_every_bound_claim_has_an_input_that_is_changed():
    assert set(TURNED) == set(bound())


@pytest.mark.parametrize("id", [id for id in TURNED if id != "C105"])
def test_another_input_turns_the_verdict(id):
    inputs, verdict = TURNED[id]
    assert try_claim(id, **inputs()).verdict == verdict != claim(id).verdict


def test_a_prompt_takes_nine_products_even_in_one_layer():
    found = try_claim("C105", **TURNED["C105"][0]())
    assert found.recomputed == "One pass of 7 products with weights and 2 of attention"


def test_the_products_of_three_architectures_are_counted_from_their_shapes():
    assert resnet50().matmul_flop / 2 == pytest.approx(4.089e9, rel=1e-3)  # torchvision documents 4.09 GMAC
    width = 2560
    assert mamba_block(width).matmul_flop == 12.5 * width**2 + 128 * width
    llama = model("llama-2-70b")
    assert transformer(llama, 1024).matmul_flop == llama.flop(1024)
    assert 0.999 < transformer(llama, 1024).share < 1


def test_verdicts_follow_from_whether_readings_agree():
    assert [judged_by_choice(True, True), judged_by_choice(False, False)] == ["confirmed", "corrected"]
    assert judged_by_choice(True, False) == "definition" and judged_by_source(True, False) == "disputed"
    assert within_factor(1, 2, 2) and within_factor(2, 1, 2) and not within_factor(1, 2.1, 2)


def test_a_claim_is_bound_once_and_only_if_it_exists():
    with pytest.raises(KeyError, match="no claim 'C000'"):
        trial("C000")
    with pytest.raises(ValueError, match="bound to products_in_a_pass already"):
        trial("C006")(lambda: None)
    with pytest.raises(KeyError, match="no trial recomputes claim C337"):
        try_claim("C337")
    with pytest.raises(KeyError, match="no paper 'kaplan'; nearest: kaplan-2020"):
        paper("kaplan")
