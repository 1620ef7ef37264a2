"""The frames of the rounds machine: what speculative decoding does, step by step, and what its scenes teach."""

import json
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.figures.own import Pick
from hwlab.figures.rounds import OWN, ROUNDS, SCENES, TEXTS, Scene, frames, guesses_and_verdicts
from hwlab.serving.ngrams import NGrams
from hwlab.serving.speculative import rounds


@st.composite
def own(draw):
    values = {f.name: draw(st.sampled_from(sorted(f.options) if isinstance(f, Pick) else f.stops)) for f in OWN.fields}
    return values


def written(scene):
    """The rounds of a scene by `rounds`, which knows nothing of frames."""
    _, text, prompt = TEXTS[scene.text]
    model = NGrams(text, 5)
    target, draft = scene.models()
    uniform = random.Random(scene.seed).random
    found = rounds(draft, target, model.ids(prompt), guesses=scene.guesses, tokens=10_000, uniform=uniform)
    return model, [next(found) for _ in range(ROUNDS)]


def check(scene):
    found = list(frames(scene))
    assert json.loads(json.dumps(found)) == found and all(f["says"] and f["arithmetic"] for f in found)
    model, expected = written(scene)
    last = found[-1]
    assert last["counts"]["taken"] == sum(r.accepted for r in expected)
    assert last["counts"]["written"] == sum(len(r.tokens) for r in expected) == last["counts"]["taken"] + ROUNDS
    for (guesses, end), r in zip(last["rounds"], expected, strict=True):
        taken = [letter for letter, state in guesses if state == "taken"]
        assert "".join(taken) + end[0] == model.text(r.tokens)
        states = [state for _, state in guesses]
        assert states[: r.accepted] == ["taken"] * r.accepted
        if r.accepted < len(states):
            assert states[r.accepted :] == ["refused", *["dropped"] * (len(states) - r.accepted - 1)]
        assert end[1] == ("instead" if r.accepted < len(states) else "more")
    assert last["text"] == (TEXTS[scene.text][2] + "".join(model.text(r.tokens) for r in expected))[-20:]
    for frame in found:
        if frame["draw"]:
            drawn, limit = frame["draw"]
            guesses, _ = frame["rounds"][-1]
            state = [s for _, s in guesses if s in ("taken", "refused")][-1]
            assert (drawn < limit) == (state == "taken") or abs(drawn - limit) < 1e-4  # both are rounded
        for of in (frame["bars"] or {}).values():
            assert of is None or isinstance(of[0], str) or sum(of) <= 1.001
    return found


@settings(max_examples=40)
@given(own())
def test_frames_are_the_rounds_of_the_package(values):
    check(OWN.build(**OWN.values(values)))


def test_the_scenes_hold_the_lesson():
    last = {key: check(scene)[-1] for key, (_, scene) in SCENES.items()}
    each = {key: frame["counts"]["written"] / frame["counts"]["steps"] for key, frame in last.items()}
    assert each["good"] > 3 and each["bad"] < 1.5 and each["look-up"] > 3 and each["greedy"] > 2
    model, expected = written(SCENES["greedy"][1])
    target, _ = SCENES["greedy"][1].models()
    text = model.ids(TEXTS["rhyme"][2])
    for token in (token for r in expected for token in r.tokens):  # greedy: what the target alone would write
        assert target(text)[token] == 1
        text.append(token)


@pytest.mark.parametrize(
    ("change", "says"),
    [({"text": "prose"}, "text is 'prose'"), ({"draft": "9"}, "draft is '9'"), ({"guesses": 9}, "guesses is 9")],
)
def test_what_is_no_scene_is_refused(change, says):
    with pytest.raises(ValueError, match=says):
        Scene(**change)


def test_a_scene_of_the_reader_s_own_needs_neither_arrays_nor_widgets():
    code = (
        "import sys; from hwlab.figures import rounds; from hwlab.figures.own import computed; "
        "list(computed(rounds.frames, rounds.OWN, {'guesses': 8})); "
        "print([m for m in ('numpy', 'altair', 'ipywidgets', 'jax') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_the_widget_shows_where_a_scene_leads():
    machine = guesses_and_verdicts()
    assert machine.frame["says"].startswith("Done: 6 steps of the target have written ")
    machine.own = {"text": "sonnet", "draft": "look-up"}
    assert machine.scene == "own" and machine.frame["counts"]["steps"] <= 1
