"""Counted letters: distributions, and more certain the longer the memory."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwlab.serving.ngrams import RHYME, SONNET, TRUST, NGrams


@given(memory=st.integers(0, 5), behind=st.text(alphabet=RHYME, max_size=8))
def test_every_opinion_is_a_distribution_in_which_nothing_is_impossible(memory, behind):
    model = NGrams(RHYME, memory)
    opinion = model(model.ids(behind))
    assert sum(opinion) == pytest.approx(1) and min(opinion) > 0


@pytest.mark.parametrize("text", [RHYME, SONNET])
def test_a_longer_memory_is_less_surprised_by_what_it_has_read(text):
    surprise = []
    for memory in range(5):
        model = NGrams(text, memory)
        ids = model.ids(text)
        surprise.append(-sum(math.log2(model(ids[:i])[id]) for i, id in enumerate(ids)) / len(ids))
    assert surprise == sorted(surprise, reverse=True)


def test_counts_are_mixed_with_the_next_shorter_memory_by_hand():
    """In "abab" b follows a twice; the order below has 2 of 4 letters b, over even odds."""
    below = (2 + TRUST * 0.5) / (4 + TRUST)
    model = NGrams("abab", 1)
    assert model(model.ids("a"))[1] == pytest.approx((2 + TRUST * below) / (2 + TRUST))


def test_unknown_letters_are_refused():
    with pytest.raises(ValueError, match="'c' not among the known"):
        NGrams("abc", 1, letters="ab")
    with pytest.raises(ValueError, match="the text has 0 letters"):
        NGrams("", 1)
