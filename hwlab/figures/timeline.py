"""The scheduler's timeline: which request each step serves, and who waits, idles or makes room. Pure Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hwlab.figures.own import Number, Own, Pick
from hwlab.formula import number, si
from hwlab.serving.pager import NeverFits, Pager
from hwlab.serving.priced import Priced
from hwlab.serving.scheduler import Request, Scheduler, serve
from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.studies.batching import KINDS, draw_lengths

BLOCK_TOKENS = 16
MOST_STEPS = 240
"""Longest schedule that is stepped through; more columns would be thinner than a pixel of a phone."""

_MODEL, _CHIP = "llama-3.1-8b", "h100-sxm"
_STATES = "wpdiesx"
"""What a cell says, by its letter: waits, prompt, decode, idle row, makes room (computed again), swapped out, computes
again what it had lost. A space: not here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Requests, and how they are scheduled on an H100 that serves Llama 3.1 8B.

    Parameters
    ----------
    requests : tuple of (int, int, float)
        Tokens of the prompt, tokens of the answer, and the second at which it arrives, in order of arrival.
    policy, max_batch, max_tokens, preemption
        As for `hwlab.serving.scheduler.Scheduler`.
    num_blocks : int
        Blocks of 16 tokens in the pool.

    Raises
    ------
    ValueError
        If a request can never fit, or the scheduler refuses the numbers.

    Examples
    --------
    >>> Load(requests=((40, 60, 0.0),), num_blocks=4)
    Traceback (most recent call last):
    ...
    ValueError: request 1 needs 7 blocks for 40 tokens and an answer of up to 60; the pool has 4 in all
    """

    requests: tuple[tuple[int, int, float], ...]
    policy: str = "continuous"
    max_batch: int = 4
    max_tokens: int = 8192
    num_blocks: int = 4096
    preemption: str = "recompute"

    def __post_init__(self):
        scheduler = self.scheduler()
        for request in self.arrivals():
            try:
                scheduler.add(request)
            except NeverFits as never:
                raise ValueError(str(never)) from None

    def arrivals(self) -> list[Request]:
        """The requests, numbered from 1."""
        return [
            Request(id=i, prompt=prompt, max_new_tokens=answer, arrival_s=at)
            for i, (prompt, answer, at) in enumerate(self.requests, start=1)
        ]

    def scheduler(self) -> Scheduler:
        """A scheduler of this kind, without requests."""
        swap = self.preemption == "swap"
        return Scheduler(
            Pager(self.num_blocks, BLOCK_TOKENS, seed=b""),
            policy=self.policy,
            max_batch=self.max_batch,
            max_tokens=self.max_tokens,
            preemption=self.preemption,
            host=Pager(4 * self.num_blocks, BLOCK_TOKENS, seed=b"") if swap else None,
        )


_ANSWERS = (4, 17, 3, 9, 2, 6, 21, 5, 3, 12, 4, 7)
_SHORT = tuple((64, answer, 0.0) for answer in _ANSWERS)
_LONG = (
    *((64, answer, 0.0) for answer in (22, 26, 24)),
    (6000, 5, 0.02),
    *((64, answer, 0.02) for answer in (4, 6, 5)),
)
_TIGHT = tuple((30, answer, 0.0) for answer in (40, 34, 38, 30, 24, 20))
SCENES: Mapping[str, tuple[str, Load]] = {
    "static": ("Static", Load(requests=_SHORT, policy="static")),
    "continuous": ("Continuous", Load(requests=_SHORT)),
    "whole": ("A long prompt, whole", Load(requests=_LONG, max_batch=8)),
    "chunked": ("The same in chunks", Load(requests=_LONG, max_batch=8, policy="chunked", max_tokens=512)),
    "recompute": ("Too few blocks", Load(requests=_TIGHT, num_blocks=14)),
    "swap": ("The same, swapped", Load(requests=_TIGHT, num_blocks=14, preemption="swap")),
}
"""Twelve answers in four rows, twice; a prompt of 6,000 tokens that comes upon three answers, twice; a small pool."""


def _own(*, policy, max_batch, max_tokens, requests, prompt, answer, lengths, gap, num_blocks, preemption) -> Load:
    answers = draw_lengths(requests, lengths, mean=answer, seed=11)
    return Load(
        requests=tuple((prompt, tokens, i * gap / 1000) for i, tokens in enumerate(answers)),
        policy=policy,
        max_batch=max_batch,
        max_tokens=int(max_tokens),
        num_blocks=num_blocks,
        preemption=preemption,
    )


OWN = Own(
    build=_own,
    fields=(
        Pick("policy", "Policy", {"static": "static", "continuous": "continuous", "chunked": "chunked"}, "chunked"),
        Number("max_batch", "Rows of a step", 1, 8, 4),
        Pick("max_tokens", "Budget of a step", {str(n): f"{n:,} tokens" for n in (128, 256, 512, 2048, 8192)}, "256"),
        Number("requests", "Requests", 1, 16, 10),
        Number("prompt", "Tokens of a prompt", 16, 2048, 512, step=16),
        Number("answer", "Mean tokens of an answer", 1, 24, 8),
        Pick("lengths", "Lengths of answers", {kind: kind for kind in KINDS}, "exponential"),
        Number("gap", "From one arrival to the next", 0, 50, 10, unit="ms"),
        Number("num_blocks", "Blocks of the pool", 8, 512, 512, step=8),
        Pick("preemption", "Who makes room is", {"recompute": "computed again", "swap": "swapped out"}, "recompute"),
    ),
)
"""A load and a scheduler of the reader's own: as many rows as a phone can draw legibly."""


