"""Inputs under which the claims about server CPUs fare otherwise."""

import dataclasses

from hwlab.specs.chips import chip
from hwlab.specs.papers import paper
from tests.studies.changed import chip_with


def _missing(per_1000):
    return {"predictor": dataclasses.replace(paper("seznec-2014"), gives={"misses_per_1000_instructions": per_1000})}


# claim: inputs under which its verdict is another
TURNED = {
    "C017": (lambda: {"chips": (chip("xeon-8176"),)}, "confirmed"),
    "C018": (lambda: _missing(10), "corrected"),
    "C025": (lambda: {"bits": 256}, "corrected"),
    "C026": (lambda: {"chip": chip_with("xeon-8480plus", {"clock_hz": 0.8e9})}, "confirmed"),
    "C027": (lambda: {"gpu": chip_with("l4", {"peak_flop_per_s.fp32": 300e12})}, "confirmed"),
    "C029": (lambda: {"gpu": chip("l4")}, "corrected"),
    "C035": (lambda: {"gpus": (chip("h100-sxm"), chip("b200"))}, "confirmed"),
}
