"""What a cache makes of a loop order: the addresses that a matrix product touches, and a cache stepped through them.

A cache keeps copies of *lines*, runs of neighbouring bytes; what is touched brings its whole line. Lines are dealt out
to *sets* by their number; in each set there is room for as many lines as the cache has *ways*, and the *tag* of a place
says which line is in it. Of a full set the line that was used longest ago leaves (LRU). A write brings its line too
(*write-allocate*) and makes it *dirty*: it goes to memory when it leaves, and not before (*write-back*). Caches stand
in levels: what one misses it asks of the next, and the last of memory.

This module steps through one access after the other, in plain Python. `hwlab.costs.cache_replay` does the same to whole
streams of them with NumPy.

J. L. Hennessy and D. A. Patterson, "Computer Architecture: A Quantitative Approach", 6th edition, 2019, appendix B, has
the terms; M. D. Hill and A. J. Smith, "Evaluating associativity in CPU caches", IEEE Transactions on Computers 38(12),
1989, the three kinds of misses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from hwlab.costs.blocking import ORDERS
from hwlab.formula import whole

KINDS = ("hit", "compulsory", "capacity", "conflict")
"""What an access may be. A miss is *compulsory* if its line was never used before, *conflict* if a cache of as many
lines that may all go anywhere would have had it, and else *capacity*."""


class Access(NamedTuple):
    """One touch of one element: ``array[row, column]`` at `address`, and whether it is written."""

    array: str
    row: int
    column: int
    address: int
    write: bool


def array_starts(m: int, k: int, n: int, *, itemsize: int, align: int = 64) -> dict[str, int]:
    """Address of the first byte of A[m, k], B[k, n] and C[m, n], which follow each other in memory.

    Each begins at the next multiple of `align` bytes after the one before.

    Examples
    --------
    >>> array_starts(2, 3, 4, itemsize=4, align=16)
    {'A': 0, 'B': 32, 'C': 80}
    """
    a = -(-m * k * itemsize // align) * align
    b = -(-k * n * itemsize // align) * align
    return {"A": 0, "B": a, "C": a + b}


def product_accesses(
    m: int, k: int, n: int, *, order: str = "mnk", block: int | None = None, itemsize: int = 4, align: int = 64
) -> Iterator[Access]:
    """What ``C[i, j] += A[i, p] * B[p, j]`` touches, in the order in which the loops come by.

    Every multiply-add touches three elements: it reads one of A and one of B and updates one of C. (A compiler keeps
    the element that the innermost loop does not change in a register. That saves hits: its line is in use anyway.)

    Parameters
    ----------
    m, k, n : int
        Rows of A, shared dimension, columns of B. All arrays lie row by row, without gaps.
    order : str
        Loops from the outermost to the innermost, one of `hwlab.costs.blocking.ORDERS`.
    block : int, optional
        Side of square tiles; the last one along a dimension may be smaller. The loops over tiles and those inside a
        tile have the same order. By default there are no tiles.
    itemsize : int
        Bytes an element.
    align : int
        As for `array_starts`.

    Raises
    ------
    ValueError
        If a size is not a positive whole number or the order is not one of the six.

    Examples
    --------
    >>> for access in list(product_accesses(2, 2, 2, order="mkn"))[:6]:
    ...     print(*access)
    A 0 0 0 False
    B 0 0 64 False
    C 0 0 128 True
    A 0 0 0 False
    B 0 1 68 False
    C 0 1 132 True
    """
    sizes = {"m": m, "k": k, "n": n}
    whole(**sizes, itemsize=itemsize, align=align, block=1 if block is None else block)
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}; choose one of {', '.join(ORDERS)} (outermost loop first)")
    starts = array_starts(m, k, n, itemsize=itemsize, align=align)
    return _accesses(sizes, order, block, itemsize, starts)


def _accesses(sizes, order, block, itemsize, starts):
    k, n = sizes["k"], sizes["n"]
    a, b, c = starts.values()
    at_m, at_k, at_n = (order.index(axis) for axis in "mkn")
    for tile in product(*(tiles(sizes[axis], block) for axis in order)):
        for at in product(*tile):
            i, p, j = at[at_m], at[at_k], at[at_n]
            yield Access("A", i, p, a + (i * k + p) * itemsize, False)
            yield Access("B", p, j, b + (p * n + j) * itemsize, False)
            yield Access("C", i, j, c + (i * n + j) * itemsize, True)


def tiles(size: int, block: int | None) -> list[range]:
    """The indices along one dimension, cut into tiles; a single one if `block` is None.

    Examples
    --------
    >>> tiles(5, 2)
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    step = block or size
    return [range(start, min(start + step, size)) for start in range(0, size, step)]


