"""The book as a project: its folder, its make targets, its pages."""

import fcntl
import os
import re
import subprocess
from urllib.parse import urlsplit

from book.toc import ROOT, pages

__all__ = ["ROOT", "make", "pages", "settle", "watch"]

# Two frames, not a time: a busy machine would pass parts by. Where no frame comes at all, a second will do.
SCROLL_THROUGH = """async () => {
    const frame = () => new Promise(done => { requestAnimationFrame(done); setTimeout(done, 1000); });
    for (const live of document.querySelectorAll(".hw-live")) {
        live.scrollIntoView();
        await frame();
        await frame();
    }
    scrollTo(0, document.documentElement.scrollHeight);
    await frame();
}"""


def make(target):
    """Run ``make target``, one at a time on this machine: two workers of a test run may ask for the book at once.

    Raises
    ------
    RuntimeError
        If it fails, with its warnings and errors, and the end of what it said.
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
        faults = [line for line in done.stdout.splitlines() if re.search("WARNING|ERROR|Error", line)]
        raise RuntimeError("\n".join([f"make {target} failed:", *faults[:20], "...", done.stdout[-2000:]]))


def settle(page):
    """Bring every lazy part of the page in, and wait for it."""
    page.evaluate(SCROLL_THROUGH)
    page.wait_for_load_state("networkidle")
    page.wait_for_function("""() => {
        const all = (selector, holds) => [...document.querySelectorAll(selector)].every(holds);
        return all(".hw-live", el => el.dataset.ready || el.dataset.failed);
    }""")


def watch(page, site_url):
    """Keep a list of what goes wrong on a page.

    `page.foreign` holds the addresses asked of other hosts; `page.problems` console errors, uncaught errors, answers
    of 400 and above and requests that failed.
    """
    page.foreign, page.problems = [], []

    def on_request(request):
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about") and parts.hostname != "127.0.0.1":
            page.foreign.append(request.url)

    def on_response(response):
        if response.status >= 400:
            page.problems.append(f"{response.status} {response.url.removeprefix(site_url)}")

    def on_failure(request):
        if request.failure != "net::ERR_ABORTED":  # left by the page itself
            page.problems.append(f"{request.failure} {request.url.removeprefix(site_url)}")

    context = page.context
    context.on("request", on_request)
    context.on("response", on_response)
    context.on("requestfailed", on_failure)
    context.on("console", lambda message: message.type == "error" and page.problems.append(message.text[:300]))
    context.on("weberror", lambda error: page.problems.append(str(error.error)[:300]))
    page.on("websocket", lambda socket: page.foreign.append(socket.url))
