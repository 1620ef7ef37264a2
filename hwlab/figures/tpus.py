"""TPUs and their compiler: an explorer of the array's work, and charts of generations, power, padding and compiles.

Each chart function turns data into an Altair chart whose ``description`` says what is to be seen. No number is typed
here: all come from `hwlab.specs` and `hwlab.costs`, or from a measurement handed in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from hwlab.costs.padding import overhead, powers_of_two, spread, steps_of
from hwlab.costs.roofline import ridge
from hwlab.costs.systolic import stream_utilization
from hwlab.figures.explorer import Axis, Choice, Explorer, Result, Rule, Slider, explore
from hwlab.figures.tables import Table
from hwlab.figures.theme import DASHES, SERIES
from hwlab.formula import ceil, maximum, number, si, text, where
from hwlab.specs.chips import Chip, chip
from hwlab.specs.technology import operation
from hwlab.studies.tpu_v1 import Prediction

GENERATIONS = ("tpu-v1", "tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7", "tpu-8t", "tpu-8i")
"""In the order in which they came."""

MEANWHILE, IN_TURN = "the next tile loads meanwhile", "one tile after another"

_COUNT = ("none", "one", "two", "three", "four", "five", "six")
_SHAPES = ("circle", "square", "triangle-up", "cross", "stroke", "triangle-down")


# ---- The explorer --------------------------------------------------------------------------------------------------


def bytes_per_cycle(of: Chip) -> float:
    """Weights that reach one of a chip's arrays in a cycle, bytes: its memory's bandwidth, shared by all arrays.

    Examples
    --------
    >>> round(bytes_per_cycle(chip("tpu-v1")), 1)
    48.6
    """
    return of.memory_bytes_per_s / of.clock_hz / of.counts["mxu_count"]


def load_cycles(side, arrives, itemsize=1):
    """Cycles until a tile of side x side weights is in the array: a row a cycle at best.

    Examples
    --------
    >>> round(load_cycles(256, bytes_per_cycle(chip("tpu-v1"))))
    1349
    """
    return maximum(side, side * side * itemsize / arrives)


def busy_share(rows, side, arrives, weights):
    """Percent of the array's multiply-accumulates that are part of the product, many tiles in a row."""
    load = load_cycles(side, arrives)
    meanwhile = rows / maximum(rows, load)
    in_turn = rows / (rows / stream_utilization(rows, rows=side, columns=side) + load)
    return 100 * where(weights == MEANWHILE, meanwhile, in_turn)


def _half(side, arrives):
    """Rows at which half of the work is useful when nothing is hidden."""
    return load_cycles(side, arrives) + 2 * side - 2


def busy_sentence(rows, side, arrives, weights):
    """What binds, by how much, and what would flip it."""
    load = load_cycles(side, arrives)
    share = number(busy_share(rows, side, arrives, weights))
    starved = text(
        "the weights bind, by {ratio}: a tile of {side} × {side} arrives in {load} cycles and is used in {rows}. "
        "{share} % of the array is at work. It flips at {flip} rows.",
        ratio=where(load < 1.005 * rows, "a hair", text("{x}×", x=number(load / rows))),
        side=number(side),
        load=number(ceil(load), 4),
        rows=number(rows, 4),
        share=share,
        flip=number(ceil(load), 4),
    )
    fed = text(
        "the array binds: it works in every cycle, and the memory rests {rest} % of the time.",
        rest=number(100 * (1 - load / rows)),
    )
    in_turn = text(
        "the array is at work for {share} % of {total} cycles: {load} go by while the tile loads, {skew} while it "
        "fills and empties. Half would take {half} rows.",
        share=share,
        total=number(ceil(load + rows + 2 * side - 2), 4),
        load=number(ceil(load), 4),
        skew=number(2 * side - 2),
        half=number(ceil(_half(side, arrives)), 4),
    )
    return text(
        "With {rows} a tile {what}",
        rows=text("{n} {noun}", n=number(rows, 4), noun=where(rows == 1, "row", "rows")),
        what=where(weights == MEANWHILE, where(rows < load, starved, fed), in_turn),
    )


