"""What a question is: its answer by code, its known mistakes, and what it replies.

The prompt of a question stands in the page that asks it; all that follows from the answer stands here. No answer is
typed: it is a function that calls `hwlab`, and so is each mistake that the question knows. In a text, ``{{name}}``
stands for ``facts()["name"]``, so that numbers in prompts, hints, replies and solutions are computed too.
"""

from __future__ import annotations

import copy
import inspect
import linecache
import math
import numbers
import random
import re
import reprlib
import textwrap
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hwlab.formula import number
from hwlab.specs.quantities import BASES, SYMBOLS, read_quantity, written

from .bounds import Stopped, bounded, place

SAYS = MappingProxyType(
    {
        "right": "Right: {answer}.",
        "high": "Too high.",
        "low": "Too low.",
        "large": "Right digits, but {factor} times too large.",
        "small": "Right digits, but {factor} times too small.",
        "unit": "You gave {given}; this asks for {wanted}.",
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
        return written(number(value / SYMBOLS[self.unit][0]), self.unit)


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
            return self._reply("unit", given=BASES[base], wanted=self.unit)
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

    @property
    def name(self) -> str:
        """What the function is called."""
        return self.answer.__name__

    @property
    def stub(self) -> str:
        """The beginning of the function, to be completed."""
        signature = inspect.signature(self.answer)
        words = textwrap.indent(inspect.getdoc(self.answer), "    ").lstrip()
        return f'def {self.name}{signature}:\n    """{words}"""\n    return ...\n'

    def cases(self) -> list[dict[str, object]]:
        """The random inputs: the same ones each time, so that a reply can be compared with the one before."""
        generator = random.Random(self.id)
        return [dict(self.draw(generator)) for _ in range(NUM_CASES)]

    def judge(self, attempt: Callable[..., float]) -> Checked:
        """Run `attempt` on random inputs beside the reference and the mutants."""
        cases = self.cases()
        if refusal := _refuses_call(attempt, cases[0]):
            return self._wrong(f"{_named(attempt)} {refusal}")
        file = getattr(getattr(inspect.unwrap(attempt), "__code__", None), "co_filename", None)
        own = copy.deepcopy(cases)  # which it may change
        results = []
        try:
            with bounded():
                for case, values in zip(cases, own, strict=True):
                    refusal, value = _as_number(attempt(*values.values()))
                    if refusal:
                        return self._wrong(f"{_named(attempt, case)} returned {refusal}.")
                    results.append(value)
        except Stopped as stopped:
            return self._wrong(f"{_named(attempt, case)} {stopped}{place(stopped.__traceback__, file)}.")
        except (Exception, SystemExit) as error:  # whatever the reader's function raises is the reply
            return self._wrong(f"{_named(attempt, case)} raised {_told(error)}{place(error.__traceback__, file)}.")
        truths = [self.answer(**case) for case in cases]
        wrong = [i for i in range(NUM_CASES) if not _same(results[i], truths[i])]
        if not wrong:
            return Checked(question=self.id, right=True, says=f"Right on {NUM_CASES} random inputs.")
        first = min(wrong, key=lambda i: truths[i])
        example = (
            f"For {_written(cases[first])} you return {number(results[first], 6)}; right is {number(truths[first], 6)}."
        )
        for mutant in self.mutants:
            if all(_same(results[i], mutant.function(**cases[i])) for i in range(NUM_CASES)):
                return self._wrong(f"{mutant.reply} {example}")
        return self._wrong(f"Wrong on {len(wrong)} of {NUM_CASES} random inputs. {example}")

    def judge_source(self, source: str) -> Checked:
        """Run `source`, which defines the function under the reference's name, and judge that function.

        Raises
        ------
        KeyboardInterrupt
            If the person stops it.
        """
        file = f"<{self.id}>"
        linecache.cache[file] = (len(source), None, [f"{line}\n" for line in source.splitlines()], file)
        namespace: dict[str, object] = {"__name__": "__main__"}
        try:
            code = compile(source, file, "exec", dont_inherit=True)
            with bounded():
                exec(code, namespace)
        except SyntaxError as error:
            line = (error.text or "").strip()
            return self._wrong(f"Line {error.lineno} is no Python: {error.msg}{f', in `{line}`' if line else ''}.")
        except Stopped as stopped:
            return self._wrong(f"The code {stopped}{place(stopped.__traceback__, file)}.")
        except (Exception, SystemExit) as error:
            return self._wrong(f"The code raised {_told(error)}{place(error.__traceback__, file)}.")
        if not callable(namespace.get(self.name)):
            return self._wrong(f"There is no function called {self.name}: begin it with `def {self.name}(`.")
        return self.judge(namespace[self.name])

    def _wrong(self, says: str) -> Checked:
        return Checked(question=self.id, right=False, says=says)


NUM_CASES = 40
"""Random inputs that a function is run on."""


def _named(attempt: Callable[..., float], case: Mapping[str, object] | None = None) -> str:
    """The function, or the call of it, in a sentence."""
    name = getattr(attempt, "__name__", "")
    if not name.isidentifier():
        return "Your function" + (f" with {_written(case)}" if case else "")
    return name + (f"({_written(case)})" if case else "")


def _told(error: BaseException) -> str:
    """An exception's type and what it says."""
    return textwrap.shorten(traceback.format_exception_only(error)[-1], 200)


def _refuses_call(attempt: Callable[..., float], case: Mapping[str, object]) -> str:
    """Why `attempt` cannot be called with such a case; empty if it can."""
    try:
        signature = inspect.signature(attempt)
    except (TypeError, ValueError):  # built in: the call will tell
        return ""
    try:
        signature.bind(*case.values())
    except TypeError:
        return f"takes {signature}; it is called with {len(case)} values: {', '.join(case)}, in this order."
    return ""


def _as_number(result: object) -> tuple[str, float]:
    """What is wrong with a result, or nothing, and the result as a number."""
    if not isinstance(result, type) and getattr(result, "ndim", None) == 0:
        result = result.item()  # NumPy's and JAX's scalars
    shown = reprlib.repr(result)
    if result is None:
        return "None: end it with `return` and the number", math.nan
    if isinstance(result, (str, bytes)):
        return f"the text {shown}; return a number, without quotes", math.nan
    if isinstance(result, bool):
        return f"{shown}; return a number, not true or false", math.nan
    if isinstance(result, numbers.Complex) and not isinstance(result, numbers.Real):
        return f"{shown}, a complex number; return a real one", math.nan
    if getattr(result, "ndim", 0):
        return f"an array of shape {result.shape}; return one number", math.nan
    try:
        value = float(result)
    except (TypeError, ValueError):
        return f"{shown}, of type {type(result).__name__}; return a number", math.nan
    except OverflowError:
        return "an integer of more than 300 digits", math.nan
    return ("" if math.isfinite(value) else f"{value}; return a finite number"), value


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
