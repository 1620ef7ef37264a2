"""Quantised numbers: rounding as the formats define it, scales, bytes to the last one, products against float64."""

from dataclasses import replace

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hwlab
from hwlab.kernels.quantized import (
    BLOCKS,
    ELEMENTS,
    FORMATS,
    cast,
    dequantize,
    matmul_reference,
    pack,
    quantize,
    relative_error,
    scaled_matmul,
    sqnr_db,
    unpack,
    weight_only_matmul,
)
from hwlab.units import bytes_per_element

FLOATS = {
    "fp8-e4m3": ml_dtypes.float8_e4m3fn,
    "fp8-e5m2": ml_dtypes.float8_e5m2,
    "fp4-e2m1": ml_dtypes.float4_e2m1fn,
}


def gaussian(*shape, seed=0, outliers=0):
    x = np.random.default_rng(seed).standard_normal(shape)
    x.flat[np.random.default_rng(seed + 1).choice(x.size, outliers, replace=False)] *= 50
    return x


# --- rounding -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FLOATS)
def test_every_number_of_a_type_and_every_midpoint_round_as_the_type_does(name):
    bits = ELEMENTS[name].bits
    numbers = np.arange(2**bits, dtype=np.uint8).view(FLOATS[name]).astype(np.float64)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    assert (cast(numbers, name) == numbers).all() and numbers.max() == ELEMENTS[name].largest
    between = (numbers[1:] + numbers[:-1]) / 2  # a tie goes to the even code, in ml_dtypes too
    for x in (between, np.nextafter(between, np.inf), np.nextafter(between, -np.inf)):
        x = x.astype(np.float32)  # what ml_dtypes rounds in one step
        assert (cast(x, name) == x.astype(FLOATS[name]).astype(np.float64)).all()


@pytest.mark.parametrize("name", ELEMENTS)
def test_what_is_too_large_becomes_the_largest(name):
    largest = ELEMENTS[name].largest
    assert cast([1e9, -1e9, largest], name).tolist() == [largest, -largest, largest]


@pytest.mark.parametrize("name", FLOATS)
@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=20))
@settings(max_examples=30)
def test_a_cast_is_the_nearest_number(name, values):
    numbers = np.arange(2 ** ELEMENTS[name].bits, dtype=np.uint8).view(FLOATS[name]).astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    for x, found in zip(values, cast(values, name), strict=True):
        assert abs(found - x) == np.abs(numbers - x).min()


def test_integers_round_ties_to_even():
    assert cast([0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5], "int8").tolist() == [0, 2, 2, 0, -2, 126, 127]


# --- scales ---------------------------------------------------------------------------------------------------------


def test_scales_of_tensor_channel_and_group_by_hand():
    w = np.array([[1.0, -2.0], [4.0, 8.0], [-127.0, 16.0], [2.0, 254.0]])
    assert quantize(w, "int8").scales.tolist() == [[2.0]]
    assert quantize(w, "int8", scale="channel").scales.tolist() == [[1.0, 2.0]]
    assert quantize(w, "int8", scale="channel", axis=1).scales[2:].tolist() == [[1.0], [2.0]]
    grouped = quantize(w, "int8", scale="group", group=2)
    assert grouped.scales == pytest.approx(np.array([[4 / 127, 8 / 127], [1.0, 2.0]]))
    assert quantize(w, "int8", scale="channel").codes.tolist() == [[1, -1], [4, 4], [-127, 8], [2, 127]]


def test_an_asymmetric_range_by_hand():
    """From -1 to 4 in 255 steps of 1/51; zero is step 51 of them, code -77; 2 is code 25."""
    q = quantize([-1.0, 0.0, 2.0, 4.0], "int8", symmetric=False)
    assert (q.scales.tolist(), q.zeros.tolist()) == ([pytest.approx(5 / 255)], [-77])
    assert q.codes.tolist() == [-128, -77, 25, 127]
    positive = quantize([1.0, 15.0], "int4", symmetric=False)  # zero belongs to the range
    assert (positive.codes.astype(int).tolist(), positive.zeros.astype(int).tolist()) == ([-7, 7], [-8])


