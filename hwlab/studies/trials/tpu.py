"""The claims about TPUs and the systolic array: its origin and cycles, and the power, memory and price of its heirs."""

from __future__ import annotations

import re
from itertools import pairwise

from hwlab.costs import systolic
from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.claims import claim
from hwlab.specs.papers import paper
from hwlab.specs.tpu_v1 import application
from hwlab.studies.trials import Finding, claimed, judged, judged_by_choice, near, trial

V1, V4, V5E, V5P = (chip(f"tpu-{generation}") for generation in ("v1", "v4", "v5e", "v5p"))
A100, H100 = chip("a100-sxm-80gb"), chip("h100-sxm")
MLP0 = application("MLP0")
NEARLY = 0.95  # from which share on "all at once" holds
ROUNDED = 0.005  # printed figures are rounded to less than this
ABOUT = 0.1  # what a whole multiple, "tripled", allows


def _percent(share: float) -> str:
    return f"{number(100 * share, 2)} %"


def _leading(id: str, index: int = 0) -> float:
    """The number that a figure begins with, in the unit that it is written in: 170 for "170 W"."""
    digits = claim(id).figures[index].split()[0].split("/")[0].strip("x%")
    return float(digits.replace(",", ""))


# --- TPU v1 --------------------------------------------------------------------------------------------------------


@trial("C064")
def projection_of_speech(found=None) -> Finding:
    """In 2015 Google found that three minutes of speech a day would double its data centres."""
    gives = (found or paper("jouppi-2017")).gives
    year, minutes, growth = (gives[key] for key in ("projection_year", "speech_minutes_a_day", "data_centre_growth"))
    said = [_leading("C064", index) for index in range(3)]
    told = f"Projected in {year:g}: {minutes:g} minutes a day, {growth:g} times the data centres"
    return Finding(recomputed=told, verdict=judged(said == [year, minutes, growth]))


def _cited(id: str, found) -> Finding:
    """Whether first author, venue and year stand in the sentence as in the paper."""
    venue, year = found.venue.split()[0], str(found.date.year)
    parts = [found.authors[0], venue, year]
    matching = [part for part in parts if part in claim(id).sentence]
    told = f"{found.short}, “{found.title}”, {found.venue}: {len(matching)} of {len(parts)} parts match"
    return Finding(recomputed=told, verdict=judged(len(matching) == len(parts)))


@trial("C067")
def citation_of_tpu_v1(found=None) -> Finding:
    """TPU v1 is described in Jouppi et al. 2017, ISCA."""
    return _cited("C067", found or paper("jouppi-2017"))


@trial("C094")
def citation_of_tpu_v2_and_v3(found=None) -> Finding:
    """Norrie et al., IEEE Micro 2021."""
    return _cited("C094", found or paper("norrie-2021"))


@trial("C068")
def grid_of_tpu_v1(chip=V1) -> Finding:
    """The core is a grid of 256 x 256 MACs, 65,536 in all."""
    rows, columns = chip.counts["mxu_rows"], chip.counts["mxu_cols"]
    side, macs = (int(part) for part in claim("C068").figures[0].split(" × ")), rows * columns
    peak = macs * 2 * chip.clock_hz
    told = f"{rows} × {columns} = {number(macs, 5)}; × 2 × {si(chip.clock_hz, 'Hz')} = {si(peak, 'OP/s', 4)}"
    return Finding(
        recomputed=told,
        verdict=judged(
            [rows, columns] == list(side)
            and macs == claimed("C068", 1)
            and near(peak, chip.peak("int8"), within=ROUNDED)
        ),
    )


# --- The systolic array --------------------------------------------------------------------------------------------

A = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12], [13, 14, 15]]
B = [[2, -1, 3, 1], [0, 4, -2, 5], [7, 1, 1, -3]]


def _product(a, b):
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]


def _result(frames, rows, columns):
    """The product as the array gave it; None where nothing came out."""
    result = [[None] * columns for _ in range(rows)]
    for frame in frames:
        for i, j, value in frame["done"]:
            result[i][j] = value
    return result


