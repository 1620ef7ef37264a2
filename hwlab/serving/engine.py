"""The engine: a real model on this machine, its KV cache paged, its requests batched.

The scheduler says who is in a step and the pager where keys and values lie; both are the objects that the simulator
drives on chips nobody here owns. The engine is their `Executor`: it hands a step to the model as two groups of rows,
the answers that go on and the prompts that begin, lets the model read its weights once for both, and draws the next
tokens, all in one compiled program. With a *draft* model the same program writes some guesses, judges them in one pass
of the large model, and draws what comes behind the last right one.

A compiled program is for one shape of its arrays, and compiling takes longer than running. So shapes are rounded up to
powers of two or four, and rows that are left over compute nothing that counts. The pools of keys and values are
*donated*: a program writes into the arrays that it is given, where it would else copy them whole at every step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from operator import index
from os import PathLike
from threading import RLock
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from hwlab.formula import whole
from hwlab.kernels.checkpoints import Checkpoint, load_checkpoint
from hwlab.kernels.transformer import Rows, new_pools, paged
from hwlab.serving.pager import Pager
from hwlab.serving.scheduler import Request, Scheduler, Stalled, Step
from hwlab.serving.speculative import look_up

LOOK_UP = "look-up"
_DTYPES = {"float32": "fp32", "float64": "fp64", "bfloat16": "bf16", "float16": "fp16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """What one step of the engine did, and how long it took.

    Attributes
    ----------
    number : int
        Of the scheduler's step.
    start_s, seconds : float
        On this machine's clock, from the engine's beginning; `seconds` has the compiling in it.
    prefill_tokens : int
        Tokens of prompts that it computed, and of what sequences had that lost their blocks.
    prefill_sequences : int
        Sequences whose tokens these are.
    recomputed_tokens : int
        Those among them that had been computed before.
    decode_sequences : int
        Answers that it carried on.
    idle : int
        Rows of a static batch whose answer had ended.
    waiting : int
        Requests that had not begun, or had lost their blocks, while it ran.
    preempted : int
        Sequences that lost their blocks to make room for it.
    tokens : int
        Tokens that it drew.
    guesses, accepted : int
        Guesses that it judged, and how many were right.
    context_tokens : int
        Tokens in the cache of all of its sequences, those that it wrote among them.
    flop : float
        FLOP that the model needs for it, nothing padded, idle or computed again counted; those of a draft model too.
    hardware_flop : float
        FLOP that its program carried out, all of that counted: rows and places that were filled up, scores of attention
        that the mask then hides, and what several devices compute alike.
    weight_bytes, kv_bytes : float
        Bytes of weights and of cache that it must read, once each; those of a draft model, once a guess, too.
    devices : int
        That shared it.
    compiled : bool
        Whether a program was compiled in it.
    """

    number: int
    start_s: float
    seconds: float
    prefill_tokens: int
    prefill_sequences: int
    recomputed_tokens: int
    decode_sequences: int
    idle: int
    waiting: int
    preempted: int
    tokens: int
    guesses: int
    accepted: int
    context_tokens: int
    flop: float
    hardware_flop: float
    weight_bytes: float
    kv_bytes: float
    devices: int
    compiled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """An answer.

    Attributes
    ----------
    text : str
        Up to what stopped it, left out.
    ids : tuple of int
        All tokens that were drawn.
    finish_reason : {"length", "stop"}
        Whether it reached `max_new_tokens`, or a stop.
    ttft_s : float
        From the call to the first token.
    tpot_s : float or None
        For each further token; None for an answer of one.
    """

    text: str
    ids: tuple[int, ...]
    finish_reason: str
    ttft_s: float
    tpot_s: float | None


class Sampling(NamedTuple):
    """How the tokens of an answer are drawn; temperature 0 takes the likeliest."""

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0


@dataclass(slots=True)
class _Answer:
    """A request of `generate` or `stream` on its way."""

    stop_ids: frozenset[int]
    stop_texts: tuple[str, ...]
    ids: list[int] = field(default_factory=list)
    cut: int | None = None  # where the text ends before a stop
    stopped: bool = False
    done: bool = False
    begun_s: float = 0.0
    first_s: float = 0.0
    last_s: float = 0.0


class Engine:
    """Serve a model on this machine.

    Threads may share it for `generate` and `stream`: they take the steps in turn, each for all.

    Parameters
    ----------
    model : Checkpoint
        See `load` for models by name.
    draft : Checkpoint or "look-up", optional
        Who guesses: a smaller model with the same tokens, or what followed in the text before
        (`hwlab.serving.speculative.look_up`). By default nobody.
    guesses : int
        Most guesses a round.
    num_blocks : int, optional
        Blocks of the pool; by default enough for `max_batch` sequences of the longest context, up to 256 MiB.
    block_tokens : int
        Tokens a block has room for.
    policy, max_batch, max_tokens, preemption
        As of `Scheduler`; `max_tokens` is 512 by default, or what `max_batch` makes necessary. ``swap`` keeps as many
        blocks in ordinary memory as the pool has.
    dtype : {"float32", "float64", "bfloat16", "float16"}
        Of weights and cache. For float64 JAX must be allowed it: ``jax.config.update("jax_enable_x64", True)``.
    devices : int
        Devices of JAX that share every layer, heads of keys and values and columns of the feed-forward block dealt out
        evenly (*tensor parallelism*).
    seed : int
        What prefixes are hashed with, so that equal calls make equal runs.

    Attributes
    ----------
    scheduler, pager
        The real objects. ``serve(requests, engine.scheduler, engine)`` answers requests that arrive in time; what the
        model cannot answer (an id that it has not, more tokens than its context) is a ValueError.
    samplings : dict
        How requests draw that came to the scheduler directly, by their id: `Sampling`, greedy where nothing is said.
    spec : ModelSpec
        What `hwlab.costs` and `hwlab.estimate` take.
    log : list of StepRecord
        All steps so far.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of those allowed, or the two models do not share their tokens.
    """

    def __init__(
        self,
        model: Checkpoint,
        *,
        draft: Checkpoint | str | None = None,
        guesses: int = 4,
        num_blocks: int | None = None,
        block_tokens: int = 16,
        policy: str = "continuous",
        max_batch: int = 8,
        max_tokens: int | None = None,
        preemption: str = "recompute",
        dtype: str = "float32",
        devices: int = 1,
        seed: int = 0,
    ):
        if dtype not in _DTYPES:
            raise ValueError(f"dtype is {dtype!r}; it must be one of {', '.join(_DTYPES)}")
        if dtype == "float64" and not jax.config.jax_enable_x64:
            raise ValueError('dtype is "float64"; first allow it: jax.config.update("jax_enable_x64", True)')
        if not isinstance(model, Checkpoint):
            raise TypeError(f"model is {model!r}; give a Checkpoint, or Engine.load its name")
        if draft is not None and not isinstance(draft, Checkpoint) and draft != LOOK_UP:
            raise ValueError(f"draft is {draft!r}; give a Checkpoint, or {LOOK_UP!r}")
        seed = _seed(seed)
        if isinstance(draft, Checkpoint) and draft.config.vocab_size != model.config.vocab_size:
            raise ValueError(
                f"{model.name} has {model.config.vocab_size} tokens and {draft.name} {draft.config.vocab_size}; a "
                "draft must have the tokens of the model that judges it"
            )
        max_batch, block_tokens, devices = whole(max_batch=max_batch, block_tokens=block_tokens, devices=devices)
        self.guesses = whole(guesses=guesses) if draft is not None else 0
        self.model, self.draft, self.spec, self.dtype = model, draft, model.spec, dtype
        self._models = (model, draft) if isinstance(draft, Checkpoint) else (model,)
        self._bytes = _DTYPES[dtype]
        per_token = sum(m.spec.kv_bytes_per_token(self._bytes) for m in self._models)
        full = -(-model.config.max_context_tokens // block_tokens)
        if num_blocks is None:
            num_blocks = min(max_batch * full, max(full, int(2**28 // (per_token * block_tokens))))
        if max_tokens is None:
            max_tokens = max(512, max_batch * (1 + self.guesses))
        self._shape = whole(num_blocks=num_blocks), block_tokens
        self._options = {
            "policy": policy,
            "max_batch": max_batch,
            "max_tokens": max_tokens,
            "preemption": preemption,
            "guesses": self.guesses,
        }
        self._seed = b"%d" % seed
        self._reset()
        self._configs = tuple(m.config for m in self._models)
        self._mesh = _mesh(devices, model)
        weights = (jax.tree.map(lambda x: jnp.asarray(x, dtype), m.weights) for m in self._models)
        self._weights = tuple(
            _dealt(self._mesh, config, _WEIGHTS, w) for config, w in zip(self._configs, weights, strict=True)
        )
        self._new_pools()
        self.log: list[StepRecord] = []
        self._turn = RLock()  # of the thread that changes something
        self._start = time.perf_counter()
        self._names = 0

    @classmethod
    def load(cls, name: str | PathLike, draft: str | PathLike | None = None, **options) -> Engine:
        """An engine with a model by its name or path.

        Parameters
        ----------
        name : str or path
            As for `hwlab.kernels.checkpoints.load_checkpoint`: "tiny-shakespeare", which comes with the package; a
            folder with ``config.json`` and ``*.safetensors``; a ``.gguf`` file.
        draft : str or path, optional
            Likewise, or "look-up".
        **options
            As for `Engine`.

        Raises
        ------
        CheckpointError
            If there is no such model.
        """
        dtype = options.get("dtype", "float32")
        model = load_checkpoint(name, dtype)
        return cls(model, draft=load_checkpoint(draft, dtype) if draft not in (None, LOOK_UP) else draft, **options)

    def _reset(self):
        """Pager and scheduler as at the beginning."""
        num_blocks, block_tokens = self._shape
        self.pager = Pager(num_blocks, block_tokens, seed=self._seed)
        swap = self._options["preemption"] == "swap"
        host = Pager(num_blocks, block_tokens, seed=self._seed) if swap else None
        self.scheduler = _Scheduler(self.model, self.pager, host=host, **self._options)
        self._stepping, self._whole = False, True  # a step of `_advance` runs; the last change went well
        self._gone: list[str] = []  # to be forgotten behind the step that runs
        self.samplings: dict[Hashable, Sampling] = {}
        self._answers: dict[Hashable, _Answer] = {}

    def _new_pools(self):
        self._pools = tuple(
            _dealt(self._mesh, config, _POOL, new_pools(config, *self._shape, jnp.dtype(self.dtype)))
            for config in self._configs
        )
        swap = self.scheduler.host is not None
        self._host = jax.tree.map(lambda pool: np.zeros(pool.shape, pool.dtype), self._pools) if swap else None

    # --- one step --------------------------------------------------------------------------------------------

    def run(self, step: Step) -> float:
        """Carry out a step of `scheduler`: note in it what was drawn and who ended, and say how long it took.

        Parameters
        ----------
        step : Step
            The one that ``scheduler.step()`` gave last; ``scheduler.finish(step)`` comes next.

        Returns
        -------
        float
            Seconds, compiling included.
        """
        start, programs = time.perf_counter(), len(_TRACED)
        self._move(step)
        accepted, decode, prefill = 0, None, None
        if step.tokens:
            usual = Sampling()
            going, coming = (
                [self.samplings.get(id, usual) for id in ids] for ids in (step.decode, [c.id for c in step.prefill])
            )
            decode, prefill = self._decode(step, going), self._prefill(step, coming)
            drawn, self._pools = _pass(
                self._weights,
                self._pools,
                decode,
                prefill,
                configs=self._configs,
                guesses=self.guesses,
                kind=_kind([*going, *coming]),
            )
            (tokens, right), firsts = jax.device_get(drawn)
            for row, id in enumerate(step.decode):
                accepted += int(right[row])
                self._note(step, id, tokens[row, : right[row] + 1].tolist())
            draws = set(step.draws)
            for row, chunk in enumerate(step.prefill):
                if chunk.id in draws:
                    self._note(step, chunk.id, [int(firsts[row])])
        end = time.perf_counter()
        self._record(step, start, end, accepted, decode, prefill, compiled=len(_TRACED) > programs)
        return end - start

    def _move(self, step):
        """What the scheduler wants moved, in its order."""
        if step.swap_out:
            source, target = _pairs(step.swap_out)
            taken = jax.device_get(_read(self._pools, _padded(source, 0)))
            for host, blocks in zip(jax.tree.leaves(self._host), jax.tree.leaves(taken), strict=True):
                host[target] = blocks[: len(target)]
        nowhere = self.pager.num_blocks
        if step.copies:
            source, target = zip(*step.copies, strict=True)
            self._pools = _copy(self._pools, _padded(source, 0), _padded(target, nowhere))
        if step.swap_in:
            source, target = _pairs(step.swap_in)
            blocks = jax.tree.map(lambda host: host[_padded(source, 0)], self._host)
            self._pools = _write(self._pools, _padded(target, nowhere), blocks)

    def _decode(self, step, samplings) -> _Decode | None:
        ids = step.decode
        if not ids:
            return None
        most = self._options["max_batch"]
        rows = min(_up(len(ids) + step.idle, 2), most)
        if step.prefill:  # one shape of answers beside each shape of prompts
            rows = min(max(rows, 8), most)
        last, starts, room = np.zeros(rows, np.int32), np.zeros(rows, np.int32), np.full(rows, -1, np.int32)
        looked = np.zeros((rows, self.guesses), np.int32) if self.draft == LOOK_UP else None
        for row, id in enumerate(ids):
            last[row] = self.scheduler.tokens(id, -1)[0]
            starts[row] = self.pager.length(id) - 1
            room[row] = step.guesses.get(id, 0)
            if looked is not None and room[row]:
                found = look_up(self.scheduler.tokens(id), int(room[row]))
                looked[row, : len(found)] = found
                room[row] = len(found)
        return _Decode(last, starts, room, self._tables(ids, rows), looked, _draws(samplings, rows))

    def _prefill(self, step, samplings) -> _Prefill | None:
        chunks = step.prefill
        if not chunks:
            return None
        rows, width = _up(len(chunks), 2), _up(max(chunk.tokens for chunk in chunks), 1, 16)
        tokens, starts, counts = np.zeros((rows, width), np.int32), np.zeros(rows, np.int32), np.zeros(rows, np.int32)
        for row, chunk in enumerate(chunks):
            counts[row], starts[row] = chunk.tokens, chunk.start
            tokens[row, : chunk.tokens] = self.scheduler.tokens(chunk.id, chunk.start, chunk.start + chunk.tokens)
        tables = self._tables([chunk.id for chunk in chunks], rows)
        return _Prefill(tokens, starts, counts, tables, _draws(samplings, rows))

    def _tables(self, ids, rows):
        tables = [self.pager.table(id) for id in ids]
        least = max(1, min(8, 64 // rows))  # each width is a program of its own; too wide a one costs time in each row
        out = np.zeros((rows, _up(max(map(len, tables)), 1, least)), np.int32)
        for row, table in enumerate(tables):
            out[row, : len(table)] = table
        return out

    def _note(self, step, id, tokens):
        """Tokens of a sequence into the step, up to the one that ends its answer."""
        answer = self._answers.get(id)
        if answer is None:
            for at, token in enumerate(tokens, 1):
                if token in self.model.stop_ids:
                    step.ended.add(id)
                    tokens = tokens[:at]
                    break
        else:
            for at, token in enumerate(tokens, 1):
                answer.ids.append(token)
                if self._stops(answer):
                    answer.stopped = True
                    step.ended.add(id)
                    tokens = tokens[:at]
                    break
        step.output[id] = tokens

    def _stops(self, answer) -> bool:
        """Whether its last token ends an answer; if so, where its text does."""
        if answer.ids[-1] in answer.stop_ids:
            answer.cut = len(self._text(answer.ids[:-1]))
            return True
        if answer.stop_texts:
            text = self._text(answer.ids)
            found = [at for at in map(text.find, answer.stop_texts) if at >= 0]
            if found:
                answer.cut = min(found)
                return True
        return False

    def _text(self, ids) -> str:
        return "" if self.model.tokenizer is None else self.model.tokenizer.decode(ids)

    def _record(self, step, start, end, accepted, going, coming, *, compiled):
        decode = np.array([self.pager.length(id) - 1 for id in step.decode], float)  # tokens before the step
        judged = np.array([1 + step.guesses.get(id, 0) for id in step.decode], float)
        before = np.array([chunk.start for chunk in step.prefill], float)
        new = np.array([chunk.tokens for chunk in step.prefill], float)
        again = np.array([step.recomputed.get(chunk.id, 0) for chunk in step.prefill], float)
        draws = set(step.draws)
        heads = np.array([chunk.id in draws for chunk in step.prefill], float)
        flop = weights = cache = 0.0
        for i, model in enumerate(self._models):
            spec, passes = model.spec, 1 if i == 0 or not step.decode else 1 + self.guesses
            flop += float(np.sum(spec.flop(judged, decode, judged)))
            flop += float(np.sum(spec.flop(new - again, before + again, heads if i == 0 else 0 * heads)))
            if step.tokens:
                weights += passes * float(spec.weight_bytes_read(step.tokens / passes, self._bytes))
            cache += passes * float(np.sum(spec.kv_bytes_read(decode + judged / passes, self._bytes)))
            cache += float(np.sum(spec.kv_bytes_read(before + new, self._bytes)))
        self.log.append(
            StepRecord(
                number=step.number,
                start_s=start - self._start,
                seconds=end - start,
                prefill_tokens=int(new.sum()),
                prefill_sequences=len(step.prefill),
                recomputed_tokens=int(again.sum()),
                decode_sequences=len(step.decode),
                idle=step.idle,
                waiting=len(self.scheduler.waiting),
                preempted=len(step.preempted),
                tokens=sum(map(len, step.output.values())),
                guesses=sum(step.guesses.values()),
                accepted=accepted,
                context_tokens=int(decode.sum() + len(decode) + before.sum() + new.sum()),
                flop=flop,
                hardware_flop=self._carried_out(going, coming),
                weight_bytes=weights,
                kv_bytes=cache,
                devices=1 if self._mesh is None else self._mesh.size,
                # told by `jax.disable_jit` to compile nothing, JAX runs the function that it would else trace once
                compiled=compiled and not jax.config.jax_disable_jit,
            )
        )

    def _carried_out(self, going, coming) -> float:
        """FLOP of a step's program, on all devices: of every place of its arrays, whoever needs it."""
        flop, devices = 0.0, 1 if self._mesh is None else self._mesh.size
        for i, config in enumerate(self._configs):
            spec = self._models[i].spec
            head = devices * (spec.flop(1) - spec.flop(1, 0, 0))  # the table of tokens is whole on each device
            copies = 1 if _divides(devices, config) else devices
            for rows, places, heads in (
                (going, 1 + self.guesses, 1 + self.guesses),
                (coming, 0 if coming is None else coming.tokens.shape[1], i == 0),  # the draft draws behind no prompt
            ):
                if rows is not None:
                    seen = rows.tables.shape[1] * self.pager.block_tokens
                    flop += rows.starts.size * float(copies * places * spec.flop(1, seen - 1, 0) + heads * head)
        return flop

    # --- answers ---------------------------------------------------------------------------------------------

    def generate(
        self,
        prompts: Sequence[str | Sequence[int]],
        max_new_tokens: int = 64,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
        stop: str | Sequence[str | int] = (),
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Generation]:
        """Answer all prompts, as many at a time as the scheduler lets run.

        Parameters
        ----------
        prompts : sequence of str, or of sequences of int
            Texts, or token ids.
        max_new_tokens : int
            Tokens after which an answer ends, if nothing ends it before.
        temperature : float
            0 takes the likeliest token; 1 draws as the model thinks; above, more evenly.
        top_k : int, optional
            Draw from the likeliest so many only.
        top_p : float, optional
            Draw from the likeliest only that together have this probability.
        seed : int
            Prompt number i is answered with seed + i, in whatever company.
        stop : str, or sequence of str and int
            Texts and token ids that end an answer, beside those of the model.
        progress : callable, optional
            Called after each step with the tokens drawn so far and the most there can be. If it raises, all is
            cancelled and the engine is as it was.

        Returns
        -------
        list of Generation
            In the order of the prompts.

        Raises
        ------
        TypeError, ValueError
            If a prompt is empty, holds what is no token of the model, or is too long with its answer for the model; if
            a number is none of those allowed. Nothing is begun then.
        NeverFits
            If a prompt and its answer need more blocks than the pool has.
        """
        if isinstance(prompts, str):
            raise TypeError(f"prompts is a text; give a list: [{prompts[:20]!r}]")
        if not hasattr(prompts, "__iter__"):
            raise TypeError(f"prompts is {prompts!r}; give a list of texts, or of token ids")
        options = seed, max_new_tokens, temperature, top_k, top_p, stop
        asked = [self._asked(prompt, *options, number=i) for i, prompt in enumerate(prompts)]
        names, answers = self._new_names(len(asked)), [answer for *_, answer in asked]
        try:
            self._begin(names, asked)
            while not all(answer.done for answer in answers):
                self._advance(names)
                if progress is not None:
                    progress(sum(len(answer.ids) for answer in answers), len(answers) * max_new_tokens)
        finally:
            self._forget(names)
        return [self._generation(answer) for answer in answers]

    def stream(
        self,
        prompt: str | Sequence[int],
        max_new_tokens: int = 64,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
        stop: str | Sequence[str | int] = (),
    ) -> Iterator[str]:
        """The answer to one prompt, piece by piece as it is drawn; ``close()`` on the iterator cancels it.

        It begins when the first piece is asked for. Several streams, and calls of `generate` between, share their
        steps. Parameters, and what is raised, as in `generate`.
        """
        return self._pieces(self._asked(prompt, seed, max_new_tokens, temperature, top_k, top_p, stop))

    def _pieces(self, asked):
        (name,), answer, shown = self._new_names(1), asked[-1], 0
        try:
            self._begin([name], [asked])
            while True:
                done = answer.done  # it may come while somebody else takes the steps
                text = self._text(answer.ids)[: answer.cut]
                sure = len(text) if done else len(text) - _unsure(text, answer.stop_texts)
                if sure > shown:
                    yield text[shown:sure]
                    shown = sure
                if done:
                    return
                if not answer.done:
                    self._advance([name])
        finally:
            self._forget([name])

    def _asked(self, prompt, seed, max_new_tokens, temperature, top_k, top_p, stop, number=0):
        """(token ids, tokens of the answer, how they are drawn, what is kept of the request), or an error."""
        max_new_tokens = whole(max_new_tokens=max_new_tokens)
        if isinstance(prompt, str):
            if self.model.tokenizer is None:
                raise TypeError(f"{self.model.name} came without a tokenizer; give token ids")
            ids = self.model.tokenizer.encode(prompt)
        else:
            ids = _whole_numbers(prompt)
            if ids is None:
                raise TypeError(f"a prompt is {prompt!r}; give a text, or whole numbers as its token ids")
        if not ids:
            raise ValueError("a prompt is empty; give one token or more")
        _computable(self.model, ids, max_new_tokens, "a prompt")
        if not isinstance(temperature, Real) or not 0 <= temperature < float("inf"):
            raise ValueError(f"temperature is {temperature!r}; give a number from 0 on")
        if top_k is not None:
            top_k = whole(top_k=top_k)
        if top_p is not None and not (isinstance(top_p, Real) and 0 < top_p <= 1):
            raise ValueError(f"top_p is {top_p!r}; give a probability above 0, up to 1")
        seed = _seed(seed)
        stops = tuple(stop) if hasattr(stop, "__iter__") and not isinstance(stop, str | bytes) else (stop,)
        texts = tuple(s for s in stops if isinstance(s, str))
        stop_ids = _whole_numbers(s for s in stops if not isinstance(s, str))
        if stop_ids is None or "" in texts:
            raise TypeError(f"stop is {stop!r}; give texts and token ids")
        _known(self.model, stop_ids, "stop")
        if texts and self.model.tokenizer is None:
            raise TypeError(f"{self.model.name} came without a tokenizer; stop at token ids")
        return (
            ids,
            max_new_tokens,
            Sampling(float(temperature), top_k, top_p, seed + number),
            _Answer(
                stop_ids=frozenset(self.model.stop_ids).union(stop_ids),
                stop_texts=texts,
            ),
        )

    def _new_names(self, count) -> list[str]:
        with self._turn:
            self._names += count
            return [f"answer {self._names - count + i}" for i in range(1, count + 1)]

    def _begin(self, names, asked):
        """Queue requests; `_forget` comes in any case, so all or none."""
        with self._turn:
            self._whole = False
            try:
                for name, (ids, max_new_tokens, sampling, answer) in zip(names, asked, strict=True):
                    self.scheduler.add(Request(id=name, prompt=ids, max_new_tokens=max_new_tokens))
                    self._answers[name], self.samplings[name] = answer, sampling
            except Exception:  # refused; an interrupt may have come in the middle of it
                self._whole = True
                raise
            now = time.perf_counter()
            for *_, answer in asked:
                answer.begun_s = now
            self._whole = True

    def _advance(self, names):
        """One step, for whoever is in it, unless these answers have come while another thread took the steps."""
        with self._turn:
            if any(name not in self._answers for name in names):
                raise RuntimeError("the engine began anew after a step that failed; what it was answering is lost")
            if all(self._answers[name].done for name in names):
                return
            self._stepping, self._whole = True, False
            try:
                self._step()
                self._whole = True
            except Stalled:
                self._whole = True
                raise
            finally:
                self._stepping = False
            if self._gone:
                self._forget(())

    def _step(self):
        step = self.scheduler.step()
        self.run(step)
        now = time.perf_counter()
        for id in step.draws:
            answer = self._answers.get(id)
            if answer is not None:
                answer.first_s, answer.last_s = answer.first_s or now, now
        for done in self.scheduler.finish(step):
            if done.id in self._answers:
                self._answers[done.id].done = True

    def _forget(self, names):
        """End what has not ended."""
        with self._turn:
            if self._stepping:  # a stream that nobody has any more is collected while a step runs
                self._gone += names
                return
            if not self._whole:  # a step failed on its way: nobody knows what the blocks hold
                self._reset()
                self._new_pools()
            for name in (*self._gone, *names):
                answer = self._answers.pop(name, None)
                self.samplings.pop(name, None)
                if answer is not None and not answer.done:
                    self.scheduler.cancel(name)
            self._gone.clear()

    def _generation(self, answer) -> Generation:
        further = len(answer.ids) - 1
        return Generation(
            text=self._text(answer.ids)[: answer.cut],
            ids=tuple(answer.ids),
            finish_reason="stop" if answer.stopped else "length",
            ttft_s=answer.first_s - answer.begun_s,
            tpot_s=(answer.last_s - answer.first_s) / further if further else None,
        )


