"""Published throughput of whole serving systems: many requests at once, tokens a second of all chips together.

One row of `data/throughput.csv` is one figure as its publisher prints it. How many requests were in a step is not
published, so that these rows say what a system gave, not how long a step took (`hwlab.specs.measurements` has those).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from hwlab.specs.figure import DATA, GRADES, Source, source


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """One published figure.

    Attributes
    ----------
    id : str
    chip, model : str
        Ids in the catalogues.
    chips : int
        That worked together.
    dtype : str
        Of the weights.
    prompt_tokens, output_tokens : int or None
        Of every request; None where the load was what users sent.
    counts : {"prompt", "output"}
        Which tokens `tokens_per_s` counts.
    tokens_per_s : float
        As printed, of all chips together.
    cached_share : float
        Part of the prompt tokens that came from a cache and were not computed.
    source : Source
    grade, where : str
    """

    id: str
    chip: str
    chips: int
    dtype: str
    model: str
    prompt_tokens: int | None
    output_tokens: int | None
    counts: str
    tokens_per_s: float
    cached_share: float
    source: Source
    grade: str
    where: str

    @property
    def computed_per_s(self) -> float:
        """Tokens that the model computed in a second: of prompts and answers, where both are known.

        Examples
        --------
        With prompts of 2,048 and answers of 128 tokens, 17 are computed for each that is counted:

        >>> row = next(t for t in throughputs() if (t.prompt_tokens, t.output_tokens) == (2048, 128))
        >>> row.computed_per_s / row.tokens_per_s
        17.0
        """
        if self.prompt_tokens is None:
            return self.tokens_per_s * (1 - self.cached_share)
        counted = self.output_tokens if self.counts == "output" else self.prompt_tokens
        return self.tokens_per_s * (self.prompt_tokens + self.output_tokens) / counted


def _read(row) -> Throughput:
    if row["counts"] not in ("prompt", "output") or row["grade"] not in GRADES:
        raise ValueError(f"{row['id']}: counts {row['counts']!r} or grade {row['grade']!r} is unknown")
    prompt, output = (int(row[name]) if row[name] else None for name in ("prompt_tokens", "output_tokens"))
    numbers = {
        "chips": int(row["chips"]),
        "prompt_tokens": prompt,
        "output_tokens": output,
        "tokens_per_s": float(row["tokens_per_s"]),
        "cached_share": float(row["cached_share"] or 0),
        "source": source(row["source"]),
    }
    return Throughput(**row | numbers)


@cache
def _all() -> tuple[Throughput, ...]:
    with (DATA / "throughput.csv").open(encoding="utf-8", newline="") as file:
        return tuple(map(_read, csv.DictReader(file)))


def throughputs(*, chip: str | None = None, model: str | None = None) -> tuple[Throughput, ...]:
    """Published figures, all or those of a chip and a model.

    Raises
    ------
    ValueError
        If nothing is on record for that chip or model.

    Examples
    --------
    >>> len(throughputs(chip="h100-sxm", model="llama-3.3-70b"))
    8
    """
    found = _all()
    for name, value in {"chip": chip, "model": model}.items():
        if value is not None:
            there = sorted({getattr(t, name) for t in found})
            found = tuple(t for t in found if getattr(t, name) == value)
            if not found:
                raise ValueError(f"no throughput for {name} {value!r}; there is {', '.join(there) or 'none'}")
    return found
