"""The catalogue: what datasheets over-determine is multiplied out, and no record is silently wrong."""

import dataclasses
import re
import subprocess
import sys

import pytest

from hwlab.specs.chips import KINDS, Chip, chip, chips, chips_frame
from hwlab.specs.figure import DATA, GRADES, UnknownId, _sources

FILES = sorted((DATA / "chips").glob("*.toml"))


def close(got, printed, tolerance):
    assert got == pytest.approx(printed, rel=tolerance), f"{got:g} against {printed:g}"


# --- units x FLOP per clock x clock = peak --------------------------------------------------------------------------

# FLOP per clock of one SM in fp16/bf16 with fp32 accumulation, dense. Volta and Ampere, Hopper: the architecture
# whitepapers of NVIDIA (512 FMA a tensor core on Hopper, 256 on GA100, 64 on Volta). Consumer dies do half of their
# fp16-accumulate rate.
SM_FLOP_PER_CLOCK = {
    "v100-sxm2": ("fp16", 8 * 64 * 2),
    "a100-sxm-40gb": ("bf16", 4 * 256 * 2),
    "a100-sxm-80gb": ("bf16", 4 * 256 * 2),
    "a100-pcie-80gb": ("bf16", 4 * 256 * 2),
    "h100-sxm": ("bf16", 4 * 512 * 2),
    "a40": ("bf16", 1024),
    "rtx-a6000": ("bf16", 1024),
    "rtx-a4000": ("bf16", 1024),
    "rtx-a400": ("bf16", 1024),
    "l40": ("bf16", 512),
    "rtx-4000-ada": ("bf16", 1024),
    "rtx-5000-ada": ("bf16", 1024),
    "rtx-6000-ada": ("bf16", 1024),
    "rtx-2080-ti": ("fp16", 8 * 64),
    "rtx-3060": ("bf16", 512),
    "rtx-3070": ("bf16", 512),
    "rtx-3080": ("bf16", 512),
    "rtx-3080-ti": ("bf16", 512),
    "rtx-3090": ("bf16", 512),
    "rtx-3090-ti": ("bf16", 512),
    "rtx-4060": ("bf16", 512),
    "rtx-4070": ("bf16", 512),
    "rtx-4070-ti": ("bf16", 512),
    "rtx-4070-ti-super": ("bf16", 512),
    "rtx-4080": ("bf16", 512),
    "rtx-4090": ("bf16", 512),
    "rtx-5070": ("bf16", 512),
    "rtx-5080": ("bf16", 512),
    "rtx-5090": ("bf16", 512),
    "rtx-pro-6000": ("bf16", 1024),
}


@pytest.mark.parametrize("id", SM_FLOP_PER_CLOCK)
def test_nvidia_peak_is_sms_times_flop_per_clock_times_clock(id):
    c, (dtype, flop) = chip(id), SM_FLOP_PER_CLOCK[id]
    close(c.counts["sms"] * flop * c.clock_hz, c.peak(dtype), 0.005)


# Misfits, each with its reason: the printed peak is not units x rate x the clock of the record.
MISFIT_CLOCK = {
    "h200-sxm": (1.830e9, "maximum boost is 1.98 GHz, the printed peak is stated at the 1.83 GHz of the H100"),
    "h800-sxm": (1.830e9, "the database clock is 1.755 GHz; the peak said to equal the H100's needs its 1.83 GHz"),
    "l40s": (2.49e9, "printed 362.05 TFLOP/s is the L40's clock; the database boosts this card to 2.52 GHz"),
}


@pytest.mark.parametrize("id", MISFIT_CLOCK)
def test_peaks_that_do_not_fit_their_clock_fit_the_clock_of_their_sister(id):
    c, (clock, _) = chip(id), MISFIT_CLOCK[id]
    per_sm = 1024 if id == "l40s" else 4096
    close(c.counts["sms"] * per_sm * clock, c.peak("bf16"), 0.005)
    assert abs(c.counts["sms"] * per_sm * c.clock_hz / c.peak("bf16") - 1) > 0.01


