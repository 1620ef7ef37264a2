"""Every symbol has a meaning, and one only."""

import pytest

from book.lint.page import Page, parse
from book.lint.symbols import symbol, table_of, unknown
from book.lint.whole import Book, unused_symbol

ROWS = r"""
| symbol | meaning | unit |
| --- | --- | --- |
| $m, k, n$ | rows $Z$ | elements |
| $X, W$ | arrays | |
| $d_\mathrm{ff}$ | width | |
| $I, I^\ast$ | intensity, ridge | |
| $t$ | time | s |
| $P, \beta$ | peak, bandwidth | |
| $\mathrm{K}$ | keys | |
"""
NOTATION = Page("book/notation.md", "page", tuple(parse(ROWS)))


def test_the_table_is_read_from_the_first_column():
    assert sorted(table_of(NOTATION)) == sorted(
        ["m", "k", "n", "X", "W", r"d_\mathrm{ff}", "I", r"I^\ast", "t", "P", r"\beta", r"\mathrm{K}"]
    )


@pytest.mark.parametrize(
    ("tex", "names"),
    [
        (r"2\,m\,k\,n", []),
        (r"X_{m \times k}\; W_{k \times n}", []),
        (r"t_P \ge \max(t_\beta, 2^{10})", []),
        (r"m \cdot \mathrm{FLOP\ per\ token} + \text{bytes}", []),
        (r"\begin{aligned} I^\ast &= P / \beta \end{aligned}", []),
        (r"\frac{m}{\sqrt{n}} \mathrm{K}^\top", []),
        (r"d_\mathrm{ff} = d_{\mathrm{ff}}", []),
        (r"m + q", ["q"]),
        (r"K^\top", ["K"]),
        (r"m^\ast", [r"m^\ast"]),
        (r"t_\mathrm{net}", [r"t_\mathrm{net}"]),
        (r"X_{m \times q}", ["q"]),
        (r"\sum_i m", ["i"]),
        (r"\alpha m", [r"\alpha"]),
        (r"d", ["d"]),
    ],
)
def test_symbols_without_a_meaning_are_found(tex, names):
    assert list(unknown(tex, table_of(NOTATION).keys())) == names


def test_the_line_is_that_of_the_formula(lines):
    text = "A $m$ and\na $q$, and $q$ again.\n\n$$\nz\n$$\n"
    assert lines(symbol, text, beside=[NOTATION]) == [2, 4]


def test_a_sentence_may_give_a_meaning(lines):
    assert lines(symbol, "$$\nm / q\n$$\n\nwhere $q$ is the share of rows.\n", beside=[NOTATION]) == []
    assert lines(symbol, "$$\nm / q\n$$\n\nThere it is. So $q$ is small.\n", beside=[NOTATION]) == [
        1,
    ]


def unused(table, text):
    pages = (Page("book/notation.md", "page", tuple(parse(table))), Page("book/02-a.md", "chapter", tuple(parse(text))))
    return [(line, says.split()[1].rstrip(",")) for _, line, says in unused_symbol(Book(pages))]


def test_a_row_that_no_page_uses_is_found():
    table = "| a | b |\n| --- | --- |\n| $m$ | rows |\n| $k$ | more |\n"
    assert unused(table, "Here is $m_k$.") == []
    assert unused(table, "Here is $m$.") == [(4, "k")]


def test_a_symbol_with_two_rows_is_found():
    table = "| a | b |\n| --- | --- |\n| $m$ | rows |\n| $m$ | more |\n"
    assert unused(table, "Here is $m$.") == [(4, "m")]
