"""The parts a decoder is made of, each with its weights, its arithmetic and what it remembers.

A layer is a sum of parts (`attention` + `mlp` + norms), a model a sum of layers. Every count below is one
layer's; `Part.times` repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hwlab.formula import floor, maximum, minimum

__all__ = ["Matmul", "Part", "Reach"]


@dataclass(frozen=True, slots=True)
class Matmul:
    """One weight product ``x[tokens, k] @ w[k, n]``.

    `count` is how often one token passes through such a product in a forward pass, `stored` how many such
    matrices are held: they differ for experts (8 of 256) and for a head tied to the embedding table.
    """

    name: str
    k: int
    n: int
    count: int
    kind: str  # "attention", "recurrent", "mlp", "expert", "router" or "head"
    stored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far like attention layers look back, what a look costs and what it keeps.

    A token at position t (the first is 1) attends to ``min(floor(t / stride), limit)`` entries, or, when
    `chunked`, to those of its own chunk of `limit` tokens.
    """

    limit: int | None = None  # entries; None: everything so far
    stride: int = 1  # tokens that share one cached entry
    chunked: bool = False
    keeps_all: bool = False  # attends to `limit` chosen entries but must keep every one
    pair_flop: float = 0  # FLOP for one query token and one entry, all heads and layers
    absorbed_flop: float = 0  # latent attention: the same, taken in the latent space (0: not latent)
    expand_flop: float = 0  # latent attention: FLOP to expand one cached entry into keys and values
    kv_elements: float = 0  # cached numbers an entry
    index_elements: float = 0  # cached numbers an entry of a sparse-attention indexer

    @property
    def key(self):
        return self.limit, self.stride, self.chunked, self.keeps_all, self.absorbed_flop > 0

    def attended(self, context):
        """Entries that the token at position `context` attends to."""
        if self.chunked:
            return context - self.limit * floor(maximum(context - 1, 0) / self.limit)
        entries = context if self.stride == 1 else floor(context / self.stride)
        return entries if self.limit is None else minimum(entries, self.limit)

    def pairs_until(self, context):
        """The sum of `attended` over the positions 1 ... `context`."""
        if self.chunked:
            chunks = floor(context / self.limit)
            rest = context - chunks * self.limit
            return (chunks * (self.limit * (self.limit + 1)) + rest * (rest + 1)) / 2
        if self.stride == 1:
            if self.limit is None:
                return context * (context + 1) / 2
            near = minimum(context, self.limit)
            return near * (near + 1) / 2 + self.limit * (context - near)
        near = context if self.limit is None else minimum(context, self.limit * self.stride)
        whole = floor(near / self.stride)
        pairs = self.stride * whole * (whole - 1) / 2 + whole * (near - whole * self.stride + 1)
        return pairs if self.limit is None else pairs + self.limit * (context - near)

    def kept(self, tokens):
        """Entries in the cache after `tokens` tokens."""
        entries = tokens if self.stride == 1 else floor(tokens / self.stride)
        return entries if self.limit is None or self.keeps_all else minimum(entries, self.limit)

    def flop(self, new_tokens, context):
        """FLOP of attention for `new_tokens` after `context` cached ones, the cheaper order of latent attention."""
        pairs = self.pairs_until(context + new_tokens) - self.pairs_until(context)
        if not self.absorbed_flop:
            return self.pair_flop * pairs
        return minimum(self.absorbed_flop * pairs, self.pair_flop * pairs + self.expand_flop * context)

    def times(self, count):
        scaled = ("pair_flop", "absorbed_flop", "expand_flop", "kv_elements", "index_elements")
        return replace(self, **{name: count * getattr(self, name) for name in scaled})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Weights and work of one part of a layer; parts add."""

    matmuls: tuple[Matmul, ...] = ()
    vectors: int = 0  # parameters outside products: norms, biases, convolutions
    expert_vectors: int = 0  # the same, inside routed experts
    reaches: tuple[Reach, ...] = ()
    state_bytes: int = 0  # recurrent state of one sequence
    scan_flop: int = 0  # FLOP a token of a recurrence or convolution
    reductions: int = 0  # sums of the hidden state over the chips that share the layer

    def __add__(self, other: Part) -> Part:
        return Part(
            matmuls=self.matmuls + other.matmuls,
            vectors=self.vectors + other.vectors,
            expert_vectors=self.expert_vectors + other.expert_vectors,
            reaches=self.reaches + other.reaches,
            state_bytes=self.state_bytes + other.state_bytes,
            scan_flop=self.scan_flop + other.scan_flop,
            reductions=self.reductions + other.reductions,
        )

    def times(self, count: int) -> Part:
        return Part(
            matmuls=tuple(replace(m, count=count * m.count, stored=count * m.stored) for m in self.matmuls),
            vectors=count * self.vectors,
            expert_vectors=count * self.expert_vectors,
            reaches=tuple(reach.times(count) for reach in self.reaches),
            state_bytes=count * self.state_bytes,
            scan_flop=count * self.scan_flop,
            reductions=count * self.reductions,
        )


def weights(*shapes: tuple[str, int, int], kind: str, count: int = 1, stored: int = 1, bias: bool = False) -> Part:
    """A part of plain products from (name, k, n), each with a bias of n when `bias`."""
    return Part(
        matmuls=tuple(Matmul(name, k, n, count, kind, stored) for name, k, n in shapes),
        vectors=sum(n for _, _, n in shapes) if bias else 0,
    )


def attention(
    hidden: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    *,
    value_dim: int | None = None,
    limit: int | None = None,
    chunked: bool = False,
    qkv_bias: bool = False,
    out_bias: bool = False,
    output_gate: bool = False,
    extra: int = 0,
) -> Part:
    """Multi-head, grouped-query or multi-query attention; `extra` counts norms of q and k, sinks and the like."""
    value_dim = value_dim or head_dim
    shapes = [("q", hidden, heads * head_dim), ("k", hidden, kv_heads * head_dim), ("v", hidden, kv_heads * value_dim)]
    if output_gate:
        shapes.append(("attention_gate", hidden, heads * value_dim))
    return (
        weights(*shapes, kind="attention", bias=qkv_bias)
        + weights(("o", heads * value_dim, hidden), kind="attention", bias=out_bias)
        + Part(
            vectors=extra,
            reaches=(
                Reach(
                    limit=limit,
                    chunked=chunked,
                    pair_flop=2 * heads * (head_dim + value_dim),
                    kv_elements=kv_heads * (head_dim + value_dim),
                ),
            ),
        )
    )


def latent_attention(
    hidden: int,
    heads: int,
    *,
    q_rank: int | None,
    kv_rank: int,
    nope_dim: int,
    rope_dim: int,
    value_dim: int,
    bias: bool = False,
    topk: int | None = None,
) -> Part:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): the cache holds one latent and one rotary key.

    Scores are taken either on expanded keys and values, or in the latent space with the expansion absorbed
    into the query and the output. For one token the weight products cost the same either way.
    """
    qk_dim = nope_dim + rope_dim
    if q_rank is None:
        query = weights(("q", hidden, heads * qk_dim), kind="attention")
    else:
        query = weights(("q_a", hidden, q_rank), kind="attention", bias=bias)
        query += weights(("q_b", q_rank, heads * qk_dim), kind="attention") + Part(vectors=q_rank)
    expansion = heads * (nope_dim + value_dim)
    return (
        query
        + weights(("kv_a", hidden, kv_rank + rope_dim), kind="attention", bias=bias)
        + weights(("kv_b", kv_rank, expansion), kind="attention")
        + weights(("o", heads * value_dim, hidden), kind="attention", bias=bias)
        + Part(
            vectors=kv_rank,
            reaches=(
                Reach(
                    limit=topk,
                    keeps_all=topk is not None,
                    pair_flop=2 * heads * (qk_dim + value_dim),
                    absorbed_flop=2 * heads * (2 * kv_rank + rope_dim),
                    expand_flop=2 * kv_rank * expansion,
                    kv_elements=kv_rank + rope_dim,
                ),
            ),
        )
    )


