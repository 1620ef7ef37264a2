"""How the book speaks: plain words, short sentences, each term linked where it is first used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from hwlab.specs.chips import chips
from hwlab.specs.models import models

from .numbers import UNITS
from .page import Page, Piece

AVOID = re.compile(
    r"\b(very|simply|just|obviously|clearly|trivially|basically|really|actually"
    r"|amazing|blazing|cutting-edge|game-changing|incredible|leverage|powerful|revolutionary|seamless|unlock"
    r"|to-do|todo|fixme|tbd)\b",
    re.I,
)
MOST = 45
"""Words of a sentence."""

AMERICAN = re.compile(
    r"\b(\w*(?:organ|optim|quant|token|normal|vector|parallel|recogn|special|summar|character|minim|maxim|real|initial)"
    r"iz(?:e[sdr]?|ing|ations?|ers?)|color\w*|behavior\w*|favor\w*|neighbor\w*|labor|center\w*|fiber|"
    r"analyz\w+|catalog|gray|modeling|modeled|labeled|canceled|traveled|defense)\b"
)


def plain_words(page: Page, book) -> Iterator[tuple[int, str]]:
    """No filler, no hype, nothing left to do."""
    for piece in page.pieces:
        for part in piece.inlines:
            if part.kind in ("text", "link"):
                for match in AVOID.finditer(part.text):
                    yield part.line, f"says {match[0]!r}; leave it out, or say what is meant"


def spelling(page: Page, book) -> Iterator[tuple[int, str]]:
    """British; names of the field as the field writes them."""
    for piece in page.pieces:
        for part in piece.inlines:
            if part.kind in ("text", "link"):
                for match in AMERICAN.finditer(part.text):
                    yield part.line, f"spells {match[0]!r}; the book spells as in Britain (colour, quantise)"


def sentence(page: Page, book) -> Iterator[tuple[int, str]]:
    """At most 45 words (`MOST`)."""
    for piece in page.of("text"):
        whole = piece.seen(lambda part: f"`{part.text}`" if part.kind == "code" else page.shown(part))
        for text in re.split(r"(?<=[.?!])\)?\s+(?=[\"“(*`A-Z\d])", whole):
            if (count := len(text.split())) > MOST:
                yield piece.line, f"has a sentence of {count} words, '{text[:40]}…'; divide it at {MOST}"


def heading_case(page: Page, book) -> Iterator[tuple[int, str]]:
    """Only the first word of a heading, and names, begin with a capital."""
    for heading in page.of("heading"):
        for word in re.findall(r"(?<=[\w,)] )[A-Z][a-z]+\b", heading.seen()):
            if word not in book.capitals:
                yield heading.line, f"has {word!r} in a heading; write it small unless it is a name"


# ---- Terms ---------------------------------------------------------------------------------------------------------


def _uses(text: str, term: str) -> tuple[str, int]:
    """The text without a term and its plural, and how often it had them; capitals matter in an abbreviation."""
    loose = 0 if re.search(r"[A-Z]", term) else re.I
    return re.subn(rf"(?<![\w-]){re.escape(term)}(?:s|es)?(?![\w/-])", " ", text, flags=loose)


def _texts(page: Page) -> Iterator[Piece]:
    """What a reader reads in order, without headings and titles of blocks."""
    for piece in page.of("text"):
        if piece.parent != piece.line:
            yield piece


def term_link(page: Page, book) -> Iterator[tuple[int, str]]:
    """A term of the glossary is a link where the page first uses it."""
    linked, told = set(), set()
    for piece in _texts(page):
        for part in piece.inlines:
            if part.kind == "role" and part.name == "term":
                linked.add(_target(part.text).lower())
            elif part.kind == "text":
                text = part.text
                for term in sorted(book.terms, key=len, reverse=True):
                    text, uses = _uses(text, term)
                    if uses and term.lower() not in linked | told:
                        told.add(term.lower())
                        yield part.line, f"uses {term!r} for the first time without a link; write {{term}}`{term}`"


def _target(text: str) -> str:
    """The term that the text of a role leads to."""
    match = re.search(r"<([^<>]+)>\s*$", text, re.S)
    return re.sub(r"\s+", " ", match[1] if match else text)


def linked_terms(page: Page) -> set[str]:
    """Terms that the page links."""
    roles = (part for piece in page.pieces for part in piece.inlines if part.kind == "role" and part.name == "term")
    return {_target(part.text).lower() for part in roles}


@cache
def _names() -> set[str]:
    """Words in names of chips, makers and models."""
    names = [text for c in chips() for text in (c.name, c.vendor, c.id)] + [m.name for m in models()]
    return {word.lower() for name in names for word in re.findall(r"[\w.]+", name)}


def abbreviation(page: Page, book) -> Iterator[tuple[int, str]]:
    """What is written in capitals is a term of the glossary, or a name."""
    told = {word.lower() for term in book.terms for word in re.findall(r"[\w/]+", term)}
    told |= _names() | {unit.lower() for unit in UNITS}
    for piece in _texts(page):
        for part in piece.inlines:
            if part.kind != "text":
                continue
            for word in re.findall(r"(?<![\w.-])[A-Z][A-Z\d]*[A-Z][A-Z\d]*(?=s?\b)(?!\w*[./])", part.text):
                if word.lower() not in told:
                    told.add(word.lower())
                    yield part.line, f"uses {word}, which the glossary does not explain; enter it there and link it"