class _Scheduler(Scheduler):
    """One that refuses what its model cannot compute, before it comes into a step with others."""

    def __init__(self, model: Checkpoint, pager: Pager, **options):
        super().__init__(pager, **options)
        self._model = model

    def add(self, request: Request) -> None:
        if isinstance(request, Request):
            who = f"request {request.id!r}"
            if not hasattr(request.prompt, "__len__"):
                raise ValueError(f"{who}: the prompt came as a number of tokens; an engine computes with their ids")
            _computable(self._model, request.prompt, request.max_new_tokens, who)
        super().add(request)


def _computable(model, ids, max_new_tokens, who):
    """Nothing, if a model can answer this prompt."""
    longest = model.config.max_context_tokens
    _known(model, ids, who)
    if len(ids) + max_new_tokens > longest:
        raise ValueError(
            f"{who} has {len(ids)} tokens and its answer up to {max_new_tokens}; {model.name} was made for {longest} "
            "in all"
        )


def _known(model, ids, who):
    """Nothing, if a model has these tokens."""
    vocab = model.config.vocab_size
    if wrong := [id for id in ids if not 0 <= id < vocab]:
        raise ValueError(f"{who} has the token id {wrong[0]}; {model.name} has ids from 0 to {vocab - 1}")


# --- what is compiled ----------------------------------------------------------------------------------------


