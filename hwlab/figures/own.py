"""A scene of the reader's own: the fields that describe it, the function that builds it, the bounds it runs within.

A machine's Python file says ``OWN = Own(build=…, fields=…)`` beside its ``frames``. In the book the page's own Python
computes the frames, in a kernel the kernel's does; both call `computed` here, so both give the same frames and refuse
with the same sentences. Pure Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

MOST_FRAMES = 5_000
"""Most frames that a scene may have: a player of a frame a tenth of a second would run for eight minutes."""

MOST_BYTES = 16_000_000
"""Most bytes that the frames of a scene may take as JSON, which is how they reach the page."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number to set by a slider.

    Parameters
    ----------
    name : str
        The keyword of `Own.build` that takes it, and its key in links.
    title : str
        Its label.
    low, high : int or float
        Ends of the slider, both included.
    start : int or float
        Where it stands at first.
    step : int or float
        Distance of two stops; `start` and `high` lie on stops.
    unit : str
        Shown behind the value.

    Raises
    ------
    ValueError
        If `start` or `high` is no stop.

    Examples
    --------
    >>> Number("n", "Columns", 1, 12, 6).read(8)
    8
    >>> Number("n", "Columns", 1, 12, 6).read(13)
    Traceback (most recent call last):
    ...
    ValueError: n is 13; give a number from 1 to 12
    """

    name: str
    title: str
    low: float
    high: float
    start: float
    step: float = 1
    unit: str = ""

    def __post_init__(self):
        if not self.low < self.high or self.step <= 0:
            raise ValueError(
                f"{self.name} goes from {self.low} to {self.high} by {self.step}; give low < high, step > 0"
            )
        for value in (self.high, self.start):
            self.read(value)

    @property
    def stops(self) -> list[float]:
        """The values that it may take."""
        return [self.low + i * self.step for i in range(round((self.high - self.low) / self.step) + 1)]

    def read(self, value: object) -> float:
        """`value` if it is a stop.

        Raises
        ------
        ValueError
            If it is none.
        """
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not self.low <= value <= self.high:
            raise ValueError(f"{self.name} is {value!r}; give a number from {self.low} to {self.high}")
        stop = self.low + round((value - self.low) / self.step) * self.step
        if abs(stop - value) > 1e-9 * self.step:
            raise ValueError(f"{self.name} is {value!r}; give a number from {self.low} to {self.high} by {self.step}")
        return stop

    def control(self) -> dict:
        """What the page makes a slider of."""
        return {"name": self.name, "title": self.title, "start": self.start, "stops": self.stops, "unit": self.unit}


@dataclass(frozen=True, slots=True)
class Pick:
    """One of several, to choose.

    Parameters
    ----------
    name, title
        As for `Number`.
    options : mapping of str to str
        Key, as `Own.build` takes it and links hold it, to label.
    start : str
        The key chosen at first.

    Raises
    ------
    ValueError
        If `start` is not among the options.

    Examples
    --------
    >>> Pick("order", "Loops", {"mnk": "m, n, k", "kmn": "k, m, n"}, "mnk").read("nkm")
    Traceback (most recent call last):
    ...
    ValueError: order is 'nkm'; choose one of mnk, kmn
    """

    name: str
    title: str
    options: Mapping[str, str]
    start: str

    def __post_init__(self):
        self.read(self.start)

    def read(self, value: object) -> str:
        """`value` if it is among the options.

        Raises
        ------
        ValueError
            If it is not.
        """
        if not isinstance(value, str) or value not in self.options:
            raise ValueError(f"{self.name} is {value!r}; choose one of {', '.join(self.options)}")
        return value

    def control(self) -> dict:
        """What the page makes a choice of."""
        return {"name": self.name, "title": self.title, "start": self.start, "options": list(self.options.items())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """How a reader describes a scene of their own.

    Parameters
    ----------
    build : callable
        ``build(**values) -> scene``, what the machine's frame function takes. It refuses with ValueError, in a
        sentence that says what would do.
    fields : sequence of `Number` and `Pick`
        One a keyword of `build`, in the order shown.

    Raises
    ------
    ValueError
        If two fields share a name, or one is called "scene" or "at", which links use themselves.

    Examples
    --------
    >>> own = Own(build=lambda n: range(n), fields=[Number("n", "Steps", 1, 9, 3)])
    >>> own.values({"n": 4}), own.start
    ({'n': 4}, {'n': 3})
    >>> own.values({"m": 4})
    Traceback (most recent call last):
    ...
    ValueError: a scene of one's own has no 'm'; it has n
    """

    build: Callable[..., object]
    fields: tuple[Number | Pick, ...]

    def __post_init__(self):
        object.__setattr__(self, "fields", tuple(self.fields))
        names = [field.name for field in self.fields]
        if len({*names, "scene", "at"}) != len(names) + 2:
            raise ValueError(f"the fields are named {', '.join(names)}; give different names, none 'scene' or 'at'")

    @property
    def start(self) -> Mapping[str, float | str]:
        """What the fields hold at first."""
        return MappingProxyType({field.name: field.start for field in self.fields}).copy()

    def values(self, given: Mapping[str, object]) -> dict[str, float | str]:
        """`given`, with what it leaves out as at the start, each value one that its field may take.

        Raises
        ------
        ValueError
            If a name is not a field's, or a value is none of the field's.
        """
        fields = {field.name: field for field in self.fields}
        for name in given:
            if name not in fields:
                raise ValueError(f"a scene of one's own has no {name!r}; it has {', '.join(fields)}")
        return {name: field.read(given.get(name, field.start)) for name, field in fields.items()}


def computed(frames: Callable[[object], Iterable[dict]], own: Own, given: Mapping[str, object]) -> Iterator[dict]:
    """The frames of a scene of the reader's own, as they come.

    Parameters
    ----------
    frames : callable
        The machine's frame function.
    own : Own
        Its fields and how to build a scene of them.
    given : mapping
        The reader's values by name of field.

    Raises
    ------
    ValueError
        If a value or the scene is refused, or there are more than `MOST_FRAMES` frames or `MOST_BYTES` bytes of them.

    Examples
    --------
    >>> from hwlab.figures import blocked_matmul
    >>> found = list(computed(blocked_matmul.frames, blocked_matmul.OWN, {"m": 4, "k": 4, "n": 4}))
    >>> found[-1]["flop"]
    128
    """
    size = 0
    for count, frame in enumerate(frames(own.build(**own.values(given))), start=1):
        size += len(json.dumps(frame, allow_nan=False))
        if count > MOST_FRAMES or size > MOST_BYTES:
            what = f"{MOST_FRAMES:,} frames" if count > MOST_FRAMES else f"{MOST_BYTES / 1e6:g} MB of frames"
            raise ValueError(f"this scene has more than {what}, and no more are shown; choose a smaller one")
        yield frame
