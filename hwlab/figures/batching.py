"""Batching in pictures: what it gains by the spread of answers, what a step costs, and what a budget does to waits.

Charts are Altair charts whose ``description`` says what is to be seen; `gain_explorer` is an explorer, the table is
`hwlab.figures.tables.Table`. The timeline of the scheduler is in `hwlab.figures.timeline`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from hwlab.costs.batching import gain_exponential, gain_lognormal, gain_of, gain_uniform, with_prompts
from hwlab.costs.roofline import matmul_time, ridge
from hwlab.figures.explorer import Axis, Choice, Explorer, Result, Slider, explore
from hwlab.figures.tables import Table
from hwlab.figures.theme import DASHES, SERIES
from hwlab.formula import number, si, text, where
from hwlab.specs.answers import answer_lengths
from hwlab.specs.chips import Chip, chip
from hwlab.specs.measurements import Measurement
from hwlab.specs.models import ModelSpec
from hwlab.specs.papers import paper

_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
_PLAIN = "format(datum.value, ',~r')"
SERVICES = ("azure-conversation", "azure-code")

FORMULAS: Mapping[str, Callable[[float], float]] = {
    "equal": lambda batch: 1.0,
    "uniform": gain_uniform,
    "exponential": gain_exponential,
    "lognormal": lambda batch: gain_lognormal(batch, 1.0),
}
"""Kind of lengths, as `hwlab.studies.batching.draw_lengths` names it -> the gain in steps at a batch."""

# ---- What it gains -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Lengths:
    name: str
    kind: int


_OPTIONS = {
    "lognormal": _Lengths(name="lognormal", kind=0),
    "uniform": _Lengths(name="uniform, from 0", kind=1),
    "exponential": _Lengths(name="exponential", kind=2),
    "chat": _Lengths(name="of a chat service", kind=3),
    "code": _Lengths(name="of a code service", kind=4),
}


def steps_gained(batch, lengths, spread):
    """Gain in steps: the longest of a batch over the mean, for one of the lengths offered."""
    chat, code = (gain_of(answer_lengths(id).slices, batch) for id in SERVICES)
    kind = lengths.kind
    return where(
        kind == 0,
        gain_lognormal(batch, spread),
        where(
            kind == 1,
            gain_uniform(batch),
            where(kind == 2, gain_exponential(batch), where(kind == 3, chat, code)),
        ),
    )


def gain_in_time(batch, lengths, spread, prompts):
    """How many times as many requests continuous batching answers in the same time."""
    return with_prompts(steps_gained(batch, lengths, spread), prompts)


def gain_sentence(batch, lengths, spread, prompts):
    """How much of a static batch idles, what is gained, and what would undo it."""
    steps = steps_gained(batch, lengths, spread)
    gain = with_prompts(steps, prompts)
    return text(
        "In a static batch of {batch} the longest answer is {idle} Continuous batching answers {gain} many requests in "
        "the same time. {flip}",
        batch=number(batch),
        idle=where(
            steps < 1.0005,
            "no longer than the mean: no row idles.",
            text(
                "{steps} times the mean: {idle} % of its rows idle.",
                steps=number(steps),
                idle=number(100 * (1 - 1 / steps), 2),
            ),
        ),
        gain=where(gain < 1.0005, "as", text("{gain} times as", gain=number(gain))),
        flip=where(
            gain < 1.05,
            "There is next to nothing to gain.",
            where(
                prompts > 0.005,
                text("Without the time of prompts it would be {steps} times.", steps=number(steps)),
                "With answers of one length it would gain nothing.",
            ),
        ),
    )


def gain_arithmetic(batch, lengths, spread, prompts):
    """The gain in steps, the rows that idle, and the gain in time."""
    steps = steps_gained(batch, lengths, spread)
    return [
        text("longest of {batch} answers / mean = {steps}", batch=number(batch), steps=number(steps, 4)),
        text(
            "rows at work in a static batch: 1 / {steps} = {share} %", steps=number(steps, 4), share=number(100 / steps)
        ),
        text(
            "in time: ({prompts} + {steps}) / ({prompts} + 1) = {gain}",
            prompts=number(prompts),
            steps=number(steps, 4),
            gain=number(with_prompts(steps, prompts), 4),
        ),
    ]


def gain_explorer() -> Explorer:
    """What continuous batching gains, against the rows of a step, for lengths of several kinds.

    Examples
    --------
    >>> explorer = gain_explorer()
    >>> explorer.batch = 32
    >>> print(explorer.says())
    In a static batch of 32 the longest answer is 5.49 times the mean: 82 % of its rows idle. ...
    """
    return explore(
        gain_in_time,
        x=Axis("batch", 1, 1024, default=32, step=1, scale="log", title="Rows of a step"),
        y=Result("Gain over static batching", "times", low=1, high=20, scale="log"),
        sliders=[
            Choice("lengths", _OPTIONS, "lognormal", title="Lengths of answers"),
            Slider("spread", 0, 1.5, 1, step=0.05, title="Spread, of the lognormal"),
            Slider("prompts", 0, 4, 0, step=0.05, title="Time of prompts, in times of answers"),
        ],
        says=gain_sentence,
        arithmetic=gain_arithmetic,
        also={
            "lengths exponential": lambda batch, lengths, spread, prompts: gain_exponential(batch),
            "lengths uniform": lambda batch, lengths, spread, prompts: gain_uniform(batch),
        },
        name="gain",
        alt="Curves that rise with the rows of a step: the more the lengths of answers spread, the more continuous "
        "batching gains.",
    )


def gains(counted: Mapping[str, Mapping[int, float]], most: int = 128) -> alt.LayerChart:
    """Gain by batch for four kinds of lengths: curves by formula, points counted by the scheduler.

    Parameters
    ----------
    counted : mapping of str to {int: float}
        Kind of lengths, a key of `FORMULAS`, to batch to gain counted.
    most : int
        Largest batch of the curves.

    Examples
    --------
    >>> gains({"uniform": {8: 1.77}}).description
    'By formula continuous batching writes 1 (equal) to 5.49 times (lognormal) as much a step at 32 rows; points ...'
    """
    kinds = list(FORMULAS)
    batches = [b for i in range(64) if (b := round(most ** (i / 63), 2))]
    lines = [{"lengths": kind, "rows": b, "gain": FORMULAS[kind](b)} for kind in kinds for b in batches]
    points = [
        {"lengths": kind, "rows": b, "gain": gain, "by formula": FORMULAS[kind](b)}
        for kind, found in counted.items()
        for b, gain in found.items()
    ]
    apart = max(abs(point["gain"] / point["by formula"] - 1) for point in points)
    x = alt.X("rows:Q", title="Rows of a step", scale=_log(1, most), axis=_ticks([1, 2, 4, 8, 16, 32, 64, 128]))
    y = alt.Y("gain:Q", title="Tokens a step, over static batching", scale=_log(0.9, 12), axis=_ticks([1, 2, 3, 5, 10]))
    named = {"title": "Lengths", "legend": alt.Legend(columns=2)}
    return _lines_and_points(lines, points, x, y, "lengths", kinds, named).properties(
        height=300,
        description=f"By formula continuous batching writes {number(FORMULAS['equal'](32))} (equal) to "
        f"{number(FORMULAS['lognormal'](32))} times (lognormal) as much a step at 32 rows; points were counted by the "
        f"scheduler and lie within {number(100 * apart, 2)} % of their curves.",
    )


def answers() -> alt.Chart:
    """Lengths of the answers of two services, over their mean, from the shortest to the longest.

    Examples
    --------
    >>> answers().description
    'Half the answers of the chat service are shorter than 0.66 of the mean, and one of a hundred is 2.9 times as ...'
    """
    rows = []
    for id in SERVICES:
        found, start = answer_lengths(id), 0.0
        for end, tokens in found.slices:
            rows.append(
                {
                    "service": found.name,
                    "shorter, %": round(100 * (start + end) / 2, 3),
                    "tokens": tokens,
                    "over the mean": tokens / found.mean,
                }
            )
            start = end
    chat, code = (answer_lengths(id) for id in SERVICES)
    names = [chat.name, code.name]
    named = {"sort": None, "title": None}
    return (
        alt.Chart(alt.Data(values=rows), height=260)
        .mark_line(strokeWidth=2.5, interpolate="step")
        .encode(
            alt.X("shorter, %:Q", title="Answers that are shorter, %", axis=alt.Axis(tickCount=5)),
            alt.Y(
                "over the mean:Q",
                title="Length, in times of the mean",
                scale=_log(0.1, 50),
                axis=_ticks([0.1, 0.3, 1, 3, 10, 30]),
            ),
            alt.Color("service:N", scale=alt.Scale(domain=names, range=list(SERIES[:2])), **named),
            alt.StrokeDash("service:N", scale=alt.Scale(domain=names, range=list(DASHES[:2])), **named),
        )
        .properties(
            description=f"Half the answers of the chat service are shorter than {number(chat.at(0.5) / chat.mean, 2)} "
            f"of the mean, and one of a hundred is {number(chat.at(0.99) / chat.mean, 2)} times as long or longer; of "
            f"the code service {number(code.at(0.5) / code.mean, 2)} and {number(code.at(0.99) / code.mean, 2)}."
        )
    )


# ---- What a step costs ---------------------------------------------------------------------------------------------


def step_parts(
    of: ModelSpec, card: Chip, chips: int, batch: float, context: int, dtype: str = "bf16"
) -> dict[str, float]:
    """Seconds that a decode step spends on each of three things, if each had the chips for itself.

    Examples
    --------
    >>> from hwlab.specs.models import model
    >>> parts = step_parts(model("llama-3.1-70b"), chip("h100-sxm"), 8, 128, 4096)
    >>> {name: si(seconds, "s") for name, seconds in parts.items()}
    {'weights': '5.19 ms', 'arithmetic': '2.42 ms', 'cache': '6.41 ms'}
    """
    rate = chips * card.memory_bytes_per_s
    return {
        "weights": of.weight_bytes_read(batch, dtype) / rate,
        "arithmetic": batch * of.flop_per_token(context) / (chips * card.peak(dtype)),
        "cache": batch * of.kv_bytes_read(context, "bf16") / rate,
    }


def step_costs(of: ModelSpec, card: Chip, chips: int, context: int, most: int = 10_000) -> alt.Chart:
    """What a decode step costs by batch: reading the weights, the arithmetic, reading the caches.

    Examples
    --------
    >>> from hwlab.specs.models import model
    >>> step_costs(model("llama-3.1-70b"), chip("h100-sxm"), 8, 1024).description
    'Llama 3.1 70B on 8 H100: the weights take 5.19 ms at any batch. The arithmetic takes as long at 290 rows, ...'
    """
    batches = [most ** (i / 60) for i in range(61)]
    rows = [
        {"part": part, "rows": round(batch, 2), "ms": seconds * 1000}
        for batch in batches
        for part, seconds in step_parts(of, card, chips, batch, context).items()
    ]
    one = step_parts(of, card, chips, 1, context)
    at = {part: one["weights"] / one[part] for part in ("arithmetic", "cache")}
    parts = list(one)
    named = {"sort": None, "title": "A step spends on"}
    return (
        alt.Chart(alt.Data(values=rows), height=280)
        .mark_line(strokeWidth=2.5)
        .encode(
            alt.X("rows:Q", title="Rows of a step", scale=_log(1, most), axis=_ticks([1, 10, 100, 1000, 10000])),
            alt.Y("ms:Q", title="Milliseconds", scale=_log(0.01, 1000), axis=_ticks([0.01, 0.1, 1, 10, 100, 1000])),
            alt.Color("part:N", scale=alt.Scale(domain=parts, range=list(SERIES[:3])), **named),
            alt.StrokeDash("part:N", scale=alt.Scale(domain=parts, range=list(DASHES[:3])), **named),
        )
        .properties(
            description=f"{of.name} on {chips} {_short(card)}: the weights take {si(one['weights'], 's')} at any "
            f"batch. The arithmetic takes as long at {number(at['arithmetic'])} rows, the caches, of {context:,} "
            f"tokens each, at {number(at['cache'])}."
        )
    )


def budgets(found: Iterable[tuple[int, float, float]]) -> alt.LayerChart:
    """Longest gap between two tokens of the others, and first token of a long prompt, by the budget of a step.

    Parameters
    ----------
    found : iterable of (int, float, float)
        Budget in tokens, longest gap and time to first token, in seconds.

    Examples
    --------
    >>> budgets([(256, 0.007, 0.25), (8192, 0.14, 0.14)]).description
    'From a budget of 256 tokens to one of 8,192 the longest gap grows from 7 ms to 140 ms, while the first token ...'
    """
    rows = [
        {"budget": budget, "wait": wait, "ms": seconds * 1000}
        for budget, gap, first in found
        for wait, seconds in (("gap of the others", gap), ("first token of the prompt", first))
    ]
    waits = ["gap of the others", "first token of the prompt"]
    every = sorted({row["budget"] for row in rows})
    ends = {wait: [row["ms"] / 1000 for row in rows if row["wait"] == wait] for wait in waits}
    low, high = min(row["ms"] for row in rows) / 1.5, max(row["ms"] for row in rows) * 1.5
    x = alt.X("budget:Q", title="Budget of a step, tokens", scale=_log(every[0], every[-1]), axis=_ticks(every[::2]))
    y = alt.Y("ms:Q", title="Milliseconds", scale=_log(low, high), axis=_ticks([3, 10, 30, 100, 300, 1000]))
    named = {"title": None, "legend": alt.Legend(columns=1)}
    return _lines_and_points(rows, rows, x, y, "wait", waits, named).properties(
        height=280,
        description=f"From a budget of {every[0]:,} tokens to one of {every[-1]:,} the longest gap grows from "
        f"{si(ends[waits[0]][0], 's')} to {si(ends[waits[0]][-1], 's')}, while the first token of the long prompt "
        f"comes after {si(ends[waits[1]][-1], 's')} instead of {si(ends[waits[1]][0], 's')}.",
    )


# ---- What was published --------------------------------------------------------------------------------------------


def published() -> alt.LayerChart:
    """Published gains, beside the bound of the formula for the lengths that were used.

    Examples
    --------
    >>> published().description
    'Published gains (bars) lie up to 18 times above the bound in steps (squares), ...'
    """
    blog, orca = paper("daniel-2023"), paper("yu-2022")
    rows = [
        {
            "what": "Orca, at equal latency",
            "published": orca.gives["gain_over_fastertransformer"],
            "bound": 2.0,  # lengths are uniform: below 2 at any batch
        },
        {
            "what": "Anyscale, vLLM",
            "published": blog.gives["vllm_over_naive"],
            "bound": gain_exponential(ANYSCALE_ROWS),
        },
        {
            "what": "Anyscale, continuous",
            "published": blog.gives["continuous_over_naive"],
            "bound": gain_exponential(ANYSCALE_ROWS),
        },
        {
            "what": "the same, over fast static",
            "published": blog.gives["continuous_over_naive"] / blog.gives["fastertransformer_over_naive"],
            "bound": gain_exponential(ANYSCALE_ROWS),
        },
    ]
    for row in rows:
        row["factor"] = row["published"] / row["bound"]
        row["says"] = f"{row['what']}: {number(row['published'])} (bound {number(row['bound'], 2)})"
    above = [row["factor"] for row in rows if row["factor"] > 1]
    x = alt.X("published:Q", title="Gain, times", scale=_log(1, 50), axis=_ticks([1, 2, 5, 10, 20, 50]))
    y = alt.Y("says:N", sort=[row["says"] for row in rows], title=None, axis=None)
    data = alt.Chart(alt.Data(values=rows))
    return alt.layer(
        data.mark_rule(strokeWidth=4, color=SERIES[0]).encode(x, y, x2=alt.datum(1)),
        data.mark_point(size=130, shape="square", color=SERIES[1], filled=True).encode(
            alt.X("bound:Q", scale=_log(1, 50), title="Gain, times"), y
        ),
        data.mark_text(style="note", dy=-11).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(44),
        data=alt.Data(values=[{k: row[k] for k in row if k != "says"} for row in rows]),
        description=f"Published gains (bars) lie up to {number(max(above), 2)} times above the bound in steps "
        "(squares), as far as they hold other things as well; what is left of them lies below it.",
    )


ANYSCALE_ROWS = 32
"""Rows assumed for the static batches of Anyscale's test, whose number the text does not give; lengths exponential."""


