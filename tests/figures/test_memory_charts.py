"""Charts of the memory hierarchy hold the numbers of the catalogue and of the cost models, and say what they show."""

import pytest

from hwlab.costs.energy import byte_joules, mac_joules, token_energy
from hwlab.figures import memory, show
from hwlab.specs.chips import chip
from hwlab.specs.measurements import measurements
from hwlab.specs.models import model


def rows(chart):
    return chart.to_dict()["data"]["values"]


def test_only_a_first_level_cache_answers_within_the_quoted_range():
    found = rows(memory.latencies())
    inside = [row for row in found if 0.3 <= row["ns"] <= 3]
    assert [(row["level"], row["chip"]) for row in inside] == [("first-level cache", "EPYC 7742")]
    for of in {row["chip"] for row in found}:
        waits = [row["ns"] for row in found if row["chip"] == of]
        assert waits == sorted(waits)  # the farther, the later


def test_an_unknown_level_is_refused():
    with pytest.raises(ValueError, match="nothing is measured"):
        memory.latency("third-level cache", "A100")


def test_the_explorer_goes_down_by_the_rates_of_the_catalogue():
    explorer, a100 = memory.level_explorer(), chip("a100-sxm-80gb")
    shares = []
    for nbytes in (192 * 1024, 192 * 1024 + 1, 41943040, 41943041):
        explorer.nbytes = nbytes
        shares.append(explorer.value() / 100 * a100.peak("bf16") / explorer.intensity)
    rates = [a100.figure(f"sram_bytes_per_s.{level}").value for level in ("l1", "l2")] + [a100.memory_bytes_per_s]
    assert shares == pytest.approx([rates[0], rates[1], rates[1], rates[2]])
    explorer.intensity = 1024
    assert explorer.value() == 100 and "arithmetic binds" in explorer.says()


def test_what_does_not_fit_is_refused_with_what_would():
    explorer = memory.level_explorer()
    explorer.chip, explorer.nbytes = "groq-lpu", 1e9
    assert explorer.refusal() == "1 GB do not fit: GroqChip 1 holds 230 MB. Take a smaller array, or more chips."


def test_every_chip_of_the_explorer_loses_speed_with_distance():
    for id in memory.LADDERS:
        of = memory.levels(id)
        held = [i for i in "123" if getattr(of, f"holds_{i}")]
        sizes = [*(getattr(of, f"holds_{i}") for i in held), of.holds_m]
        rates = [*(getattr(of, f"rate_{i}") for i in held), of.rate_m]
        assert sizes == sorted(sizes) and rates == sorted(rates, reverse=True)


def test_roofs_meet_the_peak_at_their_ridges():
    found = rows(memory.roofs("h100-pcie"))
    of = memory.levels("h100-pcie")
    for level in {row["level"] for row in found}:
        corner = sorted(row["FLOP a byte"] for row in found if row["level"] == level)[1]
        rate = {of.name_1: of.rate_1, of.name_2: of.rate_2, of.name_m: of.rate_m}[level]
        assert corner == pytest.approx(of.peak / rate)


def test_energies_are_those_of_the_table():
    found = {row["from"]: row for row in rows(memory.byte_energies())}
    assert found["HBM2"]["high, pJ"] == byte_joules("hbm").high * 1e12
    assert found["one bf16 multiply-add"]["low, pJ"] == mac_joules("bf16").low * 1e12
    llama = model("llama-3.1-8b")
    table = memory.token_energy_table(llama, (1, 4))
    assert table.rows[0][1] == "2.5 J"
    assert token_energy(llama, context=1024, weights_in="dram").low == pytest.approx(2.5, rel=0.02)


def test_a_wafer_is_read_once_through_faster_than_any_stack():
    found = rows(memory.emptying())
    off = [row["seconds"] for row in found if row["memory"] == "off the die"]
    on = [row["seconds"] for row in found if row["memory"] == "on the die"]
    assert len(on) == 3 and min(off) > 1000 * max(on)
    assert memory.once_through(chip("h100-sxm")) == pytest.approx(80 * 2**30 / 3.35e12)


def test_readings_are_shares_of_what_all_sockets_promise():
    found = {row["chip"]: row for row in rows(memory.readings(m for m in measurements("read") if m.level == "memory"))}
    assert found["EPYC 7601"]["share, %"] == pytest.approx(100 * 250 / (2 * 170.6))
    assert all(50 < row["share, %"] < 100 for row in found.values())


def test_counted_and_measured_must_be_of_the_same_loops():
    with pytest.raises(ValueError, match="give the same loops"):
        memory.order_times({"n": 1.0}, {"m": 1.0})


def test_a_table_has_no_empty_price_where_one_is_known():
    text = repr(memory.technologies_table())
    assert "6 transistors" in text and "31 to 56 pJ" in text and "USD" in text


def test_each_chart_draws(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")
    charts = [
        memory.latencies(),
        memory.roofs(),
        memory.byte_energies(),
        memory.emptying(),
        memory.order_times({"n": 0.125, "m": 2.0}, {"n": 1e-9, "m": 9e-9}),
        memory.miss_curves({"one": [(1, 1.0), (64, 0.5)], "two": [(1, 0.9), (64, 0.1)]}, 64),
        memory.tile_sides({"one": {4: 0.2, 8: 0.1}, "two": {4: 0.3, 8: 0.9}}, 6.5),
    ]
    for chart in charts:
        assert "<svg" in show(chart)._repr_mimebundle_()["text/html"]
