"""The claims about the compiler: read from what XLA made of small programs, for this machine now and for TPUs, stored.

JAX is loaded inside the functions: to list the trials does not need it.
"""

from __future__ import annotations

from hwlab.costs.padding import bucket, overhead, powers_of_two, steps_of
from hwlab.formula import number, si
from hwlab.studies.trials import Finding, judged, judged_by_choice, trial

LENGTHS = (48, 80, 48, 112, 80, 48)
MUCH = 10  # a wait this many times the call is one that a user notices
SIZES = tuple(range(1, 17))  # of a batch
LONGEST = 2048  # tokens of a prompt, for what padding costs
SIZE, HEAD, TOKENS = 16, 8, 6  # of the printed layer, run small


def _stored(name, chip="tpu-v5e"):
    from hwlab.kernels.programs import stored

    return stored(name, chip)


def _calls(call, lengths):
    """(compiles, seconds of compiling, seconds of a call when all is compiled) of `call` on vectors of `lengths`."""
    import time

    import numpy as np

    from hwlab.kernels.xla import count_compiles

    with count_compiles() as compiles:
        for length in lengths:
            call(np.ones(length, np.float32))
    start = time.perf_counter()
    for length in lengths:
        call(np.ones(length, np.float32))
    return compiles.count, compiles.seconds, (time.perf_counter() - start) / len(lengths)


def _jitted():
    from hwlab.kernels.xla import fresh

    return fresh(lambda x: x * x + x)


@trial("C077")
def exact_shapes(call=None, lengths=LENGTHS) -> Finding:
    """XLA must know exact shapes when it compiles."""
    count, _, _ = _calls(call or _jitted(), lengths)
    return Finding(
        recomputed=f"{len(lengths)} calls with {len(set(lengths))} lengths: {count} compiles",
        verdict=judged(count == len(set(lengths))),
    )


@trial("C078")
def dynamic_shapes(call=None, lengths=LENGTHS) -> Finding:
    """Dynamic shapes are slow or impossible without recompilation."""
    count, seconds, again = _calls(call or _jitted(), lengths)
    slow = count > 0 and seconds / count > MUCH * again
    told = f"more than {MUCH}" if slow else f"not {MUCH}"
    return Finding(
        recomputed=f"Each new length compiles, which takes {told} times as long as the call, on this CPU",
        verdict=judged(slow),
    )


def _layer():
    from hwlab.kernels.programs import attention

    return attention


def _arguments():
    import numpy as np

    draw = np.random.default_rng(0).standard_normal
    shapes = [(TOKENS, SIZE), *[(SIZE, HEAD)] * 3]
    return [draw(shape, dtype=np.float32) for shape in shapes]


@trial("C079")
def whole_graph(transform=None) -> Finding:
    """XLA analyses the entire graph before execution."""
    from hwlab.kernels.xla import count_compiles, fresh, operations

    layer = (transform or fresh)(_layer())
    with count_compiles() as compiles:
        layer(*_arguments())
    written = operations(_layer(), *_arguments())
    return Finding(
        recomputed=f"{written} operations as written, {compiles.count} compiled",
        verdict=judged(compiles.count == 1),
    )


@trial("C080")
def several_targets(chips=("tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7")) -> Finding:
    """jit compiles the function for TPU, GPU or CPU."""
    from hwlab.kernels.xla import compiled

    here = compiled(_layer(), *_arguments())
    there = [_stored("attention", chip) for chip in chips]
    told = ", ".join(chip.removeprefix("tpu-") for chip in chips)
    return Finding(
        recomputed=f"One function, compiled for this {here.target.upper()} and for TPU {told}; a GPU was not tried",
        verdict=judged(bool(there) and all(report.products for report in (here, *there))),
    )


@trial("C081")
def fusion_layout_tiling(report=None) -> Finding:
    """XLA performs fusion, layout choice and tiling."""
    report = report or _stored("attention", "tpu-v4")
    arrays = [array for ops in report.program.computations.values() for op in ops.values() for array in op.arrays]
    orders = {array.order for array in arrays if len(array.shape) == 2}
    tiles = {array.tile for array in arrays if len(array.tile) == 2}
    told = " and ".join(f"{rows} × {columns}" for rows, columns in sorted(tiles))
    return Finding(
        recomputed=f"{sum(report.fusions.values())} fusions, {len(orders)} orders of rows and columns, tiles of {told}",
        verdict=judged(bool(report.fusions) and len(orders) > 1 and bool(tiles)),
    )


@trial("C082")
def fused_projections(narrow=None, wide=None) -> Finding:
    """XLA fuses the projections with later operations when possible, and so avoids memory."""
    narrow, wide = narrow or _stored("attention"), wide or _stored("attention-wide")
    most, few = (max(kernel.products for kernel in report.kernels) for report in (narrow, wide))
    saved = 1 - narrow.bytes_after / narrow.bytes_before
    return Finding(
        recomputed=f"v5e: {most} products in one fusion at a head of 128, {few} at 1,024; "
        f"{number(100 * saved, 2)} % of the bytes avoided",
        verdict=judged(most > 1 and saved > 0),
    )


