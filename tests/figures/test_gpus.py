"""Explorers, charts and tables of chapter 4 hold the numbers of the catalogue and of the cost model."""

import pytest

from hwlab.costs.attention import blocked_traffic, naive_traffic
from hwlab.costs.roofline import matmul_time
from hwlab.figures import gpus
from hwlab.specs.chips import chip
from hwlab.specs.measurements import measurements
from hwlab.specs.models import model
from hwlab.studies.launches import kernel_start, small_products, start_and_slope


def rows(chart):
    return chart.to_dict()["data"]["values"]


@pytest.mark.parametrize("tokens", [1, 40, 300, 4096])
@pytest.mark.parametrize(("pair", "types"), gpus.PAIRS.items())
def test_the_ratio_is_that_of_two_rooflines(tokens, pair, types):
    explorer = gpus.ratio_explorer()
    explorer.rows, explorer.pair = tokens, pair
    gpu, cpu = (
        matmul_time(tokens, 8192, 8192, dtype=dtype, chip=chip(id)).seconds
        for dtype, id in zip(types, ("h100-sxm", "xeon-8480plus"), strict=True)
    )
    assert explorer.value() == pytest.approx(cpu / gpu, rel=1e-9)


def test_the_sentence_says_what_each_waits_for():
    explorer = gpus.ratio_explorer()
    assert "both wait" in explorer.says() and "10.9 by bandwidth and 69 by the peaks" in explorer.says()
    explorer.rows = 100
    assert "Xeon Platinum 8480+ has run out of arithmetic, while H100" in explorer.says()
    explorer.rows = 4096
    assert "both compute" in explorer.says()
    explorer.rows, explorer.pair = 340, "bf16 on both"
    assert "H100 SXM5 has run out of arithmetic, while Xeon" in explorer.says()


def test_a_peak_that_nobody_published_is_refused():
    explorer = gpus.ratio_explorer()
    explorer.pair, explorer.cpu = "int8 on both", "epyc-9755"
    assert "No peak of EPYC 9755" in explorer.refusal() and explorer.says() == explorer.refusal()
    with pytest.raises(ValueError, match="EPYC 9755"):
        explorer.value()


def test_a_chain_costs_its_starts_and_its_bytes():
    explorer = gpus.launch_explorer()
    explorer.elements, explorer.kernels, explorer.start = 2**20, 5, 4
    assert explorer.value() == pytest.approx(5 * (4e-6 + 4 * 2**20 / 3.35e12))
    assert "saves 16.8 MB" in explorer.says()  # four of five kernels: 4 x 4 x 2^20 bytes
    explorer.kernels = 1
    assert explorer.says().startswith("1 kernel on") and "saves 0 B" in explorer.says()


def test_the_start_is_where_the_line_through_small_products_meets_no_bytes():
    measured = small_products("h100-sxm")
    start, slope = start_and_slope(measured)
    assert start == kernel_start() and 1 < slope < 1.4
    errors = []
    for m in measured:
        bound = matmul_time(m.tokens, m.k, m.n, dtype=m.dtype, chip=chip(m.chip)).seconds
        errors.append(abs((start + slope * bound) / m.seconds - 1))
    assert max(errors) < 0.25 and sum(errors) / len(errors) < 0.08
    with pytest.raises(ValueError, match="of one size"):
        start_and_slope([m for m in measured if (m.k, m.n) == (8192, 8192)])


def test_the_ratios_of_the_chart_are_those_of_the_catalogue():
    found = {row["pair"]: row["times"] for row in rows(gpus.peak_ratios(9700))}
    assert found["fp32 on both"] == pytest.approx(67 / 7.168)
    assert found["tf32 against fp32"] == pytest.approx(494.7 / 7.168)
    assert found["bandwidth"] == pytest.approx(3350 / 307.2)
    assert max(found.values()) == found["sparse fp8 against fp32"] < 9700 / 10


def test_generations_begin_at_one():
    found = rows(gpus.generations())
    assert {row["times the first"] for row in found if row["chip"] == "V100"} == {1}
    h100 = {row["rate"]: row["times the first"] for row in found if row["chip"] == "H100"}
    assert h100["16-bit"] == pytest.approx(989.4 / 125) and h100["memory"] == pytest.approx(3350 / 900)


def test_bytes_of_attention_are_those_that_are_counted():
    llama = model("llama-3.1-8b")
    shape = {"heads": 32, "kv_heads": 8, "head_dim": 128, "itemsize": 2}
    found = {row["way"]: row["bytes"] for row in rows(gpus.attention_bytes(llama, tokens=(4096,)))}
    assert found["three kernels"] == naive_traffic(4096, 4096, **shape).total
    assert found["blocks of 128"] == blocked_traffic(4096, 4096, **shape, block_q=128, block_k=128).total
    assert found["each array once"] == 2 * 4096 * 128 * (32 + 8) * 2


def test_a_scale_for_each_channel_saves_int8_and_groups_help_int4():
    errors = gpus.weight_errors()
    assert errors["int8", "tensor"] > 20 * errors["int8", "channel"]
    assert errors["int4", "channel"] > errors["int4", "group of 128"] > errors["int4", "group of 32"]
    assert errors["fp8-e4m3", "tensor"] == pytest.approx(errors["fp8-e4m3", "channel"], rel=0.02)
    found = rows(gpus.errors_of_a_weight(errors))
    assert [row["error, %"] for row in found] == [100 * error for error in errors.values()]


def test_the_best_product_of_a_chip_is_shown_and_types_are_not_mixed():
    measured = measurements("matmul", dtype="bf16")
    found = {row["chip"]: row["share, %"] for row in rows(gpus.shares_of_the_peak(measured))}
    assert found["H100 SXM5"] == pytest.approx(
        100 * max(m.flop_per_s for m in measured if m.chip == "h100-sxm") / 989.4e12
    )
    assert all(0 < share < 100 for share in found.values())
    with pytest.raises(ValueError, match="one dtype"):
        gpus.shares_of_the_peak(measurements("matmul"))


def test_the_peaks_of_the_table_are_cores_times_ticks():
    for cells in gpus.cpu_table().rows:
        cores, tick = int(cells[1]), float(cells[3])
        clock, peak = (float(cell.split()[0]) for cell in (cells[2], cells[4]))
        assert cores * tick * clock / 1000 == pytest.approx(peak, rel=5e-3)


def test_a_gather_is_half_an_all_reduce_but_for_the_start():
    for _, reduced, *halves, share in gpus.collectives_table().rows:
        assert halves[0] == halves[1]
        whole, half = (float(cell.split()[0]) for cell in (reduced, halves[0]))
        assert 1.4 < whole / half <= 2.01 and share.endswith(" %")
