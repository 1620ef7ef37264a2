"""The claims of chapter 4 that chapter 2 opens with: one product of 4096 x 4096 matrices on a CPU and on a GPU."""

from __future__ import annotations

from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.studies.trials import Finding, claimed, judged, judged_by_choice, trial, within_factor

XEON, H100 = chip("xeon-8480plus"), chip("h100-sxm")
SGEMM_FLOP = 2 * 4096**3
TWICE = 2  # a time or ratio counts as right up to this factor: libraries reach more than half of a peak


def peaks(chip, dtype: str) -> tuple[float, float]:
    """Lowest and highest dense peak on record."""
    figure = chip.figure(f"peak_flop_per_s.{dtype}")
    values = [figure.value, *(rival.value for rival in figure.rivals)]
    return min(values), max(values)


@trial("C030")
def sgemm_on_the_xeon(chip=XEON) -> Finding:
    """It takes about 6.8 s on a Xeon Platinum 8480+."""
    fast, slow = (SGEMM_FLOP / peak for peak in reversed(peaks(chip, "fp32")))
    told = f"At least {si(fast, 's', 2)} to {si(slow, 's', 2)}, by the fp32 peak; the claim is {{}} times slower"
    return Finding(
        recomputed=told.format(number(claimed("C030") / slow)),
        verdict=judged(within_factor(slow, claimed("C030"), TWICE)),
    )


@trial("C031")
def cores_of_the_xeon(chip=XEON) -> Finding:
    """The Xeon Platinum 8480+ has 60 cores."""
    cores = chip.counts["cores"]
    return Finding(recomputed=f"{cores} cores", verdict=judged(cores == claimed("C031")))


@trial("C032")
def sgemm_on_the_h100(chip=H100) -> Finding:
    """It takes about 0.7 ms on an H100, with the same result."""
    least, time = SGEMM_FLOP / chip.peak("fp32"), claimed("C032")
    needs, has = si(SGEMM_FLOP / time, "FLOP/s"), si(chip.peak("tf32"), "FLOP/s")
    told = f"At least {si(least, 's')} in fp32; {si(time, 's')} needs {needs}"
    only = f"in single precision only tf32's tensor cores ({has}) do it, not as exactly"
    return Finding(recomputed=f"{told}: {only}", verdict=judged(least <= time))


@trial("C033")
def ratio_of_the_two(cpu=XEON, gpu=H100) -> Finding:
    """The H100 is about 9,700 times faster."""
    slow, fast = peaks(cpu, "fp32")
    ratios = {dtype: (gpu.peak(dtype) / fast, gpu.peak(dtype) / slow) for dtype in ("fp32", "tf32")}
    told = ", ".join(
        f"{number(least, 2)} to {number(most, 2)} times in {dtype}" for dtype, (least, most) in ratios.items()
    )
    holds = (within_factor(ratio, claimed("C033"), TWICE) for pair in ratios.values() for ratio in pair)
    return Finding(recomputed=f"{told}, by the peaks", verdict=judged_by_choice(*holds))
