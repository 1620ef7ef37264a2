"""Inputs under which the claims about the KV cache fare otherwise."""

from hwlab.specs.models import model

# claim: inputs under which its verdict is another
TURNED = {
    "C051": (lambda: {"tokens": 8192}, "corrected"),
    "C112": (lambda: {"keep": 8}, "corrected"),
    "C113": (lambda: {"model": model("llama-65b")}, "confirmed"),
    "C114": (lambda: {"tokens": 106_000}, "confirmed"),
    "C115": (lambda: {"tokens": 1}, "corrected"),
}
