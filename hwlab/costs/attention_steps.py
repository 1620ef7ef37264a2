"""Attention one step at a time, in pure Python: what is in fast memory, what has moved, and every running value.

For one head, as slow and as plain as can be: `blocked_steps` is the online softmax of `hwlab.kernels.attention`, its
keys innermost, and `naive_steps` the three kernels it replaces. The bytes they count as they go are those of
`hwlab.costs.attention`, the rows they write those of the equation; tests hold both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, inf, sqrt

from hwlab.costs.attention import AttentionTraffic
from hwlab.formula import whole

Rows = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionStep:
    """Where an attention kernel stands after a step.

    Attributes
    ----------
    phase : str
        What was done. Block by block: "queries" came in; "scores" of a tile; "rescale" to the new maximum; "add" the
        weights and the weighted values; "output" written. In three kernels: "scores", "softmax", "output".
    rows, keys : tuple of int
        First and one past the last query, and key, that the step worked on.
    fetched : tuple of str
        Which of "q", "k", "v", "scores" were read from slow memory for it.
    scores : list of list of float
        ``[rows, keys]``, those in fast memory, minus infinity where a query may not look.
    weights : list of list of float
        ``exp(score - most)`` of each, once the maximum is known.
    most, factor, total : list of float
        Of each query: its maximum so far, what its sums were last scaled by, the sum of its weights so far.
    sums : list of list of float
        ``[rows, d]``: its weighted sum of values so far; in the phase "output" divided by `total`: the answer.
    traffic : AttentionTraffic
        Bytes moved so far.
    """

    phase: str
    rows: tuple[int, int]
    keys: tuple[int, int]
    fetched: tuple[str, ...]
    scores: list[list[float]]
    weights: list[list[float]]
    most: list[float]
    factor: list[float]
    total: list[float]
    sums: list[list[float]]
    traffic: AttentionTraffic


def blocked_steps(
    q: Rows, k: Rows, v: Rows, *, block_q: int, block_k: int, causal: bool = False, itemsize: int = 4
) -> Iterator[AttentionStep]:
    """Attention of one head block by block, with a running maximum and sum.

    Parameters
    ----------
    q : rows [q_len, d]
    k, v : rows [kv_len, d]
    block_q, block_k : int
        Queries and keys of a block.
    causal : bool
        Queries are the last `q_len` of `kv_len` tokens and see no later one.
    itemsize : int
        Bytes an element of q, k, v and the output.

    Raises
    ------
    TypeError, ValueError
        If a size is no whole number of at least 1, rows are not of one width, or causal queries are more than keys.

    Examples
    --------
    One query, two keys with the scores 0 and ln 3, one a block: the second brings a new maximum, and the weight of the
    first, 1 until now, is scaled by exp(0 - ln 3) = 1/3. The answer is (4/3 + 8) / (1/3 + 1) = 7.

    >>> from math import log
    >>> steps = list(blocked_steps([[1.0]], [[0.0], [log(3)]], [[4.0], [8.0]], block_q=1, block_k=1))
    >>> [step.phase for step in steps]
    ['queries', 'scores', 'rescale', 'add', 'scores', 'rescale', 'add', 'output']
    >>> round(steps[5].factor[0], 4), round(steps[-1].sums[0][0], 4), steps[-1].traffic.total
    (0.3333, 7.0, 24)
    """
    q_len, kv_len, d = _sizes(q, k, v, causal)
    whole(block_q=block_q, block_k=block_k, itemsize=itemsize)
    bench, there = _Bench(d, itemsize), None  # the block of keys and values that is in fast memory
    for first in range(0, q_len, block_q):
        rows = (first, min(first + block_q, q_len))
        seen = kv_len - q_len + rows[1] if causal else kv_len
        bench.start(rows)
        bench.move("q", rows)
        yield bench.step("queries", ("q",))
        for start in range(0, seen, block_k):
            bench.keys = (start, min(start + block_k, kv_len))
            fetched = () if there == bench.keys else ("k", "v")
            for array in fetched:
                bench.move(array, bench.keys)
            there = bench.keys
            bench.scores = _scores(q, k, rows, bench.keys, kv_len - q_len if causal else None)
            yield bench.step("scores", fetched)
            new = [max(most, *row) for most, row in zip(bench.most, bench.scores, strict=True)]
            bench.factor = [exp(old - most) for old, most in zip(bench.most, new, strict=True)]
            bench.most = new
            bench.weights = [[exp(s - most) for s in row] for row, most in zip(bench.scores, new, strict=True)]
            bench.total = [total * factor for total, factor in zip(bench.total, bench.factor, strict=True)]
            bench.sums = [[x * factor for x in row] for row, factor in zip(bench.sums, bench.factor, strict=True)]
            yield bench.step("rescale")
            bench.total = [total + sum(row) for total, row in zip(bench.total, bench.weights, strict=True)]
            bench.sums = [
                [x + y for x, y in zip(row, added, strict=True)]
                for row, added in zip(bench.sums, _weighted(bench.weights, v, bench.keys), strict=True)
            ]
            yield bench.step("add")
            bench.scores, bench.weights = [], []
        bench.sums = [[x / total for x in row] for row, total in zip(bench.sums, bench.total, strict=True)]
        bench.move("out", rows)
        yield bench.step("output")


def naive_steps(q: Rows, k: Rows, v: Rows, *, causal: bool = False, itemsize: int = 4) -> Iterator[AttentionStep]:
    """Attention of one head as three kernels, a query at a time: scores, softmax, weighted values.

    Scores of all pairs are written, read, written as weights and read again. All keys, and later all values, stay in
    fast memory while a kernel runs, so that each crosses once: the best that three kernels can do.

    Parameters
    ----------
    q, k, v, causal, itemsize
        As for `blocked_steps`; scores in slow memory are of `itemsize` bytes too.

    Raises
    ------
    TypeError, ValueError
        As `blocked_steps`.

    Examples
    --------
    >>> steps = list(naive_steps([[0.0], [0.0]], [[0.0], [0.0]], [[4.0], [8.0]]))
    >>> [step.phase for step in steps]
    ['scores', 'scores', 'softmax', 'softmax', 'output', 'output']
    >>> steps[-1].sums, steps[-1].traffic.scores
    ([[6.0]], 64)
    """
    q_len, kv_len, d = _sizes(q, k, v, causal)
    whole(itemsize=itemsize)
    bench, everything = _Bench(d, itemsize), (0, kv_len)
    rows = [(i, i + 1) for i in range(q_len)]
    scores, softmax = [], []
    for row in rows:
        bench.start(row, everything)
        fetched = ("q", "k") if row[0] == 0 else ("q",)
        for array in fetched:
            bench.move(array, everything if array == "k" else row)
        bench.scores = _scores(q, k, row, everything, kv_len - q_len if causal else None)
        scores.append(bench.scores)
        bench.move_scores(kv_len)
        yield bench.step("scores", fetched)
    for row, kept in zip(rows, scores, strict=True):
        bench.start(row, everything)
        bench.scores, bench.most = kept, [max(kept[0])]
        bench.weights = [[exp(s - bench.most[0]) for s in kept[0]]]
        bench.total = [sum(bench.weights[0])]
        softmax.append((bench.most, bench.weights, bench.total))
        bench.move_scores(2 * kv_len)
        yield bench.step("softmax", ("scores",))
    for row, kept, (most, weights, total) in zip(rows, scores, softmax, strict=True):
        bench.start(row, everything)
        bench.scores, bench.most, bench.weights, bench.total = kept, most, weights, total
        bench.sums = [[x / total[0] for x in added] for added in _weighted(weights, v, everything)]
        bench.move_scores(kv_len)
        fetched = ("scores", "v") if row[0] == 0 else ("scores",)
        if row[0] == 0:
            bench.move("v", everything)
        bench.move("out", row)
        yield bench.step("output", fetched)


class _Bench:
    """What lies in fast memory, and what has crossed on the way there and back."""

    def __init__(self, d: int, itemsize: int):
        self.d, self.itemsize = d, itemsize
        self.moved = dict.fromkeys(("q", "k", "v", "out", "scores"), 0)
        self.keys = (0, 0)

    def start(self, rows, keys=None):
        """New queries; of the keys stays what was there."""
        size = rows[1] - rows[0]
        self.rows, self.keys = rows, keys or self.keys
        self.scores, self.weights = [], []
        self.most, self.factor, self.total = [-inf] * size, [1.0] * size, [0.0] * size
        self.sums = [[0.0] * self.d for _ in range(size)]

    def move(self, array, extent):
        self.moved[array] += (extent[1] - extent[0]) * self.d * self.itemsize

    def move_scores(self, number):
        self.moved["scores"] += number * self.itemsize

    def step(self, phase, fetched=()):
        return AttentionStep(
            phase=phase,
            rows=self.rows,
            keys=self.keys,
            fetched=fetched,
            scores=self.scores,
            weights=self.weights,
            most=self.most,
            factor=self.factor,
            total=self.total,
            sums=self.sums,
            traffic=AttentionTraffic(**self.moved),
        )


def _scores(q, k, rows, keys, before):
    """``[rows, keys]``; `before` is the place of the first query among the keys, None where all may be seen."""
    root = sqrt(len(q[0]))
    return [
        [
            sum(x * y for x, y in zip(q[i], k[j], strict=True)) / root if before is None or j <= before + i else -inf
            for j in range(*keys)
        ]
        for i in range(*rows)
    ]


def _weighted(weights, v, keys):
    """``weights[rows, keys] @ v[keys]``."""
    return [
        [sum(p * v[j][x] for p, j in zip(row, range(*keys), strict=True)) for x in range(len(v[0]))] for row in weights
    ]


def _sizes(q, k, v, causal):
    widths = {len(row) for array in (q, k, v) for row in array}
    if len(widths) != 1 or widths == {0} or not q or not k or len(k) != len(v):
        raise ValueError(
            f"q has {len(q)} rows, k {len(k)} and v {len(v)}, of widths {sorted(widths)}; "
            "give rows of one width, and as many values as keys"
        )
    if causal and len(q) > len(k):
        raise ValueError(f"causal attention of {len(q)} queries among {len(k)} keys; give at least as many keys")
    return len(q), len(k), *widths
