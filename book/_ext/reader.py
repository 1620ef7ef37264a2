"""Sphinx extension: what a page lets its reader do beside questions.

``{progress}`` is the table of what has been answered, and saves it, reads it or deletes it. Cells tagged ``run-here``
run in the page itself; a lab that has some says so before its first. A link to ``#hw:NAME:...`` leads to a live figure
of the same page, in that state.
"""

from __future__ import annotations

import json

from docutils import nodes
from offline import repository
from practice import Practice, box, chapter_of, words_once
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from hwlab.exercises import questions

LOGGER = logging.getLogger(__name__)


class PendingProgress(nodes.General, nodes.Element):
    """The table of chapters, not yet known."""


class Progress(Practice):
    """``{progress}``: what has been answered, chapter by chapter, and what can be done with it."""

    has_content = False
    required_arguments = 0

    def run(self):
        """The table is filled when all chapters are known."""

        def button(does, text, **html):
            return self.phrase("button", text, type="button", data_does=does, **html)

        sure = box(
            "div",
            self.phrase("p", "Delete all that this browser has kept of your answers?"),
            button("sure", "Delete"),
            button("keep", "Keep it"),
            classes=["sure"],
            hidden="hidden",
        )
        label = "A file of progress"
        chosen = box("input", type="file", accept="application/json,.json", hidden="hidden", aria_label=label)
        ask = box(
            "div",
            button("save", "Save as a file"),
            button("open", "Read a file"),
            button("delete", "Delete all"),
            button("undo", "Bring it back", hidden="hidden"),
            chosen,
            sure,
            classes=["ask", "keep-it"],
        )
        reply = box("div", classes=["reply"], role="status")
        self.env.metadata[self.env.docname]["progress"] = True
        return [box("div", PendingProgress(), ask, reply, classes=["your-progress"]), *words_once(self.env)]


def _fill_progress(app, doctree, docname):
    """The table of a ``{progress}``: a row for each chapter that asks something."""
    for pending in list(doctree.findall(PendingProgress)):
        body = nodes.tbody()
        known = {record.id for record in questions()}
        asked = {}
        for page, ids in app.env.practice_asked.items():
            if (chapter := chapter_of(page)) and not known.isdisjoint(ids):
                asked.setdefault(chapter, {})[page] = [id for id in ids if id in known]
        for chapter, pages in sorted(asked.items()):
            page = min(pages, key=lambda name: (not name.startswith("book/"), name))  # the chapter, not its lab
            ids = [id for found in pages.values() for id in found]
            title = app.env.titles[page].astext()
            link = nodes.reference(title, title, internal=True, refuri=app.builder.get_relative_uri(docname, page))
            data = {"data_questions": json.dumps(ids), "data_chapter": str(chapter)}
            count = box("span", nodes.Text(str(len(ids))), classes=["of"], **data)
            cells = [
                nodes.paragraph("", "", nodes.Text(f"{chapter} "), link),
                count,
                box("span", classes=["when"]),
            ]
            body += nodes.row("", *(nodes.entry("", cell) for cell in cells))
        head = nodes.row("", *(nodes.entry("", nodes.paragraph(t, t)) for t in ("Chapter", "Answered", "Read on")))
        columns = (nodes.colspec(colwidth=width) for width in (50, 25, 25))
        group = nodes.tgroup("", *columns, nodes.thead("", head), body, cols=3)
        pending.replace_self(nodes.table("", group, classes=["done"]))


def _outdated(app, env):
    """The page of the progress counts the questions of all others."""
    return [docname for docname, metadata in env.metadata.items() if metadata.get("progress")]


class RunHere(SphinxTransform):
    """On a page with cells that run in it: the words that its script needs and, in a lab, a line before the first."""

    default_priority = 24  # before blocks take their cells

    def apply(self, **kwargs):
        """Look for cells with the tag."""
        found = self.document.findall(nodes.container)
        cells = [node for node in found if node.get("nb_element") == "cell_code"]
        if not any("tag_run-here" in cell["classes"] for cell in cells):
            return
        if self.env.docname.startswith("notebooks/"):
            cells[0].parent.insert(cells[0].parent.index(cells[0]), self._line())
        self.document += words_once(self.env)

    def _line(self):
        name = self.env.docname
        up = "../" * name.count("/")
        links = {"download this notebook": f"{up}_sources/{name}.ipynb"}
        if address := repository():
            path = address.removeprefix("https://github.com/")
            links["open it in Colab"] = f"https://colab.research.google.com/github/{path}/blob/main/{name}.ipynb"
            links["or in Binder"] = f"https://mybinder.org/v2/gh/{path}/main?urlpath=lab/tree/{name}.ipynb"
        says = "Cells with a button below them run in this page, and you can change them. The others need more: "
        line = nodes.paragraph("", says, classes=["run-line"])
        for i, (text, target) in enumerate(links.items()):
            line += [nodes.Text(", " if i else ""), nodes.reference(text, text, refuri=target)]
        line += nodes.Text(".")
        line.rawsource = f"{says}{', '.join(f'[{text}]({target})' for text, target in links.items())}."
        return line


class KeepStates(SphinxTransform):
    """Links to a state of a live figure stay as they are: they name what a script shows, no place of the document."""

    default_priority = 800  # before MyST looks for the place

    def apply(self, **kwargs):
        """Take the links out of MyST's hands."""
        for link in self.document.findall(nodes.reference):
            if link.get("refuri", "").startswith("#hw:"):
                link.attributes.pop("id_link", None)
                link["internal"] = True
                link["classes"].append("state")


def _check_states(app, pagename, templatename, context, doctree):
    """A link to a state names a live figure of its page."""
    for link in doctree.findall(nodes.reference) if doctree else ():
        target = link.get("refuri", "")
        if target.startswith("#hw:") and f'id="hw-{target.split(":")[1]}"' not in context["body"]:
            LOGGER.warning("%s leads to no live figure of this page", target, location=link)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.setup_extension("practice")
    app.add_node(PendingProgress)
    app.add_directive("progress", Progress)
    app.add_transform(RunHere)
    app.add_transform(KeepStates)
    app.connect("env-updated", _outdated)
    app.connect("doctree-resolved", _fill_progress)
    app.connect("html-page-context", _check_states)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
