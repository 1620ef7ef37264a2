"""The figures of speculative decoding: what two models share, what a round is worth, and where a batch takes it away.

Charts are Altair charts whose ``description`` says what is to be seen; `guesses_explorer` is an explorer, the tables
are `hwlab.figures.tables.Table`. Numbers come from `hwlab.serving.speculative` and `hwlab.specs`, or are handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import altair as alt

from hwlab.costs.roofline import decode_step_work, verify_step_work
from hwlab.figures.explorer import Axis, Choice, Explorer, Result, Rule, Slider, explore
from hwlab.figures.tables import Table
from hwlab.figures.theme import DASHES, SERIES
from hwlab.formula import maximum, number, si, text, where
from hwlab.serving.speculative import (
    Distribution,
    acceptance,
    break_even_batch,
    residual,
    speedup,
    speedup_on,
    tokens_per_round,
)
from hwlab.specs.chips import Chip, chip
from hwlab.specs.models import model
from hwlab.specs.speculation import Setting

# ---- Why it is exact -----------------------------------------------------------------------------------------------


def two_ways(letters: Sequence[str], draft: Distribution, target: Distribution, most: int = 8) -> alt.LayerChart:
    """What draft and target give to each letter, and by which of two ways the letter comes to be written.

    Parameters
    ----------
    letters : sequence of str
    draft, target : distribution
        Of those letters.
    most : int
        Letters shown, those with most of either.

    Examples
    --------
    >>> two_ways("ab", [0.75, 0.25], [0.25, 0.75]).description
    'A guess is taken with a chance of 50 %, the part that both share; the rest of the target, 50 %, is ...'
    """
    left = residual(draft, target)
    order = sorted(range(len(letters)), key=lambda id: -max(draft[id], target[id]))[:most]
    names = ["a guess that is taken", "drawn from what is left"]
    rows = [
        {"letter": letters[id].replace(" ", "space"), "way": way, "share": share, "draft": draft[id], "from": start}
        for id in order
        for way, share, start in (
            (names[0], target[id] - left[id], 0.0),
            (names[1], left[id], target[id] - left[id]),
        )
    ]
    for row in rows:
        row["to"] = row["from"] + row["share"]
    shown = [row["letter"] for row in rows[::2]]
    y = alt.Y("letter:N", sort=shown, title=None)
    right = 1.05 * max(max(draft), max(target))
    x = alt.X("from:Q", title="Probability", scale=alt.Scale(domain=[0, right]), axis=alt.Axis(tickCount=5))
    data = alt.Chart(alt.Data(values=rows))
    taken = acceptance(draft, target)
    return alt.layer(
        data.mark_bar(height=13).encode(
            x,
            y,
            alt.Color(
                "way:N",
                title="Written as",
                sort=None,
                scale=alt.Scale(domain=names, range=list(SERIES[1:3])),
                legend=alt.Legend(columns=1),
            ),
            x2="to:Q",
        ),
        data.mark_tick(thickness=3, size=24, opacity=1).encode(
            alt.X("draft:Q"), y, color=alt.value(SERIES[0]), tooltip=alt.value(None)
        ),
        height=alt.Step(30),
        data=alt.Data(values=[{k: row[k] for k in ("letter", "draft", "way", "share")} for row in rows]),
        description=f"A guess is taken with a chance of {number(100 * taken)} %, the part that both share; the rest of "
        f"the target, {number(100 * (1 - taken))} %, is drawn where it holds more than the draft (blue tick).",
    )


# ---- What a round is worth -----------------------------------------------------------------------------------------


def round_lengths(rates: Sequence[float] = (0.95, 0.8, 0.6, 0.3), most: int = 16) -> alt.Chart:
    """Tokens a round against guesses, for several rates of acceptance.

    Examples
    --------
    >>> round_lengths((0.8, 0.6)).description
    'With 16 guesses a round writes 4.89 where 80 % are taken and 2.5 where 60 % are. The limits are 5 and 2.5.'
    """
    rows = [
        {"acceptance": f"{number(100 * a)} %", "guesses": g, "tokens a round": tokens_per_round(a, g)}
        for a in rates
        for g in range(most + 1)
    ]
    ends = [number(tokens_per_round(a, most)) for a in rates]
    each = [
        f"{end} where {number(100 * a)} % are{' taken' if i == 0 else ''}"
        for i, (a, end) in enumerate(zip(rates, ends, strict=True))
    ]
    limits = [number(1 / (1 - a)) for a in rates]
    return _lines(rows, "acceptance", "guesses", "Guesses a round", "tokens a round", "Tokens a round").properties(
        description=f"With {most} guesses a round writes {_listed(each)}. The limits are {_listed(limits)}."
    )


def hump(rate: float, costs: Sequence[float] = (0.02, 0.05, 0.15, 0.4), most: int = 16) -> alt.Chart:
    """Speed-up against guesses, for several costs of the draft: each has a best number of guesses.

    Examples
    --------
    >>> hump(0.8, (0.05,)).description
    'Where 80 % are taken, a draft of 0.05 of a step is best with 8 guesses, 3.09 times as fast.'
    """
    rows, said = [], []
    for cost in costs:
        gains = {g: speedup(rate, g, draft_cost=cost) for g in range(1, most + 1)}
        rows += [{"a guess costs": f"{cost:g} steps", "guesses": g, "speed-up": gain} for g, gain in gains.items()]
        best = max(gains, key=gains.get)
        what = f"{number(cost)} of a step is best" if not said else number(cost)
        said.append(f"{what} with {best} guess{'es' if best > 1 else ''}, {number(gains[best])} times as fast")
    return _lines(rows, "a guess costs", "guesses", "Guesses a round", "speed-up", "Speed-up").properties(
        description=f"Where {number(100 * rate)} % are taken, a draft of {'; one of '.join(said)}."
    )


def by_temperature(curves: Mapping[str, Sequence[tuple[float, float]]]) -> alt.Chart:
    """Share of guesses taken against the temperature of both models, one line a text.

    Examples
    --------
    >>> by_temperature({"a rhyme": [(0, 0.6), (1, 0.5)]}).description
    'From temperature 0 to 1 the share taken goes from 60 % to 50 % on a rhyme.'
    """
    rows = [
        {"text": name, "temperature": t, "taken, %": 100 * share}
        for name, points in curves.items()
        for t, share in points
    ]
    ends = [points[0] + points[-1] for points in curves.values()]
    each = [
        f"{number(100 * a, 2)} % to {number(100 * b, 2)} % on {name}"
        for (_, a, _, b), name in zip(ends, curves, strict=True)
    ]
    return _lines(rows, "text", "temperature", "Temperature of both", "taken, %", "Guesses taken, %", low=0).properties(
        description=f"From temperature {ends[0][0]:g} to {ends[0][2]:g} the share taken goes from {_listed(each)}."
    )


# ---- A batch takes it away -----------------------------------------------------------------------------------------

TARGET, DRAFT = "llama-3.1-8b", "llama-3.2-1b"
CHIPS = ("h100-sxm", "mi300x", "tpu-v7", "epyc-9755", "wse-3")
"""GPUs, a TPU, a CPU and a wafer."""


def _width(of: Chip) -> str:
    """The chip's 16-bit type: some have one only."""
    return "bf16" if "bf16" in of.peak_flop_per_s else "fp16"


