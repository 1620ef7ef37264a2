"""Chapter 15, MFU and MBU: guesses, exercises, a memo, a review of earlier chapters, and a function for a log."""

from __future__ import annotations

from functools import cache
from statistics import median

from hwlab.costs.roofline import ridge
from hwlab.costs.step_split import split_step
from hwlab.costs.utilization import mbu, mfu, parity
from hwlab.formula import ceil, number, si
from hwlab.specs.chips import chip
from hwlab.specs.measurements import measurements
from hwlab.specs.models import model
from hwlab.specs.throughput import throughputs
from hwlab.studies.launches import kernel_start
from hwlab.studies.published import decode_mbu, served_mfu

from .base import Choice, Code, Memo, Mistake, Mutant, Numeric, Option, Prediction

# ---- Guesses -------------------------------------------------------------------------------------------------------


def mfu_of_one_user():
    of, on = model("llama-3.1-8b"), chip("h100-sxm")
    return split_step(of, on, batch=1).mfu


def mfu_of_64_users():
    of, on = model("llama-3.1-8b"), chip("h100-sxm")
    return split_step(of, on, batch=64).mfu


def users_facts():
    of, on = model("llama-3.1-8b"), chip("h100-sxm")
    seconds = split_step(of, on, batch=64).seconds
    return {
        "flop": si(64 * of.flop_per_token(1024), "FLOP"),
        "seconds": si(seconds, "s"),
        "could": si(seconds * on.peak("bf16"), "FLOP"),
        "one": number(100 * mfu_of_one_user(), 2),
    }


def best_published_mbu():
    rows = measurements("decode", chip="a100-sxm-80gb")
    alone = [row for row in rows if row.tokens == 1]
    return max(map(decode_mbu, alone))


@cache
def _offline():
    return [served_mfu(row) for row in throughputs() if row.prompt_tokens]


def best_published_mfu():
    return max(_offline())


def best_facts():
    over = sum(share >= 0.5 for share in _offline())
    return {
        "runs": f"{len(_offline())}",
        "over": f"{over}",
        "least": number(100 * min(_offline())),
        "middle": number(100 * median(_offline())),
    }


def parity_of_the_h100():
    new, old = chip("h100-sxm"), chip("a100-sxm-80gb")
    return parity(0.5, chip=new, than=old, dtype="bf16")


def parity_facts():
    return {
        "slow": si(0.5 * chip("a100-sxm-80gb").peak("bf16"), "FLOP/s"),
        "fast": si(chip("h100-sxm").peak("bf16"), "FLOP/s"),
    }


GUESSES = (
    Prediction(
        id="utilization-many-users",
        title="before you read on",
        answer=mfu_of_64_users,
        unit="%",
        low=0.01,
        high=100,
        facts=users_facts,
        reveal="""
            Its memory is full: the weights, and the caches of all 64, come at the rate of the data sheet and take
            {{seconds}}. In that time the chip could do {{could}}. The 64 tokens need {{flop}}. For one user it would
            be {{one}} %.
            """,
    ),
    Prediction(
        id="utilization-best-mbu",
        title="how full a memory gets",
        answer=best_published_mbu,
        unit="%",
        low=1,
        high=1000,
        reveal="""
            And these are the runs of an engine made for this one thing. Rows of DRAM are opened and refreshed,
            kernels start and end, and the attention of a few tokens does not fill a chip.
            """,
    ),
    Prediction(
        id="utilization-best-run",
        title="the best of many",
        answer=best_published_mfu,
        unit="%",
        low=1,
        high=1000,
        facts=best_facts,
        reveal="""
            Its prompts are sixteen times as long as its answers, so it is nearly all prefill. Of the {{runs}} runs
            {{over}} passes one half; half of them stay below {{middle}} %, and the least is {{least}} %.
            """,
    ),
    Prediction(
        id="utilization-parity",
        title="two chips, one speed",
        answer=parity_of_the_h100,
        unit="%",
        low=1,
        high=1000,
        facts=parity_facts,
        reveal="Half of an A100 is {{slow}}. Of the {{fast}} of an H100 that is a small part.",
    ),
)

