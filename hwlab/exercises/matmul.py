"""Chapter 2, MatMul: guesses, exercises, a memo, a review of what is needed before, and two functions to write."""

from __future__ import annotations

import math

from hwlab.costs.blocking import blocked_bytes
from hwlab.costs.roofline import arithmetic_intensity, matmul_bytes, matmul_flop, matmul_time, ridge, ridge_tokens
from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.units import GiB, MiB, bytes_per_element

from .base import Choice, Code, Memo, Mistake, Mutant, Numeric, Option, Prediction

WIDTH = 8192  # of the layer that the chapter takes as its example: hidden size of a 70B model


# ---- Guesses -------------------------------------------------------------------------------------------------------


def share_of_one_token():
    h100 = chip("h100-sxm")
    step = matmul_time(1, 8192, 8192, dtype="bf16", chip=h100)
    return step.compute_s / step.seconds


def tokens_at_the_ridge():
    h100 = chip("h100-sxm")
    rows = ridge_tokens(8192, 8192, dtype="bf16", chip=h100)
    return math.ceil(rows)


def products_in_one_pass():
    llama = model("llama-3.1-70b")
    weights = sum(w.count for w in llama.matmuls())
    attention = 2 * llama.num_layers  # scores, and values
    return weights + attention


def h100_times_xeon():
    gpu, cpu = chip("h100-sxm"), chip("xeon-8480plus")
    return gpu.peak("fp32") / cpu.peak("fp32")


def one_token_facts():
    step = matmul_time(1, 8192, 8192, dtype="bf16", chip=chip("h100-sxm"))
    return {"memory": si(step.memory_s, "s"), "compute": si(step.compute_s, "s")}


def ridge_facts():
    h100 = chip("h100-sxm")
    at = tokens_at_the_ridge()
    return {
        "ridge": number(ridge(h100, "bf16")),
        "intensity": number(arithmetic_intensity(at, 8192, 8192, dtype="bf16")),
        "time": si(matmul_time(at, 8192, 8192, dtype="bf16", chip=h100).seconds, "s"),
        "one": si(matmul_time(1, 8192, 8192, dtype="bf16", chip=h100).seconds, "s"),
    }


def product_facts():
    llama = model("llama-3.1-70b")
    each = sum(1 for product in llama.matmuls() if product.kind != "head")
    return {
        "each": f"{each}",
        "layers": f"{llama.num_layers}",
        "weights": f"{each * llama.num_layers}",
        "attention": f"{2 * llama.num_layers}",
    }


def sgemm_facts():
    h100, xeon = chip("h100-sxm"), chip("xeon-8480plus")
    return {
        "xeon": si(xeon.peak("fp32"), "FLOP/s"),
        "h100": si(h100.peak("fp32"), "FLOP/s"),
        "tf32": number(h100.peak("tf32") / xeon.peak("fp32"), 2),
    }


GUESSES = (
    Prediction(
        id="matmul-one-token",
        title="before you read on",
        answer=share_of_one_token,
        unit="%",
        low=0.1,
        high=100,
        facts=one_token_facts,
        reveal="""
            The weights take {{memory}} to arrive; the arithmetic on them takes {{compute}}. For all the rest of the
            step the tensor cores wait.
            """,
    ),
    Prediction(
        id="matmul-ridge-tokens",
        title="how many make it worth while",
        answer=tokens_at_the_ridge,
        unit="tokens",
        low=1,
        high=1000,
        facts=ridge_facts,
        reveal="""
            At that many rows the product does {{intensity}} FLOP for each byte, and the chip's ridge is {{ridge}}.
            The step then takes {{time}}; for one token alone it took {{one}}.
            """,
    ),
    Prediction(
        id="matmul-products",
        title="how often in one pass",
        answer=products_in_one_pass,
        unit="products",
        low=10,
        high=10_000,
        facts=product_facts,
        reveal="""
            Each of {{layers}} layers holds {{each}} matrices, which makes {{weights}}. Attention adds two products a
            layer that have no weights, {{attention}} in all, and the head adds the last one.
            """,
    ),
    Prediction(
        id="matmul-sgemm",
        title="how far apart the two chips are",
        answer=h100_times_xeon,
        unit="times",
        low=1,
        high=10_000,
        facts=sgemm_facts,
        reveal="""
            In float32 the Xeon's peak is {{xeon}} and the H100's {{h100}}. If the GPU may round its inputs to TF32,
            the factor is {{tf32}}, but the results are no longer the same.
            """,
    ),
)


