"""Products with quantised weights on this machine, beside the product in float32; bytes of weights, and errors."""

import time

import jax.numpy as jnp
import numpy as np

from benchmarks import Row
from hwlab.kernels.quantized import dequantize, quantize, relative_error, scaled_matmul, weight_only_matmul

SIDE, TOKENS = 2048, 16
FORMATS = {
    "int8, by channel": ("int8", {"scale": "channel"}),
    "int4, groups of 128": ("int4", {"scale": "group", "group": 128}),
    "mxfp4": ("mxfp4", {}),
    "nvfp4": ("nvfp4", {}),
}


def rows():
    """Weights widened as they are used, and one product of 8-bit codes."""
    random = np.random.default_rng(0)
    w = random.standard_normal((SIDE, SIDE))
    x = jnp.asarray(random.standard_normal((TOKENS, SIDE)), jnp.float32)
    plain = jnp.asarray(w, jnp.float32)
    base = _best(lambda: jnp.matmul(x, plain))
    what = f"{TOKENS} tokens x [{SIDE}, {SIDE}]"
    yield Row(f"{what}, float32", f"{base * 1e3:.2f} ms, {plain.nbytes / 1e6:.1f} MB")
    for name, (format, options) in FORMATS.items():
        quantised = quantize(w, format, **options)
        error = relative_error(dequantize(quantised), w)
        seconds = _best(lambda quantised=quantised: weight_only_matmul(x, quantised))
        measured = f"{seconds * 1e3:.2f} ms, {quantised.nbytes / 1e6:.1f} MB, error {100 * error:.1f} %"
        yield Row(f"{what}, weights in {name}", measured)
    left = quantize(x, "int8", scale="channel", axis=1)
    right = quantize(w, "int8", scale="channel")
    seconds = _best(lambda: scaled_matmul(left, right))
    error = relative_error(scaled_matmul(left, right), np.asarray(x, np.float64) @ w)
    yield Row(f"{what}, int8 by int8", f"{seconds * 1e3:.2f} ms, error of the product {100 * error:.2f} %")


def _best(call, repeats=20):
    call().block_until_ready()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call().block_until_ready()
        times.append(time.perf_counter() - start)
    return min(times)
