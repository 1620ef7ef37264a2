"""Models small enough to look into: what follows the last few letters of a text, counted.

They stand in for language models where a page must run one without arrays: a target that has read a text with a memory
of several letters, and a draft that remembers fewer. Longer memories lean on shorter ones where they have seen little:
each order is mixed with the one below it, which counts as `TRUST` more observations (I. Witten and T. Bell, "The
Zero-Frequency Problem", IEEE Transactions on Information Theory 37(4), 1991, in its simplest form).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hwlab.formula import whole

TRUST = 0.5
"""What the next shorter memory counts for, in observations."""

RHYME = (
    "peter piper picked a peck of pickled peppers. a peck of pickled peppers peter piper picked. if peter piper picked "
    "a peck of pickled peppers, where is the peck of pickled peppers peter piper picked? "
)
"""Printed in London in 1813; it repeats itself."""

SONNET = (
    "shall i compare thee to a summer's day? thou art more lovely and more temperate: rough winds do shake the darling "
    "buds of may, and summer's lease hath all too short a date: sometime too hot the eye of heaven shines, and often "
    "is his gold complexion dimm'd; and every fair from fair sometime declines, by chance or nature's changing course "
    "untrimm'd; but thy eternal summer shall not fade, nor lose possession of that fair thou ow'st; nor shall death "
    "brag thou wander'st in his shade, when in eternal lines to time thou grow'st: so long as men can breathe or eyes "
    "can see, so long lives this, and this gives life to thee. "
)
"""Shakespeare's eighteenth, of 1609; it does not."""


class NGrams:
    """The distribution of the next letter behind the last `memory` letters, as counted in a text.

    Parameters
    ----------
    text : str
        What was read.
    memory : int
        Letters that it looks back, from 0 (how often each letter occurs) on.
    letters : str, optional
        The alphabet, in the order of its ids; that of the text by default.

    Raises
    ------
    ValueError
        If the text has no letter, or one that is not in `letters`.

    Examples
    --------
    Behind "p", as it stands in the rhyme:

    >>> model = NGrams(RHYME, memory=1)
    >>> opinion = model(model.ids("p"))
    >>> sorted(zip(opinion, model.letters), reverse=True)[0][1], round(sum(opinion), 12)
    ('e', 1.0)
    """

    def __init__(self, text: str, memory: int, *, letters: str | None = None):
        self.letters = "".join(sorted(set(text))) if letters is None else letters
        if not text or set(text) - set(self.letters):
            unknown = "".join(sorted(set(text) - set(self.letters)))
            raise ValueError(f"the text has {len(text)} letters, {unknown!r} not among the known; give a text of those")
        self.memory = memory if memory == 0 else whole(memory=memory)
        self._seen: dict[tuple[int, ...], Counter] = {}
        read = self.ids(text)
        for i, id in enumerate(read):
            for size in range(min(self.memory, i) + 1):
                self._seen.setdefault(tuple(read[i - size : i]), Counter())[id] += 1

    def ids(self, text: str) -> list[int]:
        """The token ids of a text, one a letter."""
        return [self.letters.index(letter) for letter in text]

    def text(self, ids: Sequence[int]) -> str:
        """The text of token ids."""
        return "".join(self.letters[id] for id in ids)

    def __call__(self, ids: Sequence[int]) -> list[float]:
        """Probability of each letter behind these."""
        opinion = [1 / len(self.letters)] * len(self.letters)
        for size in range(min(self.memory, len(ids)) + 1):
            seen = self._seen.get(tuple(ids[len(ids) - size :]))
            if seen is None:
                break
            total = seen.total() + TRUST
            opinion = [(seen[id] + TRUST * p) / total for id, p in enumerate(opinion)]
        return opinion
