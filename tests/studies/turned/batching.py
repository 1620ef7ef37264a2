"""Inputs under which the claims about batching fare otherwise."""

from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.studies.batching import loop_mended
from tests.studies.changed import chip_with

_WIDE = (model("deepseek-v3"), chip("h800-sxm"), 144, "fp8")

# claim: inputs under which its verdict is another
TURNED = {
    "C122": (lambda: {"policy": "continuous"}, "corrected"),
    "C123": (lambda: {"policy": "static"}, "corrected"),
    "C124": (lambda: {"services": ("azure-conversation",), "others": ()}, "confirmed"),
    "C125": (lambda: {"loop": loop_mended}, "confirmed"),
    "C243": (lambda: {"node": _WIDE}, "confirmed"),
    "C244": (lambda: {"card": chip_with("h100-sxm", {"peak_flop_per_s.bf16": 1e17})}, "confirmed"),
    "C245": (lambda: {"card": chip_with("h100-sxm", {"peak_flop_per_s.bf16": 1e10})}, "confirmed"),
}
