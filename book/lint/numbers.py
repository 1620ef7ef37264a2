"""Numbers: none with a unit is typed, and none tells a guess before it is made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hwlab.exercises import questions
from hwlab.exercises.base import Prediction
from hwlab.specs.claims import claim, claims
from hwlab.specs.quantities import SYMBOLS
from hwlab.studies.trials import bound, try_claim

from .page import Page, Piece

COUNTED = {symbol for symbol, (_, base) in SYMBOLS.items() if base == "1"} - {"%", "x", "×", "time", "times"}
WIDTHS = {"b", "bit", "bits"}
"""What a format is said to have, which is its definition."""

OTHER = set("kbit/s Mbit/s Gbit/s Tbit/s W kW MW GW J kJ MJ pJ nJ kWh V °C Hz kHz MHz GHz mm mm² nm".split())  # noqa: SIM905
"""Units of figures that no question asks for."""

UNITS = (set(SYMBOLS) - COUNTED - WIDTHS - {"×"}) | OTHER


def _either(units: Iterable[str]) -> str:
    """A pattern for one of the units; a single letter stands apart from its number, so that a 70B model is a name."""
    names = sorted(units, key=len, reverse=True)
    long, short = (
        "|".join(re.escape(name) for name in names if (len(name) == 1 and name not in "%x") == single)
        for single in (False, True)
    )
    return rf"(?:[\s\u00a0\u202f-]?({long})|[\s\u00a0\u202f]({short}))(?![\w/])"


_NUMBER = r"(?<![\w.,^-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:\s*×\s*10[\^⁰¹²³⁴-⁹\d{}]+)?"
_PREFIX = "kilo|mega|giga|tera|peta|exa|milli|micro|nano|pico"
_SPELT = rf"per ?cent|dollars|fold|(?:{_PREFIX})?(?:bytes?|seconds?|watts?|joules?|hertz|flops?)"
_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|forty|fifty|hundred|thousand|million|billion"
TYPED = re.compile(
    rf"{_NUMBER}{_either(UNITS)}|[$€£]\s?\d[\d.,]*|{_NUMBER}[\s\u00a0-]?(?:{_SPELT})\b"
    rf"|\b(?:{_WORDS})[\s-](?:per ?cent|(?:{_PREFIX})(?:byte|second|watt|joule|hertz|flop)s?)\b"
)
QUANTITY = re.compile(rf"({_NUMBER})(?:{_either(SYMBOLS)})?")
UPRIGHT = re.compile(rf"\d[\d.,]*\s*(?:\\[,;: ]\s*)?\\(?:text|mathrm)\{{\s*({'|'.join(map(re.escape, UNITS))})\s*\}}")


def typed_number(page: Page, book) -> Iterator[tuple[int, str]]:
    """A number with a unit comes from a role or from code; a given or a quotation says so with ``{given}``."""
    advice = "print it with {spec}, {glue:text} or a fact, or mark what the problem or a quotation gives with {given}"
    for piece in page.pieces:
        if piece.inlines:
            text, lines = _typed(piece)
            for match in TYPED.finditer(text):
                yield lines[match.start()], f"has the number {match[0]!r} typed; {advice}"
        if piece.kind == "math" and (match := UPRIGHT.search(piece.text)):
            yield piece.line + piece.text[: match.start()].count("\n"), f"has {match[0]!r} typed; {advice}"


def _typed(piece: Piece) -> tuple[str, list[int]]:
    """The letters that the author wrote as text, and the line of each; what code fills in leaves a mark."""
    text, lines = "", []
    for part in piece.inlines:
        written = part.text if part.kind in ("text", "link") else "\ufffc"
        if part.kind == "role" and part.name == "term":
            written = part.seen
        if part.kind == "math" and re.fullmatch(r"[\d.,^{}\s\\times]+", part.text):
            written = re.sub(r"\\times", "×", part.text)
        text += written
        lines += [part.line] * len(written)
    return text, lines


def answer_above(page: Page, book) -> Iterator[tuple[int, str]]:
    """What a guess asks for does not stand above it: in text, outputs or claims, within 2 percent."""
    known = {question.id: question for question in questions()}
    above: list[tuple[int, str]] = []
    named = {id for p in page.of("directive", "claims") for id in p.text.split()}
    for piece in page.pieces:
        if piece.kind == "directive" and piece.name == "predict" and isinstance(known.get(piece.text), Prediction):
            record = known[piece.text]
            answer = record.answer()  # once: it may simulate
            for line, text in above:
                for match in QUANTITY.finditer(text):
                    if _tells(match, record, answer):
                        yield (
                            line,
                            f"tells {match[0]!r}, the answer of the guess {record.id} below; move one of the two",
                        )
        elif piece.kind == "directive" and piece.name == "claims":
            ids = piece.text.split() or [c.id for c in claims(chapter=page.number) if c.id not in named]
            for id in ids:
                told = try_claim(id).recomputed if id in bound() else ""
                above.append((piece.line, f"{claim(id).sentence} {told}"))
        elif piece.kind == "directive":
            above.append((piece.line, piece.text))
        elif piece.inlines:
            above.append((piece.line, piece.seen(page.shown)))
        elif piece.kind == "cell" and not re.search(r"remove-(cell|output)", piece.options.get("tags", "")):
            above += [(piece.line, output.seen) for output in page.outputs.get(piece.line, ())]


def _tells(match: re.Match, record: Prediction, answer: float) -> bool:
    """Whether a quantity is the answer: in the same unit or, where things are counted, as a bare number."""
    value, symbol = float(match[1].split("×")[0].replace(",", "")), match[2] or match[3]
    factor, base = SYMBOLS[symbol] if symbol else (1.0, "1")
    if record.unit in COUNTED:
        alike = symbol is None or symbol in COUNTED
    elif base == "1":
        alike = symbol is not None and (symbol == "%") == (record.unit == "%") and symbol not in COUNTED
    else:
        alike = base == record.base
    return alike and answer > 0 and abs(value * factor / answer - 1) <= 0.02
