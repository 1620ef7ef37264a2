"""Sphinx extension: the recurring blocks of a chapter, with one name, one symbol and one look in the whole book.

``{guess}`` ``{move}`` ``{work}`` ``{measure}`` ``{trial}`` ``{breaks}`` ``{keep}``
    A block. The argument says what it asks: the title reads "Move  the batch, until something else binds".
    ``:cells: 2`` takes the next two code cells of the page into the block (a code cell cannot be written inside a
    directive), with the text between them; ``:then: 1`` takes one element more, as a rule the sentence that reads
    the output.
``{opening}``
    The question of the chapter (argument) and, as a definition list, what it promises and needs.

An output of a cell that is set in columns keeps them on a narrow screen and scrolls; other printed lines wrap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import contents
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LOGGER = logging.getLogger(__name__)

NAMES = {
    "guess": "Guess",
    "move": "Move",
    "work": "Work it",
    "measure": "Measure it",
    "trial": "On trial",
    "breaks": "Where it breaks",
    "keep": "Keep",
}


class block(addnodes.translatable, nodes.admonition):
    """An admonition whose fixed name (attribute `name`) a translator sees once; its first child is the title."""

    def preserve_original_messages(self) -> None:
        """Keep the name as it stands."""
        self["original"] = self["name"]

    def apply_translated_message(self, original_message: str, translated_message: str) -> None:
        """Put the translated name in its place."""
        self["name"] = translated_message

    def extract_original_messages(self) -> list[str]:
        """What a translator gets to see."""
        return [self["original"]]


def new_block(kind: str, asks: Iterable[nodes.Node] = (), rawsource: str = "", **attributes: object) -> block:
    """A block of one kind with its title; `asks` are the inline nodes of what it asks. For other extensions too.

    Raises
    ------
    ValueError
        If there is no such kind.

    Examples
    --------
    >>> print(new_block("keep", [nodes.Text("three thresholds")]).pformat().strip())
    <block classes="block keep" name="Keep">
        <title>
            three thresholds
    """
    if kind not in NAMES:
        raise ValueError(f"no block is called {kind!r}; there are {', '.join(NAMES)}")
    return block("", nodes.title(rawsource, "", *asks), name=NAMES[kind], classes=["block", kind], **attributes)


class Block(SphinxDirective):
    """One of the seven; the directive's name is the kind."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {  # noqa: RUF012
        "cells": directives.positive_int,
        "then": directives.nonnegative_int,
        "name": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        """Build the node; the cells are moved into it when the page is complete."""
        asks = self.arguments[0] if self.arguments else ""
        inline, messages = self.state.inline_text(asks, self.lineno)
        takes = {key: self.options[key] for key in ("cells", "then") if key in self.options}
        if "then" in takes and "cells" not in takes:
            raise self.error("`then` takes what follows the code cells: give `cells` too")
        node = new_block(self.name, inline, asks, **takes)
        for part in (node, node[0]):
            self.set_source_info(part)
        self.add_name(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node, *messages]


class TakeCells(SphinxTransform):
    """Moves the code cells after a block into it."""

    default_priority = 25  # after translation, before anything looks at the cells

    def apply(self, **_: object) -> None:
        """Go through the blocks that ask for cells, in order."""
        for node in list(self.document.findall(block)):
            cells, then = node.attributes.pop("cells", 0), node.attributes.pop("then", 0)
            if not cells:
                continue
            following = node.parent[node.parent.index(node) + 1 :]
            ends = [i for i, other in enumerate(following) if _is_cell(other)]
            bound = next((i for i, other in enumerate(following) if isinstance(other, block | nodes.section)), None)
            ends = [i for i in ends if bound is None or i < bound]
            if len(ends) < cells:
                text = "`cells: %d` of {%s}: before the next block or heading the page has %d code cells"
                LOGGER.warning(text, cells, node["classes"][1], len(ends), location=node)
                continue
            taken = following[: ends[cells - 1] + 1 + then]
            for other in taken:
                node.parent.remove(other)
            node += taken


def _is_cell(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


class NameTitles(SphinxPostTransform):
    """Writes the fixed name before what a block asks; late, so that the two are translated apart."""

    default_priority = 5

    def run(self, **_: object) -> None:
        """Once a page and builder."""
        for node in self.document.findall(block):
            title = node[0]
            asks = nodes.inline("", "", *title.children, classes=["asks"])
            title.children = []
            title += [nodes.inline(node["name"], node["name"], classes=["name"])]
            if asks.children:
                title += [nodes.Text(" "), asks]


class Opening(SphinxDirective):
    """The head of a chapter: die, question, definition list."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Build it, and see that the cover asks the same question."""
        asks = self.arguments[0]
        page = contents.page(self.env.docname)
        if page and " ".join(asks.split()) != page.question:
            text = "this chapter asks %r, contents.toml (and so the cover) %r"
            LOGGER.warning(text, asks, page.question, location=self.get_location())
        inline, messages = self.state.inline_text(asks, self.lineno)
        question = nodes.paragraph(asks, "", *inline, classes=["question"])
        self.set_source_info(question)
        node = nodes.container("", question, classes=["opening"])
        self.state.nested_parse(self.content, self.content_offset, node)
        if not any(node.findall(nodes.definition_list)):
            raise self.error("an opening needs a definition list: `You will be able to`, `Before you start`, …")
        return [node, *messages]


class KeepColumns(SphinxPostTransform):
    """Tells printed tables, which must not wrap, from printed sentences, which must."""

    default_priority = 5

    def run(self, **_: object) -> None:
        """Once a page and builder."""
        for output in self.document.findall(nodes.literal_block):
            if "output" in output["classes"] and re.search(r"\S {2,}\S", output.astext()):
                output["classes"].append("columns")


def _terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Marks each link to a term of the glossary, which the page fills with its definition."""
    for link in doctree.findall(nodes.reference):
        if any("std-term" in inline["classes"] for inline in link.findall(nodes.inline)):
            link["classes"].append("term")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.setup_extension("contents")
    for kind in NAMES:
        app.add_directive(kind, Block)
    app.add_directive("opening", Opening)
    app.add_node(block)
    app.add_transform(TakeCells)
    app.add_post_transform(NameTitles)
    app.add_post_transform(KeepColumns)
    app.connect("doctree-resolved", _terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
