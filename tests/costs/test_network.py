"""Collectives: the ring, worked by hand and stepped."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwlab.costs.network import all_gather_time, all_reduce_time, reduce_scatter_time
from hwlab.specs.chips import chip


def stepped_ring(nbytes, chips, rate, start, hop):
    """A ring that is walked: in each of 2 (n - 1) steps every chip sends one n-th part to its neighbour."""
    seconds = start if chips > 1 else 0.0
    for _ in range(2 * (chips - 1)):
        seconds += hop + nbytes / chips / rate
    return seconds


@given(st.integers(1, 10**10), st.integers(1, 64), st.floats(1e9, 2e12), st.floats(0, 1e-4), st.floats(0, 1e-5))
def test_an_all_reduce_is_the_ring_that_is_walked(nbytes, chips, rate, start, hop):
    got = all_reduce_time(nbytes, chips, link_bytes_per_s=rate, start_s=start, hop_s=hop)
    assert got == pytest.approx(stepped_ring(nbytes, chips, rate, start, hop))


@given(st.integers(1, 10**10), st.integers(1, 64), st.floats(0, 1e-4))
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(nbytes, chips, hop):
    link = {"link_bytes_per_s": 450e9, "hop_s": hop}
    parts = reduce_scatter_time(nbytes, chips, **link) + all_gather_time(nbytes, chips, **link)
    assert all_reduce_time(nbytes, chips, **link) == pytest.approx(parts)


def test_between_one_chip_and_itself_nothing_moves():
    for time in (all_reduce_time, all_gather_time, reduce_scatter_time):
        assert time(2**30, 1, link_bytes_per_s=1e9, start_s=1.0, hop_s=1.0) == 0


def test_64_mib_among_eight_h100_as_published():
    """NCCL on 8 H100 took 0.32453 ms for 67,108,864 bytes (aiconfigurator, nccl_perf): 0.80 of the links' rate."""
    ideal = all_reduce_time(67_108_864, 8, link_bytes_per_s=chip("h100-sxm").link_bytes_per_s)
    assert ideal / 0.32453e-3 == pytest.approx(0.804, abs=0.001)


@pytest.mark.parametrize("integer", [np.int32, np.uint8, jnp.int32])
def test_integers_of_any_width_count_as_numbers_do(integer):
    rates = {"link_bytes_per_s": 450e9, "start_s": 1e-5, "hop_s": 1e-6}
    for collective in (all_reduce_time, all_gather_time, reduce_scatter_time):
        assert float(collective(2**40, integer(8), **rates)) == pytest.approx(collective(2**40, 8, **rates))


@pytest.mark.parametrize("bad", [-1, 0, float("nan"), None])
@pytest.mark.parametrize("name", ["nbytes", "chips", "link_bytes_per_s"])
def test_what_is_not_positive_is_refused_by_name(name, bad):
    asked = {"nbytes": 2**20, "chips": 8, "link_bytes_per_s": 450e9, name: bad}
    for collective in (all_reduce_time, all_gather_time, reduce_scatter_time):
        with pytest.raises(ValueError, match=f"{name} is {bad!r}; give a number above 0"):
            collective(**asked)
