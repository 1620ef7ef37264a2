"""The questions of chapter 2: the answers worked by hand. What holds for every question is in test_questions.py."""

import random

import pytest

from hwlab.exercises import question
from hwlab.exercises.base import Choice, Memo, Numeric, Prediction
from hwlab.exercises.matmul import CODE, EXERCISES, GUESSES, MEMO, QUESTIONS, REVIEW
from hwlab.specs.chips import chip

CHOICES = [q for q in QUESTIONS if isinstance(q, Choice)]


def test_there_is_enough_to_do():
    assert len(GUESSES) >= 3 and all(isinstance(q, Prediction) for q in GUESSES)
    assert len(EXERCISES) >= 8 and CHOICES and isinstance(MEMO, Memo)
    assert len(REVIEW) == 3 and len(CODE) == 2


def test_the_answers_are_those_worked_by_hand():
    by_hand = {
        "matmul-one-token": (134217728 / 989.4e12) / (134250496 / 3.35e12),  # 136 ns over 40.1 µs
        "matmul-ridge-tokens": 319,  # 295.34 / (1 - 2 * 295.34 / 8192) = 318.3, and up
        "matmul-products": 80 * 7 + 80 * 2 + 1,
        "matmul-sgemm": 67 / 7.168,
        "matmul-gate-flop": 2 * 3 * 4096 * 14336,
        "matmul-layer-bytes": 4096 * 14336 + 4096 + 14336,
        "matmul-intensity": 2 * 128 * 4096**2 / (4096**2 + 2 * 128 * 4096),
        "matmul-a100-flip": 153.02 / (1 - 2 * 153.02 / 8192),
        "matmul-key-bytes": 16384 * 8 * 128 * 2,
        "matmul-prompt-flop": 2 * 405.85e9 * 2048,
        "matmul-fp8-ridge": 1978.9 / 3.35,
        "matmul-decode-step": (70.55e9 - 128256 * 8192) * 2 / (8 * 3.35e12),  # without the table of embeddings
        "matmul-b200-time": 2 * 8192**3 / 2.25e15,
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
