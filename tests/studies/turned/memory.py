"""Inputs under which the claims about memory fare otherwise."""

from hwlab.specs.chips import chip
from tests.studies.changed import chip_with


def _slow_sram():
    return {"near_memory": chip_with("groq-3-lpu", {"memory_bytes_per_s": 1e9})}


# claim: inputs under which its verdict is another
TURNED = {
    "C023": (lambda: {"chips": (chip("xeon-8480plus"),)}, "confirmed"),
    "C191": (_slow_sram, "corrected"),
    "C192": (lambda: {"near_memory": chip("h200-sxm")}, "confirmed"),
    "C246": (lambda: {"levels": ("sram-8kb", "sram-32kb")}, "corrected"),
    "C248": (lambda: {"seen": {"a laptop": 90e-9}}, "confirmed"),
    "C249": (lambda: {"chips": (chip_with("epyc-9654", {"memory_bytes_per_s": 400e9}),)}, "corrected"),
    "C251": (lambda: {"channel_pins": 2048}, "corrected"),
    "C254": (lambda: {"seen": {"L1 of a core": 1.2e-9}}, "confirmed"),
    "C256": (lambda: {"layers": 1}, "confirmed"),
    "C308": (lambda: {"near_level": "sram-1mb", "far_level": "sram-1mb"}, "corrected"),
    "C335": (lambda: {"near_wait": 100e-9}, "corrected"),
}
