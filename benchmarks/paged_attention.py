"""Attention through tables of blocks on this machine, beside the same keys and values in one piece."""

import time

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import Row
from hwlab.kernels.attention import grouped_attention
from hwlab.kernels.paged_attention import paged_attention

ROWS, TOKENS, KV_HEADS, GROUP, WIDTH = 8, 1024, 3, 3, 64


def rows():
    """One query for each of several sequences; blocks dealt at random."""
    random = np.random.default_rng(0)
    q = jnp.asarray(random.standard_normal((ROWS, 1, KV_HEADS, GROUP, WIDTH)), jnp.float32)
    k, v = jnp.asarray(random.standard_normal((2, ROWS, KV_HEADS, TOKENS, WIDTH)), jnp.float32)
    seen = jnp.ones((ROWS, 1, TOKENS), bool)
    runs = {"in one piece": (jax.jit(grouped_attention), (q, k, v, seen))}
    for block_tokens in (16, 64):
        places = TOKENS // block_tokens
        cut = jnp.stack([k, v], axis=1).reshape(ROWS, 2, KV_HEADS, places, block_tokens, WIDTH)
        dealt = random.permutation(ROWS * places).reshape(ROWS, places)
        blocks = cut.transpose(0, 3, 1, 2, 4, 5).reshape(-1, 2, KV_HEADS, block_tokens, WIDTH)
        pool = jnp.zeros_like(blocks).at[dealt.ravel()].set(blocks)
        starts = jnp.full(ROWS, TOKENS - 1)
        runs[f"in blocks of {block_tokens}"] = (paged_attention, (q, pool, jnp.asarray(dealt), starts))
    best = _best(runs)
    size = 2 * k.nbytes / 1e6
    for name, seconds in best.items():
        ratio = "" if name == "in one piece" else f", {seconds / best['in one piece']:.1f} times as long"
        yield Row(
            f"decode attention, {ROWS} sequences of {TOKENS:,} tokens ({size:.0f} MB), {name}",
            f"{seconds * 1e3:.2f} ms{ratio}",
        )


def _best(runs, repeats=30):
    """Least time of each, taken in turns so that other work on the machine falls on all."""
    times = {name: float("inf") for name in runs}
    for _ in range(repeats):
        for name, (function, arguments) in runs.items():
            start = time.perf_counter()
            function(*arguments).block_until_ready()
            times[name] = min(times[name], time.perf_counter() - start)
    return times
