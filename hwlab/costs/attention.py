"""The bytes of attention: scores written out and read back, or never held.

``softmax(q k^T / sqrt(d)) v`` as three kernels (a product, a softmax, a product) moves the scores of all pairs four
times. Block by block with a running maximum and sum it moves queries and outputs once, and keys and values once for
each block of queries. T. Dao et al., "FlashAttention", NeurIPS 2022, arXiv:2205.14135, theorem 2, has the orders;
here the bytes are counted exactly, and a test counts the same in the kernel of `hwlab.kernels.attention`.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwlab.formula import whole


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionTraffic:
    """Bytes between slow and fast memory, by array.

    Attributes
    ----------
    q, k, v, out : int
        Of queries, keys, values and outputs.
    scores : int
        Of scores and weights of all pairs, written and read.
    """

    q: int
    k: int
    v: int
    out: int
    scores: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.q + self.k + self.v + self.out + self.scores


def naive_traffic(
    q_len: int,
    kv_len: int,
    *,
    heads: int,
    kv_heads: int,
    head_dim: int,
    itemsize: int,
    score_itemsize: int | None = None,
) -> AttentionTraffic:
    """Bytes of attention in three kernels: scores are written, read for the softmax, written as weights, read again.

    Parameters
    ----------
    q_len, kv_len : int
        Queries, and keys.
    heads, kv_heads, head_dim : int
    itemsize : int
        Bytes an element of q, k, v and the output.
    score_itemsize : int, optional
        Of scores and weights; as `itemsize` by default.

    Raises
    ------
    TypeError, ValueError
        If a number is no whole number of at least 1, or `kv_heads` does not divide `heads`.

    Examples
    --------
    Two heads of 16,384 tokens in float32 move 8.6 GB, of which q, k, v and the output are 34 MB:

    >>> moved = naive_traffic(16384, 16384, heads=2, kv_heads=2, head_dim=64, itemsize=4)
    >>> round(moved.total / 1e9, 1), round((moved.total - moved.scores) / 1e6)
    (8.6, 34)
    """
    _checked(q_len=q_len, kv_len=kv_len, heads=heads, kv_heads=kv_heads, head_dim=head_dim, itemsize=itemsize)
    once, cached = heads * q_len * head_dim * itemsize, kv_heads * kv_len * head_dim * itemsize
    scores = 4 * heads * q_len * kv_len * (score_itemsize or itemsize)
    return AttentionTraffic(q=once, k=cached, v=cached, out=once, scores=scores)


def blocked_traffic(
    q_len: int,
    kv_len: int,
    *,
    heads: int,
    kv_heads: int,
    head_dim: int,
    itemsize: int,
    block_q: int,
    block_k: int,
    causal: bool = False,
) -> AttentionTraffic:
    """Bytes of attention block by block, keys innermost, heads outermost, edge blocks included.

    A block of keys that is already there, because the step before used it, is not fetched. Under `causal` queries are
    the last `q_len` of `kv_len` tokens, and blocks of keys that no query of the block sees are not fetched either.

    Parameters
    ----------
    block_q, block_k : int
        Queries and keys of a block.
    q_len, kv_len, heads, kv_heads, head_dim, itemsize
        As for `naive_traffic`.

    Raises
    ------
    TypeError, ValueError
        As `naive_traffic`, or if causal queries are more than keys.

    Examples
    --------
    The same two heads in blocks of 256 queries: each key is read 64 times, and 8 times fewer bytes move.

    >>> shape = {"heads": 2, "kv_heads": 2, "head_dim": 64, "itemsize": 4}
    >>> moved = blocked_traffic(16384, 16384, block_q=256, block_k=512, **shape)
    >>> moved.k // (2 * 16384 * 64 * 4), round(naive_traffic(16384, 16384, **shape).total / moved.total, 1)
    (64, 7.9)
    """
    _checked(q_len=q_len, kv_len=kv_len, heads=heads, kv_heads=kv_heads, head_dim=head_dim, itemsize=itemsize)
    _checked(block_q=block_q, block_k=block_k)
    if causal and q_len > kv_len:
        raise ValueError(f"causal attention of {q_len} queries among {kv_len} keys; give at least as many keys")
    fetched, blocks = 0, 0  # keys of all heads; blocks of keys that the last block of queries saw
    for head in range(heads):
        if head % (heads // kv_heads) == 0:
            blocks = 0  # other keys
        for first in range(0, q_len, block_q):
            here = min(block_k, kv_len) if blocks == 1 else 0  # the first block of keys is the one just used
            seen = min(kv_len - q_len + first + block_q, kv_len) if causal else kv_len
            blocks = -(-seen // block_k)
            fetched += min(blocks * block_k, kv_len) - here
    once, keys = heads * q_len * head_dim * itemsize, fetched * head_dim * itemsize
    return AttentionTraffic(q=once, k=keys, v=keys, out=once, scores=0)


def _checked(**numbers):
    whole(**numbers)
    if numbers.get("heads", 0) % numbers.get("kv_heads", 1):
        raise ValueError(f"kv_heads is {numbers['kv_heads']}; give a divisor of the {numbers['heads']} heads")