def busy_arithmetic(rows, side, arrives, weights):
    """Cycles to load a tile, cycles to use it, and the share."""
    load = load_cycles(side, arrives)
    m, n = number(rows, 4), number(side)
    hidden = weights == MEANWHILE
    return [
        text(
            "load = max({n}, {n} × {n} B / {arrives} B a cycle) = {load} cycles",
            n=n,
            arrives=number(arrives),
            load=number(ceil(load), 4),
        ),
        where(
            hidden,
            text(
                "a tile takes max({m}, {load}) = {took} cycles",
                m=m,
                load=number(ceil(load), 4),
                took=number(ceil(maximum(rows, load)), 4),
            ),
            text(
                "a tile takes {load} + {m} + {n} + {n} − 2 = {took} cycles",
                m=m,
                n=n,
                load=number(ceil(load), 4),
                took=number(ceil(load + rows + 2 * side - 2), 4),
            ),
        ),
        text("share = {m} / that = {share} %", m=m, share=number(busy_share(rows, side, arrives, weights))),
    ]


def array_explorer() -> Explorer:
    """Share of a systolic array at work against the rows that pass a tile, by side, feed and schedule.

    It starts as a TPU v1: 256 x 256, one byte a weight, fed by 34 GB/s at 700 MHz.

    Examples
    --------
    >>> print(array_explorer().says())
    With 1 row a tile the weights bind, by 1,349×: a tile of 256 × 256 arrives in 1,350 cycles and is used in 1. ...
    """
    feed = round(bytes_per_cycle(chip("tpu-v1")), 2)
    return explore(
        busy_share,
        x=Axis("rows", 1, 8192, step=1, scale="log", title="Rows a tile"),
        y=Result("Array at work", "%", low=0.05, high=150, scale="log"),
        sliders=[
            Slider("side", 32, 512, 256, step=32, title="Side of the array"),
            Slider("arrives", 8, 2048, feed, scale="log", title="Weights that arrive in a cycle", unit="B"),
            Choice("weights", [MEANWHILE, IN_TURN], MEANWHILE, title="Loading"),
        ],
        says=busy_sentence,
        arithmetic=busy_arithmetic,
        rules=[
            Rule(
                lambda rows, side, arrives, weights: where(
                    weights == MEANWHILE, load_cycles(side, arrives), _half(side, arrives)
                ),
                lambda rows, side, arrives, weights: where(
                    weights == MEANWHILE,
                    text("flips at {flip}", flip=number(ceil(load_cycles(side, arrives)), 4)),
                    text("half at {half}", half=number(ceil(_half(side, arrives)), 4)),
                ),
            )
        ],
        name="array",
        alt="The share of the array that is at work rises with the rows that pass each tile of weights, and meets 100 "
        "percent when they take as long as the next tile needs to arrive.",
    )


# ---- Tables and charts ---------------------------------------------------------------------------------------------


def generations_table() -> Table:
    """The TPUs of the catalogue, one a row, in the order in which they came."""
    rows = []
    for id in GENERATIONS:
        of = chip(id)
        dtype = "bf16" if "bf16" in of.peak_flop_per_s else "int8"
        grid = f"{of.counts['mxu_count']} × {of.counts['mxu_rows']} × {of.counts['mxu_cols']}"
        rows.append(
            [
                _short(of),
                str(of.year),
                grid,
                f"{si(of.peak(dtype), 'OP/s' if dtype == 'int8' else 'FLOP/s')}, {dtype}",
                si(of.memory_bytes_per_s, "B/s"),
                number(ridge(of, dtype)),
            ]
        )
    head = ["Chip", "Year", "Arrays", "Dense peak", "Memory", "Ridge, FLOP/byte"]
    return Table(head, rows, "Ten TPUs, each peak in the widest type that its arrays are given for.")


def ridges() -> alt.LayerChart:
    """FLOP for each byte of memory bandwidth, by generation and by width of an element."""
    rows = []
    for id in GENERATIONS:
        of = chip(id)
        for width, dtypes in (("16 bits", ("bf16",)), ("8 bits", ("fp8", "int8")), ("4 bits", ("fp4",))):
            peaks = [of.peak_flop_per_s[d] for d in dtypes if d in of.peak_flop_per_s]
            if peaks:
                rows.append({"chip": _short(of), "width": width, "FLOP a byte": max(peaks) / of.memory_bytes_per_s})
    names = [_short(chip(id)) for id in GENERATIONS]
    widths = ["16 bits", "8 bits", "4 bits"]
    y = alt.Y("chip:N", sort=names, title=None)
    x = alt.X(
        "FLOP a byte:Q", title="FLOP for each byte of memory bandwidth", scale=_log(50, 4000), axis=_ticks(100, 1000)
    )
    legend = alt.Legend(title="Element")
    series = {
        "color": alt.Color("width:N", sort=None, scale=alt.Scale(domain=widths, range=list(SERIES[:3])), legend=legend),
        "shape": alt.Shape(
            "width:N", sort=None, scale=alt.Scale(domain=widths, range=list(_SHAPES[:3])), legend=legend
        ),
    }
    found = {(row["chip"], row["width"]): row["FLOP a byte"] for row in rows}
    first, second = names[0], names[1]
    train, serve = _short(chip("tpu-8t")), _short(chip("tpu-8i"))
    return alt.layer(
        alt.Chart(alt.Data(values=rows)).mark_point(size=110).encode(x, y, **series),
        height=alt.Step(30),
        data=alt.Data(values=rows),
        description=f"{first} had {number(found[first, '8 bits'])} FLOP for each byte, {second} "
        f"{number(found[second, '16 bits'])}. In 4 bits {train} has {number(found[train, '4 bits'])} and {serve} "
        f"{number(found[serve, '4 bits'])}.",
    )


