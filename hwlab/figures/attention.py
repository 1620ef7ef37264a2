"""Attention block by block on a few tokens: what is in fast memory, the running maximum and sum, the bytes moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from random import Random

from hwlab.costs.attention import AttentionTraffic, blocked_traffic, naive_traffic
from hwlab.costs.attention_steps import AttentionStep, blocked_steps, naive_steps
from hwlab.figures.own import Number, Own, Pick
from hwlab.formula import number, whole

MOST_TOKENS = 12
"""Most queries, and keys: as many as a phone can draw legibly."""

FLOAT32 = 4
"""Bytes of a score, a maximum, a sum in fast memory, whatever the type of q, k and v."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One head of attention, and the kernel that computes it.

    Parameters
    ----------
    q_len, kv_len, d
        Queries, keys, and the width of each.
    block_q, block_k
        Queries and keys of a block.
    causal
        Queries are the last `q_len` of `kv_len` tokens and see no later one.
    itemsize
        Bytes of an element of q, k, v, the output and of scores in slow memory.
    kernel
        "blocks", or "three": scores, softmax and weighted values one after the other.
    seed
        Of the values.

    Raises
    ------
    ValueError
        If there are more than `MOST_TOKENS` queries or keys, or as `hwlab.costs.attention.blocked_traffic`.

    Examples
    --------
    >>> Scene(q_len=8, kv_len=4, causal=True)
    Traceback (most recent call last):
    ...
    ValueError: causal attention of 8 queries among 4 keys; give at least as many keys
    """

    q_len: int = 12
    kv_len: int = 12
    d: int = 2
    block_q: int = 4
    block_k: int = 4
    causal: bool = False
    itemsize: int = 4
    kernel: str = "blocks"
    seed: int = 7

    def __post_init__(self):
        if self.kernel not in ("blocks", "three"):
            raise ValueError(f"kernel is {self.kernel!r}; choose 'blocks' or 'three'")
        if max(whole(q_len=self.q_len, kv_len=self.kv_len)) > MOST_TOKENS:
            raise ValueError(
                f"{self.q_len} queries and {self.kv_len} keys; at most {MOST_TOKENS} of each are drawn: choose fewer"
            )
        self.blocked()  # refuses what cannot be

    def inputs(self) -> tuple[list[list[float]], list[list[float]], list[list[float]]]:
        """Rows of q, k and v: numbers from -2 to 2 with one digit."""
        random = Random(self.seed).random
        rows = (self.q_len, self.kv_len, self.kv_len)
        return tuple([[(int(41 * random()) - 20) / 10 for _ in range(self.d)] for _ in range(n)] for n in rows)

    def steps(self) -> Iterator[AttentionStep]:
        """What the kernel does."""
        options = {"causal": self.causal, "itemsize": self.itemsize}
        if self.kernel == "three":
            return naive_steps(*self.inputs(), **options)
        return blocked_steps(*self.inputs(), block_q=self.block_q, block_k=self.block_k, **options)

    def naive(self) -> AttentionTraffic:
        """The bytes that three kernels move."""
        return naive_traffic(self.q_len, self.kv_len, **self._shape())

    def blocked(self) -> AttentionTraffic:
        """The bytes that blocks move."""
        blocks = {"block_q": self.block_q, "block_k": self.block_k}
        return blocked_traffic(self.q_len, self.kv_len, **self._shape(), **blocks, causal=self.causal)

    def _shape(self):
        return {"heads": 1, "kv_heads": 1, "head_dim": self.d, "itemsize": self.itemsize}

    def held_bytes(self, step: AttentionStep) -> int:
        """Bytes in fast memory after a step."""
        rows, keys = step.rows[1] - step.rows[0], step.keys[1] - step.keys[0]
        row, column = self.d * self.itemsize, self.d * self.itemsize  # of a query or an output; of a key or a value
        tile = FLOAT32 * rows * keys if step.scores else 0
        if self.kernel == "blocks":
            return rows * (row + FLOAT32 * self.d + 2 * FLOAT32) + 2 * keys * column + tile
        return {"scores": row + keys * column + tile, "softmax": tile, "output": keys * column + tile + row}[step.phase]


SCENES: Mapping[str, tuple[str, Scene]] = {
    "blocks": ("Blocks of 4", Scene()),
    "three": ("Three kernels", Scene(kernel="three")),
    "causal": ("Causal", Scene(causal=True)),
    "tall": ("All queries held", Scene(block_q=12)),
}
"""Twelve tokens of width 2 in float32."""


def _scene(*, causal: str, itemsize: str, **sizes) -> Scene:
    return Scene(causal=causal == "yes", itemsize=int(itemsize), **sizes)


OWN = Own(
    build=_scene,
    fields=(
        Number("q_len", "Queries", 1, MOST_TOKENS, 8),
        Number("kv_len", "Keys", 1, MOST_TOKENS, 12),
        Number("d", "d, width of each", 1, 4, 4),
        Number("block_q", "Queries in a block", 1, MOST_TOKENS, 4),
        Number("block_k", "Keys in a block", 1, MOST_TOKENS, 6),
        Pick("causal", "Causal", {"no": "no", "yes": "yes"}, "no"),
        Pick("itemsize", "Element", {size: f"{size} bytes" for size in "24"}, "2"),
        Pick("kernel", "Kernel", {"blocks": "block by block", "three": "three kernels"}, "blocks"),
    ),
)
"""A head of the reader's own."""


