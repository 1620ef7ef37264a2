"""The claims about utilization: what MFU says of a chip, a fleet and a bill, what lowers it, and where it misleads."""

from __future__ import annotations

from statistics import median

from hwlab.costs.efficiency import IDEAL, Efficiency
from hwlab.costs.estimate import estimate
from hwlab.costs.roofline import decode_step_work, price, rates
from hwlab.costs.utilization import parity
from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.claims import claim
from hwlab.specs.measurements import measurements
from hwlab.specs.models import model as model_of
from hwlab.specs.papers import paper
from hwlab.specs.quantities import read_quantity
from hwlab.specs.throughput import throughputs
from hwlab.studies.launches import kernel_start
from hwlab.studies.published import decode_mbu, served_mfu
from hwlab.studies.trials import Finding, claimed, judged, judged_by_choice, judged_by_source, near, trial
from hwlab.studies.trials.paging import pool_states

A100, H100 = chip("a100-sxm-80gb"), chip("h100-sxm")
LLAMA_2_70B, LLAMA_3_8B = model_of("llama-2-70b"), model_of("llama-3.1-8b")
SERVED = {"chips": 8, "prompt_tokens": 1024, "output_tokens": 1024}  # the 70B on one server
SMALL, LARGE = 1, 64  # sequences in a batch
# What one layer of a Llama starts without fusion, each a kernel: 7 products with weights and 2 of attention; 2 norms,
# 2 rotations, the writing of K and V, mask and softmax, SiLU and its product, and 2 additions to the residual.
KERNELS_A_LAYER = 9 + 2 + 2 + 1 + 2 + 2 + 2
ETHERNET = 50e9  # byte/s of a GPU to another server: 400 Gbit/s
MOSTLY = 0.5  # share from which one part rules the whole
FALLS_SHARPLY = 0.2  # of what it was


def percent(share: float, digits: int = 3) -> str:
    """A share in percent, for a sentence.

    >>> percent(0.158)
    '15.8 %'
    """
    return f"{number(100 * share, digits)} %"


def _shares(id: str) -> list[float]:
    """The shares that a claim names: "15-30%" gives both ends."""
    text = claim(id).figures[0].rstrip("%")
    return [float(part) / 100 for part in text.replace("–", "-").split("-")]


@trial("C101")
def dearer_by_the_token(chip=H100, than=A100, dtype="bf16", shares=None) -> Finding:
    """An H100 at 30 % costs more per token than an A100 at 55 %."""
    high, low = shares or [read_quantity(figure)[0] for figure in claim("C101").figures]
    faster = high * chip.peak(dtype) / (low * than.peak(dtype))
    told = f"{si(high * chip.peak(dtype), 'FLOP/s')} against {si(low * than.peak(dtype), 'FLOP/s')}"
    return Finding(
        recomputed=f"{told}: dearer only where its hour costs over {number(faster)} of the other's",
        verdict=judged(faster <= 1),
    )


@trial("C135")
def most_honest(chip=H100, model=LLAMA_3_8B) -> Finding:
    """MFU is the most honest measure of a serving system."""
    step, larger = (estimate(model, chip, efficiency=IDEAL, batch=batch).decode for batch in (SMALL, LARGE))
    told = f"A step that fills the memory of an {chip.name.split()[0]} ({percent(step.mbu)}) has an MFU of"
    faster = (LARGE / larger.seconds) / (SMALL / step.seconds)
    return Finding(  # it tells a faster machine from a slower of the same kind, and does not see a full memory
        recomputed=f"{told} {percent(step.mfu, 2)}",
        verdict=judged_by_source(step.mfu > MOSTLY, near(larger.mfu / step.mfu, faster, within=0.1)),
    )


@trial("C136")
def production_on_gpus(rows=None) -> Finding:
    """A careful production reaches 30 to 45 %."""
    low, _ = _shares("C136")
    training = [paper(id).gives["training_mfu_high"] for id in ("chowdhery-2022", "grattafiori-2024")]
    fleet = [served_mfu(row) for row in rows or throughputs(model="deepseek-r1")]
    told = f"training {' and '.join(percent(t) for t in training)}"
    return Finding(
        recomputed=f"{told}; a fleet, by the day: {' and '.join(percent(f, 2) for f in fleet)} of the fp8 peak",
        verdict=judged_by_choice(max(training) >= low, low <= max(fleet)),
    )


