"""Chapter 5, TPUs and compilers: guesses, exercises, a memo, a review of chapters 2 to 4, two functions to write."""

from __future__ import annotations

import math

from hwlab.costs.padding import bucket, overhead, powers_of_two, spread, steps_of
from hwlab.costs.roofline import ridge
from hwlab.costs.systolic import stream_utilization
from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.units import MiB

from .base import Choice, Code, Memo, Mistake, Mutant, Numeric, Option, Prediction

# ---- Guesses -------------------------------------------------------------------------------------------------------


def share_of_one_row():
    # 256 x 256, the weights already in place
    return stream_utilization(1, rows=256, columns=256)


def rows_until_it_is_fed():
    v1 = chip("tpu-v1")
    per_cycle = v1.memory_bytes_per_s / v1.clock_hz
    return math.ceil(256 * 256 / per_cycle)


def flop_per_joule_of_v4_over_h100():
    v4, h100 = chip("tpu-v4"), chip("h100-sxm")
    watts = v4.figure("measured_watts.mean").value
    tpu = v4.peak("bf16") / watts
    gpu = h100.peak("bf16") / h100.tdp_watts
    return tpu / gpu


def padding_of_doubling():
    lengths = spread(64, 8192)
    return overhead(lengths, powers_of_two(64, 8192))


def one_row_facts():
    return {"cycles": f"{256 + 256 - 1}", "macs": f"{256 * 256:,}"}


def fed_facts():
    v1 = chip("tpu-v1")
    return {
        "tile": si(256 * 256, "B"),
        "time": si(256 * 256 / v1.memory_bytes_per_s, "s"),
        "clock": si(v1.clock_hz, "Hz"),
        "per_cycle": number(v1.memory_bytes_per_s / v1.clock_hz),
        "ridge": f"{ridge(v1, 'int8') / 2:,.0f}",
    }


def energy_facts():
    v4, h100 = chip("tpu-v4"), chip("h100-sxm")
    sparse = h100.figure("sparse_peak_flop_per_s.bf16").value
    mean, most = (v4.figure(f"measured_watts.{kind}").value for kind in ("mean", "max"))
    tpu, gpu = v4.peak("bf16"), h100.peak("bf16") / h100.tdp_watts
    return {
        "tpu": si(tpu, "FLOP/s"),
        "most": f"{number(most)} W",
        "mean": f"{number(mean)} W",
        "gpu": si(h100.peak("bf16"), "FLOP/s"),
        "tdp": f"{number(h100.tdp_watts)} W",
        "by_mean": number(tpu / mean / gpu),
        "sparse": si(sparse, "FLOP/s", 4),
    }


def doubling_facts():
    lengths = spread(64, 8192)
    fine = steps_of(256, 8192, least=64)
    return {
        "programs": f"{len(powers_of_two(64, 8192))}",
        "fine": f"{number(100 * overhead(lengths, fine), 2)} %",
        "fine_programs": f"{len(fine)}",
        "one": number(1 + overhead(lengths, (8192,)), 2),
    }


GUESSES = (
    Prediction(
        id="tpus-one-row",
        title="before you read on",
        answer=share_of_one_row,
        unit="%",
        low=0.01,
        high=100,
        facts=one_row_facts,
        reveal="""
            One row has one operation for each of {{macs}} multipliers, and takes {{cycles}} cycles to cross the grid.
            In each cycle all but a diagonal of it stands still.
            """,
    ),
    Prediction(
        id="tpus-rows-to-feed",
        title="how many rows must share a tile",
        answer=rows_until_it_is_fed,
        unit="rows",
        low=10,
        high=100_000,
        facts=fed_facts,
        reveal="""
            A tile of {{tile}} takes {{time}} to arrive, {{per_cycle}} bytes in a cycle at {{clock}}. The paper has the
            same limit as an intensity: {{ridge}} multiply-adds for each byte of weights.
            """,
    ),
    Prediction(
        id="tpus-joules",
        title="who does more with a joule",
        answer=flop_per_joule_of_v4_over_h100,
        unit="times",
        low=0.1,
        high=100,
        facts=energy_facts,
        reveal="""
            {{tpu}} at {{mean}} is {{by_mean}} times the operations a joule of {{gpu}} at {{tdp}}. Peak over power is no
            energy of a token, but this is far from 3 or 4. And the two powers are not of one kind.
            """,
    ),
    Prediction(
        id="tpus-doubling",
        title="what powers of two cost",
        answer=padding_of_doubling,
        unit="%",
        low=1,
        high=1000,
        facts=doubling_facts,
        reveal="""
            {{programs}} programs serve every length. One program alone, for the longest, would compute {{one}} times
            the tokens; {{fine_programs}} programs in steps of 256 would pad by {{fine}}.
            """,
    ),
)