def filling(side: int = 256, rows: Sequence[int] = (32, 256, 1024)) -> alt.LayerChart:
    """Multiply-accumulates at work, cycle by cycle, while some rows pass one tile that is in the array already.

    Examples
    --------
    >>> filling().description
    'With 32 rows at most 7,... of 65,536 multiply-accumulates work at once, and 5.9 % on average; with 1,024 rows ...
    """
    points = []
    for m in rows:
        last = m + 2 * side - 2
        shown = sorted({0, 1, side - 1, m, m + side - 1, last, *range(0, last, 8)})
        points += [{"rows": _rows(m), "cycle": t, "share, %": 100 * _active(t, m, side) / side**2} for t in shown]
    order = [_rows(m) for m in rows]
    rest = {"sort": None, "title": "Rows that pass"}
    lines = (
        alt.Chart(alt.Data(values=points))
        .mark_line()
        .encode(
            alt.X("cycle:Q", title="Cycle", scale=alt.Scale(nice=False)),
            alt.Y("share, %:Q", title="Multiply-accumulates at work, %", scale=alt.Scale(domain=[0, 100])),
            alt.Color("rows:N", scale=alt.Scale(domain=order, range=list(SERIES[: len(order)])), **rest),
            alt.StrokeDash("rows:N", scale=alt.Scale(domain=order, range=list(DASHES[: len(order)])), **rest),
        )
    )
    few, many = rows[0], rows[-1]
    most = max(_active(t, few, side) for t in range(few + 2 * side))
    mean = {m: 100 * stream_utilization(m, rows=side, columns=side) for m in rows}
    return alt.layer(
        lines,
        height=260,
        data=alt.Data(values=[{"rows": _rows(m), "cycles": m + 2 * side - 2, "at work, %": mean[m]} for m in rows]),
        description=f"With {few} rows at most {most:,} of {side**2:,} multiply-accumulates work at once, and "
        f"{number(mean[few], 2)} % on average; with {many:,} rows all do for a while, and {number(mean[many], 2)} % "
        "on average.",
    )


def _active(cycle, m, side):
    """PEs that work in the cycle of that number, counted from 0: those whose r + c is at most m - 1 cycles behind."""

    def up_to(d):  # PEs with r + c <= d
        d = min(d, 2 * side - 2)
        if d < 0:
            return 0
        return (d + 1) * (d + 2) // 2 if d < side else side**2 - (2 * side - 2 - d) * (2 * side - 1 - d) // 2

    return up_to(cycle) - up_to(cycle - m)


def power(ids: Sequence[str] = ("tpu-v1", "tpu-v3", "tpu-v4", "a100-sxm-80gb", "h100-sxm")) -> alt.LayerChart:
    """What is known of the power of some chips, watts: measured at rest, on average and at most, and designed for.

    Examples
    --------
    >>> power().description
    'TPU v4 drew 170 W on average and 192 W at most; TPU v3, which drew 220 and 262 W, is designed for 450 W. ...
    """
    kinds = {"idle": "measured_watts.idle", "mean": "measured_watts.mean", "highest": "measured_watts.max"}
    rows = []
    for id in ids:
        of = chip(id)
        for kind, field in kinds.items():
            field = "measured_watts.busy" if kind == "mean" and field not in of.figures else field
            if field in of.figures:
                rows.append({"chip": _short(of), "what": kind, "W": of.figures[field].value})
        if of.tdp_watts:
            rows.append({"chip": _short(of), "what": "TDP", "W": of.tdp_watts})
    order = [*kinds, "TDP"]
    watts = {(row["chip"], row["what"]): row["W"] for row in rows}
    legend = alt.Legend(title=None)
    y = alt.Y("chip:N", sort=[_short(chip(id)) for id in ids], title=None)
    x = alt.X("W:Q", title="Power of one chip, W", scale=alt.Scale(domain=[0, 720], nice=False))
    data = alt.Chart(alt.Data(values=rows))
    return alt.layer(
        data.mark_point(size=120, strokeWidth=2).encode(
            x,
            y,
            alt.Color("what:N", sort=None, scale=alt.Scale(domain=order, range=list(SERIES[:4])), legend=legend),
            alt.Shape("what:N", sort=None, scale=alt.Scale(domain=order, range=list(_SHAPES[:4])), legend=legend),
        ),
        height=alt.Step(36),
        data=alt.Data(values=rows),
        description=f"TPU v4 drew {number(watts['TPU v4', 'mean'])} W on average and "
        f"{number(watts['TPU v4', 'highest'])} W at most; TPU v3, which drew {number(watts['TPU v3', 'mean'])} and "
        f"{number(watts['TPU v3', 'highest'])} W, is designed for {number(watts['TPU v3', 'TDP'])} W. Of the GPUs only "
        "the design power is published.",
    )