def _tuned(rows=None):
    return [row for row in rows or throughputs() if row.source.key == "trtllm-perf-overview"]


@trial("C137")
def tuned_engines(rows=None) -> Finding:
    """FlashAttention and a tuned TensorRT-LLM give 50 to 65 %."""
    low, _ = _shares("C137")
    found = {row.id: served_mfu(row) for row in _tuned(rows)}
    mixed = [found[row.id] for row in _tuned(rows) if row.output_tokens >= row.prompt_tokens / 2]
    over = sum(share >= low for share in found.values())
    told = f"{over} of {len(found)} published runs reach {percent(low)}; best {percent(max(found.values()))}"
    return Finding(
        recomputed=f"{told}, nearly all prefill; with answers of half a prompt or more {percent(max(mixed))} at most",
        verdict=judged_by_source(over > 0, max(mixed) >= low),
    )


@trial("C139")
def same_throughput(chip=H100, than=A100, dtype="bf16") -> Finding:
    """An H100 at 25 % has the throughput of an A100 at 50 %."""
    high, low = (read_quantity(figure)[0] for figure in claim("C139").figures)
    ratio = high * chip.peak(dtype) / (low * than.peak(dtype))
    told = f"{number(ratio)} times as much; equal at {percent(parity(low, chip=chip, than=than, dtype=dtype))}"
    return Finding(recomputed=told, verdict=judged(near(ratio, 1, within=0.05)))


@trial("C140")
def twice_the_energy(chip=H100, than=A100, dtype="bf16") -> Finding:
    """At double the cost in hardware and energy."""
    high, low = (read_quantity(figure)[0] for figure in claim("C139").figures)
    joules = [c.tdp_watts / (share * c.peak(dtype)) for c, share in ((chip, high), (than, low))]
    ratio = joules[0] / joules[1]
    told = f"{number(1e12 * joules[0])} against {number(1e12 * joules[1])} pJ/FLOP at design power"
    return Finding(
        recomputed=f"{told}: {number(ratio)} times", verdict=judged(near(ratio, claimed("C140"), within=0.1))
    )


@trial("C142")
def small_static_batches(model=LLAMA_2_70B, chip=H100, batches=(SMALL, LARGE)) -> Finding:
    """Static batching with small batches lowers MFU."""
    small, large = (estimate(model, chip, batch=batch, **SERVED).decode.mfu for batch in batches)
    told = f"decode at batch {batches[0]}: {percent(small)}; at {batches[1]}: {percent(large)}"
    return Finding(recomputed=told, verdict=judged(small < FALLS_SHARPLY * large))


@trial("C143")
def wasted_cache(model=LLAMA_2_70B, chip=H100, used=None) -> Finding:
    """A KV cache that wastes its memory makes batches smaller."""
    if used is None:
        found = pool_states()
        used = found["maximum"]["tokens"], found["paged"]["tokens"]
    full = estimate(model, chip, batch=LARGE, **SERVED)
    batches = [max(1, int(share * full.batch / used[1])) for share in used]
    mfus = [estimate(model, chip, batch=batch, **SERVED).decode.mfu for batch in batches]
    told = f"{percent(used[0], 2)} of the pool used against {percent(used[1], 2)}: batch {batches[0]} for {batches[1]}"
    return Finding(
        recomputed=f"{told}, {percent(mfus[0], 2)} for {percent(mfus[1], 2)}",
        verdict=judged(mfus[0] < MOSTLY * mfus[1]),
    )


@trial("C144")
def no_fusion(model=LLAMA_2_70B, chip=H100, chips=8, kernels=KERNELS_A_LAYER, start_s=None) -> Finding:
    """Without fusion each operation is a launch of its own."""
    start_s = start_s or kernel_start()
    starts = model.num_layers * kernels * start_s
    step = price(decode_step_work(model, context=1024, dtype="bf16", tensor=chips), rates(chip, "bf16", group=chips))
    share = starts / (starts + step.memory_s)
    told = f"{kernels} kernels × {model.num_layers} layers × {si(start_s, 's', 2)} = {si(starts, 's', 2)}"
    return Finding(
        recomputed=f"{told} beside {si(step.memory_s, 's', 2)} of reading: {percent(share, 2)} of the step",
        verdict=judged(share > FALLS_SHARPLY),
    )


