"""A page as the rules see it: headings, text, formulas, directives and cells, in order of reading, each with its line.

Pages are parsed by the parser that the book is built with, so that a directive or a role is what Sphinx takes for one.
Chapters are MyST files, labs notebooks; the texts of `hwlab.exercises` are read from their source in the same way.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml
from bs4 import BeautifulSoup
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from hwlab.specs.chips import chip

ROOT = Path(__file__).resolve().parents[2]
VERBATIM = {
    "bibliography",
    "chapters",
    "chip-catalogue",
    "chip-sources",
    "code-block",
    "eval-rst",
    "grades",
    "math",
    "raw",
}
"""Directives whose body is not MyST text."""

TEXTS = {"answer_text", "hint", "label", "reply", "reveal", "rubric", "solution", "text", "title"}
"""Fields of a question that a reader sees."""


@dataclass(frozen=True, slots=True)
class Inline:
    """A run of text, a role, a formula, code or a link. `name` is the role's, or where the link goes."""

    kind: str
    text: str
    line: int
    name: str = ""

    @property
    def seen(self) -> str:
        """What a reader sees, as far as the page's source tells it."""
        if self.kind == "role" and re.fullmatch(r"term|ref|doc|download", self.name):
            return re.sub(r"\s*<[^<>]*>$", "", self.text, flags=re.S)
        return self.text


@dataclass(frozen=True, slots=True)
class Piece:
    """One heading, paragraph, formula, directive, cell, listing or comment.

    Parameters
    ----------
    kind : {"heading", "text", "math", "directive", "cell", "code", "comment", "label", "html", "block"}
        A block is a whole list or table; what stands in it follows.
    line, end : int
        First and last line in the file, counted from 1.
    text : str
        Source of a formula, cell, listing or comment; the argument of a directive.
    inlines : tuple of Inline
        Of a heading or a paragraph.
    name : str
        Of a directive; the label of a formula; the language of a listing; "dt" of what a definition list explains.
    level : int
        Of a heading.
    options : mapping of str to str
        Of a directive or a cell.
    inside : tuple of str
        The directives it stands in, the outermost first.
    parent : int
        Line of the innermost of these, 0 where there is none.
    listed : bool
        Whether a list, a table or a definition holds it.
    """

    kind: str
    line: int
    end: int
    text: str = ""
    inlines: tuple[Inline, ...] = ()
    name: str = ""
    level: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    inside: tuple[str, ...] = ()
    parent: int = 0
    listed: bool = False

    def seen(self, shown: Callable[[Inline], str] = lambda part: part.seen) -> str:
        """The text in one line; `shown` says how a part of it reads."""
        return re.sub(r"[ \n]+", " ", "".join(shown(part) for part in self.inlines)).strip()


@dataclass(frozen=True, slots=True)
class Output:
    """What a cell shows: HTML if it has any, else text."""

    html: str
    text: str
    stored: bool = True

    @property
    def soup(self) -> BeautifulSoup:
        """The HTML, to look into; without drawings and data for scripts, which may be long."""
        return _soup(self.html)

    @property
    def seen(self) -> str:
        """What a reader reads."""
        return self.soup.get_text(" ") if self.html else self.text


@cache
def _soup(html: str) -> BeautifulSoup:
    return BeautifulSoup(re.sub(r"<(svg|script|style)\b.*?</\1>", "", html, flags=re.S), "html.parser")


@dataclass(frozen=True)
class Page:
    """A file of the book.

    Parameters
    ----------
    path : str
        From the root of the project.
    kind : {"chapter", "lab", "questions", "page"}
    pieces : tuple of Piece
    outputs : mapping of line to tuple of Output
        Of each cell that shows something.
    glued : mapping of str to str
        Numbers that the cells hand to the text.
    """

    path: str
    kind: str
    pieces: tuple[Piece, ...]
    outputs: Mapping[int, tuple[Output, ...]] = field(default_factory=dict)
    glued: Mapping[str, str] = field(default_factory=dict)

    @property
    def docname(self) -> str:
        """As Sphinx calls it."""
        return self.path.rpartition(".")[0]

    @property
    def number(self) -> int:
        """Of the chapter, or of the chapter that the lab belongs to."""
        return int(re.match(r"\d+", Path(self.path).name)[0])

    def of(self, kind: str, *names: str) -> Iterator[Piece]:
        """Pieces of a kind, of directives those so named."""
        return (piece for piece in self.pieces if piece.kind == kind and (not names or piece.name in names))

    @property
    def title(self) -> Piece | None:
        """The first heading."""
        return next(self.of("heading"), None)

    def sections(self, *levels: int) -> Iterator[tuple[Piece, list[Piece]]]:
        """Each heading of these levels with all that stands below it until a heading of the same or a higher one."""
        for i, piece in enumerate(self.pieces):
            if piece.kind == "heading" and piece.level in levels:
                below = self.pieces[i + 1 :]
                ends = (j for j, other in enumerate(below) if other.kind == "heading" and other.level <= piece.level)
                yield piece, list(below[: next(ends, None)])

    def body(self, directive: Piece) -> list[Piece]:
        """What stands in a directive, at any depth."""
        return [
            piece for piece in self.pieces if piece is not directive and directive.line <= piece.line <= directive.end
        ]

    def shown(self, part: Inline) -> str:
        """How a part reads on the built page: numbers that code hands to it are filled in."""
        if part.kind == "role" and part.name.startswith("glue"):
            return self.glued.get(part.text.partition(":")[0], "")
        if part.kind == "role" and part.name == "spec":
            record, _, unit = (word.strip() for word in part.text.partition("|"))
            return chip(record.split()[0]).figure(record.split()[1]).written(unit or None)
        if part.kind == "role" and part.name.startswith("cite"):
            return ""
        return part.seen


