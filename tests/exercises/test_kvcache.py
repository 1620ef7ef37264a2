"""The questions of chapter 9: the answers worked by hand. What holds for every question is in test_questions.py."""

import random

import pytest

from hwlab.exercises import question
from hwlab.exercises.base import Memo, Numeric, Prediction
from hwlab.exercises.kvcache import CODE, EXERCISES, GUESSES, MEMO, QUESTIONS, REVIEW, cache_size
from hwlab.specs.models import ModelSpec

USABLE = 0.9 * 80 * 2**30  # of an H100
WEIGHTS = 2 * 70_553_706_496 / 8  # of Llama 3.1 70B on each of eight
REQUEST = 2 * 80 * 8 * 128 * 2 * 4096  # 4,096 tokens of it


def test_there_is_enough_to_do():
    assert len(GUESSES) == 4 and len(EXERCISES) + 2 >= 10 and isinstance(MEMO, Memo)
    assert len(REVIEW) == 3 and len(CODE) == 1 and len(CODE[0].mutants) >= 5


def test_the_answers_are_those_worked_by_hand():
    by_hand = {
        "kvcache-token": 2 * 80 * 8 * 128 * 2,
        "kvcache-eight": 8 * (USABLE - WEIGHTS) // REQUEST,
        "kvcache-latent": 128 * (192 + 128) / (512 + 64),
        "kvcache-state": 77_266_944 / (12 * 2 * 2 * 256 * 2),
        "kvcache-gemma": 2 * 28 * 16 * 256 * 2 * 8192,
        "kvcache-windows": 2 * 16 * 128 * 2 * (10 * 32_768 + 52 * 1024),
        "kvcache-budget": 12 * 2**30 // (2 * 8 * 64 * 2 * 12 * (8192 + 128)),
        "kvcache-copies": 2 * 94 * 1 * 128 * 2 * 4096,
        "kvcache-fp8": 8 * (USABLE - WEIGHTS) // (REQUEST / 2),
        "kvcache-step": (USABLE - WEIGHTS) / 3.35e12,
        "kvcache-review-weights": 2 * (70_553_706_496 - 128_256 * 8192) / 8 / 3.35e12,
        "kvcache-review-prompt": 2 * 8_030_261_248 * 2048 / 989.4e12,
        "kvcache-review-bits": 4.25,
    }
    assert set(by_hand) == {q.id for q in QUESTIONS if isinstance(q, (Prediction, Numeric))}
    for id, value in by_hand.items():
        assert question(id).answer() == pytest.approx(value, rel=5e-4), id
    assert question("kvcache-sixteenfold").answer() == "both" and question("kvcache-alike").answer() == "window"
    assert MEMO.answer() == 8 * (USABLE - WEIGHTS) // (32 * REQUEST) == 11


def test_the_size_to_write_is_that_of_the_package():
    for seed in range(20):
        case = CODE[0].draw(random.Random(seed))
        of = case["model"]
        config = {
            "model_type": "gemma3_text",
            "hidden_size": 64,
            "intermediate_size": 64,
            "vocab_size": 10,
            "num_hidden_layers": of["layers"],
            "num_attention_heads": of["heads"],
            "num_key_value_heads": of["kv_heads"],
            "head_dim": of["head_dim"],
            "sliding_window": of["window"],
            "sliding_window_pattern": of["full_every"],
        }
        spec = ModelSpec.from_config(config)
        assert cache_size(**case) * 2 == spec.kv_bytes(case["tokens"], "bf16") * of["itemsize"]


def test_the_mutants_differ_from_the_answer_and_from_each_other():
    cases = CODE[0].cases()
    found = {tuple(function(**case) for case in cases) for function in (m.function for m in CODE[0].mutants)}
    assert len(found) == len(CODE[0].mutants)
    assert tuple(CODE[0].answer(**case) for case in cases) not in found
