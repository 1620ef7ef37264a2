"""Static against continuous batching through the real scheduler, and the loop that walks the list it cuts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.costs.batching import gain_exponential, gain_uniform
from hwlab.studies.batching import (
    Answer,
    draw_lengths,
    gain_counted,
    loop_as_printed,
    loop_mended,
    steps_taken,
    wrong_lengths,
)

LENGTHS = st.lists(st.integers(1, 12), min_size=1, max_size=20)


@settings(max_examples=60)
@given(LENGTHS, st.integers(1, 6))
def test_static_batching_takes_the_longest_of_each_batch(lengths, batch):
    batches = [lengths[at : at + batch] for at in range(0, len(lengths), batch)]
    assert steps_taken(lengths, batch, policy="static") == (sum(map(max, batches)), sum(lengths))


@settings(max_examples=60)
@given(LENGTHS, st.integers(1, 6))
def test_continuous_batching_takes_the_steps_of_the_mended_loop(lengths, batch):
    answers = [Answer(str(i), length) for i, length in enumerate(lengths)]
    mended = loop_mended(answers, batch, longest=99)
    assert steps_taken(lengths, batch, policy="continuous") == (mended, sum(lengths))
    assert [answer.tokens for answer in answers] == lengths


def test_the_gain_counted_is_that_of_the_formula():
    for kind, formula in (("uniform", gain_uniform), ("exponential", gain_exponential)):
        lengths = draw_lengths(600, kind, mean=40, seed=2)
        assert gain_counted(lengths, 8) == pytest.approx(formula(8), rel=0.08)
    assert gain_counted(draw_lengths(64, "equal", mean=10), 8) == 1


def test_the_printed_loop_worked_by_hand():
    # two end together: the second is passed over, and its end is read as that of the third
    answers = [Answer("a", 2), Answer("b", 2), Answer("c", 3)]
    assert loop_as_printed(answers, 3, longest=10) == 10
    assert [answer.tokens for answer in answers] == [2, 10, 2]


def test_the_printed_loop_is_right_only_as_long_as_one_ends_at_a_time():
    assert wrong_lengths(loop_as_printed, [1, 2, 3, 4], 4, longest=9) == (0, 0)
    assert wrong_lengths(loop_as_printed, [3, 3], 4, longest=9) == (0, 1)


def test_an_unknown_kind_of_lengths_is_refused():
    with pytest.raises(ValueError, match="kind is 'normal'; it must be one of equal"):
        draw_lengths(3, "normal", mean=4)


@pytest.mark.parametrize("changed", [{"mean": 0}, {"mean": float("nan")}, {"spread": -1}, {"num": 0}])
def test_lengths_that_cannot_be_are_refused(changed):
    (name,) = changed
    with pytest.raises(ValueError, match=f"{name} is "):
        draw_lengths(**{"num": 3, "kind": "lognormal", "mean": 10} | changed)