def test_an_mx_scale_is_the_power_of_two_of_the_specification():
    """Largest 5: floor(log2 5) = 2; less 2, the largest exponent of E2M1 (6 = 1.5 x 2^2), makes 2^0; of E4M3, 2^-6."""
    x = np.zeros(32)
    x[0], x[1] = 5.0, 0.3
    four, eight = quantize(x, "mxfp4"), quantize(x, "mxfp8")
    assert four.scales.astype(float).tolist() == [1.0] and eight.scales.astype(float).tolist() == [2.0**-6]
    assert dequantize(four)[:2].tolist() == [4.0, 0.5] and dequantize(eight)[:2].tolist() == [5.0, 0.3125]
    x[0] = 7.9  # beyond the largest number under the same scale: it saturates
    assert dequantize(quantize(x, "mxfp4"))[0] == 6.0


def test_an_nvfp4_block_by_hand():
    """Largest of all 2688 = 6 x 448: tensor scale 1. A block whose largest is 60 has scale 10; one of 5.4 would have
    0.9, and E4M3 has 0.875 and 0.9375 there."""
    x = np.zeros((48, 1))
    x[0], x[16], x[17], x[32] = 2688.0, 60.0, 11.0, 5.4
    q = quantize(x, "nvfp4")
    assert q.tensor_scale == 1.0 and q.scales.astype(float).ravel().tolist() == [448.0, 10.0, 0.875]
    assert dequantize(q).ravel()[[0, 16, 17, 32]].tolist() == [2688.0, 60.0, 10.0, 5.25]


def test_zero_needs_no_scale():
    for format in FORMATS:
        assert (dequantize(quantize(np.zeros((64, 3)), format)) == 0).all()
    small = np.zeros(32)
    small[0], small[16] = 1e6, 1e-6  # the scale of the second block is below all of E4M3
    assert dequantize(quantize(small, "nvfp4"))[16] == 0


@given(st.sampled_from(FORMATS), st.sampled_from(["tensor", "channel", "group"]), st.integers(0, 1), st.integers(0, 99))
@settings(max_examples=60)
def test_an_element_is_off_by_half_a_step_of_its_group_at_most_or_saturates(format, scale, axis, seed):
    x = gaussian(37, 5, seed=seed, outliers=3)
    options = {} if format in BLOCKS else {"scale": scale, "group": 4 if scale == "group" else None}
    q = quantize(x, format, axis=axis, **options)
    of_each = dequantize(replace(q, codes=np.ones_like(q.codes)))  # the scale
    step = {"int8": 1, "int4": 1, "fp4-e2m1": 2, "fp8-e4m3": 32, "fp8-e5m2": 8192}  # at the largest number
    element = BLOCKS[format][0] if format in BLOCKS else format
    near = np.abs(dequantize(q) - x) <= step[element] / 2 * of_each * (1 + 1e-9)
    saturated = (np.abs(q.codes.astype(float)) == q.element.largest) & (np.abs(x) >= np.abs(dequantize(q)))
    assert (near | saturated).all()
    if format not in ("mxfp8", "mxfp4", "nvfp4"):  # there only as far as a scale is rounded
        assert relative_error(np.where(saturated, dequantize(q), x), x) < 1e-3


# --- bytes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "format", "options"),
    [
        ("int8", "int8", {}),
        ("fp8", "fp8-e4m3", {}),
        ("mxfp8", "mxfp8", {}),
        ("mxfp4", "mxfp4", {}),
        ("nvfp4", "nvfp4", {}),
        *((f"int4-g{group}", "int4", {"scale": "group", "group": group}) for group in (32, 64, 128)),
    ],
)
def test_bytes_are_those_that_an_estimate_counts(dtype, format, options):
    q = quantize(gaussian(256, 96), format, **options)
    over_all = 4 if dtype in ("int8", "fp8", "nvfp4") else 0  # one float32 for a whole tensor
    assert q.dtype == dtype and q.nbytes == 256 * 96 * bytes_per_element(dtype) + over_all
    held = q.packed().nbytes + q.scales.nbytes + over_all * (dtype == "nvfp4")
    assert q.nbytes == held


