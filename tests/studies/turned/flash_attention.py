"""Inputs under which the claims about FlashAttention fare otherwise."""

import dataclasses
import datetime

from hwlab.costs.attention_steps import naive_steps
from hwlab.specs.papers import paper


def _by_dao(id, year):
    return dataclasses.replace(paper(id), authors=("Dao",), date=datetime.date(year, 7, 1))


# claim: inputs under which its verdict is another
TURNED = {
    "C047": (lambda: {"second": _by_dao("dao-2023", 2022), "third": _by_dao("shah-2024", 2023)}, "confirmed"),
    "C048": (lambda: {"tokens": 64}, "corrected"),
    "C049": (lambda: {"pairs": {"A": [2.5, 3.0], "B": [1.0, 2.0, 9.0]}}, "confirmed"),
    "C050": (lambda: {"lengths": (2048, 4096)}, "confirmed"),
    "C056": (lambda: {"fused": 6}, "confirmed"),
    "C057": (lambda: {"kernel": naive_steps}, "corrected"),
    "C058": (lambda: {"kernel": naive_steps}, "corrected"),
    "C059": (lambda: {"tokens": 64}, "corrected"),
    "C060": (lambda: {"found": [1.5, 2.0, 3.0]}, "confirmed"),
    "C061": (lambda: {"found": _by_dao("shah-2024", 2023)}, "confirmed"),
}
