"""The claims about GPUs other than FlashAttention: what an H100 is made of, its peaks, its links, the cost of launches.

The units of an SM are those of NVIDIA's H100 white paper, 2022.
"""

from __future__ import annotations

from hwlab.costs.efficiency import efficiency_of
from hwlab.formula import number, si
from hwlab.specs.chips import chip, chips
from hwlab.specs.claims import claim
from hwlab.specs.models import model as model_of
from hwlab.specs.papers import paper
from hwlab.studies.launches import kernel_start
from hwlab.studies.trials import Finding, claimed, judged, judged_by_choice, near, trial
from hwlab.units import bytes_per_element

H100, B200, GB200 = chip("h100-sxm"), chip("b200"), chip("gb200")
LLAMA_2_70B = model_of("llama-2-70b")
HOPPER_LANES, HOPPER_TENSOR_CORES, HOPPER_FMA = 128, 4, 512  # an SM's lanes and tensor cores; FMA a clock of one
ROUNDED = 0.005  # printed figures are rounded to less than this
HARDLY = 0.02  # share of a step that nobody would care about


@trial("C036")
def first_tensor_cores(known=None) -> Finding:
    """Tensor cores came with Volta in 2017, for products of mixed precision."""
    gpus = [c for c in known or chips(vendor="NVIDIA") if c.kind == "gpu"]
    first = min((c for c in gpus if "tensor_cores" in c.counts), key=lambda c: c.year)
    mixed = "fp32 accumulate" in first.figure("peak_flop_per_s.fp16").qualifier
    told = f"{first.name}, {first.year}: {first.counts['tensor_cores']} of them, fp16 in"
    return Finding(
        recomputed=f"{told}, fp32 sums" if mixed else told,
        verdict=judged(first.year == claimed("C036") and mixed),
    )


@trial("C038")
def cuda_cores(chip=H100) -> Finding:
    """The H100 SXM5 has 16,896 CUDA cores."""
    lanes = chip.counts["sms"] * HOPPER_LANES
    clock = chip.figure("clock_hz").rivals[0].value  # the highest: at which the vector peak is printed
    told = f"{chip.counts['sms']} SMs × {HOPPER_LANES} = {number(lanes, 5)}; × 2 × {si(clock, 'Hz')}"
    return Finding(
        recomputed=f"{told} = {si(lanes * 2 * clock, 'FLOP/s')}, the fp32 peak",
        verdict=judged(lanes == claimed("C038") and near(lanes * 2 * clock, chip.peak("fp32"), within=ROUNDED)),
    )


@trial("C039")
def tensor_cores(chip=H100) -> Finding:
    """The H100 SXM5 has 528 tensor cores."""
    cores = chip.counts["sms"] * HOPPER_TENSOR_CORES
    peak = cores * HOPPER_FMA * 2 * chip.clock_hz
    told = f"{chip.counts['sms']} SMs × {HOPPER_TENSOR_CORES} = {cores}; × {HOPPER_FMA} FMA × 2"
    return Finding(
        recomputed=f"{told} × {si(chip.clock_hz, 'Hz')} = {si(peak, 'FLOP/s', 4)}, the bf16 peak",
        verdict=judged(cores == claimed("C039") and near(peak, chip.peak("bf16"), within=ROUNDED)),
    )


@trial("C040")
def streaming_multiprocessors(chip=H100) -> Finding:
    """The H100 SXM5 has 132 SMs."""
    sms, printed = chip.counts["sms"], chip.counts["sms_printed"]
    told = f"{sms} of the {printed} on the die; the other {printed - sms} may be faulty"
    return Finding(recomputed=told, verdict=judged(sms == claimed("C040")))


@trial("C041")
def memory_of_the_h100(chip=H100) -> Finding:
    """The H100 SXM5 has 80 GB of HBM3."""
    usable = chip.figure("memory_bytes").rivals[0].value
    told = f"{chip.memory_bytes / 2**30:g} GiB of {chip.memory_kind}, which is {si(chip.memory_bytes, 'B')}"
    gigabytes = claimed("C041") / 1e9
    return Finding(
        recomputed=f"{told}; the driver reports {si(usable, 'B')}",
        verdict=judged(
            chip.memory_kind == "HBM3" and gigabytes in (chip.memory_bytes / 2**30, chip.memory_bytes / 1e9)
        ),
    )


