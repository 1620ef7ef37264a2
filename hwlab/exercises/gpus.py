"""Chapter 4, CPUs and GPUs: guesses, exercises, a memo, a review of chapters 2 and 3, and a function to write."""

from __future__ import annotations

import math

from hwlab.costs.attention import blocked_traffic, naive_traffic
from hwlab.costs.efficiency import efficiency_of
from hwlab.costs.network import all_reduce_time
from hwlab.costs.roofline import ridge
from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.studies.launches import kernel_start
from hwlab.units import GiB, bytes_per_element

from .base import Choice, Code, Memo, Mistake, Mutant, Numeric, Option, Prediction

# ---- Guesses -------------------------------------------------------------------------------------------------------


def one_user_on_both():
    gpu, cpu = chip("h100-sxm"), chip("xeon-8480plus")
    return gpu.memory_bytes_per_s / cpu.memory_bytes_per_s


def user_facts():
    gpu, cpu, llama = chip("h100-sxm"), chip("xeon-8480plus"), model("llama-3.1-8b")
    read = llama.weight_bytes_read(1, "bf16")
    return {
        "bytes": si(read, "B"),
        "gpu": si(gpu.memory_bytes_per_s, "B/s"),
        "cpu": si(cpu.memory_bytes_per_s, "B/s"),
        "gpu_time": si(read / gpu.memory_bytes_per_s, "s"),
        "cpu_time": si(read / cpu.memory_bytes_per_s, "s"),
    }


def bytes_while_a_kernel_starts():
    h100 = chip("h100-sxm")
    return kernel_start() * h100.memory_bytes_per_s


def start_facts():
    return {
        "start": si(kernel_start(), "s", 2),
        "rate": si(chip("h100-sxm").memory_bytes_per_s, "B/s"),
        "elements": number(bytes_while_a_kernel_starts() / 4e6, 2),
    }


def bytes_of_all_scores():
    heads = model("llama-3.1-8b").num_heads
    return heads * 131_072**2 * 2  # bf16


def score_facts():
    llama, h100 = model("llama-3.1-8b"), chip("h100-sxm")
    return {
        "heads": f"{llama.num_heads}",
        "chips": number(bytes_of_all_scores() / h100.memory_bytes, 2),
        "cache": si(llama.kv_bytes(131_072, "bf16"), "B"),
    }


def all_reduce_of_a_step():
    h100 = chip("h100-sxm")
    real = efficiency_of(h100)
    link = h100.link_bytes_per_s * real.link
    return all_reduce_time(
        64 * 8192 * 2,  # bytes
        8,
        link_bytes_per_s=link,
        start_s=real.collective_start_s,
        hop_s=real.collective_hop_s,
    )


def step_facts():
    h100 = chip("h100-sxm")
    real, size = efficiency_of(h100), 64 * 8192 * 2
    return {
        "ideal": si(all_reduce_time(size, 8, link_bytes_per_s=h100.link_bytes_per_s), "s"),
        "start": si(real.collective_start_s, "s"),
        "hop": si(real.collective_hop_s, "s"),
        "twice": "14",
    }


GUESSES = (
    Prediction(
        id="gpus-one-user",
        title="before you read on",
        answer=one_user_on_both,
        unit="times",
        low=1,
        high=10_000,
        facts=user_facts,
        reveal="""
            One row waits for the weights, {{bytes}} of them. The H100 reads {{gpu}} and needs {{gpu_time}}; the Xeon
            reads {{cpu}} and needs {{cpu_time}}. No peak comes into it.
            """,
    ),
    Prediction(
        id="gpus-kernel-start",
        title="what a start costs in bytes",
        answer=bytes_while_a_kernel_starts,
        unit="MB",
        low=0.1,
        high=1000,
        facts=start_facts,
        reveal="""
            {{start}} at {{rate}}. An elementwise kernel in bf16 reads two bytes and writes two for each element: below
            {{elements}} million elements it takes longer to start than to run.
            """,
    ),
    Prediction(
        id="gpus-scores",
        title="how large is the square",
        answer=bytes_of_all_scores,
        unit="GB",
        low=1,
        high=10_000,
        facts=score_facts,
        reveal="""
            {{heads}} heads, each with a score for every pair. That is {{chips}} H100s full, for one layer and one
            request, while the keys and values of all layers together are {{cache}}.
            """,
    ),
    Prediction(
        id="gpus-all-reduce",
        title="how long do eight chips take to add",
        answer=all_reduce_of_a_step,
        unit="µs",
        low=1,
        high=1000,
        facts=step_facts,
        reveal="""
            The links alone would need {{ideal}}. The rest is a start of {{start}}, and {{twice}} steps round the
            ring at {{hop}} each: at this size an exchange is latency, and faster links would hardly help.
            """,
    ),
)


