"""A reader's own code, run within bounds: what loops for ever or takes memory without end is stopped.

It needs no second process and no signal, so that it works in a notebook, in a thread, on Windows and in a browser.
"""

from __future__ import annotations

import linecache
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from hwlab.formula import number
from hwlab.units import MiB

SECONDS = 5.0
"""Time that a reader's code may take."""

MOST_BYTES = 256 * MiB
"""Memory that it may hold."""


class Stopped(BaseException):
    """Why code was stopped. It is no `Exception`, so that an ``except Exception`` in that code does not hide it."""


@contextmanager
def bounded(seconds: float = SECONDS, most_bytes: float = MOST_BYTES) -> Iterator[None]:
    """Stop what is called inside, on this thread, when it has run for too long or holds too much.

    Before each of its instructions comes a look at the clock and at the memory taken since the beginning. A single
    instruction that never ends, such as ``sum(itertools.count())``, is not stopped. Under a debugger there are no
    bounds: a person who steps through the code takes minutes.

    Raises
    ------
    Stopped
        In that code, at the line that it had reached.

    Examples
    --------
    >>> def forever():
    ...     while True:
    ...         pass
    >>> with bounded(seconds=0.1):
    ...     forever()
    Traceback (most recent call last):
    ...
    hwlab.exercises.bounds.Stopped: was still running after 0.1 seconds
    """
    import tracemalloc  # not at the top: only whoever runs code needs it

    if _debugged():
        yield
        return
    counted_already = tracemalloc.is_tracing()
    if not counted_already:
        tracemalloc.start()
    clock, held = time.monotonic, tracemalloc.get_traced_memory
    deadline, most = clock() + seconds, held()[0] + most_bytes

    def look(frame, event, argument):
        frame.f_trace_opcodes = True  # a loop on one line has no second line
        if clock() > deadline:
            raise Stopped(f"was still running after {number(seconds)} seconds")
        if held()[0] > most:
            raise Stopped(f"took more than {number(most_bytes / MiB)} MiB of memory")
        return look

    try:
        with _no_huge_request(8 * most_bytes):
            sys._getframe().f_trace_opcodes = True  # Python 3.12 counts instructions only where settrace finds this
            sys.settrace(look)
            try:
                yield
            finally:
                if sys.gettrace() is look:  # else a debugger that the code has called holds it now
                    sys.settrace(None)
    finally:
        if not counted_already:
            tracemalloc.stop()


def _debugged() -> bool:
    """Whether something else follows the lines of this thread."""
    monitoring = getattr(sys, "monitoring", None)  # Python 3.12 and newer
    return sys.gettrace() is not None or bool(monitoring and monitoring.get_tool(monitoring.DEBUGGER_ID))


@contextmanager
def _no_huge_request(most_bytes: float) -> Iterator[None]:
    """Make one request for far more memory fail, where Linux would grant it and kill the process later."""
    try:
        import resource

        present = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):  # elsewhere such a request fails by itself
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limits = [int(present + most_bytes), *(limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def place(traceback: TracebackType | None, file: str | None) -> str:
    """Where in `file` an error arose: ", in line 3: `return m / 0`"; empty if it arose elsewhere.

    `file` is the name that the code was compiled under, as in ``function.__code__.co_filename``.
    """
    line = None
    while traceback:
        if traceback.tb_frame.f_code.co_filename == file:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    if line is None:
        return ""
    text = linecache.getline(file, line).strip()
    return f", in line {line}: `{text}`" if text else f", in line {line}"
