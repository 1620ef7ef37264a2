"""What a KV cache weighs: the formula, what an engine takes for it in blocks, and how many sequences a chip holds.

`cache_bytes` is attention with the same keys and values in every layer, from five numbers. What a true model keeps,
with windows, latents or recurrent layers, says `ModelSpec.kv_bytes`; that is the least that an engine can do.
`allocated_bytes` is what one takes that hands out whole blocks, `concurrency` how many sequences then fit beside the
weights. A. Vaswani et al., "Attention Is All You Need", 2017; N. Shazeer, "Fast Transformer Decoding", 2019; W. Kwon et
al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hwlab.costs.efficiency import efficiency_of
from hwlab.costs.placement import check_records, checked, needed_bytes, tensor_sizes, usable_bytes
from hwlab.costs.roofline import cache_dtype, kv_shards
from hwlab.formula import ceil, inside, minimum, whole
from hwlab.units import bytes_per_element


def cache_bytes(layers, kv_heads, head_dim, itemsize, tokens, sequences=1):
    """Bytes of keys and values of `sequences` sequences of `tokens` tokens, all layers alike and none forgetting.

    Parameters
    ----------
    layers, kv_heads, head_dim : number or Sym
        `kv_heads` counts heads of keys, not of queries: 8 in Llama 2 70B, which has 64 of those.
    itemsize : number or Sym
        Bytes of one element.
    tokens, sequences : number or Sym

    Raises
    ------
    ValueError
        If a number is below 0.

    Notes
    -----
    Two (a key and a value) times layers times heads times width times bytes times tokens.

    Examples
    --------
    Llama 2 70B at 4,096 tokens in 16 bits, and what it would be with a key head for each query head:

    >>> cache_bytes(80, 8, 128, 2, 4096), cache_bytes(80, 64, 128, 2, 4096)
    (1342177280, 10737418240)
    """
    inside(0, math.inf, layers=layers, kv_heads=kv_heads, head_dim=head_dim, itemsize=itemsize)
    inside(0, math.inf, tokens=tokens, sequences=sequences)
    return 2 * layers * kv_heads * head_dim * itemsize * tokens * sequences


def allocated_bytes(model, tokens, dtype: str, *, block_tokens: int = 16, windows: bool = False):
    """Bytes that an engine takes for one sequence of `tokens` tokens when it hands out whole blocks.

    Parameters
    ----------
    model : ModelSpec
    tokens : int
    dtype : str
        Of the cache.
    block_tokens : int
        Tokens in a block of one layer.
    windows : bool
        Whether blocks that lie wholly behind a window are given back. Engines that page all layers alike keep
        them, and then a window saves reading but no memory.

    Returns
    -------
    float
        The recurrent state included. Never less than ``model.kv_bytes(tokens, dtype)``, which is the ideal.

    Raises
    ------
    TypeError, ValueError
        If `tokens` or `block_tokens` is no whole number of at least 1, or the dtype is unknown.

    Examples
    --------
    gpt-oss-20b looks back 128 tokens in every second layer. 32 sequences of 8,192 tokens, ideal and all alike:

    >>> from hwlab.specs.models import model
    >>> m = model("gpt-oss-20b")
    >>> [round(32 * x / 2**30, 2) for x in (m.kv_bytes(8192, "bf16"), allocated_bytes(m, 8192, "bf16"))]
    [6.09, 12.0]
    """
    tokens, block_tokens = whole(tokens=tokens, block_tokens=block_tokens)
    size, blocks = bytes_per_element(dtype), ceil(tokens / block_tokens)
    held = float(model.state_bytes)
    for reach in model.reaches:
        live = blocks
        if windows and reach.limit is not None and not reach.keeps_all:
            # its ends rarely lie on the edges of blocks, so a window of n blocks touches one more
            live = minimum(blocks, ceil((reach.limit * reach.stride - 1) / block_tokens) + 1)
        held += (reach.kv_elements + reach.index_elements) / reach.stride * size * live * block_tokens
    return held


@dataclass(frozen=True, slots=True, kw_only=True)
class Concurrency:
    """How many sequences of one length some chips hold beside the weights.

    Attributes
    ----------
    sequences : int
        Over all chips; 0 where the weights alone do not fit, or leave too little for one.
    weight_bytes, kv_bytes, memory_bytes : float
        On each chip: the weights, the cache of one sequence, and what there is for both.
    tensor, data : int
        Chips that share every layer, and groups of them.
    copies : float
        How often each part of the cache is held within such a group: 1, or more where there are more chips than
        KV heads.
    """

    sequences: int
    weight_bytes: float
    kv_bytes: float
    memory_bytes: float
    tensor: int
    data: int
    copies: float

    @property
    def fits(self) -> bool:
        """Whether one sequence fits at all."""
        return self.sequences > 0


def concurrency(
    model,
    chip,
    *,
    tokens: int,
    chips: int = 1,
    dtype: str = "bf16",
    kv_dtype: str | None = None,
    tensor: int | None = None,
    usable: float | None = None,
) -> Concurrency:
    """How many sequences of `tokens` tokens `chips` of `chip` hold, by bytes alone.

    Parameters
    ----------
    model : ModelSpec
    chip : Chip
    tokens : int
        Prompt and answer of each.
    chips : int
    dtype, kv_dtype : str
        Of weights and cache; the cache by default as in `hwlab.estimate`.
    tensor : int, optional
        Chips that share every layer; by default the most that can.
    usable : float, optional
        Share of a chip's memory for weights and cache, above 0 and at most 1; by default that of the chip's kind.

    Returns
    -------
    Concurrency
        Activations and buffers come out of what `usable` leaves.

    Raises
    ------
    TypeError, ValueError
        If a record or a number is none, the layers cannot be cut into `tensor`, or the memory size is not published.

    Examples
    --------
    Eight H100 beside Llama 3.1 70B in bf16, at 4,096 tokens a request:

    >>> import hwlab
    >>> held = concurrency(hwlab.model("llama-3.1-70b"), hwlab.chip("h100-sxm"), chips=8, tokens=4096)
    >>> held.sequences, held.tensor, held.copies
    (355, 8, 1.0)
    """
    check_records(model, chip)
    chips, tokens = whole(chips=chips, tokens=tokens)
    if usable is not None and not 0 < usable <= 1:
        raise ValueError(f"usable is {usable!r}; give a share of the memory, above 0 and at most 1")
    sizes = [t for t in tensor_sizes(model, chip) if chips % t == 0]
    if tensor is None:
        tensor = sizes[-1]
    elif tensor not in sizes:
        raise ValueError(f"tensor is {tensor!r}; {chips} {chip.name} can share a layer as {', '.join(map(str, sizes))}")
    memory = usable_bytes(chip, efficiency_of(chip)) if usable is None else usable * _memory(chip)
    checked("tokens", tokens)
    weights, each = needed_bytes(model, 1, tokens, dtype, kv_dtype or cache_dtype(dtype), tensor, 1)
    held = math.floor((memory - weights) / each) if memory > weights else 0
    data = chips // tensor
    return Concurrency(
        sequences=data * held,
        weight_bytes=weights,
        kv_bytes=each,
        memory_bytes=memory,
        tensor=tensor,
        data=data,
        copies=tensor / kv_shards(model, tensor),
    )


def _memory(chip):
    if chip.memory_bytes is None:
        raise ValueError(f"{chip.name} has no published memory size")
    return chip.memory_bytes