# ---- Exercises -----------------------------------------------------------------------------------------------------


def peak_of_the_epyc():
    epyc = chip("epyc-9755")
    units = epyc.counts["fma_units"]
    a_tick = units * 16 * 2  # lanes of fp32, FLOP of an FMA
    return epyc.counts["cores"] * a_tick * epyc.clock_hz


def epyc_facts():
    epyc = chip("epyc-9755")
    return {
        "cores": f"{epyc.counts['cores']}",
        "clock": si(epyc.clock_hz, "Hz"),
        "boost": si(epyc.figure("boost_clock_hz").value, "Hz"),
    }


def l4_times_xeon():
    l4, xeon = chip("l4"), chip("xeon-8480plus")
    return l4.peak("bf16") / xeon.peak("bf16")


def l4_facts():
    l4, xeon = chip("l4"), chip("xeon-8480plus")
    return {
        "l4": si(l4.peak("bf16"), "FLOP/s"),
        "xeon": si(xeon.peak("bf16"), "FLOP/s"),
        "l4_watts": si(l4.tdp_watts, "W"),
        "xeon_watts": si(xeon.tdp_watts, "W"),
        "l4_memory": si(l4.memory_bytes_per_s, "B/s"),
        "xeon_memory": si(xeon.memory_bytes_per_s, "B/s"),
    }


def utilisation_of_the_run():
    return 400e12 / chip("h100-sxm").peak("bf16")


def bisection_of_the_rack():
    gb200 = chip("gb200")
    half = gb200.scale_up_chips // 2
    return half * gb200.link_bytes_per_s


def rack_facts():
    gb200 = chip("gb200")
    return {
        "chips": f"{gb200.scale_up_chips}",
        "half": f"{gb200.scale_up_chips // 2}",
        "link": si(gb200.link_bytes_per_s, "B/s"),
        "printed": si(2 * gb200.link_bytes_per_s, "B/s"),
        "rack": si(gb200.scale_up_chips * 2 * gb200.link_bytes_per_s, "B/s"),
    }


def bytes_each_chip_sends():
    size = 2048 * 4096 * 2
    return 2 * 7 / 8 * size


def send_facts():
    return {"size": si(2048 * 4096 * 2, "B")}


def bytes_that_fusion_saves():
    elements = 4096 * 14336
    a_kernel = 2 * elements * 2  # read and written, bf16
    return (3 - 1) * a_kernel


def fusion_facts():
    h100 = chip("h100-sxm")
    saved = bytes_that_fusion_saves() / h100.memory_bytes_per_s
    return {
        "each": si(bytes_that_fusion_saves() / 2, "B"),
        "time": si(saved, "s"),
        "starts": si(2 * kernel_start(), "s", 2),
    }


def bytes_of_eight_heads():
    return 8 * 8192**2 * 2


def gain_at_decode():
    llama = model("llama-3.1-8b")
    shape = {
        "heads": llama.num_heads,
        "kv_heads": llama.num_kv_heads,
        "head_dim": llama.head_dim,
        "itemsize": 2,
    }
    naive = naive_traffic(1, 32_768, **shape).total
    shape |= {"block_q": 1, "block_k": 128}
    fused = blocked_traffic(1, 32_768, **shape).total
    return "little" if naive / fused < 2 else "much"


def decode_facts():
    llama = model("llama-3.1-8b")
    shape = {
        "heads": llama.num_heads,
        "kv_heads": llama.num_kv_heads,
        "head_dim": llama.head_dim,
        "itemsize": 2,
    }
    naive = naive_traffic(1, 32_768, **shape)
    return {"cache": si(naive.k + naive.v, "B"), "scores": si(naive.scores, "B")}


