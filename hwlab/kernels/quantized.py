"""Numbers in 8 and 4 bits: codes and scales, what they cost in bytes and in error, and products of them.

A quantised array is codes times scales. How many elements share a scale decides how far an outlier reaches: a tensor, a
channel (all that one sum of a product runs over), or a group of consecutive elements of it. Block formats fix the group
and the type of its scale: MXFP8 and MXFP4 share a power of two among 32, NVFP4 an E4M3 number among 16 and a float32
among all.

Codes are rounded to nearest, ties to even, and saturate: what is too large becomes the largest. NaN and infinity are
refused. `scaled_matmul` multiplies codes by codes and scales the sum; `weight_only_matmul` widens the codes of weights
to the type of the activations first. Both must agree with `matmul_reference`.

Open Compute Project, "OCP Microscaling Formats (MX) Specification" v1.0, 2023; P. Micikevicius et al., "FP8 Formats for
Deep Learning", arXiv:2209.05433, 2022; NVIDIA, "Pretraining Large Language Models with NVFP4", arXiv:2509.25149, 2025;
E. Frantar et al., "GPTQ", arXiv:2210.17323, 2022.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """The type of one code.

    Attributes
    ----------
    dtype : numpy.dtype
        In which codes are held, one a byte.
    bits : int
        In which they are stored, two a byte where there are 4.
    largest : float
        Of either sign.
    mantissa_bits, least_exponent : int, or None of integers
        Digits after the binary point, and the exponent below which they grow fewer.
    """

    dtype: np.dtype
    bits: int
    largest: float
    mantissa_bits: int | None = None
    least_exponent: int | None = None

    @property
    def largest_exponent(self) -> int:
        """Of the largest number."""
        return int(np.floor(np.log2(self.largest)))


ELEMENTS = {
    "int8": Element(dtype=np.dtype(np.int8), bits=8, largest=127),
    "int4": Element(dtype=np.dtype(jnp.int4), bits=4, largest=7),
    "fp8-e4m3": Element(dtype=np.dtype(jnp.float8_e4m3fn), bits=8, largest=448.0, mantissa_bits=3, least_exponent=-6),
    "fp8-e5m2": Element(dtype=np.dtype(jnp.float8_e5m2), bits=8, largest=57344.0, mantissa_bits=2, least_exponent=-14),
    "fp4-e2m1": Element(dtype=np.dtype(jnp.float4_e2m1fn), bits=4, largest=6.0, mantissa_bits=1, least_exponent=0),
}
"""By name. Integers leave out their lowest number, so that the range is the same on either side of zero."""

BLOCKS = {"mxfp8": ("fp8-e4m3", 32), "mxfp4": ("fp4-e2m1", 32), "nvfp4": ("fp4-e2m1", 16)}
"""Block formats: element and how many of them share a scale."""

FORMATS = (*ELEMENTS, *BLOCKS)
"""What `quantize` takes."""

SCALES = ("tensor", "channel", "group")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantized:
    """An array as codes and scales: ``code * scale``, or ``(code - zero) * scale``.

    Attributes
    ----------
    format, scale : str
        As given to `quantize`.
    axis, group : int
        The axis that elements of one scale lie along, and how many of it share one.
    codes : numpy.ndarray
        Of the shape of the array, in the element's type.
    scales : numpy.ndarray
        Of that shape with groups along `axis`; ``[1, ..., 1]`` of one for all.
    tensor_scale : float
        By which all scales are multiplied, a float32 number; 1 but in NVFP4.
    zeros : numpy.ndarray or None
        Codes that stand for zero, as `scales`; None where code 0 does.
    """

    format: str
    scale: str
    axis: int
    group: int
    codes: np.ndarray
    scales: np.ndarray
    tensor_scale: float = 1.0
    zeros: np.ndarray | None = None

    @property
    def element(self) -> Element:
        """Type of a code."""
        return ELEMENTS[BLOCKS[self.format][0] if self.format in BLOCKS else self.format]

    @property
    def nbytes(self) -> int:
        """Bytes of packed codes, scales and zeros.

        Examples
        --------
        4,096 numbers of 4 bits, a byte for each 32 of them:

        >>> quantize(np.ones((64, 64)), "mxfp4").nbytes
        2176
        """
        extra = 4 if self.format == "nvfp4" else 0
        zeros = 0 if self.zeros is None else -(-self.zeros.size * self.element.bits // 8)
        return -(-self.codes.size * self.element.bits // 8) + self.scales.nbytes + zeros + extra

    @property
    def bits_per_element(self) -> float:
        """All of that, over the number of elements."""
        return 8 * self.nbytes / self.codes.size

    @property
    def dtype(self) -> str | None:
        """The name under which `hwlab.estimate` knows such weights, or None.

        Examples
        --------
        >>> quantize(np.ones((256, 2)), "int4", scale="group", group=128).dtype
        'int4-g128'
        """
        if self.format in BLOCKS or (self.format == "int8" and self.scale != "group"):
            return self.format
        if self.format.startswith("fp8") and self.scale != "group":
            return "fp8"
        if self.format == "int4" and self.zeros is None and self.scale == "group" and self.group in (32, 64, 128):
            return f"int4-g{self.group}"
        return None

    def packed(self) -> np.ndarray:
        """Codes as bytes, the even one of two 4-bit codes along `axis` in the low half.

        Examples
        --------
        >>> quantize(np.array([1.0, 7.0, -7.0, 0.0]), "int4").packed().tolist()
        [113, 9]
        """
        if self.element.bits == 8:
            return self.codes.view(np.uint8)
        return pack(self.codes, self.axis)


def cast(x, element: str) -> np.ndarray:
    """`x` rounded to the nearest number of a type, ties to even; what is too large becomes the largest.

    Parameters
    ----------
    x : array
    element : str
        One of `ELEMENTS`.

    Returns
    -------
    numpy.ndarray, float64
        Each exactly a number of the type.

    Raises
    ------
    ValueError
        If there is no such type, or `x` holds NaN or infinity.

    Examples
    --------
    Numbers of FP4 are 0, 0.5, 1, 1.5, 2, 3, 4 and 6. 2.5 lies between two and goes to the even one:

    >>> cast([0.3, 2.5, 3.5, 5.0, 100.0, -0.26], "fp4-e2m1")
    array([ 0.5,  2. ,  4. ,  4. ,  6. , -0.5])
    """
    x = _finite(x)
    if element not in ELEMENTS:
        raise ValueError(f"element is {element!r}; choose one of {', '.join(ELEMENTS)}")
    kind = ELEMENTS[element]
    if kind.mantissa_bits is None:
        return np.clip(np.round(x), -kind.largest, kind.largest) + 0.0
    _, exponent = np.frexp(x)  # x = m 2^exponent with 0.5 <= m < 1: one more than the exponent meant here
    step = np.ldexp(1.0, np.maximum(exponent - 1, kind.least_exponent) - kind.mantissa_bits)
    return np.clip(np.round(x / step) * step, -kind.largest, kind.largest)


def quantize(
    x, format: str, *, scale: str = "tensor", group: int | None = None, axis: int = 0, symmetric: bool = True
) -> Quantized:
    """Codes and scales of an array.

    The scale makes the largest magnitude among those that share it the largest number of the type; in MX formats it is
    a power of two, so that the largest lies within a factor of two of that.

    Parameters
    ----------
    x : array
    format : str
        One of `FORMATS`. A block format brings its own groups and takes neither `scale` nor `group`.
    scale : {"tensor", "channel", "group"}
        What shares a scale: all; all along `axis`; `group` consecutive ones along it.
    group : int, optional
        With "group": how many.
    axis : int
        The axis that a product sums over: 0 of weights ``w[k, n]``, 1 of activations ``x[m, k]``.
    symmetric : bool
        False shifts integer codes so that least and largest of a group, zero included, take the ends of the range.

    Returns
    -------
    Quantized
        Scales are float32, of groups of 4-bit codes float16; E8M0 and E4M3 in the block formats.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown, groups do not fit, `x` is empty, holds NaN or infinity or is too large for its scales.

    Examples
    --------
    One outlier spoils a whole tensor; alone in its group it spoils that:

    >>> x = np.array([0.1, 0.2, 0.3, 0.4, 70.0, 0.1, 0.2, 0.3])
    >>> dequantize(quantize(x, "int4")).round(2).tolist()
    [0.0, 0.0, 0.0, 0.0, 70.0, 0.0, 0.0, 0.0]
    >>> dequantize(quantize(x, "int4", scale="group", group=4)).round(2).tolist()
    [0.11, 0.23, 0.29, 0.4, 70.0, 0.0, 0.0, 0.0]
    """
    x = _finite(x)
    axis = _axis(x, axis)
    group, scale = _group(x, format, scale, group, axis)
    if format in BLOCKS:
        if not symmetric:
            raise ValueError(f"{format} has no zero point; leave symmetric")
        return _blocks(x, format, group, axis)
    kind = ELEMENTS[format]
    if not symmetric and kind.mantissa_bits is not None:
        raise ValueError(f"{format} has no zero point; only integers may be asymmetric")
    held = np.float16 if scale == "group" and kind.bits == 4 else np.float32
    over = None if scale == "tensor" else axis
    made = Quantized(format=format, scale=scale, axis=axis, group=group, codes=x, scales=x)  # codes follow
    if symmetric:
        scales = _held(_grouped(np.abs(x), over, group, np.max) / kind.largest, held)
        codes = cast(x / _shared(scales, made), format)
        return replace(made, codes=codes.astype(kind.dtype), scales=scales)
    low, high = (_grouped(x, over, group, take) for take in (np.min, np.max))
    low, high = np.minimum(low, 0), np.maximum(high, 0)
    least = -kind.largest - 1
    scales = _held((high - low) / (kind.largest - least), held)
    zeros = np.clip(np.round(least - low / scales), least, kind.largest)
    codes = np.clip(np.round(x / _shared(scales, made)) + _shared(zeros, made), least, kind.largest)
    return replace(made, codes=codes.astype(kind.dtype), scales=scales, zeros=zeros.astype(kind.dtype))


def dequantize(quantized: Quantized) -> np.ndarray:
    """The array that codes and scales stand for, in float64.

    Examples
    --------
    Sixteen codes from -1 to 4, every third of a unit:

    >>> dequantize(quantize([-1.0, 0.0, 0.6, 4.0], "int4", symmetric=False)).round(2).tolist()
    [-1.0, 0.0, 0.67, 4.0]
    """
    codes = quantized.codes.astype(np.float64)
    if quantized.zeros is not None:
        codes = codes - _shared(quantized.zeros.astype(np.float64), quantized)
    return codes * _shared(quantized.scales.astype(np.float64), quantized) * quantized.tensor_scale


def pack(codes: np.ndarray, axis: int = 0) -> np.ndarray:
    """4-bit codes, two a byte: the even one along `axis` in the low half; zero fills up an odd length.

    Raises
    ------
    ValueError
        If codes are not of 4 bits.
    """
    if codes.dtype not in (ELEMENTS["int4"].dtype, ELEMENTS["fp4-e2m1"].dtype):
        raise ValueError(f"codes are {codes.dtype}; only those of 4 bits are packed")
    nibbles = np.moveaxis(codes, axis, 0).view(np.uint8) & 15
    if len(nibbles) % 2:
        nibbles = np.concatenate([nibbles, np.zeros_like(nibbles[:1])])
    return np.moveaxis(nibbles[::2] | nibbles[1::2] << 4, 0, axis)


def unpack(packed: jax.Array, format: str, length: int, axis: int = 0) -> jax.Array:
    """The numbers of packed 4-bit codes, in float32.

    Parameters
    ----------
    packed : array of uint8
        From `pack`.
    format : str
        Whose element is of 4 bits.
    length : int
        Codes along `axis`.

    Examples
    --------
    >>> unpack(quantize(np.array([1.0, 7.0, -7.0]), "int4").packed(), "int4", 3).tolist()
    [1.0, 7.0, -7.0]
    """
    packed = jnp.moveaxis(jnp.asarray(packed), axis, 0)
    nibbles = jnp.stack([packed & 15, packed >> 4], axis=1).reshape(-1, *packed.shape[1:])[:length]
    if format == "int4":
        numbers = ((nibbles ^ 8).astype(jnp.int8) - 8).astype(jnp.float32)  # two's complement
    else:
        magnitudes = jnp.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], jnp.float32)[nibbles & 7]
        numbers = jnp.where(nibbles > 7, -magnitudes, magnitudes)
    return jnp.moveaxis(numbers, 0, axis)


def matmul_reference(x, w) -> np.ndarray:
    """``x[m, k] @ w[k, n]`` in float64, either of them quantised or not.

    Examples
    --------
    >>> w = quantize(np.array([[3.5], [7.0]]), "int4")
    >>> matmul_reference(np.ones((1, 2)), w)  # 3.5 becomes 4 of 7 steps
    array([[11.]])
    """
    x, w = (dequantize(a) if isinstance(a, Quantized) else np.asarray(a, np.float64) for a in (x, w))
    return x @ w


def scaled_matmul(x: Quantized, w: Quantized) -> jax.Array:
    """``x[m, k] @ w[k, n]`` of 8-bit codes: integers summed in int32, FP8 in float32, scales applied to the sum.

    Parameters
    ----------
    x : Quantized [m, k]
        Along axis 1, with a scale for all or for each row.
    w : Quantized [k, n]
        Along axis 0, with a scale for all or for each column.

    Returns
    -------
    jax.Array [m, n], float32

    Raises
    ------
    ValueError
        If shapes do not go together, either is not of 8 bits, or a scale would have to be applied within a sum.

    Examples
    --------
    >>> x = quantize([[1.0, 2.0]], "int8", axis=1)
    >>> round(float(scaled_matmul(x, quantize([[3.0], [4.0]], "int8"))[0, 0]), 1)
    11.0
    """
    for name, array, axis in (("x", x, 1), ("w", w, 0)):
        fits = array.element.bits == 8 and array.scale in ("tensor", "channel") and array.zeros is None
        if not fits or array.codes.ndim != 2 or array.axis != axis:
            zeros = "" if array.zeros is None else ", with zeros"
            raise ValueError(
                f"{name} is {array.format} of shape {array.codes.shape}, scaled by {array.scale} along axis "
                f"{array.axis}{zeros}; give a matrix of 8 bits, symmetric, with scales by tensor or by channel along "
                f"axis {axis}"
            )
    if (x.format == "int8") != (w.format == "int8"):
        raise ValueError(f"x is {x.format} and w {w.format}; give integers or FP8 on both sides")
    _meet(x.codes.shape, w.codes.shape)
    return _scaled(x.codes, w.codes, x.scales, w.scales)


@jax.jit
def _scaled(x, w, x_scales, w_scales):
    if x.dtype == jnp.int8:
        total = jnp.matmul(x, w, preferred_element_type=jnp.int32)
    else:
        total = jnp.matmul(x.astype(jnp.float32), w.astype(jnp.float32))  # products of FP8 are exact in float32
    return total.astype(jnp.float32) * x_scales * w_scales


def weight_only_matmul(x: jax.Array, w: Quantized) -> jax.Array:
    """``x[m, k] @ w[k, n]``, the codes of `w` widened to the type of `x` as they are used.

    Parameters
    ----------
    x : array [m, k]
    w : Quantized [k, n]
        Along axis 0, in any format.

    Returns
    -------
    jax.Array [m, n], float32

    Raises
    ------
    ValueError
        If shapes do not go together.

    Examples
    --------
    >>> w = quantize(np.eye(32), "mxfp4")
    >>> weight_only_matmul(jnp.ones((1, 32), jnp.bfloat16), w).tolist()[0][:2]
    [1.0, 1.0]
    """
    if w.codes.ndim != 2 or w.axis != 0:
        raise ValueError(f"w has shape {w.codes.shape}, scaled along axis {w.axis}; give w[k, n] scaled along axis 0")
    _meet(x.shape, w.codes.shape)
    codes = w.packed() if w.element.bits == 4 else w.codes
    zeros = None if w.zeros is None else w.zeros.astype(np.float32)
    scales = w.scales.astype(np.float32) * np.float32(w.tensor_scale)
    name = "int4" if w.format == "int4" else "fp4" if w.element.bits == 4 else "8 bits"
    return _weight_only(jnp.asarray(x), codes, scales, zeros, name, w.group)


@partial(jax.jit, static_argnames=("name", "group"))
def _weight_only(x, codes, scales, zeros, name, group):
    k = x.shape[1]
    numbers = codes.astype(jnp.float32) if name == "8 bits" else unpack(codes, name, k)

    def shared(values):
        return values if len(values) == 1 else jnp.repeat(values, group, axis=0)[:k]

    weights = (numbers if zeros is None else numbers - shared(zeros)) * shared(scales)
    return jnp.matmul(x, weights.astype(x.dtype), preferred_element_type=jnp.float32)


def relative_error(approximate, exact) -> float:
    """Frobenius norm of the difference over that of the exact.

    Raises
    ------
    ValueError
        If shapes differ or the exact is all zero.

    Examples
    --------
    >>> relative_error([3.0, 4.5], [3.0, 4.0])
    0.1
    """
    approximate, exact = np.asarray(approximate, np.float64), np.asarray(exact, np.float64)
    if approximate.shape != exact.shape:
        raise ValueError(f"shapes are {approximate.shape} and {exact.shape}; give two alike")
    size = np.linalg.norm(exact)
    if size == 0:
        raise ValueError("the exact array is all zero, so there is no relative error; give one that is not")
    return float(np.linalg.norm(approximate - exact) / size)


def sqnr_db(approximate, exact) -> float:
    """Signal to quantisation noise, in decibel: ``-20 log10`` of `relative_error`; infinite where there is none.

    Examples
    --------
    >>> round(sqnr_db([3.0, 4.5], [3.0, 4.0]), 6)
    20.0
    """
    error = relative_error(approximate, exact)
    return float(-20 * np.log10(error)) if error else float("inf")


def _blocks(x, format, group, axis):
    name, _ = BLOCKS[format]
    kind, largest = ELEMENTS[name], _grouped(np.abs(x), axis, group, np.max)
    made = Quantized(format=format, scale="group", axis=axis, group=group, codes=x, scales=x)
    if format == "nvfp4":
        steps = ELEMENTS["fp8-e4m3"]
        over_all = float(_held(largest.max() / (kind.largest * steps.largest), np.float32))
        scales = cast(largest / kind.largest / over_all, "fp8-e4m3")
        held = steps.dtype
    else:
        over_all, held = 1.0, np.dtype(jnp.float8_e8m0fnu)
        _, exponent = np.frexp(largest)
        scales = np.ldexp(1.0, np.clip(exponent - 1 - kind.largest_exponent, -127, 127))
    divisor = np.where(scales == 0, 1, scales) * over_all
    codes = cast(x / _shared(divisor, made), name)
    codes = np.where(_shared(scales, made) == 0, 0.0, codes)
    return replace(made, codes=codes.astype(kind.dtype), scales=scales.astype(held), tensor_scale=over_all)


def _grouped(x, axis, group, take):
    """`take` over each group along `axis`, which stays; over all where `axis` is None."""
    if axis is None:
        return take(x, keepdims=True)
    parts = [
        take(part, axis=axis, keepdims=True) for part in np.split(x, range(group, x.shape[axis], group), axis=axis)
    ]
    return np.concatenate(parts, axis=axis)


def _shared(values, quantized):
    """`values` of groups, one for each element."""
    if quantized.scale == "tensor":
        return values
    length = quantized.codes.shape[quantized.axis]
    repeated = np.repeat(values, quantized.group, axis=quantized.axis)
    return np.take(repeated, range(length), axis=quantized.axis)


def _held(scales, dtype):
    """`scales` in the type they are stored in; 1 where nothing but zero shares one."""
    with np.errstate(over="ignore"):
        held = scales.astype(dtype)
    if np.isinf(held).any():
        raise ValueError(f"a scale of {scales.max():.3g} is too large for {np.dtype(dtype).name}; make x smaller")
    return np.where(held == 0, dtype(1), held)


def _finite(x):
    x = np.asarray(x, np.float64)
    if not np.isfinite(x).all():
        count = int((~np.isfinite(x)).sum())
        raise ValueError(f"x holds {count} NaN or infinite {'number' if count == 1 else 'numbers'}; give finite ones")
    return x


def _axis(x, axis):
    if x.size == 0 or x.ndim == 0:
        raise ValueError(f"x has shape {x.shape}; give an array that is not empty")
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis is {axis}; x has {x.ndim}")
    return axis % x.ndim


def _group(x, format, scale, group, axis):
    """(elements of a group, what shares a scale)."""
    if format not in FORMATS:
        raise ValueError(f"format is {format!r}; choose one of {', '.join(FORMATS)}")
    if format in BLOCKS:
        if scale != "tensor" or group is not None:
            raise ValueError(f"{format} has groups of {BLOCKS[format][1]}; leave scale and group")
        return BLOCKS[format][1], "group"
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}; choose one of {', '.join(SCALES)}")
    if (scale == "group") != (group is not None):
        raise ValueError(f"scale is {scale!r} and group {group!r}; give a group with scale='group' and only then")
    if group is not None and (isinstance(group, bool) or not isinstance(group, int) or group < 1):
        raise ValueError(f"group is {group!r}; give a whole number of at least 1")
    return group or (x.size if scale == "tensor" else x.shape[axis]), scale


def _meet(left, right):
    if len(left) != 2 or left[1] != right[0]:
        raise ValueError(f"x has shape {tuple(left)} and w {tuple(right)}; give x[m, k] and w[k, n]")
