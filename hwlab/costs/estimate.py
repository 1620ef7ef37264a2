"""What to expect of a model on chips: time to first token, time per output token, what binds, what it fills.

`estimate` counts the work of a prompt and of a mean decode step, prices it at what the chips sustain, and
answers with one record. A machine whose memory does not hold the model is refused (`DoesNotFit`), never
simulated; `fits` asks first. Requests are served together as one batch: all prompts in one pass, then all
answers token by token. Queues and a scheduler are not part of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache

from hwlab.costs.efficiency import Band, Efficiency, band_of, efficiency_of
from hwlab.costs.roofline import (
    StepTime,
    Work,
    cache_dtype,
    decode_step_work,
    kv_bytes_per_chip,
    prefill_work,
    price,
    rates,
    why_not_cut,
)
from hwlab.formula import ceil, life_of, maximum, number, real, si, where
from hwlab.units import compute_dtype


class DoesNotFit(ValueError):
    """The weights and the cache do not fit in the memory of the chips.

    Attributes
    ----------
    needed, available : float
        Bytes on the fullest chip, and bytes that a chip has for them.
    chips_required : int or None
        Least number of these chips that would do; None if no number would, because one layer cannot be cut finer.
    """

    def __init__(self, message, needed, available, chips_required):
        super().__init__(message)
        self.needed, self.available, self.chips_required = needed, available, chips_required


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One pass of the busiest replica: the reading of its prompts, or a mean step of decode.

    Attributes
    ----------
    time : StepTime
    seconds, bound, ratio
        Of `time`: how long, what takes longest, and how many times longer than what comes next.
    mfu, mbu : float
        FLOP of the model, and bytes of weights and cache, over what the chips could do in that time at their
        dense datasheet rates. Attention is included; nothing is counted twice.
    flop, memory_bytes : float
        Of one chip.
    """

    time: StepTime
    work: Work = field(repr=False)
    peak_flop_per_s: float = field(repr=False)
    memory_bytes_per_s: float = field(repr=False)

    @property
    def seconds(self):
        return self.time.seconds

    @property
    def bound(self):
        return self.time.bound

    @property
    def ratio(self):
        return self.time.ratio

    @property
    def flop(self):
        return self.work.flop

    @property
    def memory_bytes(self):
        return self.work.memory_bytes

    @property
    def mfu(self):
        return self.work.flop / (self.time.seconds * self.peak_flop_per_s)

    @property
    def mbu(self):
        return self.work.memory_bytes / (self.time.seconds * self.memory_bytes_per_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What `estimate` expects. Numbers, or arrays of the broadcast shape of batch, prompt and output.

    Attributes
    ----------
    ttft_s : float
        Time to first token: all prompts of the batch are read in one pass.
    tpot_s : float
        Time per output token: one decode step at the answer's mean context.
    tokens_per_s : float
        Output tokens of all sequences over the time from the first prompt to the last token.
    tokens_per_s_per_user : float
        Pace of one answer once it runs: 1 / tpot_s.
    prefill, decode : Phase
        What binds in either and by how much, and their utilization.
    bound : str
        What binds where most of the time is spent.
    mfu, mbu : float
        Of the whole run, prompts and answers, over all chips: replicas with fewer sequences than the busiest,
        or none, count for as much less.
    weight_bytes, kv_bytes : float
        On each chip; the cache at its fullest.
    memory_bytes : float
        What a chip has for both.
    kv_fraction : float
        Share of `memory_bytes` that the cache takes at its fullest.
    fits : bool
        True, or an array of bool: False where memory does not hold it or the model has no positions for prompt and
        output; times are NaN there. Traced, a condition for the page; the times then stand by themselves.
    chips_required : int or None
        Least number of these chips that hold weights and cache, whatever their speed.
    chips, tensor, data : int
        Chips in all = replicas (`data`) x chips that share every layer (`tensor`).
    dtype, kv_dtype : str
    efficiency : Efficiency
    ttft_band_s, tpot_band_s : tuple of float, or None
        Where 80 % of published measurements would put the time; None where none was compared.

    Examples
    --------
    >>> import hwlab
    >>> e = estimate(hwlab.model("llama-3.1-70b"), hwlab.chip("h100-sxm"), chips=8, batch=32, dtype="fp8")
    >>> e.decode.bound, e.tensor, e.data, e.chips_required
    ('network', 8, 1, 2)
    """

    model: object = field(repr=False)
    chip: object = field(repr=False)
    chips: int
    tensor: int
    data: int
    batch: float
    prompt_tokens: float
    output_tokens: float
    dtype: str
    kv_dtype: str
    efficiency: Efficiency = field(repr=False)
    ttft_s: float
    tpot_s: float
    prefill: Phase = field(repr=False)
    decode: Phase = field(repr=False)
    weight_bytes: float
    kv_bytes: float
    memory_bytes: float
    fits: bool

    @property
    def seconds(self):
        """From the first prompt to the last token."""
        return self.ttft_s + (self.output_tokens - 1) * self.tpot_s

    @property
    def tokens_per_s(self):
        return self.batch * self.output_tokens / self.seconds

    @property
    def tokens_per_s_per_user(self):
        return 1 / self.tpot_s

    @property
    def bound(self):
        longer_prefill = self.ttft_s >= (self.output_tokens - 1) * self.tpot_s
        return where(longer_prefill, self.prefill.bound, self.decode.bound)

    @property
    def mfu(self):
        return self._over_the_run(self.prefill.flop, self.decode.flop, self.prefill.peak_flop_per_s)

    @property
    def mbu(self):
        return self._over_the_run(self.prefill.memory_bytes, self.decode.memory_bytes, self.prefill.memory_bytes_per_s)

    def _over_the_run(self, prefill, step, rate):
        share = self.batch / (self.data * ceil(self.batch / self.data))  # of what the busiest replica does
        return share * (prefill + (self.output_tokens - 1) * step) / (self.seconds * rate)

    @property
    def kv_fraction(self):
        return self.kv_bytes / self.memory_bytes

    @property
    def chips_required(self):
        if life_of(self.batch, self.prompt_tokens, self.output_tokens) != "py":
            raise ValueError("chips_required is of one configuration; this estimate holds arrays")
        load = self.batch, self.prompt_tokens + self.output_tokens, self.dtype, self.kv_dtype
        sizes = {*tensor_sizes(self.model, self.chip), self.tensor}
        return _least(self.model, self.chip, load, self.memory_bytes, sizes)[0]

    def band(self, phase: str) -> Band | None:
        """How published measurements lie about predictions like this: "prefill" or "decode"; None if none was compared.

        Bands belong to the default constants, so there is none when `efficiency` was given. Nor is there one for
        models with recurrent state, of which none was compared, nor for experts on a kind of chip on which only
        dense models were.
        """
        if phase not in ("prefill", "decode"):
            raise ValueError(f"phase is {phase!r}; give 'prefill' or 'decode'")
        if self.efficiency is not efficiency_of(self.chip) or self.model.state_bytes:
            return None
        routed = "_routed" if self.model.num_experts else ""
        return band_of(self.chip.kind, phase + routed)

    @property
    def ttft_band_s(self):
        band = self.band("prefill")
        return band and (self.ttft_s * band.low, self.ttft_s * band.high)

    @property
    def tpot_band_s(self):
        band = self.band("decode")
        return band and (self.tpot_s * band.low, self.tpot_s * band.high)

    def explain(self, phase: str = "decode") -> str:
        """One sentence: what binds in "prefill" or "decode", by how much, and what would flip it.

        Raises
        ------
        ValueError
            If the estimate holds arrays, or there is no such phase.

        Examples
        --------
        >>> import hwlab
        >>> e = estimate(hwlab.model("llama-3.1-8b"), hwlab.chip("h100-sxm"), prompt_tokens=1024, output_tokens=128)
        >>> e.explain("prefill")
        'Prefill takes 19.5 ms and is compute-bound: arithmetic takes 3.24 × as long as memory traffic; the two are ...'
        """
        if phase not in ("prefill", "decode"):
            raise ValueError(f"phase is {phase!r}; give 'prefill' or 'decode'")
        if life_of(self.tpot_s) != "py":
            raise ValueError("explain speaks of one configuration; this estimate holds arrays")
        return _explain(self, phase)


def _checked(name, value):
    """`value`, if it is a whole number of at least 1 or an array of them, then in floating point.

    Arrays of one number become numbers.
    """
    if type(value) is int and 1 <= value < 2**53:
        return value
    life = life_of(value)
    if life in ("jax", "sym"):
        return real(value)
    if life == "numpy":
        if value.dtype.kind not in "iuf" or not (value >= 1).all() or not (value < 2**53).all():
            raise ValueError(f"{name} holds {value!r}; every element must be a number of at least 1")
        if value.dtype.kind == "f" and not (value == value.round()).all():
            raise ValueError(f"{name} holds {value!r}; every element must be whole")
        return value.item() if value.shape == () else real(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}); give a whole number of at least 1, or an array")
    if not 1 <= value < 2**53 or value != int(value):
        raise ValueError(f"{name} is {value!r}; give a whole number of at least 1")
    return value


def _checked_count(name, value):
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}); give a whole number of at least 1")
    if value < 1:
        raise ValueError(f"{name} is {value!r}; give a whole number of at least 1")
    return value


def tensor_sizes(model, chip) -> tuple[int, ...]:
    """Into how many chips the layers of `model` can be cut: heads and widths must come out whole.

    Never more than the chip's scale-up fabric joins (`scale_up_chips`), and one where the chip has no published
    link, where the record does not say how many chips its links join, and where it is a whole system.

    Examples
    --------
    >>> import hwlab
    >>> tensor_sizes(hwlab.model("llama-3.1-8b"), hwlab.chip("h100-sxm"))
    (1, 2, 4, 8)
    """
    if chip.link_bytes_per_s is None or chip.scale_up_chips is None or chip.kind == "system":
        return (1,)
    return _sizes(
        model.num_heads or model.hidden_size, model.num_kv_heads, model.intermediate_size, chip.scale_up_chips
    )


@cache
def _sizes(heads, kv_heads, width, most):
    return tuple(t for t in range(1, min(heads, most) + 1) if why_not_cut(heads, kv_heads, width, t) is None)


def _split(model, chip, chips, tensor, data, load, available):
    """(tensor, data, weight bytes, cache bytes) with tensor * data == chips.

    Unless told otherwise, the largest tensor with which the fullest chip holds its share of `load`, its batch,
    tokens and dtypes; the largest of all where none does.
    """
    if tensor is not None or data is not None:
        tensor, data = _checked_split(model, chip, chips, tensor, data)
        return tensor, data, *_needed(model, *load, tensor, data)
    most = None
    for tensor in reversed(tensor_sizes(model, chip)):
        if chips % tensor == 0:
            split = tensor, chips // tensor, *_needed(model, *load, tensor, chips // tensor)
            held = split[2] + split[3] <= available
            if held is True or (life_of(held) == "numpy" and held.all()):
                return split
            most = most or split
    return most


def _checked_split(model, chip, chips, tensor, data):
    """(tensor, data) of which one at least was asked for, the other follows."""
    sizes = tensor_sizes(model, chip)
    if tensor is None:
        tensor = chips // _checked_count("data", data)
    elif data is None:
        data = chips // _checked_count("tensor", tensor)
    if _checked_count("tensor", tensor) * _checked_count("data", data) != chips:
        raise ValueError(f"chips is {chips}, tensor {tensor} and data {data}; give numbers with tensor x data = chips")
    if tensor in sizes:
        return tensor, data
    if chip.kind == "system":
        raise ValueError(
            f"tensor is {tensor}, but {chip.name} is a whole system; name the chip inside it, e.g. gb200 with chips=72"
        )
    reason = why_not_cut(model.num_heads or model.hidden_size, model.num_kv_heads, model.intermediate_size, tensor)
    if chip.link_bytes_per_s is None:
        reason = f"{chip.name} has no published link rate"
    elif reason is None and chip.scale_up_chips is None:
        return tensor, data  # the reader says what the record does not: that the links join so many
    elif reason is None:
        reason = f"the scale-up fabric of {chip.name} joins {chip.scale_up_chips} chips"
    raise ValueError(f"tensor is {tensor}, but {reason}; give one of {', '.join(map(str, sizes))}")


def _usable(chip, efficiency):
    if chip.memory_bytes is None:
        raise ValueError(f"{chip.name} has no published memory size")
    return chip.memory_bytes * efficiency.usable_memory


def _needed(model, batch, tokens, dtype, kv_dtype, tensor, data):
    """(weight bytes, cache bytes at its fullest) on the fullest chip."""
    sequences = batch if data == 1 else ceil(batch / data)
    kv = kv_bytes_per_chip(model, model.kv_bytes(tokens, kv_dtype), tensor) * sequences
    return model.weight_bytes(dtype) / tensor, kv


def chips_required(model, chip, *, batch=1, tokens=1, dtype="bf16", kv_dtype=None, efficiency=None) -> int | None:
    """Least number of `chip` that hold the weights and the cache of `batch` sequences of `tokens` tokens.

    Layers are cut as far as `tensor_sizes` allows, sequences shared among replicas.

    Returns
    -------
    int or None
        None if no number of them does.

    Raises
    ------
    ValueError
        If `batch` or `tokens` is an array, or the chip has no published memory size.

    Examples
    --------
    DeepSeek-V3 in bf16 weighs 1.34 TB, too much for the eight H100 that share a board:

    >>> import hwlab
    >>> print(*(chips_required(hwlab.model("deepseek-v3"), hwlab.chip(c), tokens=4096) for c in ("h100-sxm", "gb200")))
    None 8
    """
    for name, value in (("batch", batch), ("tokens", tokens)):
        if life_of(_checked(name, value)) != "py":
            raise ValueError(f"{name} is an array; ask for one configuration at a time")
    available = _usable(chip, efficiency or efficiency_of(chip))
    load = batch, tokens, dtype, kv_dtype or cache_dtype(dtype)
    return _least(model, chip, load, available, tensor_sizes(model, chip))[0]


def _least(model, chip, load, available, sizes):
    """(chips, tensor) of the smallest number of chips that hold the load, tensor one of `sizes`; None, None if none."""
    batch, *rest = load
    found = []
    for tensor in sizes:
        weights, kv = _needed(model, 1, *rest, tensor, 1)
        sequences = batch if kv == 0 else math.floor((available - weights) / kv)
        if weights <= available and sequences >= 1:
            found.append((tensor * math.ceil(batch / sequences), tensor))
    return min(found, default=(None, None))


def fits(
    model,
    chip,
    *,
    chips=1,
    batch=1,
    prompt_tokens=1024,
    output_tokens=128,
    dtype="bf16",
    kv_dtype=None,
    tensor=None,
    data=None,
    efficiency=None,
):
    """Whether `estimate`, asked the same, would find memory enough: bool, or an array of bool.

    Raises
    ------
    ValueError, TypeError
        As `estimate` does for what it cannot price.

    Examples
    --------
    >>> import hwlab
    >>> [fits(hwlab.model("llama-3.1-70b"), hwlab.chip("h100-sxm"), chips=n) for n in (1, 2)]
    [False, True]
    """
    batch, prompt_tokens, output_tokens = _validated(batch, prompt_tokens, output_tokens, chips)
    efficiency = efficiency or efficiency_of(chip)
    available = _usable(chip, efficiency)
    rates(chip, dtype, efficiency)  # what `estimate` could not price is refused here too
    load = batch, prompt_tokens + output_tokens, dtype, kv_dtype or cache_dtype(dtype)
    within = _within(model, prompt_tokens, output_tokens)
    _, _, weight_bytes, kv_bytes = _split(model, chip, chips, tensor, data, load, available)
    held = weight_bytes + kv_bytes <= available
    return held if within is True else held & within


def _validated(batch, prompt_tokens, output_tokens, chips):
    _checked_count("chips", chips)
    return (
        _checked("batch", batch),
        _checked("prompt_tokens", prompt_tokens),
        _checked("output_tokens", output_tokens),
    )


def _within(model, prompt_tokens, output_tokens):
    """True, or for an array of tokens where the model has that many positions."""
    tokens, most = prompt_tokens + output_tokens, model.max_context_tokens
    if most is None or life_of(tokens) == "sym":
        return True
    if life_of(tokens) != "py":
        return tokens <= most
    if tokens > most:
        raise ValueError(
            f"prompt_tokens + output_tokens is {number(tokens, 9)}, but {model.name or model.id or model.architecture} "
            f"takes at most {number(most, 9)}; ask for fewer"
        )
    return True


def estimate(
    model,
    chip,
    *,
    chips=1,
    batch=1,
    prompt_tokens=1024,
    output_tokens=128,
    dtype="bf16",
    kv_dtype=None,
    tensor=None,
    data=None,
    efficiency=None,
) -> Estimate:
    """What to expect of `model` on `chips` of `chip`.

    Parameters
    ----------
    model : ModelSpec
    chip : Chip
    chips : int
        How many chips in all.
    batch : int or array
        Sequences served together, over all chips.
    prompt_tokens, output_tokens : int or array
        Of each sequence. Arrays broadcast against each other and against `batch`.
    dtype : str
        Of the weights, one of `hwlab.units.BITS`. Its `compute_dtype` says which peak counts.
    kv_dtype : str, optional
        Of the KV cache; as the weights where they have 16 bits or more, else bf16.
    tensor : int, optional
        Chips that share every layer (tensor parallel, with all-reduces). By default the most that heads, widths
        and the scale-up fabric allow and with which the cache fits. One where the record of the chip does not
        say how many its links join: then give what yours do.
    data : int, optional
        Replicas that share the batch; by default `chips` / `tensor`. The busiest one is timed.
    efficiency : Efficiency, optional
        What the chips sustain: by default the constants of the chip's kind. `IDEAL` is the bare roofline.

    Returns
    -------
    Estimate

    Raises
    ------
    DoesNotFit
        If weights and cache exceed the memory of the chips: needed, available and chips required. With arrays
        there is no error: `fits` is False and times are NaN where it does not fit.
    ValueError, TypeError
        If an argument is no positive whole number, prompt and output are longer than the model's context (in an
        array, `fits` is False there), the layers cannot be cut that way, or the chip lacks a
        published peak for the dtype, a bandwidth, a memory size or a link rate.

    Notes
    -----
    The answer's first token comes from prefill; of the other output_tokens - 1, the mean one attends to
    prompt_tokens + output_tokens / 2 tokens, itself included. One step at that context stands for all.

    Examples
    --------
    >>> import hwlab
    >>> e = estimate(hwlab.model("llama-3.1-8b"), hwlab.chip("h100-sxm"), batch=8)
    >>> round(e.tpot_s * 1e3, 1), e.decode.bound  # milliseconds
    (7.0, 'memory')
    >>> estimate(hwlab.model("llama-3.1-70b"), hwlab.chip("h100-sxm"))
    Traceback (most recent call last):
    hwlab.costs.estimate.DoesNotFit: Llama 3.1 70B in bf16 with a cache for 1 x 1,152 tokens needs 141.5 GB ...
    """
    batch, prompt_tokens, output_tokens = _validated(batch, prompt_tokens, output_tokens, chips)
    kv_dtype = kv_dtype or cache_dtype(dtype)
    efficiency = efficiency or efficiency_of(chip)
    available = _usable(chip, efficiency)
    sustained = rates(chip, dtype, efficiency)
    load = batch, prompt_tokens + output_tokens, dtype, kv_dtype
    within = _within(model, prompt_tokens, output_tokens)
    tensor, data, weight_bytes, kv_bytes = _split(model, chip, chips, tensor, data, load, available)
    held = weight_bytes + kv_bytes <= available
    if held is False:
        raise _does_not_fit(model, chip, tensor, data, load, weight_bytes + kv_bytes, available)
    held = held if within is True else held & within

    sequences = batch if data == 1 else ceil(batch / data)
    shared = {"batch": sequences, "dtype": dtype, "kv_dtype": kv_dtype, "tensor": tensor}
    context = prompt_tokens + maximum(output_tokens / 2, 1)
    prefill = prefill_work(model, prompt_tokens=prompt_tokens, **shared)
    decode = decode_step_work(model, context=context, **shared)
    nominal = {"peak_flop_per_s": chip.peak(compute_dtype(dtype)), "memory_bytes_per_s": chip.memory_bytes_per_s}
    prefill = Phase(time=price(prefill, sustained), work=prefill, **nominal)
    decode = Phase(time=price(decode, sustained), work=decode, **nominal)
    ttft_s, tpot_s = prefill.seconds, decode.seconds
    if held is not True and life_of(held) != "sym":  # a page has no NaN: it asks `fits`
        ttft_s, tpot_s = where(held, ttft_s, math.nan), where(held, tpot_s, math.nan)
    return Estimate(
        model=model,
        chip=chip,
        chips=chips,
        tensor=tensor,
        data=data,
        batch=batch,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        dtype=dtype,
        kv_dtype=kv_dtype,
        efficiency=efficiency,
        ttft_s=ttft_s,
        tpot_s=tpot_s,
        prefill=prefill,
        decode=decode,
        weight_bytes=weight_bytes,
        kv_bytes=kv_bytes,
        memory_bytes=available,
        fits=held,
    )


def _does_not_fit(model, chip, tensor, data, load, needed, available):
    batch, tokens, dtype, _ = load
    chips = tensor * data
    required, of = _least(model, chip, load, available, tensor_sizes(model, chip))
    if required is None:
        remedy = "no cut of its layers among these chips is fine enough; pipelines of layers are not modelled"
        if chip.link_bytes_per_s is not None and chip.scale_up_chips is None:
            remedy += f"; the record does not say how many {chip.name} its links join: if you know, give tensor="
    elif required > chips:
        remedy = f"use {required} chips as tensor={of}, or fewer bits a weight"
    elif chips % of == 0:
        remedy = f"use tensor={of}"
    else:
        more = of * math.ceil(chips / of)
        remedy = f"{chips} chips cannot be shared out so that it does; use {required} or {more} as tensor={of}"
    return DoesNotFit(
        f"{model.name or model.id or model.architecture} in {dtype} with a cache for {number(batch)} x "
        f"{number(tokens)} tokens needs {si(needed, 'B', 4)} on each of {chips} {chip.name} (tensor {tensor} x data "
        f"{data}), which has {si(available, 'B', 4)} for it (of {si(chip.memory_bytes, 'B', 4)}): {remedy}",
        needed,
        available,
        required,
    )


# --- the sentence -----------------------------------------------------------------------------------------------------

_SAID = {
    "compute": "arithmetic",
    "memory": "memory traffic",
    "network": "exchange between chips",
    "overhead": "launch overhead",
}


def _explain(e, phase):
    p = getattr(e, phase)
    parts = {name: getattr(p.time, f"{name}_s") for name in _SAID}
    second = max((name for name in parts if name != p.bound), key=parts.get)
    flip = _FLIPS[p.bound](e, phase, p)
    return (
        f"{phase.capitalize()} takes {si(p.seconds, 's')} and is {p.bound}-bound: {_SAID[p.bound]} takes "
        f"{number(p.ratio)} × as long as {_SAID[second]}; {flip}."
    )


def _flip_roof(e, phase, p):
    r = rates(e.chip, e.dtype, e.efficiency)
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
        needed = sum(_needed(e.model, batch * e.data, tokens, e.dtype, e.kv_dtype, e.tensor, e.data))
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
    endless = rates(e.chip, e.dtype, e.efficiency)._replace(link_bytes_per_s=math.inf)
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