def bytes_in_groups_of_128():
    params = model("llama-3.1-8b").num_params
    bits = 4 + 16 / 128
    return params * bits / 8


def group_facts():
    llama = model("llama-3.1-8b")
    return {
        "params": f"{number(llama.num_params / 1e9, 4)} billion",
        "bits": number(8 * bytes_per_element("int4-g128"), 4),
        "time": si(bytes_in_groups_of_128() / chip("h100-sxm").memory_bytes_per_s, "s"),
    }


def tokens_a_second_with_starts():
    llama, h100 = model("llama-3.1-8b"), chip("h100-sxm")
    starts = llama.num_layers * 10 * 3.5e-6
    read = llama.weight_bytes_read(1, "bf16")
    return 1 / (starts + read / h100.memory_bytes_per_s)


def token_facts():
    llama, h100 = model("llama-3.1-8b"), chip("h100-sxm")
    read = llama.weight_bytes_read(1, "bf16")
    return {
        "layers": f"{llama.num_layers}",
        "bytes": si(read, "B"),
        "starts": si(llama.num_layers * 10 * 3.5e-6, "s"),
        "read": si(read / h100.memory_bytes_per_s, "s"),
    }


EXERCISES = (
    Numeric(
        id="gpus-epyc-peak",
        title="a peak, derived",
        label="Peak",
        answer=peak_of_the_epyc,
        unit="TFLOP/s",
        facts=epyc_facts,
        hint="A unit of 512 bits holds 16 numbers of 32 bits, and a fused multiply-add counts twice.",
        solution="{given}`2 × 16 × 2 FLOP` a core and tick; {{cores}} cores; {{clock}}.",
        mistakes=(
            Mistake(
                value=lambda: peak_of_the_epyc() / 2,
                reply="Half of it: you left out the second unit, or counted a multiply-add as one.",
            ),
            Mistake(
                value=lambda: peak_of_the_epyc() * 2,
                reply="You counted threads. Two threads of a core share its units.",
            ),
            Mistake(
                value=lambda: peak_of_the_epyc() * chip("epyc-9755").figure("boost_clock_hz").value / 2.7e9,
                reply="You took {{boost}}, which one busy core may reach. All cores together are promised {{clock}}.",
            ),
            Mistake(
                value=lambda: peak_of_the_epyc() / 4,
                reply="You counted 8 lanes: that is AVX-512 in double precision, or 256 bits.",
            ),
        ),
    ),
    Numeric(
        id="gpus-entry",
        title="the entry-level GPU",
        label="Ratio",
        answer=l4_times_xeon,
        unit="times",
        facts=l4_facts,
        hint="Both have units for small matrices of bf16. Take the dense peak of the GPU.",
        solution="""
            {{l4}} over {{xeon}}. The memories are alike too, {{l4_memory}} and {{xeon_memory}}. What the card wins is
            power: {{l4_watts}} against {{xeon_watts}}.
            """,
        mistakes=(
            Mistake(
                value=lambda: (
                    chip("l4").figure("sparse_peak_flop_per_s.bf16").value / chip("xeon-8480plus").peak("bf16")
                ),
                reply="You took the sparse peak. The weights of a language model are dense.",
            ),
            Mistake(
                value=lambda: chip("l4").peak("bf16") / chip("xeon-8480plus").peak("fp32"),
                reply="You compared bf16 with fp32. The Xeon has matrix units (AMX) for bf16 too.",
            ),
            Mistake(
                value=lambda: chip("l4").peak("fp32") / chip("xeon-8480plus").peak("fp32"),
                reply="That is fp32 on both. The question is about bf16.",
            ),
        ),
    ),
    Numeric(
        id="gpus-utilisation",
        title="whose peak",
        label="MFU",
        answer=utilisation_of_the_run,
        unit="%",
        hint="Which peak could this product reach, if nothing stood in its way?",
        facts=lambda: {"dense": si(chip("h100-sxm").peak("bf16"), "FLOP/s")},
        solution="{given}`400 TFLOP/s` over {{dense}}, the dense peak.",
        mistakes=(
            Mistake(
                value=lambda: 400e12 / chip("h100-sxm").figure("sparse_peak_flop_per_s.bf16").value,
                reply="You divided by the sparse peak, which dense products cannot reach: every MFU comes out halved.",
            ),
            Mistake(
                value=lambda: 400e12 / chip("h100-sxm").peak("tf32"),
                reply="You divided by the TF32 peak; the run is in bf16.",
            ),
        ),
    ),
    Numeric(
        id="gpus-bisection",
        title="cut the rack in half",
        label="Bandwidth",
        answer=bisection_of_the_rack,
        unit="TB/s",
        facts=rack_facts,
        hint="Cut the {{chips}} chips into two halves. What can one half send to the other?",
        solution="""
            {{half}} chips × {{link}}, if the switches hold nothing up. {{rack}} is the sum over all chips, both ways.
            """,
        mistakes=(
            Mistake(
                value=lambda: 2 * chip("gb200").link_bytes_per_s,
                reply="{{printed}} is what one chip sends and receives together.",
            ),
            Mistake(
                value=lambda: chip("gb200").link_bytes_per_s,
                reply="That is one chip. Half of the rack sends at once.",
            ),
            Mistake(
                value=lambda: 2 * bisection_of_the_rack(),
                reply="You counted both directions, or both halves. Asked is what one half can send.",
            ),
            Mistake(
                value=lambda: 4 * bisection_of_the_rack(),
                reply="{{rack}} is what all chips send and receive. A cut is crossed by half of them, one way.",
            ),
        ),
    ),
    Numeric(
        id="gpus-ring",
        title="what one chip sends",
        label="Sent",
        answer=bytes_each_chip_sends,
        unit="MB",
        facts=send_facts,
        hint="A ring all-reduce is a reduce-scatter and an all-gather, each of seven steps.",
        solution="{{size}} in eight parts; seven parts are sent to be added up, and seven to be spread: 2 × 7/8 of it.",
        mistakes=(
            Mistake(
                value=lambda: bytes_each_chip_sends() / 2,
                reply="That is one half of it: after the sums are made, they have to be spread.",
            ),
            Mistake(
                value=lambda: 2 * 2048 * 4096 * 2,
                reply="A chip need not send the part that it keeps: seven steps of an eighth, not eight.",
            ),
            Mistake(
                value=lambda: 7 * 2048 * 4096 * 2,
                reply="You sent the whole array to each of the seven others. The ring adds on the way.",
            ),
        ),
    ),
    Numeric(
        id="gpus-fusion",
        title="three kernels in one",
        label="Saved",
        answer=bytes_that_fusion_saves,
        unit="MB",
        facts=fusion_facts,
        hint="Each kernel reads the array and writes it. Which of these six passes are left?",
        solution="""
            Of three readings and three writings one each is left: two kernels' worth, {{each}} each. On an H100 that is
            {{time}}, beside which the two starts saved, {{starts}}, are small. For a step with few tokens it is the
            other way round.
            """,
        mistakes=(
            Mistake(
                value=lambda: bytes_that_fusion_saves() / 2,
                reply="You saved the writing or the reading. What one kernel hands to the next is written and read.",
            ),
            Mistake(
                value=lambda: bytes_that_fusion_saves() * 1.5,
                reply="That is all that the three move. The fused kernel still reads once and writes once.",
            ),
            Mistake(
                value=lambda: bytes_that_fusion_saves() * 2,
                reply="You counted four bytes an element: bf16 has two.",
            ),
        ),
    ),
    Numeric(
        id="gpus-scores-small",
        title="eight heads",
        label="Memory",
        answer=bytes_of_eight_heads,
        unit="GB",
        hint="One score for each pair of tokens and each head.",
        solution="8 × 8192 × 8192 scores of two bytes. It is {given}`1 GiB` to the byte.",
        mistakes=(
            Mistake(value=lambda: 2 * bytes_of_eight_heads(), reply="You counted four bytes a score; these have two."),
            Mistake(value=lambda: bytes_of_eight_heads() / 8, reply="That is one head. There are eight."),
            Mistake(
                value=lambda: bytes_of_eight_heads() / 2,
                reply="You left out the masked half. A plain kernel stores the whole square and masks it afterwards.",
            ),
            Mistake(
                value=lambda: bytes_of_eight_heads() / GiB * 1e9,
                reply="You divided by 2³⁰: that counts GiB. A GB is 10⁹ bytes.",
            ),
        ),
    ),
    Choice(
        id="gpus-decode",
        title="one token at a time",
        answer=gain_at_decode,
        facts=decode_facts,
        options=(
            Option(
                key="much",
                text="About as much as for a prompt: the scores of all pairs fall away.",
                reply="There are no pairs: one query meets 32,768 keys, so the scores are one row a head.",
            ),
            Option(
                key="little",
                text="Little: nearly all bytes are keys and values, and they have to be read anyway.",
                reply="Right. One row of scores a head is small beside the cache.",
            ),
            Option(
                key="half",
                text="Half: keys are read, but values need not be.",
                reply="Each output is a sum over all values, so they are read too.",
            ),
        ),
        hint="How many queries are there in a decode step of one sequence? How large is what they score?",
        solution="""
            Keys and values of the layer are {{cache}}, its scores in four passes {{scores}}. A kernel for decode helps
            in another way: it divides the *keys* among the multiprocessors, which a single query would leave idle.
            """,
    ),
    Numeric(
        id="gpus-groups",
        title="four bits and a bit",
        label="Weights",
        answer=bytes_in_groups_of_128,
        unit="GB",
        tolerance=0.01,
        facts=group_facts,
        hint="128 weights share one scale of 16 bits.",
        solution="{{bits}} bits a weight, {{params}} weights. An H100 reads them in {{time}}.",
        mistakes=(
            Mistake(
                value=lambda: model("llama-3.1-8b").num_params / 2,
                reply="You forgot the scales: 16 bits for each 128 weights.",
            ),
            Mistake(
                value=lambda: bytes_in_groups_of_128() * 8,
                reply="You counted bits. A byte has eight.",
            ),
            Mistake(
                value=lambda: model("llama-3.1-8b").num_params * 2,
                reply="That is bf16. Here a weight has four bits and its share of a scale.",
            ),
        ),
    ),
    Numeric(
        id="gpus-starts",
        title="a token and its kernels",
        label="Rate",
        answer=tokens_a_second_with_starts,
        unit="tokens/s",
        facts=token_facts,
        hint="Add the time of all starts to that of reading the weights once, and turn it over.",
        solution="{{layers}} layers × 10 kernels start in {{starts}}; {{bytes}} of weights arrive in {{read}}.",
        mistakes=(
            Mistake(
                value=lambda: chip("h100-sxm").memory_bytes_per_s / model("llama-3.1-8b").weight_bytes_read(1, "bf16"),
                reply="That is the roofline, without the starts.",
            ),
            Mistake(
                value=lambda: (
                    1
                    / (
                        model("llama-3.1-8b").num_layers * 10 * 3.5e-6
                        + model("llama-3.1-8b").weight_bytes("bf16") / chip("h100-sxm").memory_bytes_per_s
                    )
                ),
                reply="You read the table of embeddings too. A token takes one row of it.",
            ),
            Mistake(
                value=lambda: 1 / (model("llama-3.1-8b").num_layers * 10 * 3.5e-6),
                reply="That is the starts alone: the weights have to arrive too.",
            ),
        ),
    ),
)