def rows_measured(measured: Iterable[Measurement]) -> alt.LayerChart:
    """Measured times of one product with more and more rows, beside the roofline's bound.

    Parameters
    ----------
    measured : iterable of Measurement
        Products of one shape but for their rows, on one chip.

    Examples
    --------
    >>> from hwlab.specs.measurements import measurements
    >>> found = measurements("matmul", chip="h100-sxm", dtype="bf16")
    >>> rows_measured(m for m in found if (m.k, m.n) == (8192, 8192)).description
    'One product of 8192 × 8192 weights on an H100: 8 rows took 49.5 µs, 256 rows 56.4 µs, and 8,192 rows 1.4 ms; ...'
    """
    measured = sorted(measured, key=lambda m: m.tokens)
    of, k, n, dtype = chip(measured[0].chip), measured[0].k, measured[0].n, measured[0].dtype
    rows = [
        {
            "rows": m.tokens,
            "measured, µs": m.seconds * 1e6,
            "bound, µs": matmul_time(m.tokens, k, n, dtype=dtype, chip=of).seconds * 1e6,
        }
        for m in measured
    ]
    lines = [
        {"rows": tokens, "bound, µs": matmul_time(tokens, k, n, dtype=dtype, chip=of).seconds * 1e6}
        for tokens in (rows[0]["rows"] * (rows[-1]["rows"] / rows[0]["rows"]) ** (i / 60) for i in range(61))
    ]
    x = alt.X("rows:Q", title="Rows of the product", scale=_log(6, 12_000), axis=_ticks([8, 32, 128, 512, 2048, 8192]))
    scale = _log(20, 2500)
    ticks = _ticks([30, 100, 300, 1000])
    times = {m.tokens: m.seconds for m in measured}
    few, many = 8, 256
    return alt.layer(
        alt.Chart(alt.Data(values=lines))
        .mark_line(strokeWidth=2.5, color=SERIES[0])
        .encode(x, alt.Y("bound, µs:Q", title="Microseconds", scale=scale, axis=ticks)),
        alt.Chart(alt.Data(values=rows))
        .mark_point(size=90, filled=True, color=SERIES[1], shape="square")
        .encode(x, alt.Y("measured, µs:Q", title="Microseconds", scale=scale, axis=ticks)),
        height=260,
        data=alt.Data(values=rows),
        description=f"One product of {k} × {n} weights on an {_short(of)}: {few} rows took "
        f"{si(times[few], 's')}, {many} rows {si(times[many], 's')}, and {measured[-1].tokens:,} rows "
        f"{si(measured[-1].seconds, 's')}; squares are measured, the line is the bound.",
    )


