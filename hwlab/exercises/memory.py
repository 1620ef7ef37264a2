"""Chapter 3, the memory hierarchy: guesses, exercises, a memo, a review of chapter 2, and a cache to write."""

from __future__ import annotations

from functools import cache
from itertools import islice

from hwlab.costs.caches import Cache, product_accesses, replay
from hwlab.costs.energy import byte_joules, mac_joules
from hwlab.costs.roofline import arithmetic_intensity, matmul_flop, ridge
from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.specs.technology import memory
from hwlab.units import KiB

from .base import Choice, Code, Memo, Mistake, Mutant, Numeric, Option, Prediction

# ---- Guesses -------------------------------------------------------------------------------------------------------


def wait_for_hbm():
    hbm = memory("hbm2e")
    return hbm.figure("latency_s", "H100 PCIe").value


@cache
def lines_fetched(k, order):
    """Misses of a product of 4 x k and k x 16 in 64 lines of four elements, each line anywhere."""
    accesses = product_accesses(4, k, 16, order=order)
    return replay(accesses, Cache(num_lines=64, ways=64, line_bytes=16)).misses


def lines_once(k):
    return (4 * k + k * 16 + 4 * 16) // 4


def lines_by_columns_and_by_rows():
    by_columns = lines_fetched(64, "mnk")
    by_rows = lines_fetched(64, "mkn")
    return by_columns / by_rows


def lines_left_of_a_column():
    cache = Cache(num_lines=512, ways=8, line_bytes=64)
    for row in range(1024):
        cache.touch(row * 1024 * 8)
    return sum(line is not None for line in cache.places)


def multiplications_for_a_weight():
    weight = 2 * byte_joules("hbm").high
    return weight / mac_joules("bf16").low


def hbm_facts():
    pcie = chip("h100-pcie")
    clock = pcie.figure("clock_hz").value
    per_core = pcie.peak("bf16") / pcie.counts["sms"]
    return {
        "ticks": number(wait_for_hbm() * clock),
        "flop": si(wait_for_hbm() * per_core, "FLOP"),
        "near": si(memory("sram").figure("latency_s", "H100 PCIe L1").value, "s"),
    }


def cache_facts():
    return {
        "columns": f"{lines_fetched(64, 'mnk'):,}",
        "rows": f"{lines_fetched(64, 'mkn'):,}",
        "once": f"{lines_once(64)}",
    }


def weight_facts():
    hbm, mac = byte_joules("hbm"), mac_joules("bf16")
    return {
        "low": si(2 * hbm.low, "J"),
        "high": si(2 * hbm.high, "J"),
        "mac": si(mac.low, "J"),
        "least": number(2 * hbm.low / mac.low),
    }


GUESSES = (
    Prediction(
        id="memory-hbm-latency",
        title="before you read on",
        answer=wait_for_hbm,
        unit="ns",
        low=1,
        high=10_000,
        facts=hbm_facts,
        reveal="""
            That is about {{ticks}} ticks of its clock. Meanwhile the tensor cores of that one multiprocessor could have
            done {{flop}}. Its own first-level cache answers in {{near}}.
            """,
    ),
    Prediction(
        id="memory-cache-lines",
        title="what a loop order fetches",
        answer=lines_by_columns_and_by_rows,
        unit="times",
        low=1,
        high=1000,
        facts=cache_facts,
        reveal="""
            {{columns}} lines against {{rows}}. The first program takes one number of four from each line of the
            64 × 16 matrix before the line has to leave; the second takes all four. If each line had to come only once,
            {{once}} would do.
            """,
    ),
    Prediction(
        id="memory-column-lines",
        title="what is left of a column",
        answer=lines_left_of_a_column,
        unit="lines",
        low=1,
        high=1000,
        reveal="""
            Rows of this matrix lie a multiple of the cache's sets apart, so all lines of a column belong in one set,
            and a set has eight places. The rest of the cache stays empty.
            """,
    ),
    Prediction(
        id="memory-energy-weight",
        title="what a weight costs to bring",
        answer=multiplications_for_a_weight,
        unit="times",
        low=1,
        high=10_000,
        facts=weight_facts,
        reveal="""
            Two bytes out of HBM take {{low}} to {{high}}; the multiplication and the addition take {{mac}}. By the
            lower figure it is {{least}} times.
            """,
    ),
)

