"""One estimate, estimates by the million, and a formula: processor time; and how far off the estimates are."""

import statistics
import time
import timeit

import numpy as np

import hwlab
from benchmarks import Row
from hwlab.costs.efficiency import efficiency_of
from hwlab.costs.roofline import achieved_flop_per_s, decode_step_time
from hwlab.formula import Sym, vega
from hwlab.specs.measurements import measurements

CONFIGURATIONS = 10**6


def _seconds(function, repeat=7, at_least=0.01):
    """Least processor seconds of a call, of several series that each last a while."""
    function()
    number = max(1, round(at_least / timeit.timeit(function, number=1)))
    return min(timeit.repeat(function, number=number, repeat=repeat, timer=time.process_time)) / number


def _predicted(m):
    """Seconds that a published decode step should take."""
    on = hwlab.chip(m.chip)
    fixed = {"context": m.context, "dtype": m.dtype, "tensor": m.chips, "efficiency": efficiency_of(on)}
    return decode_step_time(hwlab.model(m.model), on, **fixed).seconds


def rows():
    llama, deepseek = hwlab.model("llama-3.1-70b"), hwlab.model("deepseek-v3")
    h100, mi300x = hwlab.chip("h100-sxm"), hwlab.chip("mi300x")

    for model, chip in ((llama, h100), (deepseek, mi300x)):
        took = _seconds(lambda m=model, c=chip: hwlab.estimate(m, c, chips=8, batch=32, dtype="fp8"), repeat=200)
        yield Row(
            f"one estimate, {model.name} on 8 {chip.name}",
            f"{took * 1e3:.3f} ms",
            "< 0.05 ms",
            took < 0.05e-3,
            "0.06 ms LLM-Viewer (no parallelism), 0.22 llm-analysis, 89 GenZ, 501 aiconfigurator",
        )

    random = np.random.default_rng(0)
    batch, prompt, output = (random.integers(1, most, CONFIGURATIONS) for most in (65, 4096, 512))
    for model, chip in ((llama, h100), (deepseek, mi300x)):

        def sweep(m=model, c=chip):
            e = hwlab.estimate(m, c, chips=8, batch=batch, prompt_tokens=prompt, output_tokens=output, dtype="fp8")
            return e.ttft_s, e.tpot_s, e.tokens_per_s

        rate = CONFIGURATIONS / _seconds(sweep)
        yield Row(
            f"estimates as arrays, {model.name} on 8 {chip.name}",
            f"{rate / 1e6:.1f} M/s",
            "> 1 M/s",
            rate > 1e6,
        )

    errors = [abs(_predicted(m) / m.seconds - 1) for m in measurements("decode")]
    median = statistics.median(errors)
    yield Row(
        f"error of {len(errors)} decode steps on A100 (gpt-fast), constants from kernels only",
        f"median {100 * median:.1f} %",
        "< 8 %",
        median < 0.08,
        "1.33-3.91 x (rooflines), 0.94-1.23 x (aiconfigurator)",
    )

    took = _seconds(lambda: achieved_flop_per_s(32, 8192, 8192, 989.4e12, 3.35e12, 2))
    yield Row("achieved_flop_per_s of one product", f"{took * 1e6:.2f} µs")
    tokens = Sym("var", "tokens")
    took = _seconds(lambda: vega(achieved_flop_per_s(tokens, 8192, 8192, 989.4e12, 3.35e12, 2)))
    yield Row("the same, traced and written as Vega", f"{took * 1e6:.0f} µs")