class _Draw(NamedTuple):
    """Of each row, how it draws."""

    temperature: jax.Array
    top_k: jax.Array
    top_p: jax.Array
    seed: jax.Array


class _Decode(NamedTuple):
    """Answers that go on: the last token of each, its position, and for how many guesses there is room (-1: no row)."""

    last: jax.Array
    starts: jax.Array
    room: jax.Array
    tables: jax.Array
    looked_up: jax.Array | None
    draw: _Draw


class _Prefill(NamedTuple):
    """Pieces of prompts."""

    tokens: jax.Array
    starts: jax.Array
    counts: jax.Array
    tables: jax.Array
    draw: _Draw


_TRACED: list[str] = []  # grows when a program is traced, which is when it is compiled
_TARGET, _DRAFT, _VERDICT = range(3)  # streams of random numbers


@partial(jax.jit, static_argnames=("configs", "guesses", "kind"), donate_argnames="pools")
def _pass(weights, pools, decode, prefill, *, configs, guesses, kind):
    """A step: guesses, their judgement, and the next tokens of all rows.

    Returns
    -------
    ((tokens[rows, guesses + 1], right[rows]), firsts[rows]), pools
        Of the answers, how many guesses were right, these, and the token behind them; of prompts, the token behind.
    """
    _TRACED.append(kind)
    pools = list(pools)
    groups, drawn, firsts = [], (None, None), None
    if prefill is not None:
        last = jnp.maximum(prefill.counts - 1, 0)[:, None]
        prompts = Rows(prefill.tokens, prefill.starts, prefill.counts, prefill.tables, last)
        if len(configs) > 1:
            _, pools[1] = paged(configs[1], weights[1], pools[1], (prompts,))
        groups.append(prompts)
    if decode is not None:
        guessed, opinions = decode.looked_up, None
        if len(configs) > 1:
            guessed, opinions, pools[1] = _guess(configs[1], weights[1], pools[1], decode, guesses, kind)
        tokens = decode.last[:, None] if guessed is None else jnp.column_stack([decode.last, guessed])
        places = jnp.broadcast_to(jnp.arange(guesses + 1), tokens.shape)
        groups.append(Rows(tokens, decode.starts, decode.room + 1, decode.tables, places))
    logits, pools[0] = paged(configs[0], weights[0], pools[0], tuple(groups))
    if prefill is not None:
        positions = prefill.starts + prefill.counts
        firsts = _next(logits[0][:, 0], prefill.draw, positions, _TARGET, kind)[0]
    if decode is not None:
        drawn = _judge(logits[-1], guessed, opinions, decode, kind)
    return (drawn, firsts), tuple(pools)


