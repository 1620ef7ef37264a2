"""Static against continuous batching: the same load through the same scheduler; and the loop that skips its neighbours.

The gains here are ratios of counted steps. How long a step takes is the business of whoever prices or measures it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hwlab.formula import inside, positive, whole
from hwlab.serving.pager import Pager
from hwlab.serving.priced import Priced
from hwlab.serving.scheduler import Request, Scheduler

KINDS = ("equal", "uniform", "exponential", "lognormal")


def draw_lengths(num: int, kind: str, *, mean: float, spread: float = 1.0, seed: int = 0) -> list[int]:
    """Lengths of made-up answers, in tokens, each at least 1.

    Parameters
    ----------
    num : int
        How many.
    kind : {"equal", "uniform", "exponential", "lognormal"}
    mean : float
        Mean tokens, before rounding.
    spread : float
        Standard deviation of the logarithm, of a lognormal.

    Raises
    ------
    TypeError, ValueError
        If the kind is none of these, the mean is not positive, or the spread does not lie from 0 to 5.

    Examples
    --------
    >>> draw_lengths(5, "exponential", mean=10, seed=1)
    [1, 19, 14, 3, 7]
    """
    positive(mean=mean)
    inside(0, 5, spread=spread)
    generate = random.Random(seed)
    draw = {
        "equal": lambda: mean,
        "uniform": lambda: generate.uniform(0, 2 * mean),
        "exponential": lambda: generate.expovariate(1 / mean),
        "lognormal": lambda: mean * generate.lognormvariate(-(spread**2) / 2, spread),
    }
    if kind not in draw:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    return [max(1, round(draw[kind]())) for _ in range(whole(num=num))]


def steps_taken(lengths: Sequence[int], batch: int, *, policy: str, while_waiting: bool = False) -> tuple[int, int]:
    """Steps that a `Scheduler` takes for answers of these lengths, and the tokens they write.

    All requests are there at the beginning, with prompts of one token, and blocks are never short.

    Parameters
    ----------
    policy : {"static", "continuous"}
    while_waiting : bool
        Count only as long as somebody waits, so that the end, when rows stay empty, is left out.

    Examples
    --------
    >>> steps_taken([3, 9, 4, 4], 2, policy="static"), steps_taken([3, 9, 4, 4], 2, policy="continuous")
    ((13, 20), (11, 20))
    """
    blocks = sum(-(-length // 16) + 1 for length in lengths)
    scheduler = Scheduler(Pager(blocks, 16, seed=b""), policy=policy, max_batch=batch)
    for id, length in enumerate(lengths):
        scheduler.add(Request(id=id, prompt=1, max_new_tokens=length))
    steps = tokens = begun = 0
    while (step := scheduler.step()) is not None:
        begun += len(step.prefill)  # a prompt of one token is computed at once
        if while_waiting and begun == len(lengths):
            break
        steps, tokens = steps + 1, tokens + len(step.draws)
        scheduler.finish(step)
    return steps, tokens


def gain_counted(lengths: Sequence[int], batch: int) -> float:
    """How many times as many tokens a step continuous batching writes as static batching, while somebody waits.

    Examples
    --------
    >>> round(gain_counted(draw_lengths(2000, "uniform", mean=30, seed=3), 8), 2)  # 2 x 8 / 9 is 1.78
    1.79
    """
    rates = {}
    for policy in ("static", "continuous"):
        steps, tokens = steps_taken(lengths, batch, policy=policy, while_waiting=True)
        rates[policy] = tokens / steps
    return rates["continuous"] / rates["static"]


@dataclass(slots=True)
class Answer:
    """A sequence as the loops below see it: it ends with its token number `length`, if somebody looks.

    >>> Answer("a", 3)
    Answer(name='a', length=3, tokens=0)
    """

    name: str
    length: int
    tokens: int = 0


def _forward(running: Iterable[Answer]) -> list[bool]:
    """One token for each; whether it was the last of its answer."""
    ends = []
    for answer in running:
        answer.tokens += 1
        ends.append(answer.tokens == answer.length)
    return ends


def loop_as_printed(answers: Sequence[Answer], batch: int, *, longest: int) -> int:
    """Serve `answers` with the fault of the printed loop: it removes from the list that it walks. Returns the steps.

    The answers are left with the tokens that they were given, so that one sees whose end was missed.

    Parameters
    ----------
    longest : int
        Tokens at which an answer is ended whatever it says.

    Examples
    --------
    Two end together. The second is passed over, so that nothing but the limit will end it, and its end is read as that
    of the third, which is cut short:

    >>> answers = [Answer("a", 2), Answer("b", 2), Answer("c", 3)]
    >>> loop_as_printed(answers, 3, longest=10), [answer.tokens for answer in answers]
    (10, [2, 10, 2])
    """
    waiting, running, steps = list(answers), [], 0
    while waiting or running:
        while waiting and len(running) < batch:
            running.append(waiting.pop(0))
        ends = _forward(running)
        steps += 1
        for i, answer in enumerate(running):
            if ends[i] or answer.tokens >= longest:
                running.remove(answer)  # the list moves up under the walk
    return steps


def loop_mended(answers: Sequence[Answer], batch: int, *, longest: int) -> int:
    """As `loop_as_printed`, with a new list for those that go on.

    Examples
    --------
    >>> answers = [Answer("a", 2), Answer("b", 2), Answer("c", 3)]
    >>> loop_mended(answers, 3, longest=10), [answer.tokens for answer in answers]
    (3, [2, 2, 3])
    """
    waiting, running, steps = list(answers), [], 0
    while waiting or running:
        while waiting and len(running) < batch:
            running.append(waiting.pop(0))
        ends = _forward(running)
        steps += 1
        running = [answer for answer, end in zip(running, ends, strict=True) if not end and answer.tokens < longest]
    return steps


def wrong_lengths(loop: Callable[..., int], lengths: Sequence[int], batch: int, *, longest: int) -> tuple[int, int]:
    """Answers that a loop cuts short, and answers that it lets run past their end.

    Examples
    --------
    >>> wrong_lengths(loop_as_printed, [2, 2, 3], 3, longest=10), wrong_lengths(loop_mended, [2, 2, 3], 3, longest=10)
    ((1, 1), (0, 0))
    """
    answers = [Answer(str(i), length) for i, length in enumerate(lengths)]
    loop(answers, batch, longest=longest)
    return sum(a.tokens < a.length for a in answers), sum(a.tokens > a.length for a in answers)


def waits_by_budget(
    budgets: Sequence[int], model, chip, *, users: int = 31, prompt: int = 8000
) -> list[tuple[int, float, float]]:
    """What a long prompt does to others, and to its own user, by the tokens that a step may compute.

    Parameters
    ----------
    budgets : sequence of int
        Of a step, in tokens; at least one more than `users`.
    model, chip
        As for `hwlab.serving.priced.Priced`; weights in bf16.
    users : int
        Whose answers are being written when the prompt comes.
    prompt : int
        Its tokens.

    Returns
    -------
    list of (int, float, float)
        Budget, the longest gap between two tokens of the others, and the time to the first token of the long prompt.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> for budget, gap, first in waits_by_budget([512, 8192], model("llama-3.1-8b"), chip("h100-sxm")):
    ...     print(budget, round(gap * 1000, 1), round(first * 1000))
    512 9.2 138
    8192 130.3 130
    """
    found = []
    for budget in budgets:
        scheduler = Scheduler(Pager(8192, 16, seed=b""), policy="chunked", max_batch=users + 1, max_tokens=budget)
        executor = Priced(model, chip)
        for id in range(users):
            scheduler.add(Request(id=id, prompt=64, max_new_tokens=2**10))
        while len((step := scheduler.step()).decode) < users:
            executor.run(step)
            scheduler.finish(step)
        executor.run(step)
        scheduler.finish(step)
        scheduler.add(Request(id="long", prompt=prompt, max_new_tokens=2))
        times = []
        while "long" not in (step := scheduler.step()).draws:
            times.append(executor.run(step))
            scheduler.finish(step)
        times.append(executor.run(step))
        found.append((budget, max(times), sum(times)))
    return found