@dataclass(slots=True)
class _Totals:
    """What a schedule comes to: its steps, its time, what its rows did, and what each request waited."""

    steps: int = 0
    seconds: float = 0.0
    written: int = 0
    idle: int = 0
    again: int = 0
    preempted: int = 0
    longest_gap_s: float = 0.0
    first_s: float = 0.0
    ended: int = 0

    @property
    def rows(self):
        return self.written + self.idle


def totals(load: Load) -> dict:
    """What the whole schedule comes to, as in the last of its frames.

    Examples
    --------
    >>> static, continuous = (totals(SCENES[key][1]) for key in ("static", "continuous"))
    >>> static["steps"], continuous["steps"], static["written"] == continuous["written"]
    (50, 26, True)
    """
    return _Run(load).frames[-1]["totals"]


def frames(load: Load) -> Iterator[dict]:
    """The steps of a schedule, one a frame.

    A frame is plain data, ready for JSON:

    - ``rows``: for each request its number and one letter a step so far: w waits, p its prompt is computed, d a token
      is written, i its row idles, e it makes room, s it is swapped out, x what it lost is computed again;
    - ``seconds``: of each step so far; ``steps``: how many there will be; ``longest``: seconds of the longest of all;
    - ``blocks``: held, and in the pool; ``batch``: rows of a step;
    - ``totals``: steps, seconds, tokens written, rows idle, tokens computed again, preemptions, the longest gap between
      two tokens of an answer and the mean wait for a first one, in seconds, and requests that have ended;
    - ``says`` and ``arithmetic``.

    Raises
    ------
    ValueError
        If the schedule has more than `MOST_STEPS` steps.

    Examples
    --------
    >>> found = list(frames(SCENES["static"][1]))
    >>> found[4]["says"][:75]
    'Step 5 (4.49 ms): a token for 2 and 4. The rows of 1 and 3 idle; 5 to 12 wa'
    >>> found[-1]["rows"][0]
    [1, 'pdddiiiiiiiiiiiii']
    """
    run = _Run(load)
    every = run.frames
    every[-1]["says"] += f" {run.verdict()}"
    longest = max(every[-1]["seconds"])
    for frame in every:
        yield frame | {"steps": len(every), "longest": longest}


