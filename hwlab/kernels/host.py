"""This machine, measured: how fast it reads memory and multiplies matrices, as a `Chip` beside the catalogue's.

`host_report` measures for a few seconds with NumPy alone and keeps every figure with its spread; `measure_host` is the
`Chip` of that report. Other work can only slow a run down, so the chip's figures are the best of their repeats, as a
roof should be; median and quartiles say what to expect while the machine is as busy as now, and the notes why.

Reading is measured with the largest element of an int32 array: of NumPy's reductions the one whose arithmetic is
least in the way of the memory. It runs outside Python's global lock, so that threads add up.
"""

from __future__ import annotations

import dataclasses
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from hwlab.formula import number, si
from hwlab.specs.chips import Chip
from hwlab.specs.figure import Figure, Source
from hwlab.units import GiB, KiB, MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Repeats of one measurement: median, quartiles and best, in units of work a second.

    Examples
    --------
    >>> Spread.of([9.0, 10.0, 10.0, 11.0, 2.0])
    Spread(median=10.0, low=9.0, high=10.0, best=11.0, repeats=5)
    """

    median: float
    low: float
    high: float
    best: float
    repeats: int

    @classmethod
    def of(cls, rates: Iterable[float]) -> Spread:
        """Summary of at least two rates."""
        rates = list(rates)
        low, median, high = statistics.quantiles(rates, n=4, method="inclusive")
        return cls(median=median, low=low, high=high, best=max(rates), repeats=len(rates))

    @property
    def relative(self) -> float:
        """Distance of the quartiles as a share of the median."""
        return (self.high - self.low) / self.median


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """A level of cache as the operating system describes it: `size` bytes each, `copies` of them in use."""

    level: str
    size: int
    copies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """What `host_report` found out. It prints as a table.

    Attributes
    ----------
    name, system, blas : str
        The processor, the operating system, and the library behind NumPy's ``@``.
    threads : int
        Hardware threads that this process may use.
    cores : int or None
        Physical cores among them; None where the system does not say.
    memory_bytes : float or None
    caches : tuple of Cache
        Empty where the system does not say.
    read_one, read_all : Spread
        Bytes a second read from arrays far larger than the caches, by one thread and by all.
    matmul : mapping of dtype to Spread
        FLOP a second of square products in "fp32" and "fp64", by all threads that BLAS takes.
    sweep : tuple of (bytes, bytes a second)
        Best reading rate of one thread by size of the array read again and again.
    knees : tuple of (bytes, bytes a second)
        Where that rate falls for good: the largest array read at full speed, and the speed. They are the caches as
        measured.
    notes : tuple of str
        What makes the figures less certain.
    """

    name: str
    system: str
    blas: str
    threads: int
    cores: int | None
    memory_bytes: float | None
    caches: tuple[Cache, ...]
    read_one: Spread
    read_all: Spread
    matmul: dict[str, Spread]
    sweep: tuple[tuple[int, float], ...]
    knees: tuple[tuple[int, float], ...]
    notes: tuple[str, ...]
    date: str

    @property
    def chip(self) -> Chip:
        """The same as a `Chip` of kind "cpu" with id "host", each figure's note giving its spread."""
        source = Source("host", f"measured on this machine ({self.system}, {self.blas}) with hwlab", self.date)

        def figure(value, unit, qualifier="", note=""):
            about = {"source": source, "grade": "seen", "date": self.date}
            return Figure(value=value, unit=unit, qualifier=qualifier, note=note, **about)

        def spread(rates, unit, qualifier):
            return figure(rates.best, unit, qualifier, _in_words(rates, unit))

        one = spread(self.read_one, "B/s", "read, one thread")
        together = spread(self.read_all, "B/s", f"read, {_threads(self.threads)}")
        # On a busy machine threads that wait for each other may read less than one that does not.
        fast, slow = (together, one) if together.value >= one.value else (one, together)
        figures = {"memory_bytes_per_s": dataclasses.replace(fast, rivals=(slow,))}
        for dtype, rates in self.matmul.items():
            figures[f"peak_flop_per_s.{dtype}"] = spread(rates, "FLOP/s", "dense; matrix product by BLAS")
        if self.memory_bytes:
            figures["memory_bytes"] = figure(self.memory_bytes, "B", "usable by this process")
        for cache in self.caches:
            size = float(cache.size * cache.copies)
            figures[f"sram_bytes.{cache.level}"] = figure(size, "B", "", f"{cache.copies} of {_binary(cache.size)}")
            inside = [rate for size, rate in self.sweep if size <= cache.size / 2]
            if inside:
                figures[f"sram_bytes_per_s.{cache.level}"] = figure(
                    inside[-1],
                    "B/s",
                    "read, one thread",
                    "an array of half its size; NumPy may be slower than the cache",
                )
        counts = {"threads": self.threads} | ({"cores": self.cores} if self.cores else {})
        for name, count in counts.items():
            figures[f"counts.{name}"] = figure(count, "", "usable by this process")
        return Chip(
            id="host",
            name=self.name,
            vendor=next((v for v in ("AMD", "Intel", "Apple", "Ampere", "NVIDIA") if v in self.name), "unknown"),
            kind="cpu",
            year=int(self.date[:4]),
            peak_flop_per_s={dtype: rates.best for dtype, rates in self.matmul.items()},
            memory_bytes_per_s=fast.value,
            memory_bytes=self.memory_bytes,
            sram_bytes={cache.level: float(cache.size * cache.copies) for cache in self.caches},
            counts=counts,
            figures=figures,
        )

    def __str__(self) -> str:
        rows = [
            ("read memory, one thread", self.read_one, "B/s"),
            (f"read memory, {_threads(self.threads)}", self.read_all, "B/s"),
            *((f"multiply, {dtype}", rates, "FLOP/s") for dtype, rates in self.matmul.items()),
        ]
        cores = f"{self.cores} cores, " if self.cores else ""
        memory = f", {self.memory_bytes / GiB:.1f} GiB" if self.memory_bytes else ""
        lines = [f"{self.name}: {cores}{_threads(self.threads)}{memory}", f"{self.system}; {self.blas}", ""]
        lines += [f"{'':24}{'best':>13}{'median':>13}{'quartiles':>14}"]
        for what, rates, unit in rows:
            apart = f"{number(100 * (rates.high - rates.low) / rates.median, 2)} % apart"
            lines += [f"{what:24}{si(rates.best, unit):>13}{si(rates.median, unit):>13}{apart:>14}"]
        lines += ["", "array read again and again by one thread"]
        fastest = max(rate for _, rate in self.sweep)
        at_knee = dict(self.knees)
        for size, rate in self.sweep:
            mark = " <- knee" if size in at_knee else ""
            lines += [f"{_binary(size):>10}  {si(rate, 'B/s'):>9}  {'#' * round(30 * rate / fastest):<30}{mark}"]
        if self.caches:
            levels = (f"{c.level} {c.copies} x {_binary(c.size)}" for c in self.caches)
            lines += [f"caches, as the system says: {', '.join(levels)}"]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)