def instruction_price() -> alt.LayerChart:
    """Share of the energy of one GPU instruction that is not arithmetic, from one multiply-add to a small product.

    Examples
    --------
    >>> instruction_price().description
    'Fetching and decoding takes 95 % of the energy of one multiply-add and 16 % of that of a small INT8 product.'
    """
    control = operation("gpu-instruction-overhead").figure("joules").value
    names = {
        "gpu-hfma": "one fp16 multiply-add",
        "gpu-hdp4a": "a dot product of four",
        "gpu-hmma": "a small fp16 product",
        "gpu-imma": "a small INT8 product",
    }
    rows = []
    for id, name in names.items():
        work = operation(id).figure("joules").value
        rows += [
            {"instruction": name, "part": "arithmetic", "share, %": 100 * work / (work + control)},
            {"instruction": name, "part": "fetch and decode", "share, %": 100 * control / (work + control)},
        ]
    parts = ["arithmetic", "fetch and decode"]
    shares = [row["share, %"] for row in rows if row["part"] == parts[1]]
    return alt.layer(
        alt.Chart(alt.Data(values=rows))
        .mark_bar(height=16)
        .encode(
            alt.X("share, %:Q", title="Share of the energy, %", scale=alt.Scale(domain=[0, 100])),
            alt.Y("instruction:N", sort=None, title=None),
            alt.Color("part:N", sort=None, title=None, scale=alt.Scale(domain=parts, range=[SERIES[0], SERIES[3]])),
            order=alt.Order("part:N"),
        ),
        height=alt.Step(34),
        data=alt.Data(values=rows),
        description=f"Fetching and decoding takes {number(shares[0], 2)} % of the energy of one multiply-add "
        f"and {number(shares[-1], 2)} % of that of a small INT8 product.",
    )


def padding_by_programs(least: int = 64, most: int = 8192) -> alt.LayerChart:
    """Padding against the number of programs, for lengths that lie evenly on a logarithmic scale.

    Examples
    --------
    >>> padding_by_programs().description
    'One program for 8,192 pads by 389 %, powers of two with 8 programs by 39 %, and steps of 128 with 65 by 3.7 %.'
    """
    lengths = spread(least, most)
    families = {
        "one length": [("one", (most,))],
        "powers of two": [("powers of two", powers_of_two(least, most))],
        "steps": [(f"steps of {gap}", steps_of(gap, most, least=least)) for gap in (1024, 512, 256, 128)],
    }
    rows = [
        {"family": family, "buckets": name, "programs": len(b), "padding, %": 100 * overhead(lengths, b)}
        for family, members in families.items()
        for name, b in members
    ]
    kinds = list(families)
    x = alt.X("programs:Q", title="Programs to compile and keep", scale=_log(0.8, 100), axis=_ticks(1, 10, 100))
    y = alt.Y(
        "padding, %:Q", title="Padding, % of the real tokens", scale=_log(2, 900), axis=_ticks(3, 10, 30, 100, 300)
    )
    data = alt.Chart(alt.Data(values=rows))
    points = data.mark_point(size=110).encode(
        x,
        y,
        alt.Color("family:N", sort=None, title=None, scale=alt.Scale(domain=kinds, range=list(SERIES[:3]))),
        alt.Shape("family:N", sort=None, title=None, scale=alt.Scale(domain=kinds, range=list(_SHAPES[:3]))),
    )
    labels = data.mark_text(style="note", align="left", dx=10, dy=-4).encode(x, y, text="buckets:N")
    by = {row["buckets"]: row for row in rows}
    two, fine = by["powers of two"], by["steps of 128"]
    return alt.layer(
        points,
        labels.transform_filter("datum.programs < 30"),
        labels.mark_text(style="note", align="right", dx=-10, dy=8).transform_filter("datum.programs >= 30"),
        height=280,
        data=alt.Data(values=rows),
        description=f"One program for {most:,} pads by {number(by['one']['padding, %'])} %, powers of two with "
        f"{two['programs']} programs by {number(two['padding, %'], 2)} %, and steps of 128 with {fine['programs']} by "
        f"{number(fine['padding, %'], 2)} %.",
    )


