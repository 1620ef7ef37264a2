"""CPUs and GPUs side by side: how many times as fast, what a launch costs, where attention's bytes go, what bits cost.

Explorers, charts and tables of chapter 4. No number is typed here: all come from `hwlab.specs` and `hwlab.costs`, or
from a measurement handed in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hwlab.costs.attention import blocked_traffic, naive_traffic
from hwlab.costs.efficiency import efficiency_of
from hwlab.costs.network import all_gather_time, all_reduce_time, reduce_scatter_time
from hwlab.costs.roofline import matmul_flop
from hwlab.figures.explorer import Axis, Choice, Explorer, Result, Rule, Slider, explore
from hwlab.figures.tables import Table
from hwlab.figures.theme import DASHES, SERIES
from hwlab.formula import lookup, maximum, number, si, text, where
from hwlab.specs.chips import Chip, chip
from hwlab.specs.measurements import Measurement
from hwlab.studies.launches import kernel_start
from hwlab.units import MiB, bytes_per_element

CPUS = ("xeon-8480plus", "xeon-6980p", "epyc-9654", "epyc-9755", "epyc-9965")
GPUS = ("h100-sxm", "l4", "a100-sxm-80gb", "b200", "mi300x")
GENERATIONS = ("v100-sxm2", "a100-sxm-80gb", "h100-sxm", "b200", "rubin")

PAIRS = {
    "fp32 on both": ("fp32", "fp32"),
    "bf16 on both": ("bf16", "bf16"),
    "int8 on both": ("int8", "int8"),
    "TF32 against fp32": ("tf32", "fp32"),
    "bf16 against fp32": ("bf16", "fp32"),
}
"""What the GPU computes in, and what the CPU does."""

PROMPTS = tuple(2**n for n in range(9, 18))
"""Lengths of prompts that the chart of attention's bytes shows."""

_SHAPES = ("circle", "square", "triangle-up", "cross", "stroke", "triangle-down")


# ---- How many times as fast ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Side:
    name: str
    bytes_per_s: float
    peaks: Mapping[str, float]  # by pair; 0 where the vendor publishes none


_BYTES = [{pair: bytes_per_element(dtypes[side]) for pair, dtypes in PAIRS.items()} for side in (0, 1)]


def _side(of: Chip, side: int) -> _Side:
    peaks = {pair: of.peak_flop_per_s.get(dtypes[side], 0) for pair, dtypes in PAIRS.items()}
    return _Side(name=_short(of), bytes_per_s=of.memory_bytes_per_s, peaks=peaks)


def _times(rows, chip, pair, d_model, side):
    """(Seconds of the arithmetic, of the memory) of ``x[rows, d_model] @ w[d_model, d_model]``."""
    moved = (2 * rows * d_model + d_model * d_model) * lookup(_BYTES[side], pair)
    return matmul_flop(rows, d_model, d_model) / maximum(chip.peaks[pair], 1), moved / chip.bytes_per_s


def times_as_fast(rows, gpu, cpu, pair, d_model):
    """How many times as long the CPU takes as the GPU, each by its own roofline."""
    return maximum(*_times(rows, cpu, pair, d_model, 1)) / maximum(*_times(rows, gpu, pair, d_model, 0))


def by_bandwidth(rows, gpu, cpu, pair, d_model):
    """The ratio where both wait for memory."""
    return gpu.bytes_per_s / cpu.bytes_per_s * lookup(_BYTES[1], pair) / lookup(_BYTES[0], pair)


def by_peaks(rows, gpu, cpu, pair, d_model):
    """The ratio where both compute."""
    return gpu.peaks[pair] / maximum(cpu.peaks[pair], 1)


