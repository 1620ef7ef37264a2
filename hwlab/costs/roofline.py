"""The least time in which a chip can do a piece of work: arithmetic at its peak, bytes at its bandwidth.

Work is counted first (`Work`: FLOP, bytes of memory, all-reduces), then priced at what a chip does per
second (`Rates`). Transfer hides behind arithmetic, so the longer of the two sets the pace; what waits for
other chips and what a launch costs come on top (`StepTime`). With `IDEAL`, the default here, times are
lower bounds; `hwlab.costs.efficiency` says how far real machines stay above them.

Every function takes numbers, NumPy or JAX arrays, or traced `Sym` values, and `chip` may be what
``lookup(chips, key)`` returns. Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance
Model for Multicore Architectures", CACM 52(4), 2009.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from hwlab.costs.efficiency import IDEAL, Efficiency
from hwlab.costs.network import all_reduce_time
from hwlab.formula import life_of, maximum, minimum, positive, real, where
from hwlab.units import bytes_per_element, compute_dtype


@dataclass(frozen=True, slots=True)
class StepTime:
    """Where the time of one step goes, in seconds.

    Arithmetic and memory traffic overlap; exchange between chips and fixed costs do not.
    """

    compute_s: float
    memory_s: float
    network_s: float = 0.0
    overhead_s: float = 0.0

    @property
    def seconds(self):
        """The longer of arithmetic and memory traffic, plus exchange and fixed costs."""
        return maximum(self.compute_s, self.memory_s) + self.network_s + self.overhead_s

    @property
    def bound(self):
        """What takes longest: "compute", "memory", "network" or "overhead"; the former where two are equal."""
        roof, rest = maximum(self.compute_s, self.memory_s), maximum(self.network_s, self.overhead_s)
        return where(
            roof >= rest,
            where(self.compute_s >= self.memory_s, "compute", "memory"),
            where(self.network_s >= self.overhead_s, "network", "overhead"),
        )

    @property
    def ratio(self):
        """How many times longer what binds takes than the next longest of the four; infinite where it is alone."""
        c, m, n, o = self.compute_s, self.memory_s, self.network_s, self.overhead_s
        roof, rest = maximum(c, m), maximum(n, o)
        second = maximum(minimum(roof, rest), maximum(minimum(c, m), minimum(n, o)))
        life = life_of(second)
        if life == "py":
            return maximum(roof, rest) / second if second else math.inf
        if life == "sym":  # a browser divides by 0 to infinity
            return maximum(roof, rest) / second
        return where(second > 0, maximum(roof, rest) / where(second > 0, second, 1.0), math.inf)


class Work(NamedTuple):
    """What a step asks of one chip, before any chip is named."""

    flop: float
    memory_bytes: float
    all_reduce_bytes: float = 0.0  # size of the array in each all-reduce
    all_reduces: int = 0
    chips: int = 1  # that share in them
    layers: int = 0  # whose launches cost something
    kept_flop: float | None = None  # of `flop`, what stays at 16 bits beside narrower weights; None: there are none


class Rates(NamedTuple):
    """What one chip sustains at one dtype: plain numbers, so that JAX can differentiate by each of them."""

    flop_per_s: float
    memory_bytes_per_s: float
    link_bytes_per_s: float | None = None
    collective_start_s: float = 0.0
    collective_hop_s: float = 0.0
    layer_s: float = 0.0
    kept_flop_per_s: float | None = None  # of what stays at 16 bits beside narrower weights; None: as flop_per_s


def rates(chip, dtype: str, efficiency: Efficiency = IDEAL, group=None) -> Rates:
    """The rates of `chip` for weights of `dtype`, its dense peak and bandwidth scaled by `efficiency`.

    Beside weights whose arithmetic is narrower, attention, head and router keep the chip's 16-bit peak (that of
    bf16, else fp16); a chip that has neither is taken to compute all of it narrow.

    `group` is the number of chips that exchange with each other. Where a chip's links are divided among its peers,
    one to each, a group smaller than the fabric leaves those to chips outside it idle.

    Raises
    ------
    ValueError
        If the chip has no published peak for the dtype's arithmetic, or no published bandwidth.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> rates(chip("h100-sxm"), "bf16").flop_per_s
    989400000000000.0
    >>> [rates(chip("mi300x"), "bf16", group=n).link_bytes_per_s / 1e9 for n in (2, 8)]  # one link of seven, or all
    [64.0, 448.0]
    """
    arithmetic = compute_dtype(dtype)
    if chip.memory_bytes_per_s is None:
        raise ValueError(f"{chip.name} has no published memory bandwidth")
    link = chip.link_bytes_per_s
    if link is not None and group is not None:
        link = link * minimum(maximum(group - 1, 1), chip.link_peers) / chip.link_peers
    return Rates(
        chip.peak(arithmetic) * efficiency.compute_at(arithmetic),
        chip.memory_bytes_per_s * efficiency.memory,
        None if link is None else link * efficiency.link,
        efficiency.collective_start_s,
        efficiency.collective_hop_s,
        efficiency.layer_s,
        _kept_peak(chip, arithmetic, efficiency),
    )


def _kept_peak(chip, arithmetic, efficiency):
    for kept in ("bf16", "fp16") if bytes_per_element(arithmetic) < 2 else ():
        try:
            return chip.peak(kept) * efficiency.compute_at(kept)
        except ValueError:
            continue
    return chip.peak(arithmetic) * efficiency.compute_at(arithmetic)


def price(work: Work, rates: Rates) -> StepTime:
    """Seconds that `work` takes at these rates.

    Examples
    --------
    How much faster does decode get, in seconds, for each further byte/s of bandwidth? jax.grad answers:

    >>> import jax
    >>> work = Work(flop=2e9, memory_bytes=1e9)
    >>> slope = jax.grad(lambda r: price(work, r).seconds)(Rates(1e15, 2e12))
    >>> abs(float(slope.flop_per_s)), float(slope.memory_bytes_per_s)  # 0 and -1e9 / 2e12^2
    (0.0, -2.5...e-16)
    """
    network_s = 0.0
    if work.all_reduces:
        network_s = work.all_reduces * all_reduce_time(
            work.all_reduce_bytes,
            work.chips,
            link_bytes_per_s=rates.link_bytes_per_s,
            start_s=rates.collective_start_s,
            hop_s=rates.collective_hop_s,
        )
    compute_s = work.flop / rates.flop_per_s
    if work.kept_flop is not None and rates.kept_flop_per_s is not None:
        compute_s = (work.flop - work.kept_flop) / rates.flop_per_s + work.kept_flop / rates.kept_flop_per_s
    return StepTime(
        compute_s,
        work.memory_bytes / rates.memory_bytes_per_s,
        network_s,
        work.layers * rates.layer_s,
    )


# --- one product ----------------------------------------------------------------------------------------------------


def matmul_flop(m, k, n):
    """FLOP of ``x[m, k] @ w[k, n]``: m n inner products of k multiplications and k additions.

    >>> matmul_flop(1, 8192, 8192)
    134217728
    """
    positive(m=m, k=k, n=n)
    m, k, n = real(m, k, n)
    return 2 * m * k * n


def matmul_bytes(m, k, n, *, dtype: str):
    """Least bytes moved by ``x[m, k] @ w[k, n] -> y[m, n]``, all three of `dtype`: each array crosses once.

    >>> matmul_bytes(1, 8192, 8192, dtype="bf16") / 1e6  # MB
    134.250496
    """
    positive(m=m, k=k, n=n)
    m, k, n = real(m, k, n)
    return (m * k + k * n + m * n) * bytes_per_element(dtype)


def arithmetic_intensity(m, k, n, *, dtype: str):
    """FLOP for each byte that ``x[m, k] @ w[k, n]`` moves at least.

    Examples
    --------
    A product of square matrices does n/3 FLOP a byte in bf16, a product with one row about 1:

    >>> arithmetic_intensity(3000, 3000, 3000, dtype="bf16")
    1000.0
    >>> round(arithmetic_intensity(1, 8192, 8192, dtype="bf16"), 3)
    1.0
    """
    return matmul_flop(m, k, n) / matmul_bytes(m, k, n, dtype=dtype)


def ridge(chip, dtype: str):
    """FLOP a byte at which `chip` needs as long to compute as to read: below it memory binds, above it arithmetic.

    Raises
    ------
    ValueError
        If the chip has no published peak for the dtype's arithmetic, or no published bandwidth.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> round(ridge(chip("h100-sxm"), "bf16"), 1)
    295.3
    """
    r = rates(chip, dtype)
    return r.flop_per_s / r.memory_bytes_per_s


def ridge_tokens(k, n, *, dtype: str, chip):
    """Tokens (rows of x) at which ``x[tokens, k] @ w[k, n]`` passes from memory-bound to compute-bound.

    Raises
    ------
    ValueError
        If the product stays memory-bound however many tokens there are: `k` and `n` are too small for the
        chip's ridge. In arrays such elements are infinite instead, and so they are in the page.

    Notes
    -----
    2 t k n / P = (t k + k n + t n) b / W, solved for t. In bf16 it is a little above the ridge itself.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> round(ridge_tokens(8192, 8192, dtype="bf16", chip=chip("h100-sxm")))
    318
    """
    positive(k=k, n=n)
    k, n = real(k, n)
    least = ridge(chip, dtype)
    room = 2 * k * n / (least * bytes_per_element(dtype)) - (k + n)
    life = life_of(room)
    if life == "sym":
        return k * n / maximum(room, 0)  # a browser divides by 0 to infinity
    if life != "py":
        return where(room > 0, k * n / where(room > 0, room, 1.0), math.inf)
    if room > 0:
        return k * n / room
    most = 2 * k * n / ((k + n) * bytes_per_element(dtype))  # intensity without end of tokens
    raise ValueError(
        f"a {k} x {n} product in {dtype} never does more than {most:.0f} FLOP a byte; {chip.name} needs {least:.0f}"
    )


def matmul_time(m, k, n, *, dtype: str, chip, efficiency: Efficiency = IDEAL) -> StepTime:
    """Least time in which `chip` computes ``x[m, k] @ w[k, n] -> y[m, n]``.

    Each array crosses the memory bus once and transfer hides behind arithmetic. Kernels take longer.

    Parameters
    ----------
    m, k, n : number, array or Sym
        Rows of `x` (tokens in the step), shared dimension, columns of `w`.
    dtype : str
        Type of all three arrays, one of `hwlab.units.BITS`.
    chip : Chip
    efficiency : Efficiency
        What share of its rates the chip sustains; all of them by default.

    Raises
    ------
    ValueError
        If a size is not positive, or `chip` has no published peak for `dtype` or no published bandwidth.

    Notes
    -----
    FLOP = 2mkn; bytes = (mk + kn + mn) * itemsize.

    Examples
    --------
    One token against an 8192 x 8192 weight reads 134 MB to do 134 MFLOP:

    >>> from hwlab.specs.chips import chip
    >>> t = matmul_time(1, 8192, 8192, dtype="bf16", chip=chip("h100-sxm"))
    >>> t.bound, round(t.seconds * 1e6, 1)  # microseconds
    ('memory', 40.1)
    """
    return price(Work(matmul_flop(m, k, n), matmul_bytes(m, k, n, dtype=dtype)), rates(chip, dtype, efficiency))


def achieved_flop_per_s(tokens, d_in, d_out, peak, bandwidth, itemsize):
    """FLOP/s that a chip reaches on ``x[tokens, d_in] @ w[d_in, d_out]``: the roof over that product.

    Parameters
    ----------
    tokens, d_in, d_out : number, array or Sym
    peak : number, array or Sym
        Dense peak, FLOP/s.
    bandwidth : number, array or Sym
        Of the memory that holds the weights, bytes/s.
    itemsize : number, array or Sym
        Bytes an element of all three arrays.

    Examples
    --------
    One token uses 0.3 % of an H100, 318 tokens all of it:

    >>> [round(achieved_flop_per_s(t, 8192, 8192, 989.4e12, 3.35e12, 2) / 989.4e12, 4) for t in (1, 32, 318, 4096)]
    [0.0034, 0.1075, 0.9991, 1.0]
    """
    tokens, d_in, d_out = real(tokens, d_in, d_out)
    flop = matmul_flop(tokens, d_in, d_out)
    nbytes = (tokens * d_in + d_in * d_out + tokens * d_out) * itemsize
    return minimum(peak, flop / nbytes * bandwidth)


def elementwise_time(
    elements, *, dtype: str, chip, reads=1, writes=1, flop_per_element=1, efficiency=IDEAL
) -> StepTime:
    """Least time of an operation that looks at each element by itself: an activation, a residual sum, a norm.

    Parameters
    ----------
    elements : number, array or Sym
    reads, writes : number
        Arrays of that many elements read and written: 2 and 1 for a sum.
    flop_per_element : number
        Counted at the matrix peak, which vector units do not reach; memory binds by far all the same.

    Raises
    ------
    ValueError
        As in `matmul_time`.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> t = elementwise_time(4096 * 8192, dtype="bf16", chip=chip("h100-sxm"), reads=2)
    >>> t.bound, round(t.seconds * 1e6, 1)  # 3 x 67 MB / 3.35 TB/s
    ('memory', 60.1)
    """
    positive(elements=elements)
    elements, reads, writes = real(elements, reads, writes)
    nbytes = elements * (reads + writes) * bytes_per_element(dtype)
    return price(Work(elements * flop_per_element, nbytes), rates(chip, dtype, efficiency))


def attention_time(
    new_tokens, context=0, *, heads, kv_heads, head_dim, dtype: str, chip, batch=1, kv_dtype=None, efficiency=IDEAL
) -> StepTime:
    """Least time of causal attention of `new_tokens` queries over `context` cached tokens and themselves, one layer.

    Scores never leave the chip (FlashAttention, arXiv 2205.14135): queries, outputs, and keys and values once.
    Projections are not part of it.

    Parameters
    ----------
    new_tokens, context, batch : number, array or Sym
        Queries a sequence (1 when decoding), tokens already cached, sequences.
    heads, kv_heads, head_dim : int
    dtype, kv_dtype : str
        Of queries and outputs, and of the cache; the same by default.

    Raises
    ------
    ValueError
        As in `matmul_time`, or if `kv_heads` does not divide `heads`.

    Notes
    -----
    FLOP = 4 x heads x head_dim x pairs; pairs = n (context + (n + 1) / 2).

    Examples
    --------
    One layer of Llama 3 70B, 32 sequences of 16384 tokens, reads 2.1 GB of cache for one token each:

    >>> from hwlab.specs.chips import chip
    >>> shape = dict(heads=64, kv_heads=8, head_dim=128, dtype="bf16", chip=chip("h100-sxm"))
    >>> t = attention_time(1, 16383, batch=32, **shape)
    >>> t.bound, round(t.seconds * 1e6)  # microseconds
    ('memory', 641)
    """
    positive(new_tokens=new_tokens, batch=batch, heads=heads, kv_heads=kv_heads, head_dim=head_dim)
    if life_of(context) == "py" and not context >= 0:
        raise ValueError(f"context is {context!r}; give a number of at least 0")
    if life_of(heads, kv_heads) == "py" and heads % kv_heads:
        raise ValueError(f"kv_heads is {kv_heads!r}; give a divisor of the {heads} heads")
    new_tokens, context, batch, heads, kv_heads, head_dim = real(new_tokens, context, batch, heads, kv_heads, head_dim)
    pairs = new_tokens * (context + (new_tokens + 1) / 2)
    kv_bytes = 2 * kv_heads * head_dim * (context + new_tokens) * bytes_per_element(kv_dtype or dtype)
    io_bytes = 2 * heads * head_dim * new_tokens * bytes_per_element(dtype)
    return price(
        Work(batch * 4 * heads * head_dim * pairs, batch * (kv_bytes + io_bytes)), rates(chip, dtype, efficiency)
    )


# --- a whole model --------------------------------------------------------------------------------------------------


def cache_dtype(dtype: str) -> str:
    """What the KV cache is held in when nobody says: as the weights where they have 16 bits or more, else bf16.

    >>> cache_dtype("fp16"), cache_dtype("nvfp4")
    ('fp16', 'bf16')
    """
    return dtype if bytes_per_element(dtype) >= 2 else "bf16"


def kv_shards(model, tensor):
    """Over how many of `tensor` chips the KV cache of a sequence is spread.

    KV heads are shared out; with more chips than heads some chips hold the same ones. A latent cache belongs
    to all heads, so every chip holds it whole.
    """
    for reach in model.reaches:
        if reach.absorbed_flop:
            return 1
    return minimum(tensor, model.num_kv_heads or 1)


def kv_bytes_per_chip(model, kv_bytes, tensor):
    """Share of `kv_bytes` (of one sequence, recurrent state included) that each of `tensor` chips holds or reads."""
    kv_bytes, tensor, state = real(kv_bytes, tensor, model.state_bytes)
    return (kv_bytes - state) / kv_shards(model, tensor) + state / tensor


def _model_work(model, flop, weight_bytes, cache_bytes, tokens, dtype, tensor):
    narrow = bytes_per_element(compute_dtype(dtype)) < 2
    exchanged = not (isinstance(tensor, int) and tensor == 1)
    return Work(
        flop=flop / tensor,
        memory_bytes=weight_bytes / tensor + cache_bytes,
        all_reduce_bytes=tokens * model.hidden_size * maximum(2, bytes_per_element(dtype)),
        all_reduces=model.body.reductions if exchanged else 0,
        chips=tensor,
        layers=model.num_layers,
        kept_flop=(flop - tokens * model.quantised_flop_per_token) / tensor if narrow else None,
    )


def prefill_work(model, *, prompt_tokens, batch=1, dtype: str, kv_dtype: str | None = None, tensor=1) -> Work:
    """What one of `tensor` chips does to read `batch` prompts and choose the first token of each answer.

    Weights are read once, or as far as the tokens touch their experts; keys and values are written once. The
    head is applied to the last token of each prompt. After attention and after the MLP of each layer the chips
    add up their parts of the hidden state, at 16 bits an element (Shoeybi et al., Megatron-LM, arXiv 1909.08053);
    once a layer where the two work side by side, or where a layer is one block, as in Mamba. The short sums inside
    a Mamba block and for the vocabulary are not counted.

    Activations have 16 bits at least. So beside fp8 weights the scores of attention, the head, the router and
    recurrences are arithmetic at 16 bits (`Work.kept_flop`), also where a narrower cache is widened for them.
    """
    prompt_tokens, batch = real(prompt_tokens, batch)
    return _model_work(
        model,
        batch * model.flop(prompt_tokens, 0, head_tokens=1),
        model.weight_bytes_read(batch * prompt_tokens, dtype),
        kv_bytes_per_chip(model, model.kv_bytes(prompt_tokens, kv_dtype or cache_dtype(dtype)), tensor) * batch,
        batch * prompt_tokens,
        dtype,
        tensor,
    )


def decode_step_work(model, *, context, batch=1, dtype: str, kv_dtype: str | None = None, tensor=1) -> Work:
    """What one of `tensor` chips does to write one token for each of `batch` sequences of `context` tokens.

    The token being processed counts as one of `context`. Weights are read once for all sequences, or as far as
    the batch touches their experts. Each sequence has a cache of its own: the keys and values of earlier tokens
    are read and those of the new one written, while recurrent state is read and written back whole.
    """
    context, batch = real(context, batch)
    cache = kv_bytes_per_chip(model, model.kv_bytes_read(context, kv_dtype or cache_dtype(dtype)), tensor)
    if model.state_bytes:
        cache = cache + model.state_bytes / tensor
    return _model_work(
        model,
        batch * model.flop_per_token(context),
        model.weight_bytes_read(batch, dtype),
        cache * batch,
        batch,
        dtype,
        tensor,
    )


def verify_step_work(model, *, context, guesses, batch=1, dtype: str, kv_dtype: str | None = None, tensor=1) -> Work:
    """What one of `tensor` chips does to judge `guesses` guessed tokens behind each of `batch` sequences, in one pass.

    Besides its guesses each sequence brings the token before them, which no pass has read yet. `context` counts that
    one, as in `decode_step_work`, which this is where there are no guesses. A sequence's cache is read once for all of
    its guesses; of routed experts as many are read as all tokens together touch.
    """
    context, guesses, batch = real(context, guesses, batch)
    tokens = guesses + 1
    cache = kv_bytes_per_chip(model, model.kv_bytes_read(context + guesses, kv_dtype or cache_dtype(dtype)), tensor)
    if model.state_bytes:
        cache = cache + model.state_bytes / tensor
    return _model_work(
        model,
        batch * model.flop(tokens, context - 1),
        model.weight_bytes_read(batch * tokens, dtype),
        cache * batch,
        batch * tokens,
        dtype,
        tensor,
    )


def prefill_time(
    model, chip, *, prompt_tokens, batch=1, dtype: str, kv_dtype=None, tensor=1, efficiency: Efficiency = IDEAL
) -> StepTime:
    """Least time to read `batch` prompts of `prompt_tokens` tokens at once on `tensor` chips; see `prefill_work`.

    Raises
    ------
    ValueError
        If a number is not positive, `tensor` chips cannot share a layer of the model, or the chip lacks a
        published peak, bandwidth or, where `tensor` is not 1, link rate.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> t = prefill_time(model("llama-3.1-8b"), chip("h100-sxm"), prompt_tokens=1024, dtype="bf16")
    >>> t.bound, round(t.seconds * 1e3, 1)  # milliseconds
    ('compute', 14.7)
    """
    positive(prompt_tokens=prompt_tokens, batch=batch, tensor=tensor)
    work = prefill_work(model, prompt_tokens=prompt_tokens, batch=batch, dtype=dtype, kv_dtype=kv_dtype, tensor=tensor)
    return price(work, _rates_of_group(model, chip, dtype, efficiency, tensor))


def decode_step_time(
    model, chip, *, context, batch=1, dtype: str, kv_dtype=None, tensor=1, efficiency: Efficiency = IDEAL
) -> StepTime:
    """Least time to write one token for each of `batch` sequences on `tensor` chips; see `decode_step_work`.

    Raises
    ------
    ValueError
        If a number is not positive, `tensor` chips cannot share a layer of the model, or the chip lacks a
        published peak, bandwidth or, where `tensor` is not 1, link rate.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> t = decode_step_time(model("llama-3.1-8b"), chip("h100-sxm"), context=1024, dtype="bf16")
    >>> t.bound, round(t.seconds * 1e3, 2), round(t.ratio)  # milliseconds
    ('memory', 4.52, 288)
    """
    positive(context=context, batch=batch, tensor=tensor)
    work = decode_step_work(model, context=context, batch=batch, dtype=dtype, kv_dtype=kv_dtype, tensor=tensor)
    return price(work, _rates_of_group(model, chip, dtype, efficiency, tensor))


def verify_step_time(
    model, chip, *, context, guesses, batch=1, dtype: str, kv_dtype=None, tensor=1, efficiency: Efficiency = IDEAL
) -> StepTime:
    """Least time to judge `guesses` tokens behind each of `batch` sequences at once; see `verify_step_work`.

    Raises
    ------
    ValueError
        As `decode_step_time`.

    Examples
    --------
    Five tokens in the time of one where reading the weights sets the pace, in that of 1.36 with 256 sequences:

    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> shape = dict(context=1024, dtype="bf16")
    >>> llama, h100 = model("llama-3.1-8b"), chip("h100-sxm")
    >>> for batch in (1, 256):
    ...     verify = verify_step_time(llama, h100, guesses=4, batch=batch, **shape).seconds
    ...     print(round(verify / decode_step_time(llama, h100, batch=batch, **shape).seconds, 2))
    1.0
    1.36
    """
    positive(context=context, batch=batch, tensor=tensor)
    work = verify_step_work(
        model, context=context, guesses=guesses, batch=batch, dtype=dtype, kv_dtype=kv_dtype, tensor=tensor
    )
    return price(work, _rates_of_group(model, chip, dtype, efficiency, tensor))


def why_not_cut(heads, kv_heads, width, tensor):
    """What keeps `tensor` chips from sharing a layer of these sizes, or None.

    >>> why_not_cut(64, 8, 28672, 8), why_not_cut(64, 8, 28672, 7)
    (None, 'heads (64) cannot be cut into 7')
    """
    for name, size in (("heads", heads), ("the width of the MLP", width)):
        if size % tensor:
            return f"{name} ({size}) cannot be cut into {tensor}"
    if kv_heads and kv_heads % tensor and tensor % kv_heads:
        return f"KV heads ({kv_heads}) can neither be cut into {tensor} nor each be held by as many chips"
    return None


def _rates_of_group(model, chip, dtype, efficiency, tensor):
    if isinstance(tensor, int):
        heads = model.num_heads or model.hidden_size
        reason = why_not_cut(heads, model.num_kv_heads, model.intermediate_size, tensor)
        if reason:
            raise ValueError(f"tensor is {tensor}, but {reason}")
    r = rates(chip, dtype, efficiency, tensor)
    if r.link_bytes_per_s is None and not (isinstance(tensor, int) and tensor == 1):
        raise ValueError(
            f"{chip.name} has no published link rate, so {tensor} of them cannot share a layer; use tensor=1"
        )
    return r
