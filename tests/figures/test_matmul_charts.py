"""Charts of the matrix product hold the numbers of the cost model, describe themselves and draw without a network."""

import pytest

from hwlab.costs.roofline import matmul_time, ridge
from hwlab.figures import matmul, show
from hwlab.specs.chips import chip
from hwlab.specs.measurements import measurements
from hwlab.specs.models import model
from hwlab.studies.flop_shares import attention_overtakes


def rows(chart):
    spec = chart.to_dict()
    return spec["data"]["values"]


def test_products_of_a_layer_take_the_time_the_roofline_gives():
    found = rows(matmul.layer_on_roofline())
    assert len(found) == 21
    down = next(row for row in found if row["product"] == "down" and row["tokens"] == "32 tokens")
    took = matmul_time(32, 28672, 8192, dtype="bf16", chip=chip("h100-sxm")).seconds
    assert down["FLOP/s"] == pytest.approx(2 * 32 * 28672 * 8192 / took)


def test_attention_overtakes_the_weights_where_both_take_half():
    llama = model("llama-2-70b")
    meet = attention_overtakes(llama)
    # by hand: 4 x 80 layers x 8192 x n (n + 1) / 2 = n x weights
    assert meet == pytest.approx(2 * llama.flop_per_token(0) / (4 * 80 * 8192) - 1, rel=1e-6)
    shares = [row["share, %"] for row in rows(matmul.flop_by_context()) if row["part"] == "attention"]
    assert shares == sorted(shares) and shares[0] < 2 and shares[-1] > 90


def test_share_of_one_token_by_class():
    found = {row["chip"]: row for row in rows(matmul.share_of_one_token())}
    h100 = chip("h100-sxm")
    assert found["H100 SXM5"]["share, %"] == pytest.approx(100 / ridge(h100, "bf16"), rel=1e-3)
    assert found["WSE-3"]["share, %"] == 100 and found["WSE-3"]["memory"] == "on the chip"
    assert found["Xeon Platinum 8480+"]["memory"] == "off the chip"


def test_the_ladder_shows_what_was_measured():
    found = rows(matmul.ladder({"loops": 2e6, "BLAS": 2e10}, peak=8e10))
    assert found == [{"kernel": "loops", "rate": "2 MFLOP/s"}, {"kernel": "BLAS", "rate": "20 GFLOP/s"}]


def published():
    return [
        m for m in measurements("matmul", chip="h100-sxm", dtype="bf16") if (m.k, m.n) in ((4096, 4096), (8192, 8192))
    ]


def test_measured_products_stand_above_their_bound():
    found = rows(matmul.gemm_times(published()))
    assert len(found) == len(published())
    assert all(row["factor"] > 1 for row in found)
    one = next(row for row in found if row["weight"] == "8192 × 8192" and row["tokens"] == 32)
    assert one["bound, µs"] == pytest.approx(
        1e6 * matmul_time(32, 8192, 8192, dtype="bf16", chip=chip("h100-sxm")).seconds
    )


def test_products_of_two_chips_do_not_share_a_chart():
    with pytest.raises(ValueError, match="of one chip and dtype"):
        matmul.gemm_times(published() + list(measurements("matmul", chip="b200", dtype="bf16")))


@pytest.mark.parametrize(
    "chart",
    [
        matmul.layer_on_roofline,
        matmul.flop_by_context,
        matmul.share_of_one_token,
        lambda: matmul.gemm_times(published()),
        lambda: matmul.ladder({"loops": 2e6, "BLAS": 2e10}, peak=8e10),
    ],
)
def test_each_chart_describes_itself_and_becomes_a_fragment(chart, monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")
    shown = show(chart())
    html = shown._repr_mimebundle_()["text/html"]
    assert len(shown.alt) > 60
    assert "<svg" in html and "<table>" in html and 'data-module="chart"' in html
    assert len(html) < 40_000


def test_a_chart_without_a_description_is_refused():
    import altair as alt

    with pytest.raises(ValueError, match="alt="):
        show(alt.Chart(alt.Data(values=[])).mark_point())


def test_a_gap_in_the_data_and_a_truth_value_are_shown_as_they_are(monkeypatch):
    import altair as alt

    monkeypatch.setenv("HWLAB_STATIC", "1")
    rows = [{"tokens": 1, "fits": True}, {"tokens": None, "fits": False, "share": 0.5}]
    chart = alt.Chart(alt.Data(values=rows)).mark_point().encode(x="tokens:Q")
    html = show(chart, alt="Two rows.")._repr_mimebundle_()["text/html"]
    assert all(f">{cell}</" in html for cell in ("True", "False", "0.5", "")) and ">share</" in html
