"""The questions of chapter 4: the answers worked by hand. What holds for every question is in test_questions.py."""

import math
import random

import pytest

from hwlab.exercises import question
from hwlab.exercises.base import Numeric, Prediction
from hwlab.exercises.gpus import CODE, EXERCISES, GUESSES, QUESTIONS, REVIEW


def test_there_is_enough_to_do():
    assert len(GUESSES) == 4 and len(EXERCISES) >= 8 and len(REVIEW) == 3
    assert len(CODE) == 1 and len(CODE[0].mutants) >= 5


def test_the_answers_are_those_worked_by_hand():
    by_hand = {
        "gpus-one-user": 3350 / 307.2,
        "gpus-scores": 32 * 131072**2 * 2,
        # 9 µs and 14 hops of 1.2 µs, then 14/8 of 1 MiB at 0.65 of 450 GB/s
        "gpus-all-reduce": 9e-6 + 14 * 1.2e-6 + 14 / 8 * 2**20 / (0.65 * 450e9),
        "gpus-epyc-peak": 128 * 64 * 2.7e9,
        "gpus-entry": 121 / 114.688,
        "gpus-utilisation": 400 / 989.4,
        "gpus-bisection": 36 * 900e9,
        "gpus-ring": 7 / 4 * 2048 * 4096 * 2,
        "gpus-fusion": 2 * 4096 * 14336 * 4,
        "gpus-scores-small": 2**30,
        "gpus-groups": 8.0303e9 * 4.125 / 8,
        "gpus-starts": 1 / (320 * 3.5e-6 + 2 * (8.0303e9 - 128256 * 4096) / 3.35e12),  # without the table of embeddings
        "gpus-review-ridge": 2250 / 7.7,
        "gpus-review-tile": 4,
        "gpus-review-line": 1 / 16,
    }
    for id, value in by_hand.items():
        assert question(id).answer() == pytest.approx(value, rel=2e-4), id
    asked = {q.id for q in QUESTIONS if isinstance(q, (Prediction, Numeric))}
    assert asked - set(by_hand) == {"gpus-kernel-start"}
    assert 7e6 < question("gpus-kernel-start").answer() < 17e6  # 2 to 5 µs at 3.35 TB/s
    assert question("gpus-decode").answer() == "little"


def test_merged_blocks_are_attention_over_all_keys():
    generator = random.Random(4)
    scores, values = ([generator.uniform(-3, 3) for _ in range(9)] for _ in range(2))

    def block(part):
        most = max(scores[part])
        weights = [math.exp(z - most) for z in scores[part]]
        return most, sum(weights), sum(w * v for w, v in zip(weights, values[part], strict=True))

    weights = [math.exp(z) for z in scores]
    whole = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
    merge = question("gpus-merge").answer
    for cut in range(1, 9):
        assert merge(*block(slice(cut)), *block(slice(cut, None))) == pytest.approx(whole, rel=1e-12)


def test_the_first_block_holds_the_maximum_in_some_cases_and_the_second_in_others():
    first = [case["most1"] > case["most2"] for case in question("gpus-merge").cases()]
    assert 5 < sum(first) < 35
