"""One object, two lives: a piece of the built page that needs no kernel, and an ipywidgets widget where there is one.

With ``HWLAB_STATIC=1`` (the book's build sets it) an object shows itself as a fragment of HTML that is complete without
a script: a picture, its sentence, its numbers. A module of JavaScript, named in the fragment, brings it to life in the
page. Elsewhere the same module runs as an anywidget on the same state.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from functools import cache
from html import escape
from importlib.resources import files

import anywidget
import traitlets
import vl_convert
from IPython import get_ipython

from hwlab.figures import theme

WIDTH = 420  # of a picture before the page gives it its own: still legible when a phone shrinks it

_KERNEL_DRAW = """
async function draw(place, spec) {
  return (await vegaEmbed(place, spec, { mode: "vega", actions: false, renderer: "svg" })).view;
}
"""  # in a kernel the offline bundle of vl-convert brings vegaEmbed


def is_static() -> bool:
    """Whether the page being made will have no kernel."""
    return bool(os.environ.get("HWLAB_STATIC"))


def _has_front_end() -> bool:
    return hasattr(get_ipython(), "kernel") and not is_static()


def compiled(chart) -> dict:
    """The Vega specification of an Altair chart or Vega-Lite dict, in the colours of the page."""
    spec = dict(chart if isinstance(chart, dict) else chart.to_dict())
    spec["config"] = theme.merged(theme.config(), spec.get("config", {}))
    spec["config"]["aria"] = False  # the element that holds the picture describes it
    if "width" in spec or not {"hconcat", "vconcat", "concat", "facet", "repeat"} & spec.keys():
        spec["width"] = WIDTH
    vega = theme.for_page(vl_convert.vegalite_to_vega(spec))
    for legend in vega.get("legends", []):  # a dashed line is shown as a line, and a point by its shape alone
        if "shape" in legend:
            legend.pop("strokeDash", None)
        elif "strokeDash" in legend:
            legend["symbolType"] = "stroke"
    return {key: value for key, value in vega.items() if key not in ("$schema", "description")}


def picture(spec: dict) -> str:
    """`spec` (Vega, with numbers for its signals) as SVG for a page: scales with its place, follows dark mode."""
    svg = vl_convert.vega_to_svg(spec)
    # pictures share a page, so their ids must differ
    ids = {found: f"hw-{_key(spec)}-{i}" for i, found in enumerate(dict.fromkeys(re.findall(r' id="(\w+)"', svg)))}
    svg = re.sub(r'(?<= id=")\w+(?=")|(?<=url\(#)\w+(?=\))', lambda found: ids[found[0]], svg)
    return re.sub(r'<svg [^>]*viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">', svg, count=1)


def slot(spec: dict, alt: str = "", caption: str = "") -> str:
    """The place of a picture, its static form in it, as high as the live one will be; named by `alt` or a caption."""
    height = spec.get("height")
    kept = f' style="min-height:{height:g}px"' if isinstance(height, int | float) else ""
    named = f'aria-labelledby="hw-{_key(spec)}-caption"' if caption else f'aria-label="{escape(alt)}"'
    below = f'<p class="hw-caption" id="hw-{_key(spec)}-caption">{escape(caption)}</p>' if caption else ""
    return f'<div class="hw-slot" role="img" {named}{kept}>{picture(spec)}</div>{below}'


def _key(spec: dict) -> str:
    return hashlib.sha256(json.dumps(spec).encode()).hexdigest()[:8]


def arithmetic_markup(lines: list[str]) -> str:
    """A calculation that the reader may unfold; nothing if there is none."""
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<details class="hw-arithmetic"><summary>Show the arithmetic</summary><ol>{items}</ol></details>'


def data_markup(header: list[str], rows: list[list[str]]) -> str:
    """Text cells as a table that the reader may unfold."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        '<details class="hw-data"><summary>Show the data</summary><div class="hw-table" tabindex="0" role="group" '
        f'aria-label="Data of the figure"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        "</details>"
    )


def fragment(*, kind: str, module: str, markup: str, state: dict, name: str = "") -> str:
    """A live element of a page: `markup` now, and `state` for `module` to run on. Links find it by its `name`."""
    payload = json.dumps(state, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("</", "<\\/")
    identity = f' id="hw-{name}"' if name else ""
    return (
        f'<div class="hw-live"{identity} data-kind="{kind}" data-module="{module}">'
        f'{markup}<script type="application/json">{payload}</script></div>'
    )


@cache
def source(module: str) -> str:
    """`module` and what it imports from its neighbours as one ES module for a kernel's front end, Vega where used.

    Neighbours are imported by lines ``import { a, b } from "./neighbour.mjs";`` and export functions and constants
    by name.
    """
    parts = {}

    def read(name):
        if name in parts:
            return
        if name == "vega":
            parts[name] = _KERNEL_DRAW
            return
        text = files(__package__).joinpath(f"{name}.mjs").read_text("utf-8")
        for neighbour in re.findall(r'^import \{[^}]*\} from "\./(\w+)\.mjs";$', text, re.M):
            read(neighbour)
        text = re.sub(r"^import .*$", "", text, flags=re.M)
        parts[name] = text if name == module else re.sub(r"^export (?!default)", "", text, flags=re.M)

    read(module)
    whole = "\n".join(parts.values())
    return vl_convert.javascript_bundle(whole) if "vega" in parts else whole


@cache
def style() -> str:
    """The style sheet of live elements."""
    return files(__package__).joinpath("live.css").read_text("utf-8")


class Live(anywidget.AnyWidget):
    """A widget in a kernel, a fragment in a page. Subclasses name their `module` and keep their state in traits."""

    kind: str
    module: str
    name: str
    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    markup = traitlets.Unicode().tag(sync=True)  # what the fragment shows before any script runs
    payload = traitlets.Dict().tag(sync=True)  # what never changes

    @traitlets.default("_esm")
    def _source(self):
        return source(self.module) if _has_front_end() else ""

    @traitlets.default("_css")
    def _style(self):
        return style()

    def open(self):
        if _has_front_end():  # a built page keeps no widget, so that none is stored with it
            super().open()

    def page_state(self) -> dict:
        """The traits that the page starts from."""
        raise TypeError(f"{type(self).__name__} does not say what its page starts from; define page_state()")

    def _repr_mimebundle_(self, **kwargs):
        if not is_static():
            return super()._repr_mimebundle_(**kwargs)
        html = fragment(
            kind=self.kind,
            module=self.module,
            name=self.name,
            markup=self.markup,
            state=self.page_state() | {"payload": self.payload},
        )
        return {"text/html": html, "text/plain": repr(self)}
