"""Claims on trial: the computed verdict is the ledger's, and another input turns it."""

import dataclasses
import datetime

import pytest

from hwlab.specs.chips import chip
from hwlab.specs.claims import claim, claims
from hwlab.specs.models import model
from hwlab.specs.papers import paper, papers
from hwlab.studies.flop_shares import FlopShare, mamba_block, resnet50, transformer
from hwlab.studies.trials import bound, judged_by_choice, judged_by_source, trial, try_claim, within_factor


@pytest.mark.parametrize("id", bound())
def test_the_recomputed_verdict_is_the_ledgers(id):
    found = try_claim(id)
    assert found.verdict == claim(id).verdict
    assert len(found.recomputed) > 5 and found.by.startswith("hwlab.studies.trials.")


def test_every_row_of_chapter_two_is_bound_and_so_are_those_that_open_it():
    ids = {c.id for c in claims(chapter=2)} | {"C030", "C031", "C032", "C033"}
    assert ids <= set(bound())


def _published(title_of=None, **dates):
    """The papers on record with some dates, or the title of one, changed."""
    for record in papers():
        changed = {"date": dates.get(record.id.replace("-", "_"), record.date)}
        yield dataclasses.replace(record, **changed, **({"title": "Another"} if record.id == title_of else {}))


def _uncredited(relation):
    hoffmann = dataclasses.replace(paper("hoffmann-2022"), credits={}, date=datetime.date(2019, 1, 1))
    return (paper("kaplan-2020"), dataclasses.replace(hoffmann, states={relation: "first"}))


def _llama(**fields):
    """A 70B-like configuration with some fields changed."""
    config = {
        "model_type": "llama", "num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64,
        "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 32000, "tie_word_embeddings": False,
        "max_position_embeddings": 4096,
    }  # fmt: skip
    from hwlab.specs.models import ModelSpec

    return ModelSpec.from_config({**config, **fields})


def _chip(id, *, peaks=None, bandwidth=None, cores=None):
    known = chip(id)
    figures = dict(known.figures)
    for dtype, value in (peaks or {}).items():
        figures[f"peak_flop_per_s.{dtype}"] = dataclasses.replace(
            figures[f"peak_flop_per_s.{dtype}"], value=value, rivals=()
        )
    return dataclasses.replace(
        known,
        peak_flop_per_s={**known.peak_flop_per_s, **(peaks or {})},
        memory_bytes_per_s=bandwidth or known.memory_bytes_per_s,
        counts={**known.counts, **({"cores": cores} if cores else {})},
        figures=figures,
    )


# claim: inputs under which its verdict is another
TURNED = {
    "C003": (lambda: {"block": FlopShare(1.0, 1.0)}, "corrected"),
    "C004": (lambda: {"lengths": (64, 1024)}, "confirmed"),
    "C005": (lambda: {"model": model("rwkv-4-169m")}, "corrected"),
    "C006": (lambda: {"model": _llama(num_hidden_layers=12)}, "corrected"),
    "C007": (lambda: {"model": _llama(num_key_value_heads=64)}, "confirmed"),
    "C008": (lambda: {"tokens": 131_072}, "corrected"),
    "C009": (lambda: {"model": model("mistral-7b-v0.1")}, "corrected"),
    "C013": (lambda: {"known": _uncredited("training-flop")}, "confirmed"),
    "C014": (lambda: {"known": _uncredited("forward-flop")}, "confirmed"),
    "C015": (lambda: {"known": tuple(_published(title_of="hoffmann-2022"))}, "corrected"),
    "C021": (lambda: {"chip": _chip("xeon-8480plus", bandwidth=5e9)}, "confirmed"),
    "C022": (lambda: {"intensity": lambda size, dtype: size**0.5}, "corrected"),
    "C024": (lambda: {"size": 64}, "confirmed"),
    "C030": (lambda: {"chip": _chip("xeon-8480plus", peaks={"fp32": 25e9})}, "confirmed"),
    "C031": (lambda: {"chip": _chip("xeon-8480plus", cores=60)}, "confirmed"),
    "C032": (lambda: {"chip": _chip("h100-sxm", peaks={"fp32": 200e12})}, "confirmed"),
    "C033": (lambda: {"cpu": _chip("xeon-8480plus", peaks={"fp32": 10e9})}, "definition"),
    "C105": (lambda: {"model": _llama(num_hidden_layers=1)}, "corrected"),
}


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
