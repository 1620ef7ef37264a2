"""Reading and writing in pictures: steps on the roofline, what a batch and a prompt do to them, and what was measured.

Charts are Altair charts whose ``description`` says what is to be seen; `step_explorer` is an explorer. All numbers come
from `hwlab.specs` and `hwlab.costs`, or from what is handed in. Times are those of the roofline itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from hwlab.costs.phases import free_chunk, mixed_step, read_for_one_written, two_byte
from hwlab.costs.roofline import decode_step_time, decode_step_work, prefill_time, prefill_work, price, rates, ridge
from hwlab.figures.explorer import Axis, Choice, Explorer, Result, Rule, Slider, explore
from hwlab.figures.tables import Table
from hwlab.figures.theme import DASHES, SERIES
from hwlab.formula import ceil, maximum, number, si, sqrt, text, where
from hwlab.specs.chips import Chip, chip
from hwlab.specs.measurements import Measurement
from hwlab.specs.models import ModelSpec, experts_touched, model

CHIPS = ("h100-sxm", "a100-sxm-80gb", "b200", "mi300x", "tpu-v7", "xeon-8480plus", "wse-3")
MODELS = ("llama-3.1-8b", "llama-3.2-1b", "llama-3.1-70b")
CLASSES = (
    "xeon-8480plus",
    "a100-sxm-80gb",
    "h100-sxm",
    "b200",
    "mi300x",
    "tpu-v5p",
    "tpu-v7",
    "tpu-8i",
    "groq-lpu",
    "wse-3",
)
"""A CPU, GPUs, TPUs, an LPU and a wafer."""

_SHAPES = ("circle", "square", "triangle-up", "cross", "diamond", "triangle-down")
_PREFIXED = "replace(format(datum.value, '~s'), regexp('([a-zA-Zµ])$'), ' $1')"
_PLAIN = "format(datum.value, ',~r')"


# ---- A step under the reader's hand --------------------------------------------------------------------------------

ONE_PROMPT, EACH_USER = "of one prompt", "one for each user"


@dataclass(frozen=True, kw_only=True)
class _Machine:
    name: str
    peak: float
    bytes_per_s: float
    holds: float


@dataclass(frozen=True, kw_only=True)
class _Model:
    """A dense model as the explorer needs it, in 16 bits."""

    name: str
    flop: float  # of a token, attention and head left out
    head: float  # FLOP of the head
    pair: float  # FLOP of a token with one token that it attends to
    weights: float  # bytes that each step reads
    row: float  # bytes of a row of the embedding table
    kept: float  # bytes of all weights
    kv: float  # bytes of cache that a token adds


def _machine(of: Chip) -> _Machine:
    return _Machine(
        name=of.name.partition(" (")[0].removesuffix(" 80GB"),
        peak=of.peak(two_byte(of)),
        bytes_per_s=of.memory_bytes_per_s,
        holds=of.memory_bytes,
    )


def _model(of: ModelSpec) -> _Model:
    head = 2.0 * of.hidden_size * of.vocab_size
    row = float(of.weight_bytes_read(2, "bf16") - of.weight_bytes_read(1, "bf16"))
    return _Model(
        name=of.name,
        flop=of.flop_per_token(0) - head,
        head=head,
        pair=of.flop_per_token(1) - of.flop_per_token(0),
        weights=of.weight_bytes_read(1, "bf16") - row,
        row=row,
        kept=float(of.weight_bytes("bf16")),
        kv=float(of.kv_bytes_per_token("bf16")),
    )


def _flop(tokens, model, whose, context):
    prompt = tokens * model.flop + model.head + model.pair * tokens * (tokens + 1) / 2
    return where(whose == ONE_PROMPT, prompt, tokens * (model.flop + model.head + model.pair * context))


def _cache(tokens, model, whose, context):
    return model.kv * tokens * where(whose == ONE_PROMPT, 1, context)


def _bytes(tokens, model, whose, context):
    return model.weights + model.row * tokens + _cache(tokens, model, whose, context)


def _times(tokens, chip, model, whose, context, chips):
    arithmetic = _flop(tokens, model, whose, context) / (chips * chip.peak)
    return arithmetic, _bytes(tokens, model, whose, context) / (chips * chip.bytes_per_s)


def step_rate(tokens, chip, model, whose, context, chips):
    """Tokens a second of a step with so many tokens: all of one prompt, or one for each of so many users."""
    return tokens / maximum(*_times(tokens, chip, model, whose, context, chips))


def _flip(chip, model, whose, context):
    """Tokens at which arithmetic begins to bind; 0 where it never does."""
    corner = chip.peak / chip.bytes_per_s
    # of one prompt: a t² + b t + c = 0
    a, c = model.pair / 2, model.head - corner * model.weights
    b = model.flop + a - corner * (model.row + model.kv)
    prompt = (sqrt(maximum(b * b - 4 * a * c, 0)) - b) / (2 * a)
    each = model.flop + model.head + model.pair * context - corner * (model.row + model.kv * context)
    users = where(each > 0, corner * model.weights / maximum(each, 1), 0)
    return where(whose == ONE_PROMPT, maximum(prompt, 1), users)


def _tokens(x):
    return text("{x} {noun}", x=number(x), noun=where(x == 1, "token", "tokens"))


def step_sentence(tokens, chip, model, whose, context, chips):
    """What binds, by how much, and what would flip it."""
    arithmetic, memory = _times(tokens, chip, model, whose, context, chips)
    took, flip = maximum(arithmetic, memory), ceil(_flip(chip, model, whose, context))
    what = where(
        whose == ONE_PROMPT,
        text("{n} of one prompt: read in {t}", n=_tokens(tokens), t=si(took, "s")),
        text(
            "A token for {each}: written in {t}",
            each=where(tokens == 1, "one user", text("each of {n} users", n=number(tokens))),
            t=si(took, "s"),
        ),
    )
    share = _cache(tokens, model, whose, context) / _bytes(tokens, model, whose, context)
    bound = where(
        arithmetic < memory,
        text(
            "Memory binds, by {ratio}×{cache}. {next}",
            ratio=number(memory / arithmetic),
            cache=where(
                whose == ONE_PROMPT, "", text("; {share} % of what it reads is cache", share=number(100 * share))
            ),
            next=where(
                flip > 0,
                text(
                    "Arithmetic would bind from {flip} {nouns} on.",
                    flip=number(flip),
                    nouns=where(whose == ONE_PROMPT, "tokens", "users"),
                ),
                "No number of users would flip it: at this context each one's cache takes longer to read than to use.",
            ),
        ),
        text(
            "Arithmetic binds, by {ratio}×. {next}",
            ratio=number(arithmetic / memory),
            next=where(
                flip <= 1,
                "It does so from the first token on.",
                text(
                    "Below {flip} {nouns} memory would.",
                    flip=number(flip),
                    nouns=where(whose == ONE_PROMPT, "tokens", "users"),
                ),
            ),
        ),
    )
    return text("{what}. {bound}", what=what, bound=bound)


def step_arithmetic(tokens, chip, model, whose, context, chips):
    """Work over rate, bytes over bandwidth, and the longer of the two."""
    arithmetic, memory = _times(tokens, chip, model, whose, context, chips)
    peak, rate = chips * chip.peak, chips * chip.bytes_per_s
    moved = _bytes(tokens, model, whose, context)
    return [
        text(
            "arithmetic: {flop} / {peak} = {t}",
            flop=si(_flop(tokens, model, whose, context), "FLOP"),
            peak=si(peak, "FLOP/s"),
            t=si(arithmetic, "s"),
        ),
        text(
            "bytes: {weights} of weights + {cache} of cache = {moved}",
            weights=si(model.weights + model.row * tokens, "B"),
            cache=si(_cache(tokens, model, whose, context), "B"),
            moved=si(moved, "B"),
        ),
        text("memory: {moved} / {rate} = {t}", moved=si(moved, "B"), rate=si(rate, "B/s"), t=si(memory, "s")),
        text(
            "{n} in {t} = {rate} tokens/s",
            n=_tokens(tokens),
            t=si(maximum(arithmetic, memory), "s"),
            rate=number(step_rate(tokens, chip, model, whose, context, chips)),
        ),
    ]


def step_refusal(tokens, chip, model, whose, context, chips):
    """Weights and cache must fit."""
    needed = model.kept + _cache(tokens, model, whose, context)
    return where(
        needed > chips * chip.holds,
        text(
            "{model} and the cache take {needed}, and {chips} × {chip} hold {holds}. "
            "Take more chips, fewer users or a shorter context.",
            model=model.name,
            needed=si(needed, "B"),
            chips=number(chips),
            chip=chip.name,
            holds=si(chips * chip.holds, "B"),
        ),
        "",
    )


def step_explorer(chips: Sequence[str] = CHIPS, models: Sequence[str] = MODELS) -> Explorer:
    """Tokens a second of a step against the tokens in it: all of one prompt, or one for each of so many users.

    Parameters
    ----------
    chips, models : sequence of str
        Ids of the catalogue, the first of each shown at the start. Models are dense ones.

    Examples
    --------
    >>> explorer = step_explorer()
    >>> print(explorer.says())
    1,024 tokens of one prompt: read in 14.7 ms. Arithmetic binds, by 3.26×. Below 317 tokens memory would.
    """
    machines = {id: _machine(chip(id)) for id in chips}
    return explore(
        step_rate,
        x=Axis("tokens", 1, 8192, 1024, step=1, scale="log", title="Tokens in the step"),
        y=Result("Rate", "tokens/s", low=1, high=1e7, scale="log"),
        sliders=[
            Choice("whose", [ONE_PROMPT, EACH_USER], ONE_PROMPT, title="The tokens are"),
            Choice("chip", machines, chips[0], title="Chip"),
            Choice("model", {id: _model(model(id)) for id in models}, models[0], title="Model"),
            Slider("context", 128, 131_072, 1024, step=128, scale="log", title="Context of each user, tokens"),
            Slider("chips", 1, 16, 1, step=1, title="Chips (their exchange is left out)"),
        ],
        says=step_sentence,
        arithmetic=step_arithmetic,
        refuses=step_refusal,
        rules=[
            Rule(
                lambda tokens, chip, model, whose, context, chips: maximum(_flip(chip, model, whose, context), 1),
                lambda tokens, chip, model, whose, context, chips: where(
                    (_flip(chip, model, whose, context) > 1) & (_flip(chip, model, whose, context) < 8192),
                    text("flips at {flip}", flip=number(ceil(_flip(chip, model, whose, context)))),
                    "",
                ),
            )
        ],
        name="steps",
        alt="The rate rises with the tokens in the step while memory binds, and is level from where arithmetic does.",
    )


# ---- Steps on the roofline -----------------------------------------------------------------------------------------


def steps_on_roofline(
    of: ModelSpec | None = None,
    on: Chip | None = None,
    prompts: Sequence[int] = (64, 512, 4096),
    batches: Sequence[int] = (1, 8, 64),
    context: int = 1024,
) -> alt.LayerChart:
    """Whole steps of a model on a chip's roofline: prompts of several lengths, and decode for several users.

    Parameters
    ----------
    of, on : ModelSpec, Chip
        By default Llama 3.1 8B and the H100 SXM.
    prompts, batches : sequence of int
    context : int
        Tokens that each user has behind them.

    Examples
    --------
    >>> steps_on_roofline().description
    'On an H100 SXM5 a step that reads 64, 512, 4,096 tokens does 59.6, 479, 3,952 FLOP a byte; the ridge is ...'
    """
    of, on = of or model("llama-3.1-8b"), on or chip("h100-sxm")
    dtype = two_byte(on)
    sustained = rates(on, dtype)
    peak, bandwidth = sustained.flop_per_s, sustained.memory_bytes_per_s
    steps = [(f"reads {n:,}", "prefill", prefill_work(of, prompt_tokens=n, dtype=dtype)) for n in prompts]
    steps += [
        (f"writes for {n}", "decode", decode_step_work(of, context=context, batch=n, dtype=dtype)) for n in batches
    ]
    rows = []
    for name, phase, work in steps:
        time = price(work, sustained).seconds
        each = {"step": name, "phase": phase, "FLOP a byte": work.flop / work.memory_bytes}
        rows.append({**each, "FLOP/s": work.flop / time, "share of the peak, %": 100 * work.flop / time / peak})
    corner = peak / bandwidth
    ends = [0.5, corner, max(8 * corner, 2 * max(row["FLOP a byte"] for row in rows))]
    roof = [{"FLOP a byte": x, "FLOP/s": min(peak, x * bandwidth)} for x in ends]
    low, high = ends[0] * bandwidth / 2, peak * 4
    x = alt.X(
        "FLOP a byte:Q", title="FLOP a byte moved", scale=_log(ends[0], ends[-1]), axis=_decades(ends[0], ends[-1])
    )
    y = alt.Y(
        "FLOP/s:Q", title="Rate that the roofline allows, FLOP/s", scale=_log(low, high), axis=_decades(low, high, True)
    )
    phases, rest = ["prefill", "decode"], {"sort": None, "title": None}
    data = alt.Chart(alt.Data(values=rows))
    turn = alt.Chart(alt.Data(values=[{"FLOP a byte": corner, "says": f"ridge {number(corner)}"}]))
    said = {phase: [number(row["FLOP a byte"]) for row in rows if row["phase"] == phase] for phase in phases}
    lengths, users = ", ".join(f"{n:,}" for n in prompts), ", ".join(map(str, batches))
    return alt.layer(
        alt.Chart(alt.Data(values=roof)).mark_line(style="roof").encode(x, y),
        turn.mark_rule(style="threshold").encode(x),
        turn.mark_text(style="note", align="right", baseline="bottom", dx=-6).encode(
            x, text="says:N", y=alt.value("height")
        ),
        data.mark_point(size=110).encode(
            x,
            y,
            alt.Color("phase:N", scale=alt.Scale(domain=phases, range=list(SERIES[:2])), **rest),
            alt.Shape("phase:N", scale=alt.Scale(domain=phases, range=list(_SHAPES[:2])), **rest),
        ),
        data.transform_filter("datum.phase == 'decode'")
        .mark_text(style="note", align="left", dx=9, dy=9)
        .encode(x, y, text="step:N"),
        data.transform_filter(f"datum.phase == 'prefill' && datum['FLOP a byte'] < {corner}")
        .mark_text(style="note", align="right", dx=-9, dy=-6)
        .encode(x, y, text="step:N"),
        data.transform_filter(f"datum.phase == 'prefill' && datum['FLOP a byte'] >= {corner}")
        .mark_text(style="note", align="center", dy=17)
        .encode(x, y, text="step:N"),
        height=320,
        data=alt.Data(values=rows),
        description=f"On {_an(_short(on))} a step that reads {lengths} tokens does {', '.join(said['prefill'])} FLOP a "
        f"byte; the ridge is at {number(corner)}. One that writes for {users} users with {context:,} tokens each does "
        f"{', '.join(said['decode'])}.",
    )


def intensity_by_batch(
    of: ModelSpec | None = None, on: Chip | None = None, context: int = 1024, most: int = 4096
) -> alt.LayerChart:
    """FLOP a byte of a decode step against the users in it: of the weights, of the cache, and of both together.

    Parameters
    ----------
    of, on : ModelSpec, Chip
        By default Llama 3.1 8B and the H100 SXM.
    context, most : int
        Tokens behind each user; most users drawn.

    Examples
    --------
    >>> intensity_by_batch().description
    'Weights do as many FLOP a byte as there are users, and the cache of 1,024 tokens does 4, however many. ...'
    """
    of, on = of or model("llama-3.1-8b"), on or chip("h100-sxm")
    dtype, corner = two_byte(on), ridge(on, two_byte(on))
    attention = of.flop_per_token(context) - of.flop_per_token(0)
    alone = attention / of.kv_bytes_read(context, dtype)
    users = [round(2 ** (i / 2)) for i in range(2 * most.bit_length() - 1)]
    rows = []
    for n in users:
        work = decode_step_work(of, context=context, batch=n, dtype=dtype)
        weights = n * of.flop_per_token(0) / of.weight_bytes_read(n, dtype)
        for part, value in (("weights", weights), ("both", work.flop / work.memory_bytes), ("cache", alone)):
            rows.append({"users": n, "part": part, "FLOP a byte": value})
    low, high = 0.7, max(2 * corner, 1.3 * most)
    x = alt.X("users:Q", title="Users in the step", scale=_log(1, most), axis=_decades(1, most))
    y = alt.Y("FLOP a byte:Q", title="FLOP a byte", scale=_log(low, high), axis=_decades(low, high))
    parts, rest = ["weights", "both", "cache"], {"sort": None, "title": None}
    line = alt.Chart(alt.Data(values=[{"FLOP a byte": corner, "says": f"ridge {number(corner)}"}]))
    last = [row["FLOP a byte"] for row in rows if row["part"] == "both"][-1]
    return alt.layer(
        line.mark_rule(style="threshold").encode(y),
        line.mark_text(style="note", align="left", baseline="bottom", dx=4, dy=-3).encode(
            y, text="says:N", x=alt.value(0)
        ),
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=2.5)
        .encode(
            x,
            y,
            alt.Color("part:N", scale=alt.Scale(domain=parts, range=list(SERIES[:3])), **rest),
            alt.StrokeDash("part:N", scale=alt.Scale(domain=parts, range=list(DASHES[:3])), **rest),
        ),
        height=300,
        data=alt.Data(values=rows),
        description=f"Weights do as many FLOP a byte as there are users, and the cache of {context:,} tokens does "
        f"{number(alone)}, however many. Together they come to {number(last)} at {most:,} users"
        f"{', still below' if last < corner else ', above'} the ridge of {_an(_short(on))}, {number(corner)}.",
    )


# ---- Which weights a step touches ----------------------------------------------------------------------------------


def experts_by_tokens(shapes: Mapping[str, tuple[int, int]], most: int = 4096) -> alt.Chart:
    """Share of a layer's experts that a step reads, against the tokens in it, for several models.

    Parameters
    ----------
    shapes : mapping of str to (experts, experts a token)
    most : int
        Most tokens drawn.

    Examples
    --------
    >>> experts_by_tokens({"384, 6 a token": (384, 6)}).description
    'One token reads 1.56 % of the experts, 64 tokens 63.5 % and 1,024 tokens 100 %.'
    """
    tokens = [round(2 ** (i / 3)) for i in range(3 * (most.bit_length() - 1) + 1)]
    rows = [
        {
            "model": name,
            "tokens": n,
            "experts": experts_touched(*shape, n),
            "share, %": 100 * experts_touched(*shape, n) / shape[0],
        }
        for name, shape in shapes.items()
        for n in dict.fromkeys(tokens)
    ]
    said = []
    for n in (1, 64, 1024):
        shares = [100 * experts_touched(*shape, n) / shape[0] for shape in shapes.values()]
        low, high = number(min(shares)), number(max(shares))
        said.append(low if low == high else f"{low} to {high}")
    names, rest = list(shapes), {"sort": None, "title": None, "legend": alt.Legend(columns=1)}
    return (
        alt.Chart(alt.Data(values=rows), height=300)
        .mark_line(strokeWidth=2.5)
        .encode(
            alt.X("tokens:Q", title="Tokens in the step", scale=_log(1, most), axis=_decades(1, most)),
            alt.Y("share, %:Q", title="Experts read, %", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5)),
            alt.Color("model:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), **rest),
            alt.StrokeDash("model:N", scale=alt.Scale(domain=names, range=list(DASHES[: len(names)])), **rest),
        )
        .properties(
            description=f"One token reads {said[0]} % of the experts, 64 tokens {said[1]} % and 1,024 tokens "
            f"{said[2]} %.",
        )
    )


# ---- A step that does both -----------------------------------------------------------------------------------------


def chunk_times(
    of: ModelSpec | None = None, on: Chip | None = None, users: int = 32, context: int = 1024, most: int = 1024
) -> alt.LayerChart:
    """Time of a decode step that also reads so many tokens of a prompt.

    Parameters
    ----------
    of, on : ModelSpec, Chip
        By default Llama 3.1 8B and the H100 SXM.
    users, context, most : int
        Sequences being written, tokens behind each, and most tokens of the prompt drawn.

    Examples
    --------
    >>> chunk_times().description
    'A step that writes for 32 users takes 5.76 ms. Up to 371 tokens of a prompt ride along for nothing; with ...'
    """
    of, on = of or model("llama-3.1-8b"), on or chip("h100-sxm")
    shape = {"users": users, "context": context}
    chunks = range(0, most + 1, 16)
    times = {chunk: mixed_step(of, on, **shape, chunk=chunk) for chunk in chunks}
    rows = [
        {"tokens": chunk, "part": part, "ms": 1e3 * seconds}
        for chunk, time in times.items()
        for part, seconds in (("arithmetic", time.compute_s), ("memory", time.memory_s))
    ]
    whole = [{"tokens": chunk, "ms": 1e3 * time.seconds} for chunk, time in times.items()]
    free = free_chunk(of, on, **shape)
    x = alt.X(
        "tokens:Q",
        title="Tokens of a prompt in the step",
        scale=alt.Scale(domain=[0, most]),
        axis=alt.Axis(tickCount=5),
    )
    y = alt.Y("ms:Q", title="Time, ms", scale=alt.Scale(domainMin=0), axis=alt.Axis(tickCount=5))
    parts, rest = ["arithmetic", "memory"], {"sort": None, "title": None}
    mark = alt.Chart(alt.Data(values=[{"tokens": free, "says": f"free up to {free}"}]))
    return alt.layer(
        alt.Chart(alt.Data(values=whole)).mark_line(strokeWidth=7, opacity=0.85, color=SERIES[5]).encode(x, y),
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=2.5)
        .encode(
            x,
            y,
            alt.Color("part:N", scale=alt.Scale(domain=parts, range=list(SERIES[:2])), **rest),
            alt.StrokeDash("part:N", scale=alt.Scale(domain=parts, range=list(DASHES[:2])), **rest),
        ),
        mark.mark_rule(style="threshold").encode(x),
        mark.mark_text(style="note", align="left", dx=6, baseline="bottom").encode(
            x, text="says:N", y=alt.value("height")
        ),
        height=280,
        data=alt.Data(values=rows),
        description=f"A step that writes for {users} users takes {si(times[0].seconds, 's')}. Up to {free} tokens of a "
        f"prompt ride along for nothing; with {most:,} it takes {si(times[chunks[-1]].seconds, 's')}. The broad band "
        "is the longer of the two.",
    )


# ---- Across chips, and measured ------------------------------------------------------------------------------------


def read_while_one_is_written(
    ids: Iterable[str] = CLASSES, of: ModelSpec | None = None, prompt: int = 1024
) -> alt.LayerChart:
    """Tokens read in the time of one written, across classes of chips.

    Parameters
    ----------
    ids : iterable of str
        Of the catalogue.
    of : ModelSpec
        By default Llama 3.1 8B.
    prompt : int
        Tokens read at once.

    Examples
    --------
    >>> read_while_one_is_written(["h100-sxm", "groq-lpu"]).description
    'While it writes one token, a chip with memory off the die reads 314 tokens, one with memory on it 3.68.'
    """
    of, rows = of or model("llama-3.1-8b"), []
    for id in ids:
        on = chip(id)
        place = "on the die" if "SRAM" in on.memory_kind else "off the die"
        rows.append({"chip": _short(on), "memory": place, "tokens": read_for_one_written(of, on, prompt)})
    rows.sort(key=lambda row: -row["tokens"])
    for row in rows:
        row["says"] = f"{row['chip']}: {number(row['tokens'])}"
    low, high = 0.5, max(row["tokens"] for row in rows) * 1.5
    x = alt.X("tokens:Q", title="Tokens read while one is written", scale=_log(low, high), axis=_decades(low, high))
    y = alt.Y("says:N", sort=[row["says"] for row in rows], title=None, axis=None)
    places, rest = ["off the die", "on the die"], {"sort": None, "title": "Memory"}
    colour = alt.Color("memory:N", scale=alt.Scale(domain=places, range=list(SERIES[:2])), **rest)
    data, said = alt.Chart(alt.Data(values=rows)), []
    for place, words in zip(places, ("a chip with memory off the die reads", "one with memory on it"), strict=True):
        found = [row["tokens"] for row in rows if row["memory"] == place]
        if found:
            between = number(min(found)) + (f" to {number(max(found))}" if len(found) > 1 else "")
            said.append(f"{words} {between}" + (" tokens" if place == "off the die" else ""))
    return alt.layer(
        data.mark_bar(height=12).encode(x, y, colour, x2=alt.datum(low)),
        data.mark_text(style="note", dy=-9).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(36),
        data=alt.Data(values=[{k: row[k] for k in ("chip", "memory", "tokens")} for row in rows]),
        description=f"While it writes one token, {', '.join(said)}.",
    )


def bound_of(m: Measurement) -> float:
    """Least seconds by the roofline of a published prefill or decode step, exchange between chips left out.

    Examples
    --------
    >>> from hwlab.specs.measurements import measurements
    >>> m = measurements("prefill")[0]
    >>> round(m.seconds / bound_of(m), 2)
    1.68
    """
    of, on, shared = model(m.model), chip(m.chip), {"batch": m.tokens, "dtype": m.dtype, "tensor": m.chips}
    if m.regime == "prefill":
        return prefill_time(of, on, prompt_tokens=m.context, **shared).seconds
    return decode_step_time(of, on, context=m.context, **shared).seconds


def published_steps(rows: Iterable[Measurement]) -> alt.LayerChart:
    """Published times of prefill and of decode steps against what the roofline says at least.

    Parameters
    ----------
    rows : iterable of Measurement
        Of the regimes "prefill" and "decode".

    Examples
    --------
    >>> from hwlab.specs.measurements import measurements
    >>> published_steps([*measurements("prefill"), *measurements("decode")]).description
    'What was measured took 1.45 to 9.04 times the bound in prefill (27 cases) and 1.39 to 4.98 in decode (20). ...'
    """
    values = [
        {
            "phase": m.regime,
            "model": model(m.model).name,
            "chips": f"{m.chips} × {_short(chip(m.chip))}",
            "tokens": m.context if m.regime == "prefill" else m.tokens,
            "bound, ms": 1e3 * bound_of(m),
            "measured, ms": 1e3 * m.seconds,
        }
        for m in rows
    ]
    low, high = 0.7 * min(v["bound, ms"] for v in values), 1.5 * max(v["measured, ms"] for v in values)
    x = alt.X("bound, ms:Q", title="Bound, ms", scale=_log(low, high), axis=_decades(low, high))
    y = alt.Y("measured, ms:Q", title="Measured, ms", scale=_log(low, high), axis=_decades(low, high))
    phases, rest = ["prefill", "decode"], {"sort": None, "title": None}
    said = []
    for phase in phases:
        times = [v["measured, ms"] / v["bound, ms"] for v in values if v["phase"] == phase]
        if times:
            said.append((f"{number(min(times))} to {number(max(times))}", phase, len(times)))
    first, *others = said
    found = f"{first[0]} times the bound in {first[1]} ({first[2]} cases)"
    found += "".join(f" and {between} in {phase} ({cases})" for between, phase, cases in others)
    even = alt.Chart(alt.Data(values=[{"bound, ms": v, "measured, ms": v} for v in (low, high)]))
    return alt.layer(
        even.mark_line(style="roof").encode(x, y),
        alt.Chart(alt.Data(values=values))
        .mark_point(size=70)
        .encode(
            x,
            y,
            alt.Color("phase:N", scale=alt.Scale(domain=phases, range=list(SERIES[:2])), **rest),
            alt.Shape("phase:N", scale=alt.Scale(domain=phases, range=list(_SHAPES[:2])), **rest),
        ),
        height=320,
        data=alt.Data(values=values),
        description=f"What was measured took {found}. On the line both would be equal.",
    )


def passes_measured(seconds: Mapping[int, float]) -> alt.LayerChart:
    """Time of a pass through a stack of weights against the rows in it, as measured, and the rows a second.

    Parameters
    ----------
    seconds : mapping of int to float
        For each number of rows.

    Examples
    --------
    >>> passes_measured({1: 0.01, 2: 0.01, 64: 0.08}).description
    '64 rows took 8 times as long as one: 800 rows a second instead of 100.'
    """
    rows = [{"rows": n, "ms": 1e3 * t, "rows a second": n / t} for n, t in seconds.items()]
    first, last = min(seconds), max(seconds)
    low, high = 0.6 * min(row["ms"] for row in rows), 1.8 * max(row["ms"] for row in rows)
    x = alt.X("rows:Q", title="Rows in the pass", scale=_log(first, last), axis=_decades(first, last))
    y = alt.Y("ms:Q", title="Time of the pass, ms", scale=_log(low, high), axis=_decades(low, high))
    data = alt.Chart(alt.Data(values=rows))
    for row in rows:
        row["says"] = si(row["rows a second"], "/s") if row["rows"] in (first, last) else ""
    return alt.layer(
        data.mark_line(strokeWidth=2.5).encode(x, y),
        data.mark_point(size=80, filled=True).encode(x, y),
        data.mark_text(style="note", dy=-14, align="right", limit=200).encode(x, y, text="says:N"),
        height=280,
        data=alt.Data(values=[{k: v for k, v in row.items() if k != "says"} for row in rows]),
        description=f"{last} rows took {number(seconds[last] / seconds[first])} times as long as one: "
        f"{number(last / seconds[last])} rows a second instead of {number(first / seconds[first])}.",
    )


def requests_table(
    of: ModelSpec, on: Chip, loads: Sequence[tuple[int, int]] = ((1024, 128), (8192, 128), (128, 1024)), batch: int = 1
) -> Table:
    """What several loads wait for: the first token, each further one, and all; and the share that goes into reading.

    Parameters
    ----------
    of, on : ModelSpec, Chip
    loads : sequence of (prompt, answer)
        In tokens.
    batch : int
        Users at once.

    Examples
    --------
    >>> print(requests_table(model("llama-3.1-8b"), chip("h100-sxm"), ((1024, 128),)))  # doctest: +ELLIPSIS
    Prompt, answer ...
    """
    dtype, rows = two_byte(on), []
    for prompt, answer in loads:
        first = prefill_time(of, on, prompt_tokens=prompt, batch=batch, dtype=dtype).seconds
        each = decode_step_time(of, on, context=prompt + answer / 2, batch=batch, dtype=dtype).seconds
        whole = first + (answer - 1) * each
        rows.append(
            [
                f"{prompt:,} and {answer:,}",
                si(first, "s"),
                si(each, "s"),
                si(whole, "s"),
                f"{number(100 * first / whole)} %",
            ]
        )
    users = "one user" if batch == 1 else f"{batch} users"
    return Table(
        ["Prompt, answer", "TTFT", "TPOT", "all", "reading"],
        rows,
        caption=f"Least times of {of.name} on one {_short(on)} in {dtype} for {users}, by the roofline; a step at the "
        "answer's middle stands for all.",
    )


# ---- Scales --------------------------------------------------------------------------------------------------------


def _short(of: Chip) -> str:
    return of.name.partition(" (")[0].removesuffix(" 80GB").removesuffix(" 80GB SXM4")


def _an(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOHMX' else 'a'} {name}"


def _log(low, high):
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _decades(low, high, prefixed=False):
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first + 1) / 6))
    values = [10.0**power for power in range(first, last + 1, every)]
    return alt.Axis(values=values, labelExpr=_PREFIXED if prefixed else _PLAIN)