# ---- On other chips ------------------------------------------------------------------------------------------------

CLASSES = (
    ("xeon-8480plus", "bf16"),
    ("h100-sxm", "bf16"),
    ("mi300x", "bf16"),
    ("tpu-v5e", "bf16"),
    ("tpu-v7", "bf16"),
    ("groq-lpu", "fp16"),
    ("wse-3", "fp16"),
)
"""Chip and the 16-bit type of its arithmetic, from a CPU to a wafer."""


def rows_by_chip(classes: Sequence[tuple[str, str]] = CLASSES) -> Table:
    """Rows from which arithmetic sets the pace, by class of chip, and how rows may change there.

    Examples
    --------
    >>> [row[:2] for row in rows_by_chip([("h100-sxm", "bf16"), ("groq-lpu", "fp16")]).rows]
    [['H100', '295'], ['GroqChip 1', '3.46']]
    """
    free = {
        "cpu": "at any step",
        "gpu": "at any step",
        "tpu": "among compiled shapes",
        "lpu": "fixed at compile time",
        "wafer": "at any step",
    }
    rows = []
    for id, dtype in classes:
        of = chip(id)
        at = ridge(of, dtype)
        rows.append([_short(of), number(at), number(max(1, at)), free[of.kind]])
    return Table(
        ["Chip", "Rows at the ridge", "Most that sharing weights buys", "Rows may change"],
        rows,
        caption="In 16 bits, from the dense peak and the bandwidth: rows of a step that read the weights once for all.",
    )


def _lines_and_points(lines, points, x, y, field, names, named) -> alt.LayerChart:
    """A line and points for each of `names`, which stand in `field`: by colour, by dash and by shape."""
    colour, dash, shape = (
        channel(f"{field}:N", sort=None, scale=alt.Scale(domain=names, range=list(marks[: len(names)])), **named)
        for channel, marks in ((alt.Color, SERIES), (alt.StrokeDash, DASHES), (alt.Shape, _SHAPES))
    )
    return alt.layer(
        alt.Chart(alt.Data(values=lines)).mark_line(strokeWidth=2.5).encode(x, y, colour, dash),
        alt.Chart(alt.Data(values=points)).mark_point(size=90, filled=True).encode(x, y, colour, shape),
        data=alt.Data(values=points),
    )


def _short(of: Chip) -> str:
    return of.name.partition(" SXM")[0].partition(" (")[0]


def _log(low, high):
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _ticks(values):
    return alt.Axis(values=list(values), labelExpr=_PLAIN)
