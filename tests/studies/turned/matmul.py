"""Inputs under which each claim of chapter 2 fares otherwise."""

import dataclasses
import datetime

from hwlab.specs.models import ModelSpec, model
from hwlab.specs.papers import paper, papers
from hwlab.studies.flop_shares import FlopShare
from tests.studies.changed import chip_with


def _published(title_of=None, **dates):
    """The papers on record with some dates, or the title of one, changed."""
    for record in papers():
        changed = {"date": dates.get(record.id.replace("-", "_"), record.date)}
        yield dataclasses.replace(record, **changed, **({"title": "Another"} if record.id == title_of else {}))


def _uncredited(relation):
    hoffmann = dataclasses.replace(paper("hoffmann-2022"), credits={}, date=datetime.date(2019, 1, 1))
    return (paper("kaplan-2020"), dataclasses.replace(hoffmann, states={relation: "first"}))


def _llama(**fields):
    """A 70B-like configuration with some fields changed."""
    config = {
        "model_type": "llama", "num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64,
        "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 32000, "tie_word_embeddings": False,
        "max_position_embeddings": 4096,
    }  # fmt: skip
    return ModelSpec.from_config({**config, **fields})


# claim: inputs under which its verdict is another
TURNED = {
    "C003": (lambda: {"block": FlopShare(1.0, 1.0)}, "corrected"),
    "C004": (lambda: {"lengths": (64, 1024)}, "confirmed"),
    "C005": (lambda: {"model": model("rwkv-4-169m")}, "corrected"),
    "C006": (lambda: {"model": _llama(num_hidden_layers=12)}, "corrected"),
    "C007": (lambda: {"model": _llama(num_key_value_heads=64)}, "confirmed"),
    "C008": (lambda: {"tokens": 131_072}, "corrected"),
    "C009": (lambda: {"model": model("mistral-7b-v0.1")}, "corrected"),
    "C013": (lambda: {"known": _uncredited("training-flop")}, "confirmed"),
    "C014": (lambda: {"known": _uncredited("forward-flop")}, "confirmed"),
    "C015": (lambda: {"known": tuple(_published(title_of="hoffmann-2022"))}, "corrected"),
    "C021": (lambda: {"chip": chip_with("xeon-8480plus", {"memory_bytes_per_s": 5e9})}, "confirmed"),
    "C022": (lambda: {"intensity": lambda size, dtype: size**0.5}, "corrected"),
    "C024": (lambda: {"size": 64}, "confirmed"),
    "C105": (lambda: {"model": _llama(num_hidden_layers=1)}, "corrected"),
}
