"""Formulas set when the book is built: what stands in the page, in every kind of build, and what a wrong one does."""

import io
import re

import formulas
import pytest
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import docutils_namespace, patch_docutils

pytestmark = pytest.mark.usefixtures("mathjax")

PAGE = r"""# Page

Inline: $h_\mathrm{kv} < 3$, and a string "$s$".

$$
\left(\frac{a}{b}\right)^2 = c
$$ (eq-one)

By {eq}`eq-one`.

$$
a &= b \\
c &= d
$$

\begin{align*}
x &= y
\end{align*}
"""


@pytest.fixture
def build(tmp_path):
    """``build({"page": text, …})`` builds or rebuilds a book and returns its pages."""

    def build(texts):
        source = tmp_path / "source"
        source.mkdir(exist_ok=True)
        for name, text in texts.items():
            (source / f"{name}.md").write_text(text, "utf8")
        config = {
            "extensions": ["myst_parser", "formulas"],
            "root_doc": "page",
            "html_theme": "basic",
            "numfig": True,
            "myst_enable_extensions": ["dollarmath", "amsmath"],
        }
        warning = io.StringIO()
        with patch_docutils(), docutils_namespace():
            out = tmp_path / "out"
            app = Sphinx(source, None, out, tmp_path / "doctrees", "html", config, None, warning)
            app.build()
        assert not warning.getvalue()
        return {path.stem: path.read_text("utf8") for path in out.glob("*.html")}

    return build


def sheet(tmp_path):
    return (tmp_path / "out/_static/formulas/formulas.css").read_text("utf8")


def test_a_page_holds_its_formulas_their_tex_and_their_mathematics_for_a_screen_reader(build, tmp_path):
    page = build({"page": PAGE})["page"]
    assert page.count('<mjx-container class="MathJax"') == page.count("<mjx-assistive-mml") == 5
    assert r"\(" not in page and r"\[" not in page and not re.search("<script[^>]*mathjax", page, re.I)
    assert r'data-tex="h_\mathrm{kv} &lt; 3"' in page and "&amp;lt;" not in page
    assert "<mo>&lt;</mo>" in page
    number = r'<span class="eqno">\(1\)<a class="headerlink" [^>]*>[^<]*</a></span><mjx-container'
    assert re.search(rf'<div class="math notranslate nohighlight" data-tex="[^"]*" id="equation-eq-one">{number}', page)
    assert '<a class="reference internal" href="#equation-eq-one">(1)</a>' in page
    link = re.search(r'<link rel="stylesheet" href="(_static/formulas/formulas\.css)\?v=[0-9a-f]{8}">\n</head>', page)
    assert (tmp_path / "out" / link[1]).exists()


def test_the_style_sheet_names_the_faces_in_use_and_they_are_there(build, tmp_path):
    build({"page": PAGE})
    folder = tmp_path / "out/_static/formulas"
    named = set(re.findall(r"url\(\./([^)]*)\)", sheet(tmp_path)))
    assert named == {path.name for path in folder.glob("*.woff")}
    assert "MathJax_Math-Italic.woff" in named and "MathJax_Fraktur-Regular.woff" not in named


def test_a_page_that_is_not_written_again_keeps_its_formulas_and_their_style(build, tmp_path):
    first = build({"page": PAGE, "other": "---\norphan: true\n---\n# Other\n\n$\\beta$ and $x$\n"})
    beta = re.search(r"mjx-c\.mjx-c1D6FD[^}]*}", sheet(tmp_path))[0]
    second = build({"page": PAGE.replace("Inline: ", r"Inline: $\mathfrak{g}$, ")})
    assert beta in sheet(tmp_path) and "Fraktur" in sheet(tmp_path)
    version = re.compile(r"formulas\.css\?v=(\w+)")
    assert {len(version.findall(text)) for text in (second["page"], second["other"])} == {1}
    assert version.search(second["other"])[1] == version.search(second["page"])[1] != version.search(first["page"])[1]
    assert version.sub("", second["other"]) == version.sub("", first["other"])


def test_a_wrong_formula_stops_the_build_with_its_page(build):
    with pytest.raises(ExtensionError, match=r"page: Undefined control sequence \\bandwith, in P/\\bandwith"):
        build({"page": "# Page\n\n$P/\\bandwith$ and $a$\n"})
    page = build({"page": "# Page\n\n$P/\\beta$ and $a$\n"})["page"]
    assert page.count("<mjx-container") == 2


def test_without_node_the_build_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(formulas.shutil, "which", lambda *args, **kw: None)
    with pytest.raises(ExtensionError, match="Node is not on the PATH; `make book` fetches it"):
        formulas.typeset([("a", False)])