# ---- Exercises -----------------------------------------------------------------------------------------------------


def peak_of_v1():
    macs = 256 * 256
    return 2 * macs * 700e6  # FLOP/s


def peak_facts():
    return {
        "macs": f"{256 * 256:,}",
        "clock": si(700e6, "Hz"),
        "peak": si(peak_of_v1(), "FLOP/s"),
        "printed": si(92e12, "FLOP/s"),
    }


def cycle_of_the_last_result():
    m, k, n = 5, 4, 3
    return m + k + n - 2


def utilization_of_128_rows():
    return stream_utilization(128, rows=128, columns=128)


def large_over_small_array():
    def seconds(side):
        tiles = math.ceil(600 / side) ** 2
        return tiles * side * side / 34e9

    return seconds(512) / seconds(256)


def large_facts():
    def tiles(side):
        return math.ceil(600 / side) ** 2

    return {
        "small": f"{tiles(256)}",
        "large": f"{tiles(512)}",
        "small_time": si(tiles(256) * 256**2 / 34e9, "s"),
        "large_time": si(tiles(512) * 512**2 / 34e9, "s"),
        "small_fill": f"{number(100 * 600**2 / (tiles(256) * 256**2), 2)} %",
        "large_fill": f"{number(100 * 600**2 / (tiles(512) * 512**2), 2)} %",
    }


def rate_of_mlp0():
    batch, bandwidth = 200, chip("tpu-v1").memory_bytes_per_s
    return 2 * batch * bandwidth  # a byte is one weight


def rate_facts():
    v1 = chip("tpu-v1")
    return {
        "bandwidth": si(v1.memory_bytes_per_s, "B/s"),
        "rate": si(rate_of_mlp0(), "FLOP/s"),
        "share": f"{number(100 * rate_of_mlp0() / v1.peak('int8'), 2)} %",
    }


def array_at_work_on_short_heads():
    depth = model("llama-3.2-1b").head_dim
    return depth / 256


def head_facts():
    return {"depth": f"{model('llama-3.2-1b').head_dim}"}


def programs_times_30_s():
    batches = powers_of_two(1, 64)
    lengths = powers_of_two(128, 8192)
    return len(batches) * len(lengths) * 30


def program_facts():
    return {
        "batches": f"{len(powers_of_two(1, 64))}",
        "lengths": f"{len(powers_of_two(128, 8192))}",
        "programs": f"{len(powers_of_two(1, 64)) * len(powers_of_two(128, 8192))}",
    }


def padding_of_2100():
    computed = bucket(2100, powers_of_two(16, 8192))
    return 1 - 2100 / computed


def bucket_facts():
    computed = bucket(2100, powers_of_two(16, 8192))
    fine = bucket(2100, steps_of(128, 8192))
    return {
        "bucket": f"{computed:,}",
        "more": f"{number(100 * (computed / 2100 - 1), 2)} %",
        "fine": f"{fine:,}",
        "fine_share": f"{number(100 * (1 - 2100 / fine), 2)} %",
    }


def what_compiles_anew():
    compiled = (8, 512)
    shapes = {
        "values": (8, 512),
        "length": (8, 513),
        "order": (8, 512),
    }
    return next(k for k in shapes if shapes[k] != compiled)


def v5p_over_v4():
    v5p, v4 = chip("tpu-v5p"), chip("tpu-v4")
    return v5p.peak("bf16") / v4.peak("bf16")


def v5p_facts():
    v5p, v4 = chip("tpu-v5p"), chip("tpu-v4")
    return {
        "v5p": si(v5p.peak("bf16"), "FLOP/s"),
        "v4": si(v4.peak("bf16"), "FLOP/s"),
        "memory": number(v5p.memory_bytes / v4.memory_bytes),
        "bandwidth": number(v5p.memory_bytes_per_s / v4.memory_bytes_per_s),
        "clock": number(v5p.clock_hz / v4.clock_hz),
    }


