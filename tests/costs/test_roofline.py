"""The roofline: worked by hand, never below either roof, and the same in every life of a formula."""

import math
from contextlib import contextmanager
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.costs.efficiency import IDEAL, Efficiency, efficiency_of
from hwlab.costs.roofline import (
    Rates,
    StepTime,
    Work,
    achieved_flop_per_s,
    attention_time,
    cache_dtype,
    decode_step_time,
    decode_step_work,
    elementwise_time,
    kv_bytes_per_chip,
    matmul_bytes,
    matmul_flop,
    matmul_time,
    prefill_time,
    prefill_work,
    price,
    rates,
    ridge,
    ridge_tokens,
    verify_step_work,
    why_not_cut,
)
from hwlab.formula import Sym, lookup, where
from hwlab.specs.chips import chip, chips
from hwlab.specs.models import model, models

H100, LLAMA_8B, LLAMA_70B = chip("h100-sxm"), model("llama-3.1-8b"), model("llama-3.1-70b")
SIZES = st.integers(1, 20_000)
SHARDED = [m for m in models() if m.num_heads and not why_not_cut(m.num_heads, m.num_kv_heads, m.intermediate_size, 4)]


# --- worked by hand -------------------------------------------------------------------------------------------------


def test_one_token_against_8192_x_8192_takes_40_microseconds():
    # FLOP: 2 x 1 x 8192 x 8192 = 134,217,728; bytes: (8192 + 8192^2 + 8192) x 2 = 134,250,496
    assert matmul_flop(1, 8192, 8192) == 134_217_728
    assert matmul_bytes(1, 8192, 8192, dtype="bf16") == 134_250_496
    # 134,217,728 / 989.4e12 = 0.1357 us of arithmetic; 134,250,496 / 3.35e12 = 40.075 us of traffic
    t = matmul_time(1, 8192, 8192, dtype="bf16", chip=H100)
    assert (t.bound, t.compute_s, t.memory_s) == ("memory", pytest.approx(0.13566e-6, rel=1e-4), t.seconds)
    assert t.seconds == pytest.approx(40.075e-6, rel=1e-4)
    assert t.ratio == pytest.approx(295.4, rel=1e-3)


def test_4096_cubed_on_an_h100_is_compute_bound():
    # 2 x 4096^3 = 137.44 GFLOP / 989.4 TFLOP/s = 138.9 us; 3 x 4096^2 x 2 B = 100.7 MB / 3.35 TB/s = 30.05 us
    t = matmul_time(4096, 4096, 4096, dtype="bf16", chip=H100)
    assert t.bound == "compute"
    assert (t.seconds, t.memory_s) == (pytest.approx(138.91e-6, rel=1e-4), pytest.approx(30.05e-6, rel=1e-3))


def test_the_ridge_is_peak_over_bandwidth():
    assert ridge(H100, "bf16") == 989.4e12 / 3.35e12
    assert ridge(H100, "fp8") == pytest.approx(2 * ridge(H100, "bf16"), rel=1e-3)


def test_at_the_ridge_both_roofs_meet():
    for k, n in ((8192, 8192), (4096, 14336), (1024, 8192)):
        tokens = ridge_tokens(k, n, dtype="bf16", chip=H100)
        t = matmul_time(tokens, k, n, dtype="bf16", chip=H100)
        assert t.compute_s == pytest.approx(t.memory_s)


def test_a_product_too_small_for_the_ridge_is_refused():
    with pytest.raises(ValueError, match=r"64 x 64 product in bf16 never does more than 32 FLOP a byte; .* needs 295"):
        ridge_tokens(64, 64, dtype="bf16", chip=H100)