# ---- Parsing -------------------------------------------------------------------------------------------------------


@cache
def _parser():
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    return create_md_parser(
        MdParserConfig(enable_extensions=set(config["parse"]["myst_enable_extensions"])), RendererHTML
    )


def parse(text: str, *, line: int = 1, inside: tuple[str, ...] = (), parent: int = 0) -> list[Piece]:
    """The pieces of a MyST text that begins on line `line` of its file.

    Examples
    --------
    >>> [(p.kind, p.line, p.text or p.seen()) for p in parse("# Title\\n\\n:::{keep} what\\nIt {term}`step`s.\\n:::")]
    [('heading', 1, 'Title'), ('directive', 3, 'what'), ('text', 3, 'what'), ('text', 4, 'It steps.')]
    """
    found, depth, level, term = [], 0, 0, False
    for token in _parser().parse(text):
        if token.type in ("list_item_open", "table_open", "dd_open", "dt_open"):
            depth += 1
        elif token.type in ("list_item_close", "table_close", "dd_close", "dt_close"):
            depth -= 1
        if token.type in ("dt_open", "dt_close"):
            term = token.type == "dt_open"
        elif token.type == "heading_open":
            level = int(token.tag[1])
        if token.map is None or token.nesting < 0:
            continue
        first, last = line + token.map[0], max(line + token.map[1] - 1, line + token.map[0])
        place = {"line": first, "end": last, "inside": inside, "parent": parent, "listed": depth > 0}
        if token.type == "inline":
            kind = "heading" if level else "text"
            parts = tuple(_inlines(token.children, first))
            found.append(Piece(kind, inlines=parts, level=level, name="dt" if term else "", **place))
            level = 0
        elif token.type in ("math_block", "math_block_label", "amsmath"):
            found.append(Piece("math", text=token.content, name=token.info, **place))
        elif token.type == "myst_line_comment":
            found.append(Piece("comment", text=token.content.strip(), **place))
        elif token.type == "myst_target":
            found.append(Piece("label", text=token.content, **place))
        elif token.type == "html_block":
            found.append(Piece("html", text=token.content, **place))
        elif token.type in ("fence", "colon_fence") and (match := re.match(r"\{([\w:-]+)\}\s*(.*)", token.info)):
            found += _directive(match[1], match[2], token.content, place)
        elif token.type in ("table_open", "bullet_list_open", "ordered_list_open", "dl_open"):
            found.append(Piece("block", **place))
        elif token.type in ("fence", "colon_fence", "code_block"):
            found.append(Piece("code", text=token.content, name=token.info, **place | {"line": first + 1}))
    return found


def _directive(name: str, argument: str, content: str, place: dict) -> Iterator[Piece]:
    options, lines, skipped = {}, content.splitlines(), 0
    if lines and lines[0] == "---":
        skipped = lines.index("---", 1) + 1
        options = {key: str(value) for key, value in yaml.safe_load("\n".join(lines[1 : skipped - 1])).items()}
    else:
        while skipped < len(lines) and (match := re.match(r":([\w-]+):\s*(.*)", lines[skipped])):
            options[match[1]] = match[2]
            skipped += 1
    body, start = "\n".join(lines[skipped:]), place["line"] + 1 + skipped
    if name == "code-cell":
        yield Piece("cell", text=body, name=argument, options=options, **place | {"line": start})
        return
    yield Piece("directive", text=argument, name=name, options=options, **place)
    if name == "math":
        yield Piece("math", text=body, **place | {"line": start})
    within = {"inside": (*place["inside"], name), "parent": place["line"]}
    if argument and name not in VERBATIM | {"predict", "exercise", "review", "claims", "floor-plan"}:
        yield from (piece for piece in parse(argument, line=place["line"], **within))
    if name == "glossary":
        yield from _glossary(body, start, within)
    elif name not in VERBATIM:
        yield from parse(body, line=start, **within)


def _glossary(body: str, start: int, within: dict) -> Iterator[Piece]:
    """Terms as labels, and their definitions."""
    for match in re.finditer(r"^(\S.*)\n((?:[ \t]+.*\n?|\n)*)", body, re.M):
        line = start + body[: match.start()].count("\n")
        yield Piece("label", line=line, end=line, text=match[1].strip(), **within)
        yield from parse(textwrap.dedent(match[2]), line=line + 1, **within)