def v4_at_its_most():
    v4, h100 = chip("tpu-v4"), chip("h100-sxm")
    watts = v4.figure("measured_watts.max").value
    gpu = h100.peak("bf16") / h100.tdp_watts
    return v4.peak("bf16") / watts / gpu


def sparse_h100_ratio():
    h100 = chip("h100-sxm")
    return v4_at_its_most() * h100.peak("bf16") / h100.figure("sparse_peak_flop_per_s.bf16").value


EXERCISES = (
    Numeric(
        id="tpus-peak",
        title="the number on the box",
        label="Peak",
        answer=peak_of_v1,
        unit="TFLOP/s",
        facts=peak_facts,
        hint="How many multipliers, how often a second, and how many operations is one multiply-accumulate?",
        solution="""
            {{macs}} multiply-accumulates at {{clock}}, two operations each: {{peak}}. The paper rounds it to
            {{printed}}.
            """,
        mistakes=(
            Mistake(
                value=lambda: 256 * 256 * 700e6,
                reply="You counted multiply-accumulates. The peak counts a multiplication and an addition each.",
            ),
            Mistake(value=lambda: 2 * 256 * 700e6, reply="That is one row of the grid. It has 256."),
            Mistake(
                value=lambda: 2 * 256 * 256 * 256 * 700e6,
                reply="You gave each multiplier 256 multiplications in a cycle. It does one.",
            ),
        ),
    ),
    Numeric(
        id="tpus-last-result",
        title="when the last result is there",
        label="Cycle",
        answer=cycle_of_the_last_result,
        unit="cycles",
        tolerance=0.005,
        hint="""
            In which cycle does the last row enter the first row of the array, and how far is it from there to the
            corner where it leaves? Count the first cycle as 1.
            """,
        solution="""
            The last of five rows enters in cycle 5. Its element for the fourth row of the array comes 3 cycles later,
            and the third column is 2 further on: 5 + (4 − 1) + (3 − 1).
            """,
        mistakes=(
            Mistake(
                value=lambda: 5 + 4 + 3, reply="You counted the corner twice: from row 1 to row 4 there are 3 steps."
            ),
            Mistake(
                value=lambda: 5 + 4 + 3 - 3,
                reply="You numbered the cycles from 0, as some simulators do. The first cycle here is 1.",
            ),
            Mistake(value=lambda: 5, reply="That is when the last row enters. It has yet to cross."),
            Mistake(value=lambda: 5 * 4 * 3, reply="That is one multiplication a cycle. Here twelve may run at once."),
        ),
    ),
    Numeric(
        id="tpus-half-filled",
        title="as many rows as the array has",
        label="Array at work",
        answer=utilization_of_128_rows,
        unit="%",
        hint="Rows over the cycles that they take: rows, and then once across and once down.",
        solution="128 / (128 + 128 + 128 − 2): a third, where one might have hoped for the whole.",
        mistakes=(
            Mistake(value=lambda: 128 / 256, reply="You counted the way down or the way across, not both."),
            Mistake(
                value=lambda: 1.0,
                reply="It is never full: the near corner has done its last row before the far one begins its first.",
            ),
            Mistake(
                value=lambda: 128 / (128 + 128 + 128 + 128 - 2),
                reply="That includes the cycles in which the weights are loaded. Here they are in place.",
            ),
        ),
    ),
    Numeric(
        id="tpus-larger-array",
        title="four times the multipliers",
        label="Time, large over small",
        answer=large_over_small_array,
        unit="times",
        facts=large_facts,
        hint="How many tiles does each array need to cover 600 × 600, and how many bytes is a tile, padding included?",
        solution="""
            256 × 256 needs {{small}} tiles, which arrive in {{small_time}}; 512 × 512 needs {{large}}, each four times
            as large, in {{large_time}}. The matrix fills {{small_fill}} of the small tiles and {{large_fill}} of the
            large ones. The authors of the TPU give this example, with rounded times, for why a larger array can lose.
            """,
        mistakes=(
            Mistake(
                value=lambda: 1 / 4,
                reply="Four times the multipliers help where the array binds. Here it waits for weights.",
            ),
            Mistake(
                value=lambda: 1.0,
                reply="Without padding the bytes would be the same. But the tiles at the edge are loaded whole.",
            ),
            Mistake(value=lambda: 4 / 9, reply="You compared the number of tiles. A large one is four times as heavy."),
            Mistake(value=lambda: 1 / large_over_small_array(), reply="You divided small by large."),
        ),
    ),
    Numeric(
        id="tpus-mlp0",
        title="a rate from a batch and a bandwidth",
        label="Rate",
        answer=rate_of_mlp0,
        unit="TFLOP/s",
        facts=rate_facts,
        hint="Each byte that arrives is one weight. How many operations does a weight take part in before it leaves?",
        solution="""
            Each weight meets 200 rows, so each byte brings 400 operations: 400 × {{bandwidth}} is {{rate}}, {{share}}
            of the peak.
            """,
        mistakes=(
            Mistake(
                value=lambda: 200 * 34e9,
                reply="You counted multiply-accumulates. Each is two operations, as in the peak.",
            ),
            Mistake(value=lambda: 92e12, reply="That is the peak. With 200 rows the weights do not arrive that fast."),
            Mistake(
                value=lambda: 2 * 200 * 34e9 / 8, reply="You divided by eight, but the bandwidth is in bytes already."
            ),
        ),
    ),
    Numeric(
        id="tpus-short-heads",
        title="heads narrower than the array",
        label="Array at work",
        answer=array_at_work_on_short_heads,
        unit="%",
        facts=head_facts,
        hint="The shared dimension of the product lies along the rows of the array. How long is it?",
        solution="""
            The sum of a score runs over {{depth}} elements, so {{depth}} of 256 rows hold something. The other heads
            cannot use the rest: each has its own keys and its own queries.
            """,
        mistakes=(
            Mistake(
                value=lambda: model("llama-3.2-1b").head_dim / 128,
                reply="That is an array of 128 × 128. This one has 256 rows.",
            ),
            Mistake(
                value=lambda: (model("llama-3.2-1b").head_dim / 256) ** 2,
                reply="The columns are full: along them lie the tokens, and there are many.",
            ),
            Mistake(value=lambda: 1.0, reply="The heads do not add up: each score is a sum over one head alone."),
        ),
    ),
    Numeric(
        id="tpus-programs",
        title="how long it warms up",
        label="Time to compile",
        answer=programs_times_30_s,
        unit="min",
        facts=program_facts,
        hint="Each pair of a batch and a length is a shape of its own. Count the powers of two, both ends included.",
        solution="""
            {{batches}} batch sizes times {{lengths}} lengths are {{programs}} programs. That is why a server compiles
            before it opens, and keeps what it compiled.
            """,
        mistakes=(
            Mistake(
                value=lambda: (len(powers_of_two(1, 64)) + len(powers_of_two(128, 8192))) * 30,
                reply="You added the two lists. Each batch may meet each length, so they multiply.",
            ),
            Mistake(
                value=lambda: (len(powers_of_two(1, 64)) - 1) * (len(powers_of_two(128, 8192)) - 1) * 30,
                reply="From 1 to 64 there are seven powers of two, not six: both ends count.",
            ),
            Mistake(
                value=lambda: 64 * 8192 * 30.0,
                reply="That is every batch and every length. Buckets are there to avoid it.",
            ),
        ),
    ),
    Numeric(
        id="tpus-2100",
        title="one prompt in its bucket",
        label="Computed for nothing",
        answer=padding_of_2100,
        unit="%",
        facts=bucket_facts,
        hint="Which is the next power of two? Of what is computed there, how much is padding?",
        solution="""
            2,100 tokens are padded to {{bucket}}. That is {{more}} more than was asked for, or this share of all that
            is computed. In steps of 128 it would be padded to {{fine}}, and {{fine_share}} would be padding.
            """,
        mistakes=(
            Mistake(
                value=lambda: 4096 / 2100 - 1,
                reply="That is the padding over the real tokens. Asked is its share of all that is computed.",
            ),
            Mistake(value=lambda: 2100 / 4096, reply="That is the share that is real."),
            Mistake(
                value=lambda: 1 - 2048 / 2100,
                reply="2,048 is smaller than the prompt. It has to fit: take the next power of two above.",
            ),
        ),
    ),
    Choice(
        id="tpus-what-compiles",
        title="what makes the compiler start again",
        options=(
            Option(
                key="values",
                text="New weights of the same shape and type.",
                reply="Values are arguments of the program, as on a CPU. Nothing in it depends on them.",
            ),
            Option(
                key="length",
                text="The same eight prompts, each one token longer.",
                reply="Yes. Loops, tiles and addresses were laid out for 512; 513 is another program.",
            ),
            Option(
                key="order",
                text="The same eight prompts in another order.",
                reply="The shape is the same, and so is the program. Only the values moved.",
            ),
        ),
        answer=what_compiles_anew,
        hint="What of the arguments did the compiler use to lay out loops and memory?",
        solution="""
            A program belongs to the shapes and types of its arguments, and to everything that was a plain Python value
            when it was traced. A batch of eight prompts of 513 tokens has another shape.
            """,
    ),
    Numeric(
        id="tpus-v5p",
        title="tripled?",
        label="Peak, v5p over v4",
        answer=v5p_over_v4,
        unit="times",
        facts=v5p_facts,
        hint="Both peaks are in the catalogue, in bf16 and dense. Mind which figure tripled.",
        solution="""
            {{v5p}} over {{v4}}. The arrays are as many and as large, so the clock must be {{clock}} times as fast. What
            tripled is the memory, {{memory}} times; its bandwidth grew {{bandwidth}} times.
            """,
        mistakes=(
            Mistake(
                value=lambda: chip("tpu-v5p").peak("int8") / chip("tpu-v4").peak("int8"),
                reply="That is INT8, which v4 does at the rate of bf16 and v5p at twice that.",
            ),
            Mistake(
                value=lambda: chip("tpu-v5p").memory_bytes / chip("tpu-v4").memory_bytes,
                reply="That is the capacity of the memory. Asked is arithmetic.",
            ),
            Mistake(
                value=lambda: chip("tpu-v5p").memory_bytes_per_s / chip("tpu-v4").memory_bytes_per_s,
                reply="That is the bandwidth of the memory. Asked is arithmetic.",
            ),
        ),
    ),
    Numeric(
        id="tpus-joules-at-most",
        title="like with like",
        label="FLOP a joule, TPU over GPU",
        answer=v4_at_its_most,
        unit="times",
        facts=energy_facts,
        hint="Divide each chip's dense peak by its watts, then the TPU's quotient by the GPU's.",
        solution="""
            {{tpu}} / {{most}} over {{gpu}} / {{tdp}}: the two chips do as much with a joule. By the TPU's mean of
            {{mean}} it would be {{by_mean}} times, by a mean over work that is lighter than the peak.
            """,
        mistakes=(
            Mistake(
                value=sparse_h100_ratio,
                reply="You took {{sparse}} for the GPU, which counts products that it skips. The dense peak is half.",
            ),
            Mistake(
                value=flop_per_joule_of_v4_over_h100,
                reply="You took the mean power of the TPU. Asked is the highest that was measured.",
            ),
            Mistake(
                value=lambda: chip("h100-sxm").tdp_watts / chip("tpu-v4").figure("measured_watts.max").value,
                reply="That is the ratio of the powers. The faster chip also does more in that second.",
            ),
        ),
    ),
)


