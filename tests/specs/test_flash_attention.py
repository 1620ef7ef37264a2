"""The authors' bars of FlashAttention: read whole, below the peak of the chip, and comparable where shapes agree."""

import pytest

from hwlab.specs.chips import chip
from hwlab.specs.flash_attention import KERNELS, measurements, speedups


def test_every_bar_is_of_a_known_kernel_and_below_the_dense_peak_of_its_chip():
    bars = measurements()
    assert {bar.kernel for bar in bars} == set(KERNELS)
    for bar in bars:
        assert 0 < bar.flop_per_s < chip(bar.chip).peak("fp16")
        assert bar.batch * bar.tokens == 16_384 and bar.heads * bar.head_dim == 2048  # as the charts say
    assert len({(bar.kernel, *bar.shape) for bar in bars}) == len(bars)


def test_speedups_are_ratios_of_bars_of_one_shape():
    """H100, forward, head of 128, 16,384 tokens, causal: 616 and 335 TFLOP/s."""
    found = speedups("flash-attention-3", "flash-attention-2", chip="h100-sxm")
    assert any(ratio == pytest.approx(616 / 335) for ratio in found) and found == sorted(found)
    with pytest.raises(ValueError, match="no shape on 'a100-sxm-80gb' has both 'flash-attention-3'"):
        speedups("flash-attention-3", "standard", chip="a100-sxm-80gb")


def test_seconds_follow_from_the_flop_that_the_authors_count():
    """Forward: 4 x 16384^2 x 128 x 16 FLOP, half under the mask, at 616 TFLOP/s."""
    (bar,) = [bar for bar in measurements() if bar.flop_per_s == 616e12]
    assert bar.seconds == pytest.approx(4 * 16384**2 * 2048 / 2 / 616e12) and bar.causal and not bar.backward
