"""The memory hierarchy in pictures: how far each level is, what it gives, what a byte from it costs, and what fits.

Charts are Altair charts whose ``description`` says what is to be seen; `level_explorer` is an explorer, the tables are
`hwlab.figures.tables.Table`. All numbers come from `hwlab.specs` and `hwlab.costs`, or from what is handed in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from hwlab.costs.energy import LEVELS as ENERGY_LEVELS
from hwlab.costs.energy import byte_joules, mac_joules, token_energy
from hwlab.figures.explorer import Axis, Choice, Explorer, Result, Rule, Slider, explore
from hwlab.figures.tables import Table
from hwlab.figures.theme import DASHES, SERIES
from hwlab.formula import maximum, minimum, number, si, text, where
from hwlab.specs.chips import Chip, chip
from hwlab.specs.measurements import Measurement
from hwlab.specs.models import ModelSpec
from hwlab.specs.technology import memory

_PREFIXED = "replace(format(datum.value, '~s'), regexp('([a-zA-Zµ])$'), ' $1')"
_SHAPES = ("circle", "square", "triangle-up")
_PLAIN = "format(datum.value, ',~r')"

# ---- How far it is -------------------------------------------------------------------------------------------------

QUOTED = {"SRAM": ("sram", ("low end", "high end")), "DRAM": ("ddr5", ("low end", "high end"))}
"""The two ranges that the text on trial gives."""

_PLACES = ("first-level cache", "second-level cache", "third-level cache", "memory")
MEASURED = (
    ("first-level cache", "EPYC 7742", "sram", "EPYC 7742 L1"),
    ("second-level cache", "EPYC 7742", "sram", "EPYC 7742 L2"),
    ("third-level cache", "EPYC 7742", "sram", "EPYC 7742 L3"),
    ("memory", "EPYC 7742", "ddr4", "EPYC 7742"),
    ("first-level cache", "A100", "sram", "A100 L1"),
    ("second-level cache", "A100", "sram", "A100 L2"),
    ("memory", "A100", "hbm2e", "A100"),
    ("first-level cache", "H100 PCIe", "sram", "H100 PCIe L1"),
    ("second-level cache", "H100 PCIe", "sram", "H100 PCIe L2"),
    ("memory", "H100 PCIe", "hbm2e", "H100 PCIe"),
)
"""Level, chip, and where its measured latency stands: a technology and the beginning of a qualifier."""


def latency(place: str, of: str) -> float:
    """Seconds from a load to the use of its data, measured: a level of `MEASURED` on a chip.

    Examples
    --------
    >>> round(latency("memory", "H100 PCIe") * 1e9)
    375
    """
    for level, name, technology, qualifier in MEASURED:
        if (level, name) == (place, of):
            return memory(technology).figure("latency_s", qualifier).value
    raise ValueError(f"nothing is measured for the {place} of {of}; see hwlab.figures.memory.MEASURED")


def latencies() -> alt.LayerChart:
    """Quoted ranges of SRAM and DRAM, and what was measured level by level on a server CPU and two GPUs.

    Examples
    --------
    >>> latencies().description
    'Of seven caches measured, one lies within the quoted 0.3 to 3 ns (grey), a first-level cache; ...'
    """
    bounds = {
        kind: [memory(id).figure("latency_s", end).value * 1e9 for end in ends] for kind, (id, ends) in QUOTED.items()
    }
    rows = [{"level": level, "chip": name, "ns": latency(level, name) * 1e9} for level, name, *_ in MEASURED]
    bands = [
        {"level": level, "low": low, "high": high}
        for level in _PLACES
        for low, high in [bounds["DRAM" if level == "memory" else "SRAM"]]
    ]
    caches = [row for row in rows if row["level"] != "memory"]
    inside = [row for row in caches if bounds["SRAM"][0] <= row["ns"] <= bounds["SRAM"][1]]
    first = min(rows, key=lambda row: row["ns"])
    far = [row["ns"] for row in rows if row["level"] == "memory"]
    x = alt.X("ns:Q", title="Nanoseconds from a load to its use", scale=_log(0.2, 1000), axis=_decades(0.2, 1000))
    y = alt.Y("level:N", sort=list(_PLACES), title=None, axis=alt.Axis(labelLimit=140))
    names = list(dict.fromkeys(row["chip"] for row in rows))
    points = alt.Chart(alt.Data(values=rows)).mark_point(size=90)
    measured_on = {"sort": None, "title": "Measured on", "legend": alt.Legend(columns=2)}
    quoted = alt.Chart(alt.Data(values=bands)).mark_bar(height=22, fillOpacity=0.25, color=SERIES[5], stroke=SERIES[5])
    counted = {1: "one", 2: "two", 3: "three", 6: "six", 7: "seven", 8: "eight"}
    return alt.layer(
        quoted.encode(
            alt.X("low:Q", scale=_log(0.2, 1000), title="Nanoseconds from a load to its use"), y, x2="high:Q"
        ),
        points.encode(
            x,
            y,
            alt.Color("chip:N", scale=alt.Scale(domain=names, range=list(SERIES[:3])), **measured_on),
            alt.Shape("chip:N", scale=alt.Scale(domain=names, range=list(_SHAPES[:3])), **measured_on),
        ),
        height=alt.Step(44),
        data=alt.Data(values=rows),
        description=f"Of {counted[len(caches)]} caches measured, {counted[len(inside)]} lies within the quoted "
        f"{number(bounds['SRAM'][0])} to {number(bounds['SRAM'][1])} ns (grey), a first-level cache; memory took "
        f"{number(min(far))} to {number(max(far))} ns where {number(bounds['DRAM'][0])} to {number(bounds['DRAM'][1])} "
        f"are quoted. From the nearest to the farthest it is {number(max(far) / first['ns'], 2)} times.",
    )


# ---- What it is made of --------------------------------------------------------------------------------------------


def technologies_table() -> Table:
    """SRAM, DDR5 and HBM3E side by side: cell, density, bandwidth, energy and price.

    Examples
    --------
    >>> print(technologies_table())  # doctest: +ELLIPSIS
    Memory         SRAM ...
    """
    sram, ddr, hbm = memory("sram"), memory("ddr5"), memory("hbm3e")
    area = sram.figure("cell_area_um2", "N3E").value
    near, far = byte_joules("sram-1mb"), byte_joules("hbm")
    off = byte_joules("dram")
    dense = [
        sram.figure("density_bits_per_mm2", "N5").value,
        hbm.figure("density_bits_per_mm2", "stack").value,
    ]
    rows = [
        ["one bit", "6 transistors", "1 transistor, 1 capacitor", "the same, stacked"],
        ["lies", "on the die", "on a module", "in the package"],
        [
            "bits a mm²",
            si(dense[0], "", 2),
            "",
            f"{si(dense[1], '', 2)} (a stack)",
        ],
        [
            "reads",
            f"{si(chip('groq-lpu').memory_bytes_per_s, 'B/s')} (a die of Groq's)",
            f"{si(ddr.figure('bandwidth_bytes_per_s', '6400').value, 'B/s')} (a channel)",
            f"{si(hbm.figure('bandwidth_bytes_per_s', 'B200').value, 'B/s')} (a stack)",
        ],
        [
            "energy a byte",
            f"{number(near.low * 1e12, 2)} pJ",
            f"{number(off.low * 1e12, 3)} pJ",
            f"{number(far.low * 1e12, 2)} to {number(far.high * 1e12, 2)} pJ",
        ],
        [
            "a gigabyte",
            "none in print",
            f"{number(ddr.figure('usd_per_gigabyte').value)} USD",
            f"{number(hbm.figure('usd_per_gigabyte', '2026').value)} USD",
        ],
    ]
    return Table(
        ["Memory", "SRAM", "DDR5", "HBM3E"],
        rows,
        caption=f"SRAM in 5 or 3 nm (a cell is {number(area)} µm² in both), by its macros; the stack by its footprint, "
        "about 110 mm². Energies at 7 nm: SRAM of 1 MB, DDR3 or 4, HBM2. Prices are low-trust estimates of 2025 and "
        "2026.",
    )


# ---- What it gives -------------------------------------------------------------------------------------------------


LARGEST = 1e11
"""Largest array of the explorer, and what the memory of a server holds for it: modules are bought apart."""


@dataclass(frozen=True, kw_only=True)
class Levels:
    """A chip's memories, the nearest first, as the explorer needs them; a level that is not there holds nothing.

    ``holds_…`` is the largest array that each core may read again and again at that level: a private cache counts
    once, a shared one whole.
    """

    name: str
    peak: float
    name_1: str = ""
    holds_1: float = 0
    rate_1: float = 1
    name_2: str = ""
    holds_2: float = 0
    rate_2: float = 1
    name_3: str = ""
    holds_3: float = 0
    rate_3: float = 1
    name_m: str
    holds_m: float
    rate_m: float


def _short(of: Chip) -> str:
    return of.name.partition(" (")[0].removesuffix(" 80GB").removesuffix(" 80GB SXM4")


def levels(id: str) -> Levels:
    """The levels of a chip of the catalogue: one of `LADDERS`.

    Examples
    --------
    >>> a100 = levels("a100-sxm-80gb")
    >>> a100.name_1, a100.holds_1, a100.rate_1
    ('L1', 196608.0, 19300000000000.0)
    """
    of = chip(id)
    private, dtype = LADDERS[id]
    found = {
        "name": _short(of),
        "peak": of.peak(dtype),
        "name_m": of.memory_kind,
        "holds_m": of.memory_bytes or LARGEST,
        "rate_m": of.memory_bytes_per_s,
    }
    for i, (level, copies) in enumerate(private.items(), start=1):
        found |= {
            f"name_{i}": level.upper(),
            f"holds_{i}": of.sram_bytes[level] / (of.counts[copies] if isinstance(copies, str) else copies),
            f"rate_{i}": of.figure(f"sram_bytes_per_s.{level}").value,
        }
    return Levels(**found)


LADDERS = {
    "a100-sxm-80gb": ({"l1": "sms", "l2": 1}, "bf16"),
    "h100-pcie": ({"l1": "sms", "l2": 1}, "bf16"),
    "epyc-7742": ({"l1": "cores", "l2": "cores", "l3": 16}, "fp32"),
    "tpu-v5e": ({"vmem": "cores"}, "bf16"),
    "groq-lpu": ({}, "fp16"),
    "wse-3": ({}, "fp16"),
}
"""Chip -> its levels on the die, with the number of private copies of each, and the type of the arithmetic. Of the
EPYC's third level there are 16, one for four cores."""


