"""What a prefix cache finds again: pager and stack distances agree, and the traffic is like the one recorded."""

from statistics import mean, median

import pytest

from hwlab.serving.pager import NeverFits
from hwlab.specs.paging import measured
from hwlab.specs.traces import MOONCAKE_BLOCK, Recorded, read_mooncake
from hwlab.studies.prefix_reuse import conversations, found_by_capacity, found_by_pager


@pytest.fixture(scope="module")
def traffic():
    return conversations(12031)


@pytest.mark.parametrize("capacity", [260, 700, 3000, 20_000])
def test_the_pager_finds_what_the_stack_distances_say(capacity):
    """Of the pager's blocks one is always the unfinished last one of the request that runs."""
    traffic = conversations(1200, seed=3)
    told = found_by_capacity(traffic, [capacity])[capacity]
    assert found_by_pager(traffic, capacity + 1) == pytest.approx(told, abs=1e-12)


def test_a_case_by_hand():
    """Blocks 0 1 2, then 0 3, then 0 1 2 again. With 4 blocks the second visit to 1 and 2 finds both; with 3 block 2,
    left first, has gone."""
    prompts = [(0, 1, 2), (0, 3), (0, 1, 2)]
    traffic = [Recorded(arrival_s=0, prompt_tokens=512 * len(p), output_tokens=1, blocks=p) for p in prompts]
    assert found_by_capacity(traffic, [3, 4]) == {3: pytest.approx(3 / 8), 4: pytest.approx(4 / 8)}


def test_the_traffic_is_like_the_recorded_one(traffic):
    lengths = sorted(request.prompt_tokens for request in traffic)
    assert mean(lengths) == pytest.approx(measured("mooncake-prompt-mean"), rel=0.05)
    assert median(lengths) == pytest.approx(measured("mooncake-prompt-p50"), rel=0.05)
    for at in (90, 99):
        assert lengths[len(lengths) * at // 100] == pytest.approx(measured(f"mooncake-prompt-p{at}"), rel=0.08)
    answers = mean(request.output_tokens for request in traffic)
    assert answers == pytest.approx(measured("mooncake-answer-mean"), rel=0.05)
    assert all(len(request.blocks) == -(-request.prompt_tokens // MOONCAKE_BLOCK) for request in traffic)


def test_what_is_found_is_within_two_points_of_the_recording(traffic):
    capacities = [1000, 5000, 10_000, 30_000, 50_000]
    found = found_by_capacity(traffic, [*capacities, 10**6])
    for capacity in capacities:
        assert found[capacity] == pytest.approx(measured(f"mooncake-hits-{capacity}"), abs=0.02)
    assert found[10**6] == pytest.approx(measured("mooncake-hits-all"), abs=0.02)


def test_equal_seeds_give_equal_traffic_and_it_can_be_written_as_a_trace():
    assert conversations(50, seed=1) == conversations(50, seed=1) != conversations(50, seed=2)
    row = conversations(1)[0]
    line = (
        f'{{"timestamp": {row.arrival_s * 1e3}, "input_length": {row.prompt_tokens}, '
        f'"output_length": {row.output_tokens}, "hash_ids": {list(row.blocks)}}}'
    )
    assert read_mooncake([line]) == [row]


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="go_on is 1; give a chance"):
        conversations(3, go_on=1)
    with pytest.raises(ValueError, match="cannot hold the longest prompt"):
        found_by_capacity(conversations(50), [3])
    with pytest.raises(ValueError, match="no request names the blocks"):
        found_by_capacity([Recorded(arrival_s=0, prompt_tokens=5, output_tokens=1)], [3])
    with pytest.raises(NeverFits):
        found_by_pager(conversations(50), 3)
