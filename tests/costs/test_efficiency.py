"""The constants are few, sourced and possible; the bands hold for measurements that had no part in them."""

import pytest

from hwlab.costs.efficiency import CONSTANTS, IDEAL, Efficiency, band_of, efficiency_of
from hwlab.costs.roofline import decode_step_time, matmul_time, prefill_time
from hwlab.specs.chips import KINDS, chip, chips
from hwlab.specs.measurements import measurements
from hwlab.specs.models import model


def test_every_default_constant_has_a_source_and_a_grade():
    gpu = efficiency_of(chip("h100-sxm"))
    assert set(gpu.figures) == set(CONSTANTS)
    for name, figure in gpu.figures.items():
        assert getattr(gpu, name) == figure.value
        assert figure.note and figure.source.citation and figure.grade in ("derived", "cross-referenced")


def test_a_kind_that_nobody_timed_is_priced_by_the_roofline():
    for c in chips():
        e = efficiency_of(c)
        assert (e is IDEAL) == (not e.figures)
        assert e is IDEAL or c.kind == "gpu"
    assert Efficiency() == IDEAL


def test_bands_are_ordered_and_say_what_they_rest_on():
    bands = [b for kind in KINDS for phase in ("prefill", "decode", "decode_routed") if (b := band_of(kind, phase))]
    assert len(bands) == 4
    for b in bands:
        assert 0 < b.low < b.median < b.high and b.cases >= 10 and b.basis and b.sources


@pytest.mark.parametrize("name", CONSTANTS)
def test_an_impossible_constant_is_refused(name):
    for bad in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match=name):
            Efficiency(**{name: bad})


def test_measured_products_take_no_less_time_than_the_roofline():
    rows = measurements("matmul")
    assert len(rows) > 100
    for m in rows:
        ideal = matmul_time(m.tokens, m.k, m.n, dtype=m.dtype, chip=chip(m.chip)).seconds
        assert m.seconds > 0.99 * ideal, m.id


def test_large_measured_products_come_out_within_a_quarter():
    """Fitted: these rows, with others, gave the constant."""
    large = [m for m in measurements("matmul", dtype="bf16") if m.seconds > 2e-4 and m.source.key == "aiconfigurator"]
    ratios = sorted(
        m.seconds
        / matmul_time(
            m.tokens, m.k, m.n, dtype=m.dtype, chip=chip(m.chip), efficiency=efficiency_of(chip(m.chip))
        ).seconds
        for m in large
    )
    assert len(ratios) == 19
    assert ratios[len(ratios) // 10] > 0.8 and ratios[-len(ratios) // 10] < 1.25


def gpt_fast():
    """measured / predicted time of a step, (dtype, chips, ratio); nothing here was fitted to these rows."""
    for m in measurements("decode"):
        c = chip(m.chip)
        t = decode_step_time(
            model(m.model), c, context=m.context, dtype=m.dtype, tensor=m.chips, efficiency=efficiency_of(c)
        )
        yield m, m.seconds / t.seconds


def test_batch_1_decode_on_a100_is_within_8_percent_at_the_median():
    errors = sorted(abs(1 / ratio - 1) for m, ratio in gpt_fast())
    assert len(errors) == 20
    assert (errors[9] + errors[10]) / 2 < 0.08


def test_16_bit_decode_on_one_to_eight_a100_is_within_15_percent_always():
    ratios = {m.id: ratio for m, ratio in gpt_fast() if m.dtype == "bf16"}
    assert len(ratios) == 11
    assert all(0.85 < r < 1.15 for r in ratios.values()), ratios


def test_four_fifths_of_the_measurements_lie_in_the_band():
    inside = 0
    for m, ratio in gpt_fast():
        band = band_of("gpu", "decode_routed" if model(m.model).num_experts else "decode")
        inside += band.low <= ratio <= band.high
    assert inside >= 0.8 * 20


def test_the_roofline_alone_is_far_more_optimistic():
    ideal = [
        m.seconds
        / decode_step_time(model(m.model), chip(m.chip), context=m.context, dtype=m.dtype, tensor=m.chips).seconds
        for m in measurements("decode")
    ]
    assert all(r > 1 for r in ideal) and sorted(ideal)[10] > 1.5


def test_no_prompt_was_read_faster_than_the_roofline_and_most_lie_in_the_band():
    rows = measurements("prefill")
    assert len(rows) == 27 and all(m.chips in (2, 4, 8) for m in rows)
    band, inside = band_of("gpu", "prefill"), 0
    for m in rows:
        on = chip(m.chip)
        asked = {"prompt_tokens": m.context, "batch": m.tokens, "dtype": m.dtype, "tensor": m.chips}
        assert m.seconds > prefill_time(model(m.model), on, **asked).seconds, m.id
        expected = prefill_time(model(m.model), on, **asked, efficiency=efficiency_of(on)).seconds
        inside += band.low <= m.seconds / expected <= band.high
    assert inside >= 0.7 * len(rows)  # the band is of batches too