def gains_by_batch(
    contexts: Sequence[int] = (256, 512, 4096),
    *,
    id: str = "h100-sxm",
    guesses: int = 4,
    rate: float = 0.7,
    most: int = 1024,
) -> alt.LayerChart:
    """Speed-up of a pair of models on one chip, against sequences that share a step, for several contexts.

    Examples
    --------
    >>> gains_by_batch((256,)).description
    'On H100 one sequence gains 1.67 times. The gain is gone with 162 of 256 tokens. ...'
    """
    target, draft, of = model(TARGET), model(DRAFT), chip(id)
    load = {"acceptance": rate, "guesses": guesses, "dtype": _width(of)}
    batches = sorted({round(2 ** (i / 4)) for i in range(4 * most.bit_length() - 3)})
    rows = [
        {"context": f"{c:,} tokens", "batch": b, "speed-up": speedup_on(of, target, draft, batch=b, context=c, **load)}
        for c in contexts
        for b in batches
    ]
    ends = {c: break_even_batch(of, target, draft, context=c, **load) for c in contexts}
    gone = [f"{number(end + 1, 4)} of {c:,} tokens" for c, end in ends.items() if end < most]
    lasts = [f"{most:,} of {c:,} tokens" for c, end in ends.items() if end >= most]
    said = [f"is gone with {_listed(gone)}"] if gone else []
    said += [f"lasts with {_listed(lasts)}"] if lasts else []
    lines = _lines(rows, "context", "batch", "Sequences in a step", "speed-up", "Speed-up", log=True, low=0)
    even = alt.Chart(alt.Data(values=[{"even": 1}])).mark_rule(style="threshold").encode(alt.Y("even:Q"))
    return alt.layer(
        lines,
        even,
        data=alt.Data(values=rows),
        description=f"On {_short(of)} one sequence gains {number(rows[0]['speed-up'])} times. The gain "
        f"{_listed(said)}. {guesses} guesses, {number(100 * rate)} % taken, {target.name} with {draft.name}.",
    )


