"""Claims: every checkable sentence of the book's three source texts, with the verdict and its reasons.

The sources are called the essay, the article and the conversation. The sentences are in our own words. Each row is
shown in one chapter of the book, where `hwlab.studies.trials` recomputes it.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

from .figure import UnknownId

SOURCE_TEXTS = ("essay", "article", "conversation")
VERDICTS = ("confirmed", "corrected", "disputed", "definition", "unchecked")
CHECKS = ("lookup", "formula", "simulation", "measurement", "definition", "opinion")
COMPUTED = ("formula", "simulation", "measurement")
"""Kinds of check that code carries out; a verdict on another kind may rest on its sources alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim and what became of it.

    Parameters
    ----------
    id : str
        "C001" and so on.
    chapter : int
        The chapter of the book that shows it.
    source_text : {"essay", "article", "conversation"}
        Where it was made.
    topic : str
        Subject in one or two words.
    check : {"lookup", "formula", "simulation", "measurement", "definition", "opinion"}
        How it can be checked.
    verdict : {"confirmed", "corrected", "disputed", "definition", "unchecked"}
        `definition`: true or false by a choice that the claim leaves open. `disputed`: sources or readings conflict.
    sentence : str
        The claim, in our words.
    figures : tuple of str
        The figures it names, as written.
    explanation : str
        Why the verdict.
    sources : tuple of str
        What it rests on.
    """

    id: str
    chapter: int
    source_text: str
    topic: str
    check: str
    verdict: str
    sentence: str
    figures: tuple[str, ...]
    explanation: str
    sources: tuple[str, ...]

    def __post_init__(self):
        for name, known in (("source_text", SOURCE_TEXTS), ("verdict", VERDICTS), ("check", CHECKS)):
            if (value := getattr(self, name)) not in known:
                raise ValueError(f"claim {self.id}: {name} is {value!r}; it must be one of {', '.join(known)}")
        if not 1 <= self.chapter <= 17:
            raise ValueError(f"claim {self.id}: chapter is {self.chapter}; the book has chapters 1 to 17")


@cache
def _ledger() -> dict[str, Claim]:
    ledger = {}
    text = (resources.files("hwlab.specs") / "data" / "claims.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        for column in ("figures", "sources"):
            row[column] = tuple(part for part in row[column].split("; ") if part)
        record = Claim(**{**row, "chapter": int(row["chapter"])})
        if record.id in ledger:
            raise ValueError(f"claim {record.id} is in the ledger twice")
        ledger[record.id] = record
    return ledger


def claim(id: str) -> Claim:
    """The claim of that id.

    Raises
    ------
    UnknownId
        If there is none; the message names the nearest.

    Examples
    --------
    >>> claim("C009").figures, claim("C009").verdict
    (('1.4e14 FLOP',), 'confirmed')
    """
    if id not in _ledger():
        raise UnknownId("claim", id, _ledger())
    return _ledger()[id]


def claims(*, chapter: int | None = None, verdict: str | None = None) -> tuple[Claim, ...]:
    """All claims, or those of one chapter or verdict, in the order of their ids.

    Examples
    --------
    >>> len(claims()), len(claims(chapter=2))
    (334, 14)
    >>> claims(chapter=2, verdict="definition")[0].id
    'C004'
    """
    if verdict is not None and verdict not in VERDICTS:
        raise ValueError(f"verdict is {verdict!r}; it must be one of {', '.join(VERDICTS)}")
    return tuple(c for c in _ledger().values() if chapter in (None, c.chapter) and verdict in (None, c.verdict))
