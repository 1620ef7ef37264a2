"""The systolic array: every multiply-accumulate at its cycle, and the closed forms that say how many cycles there are.

An array of `rows` x `columns` processing elements (PE) computes ``y[m, n] = x[m, k] @ w[k, n]``. In each cycle a PE
multiplies what came from its left by what it holds or got from above, adds, and hands both on. One operand stays where
it is, and names the dataflow:

- "weight": ``w[r, c]`` stays in PE (r, c), rows of `x` enter from the left, one cycle later for each row of the array
  (the skew), and partial sums move down. The TPU's.
- "output": ``y[r, c]`` is summed in place while `x` enters from the left and `w` from above, both skewed.
- "input": as "weight", with ``x`` in the array and columns of `w` passing by.

What does not fit is cut into folds, one after the other. `cycles` counts by formula, `steps` moves every register of
one array in plain Python, and `simulate` does the same for any size in NumPy; tests hold the three equal.

H. T. Kung and C. E. Leiserson, "Systolic arrays (for VLSI)", Sparse Matrix Proceedings 1978; N. P. Jouppi et al.,
"In-datacenter performance analysis of a tensor processing unit", ISCA 2017, arXiv:1704.04760.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hwlab.formula import whole

DATAFLOWS = ("weight", "output", "input")

MAX_STEPS = 4096
"""Most cycles that `steps` carries out; `simulate` and `cycles` have no such limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycles:
    """Where the cycles of a product go. All folds together; a fold is loaded, filled, worked and emptied in turn.

    Attributes
    ----------
    folds : int
        How often the array is loaded anew.
    load : int
        Cycles in which what stays is shifted in, one row of the array each; 0 where the sums stay.
    stream : int
        Cycles that the operands that pass would take in an array of one PE: the useful ones.
    skew : int
        Cycles until the last PE has begun, on top: rows + columns - 2 a fold.
    drain : int
        Cycles in which sums that stayed are shifted out, one row each; 0 where they leave by themselves.
    """

    folds: int
    load: int
    stream: int
    skew: int
    drain: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.load + self.stream + self.skew + self.drain