def _guess(config, weights, pools, decode, guesses, kind):
    """The draft's guesses [rows, guesses], what it thought of all tokens [rows, guesses, vocab], and its pools.

    It computes its last guess too, so that its cache is whole if all are right.
    """

    def one(carry, i):
        pools, token = carry
        counts = (i <= decode.room).astype(jnp.int32)
        rows = Rows(token[:, None], decode.starts + i, counts, decode.tables, jnp.zeros_like(token)[:, None])
        (logits,), pools = paged(config, weights, pools, (rows,))
        token, opinion = _next(logits[:, 0], decode.draw, decode.starts + 1 + i, _DRAFT, kind)
        return (pools, token), (token, opinion)

    (pools, _), (tokens, opinions) = jax.lax.scan(one, (pools, decode.last), jnp.arange(guesses + 1))
    return tokens[:-1].T, None if opinions is None else opinions[:-1].swapaxes(0, 1), pools


def _judge(logits, guessed, opinions, decode, kind):
    """What `hwlab.serving.speculative.judge` does, for all rows at once: (tokens [rows, guesses + 1], right [rows])."""
    rows, places, vocab = logits.shape
    guesses = places - 1
    if guesses == 0:
        token, _ = _next(logits[:, 0], decode.draw, decode.starts + 1, _TARGET, kind)
        return token[:, None], jnp.zeros(rows, jnp.int32)
    fits = jnp.arange(guesses) < decode.room[:, None]
    if kind == "greedy":
        best = _likeliest(logits)
        taken = (guessed == best[:, :-1]) & fits
        return best, jnp.cumprod(taken, axis=1, dtype=jnp.int32).sum(axis=1)
    target = _probabilities(logits, jax.tree.map(lambda x: x[:, None], decode.draw), kind)
    draft = jax.nn.one_hot(guessed, vocab, dtype=target.dtype) if opinions is None else opinions
    positions = decode.starts[:, None] + 1 + jnp.arange(places)
    chance = _uniform(decode.draw.seed[:, None], positions[:, :-1], _VERDICT, target.dtype)
    of_guess = lambda x: jnp.take_along_axis(x, guessed[..., None], axis=-1)[..., 0]  # noqa: E731
    taken = (chance * of_guess(draft) < of_guess(target[:, :-1])) & fits
    right = jnp.cumprod(taken, axis=1, dtype=jnp.int32).sum(axis=1)
    at = lambda x: jnp.take_along_axis(x, right[:, None, None], axis=1)[:, 0]  # noqa: E731
    refused = (right < decode.room)[:, None]
    left = jnp.where(refused, jnp.maximum(at(target) - at(jnp.pad(draft, ((0, 0), (0, 1), (0, 0)))), 0), at(target))
    left = jnp.where(left.max(axis=-1, keepdims=True) > 0, left, at(target))  # rounding may leave nothing
    behind = _draw(left, _uniform(decode.draw.seed, decode.starts + 1 + right, _TARGET, left.dtype))
    tokens = jnp.where(jnp.arange(places) < right[:, None], jnp.pad(guessed, ((0, 0), (0, 1))), behind[:, None])
    return tokens, right


