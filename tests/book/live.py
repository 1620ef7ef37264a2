"""A page of the built site that holds live elements of a test's own."""

HEAD = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Live</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="_static/web/book.css">
<main class="bd-main"><div class="bd-content"><div class="bd-article-container"><article class="bd-article">"""
TAIL = '</article></div></div></main><script type="module" src="_static/web/live.mjs"></script></html>'


def open_live(open_page, *elements, fragment="", meta="", **options):
    """A page with `elements` (explorers, machines, charts), ready; `meta` comes first, the address ends in `fragment`.

    It stands at the root of the built site, whose style and modules it loads, and records what `open_page` records.
    """
    page = open_page("genindex.html", **options)  # a page of the site that asks for little
    blocks = (
        f'<div class="admonition block move">{element._repr_mimebundle_()["text/html"]}</div>' for element in elements
    )
    html = HEAD + meta + "".join(blocks) + TAIL
    url = page.url.replace("genindex", "live-elements")
    page.route(url, lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(url + fragment, wait_until="load")
    if options.get("java_script_enabled", True):
        page.wait_for_function(
            "[...document.querySelectorAll('.hw-live')].every(el => el.dataset.ready || el.dataset.failed)"
        )
        assert page.locator("[data-failed]").count() == 0, page.problems
    return page
