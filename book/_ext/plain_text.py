"""Sphinx extension: each page as Markdown beside its HTML, and llms.txt, for whoever reads without a browser.

The text is made from the finished page, formulas as the TeX they were set from. A live figure is its description, its
values, its sentence and its data. Answers stand at the end of a page, so that who reads from the top meets each
question first. llms.txt at the site's root lists the pages with the questions they answer; llms-full.txt holds all.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import contents
from bs4 import BeautifulSoup, NavigableString, Tag
from markdownify import MarkdownConverter
from sphinx.application import Sphinx
from sphinx.locale import _

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the book's own modules, `book.article` among them

from book import article as built
from book.article import words

SUMMARY = (
    "An interactive textbook on the hardware behind AI inference, and hwlab, the Python package that its pages call. "
    "Every figure of hardware has its source and date; claims of the field are recomputed."
)
HOLD = "\ue000{}\ue001"  # stands for text that Markdown must not touch
HELD = re.compile("\ue000(\\d+)\ue001")
NO_WORDS = (
    "svg, style, button, .filter, .cover-wafer, .hw-address, .to-answer, .chip-file, "
    "details.letters, details.hide > summary"
)
FOLDED = {"hw-arithmetic": "Arithmetic", "hw-data": "Data"}


class Converter(MarkdownConverter):
    """Markdown without HTML."""

    class Options(MarkdownConverter.DefaultOptions):
        """What the book needs."""

        heading_style = "ATX"
        bullets = "-"
        table_infer_header = True
        escape_misc = False
        strong_em_symbol = "*"

    def convert_dt(self, el, text, parent_tags):
        """A term, in a line of its own."""
        return f"\n\n**{text.strip()}**\n" if text.strip() else ""

    def convert_dd(self, el, text, parent_tags):
        """What is said of the term above."""
        return f"\n{text.strip()}\n\n" if text.strip() else ""

    def convert_dl(self, el, text, parent_tags):
        """Terms."""
        return f"\n\n{text.strip()}\n\n"


def markdown(soup: BeautifulSoup, path: str, pages: frozenset[str] = frozenset()) -> str:
    r"""A page as Markdown.

    Parameters
    ----------
    soup : BeautifulSoup
        The page. It is used up.
    path : str
        Its path below the site's root.
    pages : frozenset of str
        Paths of all pages that have such a text; links between them lead from text to text.

    Examples
    --------
    >>> text = ('<article class="bd-article"><h1>A</h1><p>It is <span class="math" data-tex="a_b">x</span>'
    ...         ', see <a href="b.html#c">B</a>.</p></article>')
    >>> print(markdown(BeautifulSoup(text, "html.parser"), "book/a.html", frozenset({"book/b.html"})))
    # A
    <BLANKLINE>
    It is $a_b$, see [B](b.md).
    <BLANKLINE>
    """
    held: list[str] = []

    def hold(text: str) -> NavigableString:
        held.append(text)
        return NavigableString(HOLD.format(len(held) - 1))

    found = soup.find("article", class_="bd-article")
    for pre in found.find_all("pre"):  # most of a page's elements are colours of code: they go first
        code = _paragraph("")
        code.append(hold(f"```{_language(pre)}\n{pre.get_text().strip(chr(10))}\n```"))
        pre.replace_with(code)
    for signature in found.find_all("dt", class_="sig"):
        for mark in signature.find_all("a", class_="headerlink"):
            mark.decompose()
        text = re.sub(r"\s+", " ", signature.get_text()).replace("( ", "(").replace(", )", ")").strip()
        signature.clear()
        signature.append(hold(f"`{text}`"))
    for row in found.find_all("tr", class_="record"):
        _record(row, hold)
    _formulas(found, hold)
    for drawing in found.find_all("svg"):
        described = drawing.get("role") == "img" and drawing.get("aria-label")
        drawing.replace_with(_paragraph(f"Figure: {described}")) if described else drawing.decompose()
    built.article(soup)
    built.answers_last(found, "page")
    for tag in found.select(NO_WORDS):
        tag.decompose()
    for figure in found.select(".hw-live"):
        _figure(figure, path)
    _questions(found)
    for caption in found.select("table caption"):
        caption.find_parent("table").insert_before(_paragraph(caption.get_text(" ", strip=True)))
        caption.decompose()
    for title in found.select(".admonition-title"):
        title.replace_with(_paragraph(": ".join(title.stripped_strings), strong=True))
    for name in found.select("summary, p.rubric"):
        name.replace_with(_paragraph(name.get_text(" ", strip=True), strong=True))
    for label in found.select(".citation > .label"):
        label.find_next("p").insert(0, label.get_text("", strip=True) + " ")
        label.decompose()
    for page in found.select(".chapters li"):
        name, planned = page.select_one(".t"), page.select_one(".planned-mark")
        name.insert_after(":")
        if planned:
            planned.string = f"({planned.get_text(strip=True)})"
    for key in found.select(".key"):
        key.string = "; ".join(key.stripped_strings)
    for maker in found.select(".chip-table .maker"):
        maker.insert_before(", ")
    _links(found, path, pages)
    text = Converter().convert_soup(found).replace("\xa0", " ")
    text = re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip()
    return HELD.sub(lambda one: held[int(one[1])], text) + "\n"


def _paragraph(text: str, strong: bool = False) -> Tag:
    tag = BeautifulSoup("<p><strong></strong></p>" if strong else "<p></p>", "html.parser").p
    (tag.strong or tag).string = text
    return tag


def _formulas(found: Tag, hold) -> None:
    for formula in found.find_all(class_="math", attrs={"data-tex": True}):
        tex = formula["data-tex"].strip()
        if formula.find_parent(["td", "th"]):
            tex = tex.replace(r"\|", r"\Vert ").replace("|", r"\vert ")  # a bar would end the cell
        if formula.name == "span":
            formula.replace_with(hold(f"${tex}$"))
            continue
        number = formula.find(class_="eqno")
        tag = rf" \tag{{{number.next_element.strip('()')}}}" if number else ""
        paragraph = _paragraph("")
        paragraph.append(hold(f"$$\n{tex}{tag}\n$$"))
        formula.replace_with(paragraph)


def _figure(figure: Tag, path: str) -> None:
    """A live figure as what it says without moving."""
    slot = figure.select_one(".hw-slot")
    said = [f"Figure: {slot['aria-label']}"] if slot and slot.get("aria-label") else []
    if caption := figure.select_one(".hw-caption"):
        caption.insert(0, "Figure: ")
    for text in said:
        figure.insert(0, _paragraph(text))
    if figure.get("id"):
        where = f'<p><a href="{posixpath.basename(path)}#{figure["id"]}">It moves in the page</a></p>'
        figure.append(BeautifulSoup(where, "html.parser"))
    for values in figure.select(".hw-values"):
        for pair in values.select("div"):
            pair.name = "li"
            pair.string = ": ".join(pair.stripped_strings)
        values.name = "ul"
    for name, title in FOLDED.items():
        for summary in figure.select(f".{name} > summary"):
            summary.string = title
    if slot:
        slot.decompose()


def _questions(found: Tag) -> None:
    """Fields as a line that says what is asked for, choices as a list."""
    for ask in found.select(".ask"):
        for option in ask.select(".option"):
            option.name = "li"
        if options := ask.select_one(".options"):
            options.name = "ul"
            continue
        label, unit = ask.select_one("label"), ask.select_one(".unit")
        if label is None:  # buttons, which are gone
            ask.decompose()
            continue
        of = f", in {words(unit)}" if unit else ""
        ask.replace_with(_paragraph(f"{words(label)}{of}: …"))
    for title in found.select(".answer-title"):
        title.name = "h3"
        title.string = title.get_text(strip=True)
    for tag in found.select("input, textarea"):
        tag.decompose()


def _record(row: Tag, hold) -> None:
    """The record of a chip, as a table of its own after the table of all chips."""
    chip, table = row.parent, row.find_parent("table")
    title = f"### {chip.find(class_='name').get_text(strip=True)} ({chip['id']})"
    lines = [
        "| " + " | ".join(words(cell).replace("|", r"\|") for cell in line.find_all(["th", "td"])) + " |"
        for line in row.find("table").find_all("tr")
    ]
    rule = "| --- " * (lines[0].count(" | ") + 1) + "|"
    place = table.find_next_sibling("p", class_="records")
    if place is None:
        place = BeautifulSoup('<p class="records"></p>', "html.parser").p
        table.insert_after(place)
    place.append(hold("\n".join([title, "", lines[0], rule, *lines[1:]]) + "\n\n"))
    row.decompose()


def _links(found: Tag, path: str, pages: frozenset[str]) -> None:
    """Links from text to text; to headings by the name that readers of Markdown give them; to other places by page."""
    places = {tag["id"]: tag for tag in found.find_all(id=True)}
    for link in found.find_all("a"):
        link.attrs = {"href": link["href"]} if link.get("href") else {}
        to = urlsplit(link.get("href", ""))
        if to.scheme or to.netloc:
            continue
        if not to.path:
            target = places.get(unquote(to.fragment))
            heading = target and (target if re.fullmatch(r"h\d", target.name) else target.find(re.compile(r"^h\d$")))
            if heading and target.name in ("section", heading.name):
                link["href"] = f"#{slug(heading.get_text())}"
            else:
                link.unwrap()
        elif posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(to.path))) in pages:
            link["href"] = to.path.removesuffix(".html") + ".md"


def slug(heading: str) -> str:
    """The anchor that readers of Markdown give to a heading.

    >>> slug("2NT, and who derived it")
    '2nt-and-who-derived-it'
    """
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.strip().lower()))


def _language(pre: Tag) -> str:
    """The language of a block of code, as a fence names it; none for what a program printed."""
    if pre.get_text().startswith(">>>"):
        return "pycon"
    box = pre.find_parent(class_=re.compile("^highlight-"))
    name = next((c.removeprefix("highlight-") for c in box["class"] if c.startswith("highlight-")), "") if box else ""
    return {"ipython3": "python", "python3": "python", "none": "", "default": "", "myst-ansi": "", "text": ""}.get(
        name, name
    )


def in_order(app: Sphinx) -> Iterator[str]:
    """Documents in order of reading."""
    relations = app.env.collect_relations()
    docname = app.config.root_doc
    while docname:
        yield docname
        docname = relations[docname][2]


def index(app: Sphinx, docnames: list[str]) -> str:
    """llms.txt: what the book is, and its pages with the questions they answer."""
    root = app.config.html_baseurl

    def line(docname: str, about: str) -> str:
        title = app.env.titles[docname].astext()
        return f"- [{title}]({urljoin(root, docname + '.md')}): {about}"

    lines = [f"# {app.config.project}", "", f"> {SUMMARY}", ""]
    lines += ["Answers to the questions of a page stand at its end. Numbers are SI: 1 TB/s is 10^12 byte/s.", ""]
    labs = {name: [] for name in docnames}
    for name in docnames:
        if contents.page(name) is None and name != app.config.root_doc:
            labs[app.env.collect_relations()[name][0] or name].append(name)
    for part in contents.parts():
        written = [page for page in part.pages if page.file in docnames]
        if not written:
            continue
        lines += [f"## {f'{part.number} {part.title}'.strip()}", ""]
        for page in written:
            lines.append(line(page.file, page.question))
            lines += [line(lab, f"the lab of {page.title}, with its outputs") for lab in labs[page.file]]
        lines.append("")
    lines += ["## Optional", ""]
    if Path(app.outdir, "_static/chips.csv").exists():
        csv = urljoin(root, "_static/chips.csv")
        lines.append(f"- [Chip catalogue as CSV]({csv}): one row a figure, with unit, source, date, grade")
    lines.append(f"- [The whole book]({urljoin(root, 'llms-full.txt')}): all of these pages in one file")
    return "\n".join(lines) + "\n"


def _head(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """A page says where its text is, to programs and, among its downloads, to people."""
    if doctree is None:
        return
    address = f"{posixpath.basename(pagename)}.md"
    link = f'<link rel="alternate" type="text/markdown" href="{address}" title="{_("Plain text")}">\n'
    context["metatags"] = context.get("metatags", "") + link
    for group in context.get("header_buttons", []):
        if group.get("label") == "download-buttons":
            group["buttons"].append(
                {
                    "type": "link",
                    "url": address,
                    "text": _("Plain text"),
                    "tooltip": _("This page as Markdown, formulas as TeX"),
                    "icon": "fas fa-file",
                    "label": "download-text-button",
                }
            )


def _write(app: Sphinx, error: Exception | None) -> None:
    """After the formulas are set and the downloads are there."""
    if error or app.builder.name != "html":
        return
    out, docnames = Path(app.outdir), list(in_order(app))
    pages = frozenset(f"{name}.html" for name in docnames)
    texts = []
    for name in docnames:
        text = markdown(built.page(out / f"{name}.html"), f"{name}.html", pages)
        (out / f"{name}.md").write_text(text, "utf8")
        texts.append(f"<!-- {name}.md -->\n\n{text}")
    (out / "llms.txt").write_text(index(app, docnames), "utf8")
    (out / "llms-full.txt").write_text("\n".join(texts), "utf8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.setup_extension("contents")
    app.connect("html-page-context", _head, priority=950)
    app.connect("build-finished", _write, priority=200)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
