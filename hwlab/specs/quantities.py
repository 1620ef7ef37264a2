"""Quantities as people write them: "134 MB", "40.1 µs" or "1.4e14 FLOP" as a number in SI units.

`SYMBOLS` is the whole table of units; the book's pages read the same one, so that a page and a notebook understand the
same answers.
"""

from __future__ import annotations

import re
from types import MappingProxyType

_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_COUNTED = "token row column line product request user core chip layer expert cycle time step block sequence"


def _symbols() -> dict[str, tuple[float, str]]:
    table = {"%": (0.01, "1"), "x": (1.0, "1"), "×": (1.0, "1")}
    for noun in _COUNTED.split():
        table[noun] = table[noun + "s"] = (1.0, "1")
    for noun in ("guess", "miss"):
        table[noun] = table[noun + "es"] = (1.0, "1")
    table["token/s"] = table["tokens/s"] = (1.0, "1/s")
    for prefix, factor in _PREFIXES.items():
        for name in ("B", "byte", "bytes"):
            table[f"{prefix}{name}"] = (factor, "byte")
            table[f"{prefix}{name}/s"] = (factor, "byte/s")
        for name in ("b", "bit", "bits"):
            table[f"{prefix}{name}"] = (factor, "bit")
            table[f"{prefix}{name}/s"] = (factor, "bit/s")
        for name in ("FLOP", "FLOPs"):
            table[f"{prefix}{name}"] = (factor, "FLOP")
            table[f"{prefix}{name}/s"] = (factor, "FLOP/s")
        table[f"{prefix}FLOPS"] = (factor, "FLOP/s")
    for prefix, factor in _BINARY.items():
        table[f"{prefix}B"] = (factor, "byte")
    for name in ("FLOP/byte", "FLOP/B", "FLOPs/byte"):
        table[name] = (1.0, "FLOP/byte")
    for name, factor in {"J": 1.0, "mJ": 1e-3, "µJ": 1e-6, "uJ": 1e-6, "nJ": 1e-9, "pJ": 1e-12}.items():
        table[name] = (factor, "J")
    for name, factor in {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}.items():
        table[name] = (factor, "s")
    return table


SYMBOLS = MappingProxyType(_symbols())
"""Unit symbol -> (factor, base unit)."""

BASES = MappingProxyType(
    {
        "byte": "bytes",
        "bit": "bits",
        "byte/s": "bytes a second",
        "bit/s": "bits a second",
        "FLOP": "FLOP",
        "FLOP/s": "FLOP a second",
        "FLOP/byte": "FLOP a byte",
        "s": "a time",
        "J": "an energy",
        "1": "a count or a share",
        "1/s": "a count a second",
    }
)
"""Every base unit, and what a number in it is called in a sentence."""

REFUSALS = MappingProxyType(
    {
        "number": "give a number, with a unit if you like",
        "comma": "write decimals with a point: {better}",
        "positive": "give a number above zero",
        "huge": "that number is too large to work with: check its exponent",
        "two": "the unit {symbol} could mean {units}: write the one you mean",
        "unknown": "the unit {symbol} is not known here",
    }
)
"""Why a text is not read, by kind; the book's pages say the same."""

_NUMBER = re.compile(
    r"([+-]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|[+-]?\.\d+)"  # 1,234.5
    r"(?:[eE]([+-]?\d+)|\s*[×x*·]\s*10\s*(?:\^|\*\*)\s*([+-]?\d+))?"  # e14, or × 10^14
    r"\s*(.*)",
    re.DOTALL,
)
_PLAIN = str.maketrans({"μ": "µ", "−": "-", "\u00a0": " ", "\u2009": " ", "\u202f": " "})


def read_quantity(text: str) -> tuple[float, str | None]:
    """Read `text` as a positive number and a unit.

    Parameters
    ----------
    text : str
        As a person writes it, with any symbol of `SYMBOLS`. Capitals matter only where they tell two units apart.

    Returns
    -------
    value : float
        In the base unit.
    base : str or None
        The base unit; None where `text` is a number alone.

    Raises
    ------
    ValueError
        If there is no number, a comma for the decimal point, or a unit that is unknown or could be two.

    Examples
    --------
    >>> read_quantity("134 MB"), read_quantity("1.5 × 10^3 ms"), read_quantity("1,024")
    ((134000000.0, 'byte'), (1.5, 's'), (1024.0, None))
    >>> read_quantity("40,1 µs")
    Traceback (most recent call last):
    ...
    ValueError: write decimals with a point: 40.1
    >>> read_quantity("3 mb")
    Traceback (most recent call last):
    ...
    ValueError: the unit mb could mean MB or Mb: write the one you mean
    """
    text = text.translate(_PLAIN).strip()
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(REFUSALS["number"])
    digits, exponent, power, symbol = match.groups()
    if comma := re.match(r",(\d+)", symbol):
        raise ValueError(REFUSALS["comma"].format(better=f"{digits}.{comma[1]}"))
    value = float(digits.replace(",", "") + "e" + (exponent or power or "0"))
    if not 0 < value < float("inf"):
        raise ValueError(REFUSALS["huge" if value > 0 else "positive"])
    symbol = symbol.strip()
    if not symbol:
        return value, None
    factor, base = _unit(re.sub(r"\s*/\s*", "/", symbol))
    return value * factor, base


def written(number: str, symbol: str) -> str:
    """A formatted number with its unit, which is a singular for one.

    >>> written("1", "tokens"), written("2", "tokens"), written("1", "FLOP/s"), written("1", "µs")
    ('1 token', '2 tokens', '1 FLOP/s', '1 µs')
    """
    one = symbol.removesuffix("s")
    return f"{number} {one if number == '1' and SYMBOLS.get(one) == SYMBOLS[symbol] else symbol}"


def _unit(symbol: str) -> tuple[float, str]:
    if symbol in SYMBOLS:
        return SYMBOLS[symbol]
    alike = [known for known in SYMBOLS if known.lower() == symbol.lower()]
    if len({SYMBOLS[known] for known in alike}) > 1:
        raise ValueError(REFUSALS["two"].format(symbol=symbol, units=" or ".join(alike)))
    if not alike:
        raise ValueError(REFUSALS["unknown"].format(symbol=symbol))
    return SYMBOLS[alike[0]]