# ---- Exercises -----------------------------------------------------------------------------------------------------

_LOGGED = 12_000  # tokens a second, prompts and answers
_USER = 38  # tokens a second, one user


def mfu_of_a_log():
    of, on = model("llama-3.1-70b"), chip("h100-sxm")
    flop = 2 * of.num_params * _LOGGED
    return mfu(flop, 1.0, chip=on, chips=8, dtype="bf16")


def log_facts():
    of, on = model("llama-3.1-70b"), chip("h100-sxm")
    return {
        "flop": si(2 * of.num_params * _LOGGED, "FLOP/s"),
        "peak": si(8 * on.peak("bf16"), "FLOP/s"),
        "params": si(of.num_params, ""),
        "rate": f"{_LOGGED:,}",
    }


def mbu_of_a_user():
    of, on = model("llama-3.1-70b"), chip("h100-sxm")
    read = _USER * of.weight_bytes_read(1, "int8")
    return mbu(read, 1.0, chip=on, chips=2)


def user_facts():
    read = model("llama-3.1-70b").weight_bytes_read(1, "int8")
    return {
        "read": si(read, "B"),
        "rate": si(read * _USER, "B/s"),
        "both": si(2 * chip("h100-sxm").memory_bytes_per_s, "B/s"),
        "user": f"{_USER}",
    }


def what_a_busy_counter_sees():
    return "neither"  # FLOP nor bytes: whether a kernel runs


def mfu_without_padding():
    return 0.55 * 700 / 1024


def ceiling_on_a_tpu():
    return 32 / ridge(chip("tpu-v5p"), "bf16")


def batch_on_an_mi300x():
    return 0.4 * ridge(chip("mi300x"), "bf16")


def price_ratio():
    new = 0.35 * chip("h100-sxm").peak("bf16")
    old = 0.45 * chip("a100-sxm-80gb").peak("bf16")
    return new / old


def price_facts():
    return {
        "new": si(0.35 * chip("h100-sxm").peak("bf16"), "FLOP/s"),
        "old": si(0.45 * chip("a100-sxm-80gb").peak("bf16"), "FLOP/s"),
    }


_ETHERNET = 50e9  # byte/s: 400 Gbit/s


def step_of_a_group(tensor, link=None):
    of, on = model("llama-3.1-70b"), chip("h100-sxm")
    group = {"tensor": tensor, "link_bytes_per_s": link}
    starts = {"kernels": 1, "start_s": kernel_start()}
    return split_step(of, on, batch=64, **group, **starts)


def gain_of_one_server():
    near = step_of_a_group(8)
    far = step_of_a_group(16, _ETHERNET)
    return near.mfu / far.mfu


def group_facts():
    near, far = step_of_a_group(8), step_of_a_group(16, _ETHERNET)
    return {
        "near": si(near.seconds, "s"),
        "far": si(far.seconds, "s"),
        "near_flop": si(near.compute_s, "s"),
        "far_flop": si(far.compute_s, "s"),
        "near_mfu": number(100 * near.mfu),
        "far_mfu": number(100 * far.mfu),
        "faster": number(far.seconds / near.seconds),
    }


_LAUNCHES = 20


def share_of_launches():
    of, on = model("llama-3.1-8b"), chip("h100-sxm")
    starts = {"kernels": _LAUNCHES, "start_s": kernel_start()}
    step = split_step(of, on, batch=1, **starts)
    return step.launch_s / step.seconds


def launch_facts():
    of, on = model("llama-3.1-8b"), chip("h100-sxm")
    step = split_step(of, on, batch=1)
    starts = of.num_layers * _LAUNCHES * kernel_start()
    return {
        "layers": f"{of.num_layers}",
        "start": si(kernel_start(), "s"),
        "starts": si(starts, "s"),
        "step": si(step.seconds, "s"),
        "launches": f"{_LAUNCHES}",
    }


