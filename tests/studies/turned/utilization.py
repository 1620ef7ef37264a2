"""Inputs under which the claims about utilization fare otherwise."""

import dataclasses

from hwlab.costs.efficiency import Efficiency
from hwlab.specs.measurements import measurements
from hwlab.specs.throughput import throughputs
from tests.studies.changed import chip_with


def _h100(**values):
    return {"chip": chip_with("h100-sxm", {name.replace("__", "."): value for name, value in values.items()})}


def _faster(factor, **which):
    return {"rows": [dataclasses.replace(t, tokens_per_s=factor * t.tokens_per_s) for t in throughputs(**which)]}


def _at_full_bandwidth():
    row = next(m for m in measurements("decode", chip="a100-sxm-80gb") if m.chips == 1 and m.dtype == "bf16")
    return {"measured": [dataclasses.replace(row, seconds=0.68 * row.seconds)]}


# claim: inputs under which its verdict is another
TURNED = {
    "C101": (lambda: {"shares": (0.15, 0.55)}, "confirmed"),
    "C135": (lambda: _h100(memory_bytes_per_s=9e16), "confirmed"),
    "C136": (lambda: _faster(4, model="deepseek-r1"), "confirmed"),
    "C137": (lambda: _faster(1.3), "confirmed"),
    "C139": (lambda: _h100(peak_flop_per_s__bf16=624e12), "confirmed"),
    "C140": (lambda: _h100(tdp_watts=1270.0), "confirmed"),
    "C142": (lambda: {"batches": (64, 64)}, "corrected"),
    "C143": (lambda: {"used": (0.9, 0.97)}, "corrected"),
    "C144": (lambda: {"start_s": 1e-7}, "corrected"),
    "C145": (lambda: {"link": 450e9, "tensor": 8}, "corrected"),
    "C168": (lambda: {"tuned": 0.99}, "confirmed"),
    "C294": (_at_full_bandwidth, "confirmed"),
    "C295": (lambda: {"batch": 512}, "corrected"),
    "C332": (lambda: {"efficiency": Efficiency(memory=0.3)}, "confirmed"),
    "C333": (lambda: _h100(peak_flop_per_s__bf16=500e12), "confirmed"),
}
