"""The pages of the book in order of reading, as _toc.yml tells them."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def parts():
    """``[(caption, [page, ...]), ...]``: paths of the built pages below the site's root; the cover has no caption.

    >>> parts()[0]
    ('', ['book/index.html'])
    """
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    found = [("", [_path(contents["root"])])]
    return found + [(part["caption"], list(_entries(part["chapters"]))) for part in contents["parts"]]


def pages():
    """Paths of the built pages below the site's root, in order of reading."""
    return [page for _, paths in parts() for page in paths]


def _entries(entries):
    for entry in entries:
        yield _path(entry["file"])
        yield from _entries(entry.get("sections", []))


def _path(entry):
    return f"{entry.removesuffix('.md').removesuffix('.ipynb')}.html"
