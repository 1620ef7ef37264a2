"""Every rung of the ladder agrees with the equation: exactly on integers, within its type's rounding on reals."""

import base64
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hwlab.kernels.matmul import (
    ORDERS,
    accumulator,
    export_for_tpu,
    matmul_blocked,
    matmul_jax,
    matmul_loops,
    matmul_pallas,
    matmul_reference,
    matmul_vectors,
)

sizes = st.integers(1, 9)
seeds = st.integers(0, 2**32 - 1)


def integers(seed, m, k, n):
    """Small whole numbers: sums stay below 2**24, so that float32 holds them exactly."""
    rng = np.random.default_rng(seed)
    return rng.integers(-50, 51, (m, k)), rng.integers(-50, 51, (k, n))


@given(sizes, sizes, sizes, seeds)
def test_the_reference_is_exact_on_integers(m, k, n, seed):
    a, b = integers(seed, m, k, n)
    assert matmul_reference(a, b).dtype == np.float64
    assert np.array_equal(matmul_reference(a, b), a @ b)


def test_the_reference_on_a_product_worked_by_hand():
    """[1 2 3] times columns (1, 0, 1) and (2, 1, 0): 1 + 0 + 3 = 4 and 2 + 2 + 0 = 4; twice that less one in row 2."""
    assert matmul_reference([[1, 2, 3], [2, 4, 5]], [[1, 2], [0, 1], [1, 0]]).tolist() == [[4, 4], [7, 8]]


@pytest.mark.parametrize("order", ORDERS)
@given(m=sizes, k=sizes, n=sizes, seed=seeds)
@settings(max_examples=30)
def test_every_loop_order_is_exact_on_integers(order, m, k, n, seed):
    a, b = integers(seed, m, k, n)
    expected = matmul_reference(a, b)
    assert np.array_equal(matmul_loops(a, b, order=order), expected)
    assert np.array_equal(matmul_vectors(a, b, order=order), expected)


@given(sizes, sizes, sizes, seeds)
def test_every_loop_order_rounds_alike(m, k, n, seed):
    """Each element adds its terms in the order of p, whichever loop is outside, so the results are the same bits."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    first = matmul_loops(a, b, order=ORDERS[0])
    assert all(matmul_loops(a, b, order=order) == first for order in ORDERS[1:])


@given(sizes, sizes, sizes, st.integers(1, 10), seeds)
def test_blocks_of_any_size_change_nothing_on_integers(m, k, n, block, seed):
    a, b = integers(seed, m, k, n)
    assert np.array_equal(matmul_blocked(a, b, block=block), matmul_reference(a, b))


@given(sizes, st.integers(1, 60), sizes, seeds)
def test_float32_is_as_far_from_float64_as_rounding_explains(m, k, n, seed):
    """k products and k sums, each rounded: at most k + 1 roundings of the sum of magnitudes (Higham 2002, 3.1)."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    bound = (k + 1) * np.finfo(np.float32).eps * (abs(a) @ abs(b))
    expected = matmul_reference(a, b)
    for product in (matmul_vectors(a, b), matmul_blocked(a, b, block=4), a @ b):
        assert product.dtype == np.float32
        assert (abs(product - expected) <= bound).all()


@given(sizes, sizes, sizes, st.sampled_from([jnp.float32, jnp.bfloat16, jnp.int8]), seeds)
@settings(max_examples=10, deadline=None)
def test_jax_is_exact_on_integers_in_every_type(m, k, n, dtype, seed):
    a, b = integers(seed, m, k, n)
    product = matmul_jax(jnp.asarray(a, dtype), jnp.asarray(b, dtype))
    assert product.dtype == accumulator(dtype, dtype)
    assert np.array_equal(product, a @ b)


tiles = st.integers(1, 7)


