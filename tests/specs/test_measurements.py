"""Published timings: in seconds, of known chips and models, each with its source."""

import pytest

from hwlab.specs.chips import chip
from hwlab.specs.measurements import LEVELS, measurements
from hwlab.specs.models import model
from hwlab.units import BITS


def test_every_row_names_a_chip_a_model_and_a_dtype_that_we_know():
    rows = measurements()
    assert len({m.id for m in rows}) == len(rows) > 130
    for m in rows:
        assert chip(m.chip) and m.dtype in BITS and m.source.citation and m.where
        if m.regime == "cache":
            assert m.seconds is None and m.tokens == float(m.published.split()[0]) and model(m.model).reaches
            continue
        assert 1e-8 < m.seconds < 10 and m.chips >= 1
        if m.regime == "read":
            assert m.level and m.nbytes and not (m.tokens or m.k or m.model)
            continue
        assert m.tokens >= 1 and m.level is m.nbytes is None
        assert (m.k and m.n and not m.model) if m.regime == "matmul" else (model(m.model) and m.context)


def test_no_memory_reads_faster_than_its_bus_nor_a_far_level_faster_than_a_near_one():
    by_chip = {}
    for m in measurements("read"):
        by_chip.setdefault(m.chip, {})[m.level] = m.bytes_per_s / m.chips
    for id, rates in by_chip.items():
        near_first = [rates[level] for level in LEVELS if level in rates]
        assert near_first == sorted(near_first, reverse=True)
        assert rates.get("memory", 0) < chip(id).memory_bytes_per_s < rates.get("l2", 1e99)
    assert len(by_chip) == 8


def test_units_become_seconds():
    by_id = {m.id: m for m in measurements()}
    # 2 x 14336 x 15360 x 2048 FLOP at 418.7 TFLOP/s, and back
    gaudi = by_id["ml-engineering-mamf-0001"]
    assert gaudi.published == "418.7 TFLOP/s" and gaudi.flop_per_s == pytest.approx(418.7e12)
    assert by_id["gpt-fast-0001"].seconds == pytest.approx(1 / 104.9)
    assert by_id["llmcompass-ae-0001"].seconds == pytest.approx(0.19e-3)


def test_only_a_product_has_a_rate_and_only_a_reading_has_bytes_a_second():
    with pytest.raises(ValueError, match="only a matmul"):
        _ = measurements("decode")[0].flop_per_s
    with pytest.raises(ValueError, match="only a read"):
        _ = measurements("decode")[0].bytes_per_s


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({"regime": "gemm"}, "there are matmul, prefill, decode, read, cache"),
        ({"chip": "h100"}, "h100-sxm"),
        ({"dtype": "int3"}, "bf16"),
    ],
)
def test_an_unknown_filter_is_answered_with_what_there_is(ask, message):
    with pytest.raises(ValueError, match=message):
        measurements(**ask)
