"""What a chapter holds."""

import re

import pytest

from book.lint import chapter
from book.lint.chapter import MINIMUM

OPENING = """\
(ch-matmul)=
# MatMul

:::{{opening}} {question}
You will be able to
: count
: place
: name

Before you start
: powers of ten

Time
: {time}

Numbers of
: {date}

Code
: `{code}`
:::
"""
GOOD = {
    "question": "What share of the chip you pay for does one request use, and what does a batch buy?",
    "time": "35 minutes to read, 45 to do",
    "date": "November 2026",
    "code": "hwlab/costs/roofline.py",
}


def test_a_good_opening_passes(faults):
    assert faults(chapter.opening, OPENING.format(**GOOD)) == []


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        ({"question": "What does a batch buy?"}, 4, "contents.toml"),
        ({"time": "an hour"}, 14, "35 minutes to read"),
        ({"date": "2026"}, 17, "give month and year"),
        ({"code": "hwlab/costs/nothing.py"}, 20, "does not exist"),
    ],
)
def test_a_faulty_opening_is_found(faults, change, line, says):
    found = faults(chapter.opening, OPENING.format(**GOOD | change))
    assert any(at == line and says in text for at, text in found)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("(ch-matmul)=\n", "", "without its label"),
        (": count\n", "", "3 to 5"),
        ("Before you start\n: powers of ten\n\n", "", "'Before you start'"),
        (":::{opening}", ":::{move}", "has no {opening}"),
    ],
)
def test_an_opening_without_a_part_is_found(faults, old, new, says):
    text = OPENING.format(**GOOD).replace(old, new)
    assert any(says in fault for _, fault in faults(chapter.opening, text))


def test_a_question_names_an_amount(faults):
    text = OPENING.format(**GOOD | {"question": "Is a batch good?"})
    found = faults(chapter.opening, text, path="book/02-unplanned.md")
    assert [says for _, says in found] == [
        "asks 'Is a batch good?', without an amount; ask how many, what share, or name a number"
    ]


def test_words_of_prose_are_counted_without_questions_and_takeaways(page):
    left_out = ":::{exercise} x\nno\n:::\n\n:::{keep}\nno\n:::\n"
    it = page(f"# T\n\nOne two $m$ three.\n\n- four\n\n:::{{work}} what\nfive\n:::\n\n{left_out}")
    assert chapter.words(it, list(it.pieces)) == 7  # the formula, and what the block asks, are words too


def test_a_chapter_and_its_sections_have_bounds(lines):
    word = "word " * 640
    assert lines(chapter.length, f"# T\n\n## A\n\n{word}\n") == [1]
    fine = "\n\n".join(f"## S\n\n{word}" for _ in range(4))
    assert lines(chapter.length, f"# T\n\n{fine}\n") == []
    assert lines(chapter.length, f"# T\n\n{fine}\n\n### Below\n\n{word}\n") == [15]
    assert lines(chapter.length, f"# T\n\n{fine}\n\n{fine}\n") == [1]


def figure(kind):
    return f'<div class="hw-live" data-kind="{kind}"></div>'


CELL = "```{code-cell} ipython3\n1\n```\n\n"
EXAMPLES = {
    "guesses": (":::{predict} a\n:::\n\n", ""),
    "figures": (CELL, figure("chart")),
    "explorers": (CELL, figure("explorer")),
    "machines": (CELL, figure("machine")),
    "worked examples": (":::{work} a\n:::\n\n", ""),
    "half-blank examples": (":::{exercise} a\n$$\nm = \\;?\n$$\n:::\n\n", ""),
    "exercises": (":::{exercise} a\n:::\n\n", ""),
    "questions to choose in": (":::{exercise} matmul-second-request\n:::\n\n", ""),
    "numeric exercises": (":::{exercise} matmul-gate-flop\n:::\n\n", ""),
    "memos": (":::{exercise} matmul-memo\n:::\n\n", ""),
    "reviews": (":::{review} a\n:::\n\n", ""),
    "takeaways": (":::{keep}\n1. a\n:::\n\n", ""),
}


def test_every_minimum_has_an_example_here():
    assert {least.what for least in MINIMUM} == {*EXAMPLES, "references", "classes of chips in one section"}


@pytest.mark.parametrize("least", [least for least in MINIMUM if least.what in EXAMPLES], ids=lambda least: least.what)
def test_what_there_is_too_few_of_is_found(faults, least):
    one, html = EXAMPLES[least.what]

    def says(count):
        outputs = [html] * count if html else ()
        return [
            text
            for _, text in faults(chapter.minimum, "# T\n\n" + one * count, outputs=outputs)
            if re.match(rf"has \d+ {least.what},", text)
        ]

    assert says(least.number) == []
    assert says(least.number - 1) == [
        f"has {least.number - 1} {least.what}, and {least.number} are the least; {least.advice}"
    ]


def test_references_are_8_to_20(faults):
    def says(count):
        keys = ",".join(f"key{i}" for i in range(count))
        return [
            text
            for _, text in faults(chapter.minimum, f"# T\n\nIt is {{cite}}`{keys}`, {{cite:t}}`key0`.\n")
            if "references" in text
        ]

    assert says(8) == says(20) == []
    assert "8 are the least" in says(7)[0] and "keep the 20" in says(21)[0]


