"""The blocked product: the closed form, the stepper, and the bound below which no schedule can go."""

import json
import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwlab.costs.blocking import MAX_STEPS, ORDERS, Scene, Traffic, blocked_bytes, least_bytes, steps


@st.composite
def scenes(draw):
    size = {axis: draw(st.integers(1, 7)) for axis in "mkn"}
    block = {f"block_{axis}": draw(st.integers(1, size[axis])) for axis in "mkn"}
    return Scene(**size, **block, itemsize=draw(st.sampled_from([1, 2, 4, 8])), order=draw(st.sampled_from(ORDERS)))


@given(scenes())
def test_the_stepper_moves_exactly_the_bytes_of_the_closed_form(scene):
    last = list(steps(scene))[-1]
    assert scene.traffic == Traffic(
        a_read=last["read"]["A"], b_read=last["read"]["B"], c_read=last["read"]["C"], c_written=last["written"]["C"]
    )
    assert last["bytes"] == scene.traffic.total
    assert last["flop"] == scene.flop
    assert last["intensity"] == scene.intensity


@given(scenes())
def test_replaying_the_frames_multiplies_the_matrices(scene):
    """Slow memory, fast memory and nothing else: what the frames load and store is enough, and gives A @ B."""
    a = [[3 * i + j + 1 for j in range(scene.k)] for i in range(scene.m)]
    b = [[2 * i - 5 * j + 1 for j in range(scene.n)] for i in range(scene.k)]
    slow = {"A": a, "B": b, "C": [[None] * scene.n for _ in range(scene.m)]}  # C: never read before it is written
    fast, inside = {}, {}

    def cells(extent):
        return [(i, j) for i in range(extent[0], extent[1]) for j in range(extent[2], extent[3])]

    for frame in steps(scene):
        if frame["stored"]:
            assert frame["stored"] == inside["C"]
            for i, j in cells(inside["C"]):
                slow["C"][i][j] = fast["C"][i, j]
        if frame["resident"]["C"] is None:
            continue
        for array, extent in frame["resident"].items():
            if array in frame["loaded"]:
                fast[array] = {(i, j): slow[array][i][j] for i, j in cells(extent)}
            elif extent != inside.get(array):
                assert array == "C"
                fast[array] = dict.fromkeys(cells(extent), 0)
            inside[array] = extent
        for i, j in fast["C"]:
            fast["C"][i, j] += sum(x * fast["B"][p, j] for (row, p), x in fast["A"].items() if row == i)
        assert sum(map(len, fast.values())) * scene.itemsize <= scene.tile_bytes
    expected = [[sum(a[i][p] * b[p][j] for p in range(scene.k)) for j in range(scene.n)] for i in range(scene.m)]
    assert slow["C"] == expected


@given(scenes())
def test_no_schedule_moves_less_than_the_bound(scene):
    assert scene.traffic.total >= scene.least_bytes


@given(scenes())
def test_bytes_and_flop_only_grow_and_frames_are_plain_json(scene):
    frames = list(steps(scene))
    assert [frame["step"] for frame in frames] == list(range(1, scene.num_steps + 2))
    assert json.loads(json.dumps(frames)) == frames
    for before, after in pairwise(frames):
        assert after["bytes"] >= before["bytes"]
        assert after["flop"] >= before["flop"]


@given(scenes())
def test_one_tile_of_everything_moves_each_array_once(scene):
    whole = replace(scene, block_m=scene.m, block_k=scene.k, block_n=scene.n)
    elements = scene.m * scene.k + scene.k * scene.n + scene.m * scene.n
    assert whole.traffic.total == elements * scene.itemsize == whole.least_bytes


@given(scenes())
def test_relabelling_the_axes_changes_nothing(scene):
    """C = A B is the same work as C' = B' A': m and n, A and B change places."""
    turned = Scene(
        m=scene.n, k=scene.k, n=scene.m, block_m=scene.block_n, block_k=scene.block_k, block_n=scene.block_m,
        itemsize=scene.itemsize, order=scene.order.translate(str.maketrans("mn", "nm")),
    )  # fmt: skip
    t, u = scene.traffic, turned.traffic
    assert (t.a_read, t.b_read, t.c_read, t.c_written) == (u.b_read, u.a_read, u.c_read, u.c_written)


def test_a_product_worked_by_hand():
    """6 x 4 x 6, tiles 3 x 2 x 2, order mkn: tiles 2, 2, 3. n is innermost, so A stays: 24 elements once.

    B (4 x 6 = 24 elements) is asked for again in each of 2 rows of tiles: 48. C (36 elements) is visited once for each
    of 2 tiles of k: written 72, read back 36. In all 180 elements of 4 bytes, for 2 x 6 x 4 x 6 = 288 FLOP.
    """
    scene = Scene(m=6, k=4, n=6, block_m=3, block_k=2, block_n=2, itemsize=4, order="mkn")
    assert scene.traffic == Traffic(a_read=24 * 4, b_read=48 * 4, c_read=36 * 4, c_written=72 * 4)
    assert scene.intensity == 288 / 720


def test_a_slice_of_c_that_stays_comes_near_the_bound_and_thin_tiles_do_not():
    """A tile of C of 128 x 128 with slices of one row and column: 2 mkn / 128 + mn against 2 mkn / sqrt(S)."""
    size = dict.fromkeys("mkn", 2048)
    near = Scene(**size, block_m=128, block_k=1, block_n=128, order="mnk")
    assert 1 < near.traffic.total / near.least_bytes < 1.05
    far = Scene(**size, block_m=1, block_k=128, block_n=128, order="mnk", fast_bytes=near.tile_bytes)
    assert far.traffic.total / far.least_bytes > 60


def test_the_bound_is_the_published_leading_term_where_the_product_is_large():
    m = k = n = 100_000
    elements = 1024**2
    assert least_bytes(m, k, n, fast_bytes=4 * elements, itemsize=4) == pytest.approx(
        4 * 2 * m * k * n / math.sqrt(elements), rel=2e-3
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"block_k": 9}, "block_k is 9, but k is only 8; choose a tile of 1 to 8"),
        ({"m": 0}, "m is 0; give a whole number of 1 or more"),
        ({"n": 8.0}, "n is 8.0; give a whole number"),
        ({"itemsize": "4"}, "itemsize is '4'; give a whole number"),
        ({"block_m": True}, "block_m is True; give a whole number"),
        ({"order": "mkk"}, "order is 'mkk'; choose one of mnk, mkn, nmk, nkm, kmn, knm"),
        ({"fast_bytes": 47}, "one tile each of A, B and C takes 48 bytes; choose smaller tiles"),
    ],
)
def test_a_scene_that_cannot_be_is_refused_with_the_reason(change, message):
    good = {"m": 8, "k": 8, "n": 8, "block_m": 2, "block_k": 2, "block_n": 2, "itemsize": 4, "fast_bytes": 48}
    Scene(**good)
    with pytest.raises(ValueError, match=message):
        Scene(**good | change)


def test_a_product_of_too_many_steps_is_refused_and_still_counted():
    scene = Scene(m=64, k=64, n=64, block_m=1, block_k=1, block_n=1)
    with pytest.raises(ValueError, match=f"takes 262144 tile products; at most {MAX_STEPS}"):
        next(steps(scene))
    assert scene.traffic == blocked_bytes(64, 64, 64, block_m=1, block_k=1, block_n=1, itemsize=4)