class _Run:
    """A load on its way through a scheduler, with the letters of its timeline: an executor that takes notes."""

    def __init__(self, load: Load):
        self.load, self.scheduler = load, load.scheduler()
        self.executor = Priced(model(_MODEL), chip(_CHIP))
        self.cells = dict.fromkeys(range(1, len(load.requests) + 1), "")
        self.furthest = dict.fromkeys(self.cells, 0)
        self.last: dict[int, float] = {}
        self.swapped: set[int] = set()
        self.waits: list[float] = []
        self.seconds: list[float] = []  # as far as a bar can show
        self.totals = _Totals()
        self.frames: list[dict] = []
        serve(load.arrivals(), self.scheduler, self, after=self.after)

    def run(self, step):
        if len(self.frames) == MOST_STEPS:
            raise ValueError(
                f"this schedule has more than {MOST_STEPS} steps, and no more are shown; take fewer requests, "
                "shorter answers or a larger budget"
            )
        self.took = self.executor.run(step)
        self.held = self.load.num_blocks - self.scheduler.pager.num_free
        self.now_letters = self.letters(step)
        for id in self.cells:
            self.cells[id] += self.now_letters.get(id, " ")
        return self.took

    def after(self, step, now, finished):
        self.count(step, now)
        ended = [done.id for done in finished]
        self.totals.ended += len(ended)
        self.frames.append(
            {
                "says": self.says(step, ended),
                "arithmetic": self.arithmetic(step),
                "rows": [[id, cells.rstrip()] for id, cells in self.cells.items()],
                "seconds": [*self.seconds],
                "blocks": [self.held, self.load.num_blocks],
                "batch": self.load.max_batch,
                "totals": {name: getattr(self.totals, name) for name in _Totals.__slots__},
            }
        )

    def letters(self, step):
        running, waiting = self.scheduler.running, self.scheduler.waiting
        self.swapped = (self.swapped | {move.id for move in step.swap_out}) - {move.id for move in step.swap_in}
        letters = dict.fromkeys(running, "i") | dict.fromkeys(waiting, "w")
        letters |= dict.fromkeys(self.swapped, "s") | dict.fromkeys(step.decode, "d")
        for id, start, tokens in step.prefill:
            again = max(0, min(self.furthest[id], start + tokens) - start)
            letters[id] = "x" if again else "p"
            self.totals.again += again
            self.furthest[id] = max(self.furthest[id], start + tokens)
        for id in step.decode:
            self.furthest[id] += 1
        letters |= {id: "e" for id in step.preempted if id in waiting}
        if self.load.policy != "static":  # a prompt that gets no tokens of this step
            letters |= {id: "w" for id, letter in letters.items() if letter == "i"}
        return letters

    def count(self, step, now):
        totals = self.totals
        self.seconds.append(round(self.took, 6))
        totals.steps += 1
        totals.seconds = now
        totals.written += len(step.draws)
        totals.idle += step.idle
        totals.preempted += len(step.preempted)
        for id in step.draws:
            if id in self.last:
                totals.longest_gap_s = max(totals.longest_gap_s, now - self.last[id])
            else:
                self.waits.append(now - self.load.requests[id - 1][2])
                totals.first_s = sum(self.waits) / len(self.waits)
            self.last[id] = now

    def says(self, step, ended):
        by = {letter: [id for id, found in self.now_letters.items() if found == letter] for letter in _STATES}
        parts = []
        if step.prefill:
            tokens = sum(chunk.tokens for chunk in step.prefill)
            kind = "lost" if by["x"] and not by["p"] else "of the prompt" + ("s" if len(by["p"]) > 1 else "")
            whose = _listed(sorted([*by["p"], *by["x"]]))
            parts.append(f"{_many(tokens, 'token')} {kind} {'by' if kind == 'lost' else 'of'} {whose}")
        if step.decode:
            parts.append(f"a token for {_listed(sorted(step.decode))}")
        said = [f"Step {step.number + 1} ({si(self.took, 's')}): {' and '.join(parts)}."]
        rest = []
        if by["i"]:
            rest.append(
                f"the {'row' if len(by['i']) == 1 else 'rows'} of {_listed(sorted(by['i']))} {_s('idle', by['i'])}"
            )
        if by["e"]:
            rest.append(f"{_listed(sorted(by['e']))} {_s('make', by['e'])} room")
        if by["s"]:
            rest.append(f"{_listed(sorted(by['s']))} {'is' if len(by['s']) == 1 else 'are'} swapped out")
        if by["w"]:
            rest.append(f"{_listed(sorted(by['w']))} {_s('wait', by['w'])}")
        if ended:
            rest.append(f"{_listed(sorted(ended))} {'has' if len(ended) == 1 else 'have'} ended")
        if rest:
            text = "; ".join(rest)
            said.append(text[0].upper() + text[1:] + ".")
        return " ".join(said)

    def verdict(self):
        totals, load = self.totals, self.load
        done = f"{_many(totals.written, 'token')} in {_many(totals.steps, 'step')}"
        said = [f"Done: {done} and {si(totals.seconds, 's')}."]
        if totals.idle:
            said.append(f"{number(100 * totals.idle / totals.rows, 2)} % of the rows idled.")
        if totals.preempted:
            what = f"{totals.again:,} tokens were computed again" if totals.again else "nothing was computed again"
            said.append(f"Room was made {_times(totals.preempted)}, and {what}.")
        rival = "continuous" if load.policy == "static" else "static"
        try:
            other = _Run(replace(load, policy=rival)).totals.steps
        except ValueError:
            return " ".join(said)
        said.append(f"{rival.capitalize()} batching takes {_many(other, 'step')}.")
        return " ".join(said)

    def arithmetic(self, step):
        totals = self.totals
        work = self.executor.work_done
        lines = [
            f"this step: {_many(step.tokens, 'token')}, {si(work.memory_bytes, 'B')} and {si(work.flop, 'FLOP')},"
            f" so {si(self.took, 's')}",
            f"{totals.written:,} tokens in {totals.steps} steps: {number(totals.written / totals.steps)} a step,"
            f" of {self.load.max_batch} rows",
            f"longest wait between two tokens of an answer: {si(totals.longest_gap_s, 's')}",
        ]
        if self.last:
            lines.append(f"mean wait for the first token: {si(totals.first_s, 's')} over {len(self.last)}")
        return lines


