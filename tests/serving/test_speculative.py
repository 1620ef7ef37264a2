"""Speculative rounds write what the target alone would write."""

import random
from collections import Counter
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from hwlab.serving import speculative
from hwlab.serving.speculative import (
    Round,
    acceptance,
    best_guesses,
    draw,
    drawn_from,
    judge,
    look_up,
    looked_up,
    residual,
    rounds,
    softened,
    speedup,
    tokens_per_round,
)

VOCABULARY = 3


def distributions(seed):
    """Opinions of a draft and a target on the next of three tokens behind any two, and nothing alike."""
    generate = random.Random(seed)

    def opinion():
        weights = [generate.random() ** 3 for _ in range(VOCABULARY)]
        return [weight / sum(weights) for weight in weights]

    contexts = [context for size in range(4) for context in product(range(VOCABULARY), repeat=size)]
    return {c: opinion() for c in contexts}, {c: opinion() for c in contexts}


def chance(guesses, judge=judge, runs=20_000):
    """Of a chi-square statistic at least as large as that of `runs` texts of three tokens, if they are the target's."""
    draft, target = distributions(1)
    uniform = random.Random(2).random
    target_after, draft_after = (lambda text, of=of: of[tuple(text[:3])] for of in (target, draft))
    write = {"guesses": guesses, "tokens": 3, "uniform": uniform}
    monkey = pytest.MonkeyPatch()
    monkey.setattr(speculative, "judge", judge)
    seen = Counter()
    for _ in range(runs):
        written = (token for r in rounds(drawn_from(draft_after), target_after, (), **write) for token in r.tokens)
        seen[tuple(written)[:3]] += 1
    monkey.undo()
    expected = {text: runs * prod(target[text[:i]][text[i]] for i in range(3)) for text in product(range(3), repeat=3)}
    return chi2.sf(sum((seen[text] - e) ** 2 / e for text, e in expected.items()), len(expected) - 1)


@pytest.mark.parametrize("guesses", [1, 2, 4])
def test_what_is_written_is_distributed_as_the_target_alone_writes(guesses):
    """The generator's seed is fixed: this passes always or never. A true sampler fails at one seed of a thousand."""
    assert chance(guesses) > 0.001


def careless(guesses, draft, target, uniform):
    """`judge` with the fault that is easiest to make: a refused guess is drawn anew from all of the target."""
    for i, guess in enumerate(guesses):
        if uniform() * draft[i][guess] >= target[i][guess]:
            return Round(i, (*guesses[:i], draw(target[i], uniform())))
    return Round(len(guesses), (*guesses, draw(target[-1], uniform())))


def lenient(guesses, draft, target, uniform):
    """`judge` that takes guesses a twentieth too often."""
    return judge(guesses, draft, target, lambda: uniform() / 1.05)


@pytest.mark.parametrize("wrong", [careless, lenient])
def test_a_sampler_that_is_a_little_wrong_is_seen(wrong):
    """What the test above can see at its number of texts."""
    assert chance(2, wrong) < 1e-6


weights = st.lists(st.floats(0.0, 1.0), min_size=2, max_size=6).filter(lambda w: sum(w) > 0.1)


@given(a=weights, b=weights)
def test_one_verdict_gives_each_token_the_target_s_probability(a, b):
    """Exactly: over a fine grid of draws instead of random ones, guesses weighed by the draft."""
    size = min(len(a), len(b))
    draft, target = a[:size], b[:size]
    if sum(draft) < 0.1 or sum(target) < 0.1:
        return
    draft, target = [w / sum(draft) for w in draft], [w / sum(target) for w in target]
    out = [0.0] * size
    for guess in range(size):
        if not draft[guess]:
            continue
        taken = min(1.0, target[guess] / draft[guess])
        out[guess] += draft[guess] * taken
        steps = 200
        if taken < 1:
            for i in range(steps):
                uniforms = iter([1 - 1e-12, (i + 0.5) / steps])
                judged = judge([guess], [draft], [target, target], lambda: next(uniforms))  # noqa: B023
                assert judged.accepted == 0
                out[judged.tokens[0]] += draft[guess] * (1 - taken) / steps
    assert out == pytest.approx(target, abs=0.01)


def test_a_guess_that_the_target_rules_out_is_refused_whatever_is_drawn():
    assert judge([1], [[0.5, 0.5]], [[1.0, 0.0]] * 2, lambda: 0.0) == Round(0, (0,))


def test_a_refusal_between_two_that_rounding_makes_equal_draws_from_the_target():
    assert judge([0], [[1e-308, 1.0]], [[0.0, 1.0]] * 2, lambda: 1 - 1e-12) == Round(0, (1,))


def test_rounding_never_draws_what_has_no_weight():
    weights = [0.0, 0.9582093798172728, 0.1403685900763948, 0.02361614713882554]  # more than their sum is left over
    assert draw(weights, 1 - 2**-53) == 3
    assert draw([*weights, 0.0], 1 - 2**-53) == 3


def test_acceptance_is_the_share_of_guesses_that_are_taken():
    draft, target = [0.6, 0.3, 0.1], [0.2, 0.3, 0.5]
    uniform = random.Random(0).random
    taken = sum(judge([draw(draft, uniform())], [draft], [target, target], uniform).accepted for _ in range(20_000))
    assert acceptance(draft, target) == pytest.approx(0.6)
    assert taken / 20_000 == pytest.approx(0.6, abs=0.015)