@pytest.mark.parametrize("id", ["b200", "gb200", "b300-sxm"])
def test_blackwell_peaks_are_stated_a_little_below_the_highest_clock(id):
    """An SM does twice the products of Hopper's a clock; the printed peaks then need 1.86 and 2.01 GHz."""
    c = chip(id)
    assert 0.9 < c.peak("bf16") / (c.counts["sms"] * 4 * 1024 * 2) / c.clock_hz < 1


@pytest.mark.parametrize(
    "c", [c for c in chips(vendor="NVIDIA") if c.counts.get("sms") and c.counts.get("tensor_cores")]
)
def test_each_sm_holds_four_tensor_cores_or_eight_before_ampere(c):
    per_sm = {"v100-sxm2": 8, "rtx-2080-ti": 8, "gb10": 8}.get(c.id, 4)  # the database prints 384 for the GB10
    if c.id == "a10g":
        per_sm = c.counts["tensor_cores"] / c.counts["sms"]
    assert c.counts["tensor_cores"] == per_sm * c.counts["sms"]


@pytest.mark.parametrize(
    "id", ["a100-sxm-80gb", "v100-sxm2", "h100-sxm", "rtx-3090", "rtx-4090", "l4", "a40", "rtx-5090", "l40"]
)
def test_vector_peak_is_two_flop_a_lane_and_clock(id):
    lanes = {"a100-sxm-80gb": 64, "v100-sxm2": 64}.get(id, 128)
    c = chip(id)
    # The vector peak of the H100 is printed at its maximum boost, its tensor peak is not
    clock = 1.98e9 if id == "h100-sxm" else c.clock_hz
    close(c.counts["sms"] * lanes * 2 * clock, c.peak("fp32"), 0.005)


# Matrix FLOP per clock of one AMD compute unit: CDNA white papers (1024, 2048, 4096); GPUOpen for RDNA
CU_FLOP_PER_CLOCK = {
    "mi100": ("fp16", 1024),
    "mi210": ("bf16", 1024),
    "mi250x": ("bf16", 1024),
    "mi250x-gcd": ("bf16", 1024),
    "mi300x": ("bf16", 2048),
    "mi325x": ("bf16", 2048),
    "mi355x": ("bf16", 4096),
    "rx-7900-xt": ("bf16", 512),
    "rx-7900-xtx": ("bf16", 512),
    "rx-9070-xt": ("bf16", 1024),
    "radeon-ai-pro-r9700": ("fp8", 2048),
    "rx-6900-xt": ("fp16", 256),
}


@pytest.mark.parametrize("id", CU_FLOP_PER_CLOCK)
def test_amd_peak_is_compute_units_times_flop_per_clock_times_clock(id):
    c, (dtype, flop) = chip(id), CU_FLOP_PER_CLOCK[id]
    close(c.counts["compute_units"] * flop * c.clock_hz, c.peak(dtype), 0.005)


SERVER_CPUS = [c for c in chips(kind="cpu") if "fma_units" in c.counts]


@pytest.mark.parametrize("c", SERVER_CPUS, ids=lambda c: c.id)
def test_cpu_peak_is_cores_times_units_times_lanes_times_base_clock(c):
    assert c.figure("clock_hz").qualifier == "base"
    close(c.counts["cores"] * c.counts["fma_units"] * 16 * 2 * c.clock_hz, c.peak("fp32"), 1e-9)
    # A tile of 16 x 16 x 32 products of bf16 takes an AMX unit 16 cycles; without one, AVX-512 does two for one of fp32
    amx = 16 * 16 * 32 * 2 / 16 * c.counts.get("amx_units", 0) * c.counts["cores"] * c.clock_hz
    close(amx or 2 * c.peak("fp32"), c.peak("bf16"), 1e-9)


def test_the_server_cpus_that_the_book_compares_are_multiplied_out():
    assert {c.id for c in SERVER_CPUS} == {"xeon-8480plus", "xeon-6980p", "epyc-9654", "epyc-9755", "epyc-9965"}


@pytest.mark.parametrize("c", [c for c in chips(vendor="Apple") if c.clock_hz and c.id != "m4"], ids=lambda c: c.id)
def test_apple_gpu_core_has_128_lanes(c):
    close(c.counts["gpu_cores"] * 128 * 2 * c.clock_hz, c.peak("fp32"), 0.005)


