"""What the compiler did: fusions, products, bytes, memory, donation and compiles, read from XLA's own output.

`compiled` compiles a function for this machine and `compile_for_tpu` for a TPU that need not be there; both give a
`Report`. It is read from the text of the compiled program (HLO), because XLA's own cost analysis has two traps: it
counts the body of a loop once, however often it runs, and a gather as if it read its whole table. A `Report` multiplies
by the trip count where the compiler knows it, and says where not; and it counts of a table the rows that are gathered.
`Report.xla_flop` and `Report.xla_bytes` keep what XLA says.

XLA's text is described in its "operation semantics" and "shapes and layout" pages, https://openxla.org/xla.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import jax
from jax import monitoring

ITEM_BITS = {
    "pred": 8, "token": 0, "s2": 2, "u2": 2, "s4": 4, "u4": 4, "s8": 8, "u8": 8, "s16": 16, "u16": 16, "bf16": 16,
    "f16": 16, "s32": 32, "u32": 32, "f32": 32, "s64": 64, "u64": 64, "f64": 64, "c64": 64, "c128": 128,
}  # fmt: skip
"""Bits of an element, by XLA's name; the 8-bit floats begin with f8, the 4-bit ones with f4."""

_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "reshape", "iota", "after-all"}
_FREE |= {"partition-id", "replica-id", "copy-done", "opt-barrier"}
_QUIET = _FREE | {"broadcast", "copy", "convert", "transpose", "slice", "fusion", "copy-start", "slice-start"}
"""Operations that move or rename, and compute nothing: left out when what a kernel does is named."""