@trial("C145")
def misplaced_parallelism(model=LLAMA_2_70B, chip=H100, tensor=16, link=ETHERNET, batch=LARGE) -> Finding:
    """Tensor parallelism whose all-reduces rule the step."""
    efficiency = estimate(model, chip, **SERVED).efficiency
    work = decode_step_work(model, context=1024, batch=batch, dtype="bf16", tensor=8)
    inside = price(work, rates(chip, "bf16", efficiency, 8))
    work = decode_step_work(model, context=1024, batch=batch, dtype="bf16", tensor=tensor)
    slow = rates(chip, "bf16", efficiency)._replace(link_bytes_per_s=link * efficiency.link)
    across = price(work, slow)
    shares = [step.network_s / step.seconds for step in (inside, across)]
    told = f"{percent(shares[0], 2)} of a step among 8 chips on NVLink; {percent(shares[1], 2)} among {tensor}"
    return Finding(recomputed=f"{told} on links of {si(link, 'B/s')}", verdict=judged(shares[1] > MOSTLY))


@trial("C168")
def tuned_beats_premium(chip=H100, than=A100, dtype="bf16", tuned=0.5, badly=(0.10, 0.25)) -> Finding:
    """Lesser hardware, well tuned, beats premium hardware badly configured."""
    threshold = parity(tuned, chip=chip, than=than, dtype=dtype)
    told = f"An A100 at {percent(tuned)} beats an H100 below {percent(threshold)}"
    return Finding(recomputed=told, verdict=judged_by_choice(*(share < threshold for share in badly)))


@trial("C294")
def full_bandwidth(measured=None) -> Finding:
    """In decode at low latency MBU is usually 100 %."""
    rows = measured or [m for m in measurements("decode", chip="a100-sxm-80gb") if m.tokens == 1]
    found = [decode_mbu(row) for row in rows]
    told = f"{len(found)} published runs at batch 1 on A100: {percent(min(found), 2)} to {percent(max(found), 2)}"
    return Finding(
        recomputed=f"{told}, median {percent(median(found), 2)}",
        verdict=judged(near(median(found), claimed("C294"), within=0.05)),
    )


@trial("C295")
def mfu_of_decode(model=LLAMA_2_70B, chip=H100, batch=SMALL) -> Finding:
    """MFU falls sharply in decode."""
    found = estimate(model, chip, batch=batch, **SERVED)
    told = f"batch {batch}: prefill {percent(found.prefill.mfu)}, decode {percent(found.decode.mfu, 2)}"
    return Finding(recomputed=told, verdict=judged(found.decode.mfu < FALLS_SHARPLY * found.prefill.mfu))


@trial("C332")
def idle_hardware(model=LLAMA_3_8B, chip=H100, efficiency: Efficiency | None = None) -> Finding:
    """At 15 to 30 % most of what is paid for stands idle."""
    low, high = _shares("C332")
    load = {"prompt_tokens": 256, "output_tokens": 256, "efficiency": efficiency}
    steps = [estimate(model, chip, batch=batch, **load).decode for batch in range(32, 513, 32)]
    step = min(steps, key=lambda step: abs(step.mfu - (low + high) / 2))
    told = f"A decode step at an MFU of {percent(step.mfu, 2)} reads at {percent(step.mbu, 2)} of the bandwidth"
    return Finding(recomputed=told, verdict=judged_by_source(step.mfu < MOSTLY, step.mbu < MOSTLY))


@trial("C333")
def what_matters_most(model=LLAMA_2_70B, chip=H100, than=A100, dtype="bf16") -> Finding:
    """In any scenario MFU is the number that matters most."""
    small, large = (estimate(model, chip, batch=batch, **SERVED).decode for batch in (SMALL, LARGE))
    dearer = (small.seconds / SMALL) / (large.seconds / LARGE)
    lower = large.mfu / small.mfu
    other = 0.25 * chip.peak(dtype) / (0.5 * than.peak(dtype))
    told = f"On one machine {number(dearer, 2)} times the cost for {number(lower, 2)} times less MFU; between two, half"
    return Finding(
        recomputed=f"{told} the MFU and {number(other, 2)} times the speed",
        verdict=judged_by_source(near(dearer, lower, within=0.1), other < 1),
    )