# ---- Exercises -----------------------------------------------------------------------------------------------------


def time_of_two_tokens():
    h100 = chip("h100-sxm")
    one = matmul_time(1, 8192, 8192, dtype="bf16", chip=h100)
    two = matmul_time(2, 8192, 8192, dtype="bf16", chip=h100)
    ratio = two.seconds / one.seconds
    options = {"half": 0.5, "same": 1, "double": 2}
    return min(options, key=lambda o: abs(options[o] - ratio))


def two_token_facts():
    one, two = (matmul_time(m, 8192, 8192, dtype="bf16", chip=chip("h100-sxm")).seconds for m in (1, 2))
    return {"one": si(one, "s", 4), "two": si(two, "s", 4), "more": f"{number(100 * (two / one - 1), 2)} %"}


def flop_of_the_gate():
    return matmul_flop(1, 8192, 28672)


def gate_facts():
    return {"products": si(8192 * 28672, ""), "flop": si(flop_of_the_gate(), "FLOP")}


def bytes_of_the_layer():
    return matmul_bytes(1, 8192, 8192, dtype="bf16")


def layer_facts():
    weights = WIDTH * WIDTH * bytes_per_element("bf16")
    return {
        "weights": si(weights, "B"),
        "rows": si(bytes_of_the_layer() - weights, "B"),
        "elements": si(WIDTH * WIDTH, ""),
        "mebibytes": f"{number(weights / MiB)} MiB",
    }


def intensity_of_32_tokens():
    return arithmetic_intensity(32, 8192, 8192, dtype="bf16")


def intensity_facts():
    return {
        "flop": si(matmul_flop(32, 8192, 8192), "FLOP"),
        "bytes": si(matmul_bytes(32, 8192, 8192, dtype="bf16"), "B"),
        "weights": si(WIDTH * WIDTH * bytes_per_element("bf16"), "B"),
    }


def tokens_at_the_a100_ridge():
    a100 = chip("a100-sxm-80gb")
    return ridge_tokens(8192, 8192, dtype="bf16", chip=a100)


def tokens_at_the_sparse_a100_ridge():
    a100 = chip("a100-sxm-80gb")
    balance = a100.figure("sparse_peak_flop_per_s.bf16").value / a100.memory_bytes_per_s
    return balance / (1 - 2 * balance / 8192)


def a100_facts():
    a100 = chip("a100-sxm-80gb")
    return {
        "peak": si(a100.peak("bf16"), "FLOP/s"),
        "bandwidth": si(a100.memory_bytes_per_s, "B/s", 4),
        "ridge": number(ridge(a100, "bf16"), 4),
    }


def bytes_of_the_keys():
    llama = model("llama-3.1-70b")
    columns = llama.num_kv_heads * llama.head_dim
    return llama.hidden_size * columns * 2  # bf16


def key_facts():
    llama = model("llama-3.1-70b")
    return {
        "hidden": f"{llama.hidden_size:,}",
        "heads": f"{llama.num_heads}",
        "kv_heads": f"{llama.num_kv_heads}",
        "head_dim": f"{llama.head_dim}",
        "width": f"{llama.num_kv_heads * llama.head_dim:,}",
        "ratio": f"{llama.num_heads // llama.num_kv_heads}",
    }


def flop_of_the_prompt():
    return 2 * model("llama-3.1-70b").num_params * 1024


def prompt_facts():
    llama = model("llama-3.1-70b")
    return {
        "params": f"{number(llama.num_params / 1e9, 4)} billion",
        "exact": si(llama.flop(1024), "FLOP"),
        "attention": si(llama.flop(1024) - 1024 * llama.flop_per_token(0), "FLOP"),
        "table": si(2 * llama.vocab_size * llama.hidden_size * 1024, "FLOP"),
    }


