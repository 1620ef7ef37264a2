"""Run every benchmark, or the named ones, and print one table: ``python -m benchmarks [TOPIC ...]``."""

import importlib
import sys
import traceback
from pathlib import Path

from benchmarks import Row

HEAD = ("what", "measured", "target", "met", "field today")
VERDICT = {True: "yes", False: "NO", None: ""}


def table(rows):
    """The rows as a Markdown table, in columns that line up."""
    cells = [HEAD] + [(row.what, row.measured, row.target, VERDICT[row.met], row.peer) for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    lines = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in cells]
    return "\n".join([lines[0], "|-" + "-|-".join("-" * width for width in widths) + "-|", *lines[1:]])


def main():
    known = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    topics = sys.argv[1:] or known
    if unknown := set(topics) - set(known):
        raise SystemExit(f"no benchmark named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    rows, failed = [], False
    for topic in topics:
        print(f"measuring {topic} ...", file=sys.stderr, flush=True)
        try:
            rows += importlib.import_module(f"benchmarks.{topic}").rows()
        except Exception as error:
            traceback.print_exc()
            rows.append(Row(topic, f"failed: {type(error).__name__}"))
            failed = True
    print(table(rows))
    sys.exit(failed)


if __name__ == "__main__":
    main()
