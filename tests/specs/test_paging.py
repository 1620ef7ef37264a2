"""Published figures of paged caches: whole, in base units, in an order that makes sense."""

import pytest

from hwlab.specs.figure import UnknownId
from hwlab.specs.paging import WHAT, measured, measurements


def test_every_kind_has_figures_and_every_figure_its_own_id():
    found = [reading for what in WHAT for reading in measurements(what)]
    assert all(measurements(what) for what in WHAT)
    assert len({reading.id for reading in found}) == len(found)
    assert all(reading.value > 0 and reading.where for reading in found)


def test_a_larger_cache_finds_more():
    shares = [reading.value for reading in measurements("hits")]
    assert shares == sorted(shares) and shares[-1] < 1


def test_shares_are_fractions_and_times_are_seconds():
    assert measured("kwon-tokens-paged") == pytest.approx(0.963)
    assert measured("vllm-sha256") == pytest.approx(3.57e-3)
    with pytest.raises(ValueError, match="nothing is on record of 'joules'"):
        measurements("joules")
    with pytest.raises(UnknownId, match="no reading 'kwon-tokens'"):
        measured("kwon-tokens")
