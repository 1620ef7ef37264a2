"""Sphinx extension: the questions of a page, and the claims it puts on trial.

``{predict} ID``, ``{exercise} ID`` and ``{review} ID`` hold the prompt of a question; its answer, hints, replies and
solution come from `hwlab.exercises`, computed while the page is read. ``{claims}`` prints rows of the ledger as
`hwlab.studies.trials` recomputes them. Every sentence is a node of the document, so that a translation finds it; in all
of them ``{{name}}`` stands for a computed fact. Without a script a page shows prompt, hint and solution; with one,
`practice.mjs` brings the fields to life.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import textwrap
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the book shows the hwlab that it lies beside

from blocks import new_block
from report import report

from hwlab.exercises import question
from hwlab.exercises.base import SAYS, Choice, Code, Memo, Numeric, Prediction
from hwlab.formula import number
from hwlab.specs.claims import COMPUTED, claim, claims
from hwlab.specs.quantities import BASES, REFUSALS, SYMBOLS
from hwlab.studies.trials import bound, try_claim

LOGGER = logging.getLogger(__name__)
VOID = {"input"}
VERDICTS = {
    "confirmed": "confirmed",
    "corrected": "corrected",
    "disputed": "disputed",
    "definition": "definition",
    "unchecked": "not checkable",
}


class Box(nodes.General, nodes.Element):
    """An HTML element that holds others: ``tag``, and its attributes in ``html``."""


class Phrase(nodes.General, nodes.TextElement):
    """An HTML element that holds text, which a translation finds."""


class PendingClaims(nodes.General, nodes.Element):
    """Rows of the ledger, not yet chosen."""


def _open(self, node):
    write = self.emptytag if node["tag"] in VOID else self.starttag
    self.body.append(write(node, node["tag"], "", **node["html"]))


def _close(self, node):
    if node["tag"] not in VOID:
        self.body.append(f"</{node['tag']}>\n")


def _skip(self, node):
    raise nodes.SkipNode


def _pass(self, node):
    pass


def _at(node, directive):
    node.source, node.line = directive.get_source_info()
    return node


def box(tag="div", *children, classes=(), ids=(), **html):
    """A `Box`; a trailing underscore in an attribute's name is dropped, others become hyphens."""
    html = {name.rstrip("_").replace("_", "-"): value for name, value in html.items()}
    return Box("", *children, tag=tag, html=html, classes=list(classes), ids=list(ids))


class Practice(SphinxDirective):
    """What the question directives share: the record, the block around it, and words."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def phrase(self, tag, text, classes=(), **html):
        """A `Phrase` of plain text."""
        html = {name.rstrip("_").replace("_", "-"): value for name, value in html.items()}
        return _at(Phrase(text, text, tag=tag, html=html, classes=list(classes)), self)

    def inline(self, tag, text, classes=(), **html):
        """A `Phrase` of inline MyST."""
        children, _ = self.parse_inline(self.fill(text))
        node = self.phrase(tag, "", classes, **html)
        node.rawsource = self.fill(text)
        node.extend(children)
        return node

    def fill(self, text):
        """`text` with each fact behind a role, so that it stays a computed number in a translation."""
        return re.sub(r"\{\{(\w+)\}\}", rf"{{fact}}`{self.record.id} \1`", text)

    def myst(self, text):
        """Nodes of MyST text."""
        return self.parse_text_to_nodes(self.fill(textwrap.dedent(text)))

    def block(self, kind, asks, *children, name=None):
        """A block as all in the book; under another `name` than its kind's, where one is given."""
        children_of_title, _ = self.parse_inline(asks)
        node = new_block(kind, children_of_title, asks, ids=[] if kind == "trial" else [f"q-{self.record.id}"])
        node["name"] = name or node["name"]
        _at(node[0], self)
        node += children
        return _at(node, self)

    def prompt(self):
        """The body of the directive."""
        self.content.data = [self.fill(line) for line in self.content.data]
        return box("div", *self.parse_content_to_nodes(), classes=["prompt"], ids=[f"q-{self.record.id}-prompt"])

    def fold(self, word, *children, classes=()):
        """Something to open when it is wanted."""
        return box("details", self.phrase("summary", word), *children, classes=["fold", *classes])

    def solution(self):
        """The text of the solution, the source of the answer, and what it gives when it is run."""
        record, answer = self.record, self.record.answer
        source = textwrap.dedent(inspect.getsource(answer)).rstrip()
        children = [*self.myst(record.solution), _code(source, "python")]
        if not isinstance(record, Code):
            children.append(_code(f">>> {answer.__name__}()\n{_shown(answer())}", "pycon"))
        return self.fold("Solution", *children, classes=["solution"])

    def field(self):
        """A number and its unit."""
        name = f"q-{self.record.id}"
        unit = self.phrase("span", self.record.unit, ["unit"])
        unit["ids"] = [f"{name}-unit"]
        entry = {"type": "text", "inputmode": "decimal", "autocomplete": "off", "spellcheck": "false"}
        described = f"{name}-prompt {name}-unit"
        return box(
            "span", box("input", ids=[f"{name}-field"], aria_describedby=described, **entry), unit, classes=["field"]
        )

    def data(self, **fields):
        """What the page's script needs to know, and, once a page, the words and units that it uses."""
        return [raw_json({"id": self.record.id, **fields}), *words_once(self.env)]

    def run(self):
        """Find the record and build its block."""
        try:
            self.record = question(self.arguments[0])
        except KeyError as error:
            raise self.error(error.args[0]) from None
        if not isinstance(self.record, self.kinds):
            raise self.error(f"{self.record.id} is a {type(self.record).__name__}, which {self.name} does not show")
        if other := _asked(self.env, self.record.id):
            raise self.error(f"{self.record.id} is asked in {other} already")
        self.env.practice_asked.setdefault(self.env.docname, []).append(self.record.id)
        return [self.build()]


