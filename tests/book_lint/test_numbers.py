"""No number with a unit is typed; no guess is answered above it."""

import pytest

from book.lint.numbers import answer_above, typed_number
from hwlab.exercises import question


@pytest.mark.parametrize(
    "typed",
    [
        "It reads 3.35 TB/s.",
        "It takes 40.1\u00a0µs.",
        "A chip with 80-GB stacks.",
        "A share of 35 %, and 35% too.",
        "It is 9,700 times faster.",
        "It is 5x faster.",
        "It costs $2.50 an hour.",
        "It draws 700 W.",
        "A third, or 33 percent.",
        "It takes 40 microseconds.",
        "It takes forty milliseconds.",
        "It is a 3-fold gain.",
        "It does 1.4 × 10¹⁴ FLOP.",
        "A {term}`cache <cache>` of 50 MB.",
        "$134$ MB of weights",
        "$t = 3\\,\\mathrm{ms}$ is typed, and so is\n\n$$\nt = 3\\,\\text{ ms}\n$$",
        "| a |\n| --- |\n| 12 GB |",
        "- 12 GB",
        ":::{keep} what\n12 GB\n:::",
    ],
)
def test_a_typed_number_is_found(faults, typed):
    (first, *_) = faults(typed_number, f"# Page\n\n{typed}\n")
    assert first[0] >= 3 and "{given}" in first[1]


def test_the_line_is_that_of_the_number(lines):
    assert lines(typed_number, "One\ntwo\nthree 3 GB, four\nfive 5 ms.\n") == [3, 4]


@pytest.mark.parametrize(
    "allowed",
    [
        "It reads {spec}`h100-sxm memory_bytes_per_s`.",
        "It reads {glue:text}`rate` GB/s.",
        "The text says {given}`6.8 s`.",
        "A product of 8192 × 8192, 32 rows, 80 layers, 1,024 tokens.",
        "Llama 3.1 70B on an H100, in November 2026.",
        "A 16-bit float has 5 bits of exponent.",
        "The code says `3 GB`.",
        "$2 \\times 1 \\times 8192$ is the count.",
        "35 minutes to read, 45 to do",
        "Each weight takes two bytes, and the lab is done within a second.",
        "Chapter 3 says so.",
    ],
)
def test_what_a_problem_counts_is_allowed(lines, allowed):
    assert lines(typed_number, f"# Page\n\n{allowed}\n") == []


GUESS = "\n:::{predict} matmul-one-token\nWhat share?\n:::\n\nBelow it, 0.34 % may stand.\n"  # the answer is 0.339 %


@pytest.mark.parametrize(
    "told",
    [
        "# It uses 0.34 %\n",
        "# T\n\nA share of {glue:text}`share` is used.\n",
        "# T\n\n:::{opening} Why 0.338 %?\n:::\n",
        "# T\n\n:::{work} what 0.34 % means\n:::\n",
        "# T\n\n```{code-cell} ipython3\n1\n```\n",
    ],
)
def test_an_answer_above_its_guess_is_found(faults, told):
    outputs = ["<p>0.34 %</p>"] if "code-cell" in told else ()
    found = faults(answer_above, told + GUESS, glued={"share": "0.34 %"}, outputs=outputs)
    assert found and all("matmul-one-token" in says and line <= 5 for line, says in found)


@pytest.mark.parametrize(
    "harmless", ["It is 34 %.", "It is 0.34 times.", "It is 0.34 s.", "0.35 % is another.", "In 0.34 of all cases."]
)
def test_another_number_above_a_guess_is_none(lines, harmless):
    assert lines(answer_above, f"# T\n\n{harmless}\n{GUESS}") == []


def test_what_a_hidden_cell_prints_tells_nothing(lines):
    cell = "# T\n\n```{code-cell} ipython3\n---\ntags: [remove-cell]\n---\n1\n```\n"
    assert lines(answer_above, cell + GUESS, outputs=["<p>0.34 %</p>"]) == []


def test_a_count_is_told_by_its_bare_number(lines):
    rows = question("matmul-ridge-tokens").answer()
    guess = "\n:::{predict} matmul-ridge-tokens\nHow many?\n:::\n"
    assert lines(answer_above, f"From {rows} on it binds.\n{guess}") == [1]
    assert lines(answer_above, f"From {rows} rows on it binds.\n{guess}") == [1]
    assert lines(answer_above, f"It takes {rows} ms.\n{guess}") == []


def test_a_claim_above_a_guess_may_tell_it(lines):
    """C033 is recomputed with the factor that the guess asks for, 9.3 times; C032 is not."""
    guess = "\n:::{predict} matmul-sgemm\nHow many?\n:::\n"
    assert lines(answer_above, f":::{{claims}} C033\n:quote:\n:::\n{guess}") == [1]
    assert lines(answer_above, f":::{{claims}} C032\n:quote:\n:::\n{guess}") == []
