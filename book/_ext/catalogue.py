"""Sphinx extension: the directive ``{chip-catalogue}`` prints every chip with all its figures and their sources.

Without a script it is a table with a filter by kind and a fold-out record under each chip; `catalogue.mjs` adds
sorting and search. Bars are logarithmic, each over the range of its column; dies are drawn to one scale. The figures as
a file (chips.csv) are written beside the page. ``{chip-sources}`` prints the numbered sources, ``{grades}`` what the
grades mean.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from html import escape
from pathlib import Path

import report
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from hwlab.formula import number
from hwlab.specs.chips import KINDS, Chip, chips
from hwlab.specs.figure import DATA, GRADES, Figure, Source

CSV = "_static/chips.csv"

# What the page says beyond the figures, for a translator to see once.
WORDS = {
    "show": "Show",
    "all": "All",
    "search": "Search by name, maker or year",
    "chip": "Chip",
    "kind": "Kind",
    "peak": "Peak, dense",
    "speed": "Memory speed",
    "memory": "Memory",
    "ridge": "Ridge",
    "power": "Power",
    "die": "Die, to scale",
    "none": "no figure",
    "record": "All figures",
    "figure": "Figure",
    "value": "Value",
    "covers": "What it covers",
    "grade": "Grade",
    "source": "Source",
    "also": "also given as",
    "download": "All figures as a CSV file",
    "nothing": "no chip of that name",
    "elsewhere": "none of this kind, {count} of others",
}
KIND_NAMES = {
    "cpu": "CPU",
    "gpu": "GPU",
    "tpu": "TPU",
    "lpu": "LPU",
    "wafer": "wafer",
    "asic": "ASIC",
    "system": "system",
}

# The dtype whose dense peak stands in the table: the first that is published.
DTYPES = ("bf16", "fp16", "int8", "fp8", "fp4", "fp32")

FIELDS = {
    "peak_flop_per_s": "peak",
    "sparse_peak_flop_per_s": "sparse or headline peak",
    "system_flop_per_s": "peak of the whole system",
    "memory_bytes": "memory",
    "memory_bytes_per_s": "memory speed",
    "memory_bus_bits": "memory bus",
    "memory_bits_per_s_per_pin": "rate of a pin",
    "offload_memory_bytes": "second memory",
    "offload_memory_bytes_per_s": "speed of the second memory",
    "system_memory_bytes": "memory of the whole system",
    "sram_bytes": "on chip",
    "sram_bytes_per_s": "on-chip speed",
    "sram_bytes_per_core": "on chip, per core",
    "link_bytes_per_s": "link, one way",
    "host_link_bytes_per_s": "link to the host, one way",
    "bridge_bytes_per_s": "bridge, one way",
    "fabric_bits_per_s": "fabric",
    "tdp_watts": "power",
    "measured_watts": "measured power",
    "system_watts": "power of the whole system",
    "clock_hz": "clock",
    "base_clock_hz": "base clock",
    "boost_clock_hz": "boost clock",
    "all_core_clock_hz": "all-core clock",
    "process_node": "process",
    "availability": "availability",
    "die_area_mm2": "die",
    "core_area_mm2": "core",
    "transistors": "transistors",
    "defects_per_mm2": "defects",
    "usd_per_hour": "price",
    "chips_per_system": "chips in a system",
    "scale_up_chips": "chips that its links join",
    "link_peers": "peers that share its links",
    "counts": "",
    "design_months": "design time",
}


class catalogue(addnodes.translatable, nodes.Element):
    """The table. Its words are attributes; its text, for the search, is the names of the chips."""

    def preserve_original_messages(self) -> None:
        """Keep the words as they stand."""
        self["original"] = list(self["words"].values())

    def apply_translated_message(self, original_message: str, translated_message: str) -> None:
        """Put a translated word in its place."""
        self["words"] = {k: translated_message if v == original_message else v for k, v in self["words"].items()}

    def extract_original_messages(self) -> list[str]:
        """What a translator gets to see."""
        return list(WORDS.values())


class ChipCatalogue(SphinxDirective):
    """``{chip-catalogue}``, without arguments."""

    def run(self) -> list[nodes.Node]:
        """The node; the page is written again when the data change."""
        for path in DATA.rglob("*.toml"):
            self.env.note_dependency(str(path))
        node = catalogue("", *(nodes.inline("", f"{c.name} ") for c in chips()), words=dict(WORDS))
        self.set_source_info(node)
        return [node]


def shown() -> tuple[Chip, ...]:
    """All chips as the page shows them at first: accelerators before CPUs and racks, the newest of a kind first."""
    last = ("cpu", "system")
    return tuple(sorted(chips(), key=lambda c: (c.kind in last, KINDS.index(c.kind), -c.year, c.name)))


def table(records: tuple[Chip, ...], words: dict[str, str], download: str, page: str) -> str:
    """The catalogue as HTML.

    Parameters
    ----------
    records : tuple of Chip
    words : dict
        As `WORDS`, perhaps translated.
    download : str
        Address of the CSV file.
    page : str
        Name of the page that shows it.
    """
    peaks = {c.id: next((d for d in DTYPES if d in c.peak_flop_per_s), None) for c in records}
    columns = {
        "peak": {c.id: c.peak_flop_per_s[peaks[c.id]] for c in records if peaks[c.id]},
        "speed": {c.id: c.memory_bytes_per_s for c in records if c.memory_bytes_per_s},
    }
    bars = {name: _bars(values) for name, values in columns.items()}
    numbers = {one.key: i for i, one in enumerate(sources(records), 1)}
    bodies = "".join(_body(c, peaks[c.id], bars, numbers, words, page) for c in records)
    heads = "".join(
        f'<th scope="col"{_right(key)} data-key="{key}">{escape(words[key])}</th>'
        for key in ("chip", "kind", "peak", "speed", "memory", "ridge", "power", "die")
    )
    kinds = [("all", words["all"]), *((k, KIND_NAMES[k]) for k in KINDS if any(c.kind == k for c in records))]
    buttons = "".join(
        f'<input type="radio" name="kind" id="show-{kind}"{" checked" * (kind == "all")}>'
        f'<label for="show-{kind}">{escape(name[0].upper() + name[1:])}</label>'
        for kind, name in kinds
    )
    said = " ".join(f'data-{key}="{escape(words[key])}"' for key in ("search", "nothing", "elsewhere"))
    return (
        f'<div class="catalogue" {said}>'
        f'<fieldset class="filter"><legend>{escape(words["show"])}</legend>{buttons}</fieldset>'
        f'<table class="chip-table"><thead><tr>{heads}</tr></thead>{bodies}</table>'
        f'<p class="chip-file"><a href="{download}" download>{escape(words["download"])}</a></p></div>'
    )


def _body(c: Chip, dtype: str | None, bars, numbers: dict[str, int], words: dict[str, str], page: str) -> str:
    """One chip: its row and, folded, its record."""
    none = f'<span class="none">{escape(words["none"])}</span>'

    def cell(key, value, html):
        sort = "" if value is None else f' data-v="{value:.6g}"'
        return f'<td data-label="{escape(words[key])}"{sort} class="{key}-cell">{html if value else none}</td>'

    def barred(key, value, text, unit):
        width = bars[key].get(c.id, 0)
        return cell(key, value, f'<i class="bar" style="--w:{width:.3f}"></i>{_amount(text, unit)}')

    peak = c.peak_flop_per_s.get(dtype)
    integer = (dtype or "").startswith("int")
    unit = f"{'TOP/s' if integer else 'TFLOP/s'}{'' if dtype == 'bf16' else f' {dtype}'}"
    ridge = peak / c.memory_bytes_per_s if peak and c.memory_bytes_per_s else None
    memory = str(c.figures["memory_bytes"]).split() if c.memory_bytes else ("", "")
    area, side = c.die_area_mm2, math.sqrt(c.die_area_mm2 or 0)
    covers = ", ".join(filter(None, ("mm²", c.figures["die_area_mm2"].qualifier))) if area else ""
    row = (
        f'<th scope="row"><span class="name">{escape(c.name)}</span>'
        f'<span class="maker">{escape(c.vendor)} · {c.year}</span></th>'
        f'<td class="kind-cell" data-v="{KINDS.index(c.kind)}">{KIND_NAMES[c.kind]}</td>'
        + barred("peak", peak, number((peak or 0) / 1e12), unit)
        + barred("speed", c.memory_bytes_per_s, number((c.memory_bytes_per_s or 0) / 1e12), "TB/s")
        + cell("memory", c.memory_bytes, _amount(memory[0], f"{memory[-1]} {c.memory_kind or ''}".rstrip()))
        + cell("ridge", ridge, _amount(number(ridge or 0), "OP/B" if integer else "FLOP/B"))
        + cell("power", c.tdp_watts, _amount(*(str(c.figures["tdp_watts"]).split() if c.tdp_watts else ("", ""))))
        + cell("die", area, f'<i class="die-scale" style="--mm:{side:.1f}"></i>{_amount(number(area or 0, 6), covers)}')
    )
    return (
        f'<tbody id="{c.id}" data-kind="{c.kind}"><tr>{row}</tr><tr class="record"><td colspan="8"><details>'
        f"<summary>{escape(words['record'])} ({len(c.figures)})"
        f'<span class="sr"> {escape(c.name)}</span></summary>{_record(c, numbers, words, page)}'
        "</details></td></tr></tbody>"
    )


def _record(c: Chip, numbers: dict[str, int], words: dict[str, str], page: str) -> str:
    """Every figure of a chip, the rival ones under the one they disagree with."""
    heads = "".join(f"<th scope=col>{escape(words[k])}</th>" for k in ("figure", "value", "covers", "grade", "source"))
    rows = []
    for path, figure in c.figures.items():
        name = label(path, c)
        for head, one in ((name, figure), *((words["also"], rival) for rival in figure.rivals)):
            kept = numbers[one.source.key]
            about = "; ".join(filter(None, (one.qualifier, one.note)))
            date = "" if one.date == one.source.date else f", {one.date}"
            rival = " class=rival" if one is not figure else ""
            rows.append(
                f"<tr{rival}><th scope=row>{escape(head)}</th><td>{escape(str(one))}</td><td>{escape(about)}</td>"
                f"<td>{one.grade}{date}</td><td><a href=#s{kept}>{kept}</a></td></tr>"
            )
    start = f"<p><code>{c.id}</code> {report.link(c.id, page)}</p>"
    return f"{start}<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def label(path: str, c: Chip) -> str:
    """A field in words.

    >>> from hwlab.specs.chips import chip
    >>> label("peak_flop_per_s.bf16", chip("h100-sxm")), label("counts.tensor_cores", chip("h100-sxm"))
    ('peak bf16', 'tensor cores')
    """
    field, _, part = path.partition(".")
    name = f"{FIELDS[field]} {part.replace('_', ' ')}".strip()
    if field == "link_bytes_per_s" and c.link_name:
        return f"{c.link_name}, one way"
    return f"{name} ({c.memory_kind})" if field == "memory_bytes" and c.memory_kind else name


def sources(records: tuple[Chip, ...]) -> tuple[Source, ...]:
    """Each source of the catalogue once, in the order in which a reader of the records meets them."""
    figures = (one for c in records for figure in c.figures.values() for one in (figure, *figure.rivals))
    return tuple({figure.source.key: figure.source for figure in figures}.values())


def _bars(values: dict[str, float]) -> dict[str, float]:
    """Length of each bar, 0.03 to 1, logarithmic over the range of the column."""
    low, high = math.log(min(values.values())), math.log(max(values.values()))
    return {key: 0.03 + 0.97 * (math.log(value) - low) / (high - low) for key, value in values.items()}


def _amount(text: str, unit: str) -> str:
    return f'{text} <span class="unit">{escape(unit)}</span>'


def _right(key: str) -> str:
    return ' class="kind-cell"' if key == "kind" else ""


def rows(records: tuple[Chip, ...]) -> Iterator[dict[str, object]]:
    """The catalogue in long form: one row a figure, the rival ones too.

    >>> next(row for row in rows(chips()) if row["rival"])["chip"]
    'xeon-e5-2699-v3'
    """
    for c in records:
        for path, figure in c.figures.items():
            for one in (figure, *figure.rivals):
                yield (
                    {"chip": c.id, "name": c.name, "vendor": c.vendor, "kind": c.kind, "year": c.year}
                    | _row(path, one)
                    | {"rival": one is not figure}
                )


def _row(path: str, figure: Figure) -> dict[str, object]:
    return {
        "field": path,
        "value": figure.value,
        "unit": figure.unit,
        "qualifier": figure.qualifier,
        "grade": figure.grade,
        "date": figure.date,
        "source": figure.source.citation,
        "url": figure.source.url or "",
        "note": figure.note,
    }


class ChipSources(SphinxDirective):
    """``{chip-sources}``: the sources that the records refer to by number."""

    def run(self) -> list[nodes.Node]:
        """A numbered list, each item with the anchor that the records link to."""
        items = []
        for i, one in enumerate(sources(shown()), 1):
            text = nodes.paragraph("", f"{one.citation}, {one.date}")
            if one.url:
                text += [nodes.Text(" "), nodes.reference("", one.url.removeprefix("https://"), refuri=one.url)]
            items.append(nodes.list_item("", text, ids=[f"s{i}"]))
        return [nodes.enumerated_list("", *items, enumtype="arabic", classes=["chip-sources"])]


class Grades(SphinxDirective):
    """``{grades}``: what the grades of a figure mean, as a list."""

    def run(self) -> list[nodes.Node]:
        """A definition list."""
        items = []
        for grade, meaning in GRADES.items():
            definition = nodes.definition("", nodes.paragraph(meaning, meaning))
            items.append(nodes.definition_list_item("", nodes.term(grade, grade), definition))
        return [nodes.definition_list("", *items)]


def visit_html(self, node: catalogue) -> None:
    """Write the table; the path of the file depends on the page."""
    up = "../" * self.builder.current_docname.count("/")
    self.body.append(table(shown(), node["words"], up + CSV, self.builder.current_docname))
    raise nodes.SkipNode


def visit_text(self, node: catalogue) -> None:
    """Elsewhere the catalogue is the list of its names."""


def _page(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document | None) -> None:
    if doctree is not None and any(doctree.findall(catalogue)):
        app.add_js_file("web/catalogue.mjs", type="module")


def _write_csv(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.name != "html":
        return
    found = list(rows(chips()))
    with Path(app.outdir, CSV).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, found[0])
        writer.writeheader()
        writer.writerows(found)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    plain = (visit_text, visit_text)
    app.add_node(catalogue, html=(visit_html, None), latex=plain, text=plain, man=plain, texinfo=plain)
    app.add_directive("chip-catalogue", ChipCatalogue)
    app.add_directive("chip-sources", ChipSources)
    app.add_directive("grades", Grades)
    app.connect("html-page-context", _page)
    app.connect("build-finished", _write_csv)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
