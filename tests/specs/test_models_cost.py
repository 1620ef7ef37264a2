"""FLOP, weights and cache: exact sums, published sizes, and one answer from floats, arrays and the page's formulas."""

import math
import time
import timeit

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.formula import Sym, vega
from hwlab.specs.models import ModelSpec, experts_touched, model, models

IDS = [m.id for m in models()]
# one of each kind: plain, windows, chunks, latent, sparse latent, compressed, linear, state space, none, experts
KINDS = [
    *("llama-3.1-8b", "gpt-2", "mistral-7b-v0.1", "gemma-3-1b", "llama-4-scout"),
    *("deepseek-v3", "deepseek-v3.2", "deepseek-v4-flash", "qwen3-next-80b-a3b", "nemotron-h-56b"),
    *("jamba-v0.1", "rwkv-4-169m", "mamba-2.8b", "gpt-oss-20b", "mimo-v2-flash"),
]
LATENT = {"deepseek-v3", "deepseek-v3.2"}


# --- arithmetic -------------------------------------------------------------------------------------------------


def test_flop_of_a_token_is_twice_the_weights_it_meets_and_its_attention():
    spec = model("llama-2-70b")
    met = spec.num_params - 32000 * 8192 - 161 * 8192  # without the embedding table and 161 norms
    assert spec.flop_per_token(1000) == 2 * met + 80 * 2 * 2 * 64 * 128 * 1000


