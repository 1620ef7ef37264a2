"""The chart theme has a token for each of its colours, in both modes, and leaves no colour unpainted in a page."""

import json
import re
from importlib.resources import files

import altair as alt
import pytest

from hwlab.figures import theme
from hwlab.figures.live import compiled

HEX = re.compile(r"#[0-9a-f]{6}")


def test_light_and_dark_colour_the_same_things():
    def places(value, at=()):
        if isinstance(value, dict):
            return {place for key, inner in value.items() for place in places(inner, (*at, key))}
        return {at}

    themes = json.loads(files("hwlab.figures").joinpath("theme.json").read_text())
    assert places(themes["light"]) == places(themes["dark"])


def test_every_light_colour_that_is_painted_has_a_token():
    def colours(value, key=""):
        if isinstance(value, dict):
            return {c for k, inner in value.items() if k not in theme._INTERPOLATED for c in colours(inner, k)}
        if isinstance(value, list):
            return {c for inner in value for c in colours(inner, key)}
        return {value} if isinstance(value, str) and HEX.fullmatch(value) else set()

    assert colours(theme.config()) <= set(theme.TOKENS)


def test_a_compiled_chart_paints_with_custom_properties_only():
    data = alt.Data(values=[{"x": 1, "y": 2, "c": "a"}, {"x": 2, "y": 3, "c": "b"}])
    spec = compiled(alt.Chart(data).mark_line().encode(x="x:Q", y="y:Q", color="c:N"))
    bare = {key: value for key, value in spec["config"]["range"].items() if key not in theme._INTERPOLATED}
    painted = json.dumps([spec["marks"], spec["axes"], bare, spec["config"]["style"]])
    assert "var(--data-1, #0072b2)" in painted
    assert not HEX.findall(re.sub(r"var\([^)]*\)", "", painted))


def test_a_chart_keeps_the_config_of_its_own():
    data = alt.Data(values=[{"x": 1}])
    spec = compiled(alt.Chart(data).mark_point().encode(x="x:Q").configure_axis(labelFontSize=21))
    assert spec["config"]["axis"]["labelFontSize"] == 21


def test_the_theme_is_on_and_a_wrong_mode_is_refused():
    assert alt.theme.active == "hwlab"
    with pytest.raises(ValueError, match="'sepia'"):
        theme.register("sepia")
