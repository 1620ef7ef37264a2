"""The NumPy replay against the stepper on random streams, and stack distances against a list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwlab.costs import cache_replay
from hwlab.costs.blocking import ORDERS
from hwlab.costs.cache_replay import best_block, miss_ratio_curve, product_lines, replay_lines
from hwlab.costs.caches import Hierarchy, Level, product_accesses

small = st.integers(1, 6)


@st.composite
def streams(draw):
    """A stream of few lines, of random touches and of stretches that repeat, as loops do."""
    parts = draw(
        st.lists(
            st.tuples(
                st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=12), st.integers(1, 6)
            ),
            max_size=12,
        )
    )
    return [touch for part, times in parts for touch in part * times]


@st.composite
def hierarchies(draw):
    return [
        Level(f"L{depth}", draw(st.sampled_from([1, 2, 3, 4, 5])) * ways, ways)
        for depth, ways in enumerate(draw(st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=3)), 1)
    ]


def arrays(touches):
    return np.array([line for line, _ in touches], np.int64), np.array([write for _, write in touches], bool)


@pytest.mark.parametrize("piece", [4, 2**22])
@given(touches=streams(), levels=hierarchies(), cuts=st.lists(st.integers(0, 300), max_size=3))
def test_a_replay_counts_what_the_stepper_does(piece, touches, levels, cuts):
    stepper = Hierarchy(levels, 1)
    for line, write in touches:
        stepper.touch(line, write=write)
    stepper.flush()
    lines, writes = arrays(touches)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache_replay, "PIECE", piece)
        pieces = zip(np.split(lines, sorted(cuts)), np.split(writes, sorted(cuts)), strict=True)
        assert replay_lines(pieces, levels, 1) == stepper.counts


@given(data=st.data(), m=small, k=small, n=small, order=st.sampled_from(ORDERS), block=st.sampled_from([None, 1, 2, 3]))
def test_a_product_as_arrays_is_the_product_access_by_access(data, m, k, n, order, block):
    itemsize, line = data.draw(st.sampled_from([(4, 4), (4, 16), (2, 8)]))
    expected = [
        (access.address // line, access.write)
        for access in product_accesses(m, k, n, order=order, block=block, itemsize=itemsize, align=line)
    ]
    piece = data.draw(st.sampled_from([1, 10, 100, 1000]))
    found = list(product_lines(m, k, n, order=order, block=block, itemsize=itemsize, line_bytes=line, piece=piece))
    assert [pair for lines, writes in found for pair in zip(lines.tolist(), writes.tolist(), strict=True)] == expected


@given(lines=st.lists(st.integers(0, 12), min_size=1, max_size=80))
def test_a_distance_is_the_number_of_other_lines_touched_since(lines):
    last, expected = {}, []
    for now, line in enumerate(lines):
        expected.append(len(set(lines[last[line] + 1 : now])) if line in last else -1)
        last[line] = now
    earlier = np.array(
        [max((u for u in range(t) if lines[u] == line), default=-1) for t, line in enumerate(lines)], np.int32
    )
    assert cache_replay._distances(earlier).tolist() == expected
    for near in (1, 3, 8):
        found = cache_replay._distances(earlier, near)
        assert ((found >= near).tolist(), (found < 0).tolist()) == (
            [d >= near for d in expected],
            [d < 0 for d in expected],
        )


@given(touches=streams().filter(bool))
def test_one_curve_tells_the_misses_of_every_fully_associative_cache(touches):
    lines, writes = arrays(touches)
    sizes, ratios = miss_ratio_curve([(lines[:7], writes[:7]), (lines[7:], writes[7:])])
    assert sizes.tolist() == list(range(1, len(set(lines.tolist())) + 1))
    for size, ratio in zip(sizes.tolist(), ratios.tolist(), strict=True):
        (counts,) = replay_lines([(lines, writes)], [Level("all", size, size)], 1)
        assert ratio * len(lines) == pytest.approx(counts.misses)


def test_misses_of_tiles_follow_the_closed_forms():
    # 128 lines of 16 elements anywhere: up to a side of 22 C stays from one product of tiles to the next, up to 45 the
    # tile of B stays in one. A side of 16: A and B come 96/16 times, C once. Of 32: all three 96/32 times. C goes too.
    best = best_block(96, 96, 96, num_lines=128, blocks=(16, 32))
    assert (best.three_tiles, best.four_tiles, best.one_tile) == (26, 22, 45)
    matrix = 96 * 96 * 4
    assert best.bytes_moved == {16: (6 + 6 + 1 + 1) * matrix, 32: (3 + 3 + 3 + 3) * matrix}
    assert best.block == 32
    assert best_block(3, 4, 4, num_lines=1, itemsize=4, line_bytes=16).bytes_moved.keys() == {1, 2}
    assert best_block(96, 96, 96, num_lines=128, blocks=[16]).block == 16


def test_a_hierarchy_worked_by_hand():
    # One line before two. 0 is written. For 1 it leaves the first and is written to the second, which was asked for 1
    # before. So there 1 is the older and leaves for 2, clean, and 0 is found. At the end it is dirty there.
    levels = Hierarchy([Level("L1", 1, 1), Level("L2", 2, 2)], line_bytes=8)
    touches = [(0, True), (1, False), (2, False), (0, False)]
    assert [levels.touch(8 * line, write=write) for line, write in touches] == ["memory", "memory", "memory", "L2"]
    levels.flush()
    assert [(c.accesses, c.misses, c.write_backs) for c in levels.counts] == [(4, 4, 1), (4, 3, 1)]
    assert [(c.hits, c.bytes_moved) for c in levels.counts] == [(0, 40), (1, 32)]


def test_any_whole_numbers_do_for_lines():
    for dtype in (np.uint8, np.int16, np.uint64):
        (counts,) = replay_lines([(np.array([5, 100, 5]).astype(dtype), np.ones(3, bool))] * 2, [Level("L1", 1, 1)], 8)
        assert (counts.misses, counts.write_backs) == (5, 5)


def test_a_write_among_repeated_reads_counts():
    lines, writes = np.tile([0, 1, 2], 9), np.zeros(27, bool)
    writes[13] = True
    for levels in ([Level("L1", 3, 3)], [Level("L1", 4, 4)]):
        assert [(c.misses, c.write_backs) for c in replay_lines([(lines, writes)], levels, 64)] == [(3, 1)]


def test_a_line_that_is_written_whole_is_not_fetched():
    # The second level is smaller than the first: what comes back to it has left it, and no line is fetched for that.
    levels = [Level("L1", 2, 2), Level("L2", 1, 1)]
    touches = [(0, True), (1, False), (2, False)]
    (l1, l2), stepper = replay_lines([arrays(touches)], levels, 1), Hierarchy(levels, 1)
    assert (l1.misses, l1.write_backs) == (3, 1)
    assert (l2.accesses, l2.misses, l2.write_backs) == (3, 3, 1)
    for line, write in touches:
        stepper.touch(line, write=write)
    stepper.flush()
    assert stepper.counts == (l1, l2)


def test_what_cannot_be_is_refused():
    stream = [(np.array([0, 1]), np.array([True, False]))]
    with pytest.raises(ValueError, match="there are no levels"):
        replay_lines(stream, [], 64)
    with pytest.raises(ValueError, match="there are no levels"):
        Hierarchy([], 64)
    with pytest.raises(ValueError, match="ways is 3, which does not divide the 4 lines of L1"):
        replay_lines(stream, [Level("L1", 4, 3)], 64)
    with pytest.raises(ValueError, match="ways is 0; give"):
        replay_lines(stream, [Level("L1", 4, 0)], 64)
    for lines, writes in (([0.5], [True]), ([1], [1]), ([1, 2], [True]), ([[1]], [[True]])):
        with pytest.raises(ValueError, match="a stream is an array of whole numbers and one of booleans"):
            replay_lines([(np.array(lines), np.array(writes))], [Level("L1", 4, 4)], 64)
    with pytest.raises(ValueError, match="line -1 is below 0"):
        replay_lines([(np.array([-1]), np.array([True]))], [Level("L1", 4, 4)], 64)
    with pytest.raises(ValueError, match="the stream is empty"):
        miss_ratio_curve([])
    with pytest.raises(ValueError, match="order is 'ijk'"):
        product_lines(2, 2, 2, order="ijk")
    with pytest.raises(ValueError, match="holds no whole number of elements"):
        product_lines(2, 2, 2, itemsize=4, line_bytes=6)
    with pytest.raises(ValueError, match="block is -1"):
        product_lines(2, 2, 2, block=-1)
    with pytest.raises(ValueError, match="no block is given"):
        best_block(2, 2, 2, num_lines=4, blocks=[])
