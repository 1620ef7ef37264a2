"""Reading, writing and both in one step: agreement with the whole-model costs, and what a chunk costs."""

import pytest

from hwlab.costs.phases import free_chunk, mixed_step, read_for_one_written, two_byte
from hwlab.costs.roofline import decode_step_time, prefill_time, ridge
from hwlab.specs.chips import chip
from hwlab.specs.models import model

LLAMA, H100 = model("llama-3.1-8b"), chip("h100-sxm")
SHAPE = {"users": 32, "context": 1024}


def test_a_step_without_a_chunk_is_a_decode_step():
    alone = decode_step_time(LLAMA, H100, context=1024, batch=32, dtype="bf16")
    assert mixed_step(LLAMA, H100, **SHAPE, chunk=0) == alone


def test_a_mixed_step_reads_the_weights_once():
    apart = prefill_time(LLAMA, H100, prompt_tokens=512, dtype="bf16")
    alone, both = (mixed_step(LLAMA, H100, **SHAPE, chunk=chunk) for chunk in (0, 512))
    assert both.compute_s == pytest.approx(alone.compute_s + apart.compute_s)
    once = LLAMA.weight_bytes_read(1, "bf16") / H100.memory_bytes_per_s
    assert both.memory_s == pytest.approx(alone.memory_s + apart.memory_s - once, rel=1e-3)


def test_a_later_chunk_reads_the_cache_of_the_earlier_ones_and_attends_to_it():
    first, later = (mixed_step(LLAMA, H100, **SHAPE, chunk=256, before=before) for before in (0, 3840))
    cached = 3840 * LLAMA.kv_bytes_per_token("bf16") / H100.memory_bytes_per_s
    assert later.memory_s - first.memory_s == pytest.approx(cached)
    assert later.compute_s > first.compute_s


def test_the_free_chunk_is_the_largest_that_memory_hides():
    for users in (1, 32, 128):
        most = free_chunk(LLAMA, H100, users=users, context=1024)
        hidden, seen = (mixed_step(LLAMA, H100, users=users, context=1024, chunk=n) for n in (most, most + 1))
        assert hidden.compute_s <= hidden.memory_s and seen.compute_s > seen.memory_s
    assert free_chunk(LLAMA, chip("wse-3"), users=1, context=1024) == 0  # its arithmetic binds already


@pytest.mark.parametrize("id", ["a100-sxm-80gb", "h100-sxm", "b200", "tpu-v7"])
def test_a_chip_reads_about_as_many_tokens_as_its_ridge_while_it_writes_one(id):
    read = read_for_one_written(LLAMA, chip(id))
    assert read == pytest.approx(ridge(chip(id), "bf16"), rel=0.08)
    assert read == pytest.approx(read_for_one_written(model("llama-3.1-70b"), chip(id)), rel=0.08)  # whatever the model


def test_a_chip_without_a_16_bit_peak_is_refused():
    with pytest.raises(ValueError, match="no published 16-bit peak; it has fp8"):
        two_byte(chip("groq-3-lpu"))


@pytest.mark.parametrize("wrong", [{"users": -1}, {"context": float("nan")}, {"chunk": -5}, {"before": None}])
def test_a_step_of_less_than_nothing_is_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} is .*; give a number from 0 on"):
        mixed_step(model("llama-3.1-8b"), chip("h100-sxm"), **{"users": 1, "context": 10, "chunk": 4} | wrong)
