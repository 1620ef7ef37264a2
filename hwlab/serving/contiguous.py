"""Allocators before paging: each sequence in one run of neighbouring slots, reserved when it begins.

They are here to be measured beside the pager. How long an answer will be is not known when its request comes, so a run
is reserved for what it may become. Runs are dealt out by a *buddy* allocator, as W. Kwon et al., "Efficient Memory
Management for Large Language Model Serving with PagedAttention", SOSP 2023, assume it of Orca: runs of a power of two,
each one half of a run twice as long, joined again with the other half when both are free (K. C. Knowlton, "A fast
storage allocator", Communications of the ACM 8(10), 1965).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from hwlab.formula import whole
from hwlab.serving.pager import NeverFits, OutOfBlocks, UnknownSequence, Waste

RESERVES = ("maximum", "power of two", "oracle")


@dataclass(slots=True)
class _Run:
    start: int
    slots: int
    reserved: int  # slots for tokens, as far as the reservation thought
    final: int  # tokens that it will have in the end
    tokens: int


class Contiguous:
    """A pool of slots, one for each token, in which every sequence lies in one piece.

    Parameters
    ----------
    num_slots : int
        Slots in the pool, a power of two.
    reserve : {"maximum", "power of two", "oracle"}
        For what a run is reserved: the longest sequence that the model allows; an answer of the true length rounded up
        to a power of two, as if it could be foreseen that well; the true length.
    longest : int
        Most tokens that a sequence may have, prompt and answer.

    Raises
    ------
    TypeError, ValueError
        If a number or a name is none of those allowed.

    Examples
    --------
    >>> pool = Contiguous(2048, reserve="maximum", longest=512)
    >>> pool.open("a", 100, answer=40)
    >>> pool.grow("a", 1)
    >>> pool.waste()
    Waste(tokens=101, reserved=39, internal=372, external=0, cached=0, free=1536)

    (A pager holds these 101 tokens in 7 blocks of 16.) An oracle reserves the 40 slots that the answer will fill, and
    yet the run has 256, since it must be a power of two:

    >>> pool = Contiguous(2048, reserve="oracle", longest=512)
    >>> pool.open("a", 100, answer=40)
    >>> pool.waste()
    Waste(tokens=100, reserved=40, internal=0, external=116, cached=0, free=1792)
    """

    def __init__(self, num_slots: int, *, reserve: str, longest: int):
        self.num_slots, self.longest = whole(num_slots=num_slots, longest=longest)
        if self.num_slots & (self.num_slots - 1):
            raise ValueError(f"num_slots is {num_slots}; give a power of two")
        if reserve not in RESERVES:
            raise ValueError(f"reserve is {reserve!r}; it must be one of {', '.join(RESERVES)}")
        self.reserve = reserve
        self._free: dict[int, set[int]] = {
            1 << i: set() for i in range(self.num_slots.bit_length())
        }  # starts by length
        self._free[self.num_slots].add(0)
        self._held: dict[Hashable, _Run] = {}

    @property
    def num_free(self) -> int:
        """Slots in free runs."""
        return sum(length * len(starts) for length, starts in self._free.items())

    def open(self, seq: Hashable, prompt: int, *, answer: int) -> None:
        """Begin `seq`: a run for its prompt and for what its answer may become.

        Parameters
        ----------
        prompt : int
            Tokens of the prompt.
        answer : int
            Tokens that the answer will have. Only the oracle and the power of two make use of it to reserve; `waste`
            does, to tell what is reserved from what is never used.

        Raises
        ------
        OutOfBlocks
            If no free run is long enough.
        NeverFits
            If the sequence is longer than `longest`, or the pool.
        TypeError, ValueError
            If a number is not a whole one of at least 1, or `seq` is open already.
        """
        prompt, answer = whole(prompt=prompt, answer=answer)
        if seq in self._held:
            raise ValueError(f"sequence {seq!r} is open already; free it before it begins anew, or give another name")
        final = prompt + answer
        if final > self.longest:
            raise NeverFits(f"sequence {seq!r} will have {final} tokens; one may have {self.longest}")
        reserved = {"maximum": self.longest, "power of two": prompt + _up(answer), "oracle": final}[self.reserve]
        reserved = min(reserved, self.longest)
        slots = _up(reserved)
        if slots > self.num_slots:
            raise NeverFits(f"sequence {seq!r} needs a run of {slots} slots; the pool has {self.num_slots} in all")
        self._held[seq] = _Run(self._take(seq, slots), slots, reserved, final, prompt)

    def grow(self, seq: Hashable, tokens: int) -> None:
        """Make `seq` longer, in its run.

        Raises
        ------
        UnknownSequence
            If `seq` holds no run.
        OutOfBlocks
            If it becomes longer than was said when it began.
        """
        run = self._of(seq)
        length = run.tokens + whole(tokens=tokens)
        if length > run.final:
            raise OutOfBlocks(f"sequence {seq!r} would have {length} tokens; it was to have {run.final}")
        run.tokens = length

    def free(self, seq: Hashable) -> None:
        """End `seq`; its run joins those beside it.

        Raises
        ------
        UnknownSequence
            If `seq` holds no run.
        """
        run = self._of(seq)
        del self._held[seq]
        start, length = run.start, run.slots
        while length < self.num_slots and (start ^ length) in self._free[length]:
            self._free[length].remove(start ^ length)
            start, length = min(start, start ^ length), 2 * length
        self._free[length].add(start)

    def waste(self) -> Waste:
        """What the slots of the pool hold now; external is what runs have only in order to be powers of two."""
        runs = self._held.values()
        return Waste(
            tokens=sum(run.tokens for run in runs),
            reserved=sum(run.final - run.tokens for run in runs),
            internal=sum(run.reserved - run.final for run in runs),
            external=sum(run.slots - run.reserved for run in runs),
            cached=0,
            free=self.num_free,
        )

    def _of(self, seq) -> _Run:
        if seq not in self._held:
            raise UnknownSequence(f"no sequence {seq!r} holds a run; {len(self._held)} do")
        return self._held[seq]

    def _take(self, seq, slots) -> int:
        """Start of a run of `slots`, cut out of the shortest free one that is long enough, the lowest of those."""
        length = next((n for n, starts in self._free.items() if n >= slots and starts), None)
        if length is None:
            raise OutOfBlocks(
                f"sequence {seq!r} needs {slots} neighbouring slots; {self.num_free} of {self.num_slots} are free, "
                "but no such run"
            )
        start = min(self._free[length])
        self._free[length].remove(start)
        while length > slots:
            length //= 2
            self._free[length].add(start + length)
        return start


def _up(n: int) -> int:
    """The least power of two that is not below `n`."""
    return 1 << (n - 1).bit_length()