@trial("C083")
def reordering(report=None) -> Finding:
    """XLA can reorder operations for better use of the array."""
    report = report or _stored("attention")
    ops = list(report.program.computations[report.program.entry].values())
    places = {op.name: place for place, op in enumerate(ops)}
    ahead = 0
    for op in ops:
        if op.opcode == "copy-done":
            between = ops[places[op.operands[0]] + 1 : places[op.name]]
            ahead += any(other.opcode in ("fusion", "custom-call") for other in between)
    (tokens, width), (_, head), *_ = (array.shape for array in _parameters(report))
    written = 3 * 2 * tokens * width * head + 2 * tokens * tokens * head  # all but the last, which a custom call hides
    return Finding(
        recomputed=f"v5e: {ahead} copies run behind products that come first; the products are the same",
        verdict=judged_by_choice(ahead > 0, report.flop < written),
    )


def _parameters(report):
    entry = report.program.computations[report.program.entry].values()
    found = sorted((op for op in entry if op.opcode == "parameter"), key=lambda op: int(op.literal))
    return [op.arrays[0] for op in found]


@trial("C084")
def softmax_in_one_kernel(report=None) -> Finding:
    """XLA can fuse a product and the softmax into one kernel."""
    report = report or _stored("attention")
    tokens = _parameters(report)[0].shape[0]
    scores = tokens * tokens * 2
    one = any(kernel.name == "online-softmax" for kernel in report.kernels) or report.kernel_with("dot", "exponential")
    written = report.temporary_bytes >= scores
    told = f"{si(report.temporary_bytes, 'B')} of scratch for" if written else "nothing written of"
    return Finding(
        recomputed=f"v5e: softmax and the second product in one kernel; {told} the scores of {tokens:,} tokens",
        verdict=judged_by_choice(bool(one), not written),
    )


@trial("C085")
def layouts(report=None) -> Finding:
    """XLA can choose a row- or column-major layout for each tensor."""
    report = report or _stored("attention", "tpu-v4")
    results = (array for kernel in report.kernels for array in kernel.result if len(array.shape) == 2)
    names = {(1, 0): "row", (0, 1): "column"}
    orders = {array.shape: names[array.order] for array in results}
    told = ", ".join(f"{rows:,} × {columns:,} {order}-major" for (rows, columns), order in orders.items())
    return Finding(recomputed=f"v4: {told}", verdict=judged(len(set(orders.values())) > 1))


@trial("C086")
def partition(whole=None, divided=None) -> Finding:
    """XLA can partition automatically across chips."""
    whole, divided = whole or _stored("mlp-whole"), divided or _stored("mlp-divided")
    (tokens, width), (_, inner), *_ = (array.shape for array in _parameters(_stored("mlp-whole")))
    needed = 4 * tokens * width * inner
    reduces = sum(divided.collectives.values())
    return Finding(
        recomputed=f"Four chips: {si(whole.flop, 'FLOP')} on each when nothing is said; {si(divided.flop, 'FLOP')} and "
        f"{reduces} all-reduce when the weights are divided",
        verdict=judged_by_choice(divided.flop < needed and reduces > 0, whole.flop < needed),
    )


@trial("C087")
def powers(gap: int = 128) -> Finding:
    """Padding sequences to powers of two is standard practice on TPUs."""
    lengths = range(1, LONGEST + 1)
    double, steps = powers_of_two(16, LONGEST), steps_of(gap, LONGEST)
    costs = [overhead(lengths, buckets) for buckets in (double, steps)]
    told = [f"{number(100 * cost, 2)} % more tokens" for cost in costs]
    return Finding(
        recomputed=f"Lengths 1 to {LONGEST:,}: powers of two {told[0]} with {len(double)} programs, steps of {gap} "
        f"{told[1]} with {len(steps)}; servers offer both",
        verdict=judged_by_choice(bool(double), costs[0] <= costs[1]),
    )


@trial("C088")
def printed_layer(layer=None) -> Finding:
    """The printed transformer_layer is a transformer layer."""
    import numpy as np

    layer = layer or _layer()
    x, wq, wk, wv = _arguments()
    changed = x.copy()
    changed[-1] += 1
    first, then = (np.asarray(layer(tokens, wq, wk, wv))[0] for tokens in (x, changed))
    masked = bool(np.allclose(first, then))
    kept = np.asarray(layer(x, wq, wk, np.zeros_like(wv)))
    residual = kept.shape == x.shape and bool(np.allclose(kept, x))
    mask = "leaves row 0 as it is" if masked else "changes row 0: there is no mask"
    rest = "there is a residual" if residual else "no residual, no MLP, one head"
    return Finding(recomputed=f"Changing the last token {mask}; {rest}", verdict=judged(masked and residual))


@trial("C096")
def buckets(lengths=SIZES) -> Finding:
    """Decoding with a variable batch needs buckets or dynamic shapes."""
    sizes = powers_of_two(4, max(lengths))
    without, _, _ = _calls(_jitted(), lengths)
    within, _, _ = _calls(_jitted(), [bucket(length, sizes) for length in lengths])
    return Finding(
        recomputed=f"{len(set(lengths))} batch sizes: {without} compiles; in buckets {within}",
        verdict=judged(without > within),
    )