# ---- Exercises -----------------------------------------------------------------------------------------------------


def lines_of_half_the_rows():
    return lines_fetched(32, "mnk")


def half_facts():
    before, after = lines_fetched(64, "mnk"), lines_of_half_the_rows()
    return {
        "before": f"{before:,}",
        "a": f"{4 * 32 // 4}",
        "b": f"{32 * 16 // 4}",
        "c": f"{4 * 16 // 4}",
        "pass": f"{32 + 32 // 4 + 1}",
        "fewer": number(before / after, 2),
    }


def bytes_in_flight():
    pcie = chip("h100-pcie")
    whole = pcie.memory_bytes_per_s * wait_for_hbm()
    return whole / pcie.counts["sms"]


def flight_facts():
    pcie = chip("h100-pcie")
    return {
        "rate": si(pcie.memory_bytes_per_s, "B/s"),
        "wait": si(wait_for_hbm(), "s"),
        "whole": si(pcie.memory_bytes_per_s * wait_for_hbm(), "B"),
        "cores": f"{pcie.counts['sms']}",
        "lines": number(bytes_in_flight() / 128, 2),
        "line": si(128, "B"),
    }


def bandwidth_of_twelve_channels():
    return 12 * 6400e6 * 8


def channel_facts():
    return {
        "channel": si(6400e6 * 8, "B/s"),
        "width": si(8, "B"),
        "catalogue": si(chip("epyc-9755").memory_bytes_per_s, "B/s", 4),
    }


def bandwidth_of_a_stack():
    hbm = memory("hbm4")
    pins = hbm.figure("bus_width_bits").value
    rate = hbm.figure("data_rate_bits_per_s_per_pin").value
    return pins * rate / 8


def stack_facts():
    hbm = memory("hbm4")
    ddr = memory("ddr5").figure("bandwidth_bytes_per_s", "6400").value
    return {
        "pins": f"{number(hbm.figure('bus_width_bits').value, 4)}",
        "rate": si(hbm.figure("data_rate_bits_per_s_per_pin").value, "bit/s"),
        "channels": number(bandwidth_of_a_stack() / ddr, 2),
    }


def bytes_to_the_same_set():
    sets = 48 * KiB // 64 // 12
    return sets * 64


def kind_that_ways_cannot_cure():
    accesses = product_accesses(4, 64, 16)
    found = replay(accesses, Cache(64, 64, 16))
    kinds = ("compulsory", "capacity", "conflict")
    return max(kinds, key=lambda kind: getattr(found, kind))


def kind_facts():
    counts = replay(product_accesses(4, 64, 16), Cache(64, 64, 16))
    return {"capacity": f"{counts.capacity:,}", "misses": f"{counts.misses:,}", "new": f"{counts.compulsory:,}"}


def side_that_hides_hbm():
    return 2 * ridge(chip("h100-pcie"), "bf16")


def side_facts():
    pcie = chip("h100-pcie")
    side = side_that_hides_hbm()
    return {
        "peak": si(pcie.peak("bf16"), "FLOP/s"),
        "rate": si(pcie.memory_bytes_per_s, "B/s"),
        "ridge": number(ridge(pcie, "bf16"), 4),
        "three": si(3 * side**2 * 2, "B"),
        "l1": si(pcie.sram_bytes["l1"] / pcie.counts["sms"], "B"),
        "l2": si(pcie.sram_bytes["l2"], "B"),
    }


def joules_of_the_weights():
    llama = model("llama-3.1-8b")
    weights = llama.weight_bytes_read(1, "bf16")
    return weights * byte_joules("hbm").low


def joule_facts():
    llama = model("llama-3.1-8b")
    return {
        "weights": si(llama.weight_bytes_read(1, "bf16"), "B"),
        "byte": si(byte_joules("hbm").low, "J"),
        "arithmetic": si(llama.flop_per_token(0) / 2 * mac_joules("bf16").low, "J"),
    }


def break_even_in_int8():
    flop = mac_joules("int8").low / 2
    return byte_joules("hbm").low / flop