def mlp(hidden: int, width: int, *, gated: bool = True, bias: bool = False, kind: str = "mlp", label: str = "") -> Part:
    """A feed-forward block: up and down, and a gate beside up when `gated`."""
    shapes = [(f"{label}up", hidden, width), (f"{label}down", width, hidden)]
    if gated:
        shapes.insert(0, (f"{label}gate", hidden, width))
    return weights(*shapes, kind=kind, bias=bias)


def experts(
    hidden: int,
    width: int,
    *,
    num: int,
    chosen: int,
    gated: bool = True,
    bias: bool = False,
    router_bias: bool = False,
) -> Part:
    """`num` routed experts, `chosen` of them for a token, and the router that picks."""
    shapes = [("expert_up", hidden, width), ("expert_down", width, hidden)]
    if gated:
        shapes.insert(0, ("expert_gate", hidden, width))
    routed = weights(*shapes, kind="expert", count=chosen, stored=num)
    return (
        weights(("router", hidden, num), kind="router", bias=router_bias)
        + routed
        + Part(expert_vectors=num * sum(n for _, _, n in shapes) if bias else 0)
    )


def gated_delta_net(
    hidden: int, *, key_heads: int, value_heads: int, key_dim: int, value_dim: int, conv: int, state_itemsize: int
) -> Part:
    """Linear attention by the gated delta rule (arXiv 2412.06464): a state of key_dim x value_dim a value head.

    A token decays the state (1 FLOP an element), reads what the key recalls (2), writes the correction (2)
    and reads with the query (2).
    """
    keys, values = key_heads * key_dim, value_heads * value_dim
    channels, state = 2 * keys + values, value_heads * key_dim * value_dim
    return (
        weights(("qkvz", hidden, 2 * keys + 2 * values), kind="recurrent")
        + weights(("beta_alpha", hidden, 2 * value_heads), kind="recurrent")
        + weights(("o", values, hidden), kind="recurrent")
        + Part(
            vectors=channels * conv + 2 * value_heads + value_dim,
            state_bytes=state * state_itemsize + channels * (conv - 1) * 2,
            scan_flop=7 * state + 2 * conv * channels,
        )
    )


