"""The claims about paging: what naive allocators waste, whether pages end it, what prompts that begin alike share."""

from __future__ import annotations

from functools import cache

from hwlab.formula import number
from hwlab.serving.contiguous import RESERVES
from hwlab.serving.pager import Pager
from hwlab.specs.claims import claim
from hwlab.specs.paging import measured
from hwlab.studies.fragmentation import lengths, shares
from hwlab.studies.trials import Finding, judged, judged_by_choice, trial

CHATS = ("ShareGPT", measured("kwon-length-sharegpt-prompt"), measured("kwon-length-sharegpt-answer"))
INSTRUCTIONS = ("Alpaca", measured("kwon-length-alpaca-prompt"), measured("kwon-length-alpaca-answer"))
LONGEST = 2048  # tokens that the model of the paper's figure 2 allows
SPREAD = 1.2  # of the logarithms of lengths; conversations have about so much
POINTS = 2  # by which a share may miss the claim's range: the figures of the source are rounded
NEARLY_NONE = 0.04  # what the authors of PagedAttention call near-zero waste


@cache
def pool_states(
    traffic=CHATS, longest: int = LONGEST, block_tokens: int = 16, num_slots: int = 16384, steps: int = 1000
) -> dict[str, dict[str, float]]:
    """Shares of a saturated pool by allocator, with lengths of the means that the paper gives.

    Examples
    --------
    >>> states = pool_states()
    >>> {name: round(100 * share["tokens"]) for name, share in states.items()}
    {'maximum': 21, 'power of two': 30, 'oracle': 35, 'paged': 97}
    """
    _, prompt, answer = traffic
    requests = lengths(400, prompt=prompt, answer=answer, spread=SPREAD, longest=longest, seed=0)
    return shares(requests, num_slots=num_slots, longest=longest, block_tokens=block_tokens, steps=steps)


def blocks_of_requests(requests: int, shared: int, own: int, *, block_tokens: int = 16, tenants: int = 1) -> int:
    """Blocks that so many requests hold at once, the first `shared` tokens of each alike; tenants find only their own.

    Examples
    --------
    >>> blocks_of_requests(10, 160, 32), blocks_of_requests(10, 160, 32, tenants=10)
    (30, 120)
    """
    pager = Pager(requests * -(-(shared + own) // block_tokens), block_tokens, seed=b"trial")
    for i in range(requests):
        prompt = [*range(shared), *range(10_000 * (i + 1), 10_000 * (i + 1) + own)]
        pager.open(i, prompt, salt=f"{i % tenants}".encode() if tenants > 1 else b"")
        pager.commit()
    return pager.num_blocks - pager.num_free


@trial("C118")
def common_prefixes_are_shared(requests=32, shared=1000, own=200, block_tokens=16) -> Finding:
    """Paging lets requests with common prefixes share memory."""
    alone = requests * -(-(shared + own) // block_tokens)
    held = blocks_of_requests(requests, shared, own, block_tokens=block_tokens)
    told = f"{requests} prompts of {shared + own:,} tokens, the first {shared:,} alike"
    return Finding(
        recomputed=f"{told}, hold {held:,} blocks of {block_tokens} instead of {alone:,}", verdict=judged(held < alone)
    )


@trial("C119")
def waste_of_naive_allocators(traffic=CHATS, longest=LONGEST) -> Finding:
    """Naive implementations wasted 60 to 80 % of the cache to fragmentation."""
    low, high = map(float, claim("C119").figures[0].removesuffix("%").split("-"))
    states = pool_states(traffic, longest)
    wasted = [100 * (1 - states[reserve]["tokens"]) for reserve in RESERVES]
    told = f"{number(min(wasted), 2)} to {number(max(wasted), 2)} % by allocator, at lengths like those of {traffic[0]}"
    return Finding(
        recomputed=f"{told}, of {longest:,} tokens at most",
        verdict=judged(all(low - POINTS <= share <= high + POINTS for share in wasted)),
    )


@trial("C120")
def paging_ends_fragmentation(traffics=(CHATS, INSTRUCTIONS), block_tokens=16) -> Finding:
    """Paging eliminates that fragmentation."""
    left = {}
    for traffic in traffics:
        states = pool_states(traffic, LONGEST, block_tokens, 8192, 300)["paged"]
        left[traffic[0]] = states["internal"] / (states["internal"] + states["tokens"])
    told = " and ".join(f"{number(100 * share, 2)} % at lengths like those of {name}" for name, share in left.items())
    return Finding(
        recomputed=f"Half a block a sequence stays empty: {told}, in blocks of {block_tokens}",
        verdict=judged_by_choice(*(share < NEARLY_NONE for share in left.values())),
    )
