"""What of a KV pool holds tokens, beside what the PagedAttention paper measured."""

import pytest

from hwlab.studies.fragmentation import STATES, empty_in_last_blocks, lengths, mean_live_tokens, shares


@pytest.fixture(scope="module")
def found():
    requests = lengths(400, prompt=161, answer=338, spread=1.2, longest=2048, seed=0)
    return shares(requests, num_slots=16384, longest=2048, steps=1000)


# W. Kwon et al., SOSP 2023, figure 2: token states, in percent of the KV cache, on the ShareGPT lengths.
PUBLISHED = {"maximum": 20.4, "power of two": 26.8, "oracle": 38.2, "paged": 96.3}


@pytest.mark.parametrize("name", PUBLISHED)
def test_token_states_are_within_five_points_of_the_paper_s(found, name):
    """The lengths are made up: of the same means (161 and 338 tokens), lognormal. What remains is their shape."""
    assert 100 * found[name]["tokens"] == pytest.approx(PUBLISHED[name], abs=5)


def test_the_four_states_make_up_the_pool(found):
    for share in found.values():
        assert tuple(share) == STATES
        assert sum(share.values()) == pytest.approx(1)


def test_each_allocator_wastes_in_its_own_way(found):
    assert found["maximum"]["internal"] > 0.4
    assert found["oracle"]["internal"] == found["paged"]["reserved"] == 0
    assert found["paged"]["internal"] < 0.04
    assert found["power of two"]["external"] > found["power of two"]["internal"]


def test_smaller_blocks_waste_less():
    requests = lengths(200, prompt=161, answer=338, spread=1.2, longest=2048, seed=0)
    tokens = [
        shares(requests, num_slots=8192, longest=2048, block_tokens=size, steps=200)["paged"]["tokens"]
        for size in (8, 64, 256)
    ]
    assert tokens == sorted(tokens, reverse=True)
    assert tokens[0] - tokens[2] > 0.1


def test_half_a_block_a_sequence_is_empty_under_load():
    requests = lengths(200, prompt=161, answer=338, spread=1.2, longest=2048, seed=0)
    mean = mean_live_tokens(requests)
    found = empty_in_last_blocks(requests, num_slots=8192, block_tokens=16, steps=1000)
    assert found == pytest.approx(7.5 / (mean + 7.5), rel=0.15)


def test_a_sequence_has_the_mean_of_its_first_and_last_length():
    """Two lives by hand: 10, 11 and 12 tokens after the first, second and third step; 101 once."""
    assert mean_live_tokens([(9, 3)]) == 11
    assert mean_live_tokens([(9, 3), (100, 1)]) == (10 + 11 + 12 + 101) / 4


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"longest": 0}, "longest is 0"),
        ({"longest": 1}, "longest is 1; prompts of 10 and answers of 10 tokens are nearly all longer"),
        ({"prompt": 0}, "prompt is 0"),
        ({"answer": float("nan")}, "answer is nan"),
        ({"spread": -1}, "spread is -1"),
        ({"num": 0}, "num is 0"),
    ],
)
def test_lengths_that_cannot_be_are_refused(changed, says):
    with pytest.raises(ValueError, match=says):
        lengths(**{"num": 3, "prompt": 10, "answer": 10, "spread": 1.0, "longest": 100, "seed": 0} | changed)


def test_no_requests_are_refused():
    with pytest.raises(ValueError, match="there are no requests"):
        shares([], num_slots=64, longest=16)
