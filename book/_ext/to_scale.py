"""Sphinx extension: ``{product-to-scale} 1 32 1024``, the three arrays of a product with their areas to scale.

Bytes and intensity come from the roofline, so that the picture cannot disagree with the text. The body is the caption;
`alt` says what is to be seen.

:::{product-to-scale} 1 32 1024
:width: 8192
:dtype: bf16
:alt: A large square with a line above and a line below.
Nearly all bytes are weights.
:::
"""

from __future__ import annotations

import drawings
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class product_to_scale(addnodes.translatable, nodes.General, nodes.Element):
    """The figure; its children are the caption, and `alt` is for a translator."""

    def preserve_original_messages(self) -> None:
        """The text as it stands is the original."""
        self["original"] = self["alt"]

    def apply_translated_message(self, original_message: str, translated_message: str) -> None:
        """Put the translated text in its place."""
        self["alt"] = translated_message

    def extract_original_messages(self) -> list[str]:
        """What a translator gets to see."""
        return [self["original"]]


def visit(translator, node: product_to_scale) -> None:
    """The drawing, then the caption."""
    picture = drawings.product(node["rows"], node["width"], node["facts"], label=node["alt"])
    translator.body.append(f"<figure>{picture}<figcaption>")


def depart(translator, node: product_to_scale) -> None:
    """The end of the caption."""
    translator.body.append("</figcaption></figure>\n")


class ProductToScale(SphinxDirective):
    """``{product-to-scale}`` with three counts of rows."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {  # noqa: RUF012
        "width": directives.positive_int,
        "dtype": directives.unchanged,
        "alt": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Count; the import is here because pages without a picture need no package."""
        from hwlab.costs.roofline import arithmetic_intensity, matmul_bytes
        from hwlab.formula import number, si

        if missing := {"width", "dtype", "alt"} - self.options.keys():
            raise self.error(f"a product to scale needs {', '.join(sorted(missing))}")
        rows, side, dtype = [int(m) for m in self.arguments[0].split()], self.options["width"], self.options["dtype"]
        facts = [
            (
                si(matmul_bytes(m, side, side, dtype=dtype), "B"),
                f"{number(arithmetic_intensity(m, side, side, dtype=dtype), 3)} FLOP/byte",
            )
            for m in rows
        ]
        node = product_to_scale(rows=rows, width=side, facts=facts, alt=self.options["alt"])
        self.set_source_info(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    plain = (lambda translator, node: None, lambda translator, node: None)
    app.add_node(product_to_scale, html=(visit, depart), latex=plain, text=plain)
    app.add_directive("product-to-scale", ProductToScale)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
