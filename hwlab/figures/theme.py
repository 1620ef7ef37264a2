"""One look for every chart: the book's type, lines and colours, in Altair and in the page.

`theme.json` holds sizes and styles (``common``) and two sets of colours (``light``, ``dark``). A chart is made with the
light ones. In a page every colour of it becomes a custom property of the style sheet with the light value as its
fallback, ``var(--data-1, #0072b2)``, so that the page's dark mode repaints it without a script.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

import altair as alt

TOKENS = {
    "#0072b2": "--data-1",
    "#00805c": "--data-2",
    "#b4558a": "--data-3",
    "#a87200": "--data-4",
    "#d55e00": "--data-5",
    "#5f6774": "--data-6",
    "#15181d": "--ink",
    "#4c535f": "--ink-2",
    "#858d9a": "--edge",
    "#9a4a16": "--copper",
    "#ffffff": "--panel",
    "#b9c0ca": "--grid",
    "#eceff3": "--under",
}
"""The custom property that stands for each light colour. Hues are Okabe and Ito's, in the order of `SERIES`."""

SERIES = tuple(colour for colour, token in TOKENS.items() if token.startswith("--data-"))
"""Colours of data in their order; the fifth only where no copper (the reader's own point) stands beside it."""

DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [1, 3])
"""Dash patterns in the same order: colour is never the only cue."""

_INTERPOLATED = {"ramp", "heatmap", "diverging"}  # colour scales compute with these, so they stay numbers


@cache
def _themes() -> dict:
    return json.loads(files(__package__).joinpath("theme.json").read_text("utf-8"))


def config(mode: str = "light") -> dict:
    """Vega-Lite ``config`` of the book.

    Parameters
    ----------
    mode : {"light", "dark"}

    Raises
    ------
    ValueError
        If `mode` is neither.

    Examples
    --------
    >>> config()["range"]["category"][0], config("dark")["range"]["category"][0]
    ('#0072b2', '#56b4e9')
    """
    if mode not in ("light", "dark"):
        raise ValueError(f"mode is {mode!r}; give 'light' or 'dark'")
    return merged(_themes()["common"], _themes()[mode])


def merged(a: dict, b: dict) -> dict:
    """`a` with what `b` says, at every depth."""
    out = dict(a)
    for key, value in b.items():
        out[key] = merged(a[key], value) if isinstance(value, dict) and isinstance(a.get(key), dict) else value
    return out


def register(mode: str = "light") -> None:
    """Make the book's look the theme of every Altair chart made from now on.

    Examples
    --------
    >>> register()
    >>> alt.theme.active
    'hwlab'
    """
    chosen = config(mode)  # a wrong mode fails here and not when a chart is drawn

    @alt.theme.register("hwlab", enable=True)
    def hwlab() -> alt.theme.ThemeConfig:
        return {"config": chosen}


def for_page(spec):
    """`spec` (any nesting of dicts and lists) with every colour of the book as a custom property.

    Examples
    --------
    >>> for_page({"stroke": "#0072b2", "range": {"ramp": ["#0072b2"]}})
    {'stroke': 'var(--data-1, #0072b2)', 'range': {'ramp': ['#0072b2']}}
    """
    if isinstance(spec, dict):
        return {key: value if key in _INTERPOLATED else for_page(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [for_page(value) for value in spec]
    if isinstance(spec, str) and spec in TOKENS:
        return f"var({TOKENS[spec]}, {spec})"
    return spec


register()  # once: every chart of a process that draws with hwlab has the book's look
