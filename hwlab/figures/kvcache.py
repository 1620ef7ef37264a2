"""What the cache weighs, in pictures: by design and context, taken in blocks, in few bits, and beside the weights.

Charts are Altair charts whose ``description`` says what is to be seen; `cache_explorer` is an explorer, the tables are
`hwlab.figures.tables.Table`. All numbers come from `hwlab.specs`, `hwlab.costs` and `hwlab.kernels`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from hwlab.costs.kv_cache import allocated_bytes, cache_bytes
from hwlab.costs.roofline import kv_shards
from hwlab.figures.explorer import Axis, Choice, Explorer, Result, Rule, Slider, explore
from hwlab.figures.tables import Table
from hwlab.figures.theme import DASHES, SERIES
from hwlab.formula import floor, maximum, number, si, text, where
from hwlab.specs.chips import chip
from hwlab.specs.measurements import Measurement
from hwlab.specs.models import ModelSpec, model

LONG = 131_072
"""Tokens of a long context: 128 times 1,024."""

_BYTES = "replace(format(datum.value, '~s'), regexp('([a-zA-Zµ])$'), ' $1') + 'B'"

# ---- By design -----------------------------------------------------------------------------------------------------

DESIGNS = {
    "llama-65b": "multi-head",
    "llama-3.1-70b": "grouped, 8 queries a head",
    "palm-540b": "multi-query",
    "deepseek-v3": "latent",
    "gemma-3-27b": "grouped; 5 of 6 layers a window of 1,024",
    "gpt-oss-120b": "grouped; half the layers a window of 128",
    "jamba-v0.1": "grouped in 4 of 32 layers, else Mamba",
    "nemotron-h-56b": "grouped in 10 of 118 blocks, else Mamba-2 or MLP",
    "qwen3-next-80b-a3b": "grouped in 12 of 48 layers, else linear",
    "minimax-text-01": "grouped in 10 of 80 layers, else linear",
}
"""Model -> how it keeps the past."""


def designs_table(ids: Iterable[str] = tuple(DESIGNS), tokens: int = LONG) -> Table:
    """What models keep of a token and of a long context, in bf16.

    Examples
    --------
    >>> designs_table(["llama-3.1-70b"]).rows
    [['Llama 3.1 70B', 'grouped, 8 queries a head', '328 kB', '42.9 GB', '']]
    """
    rows = []
    for id in ids:
        of = model(id)
        state = si(of.state_bytes, "B") if of.state_bytes else ""
        each = si(of.kv_bytes_per_token("bf16"), "B")
        rows.append([of.name, DESIGNS[id], each, si(of.kv_bytes(tokens, "bf16"), "B"), state])
    return Table(
        ["Model", "Keeps", "A token more", f"{tokens // 1024}k tokens", "Fixed state"],
        rows,
        caption=f"One sequence, cache in bf16. “A token more” is before any window is full; at {tokens:,} tokens "
        "windows are, and the state is counted in. What an engine takes for it may be more.",
    )


LINES = ("llama-65b", "llama-3.1-70b", "deepseek-v3", "gpt-oss-120b", "minimax-text-01")


def growth(ids: Sequence[str] = LINES) -> alt.LayerChart:
    """The cache of one sequence against its length, for several ways of keeping the past.

    Examples
    --------
    >>> growth().description
    'At 128k tokens one sequence of LLaMA 65B keeps 344 GB, of Llama 3.1 70B keeps 42.9 GB, of DeepSeek-V3 keeps ...'
    """
    steps = [2**i for i in range(7, 18)]
    found = {model(id).name: model(id) for id in ids}
    rows = [
        {"model": name, "tokens": tokens, "bytes": of.kv_bytes(tokens, "bf16")}
        for name, of in found.items()
        for tokens in steps
    ]
    names = list(found)
    scale = {"sort": None, "title": "Model", "legend": alt.Legend(columns=2)}
    x = alt.X(
        "tokens:Q",
        title="Tokens of context",
        scale=alt.Scale(type="log", base=2, domain=[steps[0], steps[-1]], nice=False),
        axis=alt.Axis(
            values=[*steps[::3], steps[-1]], labelExpr="datum.value >= 1024 ? datum.value / 1024 + 'k' : datum.value"
        ),
    )
    y = alt.Y(
        "bytes:Q",
        title="Cache of one sequence in bf16",
        scale=alt.Scale(type="log", domain=[1e6, 1e12], nice=False),
        axis=alt.Axis(values=[1e6, 1e8, 1e10, 1e12], labelExpr=_BYTES),
    )
    h100 = chip("h100-sxm").memory_bytes
    at_end = ", of ".join(f"{name} keeps {si(of.kv_bytes(LONG, 'bf16'), 'B')}" for name, of in found.items())
    rule = alt.Chart(alt.Data(values=[{"bytes": h100, "says": f"an H100 holds {si(h100, 'B')}"}]))
    return alt.layer(
        alt.Chart(alt.Data(values=rows))
        .mark_line()
        .encode(
            x,
            y,
            alt.Color("model:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), **scale),
            alt.StrokeDash("model:N", scale=alt.Scale(domain=names, range=list(DASHES[: len(names)])), **scale),
        ),
        rule.mark_rule(style="threshold").encode(y=y),
        rule.mark_text(style="note", align="left", dx=4, dy=-8).encode(y=y, x=alt.value(0), text="says:N"),
        data=alt.Data(values=rows),
        height=300,
        description=f"At 128k tokens one sequence of {at_end}. Straight lines grow with every token; a window bends "
        "a line once it is full, and a fixed state holds it up at the left.",
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """One way to compute the cache of the same request, and what it gives."""

    label: str
    nbytes: float


def answers(of: ModelSpec | None = None, tokens: int = 4096, stated: float = 35e9) -> tuple[Answer, ...]:
    """Three answers for one request, and what each counts.

    Parameters
    ----------
    of : ModelSpec
        Llama 2 70B by default.
    tokens : int
    stated : float
        Bytes that the text on trial gives.

    Examples
    --------
    >>> [si(answer.nbytes, "B") for answer in answers()]
    ['35 GB', '10.7 GB', '1.34 GB']
    """
    of = of or model("llama-2-70b")
    return (
        Answer("as the essay says", stated),
        Answer(
            f"with its {of.num_heads} query heads", cache_bytes(of.num_layers, of.num_heads, of.head_dim, 2, tokens)
        ),
        Answer(f"with its {of.num_kv_heads} key heads", of.kv_bytes(tokens, "fp16")),
    )


def three_answers() -> alt.LayerChart:
    """The three answers as bars.

    Examples
    --------
    >>> three_answers().description
    'One request of 4,096 tokens of Llama 2 70B: 35 GB as the essay says, 10.7 GB with its 64 query heads, 1.34 GB ...'
    """
    found = answers()
    said = ", ".join(f"{si(r.nbytes, 'B')} {r.label}" for r in found)
    return _bars(
        [{"which": r.label, "GB": r.nbytes / 1e9, "says": f"{r.label}: {si(r.nbytes, 'B')}"} for r in found],
        "GB",
        "Cache of one request, GB",
        f"One request of 4,096 tokens of Llama 2 70B: {said}. Only the last is in the memory.",
    )


def _bars(rows, field, title, description, *, log=None, by=None, words=None):
    """Horizontal bars, each with its words above it; `by` colours them."""
    scale = alt.Scale(type="log", domain=list(log), nice=False) if log else alt.Scale(zero=True)
    x = alt.X(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5, **(words or {})))
    y = alt.Y("says:N", sort=[row["says"] for row in rows], title=None, axis=None)
    data = alt.Chart(alt.Data(values=rows))
    encoded = [x, y]
    if by:
        kinds = list(dict.fromkeys(row[by] for row in rows))
        encoded.append(
            alt.Color(
                f"{by}:N",
                sort=None,
                title=by.capitalize(),
                scale=alt.Scale(domain=kinds, range=list(SERIES[: len(kinds)])),
                legend=alt.Legend(columns=2),
            )
        )
    bars = data.mark_bar(height=12)
    return alt.layer(
        bars.encode(*encoded, x2=alt.datum(log[0])) if log else bars.encode(*encoded),
        data.mark_text(style="note", dy=-9).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(36),
        data=alt.Data(values=[{k: row[k] for k in row if k != "says"} for row in rows]),
        description=description,
    )


# ---- Two ways to be wrong ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slip:
    """A wrong way to reckon the bytes of a token, as public calculators have had it."""

    name: str
    each: float


def slips(of: ModelSpec) -> tuple[Slip, ...]:
    """What a token in bf16 would weigh by each of three slips, beside what it weighs.

    Examples
    --------
    >>> [(slip.name, slip.each) for slip in slips(model("llama-3-8b"))]
    [('right', 131072), ('hidden size, 4 bytes', 1048576), ('width of all queries', 524288), ('hidden / heads', 131072)]
    """
    layers, size = of.num_layers, of.hidden_size
    return (
        Slip("right", of.kv_bytes_per_token("bf16")),
        Slip("hidden size, 4 bytes", cache_bytes(layers, 1, size, 4, 1)),
        Slip("width of all queries", cache_bytes(layers, of.num_heads, of.head_dim, 2, 1)),
        Slip("hidden / heads", cache_bytes(layers, of.num_kv_heads, size // of.num_heads, 2, 1)),
    )


SLIPPING = ("llama-2-7b", "llama-3-8b", "llama-3.1-70b", "mistral-small-24b", "gpt-oss-20b")


def slips_table(ids: Iterable[str] = SLIPPING) -> Table:
    """By what factor three slips miss the bytes of a token.

    Examples
    --------
    >>> print(slips_table(["llama-3-8b"]))  # doctest: +ELLIPSIS
    Model       A token weighs  hidden size, 4 bytes  width of all queries  hidden / heads
    Llama 3 8B  131 kB          8 ×                   4 ×                   right
    ...
    """
    rows = []
    for id in ids:
        right, *wrong = slips(model(id))
        times = ["right" if slip.each == right.each else f"{number(slip.each / right.each)} ×" for slip in wrong]
        rows.append([model(id).name, si(right.each, "B"), *times])
    head = ["Model", "A token weighs", *(slip.name for slip in slips(model(SLIPPING[0]))[1:])]
    return Table(
        head,
        rows,
        caption="Keys and values of one token in bf16, and how many times that three formulas give which public "
        "calculators have used: the hidden size as the width of keys, at four bytes; all query heads; the hidden size "
        "over the query heads as the width of a head.",
    )


# ---- Kept and taken ------------------------------------------------------------------------------------------------

WINDOWED = ("gpt-oss-20b", "gemma-3-27b", "mimo-v2-flash", "command-r7b")


def kept_and_taken(ids: Sequence[str] = WINDOWED, tokens: int = 8192) -> alt.LayerChart:
    """What models with windows must keep, and what an engine takes that pages all layers alike.

    Examples
    --------
    >>> kept_and_taken(["gpt-oss-20b", "gemma-3-27b"]).description
    'Where all layers are paged alike, 8,192 tokens take 1.97 to 3.76 times what windows let a model keep of them.'
    """
    rows, times = [], []
    for id in ids:
        of = model(id)
        kept, taken = of.kv_bytes(tokens, "bf16"), allocated_bytes(of, tokens, "bf16")
        for what, size in (("must be kept", kept), ("is taken", taken)):
            says = f"{of.name}: {number(size / 1e9)} GB {what}"
            rows.append({"model": of.name, "cache": what, "GB": size / 1e9, "says": says})
        times.append(taken / kept)
    said = f"{tokens:,} tokens take {number(min(times))} to {number(max(times))} times"
    return _bars(
        rows,
        "GB",
        "Cache of one sequence, GB",
        f"Where all layers are paged alike, {said} what windows let a model keep of them.",
        by="cache",
    )


# ---- In few bits ---------------------------------------------------------------------------------------------------


def few_bits(found: Mapping[str, tuple[float, float]]) -> alt.LayerChart:
    """Error of attention's output with a cache in few bits.

    Parameters
    ----------
    found : mapping
        Label -> (bits an element with its scales, relative error of the output in per cent).

    Examples
    --------
    >>> few_bits({"int8": (8.75, 0.9), "int4": (4.62, 17.0)}).description
    'Output of attention with a cache in few bits: int8 at 8.75 bits is off by 0.9 %, int4 at 4.62 bits by 17 %.'
    """
    rows = [
        {"cache": label, "bits": bits, "error, %": error, "says": f"{label}: {number(bits)} bits, {number(error, 2)} %"}
        for label, (bits, error) in found.items()
    ]
    (first, (bits, error)), *rest = found.items()
    said = [f"{first} at {number(bits)} bits is off by {number(error, 2)} %"]
    said += [f"{label} at {number(bits)} bits by {number(error, 2)} %" for label, (bits, error) in rest]
    low = min(row["error, %"] for row in rows) / 2
    return _bars(
        rows,
        "error, %",
        "Error of the output, %",
        f"Output of attention with a cache in few bits: {', '.join(said)}.",
        log=(low, max(row["error, %"] for row in rows) * 2),
    )


# ---- Beside the weights --------------------------------------------------------------------------------------------

HOLDERS = (
    ("xeon-8480plus", 1),
    ("h100-sxm", 8),
    ("h200-sxm", 8),
    ("mi300x", 8),
    ("b200", 8),
    ("tpu-v5e", 16),
    ("tpu-v7", 4),
    ("groq-3-lpu", 256),
    ("wse-3", 4),
)
"""A CPU, GPUs, TPUs, an LPU and a wafer, and how many of them stand together."""


@dataclass(frozen=True, slots=True)
class Held:
    """How many sequences some chips hold, with the weights spread over all of them."""

    label: str
    kind: str
    sequences: int
    weights_share: float


def held_by(id: str, chips: int, of: ModelSpec, *, tokens: int = 4096, kv_dtype: str = "bf16") -> Held:
    """Sequences that `chips` of a chip hold beside one copy of the weights, cut evenly, by bytes alone.

    This is a bound: layers are spread as a pipeline where they cannot be cut that fine, and nine tenths of the memory
    are given to weights and cache on every kind of chip.

    Examples
    --------
    >>> held_by("h100-sxm", 8, model("llama-3.1-70b"))
    Held(label='8 × H100 SXM5 80GB', kind='GPU', sequences=355, weights_share=0.205...)
    """
    record = chip(id)
    memory = 0.9 * chips * record.memory_bytes
    weights = of.weight_bytes("bf16")
    room = max(memory - weights, 0)
    name = record.name.partition(" (")[0]
    return Held(
        label=f"{chips} × {name}",
        kind=record.kind.upper() if record.kind != "wafer" else "wafer",
        sequences=int(room // of.kv_bytes(tokens, kv_dtype)),
        weights_share=weights / (chips * record.memory_bytes),
    )


def holders(
    of: ModelSpec | None = None, which: Sequence[tuple[str, int]] = HOLDERS, tokens: int = 4096
) -> alt.LayerChart:
    """How many sequences groups of chips hold beside a model's weights, across classes of chips.

    Examples
    --------
    >>> holders(which=[("h100-sxm", 8), ("groq-3-lpu", 256)]).description
    'Beside Llama 3.1 70B in bf16, 8 × H100 SXM5 80GB holds 355 sequences of 4,096 tokens and 256 × Groq 3 LPU ...'
    """
    of = of or model("llama-3.1-70b")
    found = [held_by(id, chips, of, tokens=tokens) for id, chips in which]
    found.sort(key=lambda held: -held.sequences)
    rows = [
        {
            "chips": held.label,
            "sequences": max(held.sequences, 0),
            "kind": held.kind,
            "says": f"{held.label}: {held.sequences:,}" if held.sequences else f"{held.label}: none",
        }
        for held in found
    ]
    first, last = found[0], found[-1]
    few = f"{last.sequences:,}" if last.sequences else "none"
    return _bars(
        rows,
        "sequences",
        "Sequences held",
        f"Beside {of.name} in bf16, {first.label} holds {first.sequences:,} sequences of {tokens:,} tokens and "
        f"{last.label} {few}; the others lie between.",
        by="kind",
    )


def outweighing_table(
    ids: Iterable[str] = ("llama-2-70b", "llama-3.1-405b", "deepseek-v3", "gpt-oss-120b", "qwen3-30b-a3b"),
) -> Table:
    """From how many tokens in all, and how many sequences of 4,096, the cache outweighs the weights.

    Examples
    --------
    >>> outweighing_table(["llama-2-70b"]).rows
    [['Llama 2 70B', 'bf16', '138 GB', '421,000', '103']]
    """
    rows = []
    for id in ids:
        of = model(id)
        dtype = {"deepseek-v3": "fp8", "gpt-oss-120b": "mxfp4"}.get(id, "bf16")
        weights = of.weight_bytes(dtype)
        many = weights / of.kv_bytes(4096, "bf16")
        tokens = round(many * 4096, -3)
        rows.append([of.name, dtype, si(weights, "B"), f"{tokens:,.0f}", number(many)])
    return Table(
        ["Model", "Weights in", "Weights", "Tokens in all", "Sequences of 4,096"],
        rows,
        caption="At this many tokens of all sequences together, in pieces of 4,096, a cache in bf16 weighs what the "
        "weights do.",
    )


# ---- Split over chips ----------------------------------------------------------------------------------------------

SPLIT = ("llama-3.1-70b", "qwen3-235b-a22b", "deepseek-v3")


def split(ids: Sequence[str] = SPLIT, tensors: Sequence[int] = (1, 2, 4, 8, 16)) -> alt.LayerChart:
    """What each of several chips holds of a token, as more of them share every layer.

    Examples
    --------
    >>> split(["qwen3-235b-a22b"], (1, 4, 8)).description
    'Of a token of Qwen3 235B-A22B each chip holds 193 kB alone and 48.1 kB of 4 and of 8.'
    """
    found = {model(id).name: model(id) for id in ids}
    rows, said = [], []
    for name, of in found.items():
        each = {t: of.kv_bytes_per_token("bf16") / kv_shards(of, t) for t in tensors}
        rows += [{"model": name, "chips": t, "kB": size / 1e3} for t, size in each.items()]
        least = min(each.values())
        at = [str(t) for t, size in each.items() if size == least and t > 1]
        alone = f"{name} each chip holds {si(each[tensors[0]], 'B')} alone"
        if least == each[tensors[0]]:
            said.append(f"{name} each chip holds {si(least, 'B')}, however many share it")
        else:
            said.append(f"{alone} and {si(least, 'B')} of {' and of '.join(at)}")
    names = list(found)
    scale = {"sort": None, "title": "Model", "legend": alt.Legend(columns=1)}
    return (
        alt.Chart(alt.Data(values=rows), height=320, description=f"Of a token of {'; of '.join(said)}.")
        .mark_line(point=True, interpolate="step-after")
        .encode(
            alt.X(
                "chips:Q",
                title="Chips that share every layer",
                scale=alt.Scale(type="log", base=2, domain=[tensors[0], tensors[-1]], nice=False),
                axis=alt.Axis(values=list(tensors), format="~r"),
            ),
            alt.Y("kB:Q", title="Cache of one token on each chip, kB", axis=alt.Axis(tickCount=5)),
            alt.Color("model:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), **scale),
            alt.StrokeDash("model:N", scale=alt.Scale(domain=names, range=list(DASHES[: len(names)])), **scale),
        )
    )


# ---- Logs of engines -----------------------------------------------------------------------------------------------


def logs(measured: Iterable[Measurement]) -> alt.LayerChart:
    """Bytes a token on each chip, by the logs of engines and by the formula.

    Parameters
    ----------
    measured : iterable of Measurement
        Of the regime "cache"; those whose bytes the log does not give are left out.

    Examples
    --------
    >>> from hwlab.specs.measurements import measurements
    >>> logs(measurements("cache")).description
    'Bytes a token on each card, by three logs of engines: 0.04 to 1.1 % from the formula, in blocks, all layers alike.'
    """
    rows, apart = [], []
    for m in measured:
        if m.nbytes is None:
            continue
        of, engine = model(m.model), m.where.removeprefix("log of ")
        each = allocated_bytes(of, 16_384, "bf16") / 16_384 / kv_shards(of, m.chips)
        logged = m.nbytes / m.tokens
        apart.append(100 * abs(logged / each - 1))
        where_it = f"{of.name} on {m.chips}" if m.chips > 1 else of.name
        for which, size in (("logged", logged), ("formula", each)):
            rows.append(
                {
                    "run": f"{where_it}, {engine}",
                    "by": which,
                    "kB": size / 1e3,
                    "says": f"{where_it}, {engine}, {which}: {si(size, 'B', 4)}",
                }
            )
    counted = {2: "two", 3: "three", 4: "four"}[len(apart)]
    return _bars(
        rows,
        "kB",
        "Bytes a token on each card, kB",
        f"Bytes a token on each card, by {counted} logs of engines: {number(min(apart), 1)} to "
        f"{number(max(apart), 2)} % from the formula, in blocks, all layers alike.",
        by="by",
    )


# ---- The explorer --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Room:
    """What the explorer needs of a chip."""

    name: str
    memory: float


@dataclass(frozen=True, slots=True)
class Bits:
    """Bytes of one element, for the explorer."""

    name: str
    size: float


ROOMS = ("h100-sxm", "h200-sxm", "b200", "tpu-v7", "tpu-v5e", "rtx-4090", "groq-3-lpu", "wse-3")
_BITS = {
    "bf16": Bits("16 bits", 2),
    "fp8": Bits("8 bits", 1),
    "int4": Bits("4 bits and scales", 4.625 / 8),
}


def cache_of_all(context, layers, kv_heads, head_dim, bits, sequences, chip):
    """Bytes of the cache of all sequences."""
    return cache_bytes(layers, kv_heads, head_dim, bits.size, context, sequences)


def _one(context, layers, kv_heads, head_dim, bits):
    return cache_bytes(layers, kv_heads, head_dim, bits.size, context)


def cache_sentence(context, layers, kv_heads, head_dim, bits, sequences, chip):
    """What one sequence and all of them weigh, how many the chip holds, and what would flip it."""
    one = _one(context, layers, kv_heads, head_dim, bits)
    total = cache_of_all(context, layers, kv_heads, head_dim, bits, sequences, chip)
    memory, held = si(chip.memory, "B"), floor(chip.memory / maximum(one, 1))
    length = floor(context * chip.memory / maximum(total, 1))
    most, longest = number(held), number(length)
    tokens = where(length < 2, "token", "tokens")
    room = where(
        length < 1,
        "There is no room for even one token of each.",
        where(
            held < 1,
            text("There is no room for one of this length, only for {longest} {of}.", longest=longest, of=tokens),
            text(
                "There is room for {most} of this length, or for all at {longest} {of}.",
                most=most,
                longest=longest,
                of=tokens,
            ),
        ),
    )
    return text(
        "{weight} {verdict}",
        weight=where(
            sequences < 2,
            text("One sequence weighs {one}.", one=si(one, "B")),
            text(
                "One sequence weighs {one}, and {n} weigh {total}.",
                one=si(one, "B"),
                n=number(sequences),
                total=si(total, "B"),
            ),
        ),
        verdict=where(
            total <= chip.memory,
            text(
                "That fits into the {memory} of {chip}, which would hold {most} if it held no weights; past {longest} "
                "tokens it would not.",
                memory=memory,
                chip=chip.name,
                most=most,
                longest=longest,
            ),
            text(
                "That does not fit into the {memory} of {chip}: it is {times} times as much. {room}",
                memory=memory,
                chip=chip.name,
                times=number(total / chip.memory),
                room=room,
            ),
        ),
    )


def cache_arithmetic(context, layers, kv_heads, head_dim, bits, sequences, chip):
    """The product, factor by factor."""
    each = cache_bytes(layers, kv_heads, head_dim, bits.size, 1)
    return [
        text(
            "a token: 2 × {layers} layers × {heads} heads × {dim} × {size} B = {each}",
            layers=number(layers),
            heads=number(kv_heads),
            dim=number(head_dim),
            size=number(bits.size, 4),
            each=si(each, "B"),
        ),
        text(
            "{each} × {context} tokens × {n} sequences = {total}",
            each=si(each, "B"),
            context=number(context),
            n=number(sequences),
            total=si(cache_of_all(context, layers, kv_heads, head_dim, bits, sequences, chip), "B"),
        ),
        text(
            "{memory} / {one} = {most} sequences, without weights",
            memory=si(chip.memory, "B"),
            one=si(each * context, "B"),
            most=number(chip.memory / maximum(each * context, 1)),
        ),
    ]


def cache_explorer(chips: Sequence[str] = ROOMS) -> Explorer:
    """The cache of some sequences against their length, beside a chip's memory.

    Parameters
    ----------
    chips : sequence of str
        Whose memory may be drawn, the first one at the start.

    Examples
    --------
    It starts as Llama 2 70B at 4,096 tokens, one sequence:

    >>> explorer = cache_explorer()
    >>> explorer.value()
    1342177280.0
    >>> explorer.kv_heads = 64
    >>> print(explorer.says())
    One sequence weighs 10.7 GB. That fits into the 85.9 GB of H100 SXM5 80GB, which would hold 8 if it held ...
    """
    rooms = {id: Room(chip(id).name.partition(" (")[0], chip(id).memory_bytes) for id in chips}
    return explore(
        cache_of_all,
        x=Axis("context", 128, 1_048_576, 4096, step=1, scale="log", title="Tokens of each sequence"),
        y=Result("Cache of all sequences", "B", low=1e6, high=1e14, scale="log", prefix=True),
        sliders=[
            Slider("layers", 1, 128, 80, step=1, title="Layers that keep all tokens"),
            Slider("kv_heads", 1, 128, 8, step=1, scale="log", title="Key and value heads"),
            Slider("head_dim", 32, 256, 128, step=32, title="Width of a head"),
            Choice("bits", _BITS, "bf16", title="Number"),
            Slider("sequences", 1, 4096, 1, step=1, scale="log", title="Sequences"),
            Choice("chip", rooms, chips[0], title="Chip"),
        ],
        says=cache_sentence,
        arithmetic=cache_arithmetic,
        rules=[
            Rule(
                lambda context, layers, kv_heads, head_dim, bits, sequences, chip: chip.memory,
                lambda context, layers, kv_heads, head_dim, bits, sequences, chip: text(
                    "{chip}: {memory}", chip=chip.name, memory=si(chip.memory, "B")
                ),
                axis="y",
            )
        ],
        name="cache-weight",
        alt="A straight line that rises with the tokens of each sequence, the reader's point on it, and the memory of "
        "a chip as a line across.",
    )
