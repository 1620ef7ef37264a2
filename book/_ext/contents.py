"""Sphinx extension: the contents of the book, as a wafer and as a list, and the die of each page.

contents.toml names every page in order of reading, also those not yet written. A page that exists is a link. Each page
wears its die under its title, a lab that of its chapter in outline; the link to the next page shows the die to come.

``{wafer}``
    The drawing; its body is the caption.
``{chapters}``
    Parts and pages with their questions.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

import drawings
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LOGGER = logging.getLogger(__name__)
LABEL = "Contents as a wafer: one die a page"
PLANNED = "not yet written"


class Page(NamedTuple):
    """A page of the book: `index` is its die on the wafer, `file` its name without an ending, from the root."""

    index: int
    label: str
    file: str
    title: str
    question: str


class Part(NamedTuple):
    """Pages that belong together. The back matter has no number."""

    number: str
    title: str
    pages: tuple[Page, ...]


@cache
def parts() -> tuple[Part, ...]:
    """The book as contents.toml tells it.

    >>> [part.number for part in parts()], parts()[0].pages[1].title
    (['I', 'II', 'III', 'IV', 'V', ''], 'MatMul')
    """
    found, index = [], 0
    for part in tomllib.loads(Path(__file__).with_name("contents.toml").read_text("utf8"))["part"]:
        pages = tuple(Page(index + i, **page) for i, page in enumerate(part["page"]))
        found.append(Part(part["number"], part["title"], pages))
        index += len(pages)
    return tuple(found)


def pages() -> tuple[Page, ...]:
    """All pages, in order of reading."""
    return tuple(page for part in parts() for page in part.pages)


def page(docname: str) -> Page | None:
    """The page that a Sphinx document is, or None for a lab and the like."""
    return next((page for page in pages() if page.file == docname), None)


def lab_of(docname: str) -> Page | None:
    """The chapter to which a lab belongs, or None for what is no lab.

    >>> lab_of("notebooks/02-matmul").title, lab_of("book/02-matmul")
    ('MatMul', None)
    """
    folder, _, name = docname.rpartition("/")
    return page(f"book/{name}") if folder == "notebooks" else None


def questions(env: BuildEnvironment, docname: str) -> str:
    """Ids of the questions that a page asks, with spaces between; empty where it asks none."""
    asked = dict.fromkeys(getattr(env, "practice_asked", {}).get(docname, ()))
    return " ".join(id for id in asked if not re.fullmatch(r"C\d+", id))  # a claim on trial asks nothing


def mark(env: BuildEnvironment, docname: str) -> str:
    """The die of a page, or of a lab, with the ground for the trace that leads to it; empty for any other document."""
    it, lab = page(docname), lab_of(docname)
    if not (it or lab):
        return ""
    index, label = (it or lab)[:2]
    picture = drawings.chapter_die(index, label, questions=questions(env, docname), outline=not it)
    return f'<div class="chapter-mark">{picture}</div>'


class wafer(addnodes.translatable, nodes.General, nodes.Element):
    """The drawing. Its texts are attributes; a translation replaces them."""

    def _texts(self) -> list[str]:
        return [self["label"], *self["titles"]]

    def preserve_original_messages(self) -> None:
        """The texts as they stand are the originals."""
        self["original"] = self._texts()

    def apply_translated_message(self, original_message: str, translated_message: str) -> None:
        """Put a translated text in place of the original."""
        label, *self["titles"] = [
            translated_message if original == original_message else now
            for original, now in zip(self["original"], self._texts(), strict=True)
        ]
        self["label"] = label

    def extract_original_messages(self) -> list[str]:
        """What a translator gets to see."""
        return self["original"]


def draw(env: BuildEnvironment, titles: Iterable[str], address: Callable[[str], str], label: str = LABEL) -> str:
    """The wafer as an SVG. A page is a link when the book holds it; `address` tells where a document lies."""
    dies = [
        drawings.Die(
            page.label, title, address(page.file) if page.file in env.found_docs else None, questions(env, page.file)
        )
        for page, title in zip(pages(), titles, strict=True)
    ]
    return drawings.wafer(dies, label)


def visit_wafer(translator, node: wafer) -> None:
    """Draw."""
    builder = translator.builder

    def address(docname: str) -> str:
        return builder.get_relative_uri(builder.current_docname, docname)

    translator.body.append(draw(builder.env, node["titles"], address, node["label"]))
    raise nodes.SkipNode


def skip(translator, node: nodes.Element) -> None:
    """A builder that does not draw passes over."""
    raise nodes.SkipNode


class Wafer(SphinxDirective):
    """``{wafer}``: the contents as a drawing, with the caption as its body."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        picture = wafer(label=LABEL, titles=[page.title for page in pages()])
        self.set_source_info(picture)
        caption = nodes.container("", classes=["caption"])
        self.state.nested_parse(self.content, self.content_offset, caption)
        return [nodes.container("", picture, caption, classes=["cover-wafer"])]


