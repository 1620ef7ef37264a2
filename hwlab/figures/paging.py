"""Paged caches in pictures: what a pool holds, what a block size costs, what a prefix cache finds, what chips hold.

Charts are Altair charts whose ``description`` says what is to be seen; `block_explorer` is an explorer. All numbers
come from `hwlab.specs`, `hwlab.serving` and `hwlab.studies`, or from what is handed in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from hwlab.figures.explorer import Axis, Choice, Explorer, Result, Rule, Slider, explore
from hwlab.figures.theme import SERIES
from hwlab.formula import floor, maximum, minimum, number, text, where
from hwlab.specs.chips import Chip, chip
from hwlab.specs.models import ModelSpec, model
from hwlab.specs.paging import Reading
from hwlab.studies.fragmentation import STATES

USABLE = 0.9
"""Share of a chip's memory that a serving engine takes: the default of vLLM's engine arguments."""

# ---- What a pool holds ---------------------------------------------------------------------------------------------

NAMES = {
    "maximum": "room for the longest",
    "power of two": "a power of two",
    "oracle": "the true length",
    "paged": "blocks of 16",
}
"""Allocators of `hwlab.studies.fragmentation`, as the charts call them."""


def token_states(found: Mapping[str, Mapping[str, float]], published: Iterable[Reading]) -> alt.LayerChart:
    """What the slots of a pool hold under four allocators, and the tokens that the PagedAttention paper measured.

    Parameters
    ----------
    found : mapping
        As `hwlab.studies.fragmentation.shares` gives it.
    published : iterable of Reading
        Shares of the pool that hold tokens, by allocator.

    Examples
    --------
    >>> from hwlab.specs.paging import measurements
    >>> paged = {"paged": {"tokens": 0.97, "reserved": 0, "internal": 0.02, "external": 0.01}}
    >>> oracle = {"oracle": {"tokens": 0.4, "reserved": 0.3, "internal": 0, "external": 0.3}}
    >>> token_states(oracle | paged, measurements("tokens")).description
    'Tokens fill 40 % of the pool with runs of the true length and 97 % with blocks of 16; the paper saw 38.2 and ...'
    """
    measured = {reading.name: 100 * reading.value for reading in published}
    rows, ticks = [], []
    for name, states in found.items():
        for i, state in enumerate(STATES):
            rows.append({"allocator": NAMES[name], "state": state, "share, %": 100 * states[state], "order": i})
        ticks.append({"allocator": NAMES[name], "published, %": measured[name]})
    names = [NAMES[name] for name in found]
    y = alt.Y("allocator:N", sort=names, title=None, axis=alt.Axis(labelLimit=150))
    x = alt.X("share, %:Q", title="Share of the pool, %", scale=alt.Scale(domain=[0, 100]))
    first, last = names[0], names[-1]
    tokens = {NAMES[name]: 100 * states["tokens"] for name, states in found.items()}
    whose = {"room for the longest": "with runs for the longest", "the true length": "with runs of the true length"}
    return alt.layer(
        alt.Chart(alt.Data(values=rows))
        .mark_bar(height=22)
        .encode(
            x,
            y,
            alt.Color(
                "state:N",
                sort=None,
                title="Slots",
                scale=alt.Scale(domain=list(STATES), range=list(SERIES[:4])),
                legend=alt.Legend(columns=2),
            ),
            alt.Order("order:Q"),
        ),
        alt.Chart(alt.Data(values=ticks))
        .mark_tick(thickness=4, size=34, opacity=1)
        .encode(alt.X("published, %:Q", title=""), y),
        height=alt.Step(44),
        data=alt.Data(values=[{k: row[k] for k in row if k != "order"} for row in rows]),
        description=f"Tokens fill {number(tokens[first])} % of the pool {whose.get(first, first)} and "
        f"{number(tokens[last])} % with {last}; the paper saw {number(ticks[0]['published, %'])} and "
        f"{number(ticks[-1]['published, %'])} % (ticks).",
    )


# ---- What a block size costs ---------------------------------------------------------------------------------------


def empty_share(mean_tokens, block_tokens):
    """Share of the slots held that are empty, where lengths end anywhere in their last block with equal chance.

    Examples
    --------
    >>> round(empty_share(500, 16), 4)
    0.0148
    """
    empty = (block_tokens - 1) / 2
    return empty / (mean_tokens + empty)


def waste_by_block(found: Mapping[str, Mapping[int, float]], means: Mapping[str, float]) -> alt.LayerChart:
    """Share of the held slots that are empty against the tokens of a block: simulated, and by half a block.

    Parameters
    ----------
    found : mapping of str to mapping of int to float
        Traffic -> block size -> share.
    means : mapping of str to float
        Traffic -> mean tokens of a sequence while it lives.

    Examples
    --------
    >>> waste_by_block({"chats": {16: 0.02, 256: 0.2}}, {"chats": 500}).description
    'chats: 2 % of the slots held are empty in blocks of 16, 20 % in blocks of 256. Lines: half a block a sequence.'
    """
    points = [
        {"traffic": name, "tokens a block": size, "empty, %": 100 * share}
        for name, sizes in found.items()
        for size, share in sizes.items()
    ]
    largest = max(row["tokens a block"] for row in points)
    lines = [
        {"traffic": name, "tokens a block": 2**i, "empty, %": 100 * empty_share(mean, 2**i)}
        for name, mean in means.items()
        for i in range(1, int(math.log2(largest)) + 1)
    ]
    names = list(found)
    low, high = 0.1, 100
    x = alt.X("tokens a block:Q", title="Tokens a block", scale=_log(2, largest), axis=_powers(2, largest))
    y = alt.Y("empty, %:Q", title="Slots held that are empty, %", scale=_log(low, high), axis=_decades(low, high))
    series = {"sort": None, "title": None}
    colour = alt.Color("traffic:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), **series)
    shape = alt.Shape("traffic:N", scale=alt.Scale(domain=names, range=["circle", "square"][: len(names)]), **series)
    said = []
    for name, sizes in found.items():
        near, far = min(sizes, key=lambda size: abs(size - 16)), max(sizes)
        middle = " of the slots held are empty" if not said else ""
        said.append(
            f"{name}: {number(100 * sizes[near], 2)} %{middle} in blocks of {near}, "
            f"{number(100 * sizes[far], 2)} % in blocks of {far}"
        )
    return alt.layer(
        alt.Chart(alt.Data(values=lines)).mark_line(strokeWidth=2).encode(x, y, colour),
        alt.Chart(alt.Data(values=points)).mark_point(size=90).encode(x, y, colour, shape),
        height=300,
        data=alt.Data(values=points),
        description="; ".join(said) + ". Lines: half a block a sequence.",
    )


def gather_times(seconds: Mapping[int, float], run: float) -> alt.LayerChart:
    """Time to read a scattered sequence by its table, against the tokens of a block, beside one run.

    Parameters
    ----------
    seconds : mapping of int to float
        Block size -> time.
    run : float
        Time for the same bytes in one run.

    Examples
    --------
    >>> gather_times({1: 4e-3, 16: 1.2e-3, 256: 1e-3}, 1e-3).description
    'By its table the sequence took 4 times as long as in one run with blocks of 1 token, and 1 times with ...'
    """
    rows = [{"tokens a block": size, "times one run": time / run} for size, time in seconds.items()]
    smallest, largest = min(seconds), max(seconds)
    top = max(max(row["times one run"] for row in rows) * 1.3, 2)
    x = alt.X(
        "tokens a block:Q", title="Tokens a block", scale=_log(smallest, largest), axis=_powers(smallest, largest)
    )
    y = alt.Y("times one run:Q", title="Times as long as one run", scale=alt.Scale(domain=[0, top]))
    noun = "token" if smallest == 1 else "tokens"
    return alt.layer(
        alt.Chart(alt.Data(values=rows)).mark_line(point=True, strokeWidth=2.5).encode(x, y),
        alt.Chart(alt.Data(values=[{"one": 1}])).mark_rule(style="threshold").encode(alt.Y("one:Q", title="")),
        height=240,
        data=alt.Data(values=rows),
        description=f"By its table the sequence took {number(seconds[smallest] / run, 2)} times as long as in one run "
        f"with blocks of {smallest} {noun}, and {number(seconds[largest] / run, 2)} times with blocks of {largest}.",
    )


# ---- What a prefix cache finds -------------------------------------------------------------------------------------


def hits_by_capacity(simulated: Mapping[int, float], published: Iterable[Reading]) -> alt.LayerChart:
    """Share of all prompt blocks that an LRU prefix cache finds, against its size: made-up traffic, and a recorded one.

    Parameters
    ----------
    simulated : mapping of int to float
        Blocks of 512 tokens -> share.
    published : iterable of Reading
        By number of blocks; the one without a limit is a line across.

    Examples
    --------
    >>> from hwlab.specs.paging import measurements
    >>> hits_by_capacity({1000: 0.05, 50_000: 0.35}, measurements("hits")).description
    'A cache of 1,000 blocks finds 5 % of all blocks, one of 50,000 35 %; of the recorded traffic (points) 4.4 and ...'
    """
    readings = {reading.name: 100 * reading.value for reading in published}
    limit = readings.pop("all")
    points = [{"blocks": int(name), "found, %": share} for name, share in readings.items()]
    line = [{"blocks": blocks, "found, %": 100 * share} for blocks, share in simulated.items()]
    least, most = min(simulated), max(simulated)
    x = alt.X("blocks:Q", title="Blocks that the cache keeps", scale=_log(least, most), axis=_decades(least, most))
    y = alt.Y("found, %:Q", title="Prompt blocks found, %", scale=alt.Scale(domain=[0, 45]))
    ends = [min(points, key=lambda row: row["blocks"]), max(points, key=lambda row: row["blocks"])]
    unlimited = alt.Chart(alt.Data(values=[{"found, %": limit, "says": f"no limit: {number(limit)} %"}]))
    return alt.layer(
        alt.Chart(alt.Data(values=line)).mark_line(strokeWidth=2.5).encode(x, y),
        alt.Chart(alt.Data(values=points)).mark_point(size=100, shape="square", color=SERIES[1]).encode(x, y),
        unlimited.mark_rule(style="threshold").encode(y),
        unlimited.mark_text(style="note", align="left", dy=-8, dx=4).encode(y, x=alt.value(0), text="says:N"),
        height=280,
        data=alt.Data(
            values=[{"traffic": "made up", **row} for row in line] + [{"traffic": "recorded", **row} for row in points]
        ),
        description=f"A cache of {least:,} blocks finds {number(100 * simulated[least], 2)} % of all blocks, one of "
        f"{most:,} {number(100 * simulated[most], 2)} %; of the recorded traffic (points) "
        f"{number(ends[0]['found, %'], 2)} and {number(ends[1]['found, %'], 3)} %.",
    )


# ---- What chips hold -----------------------------------------------------------------------------------------------

HOLDERS = ("xeon-8480plus", "mi300x", "h100-sxm", "tpu-v5e", "tpu-v6e", "tpu-v7", "groq-lpu", "wse-3")
"""A CPU, GPUs, TPUs, an LPU and a wafer."""


def pool_tokens(of: ModelSpec, on: Chip, *, usable: float = USABLE, dtype: str = "bf16") -> int:
    """Tokens of cache that a chip holds beside the weights; 0 where the weights do not fit.

    Examples
    --------
    >>> pool_tokens(model("llama-3.1-8b"), chip("h100-sxm"))
    467291
    >>> pool_tokens(model("llama-3.1-8b"), chip("groq-lpu"))
    0
    """
    left = usable * on.memory_bytes - of.weight_bytes(dtype)
    return max(0, int(left // of.kv_bytes_per_token(dtype)))


def sequences_by_chip(
    of: ModelSpec, *, longest: int, mean: float, block_tokens: int = 16, ids: Sequence[str] = HOLDERS
) -> alt.LayerChart:
    """Sequences that chips hold at once, with room for the longest reserved and in blocks.

    Parameters
    ----------
    of : ModelSpec
    longest : int
        Tokens that a sequence may have.
    mean : float
        Tokens that it has on average.

    Examples
    --------
    >>> sequences_by_chip(model("llama-3.1-8b"), longest=8192, mean=1000, ids=["h100-sxm", "groq-lpu"]).description
    'Of Llama 3.1 8B an H100 SXM5 holds 57 sequences where each reserves 8,192 tokens, and 463 in blocks of 16. ...'
    """
    rows, none = [], []
    for id in ids:
        on = chip(id)
        tokens = pool_tokens(of, on)
        name = _short(on)
        if not tokens:
            none.append(name)
            continue
        for how, each in (("each reserves the longest", longest), ("in blocks", mean + (block_tokens - 1) / 2)):
            rows.append({"chip": name, "how": how, "sequences": int(tokens // each)})
    rows.sort(key=lambda row: -row["sequences"])
    first = next(id for id in ids if pool_tokens(of, chip(id)))
    told = "h100-sxm" if "h100-sxm" in ids else first
    told_name = _short(chip(told))
    reserved, paged = (
        next(row["sequences"] for row in rows if row["chip"] == told_name and row["how"] == how)
        for how in ("each reserves the longest", "in blocks")
    )
    kinds = ["each reserves the longest", "in blocks"]
    order = list(dict.fromkeys(row["chip"] for row in rows if row["how"] == "in blocks"))
    for row in rows:
        row["says"] = f"{row['chip']}, {row['how']}: {row['sequences']:,}"
        row["shown"] = max(row["sequences"], 0.5)
    high = max(row["sequences"] for row in rows) * 2
    says = [next(r["says"] for r in rows if r["chip"] == name and r["how"] == kind) for name in order for kind in kinds]
    x = alt.X("shown:Q", title="Sequences at once", scale=_log(0.5, high), axis=_decades(1, high))
    y = alt.Y("says:N", sort=says, title=None, axis=None)
    data = alt.Chart(alt.Data(values=rows))
    out = f" The weights alone do not fit {_and(none)}." if none else ""
    return alt.layer(
        data.mark_bar(height=12).encode(
            x,
            y,
            alt.Color("how:N", sort=None, title=None, scale=alt.Scale(domain=kinds, range=list(SERIES[:2]))),
            x2=alt.datum(0.5),
        ),
        data.mark_text(style="note", dy=-9).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(34),
        data=alt.Data(values=[{k: row[k] for k in ("chip", "how", "sequences")} for row in rows]),
        description=f"Of {of.name} {'an' if told_name[0] in 'AEHIMLX' else 'a'} {told_name} holds {reserved:,} "
        f"sequences where each reserves {longest:,} tokens, and {paged:,} in blocks of {block_tokens}.{out}",
    )


# ---- Beside what others measured -----------------------------------------------------------------------------------


def beside(rows: Sequence[tuple[str, float, float]]) -> alt.LayerChart:
    """Shares that we computed and shares that were published, side by side.

    Parameters
    ----------
    rows : sequence of (name, ours, published)
        Shares as fractions.

    Examples
    --------
    >>> beside([("tokens, in blocks", 0.97, 0.963), ("found, 1,000 blocks", 0.048, 0.044)]).description
    'Computed and published shares differ by 0.7 points at most.'
    """
    kinds = ["computed", "published"]
    found = [
        {"share": name, "by": by, "%": 100 * value}
        for name, *values in rows
        for by, value in zip(kinds, values, strict=True)
    ]
    apart = max(abs(ours - theirs) for _, ours, theirs in rows)
    for row in found:
        row["says"] = f"{row['share']}, {row['by']}: {number(row['%'])} %"
    x = alt.X("%:Q", title="Share, %", scale=alt.Scale(domain=[0, 100]))
    y = alt.Y("says:N", sort=[row["says"] for row in found], title=None, axis=None)
    data = alt.Chart(alt.Data(values=found))
    return alt.layer(
        data.mark_bar(height=12).encode(
            x, y, alt.Color("by:N", sort=None, title=None, scale=alt.Scale(domain=kinds, range=list(SERIES[:2])))
        ),
        data.mark_text(style="note", dy=-9).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(34),
        data=alt.Data(values=[{k: row[k] for k in ("share", "by", "%")} for row in found]),
        description=f"Computed and published shares differ by {number(100 * apart, 2)} points at most.",
    )


# ---- The explorer --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A model on a chip, as the explorer needs it."""

    name: str
    pool: float
    longest: float


