"""Sphinx extension: formulas are set in type when the book is built, and a reader's browser only shows them.

The pages are written with the TeX of each formula in place. When all are there, one Node process (`_web/typeset.mjs`:
MathJax) sets every formula of the book; its HTML takes the place of the TeX, which stays in ``data-tex``, and one style
sheet with the faces that the formulas use goes to ``_static/formulas``. A page that an incremental build did not write
again keeps its formulas and takes part through their TeX, for the style sheet is that of all pages. A formula that is
wrong stops the build with its page.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.locale import _
from sphinx.util.math import get_node_equation_number

WEB = Path(__file__).resolve().parents[1] / "_web"
FONTS = WEB / "node_modules/mathjax/es5/output/chtml/fonts/woff-v2"
FOLDER = "_static/formulas"
CLASS = "math notranslate nohighlight"

# Environments of amsmath that number their own lines; TeX allows none of them inside another.
OUTERMOST = re.compile(r"\s*\\begin\{(equation|multline|gather|align|alignat|flalign|eqnarray)\*?\}")
OPENING = rf'<(?P<tag>span|div) class="(?:[^"]* )?{CLASS}[^"]*" data-tex="(?P<tex>[^"]*)"[^>]*>'
FORMULA = re.compile(OPENING)
UNSET = re.compile(rf'(?P<opening>{OPENING}(?:<span class="eqno">.*?</span>)?)\\[(\[][^<]*\\[)\]](?=</(?:span|div)>)')
SHEET = re.compile(r'<link rel="stylesheet" href="[^"]*/formulas\.css\?[^"]*">\n')


def displayed(tex: str) -> str:
    r"""A displayed formula as it is set: lines are aligned at their ``&``, and a blank line ends a formula.

    >>> displayed("a &= b \\\\ c &= d")
    '\\begin{split}a &= b \\\\ c &= d\\end{split}'
    >>> displayed("a = b\n\nc = d")
    '\\begin{aligned}a = b\\\\c = d\\end{aligned}'
    >>> displayed(r"\begin{align}a &= b\end{align}")
    '\\begin{align}a &= b\\end{align}'
    """
    if OUTERMOST.match(tex):
        return tex
    parts = [part.strip() for part in re.split(r"\n\s*\n", tex) if part.strip()]
    lines = [
        rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part and not part.startswith(r"\begin") else part
        for part in parts
    ]
    return lines[0] if len(lines) == 1 else r"\begin{aligned}" + r"\\".join(lines) + r"\end{aligned}"


def visit_inline(self, node: nodes.math) -> None:
    """A formula in a line, its TeX in place."""
    tex = node.astext()
    self.body.append(self.starttag(node, "span", "", CLASS=CLASS, **{"data-tex": tex}))
    self.body.append(rf"\({self.encode(tex)}\)</span>")
    raise nodes.SkipNode


def visit_display(self, node: nodes.math_block) -> None:
    """A formula that stands alone, with its number where it has one."""
    tex = displayed(node.astext())
    self.body.append(self.starttag(node, "div", "", CLASS=CLASS, **{"data-tex": tex}))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, _("Link to this equation"))
        self.body.append("</span>")
    self.body.append(rf"\[{self.encode(tex)}\]</div>" + "\n")
    raise nodes.SkipNode


def typeset(formulas: list[tuple[str, bool]]) -> tuple[list[dict[str, str]], str, list[str]]:
    """Set formulas in type.

    Parameters
    ----------
    formulas : list of (TeX, displayed or not)

    Returns
    -------
    list of dict
        For each formula its ``html``, or the ``error`` in it.
    str
        The style sheet of all of them.
    list of str
        File names of the faces that it names.

    Raises
    ------
    ExtensionError
        If Node, or what `npm ci` fetches, is missing.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    node = shutil.which("node", path=path)
    if not node or not FONTS.exists():
        lack = "Node is not on the PATH" if not node else f"{FONTS} is missing"
        raise ExtensionError(f"formulas cannot be set: {lack}; `make book` fetches it")
    asked = json.dumps([{"tex": tex, "display": display} for tex, display in formulas])
    done = subprocess.run([node, WEB / "typeset.mjs"], input=asked, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise ExtensionError(f"formulas cannot be set: {WEB / 'typeset.mjs'} failed:\n{done.stderr}")
    answer = json.loads(done.stdout)
    return answer["formulas"], answer["css"], answer["fonts"]


def set_pages(out: Path, pages: dict[str, Path]) -> None:
    """Set the formulas of a built book.

    Parameters
    ----------
    out : Path
        Root of the site.
    pages : dict
        Files of the pages, by the names to use in messages.

    Raises
    ------
    ExtensionError
        If a formula is wrong; names each one and its page. No page is changed.
    """
    texts = {name: path.read_text("utf-8") for name, path in pages.items()}
    found = {name: [_asked(one) for one in FORMULA.finditer(text)] for name, text in texts.items()}
    formulas = list(dict.fromkeys(one for ones in found.values() for one in ones))
    answers, css, fonts = typeset(formulas)
    done = dict(zip(formulas, answers, strict=True))
    wrong = [
        f"{name}: {done[one]['error']}, in {one[0]}"
        for name, ones in found.items()
        for one in dict.fromkeys(ones)
        if "error" in done[one]
    ]
    if wrong:
        raise ExtensionError("wrong formulas:\n" + "\n".join(wrong))

    folder = out / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "formulas.css").write_text(css, "utf-8")
    for font in fonts:
        shutil.copyfile(FONTS / font, folder / font)
    version = hashlib.sha256(css.encode()).hexdigest()[:8]
    for name, text in texts.items():
        new = SHEET.sub("", UNSET.sub(lambda one: one["opening"] + done[_asked(one)]["html"], text))
        if found[name] or 'class="term ' in new:  # a term's definition may hold formulas
            up = "../" * (len(pages[name].relative_to(out).parts) - 1)
            sheet = f'<link rel="stylesheet" href="{up}{FOLDER}/formulas.css?v={version}">\n'
            new = new.replace("</head>", f"{sheet}</head>", 1)
        if new != text:
            pages[name].write_text(new, "utf-8")


def _asked(found: re.Match) -> tuple[str, bool]:
    return unescape(found["tex"]), found["tag"] == "div"


def _finish(app: Sphinx, error: Exception | None) -> None:
    if not error and app.builder.name == "html":
        set_pages(Path(app.outdir), {name: Path(app.builder.get_outfilename(name)) for name in app.env.found_docs})


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_html_math_renderer("formulas", (visit_inline, None), (visit_display, None))
    app.connect("build-finished", _finish, priority=50)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
