"""The decoder: the equation in NumPy, and the three ways in which keys and values are kept, all agree."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from hwlab.kernels import transformer
from hwlab.kernels.transformer import (
    Config,
    Rows,
    Stretch,
    contiguous,
    new_cache,
    new_pools,
    paged,
    random_weights,
    rotation_frequencies,
    whole,
)
from hwlab.specs.models import ModelSpec
from hwlab.specs.models.config import ConfigError

RAW = {
    "model_type": "llama",
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 11,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}
CONFIG = Config.of(RAW)
BLOCK = 4
compiled = jax.jit(whole, static_argnums=0)


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def weights_of(config, seed=0):
    """Random ones, the norms' scales and biases too: ones and zeros would hide where they are forgotten."""
    weights, random = random_weights(config, seed, jnp.float64), np.random.default_rng(seed + 1)
    noise = lambda array: array + 0.3 * random.standard_normal(array.shape)  # noqa: E731
    layers = weights.layers
    if config.qkv_bias:
        layers = tuple(layer._replace(qkv_bias=noise(layer.qkv_bias)) for layer in layers)
    return weights._replace(norms=noise(weights.norms), layers=layers)


def as_the_equations_read(config, weights, tokens):
    """One token, one head at a time; a rotation is a product of complex numbers."""

    def norm(x, scale):
        return x / np.sqrt((x**2).mean() + config.norm_eps) * scale

    def rotated(x, position):
        half = config.head_dim // 2
        pairs = (x[:half] + 1j * x[half:]) * np.exp(1j * position * rotation_frequencies(config))
        return np.concatenate([pairs.real, pairs.imag])

    weights = jax.tree.map(np.asarray, weights)
    d, group = config.head_dim, config.group
    xs = [weights.head[:, token] if weights.embedding is None else weights.embedding[token] for token in tokens]
    for i, layer in enumerate(weights.layers):
        queries, keys, values = {}, {}, {}
        for t, x in enumerate(xs):
            h = norm(x, weights.norms[2 * i])
            for kv in range(config.num_kv_heads):
                made = h @ layer.qkv[:, kv] + (0 if layer.qkv_bias is None else layer.qkv_bias[kv])
                for g in range(group):
                    queries[t, kv, g] = rotated(made[g * d : (g + 1) * d], t)
                keys[t, kv], values[t, kv] = rotated(made[group * d : (group + 1) * d], t), made[(group + 1) * d :]
        for t in range(len(xs)):
            for kv in range(config.num_kv_heads):
                for g in range(group):
                    scores = np.array([queries[t, kv, g] @ keys[s, kv] for s in range(t + 1)]) / math.sqrt(d)
                    shares = np.exp(scores) / np.exp(scores).sum()
                    taken = sum(share * values[s, kv] for s, share in enumerate(shares))
                    xs[t] = xs[t] + taken @ layer.out[:, kv, g * d : (g + 1) * d].T
            h = norm(xs[t], weights.norms[2 * i + 1])
            gate, up = h @ layer.gate_up[:, 0], h @ layer.gate_up[:, 1]
            xs[t] = xs[t] + (gate / (1 + np.exp(-gate)) * up) @ layer.down.T
    return np.array([norm(x, weights.norms[-1]) @ weights.head for x in xs])