def test_bytes_of_odd_lengths_and_of_zeros():
    q = quantize(gaussian(5), "int4", scale="group", group=2, symmetric=False)
    assert q.nbytes == 3 + 3 * 2 + 2  # five codes, three scales, three zeros of half a byte
    assert q.dtype is None and quantize(gaussian(4), "int8", scale="group", group=2).dtype is None


@pytest.mark.parametrize("format", ["int4", "fp4-e2m1"])
@pytest.mark.parametrize("axis", [0, 1])
def test_packing_loses_nothing(format, axis):
    codes = quantize(gaussian(15, 8), format).codes
    packed = pack(codes, axis)
    assert packed.dtype == np.uint8 and packed.shape[axis] == -(-codes.shape[axis] // 2)
    name = "int4" if format == "int4" else "fp4"
    assert (unpack(packed, name, codes.shape[axis], axis) == codes.astype(np.float32)).all()


def test_four_bits_of_weights_make_decode_faster():
    model, chip = hwlab.model("llama-3.1-70b"), hwlab.chip("h100-sxm")
    times = {d: hwlab.estimate(model, chip, chips=8, dtype=d).tpot_s for d in ("bf16", "int4-g32", "int4-g128")}
    assert times["int4-g128"] < times["int4-g32"] < times["bf16"]


# --- products -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["tensor", "channel"])
@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (3, 200, 5)])
def test_integers_are_summed_exactly(m, k, n, scale):
    x, w = quantize(gaussian(m, k), "int8", scale=scale, axis=1), quantize(gaussian(k, n), "int8", scale=scale)
    exact = (x.codes.astype(np.int64) @ w.codes.astype(np.int64)).astype(np.float32)
    assert (np.asarray(scaled_matmul(x, w)) == exact * x.scales * w.scales).all()
    assert scaled_matmul(x, w) == pytest.approx(matmul_reference(x, w), rel=1e-6)


def test_the_largest_codes_do_not_overflow_a_sum():
    x, w = quantize(np.ones((1, 70_000)), "int8", axis=1), quantize(np.ones((70_000, 1)), "int8")
    assert scaled_matmul(x, w)[0, 0] == pytest.approx(70_000)  # the sum is 1.1e9, past half of what int32 holds


