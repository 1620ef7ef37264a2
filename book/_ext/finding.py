"""Sphinx extension: what the search finds besides words.

Chips, symbols, glossary terms, claims and questions are objects of a domain of their own, so Sphinx writes them into
its search index with their anchors, beside the names of `hwlab`. Symbols come from tables of the class ``symbols``
(see `read_symbols`). A figure such as 3.35 and a symbol such as I* are words; `_web/search.js` ranks what is found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
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
    initial_data = {"objects": {}}  # noqa: RUF012
    data_version = 1

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
        self.data["objects"] = {key: one for key, one in self.data["objects"].items() if one[1] != docname}

    def merge_domaindata(self, docnames: set[str], otherdata: dict) -> None:
        """Take the objects of pages that another process read."""
        self.data["objects"] |= {key: one for key, one in otherdata["objects"].items() if one[1] in docnames}

    def resolve_any_xref(self, *args) -> list:
        """No role refers to them."""
        return []


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


def read_symbols(doctree: nodes.document) -> Iterator[tuple[str, str, str, nodes.row]]:
    """The symbols that a page defines in tables of the class ``symbols``: TeX, meaning, unit, and the row.

    The first cell of a row holds one formula with the symbols, separated by commas; the second says what they mean.
    """
    for table in doctree.findall(lambda node: isinstance(node, nodes.table) and "symbols" in node["classes"]):
        for row in next(table.findall(nodes.tbody)).findall(nodes.row):
            cells = list(row.findall(nodes.entry))
            for tex in next(cells[0].findall(nodes.math)).astext().split(","):
                yield tex.strip(), _prose(cells[1]), _prose(cells[2]), row


def _prose(cell: nodes.entry) -> str:
    return "".join(
        plain(text.astext()) if isinstance(text.parent, nodes.math) else text.astext()
        for text in cell.findall(nodes.Text)
    )


def _collect(app: Sphinx, doctree: nodes.document) -> None:
    found = app.env.get_domain("book")
    for tex, meaning, _unit, row in read_symbols(doctree):
        if not row["ids"]:
            row["ids"].append("symbol-" + "-".join(re.findall(r"\w+", tex.replace(r"\mathrm", "upright"))))
            doctree.note_explicit_target(row)
        found.note("symbol", tex, f"{name_of(tex)}: {meaning}", row["ids"][0])
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


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_domain(Found)
    app.add_search_language(Words)
    app.config.html_search_scorer = str(SCORER)
    app.connect("doctree-read", _collect)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
