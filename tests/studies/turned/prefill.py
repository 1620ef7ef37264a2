"""Inputs under which the claims about prefill and decode fare otherwise."""

from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.specs.papers import paper
from tests.studies.changed import chip_with


def _dense():
    return {"routed": {**paper("deepseek-ai-2026").gives, "active_params": 1.6e12}}


def _wide():
    return {"chip": chip_with("h100-sxm", {"memory_bytes_per_s": 3.35e15})}


# claim: inputs under which its verdict is another
TURNED = {
    "C103": (lambda: {"tokens": 64}, "corrected"),
    "C104": (lambda: {"tokens": 64}, "corrected"),
    "C107": (lambda: {"batch": 4, **_dense()}, "confirmed"),
    "C109": (lambda: {"batch": 64}, "corrected"),
    "C110": (_wide, "corrected"),
    "C211": (lambda: {"training_tokens": 16}, "corrected"),
    "C229": (_wide, "corrected"),
    "C238": (lambda: {"few": 4096}, "confirmed"),
    "C239": (lambda: {"tokens": (200, 400)}, "confirmed"),
    "C240": (lambda: {"batch": 4, "small": model("llama-3.1-8b")}, "confirmed"),
    "C241": (_dense, "confirmed"),
    "C242": (lambda: {"chip": chip("groq-lpu"), "dtype": "fp16"}, "corrected"),
}
