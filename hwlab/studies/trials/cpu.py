"""The claims about server CPUs: caches, branches, lanes and peaks, and how far a GPU is from them."""

from __future__ import annotations

from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.claims import claim
from hwlab.specs.papers import paper
from hwlab.studies.trials import Finding, claimed, judged, judged_by_choice, trial, within_factor

XEON, H100, L4 = chip("xeon-8480plus"), chip("h100-sxm"), chip("l4")
SERVERS = tuple(chip(id) for id in ("xeon-8480plus", "xeon-6980p", "epyc-9654", "epyc-9755", "epyc-9965"))
BRANCHES = (150, 200)  # among 1,000 instructions of integer code: an assumption
FP32_BITS = 32
ORDERS = 100  # times from which on one speaks of orders of magnitude
TWICE = 2  # a ratio counts as right up to this factor
AVOID = 5  # times as slow from which on a choice is an error


def _short(chip) -> str:
    """ "Xeon Platinum 8480+" without what stands in brackets."""
    return chip.name.split(" (")[0]


@trial("C017")
def caches_of_a_server(chips=SERVERS) -> Finding:
    """The caches of a CPU total tens of MB."""
    totals = [chip.sram_bytes.get("l2", 0) + chip.sram_bytes.get("l3", 0) for chip in chips]
    told = f"L2 and L3 of {len(chips)} server CPUs: {si(min(totals), 'B')} to {si(max(totals), 'B')}"
    return Finding(recomputed=told, verdict=judged(all(10e6 <= total < 100e6 for total in totals)))


@trial("C018")
def branches_foretold(predictor=None, branches=BRANCHES) -> Finding:
    """Branches are predicted right in more than 95 % of cases."""
    missed = (predictor or paper("seznec-2014")).gives["misses_per_1000_instructions"]
    worst, best = (1 - missed / per_thousand for per_thousand in branches)
    told = f"{missed:g} of 1,000 instructions foretold wrong; if {branches[0]} to {branches[1]} are branches"
    return Finding(
        recomputed=f"{told}, {number(100 * worst, 3)} to {number(100 * best, 3)} % are right",
        verdict=judged(worst > 0.95),
    )


@trial("C025")
def lanes_of_avx_512(chip=XEON, bits=512) -> Finding:
    """AVX-512 processes 16 fp32 values at once per core."""
    lanes, units = bits // FP32_BITS, chip.counts["fma_units"]
    told = f"{bits} / {FP32_BITS} = {lanes} in an instruction; {units} such units a core finish {units * lanes} a clock"
    return Finding(recomputed=told, verdict=judged(lanes == int(claim("C025").figures[1].split()[0])))


@trial("C026")
def peak_of_a_top_xeon(chip=XEON) -> Finding:
    """With 96 cores a top Xeon peaks at 4 to 6 TFLOP/s in fp32."""
    cores = int(claimed("C026"))
    low, high = (1e12 * float(part) for part in claim("C026").figures[1].split()[0].split("-"))
    a_clock = chip.counts["fma_units"] * 512 // FP32_BITS * 2
    peak = cores * a_clock * chip.clock_hz
    needs = [si(limit / cores / a_clock, "Hz", 2) for limit in (low, high)]
    told = f"{cores} × {a_clock} × {si(chip.clock_hz, 'Hz')} = {si(peak, 'FLOP/s')}"
    return Finding(
        recomputed=f"{told}; the claim needs a clock of {needs[0]} to {needs[1]}", verdict=judged(low <= peak <= high)
    )


@trial("C027")
def entry_level_gpu(gpu=L4, cpu=XEON) -> Finding:
    """An entry-level server GPU exceeds that by 50 times."""
    ratios = {dtype: gpu.peak(dtype) / cpu.peak(dtype) for dtype in ("fp32", "bf16", "int8")}
    told = ", ".join(f"{number(ratio, 2)} times in {dtype}" for dtype, ratio in ratios.items())
    holds = any(within_factor(ratio, claimed("C027"), TWICE) for ratio in ratios.values())
    return Finding(recomputed=f"{gpu.name} over {_short(cpu)}: {told}", verdict=judged(holds))


@trial("C029")
def ceiling_of_a_cpu(cpu=XEON, gpu=H100) -> Finding:
    """Even with BLAS a CPU's ceiling stays orders of magnitude below a GPU's."""
    pairs = (("fp32", "fp32"), ("bf16", "bf16"), ("bf16", "fp32"))
    ratios = [gpu.peak(ours) / cpu.peak(theirs) for ours, theirs in pairs]
    told = ", ".join(
        f"{number(ratio, 2)} times in {ours}" if ours == theirs else f"{number(ratio, 3)} in {ours} against {theirs}"
        for ratio, (ours, theirs) in zip(ratios, pairs, strict=True)
    )
    return Finding(recomputed=f"By the peaks {told}", verdict=judged_by_choice(*(ratio >= ORDERS for ratio in ratios)))


@trial("C035")
def forward_pass_on_a_cpu(cpu=XEON, gpus=(H100, L4)) -> Finding:
    """Running the forward pass on the CPU is the error to avoid."""
    ratios = [gpu.memory_bytes_per_s / cpu.memory_bytes_per_s for gpu in gpus]
    told = ", ".join(
        f"{number(ratio, 2)} times as fast on an {gpu.name.split()[0]}" for gpu, ratio in zip(gpus, ratios, strict=True)
    )
    return Finding(
        recomputed=f"A token for one user, by the bandwidths: {told}",
        verdict=judged_by_choice(*(ratio >= AVOID for ratio in ratios)),
    )