def _cells(frames):
    """(frame, the frame before, row, column) of every element that multiplies, but in the first frame."""
    for before, now in pairwise(frames):
        for r, c, _ in now["active"]:
            yield now, before, r, c


def _from_the_left(frames) -> bool:
    """Whether each element multiplies what its left neighbour had one cycle before."""
    return all(now["passing"][r][c] == before["passing"][r][c - 1] for now, before, r, c in _cells(frames) if c)


def _sums_from_above(frames) -> bool:
    """Whether each sum is that of the element above one cycle before, with one product added."""
    return all(
        now["falling"][r][c] == before["falling"][r - 1][c] + now["passing"][r][c] * now["held"][r][c]
        for now, before, r, c in _cells(frames)
        if r
    )


@trial("C070")
def nothing_but_neighbours(steps=systolic.steps, a=A, b=B) -> Finding:
    """Each MAC takes data from its neighbours, computes and passes on, and never fetches from memory."""
    frames = list(steps(a, b))
    exact = _result(frames, len(a), len(b[0])) == _product(a, b)
    entered, used = len(a) * len(b), frames[-1]["macs"]
    told = f"{used} multiplications, each on a neighbour's value; {entered} values enter at the edge"
    return Finding(
        recomputed=f"{told}; product {'exact' if exact else 'wrong'}",
        verdict=judged(exact and _from_the_left(frames) and _sums_from_above(frames)),
    )


@trial("C071")
def weights_stay(dataflow="weight", chip=V1) -> Finding:
    """The weights of B are loaded into the array before, and stay."""
    frames = list(systolic.steps(A, B, dataflow=dataflow))
    rows = chip.counts["mxu_rows"]
    load = systolic.cycles(1, rows, rows, rows=rows, columns=chip.counts["mxu_cols"]).load
    told = f"The same weights in all {len(frames)} cycles; {chip.name} shifts a tile in over {load} cycles"
    return Finding(
        recomputed=f"{told}, while the tile before it works",
        verdict=judged(all(frame["held"] == B for frame in frames)),
    )


@trial("C072")
def activations_from_the_left(dataflow="weight") -> Finding:
    """Activations of A enter at the left and flow to the right."""
    frames = list(systolic.steps(A, B, dataflow=dataflow))
    enters = {(r, i): frames[i + r]["passing"][r][0] for i in range(len(A)) for r in range(len(B))}
    holds = all(enters[r, i] == A[i][r] for r, i in enters) and _from_the_left(frames)
    told = "A[i, r] enters row r of the array in cycle i + r + 1: each row one cycle after the row above"
    return Finding(recomputed=told if holds else "The rows of A do not enter at the left", verdict=judged(holds))


@trial("C073")
def sums_downwards(dataflow="weight") -> Finding:
    """Partial sums accumulate from top to bottom."""
    frames = list(systolic.steps(A, B, dataflow=dataflow))
    holds = _sums_from_above(frames) and _result(frames, len(A), len(B[0])) == _product(A, B)
    told = f"Each row adds one product to the sum from above; C leaves below row {len(B)}"
    return Finding(recomputed=told if holds else "The sums do not move down", verdict=judged(holds))


def _listed(id: str) -> list[set]:
    """What a claim lists, cycle by cycle: (row of A, column of A, row of the MAC, column of the MAC)."""
    pattern = re.compile(r"A\[(\d),(\d)\] in MAC\[(\d),(\d)\]")
    cycles = claim(id).sentence.split(": ", 1)[1].split("; ")
    return [{tuple(map(int, found)) for found in pattern.findall(cycle)} for cycle in cycles]


@trial("C074")
def list_of_cycles(a=A, b=B) -> Finding:
    """Which MAC holds which value of A in the first three cycles."""
    listed = _listed("C074")
    seen = [{(i, r, r, c) for r, c, i in frame["active"]} for frame in systolic.steps(a, b)][: len(listed)]
    missing = set().union(*(now - said for now, said in zip(seen, listed, strict=True)))
    busy, said = (", ".join(str(len(now)) for now in each) for each in (seen, listed))
    told = f"{busy} MACs are busy, the list has {said}"
    if missing:
        told += (
            f"; missing are those in array rows {' and '.join(str(r) for r in sorted({cell[2] for cell in missing}))}"
        )
    return Finding(recomputed=told, verdict=judged(seen == listed))


