"""Reading a quantity: what people write, and what is refused with a reason."""

import pytest

from hwlab.specs.quantities import BASES, SYMBOLS, read_quantity

READ = {
    "134 MB": (134e6, "byte"),
    "134MB": (134e6, "byte"),
    "1.34e8": (1.34e8, None),
    "1.34e8 B": (1.34e8, "byte"),
    "128 MiB": (2.0**27, "byte"),
    "1.07 Gbit": (1.07e9, "bit"),
    "400 Gbit/s": (400e9, "bit/s"),
    "40 us": (40e-6, "s"),
    "40.1 µs": (40.1e-6, "s"),
    "40.1 μs": (40.1e-6, "s"),  # the Greek letter
    "0.0401 ms": (40.1e-6, "s"),
    ".34 %": (0.0034, "1"),
    "0.34%": (0.0034, "1"),
    "9700x": (9700.0, "1"),
    "319 tokens": (319.0, "1"),
    "104 users": (104.0, "1"),
    "4 guesses": (4.0, "1"),
    "1 miss": (1.0, "1"),
    "179 tokens/s": (179.0, "1/s"),
    "1,024 Tokens": (1024.0, "1"),
    "1.4 x 10^14 FLOP": (1.4e14, "FLOP"),
    "1.4×10^14 flop": (1.4e14, "FLOP"),
    "1.4*10**14": (1.4e14, None),
    "3.35 TB/s": (3.35e12, "byte/s"),
    "3.35 TB / s": (3.35e12, "byte/s"),
    "989 TFLOP/s": (989e12, "FLOP/s"),
    "989 TFLOPS": (989e12, "FLOP/s"),
    "295 FLOP/byte": (295.0, "FLOP/byte"),
    "295 flop/b": (295.0, "FLOP/byte"),
    "31 pJ": (31e-12, "J"),
    "4.4 j": (4.4, "J"),
}
REFUSED = {
    "": "give a number",
    "many": "give a number",
    "40,1": "point: 40.1",
    "40,1 µs": "point: 40.1",
    "1,02,4": "point",
    "-3": "above zero",
    "0": "above zero",
    "1e999": "too large",
    "9" * 500: "too large",
    "3 mb": "MB or Mb",
    "3 gflops": "could mean",
    "3 parsec": "not known here",
}


@pytest.mark.parametrize("text", READ)
def test_a_quantity_is_read_in_its_base_unit(text):
    value, base = read_quantity(text)
    assert (value, base) == (pytest.approx(READ[text][0], rel=1e-12), READ[text][1])


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_read_is_refused_with_a_reason(text):
    with pytest.raises(ValueError, match=REFUSED[text]):
        read_quantity(text)


def test_every_base_unit_has_words_for_a_sentence():
    assert {base for _, base in SYMBOLS.values()} == set(BASES)


def test_bits_and_bytes_stay_apart_and_binary_prefixes_are_larger():
    assert SYMBOLS["GB"] == (1e9, "byte") and SYMBOLS["Gb"] == (1e9, "bit")
    assert SYMBOLS["GiB"][0] / SYMBOLS["GB"][0] == pytest.approx(1.0737, rel=1e-4)
