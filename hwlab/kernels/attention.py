"""Attention, from the equation to a kernel that never holds the scores.

``softmax(q k^T / sqrt(d)) v``, each rung with the one idea it adds: `attention_reference` is the equation and every
other function must agree with it; `attention_naive` leaves it to a compiler, which keeps [q_len, kv_len] scores in
memory; `attention_blocked` goes through keys and values block by block with a running maximum and sum (the online
softmax), and computes scores again in its backward pass, so that memory grows with the tokens and not with their
square; `attention_pallas` says itself what is in fast memory when, for a TPU.

M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867, 2018; T. Dao, D. Y. Fu, S.
Ermon, A. Rudra and C. Ré, "FlashAttention", NeurIPS 2022, arXiv:2205.14135.

Shapes: ``q[heads, q_len, d]``, ``k[kv_heads, kv_len, d]``, ``v[kv_heads, kv_len, d]``; each head of keys and values
serves heads / kv_heads heads of queries. Under `causal`, queries are the last `q_len` of `kv_len` tokens.
"""

from __future__ import annotations

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def attention_reference(q, k, v, *, causal: bool = False) -> np.ndarray:
    """Attention as the equation reads, one query at a time, in float64. Slow.

    Parameters
    ----------
    q : array [heads, q_len, d]
    k, v : array [kv_heads, kv_len, d]
    causal : bool
        Let a query see no key of a later token.

    Returns
    -------
    numpy.ndarray [heads, q_len, d], float64

    Raises
    ------
    ValueError
        If the shapes do not go together. So do all functions of this module.

    Examples
    --------
    The first of two tokens sees only itself, the second both, and equal scores weigh them alike:

    >>> v = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> attention_reference(np.zeros((1, 2, 2)), np.zeros((1, 2, 2)), v, causal=True)
    array([[[1. , 0. ],
            [0.5, 0.5]]])
    """
    q, k, v = (np.asarray(array, np.float64) for array in (q, k, v))
    heads, q_len, kv_heads, kv_len, d = _sizes(q, k, v, causal)
    out = np.empty_like(q)
    for head in range(heads):
        served = head // (heads // kv_heads)
        for i in range(q_len):
            seen = kv_len - q_len + i + 1 if causal else kv_len
            scores = k[served, :seen] @ q[head, i] / math.sqrt(d)
            weights = np.exp(scores - scores.max())
            out[head, i] = weights @ v[served, :seen] / weights.sum()
    return out