def frames(scene: Scene) -> Iterator[dict]:
    """What happens in the kernel, step by step.

    A frame is plain data, ready for JSON; numbers are rounded to three digits after the point:

    - ``kernel``, ``phase``: as of `Scene` and `hwlab.costs.attention_steps.AttentionStep`;
    - ``shape``: q_len, kv_len, d; ``blocks``: block_q, block_k;
    - ``rows``, ``keys``: first and end of those in hand; ``held``, ``fetched``: arrays in fast memory, just read;
    - ``tile``: the scores in fast memory or, once there is a maximum, their weights; None where no query may look;
    - ``most``, ``factor``, ``total``: of each query in hand, None where there is none yet; ``focus``: the one that the
      sentence follows, counted from the first in hand;
    - ``done``: outputs written; ``stored``: queries whose scores, and whose weights, lie in slow memory;
    - ``bytes``: moved so far, by array; ``naive``: what three kernels move, ``fast``: bytes in fast memory;
    - ``says`` and ``arithmetic``.

    Examples
    --------
    >>> found = list(frames(SCENES["blocks"][1]))
    >>> found[0]["says"]
    'Queries 0 to 3 come in. Each has a maximum, a sum and weighted values to keep; all start empty.'
    >>> sum(found[-1]["bytes"].values()), found[-1]["naive"]
    (768, 2688)
    """
    return _Telling(scene).frames()


