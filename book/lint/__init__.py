"""Lint of the book: what a chapter promises its readers, held by machine.

``python -m book.lint [FILE ...]`` prints each fault as ``file:line: rule: what was wrong, and what would do``. A page
may claim an exception, with its reason, in a comment on the line above what is excepted::

    % lint: sentence because the sum is easier to follow in one breath

An exception that excepts nothing is itself a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from . import chapter, form, numbers, symbols, whole, words
from .page import Page
from .whole import Book

MYST = ("chapter", "page", "lab", "questions")
PAGE_RULES = {
    # What a chapter holds
    "opening": (chapter.opening, ("chapter",)),
    "length": (chapter.length, ("chapter",)),
    "minimum": (chapter.minimum, ("chapter",)),
    "guess": (chapter.guess, ("chapter",)),
    "trial": (chapter.trial, ("chapter",)),
    "breaks": (chapter.breaks, ("chapter",)),
    "keep": (chapter.keep, ("chapter",)),
    "lab": (chapter.lab, ("chapter", "lab")),
    "measured": (chapter.measured, ("lab",)),
    # Numbers and symbols
    "typed-number": (numbers.typed_number, MYST),
    "answer-above": (numbers.answer_above, ("chapter",)),
    "symbol": (symbols.symbol, MYST),
    # Words
    "plain-words": (words.plain_words, MYST),
    "spelling": (words.spelling, MYST),
    "sentence": (words.sentence, MYST),
    "heading-case": (words.heading_case, MYST),
    "term-link": (words.term_link, ("chapter",)),
    "abbreviation": (words.abbreviation, ("chapter",)),
    # Form
    "alt-text": (form.alt_text, MYST),
    "image": (form.image, MYST),
    "code-width": (form.code_width, ("chapter", "page")),
    "solution-width": (form.solution_width, ("questions",)),
    "heading-level": (form.heading_level, ("chapter", "page", "lab")),
    "raw-html": (form.raw_html, MYST),
    "bare-url": (form.bare_url, MYST),
}
"""Rule -> (function of a page and the book, kinds of pages that it holds for). Its docstring is the rule."""

BOOK_RULES = {
    "asked-once": whole.asked_once,
    "question-whole": whole.question_whole,
    "bibliography": whole.bibliography,
    "unused-term": whole.unused_term,
    "unused-symbol": whole.unused_symbol,
}
"""Rule -> function of the book."""


@dataclass(frozen=True, order=True)
class Fault:
    """One thing that is wrong, and where."""

    path: str
    line: int
    rule: str
    says: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.says}"


def lint(book: Book) -> list[Fault]:
    """All faults of the book that no exception covers, in order."""
    found = [Fault(path, line, rule, says) for rule, check in BOOK_RULES.items() for path, line, says in check(book)]
    for page in book.pages:
        for rule, (check, kinds) in PAGE_RULES.items():
            if page.kind in kinds:
                found += [Fault(page.path, line, rule, says) for line, says in check(page, book)]
    return sorted(_excepted(found, book.pages))


def _excepted(faults: list[Fault], pages: Iterable[Page]) -> list[Fault]:
    """Take out what the pages except, and put in the exceptions that are malformed or of no use."""
    left = list(faults)
    for page in pages:
        for i, piece in enumerate(page.pieces):
            if piece.kind != "comment" or not piece.text.startswith("lint:"):
                continue
            match = re.fullmatch(r"lint: ([\w-]+) because \S.*", piece.text, re.S)
            if not match or match[1] not in PAGE_RULES | BOOK_RULES:
                says = f"reads {piece.text!r}; write 'lint: RULE because REASON' with a rule that exists"
                left.append(Fault(page.path, piece.line, "exception", says))
                continue
            below = next((other for other in page.pieces[i + 1 :] if other.kind != "comment"), piece)
            covered = [
                fault
                for fault in left
                if (fault.path, fault.rule) == (page.path, match[1]) and below.line <= fault.line <= below.end
            ]
            if not covered:
                says = f"excepts nothing from {match[1]}; delete it"
                left.append(Fault(page.path, piece.line, "exception", says))
            left = [fault for fault in left if fault not in covered]
    return left
