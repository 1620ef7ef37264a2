"""Runs of neighbouring slots: never two over one slot, joined again when they are free."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwlab.serving.contiguous import RESERVES, Contiguous
from hwlab.serving.pager import NeverFits, OutOfBlocks, UnknownSequence, Waste


def check(pool):
    taken = sorted((run.start, run.slots) for run in pool._held.values())
    free = sorted((start, length) for length, starts in pool._free.items() for start in starts)
    at = 0
    for start, length in sorted(taken + free):
        assert start == at, "a slot that two hold, or none"
        assert start % length == 0
        at = start + length
    assert at == pool.num_slots
    waste = pool.waste()
    assert sum((waste.tokens, waste.reserved, waste.internal, waste.external, waste.free)) == pool.num_slots


requests = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 24), st.booleans()), max_size=40)


@given(reserve=st.sampled_from(RESERVES), requests=requests)
def test_runs_cover_the_pool_through_random_histories(reserve, requests):
    pool, open_ = Contiguous(256, reserve=reserve, longest=64), []
    for name, (prompt, answer, end) in enumerate(requests):
        before = pool.waste()
        try:
            pool.open(name, prompt, answer=answer)
            open_.append(name)
            pool.grow(name, answer)
        except OutOfBlocks:
            assert pool.waste() == before
        if end and open_:
            pool.free(open_.pop(0))
        check(pool)
    for name in open_:
        pool.free(name)
    assert pool._free[256] == {0}, "all joined again"


def test_what_a_run_holds_by_hand():
    """A prompt of 10, an answer of 5, of which 1 is written. 5 rounds up to 8; 18 and 15 need 32 and 16 slots."""
    wasted = {}
    for reserve in RESERVES:
        pool = Contiguous(64, reserve=reserve, longest=48)
        pool.open("a", 10, answer=5)
        pool.grow("a", 1)
        wasted[reserve] = pool.waste()
    assert wasted == {
        "maximum": Waste(tokens=11, reserved=4, internal=33, external=16, cached=0, free=0),
        "power of two": Waste(tokens=11, reserved=4, internal=3, external=14, cached=0, free=32),
        "oracle": Waste(tokens=11, reserved=4, internal=0, external=1, cached=0, free=48),
    }


def test_nothing_is_reserved_beyond_the_longest():
    pool = Contiguous(512, reserve="power of two", longest=410)
    pool.open("a", 300, answer=100)  # 300 + 128 would be 428
    assert pool.waste() == Waste(tokens=300, reserved=100, internal=10, external=102, cached=0, free=0)


def test_the_lowest_run_is_taken_so_that_others_join():
    pool = Contiguous(64, reserve="oracle", longest=64)
    for name in "abcd":
        pool.open(name, 15, answer=1)
    pool.free("b")
    pool.free("d")
    pool.open("e", 15, answer=1)  # where b was
    pool.free("c")
    pool.open("f", 31, answer=1)  # where c and d were
    assert pool.num_free == 0


def test_free_slots_that_lie_apart_serve_no_long_sequence():
    pool = Contiguous(16, reserve="oracle", longest=16)
    for name in "abcd":
        pool.open(name, 3, answer=1)
    pool.free("a")
    pool.free("c")
    with pytest.raises(OutOfBlocks, match="'e' needs 8 neighbouring slots; 8 of 16 are free, but no such run"):
        pool.open("e", 7, answer=1)
    pool.free("b")
    pool.open("e", 7, answer=1)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: Contiguous(100, reserve="oracle", longest=8), ValueError, "num_slots is 100; give a power of two"),
        (lambda: Contiguous(64, reserve="best", longest=8), ValueError, "must be one of maximum, power of two, oracle"),
        (lambda: Contiguous(64, reserve="oracle", longest=0), ValueError, "longest is 0"),
        (lambda: opened().open("a", 1, answer=1), ValueError, "'a' is open already"),
        (lambda: opened().open("b", 0, answer=1), ValueError, "prompt is 0"),
        (lambda: opened().open("b", 30, answer=3), NeverFits, "will have 33 tokens; one may have 32"),
        (lambda: Contiguous(16, reserve="maximum", longest=20).open("b", 1, answer=1), NeverFits, "a run of 32 slots"),
        (lambda: opened().grow("a", 3), OutOfBlocks, "would have 7 tokens; it was to have 6"),
        (lambda: opened().grow("b", 1), UnknownSequence, "no sequence 'b' holds a run; 1 do"),
        (lambda: opened().free("b"), UnknownSequence, "no sequence 'b'"),
    ],
)
def test_what_cannot_be_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()


def opened():
    pool = Contiguous(64, reserve="oracle", longest=32)
    pool.open("a", 4, answer=2)
    return pool