def applications(found: Sequence[Prediction]) -> alt.LayerChart:
    """Rates of the six applications of the TPU v1 paper: what was measured, the roofline, and the array's cycles.

    Examples
    --------
    >>> from hwlab.studies.tpu_v1 import predictions
    >>> applications(predictions()).description
    'Of six applications on a TPU v1 the array model comes within a factor of 1.4 of five; CNN1 runs 5 times slower.'
    """
    kinds = ["measured", "roofline", "array and stalls"]
    rows = [
        {"application": p.application.name, "what": what, "TOP/s": rate / 1e12}
        for p in found
        for what, rate in zip(kinds, (p.application.op_per_s, p.roofline_op_per_s, p.array_op_per_s), strict=True)
    ]
    by_error = sorted(found, key=lambda p: max(p.array_factor, 1 / p.array_factor))
    *near, far = by_error
    within = max(near[-1].array_factor, 1 / near[-1].array_factor)
    legend = alt.Legend(title=None, columns=2)
    return alt.layer(
        alt.Chart(alt.Data(values=rows))
        .mark_point(size=110, strokeWidth=2)
        .encode(
            alt.X("TOP/s:Q", title="Rate, 10¹² operations a second", scale=_log(2, 120), axis=_ticks(3, 10, 30, 100)),
            alt.Y("application:N", sort=None, title=None),
            alt.Color("what:N", sort=None, scale=alt.Scale(domain=kinds, range=list(SERIES[:3])), legend=legend),
            alt.Shape("what:N", sort=None, scale=alt.Scale(domain=kinds, range=list(_SHAPES[:3])), legend=legend),
        ),
        height=alt.Step(34),
        data=alt.Data(values=rows),
        description=f"Of {_COUNT[len(found)]} applications on a TPU v1 the array model comes within a factor of "
        f"{number(within, 2)} of {_COUNT[len(near)]}; {far.application.name} runs {number(far.array_factor, 2)} times "
        "slower.",
    )


def first_and_second_calls(times: Mapping[str, tuple[float, float]]) -> alt.LayerChart:
    """First and second calls of a compiled function with each of several shapes, seconds, as measured.

    Examples
    --------
    >>> first_and_second_calls({"60 rows": (0.1, 0.001), "61 rows": (0.1, 0.001)}).description
    'The first call with a new shape takes about 100 times as long as the second.'
    """
    rows = [
        {"shape": shape, "call": call, "s": seconds}
        for shape, both in times.items()
        for call, seconds in zip(("first", "second"), both, strict=True)
    ]
    low, high = min(row["s"] for row in rows) / 2, max(row["s"] for row in rows) * 2
    calls = ["first", "second"]
    ratios = sorted(first / second for first, second in times.values())
    legend = alt.Legend(title="Call")
    ticks = alt.Axis(
        values=[10.0**p for p in range(-6, 2) if low <= 10.0**p <= high],
        labelExpr="replace(format(datum.value, '~s'), regexp('([a-zA-Zµ])$'), ' $1') + 's'",
    )
    return alt.layer(
        alt.Chart(alt.Data(values=rows))
        .mark_point(size=110)
        .encode(
            alt.X("s:Q", title="Time of the call", scale=_log(low, high), axis=ticks),
            alt.Y("shape:N", sort=None, title=None),
            alt.Color("call:N", sort=None, scale=alt.Scale(domain=calls, range=list(SERIES[:2])), legend=legend),
            alt.Shape("call:N", sort=None, scale=alt.Scale(domain=calls, range=list(_SHAPES[:2])), legend=legend),
        ),
        height=alt.Step(32),
        data=alt.Data(values=rows),
        description="The first call with a new shape takes about "
        f"{number(float(f'{ratios[len(ratios) // 2]:.1g}'))} times as long as the second.",
    )


def _rows(count: int) -> str:
    return f"{count:,} row" + "s" * (count != 1)


def _log(low, high):
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _ticks(*values):
    return alt.Axis(values=list(values), labelExpr="format(datum.value, ',~r')")


def _short(of: Chip) -> str:
    return of.name.partition(" (")[0].removesuffix(" 80GB")