EXERCISES = (
    Numeric(
        id="utilization-log-mfu",
        title="MFU from a dashboard",
        label="MFU",
        answer=mfu_of_a_log,
        unit="%",
        facts=log_facts,
        hint="FLOP of a token, times tokens a second, over what eight chips could do in it.",
        solution="""
            2 × {{params}} × {{rate}} = {{flop}}, over {{peak}} of eight chips. Attention is not in it, so at long
            contexts the true figure is a little higher.
            """,
        mistakes=(
            Mistake(
                value=lambda: mfu_of_a_log() / 2,
                reply="That is half of it: a multiply-add is two FLOP, or you took the peak with sparsity.",
            ),
            Mistake(value=lambda: 8 * mfu_of_a_log(), reply="You took the peak of one chip. There are eight."),
            Mistake(value=lambda: 3 * mfu_of_a_log(), reply="6N is training. Serving needs the forward pass only."),
        ),
    ),
    Numeric(
        id="utilization-log-mbu",
        title="MBU from a stopwatch",
        label="MBU",
        answer=mbu_of_a_user,
        unit="%",
        facts=user_facts,
        hint="What is read for a token, times tokens a second, over the bandwidth of both chips.",
        solution="""
            In INT8 a token reads {{read}} of weights; {{user}} times a second that is {{rate}} of {{both}}. The cache
            of one short conversation adds next to nothing.
            """,
        mistakes=(
            Mistake(
                value=lambda: 2 * mbu_of_a_user(),
                reply="One of two things: bf16 weights, or the bandwidth of one chip.",
            ),
            Mistake(value=lambda: 8 * mbu_of_a_user(), reply="You counted bits."),
            Mistake(
                value=lambda: 2 * model("llama-3.1-70b").num_params * _USER / (2 * chip("h100-sxm").peak("int8")),
                reply="That is the MFU, which says little here.",
            ),
        ),
    ),
    Numeric(
        id="utilization-padding",
        title="from HFU to MFU",
        label="MFU",
        answer=mfu_without_padding,
        unit="%",
        hint="Which part of the tokens that were computed did anybody want?",
        solution="700 of 1,024 tokens were wanted. By 2NT, with attention left out, MFU is that part of HFU.",
        mistakes=(
            Mistake(
                value=lambda: 0.55 * 1024 / 700, reply="MFU cannot be more than HFU: padding is work that nobody needs."
            ),
            Mistake(value=lambda: 0.55 * (1024 - 700) / 1024, reply="That is the part that was wasted."),
            Mistake(value=lambda: 0.55, reply="That is HFU, which counts the padding as work."),
        ),
    ),
    Choice(
        id="utilization-time-share",
        title="what a busy chip says",
        options=(
            Option(
                key="mfu",
                text="The matrix units do arithmetic at nearly their peak.",
                reply="The counter sees that some kernel runs. Even one thread that waits for memory counts.",
            ),
            Option(
                key="mbu",
                text="The memory delivers nearly its bandwidth.",
                reply="It may. But a kernel that waits for another chip is a kernel that runs, too.",
            ),
            Option(
                key="neither",
                text="Only that there was nearly always a kernel running.",
                reply="Yes. It is a share of time, and neither FLOP nor bytes are in it.",
            ),
        ),
        answer=what_a_busy_counter_sees,
        hint="What would the counter show if one kernel did a single addition in an endless loop?",
        solution="""
            The counter samples whether any kernel was running. It falls when the host is too slow to start the next
            one; it says nothing of what the kernels do. For that, divide the model's FLOP and bytes by time and peak.
            """,
    ),
    Numeric(
        id="utilization-ceiling",
        title="the most that decode can show",
        label="Best MFU",
        answer=ceiling_on_a_tpu,
        unit="%",
        facts=lambda: {"ridge": number(ridge(chip("tpu-v5p"), "bf16")), "chip": chip("tpu-v5p").name},
        hint="A batch of B does about B FLOP a byte of bf16 weights. What could the chip do for a byte?",
        solution="""
            As many FLOP a byte as there are sequences, two FLOP and two bytes a weight, where the ridge is {{ridge}}.
            The cache takes more bytes, so it is an upper bound.
            """,
        mistakes=(
            Mistake(value=lambda: 2 * ceiling_on_a_tpu(), reply="Two FLOP a weight, but also two bytes a weight."),
            Mistake(value=lambda: ceiling_on_a_tpu() / 32, reply="That is one sequence. There are 32."),
            Mistake(value=lambda: 32 / ridge(chip("h100-sxm"), "bf16"), reply="That is the ridge of an H100."),
        ),
    ),
    Numeric(
        id="utilization-batch",
        title="sequences for a given share",
        label="Sequences",
        answer=batch_on_an_mi300x,
        unit="sequences",
        facts=lambda: {"ridge": number(ridge(chip("mi300x"), "bf16"))},
        hint="The same relation, solved for the batch.",
        solution="0.4 × {{ridge}} FLOP a byte. At least: the cache of each sequence comes on top of the weights.",
        mistakes=(
            Mistake(value=lambda: ridge(chip("mi300x"), "bf16"), reply="That is the ridge: it fills the arithmetic."),
            Mistake(value=lambda: 2 * batch_on_an_mi300x(), reply="Did you take the peak with sparsity?"),
            Mistake(value=lambda: batch_on_an_mi300x() / 2, reply="Two FLOP a weight, and two bytes: they cancel."),
        ),
    ),
    Numeric(
        id="utilization-price",
        title="what the new chip may cost",
        label="Hour of the H100 over hour of the A100",
        answer=price_ratio,
        unit="times",
        facts=price_facts,
        hint="A token costs price over throughput. Where are the two equal?",
        solution="{{new}} against {{old}}. Up to this ratio of prices the newer chip makes the cheaper token.",
        mistakes=(
            Mistake(value=lambda: 0.35 / 0.45, reply="Those are shares of two different peaks."),
            Mistake(value=lambda: 2 * price_ratio(), reply="You took the peak of the H100 with sparsity."),
            Mistake(value=lambda: 1 / price_ratio(), reply="That is the other way round."),
        ),
    ),
    Numeric(
        id="utilization-group",
        title="sixteen chips, or eight",
        label="MFU of the eight over that of the sixteen",
        answer=gain_of_one_server,
        unit="times",
        facts=group_facts,
        hint="MFU is the time that the dense peak would need over the time of the step, in each case.",
        solution="""
            {{near_flop}} / {{near}} is {{near_mfu}} %; {{far_flop}} / {{far}} is {{far_mfu}} %. Half the chips, and
            each step is {{faster}} times faster: the links between servers cost more than the other eight chips
            bring.
            """,
        mistakes=(
            Mistake(
                value=lambda: gain_of_one_server() / 2,
                reply="That is how much faster the step is. The sixteen also do half of the work each.",
            ),
            Mistake(value=lambda: 2, reply="Half as many chips would double it if the step took as long. It does not."),
            Mistake(value=lambda: 1 / gain_of_one_server(), reply="That is the other way round."),
        ),
    ),
    Numeric(
        id="utilization-launches",
        title="what is lost in starting",
        label="Share of the step",
        answer=share_of_launches,
        unit="%",
        facts=launch_facts,
        hint="Launches in a layer × layers × the time of one, beside the reading of the weights.",
        solution="""
            {{launches}} × {{layers}} × {{start}} = {{starts}}, beside {{step}} for weights and cache: neither hides
            behind the other.
            """,
        mistakes=(
            Mistake(
                value=lambda: share_of_launches() / (1 - share_of_launches()),
                reply="That is launches over reading. The share is of the whole step.",
            ),
            Mistake(value=lambda: 1 - share_of_launches(), reply="That is what is left for reading."),
            Mistake(
                value=lambda: (
                    100
                    * _LAUNCHES
                    * kernel_start()
                    / (
                        _LAUNCHES * kernel_start()
                        + split_step(model("llama-3.1-8b"), chip("h100-sxm"), batch=1).seconds
                    )
                ),
                reply="That is one layer. There are {{layers}}.",
            ),
        ),
    ),
)

