"""The frames of the scheduler's timeline: letters against the steps taken, and what the scenes are to teach."""

import json
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.figures.own import Pick
from hwlab.figures.timeline import MOST_STEPS, OWN, SCENES, Load, frames, totals


@st.composite
def own(draw):
    """Values that a reader may set, small enough for many of them."""
    values = {
        field.name: draw(st.sampled_from(sorted(field.options))) for field in OWN.fields if isinstance(field, Pick)
    }
    return values | {
        "max_batch": draw(st.integers(1, 5)),
        "requests": draw(st.integers(1, 7)),
        "prompt": 16 * draw(st.integers(1, 6)),
        "answer": draw(st.integers(1, 6)),
        "gap": draw(st.integers(0, 30)),
        "num_blocks": draw(st.sampled_from([16, 24, 512])),
    }


@settings(max_examples=60)
@given(own())
def test_letters_are_what_the_steps_did(values):
    load = OWN.build(**OWN.values(values))
    found = list(frames(load))
    last = found[-1]
    rows = dict(last["rows"])
    sums = last["totals"]
    written = sum(answer for _, answer, _ in load.requests)
    assert sums["written"] == written and sums["ended"] == len(load.requests) and sums["steps"] == len(found)
    letters = "".join(rows.values())
    assert letters.count("i") == sums["idle"] and (sums["idle"] == 0 or load.policy == "static")
    assert set(letters) <= set(" wpdiesx")
    for step in range(len(found)):
        at = [cells[step] for cells in rows.values() if step < len(cells)]
        assert 0 < sum(letter in "pdix" for letter in at) <= load.max_batch
    for (_, answer, _), cells in zip(load.requests, rows.values(), strict=True):
        assert cells.count("d") + cells.count("p") + cells.count("x") >= answer
        assert cells.strip()[0] in "wp"
    assert sums["seconds"] >= sum(last["seconds"]) - 1e-6 * len(found)


def test_each_frame_goes_on_where_the_one_before_ended():
    for _, load in SCENES.values():
        found = list(frames(load))
        for before, after in pairwise(found):
            for (_, old), (_, new) in zip(before["rows"], after["rows"], strict=True):
                assert new.startswith(old)
            assert after["seconds"][:-1] == before["seconds"] and len(after["seconds"]) == after["totals"]["steps"]
        assert all(frame["says"] and frame["arithmetic"] for frame in found)


def test_the_scenes_hold_the_lesson():
    sums = {key: totals(load) for key, (_, load) in SCENES.items()}
    assert sums["static"]["steps"] == 50 and sums["continuous"]["steps"] == 26  # 17 + 21 + 12, worked by hand
    assert sums["static"]["idle"] == 4 * 50 - 93 and sums["continuous"]["idle"] == 0
    assert sums["whole"]["longest_gap_s"] > 8 * sums["chunked"]["longest_gap_s"]
    assert sums["recompute"]["again"] > 0 == sums["swap"]["again"]
    assert sums["recompute"]["preempted"] == sums["swap"]["preempted"] > 0
    assert sums["recompute"]["written"] == sums["swap"]["written"]


def test_short_prompts_that_come_with_a_long_one_do_not_wait_for_it():
    rows = dict(list(frames(SCENES["chunked"][1]))[-1]["rows"])
    long, *short = (rows[id].strip() for id in (4, 5, 6, 7))
    assert long.count("p") > 10 and all(cells.startswith("pd") for cells in short)


def test_what_never_fits_and_what_is_too_long_is_refused_in_words():
    with pytest.raises(ValueError, match="request 1 needs 7 blocks for 40 tokens"):
        Load(requests=((40, 60, 0.0),), num_blocks=4)
    with pytest.raises(ValueError, match=f"more than {MOST_STEPS} steps, and no more are shown"):
        list(frames(Load(requests=tuple((16, 200, 0.0) for _ in range(4)), max_batch=2)))


def test_frames_need_no_widgets_and_no_numpy():
    code = (
        "import sys; from hwlab.figures.timeline import SCENES, frames; "
        "heavy = {'numpy', 'altair', 'traitlets', 'jax'} & set(sys.modules); "
        "print(len(list(frames(SCENES['static'][1]))), sorted(heavy))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split(maxsplit=1) == ["50", "[]\n"]


def test_frames_are_plain_data_and_light():
    for _, load in SCENES.values():
        assert len(json.dumps(list(frames(load)), allow_nan=False)) < 70_000