WORDS = {
    "reveal": "Reveal",
    "change": "Change",
    "after": "Guess after all",
    "unkept": "This browser keeps nothing for this page: what you answer is lost when you leave it.",
    "code run": "Check",
    "code first": "Check (fetches Python, {cost})",
    "code stop": "Stop",
    "code stopped": "Stopped.",
    "code again": "Start again",
    "cell run": "Run",
    "cell first": "Run it here (fetches Python, {cost})",
    "cell stop": "Stop",
    "cell stopped": "Stopped.",
    "cell again": "As it was",
    "cell cell": "Code of this cell",
    "cell keys": "Tab indents while you write; Escape, then Tab, leaves the field. Control and Enter runs.",
    "cell ran": "This is what your browser computed.",
    "cell failed": "It ended in an error.",
    "cell before": "A cell above it ended in an error.",
    "answered": "{done} of {all}",
    "saved": "Saved as a file.",
    "merged": "Read: {count} answers, of which the better of each was kept.",
    "deleted": "All deleted. Until you leave this page you can bring it back.",
    "undone": "It is back.",
    "file-large": "That file is larger than a file of progress can be.",
    "file-json": "That file is not JSON, so it holds no progress.",
    "file-version": "That file is of version {version}; this page reads version 1.",
    "file-other": "That file holds no progress of this book.",
}
"""Words and sentences that the scripts use, beside those of `hwlab`. The first word of a name says whose they are."""


def words_once(env):
    """What the scripts of a page say, and the units that they know; nothing where the page has them already."""
    if env.temp_data.get("practice_says"):
        return []
    env.temp_data["practice_says"] = True
    bases = {f"base {base}": words for base, words in BASES.items()}
    says = {**SAYS, **REFUSALS, **WORDS, **bases}
    phrases = [Phrase(text, text, tag="p", html={"data-say": kind}) for kind, text in says.items()]
    for phrase in phrases:
        phrase.source, phrase.line = __file__, 1
    return [box("div", *phrases, raw_json(dict(SYMBOLS)), classes=["hw-says"], hidden="hidden")]


