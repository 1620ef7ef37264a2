"""The claims about prefill and decode: what binds in either, what a step reads, and what is left idle meanwhile.

Steps are those of Llama 2 70B in bf16 on eight H100s by the roofline, unless an input says otherwise.
"""

from __future__ import annotations

from hwlab.costs.efficiency import efficiency_of
from hwlab.costs.network import all_reduce_time
from hwlab.costs.roofline import decode_step_time, decode_step_work, prefill_time, prefill_work, ridge
from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.claims import claim
from hwlab.specs.models import experts_touched
from hwlab.specs.models import model as model_of
from hwlab.specs.papers import paper
from hwlab.studies.trials import Finding, judged, judged_by_choice, near, trial, within_factor
from hwlab.units import bytes_per_element

LLAMA_2_70B, H100, CHIPS = model_of("llama-2-70b"), chip("h100-sxm"), 8
DEEPSEEK_V4_PRO = paper("deepseek-ai-2026").gives
PROMPT, CONTEXT = 1024, 1024  # tokens; the first is the source's own
MOSTLY, NEARLY_ALL = 0.5, 0.99
SHARED = {"dtype": "bf16", "tensor": CHIPS}


def _bound(time) -> str:
    """What binds of the two that overlap."""
    return "compute" if time.compute_s >= time.memory_s else "memory"


def _at_work(time) -> float:
    """Share of the longer of arithmetic and memory traffic in which the arithmetic is at work."""
    return time.compute_s / max(time.compute_s, time.memory_s)


@trial("C103")
def two_regimes(model=LLAMA_2_70B, chip=H100, tokens=PROMPT, batch=1) -> Finding:
    """Inference has two fundamentally different regimes, prefill and decode."""
    reading = prefill_work(model, prompt_tokens=tokens, **SHARED)
    writing = decode_step_work(model, context=CONTEXT, batch=batch, **SHARED)
    far = [work.flop / work.memory_bytes / ridge(chip, "bf16") for work in (reading, writing)]
    told = f"{tokens:,} tokens read at once do {number(far[0])} times the FLOP a byte of the ridge"
    return Finding(
        recomputed=f"{told}; a step that writes for {batch} does 1/{number(1 / far[1])} of them",
        verdict=judged(far[0] > 1 > far[1]),
    )


@trial("C104")
def prefill_is_bound_by_compute(model=LLAMA_2_70B, chip=H100, tokens=PROMPT, few=64) -> Finding:
    """Prefill processes all prompt tokens in parallel and is compute-bound."""
    whole, short = (prefill_time(model, chip, prompt_tokens=n, **SHARED) for n in (tokens, few))
    told = f"{tokens:,} tokens: {si(whole.compute_s, 's')} of arithmetic, {si(whole.memory_s, 's')} of memory"
    return Finding(
        recomputed=f"{told}. {few} tokens: {si(short.compute_s, 's')} and {si(short.memory_s, 's')}",
        verdict=judged(_bound(whole) == "compute"),
    )


@trial("C107")
def decode_reads_all_weights(model=LLAMA_2_70B, chip=H100, batch=512, routed=DEEPSEEK_V4_PRO) -> Finding:
    """Decode is memory-bandwidth-bound: each step loads all weights from HBM."""
    one, many = (decode_step_time(model, chip, context=128, batch=n, **SHARED) for n in (1, batch))
    share = routed["active_params"] / routed["params"]
    told = f"{model.name} at batch 1: {_bound(one)}, all weights; with {batch} users of 128 tokens: {_bound(many)}"
    return Finding(
        recomputed=f"{told}; DeepSeek-V4-Pro uses {number(100 * share)} % of its weights for a token",
        verdict=judged_by_choice(_bound(one) == "memory", _bound(many) == "memory", share > MOSTLY),
    )


@trial("C109")
def intensity_of_decode(model=LLAMA_2_70B, dtype="bf16", batch=1) -> Finding:
    """The arithmetic intensity of decode falls to O(1) a byte."""
    work = decode_step_work(model, context=CONTEXT, batch=batch, dtype=dtype)
    cache = model.kv_bytes_read(CONTEXT, dtype)
    attention = (model.flop_per_token(CONTEXT) - model.flop_per_token(0)) / cache
    intensity = work.flop / work.memory_bytes
    told = f"{number(intensity)} FLOP a byte at batch {batch}: 2 FLOP for {bytes_per_element(dtype):g} bytes of weight"
    return Finding(
        recomputed=f"{told}; {number(attention)} FLOP a byte of cache, at any batch",
        verdict=judged(within_factor(intensity, 1, 2)),
    )


@trial("C110")
def bytes_not_flop(model=LLAMA_2_70B, chip=H100, batch=1) -> Finding:
    """In decode bytes a second matter, and not FLOP a second."""
    time = decode_step_time(model, chip, context=CONTEXT, batch=batch, **SHARED)
    gains = [
        max(time.compute_s, time.memory_s) / max(time.compute_s / peak, time.memory_s / bandwidth)
        for peak, bandwidth in ((1, 2), (2, 1))
    ]
    told = f"{si(time.memory_s, 's')} a step, the arithmetic at work {number(100 * _at_work(time))} % of it"
    return Finding(
        recomputed=f"{told}; twice the bandwidth: {number(gains[0])} × as fast, twice the FLOP/s: {number(gains[1])} ×",
        verdict=judged(near(gains[0], 2, within=0.05) and near(gains[1], 1, within=0.05)),
    )


