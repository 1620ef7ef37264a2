"""The array explorer agrees with the cycle counts, and the charts of chapter 5 hold the numbers of the catalogue."""

import math

import pytest

from hwlab.costs.systolic import overlapped_cycles, steps, utilization
from hwlab.figures import tpus
from hwlab.figures.tpus import IN_TURN, MEANWHILE, array_explorer, bytes_per_cycle, load_cycles
from hwlab.specs.chips import chip
from hwlab.studies.tpu_v1 import predictions


@pytest.fixture(scope="module")
def explorer():
    return array_explorer()


def set_state(explorer, **state):
    for name, value in ({"rows": 1, "side": 256, "arrives": 48.57, "weights": MEANWHILE} | state).items():
        setattr(explorer, name, value)


def rows(chart):
    return chart.to_dict()["data"]["values"]


def test_one_tile_after_another_is_the_utilization_of_the_array(explorer):
    # a feed of a whole row a cycle: nothing but the array itself
    for m in (1, 100, 4096):
        for side in (32, 256):
            set_state(explorer, rows=m, side=side, arrives=2048, weights=IN_TURN)
            assert explorer.value() == pytest.approx(100 * utilization(m, side, side, rows=side, columns=side))


def test_with_loading_hidden_it_is_the_share_that_many_tiles_keep(explorer):
    for m, arrives in ((1, 48.57), (200, 48.57), (5000, 48.57), (300, 2048)):
        set_state(explorer, rows=m, arrives=arrives)
        took = overlapped_cycles(m, 256 * 500, 256, rows=256, columns=256, bytes_per_cycle=arrives)
        assert explorer.value() == pytest.approx(100 * 500 * m / took.total, rel=0.01)


def test_on_either_side_of_the_flip(explorer):
    flip = load_cycles(256, 48.57)
    set_state(explorer, rows=flip - 0.01)
    assert "the weights bind, by a hair" in explorer.says()
    set_state(explorer, rows=flip + 0.01)
    assert "the array binds" in explorer.says()
    set_state(explorer, rows=200)
    assert "It flips at 1,350 rows." in explorer.says() and math.ceil(flip) == 1350


def test_half_is_reached_where_the_sentence_says(explorer):
    set_state(explorer, weights=IN_TURN)
    assert "Half would take 1,860 rows." in explorer.says()
    set_state(explorer, rows=load_cycles(256, 48.57) + 510, weights=IN_TURN)
    assert explorer.value() == pytest.approx(50)


def test_every_state_lies_on_the_axis(explorer):
    for m in (1, 8192):
        for side in (32, 512):
            for arrives in (8, 2048):
                for weights in (MEANWHILE, IN_TURN):
                    set_state(explorer, rows=m, side=side, arrives=arrives, weights=weights)
                    assert 0 < explorer.value() <= 100


def test_the_load_of_a_tile_is_the_ridge_in_rows():
    # by hand: v1 has 92 TFLOP/s rounded from 91.75; two FLOP a row and weight
    assert load_cycles(256, bytes_per_cycle(chip("tpu-v1"))) == pytest.approx(91.75e12 / 2 / 34e9, rel=1e-4)
    v4 = chip("tpu-v4")
    load = load_cycles(128, bytes_per_cycle(v4), itemsize=2)
    assert load == pytest.approx(v4.peak("bf16") / v4.memory_bytes_per_s, rel=2e-3)


def test_the_curve_of_the_array_is_that_of_its_steps():
    frames = steps([[1] * 4] * 6, [[1] * 4] * 4)
    assert [len(frame["active"]) for frame in frames] == [tpus._active(t, 6, 4) for t in range(12)]


def test_the_table_names_each_generation_with_its_ridge():
    found = {row[0]: row for row in tpus.generations_table().rows}
    assert len(found) == 10 and found["TPU v1"][-1] == "2,706" and found["TPU v5p"][2] == "8 × 128 × 128"


def test_no_power_is_drawn_that_nobody_published():
    found = {(row["chip"], row["what"]): row["W"] for row in rows(tpus.power())}
    assert found["TPU v4", "mean"] == 170 and ("TPU v4", "TDP") not in found and ("H100 SXM5", "mean") not in found


def test_the_chart_of_applications_has_measured_and_predicted_rates():
    found = rows(tpus.applications(predictions()))
    assert len(found) == 18
    assert next(row["TOP/s"] for row in found if row["what"] == "measured") == pytest.approx(12.3)


@pytest.mark.parametrize(
    "chart", [tpus.filling, tpus.ridges, tpus.power, tpus.instruction_price, tpus.padding_by_programs]
)
def test_a_chart_describes_itself(chart):
    drawn = chart()
    assert len(drawn.description.split()) > 8 and rows(drawn)
