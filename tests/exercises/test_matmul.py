"""The questions of chapter 2: answers by code, mistakes that can be told apart, and every planted mutant caught."""

import inspect
import random
import re

import pytest

from hwlab.exercises import check, question, questions
from hwlab.exercises.base import Choice, Memo, Numeric, Prediction
from hwlab.exercises.matmul import CODE, EXERCISES, GUESSES, MEMO, QUESTIONS, REVIEW
from hwlab.specs.chips import chip
from hwlab.specs.quantities import SYMBOLS

NUMERIC = [q for q in QUESTIONS if isinstance(q, Numeric)]
CHOICES = [q for q in QUESTIONS if isinstance(q, Choice)]


def ids(records):
    return [record.id for record in records]


def test_there_is_enough_to_do():
    assert len(GUESSES) >= 3 and all(isinstance(q, Prediction) for q in GUESSES)
    assert len(EXERCISES) >= 8 and CHOICES and isinstance(MEMO, Memo)
    assert len(REVIEW) == 3 and len(CODE) == 2
    assert ids(QUESTIONS) == ids(questions())


def test_the_answers_are_those_worked_by_hand():
    by_hand = {
        "matmul-one-token": (134217728 / 989.4e12) / (134250496 / 3.35e12),  # 136 ns over 40.1 µs
        "matmul-ridge-tokens": 319,  # 295.34 / (1 - 2 * 295.34 / 8192) = 318.3, and up
        "matmul-products": 80 * 7 + 80 * 2 + 1,
        "matmul-sgemm": 67 / 7.168,
        "matmul-cache-lines": (64 * 80 + 16) / (16 * 4 + 4 * 256 + 16),
        "matmul-gate-flop": 2 * 3 * 4096 * 14336,
        "matmul-layer-bytes": 4096 * 14336 + 4096 + 14336,
        "matmul-intensity": 2 * 128 * 4096**2 / (4096**2 + 2 * 128 * 4096),
        "matmul-a100-flip": 153.02 / (1 - 2 * 153.02 / 8192),
        "matmul-key-bytes": 16384 * 8 * 128 * 2,
        "matmul-prompt-flop": 2 * 405.85e9 * 2048,
        "matmul-fp8-ridge": 1978.9 / 3.35,
        "matmul-decode-step": (70.55e9 - 128256 * 8192) * 2 / (8 * 3.35e12),  # without the table of embeddings
        "matmul-b200-time": 2 * 8192**3 / 2.25e15,
        "matmul-cache-rows": 4 * 128 + 32 + 16,
        "matmul-tiles": (32 + 32 + 1) * 4096 * 4096 * 4,
        "matmul-review-bits": 50e9,
        "matmul-review-powers": 1.4,
        "matmul-review-binary": 80 * 1024**3,
    }
    assert set(by_hand) == {q.id for q in QUESTIONS if isinstance(q, (Prediction, Numeric))}
    for id, value in by_hand.items():
        assert question(id).answer() == pytest.approx(value, rel=2e-4), id
    assert question("matmul-second-request").answer() == "double"  # 1,024 rows lie beyond the 319 of the ridge
    assert question("matmul-fp8-flip").answer() == "same"


def test_the_memo_may_say_that_the_peaks_are_the_same():
    assert chip("h200-sxm").peak("bf16") == chip("h100-sxm").peak("bf16")


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


def test_the_random_inputs_are_ragged_so_that_a_rounding_mistake_shows():
    draw = question("matmul-blocked-bytes").draw
    cases = [draw(random.Random(seed)) for seed in range(50)]
    assert all(case[axis] % case["block"] for case in cases for axis in "mkn")


def test_a_blocked_product_moves_what_the_closed_form_says():
    from hwlab.costs.blocking import blocked_bytes

    q = question("matmul-blocked-bytes")
    for seed in range(20):
        case = q.draw(random.Random(seed))
        block = dict.fromkeys(("block_m", "block_k", "block_n"), case["block"])
        sizes = {axis: case[axis] for axis in "mkn"}
        assert q.answer(**case) == blocked_bytes(**sizes, **block, itemsize=case["itemsize"]).total
