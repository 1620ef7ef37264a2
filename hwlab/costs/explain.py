"""One sentence about an estimate: what binds, by how much, and what would flip it."""

from __future__ import annotations

import math

from hwlab.costs.placement import needed_bytes
from hwlab.costs.roofline import decode_step_work, prefill_work, price, rates
from hwlab.formula import number, si

_SAID = {
    "compute": "arithmetic",
    "memory": "memory traffic",
    "network": "exchange between chips",
    "overhead": "launch overhead",
}


def explain(e, phase: str) -> str:
    """The sentence of `Estimate.explain`."""
    p = getattr(e, phase)
    parts = {name: getattr(p.time, f"{name}_s") for name in _SAID}
    second = max((name for name in parts if name != p.bound), key=parts.get)
    flip = _FLIPS[p.bound](e, phase, p)
    return (
        f"{phase.capitalize()} takes {si(p.seconds, 's')} and is {p.bound}-bound: {_SAID[p.bound]} takes "
        f"{number(p.ratio)} × as long as {_SAID[second]}; {flip}."
    )


def _flip_roof(e, phase, p):
    r = rates(e.chip, e.dtype, e.efficiency, e.tensor)
    shared = {"dtype": e.dtype, "kv_dtype": e.kv_dtype, "tensor": e.tensor}
    if phase == "prefill":
        tokens = _balance(lambda n: prefill_work(e.model, prompt_tokens=n, **shared), r)
        if tokens is None:
            return "no number of tokens in the pass would make it compute-bound"
        at = f"{number(tokens)} tokens in the pass instead of {number(math.ceil(e.batch / e.data) * e.prompt_tokens)}"
    else:
        context = e.prompt_tokens + max(e.output_tokens / 2, 1)
        batch = _balance(lambda n: decode_step_work(e.model, context=context, batch=n, **shared), r)
        if batch is None:
            return (
                "no batch would make it compute-bound, for each sequence's own cache takes longer to read than to use"
            )
        at = f"{number(batch * e.data)} sequences instead of {number(e.batch)}"
        tokens = e.prompt_tokens + e.output_tokens
        needed = sum(needed_bytes(e.model, batch * e.data, tokens, e.dtype, e.kv_dtype, e.tensor, e.data))
        at += ", whose cache the memory would not hold," if needed > e.memory_bytes else ""
    are_the_two = max(p.time.network_s, p.time.overhead_s) <= min(p.time.compute_s, p.time.memory_s)
    return f"{'the two' if are_the_two else 'arithmetic and memory traffic'} are even at about {at}"


def _balance(work_of, r):
    """Least whole number n of tokens or sequences whose arithmetic takes as long as its memory traffic, or None."""

    def compute_bound(n):
        time = price(work_of(n), r)
        return time.compute_s >= time.memory_s

    high = 1
    while not compute_bound(high):
        high *= 2
        if high > 2**40:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if compute_bound(middle) else (middle, high)
    return high


def _flip_network(e, phase, p):
    """Faster links shorten what the bytes take, and not what each exchange costs to start."""
    endless = rates(e.chip, e.dtype, e.efficiency, e.tensor)._replace(link_bytes_per_s=math.inf)
    started = price(p.work, endless).network_s
    left = p.time.network_s / p.ratio - started  # for the bytes, if the exchange is to take no longer than the next
    fewer = f"fewer than {e.tensor} chips to a layer"
    if left <= 0:
        return f"no faster link would shift it, for starting the exchanges alone takes {si(started, 's')}; {fewer} may"
    return f"links {_enough((p.time.network_s - started) / left)} × as fast, or {fewer}, would shift it"


def _flip_overhead(e, phase, p):
    return f"launches {_enough(p.ratio)} × as cheap, or more work in the pass, would shift it"


def _enough(factor):
    """`factor` in three digits, rounded up, so that it suffices."""
    step = 10.0 ** (math.floor(math.log10(factor)) - 2)
    return number(math.ceil(factor / step) * step)


_FLIPS = {"compute": _flip_roof, "memory": _flip_roof, "network": _flip_network, "overhead": _flip_overhead}
