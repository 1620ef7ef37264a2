"""The import, the installed size, and what a page weighs before its reader has touched anything."""

import gzip
import statistics
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

from benchmarks import Row
from book.serve import serve
from tests.book import chromium
from tests.book.conftest import FLAGS
from tests.book.project import ROOT, pages

SITE = ROOT / "_build" / "html"
COMPRESSED_ALREADY = {".woff2", ".png", ".jpg", ".jpeg", ".webp", ".whl", ".zip", ".gz"}


def rows():
    """Rows of the import, of the installed core and of the heaviest pages."""
    yield import_row()
    yield size_row()
    yield from page_rows()


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
    measured = f"{cost:.1f} ms ({whole:.0f} ms a process with, {bare:.0f} ms without)"
    return Row("import hwlab, fresh process, median of 15", measured, "< 50 ms", cost < 50, "0.45-1.35 s")


def size_row():
    """What `pip install hwlab` puts on the disk: its own files and NumPy's."""
    own = sum(path.stat().st_size for path in (ROOT / "hwlab").rglob("*") if path.suffix != ".pyc" and path.is_file())
    files = metadata.files("numpy") or []
    numpy = sum(path.stat().st_size for file in files if (path := Path(file.locate())).is_file())
    only_numpy = [line.split(">")[0] for line in metadata.requires("hwlab") or [] if "extra" not in line] == ["numpy"]
    measured = f"hwlab {own / 1e6:.1f} MB + NumPy {numpy / 1e6:.0f} MB"
    return Row("installed size of the core", measured, "NumPy and us", only_numpy, "200-1,300 MB")


def first_view_bytes(browser, base, path):
    """Compressed bytes by path that a page asks for before anything is scrolled or touched."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    asked = set()
    page.on("request", lambda request: asked.add(urlsplit(request.url)))
    page.goto(f"{base}/{path}", wait_until="networkidle")
    page.close()
    files = {SITE / url.path.lstrip("/") for url in asked if url.hostname == "127.0.0.1"}
    files = {file / "index.html" if file.is_dir() else file for file in files}
    return {
        file: file.stat().st_size if file.suffix in COMPRESSED_ALREADY else len(gzip.compress(file.read_bytes(), 6))
        for file in files
    }


def page_rows():
    """The heaviest page and the landing page, as Chromium loads them."""
    executable = chromium.find()
    if executable is None:
        yield Row("first view of a page", chromium.MISSING, "< 1.2 MB", False)
        return
    server = serve(SITE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        weights = {
            path: sum(first_view_bytes(browser, f"http://127.0.0.1:{server.server_port}", path).values())
            for path in pages()
        }
        browser.close()
    server.shutdown()
    for path in dict.fromkeys([pages()[0], max(weights, key=weights.get)]):
        what = f"first view of {path}, gzip, before lazy parts"
        yield Row(what, f"{weights[path] / 1e6:.2f} MB", "< 1.2 MB", weights[path] < 1.2e6)
    yield Row("the same, median of all pages", f"{statistics.median(weights.values()) / 1e6:.2f} MB")
