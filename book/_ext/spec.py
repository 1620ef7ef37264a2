"""Sphinx extension: the role ``{spec}`` prints a figure of the chip catalogue, so that none is typed in prose.

``{spec}`h100-sxm memory_bytes_per_s` `` becomes "3.35 TB/s"; pointing at it, or reaching it with the keyboard, shows
what the figure covers, its source, date and grade, and the figures that disagree. ``{spec}`b200 memory_bytes | GB` ``
asks for a unit. An unknown chip, field or unit is an error with file and line.
"""

from __future__ import annotations

from html import escape

import report
from catalogue import label
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from hwlab.specs.chips import Chip, chip
from hwlab.specs.figure import GRADES, Figure

CATALOGUE = "book/chips"


class spec(nodes.inline):
    """A figure in running text: its value is the text, the rest is attributes of the node."""


class SpecRole(SphinxRole):
    """``{spec}`CHIP FIELD` `` or ``{spec}`CHIP FIELD | UNIT` ``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look the figure up; the build stops at one that is not there."""
        try:
            subject, figure, field, text = read(self.text)
            path = self.text.split()[1]
        except (KeyError, ValueError) as error:
            message = self.inliner.reporter.error(f"{{spec}} {self.text!r}: {error}", line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        node = spec(self.rawtext, text, chip=subject.id, path=path, name=subject.name, field=field, about=about(figure))
        return [node], []


def read(text: str) -> tuple[Chip, Figure, str, str]:
    """What the role is asked for: chip, figure, the field in words, and the figure as it is written.

    Raises
    ------
    UnknownId, ValueError
        If there is no such chip, field or unit; or the text is not a chip and a field.

    Examples
    --------
    >>> read("h100-sxm memory_bytes | GB")[2:]
    ('memory (HBM3)', '85.9 GB')
    """
    subject, _, unit = (part.strip() for part in text.partition("|"))
    words = subject.split()
    if len(words) != 2:
        raise ValueError("write a chip and a field, as in 'h100-sxm memory_bytes_per_s'")
    record = chip(words[0])
    figure = record.figure(words[1])
    return record, figure, label(words[1], record), figure.written(unit or None)


def about(figure: Figure) -> list[str]:
    """Lines that say what stands behind a figure, the rival ones last.

    >>> about(chip("groq-lpu").figure("clock_hz"))[::2]
    ['nominal', 'seen: read in the source itself']
    """
    source = str(figure.source)
    dated = source if figure.date in source else f"{source}, {figure.date}"
    lines = [figure.qualifier, figure.note, dated, f"{figure.grade}: {GRADES[figure.grade]}"]
    for rival in figure.rivals:
        covers = f" ({rival.qualifier})" if rival.qualifier else ""
        lines.append(f"also given as {rival}{covers}: {rival.source}")
    return [line for line in lines if line]


def visit_html(self, node: spec) -> None:
    """The figure, and a note that appears beside it; the note links to the whole record."""
    count = self.builder.env.temp_data["spec_notes"] = self.builder.env.temp_data.get("spec_notes", 0) + 1
    name = escape(node["name"])
    if CATALOGUE in self.builder.env.found_docs:
        page = self.builder.get_relative_uri(self.builder.current_docname, CATALOGUE)
        name = f'<a href="{page}#{node["chip"]}">{name}</a>'
    lines = f"<span>{name}: {escape(node['field'])}</span>"
    lines += "".join(f"<span>{escape(line)}</span>" for line in node["about"])
    if wrong := report.link(f"{node['chip']} {node['path']}", self.builder.current_docname):
        lines += f"<span>{wrong}</span>"
    self.body.append(
        f'<span class="spec" tabindex="0" aria-describedby="spec-{count}">{escape(node.astext())}'
        f'<span class="spec-note" id="spec-{count}">{lines}</span></span>'
    )
    raise nodes.SkipNode


def visit_text(self, node: spec) -> None:
    """Elsewhere a figure is its text."""


def _page(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document | None) -> None:
    if doctree is not None and any(doctree.findall(spec)):
        app.add_js_file("web/spec.mjs", type="module")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    plain = (visit_text, visit_text)
    app.add_node(spec, html=(visit_html, None), latex=plain, text=plain, man=plain, texinfo=plain)
    app.add_role("spec", SpecRole())
    app.connect("html-page-context", _page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
