"""Sphinx extension: the contents of the book, as a wafer and as a list, and the die at the head of each chapter.

contents.toml names every page in order of reading, also those not yet written. A page that exists is a link.

``{wafer}``
    The drawing; its body is the caption.
``{chapters}``
    Parts and pages with their questions.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import drawings
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
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


def visit_wafer(translator, node: wafer) -> None:
    """Draw. A page is a link when the book holds it."""
    builder = translator.builder
    dies = [
        drawings.Die(
            page.label,
            title,
            builder.get_relative_uri(builder.current_docname, page.file)
            if page.file in builder.env.found_docs
            else None,
        )
        for page, title in zip(pages(), node["titles"], strict=True)
    ]
    translator.body.append(drawings.wafer(dies, node["label"]))
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


def head(docname: str) -> list[nodes.Node]:
    """The die of a chapter, to stand under its title."""
    if not (it := page(docname)):
        return []
    picture = drawings.chapter_die(it.index, it.label)
    return [nodes.raw("", f'<div class="chapter-mark">{picture}</div>', format="html")]


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


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    other = (skip, None)
    app.add_node(wafer, html=(visit_wafer, None), latex=other, text=other, man=other, texinfo=other)
    app.add_directive("wafer", Wafer)
    app.add_directive("chapters", Chapters)
    app.connect("doctree-read", _agree)
    app.connect("env-get-outdated", _outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
