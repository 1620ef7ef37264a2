"""Published throughput: read as printed, and what it must mean."""

import pytest

from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.specs.throughput import throughputs


def test_every_row_names_a_chip_and_a_model_of_the_catalogues_and_beats_no_peak():
    for row in throughputs():
        flop = 2 * model(row.model).num_active_params * row.computed_per_s
        assert 0 < flop < row.chips * chip(row.chip).peak(row.dtype), row.id


def test_tokens_from_a_cache_are_not_computed():
    prompts, answers = throughputs(model="deepseek-r1")
    assert prompts.computed_per_s == pytest.approx(73_700 * (1 - 0.563))
    assert answers.computed_per_s == answers.tokens_per_s == 14_800


def test_what_nobody_measured_is_refused_with_what_there_is():
    with pytest.raises(ValueError, match="no throughput for chip 'tpu-v4'; there is h100-sxm, h200-sxm, h800-sxm"):
        throughputs(chip="tpu-v4")