def raw_json(data):
    """Data for the page's script."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    return nodes.raw("", f'<script type="application/json">{text}</script>\n', format="html")


def _code(text, language):
    return nodes.literal_block(text, text, language=language)


def _shown(value):
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value)


class Predict(Practice):
    """``{predict} ID``: a number to guess before it is explained."""

    kinds = (Prediction,)

    def build(self):
        """Field, ruler and buttons; the answer folded."""
        record = self.record
        truth, name = record.answer(), f"q-{record.id}"
        label = self.phrase("label", "Your guess", for_=f"{name}-field")
        label["ids"] = [f"{name}-label"]
        ask = box(
            "div",
            label,
            box("input", classes=["ruler"], type="range", min="0", max="1", step="0.001", value="0.5",
                aria_labelledby=f"{name}-label", aria_describedby=f"{name}-prompt"),
            self.field(),
            self.phrase("button", "Reveal", ["first"], type="button", data_does="reveal"),
            self.phrase("button", "Skip", ["skip"], type="button", data_does="skip"),
            classes=["ask"],
        )  # fmt: skip
        marks = [record.low * 10**i for i in range(round(record.decades) + 1)]
        data = {
            "kind": "predict",
            "answer": truth,
            "shown": record.show(truth),
            "unit": record.unit,
            "place": record.place(truth),
            "low": record.low,
            "high": record.high,
            "marks": [f"{number(mark)} {record.unit}" if record.unit == "%" else number(mark) for mark in marks],
        }
        answer = self.phrase("p", record.show(truth), ["truth-told"])
        answer["translatable"] = False  # a number, computed for every language
        return self.block(
            "guess",
            record.title,
            self.prompt(),
            ask,
            box("div", classes=["reply"], role="status"),
            self.fold("Answer", answer, *self.myst(record.reveal), classes=["answer"]),
            *self.data(**data),
        )


class Exercise(Practice):
    """``{exercise} ID``: something to work out, choose, write or program."""

    kinds = (Numeric, Choice, Memo, Code)
    block_name = None

    def build(self):
        """By kind."""
        record = self.record
        kind = type(record).__name__.lower()
        children = getattr(self, f"_{kind}")()
        return self.block("work", record.title, self.prompt(), *children, name=self.block_name)

    def _hint(self):
        return self.fold("Hint", *self.myst(self.record.hint))

    def _replies(self, texts):
        replies = [box("div", *self.myst(text), data_reply=str(i)) for i, text in enumerate(texts)]
        return box("div", *replies, classes=["replies"], hidden="hidden")

    def _reply(self):
        return box("div", classes=["reply"], role="status")

    def _numeric(self):
        record, name = self.record, f"q-{self.record.id}"
        ask = box(
            "div",
            self.phrase("label", record.label, for_=f"{name}-field"),
            self.field(),
            self.phrase("button", "Check", type="button", data_does="check"),
            classes=["ask"],
        )
        data = {
            "kind": "numeric",
            "answer": record.answer(),
            "shown": record.show(record.answer()),
            "unit": record.unit,
            "tolerance": record.tolerance,
            "mistakes": [mistake.value() for mistake in record.mistakes],
        }
        replies = self._replies(mistake.reply for mistake in record.mistakes)
        return [ask, self._reply(), replies, self._hint(), self.solution(), *self.data(**data)]

    def _choice(self):
        record, name = self.record, f"q-{self.record.id}"
        options = []
        for option in record.options:
            radio = box("input", ids=[f"{name}-{option.key}"], type="radio", name=name, value=option.key)
            label = self.inline("label", option.text, for_=f"{name}-{option.key}")
            options.append(box("div", radio, label, classes=["option"]))
        ask = box(
            "div",
            box("div", *options, role="radiogroup", aria_labelledby=f"{name}-prompt", classes=["options"]),
            self.phrase("button", "Check", type="button", data_does="check"),
            classes=["ask", "choose"],
        )
        data = {"kind": "choice", "answer": record.answer(), "options": [option.key for option in record.options]}
        replies = self._replies(option.reply for option in record.options)
        return [ask, self._reply(), replies, self._hint(), self.solution(), *self.data(**data)]

    def _memo(self):
        record, name = self.record, f"q-{self.record.id}"
        ask = box(
            "div",
            self.phrase("label", "Your memo", for_=f"{name}-field"),
            box("textarea", ids=[f"{name}-field"], rows="8", aria_describedby=f"{name}-prompt"),
            classes=["ask", "write"],
        )
        criteria = []
        for i, criterion in enumerate(record.rubric):
            tick = box("input", ids=[f"{name}-{i}"], type="checkbox")
            criteria.append(box("li", tick, self.inline("label", criterion, for_=f"{name}-{i}")))
        rubric = self.fold("Rubric", box("ul", *criteria, classes=["rubric"]), self._reply())
        return [ask, self._hint(), rubric, self.solution(), *self.data(kind="memo")]

    def _code(self):
        record, name = self.record, f"q-{self.record.id}"
        keys = "Tab indents while you write; Escape, then Tab, leaves the field. Control and Enter checks."
        keys = self.phrase("p", keys, ["keys"])
        keys["ids"] = [f"{name}-keys"]
        entry = {"spellcheck": "false", "autocomplete": "off", "autocapitalize": "off", "rows": "8"}
        described = f"{name}-prompt {name}-keys"
        ask = box(
            "div",
            self.phrase("label", "Your function", for_=f"{name}-field"),
            box("textarea", ids=[f"{name}-field"], classes=["editor"], aria_describedby=described, **entry),
            keys,
            classes=["ask", "write", "code"],
        )
        call = f'check("{record.id}", {record.name})'
        line = _at(nodes.paragraph(classes=["in-the-lab"]), self)
        line += [nodes.Text("Check it in the lab: "), nodes.literal(call, call), nodes.Text(".")]
        line.rawsource = f"Check it in the lab: `{call}`."
        stub = box("div", _code(record.stub.rstrip(), "python"), classes=["stub"])
        printed = box("pre", classes=["printed"], hidden="hidden", tabindex="0")
        data = self.data(kind="code", stub=record.stub)
        return [stub, line, ask, self._reply(), printed, self._hint(), self.solution(), *data]


class Review(Exercise):
    """``{review} ID``: an exercise on what came before."""

    kinds = (Numeric, Choice)
    block_name = "Review"


class Fact(SphinxRole):
    """``{fact}`ID name` ``: a computed fact of a question."""

    def run(self):
        """The fact as text."""
        id, _, name = self.text.partition(" ")
        try:
            text = question(id).facts()[name]
        except KeyError as error:
            message = self.inliner.reporter.error(f"no fact {self.text!r}: {error}", line=self.lineno)
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        return [nodes.inline(text, text, classes=["fact"])], []


class Claims(Practice):
    """``{claims}``: rows of the ledger on trial; by default all of the chapter that are not shown elsewhere in it.

    With ids, those. What can be computed must have a trial; what can only be looked up is shown by its explanation. A
    row of another chapter needs ``:quote:``; it stays that chapter's, which tells it in full.
    """

    required_arguments = 0
    optional_arguments = 1
    option_spec = {"quote": directives.flag, "title": directives.unchanged}  # noqa: RUF012

    def run(self):
        """A block whose rows are chosen when the whole page is known."""
        ids = self.arguments[0].split() if self.arguments else []
        quote = "quote" in self.options
        chapter = chapter_of(self.env.docname)
        if chapter is None and not quote:
            raise self.error(f"{self.env.docname} is not a chapter: its name does not begin with a number")
        for id in ids:
            try:
                row = claim(id)
            except KeyError as error:
                raise self.error(error.args[0]) from None
            if row.chapter != chapter and not quote:
                raise self.error(f"{id} belongs to chapter {row.chapter}; quote it here with :quote:")
        pending = PendingClaims("", ids=[], claims=ids, quote=quote, chapter=chapter)
        body = self.parse_content_to_nodes()
        title = self.options.get("title", "what the sources say, recomputed")
        return [self.block("trial", title, *body, _at(pending, self))]


def _asked(env, id):
    """The page that shows a question or claim, if one does already."""
    return next((docname for docname, ids in env.practice_asked.items() if id in ids), None)


def chapter_of(docname):
    """The number of the chapter that a page, or its lab, is; None for any other page."""
    match = re.match(r"(\d+)-", docname.rpartition("/")[2])
    return int(match[1]) if match else None


class ChooseClaims(SphinxTransform):
    """Put the rows into each ``{claims}`` of the page, before a translation looks for sentences."""

    default_priority = 5

    def apply(self, **kwargs):
        """Rows named in one block are left out of the block that shows the rest."""
        found = list(self.document.findall(PendingClaims))
        named = [id for node in found if not node["quote"] for id in node["claims"]]
        for node in found:
            ids = node["claims"] or [c.id for c in claims(chapter=node["chapter"]) if c.id not in named]
            twice = [] if node["quote"] else [id for id in ids if named.count(id) > 1 or _asked(self.env, id)]
            unbound = [id for id in ids if id not in bound() and claim(id).check in COMPUTED]
            if twice or unbound or not ids:
                fault = f"shown twice: {twice}" if twice else f"no trial computes: {unbound}" if unbound else "no rows"
                LOGGER.error("claims of chapter %s, %s", node["chapter"], fault, location=node)
                node.parent.remove(node)
                continue
            if not node["quote"]:
                self.env.practice_asked.setdefault(self.env.docname, []).extend(ids)
            node.replace_self(self._table(node, ids))

    def _table(self, at, ids):
        def place(node):
            node.source, node.line = at.source, at.line
            return node

        def paragraph(*parts):
            node = place(nodes.paragraph("", "", *parts))
            node.rawsource = node.astext()
            return node

        head = nodes.row("", *(nodes.entry("", paragraph(nodes.Text(t))) for t in ("Claim", "Found", "Verdict")))
        body = nodes.tbody()
        for id in ids:
            row = claim(id)
            told = try_claim(id) if id in bound() else None
            verdict = told.verdict if told else row.verdict
            what = paragraph(nodes.inline(id, id, classes=["claim-id"]), nodes.Text(f" {row.sentence}."))
            shown = paragraph(nodes.Text(told.recomputed if told else row.explanation))
            why = [paragraph(nodes.Text(row.explanation))] if told else []
            if told:
                why.append(paragraph(nodes.Text("Computed by "), nodes.literal(told.by, told.by), nodes.Text(".")))
            if row.sources:
                why.append(paragraph(nodes.Text("Sources: "), *_linked("; ".join(row.sources)), nodes.Text(".")))
            if at["quote"]:
                why.append(paragraph(nodes.Text(f"Told in full in chapter {row.chapter}.")))
            if wrong := report(f"claim {id}", self.env.docname):
                why.append(paragraph(nodes.reference("", _("Report this number"), refuri=wrong)))
                why[-1]["classes"].append("no-print")
            summary = place(Phrase("Why", "Why", tag="summary", html={}))
            word = VERDICTS[verdict]
            mark = paragraph(nodes.inline(word, word, classes=["verdict", verdict]))
            cells = [
                nodes.entry("", what),
                nodes.entry("", shown, *([box("details", summary, *why, classes=["why"])] if why else [])),
                nodes.entry("", mark),
            ]
            body += nodes.row("", *cells, ids=[f"{'quoted' if at['quote'] else 'claim'}-{id}"])
        group = nodes.tgroup(
            "", *(nodes.colspec(colwidth=width) for width in (40, 38, 22)), nodes.thead("", head), body, cols=3
        )
        return nodes.table("", group, classes=["claims", "colwidths-given"])


def _linked(text):
    for part in re.split(r"(https?://[^\s;,)]+(?<!\.))", text):
        yield nodes.reference(part, part, refuri=part) if part.startswith("http") else nodes.Text(part)


def _begin(app):
    if not hasattr(app.env, "practice_asked"):
        app.env.practice_asked = {}


def _purge(app, env, docname):
    getattr(env, "practice_asked", {}).pop(docname, None)


def _merge(app, env, docnames, other):
    env.practice_asked.update({doc: ids for doc, ids in other.practice_asked.items() if doc in docnames})


def _number(app, pagename, templatename, context, doctree):
    """Tell the page's script which chapter this is."""
    chapter = chapter_of(pagename)
    if chapter and pagename in getattr(app.env, "practice_asked", {}):
        context["metatags"] = context.get("metatags", "") + f'<meta name="hw-chapter" content="{chapter}" />\n'


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.setup_extension("blocks")
    app.add_node(Box, html=(_open, _close), latex=(_pass, _pass), text=(_pass, _pass))
    app.add_node(Phrase, html=(_open, _close), latex=(_skip, None), text=(_skip, None))
    app.add_node(PendingClaims)
    named = {"predict": Predict, "exercise": Exercise, "review": Review, "claims": Claims}
    for name, directive in named.items():
        app.add_directive(name, directive)
    app.add_role("fact", Fact())
    app.add_transform(ChooseClaims)
    app.connect("builder-inited", _begin)
    app.connect("env-purge-doc", _purge)
    app.connect("env-merge-info", _merge)
    app.connect("html-page-context", _number)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
