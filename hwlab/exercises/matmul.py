"""Chapter 2, MatMul: guesses, exercises, a memo, a review of what is needed before, and two functions to write."""

from __future__ import annotations

import math

from hwlab.costs.blocking import blocked_bytes
from hwlab.costs.roofline import arithmetic_intensity, matmul_bytes, matmul_flop, matmul_time, ridge, ridge_tokens
from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.studies.trials.cpu_gpu import peaks
from hwlab.units import GiB, MiB, bytes_per_element

from .base import Choice, Code, Memo, Mistake, Mutant, Numeric, Option, Prediction

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
    h100 = chip("h100-sxm")
    base, boost = peaks(chip("xeon-8480plus"), "fp32")
    return {
        "base": si(base, "FLOP/s"),
        "boost": si(boost, "FLOP/s"),
        "h100": si(h100.peak("fp32"), "FLOP/s"),
        "least": number(h100.peak("fp32") / boost, 2),
        "tf32_least": number(h100.peak("tf32") / boost, 2),
        "tf32": number(h100.peak("tf32") / base, 2),
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
            In float32 the H100's peak is {{h100}} and the Xeon's {{base}}, at its base clock. If its cores could hold
            their boost clock it would be {{boost}}, and the factor {{least}}. If the GPU may round its inputs to TF32,
            the factor is {{tf32_least}} to {{tf32}}, but the results are no longer the same.
            """,
    ),
)


# ---- Exercises -----------------------------------------------------------------------------------------------------


def time_of_twice_the_batch():
    case = {"k": 8192, "n": 8192, "dtype": "bf16"}
    before = matmul_time(1024, **case, chip=chip("h100-sxm"))
    after = matmul_time(2048, **case, chip=chip("h100-sxm"))
    ratio = after.seconds / before.seconds
    options = {"half": 0.5, "same": 1, "double": 2}
    return min(options, key=lambda o: abs(options[o] - ratio))


def twice_facts():
    before, after = (matmul_time(m, 8192, 8192, dtype="bf16", chip=chip("h100-sxm")) for m in (1024, 2048))
    return {
        "before": si(before.seconds, "s"),
        "after": si(after.seconds, "s"),
        "memory": si(before.memory_s, "s"),
        "flip": f"{tokens_at_the_ridge()}",
    }


def flop_of_the_gate():
    llama = model("llama-3.1-8b")
    k, n = llama.hidden_size, llama.intermediate_size
    return matmul_flop(3, k, n)


def gate_facts():
    llama = model("llama-3.1-8b")
    return {
        "k": f"{llama.hidden_size}",
        "n": f"{llama.intermediate_size}",
        "multiplications": si(flop_of_the_gate() // 2, ""),
        "flop": si(flop_of_the_gate(), "FLOP"),
    }


def bytes_of_the_layer():
    llama = model("llama-3.1-8b")
    k, n = llama.hidden_size, llama.intermediate_size
    return matmul_bytes(1, k, n, dtype="fp8")


def bytes_of_the_rows():
    llama = model("llama-3.1-8b")
    return (llama.hidden_size + llama.intermediate_size) * bytes_per_element("fp8")


def layer_facts():
    weights = bytes_of_the_layer() - bytes_of_the_rows()
    return {
        "k": f"{model('llama-3.1-8b').hidden_size}",
        "n": f"{model('llama-3.1-8b').intermediate_size}",
        "weights": si(weights, "B"),
        "rows": si(bytes_of_the_rows(), "B"),
        "elements": si(weights / bytes_per_element("fp8"), ""),
        "mebibytes": f"{number(bytes_of_the_layer() / MiB)} MiB",
    }


def intensity_of_128_tokens():
    return arithmetic_intensity(128, 4096, 4096, dtype="fp8")


def intensity_facts():
    moved = matmul_bytes(128, 4096, 4096, dtype="fp8")
    weights = 4096 * 4096 * bytes_per_element("fp8")
    return {
        "flop": si(matmul_flop(128, 4096, 4096), "FLOP"),
        "bytes": si(moved, "B"),
        "weights": si(weights, "B"),
        "rows": f"{number(100 * (1 - weights / moved), 2)} %",
        "limit": number(2 * 128 / bytes_per_element("fp8")),
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
    llama = model("llama-3.1-405b")
    columns = llama.num_kv_heads * llama.head_dim
    return llama.hidden_size * columns * 2  # bf16


def key_facts():
    llama = model("llama-3.1-405b")
    return {
        "hidden": f"{llama.hidden_size}",
        "heads": f"{llama.num_heads}",
        "kv_heads": f"{llama.num_kv_heads}",
        "head_dim": f"{llama.head_dim}",
        "width": f"{llama.num_kv_heads * llama.head_dim}",
        "ratio": f"{llama.num_heads // llama.num_kv_heads}",
        "mebibytes": f"{number(bytes_of_the_keys() / MiB)} MiB",
    }


def flop_of_the_prompt():
    return 2 * model("llama-3.1-405b").num_params * 2048


def prompt_facts():
    llama = model("llama-3.1-405b")
    return {
        "params": f"{number(llama.num_params / 1e9, 4)} billion",
        "exact": si(llama.flop(2048), "FLOP"),
        "attention": si(llama.flop(2048) - 2048 * llama.flop_per_token(0), "FLOP"),
        "table": si(2 * llama.vocab_size * llama.hidden_size * 2048, "FLOP"),
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
        "gibibytes": f"{number(traffic_in_tiles_of_128() / GiB)} GiB",
    }


EXERCISES = (
    Choice(
        id="matmul-second-request",
        title="what twice the batch costs",
        options=(
            Option(
                key="double",
                text="It doubles: twice the FLOP.",
                reply="Yes: from {{before}} to {{after}}. Beyond {{flip}} rows each one costs its share of the time.",
            ),
            Option(
                key="same",
                text="It stays almost the same: the weights are read once.",
                reply="They are, and reading takes {{memory}}. Is that the longer of the two times?",
            ),
            Option(
                key="half",
                text="It halves: the requests share the work.",
                reply="""
                    No step takes less time for more work. What halves, below the ridge, is each request's share of the
                    step, and so its price. All still wait for the whole step.
                    """,
            ),
        ),
        answer=time_of_twice_the_batch,
        facts=twice_facts,
        hint="Which of the two times is longer with 1,024 rows, that of the bytes or that of the FLOP? Which grows?",
        solution="""
            From {{flip}} rows on the arithmetic binds. With 1,024 it takes {{before}}, while the bytes cross in
            {{memory}}. Twice the rows are twice the FLOP: {{after}}. The same tokens a second, and twice the wait.
            """,
    ),
    Numeric(
        id="matmul-gate-flop",
        title="the FLOP of one matrix",
        label="Work for three tokens",
        answer=flop_of_the_gate,
        unit="MFLOP",
        facts=gate_facts,
        hint="Three rows times a {{k}} × {{n}} matrix: how many multiplications, and how many additions with them?",
        solution="""
            With m = 3, k = {{k}} and n = {{n}} there are {{multiplications}} multiplications and as many additions:
            {{flop}}.
            """,
        mistakes=(
            Mistake(
                value=lambda: flop_of_the_gate() / 2,
                reply="You counted multiply-adds. Each is two FLOP: a multiplication and an addition.",
            ),
            Mistake(
                value=lambda: flop_of_the_gate() / 3,
                reply="That is one token. The step has three.",
            ),
            Mistake(
                value=lambda: matmul_flop(3, model("llama-3.1-8b").hidden_size, model("llama-3.1-8b").hidden_size),
                reply="That is a {{k}} × {{k}} matrix. The gate widens each row to {{n}}.",
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
        hint="Three arrays cross: the row in, the weights, the row out. One byte an element.",
        solution="""
            The {{elements}} weights are {{weights}} in FP8. The rows in and out add {{rows}}: next to the weights,
            nothing.
            """,
        mistakes=(
            Mistake(
                value=lambda: 8 * bytes_of_the_layer(),
                reply="Those are bits. Eight bits are one byte: divide by eight.",
            ),
            Mistake(
                value=lambda: 2 * bytes_of_the_layer(),
                reply="You gave each weight two bytes. That is bf16; FP8 takes one.",
            ),
            Mistake(
                value=bytes_of_the_rows,
                reply="Those are the rows in and out. The matrix between them crosses too.",
            ),
            Mistake(
                value=lambda: bytes_of_the_layer() / MiB * 1e6,
                reply="You divided by 2²⁰. That gives {{mebibytes}}; a MB is 10⁶ bytes.",
            ),
        ),
    ),
    Numeric(
        id="matmul-intensity",
        title="FLOP a byte, with 128 tokens",
        label="Arithmetic intensity",
        answer=intensity_of_128_tokens,
        unit="FLOP/byte",
        facts=intensity_facts,
        hint="FLOP over bytes, and all three arrays are bytes. Are 128 rows still few beside 4096?",
        solution="""
            {{flop}} over {{bytes}}, of which {{weights}} are the weights. The rows in and out are {{rows}} of the
            traffic, so the intensity lies as much below 2m/s, which is {{limit}}.
            """,
        mistakes=(
            Mistake(
                value=lambda: 2 * 128 / bytes_per_element("fp8"),
                reply="That is 2m/s, the limit for a few rows. Here x and y are {{rows}} of the traffic.",
            ),
            Mistake(
                value=lambda: 2 * 128 / bytes_per_element("bf16"),
                reply="That is 2m/s with two bytes an element. FP8 has one, and x and y are {{rows}} of the traffic.",
            ),
            Mistake(
                value=lambda: arithmetic_intensity(128, 4096, 4096, dtype="bf16"),
                reply="Half of it: in FP8 an element is one byte, not two, and each multiply-add is two FLOP.",
            ),
            Mistake(
                value=lambda: arithmetic_intensity(1, 4096, 4096, dtype="fp8"),
                reply="You read the weights once for every row. They are read once a step, for all 128.",
            ),
            Mistake(
                value=lambda: intensity_of_128_tokens() / 8,
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
        hint="First the ridge: peak over bandwidth. Then put it into the formula of the worked example.",
        solution="""
            The ridge is {{peak}} over {{bandwidth}}, which is {{ridge}} FLOP a byte. With d = 8192 the formula gives
            the answer; the next whole row is the first at which the arithmetic binds.
            """,
        mistakes=(
            Mistake(
                value=tokens_at_the_sparse_a100_ridge,
                reply="You took the peak with sparsity. It skips zeros that a dense matrix has not.",
            ),
            Mistake(
                value=lambda: ridge(chip("a100-sxm-80gb"), "bf16"),
                reply="That is the ridge itself. The rows in and out are bytes too: one more division.",
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
            at two bytes a weight. Grouped queries make it {{ratio}} times smaller than Q, and the cache with it.
            """,
        mistakes=(
            Mistake(
                value=lambda: model("llama-3.1-405b").hidden_size ** 2 * 2,
                reply="You gave the keys as many heads as the queries. They have {{kv_heads}}, not {{heads}}.",
            ),
            Mistake(
                value=lambda: bytes_of_the_keys() / model("llama-3.1-405b").num_kv_heads,
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
            Mistake(
                value=lambda: bytes_of_the_keys() / MiB * 1e6,
                reply="You divided by 2²⁰. That gives {{mebibytes}}; a MB is 10⁶ bytes.",
            ),
        ),
    ),
    Numeric(
        id="matmul-prompt-flop",
        title="the work of a prompt",
        label="Work for the prompt",
        answer=flop_of_the_prompt,
        unit="PFLOP",
        tolerance=0.03,
        facts=prompt_facts,
        hint="Each parameter is used once for each token: how many FLOP is one use?",
        solution="""
            2NT with N = {{params}} and T = 2,048. Counted product by product it is {{exact}}: attention adds
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
                value=lambda: flop_of_the_prompt() / 2048,
                reply="That is one token. The prompt has 2,048.",
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
            {{dense}} over {{bandwidth}}: twice the {{bf16}} of bf16. The datasheet's {{headline}} counts
            multiplications that structured sparsity skips.
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
            doubles too, because a weight takes one byte and not two. FP8 halves the time below the ridge and
            above it, and the answer flips at the same batch as before.
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
            binds. At this bound the node writes {{rate}} tokens a second. The KV cache comes on top, and so does the
            exchange between the chips; later chapters add them.
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
        tolerance=0.005,
        facts=tile_facts,
        hint="""
            How often is each matrix fetched when C is finished tile by tile? A matrix is {{once}}. [The first finished
            tile of a small one](#hw:blocked:v1:scene=large;at=2) shows what comes and what stays.
            """,
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
                value=lambda: 34 * 4096 * 4096 * 4,
                reply="In your count one of A and B is read once. To stay it would need room for more than one tile.",
            ),
            Mistake(
                value=lambda: 64 * 4096 * 4096 * 4,
                reply="You did not write C.",
            ),
            Mistake(
                value=lambda: 66 * 4096 * 4096 * 4,
                reply="You read C before the first sum. It starts at zero.",
            ),
            Mistake(
                value=lambda: traffic_in_tiles_of_128() / GiB * 1e9,
                reply="You divided by 2³⁰. That gives {{gibibytes}}; a GB is 10⁹ bytes.",
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
        "intensity": number(arithmetic_intensity(32, 8192, 8192, dtype="bf16")),
        "ridge": number(ridge(h100, "bf16")),
        "h100": si(h100.memory_bytes_per_s, "B/s"),
        "h200": si(h200.memory_bytes_per_s, "B/s"),
        "flip": f"{tokens_at_the_ridge()}",
        "flip200": f"{math.ceil(ridge_tokens(8192, 8192, dtype='bf16', chip=h200))}",
    }


MEMO = Memo(
    id="matmul-memo",
    title="half a page for the person who pays",
    answer=faster_memory_gains,
    unit="times",
    facts=memo_facts,
    rubric=(
        "It says which resource binds at 32 requests, with the intensity and the ridge.",
        "It says what the faster memory gains in tokens a second, as a number.",
        "It says what twice the batch gains on the chips at hand, and what it costs the user.",
        "It names what ends each gain, for the layers and for the cache.",
        "It says what the bound leaves out, and how to measure it before money is spent.",
    ),
    hint="Work out both gains by the roofline. Then ask who waits, and for what: the first token, or each next one?",
    solution="""
        At 32 requests the memory binds: the intensity of a layer is {{intensity}} FLOP a byte, and the H100's ridge
        is {{ridge}}. First ask what is slow. If users wait for their first token, they queue, and a larger batch or
        more chips help. If the text itself comes slowly, only a shorter step helps, and that is bought with bandwidth:
        {{h200}} for {{h100}} gives {{gain}} times the tokens a second and a step as much shorter, for fewer than
        {{flip200}} rows of a layer. Twice the batch gives nearly twice the tokens on the chips we have and makes no one
        faster. In the layers neither gains from {{flip}} rows on; the KV cache, which is read for each user alone and
        which this bound leaves out, keeps the memory binding far longer. The bound also leaves out the exchange between
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
        solution="A byte has eight bits: divide by eight.",
        mistakes=(
            Mistake(value=lambda: 400e9, reply="That is still in bits: divide by eight."),
            Mistake(value=lambda: 400e9 * 8, reply="You multiplied by eight. A byte is larger than a bit."),
            Mistake(
                value=lambda: 400e9 / 10,
                reply="Ten bits a byte is a rule of thumb for links that add check bits. A byte has eight.",
            ),
        ),
    ),
    Numeric(
        id="matmul-review-powers",
        title="powers of ten",
        label="Time",
        answer=seconds_for_the_work,
        unit="s",
        hint="Tera is 10¹². Subtract the exponents.",
        solution="1.4 × 10¹⁴ over 10¹⁴ a second.",
        mistakes=(
            Mistake(value=lambda: 1 / seconds_for_the_work(), reply="You divided the rate by the work. Turn it over."),
            Mistake(value=lambda: 1.4e14 / 100e9, reply="You took tera for giga. Tera is 10¹²."),
        ),
    ),
    Numeric(
        id="matmul-review-binary",
        title="GB and GiB",
        label="Capacity",
        answer=gigabytes_of_80_gib,
        unit="GB",
        tolerance=0.005,
        hint="A GiB is 2³⁰ bytes, a GB is 10⁹.",
        facts=lambda: {"more": f"{number(100 * (GiB / 1e9 - 1), 2)} %"},
        solution="80 × 2³⁰ bytes over 10⁹: {{more}} more than the number on the box.",
        mistakes=(
            Mistake(value=lambda: 80e9, reply="You read GiB as GB. A GiB is 1024³ bytes."),
            Mistake(
                value=lambda: 80e9 * 1e9 / GiB, reply="You divided where you should multiply: a GiB is the larger one."
            ),
            Mistake(value=lambda: 80e9 * 1.024, reply="1024 is one step, from KiB to MiB. GiB takes three."),
        ),
    ),
)


# ---- Functions to write in the lab ---------------------------------------------------------------------------------


def product_bytes(m, k, n, itemsize):
    """Least bytes moved by x[m, k] @ w[k, n] -> y[m, n]."""
    return (m * k + k * n + m * n) * itemsize


def blocked_product_bytes(m, k, n, block, itemsize):
    """Bytes moved when each tile of C stays until done."""
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
            Mutant(
                function=lambda m, k, n, itemsize: 2 * m * k * n,
                reply="You counted FLOP. Bytes are moved once for each element, not once for each multiplication.",
            ),
        ),
    ),
    Code(
        id="matmul-blocked-bytes",
        title="the bytes of a blocked product, as a function",
        answer=blocked_product_bytes,
        draw=_draw_blocked,
        hint="""
            How many tiles of C are there in a row, and in a column? The last one may be narrow, but it is one. What
            passes by for each of them, [the machine shows](#hw:blocked:v1:scene=small;at=3).
            """,
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
            Mutant(
                function=lambda m, k, n, block, itemsize: (
                    (math.ceil(n / block) * m * k + math.ceil(m / block) * k * n) * itemsize
                ),
                reply="You left out C: each of its tiles is written once.",
            ),
            Mutant(
                function=lambda m, k, n, block, itemsize: (
                    (math.ceil(n / block) * m * k + math.ceil(m / block) * k * n + 2 * m * n) * itemsize
                ),
                reply="You read C before the first sum: its tile starts at zero, and is only written.",
            ),
            Mutant(
                function=lambda m, k, n, block, itemsize: (
                    math.ceil(n / block) * m * k + math.ceil(m / block) * k * n + m * n
                ),
                reply="You counted elements: each takes `itemsize` bytes.",
            ),
        ),
    ),
)

QUESTIONS = (*GUESSES, *EXERCISES, MEMO, *REVIEW, *CODE)
