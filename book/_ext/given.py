"""Sphinx extension: ``{given}`80 GB` `` is a number that a problem gives, a definition states or a quotation holds.

It reads as plain text. Every other number with a unit comes from the catalogue or from code; `book.lint` holds that.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole


class Given(SphinxRole):
    """``{given}`TEXT` ``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The text, and nothing else."""
        return [nodes.Text(self.text)], []


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_role("given", Given())
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
