"""Attention over 16,384 tokens on one core: block by block, beside all scores in memory."""

import json
import os
import subprocess
import sys

from benchmarks import Row

TOKENS, HEADS, WIDTH = 16384, 2, 64
CHILD = f"""
import json, time
import jax
from hwlab.kernels.attention import attention_blocked, attention_naive

def best(function, *arguments, repeats=3):
    function(*arguments).block_until_ready()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*arguments).block_until_ready()
        times.append(time.perf_counter() - start)
    return min(times)

q, k, v = jax.random.normal(jax.random.key(0), (3, {HEADS}, {TOKENS}, {WIDTH}))
found = {{}}
for causal in (True, False):
    blocked = jax.jit(lambda q, k, v: attention_blocked(q, k, v, causal=causal))
    memory = blocked.lower(q, k, v).compile().memory_analysis().temp_size_in_bytes
    found[str(causal)] = [best(blocked, q, k, v), memory]

@jax.jit
def products(q, k, v):  # of all pairs, two tiles at a time, as in the kernel, without the softmax between them
    tiles = {TOKENS} // 512
    def one(i, out):
        head, key = i // tiles**2, i % tiles
        block = jax.lax.dynamic_slice_in_dim(q[head], i // tiles % tiles * 512, 512)
        keys, values = (jax.lax.dynamic_slice_in_dim(a[head], key * 512, 512) for a in (k, v))
        return out + (block @ keys.T) @ values
    return jax.lax.fori_loop(0, {HEADS} * tiles**2, one, jax.numpy.zeros((512, {WIDTH})))

found["products"] = best(products, q, k, v)
found["naive"] = best(lambda q, k, v: attention_naive(q, k, v, causal=True), q, k, v, repeats=1)
print(json.dumps(found))
"""


def rows():
    """The two kernels in one child process that has one core."""
    cores = getattr(os, "sched_getaffinity", lambda _: ())(0)
    pin = f"import os; os.sched_setaffinity(0, {{{min(cores)}}})\n" if cores else ""
    environment = os.environ | {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    child = subprocess.run(
        [sys.executable, "-c", pin + CHILD], env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(child.stdout)
    peers = {
        "True": f"the products alone {found['products'] / 2:.2f} s, naive {found['naive']:.1f} s in this run",
        "False": f"the products alone {found['products']:.2f} s in this run; torch fused 1.6 s, 19 MB",
    }
    for causal, what in (("True", "causal"), ("False", "all pairs")):
        seconds, memory = found[causal]
        yield Row(
            f"attention, {TOKENS:,} tokens, {HEADS} heads of {WIDTH}, {what}, one core",
            f"{seconds:.2f} s, {memory / 1e6:.0f} MB",
            "< 0.9 s, < 100 MB",
            seconds < 0.9 and memory < 100e6,
            peers[causal],
        )