def _by_level(nbytes, chip, what):
    one, two, three, rest = (getattr(chip, f"{what}_{i}") for i in ("1", "2", "3", "m"))
    return where(
        nbytes <= chip.holds_1,
        one,
        where(nbytes <= chip.holds_2, two, where(nbytes <= chip.holds_3, three, rest)),
    )


def share_at_work(nbytes, chip, intensity):
    """Share of the arithmetic that an array of `nbytes`, read again and again, can keep at work, in per cent."""
    return 100 * minimum(1, intensity * _by_level(nbytes, chip, "rate") / chip.peak)


def level_sentence(nbytes, chip, intensity):
    """Where the array lies, what binds, and what would flip it."""
    rate = _by_level(nbytes, chip, "rate")
    share = intensity * rate / chip.peak
    return text(
        "{size} lie in the {level} of {chip}. {bound}",
        size=si(nbytes, "B"),
        level=_by_level(nbytes, chip, "name"),
        chip=chip.name,
        bound=where(
            share < 1,
            text(
                "At {intensity} FLOP a byte the arithmetic waits: {share} % of it is at work. "
                "From {ridge} FLOP a byte on it would not wait.",
                intensity=number(intensity),
                share=number(100 * share),
                ridge=number(chip.peak / rate),
            ),
            text(
                "At {intensity} FLOP a byte the arithmetic binds: the {level} could feed {times} times as much. "
                "Below {ridge} FLOP a byte it would wait.",
                intensity=number(intensity),
                level=_by_level(nbytes, chip, "name"),
                times=number(maximum(share, 1)),
                ridge=number(chip.peak / rate),
            ),
        ),
    )


