"""Attention over keys and values that lie in blocks anywhere in a pool, found through a table for each sequence.

`paged_attention_reference` is the equation, and the others must agree with it; `paged_attention` copies each sequence's
blocks into one piece (a *gather*) and leaves the rest to the compiler; `paged_attention_pallas` says itself, for a TPU,
which block is in fast memory when, so that nothing is copied: the table tells the kernel what to fetch next.

W. Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023.

Shapes: ``q[rows, chunk, kv_heads, group, d]``, the last `chunk` tokens of each sequence, `group` heads of queries for
each head of keys and values; ``pool[num_blocks, 2, kv_heads, block_tokens, d]``, keys and then values of a block;
``tables[rows, blocks]``, a sequence's blocks in the order of its tokens; ``starts[rows]``, its tokens before those of
`q`. Query j of row r sees the tokens 0 to starts[r] + j. Keys and values of the chunk are in the pool already.
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

from hwlab.kernels.attention import attention_reference, grouped_attention


def paged_attention_reference(q, pool, tables, starts) -> np.ndarray:
    """Sequence by sequence: its blocks put together, then attention as the equation reads, in float64. Slow.

    Parameters
    ----------
    q : array [rows, chunk, kv_heads, group, d]
    pool : array [num_blocks, 2, kv_heads, block_tokens, d]
    tables : array [rows, blocks] of whole numbers
        What stands behind a sequence's last block is not read.
    starts : array [rows] of whole numbers

    Returns
    -------
    numpy.ndarray [rows, chunk, kv_heads, group, d], float64

    Raises
    ------
    ValueError
        If the shapes do not go together. So do all functions of this module.

    Examples
    --------
    Two tokens in blocks of one, the second token's first in memory; equal scores weigh them alike:

    >>> pool = np.array([[[[[0.0]]], [[[6.0]]]], [[[[0.0]]], [[[2.0]]]]])
    >>> paged_attention_reference(np.zeros((1, 1, 1, 1, 1)), pool, [[1, 0]], [1]).item()
    4.0
    """
    q, pool, tables, starts = np.asarray(q, np.float64), np.asarray(pool), np.asarray(tables), np.asarray(starts)
    rows, chunk, kv_heads, group, d = _sizes(q, pool, tables, starts)
    block_tokens = pool.shape[3]
    out = np.empty_like(q)
    for row in range(rows):
        tokens = int(starts[row]) + chunk
        held = pool[tables[row, : -(-tokens // block_tokens)]]
        k, v = held.transpose(1, 2, 0, 3, 4).reshape(2, kv_heads, -1, d)[:, :, :tokens]
        heads = q[row].transpose(1, 2, 0, 3).reshape(kv_heads * group, chunk, d)
        mixed = attention_reference(heads, k, v, causal=True)
        out[row] = mixed.reshape(kv_heads, group, chunk, d).transpose(2, 0, 1, 3)
    return out


@jax.jit
def paged_attention(q: jax.Array, pool: jax.Array, tables: jax.Array, starts: jax.Array) -> jax.Array:
    """Attention over a copy of each row's blocks, in one piece.

    Every row costs what the longest table costs, and the copy as much traffic again as the attention: the width of
    `tables` should be no more than the sequences at hand need.

    Parameters
    ----------
    q, pool, tables, starts : arrays
        As for `paged_attention_reference`; entries behind a sequence's last block are numbers of blocks too.

    Returns
    -------
    jax.Array [rows, chunk, kv_heads, group, d], in the type of `q`

    Examples
    --------
    >>> q, pool = jnp.ones((1, 1, 1, 2, 4)), jax.random.normal(jax.random.key(0), (3, 2, 1, 8, 4))
    >>> tables, starts = jnp.array([[2, 0]]), jnp.array([9])
    >>> expected = paged_attention_reference(q, pool, tables, starts)
    >>> bool(jnp.allclose(paged_attention(q, pool, tables, starts), expected, atol=1e-6))
    True
    """
    rows, chunk, kv_heads, _, d = _sizes(q, pool, tables, starts)

    def gathered(which):  # each head on its own, so that the copy lies as the products need it
        return jax.vmap(lambda head: head[tables, which], in_axes=2, out_axes=1)(pool).reshape(rows, kv_heads, -1, d)

    k, v = gathered(0), gathered(1)
    last = starts[:, None] + jnp.arange(chunk)
    return grouped_attention(q, k, v, jnp.arange(k.shape[2]) <= last[..., None])


_LOW = -1e30
"""Below every score, and finite."""


@partial(jax.jit, static_argnames=("interpret",))
def paged_attention_pallas(
    q: jax.Array, pool: jax.Array, tables: jax.Array, starts: jax.Array, *, interpret: bool | None = None
) -> jax.Array:
    """Attention block by block, straight from the pool, as a TPU kernel.

    The grid runs over rows and places of their tables. Tables and lengths are there before the kernel begins (*scalar
    prefetch*), so that the number of the block to fetch is known a step ahead. Queries of a row stay in fast memory
    with their running maximum, total and sum, as in `hwlab.kernels.attention.attention_pallas`. Places behind a row's
    last token are neither computed on nor fetched.

    Parameters
    ----------
    q, pool, tables, starts : arrays
        As for `paged_attention`; on a TPU block_tokens a multiple of 8 (16 in bfloat16).
    interpret : bool, optional
        Run the same kernel step by step in JAX, on any machine. By default so wherever there is no TPU.

    Returns
    -------
    jax.Array [rows, chunk, kv_heads, group, d], in the type of `q`

    Examples
    --------
    >>> q, pool = jnp.ones((1, 1, 1, 2, 4)), jax.random.normal(jax.random.key(0), (3, 2, 1, 8, 4))
    >>> tables, starts = jnp.array([[2, 0]]), jnp.array([9])
    >>> expected = paged_attention_reference(q, pool, tables, starts)
    >>> bool(jnp.allclose(paged_attention_pallas(q, pool, tables, starts), expected, atol=1e-6))
    True
    """
    rows, chunk, kv_heads, group, d = _sizes(q, pool, tables, starts)
    block_tokens, places, queries = pool.shape[3], tables.shape[1], chunk * group

    def last(row, starts):
        """Place of the block with the row's last token."""
        place = lax.div(starts[row] + jnp.int32(chunk - 1), jnp.int32(block_tokens))
        return jnp.minimum(place, places - 1)

    def kernel(tables, starts, q_row, block, out_row, most, total, sums):
        row, place = pl.program_id(0), pl.program_id(1)

        @pl.when(place == 0)
        def start():
            most[...] = jnp.full_like(most, _LOW)
            total[...] = jnp.zeros_like(total)
            sums[...] = jnp.zeros_like(sums)

        @pl.when(place <= last(row, starts))
        def step():
            key = place * block_tokens + lax.broadcasted_iota(jnp.int32, (queries, block_tokens), 1)
            query = lax.broadcasted_iota(jnp.int32, (queries, block_tokens), 0)
            seen = (key - starts[row]) * group <= query  # key - start <= query // group, without the division
            for head in range(kv_heads):
                values = block[0, 1, head]
                scores = _product(q_row[0, head], block[0, 0, head].T) / math.sqrt(d)
                scores = jnp.where(seen, scores, -jnp.inf)
                old = most[head][:, :1]  # of 128 equal lanes, which is the least that a TPU holds
                new = jnp.maximum(old, scores.max(axis=1, keepdims=True))
                weights, scale = jnp.exp(scores - new), jnp.exp(old - new)
                most[head] = jnp.broadcast_to(new, (queries, 128))
                total[head] = total[head] * scale + weights.sum(axis=1, keepdims=True)
                sums[head] = sums[head] * scale + _product(weights.astype(values.dtype), values)

        @pl.when(place == places - 1)
        def finish():
            out_row[0] = (sums[...] / total[...][:, :, :1]).astype(out_row.dtype)

    of_row = pl.BlockSpec((1, kv_heads, queries, d), lambda row, place, tables, starts: (row, 0, 0, 0))
    of_pool = pl.BlockSpec(
        (1, 2, kv_heads, block_tokens, d),
        lambda row, place, tables, starts: (tables[row, jnp.minimum(place, last(row, starts))], 0, 0, 0, 0),
    )
    lanes = pltpu.VMEM((kv_heads, queries, 128), jnp.float32)
    out = pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(rows, places),
            in_specs=[of_row, of_pool],
            out_specs=of_row,
            scratch_shapes=[lanes, lanes, pltpu.VMEM((kv_heads, queries, d), jnp.float32)],
        ),
        out_shape=jax.ShapeDtypeStruct((rows, kv_heads, queries, d), q.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
        interpret=jax.default_backend() != "tpu" if interpret is None else interpret,
    )(tables.astype(jnp.int32), starts.astype(jnp.int32), q.swapaxes(1, 2).reshape(rows, kv_heads, queries, d), pool)
    return out.reshape(rows, kv_heads, chunk, group, d).swapaxes(1, 2)


