"""The engine says what the model says alone: whatever shares its steps, its blocks or its rounds of guesses."""

import random
from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import pytest

from hwlab.serving import engine as engine_module
from hwlab.serving.engine import Engine, Sampling
from hwlab.serving.scheduler import Request
from tests.serving.histories import check
from tests.serving.tiny import LONGEST, Oracle, checkpoint

POLICIES = {
    "static": {"policy": "static", "max_batch": 3, "max_tokens": 32},
    "continuous": {"policy": "continuous", "max_batch": 4, "max_tokens": 20},
    "chunked": {"policy": "chunked", "max_batch": 4, "max_tokens": 16},
    "swap": {"policy": "continuous", "max_batch": 4, "max_tokens": 20, "preemption": "swap"},
    "chunked swap": {"policy": "chunked", "max_batch": 4, "max_tokens": 16, "preemption": "swap"},
}

BLOCKS = [7, 7, 8, 9]  # in a pool


@pytest.fixture(scope="module", autouse=True)
def float64():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def one_shape(monkeypatch):
    """Whatever is in a step, it has one shape, so that few programs are compiled."""
    up, sizes = engine_module._up, {1: 4, 8: 8, 16: 32}  # rows, blocks of a table, tokens of a prompt
    monkeypatch.setattr(engine_module, "_up", lambda number, power=1, least=1: up(number, 2, sizes[least]))
    pools = engine_module.new_pools  # of which the pager may know less
    monkeypatch.setattr(engine_module, "new_pools", lambda config, _, *rest: pools(config, max(BLOCKS), *rest))


@cache
def model(dtype="float64"):
    return checkpoint(dtype=dtype)


@cache
def small(dtype="float64"):
    """A draft that is right now and then: the model without its last layer."""
    whole = model(dtype)
    weights = whole.weights
    fewer = weights._replace(layers=weights.layers[:1], norms=weights.norms[jnp.array([0, 1, 4])])
    return replace(whole, config=replace(whole.config, num_layers=1), weights=fewer)


@cache
def oracle(dtype="float64"):
    return Oracle(model(dtype))


DRAFTS = {"none": lambda dtype: None, "model": small, "look-up": lambda dtype: "look-up"}


class Run:
    """A random workload: requests that share beginnings come, fork and are cancelled, in a pool that is too small."""

    def __init__(self, seed, policy, draft="none", dtype="float64", sampled=False):
        self.draw = draw = random.Random(seed)
        self.engine = Engine(
            model(dtype),
            draft=DRAFTS[draft](dtype),
            guesses=3,
            num_blocks=draw.choice(BLOCKS),
            block_tokens=4,
            dtype=dtype,
            **POLICIES[policy],
        )
        self.scheduler, self.policy, self.sampled = self.engine.scheduler, policy, sampled
        self.asked, self.begun, self.answers, self.cancelled = {}, {}, {}, set()
        self.steps, self.forks = [], 0
        systems = [[draw.randrange(1, 11) for _ in range(draw.randint(0, 9))] for _ in range(2)]
        coming = [[*draw.choice(systems), *(draw.randrange(11) for _ in range(draw.randint(1, 6)))] for _ in range(8)]
        while True:
            while coming and (draw.random() < 0.8 or not self.asked):
                self.add(coming.pop())
            step = self.scheduler.step()
            if step is None:
                if not coming:
                    break
                self.add(coming.pop())
                continue
            self.steps.append(step)
            self.engine.run(step)
            for done in self.scheduler.finish(step):
                self.answers[done.id] = list(done.answer)
            check(self.engine.pager)
            self.disturb()
        assert self.engine.pager.num_free == self.engine.pager.num_blocks

    def add(self, prompt):
        id = len(self.asked)
        length = self.draw.randint(1, min(12, LONGEST - len(prompt)))
        self.ask(id, prompt, length, [])
        self.scheduler.add(Request(id=id, prompt=prompt, max_new_tokens=length))

    def ask(self, id, prompt, length, begun):
        self.asked[id], self.begun[id] = (prompt, length), begun
        if self.sampled and self.draw.random() < 0.8:
            self.engine.samplings[id] = Sampling(temperature=self.draw.choice([0.7, 1.5]), seed=self.draw.randrange(99))

    def disturb(self):
        living = [id for id in self.asked if id not in self.answers and id not in self.cancelled]
        if not living:
            return
        id, kind = self.draw.choice(living), self.draw.random()
        if kind < 0.05:
            self.scheduler.cancel(id)
            self.cancelled.add(id)
        elif kind < 0.25 and self.policy != "static" and len(self.asked) < 14:
            prompt, length = self.asked[id]
            child = len(self.asked)
            self.ask(child, prompt, length, self.scheduler.tokens(id)[len(prompt) :])
            self.scheduler.fork(id, child)
            self.forks += 1

    def agrees(self, margin=0.0):
        """Whether all answers are those of the model alone, up to where two tokens are as good as equal."""
        oracle_ = oracle(self.engine.dtype)
        assert set(self.answers) == set(self.asked) - self.cancelled
        for id, answer in self.answers.items():
            expected, margins = oracle_.answer(*self.asked[id], self.engine.samplings.get(id), self.begun[id])
            sure = sum(m > margin for m in margins)
            assert answer[:sure] == expected[:sure], (id, answer, expected, self.asked[id])
            assert margin or len(answer) == len(expected)
            yield sure / len(margins)


@pytest.mark.usefixtures("one_shape")
@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("policy", POLICIES)
def test_answers_are_those_of_the_model_alone(policy, draft):
    runs = [Run(seed, policy, draft) for seed in range(16)]
    for run in runs:
        assert list(run.agrees())
    met(runs, policy, draft)


def met(runs, policy, draft="none"):
    """The workloads meet what they are to test."""
    steps = [step for run in runs for step in run.steps]
    assert any(step.idle for step in steps) == (policy == "static")
    assert any(step.preempted for step in steps) == (policy != "static")
    assert any(step.swap_in for step in steps) == ("swap" in policy)
    assert any(step.copies for step in steps) == (policy != "static")
    assert any(step.prefill and step.decode for step in steps) == (policy != "static")
    assert any(chunk.start for step in steps for chunk in step.prefill)  # found in the prefix cache, or a later piece
    records = [record for run in runs for record in run.engine.log]
    assert all(record.hardware_flop >= record.flop for record in records)
    assert any(record.accepted for record in records) == (draft != "none")
    assert any(record.accepted < record.guesses for record in records) == (draft != "none")


@pytest.mark.usefixtures("one_shape")
@pytest.mark.parametrize("policy", POLICIES)
def test_drawn_answers_are_those_of_the_model_alone_too(policy):
    """Forks go on with numbers of their own and part: a block that was not copied would tell."""
    runs = [Run(100 + seed, policy, sampled=True) for seed in range(4)]
    for run in runs:
        assert list(run.agrees())
    met(runs, policy)


@pytest.mark.usefixtures("one_shape")
@pytest.mark.parametrize("draft", ["none", "model"])
def test_in_float32_too_where_the_best_token_is_best_by_more_than_rounding(draft):
    shares = [
        share
        for seed, policy in enumerate(POLICIES)
        for share in Run(seed, policy, draft, dtype="float32").agrees(margin=1e-4)
    ]
    assert sum(shares) / len(shares) > 0.95  # so nearly everything was compared