@trial("C075")
def all_at_once(app=MLP0, chip=V1) -> Finding:
    """65,536 MACs operate at the same time."""
    rows, columns = chip.counts["mxu_rows"], chip.counts["mxu_cols"]
    busy = systolic.stream_utilization(app.intensity, rows=rows, columns=columns)
    cycles = app.intensity + rows + columns - 2
    told = f"{app.intensity:,} rows pass in {cycles:,} cycles: on average {number(busy * rows * columns, 2)} are busy"
    return Finding(
        recomputed=f"{told}; in {app.name} the array worked in {_percent(app.shares['active'])} of the cycles",
        verdict=judged(busy * rows * columns >= NEARLY * claimed("C075")),
    )


@trial("C076")
def no_wait_for_memory(app=MLP0, chip=V1) -> Finding:
    """No memory is read during the computation, and no latency is on the critical path."""
    rows, columns = chip.counts["mxu_rows"], chip.counts["mxu_cols"]
    load = rows * columns * chip.clock_hz / chip.memory_bytes_per_s
    waits = max(0, 1 - app.intensity / load)
    measured = app.shares["weight_stall"] + app.shares["weight_shift"]
    told = f"A tile of weights takes {number(load, 4)} cycles from DRAM and serves {app.intensity:,} rows"
    return Finding(
        recomputed=f"{told}: it waits {_percent(waits)} of the time; measured for {app.name}, {_percent(measured)}",
        verdict=judged(waits == 0),
    )


@trial("C180")
def results_after_crossing(steps=systolic.steps, m=5, k=4, n=3) -> Finding:
    """Results appear when the data have crossed the array, in one pass a tile."""
    a = [[i * k + j for j in range(k)] for i in range(m)]
    b = [[i * n + j for j in range(n)] for i in range(k)]
    frames = list(steps(a, b))
    first, last = (next(frame["cycle"] for frame in order if frame["done"]) for order in (frames, frames[::-1]))
    exact = _result(frames, m, n) == _product(a, b)
    told = f"{m} × {k} × {n}: first result in cycle {first}, last in cycle {last} = {m} + {k} + {n} − 2"
    return Finding(
        recomputed=f"{told}; {'exact' if exact else 'wrong'}",
        verdict=judged(exact and (first, last) == (k, m + k + n - 2)),
    )


# --- TPU v4 and v5 -------------------------------------------------------------------------------------------------


@trial("C089")
def peak_of_v4(chip=V4) -> Finding:
    """TPU v4 offers 275 TFLOP/s in bf16."""
    arrays, rows, columns = (chip.counts[f"mxu_{name}"] for name in ("count", "rows", "cols"))
    peak = arrays * rows * columns * 2 * chip.clock_hz
    told = f"{arrays} arrays × {rows} × {columns} × 2 × {si(chip.clock_hz, 'Hz')} = {si(peak, 'FLOP/s', 4)}"
    return Finding(
        recomputed=told,
        verdict=judged(all(near(claimed("C089"), value, within=ROUNDED) for value in (peak, chip.peak("bf16")))),
    )


def _watts(chip, which: str) -> float:
    return chip.figure(f"measured_watts.{which}").value


@trial("C090")
def design_power_of_v4(chip=V4) -> Finding:
    """The TDP of TPU v4 is 170 W."""
    idle, mean, most = (_watts(chip, which) for which in ("idle", "mean", "max"))
    told = f"Measured: {idle:g} W at least, {mean:g} W on average, {most:g} W at most; no TDP is published"
    return Finding(recomputed=told, verdict=judged(_leading("C090") >= most))


@trial("C091")
def design_power_of_h100(chip=H100) -> Finding:
    """The TDP of the H100 SXM5 is 700 W."""
    a_watt = si(chip.peak("bf16") / chip.tdp_watts, "FLOP/s")
    return Finding(
        recomputed=f"{chip.tdp_watts:g} W at most: {a_watt} a watt in bf16, by the peak",
        verdict=judged(chip.tdp_watts == _leading("C091")),
    )


