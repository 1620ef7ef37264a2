"""Inputs under which the claims about one product on a CPU and a GPU fare otherwise."""

from tests.studies.changed import chip_with

# claim: inputs under which its verdict is another
TURNED = {
    "C030": (lambda: {"chip": chip_with("xeon-8480plus", {"peak_flop_per_s.fp32": 25e9})}, "confirmed"),
    "C031": (lambda: {"chip": chip_with("xeon-8480plus", {"counts.cores": 60})}, "confirmed"),
    "C032": (lambda: {"chip": chip_with("h100-sxm", {"peak_flop_per_s.fp32": 200e12})}, "confirmed"),
    "C033": (lambda: {"cpu": chip_with("xeon-8480plus", {"peak_flop_per_s.fp32": 10e9})}, "definition"),
}
