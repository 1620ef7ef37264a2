"""The front door, and proof that what goes wrong on a page is seen; test_access.py opens every page."""

from tests.book.project import pages


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
