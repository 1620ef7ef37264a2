"""A book of one page, built in a moment."""

import io
import sys
from pathlib import Path

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from tests.book.project import make

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book/_ext"))


@pytest.fixture(scope="session")
def mathjax():
    """What sets formulas; a fresh clone has yet to fetch it."""
    make("book/_web/node_modules/ready")


class Built:
    """What Sphinx made of a page."""

    def __init__(self, app, docname, warning):
        self.app, self.docname, self._warning = app, docname, warning

    def html(self):
        """The page."""
        return (Path(self.app.outdir) / f"{self.docname}.html").read_text("utf8")

    def doctree(self):
        """The page as nodes."""
        return self.app.env.get_doctree(self.docname)

    def warnings(self):
        """All that Sphinx complained of."""
        return self._warning.getvalue()

    def messages(self):
        """The texts that a translator gets, from every catalogue."""
        from babel.messages.pofile import read_po

        return {m.id for path in Path(self.app.outdir).rglob("*.pot") for m in read_po(path.open("rb")) if m.id}


@pytest.fixture
def book(tmp_path):
    """``book("text", notebook=False, builder="html", docname="page", translation={})`` -> Built."""

    def build(text, *, notebook=False, builder="html", docname="page", title=True, translation=None, extensions=()):
        source = tmp_path / "source"
        page = source / f"{docname}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text if notebook or not title else f"# Page\n\n{text}", "utf8")
        config = {
            "extensions": ["myst_nb", "blocks", "given", *extensions],
            "root_doc": docname,
            "source_suffix": {},  # our own: extensions add theirs to it, and to Sphinx's default for good
            "html_theme": "basic",
            "nb_execution_mode": "off",
            "myst_enable_extensions": ["colon_fence", "deflist", "attrs_inline", "dollarmath"],
            "suppress_warnings": ["config.cache"],
            "gettext_compact": "book",
        }
        if translation:
            config |= {"language": "pt", "locale_dirs": [str(_catalogue(tmp_path, translation))]}
        warning = io.StringIO()
        with patch_docutils(), docutils_namespace():
            app = Sphinx(
                source, None, tmp_path / builder, tmp_path / "doctrees", builder, config, None, warning, freshenv=True
            )
            app.build()
        return Built(app, docname, warning)

    return build


def _catalogue(folder, translation):
    """A message catalogue as Sphinx wants it."""
    from babel.messages import Catalog
    from babel.messages.mofile import write_mo

    catalogue = Catalog(locale="pt")
    for text, translated in translation.items():
        catalogue.add(text, translated)
    path = folder / "locale/pt/LC_MESSAGES/book.mo"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        write_mo(file, catalogue)
    return folder / "locale"
