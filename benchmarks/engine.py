"""Decode steps of the engine on one core, for one sequence and for many: the shipped pair, and SmolLM2 where it is."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

from benchmarks import Row
from hwlab.kernels.checkpoints import PACKAGES

CHILD = """
import json, sys, time
from statistics import median
import numpy as np
from hwlab.serving import Engine

name, batches, tokens = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])

def bandwidth():
    array, best = np.ones(32 * 2**20, np.float32), 9.0
    for _ in range(5):
        start = time.perf_counter()
        array.sum()
        best = min(best, time.perf_counter() - start)
    return array.nbytes / best

found = {"bandwidth": bandwidth(), "steps": []}
for batch in batches:
    engine = Engine.load(name, max_batch=batch, num_blocks=batch * 8)
    prompts = [[1 + row, 2, 3, 4, 5, 6, 7, 8] for row in range(batch)]
    engine.generate(prompts, max_new_tokens=tokens)
    steps = [s for s in engine.log if s.decode_sequences == batch and not s.prefill_tokens and not s.compiled]
    seconds = median(s.seconds for s in steps)
    found["steps"].append([batch, seconds, median(s.weight_bytes for s in steps)])
found["bandwidth"] = max(found["bandwidth"], bandwidth())
print(json.dumps(found))
"""
BATCHES = (1, 8, 32)
PEERS = {8: 45.6e-3, 32: 105e-3}
"""Seconds of llama.cpp's step of SmolLM2 in float32, one core, measured for the design of this project in 2026-11."""


def rows():
    """One child process for each model, pinned to one core."""
    yield from _rows("tiny-shakespeare", tokens=48)
    for name, (module, _, package) in PACKAGES.items():
        if find_spec(module):
            yield from _rows(name, tokens=12)
        else:
            yield Row(f"engine, {name}", f"not measured: the package {package} is not installed")


def _rows(name, tokens):
    cores = getattr(os, "sched_getaffinity", lambda _: ())(0)
    pin = f"import os; os.sched_setaffinity(0, {{{min(cores)}}})\n" if cores else ""
    child = subprocess.run(
        [sys.executable, "-c", pin + CHILD, name, json.dumps(BATCHES), str(tokens)],
        env=os.environ | {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(child.stdout)
    large = name in PACKAGES
    for batch, seconds, weights in found["steps"]:
        share = weights / seconds / found["bandwidth"]
        target, met, peer = "", None, ""
        if large and batch == 1:
            target, met, peer = "> 0.8 of read bandwidth", share > 0.8, "llama.cpp: 0.90 of read bandwidth"
        elif large:
            target, met = "less than llama.cpp", seconds < PEERS[batch]
            peer = f"llama.cpp: {PEERS[batch] * 1e3:.1f} ms on another day, not in this run"
        yield Row(
            f"engine, {name}, float32, one core, a step of {batch} sequence{'s' * (batch > 1)}",
            f"{seconds * 1e3:.2f} ms, weights at {share:.2f} of read bandwidth ({found['bandwidth'] / 1e9:.1f} GB/s)",
            target,
            met,
            peer,
        )
