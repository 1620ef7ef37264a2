"""What memories and operations are made of: bandwidth, latency, energy and price by technology, each with its source.

The same quantity is measured or printed under many conditions, so a quantity is a list of figures whose qualifiers
name the condition. The data are in `data/memory.toml` and `data/energy.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from .figure import DATA, Figure, Tables, read_figure

UNITS = {
    "achieved_fraction_of_peak": "",
    "area_um2": "µm²",
    "bandwidth_bytes_per_s": "B/s",
    "bus_width_bits": "bit",
    "capacity_bytes": "B",
    "cell_area_um2": "µm²",
    "clock_hz": "Hz",
    "components_ratio_to_sram": "",
    "data_rate_bits_per_s_per_pin": "bit/s",
    "density_bits_per_mm2": "bit/mm²",
    "footprint_mm2": "mm²",
    "joules": "J",
    "joules_per_bit": "J/bit",
    "latency_s": "s",
    "price_ratio_to_ddr5": "",
    "reads_per_s": "1/s",
    "standby_power_ratio_to_sram": "",
    "transistors_per_bit": "",
    "usd_per_gigabyte": "USD/GB",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Technology:
    """A kind of memory, or an operation, with its figures by quantity.

    Attributes
    ----------
    id, name : str
    place : str
        Where a memory sits ("on chip", "off package" ...); for an operation, its sort ("add", "mul", "dram" ...).
    bits : int or None
        Width of an operation; None for a memory.
    figures : mapping of quantity to tuple of Figure
    """

    id: str
    name: str
    place: str
    bits: int | None
    figures: Mapping[str, tuple[Figure, ...]]

    def figure(self, quantity: str, qualifier: str = "") -> Figure:
        """First figure of a quantity whose qualifier contains `qualifier`.

        Raises
        ------
        ValueError
            If there is none; the message names those there are.

        Examples
        --------
        >>> memory("hbm3").figure("bandwidth_bytes_per_s", "stack").value
        819000000000.0
        """
        if quantity not in self.figures:
            raise ValueError(f"{self.name} has no {quantity!r}; it has {', '.join(self.figures)}")
        for figure in self.figures[quantity]:
            if qualifier in figure.qualifier:
                return figure
        known = "; ".join(figure.qualifier for figure in self.figures[quantity])
        raise ValueError(f"{self.name} has no {quantity} for {qualifier!r}; it has {known}")


@cache
def _tables(kind: str) -> Tables:
    return Tables({"memory": "memory technology", "energy": "operation"}[kind], [DATA / f"{kind}.toml"])


@cache
def _read(kind: str, id: str) -> Technology:
    record = _tables(kind)[id]
    figures = {
        quantity: tuple(read_figure(entry, UNITS[quantity], {}) for entry in entries)
        for quantity, entries in record.items()
        if isinstance(entries, list)
    }
    return Technology(
        id=id,
        name=record.get("name", id),
        place=record.get("place") or record["category"],
        bits=record.get("bits"),
        figures=MappingProxyType(figures),
    )


def memory(id: str) -> Technology:
    """The memory technology of that id ("sram", "ddr5", "hbm3e" ...); `UnknownId` names the nearest.

    >>> memory("hbm9")
    Traceback (most recent call last):
    hwlab.specs.figure.UnknownId: no memory technology 'hbm9'; nearest: ...
    """
    return _read("memory", id)


def memories() -> tuple[Technology, ...]:
    """All memory technologies, from the closest to the arithmetic to the farthest."""
    return tuple(map(memory, _tables("memory")))


def operation(id: str) -> Technology:
    """The operation of that id ("fp32-mul", "sram-32kb-read-64b" ...), its energy under "joules".

    A fetch from DRAM costs hundreds of multiplications:

    >>> mul, dram = operation("fp32-mul"), operation("dram-read-64b")
    >>> round(dram.figure("joules", "45 nm").value / mul.figure("joules", "45 nm").value)
    351
    """
    return _read("energy", id)


def operations() -> tuple[Technology, ...]:
    """All operations with a known energy."""
    return tuple(map(operation, _tables("energy")))