def chips_table(
    ids: Iterable[str] = ("epyc-9755", "a100-sxm-80gb", "h100-sxm", "mi300x", "tpu-v7", "tpu-8i", "wse-3"),
    contexts: Sequence[int] = (256, 1024, 4096),
    *,
    guesses: int = 4,
    rate: float = 0.7,
) -> Table:
    """The batch from which guessing loses, chip by chip.

    Examples
    --------
    >>> print(chips_table(["h100-sxm"], (256,)))
    chip  ridge  one user  256 tokens
    H100  295    1.67 ×    161
    ...
    """
    target, draft = model(TARGET), model(DRAFT)
    rows = []
    for id in ids:
        of = chip(id)
        load = {"acceptance": rate, "guesses": guesses, "dtype": _width(of)}
        ends = [break_even_batch(of, target, draft, context=c, **load) for c in contexts]
        cells = ["always gains" if end == inf else "never gains" if end == 0 else number(end, 4) for end in ends]
        ridge = of.peak(_width(of)) / of.memory_bytes_per_s
        one = speedup_on(of, target, draft, **load)
        rows.append([_short(of), number(ridge), f"{number(one)} ×", *cells])
    return Table(
        ["chip", "ridge", "one user", *(f"{c:,} tokens" for c in contexts)],
        rows,
        caption=f"{target.name} with {draft.name} in 16 bits on one chip by the bare roofline, {guesses} guesses, "
        f"{number(100 * rate)} % taken: the chip's ridge in FLOP a byte, the gain for one user, and the largest batch "
        "that still gains, by context. What fits the memory is another question.",
    )


@dataclass(frozen=True, kw_only=True)
class _Roof:
    name: str
    peak: float
    bytes_per_s: float
    holds: float  # bytes; 0 where the record has none


def _roof(of: Chip) -> _Roof:
    return _Roof(
        name=_short(of), peak=of.peak(_width(of)), bytes_per_s=of.memory_bytes_per_s, holds=of.memory_bytes or 0
    )


CONTEXT = 512
"""Tokens behind which a sequence guesses, in the explorer."""


def _seconds(work, chip):
    return maximum(work.flop / chip.peak, work.memory_bytes / chip.bytes_per_s)


def _parts(guesses, batch, chip):
    """Time of a plain step and of one that judges, of the explorer's target."""
    load = {"context": CONTEXT, "batch": batch, "dtype": "bf16"}
    plain = decode_step_work(model(TARGET), **load)
    return plain, verify_step_work(model(TARGET), guesses=guesses, **load)


def gain(guesses, taken, cost, batch, chip):
    """Times as many tokens a second as without guesses, by the roofline of `chip`.

    `taken` is the acceptance, `cost` the time of a guess over that of a plain step.
    """
    plain, verify = _parts(guesses, batch, chip)
    step = _seconds(plain, chip)
    return tokens_per_round(taken, guesses) / (guesses * cost + _seconds(verify, chip) / step)


def gain_sentence(guesses, taken, cost, batch, chip):
    """What a round writes, what it takes, what binds and what would flip it."""
    plain, verify = _parts(guesses, batch, chip)
    step, judged = _seconds(plain, chip), _seconds(verify, chip)
    of = gain(guesses, taken, cost, batch, chip)
    rows = batch * (guesses + 1)
    return text(
        "A round writes {tokens} tokens and takes {steps} times as long as a plain step: {verdict} {binds}",
        tokens=number(tokens_per_round(taken, guesses)),
        steps=number(guesses * cost + judged / step),
        verdict=where(
            of >= 1.0005,
            text("{x} times as fast.", x=number(of)),
            where(
                of > 0.9995,
                "as fast as without, so guessing gains nothing.",
                text("{x} times as fast, so guessing loses.", x=number(of)),
            ),
        ),
        binds=where(
            verify.flop / chip.peak > verify.memory_bytes / chip.bytes_per_s,
            text(
                "To judge {rows} rows the arithmetic of {chip} binds, and each further guess costs its full price.",
                rows=number(rows, 4),
                chip=chip.name,
            ),
            text(
                "The memory of {chip} binds, also while it judges {rows} rows: guesses are judged almost free, until "
                "their arithmetic is {ratio} times as much.",
                rows=number(rows, 4),
                chip=chip.name,
                ratio=number(verify.memory_bytes / chip.bytes_per_s / (verify.flop / chip.peak)),
            ),
        ),
    )


