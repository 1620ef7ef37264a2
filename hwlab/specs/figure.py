"""A figure as its source gives it: value, unit, qualifier, source, grade, date, note and the rival figures.

Chips, memory technologies and energies per operation are all made of these. The data are TOML files under
`hwlab/specs/data`, one top-level table a thing; `Tables` parses a table when it is asked for and not before,
so that one chip costs a millisecond and not the whole catalogue.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..formula import number, si

DATA = Path(__file__).parent / "data"

GRADES = {
    "seen": "read in the source itself",
    "cross-referenced": "read in two or more places that agree, or in a faithful copy",
    "derived": "computed from figures that were read; the note says how",
    "recalled": "general knowledge, not found in print: never a headline",
    "seed-only": "stated by the conversation, essay or article on trial in this book, and nowhere else",
}


class UnknownId(KeyError):
    """No record of that id. The message names the nearest ones."""

    def __init__(self, what: str, wanted: str, known: Iterable[str]):
        from difflib import get_close_matches  # slow to import, and only an error needs it

        known, plain = list(known), str(wanted).lower().replace("_", "-").replace(" ", "-")
        near = [key for key in known if plain and plain in key][:4] or get_close_matches(plain, known, n=4, cutoff=0.5)
        hint = f"nearest: {', '.join(near)}" if near else f"there are {len(known)}, such as {', '.join(known[:4])}"
        self.message = f"no {what} {wanted!r}; {hint}"
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure was read. It prints as its citation.

    >>> print(source("nvidia-h100-datasheet"))
    H100 product page and datasheet, NVIDIA, www.nvidia.com/en-us/data-center/h100
    """

    key: str
    citation: str
    date: str
    url: str | None = None

    def __str__(self) -> str:
        return f"{self.citation}, {self.url.removeprefix('https://')}" if self.url else f"{self.citation}, {self.date}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One value and what is known about it.

    Attributes
    ----------
    value : float or str
        In plain SI: 1 TB/s is 1e12. Text for names, as a process node.
    unit : str
        "FLOP/s", "OP/s" (integers), "B/s", "B", "W", "Hz", "mm²", "USD/h", "" for a count or a name.
    qualifier : str
        What the value covers: "dense", "per direction", "usable", "fp32 accumulate" ...
    source : Source
    grade : {"seen", "cross-referenced", "derived", "recalled", "seed-only"}
        How far to trust it; `GRADES` says what each means.
    date : str
        Of the figure where it has one (a price), else of its source.
    note : str
    rivals : tuple of Figure
        Figures that disagree with this one, or hold under another condition.
    """

    value: float | str
    unit: str
    qualifier: str
    source: Source
    grade: str
    date: str
    note: str = ""
    rivals: tuple[Figure, ...] = ()

    def __post_init__(self):
        if self.grade not in GRADES:
            raise ValueError(f"grade {self.grade!r} is not one of {', '.join(GRADES)}")

    def __str__(self) -> str:
        return self.written()

    def written(self, unit: str | None = None, digits: int = 4) -> str:
        """Value and unit as people write them, or in a `unit` of their choice: "TFLOP/s", "GB", "GiB".

        Capacities that are whole MiB are written in binary units, all others in decimal ones.

        Raises
        ------
        ValueError
            If `unit` is not this figure's unit with a prefix.

        Examples
        --------
        >>> from hwlab.specs.chips import chip
        >>> print(chip("h100-sxm").figure("memory_bytes_per_s"), chip("h100-sxm").figure("memory_bytes"), sep=", ")
        3.35 TB/s, 80 GiB
        >>> chip("h100-sxm").figure("peak_flop_per_s.fp8").written("TFLOP/s")
        '1,979 TFLOP/s'
        """
        if isinstance(self.value, str):
            return self.value
        if unit is not None:
            return f"{number(self.value / _factor(unit, self.unit), digits)} {unit}"
        if self.unit == "B":
            for power, name in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
                if (
                    self.value >= 2**power
                    and self.value % 2 ** min(power, 20) == 0
                    and (power > 10 or self.value < 2**20)
                ):
                    return f"{number(self.value / 2**power, digits)} {name}"
        if self.unit in _PREFIXED:
            return si(self.value, self.unit, digits)
        if not self.unit and self.value >= 1e9:
            size, name = (1e12, "trillion") if self.value >= 1e12 else (1e9, "billion")
            return f"{number(self.value / size, digits)} {name}"
        return f"{number(self.value, max(digits, 6))} {self.unit}".strip()


_PREFIXED = ("FLOP/s", "OP/s", "B/s", "B", "bit/s", "Hz", "W", "J", "J/bit", "s")
_PREFIX = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "m": 1e-3, "µ": 1e-6, "n": 1e-9}
_PREFIX |= {"p": 1e-12, "f": 1e-15, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}


def _factor(unit: str, base: str) -> float:
    """How many `base` one `unit` is: 1e12 for "TB/s" and "B/s"."""
    prefix = unit.removesuffix(base)
    if not unit.endswith(base) or prefix not in _PREFIX:
        raise ValueError(f"{unit!r} is not {base!r} with a prefix, as {si(1e12, base).split()[1]!r} is")
    return _PREFIX[prefix]


class Tables(Mapping):
    """The top-level tables of some TOML files, each parsed on first use.

    Sub-tables (`[h100-sxm.counts]`) and inline tables belong to the top-level table above them.
    """

    _HEAD = re.compile(r"^\[([A-Za-z0-9-]+)\]$", re.MULTILINE)

    def __init__(self, what: str, paths: Iterable[Path]):
        self._what, self._text, self._parsed = what, {}, {}
        for path in paths:
            text = path.read_text(encoding="utf-8")
            heads = list(self._HEAD.finditer(text))
            for head, following in zip(heads, [*heads[1:], None], strict=True):
                name = head[1]
                if name in self._text:
                    raise ValueError(f"{path.name}: {what} {name!r} stands twice")
                self._text[name] = text[head.start() : following.start() if following else len(text)]

    def __getitem__(self, name: str) -> dict:
        if name not in self._parsed:
            if name not in self._text:
                raise UnknownId(self._what, name, self._text)
            self._parsed[name] = tomllib.loads(self._text[name])[name]
        return self._parsed[name]

    def __contains__(self, name) -> bool:
        return name in self._text

    def __iter__(self) -> Iterator[str]:
        return iter(self._text)

    def __len__(self) -> int:
        return len(self._text)


@cache
def _sources() -> Tables:
    return Tables("source", [DATA / "sources.toml"])


@cache
def source(key: str) -> Source:
    """The source of that key in `data/sources.toml`; `UnknownId` if there is none."""
    return Source(key, **_sources()[key])


def read_figure(entry: Mapping, unit: str, default: Mapping) -> Figure:
    """Figure from its TOML entry. An entry without a source takes source and grade from `default`, its record.

    An entry that names its own source must name its own grade too.
    """
    unknown = set(entry) - {"value", "qualifier", "source", "grade", "date", "note", "rivals"}
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)} in {dict(entry)}")
    if "source" in entry and "grade" not in entry:
        raise ValueError(f"a figure with a source of its own needs a grade: {dict(entry)}")
    origin = source(entry.get("source") or default["source"])
    value = entry["value"]
    return Figure(
        value=value if isinstance(value, str) else float(value),
        unit=unit,
        qualifier=entry.get("qualifier", ""),
        source=origin,
        grade=entry.get("grade") or default["grade"],
        date=entry.get("date", origin.date),
        note=entry.get("note", ""),
        rivals=tuple(read_figure(rival, unit, default) for rival in entry.get("rivals", ())),
    )
