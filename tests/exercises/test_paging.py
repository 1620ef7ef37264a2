"""The questions of chapter 10: the answers worked by hand. What holds for every question is in test_questions.py."""

import random

import pytest

from hwlab.exercises import question
from hwlab.exercises.base import Memo, Numeric, Prediction
from hwlab.exercises.paging import CODE, EXERCISES, GUESSES, MEMO, QUESTIONS, REVIEW
from hwlab.serving.pager import Pager


def test_there_is_enough_to_do():
    assert len(GUESSES) == 4 and len(EXERCISES) >= 8 and isinstance(MEMO, Memo)
    assert len(REVIEW) == 3 and len(CODE) == 1 and len(CODE[0].mutants) >= 5


def test_the_answers_are_those_worked_by_hand():
    a100 = 0.9 * 40 * 2**30 - 2 * 13_015_864_320  # beside the weights of Llama 2 13B
    by_hand = {
        "paging-longest": (0.9 * 80 * 2**30 - 2 * 8_030_261_248) // (131_072 * 131_072),
        "paging-half-block": sum(range(16)) / 16,
        "paging-eight-answers": 62 + 8 * 13,  # 62 full blocks of the prompt; 8 + 200 tokens in 13 blocks each
        "paging-found-again": 0.211,
        "paging-table-bytes": 8192 * 4,
        "paging-short": 31.5 / 109.5,
        "paging-thirteen": a100 // (2 * 40 * 40 * 128 * 2) // 507.5,
        "paging-system-prompt": 93 + 200 * 20,
        "paging-granularity": 1100 - 3 * 256,
        # b finds block 0; c finds it too; b, asking again, block 0 and its own two; a, asking again, block 0 alone
        "paging-evict": 4 + 4 + 12 + 4,
        "paging-tenants": 3 * 128 + 60 * 2,
        "paging-padded-table": 1 - 313 / 512,
        "paging-review-lru": 10,
        "paging-review-padding": 116 / 256,
        "paging-review-energy": 131_072 * 250e-12 / 8,
    }
    assert set(by_hand) == {q.id for q in QUESTIONS if isinstance(q, (Prediction, Numeric))}
    for id, value in by_hand.items():
        assert question(id).answer() == pytest.approx(value, rel=5e-4), id
    assert question("paging-three-writers").answer() == "two" and question("paging-compare").answer() == "collide"
    assert MEMO.answer() == pytest.approx((32 + 627.5) / 507.5)


def test_the_blocks_to_count_are_those_of_the_pager():
    for seed in range(60):
        case = CODE[0].draw(random.Random(seed))
        pager = Pager(100, case["block_tokens"])
        for name, prompt in enumerate(case["prompts"]):
            pager.open(name, prompt)
            pager.commit()
        assert CODE[0].answer(**case) == pager.num_blocks - pager.num_free


def test_the_mutants_differ_from_the_answer_and_from_each_other():
    cases = CODE[0].cases()
    found = {tuple(function(**case) for case in cases) for function in (m.function for m in CODE[0].mutants)}
    assert len(found) == len(CODE[0].mutants)
    assert tuple(CODE[0].answer(**case) for case in cases) not in found