def level_arithmetic(nbytes, chip, intensity):
    """The rate of the level, what it feeds, and the share of the peak."""
    rate = _by_level(nbytes, chip, "rate")
    return [
        text(
            "{size} lie in the {level}, which reads {rate}",
            size=si(nbytes, "B"),
            level=_by_level(nbytes, chip, "name"),
            rate=si(rate, "B/s"),
        ),
        text(
            "fed: {rate} × {intensity} FLOP a byte = {fed}",
            rate=si(rate, "B/s"),
            intensity=number(intensity),
            fed=si(intensity * rate, "FLOP/s"),
        ),
        text(
            "at work: {fed} / {peak} = {share} %, and 100 % at most",
            fed=si(intensity * rate, "FLOP/s"),
            peak=si(chip.peak, "FLOP/s"),
            share=number(100 * intensity * rate / chip.peak),
        ),
    ]


def level_refusal(nbytes, chip, intensity):
    """What does not fit cannot be read."""
    return where(
        nbytes > chip.holds_m,
        text(
            "{size} do not fit: {chip} holds {holds}. Take a smaller array, or more chips.",
            size=si(nbytes, "B"),
            chip=chip.name,
            holds=si(chip.holds_m, "B"),
        ),
        "",
    )


def _edge(i):
    def at(nbytes, chip, intensity):
        return maximum(getattr(chip, f"holds_{i}"), 1)

    def label(nbytes, chip, intensity):
        return where(getattr(chip, f"holds_{i}") > 1e4, getattr(chip, f"name_{i}"), "")

    return Rule(at, label)


