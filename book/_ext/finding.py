"""Sphinx extension: what the search finds besides words.

Chips, symbols, glossary terms, claims and questions are objects of a domain of their own, so Sphinx writes them into
its search index with their anchors, beside the names of `hwlab`. Symbols come from tables of the class ``symbols``
(see `read_symbols`). A figure such as 3.35 and a symbol such as I* are words; `_web/search.js` ranks what is found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from catalogue import catalogue
from catalogue import shown as shown_chips
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains import Domain, ObjType
from sphinx.locale import _
from sphinx.search.en import SearchEnglish

from hwlab.exercises import question
from hwlab.specs.claims import claim

SCORER = Path(__file__).resolve().parents[1] / "_web/search.js"


class Words(SearchEnglish):
    """English, with figures and starred symbols as words."""

    _word_re = re.compile(r"\w+(?:\.\d+)*\*?")
    js_splitter_code = r"""
var splitQuery = (query) => query.match(/[\p{L}\p{N}_]+(?:\.\p{N}+)*\*?/gu) ?? [];
"""


class Found(Domain):
    """Direct hits. Each object is (kind, what the reader sees, page, anchor, first among its like)."""

    name = "book"
    label = "Book"
    object_types = {  # noqa: RUF012
        "term": ObjType(_("glossary")),
        "symbol": ObjType(_("symbol")),
        "chip": ObjType(_("chip")),
        "claim": ObjType(_("claim on trial")),
        "question": ObjType(_("question")),
    }
    initial_data = {"objects": {}, "letters": {}}  # noqa: RUF012
    data_version = 2

    def note(self, kind: str, key: str, shown: str, anchor: str, first: bool = True) -> None:
        """Add an object of the page that is being read."""
        self.data["objects"][kind, key] = (shown, self.env.docname, anchor, first)

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        """All of them, and the terms of the glossary, which Sphinx itself keeps out of the search for objects."""
        for (kind, key), (shown, page, anchor, first) in self.data["objects"].items():
            yield f"{kind}:{key}", shown, kind, page, anchor, 0 if first else 1
        for (kind, term), (page, anchor) in self.env.get_domain("std").objects.items():
            if kind == "term":
                yield f"term:{term}", term, "term", page, anchor, 0

    def get_type_name(self, type: ObjType, primary: bool = False) -> str:
        """What an object is, without the name of the domain."""
        return str(type.lname)

    def clear_doc(self, docname: str) -> None:
        """Forget a page."""
        for kept in self.data["objects"], self.data["letters"]:
            for key in [key for key, one in kept.items() if one[1] == docname]:
                del kept[key]

    def merge_domaindata(self, docnames: set[str], otherdata: dict) -> None:
        """Take the objects of pages that another process read."""
        for kept, other in ((self.data[name], otherdata[name]) for name in ("objects", "letters")):
            kept |= {key: one for key, one in other.items() if one[1] in docnames}

    def resolve_any_xref(self, *args) -> list:
        """No role refers to them."""
        return []


def letters_in(tex: str, known: Iterable[str]) -> list[str]:
    r"""The symbols of a formula, each once, in the order of the notation.

    >>> letters_in(r"I^\ast = \frac{P}{\beta} \text{ bytes}", ["P", r"\beta", "I", r"I^\ast", "s", r"\mathrm{A}"])
    ['P', '\\beta', 'I^\\ast']
    """
    known = list(known)
    found = set()
    for symbol in sorted(known, key=len, reverse=True):  # "I^\\ast" before "I"
        name = re.compile(re.escape(symbol) + (r"(?![A-Za-z])" if symbol.startswith("\\") else ""))
        if len(symbol) > 1 and name.search(tex):
            found.add(symbol)
            tex = name.sub(" ", tex)
    rest = re.sub(r"\\(?:mathrm|text|begin|end)\{[^}]*\}|\\[A-Za-z]+", " ", tex)
    return [symbol for symbol in known if symbol in found or (len(symbol) == 1 and symbol in rest)]


def plain(tex: str) -> str:
    r"""A formula of the notation as one types it.

    >>> [plain(tex) for tex in (r"I^\ast", r"d_\mathrm{ff}", r"P/\beta", r"\mathrm{A}", r"X_{m \times k}")]
    ['I*', 'd_ff', 'P/β', 'A', 'X_m×k']
    """
    tex = re.sub(r"\\mathrm\{([^}]*)\}", r"\1", tex).replace(r"^\ast", "*").replace(r" \times ", "×")
    return re.sub(r"\\([A-Za-z]+)", _letter, tex).replace("{", "").replace("}", "")


def _letter(found: re.Match) -> str:
    size = "CAPITAL" if found[1][0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {found[1]}")
    except KeyError:
        return found[1]


def name_of(tex: str) -> str:
    r"""A symbol and, where no key types it, its name.

    >>> name_of(r"\beta"), name_of(r"I^\ast")
    ('β (beta)', 'I*')
    """
    greek = re.match(r"\\([A-Za-z]+)(?![A-Za-z{])", tex)
    return f"{plain(tex)} ({greek[1]})" if greek else plain(tex)


def read_symbols(doctree: nodes.document) -> Iterator[tuple[str, list[tuple[str, bool]], str, nodes.row]]:
    """The symbols that a page defines in tables of the class ``symbols``: TeX, meaning, unit, and the row.

    A meaning is in parts: text, and whether it is TeX.

    The first cell of a row holds one formula with the symbols, separated by commas; the second says what they mean.
    """
    for table in doctree.findall(lambda node: isinstance(node, nodes.table) and "symbols" in node["classes"]):
        for row in next(table.findall(nodes.tbody)).findall(nodes.row):
            cells = list(row.findall(nodes.entry))
            for tex in next(cells[0].findall(nodes.math)).astext().split(","):
                yield tex.strip(), [*_parts(cells[1])], cells[2].astext(), row


def _parts(cell: nodes.entry) -> Iterator[tuple[str, bool]]:
    for text in cell.findall(nodes.Text):
        yield text.astext(), isinstance(text.parent, nodes.math)


def _collect(app: Sphinx, doctree: nodes.document) -> None:
    found = app.env.get_domain("book")
    for tex, meaning, unit, row in read_symbols(doctree):
        said = "".join(plain(text) if formula else text for text, formula in meaning)
        if not row["ids"]:
            row["ids"].append("symbol-" + "-".join(re.findall(r"\w+", tex.replace(r"\mathrm", "upright"))))
            doctree.note_explicit_target(row)
        found.note("symbol", tex, f"{name_of(tex)}: {said}", row["ids"][0])
        whole = next(next(row.findall(nodes.entry)).findall(nodes.math)).astext()
        found.data["letters"][tex] = (whole, app.env.docname, row["ids"][0], tuple(meaning), unit)
    for _table in doctree.findall(catalogue):
        best = {}  # of a family, the chip of which most is known comes first
        for chip in shown_chips():
            family = chip.id.split("-")[0]
            if len(chip.figures) > len(getattr(best.get(family), "figures", ())):
                best[family] = chip
        for chip in shown_chips():
            found.note("chip", chip.id, f"{chip.name} ({chip.id})", chip.id, chip is best[chip.id.split("-")[0]])
    for node in doctree.findall(nodes.Element):
        for anchor in node.get("ids", ()):
            if isinstance(node, nodes.row) and (ledger := re.fullmatch(r"(claim|quoted)-(C\d+)", anchor)):
                row = claim(ledger[2])
                found.note("claim", anchor, f"{row.id}: {row.sentence}", anchor, ledger[1] == "claim")
            elif anchor.startswith("q-") and "block" in node["classes"]:
                asked = question(anchor.removeprefix("q-"))
                found.note("question", asked.id, f"{asked.title} ({asked.id})", anchor)


def _letters(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Under each numbered formula, folded, what its letters mean: rows of the notation."""
    known = app.env.get_domain("book").data["letters"]
    if app.builder.format != "html" or not known:
        return
    for formula in list(doctree.findall(nodes.math_block)):
        rows = list(dict.fromkeys(known[tex] for tex in letters_in(formula.astext(), known)))
        if not rows or not formula["number"]:
            continue
        items = []
        for tex, page, anchor, meaning, unit in rows:
            address = f"{app.builder.get_relative_uri(docname, page)}#{anchor}"
            link = nodes.reference("", "", nodes.math(tex, tex), refuri=address, internal=True, reftitle=name_of(tex))
            said = [nodes.math(text, text) if formula else nodes.Text(text) for text, formula in meaning]
            said += [nodes.Text(f"; {unit}")] if unit else []
            definition = nodes.definition("", nodes.paragraph("", "", *said))
            items.append(nodes.definition_list_item("", nodes.term("", "", link), definition))
        opening = f'<details class="letters"><summary>{_("Symbols")}</summary>'
        parts = (nodes.raw("", opening, format="html"), nodes.definition_list("", *items))
        place = formula.parent.index(formula) + 1
        formula.parent[place:place] = [*parts, nodes.raw("", "</details>", format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_domain(Found)
    app.add_search_language(Words)
    app.config.html_search_scorer = str(SCORER)
    app.connect("doctree-read", _collect)
    app.connect("doctree-resolved", _letters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
