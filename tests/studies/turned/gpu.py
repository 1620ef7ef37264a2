"""Inputs under which the claims about GPUs fare otherwise."""

import dataclasses

from hwlab.specs.chips import chips
from hwlab.specs.papers import paper
from tests.studies.changed import chip_with


def _h100(**values):
    return {"chip": chip_with("h100-sxm", {name.replace("__", "."): value for name, value in values.items()})}


def _with_tensor_cores_in_2014():
    return {"known": (*chips(vendor="NVIDIA"), chip_with("v100-sxm2", {"year": 2014}))}


# claim: inputs under which its verdict is another
TURNED = {
    "C036": (_with_tensor_cores_in_2014, "corrected"),
    "C038": (lambda: _h100(counts__sms=114), "corrected"),
    "C039": (lambda: _h100(clock_hz=1.98e9), "corrected"),
    "C040": (lambda: _h100(counts__sms=144), "corrected"),
    "C041": (lambda: _h100(memory_kind="HBM2e"), "corrected"),
    "C042": (lambda: _h100(memory_bus_bits=4096), "corrected"),
    "C043": (lambda: _h100(peak_flop_per_s__fp8=3958e12), "confirmed"),
    "C044": (lambda: _h100(peak_flop_per_s__fp16=1979e12), "confirmed"),
    "C045": (lambda: _h100(link_bytes_per_s=300e9), "corrected"),
    "C063": (lambda: {"layer_s": 1e-7}, "corrected"),
    "C150": (lambda: {"before": chip_with("h100-sxm", {"peak_flop_per_s.fp4": 4e15})}, "corrected"),
    "C151": (lambda: {"chip": chip_with("gb200", {"scale_up_chips": 2})}, "confirmed"),
    "C170": (lambda: {"found": dataclasses.replace(paper("dao-2022"), venue="ICLR 2023")}, "corrected"),
}
