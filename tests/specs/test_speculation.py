"""Published speed-ups of speculative decoding: read whole, and consistent with what a round can give."""

import pytest

from hwlab.specs.chips import chip
from hwlab.specs.speculation import measurements


def test_every_setting_is_possible():
    for s in measurements():
        assert s.chip == "" or chip(s.chip)
        assert s.acceptance is None or 0 < s.acceptance < 1
        assert s.speedup is not None or s.acceptance is not None
        if s.tokens_per_round is not None:  # a round takes at least as long as a step
            assert 1 < s.speedup < s.tokens_per_round
        if s.guesses is not None:  # tokens a round, and what a quicker code round the steps may add
            a = s.acceptance
            assert s.speedup < 1.15 * (1 - a ** (s.guesses + 1)) / (1 - a)
        if s.draft_params is not None:
            assert s.draft_params < s.target_params / 10
    assert len(set(measurements())) == len(measurements())


def test_what_was_not_measured_is_refused():
    with pytest.raises(ValueError, match="nothing measured for method 'oracle'; there is EAGLE, "):
        measurements(method="oracle")
    assert {s.method for s in measurements("spec-bench", task="summaries")} == {"look-up", "EAGLE"}