def _inlines(children, line: int) -> Iterator[Inline]:
    link, words = "", []
    for token in children:
        if token.type == "link_open":
            link, words = token.attrGet("href"), []
        elif token.type == "link_close":
            yield Inline("link", "".join(words), line, str(link))
            link = ""
        elif token.type in ("softbreak", "hardbreak"):
            if link:
                words.append(" ")
            else:
                yield Inline("text", " ", line)
            line += 1
        elif link:
            words.append(token.content)
        elif token.type == "myst_role":
            yield Inline("role", token.content, line, token.meta["name"])
            line += token.content.count("\n")
        elif token.type in ("math_inline", "math_inline_double"):
            yield Inline("math", token.content, line)
            line += token.content.count("\n")
        elif token.type == "code_inline":
            yield Inline("code", token.content, line)
        elif token.type == "substitution_inline":
            yield Inline("computed", token.content, line)
        elif token.type == "image":
            yield Inline("image", token.content, line, str(token.attrGet("src")))
        elif token.type == "html_inline":
            yield Inline("html", token.content, line)
        elif token.type == "text" and token.content:
            yield Inline("text", token.content, line)


# ---- Files ---------------------------------------------------------------------------------------------------------


def read(path: Path, root: Path = ROOT) -> Page:
    """The page of a file: MyST, a notebook, or the questions of a chapter.

    Raises
    ------
    ValueError
        If a chapter has cells and the book was not built with them as they stand.
    """
    name = path.resolve().relative_to(root).as_posix()
    text = path.read_text("utf8")
    if path.suffix == ".ipynb":
        return _notebook(name, text)
    if path.suffix == ".py":
        return Page(name, "questions", tuple(_strings(text)))
    pieces = tuple(parse(text))
    kind = "chapter" if re.match(r"book/\d\d-", name) else "page"
    cells = [piece for piece in pieces if piece.kind == "cell"]
    if not cells:
        return Page(name, kind, pieces)
    outputs = dict(zip((cell.line for cell in cells), _executed(name, cells, root), strict=True))
    glued = {
        key: value for found in outputs.values() for output in found for key, value in output.get("glued", {}).items()
    }
    shown = {
        line: tuple(_output(output) for output in found if "glued" not in output) for line, found in outputs.items()
    }
    return Page(name, kind, pieces, shown, glued)


def _executed(name: str, cells: list[Piece], root: Path) -> list[list[dict]]:
    """Outputs of each cell, from the book's own store of pages that ran."""
    sources = [cell.text.strip() for cell in cells]
    for path in (root / "_build/.jupyter_cache").glob("*/executed/*/base.ipynb"):
        ran = [cell for cell in json.loads(path.read_text("utf8"))["cells"] if cell["cell_type"] == "code"]
        if ["".join(cell["source"]).strip() for cell in ran] == sources:
            return [[_plain(output) for output in cell["outputs"]] for cell in ran]
    raise ValueError(f"{name} has cells that have not run as they stand; build the book first: make book")


def _plain(output: dict) -> dict:
    """An output as {mime type: text}, or what it hands to the text."""
    if record := output.get("metadata", {}).get("scrapbook"):
        value = "".join(output["data"].get(record["mime_prefix"] + "text/plain", ""))
        return {"glued": {record["name"]: str(ast.literal_eval(value)) if value else ""}}
    data = {mime: "".join(part) for mime, part in output.get("data", {}).items() if isinstance(part, str | list)}
    return data or {"text/plain": "".join(output.get("text", ""))}


def _output(data: dict, stored: bool = True) -> Output:
    return Output(data.get("text/html", ""), data.get("text/plain", ""), stored)


def _notebook(name: str, text: str) -> Page:
    """Cells in order; lines are those of the file, which has one line of source on each."""
    starts = [text[: match.start()].count("\n") + 2 for match in re.finditer(r'^   "source": \[', text, re.M)]
    pieces, outputs = [], {}
    for cell, start in zip(json.loads(text)["cells"], starts, strict=True):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            pieces += parse(source, line=start)
            continue
        tags = cell["metadata"].get("tags", [])
        end = start + source.count("\n")
        pieces.append(Piece("cell", start, end, source, options={"tags": str(tags)}))
        held = "nbval-ignore-output" not in tags
        outputs[start] = tuple(_output(_plain(output), held) for output in cell["outputs"])
    return Page(name, "lab", tuple(pieces), outputs)


def _strings(text: str) -> Iterator[Piece]:
    """The texts of questions, each inside the class and field that holds it, and their ids as labels."""
    calls = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    for call in sorted(calls, key=lambda call: call.lineno):
        for keyword in call.keywords:
            if keyword.arg == "id" and isinstance(keyword.value, ast.Constant):
                yield Piece("label", keyword.value.lineno, keyword.value.lineno, keyword.value.value)
            if keyword.arg not in TEXTS:
                continue
            values = keyword.value.elts if isinstance(keyword.value, ast.Tuple) else [keyword.value]
            for value in values:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    within = (call.func.id, keyword.arg)
                    yield from parse(textwrap.dedent(value.value), line=value.lineno, inside=within)
