"""What a page of the book asks of Python: the entry points, and the calls that reach them.

The page runs the real package in a worker of the browser. It calls the functions named in `ENTRIES` with keyword
arguments that are plain data, and gets plain data back: all crosses as JSON. The same functions run, and are tested, in
any other Python.
"""

from __future__ import annotations

import ast
import io
import json
import linecache
import re
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module

ENTRIES = ("check", "frames", "run")
"""What a page may call."""


def frames(module: str, values: Mapping[str, object]) -> Iterator[dict]:
    """Frames of a scene of the reader's own, as they come.

    Parameters
    ----------
    module : str
        A machine's file in `hwlab.figures`.
    values : mapping
        What the reader has set, by name of field.

    Raises
    ------
    ValueError
        If there is no such machine; else as `hwlab.figures.own.computed`.

    Examples
    --------
    >>> last = list(frames("blocked_matmul", {"m": 4, "k": 4, "n": 4, "block_m": 2, "block_k": 2, "block_n": 2}))[-1]
    >>> last["bytes"]
    320
    """
    from hwlab.figures.own import computed

    machine = None
    if re.fullmatch(r"[a-z]\w*", module):
        try:
            machine = import_module(f"hwlab.figures.{module}")
        except ModuleNotFoundError as missing:
            if missing.name != f"hwlab.figures.{module}":
                raise
    if not hasattr(machine, "OWN"):
        raise ValueError(f"hwlab.figures.{module} is no machine that takes a scene of the reader's own")
    yield from computed(machine.frames, machine.OWN, values)


MOST_PRINTED = 20_000
"""Characters of printed text that a page takes from one call."""


class _Printed(io.StringIO):
    """Keeps what is printed, up to a limit: a loop that prints for ever shall not fill the page."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, MOST_PRINTED - self.tell())])
        return len(text)


def check(id: str, source: str) -> dict:
    """Judge the text of a reader's function.

    Returns
    -------
    dict
        ``right``, what it ``says`` and what the function ``printed``.

    Raises
    ------
    UnknownId, TypeError
        As `hwlab.exercises.check_source`.

    Examples
    --------
    >>> check("matmul-bytes", "def product_bytes(m, k, n, itemsize): return m * n")["right"]
    False
    """
    from hwlab.exercises import check_source

    with redirect_stdout(_Printed()) as printed, redirect_stderr(printed):
        found = check_source(id, source)
    return {"right": found.right, "says": found.says, "printed": printed.getvalue()}


def run(cells: Sequence[str]) -> dict:
    """Run cells one after another in a namespace of their own, and give the output of the last one.

    Returns
    -------
    dict
        ``printed`` text; the last expression's value as ``text`` and, where it has one, as ``html``, else None; and
        ``error``, a traceback, or None. ``cell`` is the number of the last cell that ran, the one with any error.

    Examples
    --------
    >>> run(["a = 20", "print(a)\\na + 1"])
    {'printed': '20\\n', 'text': '21', 'html': None, 'error': None, 'cell': 2}
    >>> print(run(["1 / 0", "2"])["error"])
    Traceback (most recent call last):
      File "<cell 1>", line 1, in <module>
        1 / 0
    ...
    ZeroDivisionError: division by zero
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    shown = {"printed": "", "text": None, "html": None, "error": None, "cell": 0}
    for number, source in enumerate(cells, 1):
        shown |= {"text": None, "html": None, "cell": number}
        with redirect_stdout(_Printed()) as printed, redirect_stderr(printed):
            try:
                value = _run_cell(source, f"<cell {number}>", namespace)
                if value is not None:
                    shown |= {"text": repr(value), "html": _html(value)}
            except BaseException as error:  # whatever the reader's code raises, the page shows
                shown["error"] = _traceback(error)
        shown["printed"] = printed.getvalue()
        if shown["error"]:
            break
    return shown


def _run_cell(source: str, file: str, namespace: dict[str, object]) -> object:
    """Run one cell; the value of its last line where that is an expression, as a notebook shows it."""
    linecache.cache[file] = (len(source), None, [f"{line}\n" for line in source.splitlines()], file)
    body = ast.parse(source, file).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), file, "exec", dont_inherit=True), namespace)
    return last and eval(compile(ast.Expression(last.value), file, "eval", dont_inherit=True), namespace)


def _html(value: object) -> str | None:
    html = getattr(value, "_repr_html_", None)
    return html() if html and not isinstance(value, type) else None


def _traceback(error: BaseException) -> str:
    """The traceback from the reader's own code on."""
    frames = error.__traceback__
    while frames and not frames.tb_frame.f_code.co_filename.startswith("<cell "):
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


class Call:
    """One call from a page, carried out in slices, so that between them the page can be told and can call it off.

    Parameters
    ----------
    entry : str
        One of `ENTRIES`.
    arguments : str
        Its keyword arguments, as a JSON object.

    Examples
    --------
    >>> call = Call("frames", '{"module": "blocked_matmul", "values": {"m": 99}}')
    >>> call.advance(0.05)
    '{"error": {"type": "ValueError", "says": "m is 99; give a number from 1 to 12"}}'
    """

    def __init__(self, entry: str, arguments: str):
        self._steps = self._run(entry, arguments)
        self.done = False

    def _run(self, entry, arguments):
        if entry not in ENTRIES:
            raise ValueError(f"a page cannot call {entry!r}; it can call {', '.join(ENTRIES)}")
        answer = globals()[entry](**json.loads(arguments))
        if isinstance(answer, Iterator):
            yield from answer
            return {}
        return {"value": answer}

    def advance(self, seconds: float) -> str:
        """Go on for about `seconds`, longer only if one item takes longer.

        Returns
        -------
        str
            A JSON object: ``items`` that came in this slice, and at the end ``done`` and, from a function that is no
            generator, its ``value``; or ``error``, with its ``type`` and what it ``says``.
        """
        try:
            return json.dumps(self._slice(time.monotonic() + seconds), allow_nan=False)
        except Exception as error:  # whatever it is, the page says it to the reader
            self.done = True
            says = error.args[0] if isinstance(error, KeyError) and error.args else error
            return json.dumps({"error": {"type": type(error).__name__, "says": str(says)}})

    def _slice(self, end: float) -> dict:
        items = []
        while True:
            try:
                items.append(next(self._steps))
            except StopIteration as end_of_it:
                self.done = True
                return {"items": items, "done": True} | end_of_it.value
            if time.monotonic() >= end:
                return {"items": items}

    def close(self) -> None:
        """End it, finished or not."""
        self._steps.close()
