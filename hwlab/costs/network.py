"""What it costs to move data between chips: a start that does not depend on size, then bytes over a link.

Each collective is priced as the ring that uses every link evenly, in the alpha-beta model: `start_s` once,
`hop_s` for each of the ring's steps, and the bytes that one chip sends divided by what its links carry in
one direction. Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in
MPICH", IJHPCA 19(1), 2005. Between one chip and itself nothing moves, and all are 0.
"""

from __future__ import annotations

from hwlab.formula import positive, real, where


def all_reduce_time(nbytes, chips, *, link_bytes_per_s, start_s=0.0, hop_s=0.0):
    """Seconds until each of `chips` chips holds the sum of their arrays of `nbytes` bytes.

    Parameters
    ----------
    nbytes : number, array or Sym
        Size of the array that every chip brings and every chip gets.
    chips : number, array or Sym
    link_bytes_per_s : number, array or Sym
        What one chip sends, per direction, over all its links in the group.
    start_s, hop_s : number, array or Sym
        Seconds a collective takes to start, and for each step of the ring.

    Raises
    ------
    ValueError
        If a size, the number of chips or the rate is not positive.

    Notes
    -----
    A reduce-scatter and an all-gather, each of n - 1 steps: every chip sends 2 (n - 1) / n of the array.

    Examples
    --------
    16 MiB among 8 chips at 450 GB/s: 2 x 7/8 x 16.8 MB / 450 GB/s

    >>> round(all_reduce_time(2**24, 8, link_bytes_per_s=450e9) * 1e6, 2)  # microseconds
    65.24
    """
    return 2 * _half(nbytes, chips, link_bytes_per_s, start_s / 2, hop_s)


def all_gather_time(nbytes, chips, *, link_bytes_per_s, start_s=0.0, hop_s=0.0):
    """Seconds until each chip holds all of an array of `nbytes` bytes of which each brought one part.

    Arguments as in `all_reduce_time`; every chip sends (n - 1) / n of the array.

    Examples
    --------
    >>> all_gather_time(2**24, 8, link_bytes_per_s=450e9) * 2 == all_reduce_time(2**24, 8, link_bytes_per_s=450e9)
    True
    """
    return _half(nbytes, chips, link_bytes_per_s, start_s, hop_s)


def reduce_scatter_time(nbytes, chips, *, link_bytes_per_s, start_s=0.0, hop_s=0.0):
    """Seconds until each chip holds one part of the sum of the chips' arrays of `nbytes` bytes.

    Arguments as in `all_reduce_time`; every chip sends (n - 1) / n of the array.
    """
    return _half(nbytes, chips, link_bytes_per_s, start_s, hop_s)


def _half(nbytes, chips, link_bytes_per_s, start_s, hop_s):
    positive(nbytes=nbytes, chips=chips, link_bytes_per_s=link_bytes_per_s)
    nbytes, chips = real(nbytes, chips)
    steps = chips - 1
    return where(steps > 0, start_s, 0.0) + steps * (hop_s + nbytes / chips / link_bytes_per_s)
