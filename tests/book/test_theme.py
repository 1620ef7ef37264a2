"""The look and the manners of a page: what it weighs, how it is reached, what it does in the dark and on paper."""

import gzip
import re
from urllib.parse import urlsplit

import pytest

from tests.book.project import settle

COVER, CHAPTER, GLOSSARY = "book/index.html", "book/02-matmul.html", "book/glossary.html"
PLAIN = ("book/notation.html", "search.html", "genindex.html")


def requests(page, address):
    """The files that the page asks for while it opens `address`, and their bytes as a server would pack them."""
    sizes = {}

    def keep(response):
        body = response.body() if response.ok else b""
        packed = response.url.endswith((".woff2", ".woff", ".png"))
        sizes[urlsplit(response.url).path] = len(body) if packed else len(gzip.compress(body, 9))

    page.context.new_cdp_session(page).send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.on("response", keep)
    page.goto(address, wait_until="networkidle")
    page.remove_listener("response", keep)
    return sizes


@pytest.mark.parametrize("path", [COVER, CHAPTER, GLOSSARY])
def test_the_first_view_of_a_page_weighs_less_than_1200_kb(open_page, path, record_property):
    page = open_page(PLAIN[0])
    sizes = requests(page, re.sub("book/notation.html", path, page.url))
    first = {name: size for name, size in sizes.items() if "/live/" not in name}
    record_property("first_view_bytes", sum(first.values()))
    lazy = sum(sizes.values()) - sum(first.values())
    print(f"{path}: {sum(first.values()) / 1e3:.0f} kB compressed, then {lazy / 1e3:.0f} kB of lazy parts")
    assert sum(first.values()) < 1.2e6
    assert not [name for name in sizes if re.search("fontawesome|require|thebe|jquery", name)]


def test_a_page_without_a_formula_or_a_live_figure_loads_nothing_for_them(open_page):
    page = open_page(PLAIN[0])
    page.wait_for_load_state("networkidle")  # its own letters have come
    sizes = requests(page, re.sub("book/notation.html", COVER, page.url))
    assert not [name for name in sizes if "/formulas/" in name or "/live/" in name]


SHIFTS = """
window.shifts = 0;
new PerformanceObserver(list => { for (const { value } of list.getEntries()) window.shifts += value; })
    .observe({ type: "layout-shift", buffered: true });
"""


def test_a_link_into_a_chapter_arrives_where_it_stays(open_page):
    page = open_page(COVER, width=375)
    page.context.add_init_script(SHIFTS)
    page.goto(re.sub(COVER, f"{CHAPTER}#what-to-keep", page.url))
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)
    assert abs(page.locator("#what-to-keep h2").bounding_box()["y"]) < 150
    assert page.evaluate("shifts") < 0.05


def test_formulas_need_no_script_and_a_wide_one_is_within_reach_of_the_keyboard(open_page):
    page = open_page(CHAPTER, java_script_enabled=False)
    shown = page.locator(".math:visible")
    assert shown.count() > 20
    assert page.locator(".math:visible mjx-container").count() == shown.count()
    page = open_page(CHAPTER, width=375)
    wide = page.locator('.math > mjx-container[display="true"]:visible').first
    assert wide.get_attribute("tabindex") is None
    wide.evaluate("formula => { formula.style.width = '60px'; }")
    page.wait_for_function("formula => formula.tabIndex === 0", arg=wide.element_handle())


def test_written_pages_are_links_on_the_wafer_and_what_was_read_is_copper(open_page):
    page = open_page(COVER)
    dies = page.locator(".wafer a")
    listed = page.locator(".chapters .pages a")
    assert dies.count() == listed.count() >= 5
    assert dies.count() + page.locator(".wafer .planned").count() == 24
    assert page.locator(".chapters .planned").count() == page.locator(".wafer .planned").count()
    die = page.locator('.wafer a[data-label="2"]')
    filled = "el => [getComputedStyle(el).fill, new DOMMatrix(getComputedStyle(el).transform).d]"
    assert die.locator(".filled").evaluate(filled)[1] == 0
    kept = {"version": 1, "questions": {}, "read": {"2": "2026-11-30"}}
    page.evaluate("kept => localStorage.setItem('hw:progress', JSON.stringify(kept))", kept)
    page.reload()
    assert die.get_attribute("aria-label") == "2 MatMul, read"
    copper = page.locator(".door.first").evaluate("el => getComputedStyle(el).backgroundColor")
    page.wait_for_timeout(300)  # it fills before the eye
    assert die.locator(".filled").evaluate(filled) == [copper, 1]
    assert page.locator(".chapters li.read .t").all_inner_texts() == ["MatMul"]
    assert page.locator(".wafer a.read").count() == 1


def test_the_keyboard_reaches_every_written_page_from_the_cover(open_page):
    page = open_page(COVER)
    links = page.locator(".wafer a, .chapters .pages a, .door")
    wanted = set(links.evaluate_all("links => links.map(link => link.href.baseVal ?? link.href)"))
    for _ in range(120):
        page.keyboard.press("Tab")
        here, shown = page.evaluate("""() => {
            const el = document.activeElement, style = getComputedStyle(el.querySelector?.(".site") ?? el);
            const seen = el === document.body || style.outlineStyle !== "none" || style.stroke !== "none";
            return [el.href?.baseVal ?? el.href ?? null, seen || el.outerHTML.slice(0, 200)];
        }""")
        assert shown is True
        wanted.discard(here)
        if not wanted:
            break
    assert not wanted