def level_explorer(chips: Sequence[str] = tuple(LADDERS)) -> Explorer:
    """Share of a chip's arithmetic that stays fed, against the size of the array that it reads again and again.

    Parameters
    ----------
    chips : sequence of str
        Of `LADDERS`, the first one shown at the start.

    Examples
    --------
    >>> explorer = level_explorer()
    >>> explorer.nbytes = 4e6
    >>> print(explorer.says())
    4 MB lie in the L2 of A100. At 2 FLOP a byte the arithmetic waits: 3.46 % of it is at work. ...
    """
    ladders = {id: levels(id) for id in chips}
    return explore(
        share_at_work,
        x=Axis(
            "nbytes",
            1e4,
            LARGEST,
            default=4e6,
            scale="log",
            title="Array read again and again",
            unit="B",
            prefix=True,
        ),
        y=Result("Arithmetic at work", "%", low=0.1, high=110, scale="log"),
        sliders=[
            Choice("chip", ladders, chips[0], title="Chip"),
            Slider("intensity", 0.25, 1024, 2, scale="log", title="FLOP for each byte read"),
        ],
        says=level_sentence,
        arithmetic=level_arithmetic,
        refuses=level_refusal,
        rules=[_edge("1"), _edge("2"), _edge("3")],
        name="levels",
        alt="Steps that go down from left to right: each time the array outgrows a level, less of the arithmetic is "
        "fed.",
    )


