"""How much of a chip a measured run used: MFU, HFU and MBU, each with what is counted spelled out.

All three divide what was done by what the chips could have done in the same time at their dense datasheet
rates. They differ in what "done" counts, and most disputes about them are disputes about that:

- MFU, model FLOP utilization: the FLOP that the model's mathematics needs, attention included, nothing that
  was computed twice, skipped or padded. Chowdhery et al., "PaLM", arXiv 2204.02311, 2022, appendix B.
- HFU, hardware FLOP utilization: the FLOP that the chips carried out, recomputation and padding included.
- MBU, model bandwidth utilization: weights read plus KV cache read, once each a step. Databricks, "LLM
  Inference Performance Engineering: Best Practices", 2023.

`log_utilization` and `step_utilizations` take them from the log of an engine, whose steps say what they needed and did.

Without attention (``2 * num_params`` a token) MFU comes out lower at long context; with a sparse peak it
comes out at half. Neither is done here: FLOP are given by `ModelSpec.flop`, peaks by `Chip.peak`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilization:
    """What a log, or one step of it, made of a chip.

    Attributes
    ----------
    steps, left_out : int
        Steps counted, and those left out because a program was compiled in them.
    seconds : float
        Of the steps counted, as all below.
    tokens : int
        Tokens drawn.
    flop, nbytes : float
        What the model needed: FLOP; bytes of weights and cache.
    hardware_flop : float or None
        FLOP carried out; None where the log does not say.
    mfu, mbu : float
    hfu : float or None
    """

    steps: int
    left_out: int
    seconds: float
    tokens: int
    flop: float
    nbytes: float
    hardware_flop: float | None
    mfu: float
    mbu: float
    hfu: float | None

    @property
    def tokens_per_s(self) -> float:
        """Tokens drawn a second."""
        return self.tokens / self.seconds


_NEEDED = ("seconds", "flop", "weight_bytes", "kv_bytes", "tokens")


def log_utilization(log: Iterable, *, chip, dtype, chips=1, compiled: bool = False) -> Utilization:
    """Utilization over a whole log: work and seconds are added up first, then divided.

    Parameters
    ----------
    log : iterable of records
        Of steps: `hwlab.serving.StepRecord`, or your own with the attributes ``seconds``, ``flop``, ``weight_bytes``,
        ``kv_bytes`` and ``tokens``, all for that step, and perhaps ``hardware_flop`` (else `hfu` is None) and
        ``compiled`` (else False).
    chip : Chip
        Of the catalogue, or ``hwlab.measure_host()``.
    dtype : str
        Of the weights, as in `mfu`; an engine's "float32" is "fp32" here.
    chips : number
        How many chips worked. Devices into which JAX cuts one processor are one chip.
    compiled : bool
        Whether steps in which a program was compiled count. By default they do not: compiling takes a thousand times
        longer than the step, and happens once.

    Raises
    ------
    TypeError
        If a record lacks an attribute, or what it has is no number.
    ValueError
        If no step is left to count, a number of the log cannot be, or the chip lacks a published rate.

    Examples
    --------
    A prompt of 2,048 tokens and a step of 8 sequences of Llama 3.1 8B on an H100:

    >>> from types import SimpleNamespace as Step
    >>> from hwlab.specs.chips import chip
    >>> log = [
    ...     Step(seconds=0.055, flop=3.2e13, weight_bytes=15e9, kv_bytes=0.5e9, tokens=1),
    ...     Step(seconds=0.007, flop=1.2e11, weight_bytes=15e9, kv_bytes=0.5e9, tokens=8),
    ... ]
    >>> used = log_utilization(log, chip=chip("h100-sxm"), dtype="bf16")
    >>> round(used.mfu, 3), round(used.mbu, 3), round(used.tokens_per_s), used.hfu
    (0.524, 0.149, 145, None)
    >>> for step, used in step_utilizations(log, chip=chip("h100-sxm"), dtype="bf16"):
    ...     print(f"MFU {used.mfu:.1%}, MBU {used.mbu:.1%}")
    MFU 58.8%, MBU 8.4%
    MFU 1.7%, MBU 66.1%
    """
    counted, left_out = _counted(log, compiled)
    return _used([step for _, step in counted], left_out, chip, dtype, chips)


def step_utilizations(log: Iterable, *, chip, dtype, chips=1, compiled: bool = False) -> list[tuple]:
    """Utilization of each step of a log: pairs of its record and its `Utilization`, without the steps left out.

    Parameters, and what is raised, as in `log_utilization`; an example stands there too.
    """
    counted, _ = _counted(log, compiled)
    return [(record, _used([step], 0, chip, dtype, chips)) for record, step in counted]


def _counted(log, compiled):
    """([(record, its numbers)], how many were left out)."""
    counted, records = [], list(log)
    for at, record in enumerate(records):
        missing = [name for name in _NEEDED if not hasattr(record, name)]
        if missing:
            raise TypeError(
                f"record {at} of the log is a {type(record).__name__} without {', '.join(missing)}; a step needs "
                f"{', '.join(_NEEDED)}"
            )
        if getattr(record, "compiled", False) and not compiled:
            continue
        step = {name: getattr(record, name) for name in _NEEDED}
        step["hardware_flop"] = getattr(record, "hardware_flop", None)
        for name, value in step.items():
            if value is not None or name != "hardware_flop":
                check_recorded(at, name, value)
        if step["hardware_flop"] is not None and step["hardware_flop"] < step["flop"]:
            raise ValueError(
                f"record {at} of the log: hardware_flop is {step['hardware_flop']!r} and flop {step['flop']!r}; what "
                "was carried out holds all that was needed"
            )
        counted.append((record, step))
    if not counted:
        why = f"all {len(records)} steps of the log compiled a program" if records else "the log is empty"
        remedy = "run the same load again, or count them with compiled=True" if records else "give one step or more"
        raise ValueError(f"{why}; {remedy}")
    return counted, len(records) - len(counted)


def check_recorded(at, name, value, log="the log"):
    """Nothing, if a number of record `at` of a log can be: finite, and above 0 where it is seconds, else from 0 on.

    Raises
    ------
    TypeError, ValueError
        With the record, the name and the value, if not.
    """
    least = "above 0" if name == "seconds" else "from 0 on"
    try:
        possible = 0 <= value < inf and (value > 0 or name != "seconds")
    except TypeError:
        raise TypeError(f"record {at} of {log}: {name} is {value!r}; give a number {least}") from None
    if not possible:
        raise ValueError(f"record {at} of {log}: {name} is {value!r}; give a finite number {least}")


def _used(steps, left_out, chip, dtype, chips) -> Utilization:
    total = {name: sum(step[name] for step in steps) for name in _NEEDED}
    carried = [step["hardware_flop"] for step in steps]
    done = None if None in carried else sum(carried)
    nbytes = total["weight_bytes"] + total["kv_bytes"]
    seconds = total["seconds"]
    # a step may need nothing: one that computes again what was computed before, or moves blocks only
    per_flop = mfu(1, seconds, chip=chip, dtype=dtype, chips=chips)
    return Utilization(
        steps=len(steps),
        left_out=left_out,
        seconds=seconds,
        tokens=total["tokens"],
        flop=total["flop"],
        nbytes=nbytes,
        hardware_flop=done,
        mfu=total["flop"] * per_flop,
        mbu=nbytes * mbu(1, seconds, chip=chip, chips=chips),
        hfu=None if done is None else done * per_flop,
    )