def ratio_sentence(rows, gpu, cpu, pair, d_model):
    """What each of the two waits for, and what the ratio therefore is."""
    (gpu_work, gpu_move), (cpu_work, cpu_move) = (_times(rows, c, pair, d_model, i) for i, c in enumerate((gpu, cpu)))
    why = where(
        gpu_work < gpu_move,
        where(
            cpu_work < cpu_move,
            "both wait for their memories, and the two bandwidths are all that counts.",
            text(
                "{cpu} has run out of arithmetic, while {gpu} still waits for its memory.", cpu=cpu.name, gpu=gpu.name
            ),
        ),
        where(
            cpu_work < cpu_move,
            text(
                "{gpu} has run out of arithmetic, while {cpu} still waits for its memory.", cpu=cpu.name, gpu=gpu.name
            ),
            "both compute, and the two peaks are all that counts.",
        ),
    )
    state = {"rows": rows, "gpu": gpu, "cpu": cpu, "pair": pair, "d_model": d_model}
    return text(
        "With {rows} {gpu} is {times} times as fast: {why} The ends are {slow} by bandwidth and {fast} by the peaks.",
        rows=text("{n} {noun}", n=number(rows), noun=where(rows == 1, "row", "rows")),
        gpu=gpu.name,
        times=number(times_as_fast(**state)),
        why=why,
        slow=number(by_bandwidth(**state)),
        fast=number(by_peaks(**state)),
    )


def ratio_arithmetic(rows, gpu, cpu, pair, d_model):
    """The two bounds of each chip, and the quotient."""
    lines = []
    for side, it in enumerate((gpu, cpu)):
        work, move = _times(rows, it, pair, d_model, side)
        lines.append(
            text(
                "{chip}: arithmetic {flop} / {peak} = {work}; memory {moved} / {rate} = {move}",
                chip=it.name,
                flop=si(matmul_flop(rows, d_model, d_model), "FLOP"),
                peak=si(maximum(it.peaks[pair], 1), "FLOP/s"),
                work=si(work, "s"),
                moved=si(move * it.bytes_per_s, "B"),
                rate=si(it.bytes_per_s, "B/s"),
                move=si(move, "s"),
            )
        )
    slow, fast = (maximum(*_times(rows, it, pair, d_model, side)) for side, it in ((1, cpu), (0, gpu)))
    return [
        *lines,
        text("{slow} / {fast} = {times} times", slow=si(slow, "s"), fast=si(fast, "s"), times=number(slow / fast)),
    ]


def _unpublished(rows, gpu, cpu, pair, d_model):
    def refusal(it):
        return text("No peak of {chip} for “{pair}” is published. Choose others.", chip=it.name, pair=pair)

    return where(gpu.peaks[pair] > 0, where(cpu.peaks[pair] > 0, "", refusal(cpu)), refusal(gpu))


def ratio_explorer(gpus: Sequence[str] = GPUS, cpus: Sequence[str] = CPUS) -> Explorer:
    """How many times as fast a GPU is as a CPU, against the rows that share a d x d matrix.

    Parameters
    ----------
    gpus, cpus : sequence of str
        Ids of the catalogue, the first of each shown at the start.

    Examples
    --------
    >>> explorer = ratio_explorer()
    >>> round(explorer.value(), 1)
    10.9
    >>> explorer.rows = 4096
    >>> round(explorer.value(), 1)
    69.0
    >>> explorer.pair = "fp32 on both"
    >>> round(explorer.value(), 2)
    9.35
    """
    return explore(
        times_as_fast,
        x=Axis("rows", 1, 4096, step=1, scale="log", title="Rows that share the weights"),
        y=Result("GPU over CPU", "times", low=1, high=1000, scale="log"),
        sliders=[
            Choice("gpu", {id: _side(chip(id), 0) for id in gpus}, gpus[0], title="GPU"),
            Choice("cpu", {id: _side(chip(id), 1) for id in cpus}, cpus[0], title="CPU"),
            Choice("pair", list(PAIRS), "TF32 against fp32", title="Types"),
            Slider("d_model", 1024, 16384, 8192, step=1024, title="Model width d (matrix d × d)"),
        ],
        says=ratio_sentence,
        arithmetic=ratio_arithmetic,
        refuses=_unpublished,
        rules=[
            Rule(by_bandwidth, lambda **state: text("by bandwidth {x}", x=number(by_bandwidth(**state))), axis="y"),
        ],
        name="ratio",
        alt="The ratio begins at that of the bandwidths and ends, with many rows, at that of the peaks.",
    )


# ---- Launches and fusion -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Memory:
    name: str
    bytes_per_s: float


_ITEM = bytes_per_element("bf16")


def chain_time(elements, chip, kernels, start):
    """Seconds of a chain of `kernels` elementwise kernels, each of which reads and writes all `elements` in bf16."""
    return kernels * fused_time(elements, chip, kernels, start)