def h100_fp8_ridge():
    return ridge(chip("h100-sxm"), "fp8")


def fp8_facts():
    h100 = chip("h100-sxm")
    headline = h100.figure("sparse_peak_flop_per_s.fp8").value
    return {
        "dense": si(h100.peak("fp8"), "FLOP/s", 4),
        "headline": si(headline, "FLOP/s", 4),
        "bandwidth": si(h100.memory_bytes_per_s, "B/s"),
        "bf16": number(ridge(h100, "bf16")),
    }


def tokens_to_flip_in_fp8():
    h100 = chip("h100-sxm")
    fp8 = ridge_tokens(8192, 8192, dtype="fp8", chip=h100)
    bf16 = ridge_tokens(8192, 8192, dtype="bf16", chip=h100)
    ratio = fp8 / bf16
    options = {"half": 0.5, "same": 1, "twice": 2}
    return min(options, key=lambda o: abs(options[o] - ratio))


def step_of_32_requests():
    llama, h100 = model("llama-3.1-70b"), chip("h100-sxm")
    weights = llama.weight_bytes_read(32, "bf16")
    return weights / (8 * h100.memory_bytes_per_s)


def step_facts():
    llama, h100 = model("llama-3.1-70b"), chip("h100-sxm")
    compute = 32 * llama.flop_per_token(0) / (8 * h100.peak("bf16"))
    return {
        "weights": si(llama.weight_bytes_read(32, "bf16"), "B"),
        "bandwidth": si(8 * h100.memory_bytes_per_s, "B/s"),
        "compute": si(compute, "s"),
        "rate": number(32 / step_of_32_requests()),
    }


def time_on_a_b200():
    gpu, shape = chip("b200"), (8192, 8192, 8192)
    return matmul_time(*shape, dtype="bf16", chip=gpu).seconds


def b200_facts():
    b200 = chip("b200")
    return {
        "flop": si(matmul_flop(8192, 8192, 8192), "FLOP", 4),
        "peak": si(b200.peak("bf16"), "FLOP/s"),
        "headline": si(b200.figure("sparse_peak_flop_per_s.bf16").value, "FLOP/s"),
    }


def traffic_in_tiles_of_128():
    size = {"m": 4096, "k": 4096, "n": 4096, "itemsize": 4}
    tile = {"block_m": 128, "block_k": 128, "block_n": 128}
    return blocked_bytes(**size, **tile).total


def tile_facts():
    once = 4096 * 4096 * 4
    return {
        "once": si(once, "B"),
        "tiles": f"{4096 // 128}",
        "passes": f"{2 * 4096 // 128 + 1}",
        "least": si(3 * once, "B"),
        "intensity": number(matmul_flop(4096, 4096, 4096) / traffic_in_tiles_of_128()),
        "elements": si(blocked_bytes(4096, 4096, 4096, block_m=1, block_k=1, block_n=1, itemsize=4).total, "B"),
    }


