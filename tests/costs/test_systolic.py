"""The systolic array: registers moved one by one, all of them at once, and the closed forms, held equal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.costs.systolic import (
    DATAFLOWS,
    MAX_STEPS,
    cycles,
    last_cycle,
    overlapped_cycles,
    simulate,
    steps,
    stream_utilization,
    utilization,
)

SIZE = st.integers(1, 9)
DATAFLOW = st.sampled_from(DATAFLOWS)


def operands(m, k, n, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(-9, 10, (m, k)), random.integers(-9, 10, (k, n))


@given(m=SIZE, k=SIZE, n=SIZE, rows=SIZE, columns=SIZE, dataflow=DATAFLOW, seed=st.integers(0, 99))
def test_the_simulated_product_is_numpys_and_its_cycles_are_the_closed_form(m, k, n, rows, columns, dataflow, seed):
    x, w = operands(m, k, n, seed)
    run = simulate(x, w, rows=rows, columns=columns, dataflow=dataflow)
    assert np.array_equal(run.product, x @ w) and run.product.dtype == np.int64
    assert run.cycles == cycles(m, k, n, rows=rows, columns=columns, dataflow=dataflow).total


@given(m=SIZE, k=SIZE, n=SIZE, dataflow=DATAFLOW, seed=st.integers(0, 99))
def test_stepped_registers_give_each_result_once_at_its_cycle(m, k, n, dataflow, seed):
    x, w = operands(m, k, n, seed)
    rows, columns = {"weight": (k, n), "output": (m, n), "input": (k, m)}[dataflow]
    counted = cycles(m, k, n, rows=rows, columns=columns, dataflow=dataflow)
    frames = list(steps(x.tolist(), w.tolist(), dataflow=dataflow))
    assert len(frames) == counted.stream + counted.skew
    assert frames[-1]["macs"] == m * k * n == sum(len(frame["active"]) for frame in frames)
    for frame in frames:  # each element multiplies what reached it: no more, no less
        assert all(index == frame["cycle"] - 1 - r - c for r, c, index in frame["active"])
    done = [result for frame in frames for result in frame["done"]]
    assert sorted((i, j) for i, j, _ in done) == [(i, j) for i in range(m) for j in range(n)]
    assert all(value == (x @ w)[i, j] for i, j, value in done)


def test_a_hand_worked_array():
    """2 x 2 weights, x of two rows: row 1 of the array gets its first value one cycle after row 0.

    cycle 1: PE 00 does 1x5. cycle 2: PE 00 does 3x5, PE 01 does 1x6, PE 10 adds 2x7 to 5 = 19, y[0, 0]. And so on.
    """
    frames = list(steps([[1, 2], [3, 4]], [[5, 6], [7, 8]]))
    assert [frame["passing"] for frame in frames[:3]] == [
        [[1, None], [None, None]],
        [[3, 1], [2, None]],
        [[None, 3], [4, 2]],
    ]
    assert [frame["falling"] for frame in frames[:3]] == [
        [[5, None], [None, None]],
        [[15, 6], [19, None]],
        [[None, 18], [43, 22]],
    ]
    assert frames[1]["says"] == "Cycle 2 of 4: 3 of 4 elements multiply; one result is complete."


# (dataflow, m, k, n, side of the array): total cycles that SCALE-Sim 2.0.2 prints, run unmodified without stalls
SCALE_SIM = {
    ("output", 64, 64, 64, 8): 4991,
    ("output", 512, 64, 64, 8): 39935,
    ("output", 64, 64, 512, 8): 39935,
    ("output", 64, 512, 64, 8): 33663,
    ("weight", 55 * 55, 11 * 11 * 3, 96, 32): 112283,  # its own golden file: AlexNet's first convolution
}


@pytest.mark.parametrize("case", SCALE_SIM)
def test_the_public_simulator_prints_the_number_of_the_last_cycle(case):
    dataflow, m, k, n, side = case
    assert last_cycle(m, k, n, rows=side, columns=side, dataflow=dataflow) == SCALE_SIM[case]


def test_an_output_stationary_array_is_drained():
    """Eight cubed on 8 x 8: 2R + C + K - 2 = 30 cycles, where the public simulator prints 21."""
    assert cycles(8, 8, 8, rows=8, columns=8, dataflow="output").drain == 8
    assert cycles(8, 8, 8, rows=8, columns=8, dataflow="output").total == 30
    assert last_cycle(8, 8, 8, rows=8, columns=8, dataflow="output") == 21


def test_utilization_tends_to_the_streams():
    assert utilization(10**6, 128, 128, rows=128, columns=128) == pytest.approx(1, rel=1e-3)
    assert stream_utilization(128, rows=128, columns=128) == 128 / 382
    counted = cycles(512, 128, 128, rows=128, columns=128)
    assert stream_utilization(512, rows=128, columns=128) == counted.stream / (counted.stream + counted.skew)
    assert utilization(1, 1, 1, rows=128, columns=128) == 1 / (128 * 128 * (128 + 1 + 254))


def test_a_tpu_v1_waits_for_weights_until_1349_rows_share_them():
    """65,536 bytes at 34 GB/s last 1.93 us, which are 1,349 cycles of 700 MHz."""
    shape = {"rows": 256, "columns": 256, "bytes_per_cycle": 34e9 / 700e6}
    few, enough = overlapped_cycles(200, 4096, 4096, **shape), overlapped_cycles(1350, 4096, 4096, **shape)
    load = 65536 / (34e9 / 700e6)
    assert round(load) == 1349
    assert few.stalled == pytest.approx(256 * load - 255 * 200)
    assert enough.stalled == pytest.approx(load)  # for the first tile alone
    assert (
        overlapped_cycles(1350, 256, 256, rows=256, columns=256).total
        == cycles(1350, 256, 256, rows=256, columns=256).total
    )


@given(m=SIZE, k=SIZE, n=SIZE, rows=SIZE, columns=SIZE)
@settings(max_examples=50)
def test_hiding_the_loads_never_costs_and_never_beats_the_work(m, k, n, rows, columns):
    shape = {"rows": rows, "columns": columns}
    assert m * k * n / (rows * columns) <= overlapped_cycles(m, k, n, **shape).total <= cycles(m, k, n, **shape).total


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: cycles(0, 1, 1, rows=1, columns=1), "m is 0; give a whole number"),
        (lambda: cycles(1, 1, 1, rows=1, columns=1, dataflow="row"), "dataflow is 'row'; choose one of weight, output"),
        (lambda: overlapped_cycles(1, 1, 1, rows=1, columns=1, bytes_per_cycle=0), "bytes_per_cycle is 0"),
        (lambda: simulate(np.ones((2, 3)), np.ones((2, 3)), rows=1, columns=1), r"x has shape \(2, 3\) and w \(2, 3\)"),
        (lambda: list(steps([[1, 2]], [[1]])), "x is 1 x 2 and w 1 x 1"),
        (lambda: list(steps([[1], [1, 2]], [[1]])), "x has rows of length 1, 2"),
        (lambda: list(steps([[1]] * MAX_STEPS, [[1, 1]])), f"takes {MAX_STEPS + 1} cycles"),
    ],
)
def test_bad_input_is_named(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()


def test_types_that_cannot_be_are_named():
    with pytest.raises(TypeError, match=r"rows is 2.0 \(float\)"):
        cycles(1, 1, 1, rows=2.0, columns=1)
    with pytest.raises(TypeError, match="x and w hold complex128"):
        simulate(np.ones((1, 1), complex), np.ones((1, 1)), rows=1, columns=1)


def test_floats_keep_their_type_and_large_integers_are_exact():
    x = np.full((3, 4), 2**30)
    assert np.array_equal(simulate(x, x.T, rows=2, columns=2).product, x @ x.T)
    assert simulate(np.ones((3, 4), np.float32), np.ones((4, 3), np.float32), rows=2, columns=2).product.dtype == "f4"
