"""Every question of every chapter: answers by code, and mistakes that can be told apart and are answered by name."""

import inspect
import re
from collections import defaultdict
from pathlib import Path

import pytest

from hwlab.exercises import check, question, questions
from hwlab.exercises.base import Choice, Numeric, Prediction
from hwlab.specs.quantities import SYMBOLS

QUESTIONS = questions()
GUESSES = [q for q in QUESTIONS if isinstance(q, Prediction)]
NUMERIC = [q for q in QUESTIONS if isinstance(q, Numeric)]
CHOICES = [q for q in QUESTIONS if isinstance(q, Choice)]


def ids(records):
    return [record.id for record in records]


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


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("paging-thirteen", "30"),  # whole sequences
        ("paging-thirteen", "30.36"),  # as the formula in the question gives them
        ("prefill-eight-users", "57"),
        ("prefill-eight-users", "58"),  # an expert is read as a whole
        ("prefill-step-of-users", "9.61 ms"),  # (15 GB + 16 x 8192 x 131 kB) / 3.35 TB/s, with the figures as printed
        ("speculation-experts", "3.02"),  # (2.46 + 3.62 x 35.3 / 8) / (2.46 + 3.62), likewise
        ("paging-table-bytes", "32 KiB"),
        ("prefill-even-users", "104 users"),
        ("speculation-best-guesses", "4 guesses"),
        ("paging-review-lru", "10 misses"),
        ("gpus-starts", "179 tokens/s"),
    ],
)
def test_what_the_words_of_a_question_give_is_right_in_any_fair_rounding(id, text):
    assert check(id, text), text


LLAMA_8B, LLAMA_70B = 8_030_261_248, 70_553_706_496  # parameters, the table of embeddings too


@pytest.mark.parametrize(
    ("id", "slip", "word"),
    [
        ("batching-budget", 0.020 * 989.4e12 / (2 * LLAMA_8B), "embeddings"),
        ("batching-review-token", 2 * LLAMA_8B / 3.35e12, "embeddings"),
        ("speculation-review-step", 2 * LLAMA_8B / 1.638e12, "embeddings"),
        ("memory-token-joules", 2 * LLAMA_8B * 31.25e-12, "embeddings"),
        ("gpus-starts", 1 / (320 * 3.5e-6 + 2 * LLAMA_8B / 3.35e12), "embeddings"),
        ("batching-review-room", (72e9 - 2 * LLAMA_8B) / (2048 * 131_072), "GiB"),
        ("kvcache-fp8", (8 * 72e9 - 2 * LLAMA_70B) / (4096 * 327_680 / 2), "GiB"),
        ("kvcache-step", (8 * 72e9 - 2 * LLAMA_70B) / (8 * 3.35e12), "GiB"),
        ("paging-thirteen", (36e9 - 2 * 13_015_864_320) / (819_200 * 507.5), "GiB"),
        ("paging-table-bytes", 32e3, "KiB"),
        ("prefill-review-through", 141e9 / 4.8e12, "GiB"),
        ("batching-review-blocks", 16 / 256, "half a slot less"),
        ("speculation-experts", (1 - (120 / 128) ** 5) * 128 / 8, "experts alone"),
        ("prefill-attention-intensity", 8, "scores"),
        ("prefill-experts-prompt", 1024 * 3, "sooner"),  # as the scene prints the factor
        ("speculation-large-draft", (1 - 0.82**8) / 0.18 / 1.7 - 1, "all seven"),
    ],
)
def test_a_slip_that_the_question_invites_is_answered_by_name(id, slip, word):
    q = question(id)
    reply = check(id, f"{slip / SYMBOLS[q.unit][0]:.5g} {q.unit}")
    assert not reply and word in reply.says, reply


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


def test_no_fact_is_computed_for_nothing():
    pages = "".join(page.read_text() for page in (Path(__file__).parents[2] / "book").glob("[0-9]*.md"))
    asked = dict(re.findall(r"^:::\{[a-z]+\} ([a-z]+(?:-[a-z0-9]+)+)\n(.*?)^:::", pages, re.DOTALL | re.MULTILINE))
    used, facts = defaultdict(set), defaultdict(set)
    for q in QUESTIONS:
        facts[q.facts] |= q.facts().keys()
        texts = [asked[q.id], *getattr(q, "rubric", ())]
        for record in (q, *getattr(q, "mistakes", ()), *getattr(q, "options", ()), *getattr(q, "mutants", ())):
            texts += [getattr(record, field, "") for field in ("hint", "solution", "reveal", "reply", "text")]
        used[q.facts] |= set(re.findall(r"\{\{(\w+)\}\}", " ".join(texts)))
    assert {of.__qualname__: left for of in facts if (left := facts[of] - used[of])} == {}
