"""A page on paper: nothing cut, nothing dark, and a figure that says where it can be moved on."""

import re

import pytest
from playwright.sync_api import expect

from tests.book.project import settle

A4 = 658  # px between the margins


def on_paper(page):
    """What a browser does before it prints."""
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")


def test_a_figure_carries_the_link_to_the_state_it_is_printed_in(open_page):
    page = open_page("book/02-matmul.html", width=A4)
    figure = page.locator("#hw-batch")
    figure.scroll_into_view_if_needed()
    slider = figure.locator("input[type=range]").first
    slider.evaluate("el => { el.value = 64; el.dispatchEvent(new Event('input')); }")
    said, link = figure.locator(".hw-say"), figure.locator(".hw-address")
    expect(link).to_be_hidden()
    on_paper(page)
    expect(slider).to_be_hidden()
    expect(figure.locator(".hw-value").first).to_be_visible()
    expect(link).to_have_text(re.compile(r"^http://127\.0\.0\.1:\d+/book/02-matmul\.html#hw:batch:v1:tokens=\d"))
    there = open_page(link.inner_text().split("/", 3)[3])
    expect(there.locator("#hw-batch .hw-say")).to_have_text(said.inner_text())


@pytest.mark.parametrize("path", ["book/02-matmul.html", "notebooks/02-matmul.html", "book/chips.html"])
def test_nothing_is_cut_and_a_dark_screen_prints_light(open_page, path):
    page = open_page(path, width=A4, dark=True)
    settle(page)
    on_paper(page)
    cut = page.evaluate("""() => [...document.querySelectorAll("article :is(pre, table, p, div.math)")]
        .filter(el => el.offsetParent && (el.getBoundingClientRect().right > innerWidth + 1
            || (el.scrollWidth > el.clientWidth + 1 && getComputedStyle(el).overflowX !== "visible")))
        .map(el => el.outerHTML.slice(0, 120))""")
    assert cut == []
    colours = "el => [getComputedStyle(el).color, getComputedStyle(document.body).backgroundColor]"
    assert page.locator("article h1").evaluate(colours) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    for part in (
        ".bd-header-article",
        ".bd-sidebar-primary",
        ".prev-next-area",
        ".copybtn >> nth=0",
        ".headerlink >> nth=0",
    ):
        expect(page.locator(part).first).to_be_hidden()
