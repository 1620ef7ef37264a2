"""The frames of the systolic machine: products and cycles as elsewhere, the printed list in its first row, refusals."""

import json
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.costs.systolic import DATAFLOWS, cycles, utilization
from hwlab.figures.systolic import AHEAD, MOST_SIDE, MOST_SIZE, OWN, ROLES, SCENES, Scene, frames, systolic_array


@st.composite
def scenes(draw):
    sizes = {axis: draw(st.integers(1, MOST_SIZE)) for axis in "mkn"}
    sides = {side: draw(st.integers(1, MOST_SIDE)) for side in ("rows", "columns")}
    return Scene(**sizes, **sides, dataflow=draw(st.sampled_from(DATAFLOWS)))


def check(scene, found):
    a, b = map(np.array, scene.matrices)
    sizes = {"rows": scene.rows, "columns": scene.columns, "dataflow": scene.dataflow}
    count = cycles(scene.m, scene.k, scene.n, **sizes)
    assert len(found) == count.total == found[-1]["cycle"] == found[-1]["cycles"]
    assert (np.array(found[-1]["product"]) == a @ b).all()
    assert found[-1]["macs"] == scene.m * scene.k * scene.n
    assert found[-1]["utilization"] == pytest.approx(utilization(scene.m, scene.k, scene.n, **sizes))
    macs, before = 0, [[None] * scene.n for _ in range(scene.m)]
    for cycle, frame in enumerate(found, 1):
        macs += len(frame["active"])
        assert (frame["cycle"], frame["macs"]) == (cycle, macs)
        changed = [[i, j] for i in range(scene.m) for j in range(scene.n) if frame["product"][i][j] != before[i][j]]
        assert sorted(frame["fresh"]) == changed
        assert len([value for value in frame["leaving"] if value is not None]) == len(changed)
        before = frame["product"]
        for row, column in frame["active"]:
            assert row < frame["used"][0] and column < frame["used"][1]
            for part in ("held", "passing", "falling"):
                assert frame[part][row][column] is not None


@settings(max_examples=60, deadline=None)
@given(scenes())
def test_every_scene_ends_in_the_product_after_the_cycles_of_the_closed_form(scene):
    found = list(frames(scene))
    check(scene, found)
    assert json.loads(json.dumps(found)) == found


@settings(max_examples=30, deadline=None)
@given(scenes())
def test_what_waits_on_the_left_enters_in_that_order(scene):
    found = list(frames(scene))
    for now, later in pairwise(found):
        if now["left"][0][:1] and later["active"]:
            assert [row[0] for row in now["left"]] == [row[0] for row in later["passing"]]
            assert all(len(row) <= AHEAD for row in now["left"])


def test_the_shipped_scenes_are_right_frame_by_frame():
    for _, scene in SCENES.values():
        check(scene, list(frames(scene)))


def test_the_printed_list_is_right_for_the_first_row_alone():
    # The printed list: c1 A[0,0] in MAC[0,0]; c2 A[0,0] in MAC[0,1], A[1,0] in MAC[0,0]; c3 A[0,0] in MAC[0,2], ...
    scene = SCENES["square"][1]
    a, _ = scene.matrices
    work = list(frames(scene))[scene.rows :]
    printed = [{(0, 0): (0, 0)}, {(0, 1): (0, 0), (0, 0): (1, 0)}, {(0, 2): (0, 0), (0, 1): (1, 0), (0, 0): (2, 0)}]
    # each row below follows one cycle later: worked by hand
    left_out = [{}, {(1, 0): (0, 1)}, {(1, 1): (0, 1), (1, 0): (1, 1), (2, 0): (0, 2)}]
    for frame, listed, more in zip(work, printed, left_out, strict=False):
        held = {
            (r, c): value for r, row in enumerate(frame["passing"]) for c, value in enumerate(row) if value is not None
        }
        assert held == {place: a[i][k] for place, (i, k) in (listed | more).items()}
        assert sorted(map(list, held)) == sorted(frame["active"])
    assert work[2]["says"].endswith("Row 0 has A[2,0], A[1,0], A[0,0]; row 1 A[1,1], A[0,1]; row 2 A[0,2].")


