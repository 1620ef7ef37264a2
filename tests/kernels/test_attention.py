"""Attention: every rung agrees with the equation, forward and backward; it fetches the bytes counted."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.costs.attention import blocked_traffic, naive_traffic
from hwlab.kernels.attention import (
    Blocks,
    attention_blocked,
    attention_naive,
    attention_pallas,
    attention_reference,
    export_for_tpu,
    tiling,
)

SHAPES = [  # heads, kv_heads, q_len, kv_len, d, block_q, block_k
    (2, 1, 5, 7, 4, 2, 3),
    (4, 2, 8, 20, 8, 4, 4),
    (1, 1, 6, 6, 3, 64, 64),
]


def arrays(heads, kv_heads, q_len, kv_len, d, seed=0, dtype=jnp.float32):
    random = np.random.default_rng(seed)
    shapes = (heads, q_len, d), (kv_heads, kv_len, d), (kv_heads, kv_len, d)
    return tuple(jnp.asarray(random.standard_normal(shape), dtype) for shape in shapes)


def test_the_reference_on_a_case_worked_by_hand():
    """d = 1, scores 0 and ln 3: the weights are 1/4 and 3/4."""
    q, k, v = np.ones((1, 1, 1)), np.array([[[0.0], [np.log(3)]]]), np.array([[[4.0], [8.0]]])
    assert attention_reference(q, k, v) == pytest.approx(0.25 * 4 + 0.75 * 8)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_rung_agrees_with_the_equation(shape, causal):
    *sizes, block_q, block_k = shape
    q, k, v = arrays(*sizes)
    expected = attention_reference(q, k, v, causal=causal)
    assert attention_naive(q, k, v, causal=causal) == pytest.approx(expected, abs=2e-6)
    for blocked in (attention_blocked, attention_pallas):
        found = blocked(q, k, v, causal=causal, block_q=block_q, block_k=block_k)
        assert found.dtype == q.dtype and found == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize(("shape", "causal"), [(SHAPES[0], True), (SHAPES[1], False)])
def test_gradients_by_recomputation_are_those_of_the_whole(shape, causal):
    *sizes, block_q, block_k = shape
    q, k, v = arrays(*sizes)
    pull = jnp.cos(jnp.arange(q.size, dtype=jnp.float32)).reshape(q.shape)

    def loss(attention, **blocks):
        return jax.grad(lambda *qkv: (attention(*qkv, causal=causal, **blocks) * pull).sum(), argnums=(0, 1, 2))

    expected = loss(attention_naive)(q, k, v)
    for found, right in zip(loss(attention_blocked, block_q=block_q, block_k=block_k)(q, k, v), expected, strict=True):
        assert found == pytest.approx(np.asarray(right), abs=5e-6)


def test_large_scores_do_not_overflow_and_late_maxima_count():
    q, k = jnp.full((1, 2, 4), 100.0), jnp.stack([jnp.full((1, 4), s) for s in (-100.0, 0.0, 100.0)], axis=1)
    v = jnp.array([[[1.0] * 4, [2.0] * 4, [3.0] * 4]])
    for blocked in (attention_blocked, attention_pallas):
        assert blocked(q, k, v, block_q=1, block_k=1) == pytest.approx(3.0)


def test_garbage_beyond_the_edge_of_a_tile_does_not_reach_the_result():
    """Interpreted, Pallas fills what lies beyond an array with NaN; a TPU leaves whatever was there."""
    q, k, v = arrays(1, 1, 5, 5, 4)
    assert np.isfinite(attention_pallas(q, k, v, block_q=4, block_k=4, interpret=True)).all()


def test_bfloat16_is_summed_in_float32():
    """257 equal values: a sum kept in bfloat16 would stop at 256 and the mean miss by one part in 257."""
    v = jnp.ones((1, 257, 4), jnp.bfloat16)
    for attention in (attention_naive, attention_blocked, attention_pallas):
        found = attention(jnp.zeros((1, 1, 4), jnp.bfloat16), jnp.zeros_like(v), v)
        assert found.dtype == jnp.bfloat16 and (found == 1.0).all()


def temporaries(attention, tokens):
    q, k, v = (jax.ShapeDtypeStruct((2, tokens, 64), jnp.float32) for _ in "qkv")
    return jax.jit(attention).lower(q, k, v).compile().memory_analysis().temp_size_in_bytes


def test_memory_grows_with_the_tokens_and_not_with_their_square():
    few, many = temporaries(attention_blocked, 2048), temporaries(attention_blocked, 16384)
    assert many < 100e6 and many < 9 * few
    assert temporaries(attention_naive, 16384) > 2 * 16384**2 * 4  # all scores of two heads


def fetched(heads, kv_heads, q_len, kv_len, d, block_q, block_k, causal, itemsize):
    """Bytes by array, from walking the kernel's grid: a block is fetched when it is not the one of the step before."""
    blocks = Blocks(q_len, kv_len, causal, min(block_q, q_len), min(block_k, kv_len))
    grid, inputs, output = tiling(heads, kv_heads, blocks, d)
    total = []
    for spec, length in zip((*inputs, output), (q_len, kv_len, kv_len, q_len), strict=True):
        there, moved = None, 0
        for step in product(*map(range, grid)):
            wanted = tuple(map(int, spec.index_map(*step)))
            if wanted != there:
                there = wanted
                size = spec.block_shape[1]
                moved += min(size, length - wanted[1] * size) * d * itemsize
        total.append(moved)
    return tuple(total)