SETUPS = (
    ("h100-sxm", "llama-3.1-8b", 8192),
    ("a100-sxm-40gb", "llama-2-13b", 4096),
    ("tpu-v6e", "llama-3.1-8b", 8192),
    ("mi300x", "llama-3.1-70b", 32768),
)
"""Chip, model, and the tokens that a request may have."""


def setups() -> dict[str, Setup]:
    """The setups of the explorer by key.

    Examples
    --------
    >>> {key: int(setup.pool) for key, setup in setups().items()}["h100-sxm"]
    467291
    """
    found = {}
    for on, of, longest in SETUPS:
        name = f"{model(of).name} on {_short(chip(on))}"
        found[on] = Setup(name=name, pool=float(pool_tokens(model(of), chip(on))), longest=float(longest))
    return found


def _each(block_tokens, setup, tokens, shared, users):
    """Slots that a sequence costs: its own, half a block, and its part of the full blocks that it shares."""
    full = floor(minimum(shared, tokens) / block_tokens) * block_tokens
    return tokens - full + full / users + (block_tokens - 1) / 2


def sequences(block_tokens, setup, tokens, shared, users):
    """Sequences of `tokens` tokens that the pool of a setup holds in blocks.

    The first `shared` tokens are the same for `users` sequences, which hold their full blocks together; lengths end
    anywhere in the last block with equal chance.

    Examples
    --------
    >>> h100 = setups()["h100-sxm"]
    >>> sequences(16, h100, 1000, 0, 1), sequences(16, h100, 1000, 600, 8)
    (463, 954)
    """
    return floor(setup.pool / _each(block_tokens, setup, tokens, shared, users))