EXERCISES = (
    Choice(
        id="matmul-second-request",
        title="what a second request costs",
        options=(
            Option(
                key="double",
                text="It doubles: twice the FLOP.",
                reply="Twice the FLOP, but the FLOP did not set the pace. What did?",
            ),
            Option(
                key="same",
                text="It stays almost the same.",
                reply="Yes: from {{one}} to {{two}}, {{more}} more. Both rows share one reading of the weights.",
            ),
            Option(
                key="half",
                text="It halves: two requests share the work.",
                reply="The time for each request halves, not the time of the step.",
            ),
        ),
        answer=time_of_two_tokens,
        facts=two_token_facts,
        hint="Which of the two times is longer with one row, that of the bytes or that of the FLOP? Which grows?",
        solution="""
            With few rows the weights decide the time, and they are read once for all rows. The second row adds only
            its own input and output: the step goes from {{one}} to {{two}}.
            """,
    ),
    Numeric(
        id="matmul-gate-flop",
        title="the FLOP of one matrix",
        label="Work for one token",
        answer=flop_of_the_gate,
        unit="MFLOP",
        facts=gate_facts,
        hint="One row times an 8192 × 28672 matrix: how many products, and how many additions with them?",
        solution="""
            With m = 1, k = 8192 and n = 28672 there are {{products}} multiplications and as many additions: {{flop}}.
            """,
        mistakes=(
            Mistake(
                value=lambda: flop_of_the_gate() / 2,
                reply="You counted multiply-adds. Each is two FLOP: a multiplication and an addition.",
            ),
            Mistake(
                value=lambda: matmul_flop(1, 8192, 8192),
                reply="That is the 8192 × 8192 matrix. The gate widens the row to 28672.",
            ),
            Mistake(
                value=lambda: 3 * flop_of_the_gate(),
                reply="That is the whole MLP: gate, up and down. Only the gate is asked for.",
            ),
        ),
    ),
    Numeric(
        id="matmul-layer-bytes",
        title="the bytes of one matrix",
        label="Bytes that cross",
        answer=bytes_of_the_layer,
        unit="MB",
        facts=layer_facts,
        hint="Three arrays cross: the row in, the weights, the row out. Two bytes an element.",
        solution="""
            The {{elements}} weights are {{weights}} in bf16. The rows in and out add {{rows}}: next to the weights,
            nothing.
            """,
        mistakes=(
            Mistake(
                value=lambda: 8 * bytes_of_the_layer(),
                reply="Those are bits. Sixteen bits are two bytes: divide by eight.",
            ),
            Mistake(
                value=lambda: bytes_of_the_layer() / 2,
                reply="You gave each weight one byte. In bf16 it takes two.",
            ),
            Mistake(
                value=lambda: 2 * bytes_of_the_layer(),
                reply="You gave each weight four bytes. That is fp32; bf16 takes two.",
            ),
            Mistake(
                value=lambda: bytes_of_the_layer() / MiB * 1e6,
                reply="You divided by 2^20. That gives {{mebibytes}}; a MB is 10^6 bytes.",
            ),
        ),
    ),
    Numeric(
        id="matmul-intensity",
        title="FLOP a byte, with 32 requests",
        label="Arithmetic intensity",
        answer=intensity_of_32_tokens,
        unit="FLOP/byte",
        facts=intensity_facts,
        hint="FLOP over bytes. Of the two, which grows 32 times when 32 rows share the matrix?",
        solution="""
            {{flop}} over {{bytes}}, of which {{weights}} are the weights. With so few rows the intensity is nearly
            the number of rows: 2 FLOP for each weight and row, and 2 bytes for each weight.
            """,
        mistakes=(
            Mistake(
                value=lambda: arithmetic_intensity(1, 8192, 8192, dtype="bf16"),
                reply="You read the weights once for every row. They are read once a step, for all 32.",
            ),
            Mistake(
                value=lambda: intensity_of_32_tokens() / 2,
                reply="A factor of two is missing: each multiply-add is two FLOP.",
            ),
            Mistake(
                value=lambda: intensity_of_32_tokens() * 2,
                reply="You divided by elements, not bytes. In bf16 each takes two.",
            ),
            Mistake(
                value=lambda: intensity_of_32_tokens() / 8,
                reply="You divided by bits. A byte has eight.",
            ),
        ),
    ),
    Numeric(
        id="matmul-a100-flip",
        title="the batch at which the answer flips",
        label="Rows",
        answer=tokens_at_the_a100_ridge,
        unit="rows",
        tolerance=0.015,
        facts=a100_facts,
        hint="First the ridge R: peak over bandwidth. Then put it into m = R / (1 − 2R/d).",
        solution="""
            The ridge is {{peak}} over {{bandwidth}}, which is {{ridge}} FLOP a byte. With d = 8192 the formula gives
            the answer; the next whole row is the first that the tensor cores bind.
            """,
        mistakes=(
            Mistake(
                value=tokens_at_the_sparse_a100_ridge,
                reply="You took the peak with sparsity. Half of those products are zeros that a dense matrix has not.",
            ),
            Mistake(
                value=lambda: ridge(chip("a100-sxm-80gb"), "bf16"),
                reply="That is the ridge itself. The rows in and out are bytes too: divide by 1 − 2R/d.",
            ),
            Mistake(
                value=tokens_at_the_ridge,
                reply="That is the H100. Put the A100's two figures in.",
            ),
        ),
    ),
    Numeric(
        id="matmul-key-bytes",
        title="a matrix that is smaller than it looks",
        label="Weights of K",
        answer=bytes_of_the_keys,
        unit="MB",
        facts=key_facts,
        hint="How many heads do the keys have, and how wide is each?",
        solution="""
            Queries have {{heads}} heads, keys and values {{kv_heads}} of {{head_dim}}: K is {{hidden}} × {{width}},
            at 2 bytes a weight. Grouped queries make it {{ratio}} times smaller than Q, and the cache with it.
            """,
        mistakes=(
            Mistake(
                value=lambda: model("llama-3.1-70b").hidden_size ** 2 * 2,
                reply="You gave the keys as many heads as the queries. They have {{kv_heads}}, not {{heads}}.",
            ),
            Mistake(
                value=lambda: bytes_of_the_keys() / model("llama-3.1-70b").num_kv_heads,
                reply="That is one head. There are {{kv_heads}}.",
            ),
            Mistake(
                value=lambda: 2 * bytes_of_the_keys(),
                reply="That is K and V together. Only K is asked for.",
            ),
            Mistake(
                value=lambda: bytes_of_the_keys() / 2,
                reply="That is the number of weights. In bf16 each takes two bytes.",
            ),
        ),
    ),
    Numeric(
        id="matmul-prompt-flop",
        title="a prompt of a thousand tokens",
        label="Work for the prompt",
        answer=flop_of_the_prompt,
        unit="TFLOP",
        tolerance=0.03,
        facts=prompt_facts,
        hint="Each parameter is used once for each token: how many FLOP is one use?",
        solution="""
            2NT with N = {{params}} and T = 1,024. Counted product by product it is {{exact}}: attention adds
            {{attention}}, and the embedding table, which is looked up and not multiplied, takes {{table}} away.
            """,
        mistakes=(
            Mistake(
                value=lambda: flop_of_the_prompt() / 2,
                reply="You used each parameter for one FLOP. A multiply-add is two.",
            ),
            Mistake(
                value=lambda: 3 * flop_of_the_prompt(),
                reply="6NT is training: the backward pass costs twice the forward pass. This is inference.",
            ),
            Mistake(
                value=lambda: flop_of_the_prompt() / 1024,
                reply="That is one token. The prompt has 1,024.",
            ),
        ),
    ),
    Numeric(
        id="matmul-fp8-ridge",
        title="the ridge in FP8",
        label="Ridge of the H100 in FP8",
        answer=h100_fp8_ridge,
        unit="FLOP/byte",
        facts=fp8_facts,
        hint="Dense peak in FP8 over memory bandwidth. The datasheet prints a larger peak; what does it skip?",
        solution="""
            {{dense}} over {{bandwidth}}: twice the {{bf16}} of bf16. The datasheet's {{headline}} counts products
            that structured sparsity skips.
            """,
        mistakes=(
            Mistake(
                value=lambda: 2 * h100_fp8_ridge(),
                reply="You took the datasheet's {{headline}}. That is with sparsity; dense it is {{dense}}.",
            ),
            Mistake(
                value=lambda: ridge(chip("h100-sxm"), "bf16"),
                reply="That is the ridge in bf16. In FP8 the peak is twice as high, the bandwidth the same.",
            ),
            Mistake(
                value=lambda: h100_fp8_ridge() / 8,
                reply="You divided by bits a second. The bandwidth is in bytes.",
            ),
        ),
    ),
    Choice(
        id="matmul-fp8-flip",
        title="what FP8 does to the batch that flips",
        options=(
            Option(
                key="half",
                text="About half as many rows.",
                reply="The bytes halve, which alone would do it. What does the peak do?",
            ),
            Option(
                key="same",
                text="About as many rows.",
                reply="Yes. The ridge doubles, and each row does twice the FLOP a byte: the two cancel.",
            ),
            Option(
                key="twice",
                text="About twice as many rows.",
                reply="The ridge doubles, which alone would do it. What happens to the bytes of a weight?",
            ),
        ),
        answer=tokens_to_flip_in_fp8,
        facts=fp8_facts,
        hint="The ridge is peak over bandwidth; the intensity of m rows is about 2m over the bytes of a weight.",
        solution="""
            The ridge goes from {{bf16}} to twice that, because the peak doubles. The intensity of the same rows
            doubles too, because a weight takes one byte and not two. FP8 halves the time on both sides of the ridge
            and leaves the ridge at the same batch.
            """,
    ),
    Numeric(
        id="matmul-decode-step",
        title="the least time of a decode step",
        label="Time of the step",
        answer=step_of_32_requests,
        unit="ms",
        facts=step_facts,
        hint="Is it bytes or FLOP that bind at 32 rows? Then: all weights once, over the bandwidth of all eight.",
        solution="""
            {{weights}} of weights over {{bandwidth}}. The FLOP of 32 tokens would take {{compute}}, so the memory
            binds. At this bound the node writes {{rate}} tokens a second. The KV cache comes on top; chapter 8 adds
            it.
            """,
        mistakes=(
            Mistake(
                value=lambda: 8 * step_of_32_requests(),
                reply="Eight times too long. Either one chip reads all weights, or you took bits for bytes.",
            ),
            Mistake(
                value=lambda: 32 * step_of_32_requests(),
                reply="You read the weights once for each request. They are read once a step, for all 32.",
            ),
            Mistake(
                value=lambda: step_of_32_requests() / 2,
                reply="You gave each weight one byte. In bf16 it takes two.",
            ),
            Mistake(
                value=lambda: 32 * model("llama-3.1-70b").flop_per_token(0) / (8 * chip("h100-sxm").peak("bf16")),
                reply="That is the time of the FLOP. Is it the longer of the two?",
            ),
        ),
    ),
    Numeric(
        id="matmul-b200-time",
        title="which peak, of what",
        label="Least time",
        answer=time_on_a_b200,
        unit="µs",
        facts=b200_facts,
        hint="Two traps: the catalogue's figure is for a package of two dies, and a headline may count zeros.",
        solution="""
            2 × 8192³ is {{flop}}; the dense peak of the package is {{peak}}. The {{headline}} of the headline is with
            sparsity.
            """,
        mistakes=(
            Mistake(
                value=lambda: time_on_a_b200() / 2,
                reply="You took the headline of {{headline}}, with sparsity, or counted one FLOP a multiply-add.",
            ),
            Mistake(
                value=lambda: time_on_a_b200() * 2,
                reply="You took the peak of one die. A B200 is two in one package, and {{peak}} is the two together.",
            ),
        ),
    ),
    Numeric(
        id="matmul-tiles",
        title="the traffic of a blocked product",
        label="Bytes that cross",
        answer=traffic_in_tiles_of_128,
        unit="GB",
        facts=tile_facts,
        hint="How often is each matrix fetched when C is finished tile by tile? A matrix is {{once}}.",
        solution="""
            For each of {{tiles}} columns of tiles A is read once, for each of {{tiles}} rows B is, and C is written
            once: {{passes}} times {{once}}. That is {{intensity}} FLOP a byte. Without tiles it would be {{elements}};
            no product can do with less than {{least}}.
            """,
        mistakes=(
            Mistake(
                value=lambda: 3 * 4096 * 4096 * 4,
                reply="That is each matrix once, which takes a cache for all of B. There is room for tiles of 128.",
            ),
            Mistake(
                value=lambda: traffic_in_tiles_of_128() / 4,
                reply="You counted elements. In fp32 each takes four bytes.",
            ),
            Mistake(
                value=lambda: blocked_bytes(4096, 4096, 4096, block_m=1, block_k=1, block_n=1, itemsize=4).total,
                reply="That is without tiles: every element fetched for every product.",
            ),
            Mistake(
                value=lambda: 33 * 4096 * 4096 * 4 + 4096 * 4096 * 4,
                reply="In your count only one of A and B is read again. Which one stays while the other passes?",
            ),
        ),
    ),
)


