"""How long answers are: lengths that services have published, as means of slices from the shortest to the longest.

The traces are those that Microsoft published with P. Patel et al., "Splitwise", ISCA 2024 (CC BY 4.0): one hour of two
Azure services. Of each, `data/answer_lengths.csv` keeps thirty slices, finer towards the longest answers.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from hwlab.specs.figure import DATA, Source, UnknownId, source

_TRACES = {
    "azure-conversation": ("a chat service", 19366),
    "azure-code": ("a code service", 8819),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLengths:
    """Lengths of the answers of one service.

    Parameters
    ----------
    id, name : str
    requests : int
        Answers counted.
    slices : tuple of (float, float)
        Share of the answers up to the end of a slice, and the mean tokens of an answer in it.
    source : Source
    """

    id: str
    name: str
    requests: int
    slices: tuple[tuple[float, float], ...]
    source: Source

    @property
    def mean(self) -> float:
        """Mean tokens of an answer."""
        ends = [0.0, *(share for share, _ in self.slices)]
        return sum((end - start) * tokens for (end, tokens), start in zip(self.slices, ends, strict=False))

    def at(self, share: float) -> float:
        """Tokens of the answer that is longer than `share` of all, that is the mean of its slice.

        Raises
        ------
        ValueError
            If `share` does not lie from 0 to 1.

        Examples
        --------
        >>> chat = answer_lengths("azure-conversation")
        >>> chat.at(0.48), chat.at(0.999)
        (120.4, 973.1)
        """
        if not 0 <= share <= 1:
            raise ValueError(f"share is {share!r}; give a number from 0 to 1")
        return next((tokens for end, tokens in self.slices if share < end), self.slices[-1][1])


@cache
def _all() -> dict[str, AnswerLengths]:
    slices: dict[str, list] = {}
    with (DATA / "answer_lengths.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            slices.setdefault(row["trace"], []).append((float(row["share"]), float(row["tokens"])))
    return {
        id: AnswerLengths(
            id=id, name=name, requests=requests, slices=tuple(slices[id]), source=source("azure-llm-2023")
        )
        for id, (name, requests) in _TRACES.items()
    }


def answer_lengths(id: str) -> AnswerLengths:
    """The lengths of the trace of that id.

    Raises
    ------
    UnknownId
        If there is none.

    Examples
    --------
    >>> round(answer_lengths("azure-conversation").mean), round(answer_lengths("azure-code").mean)
    (211, 28)
    """
    found = _all()
    if id not in found:
        raise UnknownId("trace of answers", id, found)
    return found[id]
