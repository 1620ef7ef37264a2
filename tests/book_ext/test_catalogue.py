"""The catalogue page as HTML and as a file, without a browser."""

import csv
import gzip
import math
import re

import catalogue
import pytest

from hwlab.specs.chips import chip, chips
from hwlab.specs.figure import GRADES


@pytest.fixture(scope="module")
def html():
    return catalogue.table(catalogue.shown(), catalogue.WORDS, "chips.csv", "chips")


def body(html, id):
    return re.search(rf'<tbody id="{id}".*?</details></td></tr></tbody>', html, re.DOTALL)[0]


def test_every_chip_has_a_row_and_an_anchor(html):
    assert sorted(re.findall(r'<tbody id="(.*?)"', html)) == sorted(c.id for c in chips())


def test_every_figure_of_a_chip_is_in_its_record_with_grade_and_source(html):
    for c in chips():
        rows = re.findall(r"<tr(?: class=rival)?><th scope=row>.*?</a>", body(html, c.id))
        assert len(rows) == sum(1 + len(figure.rivals) for figure in c.figures.values()), c.id
        assert all(re.search(rf"<td>(?:{'|'.join(GRADES)})", row) for row in rows), c.id


def test_a_row_shows_the_headline_figures(html):
    text = re.sub(r"<[^>]*>", " ", body(html, "h100-sxm").partition("<details")[0])
    for words in (
        "H100 SXM5 80GB",
        "NVIDIA · 2022",
        "989",
        "TFLOP/s",
        "3.35",
        "TB/s",
        "80",
        "GiB HBM3",
        "295",
        "FLOP/B",
        "700",
        "814",
    ):
        assert words in text, words


def test_another_type_than_bf16_is_named(html):
    assert "int8" in body(html, "tpu-v1").partition("<details")[0]
    assert "fp32" in body(html, "m2-ultra").partition("<details")[0]
    assert "bf16" not in body(html, "h100-sxm").partition("<details")[0]


def test_what_is_unpublished_says_so(html):
    assert body(html, "xeon-8592plus").count('class="none"') == 6


def test_bars_are_logarithmic_over_their_column(html):
    def width(id):
        return float(re.search(r'class="peak-cell"><i class="bar" style="--w:(.*?)"', body(html, id))[1])

    def peak(id):
        return math.log(chip(id).peak("bf16"))

    assert max(width(c.id) for c in chips() if c.peak_flop_per_s) == 1
    slope = (width("h100-sxm") - width("a100-sxm-80gb")) / (peak("h100-sxm") - peak("a100-sxm-80gb"))
    assert (width("b200") - width("l4")) / (peak("b200") - peak("l4")) == pytest.approx(slope, rel=0.02)


def test_dies_are_drawn_to_one_scale(html):
    side = {id: float(re.search(r"--mm:(.*?)\"", body(html, id))[1]) for id in ("h100-sxm", "wse-3")}
    assert (side["wse-3"] / side["h100-sxm"]) ** 2 == pytest.approx(46225 / 814, rel=0.01)


def test_sources_are_numbered_as_the_records_refer_to_them(html):
    found = catalogue.sources(catalogue.shown())
    numbers = {one.key: i for i, one in enumerate(found, 1)}
    assert set(map(int, re.findall(r"<a href=#s(\d+)>", html))) == set(numbers.values())
    assert f"<a href=#s{numbers['nvidia-h100-datasheet']}>" in body(html, "h100-sxm")


def test_the_page_is_light(html):
    assert len(gzip.compress(html.encode())) < 60_000


def test_the_file_holds_every_figure_and_every_rival(tmp_path):
    class App:
        outdir = tmp_path

        class builder:
            name = "html"

    (tmp_path / "_static").mkdir()
    catalogue._write_csv(App, None)
    with (tmp_path / "_static/chips.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(1 + len(f.rivals) for c in chips() for f in c.figures.values())
    assert {"3350000000000.0"} == {
        r["value"] for r in rows if (r["chip"], r["field"]) == ("h100-sxm", "memory_bytes_per_s")
    }


def test_words_can_be_translated():
    node = catalogue.catalogue("", words=dict(catalogue.WORDS))
    assert "Memory speed" in node.extract_original_messages()
    node.preserve_original_messages()
    node.apply_translated_message("Memory speed", "Velocidade da memória")
    page = catalogue.table(chips(kind="wafer"), node["words"], "chips.csv", "chips")
    assert "Velocidade da memória" in page and "Memory speed" not in page
