"""What to expect of a model on chips: time to first token, time per output token, what binds, what it fills.

`estimate` counts the work of a prompt and of a mean decode step, prices it at what the chips sustain, and
answers with one record. A machine whose memory does not hold the model is refused (`DoesNotFit`), never
simulated; `fits` asks first. Requests are served together as one batch: all prompts in one pass, then all
answers token by token. Queues and a scheduler are not part of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hwlab.costs.efficiency import Band, Efficiency, band_of, efficiency_of
from hwlab.costs.explain import explain
from hwlab.costs.placement import (
    check_records,
    checked,
    does_not_fit,
    least_chips,
    split,
    tensor_sizes,
    usable_bytes,
)
from hwlab.costs.roofline import StepTime, Work, cache_dtype, decode_step_work, prefill_work, price, rates
from hwlab.formula import ceil, life_of, maximum, number, where, whole
from hwlab.units import compute_dtype


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
        What binds in either and by how much, and their utilization; in arrays also where memory would not hold it.
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
        return least_chips(self.model, self.chip, load, self.memory_bytes, sizes)[0]

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
        return explain(self, phase)


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
    check_records(model, chip, efficiency)
    chips = whole(chips=chips)
    batch, prompt_tokens, output_tokens = _validated(batch, prompt_tokens, output_tokens)
    efficiency = efficiency or efficiency_of(chip)
    available = usable_bytes(chip, efficiency)
    rates(chip, dtype, efficiency)  # what `estimate` could not price is refused here too
    load = batch, prompt_tokens + output_tokens, dtype, kv_dtype or cache_dtype(dtype)
    within = _within(model, prompt_tokens, output_tokens)
    _, _, weight_bytes, kv_bytes = split(model, chip, chips, tensor, data, load, available)
    held = weight_bytes + kv_bytes <= available
    return held if within is True else held & within


def _validated(batch, prompt_tokens, output_tokens):
    load = checked("batch", batch), checked("prompt_tokens", prompt_tokens), checked("output_tokens", output_tokens)
    shapes = [getattr(x, "shape", ()) for x in load]
    if any(shapes):
        import numpy as np

        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            batch, prompt, output = shapes
            raise ValueError(
                f"batch has shape {batch}, prompt_tokens {prompt} and output_tokens {output}; "
                "give shapes that broadcast against each other"
            ) from None
    return load


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
    hwlab.costs.placement.DoesNotFit: Llama 3.1 70B in bf16 with a cache for 1 x 1,152 tokens needs 141.5 GB ...
    """
    check_records(model, chip, efficiency)
    chips = whole(chips=chips)
    batch, prompt_tokens, output_tokens = _validated(batch, prompt_tokens, output_tokens)
    kv_dtype = kv_dtype or cache_dtype(dtype)
    efficiency = efficiency or efficiency_of(chip)
    available = usable_bytes(chip, efficiency)
    load = batch, prompt_tokens + output_tokens, dtype, kv_dtype
    within = _within(model, prompt_tokens, output_tokens)
    tensor, data, weight_bytes, kv_bytes = split(model, chip, chips, tensor, data, load, available)
    held = weight_bytes + kv_bytes <= available
    if held is False:
        raise does_not_fit(model, chip, tensor, data, load, weight_bytes + kv_bytes, available)
    held = held if within is True else held & within

    sustained = rates(chip, dtype, efficiency, tensor)
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
