"""Lengths of answers: the slices are whole, rise, and give the means that the traces have."""

import pytest

from hwlab.specs.answers import answer_lengths


@pytest.mark.parametrize(
    ("id", "mean", "half", "longest"), [("azure-conversation", 211.1, 129, 1000), ("azure-code", 27.9, 13, 1899)]
)
def test_slices_give_the_published_mean_median_and_longest(id, mean, half, longest):
    found = answer_lengths(id)
    assert found.mean == pytest.approx(mean, rel=5e-3)
    assert found.slices[-1][0] == 1 and [*found.slices] == sorted(found.slices)
    assert found.at(0.49) <= half <= found.at(0.51)
    assert found.at(1) <= longest
    assert found.at(found.slices[0][0]) == found.slices[1][1]  # the end of a slice is the beginning of the next


def test_an_unknown_trace_names_the_nearest():
    with pytest.raises(KeyError, match="no trace of answers 'azure'; nearest: azure-conversation"):
        answer_lengths("azure")