def fused_time(elements, chip, kernels, start):
    """Seconds of the same chain in one kernel, which starts once, reads once and writes once."""
    return start * 1e-6 + 2 * _ITEM * elements / chip.bytes_per_s


def launch_sentence(elements, chip, kernels, start):
    """How the time divides, what one kernel would save, and where launches stop to matter."""
    whole = chain_time(elements, chip, kernels, start)
    even = start * 1e-6 * chip.bytes_per_s / (2 * _ITEM)
    return text(
        "{count} {whole}, {share} % of it to start. In one kernel: {fused}, which saves {saved} of traffic. Starts and "
        "bytes take equally long at {even} elements.",
        count=where(
            kernels == 1,
            text("1 kernel on {chip} takes", chip=chip.name),
            text("{n} kernels on {chip} take", n=number(kernels), chip=chip.name),
        ),
        whole=si(whole, "s"),
        share=number(100 * kernels * start * 1e-6 / whole),
        fused=si(fused_time(elements, chip, kernels, start), "s"),
        saved=si((kernels - 1) * 2 * _ITEM * elements, "B"),
        even=number(even),
    )


def launch_arithmetic(elements, chip, kernels, start):
    """Bytes of a kernel, its time, and that of the chain."""
    moved = 2 * _ITEM * elements
    return [
        text("a kernel moves 2 × {n} × 2 B = {moved}", n=number(elements), moved=si(moved, "B")),
        text(
            "it takes {start} + {moved} / {rate} = {t}",
            start=si(start * 1e-6, "s"),
            moved=si(moved, "B"),
            rate=si(chip.bytes_per_s, "B/s"),
            t=si(fused_time(elements, chip, kernels, start), "s"),
        ),
        text(
            "the chain takes {k} × that = {t}", k=number(kernels), t=si(chain_time(elements, chip, kernels, start), "s")
        ),
    ]


def launch_explorer(chips: Sequence[str] = GPUS) -> Explorer:
    """Time of a chain of elementwise kernels against its size: one by one, and in one kernel.

    Parameters
    ----------
    chips : sequence of str
        Ids of the catalogue, the first one shown at the start.

    Examples
    --------
    >>> explorer = launch_explorer()
    >>> explorer.kernels, explorer.elements
    (8.0, 262144.0)
    >>> 6 < explorer.value() / fused_time(**explorer._arguments()) <= 8
    True
    """
    memories = {id: _Memory(name=_short(chip(id)), bytes_per_s=chip(id).memory_bytes_per_s) for id in chips}
    return explore(
        chain_time,
        x=Axis("elements", 2**10, 2**28, 2**18, step=1, scale="log", title="Elements, bf16", prefix=True),
        y=Result("Time", "s", low=1e-6, high=1e-1, scale="log", prefix=True),
        sliders=[
            Choice("chip", memories, chips[0], title="Chip"),
            Slider("kernels", 1, 20, 8, step=1, title="Kernels in the chain"),
            Slider("start", 0.5, 10, round(2e6 * kernel_start()) / 2, step=0.5, title="Start of a kernel, µs"),
        ],
        says=launch_sentence,
        arithmetic=launch_arithmetic,
        also={"in one kernel": fused_time},
        name="launch",
        alt="Both curves are flat while starting takes longest, then rise with the size; the fused one lies below.",
    )


# ---- Charts --------------------------------------------------------------------------------------------------------


