"""Chips and systems: their peaks, memories, links, power, area and price, each figure with its source.

`chip("h100-sxm")` is one record, `chips(kind="tpu")` some, `chips_frame()` all as a table. The data are in
`data/chips/*.toml`. What a vendor has not published is None here, and stays visible as such.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from .figure import DATA, Figure, Tables, read_figure

KINDS = ("cpu", "gpu", "tpu", "lpu", "wafer", "asic", "system")

# Unit of each field a record may have. A field that ends in a dot is a family: "sram_bytes.l2".
UNITS = {
    "peak_flop_per_s.": "FLOP/s",  # dense, by dtype
    "sparse_peak_flop_per_s.": "FLOP/s",  # structured sparsity or compression: a headline, never used to compute
    "system_flop_per_s.": "FLOP/s",  # dense, a whole pod
    "memory_bytes": "B",  # the memory that holds the weights
    "memory_bytes_per_s": "B/s",
    "memory_bus_bits": "bit",
    "memory_bits_per_s_per_pin": "bit/s",
    "offload_memory_bytes": "B",  # the larger, slower memory behind it
    "offload_memory_bytes_per_s": "B/s",
    "system_memory_bytes": "B",
    "sram_bytes.": "B",  # by level, summed over the package
    "sram_bytes_per_s.": "B/s",
    "sram_bytes_per_core": "B",
    "link_bytes_per_s": "B/s",  # scale-up fabric, per direction, all links of one chip
    "link_peers": "",  # among which it is divided evenly
    "host_link_bytes_per_s": "B/s",  # to the chip's own host, per direction: not a fabric between chips
    "bridge_bytes_per_s": "B/s",  # a bridge between two cards, per direction
    "fabric_bits_per_s": "bit/s",
    "tdp_watts": "W",
    "measured_watts.": "W",
    "system_watts": "W",  # of the whole pod or rack, hosts and network with it
    "clock_hz": "Hz",  # the one at which the peaks are stated
    "base_clock_hz": "Hz",
    "boost_clock_hz": "Hz",
    "all_core_clock_hz": "Hz",
    "process_node": "",
    "availability": "",
    "die_area_mm2": "mm²",
    "core_area_mm2": "mm²",
    "transistors": "",
    "defects_per_mm2": "1/mm²",
    "usd_per_hour": "USD/h",
    "chips_per_system": "",
    "scale_up_chips": "",  # that the fabric of link_bytes_per_s joins; "chips_per_system" where it joins the system
    "counts.": "",
    "design_months": "months",
}

# Bounds that a figure in plain SI cannot leave; outside them a prefix was forgotten or counted twice.
_BOUNDS = {
    "memory_bytes_per_s": (1e9, 1e17, "bytes/s (3.35e12), not TB/s (3.35)"),
    "memory_bytes": (1e6, 1e16, "bytes (80e9), not GB (80)"),
    "link_bytes_per_s": (1e8, 1e16, "bytes/s (450e9), not GB/s (450)"),
    "tdp_watts": (1, 1e6, "watts"),
    "die_area_mm2": (1, 1e5, "square millimetres"),
    "transistors": (1e8, 1e14, "a count (80e9), not billions (80)"),
    "clock_hz": (1e8, 1e10, "hertz (1.83e9), not GHz (1.83)"),
    "usd_per_hour": (1e-3, 1e4, "dollars an hour"),
    "chips_per_system": (1, 1e6, "a count"),
    "link_peers": (1, 1e4, "a count"),
    "scale_up_chips": (1, 1e6, "a count"),
}
_FAMILY_BOUNDS = {
    "peak_flop_per_s": (1e9, 1e19, "FLOP/s (989e12), not TFLOP/s (989)"),
    "sram_bytes": (1e3, 1e12, "bytes (50e6), not MB (50)"),
    "counts": (1, 1e7, "a count"),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chip:
    """One accelerator or CPU package, or a system of them. Plain SI: 1 TB/s is 1e12 bytes/s.

    Attributes
    ----------
    id, name, vendor : str
    kind : {"cpu", "gpu", "tpu", "lpu", "wafer", "asic", "system"}
    year : int
    peak_flop_per_s : mapping of dtype to float
        Dense peaks of matrix products. "fp32" is the vector rate unless the qualifier says matrix. GeForce cards
        are given with fp32 accumulation; their doubled fp16-accumulate rate is a rival figure.
    memory_bytes_per_s, memory_bytes, memory_kind
        The memory that holds the weights: HBM on a GPU, SRAM on a Groq LPU or a wafer.
    sram_bytes : mapping of level to float
        Caches and scratchpads, summed over the package: "l2", "l1", "vmem", "on_chip" ...
    link_bytes_per_s, link_name
        Scale-up fabric, per direction, all links of the chip together.
    link_peers
        Among how many chips that rate is divided: 7 in a mesh of 8 with one link a pair, 1 where all of it reaches any.
    scale_up_chips
        How many chips that fabric joins: a board of 8, a rack of 72, a pod.
    tdp_watts, die_area_mm2, transistors, process_node, clock_hz, usd_per_hour, chips_per_system
        None where nothing is published.
    counts : mapping of str to int
        "sms", "tensor_cores", "mxu_rows", "cores" ...
    figures : mapping of field to Figure
        Every figure with its source, those without an attribute too: "peak_flop_per_s.bf16", "measured_watts.mean".

    Raises
    ------
    ValueError
        If a value is outside what its unit allows: a prefix was forgotten.

    Examples
    --------
    >>> h100 = chip("h100-sxm")
    >>> h100.peak_flop_per_s["bf16"], h100.memory_bytes_per_s
    (989400000000000.0, 3350000000000.0)
    >>> h100.figure("sparse_peak_flop_per_s.bf16").value  # the headline, with half the products skipped
    1979000000000000.0
    """

    id: str
    name: str
    vendor: str
    kind: str
    year: int
    peak_flop_per_s: Mapping[str, float]
    memory_bytes_per_s: float | None = None
    memory_bytes: float | None = None
    memory_kind: str | None = None
    sram_bytes: Mapping[str, float] = field(default_factory=dict)
    link_bytes_per_s: float | None = None
    link_name: str | None = None
    link_peers: int = 1
    tdp_watts: float | None = None
    die_area_mm2: float | None = None
    transistors: float | None = None
    process_node: str | None = None
    clock_hz: float | None = None
    usd_per_hour: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    chips_per_system: int | None = None
    scale_up_chips: int | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict, repr=False)

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"{self.id}: kind {self.kind!r} is not one of {', '.join(KINDS)}")
        for name, bounds in _BOUNDS.items():
            value = getattr(self, name)
            if value is not None:
                self._check(name, value, bounds)
        for family, bounds in _FAMILY_BOUNDS.items():
            values = getattr(self, family)
            for key, value in values.items():
                self._check(f"{family}[{key!r}]", value, bounds)
            object.__setattr__(self, family, MappingProxyType(dict(values)))
        object.__setattr__(
            self, "figures", MappingProxyType({k: f for k, f in self.figures.items() if self._holds(k, f)})
        )

    def _holds(self, field, figure):
        """Whether a figure is of the value in the record: `dataclasses.replace` leaves it behind."""
        family, _, key = field.partition(".")
        if not hasattr(self, family):
            return True
        value = getattr(self, family)
        return (value.get(key) if key else value) == figure.value

    def _check(self, name, value, bounds):
        low, high, expected = bounds
        if not low <= value <= high:
            raise ValueError(f"{self.id}: {name} is {value:g}, outside {low:g} to {high:g}; give {expected}")

    def peak(self, dtype: str) -> float:
        """Dense peak for `dtype` in FLOP/s.

        Raises
        ------
        ValueError
            If none is published; the message names those that are.

        Examples
        --------
        >>> chip("a100-sxm-80gb").peak("fp8")
        Traceback (most recent call last):
        ValueError: A100 80GB SXM4 has no published fp8 peak; it has fp32, tf32, bf16, fp16, int8
        """
        if dtype not in self.peak_flop_per_s:
            known = ", ".join(self.peak_flop_per_s) or "none at all"
            hint = "; weights of 4 bits with arithmetic at 16 are int4-g128" if dtype == "int4" else ""
            raise ValueError(f"{self.name} has no published {dtype} peak; it has {known}{hint}")
        return self.peak_flop_per_s[dtype]

    def figure(self, field: str) -> Figure:
        """The figure behind a field, such as "memory_bytes_per_s" or "peak_flop_per_s.bf16".

        Raises
        ------
        ValueError
            If the record has no such figure; the message names those it has.
        """
        if field not in self.figures:
            raise ValueError(f"{self.name} has no figure {field!r}; it has {', '.join(self.figures) or 'none'}")
        return self.figures[field]

    def source(self, field: str) -> str:
        """Citation of the source of a field.

        >>> chip("h100-sxm").source("sms")
        Traceback (most recent call last):
        ValueError: H100 SXM5 80GB has no figure 'sms'; it has ...
        >>> chip("h100-sxm").source("counts.sms")
        'H100 product page and datasheet, NVIDIA, www.nvidia.com/en-us/data-center/h100'
        """
        return str(self.figure(field).source)


_TEXT = ("name", "vendor", "kind", "year", "memory_kind", "link_name")


@cache
def _tables() -> Tables:
    return Tables("chip", sorted((DATA / "chips").glob("*.toml")))


@cache
def chip(id: str) -> Chip:
    """The chip or system of that id.

    Raises
    ------
    UnknownId
        A KeyError that names the nearest ids.

    Examples
    --------
    >>> chip("tpu-v5p").counts["mxu_rows"]
    128
    >>> chip("h100")
    Traceback (most recent call last):
    hwlab.specs.figure.UnknownId: no chip 'h100'; nearest: h100-sxm, h100-pcie...
    """
    record = _tables()[id]
    unknown = set(record) - {key.rstrip(".") for key in UNITS} - {*_TEXT, "source", "grade"}
    if unknown:
        raise ValueError(f"{id}: {sorted(unknown)} are not fields of a chip; add them to UNITS with their unit")
    figures = {}
    for key, unit in UNITS.items():
        if key in record:
            same_as = record[key] if isinstance(record[key], str) else None
            figures[key] = figures[same_as] if same_as else read_figure(record[key], unit, record)
        for part, entry in record.get(key[:-1], {}).items() if key.endswith(".") else ():
            integer = unit == "FLOP/s" and part.startswith("int")
            figures[f"{key}{part}"] = read_figure(entry, "OP/s" if integer else unit, record)

    def family(name, kind):
        start = name + "."
        return {path.removeprefix(start): kind(f.value) for path, f in figures.items() if path.startswith(start)}

    def one(name, kind=float):
        return kind(figures[name].value) if name in figures else None

    return Chip(
        id=id,
        **{key: record[key] for key in _TEXT if key in record},
        peak_flop_per_s=family("peak_flop_per_s", float),
        memory_bytes_per_s=one("memory_bytes_per_s"),
        memory_bytes=one("memory_bytes"),
        sram_bytes=family("sram_bytes", float),
        link_bytes_per_s=one("link_bytes_per_s"),
        link_peers=one("link_peers", int) or 1,
        tdp_watts=one("tdp_watts"),
        die_area_mm2=one("die_area_mm2"),
        transistors=one("transistors"),
        process_node=one("process_node", str),
        clock_hz=one("clock_hz"),
        usd_per_hour=one("usd_per_hour"),
        counts=family("counts", int),
        chips_per_system=one("chips_per_system", int),
        scale_up_chips=one("scale_up_chips", int),
        figures=figures,
    )


def chips(kind: str | None = None, vendor: str | None = None) -> tuple[Chip, ...]:
    """All chips, or those of a kind, of a vendor, or both; by kind, year and name.

    Raises
    ------
    ValueError
        If no chip has that kind or that vendor; the message names those there are.

    Examples
    --------
    >>> [c.id for c in chips(kind="wafer")]
    ['wse-2', 'wse-3']
    """
    found = _all()
    if kind is not None:
        if kind not in KINDS:
            raise ValueError(f"no chips of kind {kind!r}; kinds are {', '.join(KINDS)}")
        found = tuple(c for c in found if c.kind == kind)
    if vendor is not None:
        vendors = sorted({c.vendor for c in _all()})
        if vendor.lower() not in (v.lower() for v in vendors):
            raise ValueError(f"no chips of vendor {vendor!r}; vendors are {', '.join(vendors)}")
        found = tuple(c for c in found if c.vendor.lower() == vendor.lower())
    return found


@cache
def _all() -> tuple[Chip, ...]:
    return tuple(sorted(map(chip, _tables()), key=lambda c: (KINDS.index(c.kind), c.year, c.name)))


def chips_frame():
    """The catalogue as a pandas frame: one row a chip, one column a field; missing where unpublished.

    Columns are named as the fields: "memory_bytes_per_s", "peak_flop_per_s.bf16", "counts.sms".

    Raises
    ------
    ImportError
        Where pandas is not installed.

    Examples
    --------
    >>> frame = chips_frame()
    >>> float(frame.loc["h100-sxm", "peak_flop_per_s.bf16"] / frame.loc["h100-sxm", "memory_bytes_per_s"])  # FLOP/byte
    295.3...
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as missing:
        raise ImportError(
            "chips_frame() needs pandas: pip install 'hwlab[figures]'; chips() needs nothing"
        ) from missing

    rows = [
        {key: getattr(c, key) for key in ("id", *_TEXT)} | {path: f.value for path, f in c.figures.items()}
        for c in chips()
    ]
    return pd.DataFrame(rows).set_index("id")