def block_sentence(block_tokens, setup, tokens, shared, users):
    """What fits, against room for the longest; what is empty; what would make it matter."""
    half = (block_tokens - 1) / 2
    each = _each(block_tokens, setup, tokens, shared, users)
    reserved = floor(setup.pool / setup.longest)
    full = floor(minimum(shared, tokens) / block_tokens) * block_tokens
    return text(
        "{paged} sequences fit in blocks of {block}, and {reserved} where each reserves {longest} tokens: {times} "
        "times as many. {empty} slots a sequence are empty on average, {share} % of what it costs. {alike}",
        paged=number(floor(setup.pool / each), 4),
        block=number(block_tokens),
        reserved=number(reserved, 4),
        longest=number(setup.longest, 6),
        times=number(floor(setup.pool / each) / maximum(reserved, 1), 3),
        empty=number(half),
        share=number(100 * half / each),
        alike=where(
            (shared < 1) | (users < 2),
            "Nothing is shared.",
            where(
                full < 1,
                "No block of the shared beginning is full, so none is shared.",
                text(
                    "Of the {shared} tokens that {users} have in common, {full} lie in full blocks, held once.",
                    shared=number(minimum(shared, tokens), 5),
                    users=number(users),
                    full=number(full, 5),
                ),
            ),
        ),
    )


