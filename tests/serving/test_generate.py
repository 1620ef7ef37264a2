"""What a user of the engine sees: answers, streams, stops, draws, errors, the log."""

import gc
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from threading import Thread

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from hwlab.kernels.checkpoints import characters
from hwlab.kernels.xla import compiled
from hwlab.serving import NeverFits, Request, Scheduler, serve
from hwlab.serving import engine as module
from hwlab.serving.engine import Engine, _Decode, _draws, _judge, _probabilities, _uniform
from hwlab.serving.pager import Pager
from hwlab.serving.speculative import acceptance, judge
from tests.serving.tiny import LONGEST, VOCAB, Oracle, Sampling, checkpoint

TEXTS = ["abc", "bad face", "hide"]


@cache
def model(stop_ids=()):
    return checkpoint(dtype="float32", stop_ids=stop_ids, tokenizer=characters("abcdefghi. "))


@cache
def engine():
    """One engine for all tests that leave it as it was, so that little is compiled."""
    return Engine(model(), block_tokens=4, max_batch=4)


@pytest.fixture(autouse=True)
def as_it_was():
    yield
    gc.collect()
    pager, scheduler = engine().pager, engine().scheduler
    assert (pager.num_free, scheduler.running, scheduler.waiting) == (pager.num_blocks, (), ())
    assert not engine()._answers and not engine().samplings


def test_a_text_is_answered_as_its_token_ids_are():
    texts = engine().generate(TEXTS, max_new_tokens=6)
    ids = engine().generate([model().tokenizer.encode(text) for text in TEXTS], max_new_tokens=6)
    assert [answer.ids for answer in texts] == [answer.ids for answer in ids]
    oracle = Oracle(model())
    for text, answer in zip(TEXTS, texts, strict=True):
        assert list(answer.ids) == oracle.answer(model().tokenizer.encode(text), 6)[0]
        assert answer.text == model().tokenizer.decode(answer.ids)
        assert (answer.finish_reason, answer.ttft_s > 0, answer.tpot_s > 0) == ("length", True, True)
    assert engine().generate(["abc"], max_new_tokens=1)[0].tpot_s is None
    assert engine().generate([]) == []


def test_a_stop_ends_an_answer_and_is_no_part_of_its_text():
    (whole,) = engine().generate(["abc"], max_new_tokens=12)
    at = whole.text.index(whole.text[5])
    for stop in (whole.text[5], [whole.text[5], "zzz"], [whole.ids[5]]):
        (answer,) = engine().generate(["abc"], max_new_tokens=12, stop=stop)
        assert (answer.text, answer.finish_reason) == (whole.text[:at], "stop")
        assert answer.ids == whole.ids[: at + 1]
    (answer,) = engine().generate(["abc"], max_new_tokens=12, stop=whole.text[4:7])
    assert (answer.text, answer.ids) == (whole.text[: whole.text.index(whole.text[4:7])], whole.ids[: len(answer.ids)])


def test_a_token_of_the_models_own_ends_an_answer_too():
    (whole,) = engine().generate(["abc"], max_new_tokens=12)
    stop = whole.ids[3]
    ends = Engine(model((stop,)), block_tokens=4, max_batch=4)
    (answer,) = ends.generate(["abc"], max_new_tokens=12)
    assert answer.ids == whole.ids[: whole.ids.index(stop) + 1]
    assert (answer.text, answer.finish_reason) == (model().tokenizer.decode(answer.ids[:-1]), "stop")
    requests = [Request(id=0, prompt=model().tokenizer.encode("abc"), max_new_tokens=12)]
    assert serve(requests, ends.scheduler, ends)[0].answer == answer.ids


def test_guesses_do_not_run_over_a_stop():
    (whole,) = engine().generate(["abc"], max_new_tokens=12)
    guessing = Engine(model(), draft=model(), guesses=4, block_tokens=4, max_batch=4)  # all guesses are right
    (answer,) = guessing.generate(["abc"], max_new_tokens=12, stop=[whole.ids[3]])
    assert answer.ids == whole.ids[: whole.ids.index(whole.ids[3]) + 1]
    assert guessing.generate(["abc"], max_new_tokens=12)[0].ids == whole.ids
    assert [record.tokens for record in guessing.log[-4:]] == [1, 5, 5, 1]
    assert guessing.pager.num_free == guessing.pager.num_blocks