def export_for_tpu(rows: int, places: int, d: int, *, chunk=1, kv_heads=1, group=1, block_tokens=16, num_blocks=1024):
    """Lower `paged_attention_pallas` for a TPU, on a machine that has none, in bfloat16.

    Returns
    -------
    jax.export.Exported

    Examples
    --------
    >>> exported = export_for_tpu(8, 64, 128, kv_heads=8, group=4)
    >>> exported.platforms, "tpu_custom_call" in exported.mlir_module()
    (('tpu',), True)
    """
    kernel = jax.jit(partial(paged_attention_pallas, interpret=False))
    return export.export(kernel, platforms=["tpu"])(
        jax.ShapeDtypeStruct((rows, chunk, kv_heads, group, d), jnp.bfloat16),
        jax.ShapeDtypeStruct((num_blocks, 2, kv_heads, block_tokens, d), jnp.bfloat16),
        jax.ShapeDtypeStruct((rows, places), jnp.int32),
        jax.ShapeDtypeStruct((rows,), jnp.int32),
    )


def _product(a, b):
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)


def _sizes(q, pool, tables, starts):
    """(rows, chunk, kv_heads, group, d), or the error that says what does not go together."""
    right = (
        (q.ndim, pool.ndim, tables.ndim, starts.ndim) == (5, 5, 2, 1)
        and q.shape[0] == tables.shape[0] == starts.shape[0]
        and pool.shape[1] == 2
        and (q.shape[2], q.shape[4]) == (pool.shape[2], pool.shape[4])
        and 0 not in (*q.shape, *pool.shape, *tables.shape)
    )
    if not right:
        raise ValueError(
            f"q has shape {q.shape}, pool {pool.shape}, tables {tables.shape} and starts {starts.shape}; give "
            "q[rows, chunk, kv_heads, group, d], pool[num_blocks, 2, kv_heads, block_tokens, d], tables[rows, blocks] "
            "and starts[rows], none of them empty"
        )
    return q.shape
