"""A reader reports a number: with a repository the links say which; without one there is no trace."""

import re
from io import StringIO
from urllib.parse import parse_qs, urlsplit

import pytest
import report
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

import hwlab

PAGE = """# Page

It draws {spec}`h100-sxm tdp_watts`.

:::{claims} C031
:quote:
:::

```{chip-catalogue}
```
"""


def built(folder):
    """The page, with the extensions that write links."""
    extensions = ["myst_parser", "report", "spec", "catalogue", "practice"]
    config = {"extensions": extensions, "root_doc": "page", "myst_enable_extensions": ["colon_fence"]}
    (folder / "page.md").write_text(PAGE)
    warnings = StringIO()
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            folder,
            None,
            folder / "out",
            folder / "doctrees",
            "html",
            config,
            status=None,
            warning=warnings,
            freshenv=True,
        )
        app.build()
    return (folder / "out/page.html").read_text("utf8")


def test_without_a_repository_there_is_no_trace(tmp_path, monkeypatch):
    monkeypatch.delenv("HWLAB_REPOSITORY", raising=False)
    page = built(tmp_path)
    assert "draws" in page and "Report" not in page and "hw-report" not in page and "issues/new" not in page


@pytest.mark.parametrize("commit", ["", ", commit 0123456789"])
def test_with_one_each_number_can_be_reported(tmp_path, monkeypatch, commit):
    monkeypatch.setenv("HWLAB_REPOSITORY", "https://github.com/owner/name")
    monkeypatch.setattr(report, "build", lambda: f"hwlab {hwlab.__version__}{commit}")
    page = built(tmp_path).replace("&amp;", "&")
    keys = {}
    for address in re.findall(r'(?:href|content)="(https://github\.com/owner/name/issues/new[^"]*)"', page):
        asked = parse_qs(urlsplit(address).query)
        assert asked["title"][0].startswith("Number: ")
        key = asked["title"][0].removeprefix("Number: ")
        assert asked["body"][0].splitlines()[:3] == [
            f"Number: {key}",
            "Page: page",
            f"Build: hwlab {hwlab.__version__}{commit}",
        ]
        keys[key] = address
    assert {"h100-sxm tdp_watts", "claim C031", "h100-sxm", "wse-3", "{key}"} <= set(keys)
    # the script puts the state of a figure in the place of this
    assert keys["{key}"].count("%7Bkey%7D") == 2


def test_the_build_names_the_version_and_the_commit_where_there_is_one(monkeypatch, tmp_path):
    report.build.cache_clear()
    monkeypatch.setattr(report, "ROOT", tmp_path)
    assert report.build() == f"hwlab {hwlab.__version__}"
    report.build.cache_clear()
    monkeypatch.undo()
    assert re.fullmatch(rf"hwlab {re.escape(hwlab.__version__)}(, commit [0-9a-f]{{10}}(-dirty)?)?", report.build())


def test_the_doctests_of_the_extension_hold(monkeypatch):
    import doctest

    monkeypatch.delenv("HWLAB_REPOSITORY", raising=False)
    result = doctest.testmod(report)
    assert result.attempted and not result.failed
