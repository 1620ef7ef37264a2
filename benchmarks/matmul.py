"""The rungs of the matrix product in one run, the stepper of the blocked one, and how long measuring a host takes."""

import json
import os
import subprocess
import sys
import time

from benchmarks import Row

SIDE = 256
TUNING = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # left over from another processor, they may halve BLAS


def rows():
    """Rows measured in a fresh interpreter, in which BLAS chooses its kernels by itself."""
    clean = {key: value for key, value in os.environ.items() if key not in TUNING}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.matmul"], env=clean, stdout=subprocess.PIPE, text=True, check=True
    )
    return [Row(*row) for row in json.loads(done.stdout)]


def best_of(repeats, run):
    """Seconds of the fastest of some runs: other work can only slow one down."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def ladder_rows():
    """One product of square float32 matrices, each rung beside the plain loops."""
    import numpy as np

    from hwlab.formula import number, si
    from hwlab.kernels.matmul import matmul_blocked, matmul_jax, matmul_loops, matmul_vectors

    a, b = np.random.default_rng(0).standard_normal((2, SIDE, SIDE)).astype(np.float32)
    rungs = {
        "plain Python loops": (1, lambda: matmul_loops(a, b)),
        "rows in NumPy (order mkn)": (2, lambda: matmul_vectors(a, b, order="mkn")),
        "columns in NumPy (order nkm)": (2, lambda: matmul_vectors(a, b, order="nkm")),
        "tiles of 128, einsum": (10, lambda: matmul_blocked(a, b, block=128)),
        "BLAS": (100, lambda: a @ b),
        "JAX": (100, lambda: matmul_jax(a, b).block_until_ready()),
    }
    matmul_jax(a, b).block_until_ready()  # compiled
    rates = {rung: 2 * SIDE**3 / best_of(repeats, run) for rung, (repeats, run) in rungs.items()}
    slowest = rates["plain Python loops"]
    for rung, rate in rates.items():
        ratio = f" = {number(rate / slowest)} x the plain loops" if rate != slowest else ""
        yield Row(f"product of {SIDE} x {SIDE} in float32, {rung}", si(rate, "FLOP/s") + ratio)


def blocking_rows():
    """The stepper and the closed form of the blocked product."""
    from hwlab.costs.blocking import MAX_STEPS, Scene, blocked_bytes, steps
    from hwlab.formula import number, si

    scene = Scene(m=16, k=16, n=16, block_m=1, block_k=1, block_n=1)
    assert scene.num_steps == MAX_STEPS
    seconds = best_of(3, lambda: list(steps(scene)))
    yield Row("blocked product, frames of the stepper", f"{number(scene.num_steps / seconds)} a second")
    blocks = {"block_m": 128, "block_k": 128, "block_n": 128, "itemsize": 4}
    seconds = best_of(5, lambda: [blocked_bytes(4096, 4096, 4096, **blocks) for _ in range(1000)]) / 1000
    yield Row("blocked product, bytes by the closed form", si(seconds, "s"))


def host_row():
    """How long `measure_host` takes."""
    from hwlab import measure_host

    start = time.perf_counter()
    measure_host()
    seconds = time.perf_counter() - start
    return Row("measure_host()", f"{seconds:.1f} s", "< 10 s", seconds < 10)


if __name__ == "__main__":
    print(json.dumps([*ladder_rows(), *blocking_rows(), host_row()]))
