"""The level of a working set: what a replay of the reading finds, and a sweep worked by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwlab.costs.cache_replay import replay_lines
from hwlab.costs.caches import Level
from hwlab.studies.working_sets import level_of, working_sets


@given(sizes=st.lists(st.integers(1, 12), min_size=1, max_size=3, unique=True), lines=st.integers(1, 16))
def test_an_array_read_again_and_again_is_all_in_a_level_or_not_at_all(sizes, lines):
    levels = [Level(f"l{size}", size, size) for size in sorted(sizes)]
    passes = 5
    counts = replay_lines([(np.tile(np.arange(lines), passes), np.zeros(passes * lines, bool))], levels, 64)
    level = level_of(64 * lines, [(level.name, 64 * level.num_lines) for level in levels])
    for count in counts:  # those before it have nothing, it has all but the first pass
        if count.name == level:
            assert count.misses == lines and count.accesses == passes * lines
            break
        assert count.misses == passes * lines


def test_a_sweep_is_set_beside_its_prediction():
    caches = (SimpleNamespace(level="l1", size=100), SimpleNamespace(level="l2", size=400))
    sweep = ((50, 9.0), (100, 10.0), (200, 4.0), (400, 2.0), (800, 1.0))
    found = working_sets(SimpleNamespace(caches=caches, sweep=sweep))
    assert [(found.nbytes, found.level, found.of_level) for found in found] == [
        (50, "l1", 0.9), (100, "l1", 1.0), (200, "l2", 1.0), (400, "l2", 0.5), (800, "memory", 1.0),
    ]  # fmt: skip
    assert [found.bytes_per_s for found in found] == [rate for _, rate in sweep]
    assert {found.level for found in working_sets(SimpleNamespace(caches=(), sweep=sweep))} == {"memory"}


def test_an_array_of_nothing_is_refused():
    with pytest.raises(ValueError, match="nbytes is 0; give a whole number"):
        level_of(0, [("l1", 32)])
