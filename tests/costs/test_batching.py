"""Gains of continuous over static batching: closed formulas against hand-worked cases and against draws."""

import random
from math import isclose

import pytest

from hwlab.costs.batching import gain_exponential, gain_lognormal, gain_of, gain_uniform, with_prompts
from hwlab.specs.answers import answer_lengths


def test_a_batch_of_one_gains_nothing_whatever_the_lengths():
    table = answer_lengths("azure-code").slices
    gains = [gain_uniform(1), gain_exponential(1), gain_lognormal(1, 1.3), gain_of(table, 1)]
    assert gains == pytest.approx([1, 1, 1, 1], abs=1e-9)


def test_the_exponential_gain_is_the_harmonic_number():
    for batch in (1, 2, 3, 8, 32, 1000):
        assert isclose(gain_exponential(batch), sum(1 / i for i in range(1, batch + 1)), rel_tol=1e-10)


@pytest.mark.parametrize("batch", [2, 8, 32])
def test_the_formulas_are_what_draws_give(batch):
    generate = random.Random(5)
    draws = {
        gain_uniform(batch): lambda: generate.uniform(0, 2),
        gain_exponential(batch): lambda: generate.expovariate(1),
        gain_lognormal(batch, 0.8): lambda: generate.lognormvariate(-0.32, 0.8),
    }
    for gain, draw in draws.items():
        longest = sum(max(draw() for _ in range(batch)) for _ in range(3000)) / 3000  # all have a mean of 1
        assert longest == pytest.approx(gain, rel=0.06)


def test_two_lengths_worked_by_hand():
    # of two answers, both are short in 9 cases of 16: (9 x 10 + 7 x 100) / 16 over a mean of 32.5
    assert gain_of([(0.75, 10), (1.0, 100)], 2) == pytest.approx((90 + 700) / 16 / 32.5)


def test_prompts_dilute_the_gain_and_without_them_it_is_whole():
    assert with_prompts(4, 0) == 4 and with_prompts(4, 3) == 7 / 4 and with_prompts(1, 9) == 1


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="shares are"):
        gain_of([(0.5, 1), (0.9, 2)], 4)
    with pytest.raises(ValueError, match="batch"):
        gain_uniform(0)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: gain_lognormal(8, -1), "spread is -1; give a number from 0 to 2"),
        (lambda: gain_lognormal(8, float("nan")), "spread is nan"),
        (lambda: gain_lognormal(0, 1), "batch is 0"),
        (lambda: with_prompts(4, -1), "prompts is -1; give a number from 0 on"),
        (lambda: with_prompts(0, 1), "gain is 0"),
    ],
)
def test_what_is_no_batch_no_spread_and_no_share_is_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
