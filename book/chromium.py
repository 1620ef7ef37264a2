"""Find a Chromium for the browser tests and the PDF, or fetch one.

`python -m book.chromium` is what `make test` calls. Order: the variable CHROMIUM, the PATH, what Playwright has
downloaded; then the system's package where it can be installed, then Playwright's own download.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # it finds no other host
)
MISSING = "no Chromium: put one on the PATH, or name it in the variable CHROMIUM"


def find():
    """Path of a Chromium that starts, or None.

    Raises
    ------
    FileNotFoundError
        If the variable CHROMIUM names something that does not start.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        if not _starts(named):
            raise FileNotFoundError(f"CHROMIUM is {named!r}, which does not start; name a Chromium or unset it")
        return named
    candidates = [shutil.which(name) for name in NAMES] + [_playwright_path()]
    return next((path for path in candidates if path and _starts(path)), None)


def fetch():
    """Install Chromium: the system's package as root on Debian and its kin, else Playwright's download."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        quiet = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
        install = [*quiet, "install", "-y", "--no-install-recommends", "chromium", "fonts-liberation"]
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in ([*quiet, "update"], install):
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
    if not find():
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)


def _starts(path):
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _playwright_path():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def main():
    if not find():
        print("No Chromium yet: fetching one", flush=True)
        fetch()
    print(f"Chromium: {find() or MISSING}", flush=True)


if __name__ == "__main__":
    main()