def block_arithmetic(block_tokens, setup, tokens, shared, users):
    """The full shared blocks, the slots of a sequence, and the pool over them."""
    alike = minimum(shared, tokens)
    full = floor(alike / block_tokens) * block_tokens
    each = _each(block_tokens, setup, tokens, shared, users)
    return [
        text(
            "in full shared blocks: floor({alike} / {block}) × {block} = {full} tokens",
            alike=number(alike, 5),
            block=number(block_tokens),
            full=number(full, 5),
        ),
        text(
            "a sequence: {tokens} - {full} + {full} / {users} + ({block} - 1) / 2 = {each} slots",
            tokens=number(tokens, 5),
            full=number(full, 5),
            users=number(users),
            block=number(block_tokens),
            each=number(each, 5),
        ),
        text(
            "sequences: floor({pool} / {each}) = {fit}",
            pool=number(setup.pool, 6),
            each=number(each, 5),
            fit=number(floor(setup.pool / each), 4),
        ),
    ]


def block_refusal(block_tokens, setup, tokens, shared, users):
    """No request is longer than the model or the engine allows."""
    return where(
        tokens > setup.longest,
        text(
            "A request may have {longest} tokens here. Choose shorter sequences, or another setup.",
            longest=number(setup.longest, 6),
        ),
        "",
    )