# ---- The memo ------------------------------------------------------------------------------------------------------


def ratio_of_the_fleets():
    new = 0.28 * chip("h100-sxm").peak("bf16")
    return new / (0.46 * chip("a100-sxm-80gb").peak("bf16"))


def memo_facts():
    return {
        "new": si(0.28 * chip("h100-sxm").peak("bf16"), "FLOP/s"),
        "old": si(0.46 * chip("a100-sxm-80gb").peak("bf16"), "FLOP/s"),
        "ratio": number(ratio_of_the_fleets()),
        "one": number(100 * mfu_of_one_user(), 2),
    }


MEMO = Memo(
    id="utilization-memo",
    title="half a page for a board that has seen two percentages",
    answer=ratio_of_the_fleets,
    unit="times",
    facts=memo_facts,
    rubric=(
        "It says of which peak, at which precision, dense or sparse, each percentage is, and which FLOP it counts.",
        "It turns both into tokens a second, or FLOP/s, and compares those.",
        "It says which part of the work is prefill and which decode, and gives MBU for the latter.",
        "It puts a price beside each and says at which ratio of prices the verdict turns.",
        "It names the cause of the lower figure as a part of the step's time, and what removing it would buy.",
    ),
    hint="Do the two percentages have the same denominator? What does a customer pay for?",
    solution="""
        Our share of an H100 is {{new}}; theirs of an A100 is {{old}}. The fleet with the lower figure does {{ratio}}
        times as much for each chip, so it makes the cheaper token as long as its hour costs less than {{ratio}} times
        the other's. Neither figure says whether it is well run. Most of our time is decode, where a perfect step for
        one user has an MFU of {{one}} % and a full memory; there MBU, and tokens a second within the promised
        latency, are what to report. I propose three numbers a month, from the engine's log: MFU of prefill, MBU of
        decode, and cost of a million tokens at our promise, each with its definition. The split of a step says what
        to do next: if it is memory, larger batches; if launches, graphs; if the network, smaller groups; if idle
        rows, continuous batching.
        """,
)