class _Telling:
    """A scene, its steps, and the query of each block that the sentences follow."""

    def __init__(self, scene: Scene):
        self.scene, self.inputs, self.steps = scene, scene.inputs(), list(scene.steps())
        self.fast = [scene.held_bytes(step) for step in self.steps]
        self.focus = {}  # first query of a block -> the one whose sums are scaled down most, after its first keys
        least = {}
        for step in self.steps:
            first = step.rows[0]
            self.focus.setdefault(first, 0)
            if step.phase == "rescale" and step.keys[0]:
                at = min(range(len(step.factor)), key=step.factor.__getitem__)
                if step.factor[at] < least.get(first, 1.0):
                    least[first], self.focus[first] = step.factor[at], at

    def frames(self):
        stored, done = [0, 0], 0
        before = None
        for at, step in enumerate(self.steps):
            focus = self.focus[step.rows[0]]
            if self.scene.kernel == "three" and step.phase != "output":
                stored[step.phase == "softmax"] = step.rows[1]
            if step.phase == "output":
                done = step.rows[1]
            last = at == len(self.steps) - 1
            tell = self.of_three if self.scene.kernel == "three" else self.of_blocks
            says, arithmetic = tell(step, before, focus)
            yield {
                "says": f"{says} {self.end()}" if last else says,
                "arithmetic": [*arithmetic, self.sum_of(step.traffic)],
                "kernel": self.scene.kernel,
                "phase": step.phase,
                "shape": [self.scene.q_len, self.scene.kv_len, self.scene.d],
                "blocks": [self.scene.block_q, self.scene.block_k],
                "rows": list(step.rows),
                "keys": list(step.keys),
                "held": self.held(step),
                "fetched": list(step.fetched),
                "tile": [[_rounded(x) for x in row] for row in self.tile(step)],
                "most": [_rounded(x) for x in step.most],
                "factor": [_rounded(x) for x in step.factor],
                "total": [_rounded(x) for x in step.total],
                "focus": focus,
                "done": done,
                "stored": list(stored),
                "bytes": {name: getattr(step.traffic, name) for name in ("q", "k", "v", "out", "scores")},
                "naive": self.scene.naive().total,
                "fast": self.fast[at],
            }
            before = step

    def held(self, step):
        if self.scene.kernel == "three":
            return {"scores": ["q", "k"], "softmax": [], "output": ["v", "out"]}[step.phase]
        return ["q", *(["k", "v"] if step.keys[1] else []), "out"]

    def tile(self, step):
        """The weights where there are some, else the scores; minus infinity where no query may look."""
        if not step.weights:
            return step.scores
        return [
            [-inf if score == -inf else weight for score, weight in zip(scores, weights, strict=True)]
            for scores, weights in zip(step.scores, step.weights, strict=True)
        ]

    def of_blocks(self, step, before, focus):
        query = step.rows[0] + focus
        rows, keys = _span("query", "queries", step.rows), _span("key", "keys", step.keys)
        most, factor, total = step.most[focus], step.factor[focus], step.total[focus]
        if step.phase == "queries":
            comes = "come in. Each has" if step.rows[1] - step.rows[0] > 1 else "comes in. It has"
            return f"{_capital(rows)} {comes} a maximum, a sum and weighted values to keep; all start empty.", []
        if step.phase == "scores":
            largest = max(step.scores[focus])
            number_of = len(step.scores) * len(step.scores[0])
            came = f"{_capital(keys)} and {'their' if len(step.scores[0]) > 1 else 'its'} values"
            came += " come in" if step.fetched else " are still here"
            scores = f"{number_of} {'scores' if number_of > 1 else 'score'}, in fast memory only"
            if largest == -inf:
                return f"{came}: {scores}. Query {query} comes before all of these keys and sees none.", []
            so_far = "it is the first" if most == -inf else f"its maximum so far is {_short(most)}"
            return (
                f"{came}: {scores}. For query {query} the largest is {_short(largest)}; {so_far}.",
                [self.score(query, step.keys[0] + step.scores[focus].index(largest), largest)],
            )
        if step.phase == "rescale":
            old, sum_before = before.most[focus], before.total[focus]
            if old == -inf:
                says = (
                    f"The first maximum of query {query} is {_short(most)}. It has no sum yet that would need scaling."
                )
            elif factor == 1:
                says = f"The maximum of query {query} stays {_short(most)}, and so do its sum and its weighted values."
            else:
                says = (
                    f"Query {query} has a new maximum, {_short(most)}: its sum and its weighted values are scaled by "
                    f"exp({_short(old)} − {_bracketed(most)}) = {_short(factor)}, as if it had been known all along."
                )
            return says, [
                f"maximum = max({'−∞' if old == -inf else _short(old)}, scores) = {_short(most)}",
                f"scale = exp({'−∞' if old == -inf else _short(old)} − {_bracketed(most)}) = {_short(factor)}; "
                f"sum = {_short(sum_before)} × {_short(factor)} = {_short(total)}",
            ]
        if step.phase == "add":
            weights = [
                weight for weight, score in zip(step.weights[focus], step.scores[focus], strict=True) if score > -inf
            ]
            if not weights:
                return f"Query {query} has nothing to add; the others of its block add their weights and values.", []
            terms = " + ".join(_short(weight) for weight in weights)
            added = step.sums[focus][0] - before.sums[focus][0]
            return (
                f"The weights exp(score − maximum) join the sums: {_short(sum(weights))} for query {query}, which "
                f"makes {_short(total)}. The values, so weighted, join the weighted values.",
                [
                    f"sum = {_short(before.total[focus])} + {terms} = {_short(total)}",
                    f"o[0] = {_short(before.sums[focus][0])} + {_bracketed(added)} = {_short(step.sums[focus][0])}",
                ],
            )
        seen = "all keys that they may see" if self.scene.causal else "all keys"
        each = "each divides its weighted values by its sum and is written, once"
        if step.rows[1] - step.rows[0] == 1:
            seen, each = seen.replace("they", "it"), each.replace("each", "it")
        return (
            f"{_capital(rows)} {'have' if step.rows[1] - step.rows[0] > 1 else 'has'} seen {seen}: {each}.",
            [f"o[0] / sum = {_short(before.sums[focus][0])} / {_short(total)} = {_short(step.sums[focus][0])}"],
        )

    def of_three(self, step, before, focus):
        query, keys = step.rows[0], self.scene.kv_len
        size = number(keys * self.scene.itemsize)
        if step.phase == "scores":
            largest = max(step.scores[0])
            return (
                f"First kernel: query {query} meets all keys, and its {keys} scores go out to slow memory, "
                f"{size} bytes.",
                [self.score(query, step.scores[0].index(largest), largest)],
            )
        if step.phase == "softmax":
            return (
                f"Second kernel: the scores of query {query} come back, {size} bytes, "
                f"and go out again as weights, {size} more.",
                [f"maximum = {_short(step.most[0])}; sum = {_short(step.total[0])}"],
            )
        return (
            f"Third kernel: the weights of query {query} come back, {size} bytes, weigh the values, "
            "and its output is written.",
            [f"output[0] = {_short(step.sums[0][0])}"],
        )

    def score(self, query, key, value):
        q, k, _ = self.inputs
        terms = " + ".join(f"{_bracketed(x)} × {_bracketed(y)}" for x, y in zip(q[query], k[key], strict=True))
        return f"score[{query}, {key}] = ({terms}) / √{self.scene.d} = {_short(value)}"

    def sum_of(self, traffic):
        parts = [f"{name} {getattr(traffic, name):,}" for name in ("q", "k", "v", "out", "scores")]
        return f"{' + '.join(parts)} = {traffic.total:,} B"

    def end(self):
        naive, blocked, scene = self.scene.naive(), self.scene.blocked(), self.scene
        most = f"at most {max(self.fast):,} bytes lay in fast memory"
        if scene.kernel == "three":
            sizes = f"{scene.block_q} queries and {scene.block_k} keys"
            ratio = f"Blocks of {sizes} move {blocked.total:,}"
            return f"Done: {naive.total:,} bytes moved, {naive.scores:,} of them scores and weights; {most}. {ratio}."
        share = number(naive.total / blocked.total, 2)
        than = f"{share} times as many" if naive.total > blocked.total else "no more"
        return (
            f"Done: {blocked.total:,} bytes moved; {most}. "
            f"Three kernels move {naive.total:,}, {than}, {naive.scores:,} of them scores and weights."
        )