@pytest.mark.filterwarnings("error")
def test_a_product_too_small_for_the_ridge_never_flips_among_arrays_either(in_vega):
    wanted = [math.inf, ridge_tokens(8192, 8192, dtype="bf16", chip=H100)]
    for array in (np.array, jnp.array):
        found = ridge_tokens(array([64, 8192]), array([64, 8192]), dtype="bf16", chip=H100)
        assert np.asarray(found) == pytest.approx(wanted, rel=1e-6)
    assert ridge_tokens(np.int32(64), 64, dtype="bf16", chip=H100) == math.inf
    traced = ridge_tokens(Sym("var", "datum.n"), Sym("var", "datum.n"), dtype="bf16", chip=H100)
    said = in_vega([(where(traced > 1e9, "never", "flips"), {"n": n}) for n in (64, 8192)])
    assert said == ["never", "flips"]
    assert in_vega([(traced, {"n": 8192})]) == pytest.approx(wanted[1:])


def test_elementwise_work_is_bound_by_what_it_reads_and_writes():
    # a residual sum of 1024 x 8192: 3 x 8.39 M x 2 B = 50.3 MB / 3.35 TB/s = 15.02 us
    t = elementwise_time(1024 * 8192, dtype="bf16", chip=H100, reads=2)
    assert t.bound == "memory" and t.seconds == pytest.approx(15.02e-6, rel=1e-3)


def test_attention_of_a_prompt_counts_the_causal_half():
    # 2048 queries, each over itself and what is before: 2048 x 2049 / 2 = 2,098,176 pairs, x 4 x 32 x 128 FLOP
    t = attention_time(2048, heads=32, kv_heads=8, head_dim=128, dtype="bf16", chip=H100)
    assert t.compute_s == pytest.approx(2_098_176 * 4 * 32 * 128 / 989.4e12)
    assert t.bound == "compute"


def test_decode_reads_the_cache_of_the_kv_heads_and_not_of_all_heads():
    # Llama 3 8B at 4096 tokens: 2 x 32 layers x 8 KV heads x 128 x 4096 x 2 B = 512 MiB, not 2 GiB
    with_cache = decode_step_work(LLAMA_8B, context=4096, dtype="fp16").memory_bytes
    assert with_cache - LLAMA_8B.weight_bytes_read(1, "fp16") == 512 * 2**20
    one_layer = attention_time(1, 4095, heads=32, kv_heads=8, head_dim=128, dtype="fp16", chip=H100)
    assert 32 * one_layer.memory_s * H100.memory_bytes_per_s == pytest.approx(512 * 2**20, rel=2e-3)


def test_prefill_is_2nt_and_attention():
    """Kaplan et al. 2020, section 2.1: 2N a token, plus 2 x layers x context x width for the scores."""
    tokens, m = 1024, LLAMA_70B
    norms = (2 * m.num_layers + 1) * m.hidden_size
    matrices = m.num_params - 2 * m.vocab_size * m.hidden_size - norms
    scores = 4 * m.num_layers * m.num_heads * m.head_dim * tokens * (tokens + 1) / 2
    head = 2 * m.vocab_size * m.hidden_size  # of the last token only
    work = prefill_work(m, prompt_tokens=tokens, dtype="bf16")
    assert work.flop == 2 * matrices * tokens + scores + head


def test_an_8b_step_on_an_h100_by_hand():
    # weights less the embedding table: (8,030,261,248 - 525,336,576) x 2 B = 15.010 GB; cache of 1000 tokens 131 MB
    # (15.010e9 + 0.131e9) / 3.35e12 = 4.52 ms
    t = decode_step_time(LLAMA_8B, H100, context=1000, dtype="bf16")
    assert t.seconds == pytest.approx((15.010e9 + 0.131072e9) / 3.35e12, rel=1e-4)
    assert t.bound == "memory" and t.network_s == t.overhead_s == 0


def test_all_reduces_of_a_70b_on_eight_chips_by_hand():
    # 32 tokens x 8192 x 2 B = 524,288 B; twice a layer, 80 layers; each sends 2 x 7/8 of it at 450 GB/s
    work = decode_step_work(LLAMA_70B, context=100, batch=32, dtype="fp8", tensor=8)
    assert (work.all_reduces, work.all_reduce_bytes) == (160, 524_288)
    side_by_side = decode_step_work(model("falcon-40b"), context=100, dtype="bf16", tensor=8)
    assert side_by_side.all_reduces == 60
    t = decode_step_time(LLAMA_70B, H100, context=100, batch=32, dtype="fp8", tensor=8)
    assert t.network_s == pytest.approx(160 * 2 * 7 / 8 * 524_288 / 450e9)