# ---- The memo ------------------------------------------------------------------------------------------------------


def time_of_a_token_on_the_xeon():
    xeon = chip("xeon-8480plus")
    read = model("llama-3.1-8b").weight_bytes_read(1, "bf16")
    return read / xeon.memory_bytes_per_s


def memo_facts():
    llama, xeon = model("llama-3.1-8b"), chip("xeon-8480plus")
    h100, l4 = chip("h100-sxm"), chip("l4")
    read = llama.weight_bytes_read(1, "bf16")
    return {
        "xeon": si(read / xeon.memory_bytes_per_s, "s"),
        "narrow": si(llama.weight_bytes_read(1, "int8-channel") / xeon.memory_bytes_per_s, "s"),
        "l4": si(read / l4.memory_bytes_per_s, "s"),
        "h100": si(read / h100.memory_bytes_per_s, "s"),
        "prompt": si(llama.flop(1024) / xeon.peak("bf16"), "s"),
        "prompt_gpu": si(llama.flop(1024) / h100.peak("bf16"), "s"),
        "ridge": number(ridge(xeon, "bf16")),
    }


MEMO = Memo(
    id="gpus-memo",
    title="half a page on the servers at hand",
    answer=time_of_a_token_on_the_xeon,
    unit="ms",
    facts=memo_facts,
    rubric=(
        "It gives the least time of a token on the Xeon, from the bytes of the weights and the bandwidth.",
        "It says what narrower weights make of it, and holds both against the promise of {given}`50 ms`.",
        "It treats the prompt apart: compute-bound, with matrix units or without.",
        "It compares with an entry-level and a large GPU by the resource that binds, and not by one factor.",
        "It says what would change the answer: load, longer contexts, a larger model, price and power.",
    ),
    hint="Which resource binds at a few users, and what does each chip have of it? Then do the same for the prompt.",
    solution="""
        At a few users the weights set the pace. A Xeon 8480+ reads them in {{xeon}} a token in bf16, which leaves no
        room under a promise of {given}`50 ms`, since no memory gives all of its rate; at 8 bits it is {{narrow}}. Two
        sockets halve that if the engine keeps each half of the weights beside its own cores. An L4 needs {{l4}}: it is
        no faster here. An H100 needs {{h100}}. For
        a prompt of 1,024 tokens the Xeon computes for {{prompt}} at its bf16 peak, which needs software that uses the
        matrix units; the H100 takes {{prompt_gpu}}. So: serve internal users from the machines we own, at 8 bits, and
        measure the first token. Up to about {{ridge}} rows more users cost the layers of the Xeon nothing in bf16, but
        caches and prompts come on top. Move to a GPU when the promise tightens, when contexts or the model grow, or
        when the load fills the machines: then compare cost a token, power included, and not peaks.
        """,
)


