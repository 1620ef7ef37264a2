"""The drawings: counts and places are what they claim to be."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import contents
import drawings
import pytest

from tests.book.project import ROOT

WEB = ROOT / "book/_web"


def test_all_sites_lie_whole_inside_the_printed_ring_and_no_other_would():
    side, reach = drawings.SIDE, drawings.RADIUS - drawings.EDGE
    inside = {
        (round(c * side, 6), round(r * side, 6))
        for r in range(-4, 4)
        for c in range(-4, 4)
        if all(((c + i) ** 2 + (r + j) ** 2) ** 0.5 * side <= reach for i in (0, 1) for j in (0, 1))
    }
    assert {(round(x, 6), round(y, 6)) for x, y in drawings.sites()} == inside


def test_the_die_is_the_size_of_the_catalogue():
    from hwlab.specs.chips import chip

    assert chip("h100-sxm").die_area_mm2 == drawings.DIE_AREA_MM2


def test_only_written_pages_are_links_on_the_wafer():
    dies = [drawings.Die(p.label, p.title, "x.html" if p.label == "2" else None) for p in contents.pages()]
    picture = ET.fromstring(drawings.wafer(dies, "Contents"))
    links = picture.findall("{*}a")
    assert [link.get("aria-label") for link in links] == ["2 MatMul"]
    assert len(picture.findall("{*}g[@class='die planned']")) == len(dies) - 1


def test_a_chapter_keeps_the_floor_plan_it_has_on_the_wafer():
    dies = [drawings.Die(p.label, p.title) for p in contents.pages()]
    page = contents.page("book/02-matmul")
    x, y = drawings.sites()[page.index]

    def sizes(text):
        return re.findall(r'width="([\d.]+)" height="([\d.]+)"', text)

    on_wafer = drawings.wafer(dies, "Contents").split('class="die planned"')[page.index + 1]
    assert sizes(drawings.blocks(page.index, x, y))[:3] == sizes(on_wafer)[2:5]  # after the site and what fills it
    assert sizes(drawings.blocks(page.index, x, y)) == sizes(drawings.blocks(page.index, 0, 0))


def test_a_die_knows_what_its_page_asks_and_a_lab_shows_its_chapter_in_outline():
    dies = [
        drawings.Die(p.label, p.title, "x.html", "first second" if p.label == "2" else "") for p in contents.pages()
    ]
    picture = ET.fromstring(drawings.wafer(dies, "Contents"))
    asked = {link.get("data-label"): link.get("data-questions") for link in picture.findall("{*}a")}
    assert asked["2"] == "first second" and set(asked.values()) == {"first second", ""}
    whole, outline = drawings.chapter_die(1, "2"), drawings.chapter_die(1, "2", outline=True)
    assert (whole.count("<rect"), whole.replace("chapter-die", "chapter-die outline")) == (
        outline.count("<rect"),
        outline,
    )


@pytest.mark.parametrize(("busy", "lit"), [(0, 0), (0.3, 1), (1.8, 2), (4, 4), (528, 528)])
def test_as_many_squares_are_lit_as_cores_have_work(busy, lit):
    picture = drawings.die(busy, 528, 132, 144, label="x")
    heights = [float(h) for h in re.findall(r'height="([\d.]+)" class="lit"', picture)]
    assert len(heights) == lit
    assert sum(heights) / 10.5 == pytest.approx(busy, abs=0.01)
    assert picture.count('class="dark"') == 12
    ET.fromstring(picture)


@pytest.mark.parametrize(
    ("busy", "cores", "sms", "places", "told"),
    [(1, 500, 132, 144, "whole ones"), (1, 528, 132, 100, "do not fit"), (529, 528, 132, 132, "busy")],
)
def test_a_chip_that_cannot_be_is_not_drawn(busy, cores, sms, places, told):
    with pytest.raises(ValueError, match=told):
        drawings.die(busy, cores, sms, places, label="x")


def test_the_arrays_of_a_product_are_to_scale():
    picture = ET.fromstring(drawings.product([1, 32, 1024], 8192, [["a"], ["b"], ["c"]], label="x"))
    height = {
        name: [float(e.get("height")) for e in picture.findall(f"{{*}}rect[@class='array-{name}']")] for name in "xwy"
    }
    assert height["w"] == [104, 104, 104] and height["x"] == height["y"] == [0.8, 0.8, 13]


def test_what_the_web_package_holds_is_what_the_code_draws():
    assert (WEB / "icon.svg").read_text() == drawings.icon() + "\n"
    assert (WEB / "css/symbols.css").read_text() == drawings.symbols()


def test_every_icon_that_the_theme_can_show_is_drawn():
    import pydata_sphinx_theme
    import sphinx_book_theme

    used = set()
    for package in (pydata_sphinx_theme, sphinx_book_theme):
        folder = next(iter(package.__path__))
        for path in (p for s in ("html", "py") for p in Path(folder).rglob(f"*.{s}")):
            used |= set(re.findall(r"fa(?:s|-solid) fa-([a-z-]+)", path.read_text("utf8")))
    elsewhere = {"play", "home", "outdent", "pencil-alt"}  # of parts that the book does not use
    assert used - elsewhere <= set(drawings.ICONS)
    assert {"bars", "sun", "magnifying-glass"} <= used