def even_facts():
    return {
        "byte": si(byte_joules("hbm").low, "J", 4),
        "mac": si(mac_joules("int8").low, "J"),
        "bf16": number(byte_joules("hbm").low / (mac_joules("bf16").low / 2)),
    }


def time_through_an_mi300x():
    gpu = chip("mi300x")
    return gpu.memory_bytes / gpu.memory_bytes_per_s


def through_facts():
    gpu = chip("mi300x")
    return {
        "holds": si(gpu.memory_bytes, "B"),
        "rate": si(gpu.memory_bytes_per_s, "B/s"),
        "tokens": number(1 / time_through_an_mi300x()),
    }


EXERCISES = (
    Numeric(
        id="memory-cache-rows",
        title="half the rows, in the same cache",
        label="Lines fetched",
        answer=lines_of_half_the_rows,
        unit="lines",
        tolerance=0.005,
        facts=half_facts,
        hint="How many lines does one pass of the innermost loop walk along? And B as a whole: does it fit?",
        solution="""
            One pass walks along 32 lines of B and 8 of A, and stays in one of C: {{pass}} lines, which fit. So the next
            three columns find their lines still there. All of B, {{b}} lines, does not fit: it comes anew for each of
            four rows of A. That is 4 × {{b}} + {{a}} + {{c}}, and {{fewer}} times fewer lines for half the work.
            """,
        mistakes=(
            Mistake(
                value=lambda: lines_fetched(64, "mnk") / 2,
                reply="That is half as many. But does a column of B still have to leave before its neighbours are due?",
            ),
            Mistake(
                value=lambda: lines_once(32),
                reply="That is each line once. B alone has {{b}} lines, and is wanted again for each row of A.",
            ),
            Mistake(
                value=lambda: 4 * lines_fetched(32, "mnk"),
                reply="You counted numbers, or four lines for one. A line brings four numbers at once.",
            ),
        ),
    ),
    Choice(
        id="memory-three-cs",
        title="more ways for the same cache",
        options=(
            Option(
                key="conflict",
                text="Most misses vanish: more ways, fewer conflicts.",
                reply="Its lines may go anywhere already. How many of its misses are conflicts?",
            ),
            Option(
                key="compulsory",
                text="Only the first use of each line still misses.",
                reply="That would be {{new}} lines. Does a column of B fit, with the row of A?",
            ),
            Option(
                key="capacity",
                text="Nothing changes: it is too small, however its places are dealt out.",
                reply="Yes: {{capacity}} of {{misses}} misses are of capacity, and the rest are first uses.",
            ),
        ),
        answer=kind_that_ways_cannot_cure,
        facts=kind_facts,
        hint="Unfold the arithmetic below [the last step of that scene](#hw:cache:v1:scene=mnk;at=88).",
        solution="""
            A conflict is what a cache of the same size with free choice of place would have kept. This one has free
            choice and still misses {{misses}} times, {{capacity}} of them since more lines come by than it holds. Only
            a larger cache, or another order, helps.
            """,
    ),
    Numeric(
        id="memory-same-set",
        title="how far apart two lines collide",
        label="Distance",
        answer=bytes_to_the_same_set,
        unit="B",
        tolerance=0.005,
        facts=lambda: {"sets": f"{48 * KiB // 64 // 12}", "lines": f"{48 * KiB // 64}", "line": si(64, "B")},
        hint="How many lines does it hold, and how many sets of twelve do they make?",
        solution="""
            {{lines}} lines in sets of 12 are {{sets}} sets. Lines whose numbers differ by a multiple of {{sets}} share
            one: {{sets}} lines of {{line}}. A matrix whose rows are that long has each column in one set.
            """,
        mistakes=(
            Mistake(
                value=lambda: 48 * KiB,
                reply="That is the whole cache. It would be right if each line had one place only.",
            ),
            Mistake(
                value=lambda: 64 * 12,
                reply="That is the size of a set. Lines side by side go to different sets.",
            ),
            Mistake(
                value=lambda: 48 * KiB // 64 // 12,
                reply="That is the number of sets. Each of the lines between is {{line}}.",
            ),
        ),
    ),
    Numeric(
        id="memory-in-flight",
        title="bytes on their way",
        label="For each multiprocessor",
        answer=bytes_in_flight,
        unit="kB",
        facts=flight_facts,
        hint="What has been asked for and has not come is the rate times the wait. Then divide by the multiprocessors.",
        solution="""
            {{rate}} for {{wait}} is {{whole}} on the way at any moment, and a {{cores}}th of it for each
            multiprocessor: {{lines}} lines of {{line}}. A program that asks for one number and waits for it gets a
            small part of that.
            """,
        mistakes=(
            Mistake(
                value=lambda: bytes_in_flight() * chip("h100-pcie").counts["sms"],
                reply="That is the whole chip. It has {{cores}} multiprocessors.",
            ),
            Mistake(
                value=lambda: bytes_in_flight() * 8,
                reply="Those are bits. The bandwidth is in bytes.",
            ),
            Mistake(
                value=lambda: (
                    bytes_in_flight() / wait_for_hbm() * memory("sram").figure("latency_s", "H100 PCIe L2").value
                ),
                reply="You took the wait for the second-level cache. HBM takes {{wait}}.",
            ),
        ),
    ),
    Numeric(
        id="memory-ddr5-channels",
        title="the memory of a server",
        label="Bandwidth of the socket",
        answer=bandwidth_of_twelve_channels,
        unit="GB/s",
        tolerance=0.005,
        facts=channel_facts,
        hint="A channel moves 64 bits at each transfer, and 6400 MT/s is 6,400 million transfers a second.",
        solution="""
            One channel gives {{width}} × 6.4 × 10⁹ a second = {{channel}}, twelve give twelve times as much:
            {{catalogue}}, as in the catalogue.
            """,
        mistakes=(
            Mistake(value=lambda: 6400e6 * 8, reply="That is one channel. There are twelve."),
            Mistake(value=lambda: 8 * 6400e6 * 8, reply="You counted eight channels, as servers of 2023 had."),
            Mistake(value=lambda: 12 * 6400e6 * 64, reply="Those are bits. Eight of them are a byte."),
            Mistake(
                value=lambda: 2 * 12 * 6400e6 * 8,
                reply="6400 MT/s counts both edges of the clock already: the D of DDR is in it.",
            ),
        ),
    ),
    Numeric(
        id="memory-hbm4-stack",
        title="what a wide bus gives",
        label="Bandwidth of a stack",
        answer=bandwidth_of_a_stack,
        unit="TB/s",
        facts=stack_facts,
        hint="Pins times bits a second, and eight bits are a byte.",
        solution="""
            {{pins}} pins at {{rate}}, over 8. That is as much as {{channels}} channels of DDR5-6400, each of 64 pins,
            and each pin is not much faster: the width does it.
            """,
        mistakes=(
            Mistake(
                value=lambda: bandwidth_of_a_stack() / 2, reply="You took 1,024 pins, as HBM3 has. HBM4 has {{pins}}."
            ),
            Mistake(value=lambda: bandwidth_of_a_stack() * 8, reply="Those are bits. Divide by eight."),
            Mistake(
                value=lambda: bandwidth_of_a_stack() * 2,
                reply="The rate of a pin counts both edges of the clock already.",
            ),
        ),
    ),
    Numeric(
        id="memory-tile-side",
        title="how large a tile hides HBM",
        label="Side of the tile",
        answer=side_that_hides_hbm,
        unit="rows",
        tolerance=0.01,
        facts=side_facts,
        hint="The ridge first. Then: in elements of s bytes a tile of side b serves b/s FLOP a byte.",
        solution="""
            The ridge is {{peak}} over {{rate}}, or {{ridge}} FLOP a byte, and twice that is the side. Three such tiles
            take {{three}}: far too much for a first-level cache of {{l1}}, and no trouble for the second level with its
            {{l2}}. That is why a product is cut twice.
            """,
        mistakes=(
            Mistake(
                value=lambda: ridge(chip("h100-pcie"), "bf16"),
                reply="That is the ridge. In two-byte elements a byte serves half the side in FLOP.",
            ),
            Mistake(
                value=lambda: ridge(chip("h100-pcie"), "bf16") / 2,
                reply="You divided by the bytes of an element. A larger element needs a larger tile.",
            ),
            Mistake(
                value=lambda: 2 * ridge(chip("h100-sxm"), "bf16"),
                reply="That is the SXM module, with HBM3. The PCIe card has the figures above.",
            ),
        ),
    ),
    Numeric(
        id="memory-token-joules",
        title="what a token takes out of HBM",
        label="Energy of the weights",
        answer=joules_of_the_weights,
        unit="mJ",
        tolerance=0.03,
        facts=joule_facts,
        hint="All weights that one token reads, in bytes, times the energy of a byte.",
        solution="""
            {{weights}} × {{byte}}. The arithmetic on them takes {{arithmetic}}: nearly all the energy is transport. A
            batch shares it, as it shares the time.
            """,
        mistakes=(
            Mistake(
                value=lambda: 8 * joules_of_the_weights(),
                reply="You took the energy of a byte for each bit, or a batch of eight.",
            ),
            Mistake(
                value=lambda: joules_of_the_weights() / 2,
                reply="You gave each weight one byte. In bf16 it takes two.",
            ),
            Mistake(
                value=lambda: model("llama-3.1-8b").weight_bytes("bf16") * byte_joules("hbm").low,
                reply="You brought the table of embeddings too. A token takes one row of it.",
            ),
            Mistake(
                value=lambda: model("llama-3.1-8b").flop_per_token(0) / 2 * mac_joules("bf16").low,
                reply="That is the arithmetic. The bytes cost far more.",
            ),
            Mistake(
                value=lambda: joules_of_the_weights() / byte_joules("hbm").low * byte_joules("hbm").high,
                reply="You took the upper figure. The lower one is asked for.",
            ),
        ),
    ),
    Numeric(
        id="memory-int8-even",
        title="where arithmetic costs as much as its bytes",
        label="Break-even in INT8",
        answer=break_even_in_int8,
        unit="FLOP/byte",
        facts=even_facts,
        hint="A multiply-accumulate is two operations. How many of them cost as much as one byte?",
        solution="""
            One byte costs {{byte}}, one multiply-accumulate {{mac}}, which is two operations. In bf16 it is {{bf16}}:
            the cheaper the arithmetic, the more of it a byte must serve before moving is not the larger bill.
            """,
        mistakes=(
            Mistake(
                value=lambda: break_even_in_int8() / 2,
                reply="You counted multiply-accumulates. Each is two operations.",
            ),
            Mistake(
                value=lambda: byte_joules("hbm").low / (mac_joules("bf16").low / 2),
                reply="That is bf16. In INT8 a multiply-accumulate takes {{mac}}.",
            ),
            Mistake(
                value=lambda: byte_joules("dram").low / (mac_joules("int8").low / 2),
                reply="That is DRAM on modules. HBM is asked for.",
            ),
        ),
    ),
    Numeric(
        id="memory-once-through",
        title="the price of being full",
        label="Least time between two tokens",
        answer=time_through_an_mi300x,
        unit="ms",
        facts=through_facts,
        hint="Each token reads all weights once. How long does the chip take to read all that it holds?",
        solution="""
            {{holds}} over {{rate}}: at most {{tokens}} tokens a second for one user, for any dense model of that size.
            More capacity at the same bandwidth makes it slower, not faster.
            """,
        mistakes=(
            Mistake(
                value=lambda: time_through_an_mi300x() * 8,
                reply="You took the bandwidth in bits, or the capacity.",
            ),
            Mistake(
                value=lambda: chip("h100-sxm").memory_bytes / chip("h100-sxm").memory_bytes_per_s,
                reply="That is the H100.",
            ),
            Mistake(
                value=lambda: 192e9 / chip("mi300x").memory_bytes_per_s,
                reply="You read GiB as GB: the capacity is 192 × 2³⁰ bytes.",
            ),
        ),
    ),
)

