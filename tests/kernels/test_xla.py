"""What is read of a compiled program: by hand on small ones, the two traps of XLA's own analysis, compiles, TPUs."""

import json
import os
import platform
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hwlab.kernels import xla
from hwlab.kernels.programs import CASES, STORE, bare, provenance, stored
from hwlab.kernels.xla import compile_for_tpu, compiled, count_compiles, parse, parse_array, tpu_compiler


def array(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape, dtype)


def test_a_product_moves_and_does_what_the_formula_says():
    report = compiled(lambda x, w: x @ w, array(128, 256), array(256, 64))
    assert report.products == 1 and report.flop == 2 * 128 * 256 * 64
    assert report.bytes_after == report.bytes_before == 4 * (128 * 256 + 256 * 64 + 128 * 64)
    assert report.argument_bytes == 4 * (128 * 256 + 256 * 64) and report.output_bytes == 4 * 128 * 64


def test_a_batch_of_products_counts_each():
    report = compiled(lambda q, k: jnp.einsum("hqd,hkd->hqk", q, k), array(4, 32, 16), array(4, 64, 16))
    assert report.flop == 4 * 2 * 32 * 16 * 64


def test_fusion_of_elementwise_work_saves_the_bytes_between():
    report = compiled(lambda x: jnp.exp(x * x) + 1, array(1 << 16))
    once = 4 * (1 << 16)
    assert report.bytes_before == 3 * 2 * once  # square, exponential, sum: each reads one array and writes one
    assert report.bytes_after == 2 * once
    kernel = report.kernel_with("multiply", "exponential", "add")
    assert kernel is not None and sum(report.fusions.values()) == 1
    assert report.kernel_with("dot") is None


def test_the_body_of_a_loop_counts_as_often_as_it_runs():
    def layers(x, ws):
        return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0]

    report = compiled(layers, array(64, 64), array(10, 64, 64))
    assert report.loops == (10,) and report.flop == 10 * 2 * 64**3
    assert report.xla_flop < 1.1 * 2 * 64**3  # the trap: XLA counts one pass
    unrolled = compiled(lambda x, ws: [x := jnp.tanh(x @ w) for w in ws][-1], array(64, 64), array(10, 64, 64))
    assert unrolled.loops == () and unrolled.flop == report.flop


def test_a_loop_of_unknown_length_is_said_to_be_one():
    report = compiled(lambda x: jax.lax.while_loop(lambda x: x.sum() < 9, lambda x: x @ x, x), array(16, 16))
    assert report.loops == (None,) and report.flop == 2 * 16**3


def test_a_gather_reads_its_rows_and_not_the_table():
    report = compiled(lambda table, rows: table[rows], array(100_000, 64), array(8, dtype="int32"))
    assert report.bytes_after == 2 * 8 * 64 * 4 + 8 * 4  # eight rows read and written, eight numbers of rows read
    assert report.xla_bytes > 100_000 * 64 * 4  # the trap


def test_what_is_donated_is_updated_in_place():
    arguments = array(4096, 64), array(1, 64), array(dtype="int32")

    def append(cache, row, at):
        return jax.lax.dynamic_update_slice(cache, row, (at, 0))

    kept, donated = compiled(append, *arguments), compiled(append, *arguments, donate=0)
    assert donated.donated == (0,) and donated.aliased_bytes == 4096 * 64 * 4
    assert kept.donated == () and kept.aliased_bytes == 0
    assert donated.bytes_after == 2 * 64 * 4 + 4
    assert kept.bytes_after > 2 * 4096 * 64 * 4  # the cache is copied first


def test_a_fused_reduction_to_two_arrays_writes_both():
    """An argmax carries the largest value along with its place."""
    (kernel,) = compiled(lambda x: jnp.argmax(x * x, axis=1), jax.ShapeDtypeStruct((8, 64), "float32")).kernels[:1]
    assert kernel.bytes == 8 * 64 * 4 + 8 * (4 + 4)


def test_compiles_are_counted_one_a_shape():
    double = jax.jit(lambda x: x + x)
    with count_compiles() as first:
        for length in (3, 4, 3, 5, 4):
            double(np.ones(length, np.float32))
        with count_compiles() as inner:
            double(np.ones(6, np.float32))
    with count_compiles() as none:
        double(np.ones(5, np.float32))
    assert (first.count, inner.count, none.count) == (4, 1, 0)
    assert first.seconds > inner.seconds > 0 == none.seconds