def roofs(id: str = "a100-sxm-80gb", sides: Sequence[int] = (8, 32, 128)) -> alt.LayerChart:
    """The roofline of a chip with a roof for each level, and tiles of several sides that the nearest one keeps.

    Parameters
    ----------
    id : str
        Of `LADDERS`, with at least one level on the die.
    sides : sequence of int
        Of square tiles, in two-byte elements: with one of each array kept, a byte fetched serves side/2 FLOP.

    Examples
    --------
    >>> roofs().description
    'The arithmetic of A100 is fed from 16.2 FLOP a byte out of the L1, from 57.8 out of the L2, ...'
    """
    of = levels(id)
    found = [
        (getattr(of, f"name_{i}"), getattr(of, f"rate_{i}"), getattr(of, f"holds_{i}"))
        for i in "123m"
        if getattr(of, f"holds_{i}")
    ]
    low, high = 0.5, 2048
    lines = [
        {"level": name, "FLOP a byte": x, "FLOP/s": min(of.peak, x * rate)}
        for name, rate, _ in found
        for x in (low, of.peak / rate, high)
    ]
    fed = found[1][1]
    points = [
        {
            "tile": f"{side} × {side}",
            "level": found[1][0],
            "FLOP a byte": side / 2,
            "FLOP/s": min(of.peak, fed * side / 2),
        }
        for side in sides
    ]
    x = alt.X("FLOP a byte:Q", title="FLOP a byte fetched", scale=_log(low, high), axis=_decades(low, high))
    bottom = min(rate for _, rate, _ in found) * low / 1.5
    y = alt.Y("FLOP/s:Q", title="Rate, FLOP/s", scale=_log(bottom, of.peak * 2), axis=_decades(bottom, of.peak * 2, 1))
    names = [name for name, *_ in found]
    level = {"sort": None, "title": "Fetched from"}
    colour = alt.Color("level:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), **level)
    dash = alt.StrokeDash("level:N", scale=alt.Scale(domain=names, range=list(DASHES[: len(names)])), **level)
    marks = alt.Chart(alt.Data(values=points))
    ridges = ", ".join(
        f"from {number(of.peak / rate)}{' FLOP a byte' if i == 0 else ''} out of the {name}"
        for i, (name, rate, _) in enumerate(found)
    )
    return alt.layer(
        alt.Chart(alt.Data(values=lines)).mark_line(strokeWidth=2.5).encode(x, y, colour, dash),
        marks.mark_point(size=100, color=SERIES[1], shape="square").encode(x, y),
        marks.mark_text(style="note", align="left", dx=6, dy=18).encode(x, y, text="tile:N"),
        height=300,
        data=alt.Data(values=[{k: row[k] for k in row if k != "tile"} for row in lines]),
        description=f"The arithmetic of {of.name} is fed {ridges}. Squares: tiles kept in the {found[0][0]}, by their "
        "side.",
    )


# ---- What a cache makes of it --------------------------------------------------------------------------------------


def order_times(predicted: Mapping[str, float], measured: Mapping[str, float]) -> alt.LayerChart:
    """Lines that a multiply-add fetches by innermost loop, as a cache simulator counts them, and the time measured.

    Parameters
    ----------
    predicted : mapping of str to float
        Lines a multiply-add.
    measured : mapping of str to float
        Seconds a multiply-add, of the same names.

    Examples
    --------
    >>> order_times({"n": 0.125, "m": 2}, {"n": 1e-9, "m": 12e-9}).description
    'With m innermost a multiply-add fetches 16 times the lines that it fetches with n, and takes 12 times as long.'
    """
    if set(predicted) != set(measured):
        raise ValueError(f"counted for {', '.join(predicted)}, measured for {', '.join(measured)}; give the same loops")
    least = min(predicted, key=predicted.get)
    most = max(predicted, key=predicted.get)
    rows = [
        {"innermost": loop, "what": what, "times": values[loop] / values[least]}
        for what, values in (("lines counted", predicted), ("time measured", measured))
        for loop in predicted
    ]
    high = max(row["times"] for row in rows) * 1.6
    for row in rows:
        row["says"] = f"{row['innermost']} innermost, {row['what']}: {number(row['times'], 2)} times"
    kinds = ["lines counted", "time measured"]
    what = alt.Color("what:N", sort=None, title=None, scale=alt.Scale(domain=kinds, range=list(SERIES[:2])))
    data = alt.Chart(alt.Data(values=rows))
    order = [row["says"] for loop in predicted for row in rows if row["innermost"] == loop]
    y = alt.Y("says:N", sort=order, title=None, axis=None)
    title = f"Times what it is with {least} innermost"
    x = alt.X("times:Q", title=title, scale=_log(0.7, high), axis=_decades(0.7, high))
    return alt.layer(
        data.mark_bar(height=12).encode(x, y, what, x2=alt.datum(0.7)),
        data.mark_text(style="note", dy=-9).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(36),
        data=alt.Data(values=[{k: row[k] for k in ("innermost", "what", "times")} for row in rows]),
        description=f"With {most} innermost a multiply-add fetches {number(predicted[most] / predicted[least], 2)} "
        f"times the lines that it fetches with {least}, and takes {number(measured[most] / measured[least], 2)} "
        "times as long.",
    )


def miss_curves(curves: Mapping[str, Sequence[tuple[float, float]]], total: int) -> alt.Chart:
    """Misses a multiply-add against the size of a fully associative cache, one line a program.

    Parameters
    ----------
    curves : mapping of str to sequence of (lines of the cache, misses a multiply-add)
    total : int
        Lines of all arrays together: from there on each line comes once.

    Examples
    --------
    >>> curves = {"m, n, k": [(1, 2.0), (64, 1.25), (128, 0.1)], "tiles": [(1, 1.5), (64, 0.2), (128, 0.1)]}
    >>> miss_curves(curves, 128).description
    'In a cache of 64 lines m, n, k misses 1.3 times a multiply-add, tiles 0.2 times. ...'
    """
    rows = [
        {"program": name, "lines of the cache": lines, "misses": misses}
        for name, points in curves.items()
        for lines, misses in points
    ]
    at = 64

    def found(points):
        return [misses for lines, misses in points if lines <= at][-1]

    names = list(curves)
    low, high = min(row["misses"] for row in rows) / 1.5, max(row["misses"] for row in rows) * 1.5
    right = max(row["lines of the cache"] for row in rows)
    series = {"sort": None, "title": None}
    chart = (
        alt.Chart(alt.Data(values=rows), height=300)
        .mark_line(interpolate="step-after", strokeWidth=2.5)
        .encode(
            alt.X("lines of the cache:Q", title="Lines of the cache", scale=_log(1, right), axis=_decades(1, right)),
            alt.Y("misses:Q", title="Misses a multiply-add", scale=_log(low, high), axis=_decades(low, high)),
            alt.Color("program:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), **series),
            alt.StrokeDash("program:N", scale=alt.Scale(domain=names, range=list(DASHES[: len(names)])), **series),
        )
    )
    says = ", ".join(
        f"{name} {'misses ' if i == 0 else ''}{number(found(points), 2)} times{' a multiply-add' if i == 0 else ''}"
        for i, (name, points) in enumerate(curves.items())
    )
    return chart.properties(
        description=f"In a cache of {at} lines {says}. Where all {total:,} lines fit, each comes once, "
        "whatever the order."
    )


def tile_sides(curves: Mapping[str, Mapping[int, float]], ideal: float) -> alt.LayerChart:
    """Lines a multiply-add that a blocked product fetches, against the side of its tiles, for several caches.

    Parameters
    ----------
    curves : mapping of str to mapping of int to float
        For each product and cache, the lines by side.
    ideal : float
        Side at which three tiles fill the cache.

    Examples
    --------
    >>> tile_sides({"one way": {8: 0.1, 16: 0.8}, "all": {8: 0.08, 16: 0.04}}, 18.5).description
    'Three tiles fill the cache at 18.5. one way: least at 8, 8 times as many at 16; all: least at 16, ...
    """
    rows = [
        {"program": name, "side": side, "lines": lines}
        for name, points in curves.items()
        for side, lines in points.items()
    ]
    low, high = min(row["lines"] for row in rows) / 1.5, max(row["lines"] for row in rows) * 1.5
    names, last = list(curves), max(row["side"] for row in rows)
    x = alt.X(
        "side:Q",
        title="Side of the tile, elements",
        scale=alt.Scale(domain=[0, last + 2], nice=False),
        axis=alt.Axis(values=sorted({row["side"] for row in rows})),
    )
    y = alt.Y("lines:Q", title="Lines fetched for a multiply-add", scale=_log(low, high), axis=_decades(low, high))
    series = {"sort": None, "title": None}
    legend = alt.Legend(columns=1)
    colour = alt.Color(
        "program:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), legend=legend, **series
    )
    dash = alt.StrokeDash(
        "program:N", scale=alt.Scale(domain=names, range=list(DASHES[: len(names)])), legend=legend, **series
    )
    data = alt.Chart(alt.Data(values=rows))
    fills = alt.Chart(alt.Data(values=[{"side": ideal, "says": f"three tiles fill it at {number(ideal)}"}]))
    said = []
    for name, points in curves.items():
        best = min(points, key=points.get)
        worst = max(points, key=points.get)
        said.append(f"{name}: least at {best}, {number(points[worst] / points[best], 2)} times as many at {worst}")
    return alt.layer(
        data.mark_line(strokeWidth=2.5).encode(x, y, colour, dash),
        fills.mark_rule(style="threshold").encode(x),
        fills.mark_text(style="note", align="left", dx=6, baseline="bottom").encode(
            x, text="says:N", y=alt.value("height")
        ),
        height=300,
        data=alt.Data(values=rows),
        description=f"Three tiles fill the cache at {number(ideal)}. " + "; ".join(said) + ".",
    )


# ---- What a byte costs ---------------------------------------------------------------------------------------------

_LEVEL_NAMES = {
    "sram-8kb": "SRAM, 8 KB",
    "sram-32kb": "SRAM, 32 KB",
    "sram-1mb": "SRAM, 1 MB",
    "hbm": "HBM2",
    "gddr": "GDDR6",
    "dram": "DDR3 or 4",
}


def byte_energies(dtype: str = "bf16") -> alt.LayerChart:
    """Energy of a byte by where it comes from, at 7 nm, beside one multiply-accumulate.

    Examples
    --------
    >>> byte_energies().description
    'A byte out of HBM2 costs 31.3 to 56.3 pJ and one out of 32 KB of SRAM 1.06; a bf16 multiply-accumulate 0.59.'
    """
    each = {level: byte_joules(level) for level in ENERGY_LEVELS}
    mac = mac_joules(dtype).low * 1e12
    rows = [
        {"from": _LEVEL_NAMES[level], "low, pJ": found.low * 1e12, "high, pJ": found.high * 1e12}
        for level, found in each.items()
    ]
    rows.insert(0, {"from": f"one {dtype} multiply-add", "low, pJ": mac, "high, pJ": mac})
    for row in rows:
        between = number(row["low, pJ"]) + (
            f" to {number(row['high, pJ'])}" if row["high, pJ"] > row["low, pJ"] else ""
        )
        row["says"] = f"{row['from']}: {between} pJ"
    low, high = 0.2, 400
    x = alt.X(
        "high, pJ:Q",
        title="Picojoules: an operation, or a byte from there",
        scale=_log(low, high),
        axis=_decades(low, high),
    )
    y = alt.Y("says:N", sort=[row["says"] for row in rows], title=None, axis=None)
    data = alt.Chart(alt.Data(values=rows))
    hbm, near = each["hbm"], each["sram-32kb"]
    return alt.layer(
        data.mark_bar(height=12).encode(x, y, x2=alt.datum(low)),
        data.mark_text(style="note", dy=-9).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(36),
        data=alt.Data(values=[{k: row[k] for k in row if k != "says"} for row in rows]),
        description=f"A byte out of HBM2 costs {number(hbm.low * 1e12)} to {number(hbm.high * 1e12)} pJ and one out of "
        f"32 KB of SRAM {number(near.low * 1e12)}; a {dtype} multiply-accumulate {number(mac)}.",
    )


def token_energy_table(of: ModelSpec, batches: Sequence[int] = (1, 8, 64), *, context: int = 1024) -> Table:
    """Energy of one token of a model by where its weights and its cache lie, for several batches.

    Examples
    --------
    >>> from hwlab.specs.models import model
    >>> print(token_energy_table(model("llama-3.1-70b"), (1,)))  # doctest: +ELLIPSIS
    weights in ...
    """
    rows = []
    for level in ("dram", "hbm", "sram-1mb"):
        found = [token_energy(of, context=context, batch=batch, weights_in=level) for batch in batches]
        cells = [_between(spent.low / batch, spent.high / batch) for spent, batch in zip(found, batches, strict=True)]
        rows.append([_LEVEL_NAMES[level], *cells])
    spent = token_energy(of, context=context)
    rows.append(["arithmetic alone", *[si(spent.arithmetic[0], "J")] * len(batches)])
    return Table(
        ["weights in", *(f"batch {batch}" for batch in batches)],
        rows,
        caption=f"Joules a token of {of.name} in bf16 with {context:,} tokens of context: arithmetic and the bytes of "
        "weights and cache, each read once a step. What wires, control, leakage and cooling take comes on top.",
    )


def _between(low: float, high: float) -> str:
    """Two energies in one unit, or the one that both are."""
    first, second = si(low, "J", 2), si(high, "J", 2)
    if first == second:
        return first
    one, two = first.split(), second.split()
    return f"{one[0]} to {second}" if one[1] == two[1] else f"{first} to {second}"


# ---- What it holds -------------------------------------------------------------------------------------------------

HOLDERS = (
    "xeon-8480plus",
    "mi300x",
    "h100-sxm",
    "b200",
    "rubin",
    "tpu-v5e",
    "tpu-v7",
    "tpu-8i",
    "groq-lpu",
    "groq-3-lpu",
    "wse-3",
)
"""A CPU, GPUs, TPUs, LPUs and a wafer."""


def once_through(of: Chip) -> float:
    """Seconds in which a chip can read all that its memory holds.

    Examples
    --------
    >>> round(once_through(chip("h100-sxm")) * 1e3, 1)  # milliseconds
    25.6
    """
    return of.memory_bytes / of.memory_bytes_per_s


def emptying(ids: Iterable[str] = HOLDERS) -> alt.LayerChart:
    """Time in which a chip reads all that it holds, across classes of chips.

    Examples
    --------
    >>> emptying(["h100-sxm", "groq-lpu"]).description
    'A chip reads all that it holds in 25.6 ms where that lies off the die, and in 4.23 µs where it lies on it.'
    """
    rows = []
    for id in ids:
        of = chip(id)
        rows.append(
            {
                "chip": _short(of),
                "memory": "on the die" if "SRAM" in of.memory_kind else "off the die",
                "holds, GB": of.memory_bytes / 1e9,
                "seconds": once_through(of),
            }
        )
    rows.sort(key=lambda row: -row["seconds"])
    for row in rows:
        row["says"] = f"{row['chip']}: {si(row['holds, GB'] * 1e9, 'B')} in {si(row['seconds'], 's')}"
    low, high = min(row["seconds"] for row in rows) / 4, max(row["seconds"] for row in rows) * 2
    x = alt.X(
        "seconds:Q", title="Seconds to read all that it holds", scale=_log(low, high), axis=_decades(low, high, 1)
    )
    y = alt.Y("says:N", sort=[row["says"] for row in rows], title=None, axis=None)
    places = ["off the die", "on the die"]
    scale = {"sort": None, "title": "Memory"}
    colour = alt.Color("memory:N", scale=alt.Scale(domain=places, range=list(SERIES[:2])), **scale)
    shape = alt.Shape("memory:N", scale=alt.Scale(domain=places, range=list(_SHAPES[:2])), **scale)
    data = alt.Chart(alt.Data(values=rows))
    said = []
    for place, where_it_lies in zip(places, ("where that lies off the die", "where it lies on it"), strict=True):
        times = [row["seconds"] for row in rows if row["memory"] == place]
        if times:
            between = si(min(times), "s") + (f" to {si(max(times), 's')}" if len(times) > 1 else "")
            said.append(f"in {between} {where_it_lies}")
    return alt.layer(
        data.mark_rule(strokeWidth=3).encode(x, y, colour, x2=alt.datum(low)),
        data.mark_point(size=90).encode(x, y, colour, shape),
        data.mark_text(style="note", dy=-7).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(38),
        data=alt.Data(values=[{k: row[k] for k in row if k != "says"} for row in rows]),
        description="A chip reads all that it holds " + ", and ".join(said) + ".",
    )


def readings(measured: Iterable[Measurement]) -> alt.LayerChart:
    """Share of the promised bandwidth of memory that published readings reached.

    Parameters
    ----------
    measured : iterable of Measurement
        Of the regime "read" and the level "memory".

    Examples
    --------
    >>> from hwlab.specs.measurements import measurements
    >>> readings(m for m in measurements("read") if m.level == "memory").description
    'Eight memories gave 73 to 98 % of what they promise.'
    """
    rows = []
    for m in measured:
        of = chip(m.chip)
        rows.append(
            {
                "chip": _short(of),
                "promised, GB/s": m.chips * of.memory_bytes_per_s / 1e9,
                "read, GB/s": m.bytes_per_s / 1e9,
                "share, %": 100 * m.bytes_per_s / (m.chips * of.memory_bytes_per_s),
            }
        )
    rows.sort(key=lambda row: row["share, %"])
    for row in rows:
        row["says"] = f"{row['chip']}: {number(row['share, %'], 2)} % of {si(row['promised, GB/s'] * 1e9, 'B/s')}"
    x = alt.X(
        "share, %:Q", title="Read, % of the promise", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5)
    )
    y = alt.Y("says:N", sort=[row["says"] for row in rows], title=None, axis=None)
    data = alt.Chart(alt.Data(values=rows))
    counted = {8: "Eight"}.get(len(rows), str(len(rows)))
    return alt.layer(
        data.mark_bar(height=12).encode(x, y),
        data.mark_text(style="note", dy=-9).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(36),
        data=alt.Data(values=[{k: row[k] for k in row if k != "says"} for row in rows]),
        description=f"{counted} memories gave {number(rows[0]['share, %'], 2)} to {number(rows[-1]['share, %'], 2)} % "
        "of what they promise.",
    )


# ---- Scales --------------------------------------------------------------------------------------------------------


def _log(low, high):
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _decades(low, high, prefixed=False):
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first + 1) / 6))
    values = [10.0**power for power in range(first, last + 1, every)]
    return alt.Axis(values=values, labelExpr=_PREFIXED if prefixed else _PLAIN)
