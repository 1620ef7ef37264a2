"""Code that fits, markup that is the book's own, figures with words."""

import pytest

from book.lint import form

LONG, FITS = "x" * (form.CELL + 1), "x" * form.CELL
CELL = "```{{code-cell}} ipython3\n{options}{code}\n```\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (CELL.format(options="", code=f"a\n{LONG}"), [3]),
        (CELL.format(options="---\ntags: [hide-input]\n---\n", code=LONG), [5]),
        (f"```python\n{LONG}\n```\n", [2]),
        (CELL.format(options="", code=FITS), []),
        (CELL.format(options="---\ntags: [remove-input]\n---\n", code=LONG), []),
        (CELL.format(options="---\ntags: [remove-cell]\n---\n", code=LONG), []),
    ],
)
def test_code_that_a_reader_sees_fits(page, text, found):
    assert [line for line, _ in form.code_width(page(text, outputs=[""] * ("code-cell" in text)), None)] == found


def test_a_solution_fits(page, monkeypatch):
    labels = page("(matmul-gate-flop)=\n", kind="questions")
    assert list(form.solution_width(labels, None)) == []
    monkeypatch.setattr(form, "SOLUTION", 40)
    assert [line for line, _ in form.solution_width(labels, None)] == [1]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# A\n\n## B\n\n### C\n\n## D\n", []),
        ("# A\n\n### C\n", [3]),
        ("## A\n", [1]),
        ("# A\n\n# B\n", [3]),
    ],
)
def test_heading_levels_do_not_jump(lines, text, found):
    assert lines(form.heading_level, text) == found


@pytest.mark.parametrize("text", ["A\n<b>bold</b> word\n", "A\n\n<div>\n</div>\n", "A\n\n```{raw} html\n<b>\n```\n"])
def test_raw_html_is_found(lines, text):
    assert set(lines(form.raw_html, text)) <= {2, 3} and lines(form.raw_html, text)


def test_a_less_sign_is_no_html(lines):
    assert lines(form.raw_html, "a < b and `<b>` and $a < b$\n") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A\nhttps://example.org/a is\n", [2]),
        ("<https://example.org>\n", [1]),
        ("[the paper](https://example.org)\n", []),
        ("`https://example.org`\n", []),
    ],
)
def test_a_bare_address_is_found(lines, text, found):
    assert lines(form.bare_url, text) == found


@pytest.mark.parametrize(
    "text", ["A\n![a die](die.png)\n", "\n```{image} die.png\n```\n", "\n```{figure} die.png\nA.\n```\n"]
)
def test_a_figure_from_a_file_is_found(lines, text):
    assert lines(form.image, text) == [2]


def live(alt='aria-label="Bars that fall from left to right."', caption="", data="<table></table>"):
    return (
        f'<div class="hw-live" data-kind="explorer"><div class="hw-slot" role="img" {alt}></div>{caption}'
        f'<details class="hw-data">{data}</details></div>'
    )


CAPTION = '<p class="hw-caption" id="c">{}</p>'


@pytest.mark.parametrize(
    ("html", "says"),
    [
        (live(), None),
        (live('aria-labelledby="c"', CAPTION.format("One token uses a little of it.")), None),
        (live('aria-label="Falling bars"'), "five words"),
        (live(""), "five words"),
        (live('aria-labelledby="c"', CAPTION.format("Too short.")), "five words"),
        (live(caption=CAPTION.format("Bars that fall from left to right.")), "repeats the caption"),
        (live(data=""), "without its data"),
        (live().replace('role="img"', ""), "without a picture"),
    ],
)
def test_a_live_figure_has_words_and_data(faults, html, says):
    found = faults(form.alt_text, "# T\n\n" + CELL.format(options="", code="1"), outputs=[html])
    assert [line for line, _ in found] == ([4] if says else [])
    assert not says or says in found[0][1]


@pytest.mark.parametrize(
    ("alt", "found"), [(":alt: Floor plan of a chip, mostly dark.\n", []), (":alt: A plan.\n", [2]), ("", [2])]
)
def test_a_drawing_has_words(lines, alt, found):
    assert lines(form.alt_text, f"\n```{{floor-plan}} h100-sxm\n{alt}Two squares.\n```\n") == found