WHILE = """HloModule m, entry_computation_layout={{()->f32[8,8]{{1,0}}}}

%body (b: (s32[], f32[8,8])) -> (s32[], f32[8,8]) {{
  %b = (s32[]{{:T(128)}}, f32[8,8]{{1,0}}) parameter(0)
  %i = s32[]{{:T(128)}} get-tuple-element(%b), index=0
  %copy = s32[] copy(%i)
  %step = s32[] constant({step})
  %next = s32[] add(%copy, %step)
  %x = f32[8,8]{{1,0}} get-tuple-element((s32[], f32[8,8]{{1,0}}) %b), index=1
  %y = f32[8,8]{{1,0}} dot(f32[8,8]{{1,0}} %x, %x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT %t = (s32[], f32[8,8]{{1,0}}) tuple(%next, %y)
}}

%condition (c: (s32[], f32[8,8])) -> pred[] {{
  %c = (s32[], f32[8,8]{{1,0}}) parameter(0)
  %j = s32[] get-tuple-element(%c), index=0
  %limit = s32[] constant(7)
  ROOT %lt = pred[] compare(%j, %limit), direction=LT
}}

ENTRY %main (p: f32[8,8]) -> f32[8,8] {{
  %p = f32[8,8]{{1,0}} parameter(0)
  %zero = s32[] constant({start})
  %start = (s32[], f32[8,8]{{1,0}}) tuple(%zero, %p)
  %loop = (s32[], f32[8,8]{{1,0}}) while(%start), condition=%condition, body=%body, metadata={{op_name="a (b"}}
  ROOT %r = f32[8,8]{{1,0}} get-tuple-element(%loop), index=1
}}
"""


@pytest.mark.parametrize(("step", "start", "trips"), [(1, 0, 7), (2, 0, None), (1, 3, None)])
def test_trips_are_read_from_the_program_only_where_they_are_certain(step, start, trips):
    kernels, loops = xla._walk(parse(WHILE.format(step=step, start=start)))
    assert loops == (trips,)
    (product,) = (kernel for kernel in kernels if kernel.products)
    assert product.times == (trips or 1) and product.flop == 2 * 8**3


def test_a_limit_that_the_loop_itself_moves_is_no_trip_count():
    kept = WHILE.format(step=1, start=0).replace("s32[], f32[8,8]", "s32[], s32[], f32[8,8]")
    kept = kept.replace("index=1", "index=2").replace(
        "%limit = s32[] constant(7)", "%limit = s32[] get-tuple-element(%c), index=1"
    )
    kept = kept.replace("tuple(%zero, %p)", "tuple(%zero, %seven, %p)").replace(
        "  %zero", "  %seven = s32[] constant(7)\n  %zero"
    )
    body = "  %m = s32[] get-tuple-element(%b), index=1\n  %more = s32[] add(%m, %step)\n  ROOT %t"
    kept = kept.replace("  ROOT %t", body)
    moves = kept.replace("tuple(%next, %y)", "tuple(%next, %more, %y)")
    stays = kept.replace("tuple(%next, %y)", "tuple(%next, %m, %y)")
    assert xla._walk(parse(stays))[1] == (7,) and xla._walk(parse(moves))[1] == (None,)


def test_a_product_that_a_tpu_calls_a_convolution_counts_the_same():
    def flop(right, attributes, result="bf16[8,128,256]{2,1,0}", left="bf16[8,128,64]{2,1,0}"):
        text = f"""HloModule m

ENTRY %main (q: bf16[8,128,64], k: bf16[8,256,64]) -> bf16[8,128,256] {{
  %q = {left} parameter(0)
  %k = {right} parameter(1)
  ROOT %y = {result} convolution(%q, %k), {attributes}
}}
"""
        return xla._walk(parse(text))[0][0].flop

    batched = "window={size=8 stride=7 lhs_dilate=8}, dim_labels=0bf_0oi->0bf"  # as v5e writes a batch of 8
    assert flop("bf16[8,256,64]{2,1,0}", batched) == 8 * 2 * 128 * 256 * 64
    plain = flop("bf16[64,256]{1,0}", "dim_labels=bf_io->bf", "bf16[128,256]{1,0}", "bf16[128,64]{1,0}")
    assert plain == 2 * 128 * 64 * 256
    # three taps over 10 places with a border of one: 28 of 30 meet an element
    taps = flop("f32[3,4,5]{2,1,0}", "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f", "f32[1,10,5]", "f32[1,10,4]")
    assert taps == 2 * 28 * 4 * 5