# Systolic arrays: rows x columns x arrays x 2 x clock. TPU v1 counts int8.
SYSTOLIC = {
    "tpu-v1": "int8",
    "tpu-v2": "bf16",
    "tpu-v3": "bf16",
    "tpu-v4i": "bf16",
    "tpu-v4": "bf16",
    "tpu-v5e": "bf16",
    "tpu-v5p": "bf16",
    "gaudi-2": "bf16",
    "gaudi-3": "bf16",
    "groq-lpu": "int8",
}


@pytest.mark.parametrize("id", SYSTOLIC)
def test_systolic_peak_is_rows_times_columns_times_arrays_times_two_clocks(id):
    c, n = chip(id), chip(id).counts
    # 750 TOP/s printed for the GroqChip is 737 at its nominal clock, rounded up; the others are rounded to a unit
    tolerance = 0.02 if id == "groq-lpu" else 0.005
    close(n["mxu_rows"] * n["mxu_cols"] * n["mxu_count"] * 2 * c.clock_hz, c.peak(SYSTOLIC[id]), tolerance)


@pytest.mark.parametrize("id", ["tpu-v6e", "tpu-v7"])
def test_newer_tpu_peaks_do_not_follow_from_their_arrays_at_a_credible_clock(id):
    c, n = chip(id), chip(id).counts
    assert c.peak("bf16") / (n["mxu_rows"] * n["mxu_cols"] * n["mxu_count"] * 2) > 3e9  # Hz: no TPU runs at 3 GHz


@pytest.mark.parametrize("id", ["trainium2", "trainium3"])
def test_trainium_peak_needs_twice_the_array_rate(id):
    """128 x 128 arrays at 2.4 GHz give 629e12; AWS prints 6 % more for bf16 (the clock is rounded, or boosts)."""
    c, n = chip(id), chip(id).counts
    close(n["mxu_rows"] * n["mxu_cols"] * n["mxu_count"] * 2 * c.clock_hz, c.peak("bf16"), 0.065)


@pytest.mark.parametrize(("id", "width"), [("wse-2", 4), ("wse-3", 8)])
def test_wafer_peak_is_cores_times_simd_width(id, width):
    c = chip(id)
    close(c.counts["cores"] * width * 2 * c.clock_hz, c.peak("fp16"), 0.005)


# --- memory ---------------------------------------------------------------------------------------------------------

# Printed bandwidths that are lower than pins x rate, with the reason
SLOWER_THAN_PINS = {
    "h100-pcie": (0.981, "printed 2.0 TB/s, 2039 GB/s by the pins"),
}


@pytest.mark.parametrize("c", [c for c in chips() if "memory_bits_per_s_per_pin" in c.figures], ids=lambda c: c.id)
def test_bandwidth_is_bus_width_times_rate(c):
    pins = c.figure("memory_bus_bits").value * c.figure("memory_bits_per_s_per_pin").value / 8
    ratio, _ = SLOWER_THAN_PINS.get(c.id, (1, ""))
    if c.id == "rtx-pro-6000":  # the rate in the database is the workstation's
        assert pins == pytest.approx(c.figure("memory_bytes_per_s").rivals[0].value, rel=0.003)
        return
    close(pins * ratio, c.memory_bytes_per_s, 0.006)


@pytest.mark.parametrize(
    "c", [c for c in chips(kind="cpu") if (c.memory_kind or "").rpartition("-")[2].isdigit()], ids=lambda c: c.id
)
def test_cpu_bandwidth_is_channels_times_eight_bytes_times_rate(c):
    figure = c.figure("memory_bytes_per_s")
    kind, channels = figure.qualifier.split(", ")
    rate = float(kind.rpartition("-")[2]) * 1e6
    close(int(channels.split()[0]) * 8 * rate, figure.value, 0.005)