def test_a_batch_reads_the_experts_that_it_touches():
    m = model("mixtral-8x7b")
    one, many = (decode_step_work(m, context=1, batch=b, dtype="bf16").memory_bytes for b in (1, 256))
    expert_bytes = 3 * 4096 * 14336 * 2 * m.num_layers  # gate, up and down in each layer
    # one token visits 2 of 8, 256 tokens all: 1 - (3/4)^256 of each is 1 to 32 digits
    assert (many - one) / expert_bytes == pytest.approx(6, rel=2e-3)


def test_recurrent_state_is_read_and_written_back_by_each_step():
    mamba, batch = model("mamba-2.8b"), 256
    state = 64 * 5120 * (16 * 4 + 3 * 2)  # float32 state of 16, three last inputs of the convolution, a channel
    assert mamba.state_bytes == state
    read = mamba.weight_bytes_read(batch, "bf16")
    assert decode_step_work(mamba, context=2048, batch=batch, dtype="bf16").memory_bytes == read + 2 * batch * state
    shared = decode_step_work(mamba, context=2048, batch=batch, dtype="bf16", tensor=2).memory_bytes
    assert shared == (read + 2 * batch * state) / 2
    first = prefill_work(mamba, prompt_tokens=100, batch=2, dtype="bf16")  # nothing to read yet
    assert first.memory_bytes == mamba.weight_bytes_read(200, "bf16") + 2 * state


def test_attention_and_head_keep_the_16_bit_peak_beside_narrow_weights():
    tokens = 130_872  # of a long prompt, where attention is more work than the weights
    layers = 80 * 2 * (8192 * 8192 * 2 + 2 * 8192 * 1024 + 3 * 8192 * 28672) * tokens
    attention = 80 * 4 * 64 * 128 * tokens * (tokens + 1) // 2
    head = 2 * 8192 * 128_256
    work = prefill_work(LLAMA_70B, prompt_tokens=tokens, dtype="fp8", tensor=8)
    assert (work.flop, work.kept_flop) == ((layers + attention + head) / 8, (attention + head) / 8)
    wanted = layers / 8 / H100.peak("fp8") + (attention + head) / 8 / H100.peak("bf16")
    t = prefill_time(LLAMA_70B, H100, prompt_tokens=tokens, dtype="fp8", tensor=8)
    assert t.compute_s == pytest.approx(wanted)
    wide = prefill_time(LLAMA_70B, H100, prompt_tokens=tokens, dtype="bf16", tensor=8).compute_s
    assert wide == pytest.approx((layers + attention + head) / 8 / H100.peak("bf16"))

    step = decode_step_work(model("qwen3-30b-a3b"), context=1, batch=3, dtype="fp8")
    router, scores = 48 * 2 * 2048 * 128, 48 * 4 * 32 * 128
    assert step.kept_flop == 3 * (router + scores + 2 * 2048 * 151_936)


def test_a_chip_without_16_bit_arithmetic_computes_all_of_it_narrow():
    kept = {("tpu-v1", "int8"): "int8", ("v100-sxm2", "fp16"): "fp16", ("h100-sxm", "fp8"): "bf16"}
    kept[("h100-sxm", "int4-g128")] = "bf16"  # weights are widened to 16 bits themselves
    for (id, dtype), arithmetic in kept.items():
        assert rates(chip(id), dtype).kept_flop_per_s == chip(id).peak(arithmetic)
    assert rates(H100, "fp8", Efficiency(compute=0.5)).kept_flop_per_s == H100.peak("bf16") / 2
    assert prefill_time(LLAMA_8B, chip("tpu-v1"), prompt_tokens=9, dtype="int8").compute_s == pytest.approx(
        LLAMA_8B.flop(9, head_tokens=1) / chip("tpu-v1").peak("int8")
    )


