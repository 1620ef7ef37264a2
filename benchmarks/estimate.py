"""One estimate, estimates by the million, and a formula: how much processor time they take."""

import time
import timeit

import numpy as np

import hwlab
from benchmarks import Row
from hwlab.costs.roofline import achieved_flop_per_s
from hwlab.formula import Sym, vega

CONFIGURATIONS = 10**6


def _seconds(function, repeat=7, at_least=0.01):
    """Least processor seconds of a call, of several series that each last a while."""
    function()
    number = max(1, round(at_least / timeit.timeit(function, number=1)))
    return min(timeit.repeat(function, number=number, repeat=repeat, timer=time.process_time)) / number


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

    took = _seconds(lambda: achieved_flop_per_s(32, 8192, 8192, 989.4e12, 3.35e12, 2))
    yield Row("achieved_flop_per_s of one product", f"{took * 1e6:.2f} µs")
    tokens = Sym("var", "tokens")
    took = _seconds(lambda: vega(achieved_flop_per_s(tokens, 8192, 8192, 989.4e12, 3.35e12, 2)))
    yield Row("the same, traced and written as Vega", f"{took * 1e6:.0f} µs")