def test_a_stream_says_what_generate_says_and_never_a_part_of_a_stop():
    (whole,) = engine().generate(["abc"], max_new_tokens=12)
    pieces = list(engine().stream("abc", max_new_tokens=12))
    assert "".join(pieces) == whole.text and len(pieces) == 12
    stop = whole.text[4:7]
    pieces = list(engine().stream("abc", max_new_tokens=12, stop=stop))
    assert "".join(pieces) == whole.text[: whole.text.index(stop)]


def test_a_stream_never_shows_half_a_character(monkeypatch):
    ids = engine().generate([[1, 2, 3]], max_new_tokens=12)[0].ids
    first, second = next(pair for pair in pairwise(ids) if pair[0] != pair[1])
    letters = {i: bytes([97 + i]) for i in range(VOCAB)} | {first: b"\xc3", second: b"\xa9"}  # together: é

    class Bytes:
        def decode(self, ids):
            return b"".join(letters[i] for i in ids).decode("utf-8", errors="replace")

    monkeypatch.setattr(engine(), "model", replace(model(), tokenizer=Bytes()))
    pieces = list(engine().stream([1, 2, 3], max_new_tokens=12))
    assert "é" in pieces and "".join(pieces) == Bytes().decode(ids)


def test_streams_and_calls_between_share_their_steps_and_disturb_nobody():
    alone = [answer.text for answer in engine().generate(TEXTS, max_new_tokens=8)]
    first, second = engine().stream(TEXTS[0], max_new_tokens=8), engine().stream(TEXTS[1], max_new_tokens=8)
    said = [next(first), next(second)]
    (third,) = engine().generate([TEXTS[2]], max_new_tokens=8)
    assert [said[0] + "".join(first), said[1] + "".join(second), third.text] == alone


def test_a_stream_that_is_closed_or_dropped_is_cancelled():
    stream = engine().stream("abc", max_new_tokens=20)
    next(stream)
    assert len(engine().scheduler.running) == 1
    stream.close()
    assert engine().scheduler.running == ()
    next(engine().stream("abc", max_new_tokens=20))  # dropped; the fixture looks
    engine().stream("abc", max_new_tokens=20)  # never begun


def test_progress_is_told_and_may_cancel():
    told = []
    engine().generate(TEXTS, max_new_tokens=3, progress=lambda done, of: told.append((done, of)))
    assert told == [(3, 9), (6, 9), (9, 9)]

    def enough(done, of):
        if done > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine().generate(TEXTS, max_new_tokens=3, progress=enough)


def test_after_a_break_in_the_middle_of_a_step_the_engine_begins_anew(monkeypatch):
    breaks = Engine(model(), block_tokens=4, max_batch=4)
    (expected,) = breaks.generate(["abc"], max_new_tokens=5)
    stream = breaks.stream("bad", max_new_tokens=9)
    next(stream)

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "_note", stopped)
        with pytest.raises(KeyboardInterrupt):
            breaks.generate(["abc"], max_new_tokens=5)
    assert breaks.pager.num_free == breaks.pager.num_blocks and not breaks.scheduler.running
    assert breaks.generate(["abc"], max_new_tokens=5)[0].ids == expected.ids
    with pytest.raises(RuntimeError, match="what it was answering is lost"):
        list(stream)


