"""The role {spec}: what it prints, what stands behind it, and that a wrong name stops the build."""

import re
from io import StringIO

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils


def build(folder, text, builder="html"):
    """Build a book of one page; its text and the warnings."""
    (folder / "conf.py").write_text("extensions = ['myst_parser', 'spec', 'catalogue']\nroot_doc = 'page'\n")
    (folder / "page.md").write_text(text)
    warnings = StringIO()
    with patch_docutils(str(folder)), docutils_namespace():
        app = Sphinx(folder, folder, folder / "out", folder / "doctrees", builder, status=None, warning=warnings)
        app.build()
    suffix = {"html": "html", "text": "txt"}[builder]
    return (folder / "out" / f"page.{suffix}").read_text(), re.sub(r"\x1b\[\d*m", "", warnings.getvalue())


def test_a_figure_is_printed_with_its_unit_and_what_stands_behind_it(tmp_path):
    page, warnings = build(tmp_path, "# Page\n\nIt reads {spec}`b200 memory_bytes_per_s` from HBM.\n")
    assert warnings == ""
    note = r'<span class="spec-note" id="\1">(.*?)</span></span></span>'
    shown = re.search(rf'<span class="spec" tabindex="0" aria-describedby="(.*?)">(.*?){note}', page)
    assert shown[2] == "7.7 TB/s"
    for words in (
        "B200 SXM",
        "memory speed",
        "aiconfigurator",
        "2026-08-21",
        "read in the source itself",
        "also given as 8 TB/s (maximum)",
    ):
        assert words in shown[3], words


def test_it_is_plain_text_elsewhere(tmp_path):
    page, warnings = build(tmp_path, "# Page\n\nIt holds {spec}`h100-sxm memory_bytes | GB`.\n", builder="text")
    assert "It holds 85.9 GB." in page and warnings == ""


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("h100 memory_bytes", "nearest: h100-sxm"),
        ("h100-sxm memory_bandwidth", "no figure 'memory_bandwidth'; it has peak_flop_per_s.fp32"),
        ("h100-sxm memory_bytes | TB/s", "'TB/s' is not 'B' with a prefix"),
        ("h100-sxm", "write a chip and a field"),
    ],
)
def test_a_wrong_name_is_an_error_with_file_and_line(tmp_path, asked, answer):
    _, warnings = build(tmp_path, f"# Page\n\nSome text.\n\nAnd {{spec}}`{asked}`.\n")
    assert re.search(r"page\.md:5: ERROR: ", warnings), warnings
    assert answer in warnings


def test_figures_of_a_page_have_notes_of_their_own(tmp_path):
    page, _ = build(tmp_path, "# Page\n\n{spec}`b200 tdp_watts` and {spec}`l4 tdp_watts`.\n")
    ids = re.findall(r'aria-describedby="(.*?)"', page)
    assert len(ids) == len(set(ids)) == 2 and all(page.count(f'id="{id}"') == 1 for id in ids)