def test_kaplan_rule_of_two_flop_a_parameter_and_token():
    spec = model("llama-2-70b")
    causal = 80 * 2 * 2 * 64 * 128 * (1000 * 1001 // 2)
    assert spec.flop(1000) - causal == pytest.approx(2 * spec.num_params * 1000, rel=0.005)


def test_a_forward_pass_of_llama_2_70b_has_560_weight_products_and_a_head():
    rows = model("llama-2-70b").matmuls()
    shapes = {m.name: (m.k, m.n, m.count) for m in rows}
    assert sum(m.count for m in rows if m.kind in ("attention", "mlp")) == 560
    assert shapes["q"] == shapes["o"] == (8192, 8192, 80)
    assert shapes["k"] == shapes["v"] == (8192, 1024, 80)
    assert shapes["up"] == shapes["gate"] == (8192, 28672, 80) and shapes["down"] == (28672, 8192, 80)
    assert shapes["lm_head"] == (8192, 32000, 1)


@pytest.mark.parametrize("id", IDS)
def test_products_make_up_the_weights_and_the_work(id):
    spec = model(id)
    rows = spec.matmuls()
    stored = sum(m.k * m.n * m.stored for m in rows)
    table = spec.num_embedding_params
    assert 0 <= spec.num_params - stored - table < 0.02 * spec.num_params  # norms, biases, convolutions
    work = sum(2 * m.k * m.n * m.count for m in rows)
    attention = sum(r.absorbed_flop or r.pair_flop for r in spec.reaches)
    assert work <= spec.flop_per_token(1) <= work + attention + spec.body.scan_flop


@pytest.mark.parametrize("id", [id for id in KINDS if id not in LATENT])
@settings(max_examples=20, deadline=None)
@given(new=st.integers(1, 700), context=st.integers(0, 5000))
def test_a_pass_costs_the_sum_of_its_tokens(id, new, context):
    spec = model(id)
    assert spec.flop(new, context) == sum(spec.flop_per_token(context + i) for i in range(1, new + 1))


@pytest.mark.parametrize("id", sorted(LATENT))
@settings(max_examples=30, deadline=None)
@given(new=st.integers(1, 300), context=st.integers(0, 5000))
def test_latent_attention_takes_the_cheaper_order_of_the_whole_pass(id, new, context):
    spec = model(id)
    expected = new * (spec.flop_per_token(1) - sum(r.pair_flop for r in spec.reaches))
    for reach in spec.reaches:
        pairs = sum(reach.attended(context + i) for i in range(1, new + 1))
        expanded = reach.pair_flop * pairs + reach.expand_flop * context
        expected += min(reach.absorbed_flop * pairs, expanded) if reach.absorbed_flop else expanded
    assert spec.flop(new, context) == expected
    assert spec.flop(1, context) == spec.flop_per_token(context + 1)


def test_deepseek_decodes_in_the_latent_space_and_reads_prompts_outside_it():
    spec = model("deepseek-v3")
    base = spec.flop_per_token(1) - 61 * 2 * 128 * (192 + 128)  # one token alone: the expanded order is cheaper
    assert spec.flop_per_token(4096) == base + 61 * 2 * 128 * (512 + 64 + 512) * 4096
    assert spec.flop(4096) == 4096 * base + 61 * 2 * 128 * (192 + 128) * (4096 * 4097 // 2)


def test_only_tokens_whose_logits_are_wanted_pay_for_the_head():
    spec = model("llama-3.1-8b")
    assert spec.flop(100) - spec.flop(100, head_tokens=1) == 99 * 2 * 4096 * 128256


def test_windows_and_chunks_by_hand():
    mistral = model("mistral-7b-v0.1")  # window 4096 in each of 32 layers
    pair = 32 * 2 * 2 * 32 * 128
    assert mistral.flop_per_token(10_000) == mistral.flop_per_token(4096)
    assert mistral.flop(5000) - mistral.flop(4096) - 904 * mistral.flop_per_token(4096) == 0
    assert mistral.flop_per_token(4096) - mistral.flop_per_token(4095) == pair
    scout = model("llama-4-scout")  # chunks of 8192 in 36 of 48 layers
    pair = 2 * 2 * 40 * 128
    assert scout.flop_per_token(8192) - scout.flop_per_token(8193) == (36 * 8191 - 12 * 1) * pair
    assert scout.kv_bytes(100_000, "bf16") == 4096 * (36 * 8192 + 12 * 100_000)
    assert scout.kv_bytes_read(8193, "bf16") == 4096 * (36 * 1 + 12 * 8193)


# --- weights ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("id", "gib"), [("gpt-oss-20b", 12.8), ("gpt-oss-120b", 60.8)])
def test_mxfp4_checkpoints_have_their_published_size(id, gib):
    # "gpt-oss-120b & gpt-oss-20b Model Card", arXiv 2508.10925, table 1: checkpoint sizes
    assert round(model(id).weight_bytes("mxfp4") / 2**30, 1) == gib


def test_quantised_weights_by_hand():
    spec = model("llama-3.1-70b")
    quantised = spec.num_params - 2 * 128256 * 8192 - 161 * 8192  # all but embeddings, head and norms
    kept = 2 * (spec.num_params - quantised)
    assert spec.weight_bytes("fp8") == quantised + kept
    assert spec.weight_bytes("int4-g128") == quantised * 4.125 / 8 + kept
    assert spec.weight_bytes("bf16") == spec.weight_bytes("fp16") == 2 * spec.num_params
    assert spec.weight_bytes("fp32") == 4 * spec.num_params
    with pytest.raises(ValueError, match="unknown dtype 'fp9'"):
        spec.weight_bytes("fp9")


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("dtype", ["bf16", "fp8", "mxfp4"])
def test_a_large_step_reads_every_weight_and_a_small_one_no_more_than_that(id, dtype):
    spec = model(id)
    rows = spec.hidden_size * 2 * (2 if spec.position_rows else 1)
    unread = (0 if spec.tied_embeddings else spec.num_embedding_params) + (
        spec.tied_embeddings * spec.position_rows * spec.hidden_size
    )
    assert spec.weight_bytes_read(10**5, dtype) - 10**5 * rows == pytest.approx(spec.weight_bytes(dtype) - 2 * unread)
    assert spec.weight_bytes_read(1, dtype) <= spec.weight_bytes_read(2, dtype)


def test_one_token_reads_its_active_weights():
    spec = model("mixtral-8x7b")
    assert spec.weight_bytes_read(1, "bf16") == pytest.approx(
        2 * (spec.num_active_params - spec.num_embedding_params + spec.hidden_size)
    )
    expert = 32 * 3 * 4096 * 14336
    step = spec.weight_bytes_read(4, "bf16") - spec.weight_bytes_read(1, "bf16")
    assert step == pytest.approx(2 * expert * (experts_touched(8, 2, 4) - 2) + 3 * 2 * 4096)


# --- cache ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", KINDS)
@pytest.mark.parametrize("dtype", ["bf16", "fp8", "int8", "int4", "fp32"])
def test_cache_scales_with_its_dtype_and_state_does_not(id, dtype):
    spec, bits = model(id), {"bf16": 16, "fp8": 8, "int8": 8, "int4": 4, "fp32": 32}[dtype]
    grown = spec.kv_bytes(777, dtype) - spec.state_bytes
    assert grown * 16 == (spec.kv_bytes(777, "bf16") - spec.state_bytes) * bits
    assert spec.kv_bytes_per_token(dtype) * 16 == spec.kv_bytes_per_token("bf16") * bits


def test_sparse_attention_caches_index_keys_beside_the_latents():
    spec = model("deepseek-v3.2")
    assert spec.index_bytes_per_token("bf16") == 61 * 128 * 2
    assert spec.kv_bytes(1000, "bf16") == 1000 * (70_272 + 61 * 128 * 2)
    read = spec.kv_bytes_read(100_000, "bf16")  # every index key, but only 2048 latents
    assert read == 61 * 128 * 2 * 100_000 + 70_272 * 2048


def test_compressed_attention_by_hand():
    spec = model("deepseek-v4-flash")  # 43 layers; 21 of ratio 4, 20 of ratio 128, 2 of none
    tokens = 10_007
    entries = 43 * 128 + 21 * (tokens // 4) + 20 * (tokens // 128)
    assert spec.kv_bytes(tokens, "bf16") == 2 * (512 * entries + 128 * 21 * (tokens // 4))


@pytest.mark.parametrize("id", IDS)
def test_no_cost_shrinks_with_more_tokens(id):
    spec = model(id)
    for before, after in ((1, 2), (100, 128), (128, 129), (4096, 4097), (9000, 100_000)):
        assert spec.kv_bytes(before, "bf16") <= spec.kv_bytes(after, "bf16")
        assert spec.flop(before) < spec.flop(after)
        assert spec.kv_bytes_read(after, "bf16") <= spec.kv_bytes(after, "bf16")


# --- one formula, several lives ---------------------------------------------------------------------------------

COSTS = {
    "flop_per_token": lambda m, x: m.flop_per_token(x),
    "flop": lambda m, x: m.flop(x, 3 * x, 1),
    "weight_bytes_read": lambda m, x: m.weight_bytes_read(x, "fp8"),
    "kv_bytes": lambda m, x: m.kv_bytes(x, "int4"),
    "kv_bytes_read": lambda m, x: m.kv_bytes_read(x, "bf16"),
}


@pytest.mark.parametrize("id", KINDS)
@pytest.mark.parametrize("cost", COSTS)
def test_arrays_and_formulas_agree_with_numbers(id, cost):
    spec, formula = model(id), COSTS[cost]
    xs = [1, 2, 127, 128, 129, 1000, 8192, 8193, 70_000]
    numbers = [formula(spec, x) for x in xs]
    np.testing.assert_allclose(np.broadcast_to(formula(spec, np.array(xs, dtype=float)), len(xs)), numbers, rtol=1e-12)
    traced = formula(spec, Sym("var", "x"))
    if isinstance(traced, Sym):
        expression, lets = vega(traced)
        assert [_vega(expression, lets, x) for x in xs] == pytest.approx(numbers, rel=1e-12)
    else:
        assert numbers == [traced] * len(xs)  # a model without attention: nothing to trace


@pytest.mark.parametrize("id", ["deepseek-v3", "gpt-oss-20b", "nemotron-h-56b"])
def test_costs_run_and_differentiate_under_jax(id):
    import jax

    spec = model(id)
    for formula in COSTS.values():
        value, slope = jax.jit(jax.value_and_grad(lambda x, formula=formula: formula(spec, x)))(1000.0)
        assert value == pytest.approx(formula(spec, 1000.0), rel=1e-5)
        assert slope >= 0


def _vega(expression, lets, x):
    """Evaluate an arithmetic Vega expression with Python."""
    names = {"x": x, "min": min, "max": max, "floor": math.floor, "ceil": math.ceil, "pow": pow}
    for name, text in lets:
        names[name] = eval(text, {}, names)
    return eval(expression, {}, names)


def test_costs_take_microseconds():
    spec = model("gpt-oss-20b")
    for name, formula in COSTS.items():
        runs = timeit.repeat(lambda f=formula: f(spec, 1000), timer=time.process_time, number=200, repeat=5)
        seconds = min(runs) / 200
        assert seconds < 50e-6, f"{name} takes {seconds * 1e6:.0f} microseconds"


def test_specs_are_frozen_and_compare():
    spec = model("llama-3.1-8b")
    with pytest.raises(AttributeError):
        spec.num_layers = 3
    assert spec == ModelSpec(**{f: getattr(spec, f) for f in ModelSpec.__dataclass_fields__ if _is_init(f)})


def _is_init(field):
    return ModelSpec.__dataclass_fields__[field].init


@pytest.mark.parametrize("id", KINDS)
@pytest.mark.parametrize("integer", [np.int32, np.uint32, jnp.int32], ids=["int32", "uint32", "jax"])
def test_no_product_of_integers_wraps_round(id, integer):
    spec, tokens = model(id), 131_075
    for ask in (
        lambda n: spec.flop(n),
        lambda n: spec.flop(n, n, head_tokens=n),
        lambda n: spec.flop_per_token(n),
        lambda n: spec.weight_bytes_read(n * 8, "bf16"),
        lambda n: spec.kv_bytes(n, "bf16"),
        lambda n: spec.kv_bytes_read(n, "bf16"),
    ):
        np.testing.assert_allclose(ask(integer([tokens])), ask(tokens), rtol=2e-6)
        assert float(ask(integer(tokens))) == pytest.approx(ask(tokens), rel=2e-6)


@pytest.mark.parametrize("bad", [-5, -0.5, math.nan])
def test_a_number_of_tokens_below_nothing_is_refused_by_name(bad):
    spec = model("llama-3.1-8b")
    for name, ask in {
        "new_tokens": lambda n: spec.flop(n),
        "head_tokens": lambda n: spec.flop(5, head_tokens=n),
        "context": lambda n: spec.flop_per_token(n),
        "tokens": lambda n: spec.kv_bytes(n, "bf16"),
    }.items():
        with pytest.raises(ValueError, match=f"^{name} is {bad!r}; give a number of at least 0"):
            ask(bad)
        assert ask(0) >= 0
    for ask in (lambda n: spec.flop(5, n), lambda n: spec.kv_bytes_read(n, "bf16")):
        with pytest.raises(ValueError, match=r"^context is"):
            ask(bad)
    with pytest.raises(ValueError, match=r"^tokens is"):
        spec.weight_bytes_read(bad, "bf16")


def test_a_token_cannot_choose_more_experts_than_there_are():
    with pytest.raises(ValueError, match="experts_per_token is 16; give a number from 1 to num_experts, 8"):
        experts_touched(8, 16, 1)
    assert experts_touched(8, 8, 1) == 8