# ---- The memo ------------------------------------------------------------------------------------------------------


def faster_memory_gains():
    h100, h200 = chip("h100-sxm"), chip("h200-sxm")
    return h200.memory_bytes_per_s / h100.memory_bytes_per_s


def memo_facts():
    h100, h200 = chip("h100-sxm"), chip("h200-sxm")
    return {
        "gain": number(faster_memory_gains(), 3),
        "h100": si(h100.memory_bytes_per_s, "B/s"),
        "h200": si(h200.memory_bytes_per_s, "B/s"),
        "flip": f"{tokens_at_the_ridge()}",
        "flip200": number(ridge_tokens(8192, 8192, dtype="bf16", chip=h200)),
    }


MEMO = Memo(
    id="matmul-memo",
    title="a page for the person who pays",
    answer=faster_memory_gains,
    unit="times",
    facts=memo_facts,
    rubric=(
        "It says which resource binds at 32 requests, with the intensity and the ridge.",
        "It says what the faster memory gains in tokens a second, as a number.",
        "It says what twice the batch gains on the chips at hand, and what it costs the user.",
        "It names the batch from which neither helps.",
        "It says what the bound leaves out, and how to measure it before money is spent.",
    ),
    hint="Work out both gains by the roofline. Then ask what each costs: money for one, latency for the other.",
    solution="""
        At 32 requests the memory binds: the intensity is near 32 FLOP a byte, and the ridge of the H100 is reached at
        {{flip}} rows. The H200 has the same peak and {{h200}} for {{h100}}: {{gain}} times the tokens a second, at
        every batch below the ridge, and a shorter step. Twice the batch gives twice the tokens a second on the chips
        we have, in a step that is hardly longer, if the traffic fills it and the KV cache fits. So first fill the
        batch; buy memory when the step itself is too long for the user, or when the cache no longer fits. From
        {{flip}} rows ({{flip200}} on the H200) neither helps. The bound leaves out the KV cache, the network between
        the eight chips and the start of each kernel: measure one step at 32 and at 64 before deciding.
        """,
)


