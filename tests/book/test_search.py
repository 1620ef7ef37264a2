"""The search page: what it finds first, what it quotes, and what it says when it finds nothing."""

import re
from urllib.parse import quote

import pytest

DIRECT = {
    "h100": "book/chips.html#h100-sxm",
    "I*": "book/notation.html#symbol-I-ast",
    "beta": "book/notation.html#symbol-beta",
    "ridge": "book/glossary.html#term-ridge-point",
    "tokens": "book/glossary.html#term-token",
    "MFU": "book/glossary.html#term-MFU",
    "KV": "book/glossary.html#term-KV-cache",
    "C030": "book/04-cpus-and-gpus.html#claim-C030",
    "matmul-bytes": "book/02-matmul.html#q-matmul-bytes",
    "kv_bytes": "book/reference.html#hwlab.specs.models.ModelSpec.kv_bytes",
    "OutOfBlocks": "book/reference.html#hwlab.serving.pager.OutOfBlocks",
}


@pytest.fixture
def search(open_page):
    """``search("h100")``: the search page when all its results are there, with what they quote if that is wanted."""
    page = open_page("search.html")

    def search(words, quotes=False):
        page.goto(page.url.split("?")[0] + f"?q={quote(words)}")
        page.wait_for_function(
            """quotes => /Results/.test(document.querySelector("#search-results h2")?.textContent) && (
            !quotes || [...document.querySelectorAll("#search-results li")].every(hit => hit.children.length > 1))""",
            arg=quotes,
        )
        assert not page.problems and not page.foreign
        return page

    return search


def test_a_name_finds_what_it_names_first(search):
    for words, place in DIRECT.items():
        hit = search(words).locator("#search-results li a").first
        assert hit.get_attribute("href") == place, words
        page, _, anchor = place.partition("#")
        found = hit.evaluate(
            """async (hit, id) => {
                const page = new DOMParser().parseFromString(await (await fetch(hit.href)).text(), "text/html");
                return Boolean(page.getElementById(id));
            }""",
            anchor,
        )
        assert found, f"{page} has no {anchor}"


def test_a_figure_with_a_point_is_found_where_it_is_printed(search):
    links = search("3.35").locator("#search-results li a")
    assert "book/02-matmul.html" in links.evaluate_all("links => links.map(link => link.getAttribute('href'))")


@pytest.mark.parametrize("word", ["token", "memory", "batch", "cache"])
def test_a_common_word_finds_the_chapters_before_what_only_has_it(search, word):
    links = (
        search(word)
        .locator("#search-results li a")
        .evaluate_all("links => links.map(link => link.getAttribute('href'))")
    )
    pages = [i for i, link in enumerate(links) if re.fullmatch(r"book/\d\d-[\w-]+\.html", link)]
    assert len(pages) >= 8 and pages[0] < 6 and pages[-1] < 20
    names = [i for i, link in enumerate(links) if link.startswith("book/reference.html#")]
    assert all(i > pages[-1] for i in names)


def test_a_letter_finds_a_symbol_and_not_every_name_with_it(search):
    page = search("P")
    names = page.locator("#search-results li:has(> span) > a").all_inner_texts()
    assert names[0].startswith("P: peak") and len(names) < 20


def test_results_quote_prose_and_no_answer(search):
    page = search("memory", quotes=True)
    quotes = " ".join(page.locator("#search-results .context").all_inner_texts())
    assert len(quotes) > 300
    quotes += " ".join(search("reveal", quotes=True).locator("#search-results .context").all_inner_texts())
    told = page.evaluate("""async () => {
        const page = new DOMParser().parseFromString(await (await fetch("book/02-matmul.html")).text(), "text/html");
        return [...page.querySelectorAll(".truth-told")].map(answer => answer.textContent.trim());
    }""")
    assert len(told) >= 3
    whole = page.evaluate("""async () => Search.htmlToText(await (await fetch("book/02-matmul.html")).text(), "")""")
    assert len(whole) > 10_000
    for text in (quotes, whole):
        assert not any(f" {answer} " in text.split("Keep")[0] for answer in told)
        assert "Reveal Skip" not in text and '{"' not in text and "Too high" not in text


def test_who_finds_nothing_is_told_what_can_be_found(search):
    page = search("xyzzy")
    assert page.locator("#search-nothing").is_visible()
    assert page.locator("#search-help a").count() == 5
    assert not search("ridge").locator("#search-help").is_visible()