# ---- The memo ------------------------------------------------------------------------------------------------------


@cache
def lines_a_step(order):
    """Lines fetched for a multiply-add at first, of 1024 x 1024 matrices in float64, by 32 KiB in 8 ways."""
    accesses = islice(product_accesses(1024, 1024, 1024, order=order, itemsize=8), 3 * 1024 * 16)
    counts = replay(accesses, Cache(num_lines=512, ways=8, line_bytes=64))
    return 3 * counts.misses / counts.accesses


def gain_of_the_loop_order():
    return lines_a_step("mnk") / lines_a_step("mkn")


def memo_facts():
    plain, large = chip("epyc-7742"), chip("epyc-7773x")
    return {
        "columns": number(lines_a_step("mnk"), 3),
        "rows": number(lines_a_step("mkn"), 2),
        "gain": number(gain_of_the_loop_order(), 2),
        "plain": si(plain.sram_bytes["l3"] / 16, "B"),  # slices of 16 MiB, each for four cores
        "large": si(large.sram_bytes["l3"] / 8, "B"),  # of 96 MiB, each for eight
        "matrices": si(3 * 1024 * 1024 * 8, "B"),
    }


MEMO = Memo(
    id="memory-memo",
    title="half a page for the person who pays",
    answer=gain_of_the_loop_order,
    unit="times",
    facts=memo_facts,
    rubric=(
        "It says which kind of miss the program suffers from, and in which level.",
        "It says what the other loop order saves, as a number, and that the result is the same but for rounding.",
        "It says what the larger cache keeps, and from which size of matrix on it keeps no more.",
        "It names tiles, or a library that has them, as the next step, and why.",
        "It says what to measure before money is spent, and what the count of lines leaves out.",
    ),
    hint="Count lines first, for 512 of them in 8 ways. Which level misses, and would a larger third one cure it?",
    solution="""
        With $k$ innermost each multiply-add fetches {{columns}} lines into the first level, since a column's lines
        share one set; with $n$ innermost {{rows}}. Turning two loops round saves {{gain}} times the lines and costs an
        afternoon; sums come in another order, so the last bits may differ. Of the larger third level a core sees one
        slice, {{large}} instead of {{plain}}, so for one core it would keep all three matrices, {{matrices}}, where now
        it does not: fewer trips to memory, up to matrices of about twice the side. But the misses that set the pace are
        conflicts of the first level, and those stay. The next step is tiles, which a BLAS has for every level; it also
        uses the vector units that the loops leave idle. Before spending: time one product in both orders and with the
        library, on one core and on all. The count leaves out prefetching, the translation of addresses and what other
        cores do to the shared levels, so expect another factor than {{gain}}.
        """,
)

