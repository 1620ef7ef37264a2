"""The parts of a step: they add up, the first is the MFU, and each cause of a low one has its part."""

import dataclasses

import pytest

from hwlab.costs.efficiency import IDEAL
from hwlab.costs.estimate import estimate
from hwlab.costs.step_split import PARTS, split_step
from hwlab.costs.utilization import mbu, mfu
from hwlab.specs.chips import chip
from hwlab.specs.models import model

H100, LLAMA, LARGE = chip("h100-sxm"), model("llama-3.1-8b"), model("llama-3.1-70b")


@pytest.mark.parametrize("batch", [1, 16, 256])
def test_with_nothing_in_the_way_it_is_the_roofline_of_estimate(batch):
    split = split_step(LLAMA, H100, batch=batch, context=1088)
    step = estimate(LLAMA, H100, batch=batch, prompt_tokens=1024, output_tokens=128, efficiency=IDEAL).decode
    assert split.seconds == pytest.approx(step.seconds) and split.mfu == pytest.approx(step.mfu)
    assert split.mbu == pytest.approx(step.mbu)


def test_its_shares_are_those_of_the_definitions():
    split = split_step(LLAMA, H100, batch=24, rows=32, context=500, kernels=9, start_s=4e-6, gap_s=1e-4)
    flop, read = 24 * LLAMA.flop_per_token(500), LLAMA.weight_bytes_read(24, "bf16") + 24 * LLAMA.kv_bytes(500, "bf16")
    assert split.mfu == pytest.approx(mfu(flop, split.seconds, chip=H100, dtype="bf16"), rel=1e-3)
    assert split.mbu == pytest.approx(mbu(read, split.seconds, chip=H100), rel=1e-3)
    assert split.seconds == pytest.approx(sum(split.part(name) for name in PARTS))
    assert split.launch_s == pytest.approx(32 * 9 * 4e-6)


def test_rows_without_a_sequence_are_idle_and_cost_what_a_full_step_does():
    full = split_step(LLAMA, H100, batch=512, context=256)
    left = split_step(LLAMA, H100, batch=32, rows=512, context=256)
    assert left.seconds == pytest.approx(full.seconds) and left.largest == "idle"
    assert left.mfu == pytest.approx(full.mfu / 16) and full.idle_s == 0


def test_a_slow_link_makes_the_network_rule_the_step():
    near = split_step(LARGE, H100, batch=64, tensor=8)
    far = split_step(LARGE, H100, batch=64, tensor=16, link_bytes_per_s=50e9)
    assert far.largest == "network" and far.network_s > 0.8 * far.seconds
    assert far.seconds > near.seconds  # twice the chips, and slower


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"batch": 8, "rows": 4}, "rows is 4 for a batch of 8; give at least as many rows"),
        ({"batch": 0}, "batch is 0"),
        ({"batch": 1, "start_s": -1}, "start_s is -1; give a number from 0 on"),
        ({"batch": 1, "gap_s": float("nan")}, "gap_s is nan"),
        ({"batch": 1, "kernels": "few"}, "kernels is 'few'"),
        ({"batch": 1, "link_bytes_per_s": 0}, "link_bytes_per_s is 0"),
        ({"batch": 4096, "context": 8192}, "needs 4.41 TB on each of 1 H100 SXM5 80GB, which has 77.3 GB; take more"),
    ],
)
def test_what_cannot_be_is_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        split_step(LLAMA, H100, **asked)


def test_a_chip_without_links_cannot_share_layers():
    alone = dataclasses.replace(H100, link_bytes_per_s=None)
    with pytest.raises(ValueError, match="tensor is 2, but H100 SXM5 80GB has no published link rate; give link"):
        split_step(LLAMA, alone, batch=1, tensor=2)
    assert split_step(LLAMA, alone, batch=1, tensor=2, link_bytes_per_s=50e9).network_s > 0
    with pytest.raises(ValueError, match="tensor is 3, but heads \\(32\\) cannot be cut into 3"):
        split_step(LLAMA, H100, batch=1, tensor=3)