@partial(jax.jit, static_argnames=("causal",))
def attention_naive(q: jax.Array, k: jax.Array, v: jax.Array, *, causal: bool = False) -> jax.Array:
    """Attention as XLA compiles it for this machine, the scores of all pairs in memory.

    Parameters
    ----------
    q : array [heads, q_len, d]
    k, v : array [kv_heads, kv_len, d]
    causal : bool

    Returns
    -------
    jax.Array [heads, q_len, d], in the type of `q`

    Examples
    --------
    >>> attention_naive(jnp.zeros((1, 1, 2)), jnp.zeros((1, 2, 2)), jnp.array([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
    [[[2.0, 3.0]]]
    """
    heads, q_len, kv_heads, kv_len, d = _sizes(q, k, v, causal)
    grouped = q.reshape(kv_heads, heads // kv_heads, q_len, d)
    scores = jnp.einsum("hgqd,hkd->hgqk", grouped, k, preferred_element_type=jnp.float32) / math.sqrt(d)
    if causal:
        scores = jnp.where(jnp.arange(kv_len) <= jnp.arange(q_len)[:, None] + kv_len - q_len, scores, -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1)
    out = jnp.einsum("hgqk,hkd->hgqd", weights.astype(v.dtype), v, preferred_element_type=jnp.float32)
    return out.reshape(q.shape).astype(q.dtype)


@partial(jax.jit, static_argnames=("causal", "block_q", "block_k"))
def attention_blocked(
    q: jax.Array, k: jax.Array, v: jax.Array, *, causal: bool = False, block_q: int = 256, block_k: int = 512
) -> jax.Array:
    """Attention block by block: at most block_q x block_k scores of one head at a time, forward and backward.

    For each block of queries a maximum m, a total t and a weighted sum of values o run along. A block of keys with the
    scores s brings a new maximum m'; what was summed before is scaled to it:

        m' = max(m, max s);  t' = t exp(m - m') + sum exp(s - m');  o' = o exp(m - m') + exp(s - m') v

    and o / t at the end is the answer, but for rounding. Blocks of keys that no query of the block may see are passed
    over. The backward pass keeps only the output and log(sum exp s) of each query, and computes the scores once more.

    Parameters
    ----------
    q : array [heads, q_len, d]
    k, v : array [kv_heads, kv_len, d]
    causal : bool
    block_q, block_k : int
        Queries and keys of a block; lengths need not be multiples of them.

    Returns
    -------
    jax.Array [heads, q_len, d], in the type of `q`

    Examples
    --------
    >>> q, k, v = jax.random.normal(jax.random.key(0), (3, 1, 5, 4))
    >>> bool(jnp.allclose(attention_blocked(q, k, v, block_q=2, block_k=3), attention_naive(q, k, v), atol=1e-6))
    True
    """
    _sizes(q, k, v, causal)
    _blocks(block_q=block_q, block_k=block_k)
    return _blocked(q, k, v, causal, min(block_q, q.shape[1]), min(block_k, k.shape[1]))


@partial(jax.custom_vjp, nondiff_argnums=(3, 4, 5))
def _blocked(q, k, v, causal, block_q, block_k):
    return _forward(q, k, v, causal, block_q, block_k)[0]


def _forward(q, k, v, causal, block_q, block_k):
    """(output, log of the sum of exp(scores) of each query)."""
    heads, q_len, d = q.shape
    kv_heads, kv_len, _ = k.shape
    blocks = Blocks(q_len, kv_len, causal, block_q, block_k)
    queries = _cut(q / math.sqrt(d), block_q)
    keys, values = _cut(k, block_k), _cut(v, block_k)

    def of_queries(at):
        head, i = at // blocks.along_q, at % blocks.along_q
        served = head // (heads // kv_heads)
        block = queries[head, i]

        def of_keys(j, carry, masked):
            most, total, sums = carry
            scores = _product(block, keys[served, j].T)
            if masked:
                scores = jnp.where(blocks.seen(i, j), scores, -jnp.inf)
            new = jnp.maximum(most, scores.max(axis=1))
            weights, scale = jnp.exp(scores - new[:, None]), jnp.exp(most - new)
            sums = sums * scale[:, None] + _product(weights.astype(v.dtype), values[served, j])
            return new, total * scale + weights.sum(axis=1), sums

        start = (jnp.full(block_q, _LOW), jnp.zeros(block_q), jnp.zeros((block_q, d)))
        whole = lax.fori_loop(0, blocks.whole(i), partial(of_keys, masked=False), start)
        most, total, sums = lax.fori_loop(blocks.whole(i), blocks.last(i), partial(of_keys, masked=True), whole)
        return (sums / total[:, None]).astype(q.dtype), most + jnp.log(total)

    out, lse = lax.map(of_queries, jnp.arange(heads * blocks.along_q))
    return out.reshape(heads, -1, d)[:, :q_len], lse.reshape(heads, -1)[:, :q_len]


def _kept(q, k, v, causal, block_q, block_k):
    out, lse = _forward(q, k, v, causal, block_q, block_k)
    return out, (q, k, v, out, lse)


def _backward(causal, block_q, block_k, kept, d_out):
    """Gradients of q, k and v, the scores of a block computed again from `q`, `k` and the kept `lse`.

    With p = exp(s - lse) and D = sum(d_out * out): dv = p^T d_out; ds = p * (d_out v^T - D); dq = ds k; dk = ds^T q.
    """
    q, k, v, out, lse = kept
    heads, q_len, d = q.shape
    kv_heads, kv_len, _ = k.shape
    group = heads // kv_heads
    blocks = Blocks(q_len, kv_len, causal, block_q, block_k)
    scaled, d_outs = _cut(q / math.sqrt(d), block_q), _cut(d_out.astype(q.dtype), block_q)
    keys, values = _cut(k, block_k), _cut(v, block_k)
    beside = _cut(jnp.stack([lse, (d_out.astype(jnp.float32) * out).sum(axis=2)], axis=2), block_q)

    def of_queries(carry, at):
        head, i = at // blocks.along_q, at % blocks.along_q
        served = head // group
        block, d_block = scaled[head, i], d_outs[head, i]
        sums, shift = beside[head, i, :, 0], beside[head, i, :, 1]

        def of_keys(j, carry):
            dq, dk, dv = carry
            p = jnp.exp(_product(block, keys[served, j].T) - sums[:, None])
            p = jnp.where(blocks.seen(i, j), p, 0.0)
            ds = p * (_product(d_block, values[served, j].T) - shift[:, None])
            dq += _product(ds.astype(k.dtype), keys[served, j])
            dk = dk.at[served, j].add(_product(ds.astype(q.dtype).T, block))
            dv = dv.at[served, j].add(_product(p.astype(q.dtype).T, d_block))
            return dq, dk, dv

        dq, *carry = lax.fori_loop(0, blocks.last(i), of_keys, (jnp.zeros((block_q, d)), *carry))
        return tuple(carry), dq / math.sqrt(d)

    zeros = jnp.zeros(keys.shape), jnp.zeros(values.shape)
    (dk, dv), dq = lax.scan(of_queries, zeros, jnp.arange(heads * blocks.along_q))
    whole = [g.reshape(*a.shape[:1], -1, d)[:, : a.shape[1]].astype(a.dtype) for g, a in ((dq, q), (dk, k), (dv, v))]
    return tuple(whole)


_blocked.defvjp(_kept, _backward)


def grouped_attention(q: jax.Array, k: jax.Array, v: jax.Array, seen: jax.Array) -> jax.Array:
    """Attention as a decoder's layer makes it: heads in groups, and of the keys those that a query may have `seen`.

    Parameters
    ----------
    q : array [..., tokens, kv_heads, group, head_dim]
    k, v : array [..., kv_heads, keys, head_dim]
    seen : array [..., tokens, keys] of bool
        Which key a query may see; one at least.

    Returns
    -------
    array [..., tokens, kv_heads, group, head_dim], in the type of `q`

    Examples
    --------
    Two queries of one head; the first may see one key of two:

    >>> q, k = jnp.zeros((2, 1, 1, 1)), jnp.zeros((1, 2, 1))
    >>> grouped_attention(q, k, jnp.array([[[2.0], [4.0]]]), jnp.array([[True, False], [True, True]])).ravel().tolist()
    [2.0, 3.0]
    """
    *many, tokens, kv_heads, group, d = q.shape
    wide = jnp.promote_types(q.dtype, jnp.float32)
    q = jnp.moveaxis(q, -4, -2).reshape(*many, kv_heads, group * tokens, d)  # one matrix for each head of keys
    scores = jnp.einsum("...qd,...td->...qt", q, k, preferred_element_type=wide) / math.sqrt(d)
    scores = jnp.where(jnp.tile(seen, (group, 1))[..., None, :, :], scores, -jnp.inf)
    mixed = jnp.matmul(jax.nn.softmax(scores, axis=-1).astype(v.dtype), v)
    return jnp.moveaxis(mixed.reshape(*many, kv_heads, group, tokens, d), -2, -4)


_LOW = -1e30
"""Below every score, and finite: a block of which nothing is seen leaves no NaN behind."""


class Blocks:
    """Which keys a block of queries sees: block i of queries, block j of keys.

    Examples
    --------
    Six queries, the last of eight tokens, in blocks of 2, and keys in blocks of 4:

    >>> blocks = Blocks(6, 8, True, 2, 4)
    >>> [int(blocks.last(i)) for i in range(3)], [int(blocks.whole(i)) for i in range(3)]
    ([1, 2, 2], [0, 1, 1])
    """

    def __init__(self, q_len: int, kv_len: int, causal: bool, block_q: int, block_k: int):
        self.kv_len, self.causal = kv_len, causal
        self.block_q, self.block_k = block_q, block_k
        self.along_q, self.along_k = -(-q_len // block_q), -(-kv_len // block_k)
        self.before = kv_len - q_len

    def last(self, i):
        """Blocks of keys to go through for block `i` of queries."""
        if not self.causal:
            return self.along_k
        return jnp.minimum(_times(self.block_k, self.before + (i + 1) * self.block_q - 1) + 1, self.along_k)

    def whole(self, i):
        """Of these, blocks that all of its queries see whole: no mask is needed."""
        whole = self.kv_len // self.block_k
        return jnp.minimum(_times(self.block_k, self.before + i * self.block_q + 1), whole) if self.causal else whole

    def seen(self, i, j):
        """[block_q, block_k]: which key each query may see; queries past the end see the first key, for want of one."""
        key = j * self.block_k + lax.broadcasted_iota(jnp.int32, (self.block_q, self.block_k), 1)
        query = self.before + i * self.block_q + lax.broadcasted_iota(jnp.int32, (self.block_q, self.block_k), 0)
        return (key < self.kv_len) & (key <= query if self.causal else True)


@partial(jax.jit, static_argnames=("causal", "block_q", "block_k", "interpret"))
def attention_pallas(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    *,
    causal: bool = False,
    block_q: int = 256,
    block_k: int = 512,
    interpret: bool | None = None,
) -> jax.Array:
    """Attention as a TPU kernel, forward only: which blocks are in fast memory (VMEM) at which step is written down.

    The grid runs over heads, blocks of queries and blocks of keys, keys innermost: a block of queries with its running
    maximum, total and sum stays in VMEM while keys and values stream past. Under `causal` the blocks of keys that no
    query of the block sees are neither computed on nor fetched.

    Parameters
    ----------
    q : array [heads, q_len, d]
    k, v : array [kv_heads, kv_len, d]
    causal : bool
    block_q, block_k : int
        Queries and keys of a block; on a TPU multiples of 8 and of 128, or the whole length.
    interpret : bool, optional
        Run the same kernel step by step in JAX, on any machine. By default so wherever there is no TPU.

    Returns
    -------
    jax.Array [heads, q_len, d], in the type of `q`

    Examples
    --------
    >>> q, k, v = jax.random.normal(jax.random.key(0), (3, 1, 5, 4))
    >>> bool(jnp.allclose(attention_pallas(q, k, v, block_q=2, block_k=3), attention_naive(q, k, v), atol=1e-6))
    True
    """
    heads, q_len, kv_heads, kv_len, d = _sizes(q, k, v, causal)
    _blocks(block_q=block_q, block_k=block_k)
    blocks = Blocks(q_len, kv_len, causal, min(block_q, q_len), min(block_k, kv_len))
    block_q, block_k = blocks.block_q, blocks.block_k

    def kernel(q_block, k_block, v_block, out_block, most, total, sums):
        i, j = pl.program_id(1), pl.program_id(2)

        @pl.when(j == 0)
        def start():
            most[...] = jnp.full_like(most, _LOW)
            total[...] = jnp.zeros_like(total)
            sums[...] = jnp.zeros_like(sums)

        @pl.when(j < blocks.last(i))
        def step():
            values = v_block[0]
            scores = _product(q_block[0], k_block[0].T) / math.sqrt(d)
            scores = jnp.where(blocks.seen(i, j), scores, -jnp.inf)
            if kv_len % block_k:  # beyond the edge there may be anything, even NaN, and 0 x NaN is NaN
                inside = lax.broadcasted_iota(jnp.int32, values.shape, 0) < kv_len - j * block_k
                values = jnp.where(inside, values, jnp.zeros_like(values))
            old = most[:, :1]  # of 128 equal lanes, which is the least that a TPU holds
            new = jnp.maximum(old, scores.max(axis=1, keepdims=True))
            weights, scale = jnp.exp(scores - new), jnp.exp(old - new)
            most[...] = jnp.broadcast_to(new, most.shape)
            total[...] = total[...] * scale + weights.sum(axis=1, keepdims=True)
            sums[...] = sums[...] * scale + _product(weights.astype(values.dtype), values)

        @pl.when(j == blocks.along_k - 1)
        def finish():
            out_block[0] = (sums[...] / total[:, :1]).astype(out_block.dtype)

    grid, inputs, output = tiling(heads, kv_heads, blocks, d)
    return pl.pallas_call(
        kernel,
        grid=grid,
        in_specs=inputs,
        out_specs=output,
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        scratch_shapes=[pltpu.VMEM((block_q, 128), jnp.float32)] * 2 + [pltpu.VMEM((block_q, d), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        interpret=jax.default_backend() != "tpu" if interpret is None else interpret,
    )(q, k, v)


def tiling(heads: int, kv_heads: int, blocks: Blocks, d: int):
    """(grid, block specifications of q, k and v, that of the output) of `attention_pallas`.

    A block crosses between HBM and VMEM whenever the specification names another one than the step before; so the
    traffic of the kernel can be counted from these alone.
    """

    def of_keys(h, i, j):
        return (
            _times(heads // kv_heads, h),
            jnp.minimum(j, blocks.last(i) - 1),
            0,
        )  # past the last, the last again: no fetch

    of_queries = pl.BlockSpec((1, blocks.block_q, d), lambda h, i, j: (h, i, 0))
    keys = pl.BlockSpec((1, blocks.block_k, d), of_keys)
    return (heads, blocks.along_q, blocks.along_k), [of_queries, keys, keys], of_queries


def export_for_tpu(q_len: int, kv_len: int, d: int, *, heads=1, kv_heads=1, dtype=jnp.bfloat16, **options):
    """Lower `attention_pallas` for a TPU, on a machine that has none.

    Returns
    -------
    jax.export.Exported
        With the kernel in Mosaic, the language that a TPU's own compiler takes over from.

    Examples
    --------
    >>> exported = export_for_tpu(1024, 1024, 128, causal=True)
    >>> exported.platforms, "tpu_custom_call" in exported.mlir_module()
    (('tpu',), True)
    """
    kernel = jax.jit(partial(attention_pallas, interpret=False, **options))
    q, k = jax.ShapeDtypeStruct((heads, q_len, d), dtype), jax.ShapeDtypeStruct((kv_heads, kv_len, d), dtype)
    return export.export(kernel, platforms=["tpu"])(q, k, k)


def _times(step, value):
    """How often `step` goes into `value`, neither negative: a TPU has no rule for Python's own ``//``."""
    return value if step == 1 else lax.div(jnp.asarray(value, jnp.int32), jnp.int32(step))


def _cut(array, block):
    """[heads, tokens, d] as [heads, blocks, block, d], zeros added at the end."""
    heads, tokens, d = array.shape
    return jnp.pad(array, ((0, 0), (0, -tokens % block), (0, 0))).reshape(heads, -1, block, d)


def _product(a, b):
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)


def _blocks(**sizes):
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} is {size}; a block has one token or more")


def _sizes(q, k, v, causal):
    """(heads, q_len, kv_heads, kv_len, d), or the error that says what does not go together."""
    right = (
        q.ndim == k.ndim == v.ndim == 3
        and k.shape == v.shape
        and q.shape[2] == k.shape[2]
        and 0 not in (*q.shape, *k.shape)
        and q.shape[0] % k.shape[0] == 0
    )
    if not right:
        raise ValueError(
            f"q has shape {q.shape}, k {k.shape} and v {v.shape}; give q[heads, q_len, d] and "
            "k, v[kv_heads, kv_len, d], heads a multiple of kv_heads and none of them empty"
        )
    if causal and q.shape[1] > k.shape[1]:
        raise ValueError(
            f"causal attention of {q.shape[1]} queries among {k.shape[1]} keys: the queries are the last of "
            "the tokens, so there are at least as many keys"
        )
    return q.shape[0], q.shape[1], k.shape[0], k.shape[1], q.shape[2]