class Chapters(SphinxDirective):
    """``{chapters}``: a section a part, with the pages and their questions."""

    def text(self, text: str, *classes: str) -> nodes.inline:
        """A piece of text that a translator sees, within one that carries the classes."""
        piece = nodes.inline(text, text, translatable=True)
        self.set_source_info(piece)
        return nodes.inline("", "", piece, classes=list(classes))

    def entry(self, page: Page) -> nodes.list_item:
        """One page: a link, or a line that says that it is planned."""
        exists = page.file in self.env.found_docs
        line = nodes.inline("", "", nodes.inline(page.label, page.label, classes=["n"]), nodes.Text(" "))
        line += [self.text(page.title, "t"), nodes.Text(" "), self.text(page.question, "q")]
        if not exists:
            line += [nodes.Text(" "), self.text(PLANNED, "planned-mark")]
            return nodes.list_item("", nodes.paragraph("", "", line, classes=["planned"]))
        address = self.env.app.builder.get_relative_uri(self.env.docname, page.file)
        link = nodes.reference("", "", line, internal=True, refuri=address)
        return nodes.list_item("", nodes.paragraph("", "", link))

    def run(self) -> list[nodes.Node]:
        result = []
        for part in parts():
            section = nodes.section("", names=[part.title], classes=["part"])
            number = [nodes.inline(part.number, part.number, classes=["n"]), nodes.Text(" ")] if part.number else []
            title = nodes.title("", "", *number, self.text(part.title))
            self.set_source_info(title)
            section += [title, nodes.bullet_list("", *map(self.entry, part.pages), classes=["pages"])]
            self.state.document.note_implicit_target(section, section)
            result.append(section)
        return [nodes.container("", *result, classes=["chapters"])]


class chapter_mark(nodes.General, nodes.Element):
    """The die under the title of a page."""


def visit_mark(translator, node: chapter_mark) -> None:
    """Draw."""
    translator.body.append(mark(translator.builder.env, translator.builder.current_docname))
    raise nodes.SkipNode


def _wear(app: Sphinx, doctree: nodes.document) -> None:
    """Puts its die under the title of a page."""
    title = next(iter(doctree.findall(nodes.title)), None)
    if title is not None and (page(app.env.docname) or lab_of(app.env.docname)):
        title.parent.insert(title.parent.index(title) + 1, chapter_mark())


def _agree(app: Sphinx, doctree: nodes.document) -> None:
    """A page and contents.toml must give the same title."""
    it = page(app.env.docname)
    title = next(iter(doctree.findall(nodes.title)), None)
    if it and title is not None and app.config.language in (None, "en") and title.astext() != it.title:
        LOGGER.warning("the title is %r, contents.toml says %r", title.astext(), it.title, location=title)


def _outdated(app: Sphinx, env, added: set[str], changed: set[str], removed: set[str]) -> set[str]:
    """The cover, when a page has come or gone."""
    before, env.book_pages = getattr(env, "book_pages", None), {page.file for page in pages()} & env.found_docs
    return {app.config.root_doc} if before not in (None, env.book_pages) else set()


def _changed(app: Sphinx, env: BuildEnvironment) -> set[str]:
    """The cover, when a page asks other questions than it did: a die knows how many there are."""
    asked = {page.file: questions(env, page.file) for page in pages()}
    before, env.book_asks = getattr(env, "book_asks", asked), asked
    return {app.config.root_doc} if before != asked else set()


def numbered(tree: str, labels: dict[str, str]) -> str:
    """The navigation with the label of each page before its title; `labels` by address.

    >>> numbered('<li class="toctree-l1"><a class="reference" href="a.html">MatMul</a>', {"a.html": "2"})
    '<li class="toctree-l1"><a class="reference" href="a.html"><span class="n" data-label="2">2</span>MatMul</a>'
    """

    def add(found: re.Match) -> str:
        label = escape(labels.get(found[2], ""))
        return f'{found[0]}<span class="n" data-label="{label}">{label}</span>' if label else found[0]

    return re.sub(r'(<li class="toctree-l1[^>]*><a [^>]*href="([^"]*)"[^>]*>)', add, tree)


def _lead(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """What leads on from a page: labels in the navigation, and the die of the page that comes next."""
    uri = {page.file: app.builder.get_relative_uri(pagename, page.file) or "#" for page in pages()}
    labels = {uri[page.file]: page.label for page in pages() if page.file in app.env.found_docs}
    if tree := context.get("generate_toctree_html"):
        context["generate_toctree_html"] = lambda *args, **kw: numbered(str(tree(*args, **kw)), labels)
    link = (context.get("next") or {}).get("link")
    to = next((name for name in app.env.found_docs if link == app.builder.get_relative_uri(pagename, name)), "")
    context["next_mark"] = mark(app.env, to)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    other = (skip, None)
    for node, visit in ((wafer, visit_wafer), (chapter_mark, visit_mark)):
        app.add_node(node, html=(visit, None), latex=other, text=other, man=other, texinfo=other)
    app.add_directive("wafer", Wafer)
    app.add_directive("chapters", Chapters)
    app.connect("doctree-read", _agree)
    app.connect("doctree-read", _wear)
    app.connect("env-get-outdated", _outdated)
    app.connect("env-updated", _changed)
    app.connect("html-page-context", _lead, priority=890)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
