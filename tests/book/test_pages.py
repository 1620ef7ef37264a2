"""Every page on a phone, with no network behind it; test_access.py opens each on a laptop."""

import pytest

from tests.book.project import pages, settle

EVERY_PAGE = [*pages(), "genindex.html", "py-modindex.html", "search.html", "404.html"]

# Elements that stick out at the right although nothing around them scrolls or clips.
TOO_WIDE = """() => {
    const held = e => { for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
        if (getComputedStyle(p).overflowX !== "visible") return true; return false; };
    return [...document.querySelectorAll("body *")]
        .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && e.getBoundingClientRect().width && !held(e))
        .slice(0, 5).map(e => e.tagName.toLowerCase() + "." + e.className);
}"""


@pytest.mark.parametrize("path", EVERY_PAGE)
def test_a_page_is_whole_without_any_other_host(open_page, path):
    page = open_page(path, width=375)
    settle(page)
    assert (page.foreign, page.problems) == ([], [])
    assert page.evaluate("document.documentElement.scrollWidth") <= 375, page.evaluate(TOO_WIDE)


def test_the_front_door_opens_on_the_first_page(open_page):
    page = open_page("")
    page.wait_for_url(f"**/{pages()[0]}")
    assert (page.foreign, page.problems) == ([], [])


def test_what_goes_wrong_on_a_page_is_seen(open_page):
    page = open_page("search.html")
    page.evaluate("""async () => {
        console.error("told");
        setTimeout(() => { throw new Error("thrown") });
        await fetch("/gone.html");
        await fetch("http://elsewhere.example/").catch(() => {});
    }""")
    page.wait_for_timeout(200)
    assert page.foreign == ["http://elsewhere.example/"]
    told = " ".join(page.problems)
    assert "told" in told and "thrown" in told and "404 /gone.html" in told
