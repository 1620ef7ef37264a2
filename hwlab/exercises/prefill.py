"""Chapter 8, prefill and decode: guesses, exercises, a memo, a review of chapters 2, 3 and 5, and a request to time."""

from __future__ import annotations

from functools import cache

from hwlab.costs.padding import bucket
from hwlab.costs.roofline import (
    decode_step_time,
    decode_step_work,
    prefill_time,
    prefill_work,
    price,
    rates,
    ridge,
)
from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.models import experts_touched, model
from hwlab.specs.papers import paper
from hwlab.units import GiB

from .base import Choice, Code, Memo, Mistake, Mutant, Numeric, Option, Prediction

# ---- Guesses -------------------------------------------------------------------------------------------------------


@cache
def request_work():
    """FLOP and seconds of the prompt's pass, and of the 127 steps after it."""
    llama, rate = model("llama-3.1-8b"), rates(chip("h100-sxm"), "bf16")
    reading = prefill_work(llama, prompt_tokens=1024, dtype="bf16")
    steps = [decode_step_work(llama, context=1024 + n, dtype="bf16") for n in range(1, 128)]
    flop = reading.flop, sum(step.flop for step in steps)
    seconds = price(reading, rate).seconds, sum(price(step, rate).seconds for step in steps)
    return flop, seconds


def arithmetic_at_work():
    flop, seconds = request_work()
    possible = sum(seconds) * chip("h100-sxm").peak("bf16")
    return sum(flop) / possible


def work_facts():
    flop, seconds = request_work()
    return {
        "work": number(100 * flop[0] / sum(flop)),
        "time": number(100 * seconds[0] / sum(seconds)),
        "first": si(seconds[0], "s"),
        "rest": si(seconds[1], "s"),
    }


def context_as_large_as_the_weights():
    llama = model("llama-3.1-8b")
    weights = llama.weight_bytes_read(1, "bf16")
    return weights / llama.kv_bytes_per_token("bf16")


def context_facts():
    llama = model("llama-3.1-8b")
    return {
        "weights": si(llama.weight_bytes_read(1, "bf16"), "B"),
        "kv": f"{llama.kv_bytes_per_token('bf16'):,}",
        "many": number(context_as_large_as_the_weights() / 32),
    }


def experts_of_64_users():
    v4 = paper("deepseek-ai-2026").gives
    experts, each = v4["experts"], v4["experts_per_token"]
    return experts_touched(experts, each, 64)


def expert_facts():
    v4 = paper("deepseek-ai-2026").gives
    shape = v4["experts"], v4["experts_per_token"]
    return {
        "each": number(64 * shape[1]),
        "missed": number(100 * (1 - shape[1] / shape[0]) ** 64),
        "few": number(experts_touched(*shape, 8), 2),
        "many": number(experts_touched(*shape, 256)),
    }


GUESSES = (
    Prediction(
        id="prefill-arithmetic-at-work",
        title="before you read on",
        answer=arithmetic_at_work,
        unit="%",
        low=0.1,
        high=100,
        facts=work_facts,
        reveal="""
            The pass that reads the prompt takes {{first}} and keeps all of the arithmetic at work. The 127 that
            follow take {{rest}} and hardly any. So {{work}} % of the work is done in {{time}} % of the time.
            """,
    ),
    Prediction(
        id="prefill-cache-as-large",
        title="when the past weighs as much as the model",
        answer=context_as_large_as_the_weights,
        unit="tokens",
        low=1_000,
        high=1_000_000,
        facts=context_facts,
        reveal="""
            {{weights}} of weights over {{kv}} bytes a token. For one user that is a book. But each user brings a past
            of their own, and the weights are read once for all: with 32 users it is {{many}} tokens each.
            """,
    ),
    Prediction(
        id="prefill-experts-read",
        title="which weights a step touches",
        answer=experts_of_64_users,
        unit="experts",
        low=1,
        high=1_000,
        facts=expert_facts,
        reveal="""
            64 users make {{each}} choices in a layer, and many choose the same expert. A given expert is missed by
            all of them with a chance of {{missed}} %. With 8 users {{few}} experts are read, with 256 {{many}}.
            """,
    ),
)

# ---- Exercises -----------------------------------------------------------------------------------------------------


def first_token_on_an_a100():
    flop = 2 * model("llama-3.1-8b").num_params * 4096
    return flop / chip("a100-sxm-80gb").peak("bf16")