def peak_ratios(claimed: float, gpu: Chip | None = None, cpu: Chip | None = None):
    """How many times a GPU's rates are a CPU's, fair pair by unfair pair, beside a ratio that was claimed.

    Parameters
    ----------
    claimed : float
    gpu, cpu : Chip
        By default the H100 and the Xeon Platinum 8480+.

    Returns
    -------
    altair.LayerChart

    Examples
    --------
    >>> peak_ratios(9700).description
    "At equal types an H100 SXM5 has 8.63 to 9.35 times ... even the sparse FP8 peak is only 552 times ..."
    """
    import altair as alt

    gpu, cpu = gpu or chip("h100-sxm"), cpu or chip("xeon-8480plus")
    same = "equal types"
    rows = [
        ("bandwidth", same, gpu.memory_bytes_per_s / cpu.memory_bytes_per_s),
        *((f"{d} on both", same, gpu.peak(d) / cpu.peak(d)) for d in ("fp32", "bf16", "int8")),
        *((f"{d} against fp32", "GPU narrower", gpu.peak(d) / cpu.peak("fp32")) for d in ("tf32", "bf16", "fp8")),
        (
            "sparse fp8 against fp32",
            "GPU narrower",
            gpu.figure("sparse_peak_flop_per_s.fp8").value / cpu.peak("fp32"),
        ),
    ]
    data = [
        {"pair": pair, "kind": kind, "times": times, "says": f"{pair}: {number(times)}"} for pair, kind, times in rows
    ]
    x = alt.X(
        "times:Q", title="Times the Xeon's rate", scale=_log(1, 20_000), axis=_decades((1, 10, 100, 1000, 10_000))
    )
    y = alt.Y("pair:N", sort=[row["pair"] for row in data], title=None, axis=None)
    kinds = [same, "GPU narrower"]
    colour = alt.Color("kind:N", sort=None, title=None, scale=alt.Scale(domain=kinds, range=list(SERIES[:2])))
    shape = alt.Shape("kind:N", sort=None, title=None, scale=alt.Scale(domain=kinds, range=list(_SHAPES[:2])))
    base = alt.Chart(alt.Data(values=data))
    top = alt.Chart(alt.Data(values=[{"times": claimed, "says": f"claimed {number(claimed)}"}]))
    equal = [row["times"] for row in data if row["kind"] == same and row["pair"] != "bandwidth"]
    return alt.layer(
        base.mark_rule(strokeWidth=3).encode(x, y, colour, x2=alt.datum(1)),
        base.mark_point(size=110).encode(x, y, colour, shape),
        base.mark_text(style="note", dy=-8).encode(y=y, text="says:N", x=alt.value(0)),
        top.mark_rule(style="threshold").encode(x),
        top.mark_text(style="note", align="right", dx=-6, baseline="bottom").encode(
            x, text="says:N", y=alt.value("height")
        ),
        height=alt.Step(40),
        data=alt.Data(values=[{key: row[key] for key in ("pair", "kind", "times")} for row in data]),
        description=f"At equal types an {_short(gpu)} has {number(min(equal))} to {number(max(equal))} times the rate "
        f"of a {_short(cpu)}, and even the sparse FP8 peak is only {number(data[-1]['times'])} times the CPU's fp32.",
    )


def generations(ids: Sequence[str] = GENERATIONS):
    """Growth of arithmetic, memory and links from one generation of GPUs to the next, each as a multiple of the first.

    Parameters
    ----------
    ids : sequence of str
        Ids of the catalogue, oldest first.

    Returns
    -------
    altair.Chart

    Examples
    --------
    >>> generations().description
    'From V100 to Rubin 16-bit arithmetic grew 32 times, memory bandwidth 24.4 and NVLink 12; ...'
    """
    import altair as alt

    def narrowest(of):
        return max(rate for dtype, rate in of.peak_flop_per_s.items() if dtype in ("fp16", "int8", "fp8", "fp4"))

    series = {
        "narrowest type": narrowest,
        "16-bit": lambda of: of.peak("fp16") if "fp16" in of.peak_flop_per_s else of.peak("bf16"),
        "memory": lambda of: of.memory_bytes_per_s,
        "NVLink": lambda of: of.link_bytes_per_s,
    }
    found = [chip(id) for id in ids]
    names = [_short(of).replace("Tesla ", "").split()[0] for of in found]
    rows = [
        {"chip": name, "rate": what, "times the first": rate(of) / rate(found[0])}
        for what, rate in series.items()
        for name, of in zip(names, found, strict=True)
    ]
    last = {row["rate"]: row["times the first"] for row in rows}
    top = max(last.values()) * 1.5
    kinds = list(series)
    legend = alt.Legend(columns=2, title=None)
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point={"size": 70})
        .encode(
            alt.X("chip:N", sort=names, title=None, axis=alt.Axis(labelAngle=0)),
            alt.Y(
                "times the first:Q",
                title=f"Times {names[0]}",
                scale=_log(0.9, top),
                axis=_decades((1, 3, 10, 30, 100, 300)),
            ),
            alt.Color("rate:N", sort=None, scale=alt.Scale(domain=kinds, range=list(SERIES[:4])), legend=legend),
            alt.StrokeDash("rate:N", sort=None, scale=alt.Scale(domain=kinds, range=list(DASHES[:4])), legend=legend),
        )
        .properties(
            height=280,
            description=f"From {names[0]} to {names[-1]} 16-bit arithmetic grew {number(last['16-bit'])} times, memory "
            f"bandwidth {number(last['memory'])} and NVLink {number(last['NVLink'])}; the rest of the headline, "
            f"{number(last['narrowest type'])} times, comes from narrower types.",
        )
    )


