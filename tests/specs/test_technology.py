"""Memory technologies and energies: what they say of themselves, and of each other."""

import pytest

from hwlab.specs.chips import chip
from hwlab.specs.figure import UnknownId
from hwlab.specs.technology import memories, memory, operation, operations


def value(id, quantity, qualifier=""):
    return memory(id).figure(quantity, qualifier).value


def joules(id, node):
    return operation(id).figure("joules", node).value


@pytest.mark.parametrize(
    ("id", "pins", "rate"),
    [
        ("hbm2", 1024, 2.4e9),
        ("hbm2e", 1024, 3.6e9),
        ("hbm3", 1024, 6.4e9),
        ("hbm3e", 1024, 9.6e9),
        ("hbm4e", 2048, 16e9),
    ],
)
def test_stack_bandwidth_is_pins_times_rate(id, pins, rate):
    assert value(id, "bandwidth_bytes_per_s", "stack") == pytest.approx(pins * rate / 8, rel=0.002)


def test_hbm4_and_lpddr5x_bandwidths_follow_from_their_own_rates():
    pins, rate = value("hbm4", "bus_width_bits"), value("hbm4", "data_rate_bits_per_s_per_pin")
    assert value("hbm4", "bandwidth_bytes_per_s", "JEDEC") == pins * rate / 8
    assert value("lpddr5x", "bandwidth_bytes_per_s") == 8 * value("lpddr5x", "data_rate_bits_per_s_per_pin", "2021")
    assert 4 * value("gddr7", "data_rate_bits_per_s_per_pin") == value(
        "gddr7", "bandwidth_bytes_per_s", "32-bit device, 32"
    )


def test_stacks_in_use_agree_with_the_chips_that_use_them():
    b200 = chip("b200").figure("memory_bytes_per_s").rivals[0].value
    assert value("hbm3e", "bandwidth_bytes_per_s", "B200") == b200 / 8
    assert value("hbm4", "bandwidth_bytes_per_s", "Rubin") == chip("rubin").memory_bytes_per_s / 8
    assert value("gddr7", "bandwidth_bytes_per_s", "RTX 5090") == chip("rtx-5090").memory_bytes_per_s / 16


@pytest.mark.parametrize(
    ("id", "qualifier", "op"),
    [
        ("sram", "7 nm, 8 KB", "sram-8kb-read-64b"),
        ("sram", "7 nm, 32 KB", "sram-32kb-read-64b"),
        ("sram", "7 nm, 1 MB", "sram-1mb-read-64b"),
        ("hbm2", "low", "hbm2-read-64b"),
        ("gddr6", "low", "gddr6-read-64b"),
        ("ddr5", "DDR3/DDR4", "ddr3-4-read-64b"),
    ],
)
def test_energy_of_a_bit_is_that_of_a_read_over_its_bits(id, qualifier, op):
    read = operation(op)
    assert value(id, "joules_per_bit", qualifier) == pytest.approx(
        read.figure("joules", "7 nm").value / read.bits, rel=1e-5
    )


def test_from_45_to_7_nm_memory_gains_less_than_arithmetic():
    """Jouppi et al. 2021, Table 2: an int8 addition gained a factor 4.3, a small SRAM 1.3, DRAM nothing."""
    gain = {op: joules(op, "45 nm") / joules(op, "7 nm") for op in ("int8-add", "fp32-mul", "sram-8kb-read-64b")}
    assert gain["int8-add"] == pytest.approx(4.3, abs=0.05)
    assert gain["fp32-mul"] == pytest.approx(2.8, abs=0.05)
    assert gain["sram-8kb-read-64b"] == pytest.approx(1.3, abs=0.05)
    assert joules("dram-read-64b", "45 nm") == joules("ddr3-4-read-64b", "7 nm")


def test_a_dram_fetch_is_6400_integer_additions():
    assert joules("dram-read-32b", "45 nm") / joules("int32-add", "45 nm") == pytest.approx(6400)


def test_instruction_overheads_are_those_of_the_talk():
    """Dally 2023: about 30 pJ of fetch and decode over the arithmetic is 2000, 500, 22 and 16 per cent or so."""
    for op, percent in (("gpu-hfma", 2000), ("gpu-hdp4a", 500), ("gpu-hmma", 22), ("gpu-imma", 16)):
        assert 30e-12 / joules(op, "45 nm") * 100 == pytest.approx(percent, rel=0.25)


def test_unknown_names_are_answered_with_those_there_are():
    with pytest.raises(UnknownId, match="hbm3"):
        memory("hbm3x")
    with pytest.raises(UnknownId, match="fp32-mul"):
        operation("fp32_mull")
    with pytest.raises(ValueError, match="has no 'joules'"):
        memory("hbm3").figure("joules")
    with pytest.raises(ValueError, match="it has 45 nm; 7 nm"):
        operation("fp32-mul").figure("joules", "3 nm")


def test_every_technology_reads():
    assert len(memories()) == 16 and len(operations()) == 28
    for one in (*memories(), *operations()):
        assert one.figures and all(figure.value > 0 for figures in one.figures.values() for figure in figures)
