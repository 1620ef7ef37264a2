"""The import and the installed size."""

import statistics
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from benchmarks import Row
from tests.book.project import ROOT


def rows():
    """Rows of the import and of the installed core."""
    yield import_row()
    yield size_row()


def process_ms(code):
    """Milliseconds from start to end of a fresh interpreter that runs `code`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return 1e3 * (time.perf_counter() - start)


def import_row():
    """`import hwlab` in fresh interpreters, with and without in turn."""
    process_ms("import hwlab")  # bytecode compiled, files in memory
    pairs = [(process_ms("pass"), process_ms("import hwlab")) for _ in range(15)]
    bare, whole = (statistics.median(times) for times in zip(*pairs, strict=True))
    cost = statistics.median(whole - bare for bare, whole in pairs)
    measured = f"{max(cost, 0):.1f} ms ({whole:.0f} ms a process with, {bare:.0f} ms without)"
    return Row("import hwlab, fresh process, median of 15", measured, "< 50 ms", cost < 50, "0.45-1.35 s")


def size_row():
    """What `pip install hwlab` puts on the disk: its own files and NumPy's."""
    own = sum(path.stat().st_size for path in (ROOT / "hwlab").rglob("*") if path.suffix != ".pyc" and path.is_file())
    files = metadata.files("numpy") or []
    numpy = sum(path.stat().st_size for file in files if (path := Path(file.locate())).is_file())
    needs = [Requirement(line).name for line in metadata.requires("hwlab") or [] if "extra ==" not in line]
    measured = f"hwlab {own / 1e6:.1f} MB + NumPy {numpy / 1e6:.0f} MB"
    return Row("installed size of the core", measured, "NumPy and us", needs == ["numpy"], "200-1,300 MB")
