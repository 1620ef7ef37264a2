"""``python -m book.lint [FILE ...]``: the faults of the book, or of some of its files."""

import sys
from pathlib import Path

from . import lint
from .page import ROOT
from .whole import Book


def main(files: list[str]) -> int:
    """Print what is wrong; 1 if anything is."""
    wanted = {Path(file).resolve().relative_to(ROOT).as_posix() for file in files}
    try:
        faults = [fault for fault in lint(Book.load()) if not wanted or fault.path in wanted]
    except ValueError as error:
        print(error)
        return 1
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults" if faults else "The book keeps its contract.")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
