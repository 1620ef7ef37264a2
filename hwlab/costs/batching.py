"""What continuous batching gains over static batching, as far as steps can tell: the longest of a batch over the mean.

A static batch of B sequences takes as many steps as its longest answer has tokens, while continuous batching, as long
as somebody waits, fills all B rows of every step. A token takes one row of one step either way, so for a full queue

    gain = E[longest of B answers] / E[length of an answer] .

The formulas below give it for lengths of a known distribution. Plain arithmetic: they run on floats and in a page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hwlab.formula import exp, inside, log, positive

_STEP, _FIRST, _LAST = 0.25, -24, 44  # of the sum over a normal variable, from -6 to 11 standard deviations
_SHIFT = 8  # terms of the harmonic number that are added one by one


def gain_uniform(batch):
    """Gain where all lengths from 0 to a largest one are equally likely: ``2 B / (B + 1)``, below 2 at any batch.

    Parameters
    ----------
    batch : number, array or Sym
        Rows of a step, B.

    Raises
    ------
    ValueError
        If it is not positive.

    Examples
    --------
    >>> gain_uniform(1), round(gain_uniform(32), 2)
    (1.0, 1.94)
    """
    positive(batch=batch)
    return 2 * batch / (batch + 1)


def gain_exponential(batch):
    """Gain where an answer is as likely to end at its next token whatever its length: the harmonic number of B.

    The sum 1 + 1/2 + ... + 1/B, by its asymptotic series, right to 1e-10 from B = 1 on.

    Parameters
    ----------
    batch : number, array or Sym

    Raises
    ------
    ValueError
        If it is not positive.

    Notes
    -----
    Of B sequences that run, one ends after 1/B of the mean, the next after 1/(B - 1) of it, and so on (A. Rényi, 1953).

    Examples
    --------
    >>> round(gain_exponential(4), 4), round(gain_exponential(32), 2)
    (2.0833, 4.06)
    """
    positive(batch=batch)
    far = batch + _SHIFT
    square = far * far
    series = log(far) + 0.5772156649015329 + 1 / (2 * far) - 1 / (12 * square) + 1 / (120 * square * square)
    series = series - 1 / (252 * square * square * square)
    for term in range(1, _SHIFT + 1):
        series = series - 1 / (batch + term)
    return series


def gain_lognormal(batch, spread):
    """Gain where the logarithm of the length is normal, the longest of B by a sum over the normal variable.

    Parameters
    ----------
    batch : number, array or Sym
    spread : number, array or Sym
        Standard deviation of the logarithm, from 0 (all lengths are equal) to 2.

    Raises
    ------
    ValueError
        If the batch is not positive, or the spread does not lie from 0 to 2.

    Examples
    --------
    >>> round(gain_lognormal(32, 0.0), 4), round(gain_lognormal(1, 1.0), 4), round(gain_lognormal(32, 1.0), 2)
    (1.0, 1.0, 5.49)
    """
    positive(batch=batch)
    inside(0, 2, spread=spread)
    total = 0
    for density, z, log_below in _NORMAL:
        total = total + density * exp(spread * z + (batch - 1) * log_below)
    return batch * exp(-spread * spread / 2) * total


def gain_of(slices: Sequence[tuple[float, float]], batch):
    """Gain where lengths are those of a table.

    Parameters
    ----------
    slices : sequence of (float, float)
        Share of the answers up to the end of a slice, and the mean length in it; the last share is 1.
    batch : number, array or Sym

    Raises
    ------
    ValueError
        If the batch is not positive, or the shares do not rise to 1.

    Examples
    --------
    Three answers of four have 10 tokens, the fourth has 100:

    >>> gain_of([(0.75, 10), (1.0, 100)], 1), round(gain_of([(0.75, 10), (1.0, 100)], 8), 2)
    (1.0, 2.8)
    """
    positive(batch=batch)
    ends = [0.0, *(share for share, _ in slices)]
    if ends != sorted(ends) or ends[-1] != 1:
        raise ValueError(f"the shares are {ends[1:]}; give rising ones that end at 1")
    mean, longest = 0.0, 0
    for (end, length), start in zip(slices, ends, strict=False):
        mean += (end - start) * length
        longest = longest + length * (end**batch - (start**batch if start else 0))
    return longest / mean


def with_prompts(gain, prompts):
    """Gain in time, where prompts take time that batching does not change.

    Parameters
    ----------
    gain : number, array or Sym
        In steps, of the answers alone.
    prompts : number, array or Sym
        Time that prompts take, over the time that the answers take under continuous batching.

    Raises
    ------
    ValueError
        If the gain is not positive, or the prompts are below 0.

    Examples
    --------
    Where prompts take as long as answers, four times becomes two and a half:

    >>> with_prompts(4, 1)
    2.5
    """
    positive(gain=gain)
    inside(0, math.inf, prompts=prompts)
    return (prompts + gain) / (prompts + 1)


def _normal():
    """Nodes of the sum: density times step, the node, and the logarithm of the share below it."""
    found = []
    for i in range(_FIRST, _LAST + 1):
        z = _STEP * i
        below = math.erfc(-z / math.sqrt(2)) / 2
        found.append((_STEP * math.exp(-z * z / 2) / math.sqrt(2 * math.pi), z, math.log(below)))
    return tuple(found)


_NORMAL = _normal()
