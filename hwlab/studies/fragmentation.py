"""How much of a KV pool holds tokens: allocators in one run of slots, and the pager, under one saturated load.

A queue never empties. Whoever fits begins, every sequence gains a token a step, and who has ended leaves: what the pool
holds, averaged over the steps after it has filled, is what figure 2 of the PagedAttention paper (W. Kwon et al., SOSP
2023) shows. With somebody always waiting, free slots are slots that serve nobody because of where they lie.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, cycle, islice

from hwlab.formula import inside, positive, whole
from hwlab.serving.contiguous import RESERVES, Contiguous
from hwlab.serving.pager import OutOfBlocks, Pager

STATES = ("tokens", "reserved", "internal", "external")


def lengths(num: int, *, prompt: float, answer: float, spread: float, longest: int, seed: int) -> list[tuple[int, int]]:
    """Made-up requests: pairs of tokens of a prompt and of its answer, lognormal around the means, cut at `longest`.

    Parameters
    ----------
    prompt, answer : float
        Mean tokens, before the cut.
    spread : float
        Standard deviation of the logarithm. Near 1.2 for conversations.

    Raises
    ------
    TypeError, ValueError
        If a number is none of those allowed, or next to none of the lengths stay below `longest`.

    Examples
    --------
    >>> lengths(3, prompt=161, answer=338, spread=1.2, longest=2048, seed=1)
    [(162, 162), (343, 556), (52, 709)]
    """
    num, longest = whole(num=num, longest=longest)
    positive(prompt=prompt, answer=answer)
    inside(0, 5, spread=spread)
    generate = random.Random(seed)

    def one(mean):
        return max(1, round(mean * generate.lognormvariate(-(spread**2) / 2, spread)))

    pairs = []
    for _ in range(1000 * num):
        pair = one(prompt), one(answer)
        if sum(pair) <= longest:
            pairs.append(pair)
            if len(pairs) == num:
                return pairs
    raise ValueError(f"longest is {longest}; prompts of {prompt} and answers of {answer} tokens are nearly all longer")


def shares(
    requests: Sequence[tuple[int, int]], *, num_slots: int, longest: int, block_tokens: int = 16, steps: int = 1500
) -> dict[str, dict[str, float]]:
    """Share of the pool in each state, by allocator.

    Parameters
    ----------
    requests : sequence of (int, int)
        Tokens of prompt and answer; begun anew when they are through.
    num_slots : int
        Slots in the pool, a power of two.
    longest : int
        Most tokens a sequence may have.
    steps : int
        Steps to average over, after as many to fill the pool.

    Returns
    -------
    dict of dict
        ``result["paged"]["tokens"]`` and so on; the four states of an allocator sum to 1.

    Raises
    ------
    TypeError, ValueError
        If there is no request, or a number is none of those allowed.

    Examples
    --------
    The paper's figure 2 shows 20, 27, 38 and 96 % for requests of these mean lengths:

    >>> requests = lengths(200, prompt=161, answer=338, spread=1.2, longest=2048, seed=0)
    >>> found = shares(requests, num_slots=16384, longest=2048, steps=300)
    >>> {name: f"{share['tokens']:.0%}" for name, share in found.items()}
    {'maximum': '19%', 'power of two': '30%', 'oracle': '39%', 'paged': '97%'}
    """
    block_tokens, steps = whole(block_tokens=block_tokens, steps=steps)
    if not requests:
        raise ValueError("there are no requests; give one or more")
    pools = {reserve: Contiguous(num_slots, reserve=reserve, longest=longest) for reserve in RESERVES}
    found = {name: _average(_contiguous(pool, cycle(requests)), num_slots, steps) for name, pool in pools.items()}
    pager = Pager(num_slots // block_tokens, block_tokens)
    return found | {"paged": _average(_paged(pager, cycle(requests)), num_slots, steps)}


def empty_in_last_blocks(
    requests: Sequence[tuple[int, int]], *, num_slots: int, block_tokens: int, steps: int = 300
) -> float:
    """Share of the slots in blocks held by a pager that are empty, under the same load.

    Examples
    --------
    >>> requests = lengths(200, prompt=161, answer=338, spread=1.2, longest=2048, seed=0)
    >>> [round(empty_in_last_blocks(requests, num_slots=8192, block_tokens=size), 3) for size in (16, 256)]
    [0.02, 0.304]
    """
    pager = Pager(num_slots // block_tokens, block_tokens)
    share = _average(_paged(pager, cycle(requests)), num_slots, steps)
    return share["internal"] / (share["internal"] + share["tokens"])


def mean_live_tokens(requests: Sequence[tuple[int, int]]) -> float:
    """Tokens of a sequence on average over its life: from its prompt to its last token, one more each step.

    Examples
    --------
    >>> mean_live_tokens([(100, 40)])
    120.5
    """
    lives = [(answer, prompt + (answer + 1) / 2) for prompt, answer in requests]
    return sum(steps * tokens for steps, tokens in lives) / sum(steps for steps, _ in lives)


def _average(states: Iterator, num_slots, steps) -> dict[str, float]:
    sums = dict.fromkeys(STATES, 0)
    for waste in islice(states, steps, 2 * steps):
        for state in STATES:
            sums[state] += getattr(waste, state) + (waste.free if state == "external" else 0)
    return {state: total / steps / num_slots for state, total in sums.items()}


def _contiguous(pool: Contiguous, queue: Iterable):
    left, names, (prompt, answer) = {}, count(), next(queue)
    while True:
        try:
            while True:
                name = next(names)
                pool.open(name, prompt, answer=answer)
                left[name], (prompt, answer) = answer, next(queue)
        except OutOfBlocks:
            yield pool.waste()
        for name in list(left):
            pool.grow(name, 1)
            _step(pool, left, name)


def _paged(pager: Pager, queue: Iterable):
    left, names, (prompt, answer) = {}, count(), next(queue)
    while True:
        try:
            while True:
                name = next(names)
                pager.open(name, prompt)
                left[name], (prompt, answer) = answer, next(queue)
        except OutOfBlocks:
            yield pager.waste()
        for name in list(left):
            while name in left:
                try:
                    pager.grow(name, 1)
                except OutOfBlocks:  # the last to begin makes room, and is not taken up again
                    last = next(reversed(left))
                    pager.free(last)
                    del left[last]
                else:
                    _step(pager, left, name)
                    break


def _step(pool, left, name):
    left[name] -= 1
    if not left[name]:
        pool.free(name)
        del left[name]
