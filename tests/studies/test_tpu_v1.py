"""The TPU v1 table: the data add up, the prediction is the one worked by hand, its errors are those stated."""

import dataclasses
from statistics import median

import pytest

from hwlab.specs.figure import UnknownId
from hwlab.specs.tpu_v1 import application, measurements
from hwlab.studies.tpu_v1 import TPU_V1, predict, predictions


def test_the_shares_of_the_cycles_are_all_cycles_and_the_rates_have_the_printed_mean():
    for record in measurements():
        apart = (record.shares[name] for name in ("active", "weight_stall", "weight_shift", "non_matrix"))
        assert sum(apart) == pytest.approx(1, abs=0.0011)
        assert record.shares["useful"] <= record.shares["active"]
    rates = [record.op_per_s for record in measurements()]
    assert sum(rates) / 6 == pytest.approx(21.4e12, rel=0.005)  # the column "mean" of Table 3
    shares = [record.shares["useful"] for record in measurements()]
    assert sum(shares) / 6 == pytest.approx(0.23, abs=0.005)


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(UnknownId, match="MLP9"):
        application("MLP9")


def test_mlp0_by_hand():
    # 20e6 / 5 weights a layer: 2000 x 2000, in 8 x 8 tiles; 65,536 B at 34e9 / 0.7e9 = 48.57 B a cycle take 1,349.3
    # cycles each, behind which 200 rows hide; 200 + 510 cycles more until the last result; five layers
    cycles = 5 * (64 * 65536 / (34e9 / 0.7e9) + 200 + 510)
    found = predict(application("MLP0"))
    assert found.array_op_per_s == pytest.approx(2 * 20e6 * 200 / (cycles / 0.7e9))
    assert found.roofline_op_per_s == 2 * 200 * 34e9
    assert found.filled == pytest.approx(2000**2 / 2048**2)


def test_the_errors_are_those_the_book_states():
    found = {p.application.name: p for p in predictions()}
    roofline = [abs(p.roofline_factor - 1) for p in found.values()]
    array = [abs(p.array_factor - 1) for p in found.values()]
    assert median(array) < median(roofline) < 0.2
    assert sorted(array)[3] < 0.17 and sorted(array)[4] < 0.4
    assert found["LSTM1"].filled == pytest.approx(
        application("LSTM1").shares["useful"] / application("LSTM1").shares["active"], rel=0.03
    )  # 600 x 600 on tiles of 256: as the counters say
    assert found["CNN1"].array_factor > 4  # what its shapes do is not published
    assert found["LSTM0"].counters_factor > 2  # the paper's own two measurements of one thing


def test_the_waits_follow_the_order_of_the_counters():
    waits = sorted(predictions(), key=lambda p: p.stalled)
    told = {p.application.name for p in waits[:2]}
    counted = sorted(measurements(), key=lambda a: a.shares["weight_stall"] + a.shares["weight_shift"])
    assert told == {a.name for a in counted[:2]} == {"CNN0", "CNN1"}


def test_weights_twice_as_fast_make_what_waits_for_them_nearly_twice_as_fast():
    fast = dataclasses.replace(TPU_V1, memory_bytes_per_s=2 * TPU_V1.memory_bytes_per_s)
    now, then = predictions(), predictions(fast)
    for before, after in zip(now[:4], then[:4], strict=True):
        assert 1.8 < after.array_op_per_s / before.array_op_per_s < 2
    assert then[4].array_op_per_s < 1.1 * now[4].array_op_per_s  # CNN0 is bound by the array