class Outcome(NamedTuple):
    """What became of an access: its line, the place it is in, what it was, what left for it and was written back."""

    line: int
    place: int
    kind: str  # one of KINDS
    evicted: int | None
    written_back: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What happened in a cache so far. Bytes are those between the cache and the memory behind it."""

    hits: int
    compulsory: int
    capacity: int
    conflict: int
    write_backs: int
    line_bytes: int

    @property
    def misses(self) -> int:
        """Lines fetched: misses of all three kinds."""
        return self.compulsory + self.capacity + self.conflict

    @property
    def accesses(self) -> int:
        """All accesses."""
        return self.hits + self.misses

    @property
    def bytes_moved(self) -> int:
        """Bytes of the lines that were fetched and of those that were written back."""
        return (self.misses + self.write_backs) * self.line_bytes


class Cache:
    """A set-associative cache with LRU replacement, write-allocate and write-back.

    Parameters
    ----------
    num_lines : int
        Lines that it holds.
    ways : int
        Places a set: 1 is a direct-mapped cache, `num_lines` a fully associative one.
    line_bytes : int
        Bytes a line.

    Raises
    ------
    ValueError
        If a size is not a positive whole number or `ways` does not divide `num_lines`.

    Notes
    -----
    Line ``address // line_bytes`` belongs in set ``line % num_sets``, and `places` lists sets one after the other. To
    tell a conflict miss from a capacity miss the cache carries a fully associative one of the same size along.

    Examples
    --------
    Two lines that are as far apart as the cache is large drive each other out of a direct-mapped cache:

    >>> cache = Cache(num_lines=4, ways=1, line_bytes=16)
    >>> [cache.touch(address).kind for address in (0, 4, 64, 0, 64)]
    ['compulsory', 'hit', 'compulsory', 'conflict', 'conflict']
    >>> cache.counts.misses, cache.counts.bytes_moved
    (4, 64)

    With two ways both stay:

    >>> cache = Cache(num_lines=4, ways=2, line_bytes=16)
    >>> [cache.touch(address).kind for address in (0, 4, 64, 0, 64)]
    ['compulsory', 'hit', 'compulsory', 'hit', 'hit']
    >>> cache.places
    [0, 4, None, None]
    """

    def __init__(self, num_lines: int, ways: int, line_bytes: int):
        num_lines, ways, line_bytes = whole(num_lines=num_lines, ways=ways, line_bytes=line_bytes)
        if num_lines % ways:
            raise ValueError(f"ways is {ways}, which does not divide the {num_lines} lines; choose a divisor")
        self.num_lines, self.ways, self.line_bytes = num_lines, ways, line_bytes
        self.num_sets = num_lines // ways
        self.places: list[int | None] = [None] * num_lines
        self._sets: list[dict[int, int]] = [{} for _ in range(self.num_sets)]  # line -> place, oldest use first
        self._dirty: set[int] = set()
        self._seen: set[int] = set()
        self._anywhere: dict[int, None] = {}  # lines of a fully associative cache, oldest use first
        self._counts = dict.fromkeys((*KINDS, "write_backs"), 0)

    @property
    def counts(self) -> Counts:
        """What happened so far."""
        counts = dict(self._counts)
        return Counts(hits=counts.pop("hit"), line_bytes=self.line_bytes, **counts)

    def touch(self, address: int, *, write: bool = False) -> Outcome:
        """Read or write the byte at `address`.

        Raises
        ------
        ValueError
            If the address is negative.
        """
        if address < 0:
            raise ValueError(f"the address is {address}; give 0 or more")
        line = address // self.line_bytes
        index = line % self.num_sets
        here = self._sets[index]
        place, evicted, written_back = here.pop(line, None), None, False
        kind = self._kind(line, place is not None)
        if place is None:
            place = index * self.ways + len(here)
            if len(here) == self.ways:
                evicted = next(iter(here))
                place = here.pop(evicted)
                written_back = evicted in self._dirty
                self._dirty.discard(evicted)
            self.places[place] = line
        here[line] = place
        if write:
            self._dirty.add(line)
        self._counts[kind] += 1
        self._counts["write_backs"] += written_back
        return Outcome(line, place, kind, evicted, written_back)

    def flush(self) -> int:
        """Write all dirty lines back, as at the end of a program, and tell how many there were. They stay, clean."""
        found = len(self._dirty)
        self._dirty.clear()
        self._counts["write_backs"] += found
        return found

    def _kind(self, line: int, hit: bool) -> str:
        kept = line in self._anywhere
        self._anywhere.pop(line, None)
        self._anywhere[line] = None
        if len(self._anywhere) > self.num_lines:
            del self._anywhere[next(iter(self._anywhere))]
        new = line not in self._seen
        self._seen.add(line)
        return "hit" if hit else "compulsory" if new else "conflict" if kept else "capacity"


class Level(NamedTuple):
    """One level of a hierarchy: its name, the lines it holds and its ways, as for `Cache`.

    >>> Level("L1", num_lines=32 * 1024 // 64, ways=8)
    Level(name='L1', num_lines=512, ways=8)
    """

    name: str
    num_lines: int
    ways: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCounts:
    """What happened at one level so far. Bytes are those between it and what lies behind it.

    Attributes
    ----------
    name : str
    accesses, misses : int
        Lines it was asked for by what stands before it, and those of them that it had to ask for in its turn.
    write_backs : int
        Dirty lines that left it.
    line_bytes : int
    """

    name: str
    accesses: int
    misses: int
    write_backs: int
    line_bytes: int

    @property
    def hits(self) -> int:
        """Lines that it had."""
        return self.accesses - self.misses

    @property
    def bytes_moved(self) -> int:
        """Bytes of the lines that were fetched and of those that were written back."""
        return (self.misses + self.write_backs) * self.line_bytes


class Hierarchy:
    """Caches one behind the other, the last one before memory.

    Parameters
    ----------
    levels : sequence of Level
        From the nearest to the farthest.
    line_bytes : int
        Bytes a line, the same in all.

    Raises
    ------
    ValueError
        If there is no level, or one that `Cache` refuses.

    Notes
    -----
    A line that is missed is fetched from the next level and kept in both; what then leaves for it, if dirty, is written
    to the next level. It is written whole, so if the next level has it no more, room is made but nothing is fetched.
    No level throws out lines of another (they are *non-inclusive*).

    Examples
    --------
    Three lines in turn are too many for a cache of two, and not for the one of four behind it:

    >>> both = Hierarchy([Level("L1", 2, 2), Level("L2", 4, 4)], line_bytes=16)
    >>> [both.touch(address) for address in (0, 16, 32, 0, 16, 32, 32)]
    ['memory', 'memory', 'memory', 'L2', 'L2', 'L2', 'L1']
    >>> [(level.name, level.accesses, level.misses) for level in both.counts]
    [('L1', 7, 6), ('L2', 6, 3)]
    """

    def __init__(self, levels: Sequence[Level], line_bytes: int):
        if not levels:
            raise ValueError("there are no levels; give one or more")
        self.line_bytes = line_bytes
        self.levels = tuple(Level(*level) for level in levels)
        self.caches = tuple(Cache(level.num_lines, level.ways, line_bytes) for level in self.levels)
        self._counts = [{"accesses": 0, "misses": 0, "write_backs": 0} for _ in self.levels]

    @property
    def counts(self) -> tuple[LevelCounts, ...]:
        """What happened so far, level by level."""
        return tuple(
            LevelCounts(name=level.name, line_bytes=self.line_bytes, **counts)
            for level, counts in zip(self.levels, self._counts, strict=True)
        )

    def touch(self, address: int, *, write: bool = False) -> str:
        """Read or write the byte at `address`; the name of the level that had it, or "memory"."""
        served = self._ask(0, address, write)
        return self.levels[served].name if served < len(self.levels) else "memory"

    def flush(self) -> None:
        """Write all dirty lines back, the nearest level first, each in the order of its addresses."""
        for depth, cache in enumerate(self.caches):
            lines = sorted(cache._dirty)
            self._counts[depth]["write_backs"] += cache.flush()
            for line in lines:
                self._put(depth + 1, line)

    def _ask(self, depth, address, write):
        if depth == len(self.caches):
            return depth
        outcome, counts, served = self.caches[depth].touch(address, write=write), self._counts[depth], depth
        counts["accesses"] += 1
        if outcome.kind != "hit":
            counts["misses"] += 1
            served = self._ask(depth + 1, address, False)
        self._pass_on(depth, outcome)
        return served

    def _put(self, depth, line):
        if depth < len(self.caches):
            self._pass_on(depth, self.caches[depth].touch(line * self.line_bytes, write=True))

    def _pass_on(self, depth, outcome):
        if outcome.written_back:
            self._counts[depth]["write_backs"] += 1
            self._put(depth + 1, outcome.evicted)


def replay(accesses: Iterable[Access], cache: Cache | Hierarchy) -> Counts | tuple[LevelCounts, ...]:
    """Send `accesses` through a cache or a hierarchy, write back what is dirty at the end, and count.

    Notes
    -----
    For a fully associative cache and rows that are whole lines of e elements, the misses follow from what one pass of
    the innermost loop walks along. In order mnk it is a row of A, k/e lines, and a column of B, k lines. Before a line
    of A is used again, k + k/e - e others are; if they are as many as the cache holds, or more, none is left when its
    turn comes, and there are ``mn (k + k/e) + mn/e`` misses. In order mkn a pass is a row of B and one of C, 2n/e
    lines; if two passes fit and B as a whole does not, A and C come once and B once a row of A:
    ``(mk + mn + mkn)/e``.

    Examples
    --------
    Four rows against a 64 x 16 matrix in lines of four elements: the order of the loops decides.

    >>> for order in ("mnk", "mkn"):
    ...     counts = replay(product_accesses(4, 64, 16, order=order), Cache(64, 64, 16))
    ...     print(order, counts.accesses, counts.misses, counts.bytes_moved)
    mnk 12288 5136 82432
    mkn 12288 1104 17920
    """
    for access in accesses:
        cache.touch(access.address, write=access.write)
    cache.flush()
    return cache.counts
