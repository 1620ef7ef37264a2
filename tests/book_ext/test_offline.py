"""What the site is made of, where no browser is needed to tell."""

import json
import re

import offline
import pytest
from sphinx.errors import ExtensionError

from tests.book.project import ROOT


@pytest.mark.parametrize("address", ["", "  "])
def test_without_a_repository_there_is_none(monkeypatch, address):
    monkeypatch.setenv("HWLAB_REPOSITORY", address)
    assert offline.repository() is None


@pytest.mark.parametrize(
    "address", ["github.com/owner/name", "https://github.com/owner", "http://github.com/owner/name"]
)
def test_an_address_that_is_no_repository_is_refused(monkeypatch, address):
    monkeypatch.setenv("HWLAB_REPOSITORY", address)
    with pytest.raises(ExtensionError, match="give an address like"):
        offline.repository()


def test_a_repository_brings_its_buttons(monkeypatch):
    class Config:
        html_theme_options, html_baseurl = {"toc_title": "kept"}, ""

    monkeypatch.setenv("HWLAB_REPOSITORY", "https://github.com/Owner/name/")
    offline._configure(None, Config)
    assert Config.html_theme_options["repository_url"] == "https://github.com/Owner/name"
    assert Config.html_theme_options["toc_title"] == "kept"
    assert set(Config.html_theme_options["launch_buttons"]) == {"binderhub_url", "colab_url"}
    assert Config.html_baseurl == "https://owner.github.io/name/"


def test_the_theme_style_loses_its_icon_font_and_nothing_else():
    from pathlib import Path

    import pydata_sphinx_theme

    folder = Path(pydata_sphinx_theme.__file__).parent
    css = (folder / "theme/pydata_sphinx_theme/static/styles/pydata-sphinx-theme.css").read_text("utf8")
    slim = offline.without_icon_font(css)
    assert "@font-face" not in slim and "fa-house" not in slim
    assert css.count("{") - slim.count("{") > 1000
    assert slim.count("{") == slim.count("}")
    for rule in (".bd-sidebar-primary{", ".btn{", "details.sd-dropdown", ".fa-lg{"):
        assert css.count(rule) == slim.count(rule)


def test_the_lock_pins_every_package_and_names_no_registry():
    text = (ROOT / "book/_web/package-lock.json").read_text()
    lock = json.loads(text)
    assert '"resolved"' not in text and "registry" not in text
    packages = {name: facts for name, facts in lock["packages"].items() if name}
    assert packages and all(facts.get("integrity") for facts in packages.values())
    wanted = json.loads((ROOT / "book/_web/package.json").read_text())
    for name, version in (wanted["dependencies"] | wanted["devDependencies"]).items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), f"{name} is not pinned"
        assert packages[f"node_modules/{name}"]["version"] == version


def test_the_doctests_of_the_extensions_hold():
    import doctest

    import blocks
    import contents
    import drawings
    import finding
    import formulas
    import typography

    for module in (blocks, contents, drawings, finding, formulas, offline, typography):
        result = doctest.testmod(module)
        assert result.attempted and not result.failed, module.__name__
