"""Sphinx extension: ``{floor-plan} h100-sxm``, a chip drawn with as many squares lit as tensor cores have work.

The counts come from the catalogue and the share from the roofline of a square product, so that the picture moves when a
figure does. The body is the caption; `alt` says what is to be seen.

:::{floor-plan} h100-sxm
:tokens: 1
:width: 8192
:dtype: bf16
:alt: Floor plan of an H100. Of 528 small squares, one for each tensor core, fewer than two are lit.
One token against one matrix: the tensor cores wait for weights.
:::
"""

from __future__ import annotations

import drawings
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from hwlab.formula import number

KEY = {"lit": "at work", "core": "waiting for weights", "bus": "memory bus, full", "dark": "dark"}


class floor_plan(addnodes.translatable, nodes.General, nodes.Element):
    """The figure; its children are the caption. `alt` and the key are for a translator."""

    def _texts(self) -> list[str]:
        return [self["alt"], *self["key"].values()]

    def preserve_original_messages(self) -> None:
        """The texts as they stand are the originals."""
        self["original"] = self._texts()

    def apply_translated_message(self, original_message: str, translated_message: str) -> None:
        """Put a translated text in place of the original."""
        now = [
            translated_message if original == original_message else text
            for original, text in zip(self["original"], self._texts(), strict=True)
        ]
        self["alt"], self["key"] = now[0], dict(zip(self["key"], now[1:], strict=True))

    def extract_original_messages(self) -> list[str]:
        """What a translator gets to see."""
        return self["original"]


def visit(translator, node: floor_plan) -> None:
    """The drawing, one large figure, and then the caption."""
    plan = drawings.die(node["busy"], node["cores"], node["sms"], node["places"], label=node["alt"])
    count = f'<p class="hero-number"><b>{number(node["busy"], 2)}</b> / {node["cores"]}</p>'
    translator.body.append(f'<figure class="hero-die">{plan}<figcaption>{count}')


def depart(translator, node: floor_plan) -> None:
    """The key; what the drawing does not show has no entry."""
    shown = {name: text for name, text in node["key"].items() if name != "dark" or node["places"] > node["sms"]}
    key = "".join(f'<span class="k-{name}">{text}</span>' for name, text in shown.items())
    translator.body.append(f'<p class="key">{key}</p></figcaption></figure>\n')


class FloorPlan(SphinxDirective):
    """``{floor-plan}`` with the id of a chip that counts its tensor cores."""

    required_arguments = 1
    has_content = True
    option_spec = {  # noqa: RUF012
        "tokens": directives.positive_int,
        "width": directives.positive_int,
        "dtype": directives.unchanged,
        "alt": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Count and time; the import is here because pages without a plan need no package."""
        from hwlab.costs.roofline import matmul_time
        from hwlab.specs.chips import chip

        if missing := {"tokens", "width", "dtype", "alt"} - self.options.keys():
            raise self.error(f"a floor plan needs {', '.join(sorted(missing))}")
        it, width = chip(self.arguments[0]), self.options["width"]
        time = matmul_time(self.options["tokens"], width, width, dtype=self.options["dtype"], chip=it)
        cores, sms = it.counts["tensor_cores"], it.counts["sms"]
        node = floor_plan(
            busy=cores * min(1, time.compute_s / time.seconds),
            cores=cores,
            sms=sms,
            places=it.counts.get("sms_printed", sms),
            alt=self.options["alt"],
            key=KEY,
        )
        self.set_source_info(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    plain = (lambda translator, node: None, lambda translator, node: None)
    app.add_node(floor_plan, html=(visit, depart), latex=plain, text=plain)
    app.add_directive("floor-plan", FloorPlan)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
