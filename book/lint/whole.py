"""What only the whole book can tell: what is defined and never used, and what is used twice."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml
from pybtex.database import parse_file

from hwlab.exercises import question
from hwlab.exercises.base import Choice, Code, Memo, Numeric, Prediction
from hwlab.specs.papers import papers

from .chapter import ASKED, cited
from .page import ROOT, Page, read
from .symbols import table_of, used
from .words import linked_terms


@dataclass(frozen=True)
class Book:
    """All pages, and what they share."""

    pages: tuple[Page, ...]

    @classmethod
    def load(cls) -> Book:
        """Every page that is written, and the texts of the questions."""
        files = [*(ROOT / "book").glob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
        files += [
            path for path in (ROOT / "hwlab/exercises").glob("*.py") if path.name not in ("__init__.py", "base.py")
        ]
        return cls(tuple(read(path) for path in sorted(files)))

    def page(self, path: str) -> Page:
        """The page of a file; an empty one where there is none."""
        return next((page for page in self.pages if page.path == path), Page(path, "page", ()))

    @cached_property
    def terms(self) -> dict[str, int]:
        """Term of the glossary -> its line."""
        labels = self.page("book/glossary.md").of("label")
        return {label.text: label.line for label in labels if "glossary" in label.inside}

    @cached_property
    def notation(self) -> dict[str, list[int]]:
        """Symbol -> lines that explain it."""
        return table_of(self.page("book/notation.md"))

    @cached_property
    def capitals(self) -> set[str]:
        """Words that the prose writes with a capital within a sentence: names."""
        texts = [piece.seen() for page in self.pages for piece in page.of("text")]
        texts.append("the " + yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["title"])
        return {word for text in texts for word in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+\b", text)}

    @cached_property
    def questions(self) -> dict[str, str]:
        """Page -> the question that contents.toml has for it."""
        parts = tomllib.loads((ROOT / "book/_ext/contents.toml").read_text("utf8"))["part"]
        return {page["file"]: page["question"] for part in parts for page in part["page"]}

    @cached_property
    def below(self) -> dict[str, list[str]]:
        """Page -> the pages under it in _toc.yml."""
        parts = yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))["parts"]
        chapters = [chapter for part in parts for chapter in part["chapters"]]
        return {chapter["file"]: [entry["file"] for entry in chapter.get("sections", ())] for chapter in chapters}


Found = Iterator[tuple[str, int, str]]
"""File, line, and what is wrong."""


def asked_once(book: Book) -> Found:
    """Every question stands in one page."""
    seen: dict[str, str] = {}
    for page in book.pages:
        for piece in page.of("directive", *ASKED):
            if piece.text in seen:
                yield page.path, piece.line, f"asks {piece.text}, as {seen[piece.text]} does; ask it once"
            seen[piece.text] = f"{page.path}:{piece.line}"
    for page in book.pages:
        if page.kind == "questions":
            for label in page.of("label"):
                if label.text not in seen:
                    yield page.path, label.line, f"has the question {label.text}, which no page asks; ask or delete it"


def question_whole(book: Book) -> Found:
    """Hint, solution, check and known mistakes of every question."""
    for page in book.pages:
        for label in page.of("label") if page.kind == "questions" else ():
            for fault in faults_of(question(label.text)):
                yield page.path, label.line, f"has the question {label.text} {fault}"


def faults_of(record) -> Iterator[str]:
    """What a question lacks."""
    texts = ["reveal"] if isinstance(record, Prediction) else ["hint", "solution"]
    yield from (f"without a {name}; write one" for name in texts if not getattr(record, name).strip())
    for kind, field, least in (
        (Numeric, "mistakes", 1),
        (Choice, "options", 2),
        (Memo, "rubric", 3),
        (Code, "mutants", 5),
    ):
        if isinstance(record, kind) and (count := len(getattr(record, field))) < least:
            yield f"with {count} {field}; {least} are the least"
    if isinstance(record, Choice) and record.answer() not in [option.key for option in record.options]:
        yield f"whose answer {record.answer()!r} is not among its options; compute one of their keys"


def bibliography(book: Book, path: Path = ROOT / "book/references.bib") -> Found:
    """What is cited exists; what exists is cited; and no entry contradicts the papers that trials rest on."""
    entries = parse_file(path).entries
    lines = {
        match[1]: i
        for i, text in enumerate(path.read_text("utf8").splitlines(), 1)
        if (match := re.match(r"@\w+\{([^,]+)", text))
    }
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    used_keys = set()
    for page in book.pages:
        used_keys |= cited(page)
        for piece in page.pieces:
            for part in piece.inlines:
                if part.kind == "role" and part.name.startswith("cite"):
                    for key in part.text.split(","):
                        if key.strip() not in entries:
                            yield (
                                page.path,
                                part.line,
                                f"cites {key.strip()}, which references.bib lacks; enter it there",
                            )
    for key, entry in entries.items():
        if key not in used_keys:
            yield name, lines[key], f"has {key}, which no page cites; cite or delete it"
        for record in papers():
            if _same(record.url, entry.fields.get("url", "")):
                if record.title != (title := re.sub(r"[{}]|\\texttt", "", entry.fields["title"])):
                    yield (
                        name,
                        lines[key],
                        f"has the title {title!r}, papers.toml {record.title!r}; take the paper's own",
                    )
                if str(record.date.year) != entry.fields["year"]:
                    yield name, lines[key], f"has the year {entry.fields['year']}, papers.toml {record.date.year}"
                if record.authors[0] not in str(entry.persons["author"][0]):
                    yield (
                        name,
                        lines[key],
                        f"begins with the author {entry.persons['author'][0]}, papers.toml {record.authors[0]}",
                    )


def _same(url: str, other: str) -> bool:
    return bool(url) and url.rstrip("/") == other.rstrip("/")


def unused_term(book: Book) -> Found:
    """Every term of the glossary is linked from a page, or from the definition of one that is."""
    glossary = book.page("book/glossary.md")
    linked = {term for page in book.pages if page is not glossary for term in linked_terms(page)}
    definitions, term = {}, ""
    for piece in glossary.pieces:
        if "glossary" in piece.inside:
            term = piece.text.lower() if piece.kind == "label" else term
            definitions.setdefault(term, []).append(piece)
    ahead = list(linked)
    while ahead:
        inner = linked_terms(Page("", "page", tuple(definitions.get(ahead.pop(), ())))) - linked
        linked |= inner
        ahead += inner
    for term, line in book.terms.items():
        if term.lower() not in linked:
            yield (
                "book/glossary.md",
                line,
                f"explains {term!r}, which no page links; link it where it is used, or delete it",
            )


def unused_symbol(book: Book) -> Found:
    """Every row of the notation is used, and no symbol has two rows."""
    seen = set()
    for page in book.pages:
        if page.path != "book/notation.md":
            seen |= used(page, book.notation.keys())
    for name, lines in book.notation.items():
        if len(lines) > 1:
            yield "book/notation.md", lines[1], f"explains {name} again (line {lines[0]}); one symbol means one thing"
        if name not in seen:
            yield "book/notation.md", lines[0], f"explains {name}, which no page uses; delete it until one does"
