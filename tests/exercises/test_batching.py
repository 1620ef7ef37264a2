"""The questions of chapter 11: the answers worked by hand. What holds for every question is in test_questions.py."""

import random

import pytest

from hwlab.exercises import question
from hwlab.exercises.base import Memo, Numeric, Prediction
from hwlab.exercises.batching import CODE, EXERCISES, GUESSES, MEMO, QUESTIONS, REVIEW
from hwlab.figures.timeline import SCENES
from hwlab.studies.batching import steps_taken


def test_there_is_enough_to_do():
    assert len(GUESSES) == 3 and len(EXERCISES) >= 8 and isinstance(MEMO, Memo)
    assert len(REVIEW) == 3 and len(CODE) == 1 and len(CODE[0].mutants) >= 5


def test_the_answers_are_those_worked_by_hand():
    weights_8b = 8.03e9 - 128256 * 4096  # without the table of embeddings
    weights_70b = 70.55e9 - 128256 * 8192
    attention = 2 * 32 * 4096 * 32_000**2  # half of all pairs
    body_8b = weights_8b - 128256 * 4096  # and without the head, which only the last token passes
    by_hand = {
        "batching-longest": 2.66,
        "batching-stall": (2 * body_8b * 32_000 + attention) / 989.4e12,
        "batching-ten-thousand": 2 * weights_70b * 1e4 / (8 * 989.4e12),
        "batching-half-blank": 42,
        "batching-uniform": 32 / 17,
        "batching-rows-at-work": 1 / (761 / 280),
        "batching-prompts": 7 / 4,
        "batching-budget": 0.02 * 989.4e12 / (2 * weights_8b),
        "batching-chunks": 26,
        "batching-swap": 2 * 3000 * 131072 / 50e9,
        "batching-ten-thousand-caches": 157,
        "batching-six-rows": 23,
        "batching-review-room": (0.9 * 80 * 2**30 - 2 * 8_030_261_248) // (131_072 * 2048),
        "batching-review-token": 2 * weights_8b / 3.35e12,
        "batching-review-blocks": 15.5 / 255.5,
    }
    assert set(by_hand) == {q.id for q in QUESTIONS if isinstance(q, (Prediction, Numeric))}
    for id, value in by_hand.items():
        assert question(id).answer() == pytest.approx(value, rel=0.012 if id == "batching-stall" else 4e-3), id
    assert question("batching-nothing").answer() == "labels"
    assert question("batching-loop").answer() == "skips"
    assert MEMO.answer() == pytest.approx((1 + (1 + 2.66) / 2) / 2, rel=2e-3)


def test_the_twelve_are_those_of_the_timeline():
    requests = SCENES["static"][1].requests
    assert steps_taken([answer for _, answer, _ in requests], 6, policy="continuous")[0] == 23


def test_the_batcher_to_write_takes_the_steps_of_the_scheduler():
    for seed in range(20):
        case = CODE[0].draw(random.Random(seed))
        steps, _ = steps_taken(case["lengths"], case["batch"], policy="continuous")
        assert CODE[0].answer(**case) == steps


def test_the_mutants_differ_from_the_answer_and_from_each_other():
    cases = CODE[0].cases()
    found = {tuple(mutant.function(**case) for case in cases) for mutant in CODE[0].mutants}
    assert len(found) == len(CODE[0].mutants)
    assert tuple(CODE[0].answer(**case) for case in cases) not in found