def _next(logits, draw, positions, stream, kind):
    """The next token of each row, and the probabilities that it was drawn from (None where all take the likeliest)."""
    if kind == "greedy":
        return _likeliest(logits), None
    probabilities = _probabilities(logits, draw, kind)
    return _draw(probabilities, _uniform(draw.seed, positions, stream, probabilities.dtype)), probabilities


def _likeliest(logits):
    """Of each row [..., vocab] the first id with the largest logit: `jnp.argmax`, which takes seven times as long."""
    ids = jnp.arange(logits.shape[-1], dtype=jnp.int32)
    return jnp.where(logits == logits.max(axis=-1, keepdims=True), ids, ids[-1]).min(axis=-1)


def _probabilities(logits, draw, kind):
    """Of each token [..., vocab], after temperature, top-k and top-p; all on the likeliest at temperature 0."""
    temperature, top_k, top_p = (x[..., None] for x in draw[:3])
    scaled = logits - logits.max(axis=-1, keepdims=True)  # the likeliest at 0: no temperature is too low for it
    scaled = scaled / jnp.where(temperature > 0, temperature, 1).astype(logits.dtype)
    if kind == "filtered":
        ranked = jnp.sort(scaled, axis=-1, descending=True)
        least = jnp.take_along_axis(ranked, jnp.minimum(top_k, logits.shape[-1]) - 1, axis=-1)
        shares = jax.nn.softmax(jnp.where(ranked < least, -jnp.inf, ranked), axis=-1)
        before = jnp.cumsum(shares, axis=-1) - shares  # what likelier tokens have together
        least = jnp.maximum(least, jnp.where(before < top_p, ranked, jnp.inf).min(axis=-1, keepdims=True))
        scaled = jnp.where(scaled < least, -jnp.inf, scaled)
    likeliest = jax.nn.one_hot(_likeliest(logits), logits.shape[-1], dtype=logits.dtype)
    return jnp.where(temperature > 0, jax.nn.softmax(scaled, axis=-1), likeliest)


