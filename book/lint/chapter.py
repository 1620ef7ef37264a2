"""What a chapter holds: its opening, its length, how many of each element, and its end."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from hwlab.exercises import questions
from hwlab.exercises.base import Choice, Code, Memo, Numeric
from hwlab.specs.chips import KINDS, chips
from hwlab.specs.claims import claims

from .page import ROOT, Page, Piece

ASKED = ("predict", "exercise", "review")
NOT_PROSE = {*ASKED, "opening", "claims", "keep"}
DRAWINGS = ("floor-plan",)
"""Directives that draw a figure."""

MONTHS = set(calendar.month_name) - {""}
AMOUNT = re.compile(
    r"\d|\b(one|two|three|four|five|ten|half|twice|times|how (many|much|far|long|often|large)|what (share|part))\b",
    re.I,
)


def words(page: Page, pieces: list[Piece]) -> int:
    """Words of prose: formulas, listings, questions, claims and takeaways do not count."""
    texts = (p.seen(page.shown) for p in pieces if p.kind == "text" and not NOT_PROSE & {*p.inside})
    return sum(any(c.isalnum() for c in word) for text in texts for word in text.split())


def opening(page: Page, book) -> Iterator[tuple[int, str]]:
    """A label and a title; then a question with an amount, what it promises and needs, and how long it takes."""
    head = [p for p in page.pieces if p.kind in ("label", "heading", "directive")][:3]
    if [p.kind for p in head[:2]] != ["label", "heading"] or not head[0].text.startswith("ch-"):
        yield 1, "begins without its label; write (ch-NAME)= above the title"
    found = next(page.of("directive", "opening"), None)
    if found is None:
        yield page.title.line if page.title else 1, "has no {opening}; put it below the title"
        return
    if found.text != (asked := book.questions.get(page.docname, found.text)):
        yield found.line, f"asks {found.text!r}, and contents.toml {asked!r}; make them one"
    if not AMOUNT.search(found.text):
        yield found.line, f"asks {found.text!r}, without an amount; ask how many, what share, or name a number"
    parts, name = {}, ""
    for piece in page.body(found):
        if piece.name == "dt":
            parts[name := piece.seen()] = []
        elif name:
            parts[name].append(piece)
    for name, least, most in (
        ("You will be able to", 3, 5),
        ("Before you start", 1, 3),
        ("Time", 1, 1),
        ("Numbers of", 1, 1),
        ("Code", 1, 1),
    ):
        if not least <= len(parts.get(name, ())) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            yield found.line, f"has {len(parts.get(name, ()))} lines under {name!r}; give {wanted}"
    for piece in parts.get("Time", ()):
        if not re.search(r"\d+ minutes to read, \d+ to do", piece.seen()):
            yield piece.line, f"says {piece.seen()!r}; write '35 minutes to read, 45 to do'"
    for piece in parts.get("Numbers of", ()):
        if not re.fullmatch(rf"({'|'.join(MONTHS)}) 20\d\d", piece.seen()):
            yield piece.line, f"dates the numbers {piece.seen()!r}; give month and year"
    for piece in parts.get("Code", ()):
        for part in piece.inlines:
            if part.kind == "code" and not (ROOT / part.text).exists():
                yield part.line, f"names the code {part.text}, which does not exist; give a path from the root"


def length(page: Page, book) -> Iterator[tuple[int, str]]:
    """2,000 to 4,000 words, and fewer than 700 from one h2 to the next."""
    count = words(page, list(page.pieces))
    if not 2000 <= count <= 4000:
        yield page.title.line, f"has {count} words of prose; 2,000 to 4,000 are a chapter"
    for heading, below in page.sections(2):
        if (count := words(page, below)) >= 700:
            yield heading.line, f"has {count} words in the section {heading.seen()!r}; divide it below 700"


# ---- How many of each ----------------------------------------------------------------------------------------------


def asked(page: Page, *kinds: type) -> list[Piece]:
    """Directives that ask a question of these kinds; all where none is named."""
    known = {question.id: question for question in questions()}
    found = page.of("directive", *ASKED)
    return [p for p in found if not kinds or isinstance(known.get(p.text), kinds)]


def live(page: Page, kind: str) -> list:
    """Live elements of a kind among the outputs."""
    outputs = [output for found in page.outputs.values() for output in found]
    return [part for output in outputs for part in output.soup.select(f'.hw-live[data-kind="{kind}"]')]


def shown_claims(page: Page) -> list:
    """Rows of the ledger that belong to the chapter and stand in it."""
    rows = {c.id for c in claims(chapter=page.number)}
    blocks = [p for p in page.of("directive", "claims") if "quote" not in p.options]
    return sorted(rows if any(not p.text for p in blocks) else rows & {id for p in blocks for id in p.text.split()})


def half_blank(page: Page) -> list[Piece]:
    """Exercises with a formula that asks."""
    blocks = page.of("directive", "exercise")
    return [p for p in blocks if any(inner.kind == "math" and "?" in inner.text for inner in page.body(p))]


def classes(page: Page) -> set[str]:
    """Kinds of chips that are named in the section that names most of them."""
    by_kind = {kind: [kind if kind == "wafer" else kind.upper()] for kind in KINDS if kind != "system"}
    for record in chips():
        if record.kind in by_kind:
            by_kind[record.kind] += [record.name, record.name.split()[0], record.id]
    found = set()
    for _, below in page.sections(2):
        text = " ".join(
            " ".join([p.seen(), *(part.text for part in p.inlines if part.kind == "role")]) for p in below if p.inlines
        )
        named = {
            kind
            for kind, names in by_kind.items()
            if any(re.search(rf"\b{re.escape(name)}s?\b", text) for name in names)
        }
        found = max(found, named, key=len)
    return found


def cited(page: Page) -> set[str]:
    """Keys of the bibliography."""
    roles = (part for piece in page.pieces for part in piece.inlines if part.kind == "role")
    return {key.strip() for part in roles if part.name.startswith("cite") for key in part.text.split(",")}


class Least(NamedTuple):
    """How many a chapter has of something, and what would do where it has not."""

    what: str
    number: int
    count: Callable[[Page], object]
    advice: str


MINIMUM = (
    Least("guesses", 3, lambda page: list(page.of("directive", "predict")), "ask with {predict}"),
    Least("figures", 5, lambda page: [*live(page, "chart"), *page.of("directive", *DRAWINGS)], "show a chart"),
    Least("explorers", 1, lambda page: live(page, "explorer"), "end a cell with explore(…)"),
    Least("machines", 1, lambda page: live(page, "machine"), "end a cell with a Machine"),
    Least("worked examples", 2, lambda page: list(page.of("directive", "work")), "work it in a {work}"),
    Least("half-blank examples", 1, half_blank, "write ? for a result in a formula of an {exercise}"),
    Least("exercises", 8, lambda page: list(page.of("directive", "exercise")), "ask with {exercise}"),
    Least("questions to choose in", 1, lambda page: asked(page, Choice), "add a Choice"),
    Least("numeric exercises", 1, lambda page: asked(page, Numeric), "add a Numeric"),
    Least("memos", 1, lambda page: asked(page, Memo), "add a Memo with its rubric"),
    Least("reviews", 3, lambda page: list(page.of("directive", "review")), "ask with {review} about earlier chapters"),
    Least("classes of chips in one section", 3, classes, "try the conclusion on other classes"),
    Least("references", 8, cited, "cite at the claim"),
    Least("takeaways", 5, lambda page: takeaways(page), "number them in {keep}"),
)


def minimum(page: Page, book) -> Iterator[tuple[int, str]]:
    """How many a chapter has of each element: the table `MINIMUM` in chapter.py; at most 20 references."""
    line = page.title.line if page.title else 1
    for what, number, count, advice in MINIMUM:
        if (found := len(count(page))) < number:
            yield line, f"has {found} {what}, and {number} are the least; {advice}"
    if (found := len(cited(page))) > 20:
        yield line, f"has {found} references; keep the 20 that carry a claim"


# ---- Parts with a form of their own --------------------------------------------------------------------------------


def guess(page: Page, book) -> Iterator[tuple[int, str]]:
    """The first one stands before anything is explained."""
    first = next(page.of("directive", "predict"), None)
    section = next((p for p in page.of("heading") if p.level == 2), None)
    if first and section and first.line > section.line:
        yield first.line, "is the first guess, and stands below the first section; ask before you explain"


def trial(page: Page, book) -> Iterator[tuple[int, str]]:
    """All rows of the ledger that belong to the chapter."""
    rows, shown = [c.id for c in claims(chapter=page.number)], shown_claims(page)
    if missing := [id for id in rows if id not in shown]:
        yield (
            page.title.line,
            f"does not show {', '.join(missing)} of the ledger; a {{claims}} without ids shows the rest",
        )


def breaks(page: Page, book) -> Iterator[tuple[int, str]]:
    """The section of ``{breaks}`` has 150 words, and sets measurements from two sources beside the model."""
    for heading, below in page.sections(2):
        block = next((p for p in below if p.kind == "directive" and p.name == "breaks"), None)
        if block is None:
            continue
        if (count := words(page, below)) < 150:
            yield heading.line, f"says in {count} words where the model breaks; 150 are the least"
        part = Page(page.path, page.kind, tuple(below))
        if len(cited(part)) < 2:
            yield block.line, f"cites {len(cited(part))} sources beside the model; cite two that measured"
        if not any("measurements(" in cell.text for cell in part.of("cell")):
            yield block.line, "draws no measurement; take one from hwlab.specs.measurements"
        return
    yield page.title.line, "has no {breaks} below a heading; say where the model fails"


def takeaways(page: Page) -> list[Piece]:
    """Items of ``{keep}``."""
    return [piece for piece in page.of("text") if "keep" in piece.inside and piece.listed]


def keep(page: Page, book) -> Iterator[tuple[int, str]]:
    """Takeaways with a number each, and a card of formulas."""
    blocks = list(page.of("directive", "keep"))
    if len(blocks) != 1:
        yield page.title.line, f"has {len(blocks)} {{keep}}; close with one"
    for item in takeaways(page):
        if not re.search(r"\d", item.seen(page.shown)):
            yield item.line, f"keeps no threshold in '{item.seen()[:40]}…'; give a number"
    if blocks and not any(piece.kind == "math" for piece in page.body(blocks[0])):
        yield blocks[0].line, "has no formula card; put the formulas below the takeaways"


def lab(page: Page, book) -> Iterator[tuple[int, str]]:
    """Below the chapter, with its code exercises, six stored outputs that are the same everywhere, and a widget."""
    if page.kind == "chapter":
        wanted = f"notebooks/{Path(page.path).stem}"
        if wanted not in book.below.get(page.docname, ()):
            yield page.title.line, f"has no lab; write {wanted}.ipynb and enter it below the chapter in _toc.yml"
        code = "".join(cell.text for cell in book.page(f"{wanted}.ipynb").of("cell"))
        for piece in asked(page, Code):
            if f'check("{piece.text}"' not in code:
                yield piece.line, f"sends the reader to the lab, which does not check {piece.text}; call check there"
        return
    held = [line for line, outputs in page.outputs.items() if any(o.stored and (o.text or o.html) for o in outputs)]
    if len(held) < 6:
        yield page.title.line, f"stores {len(held)} outputs that are the same everywhere; six are the least"
    if not [*live(page, "explorer"), *live(page, "machine")]:
        yield page.title.line, "uses no widget; move an explorer or a machine from Python"


def measured(page: Page, book) -> Iterator[tuple[int, str]]:
    """A cell of a lab that times something, its output not compared, is followed by one that asserts a wide band."""
    cells = [*page.of("cell"), None]
    for cell, after in pairwise(cells):
        times = "nbval-ignore-output" in cell.options.get("tags", "") and re.search(r"perf_counter|seconds", cell.text)
        if times and (after is None or not re.search(r"^\s*assert\b", after.text, re.M)):
            yield cell.line, "measures, and nothing holds what it found; let the next cell assert a wide band"
