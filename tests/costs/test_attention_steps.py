"""The stepper writes what the equation says and moves the bytes that are counted; its running values are right."""

from math import exp, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.costs.attention import blocked_traffic, naive_traffic
from hwlab.costs.attention_steps import blocked_steps, naive_steps
from hwlab.kernels.attention import attention_reference

sizes = st.integers(1, 7)


def rows(seed, *shape):
    return np.random.default_rng(seed).normal(0, 3, shape).tolist()


@settings(max_examples=80)
@given(sizes, st.integers(0, 5), st.integers(1, 4), sizes, sizes, st.booleans(), st.integers(0, 99))
def test_blocks_write_the_attention_of_the_equation_and_move_the_bytes_counted(n, before, d, bq, bk, causal, seed):
    q, k, v = rows(seed, n, d), rows(seed + 1, n + before, d), rows(seed + 2, n + before, d)
    steps = list(blocked_steps(q, k, v, block_q=bq, block_k=bk, causal=causal, itemsize=2))
    out = [row for step in steps if step.phase == "output" for row in step.sums]
    assert np.allclose(out, attention_reference([q], [k], [v], causal=causal)[0], rtol=1e-12, atol=1e-12)
    shape = {"heads": 1, "kv_heads": 1, "head_dim": d, "itemsize": 2}
    counted = blocked_traffic(n, n + before, block_q=bq, block_k=bk, causal=causal, **shape)
    assert steps[-1].traffic == counted
    for step in steps:
        if step.phase == "add":  # the running values are those of all keys seen so far
            for i, most, total in zip(range(*step.rows), step.most, step.total, strict=True):
                seen = min(step.keys[1], before + i + 1) if causal else step.keys[1]
                scores = np.array(k[:seen]) @ q[i] / d**0.5
                assert most == pytest.approx(scores.max())
                assert total == pytest.approx(np.exp(scores - scores.max()).sum())


@settings(max_examples=40)
@given(sizes, st.integers(0, 5), st.integers(1, 4), st.booleans(), st.integers(0, 99))
def test_three_kernels_write_the_same_and_move_the_scores_four_times(n, before, d, causal, seed):
    q, k, v = rows(seed, n, d), rows(seed + 1, n + before, d), rows(seed + 2, n + before, d)
    steps = list(naive_steps(q, k, v, causal=causal, itemsize=4))
    out = [row for step in steps if step.phase == "output" for row in step.sums]
    assert np.allclose(out, attention_reference([q], [k], [v], causal=causal)[0], rtol=1e-12, atol=1e-12)
    assert steps[-1].traffic == naive_traffic(n, n + before, heads=1, kv_heads=1, head_dim=d, itemsize=4)


def test_two_blocks_of_one_key_by_hand():
    """Scores 1 and 3, values 4 and 8: first m = 1, l = 1, o = 4; then all is scaled by exp(1 - 3)."""
    steps = {}
    for step in blocked_steps([[1.0]], [[1.0], [3.0]], [[4.0], [8.0]], block_q=1, block_k=1):
        steps.setdefault(step.phase, []).append(step)
    first, second = steps["rescale"]
    assert (first.most, first.factor, first.total) == ([1.0], [0.0], [0.0])
    assert (second.most, second.factor) == ([3.0], [exp(-2)])
    assert second.total == [exp(-2)] and second.sums == [[4 * exp(-2)]]
    assert steps["add"][1].total == [exp(-2) + 1] and steps["add"][1].weights == [[1.0]]
    assert steps["output"][0].sums[0][0] == pytest.approx((4 * exp(-2) + 8) / (exp(-2) + 1))


def test_a_query_that_sees_no_key_of_a_block_keeps_its_values():
    steps = list(blocked_steps([[1.0]] * 4, [[1.0]] * 4, [[2.0]] * 4, block_q=4, block_k=2, causal=True))
    later = next(step for step in steps if step.keys == (2, 4) and step.phase == "rescale")
    assert later.scores[0] == [-inf, -inf] and later.weights[0] == [0.0, 0.0]
    assert later.factor[0] == 1.0 and later.total[0] == 1.0
    halves = blocked_steps([[1.0]] * 4, [[1.0]] * 4, [[2.0]] * 4, block_q=2, block_k=2, causal=True)
    assert {step.keys for step in halves if step.rows == (0, 2)} == {(0, 0), (0, 2)}  # the second half is passed over


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="causal attention of 2 queries among 1 keys"):
        next(blocked_steps([[1.0]] * 2, [[1.0]], [[1.0]], block_q=1, block_k=1, causal=True))
    with pytest.raises(ValueError, match=r"q has 1 rows, k 1 and v 1, of widths \[1, 2\]"):
        next(naive_steps([[1.0]], [[1.0]], [[1.0, 2.0]]))
    with pytest.raises(ValueError, match="as many values as keys"):
        next(naive_steps([[1.0]], [[1.0]], [[1.0]] * 2))
    with pytest.raises(ValueError, match="block_k is 0"):
        next(blocked_steps([[1.0]], [[1.0]], [[1.0]], block_q=1, block_k=0))