@given(sizes, st.integers(1, 12), sizes, tiles, tiles, tiles, st.sampled_from([jnp.float32, jnp.bfloat16]), seeds)
@example(6, 8, 4, 3, 2, 2, jnp.bfloat16, 0)  # tiles that divide every dimension
@example(7, 5, 3, 3, 2, 2, jnp.bfloat16, 0)  # and none
@settings(max_examples=10, deadline=None)
def test_pallas_is_exact_on_integers_whether_or_not_tiles_divide_the_matrices(m, k, n, bm, bk, bn, dtype, seed):
    """Exact in bfloat16 too: 50 fits its 8 bits of significand, and the sums are float32."""
    a, b = integers(seed, m, k, n)
    x, y = jnp.asarray(a, dtype), jnp.asarray(b, dtype)
    product = matmul_pallas(x, y, block_m=bm, block_k=bk, block_n=bn, interpret=True)
    assert product.dtype == jnp.float32
    assert np.array_equal(product, matmul_reference(a, b))


def test_pallas_sums_bfloat16_in_float32():
    """4,096 ones: in bfloat16 the sum would stop at 256, the first whole number whose successor it lacks."""
    ones = jnp.ones((1, 4096), jnp.bfloat16)
    assert matmul_pallas(ones, ones.T, block_k=100).tolist() == [[4096.0]]
    assert matmul_jax(ones, ones.T).tolist() == [[4096.0]]
    in_bfloat16 = jax.lax.fori_loop(0, 4096, lambda _, total: total + 1, jnp.bfloat16(0))
    assert in_bfloat16 == 256


def mosaic(exported) -> bytes:
    """The kernel inside the one custom call of an exported program, as the TPU's compiler is given it."""
    program = exported.mlir_module()
    assert program.count("custom_call @tpu_custom_call") == 1
    (body,) = re.findall(r"\\22body\\22: \\22([A-Za-z0-9+/=]+)\\22", program)
    return base64.b64decode(body)


@pytest.mark.parametrize("shape", [(512, 1024, 512), (300, 1000, 700), (1, 4096, 384)])
def test_pallas_lowers_for_a_tpu_on_a_machine_without_one(shape):
    m, k, n = shape
    exported = export_for_tpu(m, k, n)
    assert exported.platforms == ("tpu",)
    assert exported.out_avals[0].shape == (m, n)
    kernel = mosaic(exported)
    assert kernel.startswith(b"ML\xefR")  # MLIR bytecode
    assert b"tpu.memory_space<vmem>" in kernel and b"tpu.dot_dimension_numbers" in kernel
    assert "stablehlo.dot_general" not in exported.mlir_module()  # the product is in the kernel and nowhere else


def test_interpret_mode_holds_no_tpu_kernel():
    """What the test above looks for is absent where it should be: interpreted, the product is plain XLA."""
    x = jax.ShapeDtypeStruct((512, 512), jnp.bfloat16)
    program = matmul_pallas.lower(x, x, interpret=True).as_text()
    assert "tpu_custom_call" not in program and "dot_general" in program


@pytest.mark.parametrize(
    "product", [matmul_reference, matmul_loops, matmul_vectors, matmul_blocked, matmul_jax, matmul_pallas]
)
@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 0), (0, 3)), ((1, 2, 3), (3, 2))])
def test_what_cannot_be_multiplied_is_refused_by_shape(product, shapes):
    a, b = (jnp.zeros(shape) for shape in shapes)
    with pytest.raises(ValueError) as error:
        product(a, b)
    assert f"a has shape {shapes[0]} and b has shape {shapes[1]}; give two matrices [m, k] and [k, n]" in str(error)


def test_an_unknown_order_or_block_is_refused():
    with pytest.raises(ValueError, match="order is 'ijk'; choose one of mnk, mkn, nmk, nkm, kmn, knm"):
        matmul_loops([[1]], [[1]], order="ijk")
    with pytest.raises(ValueError, match="order is 'mk'"):
        matmul_vectors([[1]], [[1]], order="mk")
    with pytest.raises(ValueError, match="block is 0; a tile has one row or more"):
        matmul_blocked([[1]], [[1]], block=0)
