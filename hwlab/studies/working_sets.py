"""Which level of cache an array is read from, as LRU predicts it, beside how fast this machine read it.

An array that is read again and again is either all in a level or not there at all: if it is a line too large, LRU
throws out each line just before its turn. So the prediction needs sizes only, those that the operating system tells.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from hwlab.formula import whole

if TYPE_CHECKING:
    from hwlab.kernels.host import HostReport

MEMORY = "memory"


class WorkingSet(NamedTuple):
    """An array, the level that it is predicted to be read from, and what was measured.

    Attributes
    ----------
    nbytes : int
    level : str
        "l1", "l2" ... as the system names them, or "memory".
    bytes_per_s : float
    of_level : float
        The same over the best of all arrays of its level: far below 1 where the array is not there after all.
    """

    nbytes: int
    level: str
    bytes_per_s: float
    of_level: float


def level_of(nbytes: int, caches: Iterable[tuple[str, int]]) -> str:
    """The level from which an array of `nbytes` comes when it is read again and again.

    Parameters
    ----------
    nbytes : int
    caches : pairs of (name, bytes)
        As one core sees them, from the nearest.

    Raises
    ------
    ValueError
        If `nbytes` is not a positive whole number.

    Examples
    --------
    >>> caches = [("l1", 32 * 1024), ("l2", 1024 * 1024)]
    >>> [level_of(kib * 1024, caches) for kib in (32, 33, 2048)]
    ['l1', 'l2', 'memory']
    """
    whole(nbytes=nbytes)
    return next((name for name, size in caches if nbytes <= size), MEMORY)


def working_sets(report: HostReport) -> tuple[WorkingSet, ...]:
    """Each array of the sweep in `hwlab.kernels.host.host_report`, with the level it is predicted to come from.

    Without caches in the report all are predicted to come from memory.
    """
    caches = [(cache.level, cache.size) for cache in report.caches]
    read = [(nbytes, level_of(nbytes, caches), rate) for nbytes, rate in report.sweep]
    best = {}
    for _, level, rate in read:
        best[level] = max(rate, best.get(level, 0))
    return tuple(WorkingSet(nbytes, level, rate, rate / best[level]) for nbytes, level, rate in read)