# ---- What earlier chapters taught ----------------------------------------------------------------------------------


def cache_of_a_token():
    return model("llama-3.1-70b").kv_bytes_per_token("bf16")


def tokens_of_a_round():
    return 1 + 0.5 + 0.5**2 + 0.5**3


def blocks_of_50_requests():
    full = 1000 // 16
    own = ceil((1000 + 100) / 16) - full
    return full + 50 * own


REVIEW = (
    Numeric(
        id="utilization-review-cache",
        title="what a token leaves behind",
        label="KV cache of one token",
        answer=cache_of_a_token,
        unit="kB",
        hint="K and V, for each layer and KV head.",
        solution="2 × 80 layers × 8 KV heads × 128 elements of two bytes.",
        mistakes=(
            Mistake(value=lambda: 8 * cache_of_a_token(), reply="You took 64 heads. K and V have 8."),
            Mistake(value=lambda: cache_of_a_token() / 2, reply="That is K, or V. Both are kept."),
        ),
    ),
    Numeric(
        id="utilization-review-round",
        title="what three guesses write",
        label="Tokens a round",
        answer=tokens_of_a_round,
        unit="tokens",
        hint="A guess counts only if all before it were taken, and the target adds a token of its own.",
        solution="1 + 1/2 + 1/4 + 1/8. Without end of guesses it would be 2.",
        mistakes=(
            Mistake(value=lambda: 1 + 3 * 0.5, reply="A guess behind one that was refused is dropped, good or not."),
            Mistake(value=lambda: tokens_of_a_round() - 1, reply="Each round also writes a token of the target's own."),
        ),
    ),
    Numeric(
        id="utilization-review-blocks",
        title="one beginning, fifty requests",
        label="Blocks held",
        answer=blocks_of_50_requests,
        unit="blocks",
        tolerance=0.001,
        hint="Only full blocks are shared. How many does the common beginning fill?",
        solution="62 full blocks once, and 7 for each request: 69 hold its 1,100 tokens.",
        mistakes=(
            Mistake(value=lambda: 50 * ceil(1100 / 16), reply="That is without sharing."),
            Mistake(value=lambda: ceil(1100 / 16), reply="That is one request. The others hold blocks too."),
        ),
    ),
)

