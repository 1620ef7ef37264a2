"""Whole streams of accesses through caches, with NumPy: the counts of `hwlab.costs.caches`, many times as fast.

A stream is a sequence of pairs of arrays, ``(lines, writes)``: the line that each access touches and whether it writes.
It may come in pieces, so that a product of 10^9 accesses needs no more memory than one of 10^6.

What makes it fast is that LRU can be told without a cache. An access hits if fewer other lines of its set than the set
has ways were touched since its line was last used: that number is its *stack distance*. And what leaves is known from
the misses alone, for lines leave in the order of their last uses. R. L. Mattson et al., "Evaluation techniques for
storage hierarchies", IBM Systems Journal 9(2), 1970.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isqrt
from types import MappingProxyType
from typing import TYPE_CHECKING

from hwlab.costs.blocking import ORDERS
from hwlab.costs.caches import Level, LevelCounts, array_starts, tiles
from hwlab.formula import whole

if TYPE_CHECKING:
    import numpy as np

PIECE = 2**22
"""Accesses that a piece of a stream holds, about."""


def product_lines(
    m: int,
    k: int,
    n: int,
    *,
    order: str = "mnk",
    block: int | None = None,
    itemsize: int = 4,
    line_bytes: int = 64,
    piece: int = PIECE,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The stream of `hwlab.costs.caches.product_accesses`, piece by piece; each array begins on a line of its own.

    Parameters
    ----------
    m, k, n, order, block, itemsize
        As there.
    line_bytes : int
        Bytes a line.
    piece : int
        Accesses in a piece, about.

    Yields
    ------
    lines : int array
    writes : bool array

    Raises
    ------
    ValueError
        If a size is not a positive whole number, the order is not one of the six, or an element may lie in two lines.

    Examples
    --------
    >>> for lines, writes in product_lines(1, 2, 2, order="mkn", line_bytes=16):
    ...     print(*lines, *writes[:3])
    0 1 2 0 1 2 0 1 2 0 1 2 False False True
    """
    sizes = {"m": m, "k": k, "n": n}
    whole(**sizes, itemsize=itemsize, line_bytes=line_bytes, piece=piece, block=1 if block is None else block)
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}; choose one of {', '.join(ORDERS)} (outermost loop first)")
    if line_bytes % itemsize:
        raise ValueError(f"a line of {line_bytes} bytes holds no whole number of elements of {itemsize} bytes")
    return _gathered(_tile_lines(sizes, order, block, itemsize, line_bytes, piece), piece)


def _gathered(parts, piece):
    """The parts joined to pieces, with what is written: every third access."""
    import numpy as np

    held, count = [], 0
    for part in parts:
        held.append(part)
        count += part.size
        if count >= piece:
            yield np.concatenate(held), np.arange(count) % 3 == 2
            held, count = [], 0
    if held:
        yield np.concatenate(held), np.arange(count) % 3 == 2