def test_classes_of_chips_are_counted_where_they_are_compared(page):
    assert chapter.classes(page("## A\n\nA CPU, an H100 and {spec}`groq-lpu memory_bytes`.\n")) == {"cpu", "gpu", "lpu"}
    assert len(chapter.classes(page("## A\n\nA CPU and a GPU.\n\n## B\n\nA TPU.\n"))) == 2


def test_the_first_guess_stands_above_the_first_section(lines):
    guess = ":::{predict} a\n:::\n\n"
    assert lines(chapter.guess, f"# T\n\n{guess}## A\n\n{guess}") == []
    assert lines(chapter.guess, f"# T\n\n## A\n\n{guess}") == [5]


def test_all_claims_of_the_chapter_are_shown(faults):
    assert faults(chapter.trial, "# T\n\n:::{claims}\n:::\n") == []
    ((line, says),) = faults(chapter.trial, "# T\n\n:::{claims} C004\n:::\n")
    assert line == 1 and "C004" not in says and "C009" in says
    assert faults(chapter.trial, "# T\n\n:::{claims} C004\n:quote:\n:::\n")[0][1].count("C004") == 1


BREAKS = "# T\n\n## Bound\n\n:::{breaks} ways\n{words} {cites}\n:::\n\n```{code-cell} ipython3\n{code}\n```\n"


def test_where_it_breaks_is_said_at_length_and_beside_two_measurements(faults):
    def says(count=150, cites="{cite}`a,b`", code='measurements("matmul")'):
        text = BREAKS.replace("{words}", "word " * count).replace("{cites}", cites).replace("{code}", code)
        return [(line, fault.split(";")[1]) for line, fault in faults(chapter.breaks, text, outputs=[""])]

    assert says() == []
    assert says(count=148) == [(3, " 150 are the least")]
    assert says(cites="{cite}`a`") == [(5, " cite two that measured")]
    assert says(code="1") == [(5, " take one from hwlab.specs.measurements")]
    assert [line for line, _ in faults(chapter.breaks, "# T\n\n## Bound\n\nNothing.\n")] == [1]


def test_takeaways_have_numbers_and_a_card(faults):
    card = "\n$$\nt\n$$\n"
    assert (
        faults(
            chapter.keep,
            f"# T\n\n:::{{keep}}\n1. At {{glue:text}}`a` rows.\n2. At $2m$.\n{card}:::\n",
            glued={"a": "319"},
        )
        == []
    )
    assert [line for line, _ in faults(chapter.keep, f"# T\n\n:::{{keep}}\n1. At 3.\n2. At some.\n{card}:::\n")] == [5]
    assert [line for line, _ in faults(chapter.keep, "# T\n\n:::{keep}\n1. At 3.\n:::\n")] == [3]
    assert [line for line, _ in faults(chapter.keep, "# T\n")] == [1]


def test_a_chapter_has_a_lab_below_it(lines):
    assert lines(chapter.lab, "# T\n") == []
    assert lines(chapter.lab, "# T\n", path="book/98-none.md") == [1]


def test_a_lab_checks_the_code_exercises_of_its_chapter(faults, page):
    text = "# T\n\n:::{exercise} matmul-bytes\n:::\n"
    cell = '```{code-cell} ipython3\ncheck("%s", mine)\n```\n'
    labs = [
        page(cell % id, kind="lab", path="notebooks/02-matmul.ipynb", outputs=[""]) for id in ("matmul-bytes", "other")
    ]
    assert [[line for line, _ in faults(chapter.lab, text, beside=[lab])] for lab in labs] == [[], [3]]


def test_a_lab_stores_six_outputs_and_uses_a_widget(faults):
    def says(outputs):
        found = faults(
            chapter.lab, "# T\n\n" + CELL * len(outputs), kind="lab", path="notebooks/02-a.ipynb", outputs=outputs
        )
        return [text.split(";")[0] for _, text in found]

    assert says(["1"] * 6 + [figure("machine")]) == []
    assert says(["1"] * 4 + [figure("machine")]) == ["stores 5 outputs that are the same everywhere"]
    assert says(["1"] * 6) == ["uses no widget"]


@pytest.mark.parametrize(
    ("tags", "first", "second", "found"),
    [
        ("[nbval-ignore-output]", "seconds = 1", "assert seconds < 9", []),
        ("[nbval-ignore-output]", "t = perf_counter()", "print(t)\nassert t", []),
        ("[nbval-ignore-output]", "seconds = 1", "# to assert it is too soon", [5]),
        ("[nbval-ignore-output]", "explorer", "print(1)", []),  # which measures nothing
        ("[hide-input]", "seconds = 1", "print(1)", []),  # which is compared
    ],
)
def test_what_a_lab_measures_is_held_within_a_band(lines, tags, first, second, found):
    cells = f"```{{code-cell}} ipython3\n:tags: {tags}\n{first}\n```\n\n```{{code-cell}} ipython3\n{second}\n```\n"
    assert lines(chapter.measured, f"# T\n\n{cells}", kind="lab", outputs=["", ""]) == found


def test_a_measurement_at_the_end_of_a_lab_is_held_by_nothing(lines):
    cell = "```{code-cell} ipython3\n:tags: [nbval-ignore-output]\nseconds = 1\n```\n"
    assert lines(chapter.measured, f"# T\n\n{cell}", kind="lab", outputs=[""]) == [5]