def first_token_facts():
    return {
        "params": si(model("llama-3.1-8b").num_params, "").strip(),
        "flop": si(2 * model("llama-3.1-8b").num_params * 4096, "FLOP"),
        "peak": si(chip("a100-sxm-80gb").peak("bf16"), "FLOP/s"),
        "counted": si(prefill_work(model("llama-3.1-8b"), prompt_tokens=4096, dtype="bf16").flop, "FLOP"),
    }


def read_for_one_in_four_bits():
    return 0.5 / 2 * ridge(chip("a100-sxm-80gb"), "bf16")


def four_bit_facts():
    return {"ridge": number(ridge(chip("a100-sxm-80gb"), "bf16"))}


def step_of_16_users(context=8192, users=16):
    llama = model("llama-3.1-8b")
    weights = llama.weight_bytes_read(users, "bf16")
    caches = users * llama.kv_bytes_read(context, "bf16")
    h100 = chip("h100-sxm")
    return (weights + caches) / h100.memory_bytes_per_s


def step_facts():
    llama = model("llama-3.1-8b")
    return {
        "weights": si(llama.weight_bytes_read(16, "bf16"), "B"),
        "cache": si(llama.kv_bytes_read(8192, "bf16"), "B"),
        "caches": si(16 * llama.kv_bytes_read(8192, "bf16"), "B"),
        "kappa": si(llama.kv_bytes_per_token("bf16"), "B"),
        "rate": si(chip("h100-sxm").memory_bytes_per_s, "B/s"),
        "heads": str(llama.num_heads // llama.num_kv_heads),
    }


def users_whose_caches_weigh_as_much():
    llama = model("llama-3.1-70b")
    weights = llama.weight_bytes_read(1, "bf16")
    return weights / llama.kv_bytes_read(4096, "bf16")


def users_facts():
    llama = model("llama-3.1-70b")
    return {
        "weights": si(llama.weight_bytes_read(1, "bf16"), "B"),
        "cache": si(llama.kv_bytes_read(4096, "bf16"), "B"),
        "kv": f"{llama.kv_bytes_per_token('bf16'):,}",
    }


def intensity_of_its_attention():
    llama = model("llama-3.1-405b")
    attention = llama.flop_per_token(4096)
    attention -= llama.flop_per_token(0)
    return attention / llama.kv_bytes_read(4096, "bf16")


def attention_facts():
    llama = model("llama-3.1-405b")
    return {"heads": str(llama.num_heads), "kv_heads": str(llama.num_kv_heads), "width": str(llama.head_dim)}


def times_on(id):
    """Seconds of a prompt of 2,048 tokens, and of a step for 8 users with so many behind them."""
    llama, on = model("llama-3.1-8b"), chip(id)
    first = prefill_time(llama, on, prompt_tokens=2048, dtype="bf16").seconds
    return first, decode_step_time(llama, on, context=2048, batch=8, dtype="bf16").seconds


def what_a_faster_memory_speeds_up():
    first, each = times_on("h100-sxm")
    first_new, each_new = times_on("h200-sxm")
    if first_new < first:
        return "both" if each_new < each else "first"
    return "each"


def faster_facts():
    old, new = chip("h100-sxm"), chip("h200-sxm")
    return {
        "times": number(new.memory_bytes_per_s / old.memory_bytes_per_s),
        "first": si(times_on(old.id)[0], "s"),
        "before": si(times_on(old.id)[1], "s"),
        "after": si(times_on(new.id)[1], "s"),
    }


def experts_of_eight_users():
    v3 = model("deepseek-v3")
    experts, each = v3.num_experts, v3.experts_per_token
    return experts_touched(experts, each, 8)


def eight_facts():
    v3 = model("deepseek-v3")
    return {
        "experts": str(v3.num_experts),
        "each": str(v3.experts_per_token),
        "share": number(100 * experts_of_eight_users() / v3.num_experts, 2),
    }


def bytes_for_16_users():
    llama = model("llama-3.1-8b")
    caches = 16 * llama.kv_bytes_read(2048, "bf16")
    return llama.weight_bytes_read(16, "bf16") + caches


def prompt_tokens_that_ride_along():
    params = model("llama-3.1-8b").num_params
    a100 = chip("a100-sxm-80gb")
    seconds = bytes_for_16_users() / a100.memory_bytes_per_s
    tokens = seconds * a100.peak("bf16") / (2 * params)
    return tokens - 16


def ride_facts():
    llama, a100, moved = model("llama-3.1-8b"), chip("a100-sxm-80gb"), bytes_for_16_users()
    return {
        "peak": si(a100.peak("bf16"), "FLOP/s"),
        "rate": si(a100.memory_bytes_per_s, "B/s", 4),
        "moved": si(moved, "B"),
        "seconds": si(moved / a100.memory_bytes_per_s, "s"),
        "tokens": number(moved / a100.memory_bytes_per_s * a100.peak("bf16") / (2 * llama.num_params)),
    }


@cache
def pass_bound(tokens):
    """What binds while Qwen3 30B-A3B reads so many tokens on an H100."""
    qwen, h100 = model("qwen3-30b-a3b"), chip("h100-sxm")
    return prefill_time(qwen, h100, prompt_tokens=tokens, dtype="bf16").bound


def prompt_that_fills_the_arithmetic():
    tokens = 64
    while pass_bound(tokens) == "memory":
        tokens += 64
    return tokens


def fill_facts():
    qwen, llama = model("qwen3-30b-a3b"), model("llama-3.1-8b")
    work = prefill_work(qwen, prompt_tokens=1024, dtype="bf16")
    return {
        "weights": si(qwen.weight_bytes_read(1024, "bf16"), "B"),
        "dense": si(llama.weight_bytes_read(1024, "bf16"), "B"),
        "each": si(work.flop / 1024, "FLOP"),
        "dense_each": si(prefill_work(llama, prompt_tokens=1024, dtype="bf16").flop / 1024, "FLOP"),
        "intensity": number(work.flop / work.memory_bytes, 2),
        "ridge": number(ridge(chip("h100-sxm"), "bf16")),
        "times": number(prompt_that_fills_the_arithmetic() / 1024, 2),
        "bound": number(times_that_memory_binds(), 2),
    }


def times_that_memory_binds():
    """In the scene of the question."""
    return prefill_time(model("qwen3-30b-a3b"), chip("h100-sxm"), prompt_tokens=1024, dtype="bf16").ratio


EXERCISES = (
    Choice(
        id="prefill-faster-memory",
        title="a faster memory",
        options=(
            Option(
                key="both",
                text="Both the first token and the others come sooner.",
                reply="The first token waits for arithmetic, which is the same. What does its pass read?",
            ),
            Option(
                key="first",
                text="The first token comes sooner; the others do not.",
                reply="It is the other way round. Which of the two passes waits for bytes?",
            ),
            Option(
                key="each",
                text="The first token comes when it did; the others come sooner.",
                reply="Yes: {{first}} for the first token on either; {{after}} instead of {{before}} for the others.",
            ),
        ),
        answer=what_a_faster_memory_speeds_up,
        facts=faster_facts,
        hint="What binds in [the pass of the prompt](#hw:phases:v1:scene=one;at=0), and what in the next?",
        solution="""
            The prompt's pass is bound by arithmetic, of which both have the same. A decode step is bound by bytes,
            and {{times}} times the bandwidth takes as many times less.
            """,
    ),
    Numeric(
        id="prefill-first-token",
        title="the first token of a long prompt",
        label="Least TTFT",
        answer=first_token_on_an_a100,
        unit="ms",
        facts=first_token_facts,
        hint="2NT over the dense peak.",
        solution="""
            2 × {{params}} × 4,096 = {{flop}}, over {{peak}}. Counted product by product the work is {{counted}}, a
            little less. A queue, other users and a real engine add to the time.
            """,
        mistakes=(
            Mistake(
                value=lambda: first_token_on_an_a100() / 2,
                reply="That is half. Either a multiply-add was one FLOP, or you took the peak with sparsity.",
            ),
            Mistake(
                value=lambda: (
                    model("llama-3.1-8b").weight_bytes_read(1, "bf16") / chip("a100-sxm-80gb").memory_bytes_per_s
                ),
                reply="That is one reading of the weights. The pass reads them once, and computes for much longer.",
            ),
            Mistake(
                value=lambda: (
                    4096 * model("llama-3.1-8b").weight_bytes_read(1, "bf16") / chip("a100-sxm-80gb").memory_bytes_per_s
                ),
                reply="You read the weights for each token of the prompt. They are read once for all of them.",
            ),
            Mistake(
                value=lambda: 2 * model("llama-3.1-8b").num_params * 4096 / chip("h100-sxm").peak("bf16"),
                reply="That is an H100. The A100 has a peak of {{peak}}.",
            ),
        ),
    ),
    Numeric(
        id="prefill-four-bits",
        title="weights in four bits",
        label="Tokens read while one is written",
        answer=read_for_one_in_four_bits,
        unit="tokens",
        facts=four_bit_facts,
        hint="The time to bring all weights, over the time to compute one token of the prompt.",
        solution="""
            $sN/\\beta$ over $2N/P$ is $(s/2)\\,P/\\beta$: a quarter of {{ridge}}. Writing has become four times as
            fast and reading not at all, since the arithmetic is still done in bf16.
            """,
        mistakes=(
            Mistake(
                value=lambda: ridge(chip("a100-sxm-80gb"), "bf16"),
                reply="That is bf16. Here a weight takes half a byte.",
            ),
            Mistake(
                value=lambda: 0.5 * ridge(chip("a100-sxm-80gb"), "bf16"),
                reply="Each weight is multiplied and added: two FLOP a token, not one.",
            ),
            Mistake(
                value=lambda: 2 * ridge(chip("a100-sxm-80gb"), "bf16"),
                reply="You took four bits for four bytes.",
            ),
        ),
    ),
    Numeric(
        id="prefill-step-of-users",
        title="a step with its caches",
        label="Least TPOT",
        answer=step_of_16_users,
        unit="ms",
        facts=step_facts,
        hint="All weights once, and each user's cache: that many tokens of κ bytes.",
        solution="""
            {{weights}} of weights and 16 × {{cache}} = {{caches}} of caches, over {{rate}}. More than half of the
            step goes into what no batch shares.
            """,
        mistakes=(
            Mistake(
                value=lambda: step_of_16_users(users=0),
                reply="You left out the caches: {{caches}} in all.",
            ),
            Mistake(
                value=lambda: step_of_16_users(users=1),
                reply="That is one user. Sixteen bring a cache each.",
            ),
            Mistake(
                value=lambda: step_of_16_users(4 * 8192),
                reply="You gave each query head keys and values of its own. {{heads}} query heads share one.",
            ),
            Mistake(
                value=lambda: 16 * step_of_16_users(users=1),
                reply="You read the weights for each user. They are read once for all.",
            ),
        ),
    ),
    Numeric(
        id="prefill-even-users",
        title="when the caches weigh as much",
        label="Users",
        answer=users_whose_caches_weigh_as_much,
        unit="users",
        facts=users_facts,
        hint="Bytes of weights over bytes of one user's cache.",
        solution="""
            {{weights}} over 4,096 × {{kv}} bytes, which is {{cache}}. From there on most of what a step reads is
            shared by nobody.
            """,
        mistakes=(
            Mistake(
                value=lambda: users_whose_caches_weigh_as_much() / 8,
                reply="You forgot that 8 query heads share one head of keys and values.",
            ),
            Mistake(
                value=lambda: users_whose_caches_weigh_as_much() * 2,
                reply="You counted keys only, or one byte an element.",
            ),
            Mistake(
                value=lambda: users_whose_caches_weigh_as_much() * 80,
                reply="That is the cache of one layer. The model has 80.",
            ),
        ),
    ),
    Numeric(
        id="prefill-attention-intensity",
        title="what a byte of cache does",
        label="Arithmetic intensity",
        answer=intensity_of_its_attention,
        unit="FLOP/byte",
        facts=attention_facts,
        hint="Work a token: 4 × heads × width for each token it attends to. Bytes: keys and values, two each.",
        solution="""
            4 × {{heads}} × {{width}} FLOP over 2 × {{kv_heads}} × {{width}} elements of two bytes: as many as query
            heads share one. A second user brings as much work and as many bytes.
            """,
        mistakes=(
            Mistake(
                value=lambda: 64 * intensity_of_its_attention(),
                reply="Users do not share a cache, so the batch does not count.",
            ),
            Mistake(
                value=lambda: intensity_of_its_attention() / 16,
                reply="You gave each query head keys of its own: that is 1, and was so before heads were grouped.",
            ),
            Mistake(
                value=lambda: intensity_of_its_attention() / 2,
                reply="You counted the scores and not the sum over the values, or a multiply-add as one FLOP.",
            ),
            Mistake(
                value=lambda: intensity_of_its_attention() * 2,
                reply="You counted the bytes of the keys and left out the values, or an element took one byte.",
            ),
        ),
    ),
    Numeric(
        id="prefill-eight-users",
        title="experts that eight users wake",
        label="Experts read in a layer",
        answer=experts_of_eight_users,
        unit="experts",
        facts=eight_facts,
        hint="An expert is missed by one token with probability 1 − {{each}}/{{experts}}. By eight?",
        solution="""
            {{experts}} × (1 − (1 − {{each}}/{{experts}})⁸), if routers choose evenly. Eight users read {{share}} % of
            the experts, so their step takes several times as long as that of one.
            """,
        mistakes=(
            Mistake(
                value=lambda: 64,
                reply="That would be so if no two users chose the same.",
            ),
            Mistake(
                value=lambda: 8,
                reply="That is one user, or eight who all choose alike.",
            ),
            Mistake(
                value=lambda: 256,
                reply="All of them are read only with many more users.",
            ),
        ),
    ),
    Numeric(
        id="prefill-ride-along",
        title="prompt tokens that ride along",
        label="Tokens of a prompt",
        answer=prompt_tokens_that_ride_along,
        unit="tokens",
        tolerance=0.03,
        facts=ride_facts,
        hint="How long does the step take to bring its bytes? How many tokens does the arithmetic do in that time?",
        solution="""
            {{moved}} over {{rate}} is {{seconds}}. In that time the arithmetic does {{tokens}} tokens, and 16 of them
            are the users' own.
            """,
        mistakes=(
            Mistake(
                value=lambda: prompt_tokens_that_ride_along() + 16,
                reply="Sixteen of those places are taken: the users' own tokens.",
            ),
            Mistake(
                value=lambda: (
                    model("llama-3.1-8b").weight_bytes_read(1, "bf16")
                    / chip("a100-sxm-80gb").memory_bytes_per_s
                    * chip("a100-sxm-80gb").peak("bf16")
                    / (2 * model("llama-3.1-8b").num_params)
                    - 16
                ),
                reply="You left out the users' caches, which make the step longer and so leave more room.",
            ),
            Mistake(
                value=lambda: 2 * (prompt_tokens_that_ride_along() + 16) - 16,
                reply="A multiply-add is two FLOP.",
            ),
        ),
    ),
    Numeric(
        id="prefill-experts-prompt",
        title="a prompt that memory binds",
        label="Tokens in the prompt",
        answer=prompt_that_fills_the_arithmetic,
        unit="tokens",
        tolerance=0.04,
        facts=fill_facts,
        hint="Start from [the scene](#hw:phases:v1:scene=experts;at=0), then set longer prompts in one of your own.",
        solution="""
            A prompt of 1,024 tokens wakes all experts, {{weights}} of them, but a token computes with few: {{each}},
            where the dense model of {{dense}} does {{dense_each}}. So the pass does {{intensity}} FLOP a byte, and
            the ridge of {{ridge}} needs {{times}} times the tokens.
            """,
        mistakes=(
            Mistake(
                value=lambda: ridge(chip("h100-sxm"), "bf16"),
                reply="That is a dense model, whose tokens use every weight.",
            ),
            Mistake(
                value=lambda: 128 / 8 * ridge(chip("h100-sxm"), "bf16"),
                reply="Only the experts are chosen from. Attention and head work for every token.",
            ),
            Mistake(
                value=lambda: 1024 * times_that_memory_binds(),
                reply="Attention's work grows faster than the prompt, so the arithmetic gets there a little sooner.",
            ),
            Mistake(
                value=lambda: 1024,
                reply="There memory binds still, by {{bound}} times.",
            ),
        ),
    ),
)

# ---- The memo ------------------------------------------------------------------------------------------------------


def wait_of_the_last_of_eight():
    llama, h100 = model("llama-3.1-8b"), chip("h100-sxm")
    load = {"prompt_tokens": 12_000, "batch": 8}
    time = prefill_time(llama, h100, **load, dtype="bf16")
    return time.seconds


def memo_facts():
    llama, h100, h200, b200 = model("llama-3.1-8b"), chip("h100-sxm"), chip("h200-sxm"), chip("b200")
    shared = {"context": 12_100, "batch": 8, "dtype": "bf16"}
    step = {on.id: decode_step_time(llama, on, **shared).seconds for on in (h100, h200, b200)}
    one = prefill_time(llama, h100, prompt_tokens=12_000, dtype="bf16").seconds
    return {
        "one": si(one, "s"),
        "eight": si(wait_of_the_last_of_eight(), "s"),
        "b200": si(prefill_time(llama, b200, prompt_tokens=12_000, batch=8, dtype="bf16").seconds, "s"),
        "step": si(step["h100-sxm"], "s", 2),
        "faster": si(step["h200-sxm"], "s", 2),
        "both": si(step["b200"], "s", 2),
        "stall": number(one / step["h100-sxm"], 2),
    }


MEMO = Memo(
    id="prefill-memo",
    title="half a page for the person who pays",
    answer=wait_of_the_last_of_eight,
    unit="s",
    facts=memo_facts,
    rubric=(
        "It tells the two waits apart, and says which of them the users complain about.",
        "It says how long reading takes, for one prompt and for the last of eight, as a number.",
        "It says what more bandwidth does to either wait, and why.",
        "It says what more arithmetic does to either wait.",
        "It says whom chunks help and whom they do not, and names prompts that repeat as a thing to look for.",
        "It says what to measure before money is spent, and what the bound leaves out.",
    ),
    hint="Which pass does the first word wait for, and what binds in it? What do the other users see meanwhile?",
    solution="""
        Our users wait for the first word, not for the text. Reading one contract of 12,000 tokens takes an H100 at
        least {{one}}, and the last of eight that come together waits {{eight}}; after that a word comes every
        {{step}}. Reading is bound by arithmetic. The H200 has as much of it as we have, so it leaves the complaint
        where it is and makes the text come every {{faster}} instead, which nobody asked for. The B200 has more than
        twice the arithmetic: {{b200}} for the last of eight, and {{both}} a word. Chunks do not shorten the reading.
        They keep those who are already being written to from standing still: without them a prompt holds up everybody
        for {{stall}} steps. Before either I would look at what the prompts share. If eight users ask about one
        contract, its cache can be kept and read once, and that costs no hardware. Measure first: times to first token
        by length of prompt and by queue, on one chip; how much of each prompt repeats; and how far the engine is from
        the bound, since published engines took one and a half to four times as long. The bound leaves out the queue
        before the chip, the tokeniser and the network.
        """,
)

# ---- What chapters 2, 3 and 5 taught -------------------------------------------------------------------------------


def ridge_of_the_mi300x():
    return ridge(chip("mi300x"), "bf16")


def time_through_an_h200():
    h200 = chip("h200-sxm")
    return h200.memory_bytes / h200.memory_bytes_per_s


def share_of_padding():
    padded = bucket(700, (256, 512, 1024, 2048))
    return (padded - 700) / padded


REVIEW = (
    Numeric(
        id="prefill-review-ridge",
        title="the chip's own number",
        label="Ridge in bf16",
        answer=ridge_of_the_mi300x,
        unit="FLOP/byte",
        facts=lambda: {
            "peak": si(chip("mi300x").peak("bf16"), "FLOP/s"),
            "rate": si(chip("mi300x").memory_bytes_per_s, "B/s"),
        },
        hint="Dense peak over bandwidth.",
        solution="{{peak}} over {{rate}}.",
        mistakes=(
            Mistake(value=lambda: 2 * ridge_of_the_mi300x(), reply="You took the peak with sparsity, or that of FP8."),
            Mistake(value=lambda: ridge_of_the_mi300x() / 8, reply="You divided by bits. The bandwidth is in bytes."),
        ),
    ),
    Numeric(
        id="prefill-review-through",
        title="a memory read from end to end",
        label="Time",
        answer=time_through_an_h200,
        unit="ms",
        facts=lambda: {
            "holds": si(chip("h200-sxm").memory_bytes, "B"),
            "rate": si(chip("h200-sxm").memory_bytes_per_s, "B/s"),
        },
        hint="What it holds over what it delivers.",
        solution="{{holds}} over {{rate}}.",
        mistakes=(
            Mistake(value=lambda: 8 * time_through_an_h200(), reply="You took bits for bytes."),
            Mistake(
                value=lambda: time_through_an_h200() * 1e9 / GiB,
                reply="You read GiB as GB: a GiB is 2³⁰ bytes.",
            ),
            Mistake(
                value=lambda: chip("h200-sxm").memory_bytes / chip("h100-sxm").memory_bytes_per_s,
                reply="That is the bandwidth of the H100. The H200 has {{rate}}.",
            ),
        ),
    ),
    Numeric(
        id="prefill-review-padding",
        title="a prompt in a bucket",
        label="Share of padding",
        answer=share_of_padding,
        unit="%",
        hint="Which bucket does it go into, and how many of its places stay empty?",
        solution="It is padded to 1,024; 324 of 1,024 rows are computed for nothing.",
        mistakes=(
            Mistake(value=lambda: 324 / 700, reply="That is the padding over the prompt. Divide by all rows."),
            Mistake(value=lambda: (2048 - 700) / 2048, reply="There is a smaller bucket that holds it."),
        ),
    ),
)

# ---- A request to time ---------------------------------------------------------------------------------------------


def request_seconds(prompt, answer, work, weights, cache):
    """Least seconds from a prompt to its last token."""
    reading = weights + prompt * cache
    seconds = max(prompt * work, reading)
    for written in range(1, answer):
        moving = weights + (prompt + written) * cache
        seconds += max(work, moving)
    return seconds


def _draw_request(generator):
    weights = generator.randint(20, 200)  # arithmetic of a token takes 1, or more than all bytes
    return {
        "prompt": generator.randint(2, 400),
        "answer": generator.randint(2, 24),
        "work": generator.choice((1, 1, 1, 2 * weights)),
        "weights": weights,
        "cache": generator.choice((0.125, 0.25, 0.5)),
    }


def _mutant(
    prompt, answer, work, weights, cache, *, longer=max, first=1, more=0, grows=1, cached=1, read=1, reading=None
):
    whole = longer(prompt * work, weights + prompt * cache) if reading is None else reading
    seconds = whole * read
    for written in range(first, answer - 1 + first + more):
        seconds += longer(work, weights + (prompt + written * grows) * cache * cached)
    return seconds


def _changed(**how):
    return lambda prompt, answer, work, weights, cache: _mutant(prompt, answer, work, weights, cache, **how)


def _always_bound_by_arithmetic(prompt, answer, work, weights, cache):
    return _mutant(prompt, answer, work, weights, cache, reading=prompt * work)


def _prompt_without_cache(prompt, answer, work, weights, cache):
    return _mutant(prompt, answer, work, weights, cache, reading=max(prompt * work, weights))


def _token_by_token(prompt, answer, work, weights, cache):
    read = sum(max(work, weights + n * cache) for n in range(1, prompt + 1))
    return _mutant(prompt, answer, work, weights, cache, reading=read)


CODE = (
    Code(
        id="prefill-request-seconds",
        title="the time of a request, as a function",
        answer=request_seconds,
        draw=_draw_request,
        hint="""
            One pass for the prompt, then answer − 1 passes. Each takes the longer of its arithmetic and its bytes. In
            the pass that follows n written tokens the context is prompt + n.
            """,
        solution="""
            The prompt's pass does `prompt` times the work of a token, reads the weights once and writes the cache of
            the prompt. Its last token gives the first of the answer. Each later pass does the work of one token,
            reads the weights again, and moves a cache that has grown by one.
            """,
        mutants=(
            Mutant(
                function=_changed(more=1),
                reply="You made a pass too many: the first token comes out of the prompt's.",
            ),
            Mutant(
                function=_changed(longer=lambda a, b: a + b),
                reply="You added arithmetic and memory. They go on at once, so the longer counts.",
            ),
            Mutant(
                function=_changed(longer=min),
                reply="You took the shorter of arithmetic and memory. The longer one sets the pace.",
            ),
            Mutant(
                function=_changed(grows=0),
                reply="Your cache stays as the prompt left it. Each token that is written adds to it.",
            ),
            Mutant(
                function=_changed(first=0),
                reply="Your cache lags by one. The token that a pass takes in has keys and values too.",
            ),
            Mutant(
                function=_changed(cached=0),
                reply="You left the cache out of the passes that write. Each of them reads all of it.",
            ),
            Mutant(
                function=_changed(read=0),
                reply="You left out the reading of the prompt.",
            ),
            Mutant(
                function=_always_bound_by_arithmetic,
                reply="You took for granted that arithmetic binds while the prompt is read. Short ones wait for bytes.",
            ),
            Mutant(
                function=_prompt_without_cache,
                reply="You left the cache out of the prompt's pass, which writes keys and values of all its tokens.",
            ),
            Mutant(
                function=_token_by_token,
                reply="You read the prompt token by token, and the weights each time. One pass reads them once.",
            ),
        ),
    ),
)

QUESTIONS = (*GUESSES, *EXERCISES, MEMO, *REVIEW, *CODE)
