"""The built book, served on loopback, in a Chromium that can reach nothing else."""

import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright

from book import chromium
from book.serve import serve
from tests.book.project import ROOT, make


def pytest_collection_modifyitems(config, items):
    """Browser tests last, after all that is quicker to fail; without a browser they are skipped, but never under CI.

    The book is built before all else: meanwhile another worker goes on with what needs none.
    """
    here = Path(__file__).parent
    items.sort(key=lambda item: (item.path.name != "test_build.py", here in item.path.parents))
    if not os.environ.get("CI") and not chromium.find():
        for item in items:
            if "browser" in getattr(item, "fixturenames", ()):
                # A reader's machine may have no browser and no way to one; CI has, and there the tests fail without it.
                item.add_marker(pytest.mark.skip(reason=chromium.MISSING))


@pytest.fixture(scope="session")
def site():
    """Folder of the built book; `make book` builds it where it is older than its sources."""
    make("book")
    return ROOT / "_build" / "html"


@pytest.fixture(scope="session")
def site_url(site):
    """Address of the built book, without a slash at its end."""
    server = serve(site)
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser():
    """A Playwright browser that finds no host but 127.0.0.1."""
    path = chromium.find()
    if path is None:
        pytest.fail(chromium.MISSING, pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=chromium.FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, site_url):
    """``open_page("book/chips.html", width=375, dark=True)``: a loaded page that keeps a list of what went wrong.

    `page.foreign` holds the addresses asked of other hosts; `page.problems` console errors, uncaught errors, answers
    of 400 and above and requests that failed. More keywords go to Playwright's `new_context`.
    """
    contexts = []

    def open_page(path, width=1280, height=1000, dark=False, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
        )
        contexts.append(context)
        page = context.new_page()
        page.foreign, page.problems = [], []

        def on_request(request):
            parts = urlsplit(request.url)
            if parts.scheme not in ("data", "blob", "about") and parts.hostname != "127.0.0.1":
                page.foreign.append(request.url)

        def on_response(response):
            if response.status >= 400:
                page.problems.append(f"{response.status} {response.url.removeprefix(site_url)}")

        def on_failure(request):
            if request.failure != "net::ERR_ABORTED":  # left by the page itself
                page.problems.append(f"{request.failure} {request.url.removeprefix(site_url)}")

        context.on("request", on_request)
        context.on("response", on_response)
        context.on("requestfailed", on_failure)
        context.on("console", lambda message: message.type == "error" and page.problems.append(message.text[:300]))
        context.on("weberror", lambda error: page.problems.append(str(error.error)[:300]))
        page.on("websocket", lambda socket: page.foreign.append(socket.url))
        page.goto(f"{site_url}/{path}", wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()
