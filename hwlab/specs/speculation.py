"""What others measured of speculative decoding: speed-ups, tokens a round and acceptance, as printed.

One row of `data/speculation.csv` is one setting: a target, a draft or another way to guess, a chip and a task.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from hwlab.specs import figure
from hwlab.specs.figure import DATA, GRADES, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One published measurement. What it does not state is None, or ``""`` for text.

    Attributes
    ----------
    method : str
        How tokens were guessed: "draft", or the name of a method.
    target, draft : str
        The two models as the source names them.
    target_params, draft_params : float or None
    chip : str
        Id in the catalogue, or ``""`` where the source names none.
    task : str
    temperature : float or None
    guesses : int or None
        A round.
    acceptance : float or None
        Share of guesses that were taken.
    tokens_per_round : float or None
    speedup : float or None
        Against the same target without guesses; below 1 where it was slower.
    source : Source
    grade, where, note : str
    """

    method: str
    target: str
    draft: str
    target_params: float | None
    draft_params: float | None
    chip: str
    task: str
    temperature: float | None
    guesses: int | None
    acceptance: float | None
    tokens_per_round: float | None
    speedup: float | None
    source: Source
    grade: str
    where: str
    note: str


_NUMBERS = ("target_params", "draft_params", "temperature", "acceptance", "tokens_per_round", "speedup")


def _read(row):
    if row["grade"] not in GRADES:
        raise ValueError(f"grade {row['grade']!r} is unknown; it must be one of {', '.join(GRADES)}")
    numbers = {name: float(row[name]) if row[name] else None for name in _NUMBERS}
    guesses = int(row["guesses"]) if row["guesses"] else None
    return Setting(**{**row, **numbers, "guesses": guesses, "source": figure.source(row["source"])})


@cache
def _all() -> tuple[Setting, ...]:
    with (DATA / "speculation.csv").open(encoding="utf-8", newline="") as file:
        return tuple(map(_read, csv.DictReader(file)))


def measurements(
    source: str | None = None, *, method: str | None = None, target: str | None = None, task: str | None = None
) -> tuple[Setting, ...]:
    """Published settings, all or those of a source, a method, a target and a task.

    Raises
    ------
    ValueError
        If nothing was measured so; the message says what there is.

    Examples
    --------
    The draft of 77 million parameters, English to German, greedy:

    >>> found = measurements("leviathan-2023", task="English to German")
    >>> [(s.draft, s.acceptance, s.guesses, s.speedup) for s in found if s.temperature == 0][0]
    ('T5-small', 0.75, 7, 3.4)
    """
    wanted = {"source": source and figure.source(source), "method": method, "target": target, "task": task}
    found = _all()
    for name, value in wanted.items():
        if value is not None:
            there = sorted({str(getattr(s, name)) for s in found})
            found = tuple(s for s in found if getattr(s, name) == value)
            if not found:
                raise ValueError(f"nothing measured for {name} {value!r}; there is {', '.join(there)}")
    return found
