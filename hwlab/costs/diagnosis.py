"""Why a load took an engine longer than it could: told from the log of its steps alone.

The time of a run is its steps times the seconds of a step, and each of the two is lost in ways that the log can tell
apart. A step has `max_batch` *places*. One that no sequence filled was idle (a static batch held it for an answer that
had ended), short of blocks (requests waited, and none was being read), behind a prompt that was being read, or nobody
asked for it. And steps that need longer than those of an earlier log, at the same work, pay for starts of kernels or,
on more devices, for what these exchange.

Each loss is given as a *factor*: how many times longer the run took for it, all else equal. The cause is the largest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from statistics import median

from hwlab.costs.utilization import check_recorded
from hwlab.formula import whole

CAUSES = ("static batch", "cache pressure", "few requests", "launches", "exchange")
_COUNTS = (
    "prefill_tokens",
    "prefill_sequences",
    "recomputed_tokens",
    "decode_sequences",
    "idle",
    "waiting",
    "preempted",
)
_NEEDED = ("seconds", "compiled", *_COUNTS, "devices")
LEAST = 1.25
"""A factor below this is no cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a log says of its run.

    Attributes
    ----------
    steps : int
    used, idle, short, queued, unasked : float
        Shares of all places, `max_batch` a step, that add up to 1: those with a sequence; those that a static batch
        held for an answer that had ended; those for which requests waited while none was being read, so that only
        blocks can have been missing; those for which requests waited while others were being read; the rest.
    preempted : int
        How often a sequence lost its blocks.
    recomputed : float
        Share of the tokens computed that had been computed before.
    longer : float or None
        Median step that only writes, over that of the other log; None without one.
    devices : float
        Devices, over those of the other log.
    """

    steps: int
    used: float
    idle: float
    short: float
    queued: float
    unasked: float
    preempted: int
    recomputed: float
    longer: float | None
    devices: float

    @property
    def factors(self) -> Mapping[str, float]:
        """By cause, how many times longer the run took for it."""
        longer = 1.0 if self.longer is None else self.longer
        shared = self.devices > 1
        return {
            "static batch": 1 + self.idle / self.used,
            "cache pressure": (1 + self.short / self.used) / (1 - self.recomputed) if self.recomputed < 1 else inf,
            "few requests": 1 + self.unasked / self.used,
            "launches": 1.0 if shared else longer,
            "exchange": longer * self.devices if shared else 1.0,
        }

    @property
    def cause(self) -> str | None:
        """The largest factor's, of `CAUSES`; None where none reaches `LEAST`."""
        factors = self.factors
        worst = max(CAUSES, key=factors.__getitem__)
        return worst if factors[worst] >= LEAST else None


def diagnose(log: Iterable, *, max_batch: int, than: Iterable | None = None) -> Diagnosis:
    """Read the log of a run, if need be beside the log of a run that was well.

    Parameters
    ----------
    log : iterable of records
        Of steps: `hwlab.serving.StepRecord`, or your own with its attributes ``seconds``, ``compiled``,
        ``prefill_tokens``, ``prefill_sequences``, ``recomputed_tokens``, ``decode_sequences``, ``idle``, ``waiting``,
        ``preempted`` and ``devices``.
    max_batch : int
        Most sequences that the engine lets into a step.
    than : iterable of records, optional
        The same engine's log when it was well, with about as many sequences in a step. Without it nothing is said of
        the length of the steps.

    Returns
    -------
    Diagnosis

    Raises
    ------
    TypeError, ValueError
        If `max_batch` is not a whole number of at least 1, or less than a step has; if a record lacks an attribute or
        has a number that cannot be; if a log is empty or has no step to compare, one that only writes and compiled
        nothing.

    Notes
    -----
    Counts come from all steps, times from those that compiled nothing. `factors` are upper bounds where they meet: a
    run may lose places and time at once.

    Examples
    --------
    Four places; three of them wait for the longest answer of a static batch:

    >>> from types import SimpleNamespace as Step
    >>> usual = dict(compiled=False, prefill_tokens=0, prefill_sequences=0, recomputed_tokens=0, waiting=5, preempted=0)
    >>> step = Step(seconds=0.01, decode_sequences=1, idle=3, devices=1, **usual)
    >>> found = diagnose([step] * 9, max_batch=4)
    >>> found.cause, found.factors["static batch"], found.idle
    ('static batch', 4.0, 0.75)
    """
    max_batch, log = whole(max_batch=max_batch), _checked(log, "the log")
    idle = short = queued = unasked = 0
    for step in log:
        rows = step.decode_sequences + step.prefill_sequences + step.idle
        free = max_batch - rows
        if free < 0:
            raise ValueError(f"max_batch is {max_batch} and a step of the log has {rows} rows; give the engine's own")
        idle += step.idle
        if not step.waiting:
            unasked += free
        elif step.prefill_tokens:
            queued += free
        else:
            short += free
    places = max_batch * len(log)
    used = places - idle - short - queued - unasked
    if not used:
        raise ValueError("no step of the log has a sequence in it; there is nothing to diagnose")
    computed = max(1, sum(step.prefill_tokens + step.decode_sequences for step in log))
    longer, devices = None, 1.0
    if than is not None:
        than = _checked(than, "than")
        longer = _writing(log, "the log") / _writing(than, "than")
        devices = log[0].devices / than[0].devices
    return Diagnosis(
        steps=len(log),
        used=used / places,
        idle=idle / places,
        short=short / places,
        queued=queued / places,
        unasked=unasked / places,
        preempted=sum(step.preempted for step in log),
        recomputed=sum(step.recomputed_tokens for step in log) / computed,
        longer=longer,
        devices=devices,
    )


def _checked(log, name) -> list:
    """The records of a log, if they have what is read of them."""
    log = list(log)
    if not log:
        raise ValueError(f"{name} is empty; give one step or more")
    for at, step in enumerate(log):
        if missing := [attribute for attribute in _NEEDED if not hasattr(step, attribute)]:
            raise TypeError(f"record {at} of {name} is a {type(step).__name__} without {', '.join(missing)}")
        for attribute in ("seconds", *_COUNTS):
            check_recorded(at, attribute, getattr(step, attribute), name)
        whole(devices=step.devices)
        if step.recomputed_tokens > step.prefill_tokens:
            raise ValueError(
                f"record {at} of {name}: recomputed_tokens is {step.recomputed_tokens} and prefill_tokens "
                f"{step.prefill_tokens}; those computed again are among those computed"
            )
    return log


def _writing(log, name) -> float:
    """Median seconds of the steps that only write."""
    seconds = [step.seconds for step in log if not step.compiled and not step.prefill_tokens and step.decode_sequences]
    if not seconds:
        raise ValueError(f"{name} has no step that only writes and compiled nothing; run the load once more")
    return median(seconds)
