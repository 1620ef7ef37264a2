"""The blocked matrix product: how many bytes cross between slow and fast memory, in closed form and step by step.

``C[m, n] = A[m, k] @ B[k, n]`` is cut into tiles. Fast memory (a cache, a scratchpad, a register file) holds one tile
of each array; a tile is loaded only when it is not the one already there. A tile of C that leaves is written back, and
is loaded again when the loop returns to it with its sum unfinished. The order of the three loops thus decides which
array stays and which are fetched again and again, although the FLOP are the same.

`blocked_bytes` counts by formula and `steps` by carrying the product out, tile by tile; a test holds them equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

ORDERS = tuple("".join(order) for order in permutations("mnk"))
"""The six loop orders, outermost loop first. The innermost one names the array that stays: the one without it."""

MAX_STEPS = 4096
"""Most tile products that `steps` carries out: a drawing shows no more, and `blocked_bytes` has no such limit."""

_AXES = {"A": "mk", "B": "kn", "C": "mn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Bytes that cross between slow and fast memory, by array and direction."""

    a_read: int
    b_read: int
    c_read: int
    c_written: int

    @property
    def total(self) -> int:
        """All bytes moved, both directions."""
        return self.a_read + self.b_read + self.c_read + self.c_written


def blocked_bytes(
    m: int, k: int, n: int, *, block_m: int, block_k: int, block_n: int, itemsize: int, order: str = "mnk"
) -> Traffic:
    """Bytes moved by the blocked product of ``A[m, k]`` and ``B[k, n]``, edge tiles included, exactly.

    Parameters
    ----------
    m, k, n : int
        Rows of A, shared dimension, columns of B.
    block_m, block_k, block_n : int
        Tile sizes along the same dimensions; the last tile of each may be smaller.
    itemsize : int
        Bytes an element.
    order : str
        Loops from the outermost to the innermost, one of `ORDERS`.

    Raises
    ------
    ValueError
        As `Scene`.

    Notes
    -----
    Each array lacks one of the three indices. A sweep over the lacking index asks for the same tiles again, so the
    array is fetched once a tile of that index; only once if no other tile of it came between, which is so when every
    loop inside the lacking one that does move it has a single tile. C is written on each visit and read on all but
    the first.

    Examples
    --------
    Single elements, 8 x 8 x 8, in the textbook order: B is read once a row of A and C is finished in place.

    >>> blocked_bytes(8, 8, 8, block_m=1, block_k=1, block_n=1, itemsize=4, order="mnk")
    Traffic(a_read=2048, b_read=2048, c_read=0, c_written=256)

    Tiles of 4 x 4 x 4 move a quarter of A and B:

    >>> blocked_bytes(8, 8, 8, block_m=4, block_k=4, block_n=4, itemsize=4, order="mnk")
    Traffic(a_read=512, b_read=512, c_read=0, c_written=256)
    """
    return Scene(
        m=m, k=k, n=n, block_m=block_m, block_k=block_k, block_n=block_n, itemsize=itemsize, order=order
    ).traffic