def lightning_attention(hidden: int, heads: int, head_dim: int, *, state_itemsize: int) -> Part:
    """Linear attention with a fixed decay a head (MiniMax-01, arXiv 2501.08313): decay 1, write 2, read 2 FLOP."""
    width, state = heads * head_dim, heads * head_dim**2
    return weights(
        ("qkv", hidden, 3 * width), ("o", width, hidden), ("output_gate", hidden, width), kind="recurrent"
    ) + Part(vectors=width, state_bytes=state * state_itemsize, scan_flop=5 * state)


def mamba2(
    hidden: int,
    *,
    heads: int,
    head_dim: int,
    state_dim: int,
    groups: int,
    conv: int,
    conv_bias: bool,
    bias: bool,
    state_itemsize: int,
) -> Part:
    """Mamba-2 (arXiv 2405.21060): a state of head_dim x state_dim a head; decay 1, write 2, read 2 FLOP an element."""
    inner = heads * head_dim
    channels, state = inner + 2 * groups * state_dim, inner * state_dim
    return (
        weights(("in", hidden, inner + channels + heads), kind="recurrent", bias=bias)
        + weights(("out", inner, hidden), kind="recurrent", bias=bias)
        + Part(
            vectors=channels * (conv + conv_bias) + 3 * heads + inner,
            state_bytes=state * state_itemsize + channels * (conv - 1) * 2,
            scan_flop=5 * state + 2 * conv * channels + 2 * inner,
        )
    )


def mamba(
    hidden: int,
    *,
    inner: int,
    state_dim: int,
    rank: int,
    conv: int,
    conv_bias: bool,
    bias: bool,
    extra: int = 0,
    state_itemsize: int,
) -> Part:
    """Mamba (arXiv 2312.00752): a state of `state_dim` numbers a channel."""
    state = inner * state_dim
    return (
        weights(("in", hidden, 2 * inner), kind="recurrent", bias=bias)
        + weights(("x", inner, rank + 2 * state_dim), kind="recurrent")
        + weights(("dt", rank, inner), kind="recurrent", bias=True)
        + weights(("out", inner, hidden), kind="recurrent", bias=bias)
        + Part(
            vectors=inner * (conv + conv_bias) + state + inner + extra,
            state_bytes=state * state_itemsize + inner * (conv - 1) * 2,
            scan_flop=6 * state + 2 * conv * inner + 2 * inner,
        )
    )
