"""Claims on trial: each checkable row of the ledger, bound to the function that recomputes it. One file a topic.

A trial computes and then judges by rule; it never states a verdict. Its inputs (chips, models, papers) are arguments
with the catalogue's records as defaults, so that a test can change one and see the verdict turn.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from hwlab.specs.claims import claim
from hwlab.specs.quantities import read_quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a trial found.

    Parameters
    ----------
    recomputed : str
        The recomputed value or values with units, built from numbers.
    verdict : {"confirmed", "corrected", "disputed", "definition"}
        By rule: `judged`, `judged_by_choice` or `judged_by_source`.
    by : str
        The function that computed it.
    """

    recomputed: str
    verdict: str
    by: str = ""


_TRIALS: dict[str, Callable[..., Finding]] = {}


def trial(id: str):
    """Bind the function below to the claim `id`.

    Raises
    ------
    KeyError
        If there is no such claim.
    ValueError
        If it is bound already.
    """
    claim(id)

    def bind(function: Callable[..., Finding]):
        if id in _TRIALS:
            raise ValueError(f"claim {id} is bound to {_TRIALS[id].__name__} already")
        _TRIALS[id] = function
        return function

    return bind


@cache
def _load() -> None:
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")


def bound() -> tuple[str, ...]:
    """Ids of the claims that a trial recomputes.

    Examples
    --------
    >>> bound()[:3]
    ('C003', 'C004', 'C005')
    """
    _load()
    return tuple(sorted(_TRIALS))


def try_claim(id: str, **changed) -> Finding:
    """Recompute a claim, with other inputs where `changed` names them.

    Raises
    ------
    KeyError
        If no trial is bound to the claim.

    Examples
    --------
    >>> found = try_claim("C006")
    >>> found.verdict, found.recomputed
    ('confirmed', '560 products with weights; 721 with attention and head')
    """
    _load()
    claim(id)
    if id not in _TRIALS:
        raise KeyError(f"no trial recomputes claim {id}; those that are recomputed: {', '.join(bound())}")
    function = _TRIALS[id]
    found = function(**changed)
    where = f"{function.__module__}.{function.__name__}"
    return Finding(recomputed=found.recomputed, verdict=found.verdict, by=where)


def claimed(id: str, index: int = 0) -> float:
    """The figure that a claim names, in SI units, read from the ledger.

    Examples
    --------
    >>> claimed("C009"), claimed("C032")
    (140000000000000.0, 0.0007)
    """
    return read_quantity(claim(id).figures[index])[0]


def near(value: float, figure: float, *, within: float) -> bool:
    """Whether a recomputed value is within a relative tolerance of the figure claimed."""
    return abs(value / figure - 1) <= within


def within_factor(value: float, figure: float, factor: float) -> bool:
    """Whether a recomputed value and the figure claimed are at most `factor` times apart, either way.

    Examples
    --------
    >>> within_factor(0.02, 6.8, 2), within_factor(0.02, 0.011, 2)
    (False, True)
    """
    return max(value / figure, figure / value) <= factor


def judged(holds: bool) -> str:
    """Confirmed where the claim holds, else corrected."""
    return "confirmed" if holds else "corrected"


def judged_by_choice(*holds: bool) -> str:
    """As `judged` where the claim fares alike under every reading it allows; else a matter of definition."""
    return judged(holds[0]) if len(set(holds)) == 1 else "definition"


def judged_by_source(*holds: bool) -> str:
    """As `judged` where every source decides alike; else disputed."""
    return judged(holds[0]) if len(set(holds)) == 1 else "disputed"