# ---- What is needed before -----------------------------------------------------------------------------------------


def ridge_of_the_b200():
    return ridge(chip("b200"), "bf16")


def fewer_bytes_in_larger_tiles():
    small, large = 64, 256
    return large / small


def used_of_a_line():
    return 4 / 64


REVIEW = (
    Numeric(
        id="gpus-review-ridge",
        title="a ridge",
        label="Ridge",
        answer=ridge_of_the_b200,
        unit="FLOP/byte",
        facts=lambda: {
            "peak": si(chip("b200").peak("bf16"), "FLOP/s"),
            "rate": si(chip("b200").memory_bytes_per_s, "B/s"),
        },
        hint="Peak over bandwidth, from the catalogue.",
        solution="{{peak}}, dense, over {{rate}}. Nearly the H100's: both grew alike.",
        mistakes=(
            Mistake(
                value=lambda: 2 * ridge_of_the_b200(),
                reply="You took the sparse peak, or that of FP8. Dense bf16 is half.",
            ),
            Mistake(
                value=lambda: chip("b200").peak("fp4") / chip("b200").memory_bytes_per_s,
                reply="That is FP4. The question is about bf16.",
            ),
        ),
    ),
    Numeric(
        id="gpus-review-tile",
        title="larger tiles",
        label="Factor",
        answer=fewer_bytes_in_larger_tiles,
        unit="times",
        hint="How often is an element used while it is in fast memory?",
        solution="Each element of A and B that is loaded is used as many times as the tile is wide: 256 instead of 64.",
        mistakes=(
            Mistake(
                value=lambda: fewer_bytes_in_larger_tiles() ** 2,
                reply="That is what the tile grows by. Traffic falls with its side, the square root of that.",
            ),
            Mistake(
                value=lambda: fewer_bytes_in_larger_tiles() ** 0.5,
                reply="You took the root of the side. The side is already the root of the memory.",
            ),
        ),
    ),
    Numeric(
        id="gpus-review-line",
        title="one number of a line",
        label="Share",
        answer=used_of_a_line,
        unit="%",
        hint="What moves is a whole line.",
        solution="{given}`4 bytes` of 64: fifteen sixteenths of the bandwidth carry what nobody asked for.",
        mistakes=(
            Mistake(value=lambda: 1 / 64, reply="You counted one byte. A number in fp32 has four."),
            Mistake(value=lambda: 8 / 64, reply="That is fp64. The numbers here have four bytes."),
        ),
    ),
)


