"""An explorer says what its formulas say, refuses what a page could not repeat, and is complete as HTML."""

import json
import re

import pytest
from traitlets import TraitError

from hwlab.figures import Axis, Choice, Explorer, Result, Rule, Slider, explore
from hwlab.formula import maximum, minimum, text, where


def reach(seconds, gear, top=40):
    return minimum(3 * seconds * gear, top)


def reach_sentence(seconds, gear):
    return text("After {seconds} s you are {metres} m away.", seconds=seconds, metres=reach(seconds, gear))


def explorer(**changes):
    arguments = {
        "x": Axis("seconds", 0, 10, 2, title="Time", unit="s"),
        "y": Result("Distance", "m", low=0, high=50),
        "sliders": [Choice("gear", {"low": 1, "high": 2}, "low", title="Gear")],
        "says": reach_sentence,
    }
    return explore(reach, **(arguments | changes))


@pytest.fixture
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


def test_the_controls_are_traits_that_python_reads_sets_and_observes():
    ex, seen = explorer(), []
    ex.observe(lambda change: seen.append((change["old"], change["new"])), "seconds")
    ex.seconds = 7
    ex.gear = "high"
    assert seen == [(2.0, 7.0)]
    assert ex.state == {"seconds": 7.0, "gear": "high"}
    assert ex.value() == 40
    assert ex.says() == "After 7 s you are 40 m away."
    assert isinstance(ex, Explorer)


def test_a_control_keeps_to_its_range():
    ex = explorer()
    with pytest.raises(TraitError, match="10"):
        ex.seconds = 11
    with pytest.raises(TraitError, match="low"):
        ex.gear = "reverse"
    assert ex.state == {"seconds": 2.0, "gear": "low"}


def test_explorers_do_not_share_their_state():
    one, two = explorer(), explorer()
    one.seconds = 5
    assert two.seconds == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sliders": []}, "needs 'gear', which no control sets"),
        ({"sliders": [Slider("geer", 1, 2, 1)]}, "no argument 'geer'; it takes seconds, gear, top"),
        ({"sliders": [Slider("gear", 1, 2, 1), Slider("gear", 1, 2, 1)]}, "two controls"),
        ({"name": "two words"}, "named 'two words'"),
        (
            {"refuses": lambda seconds, gear: "closed on Mondays"},
            "starts in a state that it refuses: closed on Mondays",
        ),
    ],
)
def test_controls_and_arguments_must_match(changes, message):
    with pytest.raises(ValueError, match=message):
        explorer(**changes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Slider("a", 1, 4, 5), "a starts at 5, outside its range of 1 to 4"),
        (lambda: Slider("a", 4, 1, 2), "ranges from 4 to 1"),
        (lambda: Slider("a", 0, 1, 0.5, scale="log"), "begins above 0"),
        (lambda: Slider("a", 1, 2, 1, scale="cubic"), "'cubic'"),
        (lambda: Slider("a", 1, 2, 1, step=3), "step 3"),
        (lambda: Slider("value", 1, 2, 1), "cannot be named 'value'"),
        (lambda: Slider("two words", 1, 2, 1), "named 'two words'"),
        (lambda: Choice("a", ["x"], "x"), "1 option"),
        (lambda: Choice("a", ["x", "y"], "z"), "options are x, y"),
        (lambda: Result("Rate", low=1), "one end only"),
        (lambda: Rule(reach, reach, axis="z"), "'z'"),
    ],
)
def test_a_control_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def branching(seconds):
    return seconds if seconds > 5 else 0


def test_a_formula_that_branches_is_refused_with_what_to_write():
    with pytest.raises(TypeError, match=r"use where\(condition, a, b\)"):
        explore(branching, x=Axis("seconds", 0, 10), says=lambda seconds: "")


def test_a_formula_that_forgets_its_controls_is_refused():
    with pytest.raises(TypeError, match="returned 3"):
        explore(lambda seconds: 3, x=Axis("seconds", 0, 10), says=lambda seconds: "", name="three")


def test_a_sentence_that_formats_by_itself_is_refused():
    with pytest.raises(TypeError, match="prints a value that only the page will know"):
        explorer(says=lambda seconds, gear: f"{seconds} s")


def test_a_refused_state_has_a_reason_and_no_value():
    ex = explorer(refuses=lambda seconds, gear: where(seconds > 8, "The road ends after 8 s.", ""))
    ex.seconds = 9
    assert ex.says() == ex.refusal() == "The road ends after 8 s."
    assert ex.arithmetic() == []
    with pytest.raises(ValueError, match="The road ends"):
        ex.value()


def test_stops_are_within_range_and_hold_ends_and_default():
    dense = Slider("a", 1, 4096, 1000, scale="log").stops()
    assert dense[0] == 1 and dense[-1] == 4096 and 1000 in dense
    assert dense == sorted(set(dense)) and 200 < len(dense) < 300
    whole = Slider("a", 1, 4096, 1, scale="log", step=1).stops()
    assert all(stop == int(stop) for stop in whole) and whole[:4] == [1, 2, 3, 4]
    assert Slider("a", 1024, 16384, 8192, step=1024).stops() == [1024 * i for i in range(1, 17)]


def test_the_fragment_is_complete_without_a_script(static):
    ex = explorer(
        arithmetic=lambda seconds, gear: [text("3 m/s × {s} s = {m} m", s=seconds, m=3 * seconds)],
        rules=[Rule(lambda seconds, gear: maximum(40 / (3 * gear), 0), lambda seconds, gear: "wall")],
        also={"on foot": lambda seconds, gear: 1.5 * seconds},
        alt="Distance rises with time & stops at 40 m.",
    )
    bundle = ex._repr_mimebundle_()
    html = bundle["text/html"]
    assert bundle["text/plain"] == "Explorer(reach: seconds=2.0, gear='low')"
    assert html.startswith('<div class="hw-live" id="hw-reach" data-kind="explorer" data-module="explorer">')
    assert 'role="img" aria-label="Distance rises with time &amp; stops at 40 m."' in html
    assert '<p class="hw-say" aria-live="polite">After 2 s you are 6 m away.</p>' in html
    assert "<li>3 m/s × 2 s = 6 m</li>" in html
    assert '<th scope="col">Time, s</th><th scope="col">Distance, m</th><th scope="col">on foot</th>' in html
    assert "<td>10 s</td><td>30 m</td><td>15 m</td>" in html
    assert html.count("<svg") == 1 and "var(--copper, #9a4a16)" in html
    assert not re.search(r"https?://(?!www\.w3\.org)", html)
    state = json.loads(re.search(r'<script type="application/json">(.*)</script>', html)[1])
    assert {key: state[key] for key in ("seconds", "gear")} == {"seconds": 2.0, "gear": "low"}
    assert [control["name"] for control in state["payload"]["controls"]] == ["seconds", "gear"]


def test_the_same_explorer_gives_the_same_fragment_twice(static):
    assert explorer()._repr_mimebundle_() == explorer()._repr_mimebundle_()


def test_text_cannot_break_out_of_the_fragment(static):
    html = explorer(says=lambda seconds, gear: "</script><b>&")._repr_mimebundle_()["text/html"]
    assert "</script><b>" not in html and "&lt;/script&gt;&lt;b&gt;&amp;" in html
