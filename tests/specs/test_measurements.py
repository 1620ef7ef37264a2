"""Published timings: in seconds, of known chips and models, each with its source."""

import pytest

from hwlab.specs.chips import chip
from hwlab.specs.measurements import measurements
from hwlab.specs.models import model
from hwlab.units import BITS


def test_every_row_names_a_chip_a_model_and_a_dtype_that_we_know():
    rows = measurements()
    assert len({m.id for m in rows}) == len(rows) > 130
    for m in rows:
        assert chip(m.chip) and m.dtype in BITS and m.source.citation and m.where
        assert 1e-7 < m.seconds < 1 and m.tokens >= 1 and m.chips >= 1
        assert (m.k and m.n and not m.model) if m.regime == "matmul" else (model(m.model) and m.context)


def test_units_become_seconds():
    by_id = {m.id: m for m in measurements()}
    # 2 x 14336 x 15360 x 2048 FLOP at 418.7 TFLOP/s, and back
    gaudi = by_id["ml-engineering-mamf-0001"]
    assert gaudi.published == "418.7 TFLOP/s" and gaudi.flop_per_s == pytest.approx(418.7e12)
    assert by_id["gpt-fast-0001"].seconds == pytest.approx(1 / 104.9)
    assert by_id["llmcompass-ae-0001"].seconds == pytest.approx(0.19e-3)


def test_only_a_product_has_a_rate():
    with pytest.raises(ValueError, match="only a matmul"):
        _ = measurements("decode")[0].flop_per_s


@pytest.mark.parametrize(
    ("ask", "message"),
    [({"regime": "gemm"}, "there are matmul, decode"), ({"chip": "h100"}, "h100-sxm"), ({"dtype": "int3"}, "bf16")],
)
def test_an_unknown_filter_is_answered_with_what_there_is(ask, message):
    with pytest.raises(ValueError, match=message):
        measurements(**ask)
