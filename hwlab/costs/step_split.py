"""Where the time of a decode step goes, in parts that add up: what MFU counts, and the four things that lower it.

`compute_s` is the model's own FLOP at the dense peak, so that its share of the step is the MFU. What is beyond it is
waiting for memory, launching kernels, exchanging between chips, or idle: rows that no sequence fills any more, and the
gap before the next step. Arithmetic and memory run at their datasheet rates, so a real step is slower still.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from hwlab.costs.efficiency import efficiency_of
from hwlab.costs.placement import check_records, usable_bytes
from hwlab.costs.roofline import decode_step_work, kv_bytes_per_chip, price, rates, why_not_cut
from hwlab.formula import inside, positive, si, whole
from hwlab.units import compute_dtype

PARTS = ("compute", "memory", "launch", "network", "idle")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSplit:
    """Seconds of one step by what they are for; the parts add up to `seconds`.

    Attributes
    ----------
    compute_s : float
        The model's FLOP at the dense peak.
    memory_s : float
        What reading weights and cache takes beyond all arithmetic.
    launch_s : float
        Starts of kernels.
    network_s : float
        All-reduces between chips.
    idle_s : float
        Arithmetic of rows that no sequence fills, and the gap before the next step.
    mbu : float
        Share of the datasheet bandwidth that weights and the cache of the `batch` sequences fill.
    """

    compute_s: float
    memory_s: float
    launch_s: float
    network_s: float
    idle_s: float
    mbu: float

    @property
    def seconds(self) -> float:
        """Of the whole step."""
        return sum(self.part(name) for name in PARTS)

    @property
    def mfu(self) -> float:
        """Share of the step in which the dense peak would have done the model's FLOP."""
        return self.compute_s / self.seconds

    @property
    def largest(self) -> str:
        """Name of the longest part, of `PARTS`."""
        return max(PARTS, key=self.part)

    def part(self, name: str) -> float:
        """Seconds of the part `name` of `PARTS`."""
        return getattr(self, f"{name}_s")


def split_step(
    model,
    chip,
    *,
    batch: int,
    rows: int | None = None,
    context: int = 1024,
    dtype: str = "bf16",
    tensor: int = 1,
    link_bytes_per_s: float | None = None,
    kernels: int = 0,
    start_s: float = 0.0,
    gap_s: float = 0.0,
) -> StepSplit:
    """Split the time of one decode step.

    Parameters
    ----------
    model : ModelSpec
    chip : Chip
    batch : int
        Sequences that get a token.
    rows : int, optional
        Rows that the step computes; those beyond `batch` belong to sequences that have ended. By default `batch`.
    context : int
        Tokens that each row attends to.
    dtype : str
        Of weights and cache.
    tensor : int
        Chips that share every layer.
    link_bytes_per_s : float, optional
        What a chip sends to the others, in one direction; by default what the chip's own links sustain.
    kernels : int
        Launches in a layer.
    start_s : float
        Seconds that a launch takes and hides behind nothing.
    gap_s : float
        Seconds between the end of a step and the start of the next.

    Raises
    ------
    ValueError, TypeError
        If a number is not whole, positive or at least `batch` where it must be, weights and cache do not fit into the
        chips' memory, or the chip lacks a published rate.

    Examples
    --------
    One sequence of Llama 3.1 8B on an H100 waits for memory:

    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> step = split_step(model("llama-3.1-8b"), chip("h100-sxm"), batch=1)
    >>> step.largest, round(100 * step.mfu, 2), round(100 * step.mbu)
    ('memory', 0.35, 100)
    """
    check_records(model, chip)
    rows = batch if rows is None else rows
    whole(batch=batch, rows=rows, context=context, tensor=tensor)
    if rows < batch:
        raise ValueError(f"rows is {rows} for a batch of {batch}; give at least as many rows as sequences")
    inside(0, inf, kernels=kernels, start_s=start_s, gap_s=gap_s)
    if link_bytes_per_s is not None:
        positive(link_bytes_per_s=link_bytes_per_s)
    reason = why_not_cut(model.num_heads or model.hidden_size, model.num_kv_heads, model.intermediate_size, tensor)
    if tensor > 1 and (link_bytes_per_s or chip.link_bytes_per_s) is None:
        reason = f"{chip.name} has no published link rate; give link_bytes_per_s"
    if reason:
        raise ValueError(f"tensor is {tensor}, but {reason}")
    sustained = efficiency_of(chip)
    cache = kv_bytes_per_chip(model, rows * model.kv_bytes(context, dtype), tensor)
    needed, available = model.weight_bytes(dtype) / tensor + cache, usable_bytes(chip, sustained)
    if needed > available:
        raise ValueError(
            f"{model.name} in {dtype} with {rows} x {context:,} tokens needs {si(needed, 'B')} on each of {tensor} "
            f"{chip.name}, which has {si(available, 'B')}; take more chips, fewer rows or a shorter context"
        )
    asked = {"context": context, "dtype": dtype, "kv_dtype": dtype, "tensor": tensor}
    work = decode_step_work(model, batch=rows, **asked)
    useful = decode_step_work(model, batch=batch, **asked)
    at = rates(chip, dtype, group=tensor)
    link = at.link_bytes_per_s if link_bytes_per_s is None else link_bytes_per_s
    time = price(
        work,
        at._replace(
            link_bytes_per_s=None if link is None else link * sustained.link,
            collective_start_s=sustained.collective_start_s,
            collective_hop_s=sustained.collective_hop_s,
        ),
    )
    compute_s = useful.flop / chip.peak(compute_dtype(dtype))
    parts = {
        "compute_s": compute_s,
        "memory_s": max(time.memory_s - time.compute_s, 0.0),
        "launch_s": model.num_layers * kernels * start_s,
        "network_s": time.network_s,
        "idle_s": time.compute_s - compute_s + gap_s,
    }
    return StepSplit(**parts, mbu=useful.memory_bytes / (sum(parts.values()) * chip.memory_bytes_per_s))