def attention_bytes(of=None, tokens: Sequence[int] = PROMPTS, block: int = 128):
    """Bytes that one layer's attention moves for a prompt, three kernels against one, in bf16.

    Parameters
    ----------
    of : ModelSpec
        By default Llama 3.1 8B.
    tokens : sequence of int
        Lengths of the prompt.
    block : int
        Queries, and keys, of a block.

    Returns
    -------
    altair.LayerChart

    Examples
    --------
    >>> attention_bytes().description
    'For a prompt of 131,072 tokens three kernels move 4.4 TB in a layer; in blocks of 128 it is 2.2 TB ...'
    """
    import altair as alt

    from hwlab.specs.models import model

    of = of or model("llama-3.1-8b")
    shape = {"heads": of.num_heads, "kv_heads": of.num_kv_heads, "head_dim": of.head_dim, "itemsize": 2}
    rows = []
    for n in tokens:
        ways = {
            "three kernels": naive_traffic(n, n, **shape).total,
            f"blocks of {block}": blocked_traffic(n, n, **shape, block_q=block, block_k=block).total,
            "each array once": 2 * n * of.head_dim * (of.num_heads + of.num_kv_heads) * 2,
        }
        rows += [{"tokens": n, "way": way, "bytes": moved} for way, moved in ways.items()]
    kinds = ["three kernels", f"blocks of {block}", "each array once"]
    low, high = min(row["bytes"] for row in rows) / 2, max(row["bytes"] for row in rows) * 2
    last = {row["way"]: row["bytes"] for row in rows if row["tokens"] == tokens[-1]}
    legend = alt.Legend(columns=2, title=None)
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point={"size": 50})
        .encode(
            alt.X(
                "tokens:Q",
                title="Tokens in the prompt",
                scale=_log(tokens[0], tokens[-1]),
                axis=_decades((1000, 10_000, 100_000)),
            ),
            alt.Y(
                "bytes:Q",
                title="Bytes moved in a layer",
                scale=_log(low, high),
                axis=_decades([10.0**p for p in range(7, 13)], prefixed=True),
            ),
            alt.Color("way:N", sort=None, scale=alt.Scale(domain=kinds, range=list(SERIES[:3])), legend=legend),
            alt.StrokeDash("way:N", sort=None, scale=alt.Scale(domain=kinds, range=list(DASHES[:3])), legend=legend),
        )
    )
    return chart.properties(
        height=280,
        description=f"For a prompt of {tokens[-1]:,} tokens three kernels move {si(last[kinds[0]], 'B')} in a layer; "
        f"in blocks of {block} it is {si(last[kinds[1]], 'B')} if no cache holds keys and values, and "
        f"{si(last[kinds[2]], 'B')} if one does.",
    )


def weight_errors(seed: int = 4, times: float = 50) -> dict[tuple[str, str], float]:
    """Errors of a weight with one large column, stored in 8 and 4 bits with scales for a tensor, a channel, a group.

    Parameters
    ----------
    seed : int
        Of the 512 x 512 normal numbers.
    times : float
        How much larger than the others one column is.

    Returns
    -------
    dict of (format, what shares a scale) to float
        Median over the columns of each column's relative error, root mean square.

    Examples
    --------
    >>> errors = weight_errors()
    >>> round(errors["int8", "channel"], 3), round(errors["int4", "tensor"], 3)
    (0.007, 1.0)
    """
    import numpy as np

    from hwlab.kernels.quantized import dequantize, quantize

    weight = np.random.default_rng(seed).normal(size=(512, 512))
    weight[:, 7] *= times
    ways = [
        *((format, scale, None) for format in ("int8", "fp8-e4m3", "int4") for scale in ("tensor", "channel")),
        ("int4", "group", 128),
        ("int4", "group", 32),
        *((format, "block", None) for format in ("mxfp8", "mxfp4", "nvfp4")),
    ]
    found = {}
    for format, scale, group in ways:
        asked = {} if scale == "block" else {"scale": scale} | ({"group": group} if group else {})
        lost = np.linalg.norm(weight - dequantize(quantize(weight, format, **asked)), axis=0)
        name = f"group of {group}" if group else scale
        found[format, name] = float(np.median(lost / np.linalg.norm(weight, axis=0)))
    return found


