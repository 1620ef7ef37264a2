"""How it is practised: the question, the answer by code, the known mistakes. One file a chapter.

`question` finds a question, `check` runs a reader's answer or function against it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Checked, Question


@cache
def _questions() -> dict[str, Question]:
    questions = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name in ("base", "bounds"):
            continue
        for record in import_module(f"{__name__}.{module.name}").QUESTIONS:
            if record.id in questions or not record.id.startswith(f"{module.name}-"):
                raise ValueError(f"question id {record.id!r} is used twice or does not begin with {module.name!r}-")
            questions[record.id] = record
    return questions


def questions() -> tuple[Question, ...]:
    """All questions, chapter by chapter."""
    return tuple(_questions().values())


def question(id: str) -> Question:
    """The question of that id.

    Raises
    ------
    UnknownId
        If there is none; the message names the nearest ids.

    Examples
    --------
    >>> question("matmul-bytes").title
    'the bytes of a product, as a function'
    """
    if id not in _questions():
        from hwlab.specs.figure import UnknownId

        raise UnknownId("question", id, _questions())
    return _questions()[id]


def check(id: str, attempt: str | float | Callable[..., float]) -> Checked:
    """Check an answer: your function for a code exercise, else a number or a text such as ``"134 MB"``.

    Your own function runs, on random inputs, beside the reference and beside programs with a planted mistake; when it
    is wrong like one of those, the reply says so. It is stopped when it takes more than 5 seconds or 256 MiB.

    Raises
    ------
    UnknownId
        If there is no such question.
    TypeError
        If a code exercise gets no function, or another one gets something that is not a number.

    Examples
    --------
    >>> def my_bytes(m, k, n, itemsize):
    ...     return (m * k + k * n) * itemsize
    >>> check("matmul-bytes", my_bytes)
    You left out the result: y has m × n elements, and they are written. For ...
    >>> bool(check("matmul-layer-bytes", "58.7 MB"))
    True
    """
    from .base import Code, Numeric

    asked = question(id)
    if isinstance(asked, Code):
        if not callable(attempt):
            raise TypeError(f"{id} asks for a function; you gave {attempt!r}. Give its name without parentheses")
        return asked.judge(attempt)
    if not isinstance(asked, Numeric):
        raise TypeError(f"{id} is not checked by code: answer it in the page")
    if isinstance(attempt, str):
        return asked.judge(attempt)
    try:
        if isinstance(attempt, bool):
            raise TypeError
        return asked.judge(format(float(attempt), ".15g"))
    except TypeError:
        raise TypeError(f'{id} asks for a number, or for a text like "134 MB"; you gave {attempt!r}') from None


def check_source(id: str, source: str) -> Checked:
    """Check the text of a function, which bears the name that the exercise's stub gives it. Pages do so.

    Raises
    ------
    UnknownId
        If there is no such question.
    TypeError
        If it is no code exercise.

    Examples
    --------
    >>> check_source("matmul-bytes", "def product_bytes(m, k, n, itemsize):\\n    return m * k")
    Wrong on 40 of 40 random inputs. For ...
    """
    from .base import Code

    asked = question(id)
    if not isinstance(asked, Code):
        raise TypeError(f"{id} asks for no function")
    return asked.judge_source(source)