@pytest.mark.parametrize("format", ["fp8-e4m3", "fp8-e5m2"])
def test_fp8_products_agree_with_float64(format):
    x, w = quantize(gaussian(4, 64), format, axis=1), quantize(gaussian(64, 6, seed=2), format, scale="channel")
    assert scaled_matmul(x, w) == pytest.approx(matmul_reference(x, w), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("format", FORMATS)
def test_weights_are_widened_as_they_are_used(format):
    x = gaussian(3, 70).astype(np.float32)
    options = {} if format in BLOCKS else {"scale": "group", "group": 32}
    w = quantize(gaussian(70, 5, seed=3), format, **options)  # the last group is short
    assert weight_only_matmul(jnp.asarray(x), w) == pytest.approx(matmul_reference(x, w), rel=1e-4, abs=1e-4)
    narrow = weight_only_matmul(jnp.asarray(x, jnp.bfloat16), w)
    assert narrow.dtype == jnp.float32 and relative_error(narrow, matmul_reference(x, w)) < 0.01


def test_weights_with_zeros_are_widened_too():
    w = quantize(gaussian(8, 3) + 2, "int4", scale="group", group=4, symmetric=False)
    x = np.ones((1, 8), np.float32)
    assert weight_only_matmul(jnp.asarray(x), w) == pytest.approx(matmul_reference(x, w), rel=1e-5)


# --- errors ---------------------------------------------------------------------------------------------------------


def test_finer_scales_help_where_there_are_outliers():
    w = gaussian(512, 64, outliers=40)
    error = {
        name: relative_error(dequantize(quantize(w, "int4", **options)), w)
        for name, options in {
            "tensor": {},
            "channel": {"scale": "channel"},
            "group": {"scale": "group", "group": 32},
        }.items()
    }
    assert error["tensor"] > 1.1 * error["channel"] > 1.2 * error["group"]


def test_noise_of_eight_bits_on_a_uniform_signal_is_that_of_the_textbook():
    """A full-scale uniform signal in steps of 1/127 has SQNR 20 log10(254) = 48.1 dB."""
    x = np.random.default_rng(0).uniform(-1, 1, 100_000)
    assert sqnr_db(dequantize(quantize(x, "int8")), x) == pytest.approx(48.1, abs=0.1)
    assert sqnr_db([1.0], [1.0]) == np.inf


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "options", "says"),
    [
        ([1.0, np.nan, np.inf], {"format": "int8"}, "x holds 2 NaN or infinite numbers"),
        ([1.0], {"format": "int7"}, "format is 'int7'; choose one of int8, .*nvfp4"),
        ([1.0], {"format": "int8", "scale": "row"}, "scale is 'row'; choose one of tensor, channel, group"),
        ([1.0], {"format": "int8", "scale": "group"}, "scale is 'group' and group None"),
        ([1.0], {"format": "int8", "group": 4}, "scale is 'tensor' and group 4"),
        ([1.0], {"format": "int8", "scale": "group", "group": 0}, "group is 0; give a whole number of at least 1"),
        ([1.0], {"format": "mxfp4", "scale": "channel"}, "mxfp4 has groups of 32; leave scale and group"),
        ([1.0], {"format": "nvfp4", "symmetric": False}, "nvfp4 has no zero point"),
        ([1.0], {"format": "fp8-e4m3", "symmetric": False}, "fp8-e4m3 has no zero point; only integers"),
        ([1.0], {"format": "int8", "axis": 1}, "axis is 1; x has 1"),
        ([], {"format": "int8"}, r"x has shape \(0,\); give an array that is not empty"),
        ([1e6], {"format": "int4", "scale": "group", "group": 1}, r"a scale of 1.43e\+05 is too large for float16"),
    ],
)
def test_what_cannot_be_quantised_is_refused(x, options, says):
    with pytest.raises(ValueError, match=says):
        quantize(x, **options)


def test_what_does_not_go_together_is_refused():
    x, w = quantize(np.ones((2, 4)), "int8", axis=1), quantize(np.ones((4, 3)), "int8")
    with pytest.raises(ValueError, match=r"x has shape \(2, 4\) and w \(3, 3\)"):
        scaled_matmul(x, quantize(np.ones((3, 3)), "int8"))
    with pytest.raises(ValueError, match=r"w is int8 of shape .* scaled by group"):
        scaled_matmul(x, quantize(np.ones((4, 3)), "int8", scale="group", group=2))
    with pytest.raises(ValueError, match=r"x is int8 .* along axis 0; .* along axis 1"):
        scaled_matmul(w, w)
    with pytest.raises(ValueError, match="x is int8 and w fp8-e4m3"):
        scaled_matmul(x, quantize(np.ones((4, 3)), "fp8-e4m3"))
    with pytest.raises(ValueError, match="scaled along axis 1; give"):
        weight_only_matmul(np.ones((2, 2)), x)
    with pytest.raises(ValueError, match=r"x has shape \(2, 5\) and w \(4, 3\)"):
        weight_only_matmul(np.ones((2, 5)), w)
    with pytest.raises(ValueError, match="codes are int8; only those of 4 bits"):
        pack(w.codes)
    with pytest.raises(ValueError, match=r"shapes are \(1,\) and \(2,\)"):
        relative_error([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="the exact array is all zero"):
        relative_error([1.0], [0.0])