def least_bytes(m: int, k: int, n: int, *, fast_bytes: float, itemsize: int) -> float:
    """Fewest bytes that any schedule of the ordinary product can move through a fast memory of `fast_bytes`.

    Ordinary means 2mkn FLOP; Strassen's product and its like are outside.

    Notes
    -----
    Every element of A and B is read and every one of C is written at least once: mk + kn + mn. Where fast memory
    holds S elements and the product is larger than it, the leading term is 2mkn/sqrt(S) elements. In any stretch of
    the work that reads 2S elements, at most 3S different ones of A, B and C are at hand, and those allow no more than
    sqrt(S^3) multiplications (Loomis and Whitney 1949), so there are at least mkn/sqrt(S^3) stretches, the last of
    them perhaps not full: 2mkn/sqrt(S) - 2S. (A sum begun at zero counts as read; its write, which is sure to come,
    pays for it.)

    J.-W. Hong and H. T. Kung, "I/O complexity: the red-blue pebble game", STOC 1981, proved the order mkn/sqrt(S);
    T. M. Smith, B. Lowery, J. Langou and R. A. van de Geijn, "A tight I/O lower bound for matrix multiplication",
    arXiv:1702.02017, 2017, the factor 2. Both are met up to lower terms by a large tile of C that stays while thin
    slices of A and B pass by.

    Examples
    --------
    A 4096 x 4096 product in float32 with 1 MiB of fast memory cannot move less than 1.07 GB:

    >>> round(least_bytes(4096, 4096, 4096, fast_bytes=2**20, itemsize=4) / 1e9, 2)
    1.07
    """
    elements = fast_bytes / itemsize
    once = m * k + k * n + m * n
    return max(once, 2 * m * k * n / math.sqrt(elements) - 2 * elements) * itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One blocked product: sizes, tiles, loop order and the fast memory that holds one tile of each array.

    Parameters
    ----------
    m, k, n, block_m, block_k, block_n, itemsize, order
        As for `blocked_bytes`.
    fast_bytes : int, optional
        Size of the fast memory. By default it is just large enough.

    Raises
    ------
    ValueError
        If a size is not a positive integer, a tile is larger than its dimension, the order is not one of the six, or
        fast memory is too small for one tile of each array.

    Examples
    --------
    >>> scene = Scene(m=4, k=4, n=4, block_m=2, block_k=2, block_n=2, itemsize=4)
    >>> scene.num_steps, scene.flop, scene.traffic.total, scene.intensity
    (8, 128, 320, 0.4)
    >>> Scene(m=4, k=4, n=4, block_m=8, block_k=2, block_n=2, itemsize=4)
    Traceback (most recent call last):
    ...
    ValueError: block_m is 8, but m is only 4; choose a tile of 1 to 4
    """

    m: int
    k: int
    n: int
    block_m: int
    block_k: int
    block_n: int
    itemsize: int = 4
    order: str = "mnk"
    fast_bytes: int | None = None

    def __post_init__(self):
        for name in ("m", "k", "n", "block_m", "block_k", "block_n", "itemsize", "fast_bytes"):
            value = getattr(self, name)
            if name == "fast_bytes" and value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} is {value!r}; give a whole number of 1 or more")
        for axis in "mkn":
            size, block = self.size(axis), self.block(axis)
            if block > size:
                raise ValueError(f"block_{axis} is {block}, but {axis} is only {size}; choose a tile of 1 to {size}")
        if self.order not in ORDERS:
            raise ValueError(f"order is {self.order!r}; choose one of {', '.join(ORDERS)} (outermost loop first)")
        if self.fast_bytes is not None and self.fast_bytes < self.tile_bytes:
            raise ValueError(
                f"fast_bytes is {self.fast_bytes}, but one tile each of A, B and C takes {self.tile_bytes} bytes; "
                "choose smaller tiles or a larger fast memory"
            )

    def size(self, axis: str) -> int:
        """Elements along ``"m"``, ``"k"`` or ``"n"``."""
        return getattr(self, axis)

    def block(self, axis: str) -> int:
        """Elements of a full tile along `axis`."""
        return getattr(self, f"block_{axis}")

    def tiles(self, axis: str) -> int:
        """Tiles along `axis`, the last perhaps smaller."""
        return -(-self.size(axis) // self.block(axis))

    @property
    def num_steps(self) -> int:
        """Tile products in all."""
        return self.tiles("m") * self.tiles("k") * self.tiles("n")

    @property
    def flop(self) -> int:
        """2mkn: a multiplication and an addition for each term of each sum."""
        return 2 * self.m * self.k * self.n

    @property
    def tile_bytes(self) -> int:
        """Bytes of one full tile of each array: what fast memory must hold."""
        bm, bk, bn = self.block_m, self.block_k, self.block_n
        return (bm * bk + bk * bn + bm * bn) * self.itemsize

    @property
    def traffic(self) -> Traffic:
        """Bytes moved, by the closed form."""
        fetches = {}
        for array, axes in _AXES.items():
            (lacking,) = set("mkn") - set(axes)
            inside = self.order[self.order.index(lacking) + 1 :]
            moved = any(self.tiles(axis) > 1 for axis in inside)
            fetches[array] = self.tiles(lacking) if moved else 1
        a, b, c = self.m * self.k, self.k * self.n, self.m * self.n
        return Traffic(
            a_read=fetches["A"] * a * self.itemsize,
            b_read=fetches["B"] * b * self.itemsize,
            c_read=(fetches["C"] - 1) * c * self.itemsize,
            c_written=fetches["C"] * c * self.itemsize,
        )

    @property
    def intensity(self) -> float:
        """FLOP a byte moved, over the whole product."""
        return self.flop / self.traffic.total

    @property
    def least_bytes(self) -> float:
        """`least_bytes` of this product in this fast memory."""
        fast_bytes = self.tile_bytes if self.fast_bytes is None else self.fast_bytes
        return least_bytes(self.m, self.k, self.n, fast_bytes=fast_bytes, itemsize=self.itemsize)


def steps(scene: Scene) -> Iterator[dict]:
    """Carry `scene` out tile by tile; yield one frame a tile product, then one for the last tile of C going home.

    A frame is plain data, ready for JSON:

    - ``step``: 1, 2, ... and ``steps``, how many frames there are;
    - ``resident``: array -> ``[first row, end row, first column, end column]`` of its tile in fast memory, or None;
    - ``loaded``: names of the arrays whose tile was fetched for this step;
    - ``stored``: extent of the tile of C that was written back for this step, or None;
    - ``read`` and ``written``: bytes so far, by array;
    - ``bytes``, ``flop`` and ``intensity``: their sum, the FLOP and their ratio, so far;
    - ``says``: the same in a sentence.

    Raises
    ------
    ValueError
        If there are more than `MAX_STEPS` tile products.

    Examples
    --------
    >>> scene = Scene(m=4, k=4, n=4, block_m=2, block_k=2, block_n=2, itemsize=4, order="mnk")
    >>> for frame in list(steps(scene))[:4]:
    ...     print(frame["loaded"], frame["stored"], frame["read"], frame["written"])
    ['A', 'B'] None {'A': 16, 'B': 16, 'C': 0} {'C': 0}
    ['A', 'B'] None {'A': 32, 'B': 32, 'C': 0} {'C': 0}
    ['A', 'B'] [0, 2, 0, 2] {'A': 48, 'B': 48, 'C': 0} {'C': 16}
    ['A', 'B'] None {'A': 64, 'B': 64, 'C': 0} {'C': 16}
    >>> frame["says"]
    'Step 4 of 9: loads tiles of A and B; C stays. 0.44 FLOP a byte so far.'
    """
    if scene.num_steps > MAX_STEPS:
        raise ValueError(
            f"this product takes {scene.num_steps} tile products; at most {MAX_STEPS} are carried out: "
            "choose larger tiles or a smaller product (blocked_bytes counts any size)"
        )
    resident: dict[str, list[int] | None] = dict.fromkeys(_AXES)
    read, written = dict.fromkeys(_AXES, 0), {"C": 0}
    begun = set()  # tiles of C that hold a part of their sum, in slow memory
    flop = 0

    def frame(step: int, loaded: list[str], stored: list[int] | None) -> dict:
        moved = sum(read.values()) + sum(written.values())
        return {
            "step": step,
            "steps": scene.num_steps + 1,
            "resident": dict(resident),
            "loaded": loaded,
            "stored": stored,
            "read": dict(read),
            "written": dict(written),
            "bytes": moved,
            "flop": flop,
            "intensity": flop / moved if moved else None,
            "says": _sentence(step, scene.num_steps + 1, resident, loaded, stored, flop, moved),
        }

    def nbytes(extent: list[int]) -> int:
        top, bottom, left, right = extent
        return (bottom - top) * (right - left) * scene.itemsize

    for step, indices in enumerate(product(*(range(scene.tiles(axis)) for axis in scene.order)), start=1):
        at = dict(zip(scene.order, indices, strict=True))
        start = {axis: at[axis] * scene.block(axis) for axis in "mkn"}
        end = {axis: min(start[axis] + scene.block(axis), scene.size(axis)) for axis in "mkn"}
        loaded, stored = [], None
        for array, (row, column) in _AXES.items():
            wanted = [start[row], end[row], start[column], end[column]]
            if resident[array] == wanted:
                continue
            if array == "C" and resident["C"] is not None:
                stored = resident["C"]
                written["C"] += nbytes(stored)
                begun.add(tuple(stored))
            resident[array] = wanted
            if array != "C" or tuple(wanted) in begun:  # a fresh tile of C starts at zero: nothing to fetch
                loaded.append(array)
                read[array] += nbytes(wanted)
        flop += 2 * math.prod(end[axis] - start[axis] for axis in "mkn")
        yield frame(step, loaded, stored)

    stored, resident["C"] = resident["C"], None
    written["C"] += nbytes(stored)
    yield frame(scene.num_steps + 1, [], stored)


def _sentence(step, last, resident, loaded, stored, flop, moved) -> str:
    stays = [array for array in _AXES if array not in loaded and resident[array] and not (array == "C" and stored)]
    parts = []
    if stored:
        parts.append("writes a tile of C back")
    if loaded:
        parts.append(f"loads {'a tile' if len(loaded) == 1 else 'tiles'} of {_join(loaded)}")
    if step == last:
        parts.append("done")
    elif stays and step > 1:
        parts.append(f"{_join(stays)} {'stay' if len(stays) > 1 else 'stays'}")
    rate = f" {flop / moved:.2f} FLOP a byte so far." if moved else ""
    return f"Step {step} of {last}: {'; '.join(parts)}.{rate}"


def _join(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
