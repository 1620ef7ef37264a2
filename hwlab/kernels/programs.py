"""Small programs whose compilation chapter 5 reads, and what the compiler for TPUs made of them, stored.

The compiler for TPUs is a package of 137 MB for one kind of machine, so its output is kept in
`hwlab/specs/data/tpu_programs.json`, with the versions it came from. ``python -m hwlab.kernels.programs`` compiles all
anew and writes the file; the tests compile and compare wherever the compiler runs.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import cache
from importlib.metadata import version

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

from hwlab.kernels.xla import TOPOLOGIES, Report, compile_for_tpu, tpu_compiler
from hwlab.specs.figure import DATA

STORE = DATA / "tpu_programs.json"


def attention(x, wq, wk, wv):
    """The layer printed in the book's source: projections, scores, softmax, values; one head and no mask."""
    q, k, v = x @ wq, x @ wk, x @ wv
    return jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1])) @ v


def activation(x, w, bias):
    """A product, a bias and a gate."""
    return jax.nn.gelu(x @ w + bias)


def product(x, w):
    """A product alone."""
    return x @ w


def loop(x, ws):
    """One product a layer, the layers in a loop."""
    return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0]


def mlp(x, up, down):
    """Two products with a rectifier between them."""
    return jax.nn.relu(x @ up) @ down


def append(cache, row, at):
    """One row written into a cache."""
    return jax.lax.dynamic_update_slice(cache, row, (at, 0))


def look_up(table, rows):
    """Rows of a table."""
    return table[rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program with the shapes that it is compiled for.

    Attributes
    ----------
    function : callable
    shapes : sequence of (shape, dtype)
    targets : sequence of str
        Chips that it is stored for.
    chips : int
    parts : sequence of PartitionSpec or None
        With several chips, how each argument is divided.
    donate : sequence of int
    """

    function: Callable
    shapes: Sequence[tuple[tuple[int, ...], str]]
    targets: Sequence[str] = ("tpu-v5e",)
    chips: int = 1
    parts: Sequence[PartitionSpec] | None = None
    donate: Sequence[int] = ()

    @property
    def arguments(self) -> list[jax.ShapeDtypeStruct]:
        """Shapes in the place of arrays, as `hwlab.kernels.xla.compiled` takes them."""
        return [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in self.shapes]


def _shapes(*shapes, dtype="bfloat16"):
    return [(shape, dtype) for shape in shapes]


_MLP = _shapes((1024, 1024), (1024, 4096), (4096, 1024))
_COLUMNS, _ROWS = PartitionSpec(None, "chips"), PartitionSpec("chips", None)
CASES = {
    "attention": Case(function=attention, shapes=_shapes((8192, 128), *[(128, 128)] * 3), targets=tuple(TOPOLOGIES)),
    "attention-wide": Case(function=attention, shapes=_shapes((8192, 1024), *[(1024, 1024)] * 3)),
    "activation": Case(function=activation, shapes=_shapes((256, 512), (512, 1024), (1024,))),
    "padded": Case(function=product, shapes=_shapes((100, 130), (130, 200))),
    "loop": Case(function=loop, shapes=_shapes((64, 64), (10, 64, 64), dtype="float32")),
    "append": Case(function=append, shapes=[*_shapes((4096, 128), (1, 128)), ((), "int32")], donate=(0,)),
    "look-up": Case(function=look_up, shapes=[*_shapes((100_000, 128)), ((8,), "int32")]),
    "mlp-whole": Case(function=mlp, shapes=_MLP, chips=4),
    "mlp-divided": Case(function=mlp, shapes=_MLP, chips=4, parts=(PartitionSpec(), _COLUMNS, _ROWS)),
}
"""What is compiled, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where stored programs come from."""

    jax: str
    libtpu: str
    date: str
    command: str


@cache
def _stored() -> dict:
    return json.loads(STORE.read_text(encoding="utf-8"))


def provenance() -> Provenance:
    """Versions, date and command of what is stored.

    Examples
    --------
    >>> provenance().command
    'python -m hwlab.kernels.programs'
    """
    return Provenance(**_stored()["provenance"])


def stored(name: str, chip: str = "tpu-v5e") -> Report:
    """What the compiler for TPUs made of a case of `CASES`.

    Raises
    ------
    KeyError
        If it is not stored for that chip.

    Examples
    --------
    Queries, keys and their product are one kernel; softmax and the last product another:

    >>> report = stored("attention")
    >>> [(kernel.products, kernel.name) for kernel in report.kernels if kernel.opcode in ("fusion", "custom-call")]
    [(1, 'fusion.4'), (3, 'convolution_multiply_fusion'), (0, 'online-softmax')]
    """
    programs = _stored()["programs"]
    if name not in programs or chip not in programs[name]:
        there = "; ".join(f"{case} for {', '.join(chips)}" for case, chips in programs.items())
        raise KeyError(f"no {name!r} is stored for {chip!r}; there is {there}")
    record = programs[name][chip]
    return Report(target=chip, **record | {"text": "\n".join(record["text"])})


def compile_case(name: str, chip: str = "tpu-v5e") -> Report:
    """Compile a case for a TPU now, its text as it is stored.

    Raises
    ------
    ImportError
        As `hwlab.kernels.xla.compile_for_tpu`.
    """
    case = CASES[name]
    found = compile_for_tpu(
        case.function, *case.arguments, chip=chip, chips=case.chips, parts=case.parts, donate=tuple(case.donate)
    )
    return Report(**_fields(found) | {"text": bare(found.text)})


def _fields(report):
    return {name: getattr(report, name) for name in report.__dataclass_fields__}


def bare(text: str) -> str:
    """A program's text without what names source lines and settings of the back end: the program itself stays.

    Examples
    --------
    >>> bare('  ROOT %y = f32[8]{0} negate(%x), metadata={op_name="jit(f)/neg"}')
    '  ROOT %y = f32[8]{0} negate(%x)'
    """
    lines = []
    for line in text.splitlines():
        if line.startswith("HloModule"):
            lines.append(line.split(", allow_spmd")[0])
        elif line[:1] in " %}E":
            for name in ("metadata", "backend_config", "frontend_attributes", "sharding"):
                line = _without(line, f", {name}={{")
            lines.append(line)
    return "\n".join(lines)


def _without(line, start):
    while start in line:
        at = line.index(start)
        depth, quoted = 0, False
        for end in range(at + len(start) - 1, len(line)):
            letter = line[end]
            if letter == '"' and line[end - 1] != "\\":
                quoted = not quoted
            depth += 0 if quoted else (letter == "{") - (letter == "}")
            if depth == 0:
                break
        line = line[:at] + line[end + 1 :]
    return line


def compile_all() -> dict:
    """All cases for all their chips, as they are stored."""
    programs = {}
    for name, case in CASES.items():
        programs[name] = {}
        for chip in case.targets:
            record = _fields(compile_case(name, chip))
            del record["target"]
            programs[name][chip] = record | {"text": record["text"].splitlines()}
    library = tpu_compiler().parent.parent
    (info,) = library.glob("libtpu-*.dist-info")
    made = Provenance(
        jax=version("jax"),
        libtpu=re.search(r"libtpu-([\w.]+)\.dist-info", info.name)[1],
        date=date.today().isoformat(),
        command="python -m hwlab.kernels.programs",
    )
    return {"provenance": asdict(made), "programs": programs}


def main() -> None:
    """Write the store; with ``--print`` print what would be written."""
    text = json.dumps(compile_all(), indent=1, ensure_ascii=False) + "\n"
    if "--print" in sys.argv[1:]:
        sys.stdout.write(text)
    else:
        STORE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