def cycles(m: int, k: int, n: int, *, rows: int, columns: int, dataflow: str = "weight") -> Cycles:
    """Cycles of ``x[m, k] @ w[k, n]`` on an array of `rows` x `columns`, nothing hidden behind anything.

    Raises
    ------
    TypeError, ValueError
        If a size is no whole number of at least 1, or there is no such dataflow.

    Notes
    -----
    A fold holds at most rows x columns of what stays, and all PEs count, also where an edge leaves some idle:

    ========  ==============================  ==========================
    dataflow  folds                           cycles a fold
    ========  ==============================  ==========================
    weight    ceil(k/rows) ceil(n/columns)    rows + (m + rows + columns - 2)
    output    ceil(m/rows) ceil(n/columns)    (k + rows + columns - 2) + rows
    input     ceil(k/rows) ceil(m/columns)    rows + (n + rows + columns - 2)
    ========  ==============================  ==========================

    The public simulator SCALE-Sim counts otherwise in two places; see `last_cycle`.

    Examples
    --------
    An 8 x 8 array reads 8 rows in 8 cycles, but its far corner is 14 cycles behind the near one:

    >>> cycles(8, 8, 8, rows=8, columns=8)
    Cycles(folds=1, load=8, stream=8, skew=14, drain=0)
    >>> cycles(8, 8, 8, rows=8, columns=8, dataflow="output").total
    30
    """
    m, k, n, rows, columns = whole(m=m, k=k, n=n, rows=rows, columns=columns)
    _known(dataflow)
    down, across, passing = {"weight": (k, n, m), "output": (m, n, k), "input": (k, m, n)}[dataflow]
    folds = -(-down // rows) * -(-across // columns)
    stays = dataflow == "output"
    return Cycles(
        folds=folds,
        load=0 if stays else folds * rows,
        stream=folds * passing,
        skew=folds * (rows + columns - 2),
        drain=folds * rows if stays else 0,
    )


def last_cycle(m: int, k: int, n: int, *, rows: int, columns: int, dataflow: str = "weight") -> int:
    """What SCALE-Sim 2.0.2 prints as total cycles without memory stalls: its convention, not ours.

    It numbers cycles from 0 and prints the last number, and it leaves out the drain of an output-stationary array,
    which its own paper counts (scale-sim-v3, issue 4). A. Samajdar et al., "A systematic methodology for
    characterizing scalability of DNN accelerators using SCALE-Sim", ISPASS 2020.

    Examples
    --------
    >>> last_cycle(8, 8, 8, rows=8, columns=8, dataflow="output"), cycles(8, 8, 8, rows=8, columns=8).total
    (21, 30)
    """
    counted = cycles(m, k, n, rows=rows, columns=columns, dataflow=dataflow)
    return counted.total - counted.drain - 1


def utilization(m: int, k: int, n: int, *, rows: int, columns: int, dataflow: str = "weight") -> float:
    """Share of the array's multiply-accumulates that are part of the product, over all its cycles.

    Examples
    --------
    >>> round(utilization(1024, 1024, 1024, rows=128, columns=128), 3)
    0.728
    """
    total = cycles(m, k, n, rows=rows, columns=columns, dataflow=dataflow).total
    return m * k * n / (rows * columns * total)


def stream_utilization(passing, *, rows, columns):
    """Share of its work that a full array does while `passing` rows pass once, loading and draining hidden.

    Numbers, arrays or Sym; `passing` is m for stationary weights, k for stationary outputs, n for stationary inputs.

    Examples
    --------
    One token on the array of a TPU v1 does 1 cycle's work in 511:

    >>> 1 / stream_utilization(1, rows=256, columns=256)
    511.0
    """
    return passing / (passing + rows + columns - 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlapped:
    """Cycles of a weight-stationary product whose next tile of weights is loaded while the present one works.

    Attributes
    ----------
    total : float
        Cycles from the first load to the last result.
    stalled : float
        Of these, cycles in which the array waits for weights.
    """

    total: float
    stalled: float


def overlapped_cycles(
    m: int, k: int, n: int, *, rows: int, columns: int, itemsize: float = 1, bytes_per_cycle: float = math.inf
) -> Overlapped:
    """Cycles with two tiles of weights in the array, as in a TPU: one works while the next is shifted in.

    Parameters
    ----------
    itemsize : float
        Bytes a weight.
    bytes_per_cycle : float
        At which weights arrive. A tile takes the longer of `rows` cycles and its bytes over this.

    Raises
    ------
    TypeError, ValueError
        If a size is no whole number of at least 1, or a rate is not above 0.

    Notes
    -----
    load + (folds - 1) max(m, load) + m + rows + columns - 2. Tiles at the edge are padded and cost a whole tile.

    Examples
    --------
    TPU v1 reads weights at 34 GB/s and 700 MHz: 48.6 bytes a cycle, so a tile of 65,536 takes 1,349 cycles, and 200
    rows keep the array busy for 200 of them.

    >>> took = overlapped_cycles(200, 2048, 2048, rows=256, columns=256, bytes_per_cycle=34e9 / 700e6)
    >>> round(took.stalled / took.total, 2)
    0.85
    """
    m, k, n, rows, columns = whole(m=m, k=k, n=n, rows=rows, columns=columns)
    for name, value in (("itemsize", itemsize), ("bytes_per_cycle", bytes_per_cycle)):
        if not value > 0:
            raise ValueError(f"{name} is {value!r}; give a number above 0")
    folds = -(-k // rows) * -(-n // columns)
    load = max(rows, rows * columns * itemsize / bytes_per_cycle)
    total = load + (folds - 1) * max(m, load) + m + rows + columns - 2
    return Overlapped(total=total, stalled=load + (folds - 1) * max(load - m, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What `simulate` found.

    Attributes
    ----------
    product : numpy.ndarray
        ``x @ w``, summed in the order of the array.
    cycles : int
        Counted as they passed.
    """

    product: object
    cycles: int


def simulate(x, w, *, rows: int, columns: int, dataflow: str = "weight") -> Run:
    """Carry ``x[m, k] @ w[k, n]`` out, cycle by cycle and every PE in each, in NumPy.

    Integers are summed as int64, floats in their own type. A cycle moves all folds that share what passes.

    Raises
    ------
    TypeError, ValueError
        If shapes do not match, or as `cycles`.

    Examples
    --------
    >>> import numpy as np
    >>> run = simulate(np.eye(3, dtype=int), np.arange(12).reshape(3, 4), rows=2, columns=2)
    >>> run.product[1], run.cycles == cycles(3, 3, 4, rows=2, columns=2).total
    (array([4, 5, 6, 7]), True)
    """
    import numpy as np

    x, w = np.asarray(x), np.asarray(w)
    if x.ndim != 2 or w.ndim != 2 or x.shape[1] != w.shape[0]:
        raise ValueError(f"x has shape {x.shape} and w {w.shape}; give x[m, k] and w[k, n]")
    *_, rows, columns = whole(m=x.shape[0], k=x.shape[1], n=w.shape[1], rows=rows, columns=columns)
    _known(dataflow)
    kind = np.result_type(x, w)
    if kind.kind not in "biuf":
        raise TypeError(f"x and w hold {kind}; give integers or floats")
    result = None if kind.kind == "f" else np.int64
    if result:
        # floats are faster, and exact up to 2^24 and 2^53
        largest = float(abs(x).max()) * float(abs(w).max()) * x.shape[1]
        kind = np.dtype(np.float32 if largest <= 2**24 else np.float64 if largest <= 2**53 else np.int64)
    x, w = x.astype(kind), w.astype(kind)
    if dataflow == "input":
        product, passed = _weights_stay(w.T, x.T, rows, columns)
        product = product.T
    else:
        product, passed = (_weights_stay if dataflow == "weight" else _sums_stay)(x, w, rows, columns)
    return Run(product=product.astype(kind if result is None else result), cycles=passed)


_WIDTH = 2**17
"""PEs moved at once: folds side by side, as many as stay in a core's cache."""


def _weights_stay(x, w, rows, columns):
    """(product, cycles)."""
    import numpy as np

    (m, k), n = x.shape, w.shape[1]
    span = m + rows + columns - 2
    product, passed = np.zeros((m, n), x.dtype), 0
    for top in range(0, k, rows):
        line = _skewed(x[:, top : top + rows].T, rows, span, columns)
        for left, tile in _side_by_side(w[top : top + rows], rows, columns):
            folds = tile.shape[0]
            sums, moved = np.zeros((2, folds, rows + 1, columns), x.dtype)  # the row above the first adds 0
            held, passing = np.empty((rows, columns), x.dtype), np.empty_like(tile)
            left_below = np.empty((span, folds, columns), x.dtype)
            for cycle in range(span):
                now = span - 1 - cycle
                held[:] = line[:, now : now + columns]
                np.multiply(held, tile, out=passing)
                np.add(sums[:, :-1], passing, out=moved[:, 1:])
                sums, moved = moved, sums
                left_below[cycle] = sums[:, -1]
            for c in range(folds * columns):  # y[i, c] leaves its column in cycle i + rows - 1 + c
                if left + c < n:
                    first = rows - 1 + c % columns
                    product[:, left + c] += left_below[first : first + m, c // columns, c % columns]
            passed += folds * (rows + span)
    return product, passed


def _sums_stay(x, w, rows, columns):
    """(product, cycles)."""
    import numpy as np

    (m, k), n = x.shape, w.shape[1]
    span = k + rows + columns - 2
    product, passed = np.zeros((m, n), x.dtype), 0
    for top in range(0, m, rows):
        line = _skewed(x[top : top + rows], rows, span, columns)
        for left, strip in _side_by_side(w, k, columns):
            folds = strip.shape[0]
            fall = np.zeros((folds, span + rows, columns), x.dtype)
            for c in range(columns):
                fall[:, span - k - c : span - c, c] = strip[:, ::-1, c]
            held, (sums, passing) = np.empty((rows, columns), x.dtype), np.zeros((2, folds, rows, columns), x.dtype)
            for cycle in range(span):
                now = span - 1 - cycle
                held[:] = line[:, now : now + columns]
                np.multiply(held, fall[:, now : now + rows], out=passing)
                np.add(sums, passing, out=sums)
            rest = product[top : top + rows, left : left + folds * columns]
            rest[:] = sums.swapaxes(0, 1).reshape(rows, -1)[: rest.shape[0], : rest.shape[1]]
            passed += folds * (span + rows)
    return product, passed


def _skewed(lanes, rows, span, columns):
    """Lane r enters row r of the array r cycles late: ``[:, s : s + columns]`` is what the PEs hold s cycles before the
    last, since what enters passes one PE to the right each cycle. Time runs backwards along the second axis."""
    import numpy as np

    count, length = lanes.shape
    line = np.zeros((rows, span + columns), lanes.dtype)
    for r in range(count):
        line[r, span - length - r : span - r] = lanes[r, ::-1]
    return line


def _side_by_side(w, rows, columns):
    """Folds of `w` along its columns, several at a time: (first column, [folds, rows, columns], padded with zeros)."""
    import numpy as np

    together = max(1, _WIDTH // (rows * columns)) * columns
    for left in range(0, w.shape[1], together):
        part = w[:, left : left + together]
        part = np.pad(part, [(0, rows - part.shape[0]), (0, -part.shape[1] % columns)])
        yield left, np.ascontiguousarray(part.reshape(rows, -1, columns).swapaxes(0, 1))


def steps(x: Sequence[Sequence], w: Sequence[Sequence], *, dataflow: str = "weight") -> Iterator[dict]:
    """Move every register of an array that holds one fold of ``x[m, k] @ w[k, n]``; yield one frame a cycle.

    The array is just large enough: k x n PEs for stationary weights, m x n for sums, k x m for inputs. The cycles in
    which what stays is loaded, or sums are drained, are not among the frames.

    A frame is plain data, ready for JSON:

    - ``cycle``: 1, 2, ... and ``cycles``, how many frames there are;
    - ``held``: by row and column what stays in each PE: a weight, an input, or the sum so far;
    - ``passing``: by row and column what each PE has from its left, None where nothing has come or all has gone by;
    - ``falling``: the same from above: partial sums, or weights where the sums stay;
    - ``active``: ``[row, column, index]`` of each PE that multiplies now, index counting what passes from 0;
    - ``done``: ``[row of y, column of y, value]`` of each result that is complete in this cycle;
    - ``macs``: multiply-accumulates so far;
    - ``says``: the same in a sentence.

    Raises
    ------
    TypeError, ValueError
        If the rows of a matrix differ in length, shapes do not match, there is no such dataflow, or there would be more
        than `MAX_STEPS` frames.

    Examples
    --------
    >>> for frame in steps([[1, 2], [3, 4]], [[5, 6], [7, 8]]):
    ...     print(frame["cycle"], frame["active"], frame["done"])
    1 [[0, 0, 0]] []
    2 [[0, 0, 1], [0, 1, 0], [1, 0, 0]] [[0, 0, 19]]
    3 [[0, 1, 1], [1, 0, 1], [1, 1, 0]] [[1, 0, 43], [0, 1, 22]]
    4 [[1, 1, 1]] [[1, 1, 50]]
    """
    _known(dataflow)
    x, w = _matrix("x", x), _matrix("w", w)
    if len(x[0]) != len(w):
        raise ValueError(f"x is {len(x)} x {len(x[0])} and w {len(w)} x {len(w[0])}; give x[m, k] and w[k, n]")
    if dataflow == "input":
        stays, passes = (
            [list(column) for column in zip(*x, strict=True)],
            [list(column) for column in zip(*w, strict=True)],
        )
    else:
        stays, passes = w, x
    if dataflow == "output":
        rows, columns, length = len(x), len(w[0]), len(w)
        held = [[0] * columns for _ in range(rows)]
    else:
        rows, columns, length = len(stays), len(stays[0]), len(passes)
        held = [list(row) for row in stays]
    last = length + rows + columns - 2
    if last > MAX_STEPS:
        raise ValueError(
            f"this product takes {last} cycles; at most {MAX_STEPS} are carried out: give smaller matrices"
        )
    passing = [[None] * columns for _ in range(rows)]
    falling = [[None] * columns for _ in range(rows)]
    macs = 0
    for cycle in range(last):
        for r in range(rows):  # to the right, row r one cycle later than the row above it
            entering = cycle - r
            value = None
            if 0 <= entering < length:
                value = x[r][entering] if dataflow == "output" else passes[entering][r]
            passing[r] = [value, *passing[r][:-1]]
        above = [None] * columns
        if dataflow == "output":
            above = [w[cycle - c][c] if 0 <= cycle - c < length else None for c in range(columns)]
        falling = [above, *falling[:-1]]
        active, done = [], []
        for r in range(rows):
            for c in range(columns):
                if passing[r][c] is None:
                    if dataflow != "output":
                        falling[r][c] = None
                    continue
                index = cycle - r - c
                active.append([r, c, index])
                macs += 1
                if dataflow == "output":
                    held[r][c] += passing[r][c] * falling[r][c]
                    if index == length - 1:
                        done.append([r, c, held[r][c]])
                else:
                    falling[r][c] = (falling[r][c] or 0) + passing[r][c] * held[r][c]
                    if r == rows - 1:
                        done.append([index, c, falling[r][c]] if dataflow == "weight" else [c, index, falling[r][c]])
        yield {
            "cycle": cycle + 1,
            "cycles": last,
            "held": [list(row) for row in held],
            "passing": [list(row) for row in passing],
            "falling": [list(row) for row in falling],
            "active": active,
            "done": done,
            "macs": macs,
            "says": _sentence(cycle + 1, last, len(active), rows * columns, len(done)),
        }


def _sentence(cycle, last, active, elements, done):
    busy = f"{active} of {elements} elements multiply" if active != 1 else f"one of {elements} elements multiplies"
    if elements == 1:
        busy = "the only element multiplies"
    leaves = "" if not done else "; one result is complete" if done == 1 else f"; {done} results are complete"
    return f"Cycle {cycle} of {last}: {busy}{leaves}."


def _matrix(name, rows):
    rows = [list(row) for row in rows]
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        lengths = ", ".join(str(len(row)) for row in rows) or "none"
        raise ValueError(f"{name} has rows of length {lengths}; give rows of one length, at least one")
    return rows


def _known(dataflow):
    if dataflow not in DATAFLOWS:
        raise ValueError(f"dataflow is {dataflow!r}; choose one of {', '.join(DATAFLOWS)}")
