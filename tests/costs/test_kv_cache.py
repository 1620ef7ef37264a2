"""What a cache weighs: worked by hand, and faults that public calculators have had, all of them impossible here."""

import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.costs.estimate import estimate
from hwlab.costs.kv_cache import allocated_bytes, cache_bytes, concurrency
from hwlab.costs.placement import needed_bytes
from hwlab.costs.roofline import kv_bytes_per_chip, kv_shards
from hwlab.specs.chips import chip
from hwlab.specs.measurements import measurements
from hwlab.specs.models import ModelSpec, model, models

GIB = 2**30
KEEPING = [m for m in models() if m.reaches]
H100 = chip("h100-sxm")


@pytest.mark.parametrize(
    ("id", "each"),
    [
        ("llama-2-7b", 2 * 32 * 32 * 128 * 2),  # multi-head, 16 bits and not 32
        ("llama-3-8b", 2 * 32 * 8 * 128 * 2),  # grouped
        ("deepseek-moe-16b", 2 * 28 * 16 * 128 * 2),  # experts change nothing
        ("mistral-small-24b", 2 * 40 * 8 * 128 * 2),  # a head is 128 wide, and not 5120 / 32 = 160
        ("gpt-oss-20b", 2 * 24 * 8 * 64 * 2),  # 64, and not 2880 / 64 = 45
        ("gemma-3-12b", 2 * 48 * 8 * 256 * 2),  # 256, and not 3840 / 16 = 240
        ("falcon-7b", 2 * 32 * 1 * 64 * 2),  # multi-query
        ("deepseek-v3", 61 * (512 + 64) * 2),  # latent
    ],
)
def test_a_token_weighs_its_key_heads_at_their_own_width(id, each):
    # jranaraki/vllm-fit issue 2 and NVIDIA/Model-Optimizer issue 2482 had query heads, 4 bytes, hidden / heads
    assert model(id).kv_bytes_per_token("bf16") == each
    assert model(id).kv_bytes_per_token("fp8") == each / 2


def test_the_formula_is_the_model_where_all_layers_are_alike():
    for m in models():
        plain = len(m.reaches) == 1 and m.reaches[0] == dataclasses.replace(
            m.reaches[0], limit=None, stride=1, absorbed_flop=0
        )
        if plain and not m.state_bytes and m.num_kv_heads:
            assert cache_bytes(m.num_layers, m.num_kv_heads, m.head_dim, 2, 777) == m.kv_bytes(777, "bf16")


def test_experts_have_the_width_of_an_expert():
    found = model("deepseek-moe-16b")  # a calculator with the dense width in each expert says 121 billion
    assert found.num_params == pytest.approx(16.4e9, rel=5e-3)
    assert found.num_active_params == pytest.approx(2.8e9, rel=2e-2)


def test_a_step_reads_the_key_heads_once_however_attention_is_computed():
    # hahnyuan/LLM-Viewer issue 12 multiplied the traffic by the query heads
    assert model("llama-3-8b").kv_bytes_read(4096, "fp16") == 512 * 2**20


@pytest.mark.parametrize(
    ("id", "each", "state"),
    [
        ("jamba-v0.1", 4 * 2 * 8 * 128 * 2, 28 * 8192 * (16 * 4 + 3 * 2)),  # 4 layers of 32 attend
        ("qwen3-next-80b-a3b", 12 * 2 * 2 * 256 * 2, None),
        ("nemotron-h-56b", 10 * 2 * 8 * 128 * 2, None),
        ("minimax-text-01", 10 * 2 * 8 * 128 * 2, 70 * 64 * 128**2 * 4),
        ("kimi-linear-48b-a3b", 7 * (512 + 64) * 2, None),
    ],
)
def test_a_hybrid_keeps_tokens_in_its_attention_layers_and_a_state_that_does_not_grow(id, each, state):
    # lmstudio-bug-tracker issue 1862: 40 to 67 % too much; another calculator stops with an error
    m = model(id)
    assert m.kv_bytes_per_token("bf16") == each
    assert m.kv_bytes(10_000, "bf16") - m.kv_bytes(5_000, "bf16") == 5_000 * each
    assert m.kv_bytes(0, "bf16") == m.state_bytes > 0 and m.kv_bytes(0, "fp8") == m.state_bytes
    assert state in (None, m.state_bytes)


