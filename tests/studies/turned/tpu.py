"""Inputs under which the claims about TPUs and the systolic array fare otherwise."""

import dataclasses

from hwlab.costs import systolic
from hwlab.specs.papers import paper
from hwlab.specs.tpu_v1 import application
from tests.studies.changed import chip_with


def _paper(id, **fields):
    return {"found": dataclasses.replace(paper(id), **fields)}


def _projected_in_2015():
    return _paper("jouppi-2017", gives={**paper("jouppi-2017").gives, "projection_year": 2015})


def _broadcasting(a, b):
    """An array in which each value reaches its whole row at once: right products, but not from the neighbour."""
    for frame in systolic.steps(a, b):
        yield {**frame, "passing": [[row[0]] * len(row) for row in frame["passing"]]}


def _late(a, b):
    """An array that needs two cycles more."""
    for frame in systolic.steps(a, b):
        yield {**frame, "cycle": frame["cycle"] + 2}


def _mlp0(rows):
    return {"app": dataclasses.replace(application("MLP0"), intensity=rows)}


def _v4(**values):
    return chip_with("tpu-v4", {name.replace("__", "."): value for name, value in values.items()})


# claim: inputs under which its verdict is another
TURNED = {
    "C064": (_projected_in_2015, "confirmed"),
    "C067": (lambda: _paper("jouppi-2017", venue="MICRO 2017"), "corrected"),
    "C068": (lambda: {"chip": chip_with("tpu-v1", {"counts.mxu_cols": 128})}, "corrected"),
    "C070": (lambda: {"steps": _broadcasting}, "corrected"),
    "C071": (lambda: {"dataflow": "output"}, "corrected"),
    "C072": (lambda: {"dataflow": "input"}, "corrected"),
    "C073": (lambda: {"dataflow": "output"}, "corrected"),
    "C074": (lambda: {"a": [[1], [2], [3]], "b": [[1, 2, 3]]}, "confirmed"),
    "C075": (lambda: _mlp0(100_000), "confirmed"),
    "C076": (lambda: _mlp0(2000), "confirmed"),
    "C089": (lambda: {"chip": _v4(clock_hz=1.5e9)}, "corrected"),
    "C090": (lambda: {"chip": _v4(measured_watts__max=165)}, "confirmed"),
    "C091": (lambda: {"chip": chip_with("h100-sxm", {"tdp_watts": 350})}, "corrected"),
    "C092": (lambda: {"tpu": _v4(measured_watts__mean=60)}, "confirmed"),
    "C094": (lambda: _paper("norrie-2021", authors=("Jouppi", "Norrie")), "corrected"),
    "C152": (lambda: {"old": _v4(peak_flop_per_s__bf16=150e12)}, "confirmed"),
    "C154": (lambda: {"old": _v4(counts__mxu_rows=64)}, "confirmed"),
    "C155": (lambda: {"chip": chip_with("tpu-v5p", {"memory_kind": "HBM3e"})}, "confirmed"),
    "C156": (lambda: {"small": chip_with("tpu-v5e", {"usd_per_hour": 5})}, "corrected"),
    "C178": (lambda: {"serving": chip_with("tpu-v5e", {"memory_bytes_per_s": 1.6e12})}, "confirmed"),
    "C180": (lambda: {"steps": _late}, "corrected"),
}
