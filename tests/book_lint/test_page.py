"""A page as the rules see it: every piece on its line."""

import json
import textwrap

import pytest

from book.lint import lint
from book.lint.page import Page, parse, read
from book.lint.whole import Book

TEXT = """\
---
kernelspec: {name: python3}
---

(ch-tiny)=
# A {term}`tile`

:::{move} the batch
:cells: 1
First line,
with $x$ and {spec}`h100-sxm tdp_watts`.
:::

```{code-cell} ipython3
---
tags: [hide-input]
---
import math
```

::::{div} outer
:::{keep} what
1. One.
:::
::::

| a | b |
| --- | --- |
| $m$ | rows |
"""


def test_every_piece_stands_on_the_line_where_it_is_written():
    source = TEXT.splitlines()
    for piece in parse(TEXT):
        for part in piece.inlines:
            assert part.text.strip() in source[part.line - 1]
        if piece.kind == "cell":
            assert source[piece.line - 1] == "import math"
        if piece.kind == "directive":
            assert source[piece.line - 1].endswith(f"{{{piece.name}}} {piece.text}")


def test_a_piece_knows_the_directives_it_stands_in():
    inside = {piece.seen(): piece.inside for piece in parse(TEXT) if piece.kind == "text"}
    assert inside["One."] == ("div", "keep")
    assert inside["First line, with x and h100-sxm tdp_watts."] == ("move",)
    assert inside["rows"] == ()


def test_options_are_no_text():
    (directive,) = [p for p in parse(TEXT) if p.name == "move"]
    assert (directive.text, directive.options) == ("the batch", {"cells": "1"})


def test_a_definition_of_the_glossary_follows_its_term():
    found = parse("```{glossary}\nKV cache\n  Keys and values.\n\n  More.\nstep\n  One pass.\n```\n")
    assert [(p.kind, p.line, p.text or p.seen()) for p in found[1:]] == [
        ("label", 2, "KV cache"),
        ("text", 3, "Keys and values."),
        ("text", 5, "More."),
        ("label", 6, "step"),
        ("text", 7, "One pass."),
    ]


def test_a_number_from_the_catalogue_or_from_code_is_filled_in(page):
    it = page("{spec}`h100-sxm memory_bytes_per_s` for {glue:text}`share` {cite}`key`.", glued={"share": "0.34 %"})
    assert it.pieces[0].seen(it.shown) == "3.35 TB/s for 0.34 % ."


def test_a_notebook_has_the_lines_of_its_file(tmp_path):
    cells = [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# Lab\n", "\n", "Text."]},
        {
            "cell_type": "code",
            "id": "b",
            "execution_count": None,
            "metadata": {"tags": ["nbval-ignore-output"]},
            "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1 s\n"]}],
            "source": ["print(1)"],
        },
    ]
    path = tmp_path / "01-lab.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    it, source = read(path, tmp_path), path.read_text().splitlines()
    assert [("Lab" in source[p.line - 1], "Text" in source[p.line - 1]) for p in it.pieces[:2]] == [
        (True, False),
        (False, True),
    ]
    (cell,) = it.of("cell")
    assert "print(1)" in source[cell.line - 1]
    assert [(o.text, o.stored) for o in it.outputs[cell.line]] == [("1 s\n", False)]


def test_the_texts_of_questions_are_read_from_their_source(tmp_path):
    path = tmp_path / "tiny.py"
    path.write_text(
        'Q = Numeric(\n    id="tiny-a",\n    hint="""\n        One {{fact}}\n        and two.\n        """,\n)\n'
    )
    label, hint = read(path, tmp_path).pieces
    assert (label.text, label.line) == ("tiny-a", 2)
    assert hint.inside == ("Numeric", "hint")
    assert [(part.kind, part.text.strip(), part.line) for part in hint.inlines if part.text.strip()] == [
        ("text", "One", 4),
        ("computed", "fact", 4),
        ("text", "and two.", 5),
    ]


def test_a_page_whose_cells_have_not_run_is_refused(tmp_path):
    path = tmp_path / "book/01-a.md"
    path.parent.mkdir()
    path.write_text("# A\n\n```{code-cell} ipython3\n1\n```\n")
    with pytest.raises(ValueError, match="build the book first: make book"):
        read(path, tmp_path)


# ---- Exceptions ----------------------------------------------------------------------------------------------------


def book_of(text):
    return Book((Page("book/index.md", "page", tuple(parse(textwrap.dedent(text)))),))


@pytest.fixture
def rules_of_it(monkeypatch):
    """Without the rules of the whole book, which has but one page here."""
    monkeypatch.setattr("book.lint.BOOK_RULES", {})


def found(text):
    return [(fault.line, fault.rule) for fault in lint(book_of(text))]


def test_an_exception_covers_the_block_below_it_and_nothing_else(rules_of_it):
    assert found("It is very hot.\n") == [(1, "plain-words")]
    assert found("% lint: plain-words because a quotation says so\nIt is very hot.\n\nAnd very dry.\n") == [
        (4, "plain-words")
    ]
    covered = ":::{keep} what\nIt is very hot.\n:::\n"
    assert found(f"% lint: plain-words because a quotation says so\n\n{covered}") == []


def test_an_exception_of_no_use_is_a_fault(rules_of_it):
    assert found("% lint: plain-words because a quotation says so\nIt is hot.\n") == [(1, "exception")]
    assert found("% lint: spelling because a quotation says so\nIt is very hot.\n") == [
        (1, "exception"),
        (2, "plain-words"),
    ]


def test_an_exception_names_a_rule_and_has_a_reason(rules_of_it):
    assert found("% lint: plain-words\nIt is hot.\n") == [(1, "exception")]
    assert found("% lint: no-such-rule because of this\nIt is hot.\n") == [(1, "exception")]
