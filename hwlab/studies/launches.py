"""What a kernel takes beside its bytes: the time to start it, read off published times of small products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hwlab.costs.roofline import matmul_time
from hwlab.specs.chips import chip
from hwlab.specs.measurements import Measurement, measurements


def start_and_slope(measured: Sequence[Measurement]) -> tuple[float, float]:
    """Seconds to start, and the factor on the roofline's least time, of the straight line that fits `measured` best.

    Parameters
    ----------
    measured : sequence of Measurement
        Products that memory binds, of at least two sizes.

    Raises
    ------
    ValueError
        If they are all of one size, so that nothing tells a start from a slow memory.

    Examples
    --------
    >>> start, slope = start_and_slope(small_products("h100-sxm"))
    >>> round(start * 1e6, 1), round(slope, 2)  # microseconds
    (3.6, 1.2)
    """
    bounds = [matmul_time(m.tokens, m.k, m.n, dtype=m.dtype, chip=chip(m.chip)).seconds for m in measured]
    if len({(m.k, m.n) for m in measured}) < 2:
        raise ValueError(f"{len(measured)} measurements of one size; give products with weights of two sizes or more")
    mean_bound, mean = sum(bounds) / len(bounds), sum(m.seconds for m in measured) / len(bounds)
    across = sum((b - mean_bound) * (m.seconds - mean) for b, m in zip(bounds, measured, strict=True))
    slope = across / sum((b - mean_bound) ** 2 for b in bounds)
    return mean - slope * mean_bound, slope


def small_products(on: str, rows: int = 64) -> tuple[Measurement, ...]:
    """Published bf16 products of `rows` rows or fewer on a chip, all of which wait for the weights."""
    return tuple(m for m in measurements("matmul", chip=on, dtype="bf16") if m.tokens <= rows)


@cache
def kernel_start() -> float:
    """Seconds to start a kernel on an H100, as its small products show.

    Examples
    --------
    >>> 2e-6 < kernel_start() < 5e-6
    True
    """
    return start_and_slope(small_products("h100-sxm"))[0]
