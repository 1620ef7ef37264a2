"""The frames of a request: the roofline's times pass by pass, whatever the scene; refusals; what the scenes teach."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.costs.roofline import decode_step_time, prefill_time
from hwlab.figures.phases import CHIPS, MODELS, OWN, SCENES, Scene, frames, request_phases
from hwlab.specs.chips import chip
from hwlab.specs.models import model


def check(scene, found):
    on, of, shared = chip(scene.chip), model(scene.model), {"batch": scene.batch, "dtype": scene.dtype}
    assert len(found) == scene.answer == found[-1]["written"]
    first = prefill_time(of, on, prompt_tokens=scene.prompt, **shared)
    assert (found[0]["kind"], found[0]["seconds"], found[0]["bound"]) == ("prefill", first.seconds, first.bound)
    elapsed = 0.0
    for index, frame in enumerate(found):
        elapsed += frame["seconds"]
        assert frame["elapsed"] == pytest.approx(elapsed) and max(frame["busy"]) == 1
        moved = (frame["weights"] + frame["cache"]) / on.memory_bytes_per_s
        assert moved == pytest.approx(frame["busy"][1] * frame["seconds"])
        if index:
            step = decode_step_time(of, on, context=scene.prompt + index, **shared)
            assert (frame["kind"], frame["seconds"], frame["bound"]) == ("decode", step.seconds, step.bound)
    assert found[-1]["times"] == [first.seconds, pytest.approx(elapsed)]
    steps = [frame["seconds"] for frame in found[1:]]
    assert all(before <= after for before, after in pairwise(steps))  # the cache only grows


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(CHIPS)),
    st.sampled_from(sorted(MODELS)),
    st.integers(1, 2048),
    st.integers(2, 12),
    st.integers(1, 64),
)
def test_every_scene_takes_the_times_of_the_roofline(on, of, prompt, answer, batch):
    try:
        scene = Scene(chip=on, model=of, prompt=prompt, answer=answer, batch=batch)
    except ValueError as refusal:
        assert "choose a smaller model" in str(refusal)
        return
    found = list(frames(scene))
    check(scene, found)
    assert json.loads(json.dumps(found)) == found


def test_the_shipped_scenes_are_right_frame_by_frame():
    for _, scene in SCENES.values():
        check(scene, list(frames(scene)))


def test_each_scene_shows_what_it_is_there_for():
    bounds = {key: (found[0]["bound"], found[-1]["bound"]) for key, found in request_phases()._frames.items()}
    assert bounds == {
        "one": ("compute", "memory"),
        "short": ("memory", "memory"),
        "batch": ("compute", "memory"),
        "long": ("compute", "memory"),
        "experts": ("memory", "memory"),
        "wafer": ("compute", "compute"),
    }


def test_the_sentences():
    first, second, *_, last = frames(SCENES["batch"][1])
    assert first["says"].startswith(
        "Pass 1 reads all 1,024 tokens of each of 64 prompts at once, in 942 ms: arithmetic"
    )
    assert "Pass 2 writes token 2 of 64 for each of 64 users, in 7.05 ms: memory binds" in second["says"]
    assert last["says"].endswith("Done in 1.39 s: reading was 94.1 % of the tokens and took 67.7 % of the time.")
    assert first["arithmetic"][3] == "the longer of the two: 942 ms"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"prompt": 0}, "prompt"),
        ({"prompt": 70_000}, "prompt is 70,000; give a number from 1 to 65,536"),
        ({"batch": 300}, "batch is 300; give a number from 1 to 256"),
        ({"chip": "h100"}, "chip is 'h100'; choose one of h100-sxm"),
        ({"model": "gpt"}, "model is 'gpt'; choose one of llama-3.1-8b"),
        ({"model": "smollm2-135m", "prompt": 9000}, "takes at most 8,192, so give fewer"),
        ({"model": "llama-3.1-70b"}, "Llama 3.1 70B and its cache take 141 GB, and H100 SXM holds 85.9 GB"),
        ({"prompt": 65_536, "batch": 64}, "H100 SXM holds 85.9 GB; choose a smaller model, a shorter prompt"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(changed, message):
    with pytest.raises(ValueError, match=message):
        Scene(**{"chip": "h100-sxm", "model": "llama-3.1-8b", "prompt": 1024, "answer": 8} | changed)


def test_the_fields_begin_with_a_scene_that_can_be():
    assert OWN.build(**OWN.start) == SCENES["one"][1]