@trial("C211")
def bytes_for_a_flop(training_tokens=4_000_000, batch=1, dtype="bf16") -> Finding:
    """Training spreads a reading of the weights over many tokens, decode over few: bytes for a FLOP differ."""
    each = bytes_per_element(dtype)
    decode, training = each / (2 * batch), each / (2 * training_tokens)
    told = f"Bytes of weights for a FLOP: {number(decode)} at batch {batch}"
    return Finding(
        recomputed=f"{told}, 1/{number(1 / training)} with {number(training_tokens)} tokens in a step",
        verdict=judged(decode / training > 100),
    )


@trial("C229")
def waiting_for_data(model=LLAMA_2_70B, chip=H100, batch=1) -> Finding:
    """Inference at low latency spends much of its time waiting for data."""
    time = decode_step_time(model, chip, context=CONTEXT, batch=batch, **SHARED)
    told = f"{si(time.compute_s, 's')} of arithmetic in a step of {si(max(time.compute_s, time.memory_s), 's')}"
    return Finding(
        recomputed=f"{told}: {number(100 * (1 - _at_work(time)))} % of it waits",
        verdict=judged(1 - _at_work(time) > MOSTLY),
    )


@trial("C238")
def training_and_prefill(model=LLAMA_2_70B, chip=H100, many=8192, few=512) -> Finding:
    """Training and prefill are compute-bound."""
    reading = prefill_time(model, chip, prompt_tokens=PROMPT, **SHARED)
    # gradients in bf16 are summed over all chips once a step, for 6 FLOP a parameter and token
    exchange = all_reduce_time(2 * model.num_params, CHIPS, link_bytes_per_s=chip.link_bytes_per_s)
    steps = {tokens: 6 * model.num_params * tokens / chip.peak("bf16") for tokens in (many, few)}
    told = f"Prefill of {PROMPT:,} tokens: {_bound(reading)}. Training on {CHIPS} chips, arithmetic over exchange"
    return Finding(
        recomputed=f"{told}: {number(steps[many] / exchange)} with {many:,} tokens a chip, "
        f"{number(steps[few] / exchange)} with {few:,}",
        verdict=judged_by_choice(_bound(reading) == "compute", *(step > exchange for step in steps.values())),
    )


@trial("C239")
def dozens_or_hundreds(model=LLAMA_2_70B, chip=H100, tokens=(36, 400)) -> Finding:
    """Prefill reads the model once for dozens or hundreds of tokens and so reaches high occupancy."""
    shares = [_at_work(prefill_time(model, chip, prompt_tokens=n, **SHARED)) for n in tokens]
    told = ", ".join(f"{number(100 * share)} % with {n}" for share, n in zip(shares, tokens, strict=True))
    return Finding(
        recomputed=f"Arithmetic at work: {told} tokens", verdict=judged(all(share > MOSTLY for share in shares))
    )


@trial("C240")
def strictly_bound(model=LLAMA_2_70B, chip=H100, batch=512, small=None) -> Finding:
    """Decode is strictly memory-bandwidth-bound."""
    time = decode_step_time(model, chip, context=128, batch=batch, **SHARED)
    small = small or model_of("smollm2-135m")
    real = decode_step_time(small, chip, context=128, dtype="bf16", efficiency=efficiency_of(chip))
    told = f"{batch} users with 128 tokens each: {_bound(time)}"
    return Finding(
        recomputed=f"{told}; one user of {small.name}: {real.bound}, {si(real.overhead_s, 's')} of launches",
        verdict=judged(_bound(time) == "memory" == real.bound),
    )


@trial("C241")
def all_weights_for_a_token(routed=DEEPSEEK_V4_PRO, batches=(1, 8, 64, 256)) -> Finding:
    """Every token needs all the weights of the model, 1.6 trillion parameters for example, moved from memory."""
    params = float(claim("C241").figures[0].removesuffix("T")) * 1e12
    share = routed["active_params"] / params
    shape = routed["experts"], routed["experts_per_token"]
    read = ", ".join(f"{number(experts_touched(*shape, n), 2 if n < 64 else 3)} at {n}" for n in batches)
    told = f"DeepSeek-V4-Pro uses {number(routed['active_params'] / 1e9)} billion of {number(params / 1e12)} trillion"
    return Finding(
        recomputed=f"{told}, {number(100 * share, 2)} %; experts of {shape[0]} read in a layer, by users: {read}",
        verdict=judged(share > NEARLY_ALL),
    )


@trial("C242")
def wasted_arithmetic(chip=H100, batch=1, dtype="bf16") -> Finding:
    """Reading hundreds of GB for one token wastes nearly all of a GPU's arithmetic."""
    intensity = 2 * batch / bytes_per_element(dtype)
    idle = 1 - min(1, intensity / ridge(chip, dtype))
    told = f"{number(intensity)} FLOP a byte, the ridge of {chip.name} at {number(ridge(chip, dtype))}"
    return Finding(recomputed=f"{told}: {number(100 * idle, 4)} % idle", verdict=judged(idle > NEARLY_ALL))