@pytest.mark.parametrize(
    ("id", "stack_bytes_per_s", "stack_bytes"),
    [("tpu-8t", 1.088e12, 36 * 2**30), ("tpu-8i", 1.075e12, 36 * 2**30), ("mi300x", 0.6656e12, 24 * 2**30)],
)
def test_stacks_times_stack_is_the_memory(id, stack_bytes_per_s, stack_bytes):
    c = chip(id)
    stacks = c.counts.get("hbm_stacks", 8)
    close(stacks * stack_bytes, c.memory_bytes, 1e-9)
    close(stacks * stack_bytes_per_s, c.memory_bytes_per_s, 0.006)
    assert stack_bytes_per_s < 1.229e12  # what an HBM3e stack can do at most


@pytest.mark.parametrize(
    ("id", "level", "kib", "unit"),
    [
        ("v100-sxm2", "l1", 128, "sms"),
        ("v100-sxm2", "registers", 256, "sms"),
        ("a100-sxm-40gb", "l1", 192, "sms"),
        ("a100-sxm-80gb", "l1", 192, "sms"),
        ("h100-sxm", "l1", 256, "sms"),
        ("h100-sxm", "registers", 256, "sms"),
        ("b200", "l1", 256, "sms"),
        ("b200", "tensor_memory", 256, "sms"),
        ("xeon-8480plus", "l2", 2048, "cores"),
        ("xeon-6980p", "l2", 2048, "cores"),
        ("epyc-9654", "l2", 1024, "cores"),
        ("epyc-9755", "l2", 1024, "cores"),
        ("epyc-9965", "l2", 1024, "cores"),
        ("trainium2", "sbuf", 28 * 1024, "cores"),
        ("trainium3", "sbuf", 32 * 1024, "cores"),
        ("tpu-v4", "vmem", 16 * 1024, "cores"),
        ("sn40l", "on_chip", 512, "cores"),
    ],
)
def test_on_chip_memory_is_units_times_size(id, level, kib, unit):
    c = chip(id)
    assert c.sram_bytes[level] == c.counts[unit] * kib * 1024


def test_wafer_memory_is_cores_times_48_kib_within_what_the_vendor_rounds_off():
    c = chip("wse-2")
    close(c.counts["cores"] * c.figure("sram_bytes_per_core").value, c.memory_bytes, 0.05)  # 41.8e9, printed as 40 GB


# --- systems --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "part", "count", "field", "tolerance"),
    [
        ("gb200-nvl72", "gb200", 72, "peak_flop_per_s.bf16", 1e-9),
        ("gb200-nvl72", "gb200", 72, "peak_flop_per_s.fp8", 1e-9),
        ("gb200-nvl72", "gb200", 72, "peak_flop_per_s.fp4", 1e-9),
        ("gb200-nvl72", "gb200", 72, "memory_bytes_per_s", 1e-9),
        ("gb200-nvl72", "gb200", 72, "memory_bytes", 1e-4),
        ("gb300-nvl72", "gb300", 72, "peak_flop_per_s.fp4", 1e-9),
        ("gb300-nvl72", "gb300", 72, "peak_flop_per_s.fp8", 1e-9),
        ("gb300-nvl72", "gb300", 72, "memory_bytes_per_s", 1e-9),
        ("gb300-nvl72", "gb300", 72, "memory_bytes", 0.08),  # printed 20 TB, 72 x what nvidia-smi reports is 21.5
        ("vera-rubin-nvl72", "rubin", 72, "peak_flop_per_s.fp4", 1e-9),
        ("vera-rubin-nvl72", "rubin", 72, "memory_bytes_per_s", 1e-9),
        (
            "vera-rubin-nvl72",
            "rubin",
            72,
            "memory_bytes",
            0.08,
        ),  # printed 20.7 TB: 72 x 288e9, the figure in decimal GB
        ("trn3-gen2-ultraserver", "trainium3", 144, "peak_flop_per_s.fp8", 1e-5),
        ("trn3-gen2-ultraserver", "trainium3", 144, "peak_flop_per_s.bf16", 1e-9),
        ("trn3-gen2-ultraserver", "trainium3", 144, "memory_bytes", 1e-5),
        ("trn3-gen2-ultraserver", "trainium3", 144, "memory_bytes_per_s", 1e-9),
        ("lpx-rack", "groq-3-lpu", 256, "memory_bytes", 1e-9),
        ("lpx-rack", "groq-3-lpu", 256, "peak_flop_per_s.fp8", 0.001),
        ("lpx-rack", "groq-3-lpu", 256, "memory_bytes_per_s", 0.045),  # printed 40 PB/s, 38.4 by the chips
    ],
)
def test_system_is_its_chips(system, part, count, field, tolerance):
    assert chip(system).chips_per_system == count
    close(count * chip(part).figure(field).value, chip(system).figure(field).value, tolerance)


