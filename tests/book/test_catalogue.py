"""The catalogue page in a browser: it sorts, searches and filters, by keyboard alone, and lives without a script."""

import pytest

from hwlab.specs.chips import chip, chips

PAGE = "book/chips.html"
SHOWN = """() => [...document.querySelectorAll(".chip-table > tbody")]
    .filter(body => body.getClientRects().length).map(body => body.id)"""
FEW = """() => document.querySelectorAll(".chip-table > tbody:nth-of-type(n + 12):not(:target)")
    .forEach(body => body.remove())"""


def press(page, name):
    """Press the button of a column with the keyboard; how the column is sorted then."""
    head = page.locator(".chip-table > thead th", has_text=name)
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    return head.get_attribute("aria-sort")


def test_a_column_sorts_down_then_up_by_keyboard(open_page):
    page = open_page(PAGE)
    assert press(page, "Memory speed") == "descending"
    with_speed = sorted((c for c in chips() if c.memory_bytes_per_s), key=lambda c: -c.memory_bytes_per_s)
    shown = page.evaluate(SHOWN)
    assert [chip(id).memory_bytes_per_s for id in shown[: len(with_speed)]] == [
        c.memory_bytes_per_s for c in with_speed
    ]
    assert all(chip(id).memory_bytes_per_s is None for id in shown[len(with_speed) :])
    assert press(page, "Memory speed") == "ascending"
    again = page.evaluate(SHOWN)
    assert chip(again[0]).memory_bytes_per_s == with_speed[-1].memory_bytes_per_s
    assert again[len(with_speed) :] and chip(again[-1]).memory_bytes_per_s is None  # unpublished stays last
    assert page.locator("[aria-sort]").count() == 1


def test_names_sort_as_people_read_them(open_page):
    page = open_page(PAGE)
    assert press(page, "Chip") == "ascending"
    shown = page.evaluate(SHOWN)
    assert shown.index("rtx-3060") < shown.index("rtx-3070") < shown.index("rtx-4090")


def test_search_and_kind_work_together(open_page):
    page = open_page(PAGE)
    assert page.locator(".catalogue .count").inner_text() == f"{len(chips())} / {len(chips())}"
    page.get_by_role("searchbox", name="Search by name").fill("nvidia 2026")
    assert set(page.evaluate(SHOWN)) == {c.id for c in chips(vendor="NVIDIA") if c.year == 2026}
    page.locator("label[for=show-lpu]").click()
    assert page.evaluate(SHOWN) == ["groq-3-lpu"]
    assert page.locator(".catalogue .count").inner_text() == f"1 / {len(chips())}"


def test_an_address_opens_the_record(open_page):
    page = open_page(f"{PAGE}#b200")
    record = page.locator("#b200 details")
    assert record.get_attribute("open") is not None
    assert record.get_by_role("row", name="also given as 8 TB/s").is_visible()
    assert page.locator("#b200").bounding_box()["y"] < 200
    record.locator("tbody a").first.click()  # its source
    assert page.locator(".chip-sources li:target").is_visible()


@pytest.mark.parametrize("width", [375, 1280])
def test_without_a_script_it_is_a_table_with_a_filter(open_page, width):
    page = open_page(PAGE, width=width, java_script_enabled=False)
    assert page.locator(".chip-table > tbody").count() == len(chips())
    assert page.locator(".chip-table > thead button").count() == 0
    page.locator("label[for=show-wafer]").click()
    assert page.locator(".chip-table > tbody").locator("visible=true").count() == len(chips(kind="wafer"))
    page.locator("#wse-3 summary").click()
    assert page.locator("#wse-3 details table").is_visible()


def test_a_figure_in_the_text_says_what_stands_behind_it(open_page):
    page = open_page(PAGE)
    figure = page.locator(".spec").first
    note = figure.locator(".spec-note")
    assert not note.is_visible()
    figure.focus()
    assert note.is_visible() and "memory speed" in note.inner_text()
    page.keyboard.press("Escape")
    assert not note.is_visible()
    figure.hover()
    assert note.is_visible() is False  # closed until the pointer has been elsewhere
    page.mouse.move(0, 0)
    figure.blur()
    figure.hover()
    assert note.is_visible()
    note.get_by_role("link", name="H100 SXM5 80GB").click()
    assert page.url.endswith("#h100-sxm") and page.locator("#h100-sxm details").get_attribute("open") is not None


def test_the_note_of_a_figure_stays_on_a_phone_screen(open_page):
    page = open_page(PAGE, width=375, height=700)
    page.locator(".spec").first.focus()
    box = page.locator(".spec-note").first.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 375 and box["y"] + box["height"] <= 700
