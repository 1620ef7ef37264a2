"""The blocks of a chapter, built by Sphinx from pages of a few lines."""

import re

import pytest

HEAD = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {name: python3, display_name: Python 3, language: python}
---
# Page

"""
CELL = "```{code-cell} ipython3\n%s\n```\n\n"


def block_of(html, kind):
    """The HTML from the opening of the block to the end of its parent."""
    return html[
        re.search(rf'<div class="block {kind} admonition"|<div class="admonition block {kind}"', html).start() :
    ]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("guess", "Guess"),
        ("move", "Move"),
        ("work", "Work it"),
        ("measure", "Measure it"),
        ("trial", "On trial"),
        ("breaks", "Where it breaks"),
        ("keep", "Keep"),
    ],
)
def test_a_block_has_its_fixed_name_and_what_it_asks(book, kind, name):
    html = book(f":::{{{kind}}} the batch, until *something* binds\nInside.\n:::\n").html()
    title = re.search(r'<p class="admonition-title">(.*?)</p>', html).group(1)
    assert (
        title == f'<span class="name">{name}</span> <span class="asks">the batch, until <em>something</em> binds</span>'
    )


def test_a_block_without_an_argument_has_only_its_name(book):
    html = book(":::{keep}\nInside.\n:::\n").html()
    assert '<p class="admonition-title"><span class="name">Keep</span></p>' in html


def test_the_cells_asked_for_and_what_follows_move_into_the_block(book):
    page = HEAD + ":::{measure} this machine\n:cells: 2\n:then: 1\nBefore.\n:::\n\n"
    page += CELL % "1" + "Between.\n\n" + CELL % "2" + "After.\n\nOutside.\n\n" + CELL % "3"
    doctree = book(page, notebook=True).doctree()
    (block,) = [node for node in doctree.findall() if "measure" in getattr(node, "attributes", {}).get("classes", [])]
    text = block.astext()
    assert [text.find(word) >= 0 for word in ("Before.", "Between.", "After.", "Outside.")] == [True, True, True, False]
    assert text.index("1") < text.index("Between.") < text.index("2") < text.index("After.")
    assert "3" not in text and "3" in doctree.astext()


@pytest.mark.parametrize("between", ["## A heading\n\n", ":::{keep}\nAnother block.\n:::\n\n"])
def test_a_block_that_asks_for_cells_beyond_its_reach_is_reported(book, between):
    page = HEAD + ":::{move} x\n:cells: 1\n:::\n\n" + between + CELL % "1"
    assert (
        "`cells: 1` of {move}: before the next block or heading the page has 0 code cells"
        in book(page, notebook=True).warnings()
    )


def test_what_follows_needs_cells_to_follow(book):
    assert "give `cells` too" in book(":::{move} x\n:then: 1\n:::\n").warnings()


def test_an_opening_holds_the_question_and_the_definition_list(book):
    html = book(":::{opening} Why?\nYou will be able to\n: count\n: place\n\nTime\n: 3 minutes\n:::\n").html()
    opening = html[html.index('class="opening') :]
    assert re.search(r'<p class="question">Why\?</p>\s*<dl', opening)
    assert opening.count("<dt>") == 2 and opening.count("<dd>") == 3
    assert "chapter-mark" not in html  # this page is no chapter


def test_a_chapter_has_the_die_that_it_has_on_the_wafer_and_asks_what_the_cover_asks(book):
    page = "# MatMul\n\n:::{opening} Something else?\nTime\n: 3 minutes\n:::\n"
    built = book(page, docname="book/02-matmul", title=False)
    html = built.html()
    assert re.search(r"</h1>\s*<div class=\"chapter-mark\"><svg", html)
    assert 'data-label="2"' in html
    assert "contents.toml (and so the cover) 'What share of the chip" in built.warnings()


def test_a_lab_wears_the_die_of_its_chapter_in_outline(book):
    html = book("# A lab\n\nText.\n", docname="notebooks/02-matmul", title=False).html()
    assert re.search(
        r'</h1>\s*<div class="chapter-mark"><svg[^>]* class="chapter-die outline"[^>]* data-label="2"', html
    )


def test_a_chapter_under_another_title_than_on_the_cover_is_reported(book):
    built = book("# Products\n\nText.\n", docname="book/02-matmul", title=False)
    assert "the title is 'Products', contents.toml says 'MatMul'" in built.warnings()


def test_an_opening_without_a_list_is_refused(book):
    assert "needs a definition list" in book(":::{opening} Why?\nText.\n:::\n").warnings()


def test_a_link_to_a_term_is_marked(book):
    html = book("A {term}`batch` of rows.\n\n```{glossary}\nbatch\n  Rows that go together.\n```\n").html()
    assert re.search(r'<a class="[^"]*\bterm\b[^"]*" href="#term-batch"', html)


def test_names_and_texts_are_drawn_out_for_a_translator_and_come_back(book):
    page = "# MatMul\n\n:::{move} the batch\nPush *it*.\n:::\n\n```{wafer}\nThe book.\n```\n\n```{chapters}\n```\n"
    it = {"docname": "book/02-matmul", "title": False}
    strings = book(page, builder="gettext", **it).messages()
    for text in ("Move", "the batch", "Push *it*.", "The book.", "MatMul", "The operation", "not yet written"):
        assert text in strings
    words = {"Move": "Mova", "the batch": "o lote", "MatMul": "Produto", "Push *it*.": "*Empurre*."}
    html = book(page, translation=words | {"Contents as a wafer: one die a page": "Um wafer"}, **it).html()
    assert '<span class="name">Mova</span> <span class="asks">o lote</span>' in html
    assert "<em>Empurre</em>" in html
    assert 'aria-label="Um wafer"' in html
    assert 'aria-label="2 Produto"' in html
    assert '<span class="t">Produto</span>' in html