def _rounded(x):
    return None if x == -inf else round(x, 3)


def _short(x):
    return number(round(x, 3))


def _bracketed(x):
    return f"({_short(x)})" if x < 0 else _short(x)


def _span(one, many, extent):
    first, end = extent
    return f"{one} {first}" if end - first == 1 else f"{many} {first} to {end - 1}"


def _capital(text):
    return text[0].upper() + text[1:]


def attention_by_blocks(scenes: Mapping[str, tuple[str, Scene]] = SCENES):
    """A stepper of attention on a few tokens: block by block, or in three kernels.

    Parameters
    ----------
    scenes : mapping of str to (title, `Scene`)
        What the reader may choose from; the first is shown at the start.

    Returns
    -------
    Machine

    Examples
    --------
    >>> machine = attention_by_blocks()
    >>> sum(machine.frame["bytes"].values()), machine.frame["naive"]
    (768, 2688)
    >>> machine.own = {"q_len": 1, "block_q": 1}
    >>> machine.scene, sum(machine.frames[-1]["bytes"].values())
    ('own', 208)
    """
    from hwlab.figures.machine import Machine  # here, so that frames() needs no widgets: it runs in a browser's Python

    return Machine(
        "attention",
        "attention",
        frames,
        scenes,
        columns={
            "q and output": lambda frame: f"{frame['bytes']['q'] + frame['bytes']['out']:,}",
            "k and v": lambda frame: f"{frame['bytes']['k'] + frame['bytes']['v']:,}",
            "Scores and weights": lambda frame: f"{frame['bytes']['scores']:,}",
            "Bytes moved": lambda frame: f"{sum(frame['bytes'].values()):,}",
            "In three kernels": lambda frame: f"{frame['naive']:,}",
        },
        picture=_totals,
        scene=next(iter(scenes)),
        alt="Queries at the left, keys above, values below and outputs at the right of the square of all scores; of "
        "each the part in fast memory is filled. A table of the running maximum, scale and sum of each query in hand, "
        "and bars of the bytes moved so far.",
        own=OWN,
    )


def _totals(last: dict[str, dict]):
    import altair as alt

    from hwlab.figures.theme import SERIES

    names = {"q and output": ("q", "out"), "k and v": ("k", "v"), "scores and weights": ("scores",)}
    rows = [
        {"scene": title, "array": name, "bytes": sum(frame["bytes"][array] for array in arrays)}
        for title, frame in last.items()
        for name, arrays in names.items()
    ]
    return (
        alt.Chart(alt.Data(values=rows), height=180)
        .mark_bar()
        .encode(
            alt.X("bytes:Q", title="Bytes moved", axis=alt.Axis(tickCount=5)),
            alt.Y("scene:N", title=None, sort=list(last)),
            alt.Color("array:N", title="Array", scale=alt.Scale(domain=list(names), range=list(SERIES[:3]))),
        )
    )