# ---- The memo ------------------------------------------------------------------------------------------------------


def tokens_saved_by_finer_buckets():
    lengths = spread(100, 8000)
    two = powers_of_two(64, 8192)
    fine = steps_of(256, 8192, least=64)
    doubled = 1 + overhead(lengths, two)
    return doubled / (1 + overhead(lengths, fine))


def memo_facts():
    lengths = spread(100, 8000)

    def padding(buckets):
        return f"{number(100 * overhead(lengths, buckets), 2)} %"

    two, fine = powers_of_two(64, 8192), steps_of(256, 8192, least=64)
    return {
        "one": padding((8192,)),
        "two": padding(two),
        "two_programs": f"{len(two)}",
        "fine": padding(fine),
        "fine_programs": f"{len(fine)}",
        "gain": number(tokens_saved_by_finer_buckets()),
        "each": f"{8000 - 100 + 1:,}",
    }


MEMO = Memo(
    id="tpus-memo",
    title="half a page on buckets",
    answer=tokens_saved_by_finer_buckets,
    unit="times",
    facts=memo_facts,
    rubric=(
        "It gives the padding of each proposal as a number, over the lengths that occur.",
        "It counts the programs of each, and what they cost at the start and in memory.",
        "It says which of the two phases the padding slows down, and why the other one hardly notices.",
        "It chooses, and names what would change the choice: another spread of lengths, or a faster compiler.",
        "It says what to measure in the first week, and where an unpadded kernel would end the matter.",
    ),
    hint="Work out the padding of one, of powers of two and of steps of 256. Then ask who computes it, and when.",
    solution="""
        One program for 8,192 tokens pads by {{one}}. One for each length needs {{each}} programs and would be compiling
        all day. Powers of two need {{two_programs}} and pad by {{two}}; steps of 256 need {{fine_programs}} and pad by
        {{fine}}, which is {{gain}} times the prompt tokens from the same chips. Prompts pay for padding in full, since
        the arithmetic binds there. A decode step reads the weights once whatever its padding; what it pays for is a
        padded cache, if the kernel reads that. I would take the steps: the programs are compiled once, before the
        service opens, and kept on disk. If most prompts turn out short, fewer steps above 2,048 do. In the first week
        measure the lengths, the time to warm up, and the share of prefill time that is padding. A kernel that takes the
        true lengths as data removes the padding in attention; it does not remove the buckets of the step as a whole.
        """,
)


