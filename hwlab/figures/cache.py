"""A small cache under a loop order: which lines of A, B and C are in it, and how often the product has to wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from hwlab.costs.blocking import ORDERS
from hwlab.costs.caches import KINDS, Cache, Counts, array_starts, product_accesses, replay, tiles
from hwlab.figures.own import Number, Own, Pick
from hwlab.formula import number

SLOW = 24
"""Accesses at the beginning that have a frame each: two lines of four elements."""

MOST_TURNS = 80
"""Frames after those. Each takes one turn, or several where there are more."""

MOST_ACCESSES = 50_000
"""Longest product that is stepped through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A product C[m, n] = A[m, k] B[k, n], the order of its loops, and the cache that it meets.

    Parameters
    ----------
    m, k, n, order, block, itemsize
        As for `hwlab.costs.caches.product_accesses`.
    num_lines, ways, line_bytes
        As for `hwlab.costs.caches.Cache`; without `ways` a line may go anywhere.

    Raises
    ------
    ValueError
        If there are more than `MOST_ACCESSES` accesses, or an element does not lie within one line.

    Examples
    --------
    >>> Scene(m=64, k=64, n=64)
    Traceback (most recent call last):
    ...
    ValueError: this product makes 786,432 accesses; at most 50,000 are stepped through: choose a smaller m, k or n
    """

    m: int
    k: int
    n: int
    order: str = "mnk"
    block: int | None = None
    itemsize: int = 4
    num_lines: int = 64
    ways: int | None = None
    line_bytes: int = 16

    def __post_init__(self):
        self.accesses(), self.cache()  # they refuse what cannot be
        if self.line_bytes % self.itemsize:
            raise ValueError(
                f"a line of {self.line_bytes} bytes holds no whole number of elements of {self.itemsize}; "
                "choose a multiple"
            )
        if self.num_accesses > MOST_ACCESSES:
            raise ValueError(
                f"this product makes {self.num_accesses:,} accesses; at most {MOST_ACCESSES:,} are stepped through: "
                "choose a smaller m, k or n"
            )

    def accesses(self):
        """What the product touches, one access after the other."""
        return product_accesses(
            self.m,
            self.k,
            self.n,
            order=self.order,
            block=self.block,
            itemsize=self.itemsize,
            align=self.line_bytes,
        )

    def cache(self) -> Cache:
        """The cache, empty."""
        return Cache(self.num_lines, self.ways or self.num_lines, self.line_bytes)

    def counts(self) -> Counts:
        """What the product costs in all."""
        return replay(self.accesses(), self.cache())

    @property
    def num_accesses(self) -> int:
        """Three for each multiply-add."""
        return 3 * self.m * self.k * self.n

    @property
    def num_lines_touched(self) -> int:
        """Lines of the three arrays: the misses that no cache avoids."""
        sizes = {"A": self.m * self.k, "B": self.k * self.n, "C": self.m * self.n}
        return sum(-(-size * self.itemsize // self.line_bytes) for size in sizes.values())

    def turns(self) -> list[int]:
        """Accesses of each turn: a pass of the innermost loop or, with tiles, a product of tiles."""
        sizes = [getattr(self, axis) for axis in self.order]
        if self.block is None:
            return [3 * sizes[2]] * (sizes[0] * sizes[1])
        return [3 * prod(map(len, tile)) for tile in product(*(tiles(size, self.block) for size in sizes))]


_PRODUCT = {"m": 4, "k": 64, "n": 16}
SCENES: Mapping[str, tuple[str, Scene]] = {
    "mnk": ("Order m, n, k", Scene(**_PRODUCT, order="mnk")),
    "mkn": ("Order m, k, n", Scene(**_PRODUCT, order="mkn")),
    "tiles": ("Tiles of 4 × 4", Scene(**_PRODUCT, order="mnk", block=4)),
    "direct": ("Tiles, one way", Scene(**_PRODUCT, order="mnk", block=4, ways=1)),
}
"""Four rows against a 64 x 16 matrix in float32; 64 lines of four elements. In the last a line has one place only."""


def _scene(*, block: str, itemsize: str, num_lines: str, ways: str, **product) -> Scene:
    return Scene(
        block=int(block) or None,
        itemsize=int(itemsize),
        num_lines=int(num_lines),
        ways=int(ways) or None,
        **product,
    )


OWN = Own(
    build=_scene,
    fields=(
        Number("m", "m, rows of A", 1, 8, 4),
        Number("k", "k, columns of A", 1, 64, 64),
        Number("n", "n, columns of B", 1, 32, 16),
        Pick("order", "Loops, outer to inner", {order: ", ".join(order) for order in ORDERS}, "kmn"),
        Pick("block", "Tiles", {"0": "none", "2": "2 × 2", "4": "4 × 4", "8": "8 × 8"}, "0"),
        Pick("itemsize", "Element", {size: f"{size} bytes" for size in "248"}, "4"),
        Pick("num_lines", "Lines of the cache", {lines: lines for lines in ("16", "32", "64")}, "64"),
        Pick("ways", "Ways", {"1": "1", "2": "2", "4": "4", "8": "8", "0": "all"}, "8"),
    ),
)
"""A product and a cache of the reader's own, as large as a phone can draw legibly."""


