"""The claims about the KV cache: what it is for, how it grows, what it weighs, and what it leaves room for."""

from __future__ import annotations

import math
from random import Random

from hwlab.costs.kv_cache import cache_bytes
from hwlab.formula import number, si
from hwlab.specs.chips import chip as chip_of
from hwlab.specs.models import model as model_of
from hwlab.studies.trials import Finding, claimed, judged, judged_by_choice, near, trial
from hwlab.units import bytes_per_element

LLAMA_2_70B, DEEPSEEK_V3, H100 = model_of("llama-2-70b"), model_of("deepseek-v3"), chip_of("h100-sxm")
LONG = 131_072  # what "128k" means
CHUNK = 4096  # queries and keys of a piece, where exact attention goes piece by piece
ROUNDED = 0.1  # what "about 35 GB" allows
RULES = 10  # times all else that grows with the requests: then it sets how many fit


@trial("C051")
def long_contexts_without_one_kernel(model=LLAMA_2_70B, chip=H100, chips=8, tokens=LONG, chunk=CHUNK) -> Finding:
    """Without FlashAttention contexts of 128k tokens would be infeasible."""
    heads = model.num_heads / chips
    one = bytes_per_element("fp16")
    whole, pieces = (heads * n * m * one for n, m in ((tokens, tokens), (chunk, chunk)))
    memory = chip.memory_bytes
    told = f"Scores of one layer, {number(heads)} heads a chip: {si(whole, 'B')} written out, {si(pieces, 'B')} in"
    return Finding(
        recomputed=f"{told} exact pieces of {chunk:,}; an {chip.name.split()[0]} holds {si(memory, 'B')}",
        verdict=judged_by_choice(whole > memory, pieces > memory),
    )


def _decoded(tokens: int, keep: int) -> tuple[list[float], int]:
    """Outputs of a head of two numbers that writes `tokens` tokens, and how many keys and values it computed.

    It keeps those of the last `keep` tokens from step to step and computes the others again.
    """
    random = Random(0).random
    hidden = [[random() for _ in range(2)] for _ in range(tokens)]
    w_k, w_v = ([[random() for _ in range(2)] for _ in range(2)] for _ in "kv")
    cache, outputs, computed = {}, [], 0
    for t in range(tokens):
        entries = []
        for i in range(t + 1):
            if i not in cache:
                cache[i] = [
                    [sum(x * w for x, w in zip(hidden[i], row, strict=True)) for row in by] for by in (w_k, w_v)
                ]
                computed += 1
            entries.append(cache[i])
        scores = [sum(x * k for x, k in zip(hidden[t], key, strict=True)) for key, _ in entries]
        weights = [math.exp(s - max(scores)) for s in scores]
        outputs += [sum(w * v[d] for w, (_, v) in zip(weights, entries, strict=True)) / sum(weights) for d in range(2)]
        cache = {i: entry for i, entry in cache.items() if i > t - keep}
    return outputs, computed


@trial("C112")
def what_a_cache_saves(tokens=64, keep=64) -> Finding:
    """The cache stores keys and values of past tokens so that they are not computed again."""
    kept, plain = _decoded(tokens, keep), _decoded(tokens, 0)
    told = f"{tokens} tokens of one head: {kept[1]:,} pairs of key and value computed with a cache"
    return Finding(
        recomputed=f"{told}, {plain[1]:,} without; outputs are {'equal' if kept[0] == plain[0] else 'different'}",
        verdict=judged(kept[0] == plain[0] and kept[1] == tokens < plain[1]),
    )


@trial("C113")
def how_it_grows(model=LLAMA_2_70B, tokens=4096, other=DEEPSEEK_V3) -> Finding:
    """It grows as layers x heads x length x head width x 2 x bytes."""
    true = model.kv_bytes(tokens, "fp16")
    by_keys, by_queries = (
        cache_bytes(model.num_layers, heads, model.head_dim, 2, tokens)
        for heads in (model.num_kv_heads, model.num_heads)
    )
    told = f"{model.name}: {si(by_keys, 'B')} by its {model.num_kv_heads} key heads, {si(by_queries, 'B')} by its"
    latent = f"{other.name} keeps {other.kv_bytes_per_token('fp16'):,} B a token of latents"
    return Finding(
        recomputed=f"{told} {model.num_heads} query heads, {si(true, 'B')} in truth. {latent}",
        verdict=judged_by_choice(near(by_keys, true, within=1e-9), near(by_queries, true, within=1e-9)),
    )


@trial("C114")
def one_request(model=LLAMA_2_70B, tokens=4096) -> Finding:
    """A request of 4,096 tokens takes about 35 GB in FP16."""
    stated = claimed("C114")
    true, plain = (
        cache_bytes(model.num_layers, h, model.head_dim, 2, tokens) for h in (model.num_kv_heads, model.num_heads)
    )
    told = f"2 × {model.num_layers} layers × {model.num_kv_heads} heads × {model.head_dim} × 2 B × {tokens:,}"
    return Finding(
        recomputed=f"{told} = {si(true, 'B')}, {number(stated / true, 2)} times less than stated; "
        f"{si(plain, 'B')} with a head for each query",
        verdict=judged(near(true, stated, within=ROUNDED) or near(plain, stated, within=ROUNDED)),
    )


@trial("C115")
def what_sets_concurrency(model=LLAMA_2_70B, chip=H100, chips=8, tokens=4096) -> Finding:
    """The cache is the memory bottleneck that sets how many requests run at once."""
    weights, each = model.weight_bytes("fp16"), model.kv_bytes(tokens, "fp16")
    room = chips * chip.memory_bytes - weights
    # what else one more request needs in a step of decode: its hidden state, one MLP, its logits in fp32
    besides = 2 * (2 * model.hidden_size + 2 * model.intermediate_size) + 4 * model.vocab_size
    told = f"{chips} × {chip.name.split()[0]} less {si(weights, 'B')} of weights leave {si(room, 'B')}"
    return Finding(
        recomputed=f"{told}: {int(room // each)} requests of {tokens:,} tokens at {si(each, 'B')}; else one needs "
        f"{si(besides, 'B')}",
        verdict=judged(each > RULES * besides),
    )
