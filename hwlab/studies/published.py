"""Utilization of what others have published: MFU of a serving system's throughput, MBU of a decode step."""

from __future__ import annotations

from hwlab.costs.utilization import mbu, mfu
from hwlab.specs.chips import chip
from hwlab.specs.measurements import Measurement
from hwlab.specs.models import model
from hwlab.specs.throughput import Throughput


def served_mfu(row: Throughput) -> float:
    """MFU of a published throughput by 2NT: attention is left out, as the contexts within a run are not published.

    Examples
    --------
    >>> from hwlab.specs.throughput import throughputs
    >>> round(max(map(served_mfu, throughputs(model="llama-3.3-70b"))), 3)
    0.536
    """
    flop = 2 * model(row.model).num_active_params * row.computed_per_s
    return mfu(flop, 1.0, chip=chip(row.chip), dtype=row.dtype, chips=row.chips)


def decode_mbu(row: Measurement) -> float:
    """MBU of a published decode step: the weights that it touches and the cache in bf16, each read once.

    Raises
    ------
    ValueError
        If `row` is no decode step.

    Examples
    --------
    >>> from hwlab.specs.measurements import measurements
    >>> round(max(map(decode_mbu, measurements("decode", chip="a100-sxm-80gb"))), 3)
    0.719
    """
    if row.regime != "decode":
        raise ValueError(f"{row.id} is a {row.regime}; give a decode step")
    of = model(row.model)
    read = of.weight_bytes_read(row.tokens, row.dtype) + row.tokens * of.kv_bytes_read(row.context, "bf16")
    return mbu(read, row.seconds, chip=chip(row.chip), chips=row.chips)