def gain_arithmetic(guesses, taken, cost, batch, chip):
    """Tokens of a round, both steps, and the quotient."""
    plain, verify = _parts(guesses, batch, chip)
    step, judged = _seconds(plain, chip), _seconds(verify, chip)
    a, g = number(taken), number(guesses)
    return [
        text(
            "tokens a round = (1 − {a}^({g} + 1)) / (1 − {a}) = {e}",
            a=a,
            g=g,
            e=number(tokens_per_round(taken, guesses)),
        ),
        text(
            "a plain step = max({flop} / {peak}, {bytes} / {rate}) = {t}",
            flop=si(plain.flop, "FLOP"),
            peak=si(chip.peak, "FLOP/s"),
            bytes=si(plain.memory_bytes, "B"),
            rate=si(chip.bytes_per_s, "B/s"),
            t=si(step, "s"),
        ),
        text(
            "a step that judges = max({flop} / {peak}, {bytes} / {rate}) = {t}",
            flop=si(verify.flop, "FLOP"),
            peak=si(chip.peak, "FLOP/s"),
            bytes=si(verify.memory_bytes, "B"),
            rate=si(chip.bytes_per_s, "B/s"),
            t=si(judged, "s"),
        ),
        text(
            "a round = {g} × {cost} × {t} + {v} = {sum}",
            g=g,
            cost=number(cost),
            t=si(step, "s"),
            v=si(judged, "s"),
            sum=si(guesses * cost * step + judged, "s"),
        ),
        text(
            "gain = {e} × {t} / {sum} = {x}",
            e=number(tokens_per_round(taken, guesses)),
            t=si(step, "s"),
            sum=si(guesses * cost * step + judged, "s"),
            x=number(gain(guesses, taken, cost, batch, chip)),
        ),
    ]


def gain_refusal(guesses, taken, cost, batch, chip):
    """A batch whose weights and caches the chip cannot hold is none."""
    target = model(TARGET)
    needed = target.weight_bytes("bf16") + batch * target.kv_bytes(CONTEXT, "bf16")
    return where(
        (chip.holds > 0) & (needed > chip.holds),
        text(
            "{n} sequences and the weights need {needed}; {chip} holds {holds}. Choose fewer.",
            n=number(batch, 4),
            needed=si(needed, "B"),
            chip=chip.name,
            holds=si(chip.holds, "B"),
        ),
        "",
    )


def guesses_explorer(chips: Sequence[str] = CHIPS) -> Explorer:
    """Speed-up against guesses a round, with acceptance, cost of a guess, batch and chip under the reader's hand.

    Examples
    --------
    >>> explorer = guesses_explorer()
    >>> explorer.guesses = 4
    >>> print(explorer.says())
    A round writes 3.36 tokens and takes 1.2 times as long as a plain step: 2.8 times as fast. The memory ...
    """
    roofs = {id: _roof(chip(id)) for id in chips}
    return explore(
        gain,
        x=Axis("guesses", 1, 16, 4, step=1, title="Guesses a round"),
        y=Result("Speed-up", "times", low=0, high=6),
        sliders=[
            Slider("taken", 0.05, 0.98, 0.8, step=0.01, title="Share of guesses taken"),
            Slider("cost", 0, 0.5, 0.05, step=0.01, title="A guess costs, of a plain step"),
            Slider("batch", 1, 1024, 1, step=1, scale="log", title="Sequences in a step"),
            Choice("chip", roofs, chips[0], title="Chip"),
        ],
        says=gain_sentence,
        arithmetic=gain_arithmetic,
        refuses=gain_refusal,
        rules=[
            Rule(lambda guesses, taken, cost, batch, chip: 1, lambda guesses, taken, cost, batch, chip: "no gain", "y")
        ],
        also={
            "one sequence": lambda guesses, taken, cost, batch, chip: gain(guesses, taken, cost, 1, chip),
        },
        name="guesses",
        alt="The gain rises with the guesses of a round, bends, and falls again; with many sequences in a step it "
        "falls from the beginning and goes below 1.",
    )


