"""Utilization in pictures: one run by several definitions, MFU and MBU by batch, published bands, and other chips.

Charts are Altair charts whose ``description`` says what is to be seen; `ceiling_explorer` is an explorer. All numbers
come from `hwlab.specs`, `hwlab.costs` and `hwlab.studies`, or from what is handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import altair as alt

from hwlab.costs.diagnosis import Diagnosis
from hwlab.costs.estimate import estimate
from hwlab.costs.roofline import matmul_bytes, matmul_flop, ridge
from hwlab.costs.step_split import split_step
from hwlab.costs.utilization import mbu, mfu, step_utilizations
from hwlab.figures.explorer import Axis, Choice, Explorer, Result, Rule, Slider, explore
from hwlab.figures.tables import Table
from hwlab.figures.theme import DASHES, SERIES
from hwlab.formula import minimum, number, si, text, where
from hwlab.specs.chips import Chip, chip
from hwlab.specs.measurements import Measurement, measurements
from hwlab.specs.models import ModelSpec, model
from hwlab.specs.papers import paper
from hwlab.specs.throughput import throughputs
from hwlab.studies.published import decode_mbu, served_mfu

_SHAPES = ("circle", "square", "triangle-up", "diamond")
_PLAIN = "format(datum.value, ',~r')"

# ---- One run, several figures --------------------------------------------------------------------------------------


def definitions(
    of: ModelSpec, on: Chip, *, dtype: str, prompt: int, padded: int, seconds: float
) -> list[tuple[str, float, str]]:
    """What a measured prefill is called by each way of counting: (name, share, what it counts).

    Parameters
    ----------
    of, on : ModelSpec, Chip
    prompt, padded : int
        Tokens of the prompt, and that it was padded to.
    seconds : float
        Measured.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> run = {"dtype": "bf16", "prompt": 6000, "padded": 8192, "seconds": 0.2}
    >>> [f"{share:.0%}" for _, share, _ in definitions(model("llama-3.1-8b"), chip("h100-sxm"), **run)]
    ['71%', '50%', '49%', '25%']
    """
    flop, plain, done = of.flop(prompt), 2 * of.num_active_params * prompt, of.flop(padded)
    run = {"seconds": seconds, "chip": on, "dtype": dtype}
    sparse = on.figure(f"sparse_peak_flop_per_s.{dtype}").value
    return [
        ("HFU", mfu(done, **run), "all that was computed, padding too, over the dense peak"),
        ("MFU", mfu(flop, **run), "what the prompt needs, attention included, over the dense peak"),
        ("MFU without attention", mfu(plain, **run), "2NT, over the dense peak"),
        ("MFU, sparse peak", flop / seconds / sparse, "what the prompt needs, over the peak with sparsity"),
    ]


def by_definition(found: Sequence[tuple[str, float, str]]) -> alt.LayerChart:
    """Bars of one measured run under several definitions, as `definitions` gives them.

    Examples
    --------
    >>> by_definition([("HFU", 0.7, "all"), ("MFU", 0.5, "the model's")]).description
    'One and the same run is 70 % by HFU and 50 % by MFU.'
    """
    rows = [{"called": name, "counts": counts, "share, %": 100 * share} for name, share, counts in found]
    for row in rows:
        row["says"] = f"{row['called']}: {number(row['share, %'], 3)} %"
    y = alt.Y("says:N", sort=[row["says"] for row in rows], title=None, axis=None)
    data = alt.Chart(alt.Data(values=rows))
    told = [f"{number(row['share, %'], 3)} % by {row['called']}" for row in rows]
    return alt.layer(
        data.mark_bar(height=12).encode(
            alt.X("share, %:Q", title="Share, %", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5)), y
        ),
        data.mark_text(style="note", dy=-9).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(36),
        data=alt.Data(values=[{k: row[k] for k in row if k != "says"} for row in rows]),
        description=f"One and the same run is {', '.join(told[:-1])} and {told[-1]}.",
    )


# ---- By batch ------------------------------------------------------------------------------------------------------

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def by_batch(of: ModelSpec, on: Chip, context: int = 1024, batches: Sequence[int] = BATCHES) -> alt.LayerChart:
    """MFU and MBU of a perfect decode step, against the sequences in it.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> by_batch(model("llama-3.1-8b"), chip("h100-sxm"), batches=(1, 256)).description
    'A perfect decode step of Llama 3.1 8B on H100 fills the memory at every batch; its MFU is 0.35 % at 1 and ...'
    """
    rows, shares = [], []
    for batch in batches:
        step = split_step(of, on, batch=batch, context=context)
        shares.append((step.mfu, step.mbu))
        rows.append({"batch": batch, "share, %": 100 * step.mfu, "measure": "MFU"})
        rows.append({"batch": batch, "share, %": 100 * step.mbu, "measure": "MBU"})
    x = alt.X(
        "batch:Q", title="Sequences in a step", scale=_log(batches[0], batches[-1]), axis=alt.Axis(values=batches)
    )
    y = alt.Y(
        "share, %:Q",
        title="Share of the datasheet rate, %",
        scale=_log(0.2, 120),
        axis=alt.Axis(values=[0.3, 1, 3, 10, 30, 100], labelExpr=_PLAIN),
    )
    names = ["MFU", "MBU"]
    series = {"sort": None, "title": None}
    chart = (
        alt.Chart(alt.Data(values=rows), height=280)
        .mark_line(strokeWidth=2.5, point=True)
        .encode(
            x,
            y,
            alt.Color("measure:N", scale=alt.Scale(domain=names, range=list(SERIES[:2])), **series),
            alt.StrokeDash("measure:N", scale=alt.Scale(domain=names, range=list(DASHES[:2])), **series),
        )
    )
    low = min(share for _, share in shares)
    fills = "fills the memory at every batch" if low > 0.95 else f"fills {number(100 * low, 2)} % of the memory or more"
    return chart.properties(
        description=f"A perfect decode step of {of.name} on {on.name.split()[0]} {fills}; its MFU is "
        f"{number(100 * shares[0][0], 2)} % at {batches[0]} and {number(100 * shares[-1][0], 2)} % at {batches[-1]}."
    )


def mfu_ceiling(batch, chip, bits, context):
    """The best MFU of a decode step, in percent: the two roofs and nothing else."""
    flop, nbytes = _step(batch, chip, bits, context)
    return 100 * minimum(1, flop / chip.peak / (nbytes / chip.rate))


def _step(batch, chip, bits, context):
    """FLOP and bytes of a decode step of a Llama 3.1 8B: its weights once, its cache for each sequence."""
    weights = chip.params * bits / 8
    return batch * (2 * chip.params + chip.attention_flop * context), weights + batch * context * chip.cache


@dataclass(frozen=True)
class On:
    """A chip and a model on it, as plain numbers that a formula of the page can look up."""

    name: str
    peak: float
    rate: float
    holds: float
    params: float
    attention_flop: float
    cache: float


def on(id: str, of: ModelSpec) -> On:
    """The numbers of chip `id` and model `of`: parameters that a token meets, FLOP and bytes for a token of context."""
    found = chip(id)
    return On(
        name=found.name.partition(" (")[0].partition(" SXM")[0],
        peak=found.peak("bf16"),
        rate=found.memory_bytes_per_s,
        holds=found.memory_bytes,
        params=of.flop_per_token(0) / 2,
        attention_flop=of.flop_per_token(1) - of.flop_per_token(0),
        cache=of.kv_bytes_per_token("bf16"),
    )


LARGEST = 512  # sequences
EXPLORED = ("h100-sxm", "a100-sxm-80gb", "b200", "mi300x", "tpu-v5e", "tpu-v5p", "xeon-8480plus")


def _sentence(batch, chip, bits, context):
    flop, nbytes = _step(batch, chip, bits, context)
    at = flop / nbytes
    bound = chip.peak / chip.rate
    return where(
        at < bound,
        text(
            "At batch {batch} a perfect step has an MFU of {mfu} %: {at} FLOP a byte, where {chip} could do {ridge}. "
            "Its memory is full, its arithmetic is not.",
            batch=number(batch),
            mfu=number(100 * at / bound),
            at=number(at),
            chip=chip.name,
            ridge=number(bound),
        ),
        text(
            "At batch {batch} arithmetic binds on {chip}: {at} FLOP a byte, above its ridge of {ridge}. "
            "Now a low MFU is a loss.",
            batch=number(batch),
            at=number(at),
            chip=chip.name,
            ridge=number(bound),
        ),
    )


def _arithmetic(batch, chip, bits, context):
    flop, nbytes = _step(batch, chip, bits, context)
    return [
        text(
            "{batch} × {each} = {flop} in a step",
            batch=number(batch),
            each=si(flop / batch, "FLOP"),
            flop=si(flop, "FLOP"),
        ),
        text(
            "weights {weights} + cache {batch} × {context} × {token} = {nbytes}",
            weights=si(chip.params * bits / 8, "B"),
            batch=number(batch),
            context=number(context),
            token=si(chip.cache, "B"),
            nbytes=si(nbytes, "B"),
        ),
        text(
            "{at} FLOP a byte over a ridge of {ridge} = {share} %, and 100 % at most",
            at=number(flop / nbytes),
            ridge=number(chip.peak / chip.rate),
            share=number(100 * flop / nbytes / (chip.peak / chip.rate)),
        ),
    ]


def _refusal(batch, chip, bits, context):
    _, nbytes = _step(batch, chip, bits, context)
    return where(
        nbytes > chip.holds,
        text(
            "{need} do not fit: {chip} holds {holds}. Take fewer sequences, a shorter context or fewer bits.",
            need=si(nbytes, "B"),
            chip=chip.name,
            holds=si(chip.holds, "B"),
        ),
        "",
    )


def _even(batch, chip, bits, context):
    """Sequences at which arithmetic and memory take as long; 0 where no batch gets there."""
    left = (2 * chip.params + chip.attention_flop * context) / chip.peak - context * chip.cache / chip.rate
    return where(left > 0, chip.params * bits / 8 / chip.rate / where(left > 0, left, 1), 0)


def _even_at(batch, chip, bits, context):
    even = _even(batch, chip, bits, context)
    return where(even > 1, where(even < LARGEST, even, 1), 1)


def _even_label(batch, chip, bits, context):
    even = _even(batch, chip, bits, context)
    return where(even > 1, where(even < LARGEST, "even", ""), "")


def ceiling_explorer(chips: Sequence[str] = EXPLORED) -> Explorer:
    """The best MFU that a decode step of Llama 3.1 8B can have, against the sequences in it.

    Examples
    --------
    >>> explorer = ceiling_explorer()
    >>> print(explorer.says())
    At batch 16 a perfect step has an MFU of 4.91 %: 14.5 FLOP a byte, where H100 could do 295. ...
    """
    of = model("llama-3.1-8b")
    return explore(
        mfu_ceiling,
        x=Axis("batch", 1, LARGEST, default=16, scale="log", title="Sequences in a step"),
        y=Result("Best MFU", "%", low=0.1, high=120, scale="log"),
        sliders=[
            Choice("chip", {id: on(id, of) for id in chips}, chips[0], title="Chip"),
            Choice("bits", {"16": 16, "8": 8, "4": 4}, "16", title="Bits of a weight"),
            Slider("context", 64, 8192, 1024, scale="log", title="Context of each", unit="tokens"),
        ],
        says=_sentence,
        arithmetic=_arithmetic,
        refuses=_refusal,
        rules=[Rule(_even_at, _even_label)],
        name="ceiling",
        alt="A line that rises with the sequences in a step and bends before 100 %: the cache of each sequence is read "
        "for that sequence alone.",
    )


# ---- What is published ---------------------------------------------------------------------------------------------

BANDS = {"C141": "first deployments", "C136": "careful GPUs", "C137": "tuned engines", "C138": "TPUs"}
"""Claims that give a band, and whom they give it to."""


def published() -> list[dict]:
    """Published utilizations: training, prefill, whole serving systems; each with its chip and source."""
    rows = [
        {
            "kind": "training",
            "what": f"{found.short}, {'PaLM 540B' if found.organisation == 'Google' else 'Llama 3.1 405B'}",
            "mfu": found.gives[f"training_mfu_{end}"],
        }
        for found in map(paper, ("chowdhery-2022", "grattafiori-2024"))
        for end in ("low", "high")
    ]
    for row in throughputs():
        kind = "a fleet, mean of a day" if row.prompt_tokens is None else "offline serving"
        lengths = row.counts if row.prompt_tokens is None else f"{row.prompt_tokens:,} in, {row.output_tokens:,} out"
        rows.append({"kind": kind, "what": f"{model(row.model).name}, {lengths}", "mfu": served_mfu(row)})
    return rows


def bands(claimed: Iterable[tuple[str, float, float]], rows: Sequence[dict] | None = None) -> alt.LayerChart:
    """Published utilizations by kind, over the bands that are claimed.

    Parameters
    ----------
    claimed : iterable of (str, float, float)
        Whom a band is given to, and its ends as shares.

    Examples
    --------
    >>> bands([("tuned engines", 0.50, 0.65)]).description
    'Of 36 runs of offline serving one lies at 50 % or more; ...
    """
    rows = [{"row": r["kind"], "what": r["what"], "MFU, %": 100 * r["mfu"]} for r in rows or published()]
    kinds = list(dict.fromkeys(row["row"] for row in rows))
    asked = [{"row": f"claimed: {who}", "low": 100 * low, "high": 100 * high} for who, low, high in claimed]
    order = [*(band["row"] for band in asked), *kinds]
    scale = alt.Scale(domain=[0, 80])
    points = alt.Chart(alt.Data(values=rows)).mark_point(size=70)
    offline = [row["MFU, %"] for row in rows if row["row"] == "offline serving"]
    fleet = [row["MFU, %"] for row in rows if row["row"].startswith("a fleet")]
    trained = [row["MFU, %"] for row in rows if row["row"] == "training"]
    over = sum(share >= 50 for share in offline)
    return alt.layer(
        alt.Chart(alt.Data(values=asked))
        .mark_bar(height=14, fillOpacity=0.3, color=SERIES[5], stroke=SERIES[5])
        .encode(
            alt.X("low:Q", scale=scale, title="MFU, % of the dense peak"),
            alt.Y("row:N", sort=order, title=None, axis=alt.Axis(labelLimit=180)),
            x2="high:Q",
        ),
        points.encode(
            alt.X("MFU, %:Q", scale=scale, title="MFU, % of the dense peak"),
            alt.Y("row:N", sort=order, title=None, axis=alt.Axis(labelLimit=180)),
            alt.Shape(
                "row:N", legend=None, sort=kinds, scale=alt.Scale(domain=kinds, range=list(_SHAPES[: len(kinds)]))
            ),
            alt.Color(
                "row:N", legend=None, sort=kinds, scale=alt.Scale(domain=kinds, range=list(SERIES[: len(kinds)]))
            ),
        ),
        height=alt.Step(34),
        data=alt.Data(values=rows),
        description=f"Of {len(offline)} runs of offline serving {_counted(over)} lies at 50 % or more; they go from "
        f"{number(min(offline), 2)} to {number(max(offline), 2)} %. A fleet had {number(min(fleet), 2)} and "
        f"{number(max(fleet), 2)} %, training {number(min(trained), 2)} to {number(max(trained), 2)} %.",
    )


def _counted(n: int) -> str:
    return {0: "none", 1: "one", 2: "two"}.get(n, str(n))


def measured_mbu() -> list[tuple[str, float]]:
    """MBU of published decode at batch 1 on A100, from the least to the highest: (what, share)."""
    found = []
    for row in measurements("decode", chip="a100-sxm-80gb"):
        if row.tokens == 1:
            chips = f"{row.chips} chip{'s' if row.chips > 1 else ''}"
            found.append((f"{model(row.model).name}, {row.dtype}, {chips}", decode_mbu(row)))
    return sorted(found, key=lambda pair: pair[1])


def mbu_of_decode() -> alt.LayerChart:
    """MBU that published decode at batch 1 reached, by model, dtype and number of chips.

    Examples
    --------
    >>> mbu_of_decode().description
    'Of 20 published runs at batch 1 on A100 none passes 72 % of the bandwidth; more chips or fewer bits mean less.'
    """
    rows = [{"run": what, "MBU, %": 100 * share} for what, share in measured_mbu()][::-1]
    for row in rows:
        row["says"] = f"{row['run']}: {number(row['MBU, %'], 2)} %"
    y = alt.Y("says:N", sort=[row["says"] for row in rows], title=None, axis=None)
    data = alt.Chart(alt.Data(values=rows))
    return alt.layer(
        data.mark_bar(height=9).encode(
            alt.X("MBU, %:Q", title="MBU, %", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5)), y
        ),
        data.mark_text(style="note", dy=-9).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(30),
        data=alt.Data(values=[{k: row[k] for k in row if k != "says"} for row in rows]),
        description=f"Of {len(rows)} published runs at batch 1 on A100 none passes "
        f"{number(rows[0]['MBU, %'], 2)} % of the bandwidth; more chips or fewer bits mean less.",
    )


def products_by_rows(measured: Iterable[Measurement]) -> alt.Chart:
    """MFU and MBU that published matrix products reached, against their rows.

    Parameters
    ----------
    measured : iterable of Measurement
        Of the regime "matmul", all of one dtype.

    Examples
    --------
    >>> products_by_rows(measurements("matmul", chip="h100-sxm", dtype="bf16")).description
    'Of 48 published products those of 64 rows or fewer reach an MFU of 17 % at most and an MBU of 81 %; ...'
    """
    rows = []
    for m in measured:
        on = chip(m.chip)
        read = matmul_bytes(m.tokens, m.k, m.n, dtype=m.dtype)
        shares = {
            "MFU": mfu(matmul_flop(m.tokens, m.k, m.n), m.seconds, chip=on, dtype=m.dtype),
            "MBU": mbu(read, m.seconds, chip=on),
        }
        rows += [
            {"rows": m.tokens, "k": m.k, "n": m.n, "measure": name, "share, %": 100 * share}
            for name, share in shares.items()
        ]

    def most(name, low, high):
        return max(row["share, %"] for row in rows if row["measure"] == name and low <= row["rows"] <= high)

    names, last = ["MFU", "MBU"], max(row["rows"] for row in rows)
    series = {"sort": None, "title": None}
    chart = (
        alt.Chart(alt.Data(values=rows), height=280)
        .mark_point(size=60)
        .encode(
            alt.X(
                "rows:Q", title="Rows of the product", scale=_log(1, last), axis=alt.Axis(values=[1, 8, 64, 512, 4096])
            ),
            alt.Y("share, %:Q", title="Share of the datasheet rate, %", scale=alt.Scale(domain=[0, 100])),
            alt.Color("measure:N", scale=alt.Scale(domain=names, range=list(SERIES[:2])), **series),
            alt.Shape("measure:N", scale=alt.Scale(domain=names, range=list(_SHAPES[:2])), **series),
        )
    )
    return chart.properties(
        description=f"Of {len(rows) // 2} published products those of 64 rows or fewer reach an MFU of "
        f"{number(most('MFU', 1, 64), 2)} % at most and an MBU of {number(most('MBU', 1, 64), 2)} %; from 2,048 rows "
        f"on it is {number(most('MFU', 2048, last), 2)} and {number(most('MBU', 2048, last), 2)} %."
    )


def steps_measured(log: Sequence, host: Chip) -> alt.Chart:
    """MFU and MBU of an engine's steps, one after the other.

    Parameters
    ----------
    log : sequence of StepRecord
        Of `hwlab.serving.Engine`, in fp32.
    host : Chip
        That ran it: `hwlab.kernels.host.measure_host`.

    Examples
    --------
    >>> from types import SimpleNamespace as Step
    >>> step = {"weight_bytes": 1e6, "kv_bytes": 0, "seconds": 1e-3, "tokens": 1}
    >>> log = [Step(number=0, flop=8e7, prefill_tokens=9, **step), Step(number=1, flop=4e6, prefill_tokens=0, **step)]
    >>> host = chip("xeon-8480plus")
    >>> steps_measured(log, host).description
    'The step that reads has an MFU of 1.1 %; the 1 that write have one of 0.056 % and an MBU of 0.33 %, by the median.'
    >>> steps_measured([Step(**vars(step) | {"seconds": 5e-6}) for step in log], host).description[-59:]
    'while its peak was measured than in the steps; do it again.'
    """
    rows = []
    for step, used in step_utilizations(log, chip=host, dtype="fp32"):
        does = "reads" if step.prefill_tokens else "writes"
        for name, share in (("MFU", used.mfu), ("MBU", used.mbu)):
            rows.append({"step": step.number, "does": does, "measure": name, "share, %": 100 * share})

    def middle(does, name):
        found = [row["share, %"] for row in rows if (row["does"], row["measure"]) == (does, name)]
        return f"{number(median(found), 2)} %"

    names = ["MFU", "MBU"]
    series = {"sort": None, "title": None}
    low, high = min(row["share, %"] for row in rows) / 2, max(100, *(row["share, %"] for row in rows))
    writing = sum(row["does"] == "writes" for row in rows) // 2
    chart = (
        alt.Chart(alt.Data(values=rows), height=260)
        .mark_point(size=60)
        .encode(
            alt.X("step:Q", title="Step"),
            alt.Y("share, %:Q", title="Share of what was measured, %", scale=_log(low, high)),
            alt.Color("measure:N", scale=alt.Scale(domain=names, range=list(SERIES[:2])), **series),
            alt.Shape("measure:N", scale=alt.Scale(domain=names, range=list(_SHAPES[:2])), **series),
        )
    )
    busy = ""
    if high > 100:
        busy = (
            " More than the whole: the machine was busier while its peak was measured than in the steps; do it again."
        )
    return chart.properties(
        description=f"The step that reads has an MFU of {middle('reads', 'MFU')}; the {writing} that write have one of "
        f"{middle('writes', 'MFU')} and an MBU of {middle('writes', 'MBU')}, by the median.{busy}"
    )


def diagnoses(found: Mapping[str, Diagnosis]) -> Table:
    """What `hwlab.costs.diagnosis.diagnose` says of several runs, by their names.

    Examples
    --------
    >>> from hwlab.costs.diagnosis import Diagnosis
    >>> shares = {"used": 0.5, "idle": 0.5, "short": 0.0, "queued": 0.0, "unasked": 0.0}
    >>> print(diagnoses({"run": Diagnosis(steps=9, **shares, preempted=0, recomputed=0.0, longer=None, devices=1.0)}))
    run  steps  used  idle  short  again  step  says the log
    run  9      50 %  50 %  0 %    0 %    -     static batch, 2 x
    One load, five ways...
    """
    rows = []
    for name, of in found.items():
        shares = (of.used, of.idle, of.short, of.recomputed)
        step = "-" if of.longer is None else f"{number(of.longer, 2)} x"
        says = "no cause" if of.cause is None else f"{of.cause}, {number(of.factors[of.cause], 2)} x"
        rows.append([name, str(of.steps), *(f"{number(100 * share, 2)} %" for share in shares), step, says])
    return Table(
        ["run", "steps", "used", "idle", "short", "again", "step", "says the log"],
        rows,
        caption="One load, five ways, on the machine that built this page: shares of the batch's places used, idle and "
        "short of blocks, of tokens computed again, a step beside that of the run that is well, and the cause that the "
        "log names, with the time that it takes.",
    )


# ---- Other chips ---------------------------------------------------------------------------------------------------

CLASSES = ("xeon-8480plus", "h100-sxm", "mi300x", "b200", "tpu-v5e", "tpu-v5p", "tpu-v7", "groq-lpu", "wse-3")


def _peak(of: Chip) -> tuple[str, float]:
    for dtype in ("bf16", "fp16"):
        if dtype in of.peak_flop_per_s:
            return dtype, of.peak(dtype)
    raise ValueError(f"{of.name} has no published 16-bit peak")


def batch_for(share: float, of: Chip) -> float:
    """Sequences that a decode step needs for an MFU of `share`, by its weights alone: share x ridge in 16 bits.

    Examples
    --------
    >>> round(batch_for(0.4, chip("h100-sxm")))
    118
    """
    dtype, _ = _peak(of)
    return share * ridge(of, dtype)


def chips_table(share: float = 0.4, ids: Iterable[str] = CLASSES) -> Table:
    """What an MFU of `share` in decode takes on chips of several classes.

    Examples
    --------
    >>> print(chips_table(0.4, ["h100-sxm"]))  # doctest: +ELLIPSIS
    chip  ridge  best MFU, batch 1  batch for 40 %
    H100  295    0.34 %             118
    What decode can show of a chip's arithmetic, ...
    """
    rows = []
    for id in ids:
        of = chip(id)
        at = ridge(of, _peak(of)[0])
        rows.append(
            [
                of.name.split(" (")[0].removesuffix(" SXM5 80GB"),
                number(at),
                f"{number(min(100, 100 / at), 2)} %",
                number(max(1, share * at), 3),
            ]
        )
    return Table(
        ["chip", "ridge", "best MFU, batch 1", f"batch for {number(100 * share)} %"],
        rows,
        caption="What decode can show of a chip's arithmetic, by its weights alone: the ridge in FLOP a byte, MFU of "
        "one sequence at full bandwidth, and sequences for a given MFU. The cache of each sequence asks for more.",
    )


def phases_table(of: ModelSpec, on: Chip, batches: Sequence[int] = (1, 8, 64)) -> Table:
    """MFU and MBU of both phases of the same run, as `hwlab.estimate` expects them.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> phases_table(model("llama-3.1-8b"), chip("h100-sxm"), (1,)).head
    ['Sequences', 'Prefill MFU', 'Prefill MBU', 'Decode MFU', 'Decode MBU']
    """
    rows = []
    for batch in batches:
        e = estimate(of, on, batch=batch, prompt_tokens=1024, output_tokens=256)
        shares = (e.prefill.mfu, e.prefill.mbu, e.decode.mfu, e.decode.mbu)
        rows.append([f"{batch:,}", *(f"{number(100 * share, 2)} %" for share in shares)])
    return Table(
        ["Sequences", "Prefill MFU", "Prefill MBU", "Decode MFU", "Decode MBU"],
        rows,
        caption=f"{of.name} in bf16 on {on.name}, prompts of 1,024 tokens: what to expect of an engine of today.",
    )


def _log(low, high):
    return alt.Scale(type="log", domain=[low, high], nice=False)
