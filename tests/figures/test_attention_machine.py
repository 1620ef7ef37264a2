"""The frames of the attention machine are what the stepper does; the scenes hold the lesson; bounds refuse in words."""

import json
import subprocess
import sys
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.figures.attention import MOST_TOKENS, OWN, SCENES, Scene, attention_by_blocks, frames
from hwlab.figures.own import Pick


@st.composite
def own(draw):
    """Values that a reader may set."""
    values = {
        field.name: draw(st.sampled_from(sorted(field.options) if isinstance(field, Pick) else field.stops))
        for field in OWN.fields
    }
    return values | {"q_len": min(values["q_len"], values["kv_len"])}


def check(scene, found):
    """Hold every frame against the step it tells of."""
    for frame, step in zip(found, scene.steps(), strict=True):
        assert frame["phase"] == step.phase and frame["rows"] == list(step.rows) and frame["keys"] == list(step.keys)
        assert sum(frame["bytes"].values()) == step.traffic.total
        assert frame["total"] == [round(x, 3) for x in step.total]
        assert frame["most"] == [None if x == -inf else round(x, 3) for x in step.most]
        masked = [[score == -inf for score in row] for row in step.scores]
        assert [[cell is None for cell in row] for row in frame["tile"]] == masked
        assert frame["says"] and frame["arithmetic"] and 0 <= frame["focus"] < len(frame["most"])
    traffic = scene.naive() if scene.kernel == "three" else scene.blocked()
    assert found[-1]["bytes"] == {name: getattr(traffic, name) for name in ("q", "k", "v", "out", "scores")}
    assert found[-1]["done"] == scene.q_len and found[-1]["naive"] == scene.naive().total
    assert f"{max(frame['fast'] for frame in found):,} bytes lay in fast memory" in found[-1]["says"]


@settings(max_examples=60)
@given(own())
def test_frames_are_those_of_the_stepper(values):
    scene = OWN.build(**OWN.values(values))
    found = list(frames(scene))
    check(scene, found)
    assert json.loads(json.dumps(found)) == found


def test_the_shipped_scenes_are_right_and_compact():
    for _, scene in SCENES.values():
        found = list(frames(scene))
        assert len(found) <= 100 and len(json.dumps(found)) < 40_000
        check(scene, found)


def test_the_scenes_hold_the_lesson():
    last = {key: list(frames(scene))[-1] for key, (_, scene) in SCENES.items()}
    # by hand, 12 tokens of 2 x 4 bytes are 96: q and out once each; k and v for each of 3 blocks of queries, under
    # `causal` 1, 1 (the second stays from before) and 3 blocks of 32 bytes; 4 x 144 scores of 4 bytes
    assert {key: sum(frame["bytes"].values()) for key, frame in last.items()} == {
        "blocks": 2 * 96 + 2 * 3 * 96,
        "three": 4 * 96 + 4 * 144 * 4,
        "causal": 2 * 96 + 2 * 5 * 32,
        "tall": 4 * 96,
    }
    assert "Three kernels move 2,688, 3.5 times as many, 2,304 of them scores and weights." in last["blocks"]["says"]
    assert last["three"]["says"].endswith("Blocks of 4 queries and 4 keys move 768.")


def test_fast_memory_by_hand():
    """4 queries: 4 x 2 in float32, as many weighted values, a maximum and a sum; 4 keys and values; 16 scores."""
    held = [frame["fast"] for frame in frames(SCENES["blocks"][1])]
    assert held[:2] == [32 + 32 + 32, 96 + 2 * 32 + 64] and max(held) == 224
    three = [frame["fast"] for frame in frames(SCENES["three"][1])]
    assert three[:: len(three) // 3] == [8 + 96 + 48, 48, 96 + 48 + 8]


def test_sentences_say_what_happened_and_why():
    says = [frame["says"] for frame in frames(SCENES["blocks"][1])]
    assert says[1].startswith("Keys 0 to 3 and their values come in: 16 scores, in fast memory only. For query 1 the")
    assert says[2] == "The first maximum of query 1 is 1.4. It has no sum yet that would need scaling."
    assert "its sum and its weighted values are scaled by exp(1.4 − 2.38) = 0.377" in says[5]
    assert says[8] == "The maximum of query 1 stays 2.38, and so do its sum and its weighted values."
    assert says[10] == (
        "Queries 0 to 3 have seen all keys: each divides its weighted values by its sum and is written, once."
    )
    causal = [frame["says"] for frame in frames(SCENES["causal"][1])]
    assert causal[6].startswith("Keys 0 to 3 and their values are still here")
    unseen = list(frames(Scene(q_len=4, kv_len=4, block_q=4, block_k=1, causal=True, seed=3)))
    assert all(frame["says"] for frame in unseen)
    one = [frame["says"] for frame in frames(Scene(q_len=1, kv_len=1, block_q=1, block_k=1))]
    assert one[0].startswith("Query 0 comes in. It has") and one[1].startswith("Key 0 and its values come in: 1 score,")
    assert one[-1].startswith("Query 0 has seen all keys: it divides its weighted values by its sum and is written")


def test_decoding_saves_little():
    """One query among twelve keys: the scores are one row, and the keys are read once in either way."""
    scene = Scene(q_len=1, block_q=1)
    assert scene.naive().total - scene.blocked().total == 4 * 12 * 4


def test_a_scene_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="13 queries and 12 keys; at most 12 of each are drawn"):
        Scene(q_len=MOST_TOKENS + 1)
    with pytest.raises(ValueError, match="causal attention of 8 queries among 4 keys"):
        OWN.build(**OWN.values({"q_len": 8, "kv_len": 4, "causal": "yes"}))
    with pytest.raises(ValueError, match="kernel is 'one'; choose 'blocks' or 'three'"):
        Scene(kernel="one")


def test_the_machine_starts_where_the_blocks_end():
    machine = attention_by_blocks()
    assert (machine.scene, machine.at) == ("blocks", len(machine.frames) - 1)
    machine.own = {"q_len": 1, "block_q": 1, "kernel": "three"}
    assert machine.frames == list(frames(OWN.build(**OWN.values(machine.own))))


def test_frames_need_neither_widgets_nor_charts():
    code = (
        "import sys; from hwlab.figures.attention import SCENES, frames; list(frames(SCENES['causal'][1]))\n"
        "print([m for m in ('anywidget', 'altair', 'numpy', 'ipywidgets', 'jax') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