# ---- What others measured ------------------------------------------------------------------------------------------


def rounds_and_speed(settings: Iterable[Setting]) -> alt.LayerChart:
    """Tokens a round and speed-up of several ways to guess, one line a way: how much of the one becomes the other.

    Examples
    --------
    >>> from hwlab.specs.speculation import measurements
    >>> rounds_and_speed(measurements("spec-bench", task="mean of six")).description
    'Between 0.54 and 0.95 of the tokens a round become speed: ...'
    """
    found = sorted(settings, key=lambda s: -s.speedup)
    rows = [
        {
            "way": s.method,
            "tokens a round": s.tokens_per_round,
            "speed-up": s.speedup,
            "steps a round": s.tokens_per_round / s.speedup,
        }
        for s in found
    ]
    for row in rows:
        row["says"] = f"{row['way']}: {number(row['tokens a round'])} tokens, {number(row['speed-up'])} times as fast"
    y = alt.Y("says:N", sort=[row["says"] for row in rows], title=None, axis=None)
    scale = alt.Scale(domain=[1, 1.1 * max(row["tokens a round"] for row in rows)])
    data = alt.Chart(alt.Data(values=rows))
    names, marks = ["speed-up", "tokens a round"], ["circle", "square"]
    points = [{"says": r["says"], "what": name, "value": r[name]} for r in rows for name in names]
    shared = {"sort": None, "title": None}
    shares = sorted(row["speed-up"] / row["tokens a round"] for row in rows)
    dear = max(rows, key=lambda row: row["steps a round"])
    return alt.layer(
        data.mark_rule(strokeWidth=3, color=SERIES[5]).encode(
            alt.X("speed-up:Q", scale=scale, title="Times a step without guesses", axis=alt.Axis(tickCount=5)),
            y,
            x2="tokens a round:Q",
        ),
        alt.Chart(alt.Data(values=points))
        .mark_point(size=90, filled=True)
        .encode(
            alt.X("value:Q", scale=scale),
            y,
            alt.Color("what:N", scale=alt.Scale(domain=names, range=list(SERIES[:2])), **shared),
            alt.Shape("what:N", scale=alt.Scale(domain=names, range=marks), **shared),
        ),
        data.mark_text(style="note", dy=-11).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(38),
        data=alt.Data(values=[{k: row[k] for k in row if k != "says"} for row in rows]),
        description=f"Between {number(shares[0], 2)} and {number(shares[-1], 2)} of the tokens a round become speed: a "
        f"round takes as long as {number(min(row['steps a round'] for row in rows))} plain steps at best, "
        f"{number(dear['steps a round'])} with {dear['way']}.",
    )


def by_task(settings: Iterable[Setting]) -> alt.Chart:
    """Speed-up by task, of several ways to guess.

    Examples
    --------
    >>> from hwlab.specs.speculation import measurements
    >>> by_task(measurements("spec-bench", target="Vicuna 33B")).description
    'Look-up gains 1.06 times on translation and 1.93 times on summaries; EAGLE 2.04 times on translation and 2.97 ...'
    """
    rows = [{"way": s.method, "task": s.task, "speed-up": s.speedup} for s in settings]
    ways = list(dict.fromkeys(row["way"] for row in rows))
    said = []
    for way in ways:
        least, most = (f(r for r in rows if r["way"] == way) for f in (_least, _most))
        name, verb = way[0].upper() + way[1:], "" if said else " gains"
        ends = [f"{number(end['speed-up'])} times on {end['task']}" for end in (least, most)]
        said.append(f"{name}{verb} {ends[0]} and {ends[1]}")
    tasks = sorted(
        {row["task"] for row in rows}, key=lambda task: -sum(r["speed-up"] for r in rows if r["task"] == task)
    )
    shared = {"title": None, "sort": ways}
    return (
        alt.Chart(alt.Data(values=rows), height=260)
        .mark_point(size=100, filled=True)
        .encode(
            alt.X("speed-up:Q", title="Speed-up", scale=alt.Scale(domain=[0.9, 3.2]), axis=alt.Axis(tickCount=5)),
            alt.Y("task:N", title=None, sort=tasks),
            alt.Color("way:N", scale=alt.Scale(domain=ways, range=list(SERIES[: len(ways)])), **shared),
            alt.Shape("way:N", scale=alt.Scale(domain=ways, range=["circle", "square"]), **shared),
        )
        .properties(description="; ".join(said) + ".")
    )


