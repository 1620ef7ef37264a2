"""Sphinx extension: a code cell runs again when the code that it calls has changed.

The stock cache of notebook outputs knows a notebook only by its own cells, so that an edit of `hwlab` leaves stale
numbers on the page. Here the cache lies in a folder named by a hash of the package, and pages are read again when
the package or an extension of the book changed. Cells run with HWLAB_STATIC=1: live figures then come as fragments
that need no kernel.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

CODE = {".py", ".toml", ".csv", ".json", ".npz", ".safetensors"}  # of a package, what decides the outputs of a cell


def digest(folder: Path, suffixes: Iterable[str] = frozenset(CODE)) -> str:
    """A hash of the names and bytes of the files under `folder`, hidden and cached ones left out."""
    state = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in suffixes and path.is_file() and "__pycache__" not in path.parts:
            state.update(path.relative_to(folder).as_posix().encode() + b"\0")
            state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()[:16]


def _configure(app: Sphinx, config: Config) -> None:
    root = Path(app.srcdir)
    package = digest(root / "hwlab")
    os.environ["HWLAB_STATIC"] = "1"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    folder = Path(config.nb_execution_cache_path or Path(app.outdir).parent / ".jupyter_cache")
    for stale in folder.glob("*") if folder.is_dir() else ():
        if stale.name != package and stale.is_dir():
            shutil.rmtree(stale)
    config.nb_execution_cache_path = str(folder / package)
    app.hwlab_state = (package, digest(root / "book/_ext"))


def _outdated(app: Sphinx, env, added: set[str], changed: set[str], removed: set[str]) -> set[str]:
    """Every page, when the package or an extension is not what the pages were read with."""
    seen, env.hwlab_state = getattr(env, "hwlab_state", None), app.hwlab_state
    return set(env.found_docs) if seen not in (None, app.hwlab_state) else set()


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("config-inited", _configure)
    app.connect("env-get-outdated", _outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
