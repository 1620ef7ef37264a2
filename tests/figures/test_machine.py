"""A machine's frames are those of its function; its player starts where the lesson is; its fragment stands alone."""

import json
import re
import subprocess
import sys

import pytest
from traitlets import TraitError

from hwlab.costs.blocking import Scene, steps
from hwlab.figures import Machine, blocked_product
from hwlab.figures.blocked_matmul import OWN, SCENES, frames


def test_frames_are_those_of_the_stepper():
    for _, scene in SCENES.values():
        shown, counted = frames(scene), list(steps(scene))
        assert len(shown) == len(counted) == scene.num_steps + 1
        for mine, its in zip(shown[:-1], counted[:-1], strict=True):
            assert its.items() <= mine.items()
        assert shown[-1]["bytes"] == scene.traffic.total
        assert shown[-1]["says"].startswith(counted[-1]["says"])


def test_the_scenes_hold_the_lesson():
    last = {key: frames(scene)[-1] for key, (_, scene) in SCENES.items()}
    moved = {key: frame["bytes"] for key, frame in last.items()}
    # by hand, 6 x 6 in float32: 2 x 216 + 36 elements; tiles of 2 halve A and B; of 3, a third; with k outermost
    # A is read once, B twice, C written twice and read once
    assert moved == {"none": 4 * 468, "small": 4 * 252, "large": 4 * 180, "order": 4 * (36 + 72 + 108)}
    assert len({frame["flop"] for frame in last.values()}) == 1
    assert last["large"]["says"].endswith("In all 720 bytes have moved; without tiles 1,872 would, 2.6 times as many.")
    assert last["none"]["says"].endswith("1,872 bytes have moved for 432 FLOP: no tile is larger than an element.")


def test_scene_and_frame_can_be_set_and_observed():
    machine, seen = blocked_product(), []
    assert machine.at == len(machine.frames) - 1
    machine.observe(lambda change: seen.append((change["name"], change["new"])), ["scene", "at"])
    machine.scene = "large"
    machine.at = 3
    assert seen == [("at", 0), ("scene", "large"), ("at", 3)] or seen == [("scene", "large"), ("at", 0), ("at", 3)]
    assert machine.frame == frames(SCENES["large"][1])[3]
    with pytest.raises(TraitError, match="has 0 to 8"):
        machine.at = 9
    with pytest.raises(TraitError, match="there are none, small, large, order"):
        machine.scene = "tiny"
    assert (machine.scene, machine.at) == ("large", 3)


def test_scene_and_frame_that_arrive_together_both_hold():
    machine = blocked_product()
    machine.set_state({"scene": "large", "at": 5})
    assert (machine.scene, machine.at) == ("large", 5)


def test_a_scene_of_ones_own_can_be_set_and_observed():
    machine, seen = blocked_product(), []
    machine.observe(lambda change: seen.append(change["new"]), "own")
    machine.own = {"m": 4, "k": 4, "n": 4, "order": "kmn"}
    scene = Scene(m=4, k=4, n=4, block_m=4, block_k=1, block_n=4, itemsize=4, order="kmn")
    assert (machine.scene, machine.at, machine.frames) == ("own", 0, frames(scene))
    assert machine.own == OWN.start | {"m": 4, "k": 4, "n": 4, "order": "kmn"} == seen[-1]


def test_a_scene_of_ones_own_that_is_refused_changes_nothing():
    machine = blocked_product()
    machine.own = {"m": 5, "n": 4}
    machine.at = 2
    before = (machine.scene, machine.at, machine.own, machine.frames)
    for wrong, says in (
        ({"m": 13}, "m is 13; give a number from 1 to 12"),
        ({"m": 2}, "block_m is 4, but m is only 2; choose a tile of 1 to 2"),
        ({"rows": 2}, "has no 'rows'; it has m, k, n,"),
    ):
        with pytest.raises(TraitError, match=re.escape(says)):
            machine.own = wrong
        assert (machine.scene, machine.at, machine.own, machine.frames) == before
    machine.own = None
    assert (machine.scene, machine.at) == ("none", 0)
    with pytest.raises(TraitError, match="there is no scene 'own'"):
        machine.scene = "own"


def test_a_front_end_is_sent_frames_or_the_refusal():
    machine, sent = blocked_product(), []
    machine.send = sent.append
    machine._handle_custom_msg({"type": "frames", "id": 1, "values": {"m": 4}}, [])
    machine._handle_custom_msg({"type": "frames", "id": 2, "values": {"m": 40}}, [])
    machine._handle_custom_msg({"type": "stop"}, [])
    assert sent == [
        {"type": "frames", "id": 1, "frames": machine.frames},
        {"type": "refused", "id": 2, "says": "m is 40; give a number from 1 to 12"},
    ]
    assert machine.scene == "own" and machine.own["m"] == 4


def test_a_machine_may_do_without_scenes_of_ones_own():
    rest = {"columns": {}, "picture": lambda last: {"mark": "point", "data": {"values": []}}, "alt": ""}
    machine = Machine("m", "blocked_matmul", frames, {"small": SCENES["small"]}, scene="small", **rest)
    with pytest.raises(TraitError, match="the machine m takes no scene of the reader's own"):
        machine.own = {"m": 4}
    with pytest.raises(ValueError, match="key is 'own', which is kept"):
        Machine("m", "blocked_matmul", frames, {"own": SCENES["small"]}, scene="own", **rest)


def test_a_machine_without_scenes_or_sentences_is_refused():
    rest = {"columns": {}, "picture": lambda last: None, "alt": ""}
    with pytest.raises(ValueError, match="starts at 'a'; its scenes are none"):
        Machine("m", "m", lambda scene: [], {}, scene="a", **rest)
    with pytest.raises(ValueError, match="frame without a sentence"):
        Machine("m", "m", lambda scene: [{"says": ""}], {"a": ("A", None)}, scene="a", **rest)


def test_the_fragment_is_complete_without_a_script(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")
    html = blocked_product()._repr_mimebundle_()["text/html"]
    assert html.startswith('<div class="hw-live" id="hw-blocked" data-kind="machine" data-module="blocked_matmul">')
    assert "<td>Tiles of 3 × 3</td><td>288</td><td>288</td><td>144</td><td>720</td><td>0.6</td>" in html
    assert "<dt>Step</dt><dd>28 of 28</dd>" in html
    state = json.loads(re.search(r'<script type="application/json">(.*)</script>', html)[1])
    assert state["payload"]["frames"] == {key: frames(scene) for key, (_, scene) in SCENES.items()}
    assert len(html) < 150_000 and "frames" not in state


def test_a_page_is_given_the_frames_of_a_scene_of_ones_own(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")
    machine = blocked_product()
    machine.own = {"m": 4, "k": 4, "n": 4}
    html = machine._repr_mimebundle_()["text/html"]
    state = json.loads(re.search(r'<script type="application/json">(.*)</script>', html)[1])
    assert (state["scene"], state["own"], state["frames"]) == ("own", machine.own, machine.frames)


def test_frames_need_neither_widgets_nor_charts():
    code = (
        "import sys; from hwlab.figures.blocked_matmul import SCENES, frames; frames(SCENES['small'][1])\n"
        "print([m for m in ('anywidget', 'altair', 'numpy', 'ipywidgets', 'vl_convert') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
