"""The book as a project: its folder, its make targets, its pages."""

import os
import subprocess

from book.toc import ROOT, pages

__all__ = ["ROOT", "SCROLL_THROUGH", "make", "pages", "settle"]

SCROLL_THROUGH = """async () => {
    for (let y = 0; y < document.documentElement.scrollHeight; y += 800) {
        scrollTo(0, y);
        // two frames, not a time: a busy machine would pass parts by
        for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    }
}"""


def make(target, pytestconfig):
    """Run ``make target`` and show what it says as it goes; a build may take minutes."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    with capture.global_and_fixture_disabled():
        print(f"\nmake {target}", flush=True)
        return subprocess.run(["make", target], cwd=ROOT, env=environment).returncode


def settle(page):
    """Bring every lazy part of the page in, and wait for it."""
    page.evaluate(SCROLL_THROUGH)
    page.wait_for_load_state("networkidle")
    page.wait_for_function("""() => {
        const all = (selector, holds) => [...document.querySelectorAll(selector)].every(holds);
        return all(".hw-live", el => el.dataset.ready || el.dataset.failed);
    }""")
