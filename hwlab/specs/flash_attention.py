"""What attention kernels reached on two GPUs, by the authors of FlashAttention: the bars of their charts, as printed.

Dao-AILab/flash-attention, commit 0251105, the images under assets/. FLOP are counted as 4 x tokens^2 x head_dim x heads
x batch, half of it under a causal mask, 3.5 times as many with the backward pass.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from hwlab.specs.figure import DATA, GRADES

KERNELS = {
    "standard": "Three kernels, PyTorch",
    "flash-attention": "FlashAttention",
    "flash-attention-2": "FlashAttention-2",
    "flash-attention-3": "FlashAttention-3",
}
"""By id, as named in the charts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar of one chart, in fp16.

    Attributes
    ----------
    kernel : str
        One of `KERNELS`.
    chip : str
        Id in the catalogue.
    batch, tokens, heads, head_dim : int
    causal, backward : bool
        Whether later tokens are masked; whether the time is of the forward and the backward pass.
    flop_per_s : float
    grade, where, note : str
    """

    kernel: str
    chip: str
    batch: int
    tokens: int
    heads: int
    head_dim: int
    causal: bool
    backward: bool
    flop_per_s: float
    grade: str
    where: str
    note: str

    @property
    def shape(self) -> tuple:
        """What two bars must share to be compared."""
        return self.chip, self.batch, self.tokens, self.heads, self.head_dim, self.causal, self.backward

    @property
    def seconds(self) -> float:
        """Of one call, from the FLOP as the authors count them.

        Examples
        --------
        >>> bar = next(b for b in measurements() if b.kernel == "flash-attention-3" and b.tokens == 16384)
        >>> round(bar.seconds * 1e3, 2), bar.head_dim, bar.causal  # milliseconds
        (2.32, 64, True)
        """
        flop = 4 * self.tokens**2 * self.head_dim * self.heads * self.batch
        return flop * (0.5 if self.causal else 1) * (3.5 if self.backward else 1) / self.flop_per_s


@cache
def measurements() -> tuple[Bar, ...]:
    """All bars on record.

    Examples
    --------
    >>> max(bar.flop_per_s for bar in measurements() if bar.chip == "h100-sxm") / 1e12
    756.0
    """
    with (DATA / "flash_attention.csv").open(encoding="utf-8", newline="") as file:
        return tuple(_read(row) for row in csv.DictReader(file))


def speedups(faster: str, slower: str, *, chip: str) -> list[float]:
    """How many times as fast one kernel is as another, for each shape that has a bar of both, least first.

    Raises
    ------
    ValueError
        If no shape on that chip has both.

    Examples
    --------
    >>> found = speedups("flash-attention-3", "flash-attention-2", chip="h100-sxm")
    >>> round(found[0], 2), round(found[-1], 2)
    (1.28, 2.09)
    """
    rates = {kernel: {bar.shape: bar.flop_per_s for bar in measurements() if bar.kernel == kernel and bar.chip == chip}
             for kernel in (faster, slower)}  # fmt: skip
    found = sorted(rate / rates[slower][shape] for shape, rate in rates[faster].items() if shape in rates[slower])
    if not found:
        raise ValueError(
            f"no shape on {chip!r} has both {faster!r} and {slower!r}; kernels are {', '.join(KERNELS)}, "
            f"chips {', '.join(sorted({bar.chip for bar in measurements()}))}"
        )
    return found


def _read(row):
    if row["kernel"] not in KERNELS or row["grade"] not in GRADES:
        raise ValueError(f"kernel {row['kernel']!r} or grade {row['grade']!r} is unknown")
    return Bar(
        **{name: row[name] for name in ("kernel", "chip", "grade", "where", "note")},
        **{name: int(row[name]) for name in ("batch", "tokens", "heads", "head_dim")},
        causal=row["causal"] == "true",
        backward=row["backward"] == "true",
        flop_per_s=float(row["tflop_per_s"]) * 1e12,
    )
