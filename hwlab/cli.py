"""The command `hwlab`: what the package knows, from a shell.

``hwlab chips`` lists the catalogue, ``hwlab chips h100-sxm`` shows one record with its sources, ``hwlab measure`` puts
numbers on this machine, ``hwlab generate "To be"`` lets a model go on. Errors go to stderr and end with status 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from . import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 when it went well.

    Examples
    --------
    >>> main(["chips", "--kind", "wafer"])
    id     name          year  peak                  memory            speed
    wse-2  WSE-2 (CS-2)  2021  7.48 PFLOP/s (fp16)   40 GB SRAM        20 PB/s
    wse-3  WSE-3 (CS-3)  2024  15.84 PFLOP/s (fp16)  44 GB SRAM        21 PB/s
    0
    """
    parser = argparse.ArgumentParser(prog="hwlab", description="Chips, models and costs of AI inference.")
    parser.add_argument("--version", action="version", version=f"hwlab {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    chips = commands.add_parser("chips", help="the catalogue of chips, or one of them with its sources")
    chips.add_argument("id", nargs="?", help="a chip, such as h100-sxm; all of them if absent")
    chips.add_argument("--kind", help="only gpu, cpu, tpu, lpu, wafer, asic or system")
    chips.add_argument("--vendor", help="only of this vendor")
    chips.set_defaults(run=_chips)

    measure = commands.add_parser("measure", help="measure this machine: bandwidth, peak FLOP/s, caches")
    measure.set_defaults(run=_measure)

    generate = commands.add_parser("generate", help="let a model go on with a text, on this machine")
    generate.add_argument("prompt")
    generate.add_argument("--model", default="tiny-shakespeare", help="its name, folder or .gguf file")
    generate.add_argument("--draft", help="a smaller model that guesses, or look-up")
    generate.add_argument("--max-new-tokens", type=int, default=64)
    generate.add_argument("--temperature", type=float, default=0.0, help="0 takes the likeliest token (the default)")
    generate.add_argument("--seed", type=int, default=0)
    generate.set_defaults(run=_generate)

    options = parser.parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except (ImportError, KeyError, OSError, ValueError) as error:
        print(f"hwlab: {error}", file=sys.stderr)
        return 2
    return 0


def _chips(options) -> None:
    from .specs.chips import chip, chips

    if options.id is not None:
        if options.kind or options.vendor:
            raise ValueError("--kind and --vendor choose among all chips; leave them out beside an id")
        print(describe(chip(options.id)))
        return
    found = chips(options.kind, options.vendor)
    rows = [("id", "name", "year", "peak", "memory", "speed")]
    for c in found:
        rows.append((c.id, c.name, str(c.year), _peak(c), _memory(c), _written(c, "memory_bytes_per_s")))
    _print_table(rows)


def _measure(options) -> None:
    from .kernels.host import host_report

    print(host_report(lambda stage: print(f"{stage} ...", file=sys.stderr, flush=True)))


def _generate(options) -> None:
    from .serving import Engine

    engine = Engine.load(options.model, draft=options.draft, max_batch=1)
    pieces = engine.stream(options.prompt, options.max_new_tokens, temperature=options.temperature, seed=options.seed)
    print(options.prompt, end="")
    for piece in pieces:
        print(piece, end="", flush=True)
    print()


def describe(chip) -> str:
    """All that the catalogue says of a chip: a line a figure, with grade and source, rivals indented below.

    >>> from hwlab.specs.chips import chip
    >>> print(describe(chip("sram-cluster-die")))
    SRAM cluster die (proposal): unnamed startup, asic, 2026
      memory_bytes         500 MB  per die; about
                                   seed-only: The conversation, one of the three texts that this book puts on trial; ...
      chips_per_system     2,000  for a model of 1 TB; 1e12 / 500e6, weights alone
      ...
    """
    width = max(map(len, chip.figures), default=0)
    lines = [f"{chip.name}: {chip.vendor}, {chip.kind}, {chip.year}"]
    for path, figure in chip.figures.items():
        for label, one in ((path, figure), *(("  but also", rival) for rival in figure.rivals)):
            about = "; ".join(filter(None, (one.qualifier, one.note)))
            lines.append(f"  {label:{width}}  {one}  {about}".rstrip())
            lines.append(f"  {'':{width}}  {' ' * len(str(one))}  {one.grade}: {one.source}")
    return "\n".join(lines)


def _peak(chip) -> str:
    for dtype in ("bf16", "fp16", "fp8", "int8", "fp4", "fp32"):
        if dtype in chip.peak_flop_per_s:
            return f"{_written(chip, f'peak_flop_per_s.{dtype}')} ({dtype})"
    return "-"


def _memory(chip) -> str:
    return f"{_written(chip, 'memory_bytes')} {chip.memory_kind or ''}".rstrip()


def _written(chip, path: str) -> str:
    return str(chip.figures[path]) if path in chip.figures else "-"


def _print_table(rows) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    sys.exit(main())