@pytest.mark.parametrize(
    ("id", "dtype", "tolerance"), [("tpu-v7", "fp8", 0.001), ("tpu-8t", "fp4", 0.001), ("tpu-8i", "fp8", 0.13)]
)
def test_pod_is_its_chips(id, dtype, tolerance):
    """The 8i pod is printed with 11.6 EFLOP/s of FP8, 14 % above 1152 chips of the FP8 rate: it is their FP4 rate."""
    c = chip(id)
    close(c.chips_per_system * c.peak(dtype), c.figure(f"system_flop_per_s.{dtype}").value, tolerance)


@pytest.mark.parametrize(
    ("id", "links", "link_bytes_per_s"),
    [
        ("h100-sxm", 18, 25e9),
        ("a100-sxm-80gb", 12, 25e9),
        ("v100-sxm2", 6, 25e9),
        ("b200", 18, 50e9),
        ("mi300x", 7, 64e9),
        ("mi250x", 7, 50e9),
        ("tpu-v3", 4, 70e9),
        ("tpu-v4", 6, 45e9),
        ("groq-lpu", 16, 4 * 30e9 / 8),
        ("groq-3-lpu", 96, 112e9 / 8),
    ],
)
def test_link_rate_is_links_times_rate_in_one_direction(id, links, link_bytes_per_s):
    assert chip(id).figure("link_bytes_per_s").qualifier.endswith("per direction")
    close(links * link_bytes_per_s, chip(id).link_bytes_per_s, 1e-9)


@pytest.mark.parametrize(
    ("id", "joined"),
    [("h100-sxm", 8), ("a100-sxm-80gb", 8), ("b300-sxm", 8), ("mi355x", 8), ("l40s", 8), ("rtx-4090", None)],
)
def test_how_many_chips_a_fabric_joins(id, joined):
    assert chip(id).scale_up_chips == joined


def test_a_fabric_of_a_rack_or_pod_joins_what_the_rack_or_pod_has():
    for part, system in (("gb200", "gb200-nvl72"), ("gb300", "gb300-nvl72"), ("rubin", "vera-rubin-nvl72")):
        assert chip(part).scale_up_chips == chip(system).chips_per_system
    assert chip("groq-3-lpu").scale_up_chips == chip("lpx-rack").chips_per_system
    assert chip("trainium3").scale_up_chips == chip("trn3-gen2-ultraserver").chips_per_system
    for c in chips(kind="tpu"):
        assert c.scale_up_chips == c.chips_per_system


@pytest.mark.parametrize("id", ["gh200-96gb", "gh200-144gb", "grace", "tpu-v1"])
def test_a_link_to_the_host_is_no_fabric(id):
    assert chip(id).link_bytes_per_s is None and chip(id).figure("host_link_bytes_per_s").value > 1e9


def test_a_fabric_that_joins_chips_has_a_rate():
    assert all(c.link_bytes_per_s for c in chips() if c.scale_up_chips)


# --- dense and sparse -----------------------------------------------------------------------------------------------


def test_no_sparse_figure_is_among_the_peaks():
    for c in chips():
        for path, figure in c.figures.items():
            for one in (figure, *figure.rivals):
                if path.startswith("peak_flop_per_s"):
                    assert "sparse" not in one.qualifier and "compression" not in one.qualifier, (c.id, path)
                    assert one.qualifier.startswith("dense"), (c.id, path)


@pytest.mark.parametrize("id", ["a100-sxm-80gb", "h100-sxm", "h100-pcie", "h200-sxm", "b200", "l4"])
def test_two_to_four_sparsity_doubles_the_dense_peak(id):
    c = chip(id)
    close(2 * c.peak("bf16"), c.figure("sparse_peak_flop_per_s.bf16").value, 0.001)