def test_weights_are_there_when_work_begins():
    scene = SCENES["skew"][1]
    _, b = scene.matrices
    found = list(frames(scene))
    assert found[0]["held"][0] == b[-1] and found[0]["held"][1] == [None] * scene.columns  # the last row goes in first
    assert [frame["held"] for frame in found[scene.rows - 1 :]] == [b] * (len(found) - scene.rows + 1)
    assert [column[0] for column in found[0]["above"]] == b[-2]


def test_the_scenes_hold_the_lesson():
    last = {key: list(frames(scene))[-1]["says"] for key, (_, scene) in SCENES.items()}
    # by hand: m rows pass in m + R + C - 2 cycles
    assert last["skew"].endswith("Done in 20 cycles, 40 % of what the MACs could do. With loading hidden, "
                                 "m/(m + r + c − 2) = 8/16 = 50 %.")  # fmt: skip
    assert last["token"].endswith("m/(m + r + c − 2) = 1/7 = 14.3 %.")
    assert last["padded"].endswith("= 8/16 = 50 %, of which padding leaves 48 %: 24 %.")  # 3 x 4 of 5 x 5
    assert last["output"].endswith("With draining hidden, k/(k + r + c − 2) = 8/14 = 57.1 %.")
    assert all(len(sentence) < 220 for sentence in last.values())


def test_phases_are_told_apart():
    says = [frame["says"] for frame in frames(SCENES["tiles"][1])]
    assert says[0].startswith("Tile 1 of 4, loading 1 of 3: a row of B enters from above")
    assert says[3] == "Tile 1 of 4, cycle 1 of 10: one of 9 MACs multiplies."
    assert says[5] == "Tile 1 of 4, cycle 3 of 10: 6 of 9 MACs multiply, 1 sum leaves below."
    padded = [frame["says"] for frame in frames(SCENES["padded"][1])]
    assert "none of 25 MACs multiplies more than padding, 2 sums leave below." in padded[18]
    sums = [frame["says"] for frame in frames(SCENES["output"][1])]
    assert sums[14] == "Draining 1 of 4: row 3 of C leaves below. No MAC multiplies."


def test_a_scene_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="columns is 7; give a number from 1 to 6"):
        Scene(m=1, k=1, n=1, rows=1, columns=7)
    with pytest.raises(ValueError, match="dataflow is 'none'; choose one of weight, output, input"):
        Scene(m=1, k=1, n=1, rows=1, columns=1, dataflow="none")
    with pytest.raises(ValueError, match="k is 0"):
        Scene(m=1, k=0, n=1, rows=1, columns=1)


def test_every_extreme_of_the_readers_own_is_allowed():
    for dataflow in ROLES:
        values = {"m": 8, "k": 8, "n": 8, "rows": 1, "columns": 1, "dataflow": dataflow}
        scene = OWN.build(**OWN.values(values))
        assert len(list(frames(scene))) == scene.cycles().total < 1000


def test_the_machine_starts_with_skewed_inputs():
    machine = systolic_array()
    assert (machine.scene, machine.at) == ("skew", len(machine.frames) - 1)
    machine.own = {"m": 1, "k": 2, "n": 2, "rows": 2, "columns": 2}
    assert (machine.scene, len(machine.frames)) == ("own", 2 + 1 + 2)


def test_frames_need_neither_widgets_nor_charts():
    code = (
        "import sys; from hwlab.figures.systolic import SCENES, frames; list(frames(SCENES['skew'][1]))\n"
        "print([m for m in ('anywidget', 'altair', 'numpy', 'ipywidgets', 'vl_convert') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