_VIEWS = {"broadcast", "transpose"}
_PART = {"dynamic-slice", "gather", "slice", "slice-start"}
_COLLECTIVES = ("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "collective-permute")


@dataclass(frozen=True, slots=True)
class Array:
    """The shape of an array in a compiled program.

    Attributes
    ----------
    dtype : str
        XLA's name.
    shape : tuple of int
    order : tuple of int
        Dimensions from the fastest to the slowest: (1, 0) is row-major, (0, 1) column-major.
    tile : tuple of int
        The first tile of the layout, () where there is none: a TPU's registers are 8 x 128.
    space : int
        0 is main memory; others are on the chip.
    """

    dtype: str
    shape: tuple[int, ...]
    order: tuple[int, ...]
    tile: tuple[int, ...]
    space: int

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return math.ceil(math.prod(self.shape) * _bits(self.dtype) / 8)

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """What the tiles of the layout round the shape up to.

        >>> parse_array("bf16[100,130]{1,0:T(8,128)(2,1)}").padded_shape
        (104, 256)
        """
        shape = list(self.shape)
        for dimension, tile in zip(self.order, reversed(self.tile), strict=False):
            shape[dimension] = -(-shape[dimension] // tile) * tile
        return tuple(shape)

    def __str__(self):
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def _bits(dtype):
    if dtype in ITEM_BITS:
        return ITEM_BITS[dtype]
    for start, bits in (("f8", 8), ("f4", 4)):
        if dtype.startswith(start):
            return bits
    raise ValueError(f"XLA's dtype {dtype!r} is not known; known are {', '.join(ITEM_BITS)}, f8… and f4…")


_ARRAY = re.compile(r"(\w+)\[([\d,<= ]*)\](?:\{([\d,]*)(?::((?:[A-Z*]\w*(?:\([^()]*\))*)*)[^}]*)?\})?")


def parse_array(text: str) -> Array:
    """The first array named in `text`.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> parse_array("f32[64,512]{0,1:T(8,128)S(1)}")
    Array(dtype='f32', shape=(64, 512), order=(0, 1), tile=(8, 128), space=1)
    """
    found = parse_arrays(text)
    if not found:
        raise ValueError(f"no array in {text!r}; give XLA's text, such as f32[64,512]{{1,0}}")
    return found[0]


def parse_arrays(text: str) -> tuple[Array, ...]:
    """All arrays of a type: one, or those of a tuple."""
    return tuple(map(_array, _ARRAY.finditer(text)))


def _array(match):
    dtype, shape, order, layout = match.groups()
    tile = re.search(r"T\(([\d,]+)\)", layout or "")
    space = re.search(r"S\((\d+)\)", layout or "")
    shape = tuple(int(size.strip("<= ")) for size in shape.split(",") if size.strip())
    return Array(
        dtype,
        shape,
        tuple(map(int, order.split(","))) if order else tuple(reversed(range(len(shape)))),
        tuple(map(int, tile[1].split(","))) if tile else (),
        int(space[1]) if space else 0,
    )


@dataclass(slots=True)
class Op:
    """One operation of a program."""

    name: str
    opcode: str
    arrays: tuple[Array, ...]
    operands: tuple[str, ...]
    literal: str
    rest: str
    root: bool

    @property
    def nbytes(self) -> int:
        """Bytes of its result in main memory."""
        return sum(array.nbytes for array in self.arrays if array.space == 0)

    def attribute(self, name: str) -> str | None:
        """The word behind ``name=``."""
        found = re.search(rf"\b{name}=%?([\w.\-]+)", self.rest)
        return found and found[1]

    def called(self) -> tuple[str, ...]:
        """Computations run by a call, a conditional or an asynchronous operation."""
        names = re.findall(r"\b(?:calls|to_apply|true_computation|false_computation)=%?([\w.\-]+)", self.rest)
        branches = re.search(r"branch_computations=\{([^}]*)\}", self.rest)
        return (*names, *re.findall(r"[\w.\-]+", branches[1])) if branches else tuple(names)


@dataclass(frozen=True, slots=True)
class Program:
    """A program in XLA's text: operations by computation, in order."""

    computations: dict[str, dict[str, Op]]
    entry: str
    head: str


_HEADER = re.compile(r"(ENTRY )?%?([\w.\-]+) (?:\(.*\) -> .*)?\{$")


def parse(text: str) -> Program:
    """Read a program.

    Raises
    ------
    ValueError
        If it has no entry.

    Examples
    --------
    >>> program = parse(
    ...     "HloModule m\\n\\nENTRY %main (x: f32[8]) -> f32[8] {\\n  %x = f32[8]{0} parameter(0)\\n"
    ...     "  ROOT %y = f32[8]{0} negate(%x), metadata={op_name=\\"jit(f)/neg\\"}\\n}\\n"
    ... )
    >>> [(op.name, op.opcode, op.operands) for op in program.computations["main"].values()]
    [('x', 'parameter', ()), ('y', 'negate', ('x',))]
    """
    computations, entry, current, pending = {}, None, None, ""
    lines = text.splitlines()
    for line in lines:
        if current is None:
            header = _HEADER.match(line)
            if header:
                current = computations[header[2]] = {}
                entry = header[2] if header[1] else entry
        elif line.startswith("}"):
            current = None
        else:
            pending += line
            if " = " in pending and _closed(pending):
                op = _op(pending.strip())
                current[op.name] = op
                pending = ""
    if entry is None:
        raise ValueError("this text has no ENTRY; give the text of a whole program, as compiled.as_text() prints it")
    return Program(computations, entry, lines[0])


def _closed(text):
    bare = re.sub(r'"(?:\\.|[^"\\])*"', "", text)
    return all(bare.count(left) == bare.count(right) for left, right in ("()", "{}"))


def _op(text):
    root = text.startswith("ROOT ")
    name, rest = text.removeprefix("ROOT ").split(" = ", 1)
    end = _group(rest, 0) if rest.startswith("(") else re.match(r"\S+", rest).end()
    kind, rest = rest[:end], rest[end:].lstrip()
    opcode = re.match(r"[\w\-]+", rest)[0]
    end = _group(rest, len(opcode))
    inside, rest = rest[len(opcode) + 1 : end - 1], rest[end:]
    operands = ()
    if opcode not in ("parameter", "constant"):
        inside = re.sub(r"/\*.*?\*/", "", inside)
        operands = tuple(part.split()[-1].lstrip("%") for part in _split(inside) if part.strip())
    literal = "" if operands else inside
    return Op(name.lstrip("%"), opcode, parse_arrays(kind), operands, literal, rest, root)


def _group(text, start):
    """Where the bracket that opens at `start` ends."""
    depth, quoted = 0, False
    for at in range(start, len(text)):
        letter = text[at]
        if letter == '"' and text[at - 1] != "\\":
            quoted = not quoted
        elif not quoted and letter in "({[":
            depth += 1
        elif not quoted and letter in ")}]":
            depth -= 1
            if depth == 0:
                return at + 1
    raise ValueError(f"a bracket does not close in {text[start : start + 80]!r}")


def _split(text):
    """The parts between commas that lie in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "({[") - (letter in ")}]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One operation that the machine starts: a fusion, or an operation that was left by itself.

    Attributes
    ----------
    name, opcode : str
    kind : str
        Of a fusion "kLoop", "kInput", "kOutput" or "kCustom"; of a custom call its target; else "".
    does : tuple of str
        The operations inside that compute, in order.
    products : int
        Matrix products inside.
    times : int
        How often it runs.
    bytes : int
        Read from and written to main memory, each time.
    flop : int
        Of the matrix products, each time.
    result : tuple of Array
    """

    name: str
    opcode: str
    kind: str
    does: tuple[str, ...]
    products: int
    times: int
    bytes: int
    flop: int
    result: tuple[Array, ...]

    def __str__(self):
        what = ", ".join(f"{n} {op}" if n > 1 else op for op, n in Counter(self.does).items()) or "moves data"
        times = f" × {self.times}" if self.times > 1 else ""
        return f"{self.name}{times}: {what} -> {', '.join(map(str, self.result))}"


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a compiler made of a function.

    Attributes
    ----------
    target : str
        What it was compiled for: "cpu", "tpu-v5e" ….
    text : str
        The compiled program.
    bytes_before : int
        Bytes if every operation of the program, as written, read its operands from memory and wrote its result.
    temporary_bytes, argument_bytes, output_bytes, aliased_bytes : int
        Memory that the program needs for its own arrays, its inputs and its outputs; aliased are outputs that take the
        place of an input that was donated.
    xla_flop, xla_bytes : float
        What XLA's own cost analysis says, traps and all.
    """

    target: str
    text: str = field(repr=False)
    bytes_before: int
    temporary_bytes: int
    argument_bytes: int
    output_bytes: int
    aliased_bytes: int
    xla_flop: float
    xla_bytes: float

    @cached_property
    def program(self) -> Program:
        """The program, parsed."""
        return parse(self.text)

    @cached_property
    def _walked(self):
        return _walk(self.program)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """What is started, in order of the text; loops are entered, and all branches of a conditional."""
        return self._walked[0]

    @property
    def loops(self) -> tuple[int | None, ...]:
        """Trip counts of the loops; None where the compiler does not know it, and its body is counted once."""
        return self._walked[1]

    @property
    def fusions(self) -> Counter:
        """How many fusions there are, by kind."""
        return Counter(kernel.kind for kernel in self.kernels if kernel.opcode == "fusion")

    @property
    def products(self) -> int:
        """Matrix products carried out, loops multiplied out."""
        return sum(kernel.times * kernel.products for kernel in self.kernels)

    @property
    def flop(self) -> int:
        """FLOP of the matrix products, loops multiplied out; what a custom call does is not in the text."""
        return sum(kernel.times * kernel.flop for kernel in self.kernels)

    @property
    def bytes_after(self) -> int:
        """Bytes that the kernels read from and write to main memory, loops multiplied out."""
        return sum(kernel.times * kernel.bytes for kernel in self.kernels)

    @property
    def padding(self) -> float:
        """Memory of inputs and outputs over what their elements take: 0.1 means a tenth more, for tiles to be full."""
        entry = self.program.computations[self.program.entry]
        arrays = [array for op in entry.values() if op.opcode == "parameter" or op.root for array in op.arrays]
        return (self.argument_bytes + self.output_bytes) / sum(array.nbytes for array in arrays) - 1

    @property
    def collectives(self) -> Counter:
        """Exchanges between chips, by kind."""
        names = (kernel.opcode.removesuffix("-start") for kernel in self.kernels)
        return Counter(name for name in names if name in _COLLECTIVES)

    @property
    def donated(self) -> tuple[int, ...]:
        """Arguments, by number, whose memory an output takes."""
        aliases = re.search(r"input_output_alias=\{(.*?)\}, \w+=", self.program.head)
        return tuple(sorted({int(n) for n in re.findall(r"\((\d+),", aliases[1])})) if aliases else ()

    def kernel_with(self, *opcodes: str) -> Kernel | None:
        """The first kernel that does all of `opcodes`; a matrix product is "dot" on every target.

        Examples
        --------
        >>> import jax.numpy as jnp
        >>> report = compiled(lambda x: jnp.exp(x) + 1, jax.ShapeDtypeStruct((64,), "float32"))
        >>> report.kernel_with("exponential", "add").kind
        'kLoop'
        """
        wanted = set(opcodes)
        return next((kernel for kernel in self.kernels if wanted <= set(kernel.does)), None)


def _walk(program: Program, as_written: bool = False):
    """Kernels and trip counts; `as_written` for a program that is not compiled, where a broadcast is only a view."""
    kernels, loops = [], []
    free = _FREE | _VIEWS if as_written else _FREE

    def visit(name, times):
        ops = program.computations[name]
        for op in ops.values():
            if op.opcode in free or op.opcode.endswith(("-done", "-update")):
                continue
            if op.opcode == "while":
                trips = _trips(op, program, ops)
                loops.append(trips)
                visit(op.attribute("body"), times * (1 if trips is None else trips))
            elif op.opcode in ("call", "conditional", "async-start"):
                for called in op.called():
                    visit(called, times)
            else:
                kernels.append(_kernel(op, ops, program, times, free))

    visit(program.entry, 1)
    return tuple(kernels), tuple(loops)


def _trips(op, program, ops):
    known = re.search(r'"known_trip_count":\{"n":"(\d+)"', op.rest)
    if known:
        return int(known[1])
    # as JAX writes a scan: a counter in the tuple begins at 0, grows by 1 and runs up to a constant
    condition, body = (program.computations[op.attribute(name)] for name in ("condition", "body"))
    start = _through_copies(op.operands[0], ops)
    compare, after = (next(o for o in scope.values() if o.root) for scope in (condition, body))
    if (
        compare.opcode != "compare"
        or "direction=LT" not in compare.rest
        or (start.opcode, after.opcode) != ("tuple",) * 2
    ):
        return None

    def constant(name, scope):
        found = _through_copies(name, scope)
        if found.opcode == "get-tuple-element":
            index = int(found.attribute("index"))
            if not _is_element(after.operands[index], index, body):
                return None  # the body changes it
            found = _through_copies(start.operands[index], ops)
        return int(found.literal) if found.opcode == "constant" else None

    counter = _through_copies(compare.operands[0], condition)
    if counter.opcode != "get-tuple-element":
        return None
    place = int(counter.attribute("index"))
    grows = _through_copies(after.operands[place], body)
    if grows.opcode != "add" or constant(start.operands[place], ops) != 0:
        return None
    steps = [constant(name, body) for name in grows.operands if not _is_element(name, place, body)]
    return constant(compare.operands[1], condition) if steps == [1] else None


def _through_copies(name, scope):
    while scope[name].opcode in ("copy", "bitcast", "copy-done", "copy-start"):
        name = scope[name].operands[0]
    return scope[name]


def _is_element(name, place, scope):
    found = _through_copies(name, scope)
    return found.opcode == "get-tuple-element" and found.attribute("index") == str(place)


def _kernel(op, ops, program, times, free):
    inner = list(_inside(op, ops, program))
    products = [(o, scope) for o, scope in inner if o.opcode in ("dot", "convolution")]
    does = tuple("dot" if o.opcode == "convolution" else o.opcode for o, _ in inner if o.opcode not in _QUIET)
    target = re.search(r'custom_call_target="([^"]*)"', op.rest)
    return Kernel(
        name=op.name,
        opcode=op.opcode,
        kind=target[1] if target else op.attribute("kind") or "",
        does=does,
        products=len(products),
        times=times,
        bytes=_bytes(op, ops, program, free),
        flop=sum(_flop(o, scope) for o, scope in products),
        result=op.arrays,
    )


def _inside(op, ops, program):
    """(operation, its computation) of all that a kernel does; fusions are entered."""
    if op.opcode != "fusion":
        yield op, ops
        return
    scope = program.computations[op.attribute("calls")]
    for inner in scope.values():
        yield from _inside(inner, scope, program)


def _bytes(op, ops, program, free):
    """Bytes that a kernel reads from and writes to main memory."""
    read = {}  # an operand that is used twice is read once
    for place, name in enumerate(op.operands):
        while name in ops and ops[name].opcode in free - {"get-tuple-element"} and len(ops[name].operands) == 1:
            name = ops[name].operands[0]
        if name in ops and ops[name].opcode != "constant":
            whole = ops[name].nbytes
            read[name] = min(whole, read.get(name, 0) + _read(op, place, whole, program))
    return sum(read.values()) + _written(op, ops, program)


def _read(op, place, whole, program):
    """Bytes that `op` reads of its operand at `place`, of which there are `whole`."""
    if op.opcode in _PART and place == 0:
        return op.arrays[op.opcode == "slice-start"].nbytes
    if op.opcode == "dynamic-update-slice" and place == 0:
        return 0
    if op.opcode != "fusion":
        return whole
    scope = program.computations[op.attribute("calls")]
    inside = next(o for o in scope.values() if o.opcode == "parameter" and o.literal == str(place))
    return _read_by_users(inside.name, whole, scope, program)


def _read_by_users(name, whole, scope, program):
    read = 0
    for user in scope.values():
        for place, operand in enumerate(user.operands):
            if operand == name:
                view = user.opcode in ("bitcast", "reshape")
                read += _read_by_users(user.name, whole, scope, program) if view else _read(user, place, whole, program)
    return read


def _written(op, ops, program):
    """Bytes that `op` writes: of an array updated in place, the part that is new."""
    if op.opcode.endswith("-start"):  # the result holds the operands as well, and what tells when it is done
        place = 0 if op.opcode == "copy-start" else len(op.operands) if len(op.arrays) > 1 else 0
        return sum(array.nbytes for array in op.arrays[place : place + max(1, len(op.operands))] if not array.space)
    if op.opcode == "dynamic-update-slice":
        return 0 if op.arrays[0].space else ops[op.operands[1]].arrays[0].nbytes
    if op.opcode != "fusion":
        return op.nbytes
    scope = program.computations[op.attribute("calls")]
    root = next(o for o in scope.values() if o.root)
    # a reduction that gives two arrays, as that behind an argmax, is a root of its own
    parts = [scope[name] for name in root.operands] if root.opcode == "tuple" else [root] * len(op.arrays)
    written = 0
    for part, array in zip(parts, op.arrays, strict=True):
        while part.opcode in ("bitcast", "reshape"):
            part = scope[part.operands[0]]
        if part.opcode == "dynamic-update-slice":
            array = scope[part.operands[1]].arrays[0]
        written += 0 if array.space else array.nbytes
    return written


def _flop(op, ops):
    """FLOP of a matrix product or a convolution; on a TPU every product is a convolution."""
    (result,), (left, right) = op.arrays, (ops[name].arrays[0] for name in op.operands[:2])
    if op.opcode == "dot":
        contracting = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", op.rest)
        dims = [int(d) for d in contracting[1].split(",")] if contracting and contracting[1] else []
        return 2 * math.prod(result.shape) * math.prod(left.shape[d] for d in dims)
    of_left, of_right, of_result = re.search(r"dim_labels=(\w+)_(\w+)->(\w+)", op.rest).groups()
    flop = 2 * right.shape[of_right.index("i")]
    for size, label in zip(result.shape, of_result, strict=True):
        flop *= 1 if label.isdigit() else size
    window = dict(re.findall(r"(\w+)=([\w\-]+)", (re.search(r"window=\{([^}]*)\}", op.rest) or ["", ""])[1]))
    for label in filter(str.isdigit, of_result):
        sizes = (
            array.shape[labels.index(label)]
            for array, labels in ((left, of_left), (right, of_right), (result, of_result))
        )
        flop *= _pairs(*sizes, {key: value.split("x")[int(label)] for key, value in window.items()})
    return flop


def _pairs(left, right, result, window):
    """How often a window meets an element along one dimension: holes and borders are not multiplied."""
    stride, low = int(window.get("stride", 1)), int(window.get("pad", "0_0").split("_")[0])
    holes, spread = int(window.get("lhs_dilate", 1)), int(window.get("rhs_dilate", 1))
    met = 0
    for at in range(right):
        first = at * spread - low
        met += sum(
            (first + place * stride) % holes == 0 and 0 <= (first + place * stride) // holes < left
            for place in range(result)
        )
    return met


def compiled(function: Callable, *args, donate: int | Sequence[int] = ()) -> Report:
    """Compile `function` for this machine and read what became of it. Nothing is run.

    Parameters
    ----------
    function : callable
        As for `jax.jit`.
    *args
        Arrays, or `jax.ShapeDtypeStruct` in their place.
    donate : int or sequence of int
        Arguments whose memory an output may take.

    Examples
    --------
    A loop of 10 products: XLA's analysis counts one.

    >>> import jax, jax.numpy as jnp
    >>> x, w = jax.ShapeDtypeStruct((64, 64), "float32"), jax.ShapeDtypeStruct((10, 64, 64), "float32")
    >>> report = compiled(lambda x, w: jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0], x, w)
    >>> report.loops, report.flop == 10 * 2 * 64**3, round(report.flop / report.xla_flop)
    ((10,), True, 10)
    """
    return _report(jax.jit(function, donate_argnums=donate).lower(*args), jax.default_backend())


def fresh(function: Callable) -> Callable:
    """`function` under `jax.jit`, with nothing compiled yet, whatever has been compiled of it before."""
    return jax.jit(lambda *args: function(*args))


def operations(function: Callable, *args) -> int:
    """How many operations `function` consists of as written, views of arrays not counted.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> operations(lambda x: jnp.exp(x * x) + 1, jax.ShapeDtypeStruct((8,), "float32"))
    3
    """
    return len(_written_kernels(jax.jit(function).lower(*args)))


def _written_kernels(lowered):
    return _walk(parse(lowered.as_text(dialect="hlo")), as_written=True)[0]


def _report(lowered, target):
    before = _written_kernels(lowered)
    done = lowered.compile()
    memory, costs = done.memory_analysis(), done.cost_analysis() or {}
    costs = costs[0] if isinstance(costs, list) else costs
    return Report(
        target=target,
        text=done.as_text(),
        bytes_before=sum(kernel.times * kernel.bytes for kernel in before),
        temporary_bytes=memory.temp_size_in_bytes,
        argument_bytes=memory.argument_size_in_bytes,
        output_bytes=memory.output_size_in_bytes,
        aliased_bytes=memory.alias_size_in_bytes,
        xla_flop=costs.get("flops", 0.0),
        xla_bytes=costs.get("bytes accessed", 0.0),
    )


@dataclass(slots=True)
class Compiles:
    """Compiles since `count_compiles` began.

    Attributes
    ----------
    count : int
    seconds : float
        All of them together.
    """

    count: int = 0
    seconds: float = 0.0


_COUNTING: list[Compiles] = []


def _on_event(name, seconds, **_):
    if name == "/jax/core/compile/backend_compile_duration":
        for compiles in _COUNTING:
            compiles.count += 1
            compiles.seconds += seconds


monitoring.register_event_duration_secs_listener(_on_event)


@contextlib.contextmanager
def count_compiles() -> Iterator[Compiles]:
    """Count what is compiled inside, as JAX itself reports it.

    Examples
    --------
    >>> import jax, numpy as np
    >>> double = jax.jit(lambda x: x + x)
    >>> with count_compiles() as compiles:
    ...     for length in (3, 4, 3, 5, 4):
    ...         _ = double(np.ones(length, np.float32))
    >>> compiles.count
    3
    """
    compiles = Compiles()
    _COUNTING.append(compiles)
    try:
        yield compiles
    finally:
        _COUNTING.remove(compiles)


TOPOLOGIES = {
    "tpu-v4": "v4:2x2x1",
    "tpu-v5e": "v5e:2x2",
    "tpu-v5p": "v5p:2x2x1",
    "tpu-v6e": "v6e:2x2",
    "tpu-v7": "tpu7x:2x2x1",
}
"""Chips that `compile_for_tpu` knows, by id in the catalogue, and the smallest system of each."""


def tpu_compiler() -> Path | None:
    """The compiler for TPUs (`libtpu.so`), where there is one.

    It is looked for in the folder ``tpu`` of the environment, where ``make test`` installs it out of JAX's sight, and
    then among the installed packages.
    """
    apart = Path(sys.prefix) / "tpu" / "libtpu" / "libtpu.so"
    if apart.exists():
        return apart
    found = importlib.util.find_spec("libtpu")
    return Path(found.origin).with_name("libtpu.so") if found and found.origin else None


def compile_for_tpu(
    function: Callable, *args, chip: str = "tpu-v5e", chips: int = 1, parts: Sequence | None = None, donate=()
) -> Report:
    """Compile `function` for a TPU on a machine that has none, and read what became of it.

    Parameters
    ----------
    function, *args, donate
        As for `compiled`; only shapes and dtypes of `args` count.
    chip : str
        One of `TOPOLOGIES`.
    chips : int
        1, or 4 of one system, whose mesh has one axis named "chips".
    parts : sequence of `jax.sharding.PartitionSpec`, optional
        With 4 chips: how each argument is divided among them. Without it every chip holds all of each.

    Raises
    ------
    ValueError
        If the chip or the number of chips is none of those.
    ImportError
        If the compiler is not there: it is the package libtpu, for Linux on x86-64.
    """
    if chip not in TOPOLOGIES:
        raise ValueError(f"chip is {chip!r}; choose one of {', '.join(TOPOLOGIES)}")
    if chips not in (1, 4):
        raise ValueError(f"chips is {chips!r}; choose 1 or 4")
    library = tpu_compiler()
    if library is None:
        raise ImportError(
            "compiling for a TPU needs its compiler, the package libtpu, which runs on Linux on x86-64 without a TPU: "
            "pip install 'hwlab[tpu]'"
        )
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    os.environ["TPU_LIBRARY_PATH"] = str(library)
    from jax.experimental import topologies
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    devices = topologies.get_topology_desc(platform="tpu", topology_name=TOPOLOGIES[chip]).devices[:chips]
    mesh = Mesh(devices, ("chips",))
    parts = parts or [PartitionSpec()] * len(args)
    shaped = [
        jax.ShapeDtypeStruct(arg.shape, arg.dtype, sharding=NamedSharding(mesh, part))
        for arg, part in zip(args, parts, strict=True)
    ]
    return _report(jax.jit(function, donate_argnums=donate).lower(*shaped), chip)


_SETTINGS = {"TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": "v5litepod-4", "TPU_WORKER_HOSTNAMES": "localhost"}
"""So that the compiler asks no machine of Google's what it runs on."""
