"""The measuring of this machine: the statistics, what the system says, what is noted, and one real measurement."""

import dataclasses
import os
import platform
import statistics
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwlab.cli import main
from hwlab.kernels import host
from hwlab.kernels.host import Cache, Spread, host_report, knees, measure_host

KiB, MiB = 2**10, 2**20


@given(st.lists(st.floats(1, 1e12), min_size=2, max_size=30))
def test_a_spread_is_in_order_and_within_what_was_measured(rates):
    spread = Spread.of(rates)
    assert min(rates) <= spread.low <= spread.median <= spread.high <= spread.best == max(rates)
    assert spread.median == pytest.approx(statistics.median(rates))
    assert spread.repeats == len(rates)


def test_a_rate_is_work_over_time_and_slow_machines_are_measured_five_times(monkeypatch):
    """A clock that advances 2 s whenever it is read: each run takes 2 s, far beyond the time asked for."""
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr(host.time, "perf_counter", lambda: next(clock))
    calls = []
    spread = host._repeat(lambda: calls.append(1), 100, seconds=0.01)
    assert spread == Spread(median=50, low=50, high=50, best=50, repeats=5)
    assert len(calls) == 6  # one to warm up


@st.composite
def staircases(draw):
    """Rates by size that fall in steps, some points disturbed but none at the end of a step; and where they fall."""
    rate, rates, edges = 1000.0, [], []
    steps = draw(st.integers(1, 4))
    for step in range(steps):
        length = draw(st.integers(3, 6))
        dips = draw(st.sets(st.integers(0, length - 2)))
        rates += [rate * (0.2 if i in dips else 1) for i in range(length)]
        if step < steps - 1:
            edges.append((2 ** (14 + len(rates) - 1), rate))
        rate *= draw(st.floats(0.2, 0.6))
    return [(2 ** (14 + i), rate) for i, rate in enumerate(rates)], edges


@given(staircases())
def test_knees_are_found_where_the_rate_falls_for_good_and_nowhere_else(case):
    sweep, edges = case
    assert knees(sweep) == tuple(edges)


def test_a_gradual_fall_is_one_knee():
    rates = [100, 100, 99, 60, 40, 25, 20, 20]
    assert knees([(2**i, rate) for i, rate in enumerate(rates)]) == ((4, 100),)


def test_caches_are_counted_once_however_many_processors_share_them(tmp_path):
    """Four processors, two to a core: two first-level data caches of 48 KiB, one third-level of 8 MiB for all."""
    for cpu in range(4):
        pair = f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}"
        levels = [("1", "Data", "48K", pair), ("1", "Instruction", "32K", pair), ("3", "Unified", "8192K", "0-3")]
        for index, values in enumerate(levels):
            folder = tmp_path / f"cpu{cpu}" / "cache" / f"index{index}"
            folder.mkdir(parents=True)
            for name, value in zip(("level", "type", "size", "shared_cpu_list"), values, strict=True):
                (folder / name).write_text(value + "\n")
    (tmp_path / "cpufreq").mkdir()
    assert host._linux_caches(tmp_path) == (
        Cache(level="l1", size=48 * KiB, copies=2),
        Cache(level="l3", size=8 * MiB, copies=1),
    )
    assert host._linux_caches(tmp_path / "nowhere") == ()


def test_a_mac_with_two_kinds_of_core_is_described_by_its_fast_ones():
    values = {
        "hw.l1dcachesize": "65536", "hw.l2cachesize": "4194304", "hw.physicalcpu": "8",
        "hw.perflevel0.physicalcpu": "4", "hw.perflevel0.l1dcachesize": "131072",
        "hw.perflevel0.l2cachesize": "12582912", "hw.perflevel0.cpusperl2": "4",
    }  # fmt: skip
    assert host._mac_caches(values) == (
        Cache(level="l1", size=128 * KiB, copies=4),
        Cache(level="l2", size=12 * MiB, copies=1),
    )
    old = {"hw.l1dcachesize": "32768", "hw.l2cachesize": "262144", "hw.l3cachesize": "6291456", "hw.physicalcpu": "4"}
    assert host._mac_caches(old) == (
        Cache(level="l1", size=32 * KiB, copies=4),
        Cache(level="l2", size=256 * KiB, copies=4),
        Cache(level="l3", size=6 * MiB, copies=1),
    )
    assert host._mac_caches({}) == ()


