"""The questions of chapter 8: the answers worked by hand. What holds for every question is in test_questions.py."""

import random

import pytest

from hwlab.costs.roofline import Rates, Work, price
from hwlab.exercises import question
from hwlab.exercises.base import Memo, Numeric, Prediction
from hwlab.exercises.prefill import CODE, EXERCISES, GUESSES, MEMO, QUESTIONS, REVIEW

LLAMA_8B, EMBEDDING = 8_030_261_248, 128_256 * 4096  # parameters; those of one table of embeddings


def test_there_is_enough_to_do():
    assert len(GUESSES) == 3 and len(EXERCISES) >= 8 and isinstance(MEMO, Memo)
    assert len(REVIEW) == 3 and len(CODE) == 1 and len(CODE[0].mutants) >= 5


def test_the_answers_are_those_worked_by_hand():
    body, head = 2 * (LLAMA_8B - 2 * EMBEDDING), 2 * EMBEDDING  # FLOP a token
    weights, kv = 2 * (LLAMA_8B - EMBEDDING), 2 * 32 * 8 * 128 * 2
    attention = 4 * 32 * 4096  # FLOP a token and token of context, all layers
    reading = 1024 * body + head + attention * 1024 * 1025 / 2
    steps = [weights + 8192 + (1024 + n) * kv for n in range(1, 128)]
    work = reading + sum(body + head + attention * (1024 + n) for n in range(1, 128))
    by_hand = {
        "prefill-arithmetic-at-work": work / (reading + sum(steps) / 3.35e12 * 989.4e12),
        "prefill-cache-as-large": (weights + 8192) / kv,
        "prefill-experts-read": 384 * (1 - (378 / 384) ** 64),
        "prefill-first-token": 2 * LLAMA_8B * 4096 / 312e12,
        "prefill-four-bits": 0.25 * 312 / 2.039,
        "prefill-step-of-users": (weights + 16 * (8192 + 8192 * kv)) / 3.35e12,
        "prefill-even-users": 2 * (70_553_706_496 - 128_256 * 8192) / (4096 * 2 * 80 * 8 * 128 * 2),
        "prefill-attention-intensity": 128 / 8,
        "prefill-eight-users": 256 * (1 - (248 / 256) ** 8),
        "prefill-ride-along": (weights + 16 * (8192 + 2048 * kv)) / 2.039e12 * 312e12 / (2 * LLAMA_8B) - 16,
        "prefill-experts-prompt": 2752,
        "prefill-review-ridge": 1307.4 / 5.3,
        "prefill-review-through": 141 * 2**30 / 4.8e12,
        "prefill-review-padding": 324 / 1024,
    }
    assert set(by_hand) == {q.id for q in QUESTIONS if isinstance(q, (Prediction, Numeric))}
    for id, value in by_hand.items():
        assert question(id).answer() == pytest.approx(value, rel=5e-4), id
    assert question("prefill-faster-memory").answer() == "each"
    # eight prompts: attention adds a third to the weights' work at 12,000 tokens
    assert MEMO.answer() == pytest.approx(8 * (12_000 * body + attention * 12_000**2 / 2) / 989.4e12, rel=1e-3)


def test_the_request_to_write_is_the_roofline_of_the_package():
    for seed in range(20):
        case = CODE[0].draw(random.Random(seed))
        rates = Rates(flop_per_s=1, memory_bytes_per_s=1)  # so that FLOP and bytes are seconds
        tokens, work = case["prompt"], case["work"]
        passes = [Work(tokens * work, case["weights"] + tokens * case["cache"])]
        for written in range(1, case["answer"]):
            passes.append(Work(work, case["weights"] + (tokens + written) * case["cache"]))
        assert CODE[0].answer(**case) == pytest.approx(sum(price(each, rates).seconds for each in passes))


def test_the_mutants_differ_from_the_answer_and_from_each_other():
    cases = CODE[0].cases()
    found = {tuple(function(**case) for case in cases) for function in (m.function for m in CODE[0].mutants)}
    assert len(found) == len(CODE[0].mutants)
    assert tuple(CODE[0].answer(**case) for case in cases) not in found