def ask(engine, prompts, max_new_tokens=4, **options):
    return engine.generate(prompts, max_new_tokens, **options)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda e: ask(e, "abc"), TypeError, r"prompts is a text; give a list: \['abc'\]"),
        (lambda e: ask(e, ["abc", ""]), ValueError, "a prompt is empty"),
        (lambda e: ask(e, ["abc", "xyz"]), ValueError, "the text has 'x', 'y', 'z'"),
        (lambda e: ask(e, [[1, 2.5]]), TypeError, r"a prompt is \[1, 2.5\]; give a text, or whole numbers"),
        (lambda e: ask(e, [7]), TypeError, "a prompt is 7"),
        (lambda e: ask(e, [iter([1, 2.5])]), TypeError, "a prompt is <list_iterator"),
        (lambda e: ask(e, [[True]]), TypeError, r"a prompt is \[True\]"),
        (lambda e: ask(e, [b"abc"]), TypeError, "a prompt is b'abc'"),
        (lambda e: ask(e, None), TypeError, "prompts is None; give a list of texts, or of token ids"),
        (lambda e: ask(e, [[1, 11]]), ValueError, "token id 11; tiny has ids from 0 to 10"),
        (lambda e: ask(e, [[1, -1]]), ValueError, "token id -1"),
        (
            lambda e: ask(e, ["abc", "a" * 30], 3),
            ValueError,
            f"has 30 tokens .* made for {LONGEST} in all",
        ),
        (lambda e: ask(e, ["abc"], 0), ValueError, "max_new_tokens is 0"),
        (lambda e: ask(e, ["abc"], 2.0), TypeError, "max_new_tokens is 2.0"),
        (lambda e: ask(e, ["abc"], temperature=-0.1), ValueError, "temperature is -0.1; give a number from 0 on"),
        (lambda e: ask(e, ["abc"], temperature=float("nan")), ValueError, "temperature is nan"),
        (lambda e: ask(e, ["abc"], temperature=None), ValueError, "temperature is None"),
        (lambda e: ask(e, ["abc"], top_k=0), ValueError, "top_k is 0"),
        (lambda e: ask(e, ["abc"], top_p="most"), ValueError, "top_p is 'most'"),
        (lambda e: ask(e, ["abc"], top_p=0), ValueError, "top_p is 0; give a probability above 0, up to 1"),
        (lambda e: ask(e, ["abc"], top_p=1.5), ValueError, "top_p is 1.5"),
        (lambda e: ask(e, ["abc"], seed=0.5), TypeError, "seed is 0.5"),
        (lambda e: ask(e, ["abc"], seed=None), TypeError, "seed is None"),
        (lambda e: ask(e, ["abc"], stop=None), TypeError, "stop is None; give texts and token ids"),
        (lambda e: ask(e, ["abc"], stop=True), TypeError, "stop is True"),
        (lambda e: ask(e, ["abc"], stop=[""]), TypeError, r"stop is \[''\]; give texts and token ids"),
        (lambda e: ask(e, ["abc"], stop=[1.5]), TypeError, "stop is"),
        (lambda e: e.stream("", 4), ValueError, "a prompt is empty"),
        (lambda e: Engine(model(), dtype="int8"), ValueError, "dtype is 'int8'; it must be one of float32"),
        (lambda e: Engine(model(), dtype="float64"), ValueError, "first allow it: jax.config.update"),
        (lambda e: Engine(model(), draft="lookup"), ValueError, "draft is 'lookup'; give a Checkpoint, or 'look-up'"),
        (lambda e: Engine(model(), draft=3), ValueError, "draft is 3; give a Checkpoint"),
        (
            lambda e: Engine("tiny-shakespeare"),
            TypeError,
            "model is 'tiny-shakespeare'; give a Checkpoint, or Engine.load",
        ),
        (lambda e: Engine(model(), seed=None), TypeError, "seed is None"),
        (lambda e: Engine(model(), draft="look-up", guesses=0), ValueError, "guesses is 0"),
        (lambda e: Engine(model(), policy="best"), ValueError, "policy is 'best'"),
        (lambda e: Engine(model(), num_blocks=0), ValueError, "num_blocks is 0"),
        (lambda e: Engine(model(), max_batch=8, max_tokens=4), ValueError, "max_tokens is 4"),
        (lambda e: Engine(model(), devices=99), ValueError, "devices is 99; JAX has 1 here"),
        (lambda e: Engine.load("tiny"), ValueError, "'tiny' is no model"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_begun(call, error, says):
    steps = len(engine().log)
    with pytest.raises(error, match=says):
        call(engine())
    assert len(engine().log) == steps


def test_an_answer_that_never_fits_the_pool_is_refused_before_any_begins():
    small = Engine(model(), block_tokens=4, num_blocks=3, max_batch=2)
    with pytest.raises(NeverFits, match="needs 5 blocks"):
        small.generate(["abc", "a" * 10], max_new_tokens=8)
    assert (small.scheduler.waiting, small._answers) == ((), {})


def test_a_draft_must_have_the_tokens_of_its_judge():
    other = replace(model(), name="odd", config=replace(model().config, vocab_size=12))
    with pytest.raises(ValueError, match="tiny has 11 tokens and odd 12"):
        Engine(model(), draft=other)


# --- drawing -------------------------------------------------------------------------------------------------


def test_an_answer_that_is_drawn_does_not_depend_on_its_company():
    def drawn(texts, seed):
        return [answer.ids for answer in engine().generate(texts, max_new_tokens=8, temperature=1.0, seed=seed)]

    together = drawn(TEXTS, 5)
    assert together == [drawn([text], 5 + i)[0] for i, text in enumerate(TEXTS)]
    assert together != drawn(TEXTS, 50)


def test_the_likeliest_alone_is_left_by_top_k_of_one_or_a_small_top_p():
    greedy = engine().generate(TEXTS[:1], max_new_tokens=8)[0].ids
    for filtered in ({"top_k": 1}, {"top_p": 1e-6}):
        assert engine().generate(TEXTS[:1], max_new_tokens=8, temperature=2.0, **filtered)[0].ids == greedy


def test_probabilities_are_those_of_the_tokens_that_are_left():
    logits = np.log([[0.4, 0.05, 0.3, 0.2, 0.05]] * 5).astype(np.float32)
    samplings = [
        Sampling(1.0),
        Sampling(1.0, top_k=2),
        Sampling(1.0, top_p=0.71),  # 0.4 + 0.3 is not enough
        Sampling(0.5, top_k=3, top_p=0.5),  # squares 0.16, 0.09, 0.04: the first has 0.55
        Sampling(0.0),
    ]
    expected = [
        [0.4, 0.05, 0.3, 0.2, 0.05],
        [4 / 7, 0, 3 / 7, 0, 0],
        [4 / 9, 0, 3 / 9, 2 / 9, 0],
        [1, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
    ]
    np.testing.assert_allclose(_probabilities(logits, _draws(samplings, 5), "filtered"), expected, atol=1e-6)


def test_top_p_is_reached_by_tokens_that_have_it_exactly():
    logits = np.log([[0.5, 0.25, 0.125, 0.125]]).astype(np.float32)
    for top_p, left in ((0.5, 1), (0.75, 2), (0.76, 4)):  # of the last two, which are equal, both stay
        found = _probabilities(logits, _draws([Sampling(1.0, top_p=top_p)], 1), "filtered")
        assert int((np.asarray(found) > 0).sum()) == left


def test_no_temperature_is_too_low_and_no_top_k_too_large():
    logits = np.array([[30.0, 80.0, 79.0]] * 3, np.float32)
    found = _probabilities(
        logits, _draws([Sampling(1e-37), Sampling(1e-320), Sampling(1.0, top_k=2**40)], 3), "filtered"
    )
    sure = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(found, [[0, 1, 0], [0, 1, 0], [0, sure, 1 - sure]], atol=1e-6)


def test_a_name_that_is_taken_begins_nothing():
    fresh = Engine(model(), block_tokens=4, max_batch=4)
    fresh.scheduler.add(Request(id="answer 2", prompt=[1], max_new_tokens=1))
    with pytest.raises(ValueError, match="'answer 2' is being served"):
        fresh.generate(["abc", "bad"], max_new_tokens=4)
    assert (fresh.scheduler.waiting, fresh._answers, fresh.samplings) == (("answer 2",), {}, {})


def test_guesses_are_judged_as_the_rule_in_plain_python_judges_them():
    rows, guesses, vocab = 64, 3, 5
    random = np.random.default_rng(0)
    logits = random.normal(size=(rows, guesses + 1, vocab)).astype(np.float32)
    samplings = [Sampling(1.0, seed=i) for i in range(rows)]
    target = np.asarray(_probabilities(logits, jax.tree.map(lambda x: x[:, None], _draws(samplings, rows)), "plain"))
    draft = random.dirichlet([1.0] * vocab, size=(rows, guesses)).astype(np.float32)
    guessed = np.array([[random.choice(vocab, p=p / p.sum()) for p in row.astype(float)] for row in draft], np.int32)
    room = random.integers(0, guesses + 1, rows).astype(np.int32)
    starts = random.integers(0, 20, rows).astype(np.int32)
    decode = _Decode(guessed[:, 0], starts, room, np.zeros((rows, 1), np.int32), None, _draws(samplings, rows))
    tokens, right = _judge(jnp.array(logits), jnp.array(guessed), jnp.array(draft), decode, "plain")
    number = lambda row, position, stream: float(  # noqa: E731
        _uniform(jnp.array([row], jnp.uint32), jnp.array([position]), stream, jnp.float32)[0]
    )
    wide = lambda ps: [(p / p.sum()).tolist() for p in ps.astype(float)]  # noqa: E731
    for row in range(rows):
        n, at, taken = int(room[row]), int(starts[row]) + 1, int(right[row])
        # the rule asks for a number for each guess that it judges, and for one to draw the token behind
        numbers = [number(row, at + i, module._VERDICT) for i in range(min(taken + 1, n))]
        numbers.append(number(row, at + taken, module._TARGET))
        guesses_ = guessed[row, :n].tolist()
        expected = judge(guesses_, wide(draft[row, :n]), wide(target[row, : n + 1]), iter(numbers).__next__)
        assert (expected.accepted, expected.tokens) == (taken, tuple(tokens[row, : taken + 1].tolist()))


def test_a_refusal_that_leaves_nothing_draws_from_the_target():
    """The draft gave token 0 less than rounding tells from nothing, and guessed it; the target never writes it."""
    logits = jnp.array([[[-np.inf, 1.0, -np.inf]] * 2])
    draft, guessed = jnp.array([[[1e-30, 1.0, 0.0]]]), jnp.array([[0]])
    one = np.zeros(1, np.int32)
    decode = _Decode(one, one, one + 1, np.zeros((1, 1), np.int32), None, _draws([Sampling(1.0)], 1))
    tokens, right = _judge(logits, guessed, draft, decode, "plain")
    assert (int(right[0]), int(tokens[0, 0])) == (0, 1)


def test_what_is_written_with_guesses_is_distributed_as_without():
    """Chi-square at 0.001 on the second and third token of 4096 answers to one prompt, 121 cells.

    A refusal that drew from the target, not from what the draft left of it, would be seen with a chance of more than
    0.99: computed below.
    """
    draft, number, prompt = checkpoint(layers=1, seed=1, dtype="float32", stop_ids=()), 4096, [1, 2, 3]
    options = {"block_tokens": 4, "max_batch": 64, "num_blocks": 256}
    guessing = Engine(model(), draft=draft, guesses=2, **options)
    answers = guessing.generate([prompt] * number, max_new_tokens=4, temperature=2.0)
    record = guessing.log
    assert 0.1 < sum(r.accepted for r in record) / sum(r.guesses for r in record) < 0.9
    shares = {name: _shares_of(m) for name, m in (("target", model()), ("draft", draft))}
    first = shares["target"](prompt)
    expected, wrong = np.zeros((VOCAB, VOCAB)), np.zeros(VOCAB)
    for a in range(VOCAB):
        second, guess = shares["target"]([*prompt, a]), shares["draft"]([*prompt, a])
        taken = acceptance(guess.tolist(), second.tolist())
        wrong += first[a] * (np.minimum(guess, second) + (1 - taken) * second)
        for b in range(VOCAB):
            expected[b] += first[a] * second[b] * shares["target"]([*prompt, a, b])
    seen = np.zeros((VOCAB, VOCAB))
    for answer in answers:
        seen[answer.ids[1], answer.ids[2]] += 1
    assert _chance(seen.ravel(), number * expected.ravel()) > 1e-3
    right = expected.sum(axis=1)
    assert _chance(seen.sum(axis=1), number * right) > 1e-3
    limit = stats.chi2.ppf(1 - 1e-3, VOCAB - 1)
    assert stats.ncx2.sf(limit, VOCAB - 1, number * np.sum((wrong - right) ** 2 / right)) > 0.99


def _shares_of(model, temperature=2.0):
    oracle = Oracle(model)

    def shares(tokens):
        logits = oracle.logits(tuple(tokens)).astype(float) / temperature
        shares = np.exp(logits - logits.max())
        return shares / shares.sum()

    return shares


def _chance(seen, expected):
    """Chance of counts at least so far off; rare cells are one."""
    rare = expected < 5
    if rare.any():
        seen, expected = (np.append(x[~rare], x[rare].sum()) for x in (seen, expected))
    return stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue


# --- the log, the clock, several devices ---------------------------------------------------------------------


def test_the_log_counts_what_the_model_needs():
    fresh = Engine(model(), block_tokens=4, max_batch=4)
    spec = fresh.spec
    for _ in range(2):
        fresh.generate(["bad face", "abc"], max_new_tokens=3)  # the second time the first prompt is found in part
    prefill, decode = fresh.log[:2]
    assert [r.number for r in fresh.log] == [*range(6)]
    assert (prefill.prefill_tokens, prefill.decode_sequences, prefill.tokens, prefill.context_tokens) == (11, 0, 2, 11)
    assert (decode.prefill_tokens, decode.decode_sequences, decode.tokens, decode.context_tokens) == (0, 2, 2, 13)
    assert prefill.flop == spec.flop(8, 0, 1) + spec.flop(3, 0, 1)
    assert decode.flop == spec.flop(1, 8) + spec.flop(1, 3)
    assert (prefill.weight_bytes, decode.weight_bytes) == (
        spec.weight_bytes_read(11, "fp32"),
        spec.weight_bytes_read(2, "fp32"),
    )
    assert decode.kv_bytes == 13 * spec.kv_bytes_per_token("fp32")
    assert fresh.log[3].prefill_tokens == 4 + 3  # a block of "bad face" was found; a token at least is computed
    assert {(r.recomputed_tokens, r.preempted, r.waiting, r.devices) for r in fresh.log} == {(0, 0, 0, 1)}
    assert [r.compiled for r in fresh.log[3:]] == [False] * 3
    assert all(a.start_s + a.seconds <= b.start_s for a, b in zip(fresh.log, fresh.log[1:], strict=False))


def test_tokens_computed_again_are_work_for_the_hardware_and_none_for_the_model():
    """Two answers grow beyond two blocks of 4 in a pool of 5: the second gives way, and loses its last block for good.

    It had computed 8 tokens and drawn a ninth; 4 are found again, 4 computed again, and the ninth is new.
    """
    prompts, options = ([1, 2, 3, 4, 5], [6, 7, 8, 9, 1]), {"block_tokens": 4, "num_blocks": 5}
    fresh = Engine(model(), max_batch=2, **options)
    fresh.generate(prompts, max_new_tokens=9)
    (lost,), (again,) = ([r for r in fresh.log if r.preempted], [r for r in fresh.log if r.recomputed_tokens])
    assert (lost.number, lost.preempted, lost.waiting, lost.prefill_tokens) == (4, 1, 1, 0)
    assert (again.number, again.prefill_sequences, again.prefill_tokens, again.recomputed_tokens) == (9, 1, 5, 4)
    assert again.flop == fresh.spec.flop(1, 8) < fresh.spec.flop(5, 4) < again.hardware_flop
    alone = Engine(model(), max_batch=1, **options)
    alone.generate(prompts, max_new_tokens=9)
    assert sum(r.flop for r in fresh.log) == pytest.approx(sum(r.flop for r in alone.log))


@pytest.mark.parametrize("policy", ["static", "chunked"])
@pytest.mark.parametrize("draft", [None, "model", "look-up"])
def test_what_a_program_carries_out_is_what_its_compiler_counts(policy, draft, monkeypatch):
    """The FLOP of all matrix products in the programs that XLA made of these steps."""
    kept, run = [], module._pass

    def keeping(weights, pools, decode, prefill, **static):
        kept.append((decode, prefill, static))
        return run(weights, pools, decode, prefill, **static)

    small = checkpoint(layers=1, seed=1, dtype="float32", stop_ids=())
    monkeypatch.setattr(module, "_pass", keeping)
    options = {"block_tokens": 4, "max_batch": 4, "max_tokens": 16, "policy": policy}
    fresh = Engine(model(), draft=small if draft == "model" else draft, guesses=2, **options)
    requests = [Request(id=i, prompt=[i + 1] * (3 + i), max_new_tokens=2 + 4 * (i % 2)) for i in range(5)]
    serve(requests, fresh.scheduler, fresh)
    counted = {}
    for (decode, prefill, static), record in zip(kept, fresh.log, strict=True):
        if draft == "model" and prefill is not None:
            continue  # of the draft's pass over a prompt XLA leaves out what nobody reads
        arrays = fresh._weights, fresh._pools, decode, prefill
        key = str(jax.tree.map(np.shape, arrays[2:]))
        if key not in counted:
            counted[key] = compiled(partial(run.__wrapped__, **static), *arrays).flop
        assert record.hardware_flop == counted[key] >= record.flop > 0
    assert len(counted) > (draft != "model")


def test_a_step_that_nothing_was_compiled_for_says_so():
    fresh = Engine(checkpoint(layers=1, dtype="float32", stop_ids=()), block_tokens=4, max_batch=1)
    with jax.disable_jit():
        (apart,) = fresh.generate([[1, 2, 3]], max_new_tokens=2)
    assert [r.compiled for r in fresh.log] == [False, False]
    assert fresh.generate([[1, 2, 3]], max_new_tokens=2)[0].ids == apart.ids
    assert [r.compiled for r in fresh.log[2:]] == [True, True]


@pytest.mark.parametrize("policy", ["static", "continuous", "chunked"])
def test_given_the_engines_step_times_another_executor_takes_the_same_steps(policy):
    options = {"policy": policy, "max_batch": 4, "max_tokens": 16}
    serves = Engine(model(), block_tokens=4, num_blocks=14, **options)
    requests = [
        Request(id=i, prompt=[i + 1] * (1 + 3 * i % 7), max_new_tokens=3 + 5 * i % 8, arrival_s=0.002 * i)
        for i in range(9)
    ]

    class Kept:
        def __init__(self, run):
            self.run_, self.steps = run, []

        def run(self, step):
            self.steps.append((step.number, step.prefill, step.decode, step.idle, step.preempted, step.draws))
            return self.run_(step)

    real = Kept(serves.run)
    answered = serve(requests, serves.scheduler, real)
    seconds = iter([record.seconds for record in serves.log])
    replay = Kept(lambda step: next(seconds))
    counted = serve(requests, Scheduler(Pager(14, 4), **options), replay)
    assert replay.steps == real.steps
    assert [(s.first_s, s.last_s, s.tokens) for s in counted] == [(s.first_s, s.last_s, s.tokens) for s in answered]


def test_two_devices_say_what_one_says_and_exchange_two_sums_a_layer():
    flags = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.serving.on_devices"]
    said = subprocess.run(command, cwd=root, env=flags, capture_output=True, text=True, check=True).stdout
    one, two, *wide, exchanged = said.splitlines()
    assert one.endswith(" 2 1") and two.endswith(" 1 2")  # heads of keys and values on the first device; devices
    assert one[:-4] == two[:-4]
    answers = [line.split(";") for line in wide]
    assert all(one == two for one, two in answers) and len({one for one, _ in answers}) == 3
    assert exchanged == "{'all-reduce': 4};{'all-reduce': 4}"  # of prompts, of answers; no weights


@pytest.mark.parametrize(
    ("prompt", "max_new_tokens", "says"),
    [
        ([1, VOCAB], 2, f"request 'r' has the token id {VOCAB}; tiny has ids from 0 to {VOCAB - 1}"),
        ([1] * LONGEST, 1, f"request 'r' has {LONGEST} tokens and its answer up to 1; tiny was made for {LONGEST}"),
        (3, 2, "request 'r': the prompt came as a number of tokens; an engine computes with their ids"),
    ],
)
def test_a_request_that_the_model_cannot_answer_comes_into_no_step(prompt, max_new_tokens, says):
    request = Request(id="r", prompt=prompt, max_new_tokens=max_new_tokens)
    with pytest.raises(ValueError, match=says):
        engine().scheduler.add(request)
    with pytest.raises(ValueError, match=says):
        serve([request], engine().scheduler, engine())


def test_whole_numbers_of_numpy_are_whole_numbers():
    plain = ask(engine(), ["abc"], 8, temperature=1.0, seed=4, stop=[3])
    assert ask(engine(), ["abc"], 8, temperature=1.0, seed=np.int64(4), stop=[np.int64(3)])[0].ids == plain[0].ids
    for wrong in ([VOCAB], [-1]):
        with pytest.raises(ValueError, match=f"stop has the token id {wrong[0]}; tiny has ids from 0 to {VOCAB - 1}"):
            ask(engine(), ["abc"], stop=wrong)
    with pytest.raises(TypeError, match="stop is b'a'; give texts and token ids"):
        ask(engine(), ["abc"], stop=b"a")


def test_threads_share_an_engine():
    expected = {text: ask(engine(), [text], 8)[0].ids for text in TEXTS}
    told = []

    def asks(text):
        for _ in range(5):
            told.append(ask(engine(), [text], 8)[0].ids == expected[text])
            told.append("".join(engine().stream(text, 8)) == model().tokenizer.decode(expected[text]))

    threads = [Thread(target=asks, args=(text,)) for text in TEXTS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [True] * 10 * len(TEXTS)


def test_a_stream_that_is_collected_while_a_step_runs_ends_behind_it(monkeypatch):
    collects = Engine(model(), block_tokens=4, max_batch=4)
    (expected,) = ask(collects, ["abc"], 5)
    streams = [collects.stream("bad", max_new_tokens=9)]
    next(streams[0])
    note = Engine._note

    def collecting(*arguments):
        streams.clear()
        note(*arguments)

    monkeypatch.setattr(Engine, "_note", collecting)
    assert ask(collects, ["abc"], 5)[0].ids == expected.ids
    assert collects.pager.num_free == collects.pager.num_blocks and not collects._answers and not collects._gone


def test_an_interrupt_on_any_line_of_a_step_leaves_an_engine_that_answers_alike():
    """Ctrl-C at every seventh line that engine, scheduler and pager go through, one after another."""
    stops = Engine(model(), block_tokens=4, max_batch=4)
    (expected,) = ask(stops, ["abc"], 3)
    files = {sys.modules[of.__module__].__file__ for of in (Engine, Scheduler, Pager)}
    cleaning = ("generate", "_advance", "_forget", "_reset", "_new_pools")  # Python has nothing that would guard these
    left = at = 0

    def trace(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename not in files or frame.f_code.co_name in cleaning:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    interrupted = True
    while interrupted:
        at, interrupted = at + 7, False
        left, before = at, sys.gettrace()
        sys.settrace(trace)
        try:
            ask(stops, ["abc"], 3)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            sys.settrace(before)
        held = stops.pager.num_blocks - stops.pager.num_free
        assert (held, stops.scheduler.running, stops.scheduler.waiting, stops._answers) == (0, (), (), {}), at
        assert ask(stops, ["abc"], 3)[0].ids == expected.ids, at
    assert at > 500
