"""The cache against a stack model on random histories, closed forms, the three kinds of misses worked by hand."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwlab.costs.blocking import ORDERS, blocked_bytes
from hwlab.costs.caches import Cache, array_starts, product_accesses, replay

small = st.integers(1, 6)


class StackModel:
    """One list of lines a set, the latest first: the first `ways` of it are what an LRU cache holds (Mattson 1970)."""

    def __init__(self, num_sets, ways):
        self.stacks, self.ways, self.dirty = [[] for _ in range(num_sets)], ways, set()

    def touch(self, line, write):
        stack = self.stacks[line % len(self.stacks)]
        held = stack[: self.ways]
        stack[:] = [line, *(other for other in stack if other != line)]
        gone = set(held) - set(stack[: self.ways])
        written = gone & self.dirty
        self.dirty = (self.dirty - gone) | ({line} if write else set())
        return line in held, gone, len(written)

    def held(self):
        return {line for stack in self.stacks for line in stack[: self.ways]}


@given(
    ways=st.sampled_from([1, 2, 3, 4]),
    num_sets=st.sampled_from([1, 2, 3, 4]),
    line_bytes=st.sampled_from([4, 16]),
    touches=st.lists(st.tuples(st.integers(0, 300), st.booleans()), max_size=120),
)
def test_the_cache_does_what_a_stack_of_lines_does(ways, num_sets, line_bytes, touches):
    cache, model = Cache(ways * num_sets, ways, line_bytes), StackModel(num_sets, ways)
    anywhere, seen = StackModel(1, ways * num_sets), set()
    found, written = Counter(), 0
    for address, write in touches:
        line = address // line_bytes
        outcome = cache.touch(address, write=write)
        hit, gone, back = model.touch(line, write)
        kept, _, _ = anywhere.touch(line, write)
        kind = "hit" if hit else "compulsory" if line not in seen else "conflict" if kept else "capacity"
        seen.add(line)
        found[kind] += 1
        written += back
        assert outcome.line == line and outcome.kind == kind
        assert ({outcome.evicted} if outcome.evicted is not None else set()) == gone
        assert outcome.written_back == bool(back)
        assert cache.places[outcome.place] == line and outcome.place // ways == line % num_sets
        assert {line for line in cache.places if line is not None} == model.held()
    dirty = len(model.dirty)
    assert cache.flush() == dirty and cache.flush() == 0
    counts = cache.counts
    assert [counts.hits, counts.compulsory, counts.capacity, counts.conflict] == [
        found[kind] for kind in ("hit", "compulsory", "capacity", "conflict")
    ]
    assert counts.accesses == len(touches) and counts.write_backs == written + dirty
    assert counts.bytes_moved == (counts.misses + written + dirty) * line_bytes


def test_the_three_kinds_of_misses_worked_by_hand():
    # Two sets of one way; lines 0 and 2 belong in set 0, line 1 in set 1. A cache of two lines anywhere, beside it:
    # 0 new {0}; 2 new {0,2}; 0 gone here, there kept: conflict {2,0}; 1 new {0,1}; 2 gone here and there: capacity
    # {1,2}; 1 hit here; 0 gone here and there: capacity.
    cache = Cache(num_lines=2, ways=1, line_bytes=8)
    kinds = [cache.touch(8 * line).kind for line in (0, 2, 0, 1, 2, 1, 0)]
    assert kinds == ["compulsory", "compulsory", "conflict", "compulsory", "capacity", "hit", "capacity"]


def test_a_line_is_written_back_when_it_leaves_dirty_and_only_then():
    cache = Cache(num_lines=1, ways=1, line_bytes=8)
    history = [(0, True), (4, False), (8, False), (0, False), (8, True), (8, True)]
    assert [cache.touch(a, write=w).written_back for a, w in history] == [False, False, True, False, False, False]
    assert cache.counts.write_backs == 1 and cache.flush() == 1
    assert cache.counts.bytes_moved == (4 + 2) * 8


@given(ways=st.sampled_from([2, 4, 8]), lines=st.lists(st.integers(0, 20), max_size=80))
def test_a_fully_associative_cache_has_no_conflicts(ways, lines):
    cache = Cache(ways, ways, 1)
    assert all(cache.touch(line).kind != "conflict" for line in lines)


@pytest.mark.parametrize("order", ORDERS)
@given(m=small, k=small, n=small, itemsize=st.sampled_from([1, 2, 4, 8]))
def test_a_loop_order_touches_each_product_once_in_its_order(order, m, k, n, itemsize):
    found = list(product_accesses(m, k, n, order=order, itemsize=itemsize, align=16))
    assert len(found) == 3 * m * k * n
    triples = [(a.row, a.column, b.column) for a, b, _ in zip(*[iter(found)] * 3, strict=True)]
    assert len(set(triples)) == m * k * n
    by_loop = [tuple(dict(zip("mkn", t, strict=True))[axis] for axis in order) for t in triples]
    assert by_loop == sorted(by_loop)  # the outermost loop moves slowest
    ends = {"A": (m, k), "B": (k, n), "C": (m, n)}
    starts = array_starts(m, k, n, itemsize=itemsize, align=16)
    for a, b, c in zip(*[iter(found)] * 3, strict=True):
        assert (a.array, b.array, c.array) == ("A", "B", "C")
        assert (a.row, b.column) == (c.row, c.column) and a.column == b.row
        assert (a.write, b.write, c.write) == (False, False, True)
        for x in (a, b, c):
            assert x.address == starts[x.array] + (x.row * ends[x.array][1] + x.column) * itemsize
    assert all(start % 16 == 0 for start in starts.values())
    assert starts["B"] >= m * k * itemsize and starts["C"] >= starts["B"] + k * n * itemsize


@given(m=small, k=small, n=small, block=st.integers(1, 10), order=st.sampled_from(ORDERS))
def test_tiles_change_the_sequence_and_nothing_else(m, k, n, block, order):
    plain, tiled = (list(product_accesses(m, k, n, order=order, block=b)) for b in (None, block))
    assert Counter(plain) == Counter(tiled)
    if block == 1 or block >= max(m, k, n):
        assert plain == tiled
    first = tiled[: 3 * min(block, m) * min(block, k) * min(block, n)]
    assert all(a.row < block and a.column < block for a in first)  # a tile is finished before the next begins


@given(m=st.integers(1, 4), k=st.integers(1, 6), n=st.integers(1, 6), e=st.sampled_from([1, 2, 4]), data=st.data())
def test_misses_follow_the_closed_forms(m, k, n, e, data):
    k, n, line = k * e, n * e, 4 * e

    def misses(order, num_lines):
        return replay(product_accesses(m, k, n, order=order, align=line), Cache(num_lines, num_lines, line)).misses

    once = (m * k + k * n + m * n) // e
    for order in ORDERS:
        assert misses(order, once) == once  # all three arrays fit: each line comes once
    between = k + k // e - e  # other lines that are used before a line of A is again
    if between >= 3:
        lines = data.draw(st.integers(3, between))
        assert misses("mnk", lines) == m * n * (k + k // e) + m * n // e
    lines = 2 * (2 * n // e + 1)  # two passes of order mkn fit
    if k * n // e >= lines:
        assert misses("mkn", lines) == (m * k + m * n + m * k * n) // e


def test_a_cache_that_knows_no_tiles_fetches_what_the_plan_of_tiles_does():
    plan = blocked_bytes(4, 64, 16, block_m=4, block_k=4, block_n=4, itemsize=4)
    counts = replay(product_accesses(4, 64, 16, block=4), Cache(64, 64, 16))
    unplanned = 16  # lines of C: a write fetches its line first
    assert counts.misses == (plan.a_read + plan.b_read) // 16 + unplanned
    assert counts.write_backs * 16 == plan.c_written


def test_what_cannot_be_is_refused_and_changes_nothing():
    with pytest.raises(ValueError, match="ways is 3, which does not divide the 4 lines"):
        Cache(4, 3, 16)
    with pytest.raises(ValueError, match="line_bytes is 0; give a whole number"):
        Cache(4, 2, 0)
    with pytest.raises(ValueError, match="order is 'ijk'; choose one of mnk, mkn"):
        product_accesses(2, 2, 2, order="ijk")
    with pytest.raises(ValueError, match="k is 0; give"):
        product_accesses(2, 0, 2)
    cache = Cache(4, 2, 16)
    cache.touch(0)
    before = cache.counts, list(cache.places)
    with pytest.raises(ValueError, match="address is -1"):
        cache.touch(-1)
    assert (cache.counts, cache.places) == before