def test_cache_takes_16_bits_beside_quantised_weights():
    assert [cache_dtype(d) for d in ("bf16", "fp16", "fp32", "fp8", "mxfp4")] == [
        "bf16",
        "fp16",
        "fp32",
        "bf16",
        "bf16",
    ]


# --- invariants -----------------------------------------------------------------------------------------------------


@given(SIZES, SIZES, SIZES, st.sampled_from(["bf16", "fp8"]))
def test_a_product_is_never_below_either_roof(m, k, n, dtype):
    t = matmul_time(m, k, n, dtype=dtype, chip=H100)
    assert t.seconds >= matmul_flop(m, k, n) / H100.peak(dtype) * (1 - 1e-12)
    assert t.seconds >= matmul_bytes(m, k, n, dtype=dtype) / H100.memory_bytes_per_s * (1 - 1e-12)
    assert t.seconds in (t.compute_s, t.memory_s)


@given(SIZES, SIZES, SIZES)
def test_achieved_rate_is_flop_over_time(tokens, d_in, d_out):
    t = matmul_time(tokens, d_in, d_out, dtype="bf16", chip=H100)
    rate = achieved_flop_per_s(tokens, d_in, d_out, H100.peak("bf16"), H100.memory_bytes_per_s, 2)
    assert rate == pytest.approx(matmul_flop(tokens, d_in, d_out) / t.seconds)


@given(*[st.floats(1e-9, 1)] * 4)
def test_what_binds_is_the_longest_and_the_ratio_leads_to_the_next(c, m, n, o):
    t = StepTime(c, m, n, o)
    parts = sorted(((c, "compute"), (m, "memory"), (n, "network"), (o, "overhead")))
    assert getattr(t, f"{t.bound}_s") == parts[-1][0]
    assert t.ratio == pytest.approx(parts[-1][0] / parts[-2][0])
    assert t.seconds == max(c, m) + n + o


@pytest.mark.filterwarnings("error")
def test_where_one_thing_alone_takes_time_the_ratio_is_infinite():
    assert StepTime(0.0, 2.0).ratio == math.inf
    assert elementwise_time(9, dtype="bf16", chip=H100, flop_per_element=0).ratio == math.inf
    assert StepTime(np.array([0.0, 1.0]), np.array([2.0, 2.0])).ratio.tolist() == [math.inf, 2]
    assert StepTime(jnp.array([0.0, 1.0]), 2.0).ratio.tolist() == [math.inf, 2]


@settings(deadline=None)
@given(st.sampled_from(SHARDED), st.integers(1, 512), st.integers(1, 4000), st.sampled_from((1, 2, 4)))
def test_time_grows_with_batch_and_with_context(m, batch, context, tensor):
    e = efficiency_of(H100)

    def step(b, c):
        return decode_step_time(m, H100, batch=b, context=c, dtype="bf16", tensor=tensor, efficiency=e).seconds

    def read(b, c):
        return prefill_time(m, H100, batch=b, prompt_tokens=c, dtype="bf16", tensor=tensor, efficiency=e).seconds

    for seconds in (step, read):
        assert seconds(batch, context) <= seconds(batch + 1, context) * (1 + 1e-12)
    assert read(batch, context) < read(batch, context + 1)


@settings(deadline=None)
@given(st.sampled_from(SHARDED), st.integers(1, 512), st.integers(1, 4000))
def test_one_chip_has_no_network_time_and_more_chips_do_less_each(m, batch, context):
    alone, four = (
        decode_step_time(m, H100, batch=batch, context=context, dtype="bf16", tensor=t, efficiency=efficiency_of(H100))
        for t in (1, 4)
    )
    assert alone.network_s == 0 < four.network_s
    assert four.compute_s == pytest.approx(alone.compute_s / 4)
    assert alone.memory_s / 4 * (1 - 1e-12) <= four.memory_s <= alone.memory_s