KINDS = {
    "plain": CONFIG,
    "tied": replace(CONFIG, tied_embeddings=True),
    "biased": replace(CONFIG, qkv_bias=True),
    "one head of keys": replace(CONFIG, num_kv_heads=1),
    "stretched": replace(CONFIG, rope_stretch=Stretch(8.0, 1.0, 4.0, 16.0)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_sequence_at_once_is_what_the_equations_say(kind):
    config, tokens = KINDS[kind], np.array([3, 1, 4, 1, 5])
    weights = weights_of(config)
    expected = as_the_equations_read(config, weights, tokens)
    assert compiled(config, weights, jnp.asarray(tokens)) == pytest.approx(expected, abs=1e-12)


def test_what_stands_behind_a_token_does_not_change_its_logits():
    weights, tokens = weights_of(CONFIG), jnp.array([3, 1, 4, 1, 5, 9])
    padded = tokens.at[3:].set(0)
    assert (compiled(CONFIG, weights, padded)[:3] == compiled(CONFIG, weights, tokens)[:3]).all()


def test_a_contiguous_cache_filled_in_pieces_is_the_whole():
    weights, tokens = weights_of(CONFIG), jnp.arange(10) % 11
    cache, found, start = new_cache(CONFIG, 12, jnp.float64), [], 0
    run = jax.jit(contiguous, static_argnums=0)
    for piece in (4, 1, 1, 4):
        said, cache = run(CONFIG, weights, cache, tokens[start : start + piece], start)
        found.append(said)
        start += piece
    assert np.concatenate(found) == pytest.approx(np.asarray(compiled(CONFIG, weights, tokens)), abs=1e-12)


def test_pieces_of_prompts_beside_single_tokens_and_guesses_are_the_whole_however_blocks_lie():
    """Three sequences in blocks dealt at random, cut otherwise in each pass, with an idle row."""
    weights, random = weights_of(CONFIG), np.random.default_rng(5)
    pools = tuple(random.standard_normal(pool.shape) for pool in new_pools(CONFIG, 16, BLOCK, jnp.float64))
    texts = [random.integers(0, 11, length) for length in (13, 7, 10)]
    padded = [jnp.asarray(np.pad(text, (0, 13 - len(text)))) for text in texts]
    expected = [np.asarray(compiled(CONFIG, weights, text)) for text in padded]
    dealt = random.permutation(15)[:12].reshape(3, 4)  # block 15 belongs to nobody
    before = [pool[15].copy() for pool in pools]
    run = jax.jit(paged, static_argnums=0)

    def rows(pieces, chunk):
        """Of (sequence, start, count)s; sequence None is idle."""
        made = Rows(*(np.zeros(shape, np.int32) for shape in ((3, chunk), 3, 3, (3, 4), (3, chunk))))
        made.at[:], made.tables[:] = np.arange(chunk), 15
        for row, (sequence, start, count) in enumerate(pieces):
            if sequence is not None:
                made.tokens[row, :count] = texts[sequence][start : start + count]
                made.starts[row], made.counts[row], made.tables[row] = start, count, dealt[sequence]
        return made

    passes = [
        [rows([(0, 0, 3), (1, 0, 3), (None, 0, 0)], 3), rows([(2, 0, 1), (None, 0, 0), (None, 0, 0)], 1)],
        [rows([(0, 3, 3), (1, 3, 1), (2, 1, 2)], 3), rows([(None, 0, 0)] * 3, 1)],
        [rows([(2, 3, 3), (0, 6, 3), (None, 0, 0)], 3), rows([(1, 4, 1), (None, 0, 0), (None, 0, 0)], 1)],
        [rows([(0, 9, 3), (1, 5, 2), (2, 6, 3)], 3), rows([(None, 0, 0)] * 3, 1)],
        [rows([(None, 0, 0)] * 3, 3), rows([(0, 12, 1), (2, 9, 1), (None, 0, 0)], 1)],
    ]
    pieces = [
        [[(0, 0, 3), (1, 0, 3)], [(2, 0, 1)]],
        [[(0, 3, 3), (1, 3, 1), (2, 1, 2)], []],
        [[(2, 3, 3), (0, 6, 3)], [(1, 4, 1)]],
        [[(0, 9, 3), (1, 5, 2), (2, 6, 3)], []],
        [[], [(0, 12, 1), (2, 9, 1)]],
    ]
    seen = 0
    for groups, cut in zip(passes, pieces, strict=True):
        found, pools = run(CONFIG, weights, pools, groups)
        for said, cuts in zip(found, cut, strict=True):
            for row, (sequence, start, count) in enumerate(cuts):
                right = expected[sequence][start : start + count]
                assert said[row, :count] == pytest.approx(right, abs=1e-12)
                seen += count
    assert seen == sum(map(len, texts))
    assert all((pool[15] == was).all() for pool, was in zip(pools, before, strict=True)), "an idle row wrote a block"


def test_a_model_has_the_parameters_that_are_counted_for_it():
    for raw in (RAW, RAW | {"model_type": "qwen2", "tie_word_embeddings": True}):
        weights = random_weights(Config.of(raw))
        assert sum(array.size for array in jax.tree.leaves(weights)) == ModelSpec.from_config(raw).num_params


def test_slow_rotations_are_stretched_by_the_factor_and_fast_ones_left_alone():
    """Llama 3.1: base 500,000, heads of 128, factor 8 beyond 8,192 tokens, between 1 and 4 turns over these in part."""
    config = replace(CONFIG, head_dim=128, rope_theta=500_000.0, rope_stretch=Stretch(8.0, 1.0, 4.0, 8192.0))
    ratio = rotation_frequencies(config) / rotation_frequencies(replace(config, rope_stretch=None))
    turns = 8192 * rotation_frequencies(replace(config, rope_stretch=None)) / (2 * math.pi)
    assert ratio[turns > 4] == pytest.approx(1.0) and ratio[turns < 1] == pytest.approx(1 / 8)
    (i,) = np.flatnonzero((turns > 1) & (turns < 4))[:1]
    part = (turns[i] - 1) / 3
    assert ratio[i] == pytest.approx((1 - part) / 8 + part) and 1 / 8 < ratio[i] < 1


def test_both_forms_of_saying_the_rotation_are_read():
    scaling = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    }
    old = Config.of(RAW | {"rope_theta": 5e5, "rope_scaling": scaling})
    new = Config.of(RAW | {"rope_parameters": scaling | {"rope_theta": 5e5}})
    assert old == new and new.rope_stretch == (8.0, 1.0, 4.0, 32.0) and new.rope_theta == 5e5


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}, "model_type is 'mixtral'"),
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu'"),
        ({"mlp_bias": True}, "mlp_bias is True"),
        ({"attention_bias": True}, "attention_bias is true"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "of type 'yarn'"),
        ({"model_type": "mistral", "sliding_window": 4096}, "sliding_window is 4096"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5"),
        ({"head_dim": 5}, "head_dim is 5"),
        ({"rope_scaling": {"rope_type": "llama3"}}, "factor is missing; give a number above 0"),
        ({"rope_scaling": "linear"}, "rope_scaling is 'linear'"),
        ({"rope_theta": None}, "rope_theta is None"),
        ({"rope_theta": float("nan")}, "rope_theta is nan"),
        ({"rms_norm_eps": -1e-5}, "rms_norm_eps is -1e-05"),
    ],
)
def test_a_model_that_computes_otherwise_is_refused(said, names):
    with pytest.raises(ConfigError, match=names):
        Config.of(RAW | said)


@pytest.mark.parametrize("product", ["_from", "_into"])
@pytest.mark.parametrize("shape", [(512, 3, 256), (640, 4, 128), (512, 1024)])
def test_a_product_in_halves_is_the_product(product, shape):
    draw = np.random.default_rng(5)
    w = draw.standard_normal(shape).astype(np.float32)
    of, inputs = (w, shape[:1]) if product == "_from" else (np.moveaxis(w, 0, -1), shape[1:])
    multiply = jax.jit(getattr(transformer, product))
    for rows, halves in (((2, 3), True), ((64,), True), ((1,), False), ((65,), False)):
        x = draw.standard_normal((*rows, *inputs)).astype(np.float32)
        expected = np.tensordot(x.astype(np.float64), of.astype(np.float64), len(inputs))
        assert np.abs(multiply(x, w) - expected).max() < 1e-3
        assert ("while" in multiply.lower(x, w).compile().as_text()) == halves
        assert "while" not in export.export(multiply, platforms=["tpu"])(x, w).mlir_module()  # nor do others need them