@trial("C092")
def energy_against_gpus(tpu=V4, gpus=(H100, A100), measured=None) -> Finding:
    """In steady serving a TPU takes a third to a quarter of the energy of an equivalent GPU."""
    gives = (measured or paper("jouppi-2023")).gives
    ends = ("low", "high")
    trained = [gives[f"tpu_v4_over_a100_speed_{end}"] * gives[f"a100_power_over_tpu_v4_{end}"] for end in ends]
    ratios, told = list(trained), []
    for gpu in gpus:
        rates = [(c.peak("bf16"), c.memory_bytes_per_s) for c in (tpu, gpu)]
        each = [
            ours / _watts(tpu, which) / (theirs / gpu.tdp_watts)
            for ours, theirs in zip(*rates, strict=True)
            for which in ("max", "mean")
        ]
        ratios += each
        told.append(f"{number(min(each), 2)} to {number(max(each), 2)} times an {gpu.name.split()[0]}")
    google = " to ".join(number(ratio, 2) for ratio in trained)
    claimed_ends = [float(part) for part in claim("C092").figures[0].strip("x").split("-")]
    return Finding(
        recomputed=f"Peak work a joule: {', '.join(told)}; Google measured {google} times an A100, in training",
        verdict=judged(max(ratios) >= sum(claimed_ends) / 2),
    )


@trial("C152")
def v5p_against_v4(new=V5P, old=V4) -> Finding:
    """TPU v5p tripled the TFLOP/s of v4."""
    ratio, integers = (new.peak(dtype) / old.peak(dtype) for dtype in ("bf16", "int8"))
    memory = new.memory_bytes / old.memory_bytes
    told = f"{number(ratio)} times in bf16, {number(integers)} in int8 operations, {number(memory, 2)} times the memory"
    return Finding(recomputed=told, verdict=judged(near(ratio, _leading("C152"), within=ABOUT)))


@trial("C154")
def arrays_of_v5p(new=V5P, old=V4) -> Finding:
    """TPU v5p uses larger systolic arrays."""
    sizes = [(c.counts["mxu_rows"], c.counts["mxu_cols"]) for c in (new, old)]
    told = "; ".join(
        f"{c.name}: {c.counts['mxu_count']} of {r} × {k}" for c, (r, k) in zip((new, old), sizes, strict=True)
    )
    return Finding(recomputed=told, verdict=judged(sizes[0] > sizes[1]))


@trial("C155")
def memory_of_v5p(chip=V5P) -> Finding:
    """TPU v5p uses HBM3e."""
    return Finding(
        recomputed=f"{chip.memory_kind}, {chip.figure('memory_bytes_per_s')}",
        verdict=judged(chip.memory_kind == claim("C155").figures[0]),
    )


@trial("C156")
def price_of_v5e(small=V5E, others=(V4, V5P)) -> Finding:
    """TPU v5e lowered the cost a chip for smaller serving."""
    chips = (small, *others)
    each = [
        f"{c.name} {c.usd_per_hour:.2f} $/h, {number(c.usd_per_hour / c.peak('bf16') * 1e15, 2)} $/h" for c in chips
    ]
    told = "; ".join(f"{text} a PFLOP/s" for text in each)
    return Finding(
        recomputed=f"List prices: {told}",
        verdict=judged(all(small.usd_per_hour < other.usd_per_hour for other in others)),
    )


@trial("C178")
def two_profiles(serving=V5E, training=V5P) -> Finding:
    """Training and inference have ideal profiles of their own, which v5e and v5p reflect."""
    ridges = [c.peak("bf16") / c.memory_bytes_per_s for c in (serving, training)]
    each = zip((serving, training), ridges, strict=True)
    told = "; ".join(f"{c.name}: {number(r)} FLOP for each byte, {c.usd_per_hour:.2f} $/h" for c, r in each)
    cheaper = serving.usd_per_hour < training.usd_per_hour and serving.memory_bytes < training.memory_bytes
    return Finding(
        recomputed=told,
        verdict=judged_by_choice(cheaper, ridges[0] < ridges[1]),
    )
