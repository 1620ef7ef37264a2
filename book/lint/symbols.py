"""Symbols: each means one thing, which the page *Notation* or the sentence at hand says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .page import Page

GREEK = re.compile(
    r"\\(alpha|beta|gamma|delta|(var)?epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|(var)?phi|chi|psi"
    r"|omega|ell|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega)"
)
WORDS = {"mathrm", "text", "textrm", "operatorname", "begin", "end", "mathit"}
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]|[{}^_]|[^\sA-Za-z{}^_\\]+")


class Symbol(NamedTuple):
    """A letter as it stands in a formula, with what hangs on it."""

    base: str
    below: str
    above: str

    @property
    def names(self) -> list[str]:
        """Under what it may be found in the table, the fullest first."""
        below, above = (f"_{self.below}" if self.below else ""), (f"^{self.above}" if self.above else "")
        return list(dict.fromkeys([self.base + below + above, self.base + below, self.base + above, self.base]))


def symbols(tex: str) -> list[Symbol]:
    r"""The symbols of a formula; words in upright letters are none, one upright letter is.

    >>> [s.names[0] for s in symbols(r"I^\ast \le 2\,d_{h} \mathrm{FLOP} + \mathrm{A} X_{m \times k}")]
    ['I^\\ast', 'd_h', '\\mathrm{A}', 'X_m\\times k']
    """
    tokens, found, i = TOKEN.findall(tex), [], 0

    def group(start: int) -> tuple[str, int]:
        """The argument that begins at `start`, and where it ends."""
        if start >= len(tokens):
            return "", start
        if tokens[start] in (r"\mathrm", r"\text"):
            inner, end = group(start + 1)
            return f"{tokens[start]}{{{inner}}}", end
        if tokens[start] != "{":
            return tokens[start], start + 1
        depth, end = 1, start + 1
        while end < len(tokens) and depth:
            depth += {"{": 1, "}": -1}.get(tokens[end], 0)
            end += 1
        return _joined(tokens[start + 1 : end - 1]), end

    while i < len(tokens):
        token, base = tokens[i], ""
        i += 1
        if token[1:] in WORDS:
            inner, i = group(i)
            base = rf"\mathrm{{{inner}}}" if re.fullmatch("[A-Za-z]", inner) and token == r"\mathrm" else ""
        elif re.fullmatch(r"[A-Za-z]", token) or GREEK.fullmatch(token):
            base = token
        if not base:
            continue
        hung = {"_": "", "^": ""}
        while i < len(tokens) and tokens[i] in hung:
            mark = tokens[i]
            hung[mark], i = group(i + 1)
        found.append(Symbol(base, hung["_"], hung["^"]))
    return found


def _joined(tokens: list[str]) -> str:
    """Tokens as TeX again: a letter stands apart from a command before it."""
    pairs = zip(["", *tokens], tokens, strict=False)
    return "".join(f" {token}" if token.isalpha() and before[:1] == "\\" else token for before, token in pairs)


def unknown(tex: str, table: set[str]) -> Iterator[str]:
    """Symbols of a formula that are not in the table; what hangs on a known one is read as a formula in turn."""
    for symbol in symbols(tex):
        known = next((name for name in symbol.names if name in table), None)
        if known is None:
            yield symbol.names[0] if r"\mathrm" in symbol.below else symbol.base
        else:
            for mark, part in (("_", symbol.below), ("^", symbol.above)):
                if part and mark + part not in known:
                    yield from [f"{symbol.base}_{part}"] if part.startswith(r"\mathrm{") else unknown(part, table)
            if symbol.above == r"\ast" and not known.endswith(r"^\ast"):
                yield f"{symbol.base}^\\ast"


def formulas(page: Page) -> Iterator[tuple[int, str]]:
    """Every formula of the page, with its line."""
    for piece in page.pieces:
        if piece.kind == "math":
            yield piece.line, piece.text
        yield from ((part.line, part.text) for part in piece.inlines if part.kind == "math")


def _defined(page: Page) -> set[str]:
    """Symbols that a sentence of the page introduces: "where $x$ is", "let $x$ be", "with $x$"."""
    found = set()
    for piece in page.pieces:
        before = ""
        for part in piece.inlines:
            if part.kind == "math" and re.search(r"\b(where|with|let|for)\b[^.?!]*$", before, re.I):
                found |= {symbol.names[0] for symbol in symbols(part.text)} if len(symbols(part.text)) == 1 else set()
            before += part.seen if part.kind != "math" else " "
    return found


def symbol(page: Page, book) -> Iterator[tuple[int, str]]:
    """Each symbol of a formula is in the notation, or the page says what it is."""
    table, told = book.notation.keys() | _defined(page), set()
    for line, tex in formulas(page):
        for name in unknown(tex, table):
            if name not in told:
                told.add(name)
                yield (
                    line,
                    f"uses the symbol {name} without a meaning; enter it in book/notation.md, or say 'where … is'",
                )


def used(page: Page, table: set[str]) -> set[str]:
    """Symbols of the table that the page uses."""
    found = set()

    def look(tex: str) -> None:
        for symbol in symbols(tex):
            found.update(name for name in symbol.names if name in table)
            for part in (symbol.below, symbol.above):
                if part:
                    look(part)

    for _, tex in formulas(page):
        look(tex)
    return found


def table_of(page: Page) -> dict[str, list[int]]:
    """Symbol -> lines of the rows that explain it, from the first column of the tables of the page *Notation*."""
    found: dict[str, list[int]] = {}
    rows: set[int] = set()
    for piece in page.of("text"):
        if piece.listed and piece.line not in rows:
            rows.add(piece.line)
            for part in piece.inlines:
                for name in symbols(part.text) if part.kind == "math" else ():
                    found.setdefault(name.names[0], []).append(piece.line)
    return found
