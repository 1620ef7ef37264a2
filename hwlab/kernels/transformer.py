"""A Llama-style decoder, small enough to read in one sitting.

Root-mean-square norms, rotary positions, heads of queries that share heads of keys and values, a gated feed-forward
block. `decoder` is the model; what it leaves open is how attention comes by the keys and values of earlier tokens, and
there the three faces differ: `whole` computes them all again, the equation as it reads and the oracle of every other
way; `contiguous` keeps them in one array for each layer; `paged` keeps them in blocks that lie anywhere.

H. Touvron et al., "LLaMA", arXiv:2302.13971, 2023; J. Su et al., "RoFormer", arXiv:2104.09864, 2021; B. Zhang and R.
Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019; N. Shazeer, "GLU Variants Improve Transformer",
arXiv:2002.05202, 2020; J. Ainslie et al., "GQA", arXiv:2305.13245, 2023.

Layers are written out one by one, not scanned over stacked arrays: a scan copies each layer's weights before it reads
them. Matrices that read the same input are one, since each array handed to a compiled function costs about a
microsecond. A fused matrix keeps the heads apart, so that a cut between heads is a cut of the matrix. Every matrix has
the hidden vector's elements first, so that its rows in memory are long: a product with one vector, which only reads
the matrix, then reads it at up to 1.4 times the speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hwlab.kernels.attention import grouped_attention
from hwlab.kernels.paged_attention import paged_attention
from hwlab.specs.models import ModelSpec
from hwlab.specs.models.config import ConfigError, load, shown


class Stretch(NamedTuple):
    """How Llama 3 stretches slow rotations over a longer context: `rope_scaling` of a configuration."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_position_embeddings: float


@dataclass(frozen=True, kw_only=True)
class Config:
    """What the code needs to know of a model beside its weights.

    Attributes
    ----------
    num_layers, hidden_size, num_heads, num_kv_heads, head_dim, intermediate_size, vocab_size : int
    rope_theta : float
        Base of the rotary positions.
    rope_stretch : Stretch or None
    norm_eps : float
    tied_embeddings, qkv_bias : bool
    max_context_tokens : int
    """

    num_layers: int
    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    rope_theta: float = 10000.0
    rope_stretch: Stretch | None = None
    norm_eps: float = 1e-5
    tied_embeddings: bool = True
    qkv_bias: bool = False
    max_context_tokens: int

    @property
    def group(self) -> int:
        """Heads of queries that one head of keys and values serves."""
        return self.num_heads // self.num_kv_heads

    @classmethod
    def of(cls, config: str | PathLike | Mapping) -> Config:
        """Read a Hugging Face ``config.json`` of a Llama-style model.

        Parameters
        ----------
        config : path, dict or JSON text
            As for `ModelSpec.from_config`, which checks the sizes.

        Raises
        ------
        ConfigError
            A field is wrong, or asks for something that `decoder` does not compute.

        Examples
        --------
        >>> Config.of({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        ...     "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 65, "hidden_act": "gelu"})
        Traceback (most recent call last):
            ...
        hwlab.specs.models.config.ConfigError: hidden_act is 'gelu'; this decoder computes 'silu' only
        """
        raw = load(config)
        spec = ModelSpec.from_config(raw)
        known = {
            "model_type": ("llama", "qwen2", "mistral"),
            "hidden_act": ("silu",),
            "mlp_bias": (False,),
            "use_sliding_window": (False,),
            "partial_rotary_factor": (1.0,),
            "sliding_window": (None,) if spec.architecture == "mistral" else (raw.get("sliding_window"),),
        }
        for name, values in known.items():
            if raw.get(name, values[0]) not in values:
                does = " or ".join(map(repr, values))
                raise ConfigError(name, f"{name} is {raw[name]!r}; this decoder computes {does} only")
        bias = raw.get("attention_bias", False) is True
        if bias:
            raise ConfigError("attention_bias", "attention_bias is true; this decoder has no bias behind attention")
        if spec.head_dim % 2:
            raise ConfigError("head_dim", f"head_dim is {spec.head_dim}; rotary positions turn pairs, so give it even")
        theta, stretch = _rope(raw)
        return cls(
            num_layers=spec.num_layers,
            hidden_size=spec.hidden_size,
            num_heads=spec.num_heads,
            num_kv_heads=spec.num_kv_heads,
            head_dim=spec.head_dim,
            intermediate_size=spec.intermediate_size,
            vocab_size=spec.vocab_size,
            rope_theta=theta,
            rope_stretch=stretch,
            norm_eps=_positive(raw, "rms_norm_eps", 1e-6),
            tied_embeddings=spec.tied_embeddings,
            qkv_bias=spec.architecture == "qwen2",
            max_context_tokens=spec.max_context_tokens or 2048,
        )


