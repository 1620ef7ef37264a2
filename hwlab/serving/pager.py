"""The pager: which blocks of KV memory hold which tokens of which sequence.

The KV cache is cut into *blocks* of a few tokens each, and a sequence holds a *table* of blocks, which may lie
anywhere: the idea of virtual memory, brought to attention by W. Kwon et al., "Efficient Memory Management for Large
Language Model Serving with PagedAttention", SOSP 2023. A block may be in several tables. Forks of a sequence share all
of theirs and copy one when they write to it (*copy-on-write*); sequences that begin alike share the full blocks of
their beginning (*prefix cache*), also with sequences that have ended: a block that nobody holds keeps its tokens until
it is needed for others, the one left longest ago first (LRU).

A pager holds no arrays and no clock, so that the engine, which computes, and the simulator, which does not, drive the
same object. Whatever it refuses, it refuses whole: a table is as it was before the call.
"""

from __future__ import annotations

import os
from array import array
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from operator import index
from typing import NamedTuple

from hwlab.formula import whole


class OutOfBlocks(Exception):
    """The pool has too few free blocks now; it may have enough once other sequences have ended."""


class NeverFits(OutOfBlocks):
    """The sequence needs more blocks than the pool has in all."""


class UnknownSequence(LookupError):
    """No such sequence holds blocks: it never began, or it was freed."""


class Copy(NamedTuple):
    """A block to copy, K and V of all layers, before the step that writes to `target`."""

    source: int
    target: int


class Opened(NamedTuple):
    """How a sequence begins: tokens found in the prefix cache, and tokens that the next step computes."""

    found: int
    new: int


@dataclass(frozen=True, slots=True)
class Waste:
    """What the slots of the pool hold, one for each token; together they are the pool.

    Parameters
    ----------
    tokens : int
        Tokens of live sequences. A block that several share counts once.
    reserved : int
        Slots of blocks that a sequence has reserved and not begun.
    internal : int
        Empty slots behind the last token of a sequence, in that token's block.
    external : int
        Slots that serve nobody because of where they lie. A pager has none: any block serves any sequence.
    cached : int
        Tokens of sequences that have ended, kept for sequences that begin like them. Any of them is given up when its
        block is needed, so they waste nothing.
    free : int
        Slots that hold nothing and belong to nobody.
    """

    tokens: int
    reserved: int
    internal: int
    external: int
    cached: int
    free: int


class _Page:
    """A full block that the prefix cache offers: its tokens, and the page before it (the first has the salt)."""

    __slots__ = ("before", "block", "digest", "tokens")

    def __init__(self, block, digest, tokens, before):
        self.block, self.digest, self.tokens, self.before = block, digest, tokens, before


class _Held:
    """What one sequence holds. `room` is the length up to which it can grow without a look at its blocks."""

    __slots__ = ("before", "digest", "full", "length", "paged", "room", "table", "tail")

    def __init__(self, before, digest):
        self.table: list[int] = []
        self.length = self.room = 0
        self.tail: array | None = array("q")  # tokens behind the last full block; None: tokens without names
        self.full: list[bytes] = []  # full blocks that no step has written yet, as far as the pager was told
        self.paged = 0  # blocks before those
        self.before, self.digest = before, digest  # page and digest behind which the next full block comes

    def fork(self):
        twin = _Held(self.before, self.digest)
        twin.table, twin.length, twin.full, twin.paged = self.table[:], self.length, self.full[:], self.paged
        twin.tail = None if self.tail is None else self.tail[:]
        return twin


