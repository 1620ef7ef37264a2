"""The matrix product, from the equation to the vendor's library.

``a[m, k] @ b[k, n] -> c[m, n]``, each rung of the ladder with the one idea it adds: `matmul_reference` is the equation
and every other function must agree with it; `matmul_loops` turns the three loops in any order; `matmul_vectors` gives
the innermost loop to NumPy; `matmul_blocked` keeps tiles near; `matmul_jax` leaves it to a compiler; `matmul_pallas`
says itself which tile is in fast memory when, for a TPU. NumPy's own ``@`` calls BLAS and is the last rung.
"""

from __future__ import annotations

from functools import partial
from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ORDERS = tuple("".join(order) for order in permutations("mnk"))
"""The six orders of the three loops, outermost first."""


def matmul_reference(a, b) -> np.ndarray:
    """The product as the equation reads, ``c[i, j] = sum over p of a[i, p] * b[p, j]``, in float64. Slow.

    Parameters
    ----------
    a : array [m, k]
    b : array [k, n]

    Returns
    -------
    numpy.ndarray [m, n], float64

    Raises
    ------
    ValueError
        If `a` and `b` are not matrices that can be multiplied. So do all functions of this module.

    Examples
    --------
    >>> matmul_reference([[1, 2], [3, 4]], [[5, 6], [7, 8]])  # 1*5 + 2*7 = 19
    array([[19., 22.],
           [43., 50.]])
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    m, k, n = _sizes(a, b)
    c = np.empty((m, n))
    for i in range(m):
        for j in range(n):
            c[i, j] = sum(a[i, p] * b[p, j] for p in range(k))
    return c


def matmul_loops(a, b, *, order: str = "mnk") -> list[list]:
    """The three loops in any order, in plain Python on lists: one multiplication and one addition at a time.

    All six orders do the same work and round alike; they differ in which array they walk along and which they jump
    about in. Python itself takes so long for each step that this hardly shows: see `matmul_vectors`.

    Parameters
    ----------
    a, b : array [m, k] and [k, n]
    order : str
        Loops from the outermost to the innermost, one of `ORDERS`.

    Returns
    -------
    list of m lists of n numbers, exact where `a` and `b` hold integers

    Examples
    --------
    >>> matmul_loops([[1, 2], [3, 4]], [[5, 6], [7, 8]], order="kmn")
    [[19, 22], [43, 50]]
    """
    a, b = np.asarray(a), np.asarray(b)
    sizes = _sizes(a, b)
    first, second, third = ("mkn".index(axis) for axis in _known(order))
    a, b = a.tolist(), b.tolist()
    c = [[0] * sizes[2] for _ in range(sizes[0])]
    at = [0, 0, 0]  # in the order m, k, n
    for outer in range(sizes[first]):
        at[first] = outer
        for middle in range(sizes[second]):
            at[second] = middle
            for inner in range(sizes[third]):
                at[third] = inner
                i, p, j = at
                c[i][j] += a[i][p] * b[p][j]
    return c


def matmul_vectors(a, b, *, order: str = "mkn") -> np.ndarray:
    """Two loops in Python, the innermost one handed to NumPy as a whole vector.

    With ``n`` innermost the vectors are rows, which lie side by side in memory; with ``m`` they are columns, each
    element a row apart from the next; with ``k`` one is a row and the other a column.

    Parameters
    ----------
    a, b : array [m, k] and [k, n]
    order : str
        As for `matmul_loops`.

    Returns
    -------
    numpy.ndarray [m, n]

    Examples
    --------
    >>> matmul_vectors([[1, 2], [3, 4]], [[5, 6], [7, 8]], order="mkn")
    array([[19, 22],
           [43, 50]])
    """
    a, b = np.asarray(a), np.asarray(b)
    sizes = _sizes(a, b)
    first, second, third = ("mkn".index(axis) for axis in _known(order))
    c = np.zeros((sizes[0], sizes[2]), np.result_type(a, b))
    at = [slice(None)] * 3  # in the order m, k, n; the innermost one stays whole
    for outer in range(sizes[first]):
        at[first] = outer
        for middle in range(sizes[second]):
            at[second] = middle
            i, p, j = at
            if third == 1:
                c[i, j] = np.dot(a[i], b[:, j])
            else:
                c[i, j] += a[i, p] * b[p, j]
    return c


def matmul_blocked(a, b, *, block: int = 128) -> np.ndarray:
    """The product tile by tile, the tile of `c` staying while tiles of `a` and `b` pass by.

    Each tile product is NumPy's own compiled loop (`einsum`, which calls no BLAS), so that a change of `block` changes
    nothing but the tiling. `hwlab.costs.blocking` counts the bytes that this order moves.

    Parameters
    ----------
    a, b : array [m, k] and [k, n]
    block : int
        Rows and columns of a tile; those at the edges are smaller. 128 x 128 in float32 is 64 KiB: three of them fit
        in the second-level cache of most cores.

    Returns
    -------
    numpy.ndarray [m, n]

    Examples
    --------
    >>> a, b = np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2)
    >>> matmul_blocked(a, b, block=2)
    array([[10, 13],
           [28, 40]])
    """
    a, b = np.asarray(a), np.asarray(b)
    m, k, n = _sizes(a, b)
    if block < 1:
        raise ValueError(f"block is {block}; a tile has one row or more")
    c = np.zeros((m, n), np.result_type(a, b))
    for i in range(0, m, block):
        for j in range(0, n, block):
            c_tile = c[i : i + block, j : j + block]
            for p in range(0, k, block):
                a_tile, b_tile = a[i : i + block, p : p + block], b[p : p + block, j : j + block]
                c_tile += np.einsum("ip,pj->ij", a_tile, b_tile, optimize=False)
    return c


@jax.jit
def matmul_jax(a: jax.Array, b: jax.Array) -> jax.Array:
    """The product as XLA compiles it for this machine; sums in the type of `accumulator`, which is also the result's.

    Parameters
    ----------
    a, b : array [m, k] and [k, n]

    Returns
    -------
    jax.Array [m, n]

    Examples
    --------
    >>> matmul_jax(jnp.ones((2, 256), jnp.bfloat16), jnp.ones((256, 1), jnp.bfloat16)).tolist()
    [[256.0], [256.0]]
    """
    a, b = jnp.asarray(a), jnp.asarray(b)
    _sizes(a, b)
    return jnp.matmul(a, b, preferred_element_type=accumulator(a.dtype, b.dtype))


def accumulator(a_dtype, b_dtype) -> jnp.dtype:
    """Type in which products of two types are summed: float32 for half precision, int32 for small integers.

    In bfloat16, which has 8 bits of significand, 256 + 1 is 256: a sum of ones would stop there.

    Examples
    --------
    >>> accumulator(jnp.bfloat16, jnp.bfloat16).name, accumulator(jnp.int8, jnp.int8).name
    ('float32', 'int32')
    """
    dtype = jnp.promote_types(a_dtype, b_dtype)
    least = jnp.float32 if jnp.issubdtype(dtype, jnp.floating) else jnp.int32
    return jnp.promote_types(dtype, least)


@partial(jax.jit, static_argnames=("block_m", "block_k", "block_n", "interpret"))
def matmul_pallas(
    a: jax.Array,
    b: jax.Array,
    *,
    block_m: int = 256,
    block_k: int = 512,
    block_n: int = 256,
    interpret: bool | None = None,
) -> jax.Array:
    """The product as a TPU kernel: which tile is in fast memory (VMEM) at which step is written down.

    The grid runs over tiles of m, n and k, k innermost: a float32 tile of sums stays in VMEM while tiles of `a` and
    `b` stream past it, the next ones being fetched during the arithmetic on the present ones. Sizes need not be
    multiples of the tile: what lies beyond the edge along k is masked, and what is computed beyond an edge of `c` is
    not written.

    Parameters
    ----------
    a, b : array [m, k] and [k, n]
    block_m, block_k, block_n : int
        Tile sizes; on a TPU multiples of 8 (rows) and 128 (columns) or the whole dimension. Larger than the dimension
        means the whole of it.
    interpret : bool, optional
        Run the same kernel step by step in JAX, on any machine. By default so wherever there is no TPU.

    Returns
    -------
    jax.Array [m, n], in the type of `accumulator`

    Examples
    --------
    >>> a, b = jnp.arange(6.0).reshape(2, 3), jnp.arange(6.0).reshape(3, 2)
    >>> matmul_pallas(a, b, block_k=2).tolist()
    [[10.0, 13.0], [28.0, 40.0]]
    """
    m, k, n = _sizes(a, b)
    block_m, block_k, block_n = min(block_m, m), min(block_k, k), min(block_n, n)
    steps_k = pl.cdiv(k, block_k)
    dtype = accumulator(a.dtype, b.dtype)

    def kernel(a_tile, b_tile, c_tile, sums):  # [block_m, block_k], [block_k, block_n], [block_m, block_n] twice
        step = pl.program_id(2)

        @pl.when(step == 0)
        def start():
            sums[...] = jnp.zeros_like(sums)

        x, y = a_tile[...], b_tile[...]
        if k % block_k:  # the last tile reaches beyond the edge, where there may be anything, even NaN
            left = k - step * block_k
            x = jnp.where(jax.lax.broadcasted_iota(jnp.int32, x.shape, 1) < left, x, jnp.zeros_like(x))
            y = jnp.where(jax.lax.broadcasted_iota(jnp.int32, y.shape, 0) < left, y, jnp.zeros_like(y))
        sums[...] += jnp.dot(x, y, preferred_element_type=dtype)

        @pl.when(step == steps_k - 1)
        def finish():
            c_tile[...] = sums[...]

    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(m, block_m), pl.cdiv(n, block_n), steps_k),
        in_specs=[
            pl.BlockSpec((block_m, block_k), lambda i, j, p: (i, p)),
            pl.BlockSpec((block_k, block_n), lambda i, j, p: (p, j)),
        ],
        out_specs=pl.BlockSpec((block_m, block_n), lambda i, j, p: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), dtype),
        scratch_shapes=[pltpu.VMEM((block_m, block_n), dtype)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        interpret=jax.default_backend() != "tpu" if interpret is None else interpret,
    )(a, b)


def export_for_tpu(m: int, k: int, n: int, *, dtype=jnp.bfloat16, **blocks: int) -> export.Exported:
    """Lower `matmul_pallas` for a TPU, on a machine that has none.

    Parameters
    ----------
    m, k, n : int
        Sizes of the product.
    dtype
        Type of both operands.
    **blocks : int
        `block_m`, `block_k` and `block_n` of `matmul_pallas`.

    Returns
    -------
    jax.export.Exported
        With the kernel in Mosaic, the language that a TPU's own compiler takes over from.

    Examples
    --------
    >>> exported = export_for_tpu(512, 1024, 512)
    >>> exported.platforms, exported.out_avals
    (('tpu',), (ShapedArray(float32[512,512]),))
    >>> "tpu_custom_call" in exported.mlir_module()  # the kernel, as Mosaic
    True
    """
    product = jax.jit(partial(matmul_pallas, interpret=False, **blocks))
    return export.export(product, platforms=["tpu"])(
        jax.ShapeDtypeStruct((m, k), dtype), jax.ShapeDtypeStruct((k, n), dtype)
    )


def _sizes(a, b) -> tuple[int, int, int]:
    """(m, k, n) of ``a[m, k] @ b[k, n]``, or the error that says why there is no such product."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or 0 in (*a.shape, *b.shape):
        raise ValueError(
            f"a has shape {a.shape} and b has shape {b.shape}; give two matrices [m, k] and [k, n], "
            "the columns of a as many as the rows of b, and none of them empty"
        )
    return a.shape[0], a.shape[1], b.shape[1]


def _known(order: str) -> str:
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}; choose one of {', '.join(ORDERS)} (outermost loop first)")
    return order
