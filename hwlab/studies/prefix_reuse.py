"""How much of the prompts a prefix cache finds again: traffic of conversations, and the share found by capacity.

A turn of a conversation begins with all that was said before, so its prompt repeats the one before it, if the cache
still has it. What decides is how much other traffic came between. An LRU cache of any size can be told from one pass
over the traffic, by the stack distances of chapter 3 (R. L. Mattson et al., IBM Systems Journal 9(2), 1970), where a
request leaves its blocks from the last to the first: then no block outlives those before it.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable, Sequence

from hwlab.formula import positive, whole
from hwlab.serving.pager import Pager
from hwlab.specs.traces import MOONCAKE_BLOCK, Recorded

LONGEST = 128_000
"""Most tokens of a prompt that is made up."""


def conversations(
    num: int,
    *,
    prompt: float = 5300,
    added: float = 800,
    spread: float = 1.2,
    answer: float = 343,
    go_on: float = 0.38,
    between: float = 420,
    between_spread: float = 1.1,
    per_s: float = 3.4,
    seed: int = 0,
) -> list[Recorded]:
    """Made-up requests of conversations that share one block of instructions.

    A request is the first of a conversation, or a later turn: the prompt before, its answer, and new text. The defaults
    are set so that prompts and what is found of them are close to the conversation trace of Mooncake (R. Qin et al.,
    FAST 2025): a mean prompt of 12,000 tokens, a median of 6,900, and 36 % of all blocks seen before.

    Parameters
    ----------
    num : int
        Requests.
    prompt, added, spread : float
        Median tokens of a first prompt and of what a later turn adds, lognormal, and the spread of their logarithms.
    answer : float
        Mean tokens of an answer, exponential.
    go_on : float
        Chance that a turn is followed by another.
    between, between_spread : float
        Median number of requests of others between two turns, lognormal, and the spread of its logarithm.
    per_s : float
        Requests a second, Poisson.

    Raises
    ------
    TypeError, ValueError
        If a number is not positive, or `go_on` is not below 1.

    Examples
    --------
    >>> traffic = conversations(2000)
    >>> [len(request.blocks) for request in traffic[:4]]
    [27, 25, 12, 4]
    """
    whole(num=num)
    positive(prompt=prompt, added=added, spread=spread, answer=answer, between=between, between_spread=between_spread)
    positive(per_s=per_s)
    if not 0 <= go_on < 1:
        raise ValueError(f"go_on is {go_on}; give a chance of at least 0 and below 1")
    chance, clock, fresh = random.Random(seed), 0.0, 1
    due: list[tuple[float, int, int, tuple[int, ...]]] = []  # turn, tie-breaker, tokens said, full blocks of them
    found = []
    for number in range(num):
        clock += chance.expovariate(per_s)
        if due and due[0][0] <= number:
            _, _, said, known = heapq.heappop(due)
            tokens = said + max(1, round(added * chance.lognormvariate(0, spread)))
        else:
            known = (0,)  # the instructions that all share
            tokens = MOONCAKE_BLOCK + max(1, round(prompt * chance.lognormvariate(0, spread)))
        tokens = min(tokens, LONGEST)
        blocks = known[: tokens // MOONCAKE_BLOCK]
        more = -(-tokens // MOONCAKE_BLOCK) - len(blocks)
        blocks += tuple(range(fresh, fresh + more))
        fresh += more
        wrote = max(1, round(chance.expovariate(1 / answer)))
        found.append(Recorded(arrival_s=clock, prompt_tokens=tokens, output_tokens=wrote, blocks=blocks))
        if chance.random() < go_on:
            wait = between * chance.lognormvariate(0, between_spread)
            heapq.heappush(due, (number + wait, number, tokens + wrote, blocks[: tokens // MOONCAKE_BLOCK]))
    return found


def found_by_capacity(traffic: Iterable[Recorded], capacities: Sequence[int]) -> dict[int, float]:
    """Share of all blocks of all prompts that an LRU prefix cache finds, for caches of several sizes.

    Parameters
    ----------
    traffic : iterable of Recorded
        With the blocks of their prompts.
    capacities : sequence of int
        Blocks of the cache.

    Raises
    ------
    TypeError, ValueError
        If a capacity is no whole number or cannot hold the longest prompt, or no request names a block.

    Examples
    --------
    >>> found = found_by_capacity(conversations(12000), [1000, 10000, 50000])
    >>> {blocks: round(share, 2) for blocks, share in found.items()}
    {1000: 0.05, 10000: 0.21, 50000: 0.35}
    """
    import numpy as np

    from hwlab.costs.cache_replay import miss_ratio_curve

    lines: list[int] = []
    longest = 0
    for request in traffic:
        lines += request.blocks  # looked up from the first to the last
        lines += reversed(request.blocks)  # and left from the last to the first
        longest = max(longest, len(request.blocks))
    if not lines:
        raise ValueError("no request names the blocks of its prompt; give a trace that does")
    for capacity in capacities:
        whole(capacity=capacity)
        if capacity < longest:
            raise ValueError(f"a cache of {capacity} blocks cannot hold the longest prompt, of {longest}")
    sizes, misses = miss_ratio_curve([(np.array(lines, dtype=np.int64), np.zeros(len(lines), bool))])
    return {capacity: float(1 - 2 * misses[min(capacity, len(sizes)) - 1]) for capacity in capacities}


def found_by_pager(traffic: Iterable[Recorded], num_blocks: int) -> float:
    """The same share as the real `Pager` finds it, one request after the other.

    A block of the trace stands for two tokens here, in blocks of two: the pager neither knows nor cares how many a
    name stands for. Each prompt is followed by a token of its own, so that all of it can be found; the block of that
    token is never full, hence never kept, and what is kept has one block less.

    Raises
    ------
    NeverFits
        If a prompt has more blocks than the pool.

    Examples
    --------
    >>> traffic = conversations(2000)
    >>> round(found_by_pager(traffic, 5001), 9) == round(found_by_capacity(traffic, [5000])[5000], 9)
    True
    """
    pager = Pager(num_blocks, 2, seed=b"prefix reuse")
    found = asked = 0
    for number, request in enumerate(traffic):
        tokens = [block for block in request.blocks for _ in range(2)]
        found += pager.open(number, [*tokens, 0]).found // 2
        asked += len(request.blocks)
        pager.commit()
        pager.free(number)
    return found / asked
