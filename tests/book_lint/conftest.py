"""Small pages, and the book that they make up."""

import pytest

from book.lint.page import Output, Page, parse
from book.lint.whole import Book


@pytest.fixture
def page():
    """``page("text", kind="chapter", path="book/02-matmul.md", outputs=["<html>"], glued={})``."""

    def build(text, *, kind="chapter", path="book/02-matmul.md", outputs=(), glued=None):
        pieces = tuple(parse(text))
        cells = [piece.line for piece in pieces if piece.kind == "cell"]
        shown = {line: (Output(html, ""),) for line, html in zip(cells, outputs, strict=True)}
        return Page(path, kind, pieces, shown, glued or {})

    return build


@pytest.fixture
def faults(page):
    """``faults(rule, "text")``: lines and messages; more keywords go to `page`, and `beside` are other pages."""

    def run(rule, text, beside=(), **keywords):
        subject = page(text, **keywords)
        return list(rule(subject, Book((subject, *beside))))

    return run


@pytest.fixture
def lines(faults):
    """Lines of the faults only."""
    return lambda rule, text, **keywords: [line for line, _ in faults(rule, text, **keywords)]