# ---- What chapter 2 taught -----------------------------------------------------------------------------------------


def intensity_of_16_rows():
    return arithmetic_intensity(16, 8192, 8192, dtype="bf16")


def ridge_of_the_a100():
    return ridge(chip("a100-sxm-80gb"), "bf16")


def work_of_a_step():
    llama = model("llama-3.1-70b")
    return 8 * 2 * llama.num_params


REVIEW = (
    Numeric(
        id="memory-review-intensity",
        title="a few rows against a large matrix",
        label="Arithmetic intensity",
        answer=intensity_of_16_rows,
        unit="FLOP/byte",
        hint="FLOP over bytes; nearly all bytes are weights.",
        solution="About 2m/s with m = 16 and s = 2; the rows in and out take a little off.",
        mistakes=(
            Mistake(
                value=lambda: 2 * 16,
                reply="That is 2m. Each weight takes two bytes.",
            ),
            Mistake(
                value=lambda: 8192 / 3,
                reply="That is a square product. Here one side is 16.",
            ),
        ),
    ),
    Numeric(
        id="memory-review-ridge",
        title="the chip's own number",
        label="Ridge in bf16",
        answer=ridge_of_the_a100,
        unit="FLOP/byte",
        facts=lambda: {
            "peak": si(chip("a100-sxm-80gb").peak("bf16"), "FLOP/s"),
            "rate": si(chip("a100-sxm-80gb").memory_bytes_per_s, "B/s", 4),
        },
        hint="Dense peak over bandwidth.",
        solution="{{peak}} over {{rate}}.",
        mistakes=(
            Mistake(value=lambda: 2 * ridge_of_the_a100(), reply="You took the peak with sparsity."),
            Mistake(value=lambda: ridge_of_the_a100() / 8, reply="You divided by bits. The bandwidth is in bytes."),
        ),
    ),
    Numeric(
        id="memory-review-flop",
        title="the work of a step",
        label="Work",
        answer=work_of_a_step,
        unit="TFLOP",
        tolerance=0.03,
        hint="Two FLOP a parameter and token.",
        solution="2NT with T = 8.",
        mistakes=(
            Mistake(value=lambda: work_of_a_step() / 2, reply="A multiply-add is two FLOP."),
            Mistake(value=lambda: work_of_a_step() / 8, reply="That is one token. The step has eight."),
            Mistake(
                value=lambda: matmul_flop(8, 8192, 8192),
                reply="That is one matrix of 8192 × 8192. The model has 70 billion parameters.",
            ),
        ),
    ),
)