@settings(max_examples=150)
@given(m=st.sampled_from(KEEPING), tokens=st.integers(1, 400_000), dtype=st.sampled_from(["bf16", "fp8", "int4-g32"]))
def test_capacity_is_the_inverse_of_the_size_windows_and_all(m, tokens, dtype):
    # aiconfigurator pull 1201 took the bytes of the first token for those of every one
    budget = m.kv_bytes(tokens, dtype)
    held = m.kv_capacity_tokens(budget, dtype)
    if held is None:  # nothing grows any more: every layer has its window
        assert m.kv_bytes(10**7, dtype) <= budget
        return
    assert held >= tokens and m.kv_bytes(held, dtype) <= budget < m.kv_bytes(held + 1, dtype)


@given(m=st.sampled_from(KEEPING), tokens=st.integers(1, 50_000))
def test_bytes_are_the_sum_of_what_single_tokens_add(m, tokens):
    # redhat-performance/configiq issue 112: memory, tokens and bytes a token did not multiply out in one answer
    one_more = m.kv_bytes(tokens, "bf16") - m.kv_bytes(tokens - 1, "bf16")
    stride = max(r.stride for r in m.reaches)
    if stride == 1:
        assert 0 <= one_more <= m.kv_bytes_per_token("bf16") + m.index_bytes_per_token("bf16")
    if not any(r.limit for r in m.reaches) and stride == 1:
        added = m.kv_bytes_per_token("bf16") + m.index_bytes_per_token("bf16")
        assert m.kv_bytes(tokens, "bf16") == m.state_bytes + tokens * added


@given(
    m=st.sampled_from(KEEPING),
    tokens=st.integers(1, 60_000),
    block=st.sampled_from([1, 16, 64, 256]),
    windows=st.booleans(),
)
def test_what_is_taken_is_never_less_than_what_is_kept(m, tokens, block, windows):
    kept, taken = m.kv_bytes(tokens, "bf16"), allocated_bytes(m, tokens, "bf16", block_tokens=block, windows=windows)
    assert taken >= kept * (1 - 1e-12)
    assert taken >= allocated_bytes(m, tokens, "bf16", block_tokens=block, windows=True)
    plain = all(r.stride == 1 and (r.limit is None or r.keeps_all or r.limit >= tokens) for r in m.reaches)
    if plain and tokens % block == 0:
        assert taken == kept


def test_ideal_and_taken_are_two_numbers_and_each_says_which_it_is():
    # alvarobartt/hf-mem pull 70: gpt-oss-20b, 32 sequences of 8,192 tokens in bf16
    m = model("gpt-oss-20b")
    assert 32 * m.kv_bytes(8192, "bf16") / GIB == pytest.approx(6.09, abs=0.005)
    assert 32 * allocated_bytes(m, 8192, "bf16") / GIB == 12
    # with windows given back: 9 blocks of 16 hold 128 tokens wherever these begin
    by_hand = 12 * 2 * 8 * 64 * 2 * (8192 + 9 * 16)
    assert allocated_bytes(m, 8192, "bf16", windows=True) == by_hand


def test_logs_of_engines_have_the_bytes_a_token_that_we_compute():
    found = {m.id: m for m in measurements("cache")}
    for m in found.values():
        spec = model(m.model)
        if m.nbytes is None:
            continue
        each = allocated_bytes(spec, 16_384, "bf16") / 16_384 / kv_shards(spec, m.chips)
        assert m.nbytes / m.tokens == pytest.approx(each, rel=0.015), m.id
    assert len(found) == 4


