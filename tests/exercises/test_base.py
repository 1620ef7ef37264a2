"""The rules by which a question judges, on a small one of known answer."""

import math

import pytest

from hwlab.exercises import check, question, questions
from hwlab.exercises.base import Mistake, Numeric, Prediction


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
        ("500 Mbit", "That is in bit; this asks for MB."),
        ("500 ms", "That is in s; this asks for MB."),
        ("0,5 GB", "Write decimals with a point: 0.5."),
        ("half", "Give a number, with a unit if you like."),
        ("500 mb", "The unit mb could mean MB or Mb: write the one you mean."),
    ],
)
def test_a_wrong_answer_is_told_what_is_wrong(text, says):
    found = Q.judge(text)
    assert not found and found.says.lower() == says.lower()


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
    with pytest.raises(KeyError, match="matmul-layer-bytes"):
        question("matmul-layr-bytes")
    with pytest.raises(TypeError, match="asks for a function"):
        check("matmul-bytes", 12)
    with pytest.raises(TypeError, match="asks for a number"):
        check("matmul-layer-bytes", len)
    with pytest.raises(TypeError, match="answer it in the page"):
        check("matmul-memo", "yes")


def test_ids_are_unique_and_begin_with_their_chapters_word():
    ids = [q.id for q in questions()]
    assert len(ids) == len(set(ids))
