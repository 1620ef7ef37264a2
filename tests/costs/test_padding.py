"""Buckets hold what they are asked to, padding is never negative, and the closed form of a doubling agrees."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwlab.costs.padding import bucket, overhead, powers_of_two, spread, steps_of

sizes = st.integers(1, 5000)


@given(length=sizes, most=sizes, gap=sizes, least=sizes)
def test_a_length_takes_the_smallest_bucket_that_holds_it(length, most, gap, least):
    for buckets in (powers_of_two(least, max(most, length)), steps_of(gap, max(most, length), least=least)):
        assert list(buckets) == sorted(set(buckets)) and buckets[-1] >= max(most, length)
        took = bucket(length, buckets)
        assert took == min(size for size in buckets if size >= length)


@given(length=sizes, gap=st.integers(16, 500))
def test_steps_never_pad_by_a_whole_gap(length, gap):
    buckets = steps_of(gap, 5000)
    assert length <= bucket(length, buckets) < length + gap + (16 if gap < 16 else 0)


def test_the_buckets_are_those_that_vllm_documents():
    assert steps_of(64, 512) == (16, 32, 64, 128, 192, 256, 320, 384, 448, 512)
    assert bucket(300, powers_of_two(16, 512)) == 512 and bucket(300, steps_of(64, 512)) == 320


def test_doubling_costs_two_log_two_where_lengths_are_spread_evenly_by_their_logarithm():
    # between 2^k and 2^(k+1) the mean length is 2^k / ln 2, and each is padded to 2^(k+1)
    lengths = spread(1024, 65536, 6000)
    assert overhead(lengths, powers_of_two(16, 65536)) == pytest.approx(2 * math.log(2) - 1, rel=2e-3)


def test_finer_buckets_pad_less_and_one_of_each_length_not_at_all():
    lengths = spread(100, 4000, 500)
    found = [overhead(lengths, b) for b in ((4096,), powers_of_two(16, 4096), steps_of(128, 4096), sorted({*lengths}))]
    assert found == sorted(found, reverse=True) and found[-1] == 0


def test_a_length_beyond_all_buckets_is_refused():
    with pytest.raises(ValueError, match="a length of 513 fits no bucket; the largest is 512"):
        bucket(513, powers_of_two(16, 512))
    with pytest.raises(ValueError, match="no lengths"):
        overhead([], (512,))
    with pytest.raises(ValueError):
        powers_of_two(0, 512)