# ---- Review of earlier chapters ------------------------------------------------------------------------------------


def rows_at_the_ridge_of_v5e():
    # two-byte weights: about as many rows
    return ridge(chip("tpu-v5e"), "bf16")


def side_of_three_tiles():
    return math.sqrt(128 * MiB / (3 * 2))


def peak_of_the_xeon():
    # cores x two units x 16 lanes x 2 FLOP x clock
    return 56 * 2 * 16 * 2 * 2.0e9


REVIEW = (
    Numeric(
        id="tpus-review-ridge",
        title="a ridge (chapter 2)",
        label="Ridge",
        answer=rows_at_the_ridge_of_v5e,
        unit="FLOP/byte",
        facts=lambda: {
            "peak": si(chip("tpu-v5e").peak("bf16"), "FLOP/s"),
            "bandwidth": si(chip("tpu-v5e").memory_bytes_per_s, "B/s"),
        },
        hint="Peak over bandwidth.",
        solution="{{peak}} over {{bandwidth}}. With two-byte weights it is also about the rows at which a layer flips.",
        mistakes=(
            Mistake(
                value=lambda: 2 * ridge(chip("tpu-v5e"), "bf16"),
                reply="You took the peak for eight-bit numbers. Asked is bf16.",
            ),
            Mistake(
                value=lambda: ridge(chip("tpu-v5e"), "bf16") / 2,
                reply="You halved it. The peak counts FLOP already, not multiply-accumulates.",
            ),
        ),
    ),
    Numeric(
        id="tpus-review-tiles",
        title="three tiles (chapter 3)",
        label="Side of a tile",
        answer=side_of_three_tiles,
        unit="rows",
        hint="Three squares of two-byte numbers in 128 × 2²⁰ bytes.",
        solution="3 b² numbers of two bytes fill it. Tiles are kept by plan here, so three are enough.",
        mistakes=(
            Mistake(value=lambda: math.sqrt(128 * MiB / 2), reply="That is one tile alone. Three have to fit."),
            Mistake(value=lambda: math.sqrt(128 * MiB / 3), reply="A number in bf16 takes two bytes."),
        ),
    ),
    Numeric(
        id="tpus-review-peak",
        title="a peak from its parts (chapter 4)",
        label="Peak in fp32",
        answer=peak_of_the_xeon,
        unit="TFLOP/s",
        hint="Cores, units, lanes, clock; and a fused multiply-add is two operations.",
        solution="56 × 2 × 16 × 2 × 2 × 10⁹: the same product of counts and clock that gives a TPU its peak.",
        mistakes=(
            Mistake(
                value=lambda: 56 * 2 * 16 * 2.0e9,
                reply="Half of it. Either a multiply-add counted once, or the second unit not at all.",
            ),
            Mistake(value=lambda: 2 * 16 * 2 * 2.0e9, reply="That is one core. There are 56."),
        ),
    ),
)


