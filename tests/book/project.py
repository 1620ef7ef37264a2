"""The book as a project: its folder, its make targets, its pages."""

import fcntl
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


def make(target):
    """Run ``make target``, one at a time on this machine: two workers of a test run may ask for the book at once.

    Raises
    ------
    RuntimeError
        If it fails, with the end of what it said.
    """
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    (ROOT / "_build").mkdir(exist_ok=True)
    with (ROOT / "_build" / "make.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["make", target],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    if done.returncode:
        raise RuntimeError(f"make {target} failed:\n{done.stdout[-6000:]}")


def settle(page):
    """Bring every lazy part of the page in, and wait for it."""
    page.evaluate(SCROLL_THROUGH)
    page.wait_for_load_state("networkidle")
    page.wait_for_function("""() => {
        const all = (selector, holds) => [...document.querySelectorAll(selector)].every(holds);
        return all(".hw-live", el => el.dataset.ready || el.dataset.failed);
    }""")
