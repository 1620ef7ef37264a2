"""Speculative decoding: a small model guesses some tokens, the large one judges them all in one step.

The large model, the *target*, gives the distribution of the next token behind each guess in a single pass, as if it
read a prompt. Guesses are taken one by one, each with a chance that depends on both models' opinions; the first one
that is refused is drawn anew from what the target holds and the draft did not, and if none is refused one more token
comes free. What is written is distributed exactly as the target alone would write it, whatever the draft guesses. A
worse draft costs time, never quality.

Y. Leviathan, M. Kalman and Y. Matias, "Fast Inference from Transformers via Speculative Decoding", ICML 2023; found at
the same time by C. Chen et al., "Accelerating Large Language Model Decoding with Speculative Sampling", arXiv
2302.01318, 2023. The draft without a model follows A. Saxena, "Prompt Lookup Decoding", 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from hwlab.costs.efficiency import IDEAL, Efficiency
from hwlab.costs.roofline import decode_step_time, verify_step_time
from hwlab.formula import inside, positive, where, whole

Distribution = Sequence[float]  # probability of each token id; sums to 1
Model = Callable[[Sequence[int]], Distribution]  # what a model gives the token behind a text
Drafter = Callable[[Sequence[int], int, Callable[[], float]], tuple[Sequence[int], Sequence[Distribution]]]
"""Of a text, a number of guesses and uniform numbers: that many guesses at most, and what each was drawn from."""


class Round(NamedTuple):
    """A round of guesses and verdicts: how many guesses were taken, and the tokens written, one more than that."""

    accepted: int
    tokens: tuple[int, ...]


def judge(
    guesses: Sequence[int],
    draft: Sequence[Distribution],
    target: Sequence[Distribution],
    uniform: Callable[[], float],
) -> Round:
    """Accept or reject a round of guesses so that the tokens are the target's in distribution.

    Parameters
    ----------
    guesses : sequence of int
        Token ids, ``guesses[i]`` drawn from ``draft[i]``.
    draft : sequence of distributions, one for each guess
        What the draft gave each token id when it guessed. A guess without a distribution of its own (looked up, greedy)
        has all of the probability on itself.
    target : sequence of distributions, one more than guesses
        What the target gives each token id behind the guesses before: ``target[i]`` behind ``guesses[:i]``.
    uniform : function
        A number from [0, 1), anew at each call: ``random.Random(seed).random``.

    Raises
    ------
    TypeError, ValueError
        If the numbers of distributions do not fit, their lengths differ, one is not a distribution, or a guess is no
        token id or cannot come from its own distribution (the draft gave it nothing).

    Notes
    -----
    A guess x is taken with probability ``min(1, target(x) / draft(x))``; a refused one is replaced by a draw from
    ``max(0, target - draft)``, normalised. Token x is then written with probability ``min(draft(x), target(x))`` from
    the first way and with what is missing to ``target(x)`` from the second.

    Examples
    --------
    The draft is sure of token 1, of which the target thinks little. Two draws: one refuses it, one takes another.

    >>> draws = iter([0.5, 0.3])
    >>> judge([1], [[0.0, 1.0]], [[0.9, 0.1], [0.5, 0.5]], lambda: next(draws))
    Round(accepted=0, tokens=(0,))

    Where both agree, every guess is taken and one token comes free:

    >>> draws = iter([0.99, 0.99, 0.2])
    >>> judge([1, 1], [[0.3, 0.7]] * 2, [[0.3, 0.7]] * 3, lambda: next(draws))
    Round(accepted=2, tokens=(1, 1, 0))
    """
    _check(guesses, draft, target)
    for i, guess in enumerate(guesses):
        if uniform() * draft[i][guess] >= target[i][guess]:
            left = residual(draft[i], target[i])
            left = left if any(left) else target[i]  # rounding left nothing between two that are nearly equal
            return Round(i, (*guesses[:i], draw(left, uniform())))
    return Round(len(guesses), (*guesses, draw(target[-1], uniform())))


def residual(draft: Distribution, target: Distribution) -> list[float]:
    """What the target holds and the draft does not, token by token: what a refused guess is replaced from.

    The values are shares, not yet normalised: they sum to ``1 - acceptance(draft, target)``.

    >>> residual([0.75, 0.25, 0.0], [0.25, 0.25, 0.5])
    [0.0, 0.0, 0.5]
    """
    return [max(0.0, t - d) for t, d in zip(target, draft, strict=True)]


def draw(weights: Sequence[float], uniform: float) -> int:
    """The id that a number from [0, 1) falls on, where ids take shares in proportion to their weights.

    Raises
    ------
    ValueError
        If the weights do not sum to more than 0, or the number is none from [0, 1).

    Examples
    --------
    >>> draw([1, 0, 3], 0.2), draw([1, 0, 3], 0.25)
    (0, 2)
    """
    total = sum(weights)
    if not total > 0 or not 0 <= uniform < 1:
        raise ValueError(
            f"the weights sum to {total:g} and the number is {uniform!r}; give more than 0, and one of [0, 1)"
        )
    goal, last = uniform * total, 0
    for id, weight in enumerate(weights):
        if weight > 0:
            if goal < weight:
                return id
            goal, last = goal - weight, id
    return last  # rounding left a trace of the goal


def acceptance(draft: Distribution, target: Distribution) -> float:
    """Chance that a guess drawn from `draft` is taken: what the two distributions have in common.

    Leviathan et al. 2023, theorem 3.5: the sum over tokens of ``min(draft, target)``.

    >>> acceptance([0.5, 0.5, 0.0], [0.25, 0.25, 0.5])
    0.5
    """
    _check_distribution("draft", draft)
    _check_distribution("target", target)
    if len(draft) != len(target):
        raise ValueError(
            f"the distributions are over {len(draft)} and {len(target)} tokens; give two of the same length"
        )
    return sum(map(min, draft, target))


def softened(distribution: Distribution, temperature: float) -> list[float]:
    """`distribution` at a temperature: each probability to the power of 1/temperature, normalised.

    Parameters
    ----------
    distribution : sequence of float
        At temperature 1.
    temperature : float
        Below 1 it favours what is likely; at 0 the likeliest token, the first of equals, gets everything: greedy.

    Raises
    ------
    ValueError
        If the temperature is negative, or `distribution` is none.

    Examples
    --------
    >>> softened([0.5, 0.25, 0.25], 0), softened([0.5, 0.25, 0.25], 0.5)
    ([1.0, 0.0, 0.0], [0.6666666666666666, 0.16666666666666666, 0.16666666666666666])
    """
    _check_distribution("distribution", distribution)
    if not temperature >= 0:
        raise ValueError(f"temperature is {temperature!r}; give a number of at least 0")
    most = max(distribution)
    if temperature == 0:
        best = list(distribution).index(most)
        return [float(id == best) for id in range(len(distribution))]
    weights = [(p / most) ** (1 / temperature) for p in distribution]
    return [weight / sum(weights) for weight in weights]


def tokens_per_round(acceptance, guesses):
    """Tokens that a round writes on average, if each guess is taken with the same chance, whatever came before.

    Parameters
    ----------
    acceptance : number, array or Sym
        Chance that a guess is taken, from 0 to 1.
    guesses : number, array or Sym
        Guesses a round.

    Returns
    -------
    number, array or Sym
        ``(1 - a**(g + 1)) / (1 - a)``, from 1 (no guess is ever taken) to g + 1. Leviathan et al. 2023, equation 1.

    Raises
    ------
    ValueError
        If the acceptance does not lie from 0 to 1, or the guesses are below 0.

    Examples
    --------
    >>> tokens_per_round(0.8, 4), tokens_per_round(1.0, 4), tokens_per_round(0.0, 4)
    (3.3616, 5, 1.0)
    """
    inside(0, 1, acceptance=acceptance)
    inside(0, inf, guesses=guesses)
    sure = acceptance == 1
    return where(sure, guesses + 1, (1 - acceptance ** (guesses + 1)) / where(sure, 1, 1 - acceptance))


def speedup(acceptance, guesses, *, draft_cost, verify_cost=1.0):
    """How many times as many tokens a second as without guesses.

    Parameters
    ----------
    acceptance, guesses : number, array or Sym
        As in `tokens_per_round`.
    draft_cost : number, array or Sym
        Time of one step of the draft over that of one step of the target.
    verify_cost : number, array or Sym
        Time of the target's step over all guesses over that of its step for one token: 1 while reading the weights sets
        the pace, up to ``guesses + 1`` once arithmetic does. That is how a large batch kills the gain.

    Raises
    ------
    ValueError
        If a cost is not positive; as `tokens_per_round`.

    Examples
    --------
    Four guesses, four of five taken, a draft of a twentieth. At a batch where five rows take 3.5 times as long as one
    the same guesses lose:

    >>> round(speedup(0.8, 4, draft_cost=0.05), 2), round(speedup(0.8, 4, draft_cost=0.05, verify_cost=3.5), 2)
    (2.8, 0.91)
    """
    positive(draft_cost=draft_cost, verify_cost=verify_cost)
    return tokens_per_round(acceptance, guesses) / (guesses * draft_cost + verify_cost)


def best_guesses(
    acceptance: float, *, draft_cost: float, verify_cost: Callable[[int], float] | float = 1.0, most: int = 64
) -> int:
    """Guesses a round at which `speedup` is greatest; 0 where every number of them loses.

    Parameters
    ----------
    verify_cost : number or function
        As in `speedup`; a function gets the number of guesses.

    Examples
    --------
    >>> [best_guesses(a, draft_cost=0.05) for a in (0.1, 0.5, 0.8, 0.95)]
    [1, 3, 8, 21]
    >>> best_guesses(0.8, draft_cost=0.05, verify_cost=lambda guesses: guesses + 1)  # arithmetic sets the pace
    0
    """
    cost = verify_cost if callable(verify_cost) else lambda _: verify_cost
    gains = {
        guesses: speedup(acceptance, guesses, draft_cost=draft_cost, verify_cost=cost(guesses))
        for guesses in range(1, whole(most=most) + 1)
    }
    best = max(gains, key=gains.get)
    return best if gains[best] > 1 else 0


def speedup_on(
    chip,
    target,
    draft=None,
    *,
    acceptance,
    guesses,
    batch=1,
    context=1024,
    dtype="bf16",
    efficiency: Efficiency = IDEAL,
):
    """`speedup`, with both costs from the roofline of a chip.

    Parameters
    ----------
    chip : Chip
    target, draft : ModelSpec
        Without a draft guesses are free, as `look_up` nearly is.
    acceptance, guesses, batch, context : number, array or Sym
        Of each sequence the same.
    dtype : str
        Of both models' weights.
    efficiency : Efficiency
        What the chip sustains; all of it by default.

    Raises
    ------
    ValueError
        As `hwlab.costs.roofline.decode_step_time`.

    Examples
    --------
    Four guesses of a 1B for an 8B, 7 of 10 taken, short contexts: it pays for one user and not for 256.

    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> pair = model("llama-3.1-8b"), model("llama-3.2-1b")
    >>> gain = lambda batch: speedup_on(chip("h100-sxm"), *pair, acceptance=0.7, guesses=4, batch=batch, context=256)
    >>> round(gain(1), 2), round(gain(256), 2)
    (1.67, 0.78)
    """
    load = {"batch": batch, "context": context, "dtype": dtype, "efficiency": efficiency}
    step = decode_step_time(target, chip, **load).seconds
    verify = verify_step_time(target, chip, guesses=guesses, **load).seconds
    guess = decode_step_time(draft, chip, **load).seconds if draft is not None else 0
    return tokens_per_round(acceptance, guesses) * step / (guesses * guess + verify)


def break_even_batch(chip, target, draft=None, *, acceptance: float, guesses: int, most: int = 65_536, **load) -> float:
    """Sequences at which `speedup_on` has fallen to 1: the next larger batch does better without guesses.

    Returns
    -------
    int or float
        0 where one sequence loses already; infinite where `most` sequences still gain.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> pair = model("llama-3.1-8b"), model("llama-3.2-1b")
    >>> [break_even_batch(chip("h100-sxm"), *pair, acceptance=0.7, guesses=4, context=n) for n in (256, 8192)]
    [161, inf]
    """

    def gains(batch):
        return speedup_on(chip, target, draft, acceptance=acceptance, guesses=guesses, batch=batch, **load) > 1

    low, high = 0, whole(most=most)
    if gains(high):
        return inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if gains(middle) else (low, middle)
    return low


def look_up(tokens: Sequence[int], guesses: int, *, longest: int = 3) -> tuple[int, ...]:
    """Guesses without a model: what followed when the last few tokens stood in the text before, most recently.

    Good where answers repeat their prompt: summaries, edits, code. Costs next to nothing, and offers nothing where the
    text is new.

    Parameters
    ----------
    tokens : sequence of int
        Prompt and answer so far.
    guesses : int
        Most guesses wanted.
    longest : int
        How many of the last tokens to look for; then one fewer, down to one.

    Returns
    -------
    tuple of int
        From none to `guesses` token ids.

    Examples
    --------
    >>> look_up([1, 2, 3, 9, 8, 1, 2, 3], 2)
    (9, 8)
    >>> look_up([1, 2, 3], 2)
    ()
    """
    guesses, longest = whole(guesses=guesses, longest=longest)
    tokens = list(tokens)
    for size in range(min(longest, len(tokens) - 1), 0, -1):
        end = tokens[-size:]
        for at in range(len(tokens) - size - 1, -1, -1):
            if tokens[at : at + size] == end:
                return tuple(tokens[at + size : at + size + guesses])
    return ()


def drawn_from(model: Model) -> Drafter:
    """A drafter that draws its guesses from `model`, one behind the other.

    Examples
    --------
    >>> draft = drawn_from(lambda tokens: [0.25, 0.75])
    >>> draft([1], 2, lambda: 0.5)
    ([1, 1], [[0.25, 0.75], [0.25, 0.75]])
    """

    def draft(tokens, guesses, uniform):
        made, opinions = [], []
        for _ in range(guesses):
            opinions.append(model([*tokens, *made]))
            made.append(draw(opinions[-1], uniform()))
        return made, opinions

    return draft


def looked_up(vocab_size: int, *, longest: int = 3) -> Drafter:
    """A drafter without a model: it offers what `look_up` finds in the text so far, each guess with all of its trust.

    Raises
    ------
    TypeError, ValueError
        If a number is not a whole one of at least 1.

    Examples
    --------
    >>> looked_up(4)([1, 2, 3, 1, 2], 1, lambda: 0.0)
    ((3,), [[0.0, 0.0, 0.0, 1.0]])
    """

    whole(vocab_size=vocab_size, longest=longest)

    def draft(tokens, guesses, uniform):
        made = look_up(tokens, guesses, longest=longest)
        return made, [[float(id == guess) for id in range(vocab_size)] for guess in made]

    return draft


def rounds(
    draft: Drafter, target: Model, prompt: Sequence[int], *, guesses: int, tokens: int, uniform: Callable[[], float]
) -> Iterator[Round]:
    """Write at least `tokens` tokens behind `prompt`, in rounds of at most `guesses` guesses.

    Examples
    --------
    A draft that is always right, a target that counts: two guesses and one more token a round.

    >>> counts = lambda text: [float(id == len(text) % 3) for id in range(3)]
    >>> [r.tokens for r in rounds(drawn_from(counts), counts, [0], guesses=2, tokens=5, uniform=lambda: 0.5)]
    [(1, 2, 0), (1, 2, 0)]
    """
    guesses, tokens = whole(guesses=guesses, tokens=tokens)
    text = list(prompt)
    while len(text) < len(prompt) + tokens:
        made, opinions = draft(text, guesses, uniform)
        behind = [target([*text, *made[:i]]) for i in range(len(made) + 1)]  # one pass of a real target
        found = judge(made, opinions, behind, uniform)
        text += found.tokens
        yield found


def _check_distribution(name, distribution):
    if not len(distribution) or not min(distribution) >= 0 or not abs(sum(distribution) - 1) < 1e-6:
        raise ValueError(f"{name} sums to {sum(distribution):g}; give probabilities, from 0 on, that sum to 1")


def _check(guesses, draft, target):
    if len(draft) != len(guesses) or len(target) != len(guesses) + 1:
        raise ValueError(
            f"{len(guesses)} guesses came with {len(draft)} distributions of the draft and {len(target)} of the "
            "target; give one a guess, and one more of the target"
        )
    for name, distributions in (("draft", draft), ("target", target)):
        for i, distribution in enumerate(distributions):
            if len(distribution) != len(target[0]):
                raise ValueError(
                    f"{name}[{i}] is over {len(distribution)} tokens and target[0] over {len(target[0])}; "
                    "draft and target must share their tokens"
                )
            _check_distribution(f"{name}[{i}]", distribution)
    for i, guess in enumerate(guesses):
        if not hasattr(guess, "__index__"):
            raise TypeError(f"guesses[{i}] is {guess!r}; give token ids")
        if not 0 <= guess < len(target[0]) or not draft[i][guess] > 0:
            raise ValueError(
                f"guesses[{i}] is {guess!r}, to which draft[{i}] gives nothing; a guess is drawn from its draft"
            )
