"""The questions of chapter 3: the answers worked by hand. What holds for every question is in test_questions.py."""

import random

import pytest

from hwlab.costs.caches import Cache
from hwlab.exercises import question
from hwlab.exercises.base import Memo, Numeric, Prediction
from hwlab.exercises.memory import CODE, EXERCISES, GUESSES, MEMO, QUESTIONS, REVIEW


def test_there_is_enough_to_do():
    assert len(GUESSES) == 4 and len(EXERCISES) >= 8 and isinstance(MEMO, Memo)
    assert len(REVIEW) == 3 and len(CODE) == 1 and len(CODE[0].mutants) >= 5


def test_the_answers_are_those_worked_by_hand():
    by_hand = {
        "memory-hbm-latency": 658.4 / 1755e6,
        "memory-cache-lines": (64 * 80 + 16) / (16 * 4 + 4 * 256 + 16),
        "memory-column-lines": 8,
        "memory-energy-weight": 2 * 450 / 8 / (0.21 + 0.38),
        "memory-cache-rows": 4 * 128 + 32 + 16,
        "memory-same-set": 4096,
        "memory-in-flight": 2e12 * 375.2e-9 / 114,
        "memory-ddr5-channels": 12 * 51.2e9,
        "memory-hbm4-stack": 2048 * 1e9,
        "memory-tile-side": 2 * 756.5 / 2,
        "memory-token-joules": (8.03e9 - 128256 * 4096) * 2 * 250e-12 / 8,  # without the table of embeddings
        "memory-int8-even": 31.25 / 0.05,
        "memory-once-through": 192 * 2**30 / 5.3e12,
        "memory-review-intensity": 2 * 16 * 8192 / (2 * (2 * 16 + 8192)),
        "memory-review-ridge": 312 / 2.039,
        "memory-review-flop": 16 * 70.55e9,
    }
    assert set(by_hand) == {q.id for q in QUESTIONS if isinstance(q, (Prediction, Numeric))}
    for id, value in by_hand.items():
        assert question(id).answer() == pytest.approx(value, rel=5e-4), id
    assert question("memory-three-cs").answer() == "capacity"
    # 1 a column, 1/8 a row; the first passes bring the row of A and the lines of C as well
    assert MEMO.answer() == pytest.approx(8, rel=0.06)


def test_the_cache_to_write_is_that_of_the_package():
    for seed in range(40):
        case = CODE[0].draw(random.Random(seed))
        cache = Cache(case["num_sets"] * case["ways"], case["ways"], line_bytes=1)
        for line in case["lines"]:
            cache.touch(line)
        assert CODE[0].answer(**case) == cache.counts.misses


def test_the_mutants_differ_from_the_answer_and_from_each_other():
    cases = CODE[0].cases()
    found = {tuple(function(**case) for case in cases) for function in (m.function for m in CODE[0].mutants)}
    assert len(found) == len(CODE[0].mutants)
    assert tuple(CODE[0].answer(**case) for case in cases) not in found
