"""Outputs are as fresh as the package that they came from."""

import io
import os
from pathlib import Path

import cache
import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

PAGE = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {name: python3, display_name: Python 3, language: python}
---
# Page

```{code-cell} ipython3
import os, hwlab
print("value", hwlab.VALUE, "static", os.environ.get("HWLAB_STATIC"))
```
"""


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A book of one cell beside a package of one line; calling it builds, and says what was executed."""
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.delenv("HWLAB_STATIC", raising=False)
    (tmp_path / "hwlab").mkdir()
    (tmp_path / "book/_ext").mkdir(parents=True)
    (tmp_path / "hwlab/__init__.py").write_text("VALUE = 1\n")
    (tmp_path / "index.md").write_text(PAGE)

    def build():
        config = {
            "extensions": ["myst_nb", "cache"],
            "nb_execution_mode": "cache",
            "html_theme": "basic",
            "source_suffix": {},
        }
        out, status = tmp_path / "_build/html", io.StringIO()
        with patch_docutils(), docutils_namespace():
            Sphinx(tmp_path, None, out, tmp_path / "_build/doctrees", "html", config, status, io.StringIO()).build()
        return (out / "index.html").read_text(), "Executing notebook" in status.getvalue()

    build.root = tmp_path
    return build


def test_an_edit_of_the_package_runs_the_cells_again_and_nothing_else_does(tiny):
    html, executed = tiny()
    assert "value 1 static 1" in html and executed
    html, executed = tiny()
    assert "value 1" in html and not executed
    (tiny.root / "hwlab/__init__.py").write_text("VALUE = 2\n")
    html, executed = tiny()
    assert "value 2" in html and executed
    assert len(list((tiny.root / "_build/.jupyter_cache").iterdir())) == 1  # the stale cache is gone


def test_an_edit_of_an_extension_reads_the_pages_again(tiny):
    tiny()
    page = tiny.root / "_build/doctrees/index.doctree"
    before = page.stat().st_mtime_ns
    tiny()
    assert page.stat().st_mtime_ns == before
    (tiny.root / "book/_ext/new.py").write_text("")
    tiny()
    assert page.stat().st_mtime_ns > before


def test_a_digest_sees_every_byte_and_name_of_code_and_data_but_no_debris(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "a.py").write_text("1")
    seen = {cache.digest(tmp_path)}
    for path, text in (("a.py", "2"), ("data/b.toml", ""), ("data/b.toml", "x = 1"), ("c.json", "{}"), ("d.csv", "")):
        (tmp_path / path).write_text(text)
        seen.add(cache.digest(tmp_path))
    assert len(seen) == 6
    (tmp_path / "a.py").rename(tmp_path / "z.py")
    seen.add(cache.digest(tmp_path))
    assert len(seen) == 7
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/a.py").write_text("debris")
    (tmp_path / "notes.txt").write_text("no code")
    assert cache.digest(tmp_path) in seen


def test_the_book_of_this_project_hashes_its_data_too():
    root = Path(cache.__file__).resolve().parents[2] / "hwlab"
    kinds = {path.suffix for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    shown_only = {".mjs", ".css", ".md", ".typed"}  # drawn in the browser from what the cells left
    assert kinds - shown_only <= cache.CODE, os.linesep.join(sorted(kinds - shown_only - cache.CODE))
