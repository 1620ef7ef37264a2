"""What others measured of paged caches: tokens in the pool, the price of the table, blocks saved, prompts found again.

One row of ``data/paging.csv`` is one figure, as printed, with its source. Shares of the Mooncake trace were counted on
the published file: a block of a prompt is *found* if it and all before it are in an LRU cache of so many blocks.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from hwlab.specs.figure import DATA, GRADES, Source, UnknownId, source
from hwlab.specs.quantities import read_quantity

WHAT = ("tokens", "length", "kernel", "saved", "throughput", "hash", "hits", "traffic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One published figure.

    Attributes
    ----------
    id : str
    what : str
        One of `WHAT`.
    name : str
        Which of them: an allocator, a data set, blocks of the cache.
    value : float
        In the base unit; a share is a fraction.
    published : str
        Value and unit as printed.
    source : Source
    grade, where, note : str
    """

    id: str
    what: str
    name: str
    value: float
    published: str
    source: Source
    grade: str
    where: str
    note: str


@cache
def measurements(what: str) -> tuple[Reading, ...]:
    """All figures of a kind, as on record.

    Raises
    ------
    ValueError
        If there is no such kind.

    Examples
    --------
    >>> [(reading.name, reading.published) for reading in measurements("tokens")]
    [('maximum', '20.4 %'), ('power of two', '26.8 %'), ('oracle', '38.2 %'), ('paged', '96.3 %')]
    """
    if what not in WHAT:
        raise ValueError(f"nothing is on record of {what!r}; there is {', '.join(WHAT)}")
    return tuple(reading for reading in _all() if reading.what == what)


def measured(id: str) -> float:
    """The value of one figure, in its base unit.

    Raises
    ------
    UnknownId
        If there is none of that id.

    Examples
    --------
    >>> measured("kwon-length-sharegpt-answer"), measured("kwon-prefix-one")
    (337.99, 1.67)
    """
    for reading in _all():
        if reading.id == id:
            return reading.value
    raise UnknownId("reading", id, [reading.id for reading in _all()])


@cache
def _all() -> tuple[Reading, ...]:
    with (DATA / "paging.csv").open(encoding="utf-8", newline="") as file:
        return tuple(map(_read, csv.DictReader(file)))


def _read(row):
    if row["what"] not in WHAT or row["grade"] not in GRADES:
        raise ValueError(f"{row['id']}: what {row['what']!r} or grade {row['grade']!r} is unknown")
    published = f"{row['value']} {row['unit']}"
    return Reading(
        **{name: row[name] for name in ("id", "what", "name", "grade", "where", "note")},
        value=read_quantity(published)[0],
        published=published,
        source=source(row["source"]),
    )