def test_a_latent_cache_is_held_whole_by_every_chip():
    m = model("deepseek-v3")
    assert kv_bytes_per_chip(m, m.kv_bytes(1000, "bf16"), 8) == m.kv_bytes(1000, "bf16")
    g = LLAMA_70B  # 8 KV heads: shared by 8 chips, and held twice by 16
    assert [kv_bytes_per_chip(g, 8e9, t) for t in (1, 8, 16)] == [8e9, 1e9, 1e9]


def test_real_rates_are_slower_and_narrow_arithmetic_has_its_own_share():
    e = Efficiency(compute=0.5, compute_narrow=0.25, memory=0.8, link=0.5, layer_s=1e-6)
    ideal, real = rates(H100, "bf16"), rates(H100, "bf16", e)
    assert (real.flop_per_s, real.memory_bytes_per_s) == (ideal.flop_per_s * 0.5, ideal.memory_bytes_per_s * 0.8)
    assert rates(H100, "fp8", e).flop_per_s == H100.peak("fp8") * 0.25
    assert rates(H100, "int4-g128", e).flop_per_s == H100.peak("bf16") * 0.5  # widened to 16 bits
    t = decode_step_time(LLAMA_8B, H100, context=10, dtype="bf16", efficiency=e)
    assert t.overhead_s == pytest.approx(32e-6)


# --- what is missing is said ----------------------------------------------------------------------------------------


def test_every_chip_answers_or_says_what_it_lacks():
    answered = 0
    for c in chips():
        try:
            t = matmul_time(1, 4096, 4096, dtype="bf16", chip=c)
        except ValueError as error:
            assert str(error).startswith(f"{c.name} has no published ")
        else:
            answered += 1
            assert t.seconds > 0
    assert answered > 60


ASKED = {
    "matmul_flop": lambda bad: matmul_flop(1, bad, 3),
    "matmul_bytes": lambda bad: matmul_bytes(1, 2, bad, dtype="bf16"),
    "matmul_time": lambda bad: matmul_time(bad, 8192, 8192, dtype="bf16", chip=H100),
    "achieved": lambda bad: achieved_flop_per_s(bad, 8192, 8192, 1e15, 3e12, 2),
    "ridge_tokens": lambda bad: ridge_tokens(bad, 8192, dtype="bf16", chip=H100),
    "elementwise": lambda bad: elementwise_time(bad, dtype="bf16", chip=H100),
    "attention": lambda bad: attention_time(1, heads=8, kv_heads=bad, head_dim=128, dtype="bf16", chip=H100),
    "prefill": lambda bad: prefill_time(LLAMA_8B, H100, prompt_tokens=bad, dtype="bf16"),
    "decode": lambda bad: decode_step_time(LLAMA_8B, H100, context=10, batch=bad, dtype="bf16"),
    "chips": lambda bad: decode_step_time(LLAMA_8B, H100, context=10, tensor=bad, dtype="bf16"),
}


@pytest.mark.parametrize("bad", [-5, 0, math.nan, None, "7"])
@pytest.mark.parametrize("name", ASKED)
def test_a_size_that_is_not_positive_is_refused_by_name(name, bad):
    with pytest.raises(ValueError, match=rf"^[a-z_]+ is {bad!r}; give a number above 0$"):
        ASKED[name](bad)


def test_layers_that_cannot_be_cut_and_heads_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match=r"tensor is 7, but heads \(64\) cannot be cut into 7"):
        decode_step_time(LLAMA_70B, H100, context=10, dtype="bf16", tensor=7)
    with pytest.raises(ValueError, match="kv_heads is 64; give a divisor of the 8 heads"):
        attention_time(1, heads=8, kv_heads=64, head_dim=128, dtype="bf16", chip=H100)
    with pytest.raises(ValueError, match="context is -1; give a number of at least 0"):
        attention_time(1, -1, heads=8, kv_heads=8, head_dim=128, dtype="bf16", chip=H100)