def _rope(raw):
    """(base, stretch) from either form in which configurations say it."""
    where = "rope_parameters" if raw.get("rope_parameters") else "rope_scaling"
    said = raw.get(where) or {}
    if not isinstance(said, Mapping):
        raise ConfigError(where, f"{where} is {shown(said)}; give an object, with a rope_type")
    theta = _positive(raw if "rope_theta" in raw else said, "rope_theta", 10000.0)
    kind = said.get("rope_type", said.get("type", "default"))
    if kind == "llama3":
        return theta, Stretch(*(_positive(said, name) for name in Stretch._fields))
    if kind != "default":
        raise ConfigError("rope_scaling", f"rope_scaling is of type {kind!r}; this decoder computes 'llama3' or none")
    return theta, None


def _positive(section, name, default=None) -> float:
    """A number above 0 of a configuration, or of a section of it."""
    value = section.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        came = "missing" if name not in section else shown(value)
        raise ConfigError(name, f"{name} is {came}; give a number above 0")
    return float(value)


class Layer(NamedTuple):
    """Weights of one layer. For each head of keys and values, `qkv` has its queries, its key, its value.

    qkv[hidden, kv_heads, (group + 2) * head_dim], qkv_bias[kv_heads, (group + 2) * head_dim] or None,
    out[hidden, kv_heads, group * head_dim], gate_up[hidden, 2, intermediate], down[hidden, intermediate].
    """

    qkv: jax.Array
    qkv_bias: jax.Array | None
    out: jax.Array
    gate_up: jax.Array
    down: jax.Array


class Weights(NamedTuple):
    """All weights. `norms[2 * layers + 1, hidden]` has two scales for each layer and the final one; `head` is
    [hidden, vocab]; `embedding` is [vocab, hidden], or None where the columns of the head serve."""

    embedding: jax.Array | None
    layers: tuple[Layer, ...]
    norms: jax.Array
    head: jax.Array


def random_weights(config: Config, seed: int = 0, dtype=jnp.float32) -> Weights:
    """Weights to begin training with: normal, small enough that activations keep their size through the layers.

    Examples
    --------
    >>> config = Config(num_layers=1, hidden_size=8, num_heads=2, num_kv_heads=1, head_dim=4, intermediate_size=16,
    ...     vocab_size=5, max_context_tokens=32)
    >>> [array.shape for array in random_weights(config).layers[0] if array is not None]
    [(8, 1, 16), (8, 1, 8), (8, 2, 16), (8, 16)]
    """
    random = np.random.default_rng(seed)

    def normal(*shape, of=1.0):
        return jnp.asarray(0.5 * of / math.sqrt(config.hidden_size) * random.standard_normal(shape), dtype)

    width, kv, d = config.hidden_size, config.num_kv_heads, config.head_dim
    deep = 1 / math.sqrt(2 * config.num_layers)  # of those that add to the residual stream
    layers = tuple(
        Layer(
            qkv=normal(width, kv, (config.group + 2) * d),
            qkv_bias=jnp.zeros((kv, (config.group + 2) * d), dtype) if config.qkv_bias else None,
            out=jnp.moveaxis(normal(kv, config.group * d, width, of=deep), -1, 0),
            gate_up=normal(width, 2, config.intermediate_size),
            down=normal(config.intermediate_size, width, of=deep).T,
        )
        for _ in range(config.num_layers)
    )
    norms = jnp.ones((2 * config.num_layers + 1, width), dtype)
    if config.tied_embeddings:
        return Weights(None, layers, norms, normal(config.vocab_size, width).T)
    head = normal(width, config.vocab_size)
    return Weights(normal(config.vocab_size, width), layers, norms, head)


