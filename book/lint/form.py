"""What would break a page for some reader: cut code, raw HTML, a figure without words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from hwlab.exercises import question

from .chapter import DRAWINGS
from .page import Page

CELL, SOLUTION = 60, 62
"""Characters of a line of code that fit into a block of a page, and into a solution. For labs, notebooks/ruff.toml."""


def code_width(page: Page, book) -> Iterator[tuple[int, str]]:
    """Lines of code that a reader sees fit on the page."""
    for piece in page.pieces:
        hidden = re.search(r"remove-(cell|input)", piece.options.get("tags", ""))
        if piece.kind in ("cell", "code") and not hidden:
            for i, text in enumerate(piece.text.splitlines()):
                if len(text) > CELL:
                    yield piece.line + i, f"has a line of code of {len(text)} characters; break it at {CELL}"


def solution_width(page: Page, book) -> Iterator[tuple[int, str]]:
    """So do those of a solution."""
    for label in page.of("label"):
        for text in inspect.getsource(question(label.text).answer).splitlines():
            if len(text) > SOLUTION:
                yield label.line, f"shows a solution with a line of {len(text)} characters; break it at {SOLUTION}"


def heading_level(page: Page, book) -> Iterator[tuple[int, str]]:
    """One title; below it no level is left out."""
    before = 0
    for heading in page.of("heading"):
        if heading.level > before + 1:
            yield heading.line, f"jumps from level {before} to {heading.level}; use {'#' * (before + 1)}"
        if heading.level == 1 and before:
            yield heading.line, "has a second title; use ##"
        before = heading.level


def raw_html(page: Page, book) -> Iterator[tuple[int, str]]:
    """Markup is the book's own directives and roles."""
    for piece in page.pieces:
        if piece.kind == "html" or (piece.kind == "directive" and piece.name == "raw"):
            yield piece.line, f"has HTML: {piece.text.strip()[:40]!r}; use a directive"
        for part in piece.inlines:
            if part.kind == "html":
                yield part.line, f"has HTML: {part.text!r}; use Markdown or a role"


def bare_url(page: Page, book) -> Iterator[tuple[int, str]]:
    """A link has words."""
    for piece in page.pieces:
        for part in piece.inlines:
            if part.kind in ("text", "link") and (match := re.search(r"(https?://|www\.)\S+", part.text)):
                yield part.line, f"shows the address {match[0]}; link words, or cite the source"


def image(page: Page, book) -> Iterator[tuple[int, str]]:
    """Every figure comes from code."""
    for piece in page.pieces:
        if piece.kind == "directive" and piece.name in ("image", "figure"):
            yield piece.line, f"includes the file {piece.text}; draw it with hwlab or an extension of the book"
        for part in piece.inlines:
            if part.kind == "image":
                yield part.line, f"includes the file {part.name}; draw it with hwlab or an extension of the book"


def alt_text(page: Page, book) -> Iterator[tuple[int, str]]:
    """A figure says in five words or more what is to be seen, other than its caption; a live one has a table too."""
    for piece in page.of("directive", *DRAWINGS):
        caption = " ".join(inner.seen() for inner in page.body(piece))
        if fault := _alt_fault(piece.options.get("alt", ""), caption):
            yield piece.line, f"has a {{{piece.name}}} whose alt text {fault}"
    for line, outputs in page.outputs.items():
        for element in (element for output in outputs for element in output.soup.select(".hw-live")):
            kind = element["data-kind"]
            if (picture := element.select_one("[role=img]")) is None:
                yield line, f"shows a live {kind} without a picture for print; give it a slot"
                continue
            named = element.find(id=picture.get("aria-labelledby"))
            caption = element.select_one(".hw-caption")
            alt = picture.get("aria-label") or (named.get_text() if named else "")
            if fault := _alt_fault(alt, caption.get_text() if caption and caption is not named else ""):
                yield line, f"shows a live {kind} whose alt text {fault}"
            if not element.select_one(".hw-data table"):
                yield line, f"shows a live {kind} without its data; give the chart a table of rows"


def _alt_fault(alt: str, caption: str) -> str:
    if len(alt.split()) < 5:
        return f"is {alt!r}; say in five words or more what is to be seen"
    if alt.strip().rstrip(".") == caption.strip().rstrip("."):
        return "repeats the caption; say what is to be seen"
    return ""