def _draw(weights, uniform):
    """Of each row [..., vocab] the id on which a number from [0, 1) falls, as `hwlab.serving.speculative.draw`."""
    reach = jnp.cumsum(weights, axis=-1)
    total = reach[..., -1]
    goal = jnp.minimum(uniform * total, jnp.nextafter(total, jnp.zeros_like(total)))
    return jnp.argmax(reach > goal[..., None], axis=-1).astype(jnp.int32)


def _uniform(seeds, positions, stream, dtype):
    """A number from [0, 1) for each seed and position of a token, whoever else is drawn for."""

    def one(seed, position):
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), position), stream)
        return jax.random.uniform(key, dtype=dtype)

    seeds, positions = jnp.broadcast_arrays(seeds, positions)
    return jax.vmap(one)(seeds.ravel(), positions.ravel()).reshape(seeds.shape)


@jax.jit
def _read(pools, blocks):
    return jax.tree.map(lambda pool: pool[blocks], pools)


@partial(jax.jit, donate_argnames="pools")
def _write(pools, blocks, contents):
    return jax.tree.map(lambda pool, new: pool.at[blocks].set(new, mode="drop"), pools, contents)


@partial(jax.jit, donate_argnames="pools")
def _copy(pools, source, target):
    return jax.tree.map(lambda pool: pool.at[target].set(pool[source], mode="drop"), pools)