# ---- A cache to write ----------------------------------------------------------------------------------------------


def lru_misses(lines, num_sets, ways):
    """Lines fetched when `lines` are used one by one."""
    held, misses = {}, 0
    for line in lines:
        here = held.setdefault(line % num_sets, [])
        if line in here:
            here.remove(line)  # it will be the newest
        else:
            misses += 1
            if len(here) == ways:
                here.pop(0)  # the oldest
        here.append(line)
    return misses


def _draw_lines(generator):
    num_sets, ways = generator.choice((1, 2, 4)), generator.randint(2, 4)
    lines, newest = [], 0
    for _ in range(generator.randint(40, 80)):
        back = min(generator.randint(0, 14), newest)
        newest = max(newest, newest + (generator.random() < 0.4))
        lines.append(newest - back if generator.random() < 0.8 else newest)
    return {"lines": lines, "num_sets": num_sets, "ways": ways}


def _mutant(lines, num_sets, ways, *, refresh=True, drop=0, counts_fills=True, index=None):
    held, misses = {}, 0
    for line in lines:
        here = held.setdefault(line % num_sets if index is None else index(line, num_sets), [])
        if line in here:
            if refresh:
                here.remove(line)
                here.append(line)
            continue
        if len(here) >= ways:
            here.pop(drop)
            misses += not counts_fills
        misses += counts_fills
        here.append(line)
    return misses


