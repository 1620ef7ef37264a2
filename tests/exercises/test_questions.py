"""Every question of every chapter: answers by code, and mistakes that can be told apart and are answered by name."""

import inspect
import re

import pytest

from hwlab.exercises import check, questions
from hwlab.exercises.base import Choice, Numeric, Prediction
from hwlab.specs.quantities import SYMBOLS

QUESTIONS = questions()
GUESSES = [q for q in QUESTIONS if isinstance(q, Prediction)]
NUMERIC = [q for q in QUESTIONS if isinstance(q, Numeric)]
CHOICES = [q for q in QUESTIONS if isinstance(q, Choice)]


def ids(records):
    return [record.id for record in records]


@pytest.mark.parametrize("q", GUESSES, ids=ids(GUESSES))
def test_the_truth_of_a_guess_lies_well_inside_its_ruler(q):
    assert 0.1 < q.place(q.answer()) < 0.9
    assert q.decades in (3, 4)


@pytest.mark.parametrize("q", NUMERIC, ids=ids(NUMERIC))
def test_a_question_tells_its_mistakes_from_each_other_and_from_the_answer(q):
    values = [q.answer(), *(mistake.value() for mistake in q.mistakes)]
    assert len(q.mistakes) >= 2
    for i, a in enumerate(values):
        for b in values[:i]:
            assert abs(a / b - 1) > 2 * q.tolerance, (a, b)


@pytest.mark.parametrize("q", NUMERIC, ids=ids(NUMERIC))
def test_each_mistake_gets_its_own_reply_and_the_answer_is_right_in_both_units(q):
    factor = SYMBOLS[q.unit][0]
    for text in (f"{q.answer() / factor:.5g} {q.unit}", f"{q.answer() / factor:.5g}", f"{q.answer():.5g}"):
        assert check(q.id, text), text
    for mistake in q.mistakes:
        reply = check(q.id, f"{mistake.value() / factor:.5g} {q.unit}")
        assert not reply and reply.says == q.fill(mistake.reply)


@pytest.mark.parametrize("q", CHOICES, ids=ids(CHOICES))
def test_the_answer_of_a_choice_is_one_of_its_options(q):
    assert q.answer() in [option.key for option in q.options]


@pytest.mark.parametrize("q", QUESTIONS, ids=ids(QUESTIONS))
def test_an_answer_is_a_named_function_and_every_fact_in_a_text_is_computed(q):
    source = inspect.getsource(q.answer)
    assert source.startswith("def ") and max(map(len, source.splitlines())) <= 62  # what a block of the page shows
    for record in (q, *getattr(q, "mistakes", ()), *getattr(q, "options", ()), *getattr(q, "mutants", ())):
        for field in ("hint", "solution", "reveal", "reply", "text"):
            text = q.fill(getattr(record, field, ""))
            assert "{{" not in text and not re.search(r"\bnan\b|None|e[+-]\d\d", text), text
    assert all(isinstance(text, str) for text in q.facts().values())
