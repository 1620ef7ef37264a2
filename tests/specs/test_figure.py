"""Figures as people write them, and tables that are parsed when asked for."""

import pytest

from hwlab.specs.chips import chip
from hwlab.specs.figure import Tables, UnknownId, source


@pytest.mark.parametrize(
    ("id", "field", "text"),
    [
        ("h100-sxm", "memory_bytes_per_s", "3.35 TB/s"),
        ("h100-sxm", "peak_flop_per_s.bf16", "989.4 TFLOP/s"),
        ("h100-sxm", "peak_flop_per_s.int8", "1.979 POP/s"),
        ("h100-sxm", "memory_bytes", "80 GiB"),
        ("h100-sxm", "die_area_mm2", "814 mm²"),
        ("h100-sxm", "transistors", "80 billion"),
        ("h100-sxm", "counts.cuda_cores", "16,896"),
        ("h100-sxm", "clock_hz", "1.83 GHz"),
        ("h100-sxm", "usd_per_hour", "2.95 USD/h"),
        ("groq-lpu", "memory_bytes", "230 MB"),
        ("groq-3-lpu", "memory_bytes", "500 MB"),
        ("wse-3", "transistors", "4 trillion"),
        ("wse-3", "die_area_mm2", "46,225 mm²"),
        ("wse-3", "fabric_bits_per_s", "214 Pbit/s"),
        ("wse-2", "sram_bytes_per_core", "48 KiB"),
        ("rubin-cpx", "process_node", "TSMC N3P"),
        ("rtx-a400", "sram_bytes.l2", "2 MiB"),
    ],
)
def test_a_figure_is_written_with_its_unit(id, field, text):
    assert str(chip(id).figure(field)) == text


def test_a_unit_may_be_chosen():
    figure = chip("h100-sxm").figure("memory_bytes")
    assert figure.written("GB") == "85.9 GB" and figure.written("GiB") == "80 GiB"
    assert chip("b200").figure("peak_flop_per_s.bf16").written("TFLOP/s") == "2,250 TFLOP/s"


@pytest.mark.parametrize("unit", ["GB/s", "TFLOP", "GFLOP/s", "", "xB"])
def test_a_unit_of_another_kind_is_refused(unit):
    with pytest.raises(ValueError, match="with a prefix, as 'TB' is"):
        chip("h100-sxm").figure("memory_bytes").written(unit)


def test_source_prints_as_a_citation():
    assert str(source("jouppi-2017")).endswith("ISCA 2017, Table 2, arxiv.org/abs/1704.04760")
    assert str(source("linley-groq")).endswith("(Linley Group), 2020-01")
    with pytest.raises(UnknownId, match="nearest: jouppi-2017"):
        source("joupi-2017")


def test_tables_are_split_at_their_heads_and_parsed_on_demand(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text('# first\n\n[a]\nx = 1\n[a.sub]\ny = [\n    { z = "[b]" },\n]\n\n[b]\nx = 2\n')
    tables = Tables("thing", [path])
    assert list(tables) == ["a", "b"] and len(tables) == 2 and "a" in tables and "sub" not in tables
    assert tables["a"] == {"x": 1, "sub": {"y": [{"z": "[b]"}]}}
    assert set(tables._parsed) == {"a"}
    with pytest.raises(UnknownId, match="no thing 'c'"):
        tables["c"]


def test_a_name_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text("[a]\nx = 1\n[a]\nx = 2\n")
    with pytest.raises(ValueError, match="'a' stands twice"):
        Tables("thing", [path])