def _many(count, what):
    return f"{count:,} {what}{'s' * (count != 1)}"


def _s(verb, of):
    return f"{verb}s" if len(of) == 1 else verb


def _times(count):
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _listed(ids):
    """Numbers in a row as a range: 1, 3, 5 to 8.

    >>> _listed([1, 3, 5, 6, 7]), _listed([2, 3]), _listed([4])
    ('1, 3 and 5 to 7', '2 and 3', '4')
    """
    runs = []
    for id in ids:
        if runs and id == runs[-1][1] + 1:
            runs[-1][1] = id
        else:
            runs.append([id, id])
    parts = []
    for first, last in runs:
        parts += [f"{first} to {last}"] if last - first > 1 else [str(id) for id in range(first, last + 1)]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def schedule_timeline(scenes: Mapping[str, tuple[str, Load]] = SCENES):
    """A stepper of the scheduler: requests down, steps across.

    Parameters
    ----------
    scenes : mapping of str to (title, `Load`)
        What the reader may choose from; the first is shown at the start.

    Returns
    -------
    Machine

    Examples
    --------
    >>> machine = schedule_timeline()
    >>> machine.frame["totals"]["steps"]
    50
    >>> machine.own = {"policy": "static", "requests": 4, "lengths": "equal", "gap": 0}
    >>> machine.at = len(machine.frames) - 1
    >>> machine.frame["totals"]["idle"]
    0
    """
    from hwlab.figures.machine import Machine  # here, so that frames() needs no widgets: it runs in a browser's Python

    return Machine(
        "schedule",
        "timeline",
        frames,
        scenes,
        columns={
            "Steps": lambda frame: f"{frame['totals']['steps']}",
            "Time": lambda frame: si(frame["totals"]["seconds"], "s"),
            "Tokens written": lambda frame: f"{frame['totals']['written']}",
            "Rows idle": lambda frame: f"{frame['totals']['idle']}",
            "Tokens computed again": lambda frame: f"{frame['totals']['again']}",
            "First token after": lambda frame: si(frame["totals"]["first_s"], "s"),
            "Longest gap": lambda frame: si(frame["totals"]["longest_gap_s"], "s"),
        },
        picture=_picture,
        scene=next(iter(scenes)),
        alt="A row for each request and a column for each step: where it waits, where its prompt is computed, where a "
        "token is written, and where its row idles; above, a bar for the time of each step.",
        own=OWN,
    )


def _picture(last: dict[str, dict]):
    import altair as alt

    from hwlab.figures.theme import SERIES

    rows = [
        {"scene": title, "rows": name, "count": count}
        for title, frame in last.items()
        for name, count in (
            ("wrote a token", frame["totals"]["written"]),
            ("stood idle", frame["totals"]["steps"] * frame["batch"] - frame["totals"]["written"]),
        )
    ]
    return (
        alt.Chart(alt.Data(values=rows), height=220)
        .mark_bar()
        .encode(
            alt.X("count:Q", title="Rows of all steps", axis=alt.Axis(tickCount=5)),
            alt.Y("scene:N", title=None, sort=list(last)),
            alt.Color(
                "rows:N",
                title="A row",
                scale=alt.Scale(domain=["wrote a token", "stood idle"], range=[SERIES[1], SERIES[5]]),
            ),
        )
    )