# --- several devices -----------------------------------------------------------------------------------------

_WEIGHTS = {"qkv": 1, "qkv_bias": 0, "out": 1, "gate_up": 2, "down": 1}  # axis of heads, or of columns, by name
_POOL = 2  # likewise


def _mesh(devices, model) -> Mesh | None:
    """The first so many devices in a row, if the model's layers can be dealt out to them; None for one."""
    if devices == 1:
        return None
    there, config = jax.devices(), model.config
    if devices > len(there):
        raise ValueError(
            f"devices is {devices}; JAX has {len(there)} here (a processor counts as so many where, before JAX is "
            f"imported, XLA_FLAGS has --xla_force_host_platform_device_count={devices})"
        )
    if not _divides(devices, config):
        raise ValueError(
            f"devices is {devices}; it must divide the {config.num_kv_heads} heads of keys and values of {model.name} "
            f"and its feed-forward width of {config.intermediate_size}"
        )
    return Mesh(np.array(there[:devices]), ("heads",))


def _divides(devices, config) -> bool:
    return config.num_kv_heads % devices == 0 == config.intermediate_size % devices


def _dealt(mesh, config, axes, arrays):
    """Arrays on the devices of a mesh, cut along their axes; whole on each where none is named, or the cut not even."""
    if mesh is None:
        return arrays
    even = _divides(mesh.size, config)

    def put(path, x):
        axis = axes if isinstance(axes, int) else axes.get(getattr(path[-1], "name", ""))
        cut = [None] * x.ndim
        if even and axis is not None:
            cut[axis] = "heads"
        return jax.device_put(x, NamedSharding(mesh, PartitionSpec(*cut)))

    return jax.tree_util.tree_map_with_path(put, arrays)