def test_hopper_variants_are_all_dense():
    """A published table of peaks mixed dense and sparse between Hopper variants, so that MFU halved with the card."""
    assert [chip(id).peak("bf16") for id in ("h100-sxm", "h200-sxm", "h800-sxm")] == [989.4e12] * 3
    assert {chip("h200-nvl").figure("peak_flop_per_s.bf16").rivals[0].value} == {835.5e12}


def test_a100_says_which():
    assert chip("a100-sxm-80gb").memory_bytes_per_s == 2.039e12
    assert chip("a100-sxm-40gb").memory_bytes_per_s == 1.555e12
    with pytest.raises(UnknownId, match="a100-sxm-40gb, a100-sxm-80gb"):
        chip("a100")


def test_geforce_peaks_accumulate_in_fp32_and_show_the_other():
    for c in chips(vendor="NVIDIA"):
        figure = c.figures.get("peak_flop_per_s.fp16")
        if c.name.startswith("GeForce") and figure:
            assert figure.qualifier == "dense, fp32 accumulate", c.id
            close(figure.rivals[0].value, 2 * figure.value, 0.001)


# --- records --------------------------------------------------------------------------------------------------------


def test_the_catalogue_is_broad():
    assert len(chips()) >= 120
    kinds = {kind: len(chips(kind=kind)) for kind in KINDS}
    assert kinds["gpu"] > 70 and kinds["cpu"] > 10 and kinds["tpu"] > 10
    assert min(kinds.values()) >= 2
    assert sum(kinds.values()) == len(chips())


def test_contract_ids_exist():
    ids = {c.id for c in chips()}
    wanted = "h100-sxm a100-sxm-80gb mi300x tpu-v4 tpu-v5p tpu-v5e tpu-v6e tpu-v7 tpu-8t tpu-8i groq-lpu lpx-rack wse-3"
    assert set(f"{wanted} jalapeno xeon-8480plus b200".split()) <= ids
    assert all(id == id.lower() and "_" not in id for id in ids)


def test_every_figure_has_a_source_a_grade_and_a_date():
    for c in chips():
        for path, figure in c.figures.items():
            for one in (figure, *figure.rivals):
                assert one.source.citation and one.date[:2] == "20", (c.id, path)
                assert one.grade in GRADES


def test_every_source_is_used():
    tables = [path for path in DATA.rglob("*") if path.suffix in (".toml", ".csv") and path.name != "sources.toml"]
    text = "".join(path.read_text() for path in tables)
    assert [key for key in _sources() if not re.search(f"[\"',;]{re.escape(key)}[\"',;]", text)] == []


def test_a_rival_differs_from_its_figure():
    for c in chips():
        for path, figure in c.figures.items():
            for rival in figure.rivals:
                assert (rival.value, rival.qualifier) != (figure.value, figure.qualifier), (c.id, path)


def test_no_headline_rests_on_recollection_alone():
    """What a chapter computes with: peak, bandwidth and memory of the data-centre chips are never recalled."""
    for c in chips():
        for path, figure in c.figures.items():
            if path.startswith("peak_flop_per_s") or path == "memory_bytes_per_s":
                assert figure.grade != "recalled", (c.id, path)


def test_data_files_read_as_curated():
    for path in FILES:
        text = path.read_text()
        # Marks of raw research notes, which curated data must not carry.
        for word in ("session", "TODO", ";alt", "seed 0", "None"):
            assert word not in text, (path.name, word)
        assert max(map(len, text.splitlines())) < 420, path.name


def test_a_figure_with_its_own_source_has_its_own_grade():
    from hwlab.specs.figure import read_figure

    with pytest.raises(ValueError, match="needs a grade"):
        read_figure({"value": 1, "source": "jouppi-2017"}, "W", {"source": "abts-2020", "grade": "seen"})
    with pytest.raises(ValueError, match="unknown keys"):
        read_figure({"value": 1, "sources": "jouppi-2017"}, "W", {"source": "abts-2020", "grade": "seen"})
    with pytest.raises(ValueError, match="not one of"):
        read_figure({"value": 1, "source": "jouppi-2017", "grade": "sure"}, "W", {})


# --- errors ---------------------------------------------------------------------------------------------------------


