"""What a page weighs before its reader has touched anything, how fast it answers, and how long its cells run."""

import gzip
import os
import statistics
import time
from urllib.parse import urlsplit

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook
from nbclient import NotebookClient
from playwright.sync_api import sync_playwright

from benchmarks import Row
from book import chromium
from book.serve import serve
from tests.book.project import ROOT, pages

SITE = ROOT / "_build" / "html"
COMPRESSED_ALREADY = {".woff2", ".png", ".jpg", ".jpeg", ".webp", ".whl", ".zip", ".gz", ".packed"}
EXPLORER = ("book/02-matmul.html", "hw-batch")
MACHINE = ("book/02-matmul.html", "hw-blocked")


def rows():
    """Rows of pages' weight, the batch explorer's answer, a machine's own scene, and the cells of chapters and labs."""
    yield from run_rows()
    executable = chromium.find()
    if executable is None:
        yield Row("pages in a browser", chromium.MISSING, "", False)
        return
    server = serve(SITE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=chromium.FLAGS)
        base = f"http://127.0.0.1:{server.server_port}"
        yield from weight_rows(browser, base)
        yield paint_row(browser, base)
        yield from own_scene_rows(browser, base)
        browser.close()
    server.shutdown()


def run_rows():
    """Every chapter and every lab, executed as the book and the tests do, one after another."""
    for folder, suffix, limit in (("book", ".md", 25), ("notebooks", ".ipynb", 20)):
        for page in pages():
            path = (ROOT / page).with_suffix(suffix)
            if page.startswith(f"{folder}/") and path.name[:2].isdigit():
                seconds = run_seconds(path)
                what = f"cells of {path.relative_to(ROOT)}, in a fresh kernel"
                yield Row(what, f"{seconds:.1f} s", f"< {limit} s", seconds < limit)


def run_seconds(path):
    """Seconds to start a kernel and run every cell of a page or a notebook."""
    text = path.read_text(encoding="utf-8")
    notebook = read_myst_markdown_notebook(text) if path.suffix == ".md" else nbformat.reads(text, as_version=4)
    environment = os.environ | {"HWLAB_STATIC": "1"}
    start = time.perf_counter()
    client = NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}})
    client.execute(env=environment)
    return time.perf_counter() - start


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


def weight_rows(browser, base):
    """The heaviest page and the landing page, as Chromium loads them."""
    weights = {path: sum(first_view_bytes(browser, base, path).values()) for path in pages()}
    for path in dict.fromkeys([pages()[0], max(weights, key=weights.get)]):
        what = f"first view of {path}, gzip, before lazy parts"
        yield Row(what, f"{weights[path] / 1e6:.2f} MB", "< 1.2 MB", weights[path] < 1.2e6)
    yield Row("the same, median of all pages", f"{statistics.median(weights.values()) / 1e6:.2f} MB")


DRAG = """async ({steps}) => {
  const el = document.querySelector('.hw-live'), input = el.querySelector('input[type=range]'), times = [];
  const painted = () => new Promise(done => requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel();
    port1.onmessage = done; port2.postMessage(0); }));
  for (let i = 0; i < steps; i++) {
    await painted();
    const start = performance.now(), before = el.querySelector('.hw-slot svg').innerHTML;
    input.value = (Number(input.value) + 7) % Number(input.max);
    input.dispatchEvent(new Event('input', { bubbles: true }));
    do await painted(); while (el.querySelector('.hw-slot svg').innerHTML === before);
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b);
}"""


def paint_row(browser, base):
    """The batch explorer on its own page: a hundred steps of its slider, each until the picture has changed."""
    path, element = EXPLORER
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(f"{base}/{path}")
    page.locator(f"#{element}").scroll_into_view_if_needed()
    page.wait_for_selector(f"#{element}[data-ready]")
    page.evaluate(f"document.querySelectorAll('.hw-live:not(#{element})').forEach(other => other.remove())")
    times = page.evaluate(DRAG, {"steps": 100})
    page.close()
    what = f"control to paint, #{element} of {path}, 100 steps"
    peer = "p98 24 ms (Distill), 64 ms (Ultra-Scale)"
    return Row(what, f"p50 {times[49]:.0f} ms, p98 {times[97]:.0f} ms", "p98 < 50 ms", times[97] < 50, peer)


OWN_SCENE = """async (id) => {
  const el = document.getElementById(id), press = (selector) => el.querySelector(selector).click();
  const drawn = (holds) => new Promise(resolve => {
    const look = () => (holds() ? requestAnimationFrame(() => resolve(performance.now())) : setTimeout(look, 5));
    look();
  });
  const start = performance.now();
  press('input[value="own"]');
  el.querySelectorAll('.hw-own button')[0].click();
  const first = await drawn(() => el.model.get('scene') === 'own' && el.frame.shape[0] === el.model.get('own').m);
  const slider = el.querySelector('.hw-own input[type="range"]');
  slider.value = +slider.value + 1;
  slider.dispatchEvent(new Event('input'));
  const moved = performance.now();
  return [first - start, await drawn(() => el.frame.shape[0] === 9) - moved];
}"""


def own_scene_rows(browser, base):
    """What the page's Python weighs, and how long from the press of a machine's button to a scene of one's own."""
    path, element = MACHINE
    served = SITE / "_static" / "web"
    weight = sum(file.stat().st_size for file in (*served.glob("pyodide/*.packed"), *served.glob("*.whl")))
    yield Row("Python for the page and the wheel, compressed", f"{weight / 1e6:.2f} MB", "< 6.5 MB", weight < 6.5e6)
    context = browser.new_context()
    for what, limit in (("nothing fetched before", 6), ("files in the browser's cache", 3)):
        page = context.new_page()
        page.goto(f"{base}/{path}")
        page.locator(f"#{element}").scroll_into_view_if_needed()
        page.wait_for_selector(f"#{element}[data-ready]")
        page.wait_for_load_state("networkidle")
        first, moved = (milliseconds / 1000 for milliseconds in page.evaluate(OWN_SCENE, element))
        page.close()
        peer = "allows up to 180 s to start" if limit == 6 else ""
        yield Row(
            f"first scene of one's own, #{element}, {what}", f"{first:.1f} s", f"< {limit} s", first < limit, peer
        )
    yield Row("the next, from the slider's move, its rest of 0.15 s included", f"{moved:.2f} s")
    context.close()