# ---- What is needed before -----------------------------------------------------------------------------------------


def bytes_of_a_400_gigabit_link():
    return 400e9 / 8


def seconds_for_the_work():
    return 1.4e14 / 100e12


def gigabytes_of_80_gib():
    return 80 * GiB


REVIEW = (
    Numeric(
        id="matmul-review-bits",
        title="bits and bytes",
        label="Bandwidth",
        answer=bytes_of_a_400_gigabit_link,
        unit="GB/s",
        hint="Networks are sold in bits, memory in bytes.",
        solution="A byte has eight bits: 400 Gbit/s is 400/8 GB/s.",
        mistakes=(
            Mistake(value=lambda: 400e9, reply="That is still in bits: divide by eight."),
            Mistake(value=lambda: 400e9 * 8, reply="You multiplied by eight. A byte is larger than a bit."),
            Mistake(value=lambda: 400e9 / 10, reply="Ten is a line code's rule of thumb. A byte has eight bits."),
        ),
    ),
    Numeric(
        id="matmul-review-powers",
        title="powers of ten",
        label="Time",
        answer=seconds_for_the_work,
        unit="s",
        hint="Tera is 10^12. Subtract the exponents.",
        solution="1.4 × 10^14 over 10^14 a second.",
        mistakes=(
            Mistake(value=lambda: 1 / seconds_for_the_work(), reply="You divided the rate by the work. Turn it over."),
            Mistake(value=lambda: 1.4e14 / 100e9, reply="You took tera for giga. Tera is 10^12."),
        ),
    ),
    Numeric(
        id="matmul-review-binary",
        title="GB and GiB",
        label="Capacity",
        answer=gigabytes_of_80_gib,
        unit="GB",
        tolerance=0.005,
        hint="A GiB is 2^30 bytes, a GB is 10^9.",
        facts=lambda: {"more": f"{number(100 * (GiB / 1e9 - 1), 2)} %"},
        solution="80 × 2^30 bytes over 10^9: {{more}} more than the number on the label.",
        mistakes=(
            Mistake(value=lambda: 80e9, reply="You read GiB as GB. A GiB is 1024^3 bytes."),
            Mistake(
                value=lambda: 80e9 * 1e9 / GiB, reply="You divided where you should multiply: a GiB is the larger one."
            ),
            Mistake(value=lambda: 80e9 * 1.024, reply="1024 is one step, from KiB to MiB. GiB takes three."),
        ),
    ),
)