@given(
    st.sampled_from([(1, 1), (2, 1), (4, 2), (3, 3)]),
    *[st.integers(1, 9)] * 4,
    st.integers(0, 9),
    st.booleans(),
)
@settings(max_examples=15)
def test_the_kernel_fetches_the_bytes_that_are_counted(heads, q_len, d, block_q, block_k, before, causal):
    shape = {"heads": heads[0], "kv_heads": heads[1], "head_dim": d, "itemsize": 2}
    blocks = {"block_q": min(block_q, q_len), "block_k": min(block_k, q_len + before)}
    counted = blocked_traffic(q_len, q_len + before, **shape, **blocks, causal=causal)
    assert fetched(*heads, q_len, q_len + before, d, block_q, block_k, causal, 2) == (
        counted.q,
        counted.k,
        counted.v,
        counted.out,
    )


def test_the_scores_are_what_blocks_save():
    shape = {"heads": 2, "kv_heads": 2, "head_dim": 64, "itemsize": 4}
    naive, blocked = naive_traffic(4096, 4096, **shape), blocked_traffic(4096, 4096, **shape, block_q=4096, block_k=128)
    assert naive.total - naive.scores == blocked.total and naive.scores == 4 * 2 * 4096**2 * 4


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"heads": 8, "kv_heads": 2, "causal": True}])
def test_pallas_lowers_for_a_tpu_on_a_machine_without_one(options):
    exported = export_for_tpu(1000, 3000, 128, **options)
    assert exported.platforms == ("tpu",) and exported.out_avals[0].shape == (options.get("heads", 1), 1000, 128)
    program = exported.mlir_module()
    assert program.count("custom_call @tpu_custom_call") == 1 and "stablehlo.exponential" not in program


@pytest.mark.parametrize("attention", [attention_reference, attention_naive, attention_blocked, attention_pallas])
def test_what_does_not_go_together_is_refused(attention):
    def zeros(*shapes):
        return [jnp.zeros(shape) for shape in shapes]

    with pytest.raises(ValueError, match=r"q has shape \(3, 2, 4\), k \(2, 2, 4\)"):
        attention(*zeros((3, 2, 4), (2, 2, 4), (2, 2, 4)))
    with pytest.raises(ValueError, match=r"k \(1, 2, 4\) and v \(1, 3, 4\)"):
        attention(*zeros((1, 2, 4), (1, 2, 4), (1, 3, 4)))
    with pytest.raises(ValueError, match="causal attention of 3 queries among 2 keys"):
        attention(*zeros((1, 3, 4), (1, 2, 4), (1, 2, 4)), causal=True)


def test_bad_blocks_and_counts_are_refused():
    q = jnp.zeros((1, 2, 4))
    with pytest.raises(ValueError, match="block_q is 0"):
        attention_blocked(q, q, q, block_q=0)
    with pytest.raises(ValueError, match="kv_heads is 2; give a divisor of the 3 heads"):
        naive_traffic(1, 1, heads=3, kv_heads=2, head_dim=1, itemsize=1)
    with pytest.raises(TypeError, match=r"q_len is 1.5 \(float\)"):
        naive_traffic(1.5, 1, heads=1, kv_heads=1, head_dim=1, itemsize=1)
    with pytest.raises(ValueError, match="causal attention of 3 queries among 2 keys"):
        blocked_traffic(3, 2, heads=1, kv_heads=1, head_dim=1, itemsize=1, block_q=1, block_k=1, causal=True)
