"""Sphinx extension: a page says which build it is, and a reader can report a number of it.

Where HWLAB_REPOSITORY names the source repository, figures of chips, claims and live figures carry a link to a new
issue there that already says which number is meant, on which page, of which build. Without a repository there is none.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import quote, urlencode

from offline import repository
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.locale import _

import hwlab

ROOT = Path(__file__).resolve().parents[2]
ASK = "What should it be, and by which source?"


@cache
def build() -> str:
    """The version of `hwlab` and, where the book is built from a clone, the commit.

    >>> build().startswith(f"hwlab {hwlab.__version__}")
    True
    """
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    quiet = {"capture_output": True, "text": True, "env": {**os.environ, "GIT_CEILING_DIRECTORIES": str(ROOT.parent)}}
    try:
        commit = subprocess.run(command, cwd=ROOT, check=True, **quiet).stdout.strip()
    except (OSError, subprocess.CalledProcessError):  # no git, or no clone
        commit = ""
    return f"hwlab {hwlab.__version__}" + (f", commit {commit}" if commit else "")


def report(key: str, page: str) -> str:
    """Where a reader reports the number that `key` names; empty without a repository.

    Examples
    --------
    >>> os.environ["HWLAB_REPOSITORY"] = "https://github.com/owner/name"
    >>> report("h100-sxm tdp_watts", "book/chips").partition("&body")[0]
    'https://github.com/owner/name/issues/new?title=Number%3A%20h100-sxm%20tdp_watts'
    >>> del os.environ["HWLAB_REPOSITORY"]
    >>> report("h100-sxm tdp_watts", "book/chips")
    ''
    """
    address = repository()
    if not address:
        return ""
    body = f"Number: {key}\nPage: {page}\nBuild: {build()}\n\n{ASK}\n"
    return f"{address}/issues/new?{urlencode({'title': f'Number: {key}', 'body': body}, quote_via=quote)}"


def link(key: str, page: str) -> str:
    """The link as HTML, or nothing."""
    address = report(key, page)
    return f'<a class="report no-print" href="{escape(address)}">{_("Report this number")}</a>' if address else ""


def _configure(app: Sphinx, config: Config) -> None:
    config.html_theme_options |= {"extra_footer": f'<p class="build">{escape(build())}</p>'}


def _page(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Live figures get their address in the page: only there their state is known. ``{key}`` stands for it."""
    if address := report("{key}", pagename):
        context["metatags"] = context.get("metatags", "") + f'<meta name="hw-report" content="{escape(address)}">\n'


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("config-inited", _configure, priority=100)
    app.connect("html-page-context", _page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