# ---- A log to read -------------------------------------------------------------------------------------------------


def log_mfu(steps, num_params, peak):
    """The share of the peak that 2NT of the log fills."""
    seconds = sum(step[0] for step in steps)
    tokens = sum(step[1] + step[2] for step in steps)
    return 2 * num_params * tokens / (seconds * peak)


def _draw_log(generator):
    steps = []
    for _ in range(generator.randint(4, 12)):
        rows = generator.choice((8, 16, 32))
        sequences = generator.randint(0, rows)
        prompt = generator.choice((0, 0, 100, 512))
        steps.append((generator.randint(2, 40) / 1000, prompt, sequences, rows))
    return {"steps": steps, "num_params": generator.choice((1e9, 8e9)), "peak": generator.choice((1e14, 4e14))}


def _log_mutant(steps, num_params, peak, *, flop=2, prompts=True, answers=True, padded=False, busy=False):
    kept = [step for step in steps if step[1] or step[2]] if busy else steps
    seconds = sum(step[0] for step in kept)
    tokens = sum(prompts * prompt + answers * (rows if padded else alive) for _, prompt, alive, rows in kept)
    return flop * num_params * tokens / (max(seconds, 1e-9) * peak)


def _mean_of_steps(steps, num_params, peak):
    shares = [2 * num_params * (step[1] + step[2]) / (step[0] * peak) for step in steps]
    return sum(shares) / len(shares)


CODE = (
    Code(
        id="utilization-log",
        title="MFU of a log",
        answer=log_mfu,
        draw=_draw_log,
        hint="Add up the tokens that somebody wanted, add up the seconds, divide once.",
        solution="""
            2N for each token of a prompt and for each sequence that got one; rows without a sequence are not the
            model's work. All seconds count, those of steps that did nothing too.
            """,
        mutants=(
            Mutant(
                function=_mean_of_steps,
                reply="You averaged the steps' MFU. A long step counts for more: add up FLOP and seconds first.",
            ),
            Mutant(
                function=lambda steps, num_params, peak: _log_mutant(steps, num_params, peak, padded=True),
                reply="You counted rows without a sequence. That is HFU.",
            ),
            Mutant(
                function=lambda steps, num_params, peak: _log_mutant(steps, num_params, peak, prompts=False),
                reply="You left out the prompts.",
            ),
            Mutant(
                function=lambda steps, num_params, peak: _log_mutant(steps, num_params, peak, answers=False),
                reply="You counted the prompts only. Each sequence got a token, too.",
            ),
            Mutant(
                function=lambda steps, num_params, peak: _log_mutant(steps, num_params, peak, flop=1),
                reply="A multiply-add is two FLOP.",
            ),
            Mutant(
                function=lambda steps, num_params, peak: _log_mutant(steps, num_params, peak, flop=6),
                reply="6N is for training. Serving needs the forward pass only.",
            ),
            Mutant(
                function=lambda steps, num_params, peak: _log_mutant(steps, num_params, peak, busy=True),
                reply="You left out the seconds in which nothing was computed. They are paid for as well.",
            ),
            Mutant(
                function=lambda steps, num_params, peak: _log_mutant(steps, num_params, peak, flop=200),
                reply="A share is asked for, not percent.",
            ),
        ),
    ),
)

QUESTIONS = (*GUESSES, *EXERCISES, MEMO, *REVIEW, *CODE)
