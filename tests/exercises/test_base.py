"""The rules by which a question judges, on a small one of known answer."""

import math
import re

import numpy as np
import pytest

from hwlab.exercises import check, question, questions
from hwlab.exercises.base import Mistake, Numeric, Prediction
from hwlab.specs.figure import UnknownId


def half_a_gigabyte():
    return 0.5e9


Q = Numeric(
    id="test-bytes",
    title="",
    label="",
    answer=half_a_gigabyte,
    unit="MB",
    hint="",
    solution="",
    mistakes=(Mistake(value=lambda: 4e9, reply="Those are bits: {{eight}}."),),
    facts=lambda: {"eight": "8"},
)


@pytest.mark.parametrize("text", ["500 MB", "500", "0.5 GB", "505 MB", "5e8", "5e8 bytes", "500,000 kB", "5 x 10^8 B"])
def test_an_answer_within_tolerance_is_right_in_any_unit_of_its_kind(text):
    assert Q.judge(text).says == "Right: 500 MB."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("4 GB", "Those are bits: 8."),
        ("511 MB", "Too high."),
        ("480", "Too low."),
        ("500 GB", "Right digits, but 1,000 times too large."),
        ("0.05 MB", "Right digits, but 10,000 times too small."),
        ("500 Mbit", "You gave bits; this asks for MB."),
        ("500 ms", "You gave a time; this asks for MB."),
        ("0,5 GB", "Write decimals with a point: 0.5."),
        ("5 tokens", "You gave a count or a share; this asks for MB."),
        ("1e400", "That number is too large to work with: check its exponent."),
        ("3 parsec", "The unit parsec is not known here."),
        ("half", "Give a number, with a unit if you like."),
        ("500 mb", "The unit mb could mean MB or Mb: write the one you mean."),
    ],
)
def test_a_wrong_answer_is_told_what_is_wrong(text, says):
    found = Q.judge(text)
    assert not found and found.says == says


def test_a_fact_that_is_not_computed_is_refused():
    with pytest.raises(KeyError):
        Q.fill("{{nine}}")
    assert Q.fill(r"$\frac{{a}}{b}$ {eight}".replace("{{a}}", "{a}")) == r"$\frac{a}{b}$ {eight}"


def test_a_ruler_is_whole_decades_long_and_places_values_by_their_logarithm():
    fields = {"id": "test-guess", "title": "", "answer": lambda: 0.01, "unit": "%", "reveal": ""}
    guess = Prediction(**fields, low=0.1, high=100)
    assert guess.decades == pytest.approx(3)
    assert guess.place(0.01) == pytest.approx(1 / 3)
    assert math.isclose(guess.place(1.0), 1)
    with pytest.raises(ValueError, match="whole decades"):
        Prediction(**fields, low=0.1, high=50)
    with pytest.raises(ValueError, match="unit is 'furlong'"):
        Prediction(**{**fields, "unit": "furlong"}, low=1, high=10)


def test_an_unknown_question_names_its_neighbours_and_a_wrong_kind_of_attempt_is_refused():
    with pytest.raises(UnknownId, match="no question 'matmul-layr-bytes'; nearest: matmul-layer-bytes"):
        question("matmul-layr-bytes")
    with pytest.raises(UnknownId, match="no question 3; there are"):
        check(3, "1")
    with pytest.raises(TypeError, match="asks for a function"):
        check("matmul-bytes", 12)
    for attempt in (len, None, True, 1j, [1.0]):
        with pytest.raises(TypeError, match=re.escape(f"you gave {attempt!r}")):
            check("matmul-layer-bytes", attempt)
    assert not check("matmul-layer-bytes", math.nan)
    assert check("matmul-layer-bytes", np.float64(58738688.0))
    with pytest.raises(TypeError, match="answer it in the page"):
        check("matmul-memo", "yes")


def test_ids_are_unique_and_begin_with_their_chapters_word():
    ids = [q.id for q in questions()]
    assert len(ids) == len(set(ids))
