"""What others have measured and published, to stand beside our predictions.

One row of `data/measurements.csv` is one timing (a matrix product, the prefill or a decode step of a whole model, or
one reading of an array from a level of memory), or one KV cache as an engine's log gives it: how many tokens it holds
in how many bytes. Figures are the publisher's, times converted to seconds here; chips are ids of the catalogue.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from hwlab.specs.figure import DATA, GRADES, Source, source

REGIMES = ("matmul", "prefill", "decode", "read", "cache")
LEVELS = ("l1", "l2", "memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One published timing, or one cache.

    Attributes
    ----------
    id : str
    regime : {"matmul", "prefill", "decode", "read", "cache"}
    chip : str
        Id in the catalogue.
    chips : int
        That worked as one: tensor parallel.
    dtype : str
        Of the weights or of what is read, one of `hwlab.units.BITS`.
    seconds : float or None
        Of one product, of one prefill, of one decode step, or of one reading of the whole array; None of a cache.
    tokens : int or None
        Rows of x in ``x[tokens, k] @ w[k, n]``; sequences in a prefill or a decode step; tokens that a
        cache holds.
    k, n : int or None
        Of the product.
    model, context : str, int or None
        Id of the model, and tokens of the prompt or mean tokens of context in a decode step.
    level, nbytes : str, int or None
        Of a reading, which all cores do at once: where the bytes lie, one of `LEVELS`, and how many are read in all.
        Of a cache `nbytes` is what each chip gives it, where the log says so.
    published : str
        Value and unit as printed.
    source : Source
    where : str
        File or table within the source.
    grade, note : str
    """

    id: str
    regime: str
    chip: str
    chips: int
    dtype: str
    seconds: float | None
    tokens: int | None
    k: int | None
    n: int | None
    model: str | None
    context: int | None
    level: str | None
    nbytes: int | None
    published: str
    source: Source
    where: str
    grade: str
    note: str

    @property
    def flop_per_s(self) -> float:
        """FLOP/s reached by a matrix product.

        Raises
        ------
        ValueError
            If this is no product.
        """
        if self.regime != "matmul":
            raise ValueError(f"{self.id} is a {self.regime}; only a matmul has k and n")
        return 2 * self.tokens * self.k * self.n / self.seconds

    @property
    def bytes_per_s(self) -> float:
        """Bytes a second of a reading.

        Raises
        ------
        ValueError
            If this is no reading.
        """
        if self.regime != "read":
            raise ValueError(f"{self.id} is a {self.regime}; only a read has bytes a second")
        return self.nbytes / self.seconds


def _seconds(value, unit, flop, tokens, nbytes):
    match unit:
        case "ms":
            return value * 1e-3
        case "TFLOP/s":
            return flop / (value * 1e12)
        case "token/s":
            return tokens / value
        case "GB/s":
            return nbytes / (value * 1e9)
        case "token":
            return None
    raise ValueError(f"unit {unit!r} is not ms, TFLOP/s, token/s, GB/s or token")


def _whole(text):
    return int(text) if text else None


def _read(row):
    tokens, k, n, nbytes = (_whole(row[name]) for name in ("tokens", "k", "n", "nbytes"))
    if row["regime"] not in REGIMES or row["grade"] not in GRADES or row["level"] not in ("", *LEVELS):
        raise ValueError(
            f"{row['id']}: regime {row['regime']!r}, level {row['level']!r} or grade {row['grade']!r} is unknown"
        )
    return Measurement(
        id=row["id"],
        regime=row["regime"],
        chip=row["chip"],
        chips=int(row["chips"]),
        dtype=row["dtype"],
        seconds=_seconds(float(row["value"]), row["unit"], 2 * tokens * k * n if k else None, tokens, nbytes),
        tokens=tokens,
        k=k,
        n=n,
        model=row["model"] or None,
        context=_whole(row["context"]),
        level=row["level"] or None,
        nbytes=nbytes,
        published=f"{row['value']} {row['unit']}",
        source=source(row["source"]),
        where=row["where"],
        grade=row["grade"],
        note=row["note"],
    )


@cache
def _all() -> tuple[Measurement, ...]:
    with (DATA / "measurements.csv").open(encoding="utf-8", newline="") as file:
        return tuple(map(_read, csv.DictReader(file)))


def measurements(
    regime: str | None = None, *, chip: str | None = None, dtype: str | None = None
) -> tuple[Measurement, ...]:
    """Published timings, all or those of a regime, a chip and a dtype.

    Raises
    ------
    ValueError
        If there is no such regime, or nothing was measured on that chip or at that dtype.

    Examples
    --------
    32 tokens against an 8192 x 8192 weight on an H100:

    >>> rows = measurements("matmul", chip="h100-sxm", dtype="bf16")
    >>> [m.published for m in rows if (m.tokens, m.k, m.n) == (32, 8192, 8192)]
    ['0.05048 ms']

    What all cores of an A100 read from their first-level caches together:

    >>> [m.published for m in measurements("read", chip="a100-sxm-80gb") if m.level == "l1"]
    ['19299.3 GB/s']
    """
    if regime is not None and regime not in REGIMES:
        raise ValueError(f"no regime {regime!r}; there are {', '.join(REGIMES)}")
    wanted = {"regime": regime, "chip": chip, "dtype": dtype}
    found = _all()
    for name, value in wanted.items():
        if value is not None:
            there = sorted({getattr(m, name) for m in found})
            found = tuple(m for m in found if getattr(m, name) == value)
            if not found:
                raise ValueError(f"nothing measured for {name} {value!r}; there is {', '.join(there) or 'nothing'}")
    return found