def test_layouts_are_read():
    found = parse_array("bf16[100,130]{0,1:T(8,128)(2,1)S(1)}")
    assert found.padded_shape == (128, 136) and found.space == 1 and found.nbytes == 26_000
    assert parse_array("f8e4m3fn[3]{0}").nbytes == 3 and parse_array("s4[3]{0:E(4)}").nbytes == 2
    with pytest.raises(ValueError, match="XLA's dtype 'q8' is not known"):
        _ = parse_array("q8[3]{0}").nbytes
    with pytest.raises(ValueError, match="no array in 'nothing'"):
        parse_array("nothing")
    with pytest.raises(ValueError, match="no ENTRY"):
        parse("HloModule m")


def test_reading_does_not_depend_on_what_is_left_out_of_the_store():
    x, w = array(32, 32), array(10, 32, 32)
    report = compiled(lambda x, w: jax.lax.scan(lambda x, w: (jnp.tanh(x @ w) + x[0], None), x, w)[0], x, w)
    assert xla._walk(parse(bare(report.text)))[0][0] == report.kernels[0]
    assert "metadata" in report.text and "metadata" not in bare(report.text)


def test_a_tpu_fuses_what_the_book_says():
    kernels = {chip: stored("attention", chip).kernels for chip in CASES["attention"].targets}
    for chip, found in kernels.items():
        softmax = [k for k in found if k.name == "online-softmax"]
        assert len(softmax) == (chip != "tpu-v4")  # a kernel of the compiler's own, values included
        (scores,) = (k for k in found if k.products == 3)  # two projections and their product
        assert (8192, 8192) in [a.shape for a in scores.result]
    rows, columns = (stored("attention", c).kernel_with("dot", "multiply").result for c in ("tpu-v5e", "tpu-v4"))
    assert [a.order for a in rows if len(a.shape) == 2] == [(1, 0)]
    assert [a.order for a in columns if len(a.shape) == 2] == [(0, 1)]  # the other way round, for what follows
    wide = [k.products for k in stored("attention-wide").kernels if k.products]
    assert max(wide) == 1  # "when possible" is a matter of shape
    activation = stored("activation").kernel_with("dot", "tanh", "add")
    assert activation is not None and activation.kind == "kOutput"


def test_a_tpu_program_counts_its_loop_pads_its_tiles_and_divides_its_work():
    assert stored("loop").loops == (10,) and stored("loop").flop == 10 * 2 * 64**3
    assert stored("loop").xla_flop < 2 * 2 * 64**3
    # 100 x 130 goes in column by column, 128 x 136, and 130 x 200 as 136 x 256; 100 x 200 comes out column by column
    padded = 2 * (128 * 136 + 136 * 256 + 128 * 200)
    assert stored("padded").argument_bytes + stored("padded").output_bytes == padded
    assert stored("padded").padding == pytest.approx(padded / (2 * (13_000 + 26_000 + 20_000)) - 1)
    whole, divided = stored("mlp-whole"), stored("mlp-divided")
    assert whole.flop == 4 * divided.flop == 2 * 2 * 1024 * 1024 * 4096
    assert not whole.collectives and divided.collectives["all-reduce"] == 1
    assert stored("append").donated == (0,) and stored("append").aliased_bytes == 4096 * 128 * 2


def test_what_is_not_stored_or_cannot_be_compiled_is_refused(monkeypatch):
    with pytest.raises(KeyError, match="no 'loop' is stored for 'tpu-v4'; there is attention for tpu-v4"):
        stored("loop", "tpu-v4")
    with pytest.raises(ValueError, match="chip is 'tpu-v1'; choose one of tpu-v4, "):
        compile_for_tpu(lambda x: x, array(8), chip="tpu-v1")
    with pytest.raises(ValueError, match="chips is 3; choose 1 or 4"):
        compile_for_tpu(lambda x: x, array(8), chips=3)
    monkeypatch.setattr(xla, "tpu_compiler", lambda: None)
    with pytest.raises(ImportError, match=r"pip install 'hwlab\[tpu\]'"):
        compile_for_tpu(lambda x: x, array(8))


def test_the_compiler_is_there_where_tests_must_have_it():
    has_one = sys.platform == "linux" and platform.machine() == "x86_64"
    assert tpu_compiler() or not (os.environ.get("CI") and has_one), "make test installs it"


def test_what_is_stored_is_what_the_compiler_for_tpus_says():
    if tpu_compiler() is None:  # not a machine it runs on; the one above sees to it that tests run where it does
        assert STORE.exists()
        return
    command = [sys.executable, *provenance().command.split()[1:], "--print"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    now, kept = json.loads(said), json.loads(STORE.read_text(encoding="utf-8"))
    for record in (now, kept):
        del record["provenance"]["date"]
    assert now == kept