class Pager:
    """Blocks of KV memory, dealt out to sequences.

    Parameters
    ----------
    num_blocks : int
        Blocks in the pool, numbered from 0.
    block_tokens : int
        Tokens a block has room for.
    seed : bytes, optional
        Key of the hash that finds prefixes, 64 bytes at most; by default drawn anew for each pager, so that nobody can
        plan two prompts with one hash. (Planned or not, it would not help: on a find, all tokens are compared.)

    Raises
    ------
    TypeError, ValueError
        If a count is not a whole number of at least 1, or the seed too long.

    Notes
    -----
    All operations take time in proportion to the blocks they touch, whatever the size of the pool. A step that fails
    may leave blocks unwritten: free its sequences before the next `commit`, and none of these blocks is ever shared.

    Examples
    --------
    Two sequences in a pool of 8 blocks, 4 tokens each:

    >>> pager = Pager(8, 4)
    >>> pager.grow("a", 6)
    >>> pager.grow("b", 1)
    >>> pager.table("a"), pager.table("b"), pager.num_free
    ((0, 1), (2,), 5)

    What does not fit is refused, and nothing has changed:

    >>> pager.grow("b", 24)
    Traceback (most recent call last):
    hwlab.serving.pager.OutOfBlocks: sequence 'b' needs 6 more blocks; 5 of 8 are free
    >>> pager.length("b")
    1

    A prompt that begins like one before finds its full blocks written:

    >>> system = [7, 8, 9, 10]
    >>> pager.open("c", [*system, 1, 2])
    Opened(found=0, new=6)
    >>> pager.commit()  # the step that computes them has run
    >>> pager.free("c")
    >>> pager.open("d", [*system, 3])
    Opened(found=4, new=1)
    """

    def __init__(self, num_blocks: int, block_tokens: int, *, seed: bytes | None = None):
        self.num_blocks, self.block_tokens = whole(num_blocks=num_blocks, block_tokens=block_tokens)
        if seed is not None and (not isinstance(seed, bytes) or len(seed) > 64):
            raise ValueError(f"seed is {seed!r}; give up to 64 bytes")
        self._seed = os.urandom(16) if seed is None else seed
        self._unsalted = self._root(b"")
        self._held: dict[Hashable, _Held] = {}
        self._users = [0] * self.num_blocks
        self._empty = list(range(self.num_blocks - 1, -1, -1))  # free and without tokens, the next one last
        self._pages: list[_Page | None] = [None] * self.num_blocks  # what the prefix cache has of a block
        self._left: OrderedDict[int, None] = OrderedDict()  # free blocks with a page, the one left longest ago first
        self._found: dict[bytes, _Page] = {}  # pages by digest
        self._unwritten: list[_Held] = []  # sequences with full blocks that wait for `commit`

    @property
    def num_free(self) -> int:
        """Blocks in no table, those that the prefix cache could still use among them."""
        return len(self._empty) + len(self._left)

    @property
    def free_blocks(self) -> tuple[int, ...]:
        """Blocks in no table, the next to be used first: empty ones, then those that the prefix cache had longest."""
        return (*reversed(self._empty), *self._left)

    @property
    def sequences(self) -> tuple[Hashable, ...]:
        """Sequences that hold blocks, in the order in which they began."""
        return tuple(self._held)

    def table(self, seq: Hashable) -> tuple[int, ...]:
        """Blocks of a sequence in the order of its tokens, reserved ones at the end."""
        return tuple(self._of(seq).table)

    def length(self, seq: Hashable) -> int:
        """Tokens of a sequence."""
        return self._of(seq).length

    def open(
        self, seq: Hashable, prompt: Sequence[int] | int, *, most: int | None = None, salt: bytes = b"", spare: int = 0
    ) -> Opened:
        """Begin `seq` with its prompt: take what the prefix cache has of it, and grow by what the next step computes.

        At least one token is computed anew, also where the whole prompt has been seen: the next token is drawn from the
        output of the last one. A prompt of which a step computes a part begins only where there is room for all of it.

        Parameters
        ----------
        prompt : sequence of int, or int
            Token ids; or how many tokens, of which nothing can be found.
        most : int, optional
            Most tokens that the step can compute; by default all. The rest of a longer prompt comes by `grow`.
        salt : bytes
            Sequences find only what was written under the same salt (one a tenant, say).
        spare : int
            Blocks that must be left free, beside those for the whole prompt; 0 or more.

        Raises
        ------
        OutOfBlocks
            If too few blocks are free; found blocks that nobody holds do not count as free.
        NeverFits
            If the pool is too small for the prompt at all.
        TypeError, ValueError
            If the prompt is empty or holds what is no token id, `most` is not a whole number of at least 1 or `spare`
            of at least 0, or `seq` is open already.
        """
        if seq in self._held:
            raise ValueError(f"sequence {seq!r} is open already; free it before it begins anew, or give another name")
        ids, size = token_ids(prompt), self.block_tokens
        count = whole(prompt=prompt) if ids is None else len(ids)
        if count < 1:
            raise ValueError("the prompt is empty; give one token id or more")
        self._check_size(seq, -(-count // size))
        if most is None:
            most = count
        elif type(most) is not int or most < 1:
            most = whole(most=most)
        if type(spare) is not int or spare < 0:
            raise ValueError(f"spare is {spare!r}; give a whole number from 0 on")
        held = self._new(salt)
        found = self._find(held, ids) if ids else []
        length = len(found) * size
        new = min(most, count - length)
        users, left = self._users, self._left
        blocks = -(-count // size) - len(found)
        free = self.num_free - sum(1 for block in found if not users[block])
        if blocks > free - spare:
            raise self._out(seq, blocks, free, spare)
        for block in found:
            if not users[block]:
                del left[block]
            users[block] += 1
        held.table = found + self._take(-(-(length + new) // size) - len(found))
        held.paged, held.length, held.room = len(found), length + new, len(held.table) * size
        held.tail = ids and ids[length : length + new]
        if ids and new >= size:
            self._fill(held)
        self._held[seq] = held
        return Opened(length, new)

    def grow(self, seq: Hashable, tokens: int | Sequence[int]) -> Copy | None:
        """Make `seq` longer, and begin it if it holds nothing.

        Parameters
        ----------
        tokens : int or sequence of int
            How many tokens, or their ids. A block is offered to other sequences only if the ids of all its tokens, and
            of those before, are known.

        Returns
        -------
        Copy or None
            The block to copy before the step writes, where the last one was shared with a fork.

        Raises
        ------
        OutOfBlocks
            If too few blocks are free.
        NeverFits
            If the pool is too small for the sequence at all.
        TypeError, ValueError
            If there are no tokens, or something else.
        """
        held = self._held.get(seq)
        if held is None:
            held = self._new(b"")
        if type(tokens) is int:
            ids, count = None, tokens
        else:
            ids = token_ids(tokens)
            count = whole(tokens=tokens) if ids is None else len(ids)
        if count < 1:
            raise ValueError(f"sequence {seq!r} cannot grow by {count} tokens; give one or more")
        length = held.length + count
        copy = self._make_room(seq, held, length) if length > held.room else None
        held.length = length
        if ids is None:
            held.tail = None
        elif (tail := held.tail) is not None:
            tail += ids
            if len(tail) >= self.block_tokens:
                self._fill(held)
        return copy

    def reserve(self, seq: Hashable, tokens: int) -> Copy | None:
        """Blocks for `tokens` more tokens of `seq`, which it has not got yet: the guesses of a draft model, say.

        They are part of its table. `grow` uses them up; `release` gives back what is left.

        Raises
        ------
        UnknownSequence, OutOfBlocks, NeverFits, TypeError, ValueError
            As `grow` does.
        """
        held = self._of(seq)
        length = held.length + whole(tokens=tokens)
        return self._make_room(seq, held, length) if length > held.room else None

    def release(self, seq: Hashable) -> None:
        """Give back the blocks of `seq` that are reserved and not begun.

        Raises
        ------
        UnknownSequence
            If `seq` holds no blocks.
        """
        held = self._of(seq)
        used = -(-held.length // self.block_tokens)
        self._drop(held.table[used:])
        del held.table[used:]
        held.room = min(held.room, used * self.block_tokens)

    def fork(self, parent: Hashable, child: Hashable) -> None:
        """Begin `child` with the tokens of `parent`, in the same blocks.

        Whoever writes into a shared block first copies it: `grow` and `reserve` say which.

        Raises
        ------
        UnknownSequence
            If `parent` holds no blocks.
        ValueError
            If `child` is open already.
        """
        held = self._of(parent)
        if child in self._held:
            raise ValueError(f"sequence {child!r} is open already; free it before it begins anew, or give another name")
        twin = held.fork()
        del twin.table[-(-held.length // self.block_tokens) :]
        for block in twin.table:
            self._users[block] += 1
        held.room = twin.room = held.length  # the next to grow looks whether the last block is shared
        if twin.full:
            self._unwritten.append(twin)
        self._held[child] = twin

    def commit(self) -> None:
        """Say that the steps so far have run: every full block is written now, and other sequences may find it."""
        for held in self._unwritten:
            for tokens in held.full:
                digest = _digest(held.digest, tokens)
                page = self._found.get(digest)
                if page is None or page.tokens != tokens or page.before != held.before:
                    block = held.table[held.paged]
                    page = self._pages[block]
                    if page is None:  # (a fork may have come first)
                        page = self._pages[block] = _Page(block, digest, tokens, held.before)
                        self._found[digest] = page
                held.before, held.digest = page, digest
                held.paged += 1
            held.full.clear()
        self._unwritten.clear()

    def free(self, seq: Hashable) -> None:
        """End `seq`. Blocks that no other sequence holds are free; the last ones are the first to be used for others.

        Raises
        ------
        UnknownSequence
            If `seq` holds no blocks (it was freed already, perhaps).
        """
        held = self._held.pop(seq, None)
        if held is None:
            raise self._unknown(seq)
        held.full.clear()
        self._drop(held.table)

    def waste(self) -> Waste:
        """What the slots of the pool hold now."""
        size = self.block_tokens
        filled: dict[int, int] = {}  # begun blocks of live sequences: tokens in them
        reserved = 0
        for held in self._held.values():
            whole_blocks, rest = divmod(held.length, size)
            filled.update(dict.fromkeys(held.table[:whole_blocks], size))
            if rest:
                filled[held.table[whole_blocks]] = rest
            reserved += len(held.table) - whole_blocks - (rest > 0)
        tokens = sum(filled.values())
        return Waste(
            tokens=tokens,
            reserved=reserved * size,
            internal=len(filled) * size - tokens,
            external=0,
            cached=len(self._left) * size,
            free=len(self._empty) * size,
        )

    def _of(self, seq) -> _Held:
        try:
            return self._held[seq]
        except KeyError:
            raise self._unknown(seq) from None

    def _new(self, salt) -> _Held:
        if not isinstance(salt, bytes):
            raise TypeError(f"salt is {salt!r}; give bytes")
        return _Held(salt, self._root(salt) if salt else self._unsalted)

    def _root(self, salt) -> bytes:
        return blake2b(salt, key=self._seed, digest_size=32).digest()

    def _find(self, held, ids) -> list[int]:
        """Blocks that hold the first tokens of `ids`, not all of them; `held` goes on behind them."""
        raw, width = ids.tobytes(), self.block_tokens * ids.itemsize
        found = []
        for start in range(0, (len(ids) - 1) // self.block_tokens * width, width):
            tokens = raw[start : start + width]
            digest = _digest(held.digest, tokens)
            page = self._found.get(digest)
            if page is None or page.tokens != tokens or page.before != held.before:
                break
            found.append(page.block)
            held.before, held.digest = page, digest
        return found

    def _make_room(self, seq, held, length) -> Copy | None:
        """Blocks up to `length`, and one more where the last one is shared and has empty slots."""
        size, table = self.block_tokens, held.table
        blocks = -(-length // size)
        self._check_size(seq, blocks)
        begun, rest = divmod(held.length, size)
        shared = rest and self._users[table[begun]] > 1
        need = max(blocks - len(table), 0) + bool(shared)
        if need > len(self._empty) + len(self._left):
            raise self._out(seq, need, self.num_free)
        taken = self._take(need)
        copy = None
        if shared:
            copy = Copy(table[begun], taken.pop(0))
            self._users[copy.source] -= 1
            table[begun] = copy.target
        table += taken
        held.room = len(table) * size
        self._held[seq] = held
        return copy

    def _take(self, count) -> list[int]:
        """`count` free blocks, which are there: empty ones first, then those that the prefix cache had longest."""
        empty, users = self._empty, self._users
        taken = []
        for _ in range(count):
            if empty:
                block = empty.pop()
            else:
                block, _ = self._left.popitem(last=False)
                page, self._pages[block] = self._pages[block], None
                if self._found.get(page.digest) is page:
                    del self._found[page.digest]
            users[block] = 1
            taken.append(block)
        return taken

    def _drop(self, blocks) -> None:
        users, pages = self._users, self._pages
        for block in reversed(blocks):
            users[block] -= 1
            if not users[block]:
                if pages[block] is None:
                    self._empty.append(block)
                else:
                    self._left[block] = None

    def _fill(self, held) -> None:
        """Move the full blocks of the tail to those that wait for `commit`."""
        size, tail = self.block_tokens, held.tail
        if not held.full:
            self._unwritten.append(held)
        end = len(tail) // size * size
        for start in range(0, end, size):
            held.full.append(tail[start : start + size].tobytes())
        del tail[:end]

    def _check_size(self, seq, blocks) -> None:
        if blocks > self.num_blocks:
            raise NeverFits(f"sequence {seq!r} needs {blocks} blocks; the pool has {self.num_blocks} in all")

    def _out(self, seq, blocks, free, spare=0) -> OutOfBlocks:
        more, are = "block" if blocks == 1 else "blocks", "is" if free == 1 else "are"
        stay = f", and {spare} must stay so" if spare else ""
        return OutOfBlocks(f"sequence {seq!r} needs {blocks} more {more}; {free} of {self.num_blocks} {are} free{stay}")

    def _unknown(self, seq) -> UnknownSequence:
        return UnknownSequence(f"no sequence {seq!r} holds blocks; {len(self._held)} do")


def _digest(before: bytes, tokens: bytes) -> bytes:
    return blake2b(before + tokens, digest_size=32).digest()


def is_number(tokens) -> bool:
    """Whether it is one whole number; an array is none, though NumPy gives it what whole numbers have.

    >>> import numpy as np
    >>> is_number(3), is_number(np.int64(3)), is_number([3]), is_number(np.array([3, 4]))
    (True, True, False, False)
    """
    try:
        index(tokens)
    except TypeError:
        return False
    return True


def token_ids(tokens: Sequence[int] | int) -> array | None:
    """Token ids as an array of 64-bit integers; None for a number.

    Raises
    ------
    TypeError
        If it is neither a number nor whole numbers.
    """
    try:
        if not isinstance(tokens, bytes | bytearray):
            return array("q", tokens)
    except (TypeError, OverflowError):
        if is_number(tokens):
            return None
    raise TypeError(f"tokens are {tokens!r}; give a number of tokens, or whole numbers as their ids")
