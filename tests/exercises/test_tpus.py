"""The questions of chapter 5: the answers worked by hand. What holds for every question is in test_questions.py."""

import math
import random

import pytest

from hwlab.costs.padding import bucket, powers_of_two
from hwlab.costs.systolic import cycles, steps
from hwlab.exercises import question
from hwlab.exercises.base import Numeric, Prediction
from hwlab.exercises.tpus import CODE, EXERCISES, GUESSES, QUESTIONS, REVIEW


def test_there_is_enough_to_do():
    assert len(GUESSES) == 4 and len(EXERCISES) >= 8 and len(REVIEW) == 3 and len(CODE) == 2


def test_the_answers_are_those_worked_by_hand():
    by_hand = {
        "tpus-one-row": 1 / 511,  # 1 + 256 + 256 - 2 cycles
        "tpus-rows-to-feed": 1350,  # 65,536 / (34e9 / 700e6) = 1,349.3, and up
        "tpus-joules": (275 / 170) / (989.4 / 700),
        "tpus-peak": 2 * 65536 * 700e6,
        "tpus-last-result": 10,  # 5 + 4 + 3 - 2
        "tpus-half-filled": 128 / 382,
        "tpus-larger-array": (4 * 512**2) / (9 * 256**2),
        "tpus-mlp0": 2 * 200 * 34e9,
        "tpus-short-heads": 64 / 256,
        "tpus-programs": 7 * 7 * 30,
        "tpus-2100": 1996 / 4096,
        "tpus-v5p": 459 / 275,
        "tpus-joules-at-most": (275 / 192) / (989.4 / 700),
        "tpus-review-ridge": 197 / 0.819,
        "tpus-review-tiles": (128 * 2**20 / 6) ** 0.5,
        "tpus-review-peak": 7.168e12,
    }
    for id, value in by_hand.items():
        assert question(id).answer() == pytest.approx(value, rel=2e-4), id
    asked = {q.id for q in QUESTIONS if isinstance(q, (Prediction, Numeric))}
    assert asked - set(by_hand) == {"tpus-doubling"}
    # between two powers of two the mean length is 1 / ln 2 times the lower one
    assert question("tpus-doubling").answer() == pytest.approx(2 * math.log(2) - 1, rel=2e-3)
    assert question("tpus-what-compiles").answer() == "length"


def test_the_last_result_leaves_the_stepped_array_in_that_cycle():
    frames = list(steps([[1] * 4] * 5, [[1] * 3] * 4))
    assert frames[-1]["cycle"] == question("tpus-last-result").answer() and frames[-1]["done"]


def test_the_functions_to_write_are_those_of_the_package():
    for seed in range(30):
        case = question("tpus-cycles").draw(random.Random(seed))
        sizes = {name: case[name] for name in ("m", "k", "n", "rows", "columns")}
        assert question("tpus-cycles").answer(**case) == cycles(**sizes).total
        assert case["k"] % case["rows"] and case["n"] % case["columns"]
        length, least = question("tpus-bucket").draw(random.Random(seed)).values()
        assert question("tpus-bucket").answer(length, least) == bucket(length, powers_of_two(least, length))
