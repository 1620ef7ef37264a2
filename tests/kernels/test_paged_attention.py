"""Attention through tables of blocks: copied together or fetched block by block, it is the equation."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.kernels.paged_attention import (
    export_for_tpu,
    paged_attention,
    paged_attention_pallas,
    paged_attention_reference,
)

SHAPES = [  # rows, chunk, kv_heads, group, d, block_tokens, places
    (3, 1, 2, 2, 4, 4, 3),
    (2, 3, 1, 3, 8, 2, 5),
]


def arrays(shape, seed, dtype=jnp.float32):
    rows, chunk, kv_heads, group, d, block_tokens, places = shape
    random = np.random.default_rng(seed)
    num_blocks = rows * places + 1
    q = random.standard_normal((rows, chunk, kv_heads, group, d))
    pool = random.standard_normal((num_blocks, 2, kv_heads, block_tokens, d))
    tables = random.permutation(num_blocks)[: rows * places].reshape(rows, places)
    starts = random.integers(0, places * block_tokens - chunk + 1, rows)
    return jnp.asarray(q, dtype), jnp.asarray(pool, dtype), jnp.asarray(tables), jnp.asarray(starts)


def test_the_reference_on_a_case_worked_by_hand():
    """Blocks of two tokens, the second block first in the table; scores 0, ln 3 and, unseen, 9: weights 1/4, 3/4."""
    pool = np.zeros((2, 2, 1, 2, 1))
    pool[1, 0, 0], pool[1, 1, 0] = [[0.0], [np.log(3)]], [[4.0], [8.0]]
    pool[0, 0, 0], pool[0, 1, 0] = 9.0, 100.0
    found = paged_attention_reference(np.ones((1, 1, 1, 1, 1)), pool, [[1, 0]], [1])
    assert found == pytest.approx(0.25 * 4 + 0.75 * 8)


@pytest.mark.parametrize("attention", [paged_attention, paged_attention_pallas])
@given(st.sampled_from(SHAPES), st.integers(0, 99))
@settings(max_examples=8)
def test_however_the_blocks_lie_it_is_the_equation(attention, shape, seed):
    given = arrays(shape, seed)
    found = attention(*given)
    assert found.dtype == jnp.float32 and found == pytest.approx(paged_attention_reference(*given), abs=3e-6)


@pytest.mark.parametrize("attention", [paged_attention, paged_attention_pallas])
def test_a_token_that_a_query_may_not_see_does_not_count(attention):
    q, pool, tables, starts = arrays(SHAPES[0], 1)
    starts = jnp.zeros_like(starts)
    changed = pool.at[tables[:, 1:]].set(1e4).at[tables[:, 0], :, :, 1:].set(1e4)
    assert (attention(q, changed, tables, starts) == attention(q, pool, tables, starts)).all()


@pytest.mark.parametrize("attention", [paged_attention, paged_attention_pallas])
def test_bfloat16_is_summed_in_float32(attention):
    """257 equal values: a sum kept in bfloat16 would stop at 256 and the mean miss by one part in 257."""
    pool = jnp.ones((1, 2, 1, 257, 4), jnp.bfloat16)
    q = jnp.zeros((1, 1, 1, 1, 4), jnp.bfloat16)
    found = attention(q, pool, jnp.zeros((1, 1), int), jnp.array([256]))
    assert found.dtype == jnp.bfloat16 and (found == 1.0).all()


@pytest.mark.parametrize("options", [{}, {"kv_heads": 8, "group": 4}, {"kv_heads": 2, "group": 3, "chunk": 5}])
def test_pallas_lowers_for_a_tpu_on_a_machine_without_one(options):
    exported = export_for_tpu(4, 9, 128, **options)
    shape = (4, options.get("chunk", 1), options.get("kv_heads", 1), options.get("group", 1), 128)
    assert exported.platforms == ("tpu",) and exported.out_avals[0].shape == shape
    program = exported.mlir_module()
    assert program.count("custom_call @tpu_custom_call") == 1 and "stablehlo.gather" not in program


@pytest.mark.parametrize("attention", [paged_attention_reference, paged_attention, paged_attention_pallas])
def test_what_does_not_go_together_is_refused(attention):
    q, pool, tables, starts = arrays(SHAPES[0], 0)
    for wrong in ((q[0], pool, tables, starts), (q, pool[:, :1], tables, starts), (q, pool, tables[:2], starts)):
        with pytest.raises(ValueError, match=r"give q\[rows, chunk, kv_heads, group, d\]"):
            attention(*wrong)
    with pytest.raises(ValueError, match=r"pool \(10, 2, 1, 4, 4\)"):
        attention(q, pool[:, :, :1], tables, starts)
