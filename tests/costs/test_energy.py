"""Energies by level and node: hand-worked, against the table's own figures, and in all lives of a formula."""

import numpy as np
import pytest

from hwlab.costs.energy import LEVELS, NODES, break_even, byte_joules, energy, mac_joules, matmul_energy, token_energy
from hwlab.formula import Sym
from hwlab.specs.models import model
from hwlab.specs.technology import operations


def test_a_product_worked_by_hand():
    """512 cubed in bf16 at 7 nm: 2^27 MACs of 0.21 + 0.38 pJ; 1.5 MiB from HBM at 250 to 450 pJ for 8 bytes."""
    spent = matmul_energy(512, 512, 512, {"hbm": 3 * 512**2 * 2}, dtype="bf16")
    assert spent.arithmetic == pytest.approx((2**27 * 0.59e-12,) * 2)
    assert spent.traffic["hbm"] == pytest.approx((1_572_864 * 31.25e-12, 1_572_864 * 56.25e-12))
    assert spent.low == pytest.approx(79.19e-6 + 49.15e-6, rel=1e-3)


@pytest.mark.parametrize("node", NODES[:2])
def test_the_farther_the_dearer(node):
    known = []
    for level in LEVELS:
        try:
            known.append(byte_joules(level, node))
        except ValueError as refusal:
            assert f"no energy of {level} is published at {node}" in str(refusal)
    lows, highs = [r.low for r in known], [r.high for r in known]
    assert lows == sorted(lows) and highs == sorted(highs) and len(known) >= 4


def test_each_figure_is_one_of_the_table_and_none_is_only_recalled():
    table = {id(figure) for thing in operations() for group in thing.figures.values() for figure in group}
    found = [mac_joules(dtype).figures for dtype in ("fp32", "bf16", "fp16", "int8")]
    found += [byte_joules(level).figures for level in LEVELS]
    for figure in (figure for group in found for figure in group):
        assert id(figure) in table and figure.grade != "recalled" and figure.unit == "J"


def test_four_bits_at_5_nm_are_two_operations_of_a_measured_accelerator():
    """95.6 TOPS/W at 0.46 V and 38.7 TOPS/W at 0.67 V, Keller et al. 2023."""
    mac = mac_joules("int4", "5 nm")
    assert (mac.low, mac.high) == pytest.approx((2 / 95.6e12, 2 / 38.7e12), rel=1e-3)


def test_at_the_break_even_both_take_the_same():
    low, high = break_even("hbm", dtype="bf16")
    for flop_per_byte, bound in ((low, 0), (high, 1)):
        spent = energy(flop_per_byte, {"hbm": 1.0}, dtype="bf16")
        assert spent.arithmetic[0] == pytest.approx(spent.traffic["hbm"][bound])


def test_a_token_from_hbm_takes_as_many_times_more_as_its_bytes_do():
    llama = model("llama-3.1-8b")
    near, far = (token_energy(llama, context=1024, weights_in=level) for level in ("sram-1mb", "hbm"))
    assert far.traffic["hbm"][0] / near.traffic["sram-1mb"][0] == pytest.approx(250 / 14)
    assert near.arithmetic == far.arithmetic
    batch = token_energy(llama, context=1024, batch=64)
    assert batch.low / 64 < far.low / 10


def test_arrays_and_the_page_get_the_same():
    tokens = np.array([1, 64])
    found = energy(2.0 * tokens, {"hbm": 3.0 * tokens}, dtype="bf16")
    assert found.low == pytest.approx([energy(2.0 * t, {"hbm": 3.0 * t}, dtype="bf16").low for t in tokens])
    assert isinstance(energy(Sym("var", "flop"), {"hbm": 1.0}, dtype="bf16").low, Sym)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: mac_joules("fp8"), "no energy is published for arithmetic in fp8; there is fp32, bf16"),
        (lambda: mac_joules("bf16", "45 nm"), "no energy is published for bf16 at 45 nm"),
        (lambda: mac_joules("bf16", "3 nm"), "no energies are known at '3 nm'; there are 45 nm, 7 nm, 5 nm"),
        (lambda: mac_joules("int8", "5 nm"), "no energy is published for int8 at 5 nm"),  # "45 nm" ends in it
        (lambda: mac_joules("int4"), "no energy is published for int4 at 7 nm"),
        (lambda: byte_joules("sram-1mb", "5 nm"), "no energy of sram-1mb is published at 5 nm"),
        (lambda: byte_joules("l2"), "no level is called 'l2'; there are sram-8kb"),
        (lambda: energy(-1, {}, dtype="bf16"), "flop is -1; give a number above 0"),
        (lambda: energy(1, {"hbm": -1}, dtype="bf16"), "traffic of hbm is -1"),
    ],
)
def test_what_is_not_known_is_named(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