# ---- The function to write -----------------------------------------------------------------------------------------


def merged(most1, total1, sum1, most2, total2, sum2):
    """Attention over two blocks, each summed up apart."""
    most = max(most1, most2)
    scale1 = math.exp(most1 - most)
    scale2 = math.exp(most2 - most)
    total = total1 * scale1 + total2 * scale2
    return (sum1 * scale1 + sum2 * scale2) / total


def _draw_blocks(generator):
    case = {}
    for block in ("1", "2"):
        case[f"most{block}"] = round(generator.uniform(-3, 3), 2)
        case[f"total{block}"] = round(generator.uniform(1, 4), 2)
        case[f"sum{block}"] = round(generator.uniform(0.5, 9), 2)
    return case


def _scales(most1, most2):
    most = max(most1, most2)
    return math.exp(most1 - most), math.exp(most2 - most)


def _without_scaling(most1, total1, sum1, most2, total2, sum2):
    return (sum1 + sum2) / (total1 + total2)


def _mean_of_outputs(most1, total1, sum1, most2, total2, sum2):
    return (sum1 / total1 + sum2 / total2) / 2


def _scaled_the_wrong_way(most1, total1, sum1, most2, total2, sum2):
    a, b = _scales(most1, most2)
    return (sum1 / a + sum2 / b) / (total1 / a + total2 / b)


