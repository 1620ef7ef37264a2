"""Papers: title, authors, date, which relation is stated where, and figures. For claims about who said what."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from .figure import UnknownId


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """One paper.

    Parameters
    ----------
    id : str
        First author and year: "kaplan-2020".
    title, organisation, url : str
    authors : tuple of str
        Family names, first author first; perhaps not all.
    date : datetime.date
        First public version.
    states : mapping of str to str
        Relation -> where the paper gives it, and in what form.
    credits : mapping of str to str
        Relation -> id of the paper that it is taken from.
    venue : str
        Where it was published, as "ISCA 2017"; empty for a preprint.
    gives : mapping of str to number
        Figure that the paper prints -> its value, in SI units; what it is stands in the data.
    """

    id: str
    title: str
    authors: tuple[str, ...]
    organisation: str
    date: datetime.date
    url: str
    states: Mapping[str, str] = field(default_factory=dict)
    credits: Mapping[str, str] = field(default_factory=dict)
    venue: str = ""
    gives: Mapping[str, float] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """As cited in a sentence.

        >>> paper("kaplan-2020").short
        'Kaplan et al. 2020'
        """
        return f"{self.authors[0]}{' et al.' if len(self.authors) > 1 else ''} {self.date.year}"


@cache
def papers() -> tuple[Paper, ...]:
    """All papers on record."""
    text = (resources.files("hwlab.specs") / "data" / "papers.toml").read_text(encoding="utf-8")
    return tuple(
        Paper(id=id, **{**record, "authors": tuple(record["authors"])}) for id, record in tomllib.loads(text).items()
    )


def paper(id: str) -> Paper:
    """The paper of that id.

    Raises
    ------
    UnknownId
        If there is none; the message names the nearest.
    """
    for record in papers():
        if record.id == id:
            return record
    raise UnknownId("paper", id, [record.id for record in papers()])