def _least(rows):
    return min(rows, key=lambda row: row["speed-up"])


def _most(rows):
    return max(rows, key=lambda row: row["speed-up"])


def predicted_and_measured(settings: Iterable[Setting]) -> alt.LayerChart:
    """Speed-up by formula and as published, where a source gives acceptance, guesses and the sizes of both models.

    The draft's cost is its share of the parameters: what the roofline of a single sequence says.

    Examples
    --------
    >>> from hwlab.specs.speculation import measurements
    >>> predicted_and_measured(measurements("leviathan-2023", target="T5-XXL")).description
    'In seven settings the formula gives 0.87 to 1.72 times what was measured; it is worst with the largest draft, ...'
    """
    rows = []
    for s in settings:
        predicted = speedup(s.acceptance, s.guesses, draft_cost=s.draft_params / s.target_params)
        rows.append(
            {
                "setting": f"{s.draft}, {s.task}, temp. {number(s.temperature)}",
                "draft": s.draft,
                "predicted": predicted,
                "measured": s.speedup,
                "predicted / measured": predicted / s.speedup,
            }
        )
    rows.sort(key=lambda row: row["predicted / measured"])
    for row in rows:
        row["says"] = f"{row['setting']}: {number(row['predicted'])}, {number(row['measured'])}"
    points = [
        {"says": r["says"], "what": what, "speed-up": r[what]} for r in rows for what in ("predicted", "measured")
    ]
    y = alt.Y("says:N", sort=[row["says"] for row in rows], title=None, axis=None)
    scale = alt.Scale(domain=[1, 1.1 * max(max(r["predicted"], r["measured"]) for r in rows)])
    shared = {"sort": None, "title": None}
    names = ["predicted", "measured"]
    counted = {7: "seven"}.get(len(rows), str(len(rows)))
    return alt.layer(
        alt.Chart(alt.Data(values=rows))
        .mark_rule(strokeWidth=3, color=SERIES[5])
        .encode(alt.X("predicted:Q", title="Speed-up", scale=scale, axis=alt.Axis(tickCount=5)), y, x2="measured:Q"),
        alt.Chart(alt.Data(values=points))
        .mark_point(size=90, filled=True)
        .encode(
            alt.X("speed-up:Q", scale=scale),
            y,
            alt.Color("what:N", scale=alt.Scale(domain=names, range=list(SERIES[:2])), **shared),
            alt.Shape("what:N", scale=alt.Scale(domain=names, range=["circle", "square"]), **shared),
        ),
        alt.Chart(alt.Data(values=rows)).mark_text(style="note", dy=-11).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(38),
        data=alt.Data(values=[{k: row[k] for k in row if k != "says"} for row in rows]),
        description=f"In {counted} settings the formula gives {number(rows[0]['predicted / measured'], 2)} to "
        f"{number(rows[-1]['predicted / measured'])} times what was measured; it is worst with the largest draft, "
        f"{rows[-1]['draft']}.",
    )


# ---- Parts ---------------------------------------------------------------------------------------------------------


def _lines(rows, series, x, x_title, y, y_title, *, log=False, low=None):
    names = list(dict.fromkeys(row[series] for row in rows))
    kind = {"type": "log", "base": 2, "nice": False} if log else {"nice": False}
    right = max(row[x] for row in rows)
    ticks = alt.Axis(values=[4**i for i in range(7) if 4**i <= right], format=",") if log else alt.Axis(tickCount=6)
    top = {} if low is None else {"scale": alt.Scale(domain=[low, 1.08 * max(row[y] for row in rows)])}
    shared = {"sort": None, "title": series[0].upper() + series[1:], "legend": alt.Legend(columns=3)}
    return (
        alt.Chart(alt.Data(values=rows), height=280)
        .mark_line(strokeWidth=2.5)
        .encode(
            alt.X(f"{x}:Q", title=x_title, scale=alt.Scale(**kind), axis=ticks),
            alt.Y(f"{y}:Q", title=y_title, axis=alt.Axis(tickCount=6), **top),
            alt.Color(f"{series}:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), **shared),
            alt.StrokeDash(f"{series}:N", scale=alt.Scale(domain=names, range=list(DASHES[: len(names)])), **shared),
        )
    )


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _short(of: Chip) -> str:
    return of.name.partition(" (")[0].partition(" SXM")[0].removesuffix(" 80GB")