def _tile_lines(sizes, order, block, itemsize, line_bytes, piece):
    """The lines of A, B and C in turn, tile by tile; full tiles along the innermost tile loop come together."""
    import numpy as np

    starts = {
        name: start // line_bytes
        for name, start in array_starts(*sizes.values(), itemsize=itemsize, align=line_bytes).items()
    }
    per_line = line_bytes // itemsize
    last = starts["C"] + -(-sizes["m"] * sizes["n"] // per_line)
    dtype = np.int32 if last < 2**31 else np.int64
    outer, middle, inner = (tiles(sizes[axis], block) for axis in order)
    whole = [tile for tile in inner if len(tile) == len(inner[0])]
    groups = [np.array([list(tile) for tile in group]) for group in (whole, inner[len(whole) :]) if group]
    for first, second, third in product(outer, middle, groups):
        # axes of the cube: tiles of the innermost loop, then the three loops within a tile
        rows = max(1, piece // (3 * third.shape[0] * len(second) * third.shape[1]))
        if third.shape[0] > 1:
            rows = len(first)  # a slab would split each of the tiles
        for start in range(first.start, first.stop, rows):
            slab = np.arange(start, min(start + rows, first.stop))
            at = dict(
                zip(
                    order,
                    (slab[None, :, None, None], np.array(second)[None, None, :, None], third[:, None, None, :]),
                    strict=True,
                )
            )
            i, p, j = at["m"], at["k"], at["n"]
            shape = (third.shape[0], len(slab), len(second), third.shape[1])
            lines = np.empty((*shape, 3), dtype)
            lines[..., 0] = starts["A"] + (i * sizes["k"] + p) // per_line
            lines[..., 1] = starts["B"] + (p * sizes["n"] + j) // per_line
            lines[..., 2] = starts["C"] + (i * sizes["n"] + j) // per_line
            yield lines.ravel()


def replay_lines(
    stream: Iterable[tuple[np.ndarray, np.ndarray]], levels: Sequence[Level], line_bytes: int
) -> tuple[LevelCounts, ...]:
    """Send a stream through a hierarchy, write back what is dirty at the end, and count.

    Parameters
    ----------
    stream : iterable of (lines, writes)
        Whole numbers of 0 or more, and booleans; arrays of one dimension and of the same length.
    levels : sequence of Level
        From the nearest to the farthest.
    line_bytes : int
        Bytes a line.

    Returns
    -------
    tuple of LevelCounts
        Exactly what `hwlab.costs.caches.Hierarchy` counts.

    Raises
    ------
    ValueError
        If there is no level, or one that cannot be; or if the arrays are no stream.

    Examples
    --------
    A product of 48 x 48 matrices in two orders. The first level, of 2 KiB, sees the difference; the second, of 64 KiB,
    hides it from memory:

    >>> levels = [Level("L1", 32, 8), Level("L2", 1024, 16)]
    >>> for order in ("mnk", "mkn"):
    ...     l1, l2 = replay_lines(product_lines(48, 48, 48, order=order), levels, 64)
    ...     print(order, f"{l1.accesses:,} {l1.misses:,} {l2.misses:,}")
    mnk 331,776 117,648 432
    mkn 331,776 7,200 432
    """
    whole(line_bytes=line_bytes)
    if not levels:
        raise ValueError("there are no levels; give one or more")
    replays = []
    for level in reversed([Level(*level) for level in levels]):
        replays.insert(0, _Replay(level, replays[0] if replays else None, first=len(replays) + 1 == len(levels)))
    for lines, writes in stream:
        replays[0].add(*_checked(lines, writes))
    for replay in replays:
        replay.flush()
    return tuple(replay.counts(line_bytes) for replay in replays)


def miss_ratio_curve(stream: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Share of accesses that miss in a fully associative LRU cache, for every size of it at once.

    An access hits if the cache holds more lines than others were touched since the line was last used: its *stack
    distance*. So one pass over the stream answers for all sizes.

    Parameters
    ----------
    stream : iterable of (lines, writes)
        As for `replay_lines`; all of it is held in memory.

    Returns
    -------
    sizes : int array
        Lines of the cache: 1, 2, ... up to as many as the stream touches.
    ratios : float array
        Misses an access.

    Raises
    ------
    ValueError
        If the stream is empty, or none.

    Examples
    --------
    Four lines in turn: a cache of three keeps none of them long enough.

    >>> import numpy as np
    >>> sizes, ratios = miss_ratio_curve([(np.tile(np.arange(4), 5), np.zeros(20, bool))])
    >>> [(int(size), round(float(ratio), 2)) for size, ratio in zip(sizes, ratios)]
    [(1, 1.0), (2, 1.0), (3, 1.0), (4, 0.2)]
    """
    import numpy as np

    lines = np.concatenate([np.empty(0, np.int32), *(_checked(*part)[0] for part in stream)])
    if not lines.size:
        raise ValueError("the stream is empty; give one access or more")
    # where lines repeat with a period of three, as in loops over products, the distance is seen at once
    repeats = np.flatnonzero(lines[3:] == lines[:-3]) + 3
    at, one, two = (lines[repeats - back] for back in range(3))
    near = (one != at) * (1 + ((two != at) & (two != one)))
    keep = np.flatnonzero(~_repeated(lines, np.zeros(lines.size, bool)))
    distances = _distances(_earlier(lines[keep]))
    first = int(np.count_nonzero(distances < 0))
    seen = np.zeros(lines.size, bool)
    seen[repeats] = True
    counts = np.bincount(near, minlength=first)
    counts += np.bincount(distances[~seen[keep] & (distances >= 0)], minlength=counts.size)
    sizes = np.arange(1, first + 1)
    return sizes, 1 - np.cumsum(counts)[:first] / lines.size


@dataclass(frozen=True, slots=True, kw_only=True)
class BestBlock:
    """The side of square tiles at which a product moves least, and what the others move.

    Attributes
    ----------
    block : int
        The best of those tried.
    three_tiles, four_tiles, one_tile : int
        The largest sides at which so many tiles, and no more, fill the cache; see `best_block`.
    bytes_moved : mapping of int to int
        Bytes between cache and memory, by side.
    """

    block: int
    three_tiles: int
    four_tiles: int
    one_tile: int
    bytes_moved: Mapping[int, int]


def best_block(
    m: int,
    k: int,
    n: int,
    *,
    num_lines: int,
    ways: int | None = None,
    order: str = "mnk",
    itemsize: int = 4,
    line_bytes: int = 64,
    blocks: Iterable[int] | None = None,
) -> BestBlock:
    """Replay a product in square tiles of several sizes and find the best.

    Parameters
    ----------
    m, k, n, order, itemsize, line_bytes
        As for `product_lines`.
    num_lines, ways : int
        Of the cache; without `ways` a line may go anywhere.
    blocks : iterable of int, optional
        Sides to try. By default those whose rows are whole lines, as long as one tile fits into the cache; all sides,
        if there are less than two of those.

    Raises
    ------
    ValueError
        If the product or the cache cannot be, or no block is given.

    Notes
    -----
    A cache of M elements whose contents are planned holds a tile each of A, B and C, b x b, if ``b <= sqrt(M/3)``. Then
    A comes once for each column of tiles, B once for each row of them, and C once: ``2mkn/b`` elements and C.

    LRU makes no plan. In order mnk, between two uses of a line of C, in one product of tiles and in the next, the rest
    of one tile of A and the beginning of another are touched, C, and all of *two* tiles of B. So C stays only if four
    tiles fit, ``b <= sqrt(M/4)``. Beyond that C too comes and goes with each product of tiles: ``4mkn/b``. That may yet
    be as little, if b can be twice as large; and nearly it can, for within a product of tiles only B's must stay.

    Two more things make the best side smaller. A row that is no whole number of lines brings parts of its neighbours;
    and if the rows of a matrix are as far apart as the cache has sets, a tile has few sets to lie in, whatever its
    size: M. D. Lam, E. E. Rothberg and M. E. Wolf, "The cache performance and optimizations of blocked algorithms",
    ASPLOS 1991.

    Examples
    --------
    In a cache of 8 KiB with four ways, 32 is best, though neither three nor four tiles fit; rows of 24 are
    no whole lines and do worse:

    >>> best = best_block(96, 96, 96, num_lines=128, ways=4, blocks=(16, 24, 32))
    >>> best.block, best.three_tiles, best.four_tiles, best.one_tile
    (32, 26, 22, 45)
    >>> {block: moved // 1000 for block, moved in best.bytes_moved.items()}  # kB
    {16: 503, 24: 772, 32: 442}

    With rows of 512 bytes, eight lines, a column of a matrix lies in 4 of the 32 sets:

    >>> worse = best_block(16, 128, 128, num_lines=128, ways=4, blocks=(8, 32))
    >>> worse.block, {block: moved // 1000 for block, moved in worse.bytes_moved.items()}
    (8, {8: 777, 32: 16994})
    """
    whole(num_lines=num_lines)
    elements = num_lines * line_bytes // itemsize
    one_tile = isqrt(elements)
    per_line, most = max(1, line_bytes // itemsize), min(max(m, k, n), one_tile)
    sides = range(per_line, most + 1, per_line)
    tried = tuple(blocks) if blocks is not None else sides if len(sides) > 1 else range(1, most + 1)
    if not tried:
        raise ValueError("no block is given to try; give one or more")
    level = Level("cache", num_lines, ways or num_lines)
    moved = {}
    for block in tried:
        stream = product_lines(m, k, n, order=order, block=block, itemsize=itemsize, line_bytes=line_bytes)
        (counts,) = replay_lines(stream, [level], line_bytes)
        moved[block] = counts.bytes_moved
    return BestBlock(
        block=min(moved, key=moved.get),
        three_tiles=isqrt(elements // 3),
        four_tiles=isqrt(elements // 4),
        one_tile=one_tile,
        bytes_moved=MappingProxyType(moved),
    )


def _checked(lines, writes):
    import numpy as np

    lines, writes = np.asarray(lines), np.asarray(writes)
    if lines.ndim != 1 or lines.shape != writes.shape or lines.dtype.kind not in "iu" or writes.dtype != bool:
        raise ValueError(
            f"a stream is an array of whole numbers and one of booleans, of one length; there came "
            f"{lines.dtype}{list(lines.shape)} and {writes.dtype}{list(writes.shape)}"
        )
    if lines.size and lines.min() < 0:
        raise ValueError(f"line {lines.min()} is below 0; give 0 or more")
    return lines.astype(np.int64, copy=False) if lines.dtype != np.int32 else lines, writes


class _Replay:
    """One level that takes a stream, keeps what it holds, and sends what it misses and throws out to the next."""

    def __init__(self, level, behind, *, first):
        import numpy as np

        whole(num_lines=level.num_lines, ways=level.ways)
        if level.num_lines % level.ways:
            raise ValueError(
                f"ways is {level.ways}, which does not divide the {level.num_lines} lines of {level.name}; "
                "choose a divisor"
            )
        self.level, self.behind, self.first = level, behind, first
        self.num_sets = level.num_lines // level.ways
        self.lines, self.dirty = np.empty(0, np.int32), np.empty(0, bool)  # what it holds, of each set the oldest first
        self.waiting, self.count = [], 0
        self.accesses = self.misses = self.write_backs = 0

    def counts(self, line_bytes):
        return LevelCounts(
            name=self.level.name,
            accesses=self.accesses,
            misses=self.misses,
            write_backs=self.write_backs,
            line_bytes=line_bytes,
        )

    def add(self, lines, writes):
        """Take a piece; work when enough has come, for what the level holds is looked at each time anew."""
        self.waiting.append((lines, writes))
        self.count += lines.size
        if self.count >= max(PIECE // 4, 4 * self.level.num_lines):
            self.work()

    def flush(self):
        """The end: take what waits, and send what is dirty on."""
        import numpy as np

        self.work()
        lines = np.sort(self.lines[self.dirty])
        self.write_backs += lines.size
        if self.behind and lines.size:
            self.behind.add(lines, np.ones(lines.size, bool))

    def work(self):
        import numpy as np

        lines = np.concatenate([self.lines, *(lines for lines, _ in self.waiting)])
        writes = np.concatenate([self.dirty, *(writes for _, writes in self.waiting)])
        held, self.waiting, self.count = self.lines.size, [], 0
        asked = lines.size - held  # lines that are written whole need not be asked for
        self.accesses += asked if self.first else asked - int(np.count_nonzero(writes[held:]))
        if not asked:
            return
        time = None  # of each access, where they are no longer all there
        if self.level.ways >= 3:
            keep = np.flatnonzero(~_repeated(lines, writes))
            if keep.size < lines.size:
                time, lines, writes = keep, lines[keep], writes[keep]

        # set by set, each in the order of its accesses; a line that is touched again at once counts once
        by_set = _stable_order(_modulo(lines, self.num_sets))
        lines = lines[by_set]
        starts = np.flatnonzero(np.concatenate([[True], lines[1:] != lines[:-1]]))
        lines, at, written = lines[starts], by_set[starts], np.logical_or.reduceat(writes[by_set], starts)
        sets = _modulo(lines, self.num_sets)

        # the accesses of one line, one after the other
        by_line = _stable_order(lines)
        earlier = _earlier(lines, by_line)
        distances = _distances(earlier, near=self.level.ways)
        miss = (distances < 0) | (distances >= self.level.ways)

        # from a miss to the next one of the same line it is in the cache; it leaves dirty if it was written meanwhile
        begins = np.flatnonzero(miss[by_line])
        last = np.concatenate([by_line[begins[1:] - 1], by_line[-1:]])
        dirty = np.logical_or.reduceat(written[by_line], begins)
        in_turn = np.argsort(last)
        last, dirty = last[in_turn], dirty[in_turn]

        # in each set the miss number ways + i throws out the line of the i-th oldest last use
        misses = np.flatnonzero(miss)
        rank = _rank(sets[misses])
        throws = np.flatnonzero(rank >= self.level.ways)
        gone = throws - self.level.ways
        stays = np.ones(last.size, bool)
        stays[gone] = False
        self.lines, self.dirty = lines[last[stays]], dirty[stays]

        when = at[misses]
        fetch = when >= held if time is None else time[when] >= held
        if not self.first:
            fetch &= ~writes[when]
        back = throws[dirty[gone]]
        self.misses += int(np.count_nonzero(fetch))
        self.write_backs += back.size
        if self.behind:
            order = np.argsort(np.concatenate([2 * when[fetch].astype(np.int64), 2 * when[back].astype(np.int64) + 1]))
            left = lines[last[gone[dirty[gone]]]]
            sent = np.concatenate([lines[misses[fetch]], left])[order]
            self.behind.add(sent, np.repeat([False, True], [np.count_nonzero(fetch), back.size])[order])


def _repeated(lines, writes):
    """Accesses that may be left out in a cache of three ways or more, because nothing follows from them.

    Where lines and writes repeat with a period of three, as in the innermost loop of a product, all after the first
    three are hits; and after the last three the same lines were used last in the same order.
    """
    import numpy as np

    if lines.size < 8:
        return np.zeros(lines.size, bool)
    same = (lines[3:] == lines[:-3]) & (writes[3:] == writes[:-3])
    run = same[:-3] & same[1:-2] & same[2:-1] & same[3:]
    return np.concatenate([np.zeros(3, bool), run, np.zeros(lines.size - run.size - 3, bool)])


def _modulo(lines, num_sets):
    return lines & (num_sets - 1) if num_sets & (num_sets - 1) == 0 else lines % num_sets


def _stable_order(keys):
    """``argsort(keys, kind="stable")``, faster: NumPy sorts whole numbers of 16 bits by radix."""
    import numpy as np

    keys = keys - keys.min()
    order = np.argsort((keys & 0xFFFF).astype(np.uint16), kind="stable")
    for shift in range(16, int(keys.max()).bit_length(), 16):
        order = order[np.argsort(((keys >> shift) & 0xFFFF).astype(np.uint16)[order], kind="stable")]
    return order.astype(np.int32)


def _earlier(lines, by_line=None):
    """Of each access the one before it to the same line, or -1; `by_line` is their stable order by line, if known."""
    import numpy as np

    by_line = _stable_order(lines) if by_line is None else by_line
    again = np.flatnonzero(lines[by_line[1:]] == lines[by_line[:-1]])
    earlier = np.full(lines.size, -1, np.int32)
    earlier[by_line[again + 1]] = by_line[again]
    return earlier


def _rank(groups):
    """Of each element, how many before it are of the same group; `groups` rise.

    >>> import numpy as np
    >>> _rank(np.array([4, 4, 7, 7, 7])).tolist()
    [0, 1, 0, 1, 2]
    """
    import numpy as np

    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    return np.arange(groups.size) - np.repeat(starts, np.diff(np.append(starts, groups.size)))


def _distances(earlier, near=0):
    """Other lines touched since the access before to the same line, -1 if there was none; 0 if it is `near`.

    Each of those lines has one access since then whose own line was used last before then. Such an access spans the
    place where the count begins. It is near if it spans at most `near` accesses: then it spans that place and not the
    one where the count ends, and a running sum of spans tells how many do. Only the far ones need to be ranked.
    """
    import numpy as np

    places = np.arange(earlier.size, dtype=np.int32)
    is_far = (earlier < 0) | (places - earlier > near)
    is_near = ~is_far
    spans = np.bincount(earlier[is_near], minlength=earlier.size) - np.bincount(places[is_near], minlength=earlier.size)
    fars, spans = np.cumsum(is_far), np.cumsum(spans)

    again = np.flatnonzero(is_far & (earlier >= 0))
    before = earlier[again]
    is_before = np.zeros(earlier.size, np.int32)
    is_before[before] = 1
    rank = np.cumsum(is_before, dtype=np.int32)[before] - 1
    new = fars[again] - 1 - np.arange(again.size)  # of the far ones up to now, those of a line never used before
    distances = np.where(earlier < 0, np.int32(-1), np.int32(0))
    distances[again] = new + _smaller_before(rank) - fars[before] + spans[before]
    return distances


def _smaller_before(permutation):
    """Of each element of a permutation of 0 to size - 1, how many before it are smaller.

    The elements are parted by their bits from the highest on, so that those in a node differ in lower bits only; a node
    begins at the place that is its smallest element. Each counts the smaller ones that part from it.

    >>> import numpy as np
    >>> _smaller_before(np.array([2, 0, 3, 1], np.int32)).tolist()
    [0, 0, 2, 1]
    """
    import numpy as np

    order, size = permutation, permutation.size
    places = np.arange(size, dtype=np.int32)
    found = np.zeros(size, np.int32)
    for bit in reversed(range(max(0, size - 1).bit_length())):
        nodes = places[:: 2 << bit]
        lengths = np.diff(nodes, append=size)
        one = (order >> bit & 1).astype(bool)
        zeros = np.cumsum(~one, dtype=np.int32)
        zeros -= np.repeat(
            np.append(np.int32(0), zeros[nodes[1:] - 1]), lengths
        )  # in a node: up to an element, with it
        np.add(found, zeros, out=found, where=one)
        node = np.repeat(nodes, lengths)
        middle = np.minimum(node + (1 << bit), size)
        to = np.where(one, middle + (places - node) - zeros, node + zeros - 1)
        parted, counted = np.empty_like(order), np.empty_like(found)
        parted[to], counted[to] = order, found
        order, found = parted, counted
    return found[permutation]
