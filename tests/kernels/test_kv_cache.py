"""Caches computed: groups, latents and few bits against the references."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.kernels.attention import attention_reference
from hwlab.kernels.kv_cache import attend, latent_absorbed, latent_expanded, like_a_trained_cache, quantize_kv

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=40)
@given(seed=SEEDS, kv_heads=st.sampled_from([1, 2, 4]), each=st.integers(1, 4), tokens=st.integers(1, 20))
def test_a_token_attends_as_the_equation_says(seed, kv_heads, each, tokens):
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((kv_heads * each, 8))
    k, v = rng.standard_normal((2, kv_heads, tokens, 8))
    expected = attention_reference(q[:, None], k, v)[:, 0]
    assert attend(q, k, v) == pytest.approx(expected, abs=1e-12)
    # a group of one key head is a copy of it for each query head
    assert attend(q, np.repeat(k, each, 0), np.repeat(v, each, 0)) == pytest.approx(expected, abs=1e-12)


def test_a_window_sees_its_last_tokens_only():
    rng = np.random.default_rng(0)
    q, (k, v) = rng.standard_normal((2, 4)), rng.standard_normal((2, 1, 9, 4))
    assert attend(q, k, v, window=3) == pytest.approx(attend(q, k[:, 6:], v[:, 6:]))
    assert attend(q, k, v, window=99) == pytest.approx(attend(q, k, v))


@settings(max_examples=40)
@given(seed=SEEDS, heads=st.integers(1, 5), tokens=st.integers(1, 12), rank=st.integers(1, 9), rotary=st.integers(1, 4))
def test_absorbed_latent_attention_is_the_expanded_one(seed, heads, tokens, rank, rotary):
    rng = np.random.default_rng(seed)
    shapes = [(heads, 6), (heads, rotary), (tokens, rank), (tokens, rotary), (heads, 6, rank), (heads, 5, rank)]
    parts = [rng.standard_normal(shape) for shape in shapes]
    expanded = latent_expanded(*parts)
    assert np.abs(latent_absorbed(*parts) - expanded).max() < 1e-12 * max(1, np.abs(expanded).max())


def test_expanded_latent_attention_is_attention_on_the_keys_it_makes():
    rng = np.random.default_rng(2)
    shapes = [(3, 6), (3, 2), (7, 5), (7, 2), (3, 6, 5), (3, 8, 5)]
    q, q_rotary, latents, k_rotary, up_k, up_v = (rng.standard_normal(shape) for shape in shapes)
    keys = np.concatenate([np.einsum("hdc,tc->htd", up_k, latents), np.tile(k_rotary, (3, 1, 1))], axis=2)
    values = np.einsum("hvc,tc->htv", up_v, latents)
    q_whole = np.concatenate([q, q_rotary], axis=1)
    assert latent_expanded(q, q_rotary, latents, k_rotary, up_k, up_v) == pytest.approx(attend(q_whole, keys, values))


@pytest.mark.parametrize(("format", "most"), [("int8", 0.011), ("fp8-e4m3", 0.035), ("int4", 0.11)])
def test_errors_of_a_quantised_cache_lie_where_its_steps_are(format, most):
    k, v = like_a_trained_cache(256, 128, seed=3)
    found = quantize_kv(k, v, format)
    assert 0 < found.v_error < most and found.k_error < most
    assert np.linalg.norm(found.v - v) / np.linalg.norm(v) == pytest.approx(found.v_error)


def test_large_channels_of_the_keys_spoil_scales_by_token_and_not_those_by_channel():
    k, v = like_a_trained_cache(256, 128, seed=3)
    small = np.abs(k.mean(axis=0)) < 4

    def error_of_small_channels(keys):
        return np.linalg.norm((quantize_kv(k, v, "int4", keys=keys).k - k)[:, small]) / np.linalg.norm(k[:, small])

    assert error_of_small_channels("token") > 2 * error_of_small_channels("channel")
    assert quantize_kv(k, v, "int4").bits_per_element == 4 + 16 / 32 + 4 / 32  # a float16 scale and a 4-bit zero


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ValueError, match="heads a multiple of kv_heads"):
        attend(np.zeros((3, 4)), np.zeros((2, 5, 4)), np.zeros((2, 5, 4)))
    for q, k, v in (
        (np.zeros((2, 4)), np.zeros((0, 5, 4)), np.zeros((0, 5, 4))),
        (np.zeros((2, 4)), np.zeros((1, 0, 4)), np.zeros((1, 0, 4))),
        (np.zeros((2, 4)), np.zeros((1, 5, 4)), np.zeros((1, 5))),
    ):
        with pytest.raises(ValueError, match="none of them empty"):
            attend(q, k, v)
    for window, error in ((0, ValueError), (-3, ValueError), (2.5, TypeError)):
        with pytest.raises(error, match=f"window is {window}"):
            attend(np.zeros((2, 4)), np.zeros((1, 5, 4)), np.zeros((1, 5, 4)), window=window)
    with pytest.raises(ValueError, match="keys is 'row'; choose one of channel, token"):
        quantize_kv(np.ones((2, 2)), np.ones((2, 2)), "int4", keys="row")
    with pytest.raises(ValueError, match=r"give k\[tokens, channels\]"):
        quantize_kv(np.ones((2, 2)), np.ones((3, 2)), "int4")
