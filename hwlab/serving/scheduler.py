"""The scheduler: which requests the next step of the model serves, and which blocks it writes.

A *step* is one pass of the model. Three policies say who is in it:

- ``static``: a batch is made up, every one of its sequences ends, and only then comes the next batch. Rows whose
  sequence has ended go through the model idle.
- ``continuous``: who has ended makes room after any step (*iteration-level scheduling*: G.-I. Yu et al., "Orca", OSDI
  2022). A prompt is computed whole, in one step, beside the tokens of those that are being answered.
- ``chunked``: as ``continuous``, but a step computes so many tokens at most and prompts come in pieces, so that a long
  one keeps nobody waiting (*chunked prefill*: A. Agrawal et al., "Sarathi-Serve", OSDI 2024).

Whoever came first goes first; a priority is worth a number of arrivals. Where blocks run out, the last in that order
makes room (*preemption*) and is computed again later, or swapped to another memory. The first in order is never
preempted, so that it ends, whatever the load: that is why nothing starves and nothing runs in circles.

A step may also judge *guesses* of a draft model (`hwlab.serving.speculative`) and then writes several tokens of a
sequence at once. Their blocks are reserved before the step and what is not used is given back after it; guesses take
what is free and never make anybody give way.

The scheduler holds no clock and no arrays. `serve` has the clock, and an `Executor` carries the steps out: the engine
computes them, the simulator prices them.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from numbers import Real
from typing import NamedTuple, Protocol

from hwlab.formula import whole
from hwlab.serving.pager import Copy, NeverFits, OutOfBlocks, Pager, is_number, token_ids

POLICIES = ("static", "continuous", "chunked")
PREEMPTIONS = ("recompute", "swap")


class Stalled(RuntimeError):
    """No request can go on, and none will by waiting. The message names the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a user sent.

    Parameters
    ----------
    id : hashable
        Its name, and that of its sequence in the pager.
    prompt : sequence of int, or int
        Token ids, each from 0 on; or how many tokens, for a simulation that knows no ids.
    max_new_tokens : int
        Tokens after which the answer ends, if nothing ends it before.
    arrival_s : float
        When it arrives, in seconds.
    priority : int
        Lower goes first, 0 is ordinary.
    salt : bytes
        Prompts share cached prefixes only under the same salt.

    Raises
    ------
    TypeError, ValueError
        If the id cannot be hashed, the prompt is empty or holds what is no token id, no answer is wanted, the time is
        not a number of seconds from 0 on, the priority not whole, or the salt not bytes.
    """

    id: Hashable
    prompt: Sequence[int] | int
    max_new_tokens: int
    arrival_s: float = 0.0
    priority: int = 0
    salt: bytes = b""

    def __post_init__(self):
        if not isinstance(self.id, Hashable):
            raise TypeError(f"the id of a request is {self.id!r}; give a number, a text or another that can be hashed")
        try:
            whole(max_new_tokens=self.max_new_tokens)
            ids = token_ids(self.prompt) if hasattr(self.prompt, "__len__") else None
            if ids is None:
                whole(prompt=self.prompt)
            elif not ids:
                raise ValueError("the prompt is empty; give one token id or more")
            elif (least := min(ids)) < 0:
                raise ValueError(f"the prompt has the token id {least}; give ids from 0 on")
        except (TypeError, ValueError) as error:
            raise type(error)(f"request {self.id!r}: {error}") from None
        if isinstance(self.priority, bool) or not is_number(self.priority):
            raise TypeError(f"request {self.id!r}: priority is {self.priority!r}; give a whole number")
        if not isinstance(self.arrival_s, Real) or not 0 <= self.arrival_s < float("inf"):
            raise ValueError(f"request {self.id!r}: arrival_s is {self.arrival_s!r}; give seconds from 0 on")
        if not isinstance(self.salt, bytes):
            raise TypeError(f"request {self.id!r}: salt is {self.salt!r}; give bytes")

    @property
    def prompt_tokens(self) -> int:
        """How many tokens the prompt has."""
        return len(self.prompt) if hasattr(self.prompt, "__len__") else whole(prompt=self.prompt)


class Chunk(NamedTuple):
    """A piece of a prompt that a step computes: tokens `start` to `start + tokens` of the sequence."""

    id: Hashable
    start: int
    tokens: int


class Move(NamedTuple):
    """Blocks of a sequence that go to the other memory, or come from there: `source` to `target`, in pairs.

    Blocks that the prefix cache still has need not come back, so there may be none.
    """

    id: Hashable
    source: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(slots=True)
class Step:
    """One pass of the model. An executor does what the fields say, in their order.

    Parameters
    ----------
    number : int
        Steps before this one.
    swap_out : list of Move
        Blocks from the pool to the other memory.
    copies : list of Copy
        Blocks to copy within the pool, for forks that part; in this order.
    swap_in : list of Move
        Blocks from the other memory to the pool.
    prefill : list of Chunk
        Pieces of prompts, or of what a preempted sequence had.
    decode : list
        Sequences that compute their last token.
    guesses : dict
        By sequence of `decode`, for how many guesses behind its last token its blocks have room. Where it names none,
        there are none.
    draws : list
        Sequences that draw a token behind what they computed: those of `decode`, and those of `prefill` that reach the
        end of what is known.
    idle : int
        Rows of a static batch whose sequence has ended.
    preempted : list
        Sequences that lost their blocks to make room for this step.
    recomputed : dict
        By sequence of `prefill`, how many of the first tokens of its piece had been computed before, in blocks that it
        lost. Where it names none, there are none.
    output : dict
        The executor's: the token id drawn, by sequence; with guesses, a sequence of ids: those that were right and the
        one behind them. An executor that only counts leaves it empty.
    accepted : dict
        Of an executor that only counts: how many guesses were right, by sequence.
    ended : set
        The executor's: sequences whose answer ends with the token just drawn.
    """

    number: int = 0
    swap_out: list[Move] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    swap_in: list[Move] = field(default_factory=list)
    prefill: list[Chunk] = field(default_factory=list)
    decode: list[Hashable] = field(default_factory=list)
    guesses: dict[Hashable, int] = field(default_factory=dict)
    draws: list[Hashable] = field(default_factory=list)
    idle: int = 0
    preempted: list[Hashable] = field(default_factory=list)
    recomputed: dict[Hashable, int] = field(default_factory=dict)
    output: dict[Hashable, int | Sequence[int]] = field(default_factory=dict)
    accepted: dict[Hashable, int] = field(default_factory=dict)
    ended: set[Hashable] = field(default_factory=set)

    @property
    def tokens(self) -> int:
        """Tokens that the step computes, guesses with them, idle rows left out."""
        guesses = sum(self.guesses.values()) if self.guesses else 0
        return len(self.decode) + guesses + sum(chunk.tokens for chunk in self.prefill)


class Executor(Protocol):
    """Carries out a step and says how many seconds it took."""

    def run(self, step: Step) -> float: ...


@dataclass(slots=True, eq=False)
class _Sequence:
    """A request on its way. `known` tokens are prompt and answer so far; of `computed` the K and V are written."""

    request: Request
    key: tuple[int, int]
    tokens: list[int] | None  # ids of the known ones; None: the prompt came as a number
    known: int
    computed: int = 0
    found: int = 0
    furthest: int = 0
    preemptions: int = 0
    runs: bool = False
    swapped: bool = False
    ended: bool = False
    counted: bool = False  # some of its tokens were drawn without an id

    @property
    def id(self):
        return self.request.id

    @property
    def answered(self):
        return self.known - self.request.prompt_tokens

    @property
    def decoding(self):
        return self.computed == self.known - 1 and self.answered > 0

    def slice(self, start, stop):
        """Tokens as the pager takes them: ids, or how many."""
        return stop - start if self.tokens is None else self.tokens[start:stop]

    def draw(self, ids, serial):
        """More tokens are known. One without an id gets one that nobody else has, and finds its own blocks by it."""
        self.known += len(ids)
        if self.tokens is None:
            return
        for at, id in enumerate(ids, serial):
            self.counted = self.counted or id is None
            self.tokens.append(-1 - at if id is None else id)

    def __lt__(self, other):
        return self.key < other.key


class Finished(NamedTuple):
    """A sequence after its last step: the ids of its answer (None where nobody drew any), and how it went."""

    id: Hashable
    answer: tuple[int, ...] | None
    tokens: int
    found: int
    preemptions: int


class Scheduler:
    """Requests in, steps out.

    Parameters
    ----------
    pager : Pager
        Blocks of the pool. Others may use it too.
    policy : {"static", "continuous", "chunked"}
        Who is in a step; see the module.
    max_batch : int
        Most sequences in a step.
    max_tokens : int
        Most tokens that a step computes. Under ``continuous`` a longer prompt has a step for itself and those being
        answered; under ``static`` the prompts of a batch are computed in one step, whatever their length.
    patience : int
        What one level of priority is worth: a request goes before those of the next level that came up to `patience`
        arrivals earlier. So no request waits for ever.
    preemption : {"recompute", "swap"}
        What happens to the K and V of a sequence that makes room. Where `host` is full, it is computed again.
    host : Pager, optional
        Blocks of the other memory, for ``swap``; as large as those of the pool.
    guesses : int
        Most guesses that a step judges for a sequence. They count among the tokens of a step.

    Raises
    ------
    TypeError, ValueError
        If a name or a number is none of those allowed.

    Notes
    -----
    A request begins only where, beside it, blocks stay free for the rest of the prompts that have begun and one more
    for each sequence that runs: else it would soon be preempted.

    Examples
    --------
    >>> scheduler = Scheduler(Pager(8, 4), policy="chunked", max_batch=4, max_tokens=6)
    >>> scheduler.add(Request(id="a", prompt=[5, 6, 7], max_new_tokens=2))
    >>> scheduler.add(Request(id="b", prompt=[5, 6, 7, 8, 9], max_new_tokens=1))
    >>> step = scheduler.step()
    >>> step.prefill, step.decode
    ([Chunk(id='a', start=0, tokens=3), Chunk(id='b', start=0, tokens=3)], [])
    >>> scheduler.finish(step)
    []
    >>> step = scheduler.step()
    >>> step.prefill, step.decode
    ([Chunk(id='b', start=3, tokens=2)], ['a'])
    >>> [done.id for done in scheduler.finish(step)]
    ['a', 'b']
    """

    def __init__(
        self,
        pager: Pager,
        *,
        policy: str = "continuous",
        max_batch: int = 256,
        max_tokens: int = 8192,
        patience: int = 100,
        preemption: str = "recompute",
        host: Pager | None = None,
        guesses: int = 0,
    ):
        for name, value, known in (("policy", policy, POLICIES), ("preemption", preemption, PREEMPTIONS)):
            if value not in known:
                raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(known)}")
        if (preemption == "swap") != (host is not None):
            raise ValueError(f"preemption is {preemption!r} and host {host!r}; swap needs a host, and only swap")
        for name, value in (("pager", pager), ("host", host)):
            if not isinstance(value, Pager) and (name == "pager" or host is not None):
                raise TypeError(f"{name} is {value!r}; give a Pager")
        if host is pager:
            raise ValueError("host is the pager itself; give another one, for the other memory")
        if host is not None and host.block_tokens != pager.block_tokens:
            raise ValueError(f"a block of host has {host.block_tokens} tokens, one of pager {pager.block_tokens}")
        self.pager, self.policy, self.preemption, self.host = pager, policy, preemption, host
        self.max_batch, self.max_tokens, self.patience = whole(
            max_batch=max_batch, max_tokens=max_tokens, patience=patience
        )
        self.guesses = whole(guesses=guesses) if guesses else 0
        if policy != "static" and max_tokens < max_batch * (1 + self.guesses):
            each = f"one and {guesses} guesses" if guesses else "one"
            raise ValueError(
                f"max_tokens is {max_tokens}; a step needs {each} for each of max_batch = {max_batch} sequences"
            )
        self._waiting: list[_Sequence] = []  # a heap
        self._running: list[_Sequence] = []  # in order
        self._by_id: dict[Hashable, _Sequence] = {}
        self._arrivals = self._steps = self._idle_steps = self._drawn = 0
        self._open: Step | None = None

    @property
    def waiting(self) -> tuple[Hashable, ...]:
        """Requests that wait, the next one first."""
        return tuple(sequence.id for sequence in sorted(self._waiting))

    @property
    def running(self) -> tuple[Hashable, ...]:
        """Requests whose sequences hold blocks, the first one in order first."""
        return tuple(sequence.id for sequence in self._running)

    def tokens(self, id: Hashable, start: int = 0, stop: int | None = None) -> list[int]:
        """Ids of the tokens of a request so far, prompt and answer, or of a part of them.

        Raises
        ------
        LookupError
            If no such request is being served.
        ValueError
            If its prompt came as a number, without ids.
        """
        sequence = self._served(id)
        if sequence.tokens is None:
            raise ValueError(f"the prompt of request {id!r} came as a number of tokens; nobody knows their ids")
        return sequence.tokens[start:stop]

    def add(self, request: Request) -> None:
        """Queue a request.

        Raises
        ------
        NeverFits
            If prompt and answer need more blocks than the pool has.
        TypeError, ValueError
            If it is no `Request`, or one of its id is being served.
        """
        if _request(request).id in self._by_id:
            raise ValueError(f"request {request.id!r} is being served; give another id")
        prompt = request.prompt_tokens
        size, pool = self.pager.block_tokens, self.pager.num_blocks
        blocks = -(-(prompt + request.max_new_tokens - 1) // size)  # the last token is drawn, not computed
        if blocks > pool:
            raise NeverFits(
                f"request {request.id!r} needs {blocks} blocks for {prompt} tokens and an answer of up to "
                f"{request.max_new_tokens}; the pool has {pool} in all"
            )
        ids = list(request.prompt) if hasattr(request.prompt, "__len__") else None
        key = (self._arrivals + request.priority * self.patience, self._arrivals)
        sequence = self._by_id[request.id] = _Sequence(request, key, ids, prompt)
        self._arrivals += 1
        heappush(self._waiting, sequence)

    def cancel(self, id: Hashable) -> None:
        """Forget a request, between steps: its blocks are free.

        Raises
        ------
        LookupError
            If no such request is being served.
        RuntimeError
            If a step is under way.
        """
        self._between_steps("cancel")
        sequence = self._served(id)
        del self._by_id[id]
        if sequence.runs:
            self._stop(sequence)
            self._leave([])
        else:
            self._waiting.remove(sequence)
            self._waiting.sort()  # a sorted list is a heap
            if sequence.swapped:
                self.host.free(id)

    def fork(self, parent: Hashable, child: Hashable) -> None:
        """A second answer that goes on, as request `child`, from where that of `parent` stands; between steps.

        Both share their blocks until one of them writes. Where the batch is full, or `parent` holds no blocks, `child`
        waits and finds in the prefix cache what is still there. Its answer has the tokens that `parent` had drawn.

        Raises
        ------
        LookupError
            If `parent` is not being served.
        ValueError
            If `child` is, or the policy is ``static``: a batch has blocks for those with whom it began.
        RuntimeError
            If a step is under way.
        """
        self._between_steps("fork")
        sequence = self._served(parent)
        if child in self._by_id:
            raise ValueError(f"request {child!r} is being served; give another id")
        if self.policy == "static":
            raise ValueError("a static batch takes no forks; it has blocks for those with whom it began")
        key = (self._arrivals + sequence.request.priority * self.patience, self._arrivals)
        tokens = None if sequence.tokens is None else list(sequence.tokens)
        request = replace(sequence.request, id=child)
        twin = replace(sequence, request=request, key=key, tokens=tokens, preemptions=0, swapped=False)
        if sequence.runs and len(self._running) < self.max_batch:
            self.pager.fork(parent, child)
            insort(self._running, twin)
        else:
            twin.runs = False
            heappush(self._waiting, twin)
        self._by_id[child] = twin
        self._arrivals += 1

    def step(self) -> Step | None:
        """The next step; None where there is nothing to do. Its result comes back by `finish`.

        Raises
        ------
        Stalled
            If requests wait, and none can begin though none runs.
        RuntimeError
            If the step before is not finished.
        """
        self._between_steps("step")
        step = Step(self._steps)
        if self.policy == "static":
            self._static(step)
        else:
            self._continuous(step)
        if not step.tokens and not step.swap_out:
            if self._waiting:
                raise Stalled(self._why())
            return None
        step.draws = [
            *(chunk.id for chunk in step.prefill if chunk.start + chunk.tokens == self._by_id[chunk.id].known),
            *step.decode,
        ]
        for chunk in step.prefill:
            before = self._by_id[chunk.id].furthest - chunk.start
            if before > 0:
                step.recomputed[chunk.id] = min(before, chunk.tokens)
        self._open = step
        return step

    def finish(self, step: Step) -> list[Finished]:
        """Take in what a step has done; the sequences that ended with it.

        Raises
        ------
        ValueError
            If it is not the step that `step` gave last, a sequence drew no token, more tokens than it had guesses for,
            or an id below 0, or one that draws nothing drew or ended. The step is still open.
        TypeError
            If a sequence drew what is no whole number; likewise.
        Stalled
            If many steps in a row computed nothing that had not been computed before.
        """
        if step is not self._open:
            raise ValueError("finish takes the step that the scheduler gave last, once")
        drawn = {id: _drawn(step, id) for id in step.draws}
        for name, said in (("output", step.output), ("ended", step.ended)):
            if said and (strange := [id for id in said if id not in drawn]):
                raise ValueError(f"{name} of step {step.number} names {strange[0]!r}, which draws no token in it")
        self._open = None
        self._steps += 1
        for id, ids in drawn.items():
            self._by_id[id].draw(ids, self._drawn + 1)
            self._drawn += len(ids)
        ended, progress = [], False
        for id, tokens in [
            *((chunk.id, chunk.tokens) for chunk in step.prefill),
            *((id, len(drawn[id])) for id in step.decode),
        ]:
            sequence = self._by_id[id]
            start = sequence.computed
            sequence.computed += tokens
            if sequence.computed > sequence.furthest:
                sequence.furthest, progress = sequence.computed, True
            if id in step.guesses:
                if tokens > 1:  # guesses that were right, in blocks that were reserved for them
                    self.pager.grow(id, sequence.slice(start + 1, start + tokens))
                if self.policy != "static":
                    self.pager.release(id)
        self.pager.commit()
        for id in step.draws:
            sequence = self._by_id[id]
            if id in step.ended or sequence.answered == sequence.request.max_new_tokens:
                sequence.ended = True
                ended.append(sequence)
        self._idle_steps = 0 if progress else self._idle_steps + 1
        if self._idle_steps > self.pager.num_blocks * self.pager.block_tokens:
            raise Stalled(
                f"{self._idle_steps} steps in a row computed only what had been computed before; {self._why()}"
            )
        ended.sort()
        self._leave(ended)
        return [self._finished(sequence) for sequence in ended]

    def _leave(self, ended):
        """Free the blocks of those that ended; a static batch keeps them until all have."""
        if self.policy == "static":
            ended = list(self._running) if all(sequence.ended for sequence in self._running) else []
        for sequence in ended:
            self._stop(sequence)
            del self._by_id[sequence.id]

    def _stop(self, sequence):
        sequence.runs = False
        self._running.remove(sequence)
        self.pager.free(sequence.id)

    def _finished(self, sequence):
        prompt, tokens = sequence.request.prompt_tokens, sequence.tokens
        answer = None if tokens is None or sequence.counted else tuple(tokens[prompt:])
        return Finished(sequence.id, answer, sequence.answered, sequence.found, sequence.preemptions)

    def _static(self, step):
        if self._running:
            step.decode = [sequence.id for sequence in self._running if not sequence.ended]
            step.idle = len(self._running) - len(step.decode)
            for sequence in self._running:
                if not sequence.ended:
                    self.pager.grow(sequence.id, sequence.slice(sequence.computed, sequence.known))
                    if guesses := self._guesses(sequence):
                        step.guesses[sequence.id] = guesses  # in what the batch has reserved
            return
        while self._waiting and len(self._running) < self.max_batch:
            sequence = self._waiting[0]
            request = sequence.request
            try:
                opened = self.pager.open(sequence.id, request.prompt, salt=request.salt)
            except OutOfBlocks:
                break
            if request.max_new_tokens > 1:
                try:
                    self.pager.reserve(sequence.id, request.max_new_tokens - 1)  # a static batch never runs out
                except OutOfBlocks:
                    self.pager.free(sequence.id)
                    break
            self._begin(step, sequence, opened)

    def _continuous(self, step):
        chunked = self.policy == "chunked"
        budget = self.max_tokens - sum(1 + self._guesses(sequence) for sequence in self._running if sequence.decoding)
        prefilling = [sequence for sequence in self._running if not sequence.decoding]
        wants = [sequence.known - sequence.computed for sequence in prefilling]
        if chunked and prefilling and self._room_for_one():  # who comes next has a share too
            wants.append(self._waiting[0].known)
        shares = _shares(max(budget, 0), wants)[: len(prefilling)]
        share = dict(zip(map(id, prefilling), shares, strict=True))
        for sequence in list(self._running):
            tokens = 1 if sequence.decoding else share[id(sequence)]
            if not tokens or not self._hold(step, sequence, tokens):
                continue
            if sequence.decoding:
                step.decode.append(sequence.id)
            else:
                step.prefill.append(Chunk(sequence.id, sequence.computed, tokens))
                budget -= tokens
        if self.guesses:
            self._reserve(step)
        owed = sum(self._owed(sequence) for sequence in self._running)
        while self._waiting and len(self._running) < self.max_batch and budget > 0:
            sequence = self._waiting[0]
            if sequence.swapped:
                if not self._swap_in(step, sequence, owed):
                    return
                budget -= 1
            else:
                if not chunked and sequence.known > budget and step.prefill:
                    return
                # A long prompt leaves its share of the step to those behind it.
                behind = min(len(self._waiting), self.max_batch - len(self._running))
                try:
                    opened = self.pager.open(
                        sequence.id,
                        sequence.known if sequence.tokens is None else sequence.tokens,
                        most=max(1, budget // behind) if chunked else sequence.known,
                        salt=sequence.request.salt,
                        spare=owed,
                    )
                except OutOfBlocks:
                    return
                budget -= opened.new
                self._begin(step, sequence, opened)
            owed += self._owed(sequence)

    def _room_for_one(self) -> bool:
        """Whether the first of those that wait could begin."""
        if not self._waiting or len(self._running) == self.max_batch or self._waiting[0].swapped:
            return False
        blocks = -(-self._waiting[0].known // self.pager.block_tokens)
        return blocks + sum(map(self._owed, self._running)) <= self.pager.num_free

    def _guesses(self, sequence) -> int:
        """How many guesses may be judged: behind the last token that is wanted there is none."""
        return min(self.guesses, sequence.request.max_new_tokens - sequence.answered - 1)

    def _reserve(self, step):
        """Blocks for guesses, as far as there are free ones."""
        for id in step.decode:
            guesses = self._guesses(self._by_id[id])
            if guesses:
                try:
                    self.pager.reserve(id, guesses)
                except OutOfBlocks:
                    guesses = -self.pager.length(id) % self.pager.block_tokens
            if guesses:
                step.guesses[id] = guesses

    def _owed(self, sequence) -> int:
        """Blocks that a running sequence will need soon: for the rest of its prompt, and for its next tokens."""
        size = self.pager.block_tokens
        return -(-(sequence.known + self.guesses) // size) - -(-self.pager.length(sequence.id) // size) + 1

    def _begin(self, step, sequence, opened):
        self._start(sequence)
        sequence.computed = opened.found
        sequence.found = max(sequence.found, opened.found)
        step.prefill.append(Chunk(sequence.id, opened.found, opened.new))

    def _start(self, sequence):
        """The first of those that wait runs."""
        heappop(self._waiting)
        insort(self._running, sequence)
        sequence.runs = True

    def _hold(self, step, sequence, tokens) -> bool:
        """Blocks for `tokens` more tokens; the last in order make room where there are none. False: it went itself."""
        while sequence.runs:
            start = sequence.computed
            try:
                copy = self.pager.grow(sequence.id, sequence.slice(start, start + tokens))
                if copy:
                    step.copies.append(copy)
                return True
            except OutOfBlocks:
                self._preempt(step, self._running[-1])
        return False

    def _preempt(self, step, sequence):
        sequence.preemptions += 1
        step.preempted.append(sequence.id)
        if self.host is not None and sequence.computed:
            try:
                self.host.grow(sequence.id, sequence.computed)
            except OutOfBlocks:
                pass
            else:
                sequence.swapped = True
                target = self.host.table(sequence.id)
                step.swap_out.append(Move(sequence.id, self.pager.table(sequence.id)[: len(target)], target))
        self._stop(sequence)
        heappush(self._waiting, sequence)

    def _swap_in(self, step, sequence, spare) -> bool:
        size, known = self.pager.block_tokens, sequence.computed + 1
        spare += -(-sequence.known // size) - -(-known // size)
        try:
            opened = self.pager.open(sequence.id, sequence.slice(0, known), salt=sequence.request.salt, spare=spare)
        except OutOfBlocks:
            return False
        there = opened.found // size  # blocks that the prefix cache still has come from nowhere
        source = self.host.table(sequence.id)[there:]
        target = self.pager.table(sequence.id)[there : there + len(source)]
        step.swap_in.append(Move(sequence.id, source, target))
        self.host.free(sequence.id)
        sequence.swapped = False
        if sequence.decoding:
            step.decode.append(sequence.id)
        else:
            step.prefill.append(Chunk(sequence.id, sequence.computed, 1))
        self._start(sequence)
        return True

    def _served(self, id) -> _Sequence:
        sequence = self._by_id.get(id)
        if sequence is None:
            raise LookupError(f"no request {id!r} is being served; {len(self._by_id)} are")
        return sequence

    def _between_steps(self, what):
        if self._open is not None:
            raise RuntimeError(f"{what} comes between steps; step {self._open.number} is not finished")

    def _why(self):
        running = f"{_count(len(self._running), 'request')} {'runs' if len(self._running) == 1 else 'run'}"
        if not self._waiting:
            return running
        first, pager = min(self._waiting), self.pager
        others = [seq for seq in pager.sequences if seq not in self._by_id]
        blocks = -(-first.known // pager.block_tokens)
        held = f"; others than this scheduler hold blocks for {_count(len(others), 'sequence')} ({others[0]!r})"
        return (
            f"request {first.id!r} needs {_count(blocks, 'block')} to go on; {pager.num_free} of {pager.num_blocks} "
            f"{'is' if pager.num_free == 1 else 'are'} free and {running}{held if others else ''}"
        )


def _request(given) -> Request:
    if not isinstance(given, Request):
        raise TypeError(f"a request is {given!r}; give a Request")
    return given


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _drawn(step: Step, id: Hashable) -> Sequence[int | None]:
    """What a sequence drew in a step: ids, or None for each token where the executor only counts."""
    output = step.output.get(id)
    if output is None:
        accepted = step.accepted.get(id, 0)
        if not is_number(accepted):
            raise TypeError(f"sequence {id!r} in step {step.number}: accepted is {accepted!r}; give a whole number")
        ids = (None,) * (1 + accepted)
    else:
        try:
            ids = tuple(token_ids((output,) if is_number(output) else output))
        except TypeError as error:
            raise TypeError(f"sequence {id!r} in step {step.number}: {error}") from None
        if ids and min(ids) < 0:
            raise ValueError(f"sequence {id!r} drew the token id {min(ids)} in step {step.number}; ids are from 0 on")
    most = 1 + step.guesses.get(id, 0)
    if not 1 <= len(ids) <= most:
        raise ValueError(f"sequence {id!r} drew {len(ids)} tokens in step {step.number}; it may draw from 1 to {most}")
    return ids


def _shares(budget: int, wants: list[int]) -> list[int]:
    """A budget dealt out evenly: nobody gets more than asked for, and what one leaves the others share.

    What is left of an even share goes to the first.

    >>> _shares(10, [20, 2, 20])
    [4, 2, 4]
    >>> _shares(3, [5, 5])
    [2, 1]
    """
    shares = [0] * len(wants)
    left = sorted(range(len(wants)), key=lambda i: wants[i])
    while left:
        share = budget // len(left)
        if wants[left[0]] <= share:
            first = left.pop(0)
            shares[first] = wants[first]
            budget -= wants[first]
            continue
        for place, i in enumerate(sorted(left)):
            shares[i] = share + (place < budget % len(left))
        break
    return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What became of a request. Times are seconds on the clock of `serve`; None where there was no answer.

    Parameters
    ----------
    request : Request
        As it came.
    answer : tuple of int, or None
        Token ids; None where the executor only counts.
    tokens : int
        Tokens of the answer.
    first_s, last_s : float or None
        When its first and its last token were drawn.
    found : int
        Tokens of the prompt that the prefix cache had.
    preemptions : int
        How often it made room for others.
    refused : str
        Why it was not served; empty if it was.
    """

    request: Request
    answer: tuple[int, ...] | None = None
    tokens: int = 0
    first_s: float | None = None
    last_s: float | None = None
    found: int = 0
    preemptions: int = 0
    refused: str = ""

    @property
    def ttft_s(self) -> float | None:
        """Time to the first token, from arrival."""
        return None if self.first_s is None else self.first_s - self.request.arrival_s

    @property
    def tpot_s(self) -> float | None:
        """Time for each further token; None for an answer of one."""
        return None if self.tokens < 2 else (self.last_s - self.first_s) / (self.tokens - 1)


