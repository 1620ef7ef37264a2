"""The built book, served on loopback, in a Chromium that can reach nothing else."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from book import chromium
from book.serve import serve
from tests.book.project import ROOT, make, watch


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
    try:
        make("book")
    except RuntimeError:
        pytest.fail("the book does not build: test_build.py says why", pytrace=False)
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
    """``open_page("book/chips.html", width=375, dark=True)``: a loaded page, watched for what goes wrong on it.

    With `html` that text stands at the path. More keywords go to Playwright's `new_context`.
    """
    contexts = []

    def open_page(path, width=1280, height=1000, dark=False, html=None, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
        )
        contexts.append(context)
        page = context.new_page()
        watch(page, site_url)
        url = f"{site_url}/{path}"
        if html is not None:
            page.route(url.partition("#")[0], lambda route: route.fulfill(body=html, content_type="text/html"))
        page.goto(url, wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()