def block_explorer() -> Explorer:
    """Sequences that fit at once against the tokens of a block, with what they share.

    Examples
    --------
    >>> explorer = block_explorer()
    >>> print(explorer.says())
    929 sequences fit in blocks of 16, and 57 where each reserves 8,192 tokens: 16.3 times as many. ...
    """
    known = setups()
    return explore(
        sequences,
        x=Axis("block_tokens", 1, 4096, default=16, step=1, scale="log", title="Tokens a block"),
        y=Result("Sequences at once", "", low=1, high=20000, scale="log"),
        sliders=[
            Choice("setup", known, next(iter(known)), title="Setup"),
            Slider("tokens", 50, 8000, 495, step=5, title="Tokens of a sequence, on average"),
            Slider("shared", 0, 4000, 0, step=10, title="Tokens that sequences begin with alike"),
            Slider("users", 1, 64, 1, step=1, title="Sequences that share such a beginning"),
        ],
        says=block_sentence,
        arithmetic=block_arithmetic,
        refuses=block_refusal,
        rules=[
            Rule(
                lambda block_tokens, setup, tokens, shared, users: maximum(setup.pool / setup.longest, 1),
                lambda block_tokens, setup, tokens, shared, users: text(
                    "reserved: {fit}", fit=number(floor(setup.pool / setup.longest), 4)
                ),
                axis="y",
            ),
        ],
        name="blocks",
        alt="A curve that stays level while blocks are small and falls once half a block is as long as a sequence; a "
        "line far below it shows what fits where each sequence reserves room for the longest.",
    )


def _short(of: Chip) -> str:
    return of.name.removeprefix("NVIDIA ").partition(" (")[0].removesuffix(" 80GB")


# ---- Scales and words ----------------------------------------------------------------------------------------------


def _log(low, high):
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _decades(low, high):
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    values = [10.0**power for power in range(first, last + 1)]
    return alt.Axis(values=values, labelExpr="format(datum.value, ',~r')")


def _powers(low, high):
    values = [2**i for i in range(0, int(math.log2(high)) + 1, 2) if 2**i >= low]
    return alt.Axis(values=values, labelExpr="format(datum.value, ',~r')")


def _and(names):
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
