"""The batch explorer agrees with the cost model, and its sentence is right at the edges."""

import math

import pytest

from hwlab.costs.roofline import matmul_time, ridge_tokens
from hwlab.figures.roofline import CHIPS, batch_explorer
from hwlab.specs.chips import chip


@pytest.fixture(scope="module")
def explorer():
    return batch_explorer()


def set_state(explorer, **state):
    for name, value in ({"tokens": 1, "chip": "h100-sxm", "width": "16 bits", "d_model": 8192} | state).items():
        setattr(explorer, name, value)


def test_the_rate_is_that_of_the_cost_model(explorer):
    for id in CHIPS:
        dtype = "bf16" if "bf16" in chip(id).peak_flop_per_s else "fp16"
        for tokens in (1, 7, 300, 4096):
            set_state(explorer, tokens=tokens, chip=id)
            took = matmul_time(tokens, 8192, 8192, dtype=dtype, chip=chip(id)).seconds
            assert explorer.value() == pytest.approx(2 * tokens * 8192**2 / took, rel=1e-12)


def test_one_token_starves_an_h100_and_the_sentence_says_when_it_flips(explorer):
    set_state(explorer)
    flip = math.ceil(ridge_tokens(8192, 8192, dtype="bf16", chip=chip("h100-sxm")))
    assert explorer.says() == (
        "With 1 token in a step the memory binds, by 295×: 0.339 % of the arithmetic of H100 SXM5 80GB is at work. "
        f"It flips at {flip} tokens."
    )


def test_just_below_and_just_above_the_flip(explorer):
    flip = ridge_tokens(8192, 8192, dtype="bf16", chip=chip("h100-sxm"))
    set_state(explorer, tokens=flip - 0.01)
    assert "the memory binds, by a hair" in explorer.says()
    set_state(explorer, tokens=flip + 0.01)
    assert "the arithmetic binds" in explorer.says() and f"From {math.ceil(flip)} tokens on" in explorer.says()


def test_where_no_batch_flips_it_the_sentence_says_so(explorer):
    set_state(explorer, chip="xeon-8480plus", d_model=1024, tokens=4096)
    flips = ridge_tokens(1024, 1024, dtype="bf16", chip=chip("xeon-8480plus"))
    assert f"From {math.ceil(flips):,} tokens on" in explorer.says()
    narrow = batch_explorer(["tpu-v6e", "h100-sxm"])
    narrow.d_model = 1024
    with pytest.raises(ValueError, match="never does more than"):
        ridge_tokens(1024, 1024, dtype="bf16", chip=chip("tpu-v6e"))
    assert "No batch flips it" in narrow.says()


def test_on_a_wafer_the_arithmetic_binds_from_the_first_token(explorer):
    set_state(explorer, chip="wse-3")
    assert "From the first token on" in explorer.says()


def test_a_peak_that_nobody_publishes_is_named_and_not_drawn(explorer):
    set_state(explorer, chip="a100-sxm-80gb", width="4 bits")
    assert explorer.refusal() == "No 4-bit peak of A100 80GB SXM4 is published. Choose another width or chip."
    with pytest.raises(ValueError, match="No 4-bit peak"):
        explorer.value()


def test_every_state_that_is_not_refused_lies_on_the_axis(explorer):
    for id in CHIPS:
        for width in ("16 bits", "8 bits", "4 bits"):
            for tokens in (1, 4096):
                for d_model in (1024, 16384):
                    set_state(explorer, chip=id, width=width, tokens=tokens, d_model=d_model)
                    assert explorer.refusal() or 2e11 < explorer.value() < 4e16
