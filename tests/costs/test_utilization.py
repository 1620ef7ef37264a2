"""MFU, HFU and MBU: dense peaks, attention included, from measured times."""

from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from hwlab.costs.utilization import hfu, log_utilization, mbu, mfu, parity, step_utilizations
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


# --- from a log ----------------------------------------------------------------------------------------------


class Of(NamedTuple):
    """A step as an engine of anybody's logs it."""

    seconds: float
    flop: float
    weight_bytes: float
    kv_bytes: float
    tokens: int
    hardware_flop: float | None = None
    compiled: bool = False


ROUND = replace(H100, name="Round", peak_flop_per_s={"bf16": 1e12}, memory_bytes_per_s=1e11)
LOG = [
    Of(9.0, 1e11, 3e10, 0.0, 1, 4e11, compiled=True),
    Of(1.0, 6e11, 3e10, 1e10, 1, 8e11),
    Of(4.0, 4e10, 3e10, 3e10, 4, 1.6e11),
]


def test_a_log_is_added_up_before_it_is_divided():
    """By hand: 640 GFLOP and 100 GB in 5 s at 1000 GFLOP/s and 100 GB/s. The mean of the steps would be 30.5 %."""
    used = log_utilization(LOG, chip=ROUND, dtype="bf16")
    assert (used.steps, used.left_out, used.seconds, used.tokens) == (2, 1, 5.0, 5)
    assert (used.flop, used.hardware_flop, used.nbytes) == (6.4e11, 9.6e11, 1e11)
    assert (used.mfu, used.hfu, used.mbu) == pytest.approx((640 / 5000, 960 / 5000, 100 / 500))
    assert used.tokens_per_s == 1.0


def test_step_by_step_a_log_keeps_its_records():
    pairs = step_utilizations(iter(LOG), chip=ROUND, dtype="bf16")
    assert [record for record, _ in pairs] == LOG[1:]
    assert [used.mfu for _, used in pairs] == pytest.approx([0.6, 0.01])
    assert [used.hfu for _, used in pairs] == pytest.approx([0.8, 0.04])
    assert [used.mbu for _, used in pairs] == pytest.approx([0.4, 0.15])
    assert [used.steps for _, used in pairs] == [1, 1]


def test_steps_that_compiled_count_where_they_are_asked_for():
    used = log_utilization(LOG, chip=ROUND, dtype="bf16", compiled=True)
    assert (used.steps, used.left_out, used.seconds, used.flop) == (3, 0, 14.0, 7.4e11)
    assert len(step_utilizations(LOG, chip=ROUND, dtype="bf16", compiled=True)) == 3


def test_several_chips_share_a_log_too():
    one, four = (log_utilization(LOG, chip=ROUND, dtype="bf16", chips=chips) for chips in (1, 4))
    assert (four.mfu, four.hfu, four.mbu) == pytest.approx((one.mfu / 4, one.hfu / 4, one.mbu / 4))


def test_what_was_carried_out_is_unknown_where_one_step_does_not_say():
    used = log_utilization([LOG[1], LOG[2]._replace(hardware_flop=None)], chip=ROUND, dtype="bf16")
    assert used.hfu is used.hardware_flop is None and used.mfu > 0


def test_a_step_that_needed_nothing_is_a_step():
    again = Of(1.0, 0.0, 3e10, 5e9, 0, 3e11)
    ((_, used),) = step_utilizations([again], chip=ROUND, dtype="bf16")
    assert (used.mfu, used.hfu, used.tokens_per_s) == (0.0, pytest.approx(0.3), 0.0)


@pytest.mark.parametrize("of", [log_utilization, step_utilizations])
def test_a_log_without_a_step_to_count_says_why(of):
    with pytest.raises(ValueError, match="the log is empty; give one step"):
        of([], chip=ROUND, dtype="bf16")
    with pytest.raises(ValueError, match=r"all 1 steps of the log compiled a program; .*compiled=True"):
        of(LOG[:1], chip=ROUND, dtype="bf16")


@pytest.mark.parametrize(
    ("field", "bad"),
    [("seconds", 0.0), ("seconds", float("nan")), ("flop", -1.0), ("kv_bytes", float("inf")), ("tokens", -1)],
)
def test_a_number_of_the_log_that_cannot_be_is_named_with_its_step(field, bad):
    with pytest.raises(ValueError, match=f"record 1 of the log: {field} is {bad!r}; give a finite number"):
        log_utilization([LOG[1], LOG[2]._replace(**{field: bad})], chip=ROUND, dtype="bf16")


def test_nobody_carries_out_less_than_was_needed():
    with pytest.raises(ValueError, match=r"record 0 .*hardware_flop is 500000000000.0 and flop 600000000000.0"):
        log_utilization([LOG[1]._replace(hardware_flop=5e11)], chip=ROUND, dtype="bf16")


def test_a_record_that_lacks_something_is_told_what():
    with pytest.raises(TypeError, match="record 0 of the log is a SimpleNamespace without kv_bytes, tokens; "):
        log_utilization([SimpleNamespace(seconds=1.0, flop=1.0, weight_bytes=1.0)], chip=ROUND, dtype="bf16")


def test_a_log_asks_of_the_chip_what_mfu_asks():
    with pytest.raises(ValueError, match="no published fp8 peak"):
        log_utilization(LOG, chip=ROUND, dtype="fp8")
    with pytest.raises(ValueError, match="no published memory bandwidth"):
        log_utilization(LOG, chip=replace(ROUND, memory_bytes_per_s=None), dtype="bf16")


@pytest.mark.parametrize("bad", [None, "1", [1.0]])
def test_what_is_no_number_in_a_log_is_named_with_its_step(bad):
    usual = {"seconds": 0.01, "flop": 1e9, "weight_bytes": 1e6, "kv_bytes": 0.0, "tokens": 1}
    log = [SimpleNamespace(**usual), SimpleNamespace(**usual | {"kv_bytes": bad})]
    with pytest.raises(TypeError, match=r"record 1 of the log: kv_bytes is .*; give a number from 0 on"):
        log_utilization(log, chip=chip("h100-sxm"), dtype="bf16")