# ---- Functions to write in the lab ---------------------------------------------------------------------------------


def product_bytes(m, k, n, itemsize):
    return (m * k + k * n + m * n) * itemsize


def blocked_product_bytes(m, k, n, block, itemsize):
    a = math.ceil(n / block) * m * k  # once a column of tiles
    b = math.ceil(m / block) * k * n  # once a row of tiles
    return (a + b + m * n) * itemsize  # C is written once


def _draw_product(generator):
    m, k, n = (generator.randint(1, 64) for _ in range(3))
    return {"m": m, "k": k, "n": n, "itemsize": generator.choice((1, 2, 4, 8))}


def _draw_blocked(generator):
    block = generator.randint(2, 8)
    m, k, n = (block * generator.randint(1, 8) + generator.randint(1, block - 1) for _ in range(3))
    return {"m": m, "k": k, "n": n, "block": block, "itemsize": generator.choice((1, 2, 4, 8))}


CODE = (
    Code(
        id="matmul-bytes",
        title="the bytes of a product, as a function",
        answer=product_bytes,
        draw=_draw_product,
        hint="Three arrays, each crossing once: x is m × k, w is k × n, y is m × n.",
        solution="Two arrays are read and one is written. Their elements add, and each takes `itemsize` bytes.",
        mutants=(
            Mutant(
                function=lambda m, k, n, itemsize: (m * k + k * n) * itemsize,
                reply="You left out the result: y has m × n elements, and they are written.",
            ),
            Mutant(
                function=lambda m, k, n, itemsize: (k * n + m * n) * itemsize,
                reply="You left out the input: x has m × k elements, and they are read.",
            ),
            Mutant(
                function=lambda m, k, n, itemsize: m * k + k * n + m * n,
                reply="You counted elements: each takes `itemsize` bytes.",
            ),
            Mutant(
                function=lambda m, k, n, itemsize: (m * k + k * n + m * n) * itemsize * 8,
                reply="You counted bits: `itemsize` is in bytes already.",
            ),
            Mutant(
                function=lambda m, k, n, itemsize: (m * k + m * k * n + m * n) * itemsize,
                reply="You read the weights again for every row: they cross once for all m.",
            ),
        ),
    ),
    Code(
        id="matmul-blocked-bytes",
        title="the bytes of a blocked product, as a function",
        answer=blocked_product_bytes,
        draw=_draw_blocked,
        hint="How many tiles of C are there in a row, and in a column? The last one may be narrow, but it is one.",
        solution="""
            C is finished tile by tile. For each column of tiles all of A passes by once; for each row of tiles, all
            of B. Sizes that are no multiple of the tile leave a narrow last one, hence the ceiling.
            """,
        mutants=(
            Mutant(
                function=lambda m, k, n, block, itemsize: (n // block * m * k + m // block * k * n + m * n) * itemsize,
                reply="You rounded the number of tiles down: the narrow last one needs its data too.",
            ),
            Mutant(
                function=lambda m, k, n, block, itemsize: (n / block * m * k + m / block * k * n + m * n) * itemsize,
                reply="You counted a part of a tile as a part of a pass: the narrow last one is a whole pass.",
            ),
            Mutant(
                function=lambda m, k, n, block, itemsize: (
                    (math.ceil(m / block) * m * k + math.ceil(n / block) * k * n + m * n) * itemsize
                ),
                reply="You swapped the passes: A is read once for each column of tiles, and columns lie along n.",
            ),
            Mutant(
                function=lambda m, k, n, block, itemsize: (
                    (math.ceil(n / block) * m * k + math.ceil(m / block) * k * n + math.ceil(k / block) * m * n)
                    * itemsize
                ),
                reply="You wrote C back once for each tile of k: its tile stays until the sum is finished.",
            ),
            Mutant(
                function=lambda m, k, n, block, itemsize: (m * k + k * n + m * n) * itemsize,
                reply="You moved each array once: that needs fast memory for all of B, not for a tile.",
            ),
        ),
    ),
)

QUESTIONS = (*GUESSES, *EXERCISES, MEMO, *REVIEW, *CODE)
