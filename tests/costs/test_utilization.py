"""MFU, HFU and MBU: dense peaks, attention included, from measured times."""

import jax.numpy as jnp
import numpy as np
import pytest

from hwlab.costs.utilization import hfu, mbu, mfu, parity
from hwlab.specs.chips import chip, chips
from hwlab.specs.models import model

H100 = chip("h100-sxm")


def test_a_published_mbu_is_found_again():
    """gpt-fast, Llama 2 7B in bf16 on one A100: 104.9 tokens/s, printed as 1397.31 GB/s."""
    m, a100 = model("llama-2-7b"), chip("a100-sxm-80gb")
    # the table counts every parameter but the embedding: 1397.31e9 / 104.9 = 13.32 GB a token
    read = m.weight_bytes_read(1, "bf16")
    assert read * 104.9 == pytest.approx(1397.31e9, rel=0.01)
    assert mbu(read, 1 / 104.9, chip=a100) == pytest.approx(0.68, abs=0.005)


def test_hopper_variants_of_one_die_share_one_dense_peak():
    """A table that mixes dense and sparse peaks halves MFU when the same run moves from one to the other."""
    runs = [mfu(1e15, 2.0, chip=chip(id), dtype="bf16") for id in ("h100-sxm", "h200-sxm", "h800-sxm")]
    assert max(runs) / min(runs) < 1.001
    assert runs[0] == 1e15 / 2.0 / 989.4e12


def test_no_chip_divides_by_a_sparse_peak():
    for c in chips():
        for path, figure in c.figures.items():
            if path.startswith("sparse_peak_flop_per_s."):
                dtype = path.rpartition(".")[2]
                if dtype in c.peak_flop_per_s:
                    assert mfu(1.0, 1.0, chip=c, dtype=dtype) > 1 / figure.value


def test_attention_is_part_of_mfu():
    m, tokens = model("llama-3.1-8b"), 32_768
    with_attention = mfu(m.flop(tokens), 5.0, chip=H100, dtype="bf16")
    without = mfu(2 * m.num_params * tokens, 5.0, chip=H100, dtype="bf16")
    # scores add 4 x 32 layers x 4096 x tokens / 2 to 2 x 8.03e9 a token: 0.535 of it; the embedding table, 0.065 of
    # the parameters, multiplies nothing
    assert with_attention / without == pytest.approx(1 + 0.535 - 0.065, abs=0.001)


def test_more_chips_share_the_work():
    assert mfu(1e15, 1.0, chip=H100, dtype="bf16", chips=8) == mfu(1e15, 1.0, chip=H100, dtype="bf16") / 8
    assert mbu(1e12, 1.0, chip=H100, chips=4) == mbu(1e12, 1.0, chip=H100) / 4


def test_hfu_counts_what_was_computed_twice():
    assert hfu(4 / 3 * 1e15, 2.0, chip=H100, dtype="bf16") == pytest.approx(
        4 / 3 * mfu(1e15, 2.0, chip=H100, dtype="bf16")
    )


def test_arrays_of_times_give_arrays():
    assert mfu(1e15, np.array([1.0, 2.0]), chip=H100, dtype="bf16").shape == (2,)


@pytest.mark.parametrize("bad", [0, -1.0, float("nan"), "3", None, True])
@pytest.mark.parametrize("name", ["flop", "seconds", "chips"])
def test_what_is_no_positive_number_is_refused_by_name(name, bad):
    arguments = {"flop": 1e15, "seconds": 1.0, "chips": 1} | {name: bad}
    with pytest.raises(ValueError, match=f"{name} is .*give a number above 0"):
        mfu(**arguments, chip=H100, dtype="bf16")


@pytest.mark.parametrize("integer", [np.int32, jnp.int32])
def test_integers_of_32_bits_do_not_wrap_round(integer):
    flop, seconds, chips = 2**60, 2**17, 2**16
    wanted = mfu(flop, seconds, chip=H100, dtype="bf16", chips=chips)
    assert float(mfu(flop, integer(seconds), chip=H100, dtype="bf16", chips=integer(chips))) == pytest.approx(wanted)
    wanted = mbu(2**50, seconds, chip=H100, chips=chips)
    assert float(mbu(2**50, integer(seconds), chip=H100, chips=integer(chips))) == pytest.approx(wanted)


def test_an_array_with_a_zero_is_refused():
    with pytest.raises(ValueError, match="seconds"):
        mbu(1e9, np.array([1.0, 0.0]), chip=H100)


def test_a_missing_peak_or_bandwidth_is_named():
    with pytest.raises(ValueError, match="no published fp8 peak; it has"):
        mfu(1.0, 1.0, chip=chip("a100-sxm-80gb"), dtype="fp8")
    nameless = next(c for c in chips() if c.memory_bytes_per_s is None)
    with pytest.raises(ValueError, match="no published memory bandwidth"):
        mbu(1.0, 1.0, chip=nameless)


def test_the_faster_chip_is_as_fast_at_a_lower_share():
    a100, h100 = chip("a100-sxm-80gb"), chip("h100-sxm")
    assert parity(0.5, chip=h100, than=a100, dtype="bf16") == pytest.approx(0.5 * 312 / 989.4)
    assert parity(0.5, chip=a100, than=h100, dtype="bf16") == pytest.approx(0.5 * 989.4 / 312)  # above 1: it cannot