def serve(
    requests: Iterable[Request],
    scheduler: Scheduler,
    executor: Executor,
    *,
    after: Callable[[Step, float, list[Finished]], None] | None = None,
) -> list[Served]:
    """Drive `scheduler` until all `requests` are answered or refused. The clock lives here and only here.

    Parameters
    ----------
    requests : iterable of Request
        In order of arrival.
    after : callable, optional
        Called after each step with the step, the time at its end in seconds, and the sequences that ended with it.

    Returns
    -------
    list of Served
        In the order of the requests.

    Raises
    ------
    ValueError
        If `scheduler` has other requests, two requests that are being served share an id, one arrives before the one
        ahead of it, or the executor took a time that cannot be.
    TypeError
        If a request is no `Request`, or the executor has no `run`, or one that gives no seconds.
    Stalled
        If nothing can go on.

    Examples
    --------
    A step of this executor takes a millisecond for each token:

    >>> class Millisecond:
    ...     def run(self, step):
    ...         return step.tokens / 1000
    >>> requests = [Request(id=name, prompt=8, max_new_tokens=3, arrival_s=at) for name, at in [("a", 0), ("b", 0.001)]]
    >>> for served in serve(requests, Scheduler(Pager(8, 4)), Millisecond()):
    ...     print(served.request.id, f"{served.ttft_s * 1000:.0f} ms", f"{served.tpot_s * 1000:.1f} ms")
    a 8 ms 5.5 ms
    b 16 ms 1.5 ms
    """
    if others := (*scheduler.running, *scheduler.waiting):
        raise ValueError(
            f"the scheduler has {len(others)} requests already, such as {others[0]!r}; give one that is idle"
        )
    if isinstance(executor, type) or not callable(getattr(executor, "run", None)):
        raise TypeError(f"executor is {executor!r}; give an object whose run(step) says how many seconds the step took")
    arriving = map(_request, requests)
    following = next(arriving, None)
    served: list[Served] = []  # in the order of the requests; until it ends, a request has its own without an answer
    place, first = {}, {}
    now = 0.0
    while True:
        while following is not None and following.arrival_s <= now:
            refused = ""
            try:
                scheduler.add(following)
                place[following.id] = len(served)
            except NeverFits as error:
                refused = str(error)
            served.append(Served(request=following, refused=refused))
            following, before = next(arriving, None), following
            if following is not None and following.arrival_s < before.arrival_s:
                raise ValueError(
                    f"request {following.id!r} arrives before {before.id!r}; give them in order of arrival"
                )
        step = scheduler.step()
        if step is None:
            if following is None:
                return served
            now = following.arrival_s
            continue
        seconds = executor.run(step)
        try:
            possible = 0 <= seconds < float("inf")
        except TypeError:
            name = type(executor).__name__
            raise TypeError(f"{name} gave {seconds!r} for a step; give the seconds that it took") from None
        if not possible:
            raise ValueError(f"{type(executor).__name__} took {seconds!r} s for a step; give seconds from 0 on")
        now += seconds
        for id in step.draws:
            first.setdefault(id, now)
        finished = scheduler.finish(step)
        for done in finished:
            at = place.pop(done.id)
            served[at] = replace(
                served[at],
                answer=done.answer,
                tokens=done.tokens,
                first_s=first.pop(done.id),
                last_s=now,
                found=done.found,
                preemptions=done.preemptions,
            )
        if after is not None:
            after(step, now, finished)