@trial("C042")
def bandwidth_of_the_h100(chip=H100) -> Finding:
    """Its memory bandwidth is 3.35 TB/s."""
    pins, rate = (chip.figure(f"memory_{name}").value for name in ("bus_bits", "bits_per_s_per_pin"))
    derived = pins * rate / 8
    told = f"{number(pins, 4)} pins × {si(rate, 'bit/s')} / 8 = {si(derived, 'B/s')}"
    return Finding(
        recomputed=told,
        verdict=judged(all(near(claimed("C042"), bw, within=0.01) for bw in (derived, chip.memory_bytes_per_s))),
    )


def _dense(id: str, chip, dtype: str) -> Finding:
    """Whether the peak claimed is the dense one."""
    dense, sparse = chip.peak(dtype), chip.figure(f"sparse_peak_flop_per_s.{dtype}").value
    told = f"{si(dense, 'FLOP/s', 4)} dense; {si(sparse, 'FLOP/s', 4)} needs half of the weights to be zero, 2 in 4"
    return Finding(recomputed=told, verdict=judged(near(claimed(id), dense, within=ROUNDED)))


@trial("C043")
def fp8_peak(chip=H100) -> Finding:
    """The H100 peaks at 3,958 TFLOP/s in FP8."""
    return _dense("C043", chip, "fp8")


@trial("C044")
def fp16_peak(chip=H100) -> Finding:
    """The H100 peaks at 1,979 TFLOP/s in FP16."""
    return _dense("C044", chip, "fp16")


@trial("C045")
def nvlink_4(chip=H100) -> Finding:
    """NVLink 4 gives 900 GB/s between the GPUs of a server."""
    one = chip.link_bytes_per_s
    told = f"{si(one, 'B/s')} a GPU in each direction, {si(2 * one, 'B/s')} both ways together"
    return Finding(
        recomputed=told,
        verdict=judged_by_choice(*(near(claimed("C045"), rate, within=ROUNDED) for rate in (one, 2 * one))),
    )


@trial("C063")
def overhead_of_kernels(model=LLAMA_2_70B, chip=H100, chips=8, layer_s=None, start_s=None) -> Finding:
    """GPUs pay an overhead of scheduling and synchronisation that specialised chips avoid."""
    layer_s = layer_s or efficiency_of(chip).layer_s
    one_kernel = start_s or kernel_start()
    reading = model.num_params * bytes_per_element("bf16") / chips / chip.memory_bytes_per_s
    today = model.num_layers * layer_s
    told = f"{model.num_layers} layers × {si(layer_s, 's')} = {si(today, 's', 2)} as engines run today"
    return Finding(
        recomputed=f"{told}, {si(one_kernel, 's', 2)} as one kernel; reading the weights: {si(reading, 's', 2)}",
        verdict=judged_by_choice(today / reading > HARDLY, one_kernel / reading > HARDLY),
    )


@trial("C150")
def fp4_of_blackwell(before=H100, after=B200) -> Finding:
    """Blackwell brings an FP4 tensor core."""
    new = [dtype for dtype in after.peak_flop_per_s if dtype not in before.peak_flop_per_s]
    told = ", ".join(f"{dtype} at {si(after.peak(dtype), 'FLOP/s')}" for dtype in new) or "nothing"
    return Finding(recomputed=f"New against the {before.name.split()[0]}, dense: {told}", verdict=judged("fp4" in new))


@trial("C151")
def bisection_of_a_rack(chip=GB200) -> Finding:
    """The NVLink Switch of Blackwell has a bisection bandwidth of 1.8 TB/s."""
    one, joined = chip.link_bytes_per_s, chip.scale_up_chips
    across = joined // 2 * one
    told = (
        f"{si(2 * one, 'B/s')} is one GPU, both ways; half of {joined} GPUs send {si(across, 'B/s')} across the middle"
    )
    holds = any(near(claimed("C151"), rate, within=ROUNDED) for rate in (across, 2 * across))
    return Finding(recomputed=f"{told}, each way", verdict=judged(holds))


@trial("C170")
def citation_of_flash_attention(found=None) -> Finding:
    """FlashAttention is by Stanford, NeurIPS 2022."""
    found = found or paper("dao-2022")
    parts = ("FlashAttention", found.organisation, found.venue)
    matching = [part for part in parts if part in claim("C170").sentence]
    told = f"{found.short}, {found.organisation}, {found.venue}: {len(matching)} of {len(parts)} parts match"
    holds = len(matching) == len(parts) and found.title.startswith("FlashAttention")
    return Finding(recomputed=told, verdict=judged(holds))
