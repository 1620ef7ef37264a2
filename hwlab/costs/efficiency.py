"""How far real machines stay behind the roofline: a few named constants a kind of chip, each with its source.

The constants stand in `specs/data/efficiency.toml`, a table to be read: `efficiency_of(chip)` picks the row of
a chip's kind. They come from measured kernels. `band_of(chip, phase)` says how measured whole models, which
had no part in the constants, lie about the predictions made with them. Where nothing was measured the row is
missing: then the roofline itself is all there is, and no band is claimed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from types import MappingProxyType

from hwlab.specs.figure import DATA, Figure, read_figure, source
from hwlab.units import BITS

_UNITS = {"collective_start_s": "s", "collective_hop_s": "s", "layer_s": "s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """Shares of a chip's published rates that it sustains, and the times that no rate explains.

    Attributes
    ----------
    compute, compute_narrow : float
        Share of the dense peak in large matrix products, at 16 bits or more an element and below.
    memory : float
        Share of the datasheet bandwidth when reading weights and cache.
    link : float
        Share of the links' rate in large all-reduces.
    collective_start_s, collective_hop_s : float
        Seconds an all-reduce takes to start, and for each step of its ring.
    layer_s : float
        Seconds a layer that neither arithmetic nor memory explains: launches, small kernels, gaps.
    usable_memory : float
        Share of the chip's memory that an engine gives to weights and cache.
    figures : mapping of str to Figure
        Value, source, grade and note of each of the above; empty for the roofline.

    Raises
    ------
    ValueError
        If a share is not above 0 and at most 1, or a time is negative.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> e = efficiency_of(chip("h100-sxm"))
    >>> e.memory, e.figures["memory"].grade
    (0.785, 'derived')
    """

    compute: float = 1.0
    compute_narrow: float = 1.0
    memory: float = 1.0
    link: float = 1.0
    collective_start_s: float = 0.0
    collective_hop_s: float = 0.0
    layer_s: float = 0.0
    usable_memory: float = 1.0
    figures: Mapping[str, Figure] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self):
        for name in CONSTANTS:
            value = getattr(self, name)
            if name in _UNITS:
                if not 0 <= value < 1:
                    raise ValueError(f"{name} is {value!r}; give seconds, 0 or a few microseconds")
            elif not 0 < value <= 1:
                raise ValueError(f"{name} is {value!r}; give a share above 0 and at most 1")
        object.__setattr__(self, "figures", MappingProxyType(dict(self.figures)))

    def compute_at(self, dtype: str) -> float:
        """Share of the dense peak for arithmetic at `dtype`."""
        return self.compute if BITS[dtype] >= 16 else self.compute_narrow


CONSTANTS = tuple(f.name for f in fields(Efficiency) if f.name != "figures")

IDEAL = Efficiency()
"""The roofline: every rate in full, nothing else takes time, all memory is usable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Where measured times lie about predicted ones: 80 % of the cases between `low` and `high` times the prediction.

    Attributes
    ----------
    low, median, high : float
        10th percentile, median and 90th percentile of measured time over predicted time.
    cases : int
    basis : str
        Which measurements, on what.
    sources : tuple of str
    """

    low: float
    median: float
    high: float
    cases: int
    basis: str
    sources: tuple[str, ...]


@cache
def _table() -> dict:
    return tomllib.loads((DATA / "efficiency.toml").read_text(encoding="utf-8"))


@cache
def _of_kind(kind: str) -> Efficiency:
    row = _table().get(kind, {}).get("constants", {})
    figures = {name: read_figure(entry, _UNITS.get(name, ""), {}) for name, entry in row.items()}
    return Efficiency(**{name: f.value for name, f in figures.items()}, figures=figures) if figures else IDEAL


def efficiency_of(chip) -> Efficiency:
    """The constants of a chip's kind, or `IDEAL` where none were measured.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> efficiency_of(chip("wse-3")) is IDEAL  # nobody has published kernels timed on it
    True
    """
    return _of_kind(chip.kind)


@cache
def band_of(chip_kind: str, phase: str) -> Band | None:
    """How measured whole models lie about predictions with the default constants; None where none was compared.

    Parameters
    ----------
    chip_kind : str
        `Chip.kind`.
    phase : {"prefill", "decode"}
    """
    row = _table().get(chip_kind, {}).get("band", {}).get(phase)
    if row is None:
        return None
    return Band(**{**row, "sources": tuple(str(source(key)) for key in row["sources"])})
