"""What a cache holds, computed: latents instead of keys and values, and keys and values in few bits.

`latent_expanded` is multi-head latent attention as it is defined: each cached latent is expanded into keys and values
of every head. `latent_absorbed` moves the two expansions to the query and to the output, so that the cache is read as
it lies; both are the same function (A. Liu et al., "DeepSeek-V2", arXiv:2405.04434, 2024, section 2.1). `quantize_kv`
stores keys and values in few bits with scales by channel or by token and says what that costs (Z. Liu et al., "KIVI",
ICML 2024; C. Hooper et al., "KVQuant", NeurIPS 2024).

Plain NumPy, one token that decodes: ``q[heads, d]``, ``k[kv_heads, tokens, d]``, ``v[kv_heads, tokens, d]``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hwlab.formula import whole
from hwlab.kernels.quantized import dequantize, quantize, relative_error

SHARES = ("channel", "token")
"""What shares a scale: a channel along the tokens, or a token along its channels."""


def attend(q, k, v, *, window: int | None = None) -> np.ndarray:
    """Attention of one token over its cache, each key head serving as many query heads as there are to it.

    Parameters
    ----------
    q : array [heads, d]
    k : array [kv_heads, tokens, d]
    v : array [kv_heads, tokens, d_v]
    window : int, optional
        Only the last `window` tokens are seen; all by default.

    Returns
    -------
    numpy.ndarray [heads, d_v], float64

    Raises
    ------
    TypeError, ValueError
        If the shapes do not go together, an array is empty, or `window` is no whole number of at least 1.

    Examples
    --------
    Two query heads on one key head; equal scores weigh the two tokens alike:

    >>> attend(np.zeros((2, 1)), np.zeros((1, 2, 1)), np.array([[[1.0], [3.0]]])).tolist()
    [[2.0], [2.0]]
    """
    q, k, v = (np.asarray(array, np.float64) for array in (q, k, v))
    right = (
        (q.ndim, k.ndim, v.ndim) == (2, 3, 3)
        and 0 not in (*q.shape, *k.shape, *v.shape)
        and k.shape[:2] == v.shape[:2]
        and q.shape[1] == k.shape[2]
        and len(q) % len(k) == 0
    )
    if not right:
        raise ValueError(
            f"q has shape {q.shape}, k {k.shape} and v {v.shape}; give q[heads, d], k[kv_heads, tokens, d] and "
            "v[kv_heads, tokens, d_v], heads a multiple of kv_heads, none of them empty"
        )
    if window is not None:
        window = whole(window=window)
        k, v = k[:, -window:], v[:, -window:]
    grouped = q.reshape(len(k), -1, q.shape[1])
    weights = _softmax(grouped @ k.transpose(0, 2, 1) / np.sqrt(q.shape[1]))
    return (weights @ v).reshape(len(q), -1)


def latent_expanded(q, q_rotary, latents, k_rotary, up_k, up_v) -> np.ndarray:
    """Latent attention as defined: keys and values of each head are made of the latents, then attended to.

    Parameters
    ----------
    q : array [heads, d]
        The part of the queries without positions.
    q_rotary : array [heads, r]
        The part that carries them.
    latents : array [tokens, rank]
        What is cached, with
    k_rotary : array [tokens, r]
        one rotary key for all heads.
    up_k : array [heads, d, rank]
        Makes keys of latents.
    up_v : array [heads, d_v, rank]
        Makes values of them.

    Returns
    -------
    numpy.ndarray [heads, d_v], float64
    """
    keys = np.einsum("hdc,tc->htd", up_k, latents)
    values = np.einsum("hvc,tc->htv", up_v, latents)
    scores = np.einsum("hd,htd->ht", q, keys) + q_rotary @ np.asarray(k_rotary).T
    weights = _softmax(scores / np.sqrt(q.shape[1] + q_rotary.shape[1]))
    return np.einsum("ht,htv->hv", weights, values)


def latent_absorbed(q, q_rotary, latents, k_rotary, up_k, up_v) -> np.ndarray:
    """The same result with the expansions absorbed: the query goes down to the latents, their mean comes up.

    Parameters
    ----------
    q, q_rotary, latents, k_rotary, up_k, up_v
        As for `latent_expanded`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shapes = [(4, 8), (4, 2), (9, 6), (9, 2), (4, 8, 6), (4, 5, 6)]
    >>> parts = [rng.standard_normal(shape) for shape in shapes]
    >>> bool(np.abs(latent_absorbed(*parts) - latent_expanded(*parts)).max() < 1e-12)
    True
    """
    down = np.einsum("hd,hdc->hc", q, up_k)  # a query in the space of the latents
    scores = down @ np.asarray(latents).T + q_rotary @ np.asarray(k_rotary).T
    weights = _softmax(scores / np.sqrt(q.shape[1] + q_rotary.shape[1]))
    return np.einsum("hc,hvc->hv", weights @ latents, up_v)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizedKV:
    """Keys and values in few bits.

    Attributes
    ----------
    k, v : numpy.ndarray
        What the codes stand for.
    nbytes : int
        Codes, scales and zeros of both.
    bits_per_element : float
    k_error, v_error : float
        Frobenius norm of the difference over that of the exact.
    """

    k: np.ndarray
    v: np.ndarray
    nbytes: int
    bits_per_element: float
    k_error: float
    v_error: float


def quantize_kv(k, v, format: str, *, keys: str = "channel", values: str = "token", group: int = 32) -> QuantizedKV:
    """Keys and values of one sequence in few bits, each with scales shared along one direction.

    Parameters
    ----------
    k, v : array [tokens, channels]
        Of one head, or of several side by side.
    format : str
        Of `hwlab.kernels.quantized.FORMATS` but the block formats: "fp8-e4m3", "int8", "int4". Integers are asymmetric.
    keys, values : {"channel", "token"}
        What shares a scale.
    group : int
        Elements of one scale; the last group may be shorter.

    Returns
    -------
    QuantizedKV

    Raises
    ------
    ValueError
        If a name is unknown or `k` and `v` are no two matrices of as many tokens.

    Examples
    --------
    One channel of the keys is large, as it is in trained models. Scales by channel leave it to itself:

    >>> rng = np.random.default_rng(1)
    >>> k, v = rng.standard_normal((2, 128, 32))
    >>> k[:, 3] += 40
    >>> by_channel, by_token = (quantize_kv(k, v, "int4", keys=keys) for keys in ("channel", "token"))
    >>> by_token.k_error > 4 * by_channel.k_error, by_channel.bits_per_element
    (True, 4.625)
    """
    k, v = np.asarray(k, np.float64), np.asarray(v, np.float64)
    if k.ndim != 2 or v.ndim != 2 or len(k) != len(v):
        raise ValueError(f"k has shape {k.shape} and v {v.shape}; give k[tokens, channels] and v[tokens, channels]")
    for name, share in (("keys", keys), ("values", values)):
        if share not in SHARES:
            raise ValueError(f"{name} is {share!r}; choose one of {', '.join(SHARES)}")
    held = []
    for array, share in ((k, keys), (v, values)):
        axis = 0 if share == "channel" else 1
        held.append(
            quantize(array, format, scale="group", group=group, axis=axis, symmetric=not format.startswith("int"))
        )
    found = [dequantize(part) for part in held]
    nbytes = sum(part.nbytes for part in held)
    return QuantizedKV(
        k=found[0],
        v=found[1],
        nbytes=nbytes,
        bits_per_element=8 * nbytes / (k.size + v.size),
        k_error=relative_error(found[0], k),
        v_error=relative_error(found[1], v),
    )


def like_a_trained_cache(tokens: int, channels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Keys and values drawn to look like those of trained models: a few channels of the keys are large, and stay so.

    Parameters
    ----------
    tokens, channels : int
    seed : int

    Returns
    -------
    k, v : numpy.ndarray [tokens, channels]
        Standard normal, but that 3 % of the channels of `k`, one at least, have a mean of 8 to 16 of either sign. That
        is the pattern which KIVI and KVQuant describe; its strength is ours.

    Examples
    --------
    >>> k, v = like_a_trained_cache(64, 64)
    >>> int((abs(k.mean(axis=0)) > 4).sum()), int((abs(v.mean(axis=0)) > 4).sum())
    (2, 0)
    """
    rng = np.random.default_rng(seed)
    k, v = rng.standard_normal((2, tokens, channels))
    large = rng.choice(channels, max(1, round(0.03 * channels)), replace=False)
    k[:, large] += rng.uniform(8, 16, len(large)) * rng.choice((-1, 1), len(large))
    return k, v


def _softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