def rotation_frequencies(config: Config) -> np.ndarray:
    """Radians a token by which each pair of a head's elements turns, [head_dim / 2], float64.

    Examples
    --------
    >>> config = Config(num_layers=1, hidden_size=8, num_heads=2, num_kv_heads=1, head_dim=4, intermediate_size=16,
    ...     vocab_size=5, max_context_tokens=32)
    >>> rotation_frequencies(config).tolist()
    [1.0, 0.01]
    """
    frequencies = config.rope_theta ** -(np.arange(0, config.head_dim, 2) / config.head_dim)
    if config.rope_stretch is None:
        return frequencies
    factor, low, high, original = config.rope_stretch
    turns = original * frequencies / (2 * np.pi)  # over the context of the first training
    kept = np.clip((turns - low) / (high - low), 0.0, 1.0)  # 0: stretched, 1: left alone
    return frequencies * (kept + (1 - kept) / factor)


def _norm(x, scale, eps):
    """x over its root mean square, summed in float32 at least."""
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    return (wide * lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + eps)).astype(x.dtype) * scale


def _rotate(x, cos, sin):
    """Element i of a head's first half and element i of its second are a pair, and turn as one."""
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def _from(x, w):
    """What the columns of w[hidden, ...] take from the residual stream x[..., hidden].

    XLA's product on a CPU first packs all of `w`, which for a few rows takes longer than to multiply. Half of `w` at a
    time stays in the caches in between, as long as it fits; so on a CPU it is the sum of two products.
    """
    lead, x = x.shape[:-1], x.reshape(-1, len(w))

    def at_once(x, w):
        return jnp.tensordot(x, w, 1)

    def in_halves(x, w):
        halves = x.reshape(len(x), 2, -1).swapaxes(0, 1), w.reshape(2, len(w) // 2, *w.shape[1:])
        nothing = jnp.zeros((len(x), *w.shape[1:]), x.dtype)  # axes stay apart: one of them may be cut across devices
        return lax.scan(lambda total, half: (total + jnp.tensordot(*half, 1), None), nothing, halves)[0]

    return _by_halves(in_halves, at_once, x, w).reshape(*lead, *w.shape[1:])


def _into(x, w):
    """What x[..., ...] gives back to the residual stream through w[hidden, ...], half of it after the other."""
    lead, w = x.shape[: 1 - w.ndim], w.reshape(len(w), -1)
    x = x.reshape(-1, w.shape[1])

    def at_once(x, w):
        return jnp.einsum("ri,hi->rh", x, w)

    def in_halves(x, w):
        return lax.map(lambda half: half @ x.T, w.reshape(2, -1, w.shape[1])).reshape(-1, len(x)).T

    return _by_halves(in_halves, at_once, x, w).reshape(*lead, -1)


def _by_halves(in_halves, at_once, x, w):
    """A product of x[rows, ...] in one of two ways; in halves on a CPU where they gain."""
    gains = 1 < len(x) <= 64 and jnp.finfo(x.dtype).bits >= 32 and len(w) % 2 == 0 and 2**18 <= w.size <= 2**22
    return lax.platform_dependent(x, w, cpu=in_halves, default=at_once) if gains else at_once(x, w)


def decoder(
    config: Config, weights: Weights, tokens: jax.Array, positions: jax.Array, attend: Callable[..., jax.Array]
) -> jax.Array:
    """The model from token ids to the vector from which the next token is drawn.

    Parameters
    ----------
    config, weights
    tokens, positions : array [..., tokens], whole numbers
    attend : callable
        ``attend(layer, q, k, v)`` of the number of a layer, its queries [..., tokens, kv_heads, group, head_dim] and
        the new tokens' keys and values [..., tokens, kv_heads, head_dim]: what each query takes from the values.

    Returns
    -------
    array [..., tokens, hidden]
    """
    group, d = config.group, config.head_dim
    tied = weights.embedding is None
    x = jnp.moveaxis(weights.head[:, tokens], 0, -1) if tied else weights.embedding[tokens]
    wide = jnp.promote_types(x.dtype, jnp.float32)
    angles = positions[..., None].astype(wide) * rotation_frequencies(config).astype(wide)
    cos, sin = jnp.cos(angles)[..., None, :].astype(x.dtype), jnp.sin(angles)[..., None, :].astype(x.dtype)
    for i, layer in enumerate(weights.layers):
        h = _norm(x, weights.norms[2 * i], config.norm_eps)
        qkv = _from(h, layer.qkv)
        if layer.qkv_bias is not None:
            qkv = qkv + layer.qkv_bias
        qkv = qkv.reshape(*qkv.shape[:-1], group + 2, d)
        turned = _rotate(qkv[..., : group + 1, :], cos[..., None, :], sin[..., None, :])
        mixed = attend(i, turned[..., :group, :], turned[..., group, :], qkv[..., group + 1, :])
        x = x + _into(mixed.reshape(*mixed.shape[:-2], group * d), layer.out)
        h = _norm(x, weights.norms[2 * i + 1], config.norm_eps)
        gate_up = _from(h, layer.gate_up)
        x = x + _into(jax.nn.silu(gate_up[..., 0, :]) * gate_up[..., 1, :], layer.down)
    return _norm(x, weights.norms[-1], config.norm_eps)


def logits(weights: Weights, x: jax.Array) -> jax.Array:
    """[..., vocab]: of each vector of `decoder`, how much it speaks for each token; float32 at least."""
    return jnp.matmul(x, weights.head, preferred_element_type=jnp.promote_types(x.dtype, jnp.float32))


def whole(config: Config, weights: Weights, tokens: jax.Array) -> jax.Array:
    """Logits behind each of `tokens`, a whole sequence at once: the oracle.

    Parameters
    ----------
    config, weights
    tokens : array [tokens], whole numbers
        What stands behind a token does not change its logits, so a sequence may be padded at its end.

    Returns
    -------
    array [tokens, vocab]

    Examples
    --------
    Token by token with a cache, or all at once, is the same:

    >>> config = Config(num_layers=2, hidden_size=8, num_heads=2, num_kv_heads=1, head_dim=4, intermediate_size=16,
    ...     vocab_size=5, max_context_tokens=32)
    >>> weights, tokens = random_weights(config), jnp.array([3, 1, 4])
    >>> cache = new_cache(config, 8)
    >>> for i, token in enumerate(tokens):
    ...     last, cache = contiguous(config, weights, cache, token[None], i)
    >>> bool(jnp.allclose(whole(config, weights, tokens)[-1], last[0], atol=1e-6))
    True
    """
    positions = jnp.arange(len(tokens))

    def attend(_, q, k, v):
        seen = positions <= positions[:, None]
        return grouped_attention(q, k.swapaxes(0, 1), v.swapaxes(0, 1), seen)

    return logits(weights, decoder(config, weights, tokens, positions, attend))


def new_cache(config: Config, tokens: int, dtype=jnp.float32) -> tuple[jax.Array, ...]:
    """For each layer an empty array [2, kv_heads, tokens, head_dim] of keys and values, for `contiguous`."""
    return tuple(jnp.zeros((2, config.num_kv_heads, tokens, config.head_dim), dtype) for _ in range(config.num_layers))


def contiguous(
    config: Config, weights: Weights, cache: tuple[jax.Array, ...], tokens: jax.Array, start
) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    """Logits behind each of `tokens`, which follow the `start` tokens that are in the cache of one sequence.

    Parameters
    ----------
    config, weights
    cache : tuple of arrays
        From `new_cache` or the call before, with room for `tokens`.
    tokens : array [tokens], whole numbers
    start : whole number

    Returns
    -------
    (array [tokens, vocab], cache)
    """
    positions = start + jnp.arange(len(tokens))
    cache = list(cache)

    def attend(i, q, k, v):
        new = jnp.stack([k, v]).swapaxes(1, 2)
        cache[i] = lax.dynamic_update_slice(cache[i], new, (0, 0, start, 0))
        return grouped_attention(q, cache[i][0], cache[i][1], jnp.arange(cache[i].shape[2]) <= positions[:, None])

    return logits(weights, decoder(config, weights, tokens, positions, attend)), tuple(cache)


def new_pools(config: Config, num_blocks: int, block_tokens: int, dtype=jnp.float32) -> tuple[jax.Array, ...]:
    """For each layer an empty pool [num_blocks, 2, kv_heads, block_tokens, head_dim] of keys and values, for `paged`.

    A block's keys and values lie together: one copy moves them.
    """
    shape = (num_blocks, 2, config.num_kv_heads, block_tokens, config.head_dim)
    return tuple(jnp.zeros(shape, dtype) for _ in range(config.num_layers))


class Rows(NamedTuple):
    """Sequences in a pass of `paged`, each with as many places for new tokens as the others.

    A row is a piece of a prompt, a single token of an answer, or a token and the guesses behind it.

    Attributes
    ----------
    tokens : array [rows, chunk], whole numbers
        New tokens of each sequence, anything behind the last.
    starts, counts : array [rows], whole numbers
        How many tokens of the sequence were computed before, and how many of `tokens` are new ones. 0: an idle row.
    tables : array [rows, blocks], whole numbers
        Blocks of each sequence in the order of its tokens, with room for the new ones; anything behind the last.
    at : array [rows, places], whole numbers
        Behind which of a row's new tokens the next one is drawn.
    """

    tokens: jax.Array
    starts: jax.Array
    counts: jax.Array
    tables: jax.Array
    at: jax.Array


def paged(
    config: Config, weights: Weights, pools: tuple[jax.Array, ...], groups: Sequence[Rows]
) -> tuple[tuple[jax.Array, ...], tuple[jax.Array, ...]]:
    """One pass over a batch whose keys and values lie in blocks.

    Parameters
    ----------
    config, weights
    pools : tuple of arrays
        From `new_pools` or the pass before. Jit this function with the pools donated, or each pass copies them.
    groups : sequence of Rows
        Rows of one width each, prompts and answers say. The weights are read once for all.

    Returns
    -------
    (tuple of arrays [rows, places, vocab], pools)
        Logits of each group; the pools with the keys and values of the new tokens.
    """
    num_blocks, _, _, block_tokens, _ = pools[0].shape
    positions, blocks, ends = [], [], []
    for rows in groups:
        chunk = jnp.arange(rows.tokens.shape[1])
        position = rows.starts[:, None] + chunk
        block = jnp.take_along_axis(rows.tables, position // block_tokens, axis=1, mode="clip")
        blocks.append(jnp.where(chunk < rows.counts[:, None], block, num_blocks).ravel())  # no such block: not written
        positions.append(position.ravel())
        ends.append(rows.tokens.size + (ends[-1] if ends else 0))
    positions, blocks = jnp.concatenate(positions), jnp.concatenate(blocks)
    slots = positions % block_tokens
    single = positions.size == 1  # XLA turns a scatter of one into an update that copies the pool: write one to nowhere
    if single:
        blocks, slots = jnp.append(blocks, num_blocks), jnp.append(slots, 0)
    pools = list(pools)

    def apart(x):
        """Of all new tokens, those of each group: [rows, chunk, ...]."""
        parts = jnp.split(x, ends[:-1])
        return [part.reshape(*rows.tokens.shape, *x.shape[1:]) for rows, part in zip(groups, parts, strict=True)]

    def attend(i, q, k, v):
        new = jnp.stack([k, v], axis=1)  # [tokens, 2, kv_heads, head_dim]
        new = jnp.repeat(new, 2, axis=0) if single else new
        pools[i] = pools[i].at[blocks, :, :, slots].set(new, mode="drop")
        mixed = [
            paged_attention(queries, pools[i], rows.tables, rows.starts)
            for rows, queries in zip(groups, apart(q), strict=True)
        ]
        return jnp.concatenate([part.reshape(-1, *part.shape[2:]) for part in mixed])

    tokens = jnp.concatenate([rows.tokens.ravel() for rows in groups])
    xs = apart(decoder(config, weights, tokens, positions, attend))
    drawn = [jnp.take_along_axis(x, rows.at[..., None], axis=1) for rows, x in zip(groups, xs, strict=True)]
    return tuple(logits(weights, x) for x in drawn), tuple(pools)