def _totals_unscaled(most1, total1, sum1, most2, total2, sum2):
    a, b = _scales(most1, most2)
    return (sum1 * a + sum2 * b) / (total1 + total2)


def _never_divided(most1, total1, sum1, most2, total2, sum2):
    a, b = _scales(most1, most2)
    return sum1 * a + sum2 * b


def _only_the_first_scaled(most1, total1, sum1, most2, total2, sum2):
    a, _ = _scales(most1, most2)
    return (sum1 * a + sum2) / (total1 * a + total2)


def _divided_too_early(most1, total1, sum1, most2, total2, sum2):
    a, b = _scales(most1, most2)
    return (sum1 / total1 * a + sum2 / total2 * b) / (a + b)


CODE = (
    Code(
        id="gpus-merge",
        title="two blocks of keys, merged",
        answer=merged,
        draw=_draw_blocks,
        hint="""
            Both blocks must be measured from the same maximum. Which one is it, and what does exp(a) become when you
            write it from there?
            """,
        solution="""
            A block was summed with exp(s - most) of its own. The common maximum is the larger of the two, and
            exp(s - most1) exp(most1 - most) = exp(s - most): so each total and each sum is multiplied by
            exp(its own maximum - the common one). Then they add, and one division ends it.
            """,
        mutants=(
            Mutant(
                function=_without_scaling,
                reply="You added as if both blocks had been summed from the same maximum.",
            ),
            Mutant(
                function=_mean_of_outputs,
                reply="You took the mean of two outputs. A block with larger scores weighs more.",
            ),
            Mutant(
                function=_scaled_the_wrong_way,
                reply="You scaled the wrong way round: what lies below the common maximum shrinks, exp(own - common).",
            ),
            Mutant(
                function=_totals_unscaled,
                reply="You scaled the sums and not the totals. Both were made with the same exponentials.",
            ),
            Mutant(
                function=_never_divided,
                reply="You left out the last division: the weights have to add up to one.",
            ),
            Mutant(
                function=_only_the_first_scaled,
                reply="You scaled the first block only, as if the second held the maximum. It need not.",
            ),
            Mutant(
                function=_divided_too_early,
                reply="You divided each block by its own total, and then weighed them by their maxima alone.",
            ),
        ),
    ),
)

QUESTIONS = (*GUESSES, *EXERCISES, MEMO, *REVIEW, *CODE)
