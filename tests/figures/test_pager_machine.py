"""The frames of the pager machine are what the pager does; the scenes hold the lesson; what is no scene is refused."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.figures.own import Pick
from hwlab.figures.pager import OWN, SCENES, Scene, frames, pager_machine
from hwlab.serving.pager import OutOfBlocks

VALUES = st.fixed_dictionaries(
    {
        field.name: st.sampled_from(sorted(field.options))
        if isinstance(field, Pick)
        else st.integers(int(field.low), int(field.high))
        for field in OWN.fields
    }
)


def check(scene, found):
    """Do the script again on a pager of its own, with other token ids, and hold each frame against it."""
    pager, ids = scene.pager(), {}
    assert len(found) == len(scene.operations) + 1
    for operation, frame in zip(scene.operations, found[1:], strict=True):
        name, refused = operation.name, False
        tokens = [("s", i) for i in range(operation.shared)] if operation.what == "open" else ids.get(name, [])
        try:
            if operation.what == "open":
                tokens += [(name, operation.shared + i) for i in range(operation.tokens)]
                pager.open(name, [hash_of(t) for t in tokens], salt=operation.other.encode())
            elif operation.what == "grow":
                more = [(name, len(tokens) + i) for i in range(operation.tokens)]
                pager.grow(name, [hash_of(t) for t in more])
                tokens = tokens + more
            elif operation.what == "fork":
                pager.fork(name, operation.other)
                ids[operation.other] = list(tokens)
            else:
                pager.free(name)
                ids.pop(name)
        except (OutOfBlocks, LookupError, ValueError):
            refused = True
        else:
            if operation.what in ("open", "grow"):
                ids[name] = tokens
        pager.commit()
        assert ("refusal" in frame) == refused
        assert frame["tables"] == [[seq, pager.length(seq), list(pager.table(seq))] for seq in pager.sequences]
        assert frame["order"] == list(pager.free_blocks)
        waste = pager.waste()
        assert frame["waste"] == [waste.tokens, waste.internal, waste.cached, waste.free]
        assert sum(frame["waste"]) == scene.num_blocks * scene.block_tokens
        assert len(frame["kept"]) * scene.block_tokens == waste.cached
        for seq, length, table in frame["tables"]:
            letters = "".join(letter for letter, _ in ids[seq])
            written = "".join(frame["slots"][block][: scene.block_tokens] for block in table)
            assert written[:length] == letters
            assert all(seq in frame["users"][block] for block in table)


def hash_of(token):
    letter, i = token
    return 500 + i if letter == "s" else 10_000 * ord(letter) + i


@settings(max_examples=60)
@given(VALUES)
def test_frames_are_those_of_the_pager_whatever_the_reader_sets(values):
    scene = OWN.build(**OWN.values(values))
    found = list(frames(scene))
    check(scene, found)
    assert json.loads(json.dumps(found)) == found
    assert all(frame["says"] and frame["arithmetic"] for frame in found)


def test_the_shipped_scenes_are_right_frame_by_frame():
    for _, scene in SCENES.values():
        check(scene, list(frames(scene)))


def test_the_scenes_hold_the_lesson():
    found = {key: list(frames(scene)) for key, (_, scene) in SCENES.items()}
    d = next(frame for frame in found["holes"] if frame["operation"].startswith("open d"))
    assert d["tables"][-1][2] == [6, 11, 5, 4]  # not in a row, and out of order
    copies = [frame["copied"] for frame in found["fork"] if frame["copied"]]
    assert copies == [[2, 3], [2, 4]]  # the third writer has the block to itself
    assert [bool(frame.get("refusal")) for frame in found["full"]].count(True) == 3
    before, refused = found["full"][2], found["full"][3]
    assert all(refused[key] == before[key] for key in ("tables", "order", "slots", "waste", "kept"))
    assert "needs 10 blocks; the pool has 8 in all. Nothing has changed." in found["full"][8]["refusal"]
    gives_up = [frame["operation"] for frame in found["holes"] if "the cache gives up" in frame["says"]]
    assert gives_up[0].startswith("open d")
    tenants = {frame["operation"]: frame["found"] for frame in found["tenants"]}
    assert tenants["open c 8+2 tenant y"] == [] and tenants["open d 8+2 tenant y"] == [4, 5]


def test_what_is_no_operation_is_refused():
    for script in ("open a 3", "grow z 1", "drop a", ""):
        with pytest.raises(ValueError, match="is no operation; write open a 8\\+3"):
            Scene(num_blocks=4, block_tokens=2, script=script)
    with pytest.raises(ValueError, match="25 blocks of 4 tokens cannot be drawn"):
        Scene(num_blocks=25, block_tokens=4, script="open a 0+1")


def test_the_machine_starts_where_the_first_scene_ends():
    machine = pager_machine()
    assert (machine.scene, machine.at) == ("prefix", len(machine.frames) - 1)
    machine.own = {"num_blocks": 6}
    assert machine.frames == list(frames(OWN.build(**OWN.values({"num_blocks": 6}))))


def test_frames_need_neither_widgets_nor_charts():
    code = (
        "import sys; from hwlab.figures.pager import SCENES, frames; list(frames(SCENES['fork'][1]))\n"
        "print([m for m in ('anywidget', 'altair', 'numpy', 'ipywidgets', 'vl_convert') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