def errors_of_a_weight(errors: Mapping[tuple[str, str], float]):
    """Errors of a quantised weight by format and by what shares a scale.

    Parameters
    ----------
    errors : mapping of (format, what shares a scale) to float
        As `weight_errors` gives them.

    Returns
    -------
    altair.LayerChart

    Examples
    --------
    >>> errors_of_a_weight({("int4", "tensor"): 1.0, ("int4", "group of 32"): 0.1}).description
    'Of a weight with one large column, int4 with a scale for a group of 32 loses least, 10 %, and int4 ... 100 %.'
    """
    import altair as alt

    kinds = {"tensor": "a tensor", "channel": "a channel"}
    rows = [
        {
            "format": format,
            "scale for": kinds.get(scale, "a group or block"),
            "error, %": 100 * error,
            "says": f"{format}, {scale}: {number(100 * error, 2)} %",
        }
        for (format, scale), error in errors.items()
    ]
    order = list(dict.fromkeys(row["scale for"] for row in rows))
    low = min(row["error, %"] for row in rows) / 2
    x = alt.X("error, %:Q", title="Error of a column, %", scale=_log(low, 150), axis=_decades((1, 3, 10, 30, 100)))
    y = alt.Y("says:N", sort=[row["says"] for row in rows], title=None, axis=None)
    legend = alt.Legend(title="A scale for", columns=3)
    scales = {"domain": order}
    colour = alt.Color(
        "scale for:N", sort=None, legend=legend, scale=alt.Scale(**scales, range=list(SERIES[: len(order)]))
    )
    shape = alt.Shape(
        "scale for:N", sort=None, legend=legend, scale=alt.Scale(**scales, range=list(_SHAPES[: len(order)]))
    )
    base = alt.Chart(alt.Data(values=rows))
    by_error = sorted(errors, key=errors.get)
    least, most = (
        f"{format} with a scale for a {scale}" if scale != "block" else format
        for format, scale in (by_error[0], by_error[-1])
    )
    return alt.layer(
        base.mark_rule(strokeWidth=3).encode(x, y, colour, x2=alt.datum(low)),
        base.mark_point(size=110).encode(x, y, colour, shape),
        base.mark_text(style="note", dy=-8).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(36),
        data=alt.Data(values=[{key: row[key] for key in ("format", "scale for", "error, %")} for row in rows]),
        description=f"Of a weight with one large column, {least} loses least, "
        f"{number(100 * errors[by_error[0]], 2)} %, and {most} most, {number(100 * errors[by_error[-1]], 2)} %.",
    )


def shares_of_the_peak(measured: Sequence[Measurement]):
    """The best rate that was measured of matrix products on each chip, as a share of its dense peak.

    Parameters
    ----------
    measured : sequence of Measurement
        Of the regime "matmul", of any chips, all at one dtype.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError
        If they are of several dtypes.

    Examples
    --------
    >>> from hwlab.specs.measurements import measurements
    >>> shares_of_the_peak(measurements("matmul", dtype="bf16")).description
    'The best products measured in bf16 reach 62.2 % (Instinct MI355X) to 96.9 % (Gaudi 2) of the dense peak.'
    """
    import altair as alt

    dtypes = {m.dtype for m in measured}
    if len(dtypes) != 1:
        raise ValueError(f"measurements of {', '.join(sorted(dtypes)) or 'no dtype'}; give those of one dtype")
    (dtype,) = dtypes
    best = {}
    for m in measured:
        if m.chip not in best or m.flop_per_s > best[m.chip].flop_per_s:
            best[m.chip] = m
    rows = [
        {
            "chip": _short(chip(id)),
            "share, %": 100 * m.flop_per_s / chip(id).peak(dtype),
            "rate": si(m.flop_per_s, "FLOP/s"),
            "source": m.source.citation.partition(",")[0],
        }
        for id, m in best.items()
    ]
    rows.sort(key=lambda row: row["share, %"])
    scale, axis = alt.Scale(domain=[0, 100]), alt.Axis(tickCount=5)
    x = alt.X("share, %:Q", title="Best product measured, % of the dense peak", scale=scale, axis=axis)
    y = alt.Y("chip:N", sort=[row["chip"] for row in rows], title=None, axis=None)
    says = [row | {"says": f"{row['chip']}: {number(row['share, %'])} %"} for row in rows]
    base = alt.Chart(alt.Data(values=says))
    return alt.layer(
        base.mark_bar(height=12).encode(x, y),
        base.mark_text(style="note", dy=-9).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(40),
        data=alt.Data(values=rows),
        description=f"The best products measured in {dtype} reach {number(rows[0]['share, %'])} % "
        f"({rows[0]['chip']}) to {number(rows[-1]['share, %'])} % ({rows[-1]['chip']}) of the dense peak.",
    )


