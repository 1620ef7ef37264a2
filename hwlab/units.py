"""How many bits an element takes, by dtype, and which published peak its arithmetic runs at.

Block formats count their scales: an ``mxfp4`` element is 4 bits plus its share, 8/32 of a bit, of the
scale that 32 elements hold in common. Rates elsewhere are plain SI (1 TB/s is 1e12 bytes/s); capacities
keep binary units where the vendor means them, hence `GiB`.
"""

from __future__ import annotations

from types import MappingProxyType

KiB, MiB, GiB = 2**10, 2**20, 2**30

# dtype: (bits an element, dtype whose published peak the arithmetic uses)
# Scales: OCP Microscaling Formats (MX) v1.0, 2023 (32 elements share 8 bits); NVFP4 (16 share 8 bits);
# DeepSeek-V3 report, arXiv 2412.19437, section 3.3 (128 x 128 weights share 32 bits); GPTQ and AWQ groups
# share a 16-bit scale; GGUF block layouts of ggml (q4_0: 18 bytes for 32, q8_0: 34 for 32, q4_k: 144 and
# q6_k: 210 for 256). Weight-only formats are widened to 16 bits before they are multiplied.
_DTYPES = {
    "fp64": (64, "fp64"),
    "fp32": (32, "fp32"),
    "tf32": (32, "tf32"),
    "bf16": (16, "bf16"),
    "fp16": (16, "fp16"),
    "fp8": (8, "fp8"),
    "fp8-block128": (8 + 32 / 128**2, "fp8"),
    "mxfp8": (8 + 8 / 32, "fp8"),
    "int8": (8, "int8"),
    "fp6": (6, "fp6"),
    "mxfp6": (6 + 8 / 32, "fp6"),
    "fp4": (4, "fp4"),
    "mxfp4": (4 + 8 / 32, "fp4"),
    "nvfp4": (4 + 8 / 16, "fp4"),
    "int4": (4, "int4"),
    "int8-channel": (8, "bf16"),
    "int4-g32": (4 + 16 / 32, "bf16"),
    "int4-g64": (4 + 16 / 64, "bf16"),
    "int4-g128": (4 + 16 / 128, "bf16"),
    "q8_0": (34 * 8 / 32, "fp16"),
    "q6_k": (210 * 8 / 256, "fp16"),
    "q4_k": (144 * 8 / 256, "fp16"),
    "q4_0": (18 * 8 / 32, "fp16"),
}

BITS = MappingProxyType({dtype: bits for dtype, (bits, _) in _DTYPES.items()})
_BYTES = {dtype: bits / 8 for dtype, bits in BITS.items()}


def _known(dtype):
    # a slider's dtype arrives as a symbol, which cannot be a key: formula.lookup(BITS, dtype) is for that
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}; known are {', '.join(_DTYPES)}")
    return _DTYPES[dtype]


def bytes_per_element(dtype: str) -> float:
    """Bytes an element of `dtype` takes, its share of block scales included.

    Raises
    ------
    ValueError
        If `dtype` is unknown; the message names those that are known.

    Examples
    --------
    >>> bytes_per_element("bf16"), bytes_per_element("nvfp4")
    (2.0, 0.5625)
    """
    try:
        return _BYTES[dtype]
    except (KeyError, TypeError):
        return _known(dtype)[0] / 8  # raises, and says why


def compute_dtype(dtype: str) -> str:
    """The dtype whose published peak rate the arithmetic on `dtype` weights uses.

    Raises
    ------
    ValueError
        If `dtype` is unknown.

    Examples
    --------
    Four-bit weights in groups are widened before they are multiplied; NVFP4 ones are not:

    >>> compute_dtype("int4-g128"), compute_dtype("nvfp4")
    ('bf16', 'fp4')
    """
    return _known(dtype)[1]
