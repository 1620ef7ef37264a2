"""What a page of the book asks of Python: the entry points, and the calls that reach them.

The page runs the real package in a worker of the browser. It calls the functions named in `ENTRIES` with keyword
arguments that are plain data, and gets plain data back: all crosses as JSON. The same functions run, and are tested, in
any other Python.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from importlib import import_module

ENTRIES = ("frames",)
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
