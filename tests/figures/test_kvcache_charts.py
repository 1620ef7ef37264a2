"""The pictures of chapter 9 draw what is computed; the machine's frames count what is kept."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.figures import cache_by_token, kvcache
from hwlab.figures.own import MOST_FRAMES, Pick, computed
from hwlab.figures.weighing import HEAD, LAYERS, OWN, SCENES, Scene, frames
from hwlab.specs.chips import chip
from hwlab.specs.measurements import measurements
from hwlab.specs.models import model

CHARTS = {
    "growth": kvcache.growth,
    "three answers": kvcache.three_answers,
    "kept and taken": kvcache.kept_and_taken,
    "few bits": lambda: kvcache.few_bits({"int8": (8.75, 0.9), "int4": (4.625, 17.0)}),
    "holders": kvcache.holders,
    "split": kvcache.split,
    "logs": lambda: kvcache.logs(measurements("cache")),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_says_what_is_to_be_seen_and_has_its_rows(name):
    spec = CHARTS[name]().to_dict()
    assert len(spec["description"].split()) >= 12
    rows = next(iter(spec["datasets"].values())) if "datasets" in spec else spec["data"]["values"]
    assert len(rows) >= 2 and all(rows)


def test_the_three_answers_are_the_three_of_the_question():
    stated, plain, true = (answer.nbytes for answer in kvcache.answers())
    assert (stated, plain, true) == (35e9, 2 * 80 * 64 * 128 * 2 * 4096, 2 * 80 * 8 * 128 * 2 * 4096)


def test_slips_have_the_factors_that_their_reports_name():
    by_id = {id: [slip.each for slip in kvcache.slips(model(id))] for id in ("llama-2-7b", "llama-3-8b")}
    for id, factors in (("llama-2-7b", [2, 1, 1]), ("llama-3-8b", [8, 4, 1])):
        right, *wrong = by_id[id]
        assert [each / right for each in wrong] == factors


def test_groups_of_chips_hold_what_their_weights_leave():
    llama = model("llama-3.1-70b")
    held = kvcache.held_by("h200-sxm", 8, llama)
    assert held.sequences == int((0.9 * 8 * chip("h200-sxm").memory_bytes - 2 * llama.num_params) // 1342177280)
    assert kvcache.held_by("groq-lpu", 8, llama).sequences == 0


def test_the_explorer_says_how_many_fit_and_where_they_no_longer_do():
    explorer = kvcache.cache_explorer()
    assert explorer.value() == 1342177280 and "which would hold 64 if it held no weights" in explorer.says()
    explorer.sequences = 65
    assert "That does not fit" in explorer.says() and "There is room for 64 of this length" in explorer.says()
    explorer.bits = "fp8"
    assert explorer.value() == 65 * 1342177280 / 2 and "That fits" in explorer.says()
    assert len(explorer.arithmetic()) == 3


@st.composite
def own(draw):
    """Values that a reader may set and that go together."""
    values = {
        field.name: draw(st.sampled_from(sorted(field.options) if isinstance(field, Pick) else field.stops))
        for field in OWN.fields
    }
    if int(values["heads"]) % int(values["kv_heads"]):
        values["kv_heads"] = "1"
    return values


@settings(max_examples=60)
@given(own())
def test_every_frame_counts_what_its_layers_keep(values):
    scene = OWN.build(**OWN.values(values))
    found = list(frames(scene))
    assert len(found) == LAYERS + scene.tokens < MOST_FRAMES
    entry = 2 * int(values["kv_heads"]) * HEAD * int(values["bits"]) // 8
    for frame in found:
        kept = 0
        for first, end in frame["layers"]:
            assert 0 <= first <= end <= frame["token"]
            kept += end - first
        assert frame["bytes"] == kept * entry and json.dumps(frame)
        assert frame["plain"] >= frame["bytes"] and f"{frame['bytes']:,} B" in frame["arithmetic"][1]
    for i, (first, end) in enumerate(found[-1]["layers"]):
        whole = not values["window"] or (int(values["full_every"]) and (i + 1) % int(values["full_every"]) == 0)
        assert end == scene.tokens and end - first == (end if whole else min(end, values["window"]))


def test_the_untouched_scenes_hold_the_lesson():
    ends = {key: list(frames(scene))[-1]["bytes"] for key, (_, scene) in SCENES.items()}
    assert ends["mha"] == 4 * ends["gqa"] == 8 * ends["mqa"]
    assert ends["mqa"] < ends["window"] < ends["gqa"] < ends["mla"] < ends["mha"]
    machine = cache_by_token()
    assert machine.scene == "gqa" and machine.frame["bytes"] == ends["gqa"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"heads": "4", "kv_heads": "8"}, "4 query heads cannot share 8 key heads evenly; give a divisor of 4"),
        ({"tokens": 25}, "tokens is 25; give a number from 1 to 24"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given, message):
    with pytest.raises(ValueError, match=message):
        list(computed(frames, OWN, given))
    with pytest.raises(ValueError, match="give 1 to 24 tokens"):
        Scene(bits=3)


def test_frames_need_neither_numpy_nor_widgets():
    code = (
        "import sys; from hwlab.figures.weighing import SCENES, frames; list(frames(SCENES['mla'][1]))\n"
        "assert not {'numpy', 'altair', 'anywidget', 'ipywidgets'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