def test_arrow_keys_do_not_turn_pages(open_page):
    page = open_page(GLOSSARY)
    for key in ("ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    page.wait_for_timeout(200)
    assert page.url.endswith(GLOSSARY)


def test_a_term_shows_its_definition_on_focus_and_on_hover_until_escape(open_page):
    page = open_page(CHAPTER)
    term, tip = page.locator("a.term").first, page.locator(".term-tip")
    definition = term.evaluate("""async link => {
        const text = await (await fetch(link.href)).text();
        const page = new DOMParser().parseFromString(text, "text/html");
        let found = page.getElementById(decodeURIComponent(new URL(link.href).hash.slice(1)));
        while (found.tagName !== "DD") found = found.nextElementSibling;
        return found.textContent.trim().slice(0, 40);
    }""")
    term.hover()
    tip.wait_for(state="visible")
    assert definition in tip.text_content()
    assert term.get_attribute("aria-describedby") == tip.get_attribute("id")
    tip.hover()
    page.wait_for_timeout(400)
    assert tip.is_visible()  # what is pointed at does not vanish
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    term.evaluate("link => { const before = document.createElement('button'); link.before(before); before.focus(); }")
    page.keyboard.press("Tab")
    tip.wait_for(state="visible")
    assert page.evaluate("innerWidth") >= tip.bounding_box()["x"] + tip.bounding_box()["width"]


def test_the_first_tap_on_a_term_shows_its_definition_and_the_second_follows_it(open_page):
    page = open_page(CHAPTER, width=375, has_touch=True)
    term, tip = page.locator("a.term:visible").first, page.locator(".term-tip")
    target = term.evaluate("link => link.href")
    term.tap()
    tip.wait_for(state="visible")
    page.wait_for_timeout(400)
    assert tip.is_visible() and CHAPTER in page.url
    assert tip.locator("a").evaluate_all("links => links.map(link => link.href)") == [target]
    box = tip.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 375
    page.locator("h1:visible").first.tap()
    assert not tip.is_visible()
    term.tap()
    tip.wait_for(state="visible")
    term.tap()
    page.wait_for_url(target)


def test_switching_between_light_and_dark_reaches_live_elements_and_every_colour(open_page):
    page = open_page(COVER)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.evaluate("document.addEventListener('hw:theme', event => { window.told = event.detail.theme; })")
    page.locator(".theme-switch-button:visible").first.click()
    for _ in range(3):
        if page.evaluate("document.documentElement.dataset.theme") == "dark":
            break
        page.locator(".theme-switch-button:visible").first.click()
    assert page.evaluate("window.told") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != paper


def test_dark_comes_before_the_first_paint(open_page):
    page = open_page(COVER, dark=True)
    seen = page.evaluate("document.documentElement.dataset.theme")
    assert seen == "dark"
    page.route("**/*.js*", lambda route: route.abort())
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_without_script_the_page_is_whole_and_light(open_page):
    page = open_page(COVER, java_script_enabled=False)
    assert page.locator(".wafer a").count() >= 5
    assert page.locator(".cover-text > p").first.is_visible()
    shot = page.screenshot(clip={"x": 700, "y": 5, "width": 1, "height": 1})
    assert shot != open_page(COVER, dark=True).screenshot(clip={"x": 700, "y": 5, "width": 1, "height": 1})


def test_paper_shows_the_article_alone_and_nothing_folded(open_page):
    page = open_page(CHAPTER)
    settle(page)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("h1:visible").all_inner_texts() == ["MatMul"]
    for gone in (".bd-sidebar-primary", ".bd-sidebar-secondary", ".bd-header-article", ".prev-next-area", ".copybtn"):
        assert page.locator(f"{gone}:visible").count() == 0, gone
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") in (
        "rgb(255, 255, 255)",
        "rgba(0, 0, 0, 0)",
    )
    assert page.pdf(format="A4")[:4] == b"%PDF"


def test_there_is_one_way_to_search_and_it_finds(open_page):
    page = open_page(COVER)
    assert page.locator("input[type=search]:visible").count() == 0
    assert page.locator(".search-button__button:visible").count() == 1
    page.keyboard.press("Control+k")
    page.locator("input[type=search]:visible").fill("roofline")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=roofline*")
    page.wait_for_selector("#search-results li a")


def test_a_live_figure_that_fails_says_so_and_keeps_its_picture(open_page):
    page = open_page(COVER)
    page.context.route("**/live/*.mjs", lambda route: route.fulfill(status=404, body=""))
    page.goto(re.sub(COVER, CHAPTER, page.url))
    live = page.locator(".hw-live").first
    live.scroll_into_view_if_needed()
    live.locator(".hw-failed").wait_for()
    assert "could not be brought to life" in live.locator(".hw-failed").inner_text()
    assert live.locator(".hw-slot").inner_html().strip()