# ---- Functions to write in the lab ---------------------------------------------------------------------------------


def array_cycles(m, k, n, rows, columns):
    """Cycles of x @ w: stationary weights, nothing hidden."""
    tiles = math.ceil(k / rows) * math.ceil(n / columns)
    load = rows  # one row of weights a cycle
    cross = m + rows + columns - 2
    return tiles * (load + cross)


def padded_length(length, least):
    """The first of least, 2 least, 4 least ... to hold it."""
    size = least
    while size < length:
        size *= 2
    return size


def _draw_product(generator):
    rows, columns = generator.sample(range(2, 9), 2)
    k = rows * generator.randint(0, 4) + generator.randint(1, rows - 1)
    n = columns * generator.randint(0, 4) + generator.randint(1, columns - 1)
    return {"m": generator.randint(1, 40), "k": k, "n": n, "rows": rows, "columns": columns}


def _draw_length(generator):
    least = generator.choice((16, 24, 64, 100))
    exact = generator.random() < 0.3
    length = least * 2 ** generator.randint(0, 5) if exact else generator.randint(1, 3000)
    return {"length": length, "least": least}


CODE = (
    Code(
        id="tpus-cycles",
        title="the cycles of a product, as a function",
        answer=array_cycles,
        draw=_draw_product,
        hint="""
            How many tiles of rows × columns cover the weights, when a narrow one counts as one? And how long does a
            tile take: to load, and for the last of m rows to reach the far corner?
            """,
        solution="""
            Each tile is loaded in `rows` cycles. Then m rows pass; the last result leaves rows − 1 and columns − 1
            cycles after the last row has entered.
            """,
        mutants=(
            Mutant(
                function=lambda m, k, n, rows, columns: (
                    max(1, k // rows) * max(1, n // columns) * (rows + m + rows + columns - 2)
                ),
                reply="You rounded the tiles down: a narrow one at the edge takes as long as a whole one.",
            ),
            Mutant(
                function=lambda m, k, n, rows, columns: (
                    math.ceil(k / rows) * math.ceil(n / columns) * (m + rows + columns - 2)
                ),
                reply="You left out the loading: each tile of weights is shifted in, one row a cycle.",
            ),
            Mutant(
                function=lambda m, k, n, rows, columns: math.ceil(k / rows) * math.ceil(n / columns) * (rows + m),
                reply="You left out the skew: the far corner begins rows + columns - 2 cycles after the near one.",
            ),
            Mutant(
                function=lambda m, k, n, rows, columns: (
                    math.ceil(k / rows) * math.ceil(n / columns) * (rows + m + rows + columns)
                ),
                reply="Each way across has one step less than places: rows - 1 and columns - 1.",
            ),
            Mutant(
                function=lambda m, k, n, rows, columns: (
                    math.ceil(k / rows) * math.ceil(n / columns) * (rows + m + rows + columns - 2) - 1
                ),
                reply="You gave the number of the last cycle, counted from 0, as SCALE-Sim prints it.",
            ),
            Mutant(
                function=lambda m, k, n, rows, columns: (
                    math.ceil(k / rows) * math.ceil(n / columns) * (rows + m) + rows + columns - 2
                ),
                reply="You filled and emptied the array once. Here each tile waits until the one before has left.",
            ),
            Mutant(
                function=lambda m, k, n, rows, columns: (
                    math.ceil(k / columns) * math.ceil(n / rows) * (rows + m + rows + columns - 2)
                ),
                reply="You swapped the sides: the shared dimension k lies along the rows of the array.",
            ),
            Mutant(
                function=lambda m, k, n, rows, columns: k / rows * n / columns * (rows + m + rows + columns - 2),
                reply="You counted parts of tiles. A part of a tile takes as long as a tile.",
            ),
        ),
    ),
    Code(
        id="tpus-bucket",
        title="the bucket of a length, as a function",
        answer=padded_length,
        draw=_draw_length,
        hint="Begin with the smallest bucket and double it while it is too small. What of a length that fits exactly?",
        solution="A length equal to a bucket fits. One below the smallest bucket is padded up to that.",
        mutants=(
            Mutant(
                function=lambda length, least: least * 2 ** max(0, math.floor(math.log2(length / least)) + 1),
                reply="A length that equals its bucket fits: it needs no larger one.",
            ),
            Mutant(
                function=lambda length, least: least * 2 ** max(0, math.floor(math.log2(length / least) + 1e-9)),
                reply="Your bucket is smaller than the length: round up, not down.",
            ),
            Mutant(
                function=lambda length, least: least * math.ceil(length / least),
                reply="Those are steps of `least`. Here each bucket is twice the one before.",
            ),
            Mutant(
                function=lambda length, least: 2 ** math.ceil(math.log2(length)),
                reply="Those are the powers of two from 1. The buckets begin at `least` and double from there.",
            ),
            Mutant(
                function=lambda length, least: length,
                reply="You do not pad. Then each length is a program of its own.",
            ),
            Mutant(
                function=lambda length, least: padded_length(length, least) - length,
                reply="That is the padding. Asked is the bucket.",
            ),
        ),
    ),
)

QUESTIONS = (*GUESSES, *EXERCISES, MEMO, *REVIEW, *CODE)
