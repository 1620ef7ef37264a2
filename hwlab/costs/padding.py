"""Buckets: the few lengths that a program compiled for fixed shapes knows, and what it costs to pad up to them.

A compiler that must know every shape makes one program a shape. A server therefore rounds each length up to one of a
few buckets: fewer buckets mean fewer programs to compile and keep, and more padding to compute. The two families here
are those of vLLM on a TPU (docs/configuration/tpu.md): powers of two, and steps of a fixed gap.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from hwlab.formula import whole


def powers_of_two(least: int, most: int) -> tuple[int, ...]:
    """Buckets `least`, 2 `least`, ... up to the first that holds `most`.

    Raises
    ------
    TypeError, ValueError
        If a size is no whole number of at least 1.

    Examples
    --------
    >>> powers_of_two(16, 500)
    (16, 32, 64, 128, 256, 512)
    """
    least, most = whole(least=least, most=most)
    buckets = [least]
    while buckets[-1] < most:
        buckets.append(2 * buckets[-1])
    return tuple(buckets)


def steps_of(gap: int, most: int, *, least: int = 16) -> tuple[int, ...]:
    """Buckets that double from `least` up to `gap`, and then grow by `gap` until one holds `most`.

    Raises
    ------
    TypeError, ValueError
        If a size is no whole number of at least 1.

    Examples
    --------
    >>> steps_of(64, 512)
    (16, 32, 64, 128, 192, 256, 320, 384, 448, 512)
    """
    gap, most, least = whole(gap=gap, most=most, least=least)
    small = [least << i for i in range(gap.bit_length()) if least << i < gap]
    return (*small, *range(gap, most + gap, gap))


def bucket(length: int, buckets: Sequence[int]) -> int:
    """The smallest of `buckets`, which ascend, that holds `length`.

    Raises
    ------
    ValueError
        If none does.

    Examples
    --------
    >>> bucket(300, powers_of_two(16, 512)), bucket(300, steps_of(64, 512))
    (512, 320)
    """
    place = bisect_left(buckets, length)
    if place == len(buckets):
        raise ValueError(f"a length of {length} fits no bucket; the largest is {buckets[-1] if buckets else None}")
    return buckets[place]


def overhead(lengths: Iterable[int], buckets: Sequence[int]) -> float:
    """Padding over real tokens: 0.5 means half as many again.

    Raises
    ------
    ValueError
        If there are no lengths, or one fits no bucket.

    Examples
    --------
    >>> overhead([300, 500], (512,))
    0.28
    """
    lengths = list(lengths)
    if not lengths:
        raise ValueError("there are no lengths; give one at least")
    return sum(bucket(length, buckets) for length in lengths) / sum(lengths) - 1


def spread(least: int, most: int, many: int = 1000) -> list[int]:
    """Lengths from `least` to `most` that lie evenly on a logarithmic scale: as many from 100 to 200 as to 400.

    Examples
    --------
    >>> spread(10, 1000, 3)
    [22, 100, 464]
    """
    least, most, many = whole(least=least, most=most, many=many)
    return [round(least * (most / least) ** ((i + 0.5) / many)) for i in range(many)]
