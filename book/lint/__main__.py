"""``python -m book.lint [FILE ...]``: the faults of the book, or of some of its files; ``--rules`` lists the rules."""

import argparse
import inspect
import sys
from pathlib import Path

from . import BOOK_RULES, PAGE_RULES, lint
from .page import ROOT
from .whole import Book


def main(arguments: list[str] | None = None) -> int:
    """Print what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(
        prog="python -m book.lint", description="What the book promises its readers, held."
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="only what is wrong in these")
    parser.add_argument("--rules", action="store_true", help="say what the rules are")
    asked = parser.parse_args(arguments)
    if asked.rules:
        for name, check in {**{rule: check for rule, (check, _) in PAGE_RULES.items()}, **BOOK_RULES}.items():
            print(f"{name:15} {inspect.getdoc(check)}")
        return 0
    wanted = {file.resolve().relative_to(ROOT).as_posix() for file in asked.files}
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
    sys.exit(main())