# --- small things --------------------------------------------------------------------------------------------


def _up(number: int, power: int = 1, least: int = 1) -> int:
    """A size from `number` on, out of few: a power of two, or of four (`power` 2), times the least one.

    >>> [_up(n) for n in (1, 3, 8, 9)], [_up(n, 2) for n in (1, 3, 8, 17)], _up(3, 1, 16)
    ([1, 4, 8, 16], [1, 4, 16, 64], 16)
    """
    while least < number:
        least <<= power
    return least


def _padded(numbers, filling) -> np.ndarray:
    """Whole numbers as an array of rounded-up length."""
    out = np.full(_up(len(numbers), 2), filling, np.int32)
    out[: len(numbers)] = numbers
    return out


def _pairs(moves):
    """All blocks that moves take, and where each goes."""
    return [block for move in moves for block in move.source], [block for move in moves for block in move.target]


def _draws(samplings, rows) -> _Draw:
    filled = [*samplings, *[Sampling()] * (rows - len(samplings))]
    return _Draw(
        np.array([s.temperature for s in filled], np.float32),
        np.array([min(s.top_k or 2**31 - 1, 2**31 - 1) for s in filled], np.int32),
        np.array([1.0 if s.top_p is None else s.top_p for s in filled], np.float32),
        np.array([s.seed % 2**32 for s in filled], np.uint32),
    )


def _kind(samplings) -> str:
    """What a program must know: "greedy", "plain" (some row is drawn), or "filtered" (from a part of the tokens)."""
    drawn = [s for s in samplings if s.temperature > 0]
    if not drawn:
        return "greedy"
    return "filtered" if any(s.top_k is not None or s.top_p is not None for s in drawn) else "plain"


def _unsure(text: str, stops: Sequence[str]) -> int:
    """How much of the end of a text may yet turn out otherwise: half a character, or the beginning of a stop.

    >>> _unsure("to be, or", ["or not"]), _unsure("caf\ufffd", []), _unsure("to be", ["or not"])
    (2, 1, 0)
    """
    unsure = len(text) - len(text.rstrip("\ufffd"))
    for stop in stops:
        for size in range(1, min(len(stop), len(text) + 1)):
            if text.endswith(stop[:size]):
                unsure = max(unsure, size)
    return unsure


def _seed(seed) -> int:
    numbers = _whole_numbers([seed])
    if numbers is None:
        raise TypeError(f"seed is {seed!r}; give a whole number")
    return numbers[0]


def _whole_numbers(prompt) -> list[int] | None:
    """A prompt's token ids; None if it holds what is none."""
    if not hasattr(prompt, "__iter__") or isinstance(prompt, bytes | bytearray):
        return None
    try:
        return [index(None if isinstance(i, bool) else i) for i in prompt]
    except TypeError:
        return None