CODE = (
    Code(
        id="memory-lru-misses",
        title="a cache in a dozen lines",
        answer=lru_misses,
        draw=_draw_lines,
        hint="""
            One list for each set, the oldest line in front. A line that is used moves to the end, whether it was there
            or not.
            """,
        solution="""
            Line l belongs in set l mod `num_sets`. There it is looked for; if it is missing it is fetched, and when all
            `ways` places are taken the first of the list leaves. In either case it becomes the newest.
            """,
        mutants=(
            Mutant(
                function=lambda lines, num_sets, ways: _mutant(lines, num_sets, ways, refresh=False),
                reply="Yours throws out what came first, not what has lain unused longest: a hit must renew its line.",
            ),
            Mutant(
                function=lambda lines, num_sets, ways: _mutant(lines, num_sets, ways, drop=-1),
                reply="Yours throws out the newest line. The oldest has to leave.",
            ),
            Mutant(
                function=lambda lines, num_sets, ways: _mutant(lines, 1, num_sets * ways),
                reply="You let a line go anywhere. It belongs in the set of its number modulo `num_sets`.",
            ),
            Mutant(
                function=lambda lines, num_sets, ways: _mutant(
                    lines, num_sets, ways, index=lambda line, sets: line // ways % sets
                ),
                reply="You put neighbours into one set. Lines side by side go to different ones.",
            ),
            Mutant(
                function=lambda lines, num_sets, ways: _mutant(lines, num_sets, ways + 1),
                reply="You keep one line too many: make room before the new one comes in.",
            ),
            Mutant(
                function=lambda lines, num_sets, ways: _mutant(lines, num_sets, ways, counts_fills=False),
                reply="You counted lines that leave. The first ones come into empty places, and are fetched too.",
            ),
            Mutant(
                function=lambda lines, num_sets, ways: len(set(lines)),
                reply="You counted each line once. One that has left comes again.",
            ),
            Mutant(
                function=lambda lines, num_sets, ways: len(lines) - lru_misses(lines, num_sets, ways),
                reply="You counted the hits.",
            ),
        ),
    ),
)

QUESTIONS = (*GUESSES, *EXERCISES, MEMO, *REVIEW, *CODE)
