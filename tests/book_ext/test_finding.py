"""What goes into the search index besides words, and the letters under a formula, from the same notation."""

import io
import json
import re

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

NOTATION = r"""# Notation

{.symbols}
| symbol | meaning | unit |
| --- | --- | --- |
| $m, n$ | rows and columns | elements |
| $b$ | side of a tile | elements |
| $B$ | sequences | |
| $\beta$ | bandwidth | bytes/s |
| $I^\ast$ | ridge, $P/\beta$ | FLOP/byte |
"""
CHAPTER = r"""# Chapter

It reads 3.35 TB/s.

$$
I^\ast = \frac{\text{Bb}}{\beta} m
$$ (eq-ridge)

$$
B = 1
$$

```{toctree}
notation
chips
```
"""
PAGES = {"chapter": CHAPTER, "notation": NOTATION, "chips": "# Chips\n\n```{chip-catalogue}\n```\n"}


def test_objects_have_their_anchors_and_formulas_their_letters(mathjax, tmp_path):
    source, out, warning = tmp_path / "source", tmp_path / "out", io.StringIO()
    source.mkdir()
    for name, text in PAGES.items():
        (source / f"{name}.md").write_text(text, "utf8")
    config = {
        "extensions": ["myst_parser", "catalogue", "formulas", "finding"],
        "root_doc": "chapter",
        "html_theme": "basic",
        "numfig": True,
        "myst_enable_extensions": ["dollarmath", "attrs_block"],
    }
    with patch_docutils(), docutils_namespace():
        Sphinx(source, None, out, tmp_path / "doctrees", "html", config, None, warning).build()
    assert not warning.getvalue()

    index = json.loads((out / "searchindex.js").read_text("utf8").removeprefix("Search.setIndex(").removesuffix(")"))
    kinds = {key: names[2] for key, names in index["objnames"].items()}
    objects = {
        (kinds[str(kind)], f"{prefix}.{name}".lstrip(".")): (index["docnames"][page], anchor, prio)
        for prefix, found in index["objects"].items()
        for page, kind, prio, anchor, name in found
    }
    assert objects["symbol", "β (beta): bandwidth"] == ("notation", "symbol-beta", 0)
    assert objects["symbol", "I*: ridge, P/β"][:2] == ("notation", "symbol-I-ast")
    assert objects["symbol", "n: rows and columns"][1] == "symbol-m"
    assert objects["chip", "H100 SXM5 80GB (h100-sxm)"] == ("chips", "h100-sxm", 0)
    assert objects["chip", "H100 PCIe 80GB (h100-pcie)"][2] == 1
    assert "3.35" in index["terms"]
    texts = {page: (out / f"{page}.html").read_text("utf8") for page in PAGES}
    for page, anchor, _ in objects.values():
        assert f'id="{anchor}"' in texts[page], anchor

    letters = re.findall(r'<details class="letters">.*?</details>', texts["chapter"], re.DOTALL)
    assert len(letters) == 1  # only a numbered formula has them
    assert re.findall(r'href="notation.html#(symbol-[^"]*)"', letters[0]) == ["symbol-m", "symbol-beta", "symbol-I-ast"]
    assert "bandwidth; bytes/s" in letters[0] and letters[0].count("<mjx-container") == 4