@pytest.mark.parametrize("tensor", [1, 2, 4, 8])
def test_chips_hold_each_part_of_the_cache_once_until_there_are_more_of_them_than_heads(tensor):
    # microsoft/vidur issue 18: layers of all stages in one function, stages again in another
    m = model("llama-3.1-70b")
    held = concurrency(m, H100, tokens=4096, chips=8, tensor=tensor, dtype="fp8" if tensor < 4 else "bf16")
    assert held.kv_bytes * tensor == held.copies * m.kv_bytes(4096, "bf16") and held.copies == 1
    weights, each = needed_bytes(m, 3, 4096, "bf16", "bf16", tensor, 1)
    assert each == 3 * kv_bytes_per_chip(m, m.kv_bytes(4096, "bf16"), tensor)
    assert weights * tensor == m.weight_bytes("bf16")


def test_more_chips_than_key_heads_hold_copies():
    few = model("qwen3-235b-a22b")  # four key heads
    found = {t: concurrency(few, H100, tokens=1000, chips=t, dtype="fp8") for t in (4, 8)}
    assert [found[t].copies for t in (4, 8)] == [1, 2]
    assert found[4].kv_bytes == found[8].kv_bytes == few.kv_bytes(1000, "bf16") / 4
    latent = concurrency(model("deepseek-v3"), chip("h200-sxm"), tokens=4096, chips=8, dtype="fp8")
    assert latent.copies == 8 and latent.kv_bytes == 4096 * 70272


def test_as_many_sequences_as_an_estimate_would_take_and_no_more():
    m = model("llama-3.1-70b")
    most = concurrency(m, H100, tokens=1152, chips=8).sequences
    ask = {"chips": 8, "prompt_tokens": 1024, "output_tokens": 128, "tensor": 8}
    assert estimate(m, H100, batch=most, **ask).fits
    with pytest.raises(ValueError, match="needs"):
        estimate(m, H100, batch=most + 1, **ask)


def test_weights_that_do_not_fit_leave_room_for_none():
    held = concurrency(model("llama-3.1-405b"), H100, tokens=100, chips=1)
    assert held.sequences == 0 and not held.fits and held.weight_bytes > held.memory_bytes
    groups = concurrency(model("llama-3.1-8b"), H100, tokens=4096, chips=8, tensor=1)
    alone = concurrency(model("llama-3.1-8b"), H100, tokens=4096)
    assert groups.sequences == 8 * alone.sequences and groups.data == 8 and alone.fits


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"tokens": 0}, "tokens"),
        ({"tokens": 100, "usable": 1.2}, "usable is 1.2; give a share"),
        ({"tokens": 100, "chips": 8, "tensor": 3}, "tensor is 3; 8 H100 SXM5 80GB can share a layer as 1, 2, 4, 8"),
    ],
)
def test_what_cannot_be_is_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        concurrency(model("llama-3.1-8b"), H100, **asked)
    with pytest.raises(ValueError, match="block_tokens"):
        allocated_bytes(model("llama-3.1-8b"), 10, "bf16", block_tokens=0)
    with pytest.raises(TypeError, match="give a ModelSpec"):
        concurrency("llama", H100, tokens=100)


def test_heads_of_keys_have_one_name():
    # rasbt/LLMs-from-scratch issue 922: kv_groups meant key heads in one place and queries a key head in another
    config = {"model_type": "llama", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 28}
    config |= {"num_attention_heads": 24, "num_key_value_heads": 4, "vocab_size": 128256, "tie_word_embeddings": True}
    m = ModelSpec.from_config(config)
    assert (m.num_heads, m.num_kv_heads) == (24, 4)
    assert m.kv_bytes_per_token("bf16") == cache_bytes(28, 4, 128, 2, 1)
    assert math.isclose(m.kv_bytes(2048, "bf16"), cache_bytes(28, m.num_kv_heads, 128, 2, 2048))


@pytest.mark.parametrize("place", range(6))
def test_a_cache_of_less_than_nothing_is_refused(place):
    numbers = [80, 8, 128, 2, 4096, 1]
    numbers[place] = -1
    with pytest.raises(ValueError, match="is -1; give a number from 0 on"):
        cache_bytes(*numbers)