def notes(rates=(100, 100, 100), **given):
    quiet = {"threads": 4, "load": 0.1, "stolen": 0.0, "turbo": False, "environment": {}}
    return host._notes({"reading": Spread.of(rates)}, **quiet | given)


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({"rates": (50, 100, 100, 150)}, "reading: the quartiles are 25% of the median apart"),
        ({"load": 3.0}, "before the start 3.0 other processes wanted to run on 4 threads"),
        ({"stolen": 0.2}, "its host gave 20% of the time to others"),
        ({"turbo": True}, "the clock may rise in short runs"),
        ({"environment": {"OMP_NUM_THREADS": "1"}}, "OMP_NUM_THREADS=1 is set, which changes what BLAS does"),
    ],
)
def test_what_disturbs_is_noted_and_nothing_else(given, note):
    (found,) = notes(**given)
    assert note in found
    assert notes() == notes(load=None, stolen=None, turbo=None) == ()


def test_stolen_time_is_a_share_of_all_time():
    before, after = [10, 0, 0, 90, 0, 0, 0, 0], [40, 0, 0, 150, 0, 0, 0, 10]
    assert host._stolen(before, after) == 0.1
    assert host._stolen([], []) is None


@pytest.fixture(scope="module")
def told_and_report():
    told = []
    return told, host_report(told.append, seconds=0.3)


def test_this_machine_is_measured_as_a_chip(told_and_report):
    told, report = told_and_report
    chip = report.chip
    assert len(told) == 5
    assert (chip.id, chip.kind) == ("host", "cpu")
    assert chip.memory_bytes_per_s == max(report.read_one.best, report.read_all.best)
    assert chip.peak("fp32") == report.matmul["fp32"].best
    assert all(figure.grade == "seen" and figure.date == report.date for figure in chip.figures.values())
    assert f"best of {report.matmul['fp64'].repeats} repeats; median " in chip.figure("peak_flop_per_s.fp64").note
    assert chip.source("memory_bytes_per_s").startswith("measured on this machine")
    for spread in (report.read_one, report.read_all, *report.matmul.values()):
        assert spread.repeats >= 5


def test_threads_that_hinder_each_other_do_not_lower_the_roof(told_and_report):
    """One thread read 20 GB/s and two together 15: the roof is 20, and the 15 stay on record."""
    _, report = told_and_report
    one, both = (Spread(median=rate, low=rate, high=rate, best=rate, repeats=5) for rate in (20e9, 15e9))
    for read_one, read_all in ((one, both), (both, one)):
        chip = dataclasses.replace(report, read_one=read_one, read_all=read_all).chip
        figure = chip.figure("memory_bytes_per_s")
        assert chip.memory_bytes_per_s == figure.value == 20e9
        assert [rival.value for rival in figure.rivals] == [15e9]


def test_no_machine_of_today_is_outside_these_bounds(told_and_report):
    """Wide: a Raspberry Pi reads 3 GB/s and a server socket 1 TB/s; fp32 is at most a few times faster than fp64."""
    _, report = told_and_report
    assert 5e8 < report.chip.memory_bytes_per_s < 5e12
    assert 1e9 < report.chip.peak("fp32") < 1e14
    assert report.sweep[0][0] == 16 * KiB and all(b == 2 * a for (a, _), (b, _) in pairwise(report.sweep))
    assert max(rate for _, rate in report.sweep) > 0.9 * report.sweep[-1][1]


def test_the_report_prints_what_it_found(told_and_report):
    _, report = told_and_report
    text = str(report)
    assert report.name in text and "read memory, one thread" in text and "multiply, fp64" in text
    assert all(f"note: {note}" in text for note in report.notes)
    assert text.count("<- knee") == len(report.knees)
    assert max(map(len, text.splitlines()[:7])) <= 66  # a page is no wider


def test_the_command_prints_the_report_and_says_meanwhile_what_it_does(told_and_report, monkeypatch, capsys):
    _, report = told_and_report
    monkeypatch.setattr(host, "host_report", lambda progress: progress("reading") or report)
    assert main(["measure"]) == 0
    assert capsys.readouterr() == (f"{report}\n", "reading ...\n")


def test_where_the_system_says_nothing_the_figures_are_still_measured(monkeypatch):
    monkeypatch.setattr(host, "_text", lambda path: "")
    monkeypatch.setattr(sys, "platform", "win32")
    for name in ("sched_getaffinity", "getloadavg", "sysconf"):
        monkeypatch.delattr(os, name, raising=False)
    chip = measure_host(seconds=0.05)
    assert chip.memory_bytes is None and dict(chip.sram_bytes) == {} and "cores" not in chip.counts
    assert chip.memory_bytes_per_s > 0 and chip.name and chip.counts["threads"] >= 1


def test_a_mac_without_an_answer_is_no_error(monkeypatch):
    def missing(*args, **kwargs):
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", missing)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert (host._caches(), host._cores()) == ((), None)
    assert host._name() == (platform.processor() or platform.machine())


def test_no_time_to_measure_is_refused():
    with pytest.raises(ValueError, match="seconds is 0; give a positive time"):
        host_report(seconds=0)