def test_layers_cannot_be_shared_without_a_link_rate():
    lonely = replace(H100, link_bytes_per_s=None)
    with pytest.raises(ValueError, match="no published link rate, so 2 of them cannot share a layer; use tensor=1"):
        decode_step_time(LLAMA_8B, lonely, context=1, dtype="bf16", tensor=2)
    assert decode_step_time(LLAMA_8B, lonely, context=1, dtype="bf16", tensor=1).seconds > 0


# --- one formula, four lives ----------------------------------------------------------------------------------------


@contextmanager
def x64():
    """JAX in float64, as the other lives of a formula."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


HYBRID, LATENT, WINDOWED = model("qwen3-next-80b-a3b"), model("deepseek-v3"), model("gemma-3-27b")


@pytest.mark.parametrize("m", [LLAMA_8B, HYBRID, LATENT, WINDOWED], ids=lambda m: m.id)
def test_numbers_arrays_and_jax_agree(m):
    batch, context = np.array([[1], [7], [300]]), np.array([1, 100, 5000, 40000])
    shared = {"dtype": "fp8", "tensor": 4, "efficiency": efficiency_of(H100)}
    for time, name in ((decode_step_time, "context"), (prefill_time, "prompt_tokens")):
        arrays = time(m, H100, batch=batch, **{name: context}, **shared).seconds
        assert arrays.shape == (3, 4)
        with x64():
            under_jax = time(m, H100, batch=jnp.asarray(batch * 1.0), **{name: jnp.asarray(context * 1.0)}, **shared)
            assert np.asarray(under_jax.seconds) == pytest.approx(arrays, rel=1e-9)
        for i, b in enumerate(batch[:, 0].tolist()):
            for j, c in enumerate(context.tolist()):
                assert time(m, H100, batch=b, **{name: c}, **shared).seconds == pytest.approx(arrays[i, j], rel=1e-9)


BIG = 131_072
INTEGERS = [np.int32, np.int64, np.uint32, jnp.int32]
COUNTED = {
    "matmul_flop": lambda n: matmul_flop(n, 8192, 28672),
    "matmul_bytes": lambda n: matmul_bytes(n, 65536, 65536, dtype="bf16"),
    "matmul_time": lambda n: matmul_time(n, 8192, 28672, dtype="bf16", chip=H100).seconds,
    "square": lambda n: matmul_time(n, n, n, dtype="bf16", chip=H100).seconds,
    "achieved": lambda n: achieved_flop_per_s(n, n, 8192, 1e18, 3e12, 2),
    "ridge_tokens": lambda n: ridge_tokens(n, n, dtype="bf16", chip=H100),
    "elementwise": lambda n: elementwise_time(n * 16000, dtype="bf16", chip=H100, reads=2).seconds,
    "attention": lambda n: (
        attention_time(n, n, batch=n, heads=64, kv_heads=8, head_dim=128, dtype="bf16", chip=H100).seconds
    ),
    "prefill": lambda n: prefill_time(LLAMA_70B, H100, prompt_tokens=n, batch=n, dtype="fp8", tensor=8).seconds,
    "exchange": lambda n: prefill_work(LLAMA_70B, prompt_tokens=n, batch=64, dtype="fp8", tensor=8).all_reduce_bytes,
    "decode": lambda n: decode_step_time(LLAMA_70B, H100, context=n, batch=n, dtype="fp8", tensor=8).seconds,
    "share": lambda n: kv_bytes_per_chip(HYBRID, n * 16000, 4),
}


@pytest.mark.parametrize("integer", INTEGERS, ids=["int32", "int64", "uint32", "jax"])
@pytest.mark.parametrize("name", COUNTED)
def test_no_product_of_integers_wraps_round(name, integer):
    ask = COUNTED[name]
    assert np.asarray(ask(integer(BIG))) == pytest.approx(ask(BIG), rel=2e-6)
    assert np.asarray(ask(integer([BIG, 7 * BIG // 8]))) == pytest.approx([ask(BIG), ask(7 * BIG // 8)], rel=2e-6)


def test_what_binds_is_known_for_arrays_too():
    t = matmul_time(np.array([1, 4096]), 8192, 8192, dtype="bf16", chip=H100)
    assert t.bound.tolist() == ["memory", "compute"]


@pytest.mark.parametrize("m", [LLAMA_8B, HYBRID, LATENT, WINDOWED], ids=lambda m: m.id)
def test_a_traced_step_agrees_in_the_page(m, in_vega):
    table = {id: chip(id) for id in ("h100-sxm", "mi300x", "tpu-v5p")}
    state = {"batch": 13, "context": 3000, "chip": "mi300x"}
    batch, context = Sym("var", "datum.batch"), Sym("var", "datum.context")
    chosen = lookup(table, Sym("var", "datum.chip", kind="text"))
    for time, name in ((decode_step_time, "context"), (prefill_time, "prompt_tokens")):
        traced = time(m, chosen, batch=batch, **{name: context}, dtype="bf16", tensor=4)
        seconds, bound = in_vega([(traced.seconds, state), (traced.bound, state)])
        plain = time(m, table["mi300x"], batch=13, **{name: 3000}, dtype="bf16", tensor=4)
        assert (seconds, bound) == (pytest.approx(plain.seconds, rel=1e-9), plain.bound)


def test_a_slider_may_set_how_many_chips_share_a_layer(in_vega):
    traced = decode_step_time(LLAMA_70B, H100, context=100, dtype="fp8", tensor=Sym("var", "datum.n")).seconds
    got = in_vega([(traced, {"n": n}) for n in (1, 2, 8, 16)])
    assert got == pytest.approx(
        [decode_step_time(LLAMA_70B, H100, context=100, dtype="fp8", tensor=n).seconds for n in (1, 2, 8, 16)]
    )


def test_jax_says_which_property_of_the_chip_matters():
    work = decode_step_work(LLAMA_8B, context=1000, dtype="bf16", tensor=2)

    def seconds(r):
        return price(work, r).seconds

    with x64():
        slope = Rates(*map(float, jax.grad(seconds)(Rates(*map(float, rates(H100, "bf16"))))))
    # memory binds: d/dW of bytes/W is -bytes/W^2, and more arithmetic buys nothing
    assert slope.memory_bytes_per_s == pytest.approx(-work.memory_bytes / H100.memory_bytes_per_s**2)
    assert slope.flop_per_s == 0
    sent = 64 * 2 * 1 / 2 * work.all_reduce_bytes
    assert slope.link_bytes_per_s == pytest.approx(-sent / H100.link_bytes_per_s**2)


def test_work_is_counted_before_a_chip_is_named():
    work = decode_step_work(LLAMA_8B, context=1000, dtype="bf16")
    assert isinstance(work, Work)
    assert price(work, rates(H100, "bf16")) == decode_step_time(
        LLAMA_8B, H100, context=1000, dtype="bf16", efficiency=IDEAL
    )


@pytest.mark.parametrize("id", ["llama-3.1-8b", "deepseek-v3", "gemma-3-27b", "mamba-2.8b"])
def test_a_step_that_judges_no_guess_is_a_decode_step_and_one_that_judges_some_reads_each_cache_once(id):
    of = model(id)
    shape = {"context": 1024, "batch": 8, "dtype": "bf16"}
    plain = decode_step_work(of, **shape)
    assert verify_step_work(of, guesses=0, **shape) == plain
    judged = verify_step_work(of, guesses=4, **shape)
    five = decode_step_work(of, **(shape | {"batch": 40}))
    assert judged.flop == pytest.approx(five.flop, rel=0.01)
    weights = [of.weight_bytes_read(tokens, "bf16") for tokens in (8, 40)]
    caches = (plain.memory_bytes - weights[0], judged.memory_bytes - weights[1])
    assert caches[1] == pytest.approx(caches[0], rel=0.01)  # not five times: a sequence has one