# ---- Tables --------------------------------------------------------------------------------------------------------


def cpu_table(ids: Sequence[str] = CPUS) -> Table:
    """Peaks of server CPUs, derived from cores, clock and what a core does in a tick.

    Examples
    --------
    >>> cpu_table().rows[0]
    ['Xeon Platinum 8480+', '56', '2 GHz', '64', '7.17 TFLOP/s', '115 TFLOP/s', '217 MiB', '307 GB/s', '23.3']
    """
    rows = []
    for id in ids:
        it = chip(id)
        cores = it.counts["cores"]
        rows.append(
            [
                _short(it),
                f"{cores}",
                si(it.clock_hz, "Hz"),
                number(it.peak("fp32") / cores / it.clock_hz),
                si(it.peak("fp32"), "FLOP/s"),
                si(it.peak("bf16"), "FLOP/s"),
                f"{number(sum(it.sram_bytes[level] for level in ('l2', 'l3')) / MiB)} MiB",
                si(it.memory_bytes_per_s, "B/s"),
                number(it.peak("fp32") / it.memory_bytes_per_s),
            ]
        )
    head = ["CPU", "Cores", "Base", "fp32 a tick", "fp32", "bf16", "L2 and L3", "Memory", "Ridge, fp32"]
    caption = "Server CPUs, a socket each: cores × FLOP a core and tick × base clock is the fp32 peak."
    return Table(head, rows, caption)


def collectives_table(on: Chip | None = None, sizes: Sequence[int] = (2**17, 2**20, 2**24, 2**30)) -> Table:
    """Times of three collectives on a board: starts, steps of the ring, and bytes over links in one direction.

    Parameters
    ----------
    on : Chip
        By default the H100.
    sizes : sequence of int
        Bytes of the whole array.

    Examples
    --------
    >>> collectives_table().rows[2][:2]
    ['16 MiB', '126 µs']
    """
    on = on or chip("h100-sxm")
    chips, found = on.scale_up_chips, efficiency_of(on)
    times = {
        "link_bytes_per_s": on.link_bytes_per_s * found.link,
        "start_s": found.collective_start_s,
        "hop_s": found.collective_hop_s,
    }
    rows = []
    for size in sizes:
        whole = all_reduce_time(size, chips, **times)
        halves = (time(size, chips, **times) for time in (reduce_scatter_time, all_gather_time))
        share = all_reduce_time(size, chips, link_bytes_per_s=on.link_bytes_per_s) / whole
        rows.append([_binary(size), *(si(t, "s") for t in (whole, *halves)), f"{number(100 * share)} %"])
    head = ["Array", "All-reduce", "Reduce-scatter", "All-gather", "All-reduce, share of link rate"]
    caption = f"Estimates for {chips} × {_short(on)} over {on.link_name}, {si(on.link_bytes_per_s, 'B/s')} a direction."
    return Table(head, rows, caption)


# ---- Scales --------------------------------------------------------------------------------------------------------


def _log(low, high):
    import altair as alt

    return alt.Scale(type="log", domain=[low, high], nice=False)


def _decades(values, prefixed=False):
    import altair as alt

    label = (
        "replace(format(datum.value, '~s'), regexp('([a-zA-Zµ])$'), ' $1')"
        if prefixed
        else "format(datum.value, ',~r')"
    )
    return alt.Axis(values=list(values), labelExpr=label)


def _binary(size):
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} B"


def _short(of: Chip) -> str:
    return of.name.partition(" (")[0].removesuffix(" 80GB")