@given(a=weights, b=weights)
def test_what_is_left_of_the_target_is_what_is_refused(a, b):
    """Acceptance is 1 minus half the sum of the differences: 1 minus the total variation of the two."""
    size = min(len(a), len(b))
    draft, target = a[:size], b[:size]
    if sum(draft) < 0.1 or sum(target) < 0.1:
        return
    draft, target = [w / sum(draft) for w in draft], [w / sum(target) for w in target]
    variation = sum(abs(p - q) for p, q in zip(target, draft, strict=True)) / 2
    assert acceptance(draft, target) == pytest.approx(1 - variation)
    assert sum(residual(draft, target)) == pytest.approx(variation)


def test_a_greedy_round_writes_what_the_target_would_whatever_the_draft():
    generate = random.Random(5)
    opinions = {}

    def target(text):
        key = tuple(text[-2:])
        return softened(opinions.setdefault(key, distributions(hash(key))[0][()]), 0)

    plain = [0]
    while len(plain) < 40:
        plain.append(draw(target(plain), 0.5))
    for drafter in (drawn_from(lambda _: [1 / 3] * 3), looked_up(3), drawn_from(target)):
        found = list(rounds(drafter, target, [0], guesses=4, tokens=39, uniform=generate.random))
        assert [0, *(token for r in found for token in r.tokens)][:40] == plain
    assert all(r.accepted == 4 for r in found)  # the target's own guesses are all taken


def test_a_temperature_sharpens_or_flattens_and_keeps_the_order():
    ratio = {t: softened([0.6, 0.3, 0.1], t) for t in (0.5, 1, 2)}
    assert ratio[1] == pytest.approx([0.6, 0.3, 0.1])
    assert [r[0] / r[1] for r in ratio.values()] == pytest.approx([4, 2, 2**0.5])
    assert softened([0.4, 0.4, 0.2], 0) == [1.0, 0.0, 0.0]


@given(a=st.floats(0, 1), guesses=st.integers(0, 12))
def test_tokens_per_round_is_the_sum_of_the_chances_that_the_first_guesses_are_all_taken(a, guesses):
    assert tokens_per_round(a, guesses) == pytest.approx(sum(a**i for i in range(guesses + 1)), rel=1e-9)


def test_best_guesses_is_the_best():
    for a in (0.3, 0.6, 0.9):
        best = best_guesses(a, draft_cost=0.1)
        gains = [speedup(a, g, draft_cost=0.1) for g in range(1, 40)]
        assert max(gains) == gains[best - 1]
    assert best_guesses(0.05, draft_cost=0.1) == 0


def test_published_settings_of_the_paper_are_within_its_speed_ups():
    """T5-XXL, English to German, temperature 0: acceptance 0.75, 7 guesses, 3.4 times (Leviathan et al., table 2).

    The draft, T5-small, costs next to nothing beside it (about 0.02).
    """
    assert speedup(0.75, 7, draft_cost=0.02) == pytest.approx(3.4, rel=0.12)


def test_looked_up_guesses_are_what_followed_last_time():
    assert look_up([5, 6, 7, 5, 6, 8, 5, 6], 3) == (8, 5, 6)
    assert look_up([1, 2, 9, 2], 5) == (9, 2)
    assert look_up([1], 3) == look_up([], 3) == ()
    generate = random.Random(4)
    text = [generate.randrange(50) for _ in range(40)]
    assert look_up(text + text[:5], 6) == tuple(text[5:11])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: judge([0], [], [[1.0], [1.0]], random.random), "1 guesses came with 0 distributions of the draft"),
        (lambda: judge([0], [[1.0]], [[1.0]], random.random), "and 1 of the target"),
        (lambda: judge([0], [[1.0]], [[0.5, 0.5]] * 2, random.random), r"draft\[0\] is over 1 tokens and target\[0\]"),
        (lambda: judge([0], [[0.5, 0.5]], [[0.5, 0.6]] * 2, random.random), r"target\[0\] sums to 1.1"),
        (lambda: judge([0], [[1.5, -0.5]], [[0.5, 0.5]] * 2, random.random), r"draft\[0\] sums to 1; give prob"),
        (lambda: judge([1], [[1.0, 0.0]], [[0.5, 0.5]] * 2, random.random), r"guesses\[0\] is 1, to which draft"),
        (lambda: judge([2], [[0.5, 0.5]], [[0.5, 0.5]] * 2, random.random), r"guesses\[0\] is 2"),
        (lambda: acceptance([0.5, 0.5], [1.0]), "over 2 and 1 tokens"),
        (lambda: speedup(0.5, 4, draft_cost=0), "draft_cost is 0"),
        (lambda: tokens_per_round(1.5, 4), "acceptance is 1.5; give a number from 0 to 1"),
        (lambda: tokens_per_round(float("nan"), 4), "acceptance is nan"),
        (lambda: tokens_per_round(0.5, -1), "guesses is -1; give a number from 0 on"),
        (lambda: best_guesses(2, draft_cost=0.1), "acceptance is 2"),
        (lambda: draw([], 0.5), "the weights sum to 0"),
        (lambda: draw([0.0, float("nan")], 0.5), "the weights sum to nan"),
        (lambda: draw([1.0], 1.0), "the number is 1.0"),
        (lambda: looked_up(0), "vocab_size is 0"),
        (lambda: look_up([1, 2], 0), "guesses is 0"),
        (lambda: softened([0.5, 0.5], -1), "temperature is -1"),
        (lambda: softened([0.5, 0.6], 1), "distribution sums to 1.1"),
        (lambda: softened([], 1), "distribution sums to 0"),
        (lambda: acceptance([0.5, float("nan")], [0.5, 0.5]), "draft sums to nan"),
        (lambda: acceptance([1.0], [1.2]), "target sums to 1.2"),
        (lambda: list(rounds(looked_up(2), None, [0], guesses=0, tokens=1, uniform=random.random)), "guesses is 0"),
    ],
)
def test_what_is_no_distribution_is_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