def frames(scene: Scene) -> Iterator[dict]:
    """What happens in the cache: first access by access, then turn by turn, at last with what is written back.

    A frame is plain data, ready for JSON:

    - ``shape``: m, k, n; ``cache``: its lines, its ways, elements a line; ``starts``: the first line of A, B and C;
    - ``lines``: the line in each place, set by set, -1 where there is none;
    - ``fetched``: the places whose line came in this frame;
    - ``place``: the place of a single access, else None;
    - ``touched``: array -> ``[first row, end row, first column, end column]`` of what this frame used;
    - ``accesses`` and ``misses`` so far: a list for A, B and C; ``each``: accesses to an array in the whole product;
    - ``bytes``: moved so far; ``says`` and ``arithmetic``.

    Examples
    --------
    >>> found = list(frames(SCENES["mnk"][1]))
    >>> found[1]["says"]
    'Access 2 of 12,288: B[0, 0] misses, its line is new; it brings B[0, 0] to B[0, 3]. 2 of 2 have missed.'
    >>> found[-1]["misses"], found[-1]["bytes"]
    ([1024, 4096, 16], 82432)
    """
    return _Walk(scene).frames()


class _Walk:
    """A walk through a scene that keeps what frames are made of."""

    def __init__(self, scene: Scene):
        self.scene, self.cache = scene, scene.cache()
        self.per_line = scene.line_bytes // scene.itemsize
        starts = array_starts(scene.m, scene.k, scene.n, itemsize=scene.itemsize, align=scene.line_bytes)
        self.starts = {array: start // scene.line_bytes for array, start in starts.items()}
        self.columns = {"A": scene.k, "B": scene.n, "C": scene.n}
        self.sizes = {"A": scene.m * scene.k, "B": scene.k * scene.n, "C": scene.m * scene.n}
        self.accesses, self.misses = dict.fromkeys("ABC", 0), dict.fromkeys("ABC", 0)

    def frames(self):
        walk, done = self.scene.accesses(), 0
        for access in (next(walk) for _ in range(min(SLOW, self.scene.num_accesses))):
            outcome, touched, fetched, _, _ = self.go([access])
            done += 1
            yield self.frame(touched, fetched, self.says_access(done, access, outcome), outcome.place)
        turns = self.scene.turns()
        together = -(-len(turns) // MOST_TURNS)
        for first in range(0, len(turns), together):
            taken = turns[first : first + together]
            end = sum(turns[: first + len(taken)])
            if end > done:
                _, touched, fetched, kinds, missed = self.go([next(walk) for _ in range(end - done)])
                says = self.says_turns(first + 1, first + len(taken), len(turns), end - done, kinds, missed)
                done = end
                yield self.frame(touched, fetched, says)
        yield self.frame({}, [], self.says_end(self.cache.flush()))

    def go(self, accesses):
        """Take `accesses` through the cache: the last outcome, extents, places filled, kinds and misses by array."""
        touched, fetched = {}, {}
        kinds, missed = dict.fromkeys(KINDS, 0), dict.fromkeys("ABC", 0)
        for access in accesses:
            outcome = self.cache.touch(access.address, write=access.write)
            array, row, column = access[:3]
            top, bottom, left, right = touched.get(array, (row, row + 1, column, column + 1))
            touched[array] = [min(top, row), max(bottom, row + 1), min(left, column), max(right, column + 1)]
            kinds[outcome.kind] += 1
            self.accesses[array] += 1
            if outcome.kind != "hit":
                missed[array] += 1
                self.misses[array] += 1
                fetched[outcome.place] = None
        return outcome, touched, sorted(fetched), kinds, missed

    def frame(self, touched, fetched, says, place=None):
        counts = self.cache.counts
        return {
            "says": says,
            "arithmetic": self.arithmetic(counts),
            "shape": [self.scene.m, self.scene.k, self.scene.n],
            "cache": [self.cache.num_lines, self.cache.ways, self.per_line],
            "starts": list(self.starts.values()),
            "lines": [-1 if line is None else line for line in self.cache.places],
            "fetched": fetched,
            "place": place,
            "touched": touched,
            "accesses": list(self.accesses.values()),
            "misses": list(self.misses.values()),
            "each": self.scene.num_accesses // 3,
            "bytes": counts.bytes_moved,
        }

    def arithmetic(self, counts):
        by_array = " + ".join(f"{array} {misses:,}" for array, misses in self.misses.items())
        share = f"{number(100 * counts.misses / counts.accesses)} %"
        return [
            f"{by_array} = {counts.misses:,} misses; / {counts.accesses:,} accesses = {share}",
            f"{counts.compulsory:,} compulsory + {counts.capacity:,} capacity + {counts.conflict:,} conflict",
            f"({counts.misses:,} fetched + {counts.write_backs:,} written back) × {counts.line_bytes} B"
            f" = {counts.bytes_moved:,} B",
        ]

    def owner(self, line):
        """The array that `line` belongs to."""
        return max((array for array, start in self.starts.items() if start <= line), key="ABC".index)

    def element(self, array, index):
        row, column = divmod(index, self.columns[array])
        return f"{array}[{row}, {column}]"

    def says_access(self, done, access, outcome):
        array = access.array
        if outcome.kind == "hit":
            says = "hits: its line is in the cache"
        else:
            why = {
                "compulsory": "its line is new",
                "capacity": "since its last use more lines came by than the cache holds",
                "conflict": "its line had to leave for another of its set",
            }[outcome.kind]
            first = (outcome.line - self.starts[array]) * self.per_line
            last = min(first + self.per_line, self.sizes[array]) - 1
            says = f"misses, {why}"
            if last > first:
                says += f"; it brings {self.element(array, first)} to {self.element(array, last)}"
            if outcome.evicted is not None:
                says += f", and a line of {self.owner(outcome.evicted)} leaves"
        missed = self.cache.counts.misses
        return (
            f"Access {done:,} of {self.scene.num_accesses:,}: {array}[{access.row}, {access.column}] {says}. "
            f"{missed} of {done} {'has' if missed == 1 else 'have'} missed."
        )

    def says_turns(self, first, last, turns, accesses, kinds, missed):
        one, many = ("Pass", "Passes") if self.scene.block is None else ("Tile", "Tiles")
        which = f"{one} {first}" if first == last else f"{many} {first} to {last}"
        misses = sum(missed.values())
        if not misses:
            what = f"all {accesses:,} accesses hit"
        else:
            *others, last_one = [f"{count:,} of {array}" for array, count in missed.items() if count]
            where = f"{', '.join(others)} and {last_one}" if others else last_one
            kind = max(KINDS[1:], key=kinds.get)
            most = "all" if kinds[kind] == misses else "most"
            why = {
                "compulsory": "new lines",
                "capacity": "lines that were here and left, since more are in use than fit",
                "conflict": "lines that were here and had to leave for others of their set",
            }[kind]
            what = f"{misses:,} of {accesses:,} accesses miss, {where}, {most} {why}"
        counts = self.cache.counts
        return f"{which} of {turns:,}: {what}. {number(100 * counts.misses / counts.accesses)} % have missed so far."

    def says_end(self, written):
        counts, scene = self.cache.counts, self.scene
        lines = "1 dirty line of C goes" if written == 1 else f"{written} dirty lines of C go"
        says = [
            f"Done: {lines} home. In all {counts.misses:,} of {counts.accesses:,} accesses missed, "
            f"and {counts.bytes_moved:,} bytes moved."
        ]
        rival = replace(scene, order="mkn", block=None)
        if counts.conflict:
            anywhere = replace(scene, ways=None).counts().misses
            says.append(f"If a line could go anywhere, {anywhere:,} would miss.")
        elif rival != scene:
            says.append(f"In order m, k, n without tiles {rival.counts().misses:,} would miss.")
        says.append(f"Each line once would be {scene.num_lines_touched:,}.")
        return " ".join(says)


def cache_under_loops(scenes: Mapping[str, tuple[str, Scene]] = SCENES):
    """A stepper of a small cache while a matrix product runs through it.

    Parameters
    ----------
    scenes : mapping of str to (title, `Scene`)
        What the reader may choose from; the first is shown at the start.

    Returns
    -------
    Machine

    Examples
    --------
    >>> machine = cache_under_loops()
    >>> machine.frame["misses"]
    [1024, 4096, 16]
    >>> machine.scene, machine.at = "mkn", len(machine.frames) - 1
    >>> machine.frame["misses"]
    [64, 1024, 16]
    """
    from hwlab.figures.machine import Machine  # here, so that frames() needs no widgets: it runs in a browser's Python

    return Machine(
        "cache",
        "cache",
        frames,
        scenes,
        columns={
            "Misses of A": lambda frame: f"{frame['misses'][0]:,}",
            "of B": lambda frame: f"{frame['misses'][1]:,}",
            "of C": lambda frame: f"{frame['misses'][2]:,}",
            "All": lambda frame: f"{sum(frame['misses']):,}",
            "Accesses": lambda frame: f"{sum(frame['accesses']):,}",
            "Bytes moved": lambda frame: f"{frame['bytes']:,}",
        },
        picture=_totals,
        scene=next(iter(scenes)),
        alt="Matrices A, B and C with the lines of each that are in the cache, the places of the cache with the name "
        "of the array whose line each holds, and bars of the misses so far.",
        own=OWN,
    )


def _totals(last: dict[str, dict]):
    import altair as alt

    from hwlab.figures.theme import SERIES

    rows = [
        {"scene": title, "array": array, "misses": misses}
        for title, frame in last.items()
        for array, misses in zip("ABC", frame["misses"], strict=True)
    ]
    return (
        alt.Chart(alt.Data(values=rows), height=180)
        .mark_bar()
        .encode(
            alt.X("misses:Q", title="Misses in the whole product", axis=alt.Axis(tickCount=5)),
            alt.Y("scene:N", title=None, sort=list(last)),
            alt.Color("array:N", title="Array", scale=alt.Scale(domain=list("ABC"), range=list(SERIES[:3]))),
        )
    )
