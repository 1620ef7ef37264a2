"""What a question is: its answer by code, its known mistakes, and what it replies.

The prompt of a question stands in the page that asks it; all that follows from the answer stands here. No answer is
typed: it is a function that calls `hwlab`, and so is each mistake that the question knows. In a text, ``{{name}}``
stands for ``facts()["name"]``, so that numbers in prompts, hints, replies and solutions are computed too.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hwlab.formula import number
from hwlab.specs.quantities import SYMBOLS, read_quantity

SAYS = MappingProxyType(
    {
        "right": "Right: {answer}.",
        "high": "Too high.",
        "low": "Too low.",
        "large": "Right digits, but {factor} times too large.",
        "small": "Right digits, but {factor} times too small.",
        "unit": "That is in {given}; this asks for {wanted}.",
        "choose": "Choose one first.",
        "guess": "Give a number first, or skip.",
        "near": "You said {guess}: within a tenth of the answer, {answer}.",
        "apart": "You said {guess}; the answer is {answer}: {factor} times apart.",
        "skipped": "The answer is {answer}.",
        "rubric": "{met} of {all} met.",
    }
)
"""All that a question says by itself. The pages take the same sentences from here."""


def _no_facts() -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What every question has.

    Parameters
    ----------
    id : str
        The chapter's word, a hyphen, and a name: "matmul-layer-bytes".
    title : str
        What it asks, in a few words.
    facts : callable
        () -> {name: text} for the ``{{name}}`` in its texts.
    """

    id: str
    title: str
    facts: Callable[[], Mapping[str, str]] = _no_facts

    def fill(self, text: str) -> str:
        """`text` with each ``{{name}}`` replaced.

        Raises
        ------
        KeyError
            If a name is not among the facts.
        """
        facts = self.facts() if "{{" in text else {}
        return re.sub(r"\{\{(\w+)\}\}", lambda match: facts[match[1]], text)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured(Question):
    answer: Callable[[], float]
    unit: str

    def __post_init__(self):
        if self.unit not in SYMBOLS:
            raise ValueError(f"question {self.id}: unit is {self.unit!r}; use one of {', '.join(SYMBOLS)}")

    @property
    def base(self) -> str:
        """The base unit that `answer` is in."""
        return SYMBOLS[self.unit][1]

    def show(self, value: float) -> str:
        """`value`, which is in the base unit, with three digits in the unit of the question."""
        return f"{number(value / SYMBOLS[self.unit][0])} {self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction(_Measured):
    """A number to guess before it is explained.

    Parameters
    ----------
    answer : callable
        () -> the truth in the base unit of `unit`.
    unit : str
        Unit of the ruler and the field, a symbol of `hwlab.specs.quantities`.
    low, high : float
        Ends of the logarithmic ruler, in `unit`; whole decades apart, the truth well inside.
    reveal : str
        What the answer teaches, in MyST.
    """

    low: float
    high: float
    reveal: str

    def __post_init__(self):
        _Measured.__post_init__(self)
        if not 0 < self.low < self.high or not math.isclose(self.decades, round(self.decades)):
            raise ValueError(f"question {self.id}: the ruler from {self.low} to {self.high} is not whole decades long")

    @property
    def decades(self) -> float:
        """Length of the ruler in powers of ten."""
        return math.log10(self.high / self.low)

    def place(self, value: float) -> float:
        """Where `value`, in the base unit, lies on the ruler: 0 at `low`, 1 at `high`."""
        return math.log(value / SYMBOLS[self.unit][0] / self.low) / math.log(self.high / self.low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A wrong number that people arrive at, and what to tell them.

    Parameters
    ----------
    value : callable
        () -> the wrong result in the base unit, computed the wrong way.
    reply : str
        What went wrong, in MyST.
    """

    value: Callable[[], float]
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeric(_Measured):
    """A number to work out, with a unit.

    Parameters
    ----------
    answer, unit
        As for `Prediction`.
    label : str
        Name of the quantity, beside its field.
    hint, solution : str
        In MyST. The source of `answer` and its value are shown below the solution.
    mistakes : tuple of Mistake
        No two within tolerance of each other or of the answer.
    tolerance : float
        Largest relative error that is right.
    """

    label: str
    hint: str
    solution: str
    mistakes: tuple[Mistake, ...]
    tolerance: float = 0.02

    def judge(self, text: str) -> Checked:
        """Judge an answer as a reader writes it. A number without a unit is in `unit`, or else in the base unit."""
        try:
            value, base = read_quantity(text)
        except ValueError as refusal:
            return Checked(question=self.id, right=False, says=f"{str(refusal)[0].upper()}{str(refusal)[1:]}.")
        if base not in (None, self.base):
            return self._reply("unit", given=base, wanted=self.unit)
        truth = self.answer()

        def close(x: float) -> bool:
            return abs(x / truth - 1) <= self.tolerance

        factor = SYMBOLS[self.unit][0] if base is None else 1.0
        if close(value * factor) or (base is None and close(value)):
            return self._reply("right", right=True, answer=self.show(truth))
        value *= factor
        for mistake in self.mistakes:
            if abs(value / mistake.value() - 1) <= self.tolerance:
                return Checked(question=self.id, right=False, says=self.fill(mistake.reply))
        power = round(math.log10(value / truth))
        if power and close(value / 10.0**power):
            return self._reply("large" if power > 0 else "small", factor=number(10.0 ** abs(power)))
        return self._reply("high" if value > truth else "low")

    def _reply(self, kind: str, *, right: bool = False, **fields: str) -> Checked:
        return Checked(question=self.id, right=right, says=SAYS[kind].format(**fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One of the answers to choose from, and what to say to those who choose it (both in MyST)."""

    key: str
    text: str
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Question):
    """One right answer among several.

    Parameters
    ----------
    options : tuple of Option
        In the order shown.
    answer : callable
        () -> key of the right option.
    hint, solution : str
        In MyST.
    """

    options: tuple[Option, ...]
    answer: Callable[[], str]
    hint: str
    solution: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memo(Question):
    """A page of reasoning to write, then to hold against a rubric.

    Parameters
    ----------
    rubric : tuple of str
        What a good memo has, each a yes or no, in MyST.
    answer : callable
        () -> the number that the memo turns on, in the base unit of `unit`.
    unit : str
        Its unit.
    hint, solution : str
        In MyST; the solution is one good memo, not the only one.
    """

    rubric: tuple[str, ...]
    answer: Callable[[], float]
    unit: str
    hint: str
    solution: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A wrong program that people write, and what to tell them.

    Parameters
    ----------
    function : callable
        Takes what the reference takes.
    reply : str
        What kind of mistake it is.
    """

    function: Callable[..., float]
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(Question):
    """A function to write.

    Parameters
    ----------
    answer : callable
        The reference.
    draw : callable
        Random -> {argument: value} for one call, in the order of the reference's arguments.
    mutants : tuple of Mutant
        The mistakes it recognises.
    hint, solution : str
        In MyST.
    """

    answer: Callable[..., float]
    draw: Callable[[random.Random], Mapping[str, object]]
    mutants: tuple[Mutant, ...]
    hint: str
    solution: str

    def judge(self, attempt: Callable[..., float]) -> Checked:
        """Run `attempt` on random inputs beside the reference and the mutants."""
        generator = random.Random(self.id)
        cases = [self.draw(generator) for _ in range(NUM_CASES)]
        results = []
        for case in cases:
            call = f"{getattr(attempt, '__name__', 'your function')}({_written(case)})"
            try:
                result = attempt(*case.values())
            except Exception as error:  # whatever the reader's function raises is the reply
                return self._wrong(f"{call} raised {type(error).__name__}: {error}")
            try:
                results.append(float(result))
            except (TypeError, ValueError):
                return self._wrong(f"{call} returned {result!r}; return a number.")
        truths = [self.answer(*case.values()) for case in cases]
        wrong = [i for i in range(NUM_CASES) if not _same(results[i], truths[i])]
        if not wrong:
            return Checked(question=self.id, right=True, says=f"Right on {NUM_CASES} random inputs.")
        first = min(wrong, key=lambda i: truths[i])
        example = (
            f"For {_written(cases[first])} you return {number(results[first], 6)}; right is {number(truths[first], 6)}."
        )
        for mutant in self.mutants:
            if all(_same(results[i], mutant.function(*cases[i].values())) for i in range(NUM_CASES)):
                return self._wrong(f"{mutant.reply} {example}")
        return self._wrong(f"Wrong on {len(wrong)} of {NUM_CASES} random inputs. {example}")

    def _wrong(self, says: str) -> Checked:
        return Checked(question=self.id, right=False, says=says)


NUM_CASES = 40
"""Random inputs that a function is run on."""


def _same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9)


def _written(case: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in case.items())


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Checked:
    """The reply to an attempt: true when it is right, and shown as its sentence."""

    question: str
    right: bool
    says: str

    def __bool__(self):
        return self.right

    def __repr__(self):
        return self.says
