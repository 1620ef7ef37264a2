"""Sphinx extension: what belongs together stays on one line.

A number keeps its unit, the factors of a size keep their sign, and a formula keeps the punctuation around it. It is
done once, in the page as it is written, so that prose, figures of the catalogue and printed answers need not think of
it. Code is left as it is, and so are other forms than HTML.
"""

from __future__ import annotations

import re

from formulas import FORMULA
from sphinx.application import Sphinx

SYMBOLS = (
    r"[kMGTPEZ]?(?:FLOP|OP|MAC)s?",
    r"[kKMGTPEZ]?i?B",
    r"[kMGTPE]?(?:bit|b)(?:/s)?",
    r"[mµn]?s",
    r"[kMGm]?Wh?",
    r"[kMGT]?Hz",
    r"[kMGmµnp]?J",
    r"[mµn]m²?",
    r"[MG]T(?=/s)",
    r"USD|%|°C",
    r"bits?|bytes?|tokens?|times|thousand|million|billion|trillion",
)
UNIT = rf"(?:{'|'.join(SYMBOLS)})(?!\w)"
SPACE = re.compile(rf"(?<=[\d⁰¹²³⁴⁵⁶⁷⁸⁹])[ \n](?={UNIT})")
SIGN = re.compile(r"(?<=\d)[ \n]([×±])[ \n](?=\d)")
# A tag, or all of a script: the data of a figure hold "<" and quotation marks that open and close nothing
TAG = re.compile(r"""(<!--.*?-->|<script\b.*?</script>|<style\b.*?</style>|<(?:[^>"']|"[^"]*"|'[^']*')*>)""", re.DOTALL)
TEX = ("\\(", "\\[")  # how a formula begins that waits to be set
ASIDE = ("code", "math", "pre", "svg", "textarea")  # elements that hold no prose

# An inline formula, an opening bracket or quotation mark before it, and after it what is not a space, or a unit
FORMULA_IN_LINE = re.compile(
    rf"(?P<before>[(\[“‘]*)(?P<formula>{FORMULA.pattern.replace('span|div', 'span')}[^<]*</span>)"
    rf"(?P<after>[^\s<&]{{1,12}}|[ \n]{UNIT}[^\s<&]{{0,2}})?"
)


def together(text: str) -> str:
    r"""Prose in which a number and its unit do not part at the end of a line.

    >>> together("It reads 3.35 TB/s, 14 % of 4096 × 4096 products, in 5 steps.")
    'It reads 3.35\xa0TB/s, 14\xa0% of 4096\xa0×\xa04096 products, in 5 steps.'
    """
    return SIGN.sub("\xa0\\1\xa0", SPACE.sub("\xa0", text))


def keep(body: str) -> str:
    r"""The body of a page, its numbers with their units, its formulas with their punctuation.

    >>> keep("<p>1 kB, <code>1 kB</code></p>")
    '<p>1\xa0kB, <code>1 kB</code></p>'
    >>> keep('<p>(<span class="math notranslate nohighlight" data-tex="2 s">\\(2 s\\)</span>)</p>')
    '<p><span class="unbroken">(<span class="math notranslate nohighlight" data-tex="2 s">\\(2 s\\)</span>)</span></p>'
    """
    parts, within, said = [], [], False
    for part in TAG.split(body):
        if part.startswith("<"):
            name = re.match(r"</?([a-z]*)", part)[1]
            said = 'class="hw-say"' in part  # by a live figure, word for word: its script would say a changed one again
            if name in ASIDE and not part.endswith("/>"):
                within = within[:-1] if part.startswith("</") else [*within, name]
        elif not within and not part.startswith(TEX) and not said:
            part = together(part)
        parts.append(part)
    return FORMULA_IN_LINE.sub(_unbroken, "".join(parts))


def _unbroken(found: re.Match) -> str:
    before, formula, after = found["before"], found["formula"], found["after"] or ""
    return f'<span class="unbroken">{before}{formula}{after}</span>' if before or after else formula


def _page(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    if "body" in context:
        context["body"] = keep(context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("html-page-context", _page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
