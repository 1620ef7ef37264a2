"""How much of a chip a measured run used: MFU, HFU and MBU, each with what is counted spelled out.

All three divide what was done by what the chips could have done in the same time at their dense datasheet
rates. They differ in what "done" counts, and most disputes about them are disputes about that:

- MFU, model FLOP utilization: the FLOP that the model's mathematics needs, attention included, nothing that
  was computed twice, skipped or padded. Chowdhery et al., "PaLM", arXiv 2204.02311, 2022, appendix B.
- HFU, hardware FLOP utilization: the FLOP that the chips carried out, recomputation and padding included.
- MBU, model bandwidth utilization: weights read plus KV cache read, once each a step. Databricks, "LLM
  Inference Performance Engineering: Best Practices", 2023.

Without attention (``2 * num_params`` a token) MFU comes out lower at long context; with a sparse peak it
comes out at half. Neither is done here: FLOP are given by `ModelSpec.flop`, peaks by `Chip.peak`.
"""

from __future__ import annotations

from hwlab.formula import positive, real
from hwlab.units import compute_dtype


def mfu(flop, seconds, *, chip, dtype, chips=1):
    """Share of the dense peak that the model's own FLOP filled.

    Parameters
    ----------
    flop : number, array or Sym
        FLOP that the model needs, as `ModelSpec.flop` counts them: attention included, causal, nothing twice.
    seconds : number, array or Sym
        Measured time.
    chip : Chip
    dtype : str
        Of the weights; its `compute_dtype` says which dense peak holds.
    chips : number
        How many chips worked.

    Raises
    ------
    ValueError
        If a number is not positive, or the chip has no published peak for the dtype.

    Examples
    --------
    A 7B model writes 100 tokens a second on an H100: 14 TFLOP/s of 989, a share that says nothing about
    how well it runs, because decode is bound by memory:

    >>> from hwlab.specs.chips import chip
    >>> round(mfu(2 * 6.74e9 * 100, 1.0, chip=chip("h100-sxm"), dtype="bf16"), 4)
    0.0014
    """
    positive(flop=flop, seconds=seconds, chips=chips)
    flop, seconds, chips = real(flop, seconds, chips)
    return flop / (seconds * chips * chip.peak(compute_dtype(dtype)))


def hfu(flop, seconds, *, chip, dtype, chips=1):
    """Share of the dense peak that the FLOP carried out filled; never less than `mfu` of the same run.

    `flop` counts everything the chips computed: recomputed activations, padded tokens, masked halves of
    attention scores. Other arguments, and what is raised, as in `mfu`.

    Examples
    --------
    Prompts of 700 tokens padded to 1024 carry out 1.46 times what the model needs:

    >>> from hwlab.specs.chips import chip
    >>> needed = 2 * 6.74e9 * 700
    >>> run = dict(seconds=0.025, chip=chip("h100-sxm"), dtype="bf16")
    >>> round(mfu(needed, **run), 3), round(hfu(needed * 1024 / 700, **run), 3)
    (0.381, 0.558)
    """
    return mfu(flop, seconds, chip=chip, dtype=dtype, chips=chips)


def mbu(nbytes, seconds, *, chip, chips=1):
    """Share of the datasheet memory bandwidth that weights and KV cache filled.

    Parameters
    ----------
    nbytes : number, array or Sym
        Bytes that the model must read in that time: `ModelSpec.weight_bytes_read` plus `kv_bytes_read`.
    seconds, chip, chips
        As in `mfu`.

    Raises
    ------
    ValueError
        If a number is not positive, or the chip has no published bandwidth.

    Examples
    --------
    The same 7B in bf16 at 100 tokens a second reads 13.5 GB a token: 40 % of 3.35 TB/s:

    >>> from hwlab.specs.chips import chip
    >>> round(mbu(2 * 6.74e9 * 100, 1.0, chip=chip("h100-sxm")), 3)
    0.402
    """
    positive(nbytes=nbytes, seconds=seconds, chips=chips)
    nbytes, seconds, chips = real(nbytes, seconds, chips)
    if chip.memory_bytes_per_s is None:
        raise ValueError(f"{chip.name} has no published memory bandwidth")
    return nbytes / (seconds * chips * chip.memory_bytes_per_s)


def parity(utilization, *, chip, than, dtype):
    """Utilization at which `chip` computes as fast as `than` does at `utilization`; above 1 where it cannot.

    One figure of MFU says nothing across chips: it is a share of different peaks.

    Parameters
    ----------
    utilization : number, array or Sym
        MFU or HFU of `than`.
    chip, than : Chip
    dtype : str
        Of the weights, on both.

    Raises
    ------
    ValueError
        If the utilization is not positive, or a chip has no published peak for the dtype.

    Examples
    --------
    An A100 at 50 % is matched by an H100 at 15.8 %:

    >>> from hwlab.specs.chips import chip
    >>> round(parity(0.5, chip=chip("h100-sxm"), than=chip("a100-sxm-80gb"), dtype="bf16"), 3)
    0.158
    """
    positive(utilization=utilization)
    return real(utilization) * than.peak(compute_dtype(dtype)) / chip.peak(compute_dtype(dtype))