def measure_host(progress: Callable[[str], None] | None = None, *, seconds: float = 4.0) -> Chip:
    """This machine as a `Chip`: read bandwidth, peak of matrix products in fp32 and fp64, memory and caches.

    Parameters
    ----------
    progress : callable, optional
        Called with a line of text before each stage: ``print`` will do.
    seconds : float
        As for `host_report`.

    Returns
    -------
    Chip
        Of kind "cpu" and id "host". ``.figure("memory_bytes_per_s").note`` gives the spread.

    See Also
    --------
    host_report : the same with all repeats summed up, the caches as measured, and notes on what disturbed.

    Examples
    --------
    >>> host = measure_host(seconds=0.1)  # in a hurry; better leave it the 4 s
    >>> host.id, host.kind, sorted(host.peak_flop_per_s)
    ('host', 'cpu', ['fp32', 'fp64'])
    """
    return host_report(progress, seconds=seconds).chip


def host_report(progress: Callable[[str], None] | None = None, *, seconds: float = 4.0) -> HostReport:
    """Measure this machine for about `seconds`, and half as long again to set up.

    Parameters
    ----------
    progress : callable, optional
        Called with a line of text before each stage.
    seconds : float
        Time to spend on repeats. Each measurement is taken at least five times, however slow the machine.

    Raises
    ------
    ValueError
        If `seconds` is not positive.
    """
    if not seconds > 0:
        raise ValueError(f"seconds is {seconds!r}; give a positive time to spend on repeats")
    tell = progress or (lambda _: None)
    threads = _usable_threads()
    caches = _caches()
    memory = _memory_bytes()
    load, ticks = _load(), _ticks()

    last_level = caches[-1].size * caches[-1].copies if caches else 32 * MiB
    array_bytes = int(min(max(8 * last_level, 256 * MiB), 1 * GiB, (memory or 8 * GiB) / 8))
    tell(f"reading {_binary(array_bytes)} of memory, one thread")
    # Filled with ones: pages of zeros never written may all be one and the same page, which the cache would hold.
    array = np.ones(array_bytes // 4, np.int32)
    read_one = _repeat(array.max, array.nbytes, seconds / 6)
    tell("reading arrays from small to large, one thread")
    sweep = _sweep(array, min(2 * last_level, array_bytes), seconds / 4)
    del array

    tell(f"reading {_binary(array_bytes)} of memory, {_threads(threads)}")
    read_all = _read_all(array_bytes, threads, seconds / 6)

    matmul = {}
    for dtype in (np.float32, np.float64):
        name = f"fp{np.finfo(dtype).bits}"
        tell(f"multiplying matrices in {name}")
        matmul[name] = _matmul_rate(dtype, seconds / 5)

    notes = _notes(
        {"reading by one thread": read_one, "reading by all threads": read_all}
        | {f"multiplying in {dtype}": rates for dtype, rates in matmul.items()},
        threads=threads, load=load, stolen=_stolen(ticks, _ticks()), turbo=_turbo(), environment=os.environ,
    )  # fmt: skip
    if caches and array_bytes < 4 * last_level:
        notes += (
            f"the arrays read, {_binary(array_bytes)}, are less than four times the last cache: part is from there",
        )
    return HostReport(
        name=_name(),
        system=f"{platform.system()} {platform.machine()}",
        blas=_blas(),
        threads=threads,
        cores=_cores(),
        memory_bytes=memory,
        caches=caches,
        read_one=read_one,
        read_all=read_all,
        matmul=matmul,
        sweep=sweep,
        knees=knees(sweep),
        notes=notes,
        date=date.today().isoformat(),
    )


def knees(sweep: Iterable[tuple[int, float]], drop: float = 0.75) -> tuple[tuple[int, float], ...]:
    """Sizes up to which reading is fast, and after which it stays below `drop` of that speed.

    A dip from which the rate recovers, as when other work disturbed one point, is no knee: each point counts as the
    best of itself and all larger ones.

    Parameters
    ----------
    sweep : pairs of (bytes, bytes a second), sizes rising
    drop : float
        Share of the speed below which it has fallen.

    Returns
    -------
    tuple of (bytes, bytes a second)

    Examples
    --------
    Fast to 32 KiB, slower to 2 MiB (with a dip at 512 KiB), slowest beyond:

    >>> rates = [100, 98, 70, 40, 41, 20, 40, 39, 15, 10, 10]
    >>> [(size // 1024, rate) for size, rate in knees((2**(14 + i), rate) for i, rate in enumerate(rates))]
    [(32, 99.0), (2048, 40)]
    """
    sweep = list(sweep)
    rates = [max(rate for _, rate in sweep[i:]) for i in range(len(sweep))]
    found, i = [], 0
    while i < len(rates):
        plateau = rates[i : i + 1]
        while i + 1 < len(rates) and rates[i + 1] >= drop * statistics.median(plateau):
            i += 1
            plateau.append(rates[i])
        if i + 1 < len(rates):
            found.append((sweep[i][0], statistics.median(plateau)))
        i += 1
        while i + 1 < len(rates) and rates[i + 1] < 0.9 * rates[i]:  # still falling: no plateau yet
            i += 1
    return tuple(found)


def _repeat(run: Callable[[], object], work: float, seconds: float) -> Spread:
    """Rates of `run`, which does `work` each time, over about `seconds` and at least five repeats."""
    run()  # warm up
    rates, end = [], time.perf_counter() + seconds
    while len(rates) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        rates.append(work / (time.perf_counter() - start))
    return Spread.of(rates)


def _read_all(nbytes: int, threads: int, seconds: float) -> Spread:
    """Bytes a second read by all threads, each from a part that a thread of theirs wrote first, so that it is near."""
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(lambda _: np.ones(nbytes // 4 // threads, np.int32), range(threads)))
        return _repeat(lambda: list(pool.map(np.max, parts)), sum(part.nbytes for part in parts), seconds)


def _sweep(array: np.ndarray, largest: int, seconds: float) -> tuple[tuple[int, float], ...]:
    sizes = [16 * KiB]
    while 2 * sizes[-1] <= largest:
        sizes.append(2 * sizes[-1])
    points = []
    for size in sizes:
        part = array[: size // array.itemsize]
        # One call reads the same bytes many times, else the call itself would be what is measured.
        passes = max(1, 4 * MiB // size)
        again = np.broadcast_to(part, (passes, part.size))
        rates = _repeat(lambda again=again: again.max(axis=1), size * passes, seconds / len(sizes))
        points.append((size, rates.best))
    return tuple(points)


def _matmul_rate(dtype, seconds: float) -> Spread:
    """FLOP/s of the largest square product that can be repeated about ten times in `seconds`."""
    rng = np.random.default_rng(0)

    def operands(n):
        return (
            rng.standard_normal((n, n)).astype(dtype),
            rng.standard_normal((n, n)).astype(dtype),
            np.empty((n, n), dtype),
        )

    n = 512
    a, b, out = operands(n)
    rate = _repeat(lambda: np.matmul(a, b, out=out), 2 * n**3, seconds / 20).best
    while n < 4096 and 2 * (2 * n) ** 3 / rate < seconds / 10:
        n *= 2
    a, b, out = operands(n)
    return _repeat(lambda: np.matmul(a, b, out=out), 2 * n**3, seconds)


# What the operating system says. Each answers None (or nothing) where it does not know.


def _usable_threads() -> int:
    """Hardware threads that this process may run on, a container's quota counted."""
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _text("/sys/fs/cgroup/cpu.max").split()
    if len(quota) == 2 and quota[0] != "max":
        threads = min(threads, max(1, int(quota[0]) // int(quota[1])))
    return threads


def _memory_bytes() -> float | None:
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    limit = _text("/sys/fs/cgroup/memory.max")
    return float(min(memory, int(limit)) if limit.isdigit() else memory)


def _caches() -> tuple[Cache, ...]:
    return _mac_caches(_sysctl()) if sys.platform == "darwin" else _linux_caches(Path("/sys/devices/system/cpu"))


def _linux_caches(root: Path) -> tuple[Cache, ...]:
    """Data and unified caches below `root`; one that several processors share is counted once."""
    found = {}
    for index in root.glob("cpu[0-9]*/cache/index[0-9]*"):
        level, kind, size = _text(index / "level"), _text(index / "type"), _text(index / "size")
        if kind in ("Data", "Unified") and size.endswith("K"):
            found[level, _text(index / "shared_cpu_list")] = int(size[:-1]) * KiB
    levels = sorted({level for level, _ in found})
    return tuple(
        Cache(
            level=f"l{level}",
            size=max(size for (of, _), size in found.items() if of == level),
            copies=sum(of == level for of, _ in found),
        )
        for level in levels
    )


def _mac_caches(values: dict[str, str]) -> tuple[Cache, ...]:
    """Caches of a Mac from what `sysctl hw` says: of the fast cores where there are two kinds."""
    fast = "hw.perflevel0." if "hw.perflevel0.l2cachesize" in values else "hw."
    cores = int(values.get(f"{fast}physicalcpu", 1))
    sizes = {"l1": f"{fast}l1dcachesize", "l2": f"{fast}l2cachesize", "l3": "hw.l3cachesize"}
    sharing = {"l1": 1, "l2": int(values.get(f"{fast}cpusperl2", 1)), "l3": cores}
    return tuple(
        Cache(level=level, size=int(values[key]), copies=max(1, cores // sharing[level]))
        for level, key in sizes.items()
        if int(values.get(key, 0))
    )


def _sysctl() -> dict[str, str]:
    try:
        out = subprocess.run(["sysctl", "hw", "machdep.cpu"], capture_output=True, text=True, timeout=5).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(line.split(": ", 1) for line in out.splitlines() if ": " in line)


def _name() -> str:
    if sys.platform == "darwin":
        known = _sysctl().get("machdep.cpu.brand_string", "")
    else:
        lines = _text("/proc/cpuinfo").splitlines()
        known = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    return known or platform.processor() or platform.machine() or "unknown processor"


def _cores() -> int | None:
    if sys.platform == "darwin":
        return int(_sysctl().get("hw.physicalcpu", 0)) or None
    if not hasattr(os, "sched_getaffinity"):
        return None
    siblings = {_text(f"/sys/devices/system/cpu/cpu{i}/topology/thread_siblings_list") for i in os.sched_getaffinity(0)}
    return len(siblings - {""}) or None


def _blas() -> str:
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"NumPy {np.__version__}, {blas.get('name', 'unknown BLAS')} {blas.get('version', '')}".rstrip()


def _load() -> float | None:
    """Processes that wanted to run in the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _ticks() -> list[int]:
    """Time by use since start-up, of all processors: user, nice, system, idle, iowait, irq, softirq, steal ..."""
    return [int(tick) for tick in _text("/proc/stat").split("\n")[0].split()[1:9]]


def _stolen(before: list[int], after: list[int]) -> float | None:
    """Share of the time that the machine's host gave to others."""
    total = sum(after) - sum(before)
    return (after[7] - before[7]) / total if len(before) == len(after) == 8 and total else None


def _turbo() -> bool | None:
    """Whether the clock may rise above its base."""
    boost, no_turbo = (
        _text("/sys/devices/system/cpu/cpufreq/boost"),
        _text("/sys/devices/system/cpu/intel_pstate/no_turbo"),
    )
    return boost == "1" if boost else no_turbo == "0" if no_turbo else None


def _notes(measured: dict[str, Spread], *, threads, load, stolen, turbo, environment) -> tuple[str, ...]:
    """What makes the figures less certain, a sentence each."""
    notes = [
        f"{what}: the quartiles are {rates.relative:.0%} of the median apart; measure again when the machine is quiet"
        for what, rates in measured.items()
        if rates.relative > 0.15
    ]
    if load is not None and load > 0.3 * threads:
        notes.append(f"before the start {load:.1f} other processes wanted to run on {_threads(threads)}")
    if stolen is not None and stolen > 0.01:
        notes.append(f"this is a virtual machine and its host gave {stolen:.0%} of the time to others")
    if turbo:
        notes.append("the clock may rise in short runs: longer work may be slower than these figures")
    limits = (f"{key}={environment[key]}" for key in _BLAS_SETTINGS if key in environment)
    notes += [f"{limit} is set, which changes what BLAS does" for limit in limits]
    return tuple(notes)


_BLAS_SETTINGS = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _in_words(rates: Spread, unit: str) -> str:
    return (
        f"best of {rates.repeats} repeats; median {si(rates.median, unit)}, "
        f"quartiles {si(rates.low, unit)} to {si(rates.high, unit)}"
    )


def _threads(count: int) -> str:
    return "one thread" if count == 1 else f"{count} threads"


def _binary(size: float) -> str:
    """Bytes with a binary prefix: 512 KiB."""
    for unit, name in ((GiB, "GiB"), (MiB, "MiB"), (KiB, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size:.0f} B"
