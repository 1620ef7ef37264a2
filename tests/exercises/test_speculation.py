"""The questions of chapter 12: the answers worked by hand. What holds for every question is in test_questions.py."""

import random

import pytest

from hwlab.exercises import question
from hwlab.exercises.base import Memo, Numeric, Prediction
from hwlab.exercises.speculation import CODE, EXERCISES, GUESSES, MEMO, QUESTIONS, REVIEW
from hwlab.serving.speculative import judge


def test_there_is_enough_to_do():
    assert len(GUESSES) >= 3 and len(EXERCISES) >= 8 and isinstance(MEMO, Memo)
    assert len(REVIEW) == 3 and len(CODE) == 1 and len(CODE[0].mutants) >= 5


PARAMS = 8_030_261_248 - 128_256 * 4096  # without the table of embeddings, of which one row a token is read


def test_the_answers_are_those_worked_by_hand():
    def distinct(tokens):  # experts that so many tokens touch, 8 of 128 each
        return 128 * (1 - (1 - 8 / 128) ** tokens)

    each = 3 * 2048 * 768 * 48 * 2  # bytes of one expert in all layers of Qwen3 30B A3B
    rest = 2 * (30_532_122_624 - 151_936 * 2048) - 128 * each  # all that every token reads
    cache = 48 * 2 * 4 * 128 * 2 * 512
    by_hand = {
        "speculation-judge-time": 1.0,
        "speculation-eight-guesses": sum(0.8**i for i in range(9)),
        "speculation-early-exit": 0.10,
        "speculation-overlap": 0.2 + 0.3 + 0.1,
        "speculation-residual": 0.3 / 0.4,
        "speculation-gain": (1 + 0.9 + 0.81 + 0.729 + 0.6561 + 0.59049) / 1.5,
        "speculation-compute-bound": (1 + 0.8 + 0.64 + 0.512 + 0.4096) / 5,
        "speculation-experts": (rest + cache + distinct(5) * each) / (rest + cache + distinct(1) * each),
        "speculation-slots": 4,
        "speculation-large-draft": ((1 - 0.82**8) / 0.18 / 1.7 - 1) / 7,
        "speculation-review-gain": 25 / 12,
        "speculation-review-step": 2 * PARAMS / 1.64e12,
        "speculation-review-cache": 2 * 16 * 8 * 64 * 2,
    }
    for id, value in by_hand.items():
        assert question(id).answer() == pytest.approx(value, rel=0.02), id
    gains = [(1 - 0.7 ** (g + 1)) / 0.3 / (1 + 0.1 * g) for g in range(1, 10)]
    assert question("speculation-best-guesses").answer() == 1 + gains.index(max(gains))
    assert question("speculation-chip").answer() == "h100-sxm"
    assert question("speculation-worse-draft").answer() == "time"
    rest = {"speculation-batch-end", "speculation-best-guesses"}
    assert set(by_hand) | rest == {q.id for q in QUESTIONS if isinstance(q, (Prediction, Numeric))}


def test_the_batch_at_which_guessing_stops_is_where_five_rows_of_each_cost_what_they_write():
    """Both steps by hand: the judging step is bound by arithmetic, the plain ones by memory."""
    batch = question("speculation-batch-end").answer()
    weights, small = 2 * PARAMS, 2 * 1_235_814_400
    caches = batch * 256 * 32 * 2 * 8 * 128 * 2, batch * 256 * 16 * 2 * 8 * 64 * 2
    plain, guess = ((w + kv) / 3.35e12 for w, kv in zip((weights, small), caches, strict=True))
    judged = 5 * batch * weights / 989.4e12
    tokens = (1 - 0.7**5) / 0.3
    assert tokens * plain / (4 * guess + judged) == pytest.approx(1, abs=0.03)
    assert MEMO.answer() == pytest.approx(tokens / (4 * small / weights + 1), rel=0.01)


def test_the_verdict_to_write_is_that_of_the_package():
    for seed in range(60):
        case = CODE[0].draw(random.Random(seed))
        draws = iter([case["first"], case["second"]])
        found = judge([case["guess"]], [case["draft"]], [case["target"]] * 2, lambda: next(draws))  # noqa: B023
        assert CODE[0].answer(**case) == found.tokens[0]
