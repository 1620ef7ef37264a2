"""Fields hold what they say they hold, and a run that would not end is ended with a sentence."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwlab.figures import own
from hwlab.figures.own import Number, Own, Pick, computed


@given(low=st.integers(-5, 5), steps=st.integers(1, 40), step=st.sampled_from([1, 2, 0.1, 0.25]), data=st.data())
def test_a_number_takes_its_stops_and_nothing_else(low, steps, step, data):
    field = Number("x", "X", low, low + steps * step, low, step)
    assert len(field.stops) == steps + 1
    stop = data.draw(st.sampled_from(field.stops))
    assert field.read(stop) == stop
    for wrong in (stop + step / 2, low - step, field.stops[-1] + step, str(stop), None, True, float("nan")):
        with pytest.raises(ValueError, match=r"^x is .*; give a number from"):
            field.read(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Number("x", "X", 2, 1, 1),
        lambda: Number("x", "X", 1, 2, 1, 0),
        lambda: Number("x", "X", 1, 4, 1, 2),  # the end is no stop
        lambda: Number("x", "X", 1, 4, 5),
        lambda: Pick("x", "X", {"a": "A"}, "b"),
        lambda: Own(build=dict, fields=[Number("x", "X", 1, 4, 1), Pick("x", "X", {"a": "A"}, "a")]),
        lambda: Own(build=dict, fields=[Number("at", "At", 1, 4, 1)]),
    ],
)
def test_fields_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match=r"give|choose"):
        wrong()


ENDLESS = Own(build=lambda n: n, fields=[Number("n", "N", 1, 9, 3)])


def test_a_scene_without_end_is_ended():
    frames = computed(lambda n: ({"says": str(i)} for i in itertools.count(n)), ENDLESS, {})
    assert [frame["says"] for frame in itertools.islice(frames, own.MOST_FRAMES)][:2] == ["3", "4"]
    with pytest.raises(ValueError, match="more than 5,000 frames, and no more are shown; choose a smaller one"):
        next(frames)


def test_a_scene_of_too_many_bytes_is_ended():
    frames = computed(lambda n: ({"says": "x" * 1_000_000} for _ in itertools.count()), ENDLESS, {"n": 1})
    with pytest.raises(ValueError, match="more than 16 MB of frames"):
        list(frames)


def test_a_frame_that_is_no_plain_data_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        list(computed(lambda n: [{"says": "a", "rate": float("inf")}], ENDLESS, {}))