def test_unknown_id_names_the_nearest():
    with pytest.raises(KeyError, match="mi300x"):
        chip("mi300")
    with pytest.raises(UnknownId, match="h100-sxm"):
        chip("H100_SXM")
    with pytest.raises(UnknownId, match="there are"):
        chip("")


def test_a_peak_that_is_not_published_names_those_that_are():
    with pytest.raises(ValueError, match="TPU v4 has no published fp8 peak; it has bf16, int8"):
        chip("tpu-v4").peak("fp8")
    with pytest.raises(ValueError, match="none at all"):
        chip("jalapeno").peak("bf16")


def test_unknown_kind_and_vendor_name_those_there_are():
    with pytest.raises(ValueError, match="kinds are cpu, gpu"):
        chips(kind="GPUs")
    with pytest.raises(ValueError, match="vendors are AMD, AWS"):
        chips(vendor="Nvidiaa")
    assert chips(vendor="nvidia") == chips(vendor="NVIDIA")


PLAIN = {"id": "x", "name": "X", "vendor": "V", "kind": "gpu", "year": 2026, "peak_flop_per_s": {"bf16": 1e15}}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("peak_flop_per_s", {"bf16": 989}, "not TFLOP/s"),
        ("memory_bytes_per_s", 3.35, "not TB/s"),
        ("memory_bytes", 80, "not GB"),
        ("link_bytes_per_s", 450, "not GB/s"),
        ("clock_hz", 1.83, "not GHz"),
        ("transistors", 80, "not billions"),
        ("sram_bytes", {"l2": 50}, "not MB"),
        ("tdp_watts", 0, "watts"),
        ("kind", "GPU", "cpu, gpu"),
    ],
)
def test_a_forgotten_prefix_is_refused(field, value, message):
    Chip(**PLAIN)
    with pytest.raises(ValueError, match=message):
        Chip(**{**PLAIN, field: value})


def test_records_are_frozen():
    c = chip("h100-sxm")
    with pytest.raises(dataclasses.FrozenInstanceError):
        c.tdp_watts = 1
    with pytest.raises(TypeError):
        c.peak_flop_per_s["bf16"] = 1
    assert chip("h100-sxm") is c and len({c, chip("h100-sxm")}) == 1


def test_a_variant_is_made_by_replacing():
    half = dataclasses.replace(chip("h100-sxm"), id="half", memory_bytes_per_s=1.675e12)
    assert half.peak("bf16") == 989.4e12 and half.memory_bytes_per_s == 1.675e12


def test_frame_has_a_row_a_chip_and_missing_where_unpublished():
    frame = chips_frame()
    assert len(frame) == len(chips()) and frame.index.is_unique
    assert frame.loc["h100-sxm", "counts.sms"] == 132
    assert frame.loc["jalapeno", "peak_flop_per_s.bf16"] != frame.loc["jalapeno", "peak_flop_per_s.bf16"]  # NaN


# --- cost -----------------------------------------------------------------------------------------------------------


def test_one_chip_does_not_read_the_whole_catalogue():
    code = (
        "import time, sys; import hwlab.specs.chips as m; t = time.process_time(); m.chip('h100-sxm'); "
        "print(time.process_time() - t, len(m._tables()._parsed), 'numpy' in sys.modules)"
    )
    best = min(
        (
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
            for _ in range(3)
        ),
        key=lambda words: float(words[0]),
    )
    assert best[1:] == ["1", "False"]
    assert float(best[0]) < 0.03, f"{float(best[0]) * 1e3:.1f} ms"


def test_a_changed_value_leaves_its_figure_behind():
    faster = dataclasses.replace(chip("h100-sxm"), memory_bytes_per_s=5e12, counts={"sms": 132, "tensor_cores": 1})
    assert "memory_bytes_per_s" not in faster.figures and "counts.tensor_cores" not in faster.figures
    assert faster.figure("memory_bytes").value == faster.memory_bytes and faster.figure("counts.sms").value == 132
    assert faster.figure("sparse_peak_flop_per_s.bf16").value == 1979e12  # a figure without an attribute stays
    assert all(dataclasses.replace(c).figures == c.figures for c in chips())
