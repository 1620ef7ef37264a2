"""Tables of a page: as many cells as the head, escaped, and the numbers of `hwlab`."""

import pytest

from hwlab.costs.roofline import matmul_time
from hwlab.figures.tables import Table, batch_table, products_table
from hwlab.formula import si
from hwlab.specs.chips import chip
from hwlab.specs.models import model


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="has 1 cells; the head has 2"):
        Table(["chip", "ridge"], [["H100"]], caption="Short.")


def test_markup_in_a_cell_stays_text():
    html = Table(["name"], [["<b>"]], caption="a & b")._repr_html_()
    assert "&lt;b&gt;" in html and "a &amp; b" in html and "<b>" not in html


def test_words_stand_to_the_left_and_figures_to_the_right():
    html = Table(["chip", "kind", "ridge"], [["H100", "GPU", "295"], ["WSE-3", "wafer", ""]], caption="")._repr_html_()
    assert '<th scope="col" class="words">kind</th><th scope="col">ridge</th>' in html
    assert '<td class="words">GPU</td><td>295</td>' in html and '<td class="words">wafer</td><td></td>' in html


def test_the_products_of_a_70b_model_in_order_with_their_times():
    h100 = chip("h100-sxm")
    table = products_table(model("llama-3.1-70b"), h100, many=32)
    assert len(table.rows) == 8  # seven a layer, and the head
    k, n = 8192, 28672
    gate = next(row for row in table.rows if row[0] == "gate")
    assert gate[1] == f"{k:,} × {n:,}"
    assert gate[-1] == si(matmul_time(32, k, n, dtype="bf16", chip=h100).seconds, "s")


def test_a_larger_batch_writes_more_tokens_and_each_user_waits_longer():
    table = batch_table(model("llama-3.1-70b"), chip("h100-sxm"), chips=8, batches=[1, 64])
    rates = [float(row[2].replace(",", "")) for row in table.rows]
    assert rates[1] > 20 * rates[0]
    assert table.rows[0][1] != table.rows[1][1]
