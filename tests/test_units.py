"""Bits an element, with the scales worked by hand."""

import pytest

from hwlab.units import BITS, bytes_per_element, compute_dtype


@pytest.mark.parametrize(
    ("dtype", "block", "block_bytes"),
    [
        ("mxfp8", 32, 32 + 1),  # 32 elements of 1 byte, one 8-bit scale
        ("mxfp6", 32, 24 + 1),
        ("mxfp4", 32, 16 + 1),
        ("nvfp4", 16, 8 + 1),
        ("int4-g128", 128, 64 + 2),  # one 16-bit scale
        ("int4-g64", 64, 32 + 2),
        ("int4-g32", 32, 16 + 2),
        ("fp8-block128", 128 * 128, 128 * 128 + 4),  # one 32-bit scale
        ("q4_0", 32, 16 + 2),
        ("q8_0", 32, 32 + 2),
        ("q4_k", 256, 128 + 12 + 4),  # 8 pairs of 6-bit scale and minimum, then two 16-bit ones
        ("q6_k", 256, 192 + 16 + 2),  # 16 scales of 8 bits, one of 16
    ],
)
def test_a_block_format_counts_its_scales(dtype, block, block_bytes):
    assert bytes_per_element(dtype) * block == block_bytes


def test_plain_dtypes_have_the_bits_their_name_says():
    plain = ("fp64", "fp32", "bf16", "fp16", "fp8", "int8", "fp6", "fp4", "int4")
    assert [BITS[dtype] for dtype in plain] == [int(dtype.lstrip("bfpint")) for dtype in plain]
    assert BITS["tf32"] == 32  # 19 bits are computed with, 32 are stored


def test_arithmetic_runs_at_a_plain_dtype():
    for dtype in BITS:
        assert compute_dtype(compute_dtype(dtype)) == compute_dtype(dtype)
    assert [compute_dtype(d) for d in ("mxfp4", "nvfp4", "int4-g128", "mxfp8")] == ["fp4", "fp4", "bf16", "fp8"]


@pytest.mark.parametrize("unknown", ["float8", "", None, 16, ["bf16"]])
def test_an_unknown_dtype_is_answered_with_the_known_ones(unknown):
    for ask in (bytes_per_element, compute_dtype):
        with pytest.raises(ValueError, match=r"unknown dtype .*; known are fp64, .*nvfp4"):
            ask(unknown)
