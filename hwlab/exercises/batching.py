"""Chapter 11, continuous batching: guesses, exercises, a memo, a review of earlier chapters, and a batcher to write."""

from __future__ import annotations

from functools import cache
from math import ceil

from hwlab.costs.batching import gain_exponential, gain_of, gain_uniform, with_prompts
from hwlab.costs.kv_cache import concurrency
from hwlab.costs.roofline import prefill_time, ridge
from hwlab.formula import number, si
from hwlab.specs.answers import answer_lengths
from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.studies.batching import steps_taken

from .base import Choice, Code, Memo, Mistake, Mutant, Numeric, Option, Prediction

# ---- Guesses -------------------------------------------------------------------------------------------------------


def longest_of_a_chat_batch():
    chat = answer_lengths("azure-conversation")
    return gain_of(chat.slices, 32)


def stall_of_a_prompt():
    llama, gpu = model("llama-3.1-8b"), chip("h100-sxm")
    tokens = 32_000
    flop = llama.flop(tokens, 0, head_tokens=1)
    return flop / gpu.peak("bf16")


def step_of_ten_thousand():
    llama, gpu = model("llama-3.1-70b"), chip("h100-sxm")
    flop = 10_000 * llama.flop_per_token(0)
    return flop / (8 * gpu.peak("bf16"))


def reading_of_the_weights():
    llama, gpu = model("llama-3.1-70b"), chip("h100-sxm")
    read = llama.weight_bytes_read(1, "bf16")
    return read / (8 * gpu.memory_bytes_per_s)


def idle_facts():
    chat = answer_lengths("azure-conversation")
    return {
        "mean": number(chat.mean),
        "longest": number(chat.mean * gain_of(chat.slices, 32)),
        "idle": number(100 * (1 - 1 / gain_of(chat.slices, 32)), 2),
    }


def stall_facts():
    llama, gpu = model("llama-3.1-8b"), chip("h100-sxm")
    read = llama.weight_bytes_read(1, "bf16") / gpu.memory_bytes_per_s
    return {
        "step": si(read, "s"),
        "times": number(stall_of_a_prompt() / read, 2),
        "attention": number(100 * (1 - 32_000 * llama.flop_per_token(0) / llama.flop(32_000, 0)), 2),
    }


def thousand_facts():
    llama = model("llama-3.1-70b")
    return {
        "read": si(reading_of_the_weights(), "s"),
        "times": number(step_of_ten_thousand() / reading_of_the_weights(), 2),
        "cache": si(10_000 * llama.kv_bytes(4096, "bf16"), "B"),
    }


GUESSES = (
    Prediction(
        id="batching-longest",
        title="before you read on",
        answer=longest_of_a_chat_batch,
        unit="times",
        low=1,
        high=1000,
        facts=idle_facts,
        reveal="""
            The mean answer had {{mean}} tokens, and the longest of 32 has {{longest}} on average. While the batch
            waits for it {{idle}} % of its rows, on average, do nothing for anybody.
            """,
    ),
    Prediction(
        id="batching-stall",
        title="a document comes in",
        answer=stall_of_a_prompt,
        unit="ms",
        low=1,
        high=10_000,
        facts=stall_facts,
        reveal="""
            A step that only writes tokens takes {{step}}, so everybody's next token comes {{times}} times as late as
            usual. Attention makes up {{attention}} % of the work: each token of the document looks back at all before.
            """,
    ),
    Prediction(
        id="batching-ten-thousand",
        title="ten thousand at once",
        answer=step_of_ten_thousand,
        unit="ms",
        low=1,
        high=10_000,
        facts=thousand_facts,
        reveal="""
            It is {{times}} times as long as reading the weights, {{read}}, which one user has to wait for as well.
            Nobody waits for the others one by one. (And the caches, {{cache}} at 4,096 tokens each, would not fit by
            far.)
            """,
    ),
)

# ---- Exercises -----------------------------------------------------------------------------------------------------

_TWELVE = (4, 17, 3, 9, 2, 6, 21, 5, 3, 12, 4, 7)  # as in the first scene of the timeline


def steps_of_a_static_batch():
    first, second = (9, 4, 30, 7), (12, 2, 5, 6)
    return max(first) + max(second)


def gain_of_the_explained_lengths():
    return gain_uniform(16)


def rows_that_work():
    return 1 / gain_exponential(8)


def gain_with_long_prompts():
    steps, prompts = 4.0, 3.0
    return with_prompts(steps, prompts)


def what_gains_nothing():
    chat = answer_lengths("azure-conversation").slices
    code = answer_lengths("azure-code").slices
    gains = {"labels": 1.0}
    gains["chat"] = gain_of(chat, 32)
    gains["code"] = gain_of(code, 32)
    return min(gains, key=gains.get)


def gain_facts():
    chat, code = (gain_of(answer_lengths(id).slices, 32) for id in ("azure-conversation", "azure-code"))
    return {"chat": number(chat, 2), "code": number(code, 2)}


def what_the_printed_loop_does():
    running, walked = ["a", "b", "c"], []
    for name in running:
        walked.append(name)
        if name in ("a", "b"):
            running.remove(name)
    return "skips" if walked == ["a", "c"] else "works"


def budget_for_a_promise():
    llama, gpu = model("llama-3.1-8b"), chip("h100-sxm")
    flop = 0.020 * gpu.peak("bf16")
    return flop / llama.flop_per_token(0)


def budget_facts():
    llama, gpu = model("llama-3.1-8b"), chip("h100-sxm")
    return {
        "peak": si(gpu.peak("bf16"), "FLOP/s"),
        "flop": si(0.02 * gpu.peak("bf16"), "FLOP"),
        "token": si(llama.flop_per_token(0), "FLOP"),
        "ridge": number(ridge(gpu, "bf16")),
    }


def steps_of_a_prompt_in_chunks():
    free = 512 - 48
    return ceil(12_000 / free)


def seconds_of_a_swap():
    llama = model("llama-3.1-8b")
    moved = 2 * llama.kv_bytes(3000, "bf16")
    return moved / 50e9


def swap_facts():
    llama, gpu = model("llama-3.1-8b"), chip("h100-sxm")
    again = prefill_time(llama, gpu, prompt_tokens=3000, dtype="bf16").seconds
    return {
        "cache": si(llama.kv_bytes(3000, "bf16"), "B"),
        "token": si(llama.kv_bytes_per_token("bf16"), "B"),
        "again": si(again, "s"),
    }


def chips_for_ten_thousand():
    llama, gpu = model("llama-3.1-70b"), chip("h100-sxm")
    caches = 10_000 * llama.kv_bytes(4096, "bf16")
    return ceil(caches / gpu.memory_bytes)


def chips_facts():
    llama, gpu = model("llama-3.1-70b"), chip("h100-sxm")
    return {
        "one": si(llama.kv_bytes(4096, "bf16"), "B"),
        "all": si(10_000 * llama.kv_bytes(4096, "bf16"), "B"),
        "holds": si(gpu.memory_bytes, "B"),
    }


def steps_of_the_twelve():
    steps, _ = steps_taken(_TWELVE, 6, policy="continuous")
    return steps


@cache
def twelve_facts():
    return {
        "four": f"{steps_taken(_TWELVE, 4, policy='continuous')[0]}",
        "tokens": f"{sum(_TWELVE)}",
        "longest": f"{max(_TWELVE)}",
        "least": f"{ceil(sum(_TWELVE) / 6)}",
        "begins": f"{steps_of_the_twelve() - max(_TWELVE) + 1}",
    }


EXERCISES = (
    Numeric(
        id="batching-half-blank",
        title="two static batches",
        label="Steps of both",
        answer=steps_of_a_static_batch,
        unit="steps",
        tolerance=0.005,
        hint="A batch takes as many steps as its longest answer has tokens, the first token included.",
        solution="30 steps, then 12. All rows full to the end would take 75 tokens over 4 rows, that is 19 steps.",
        mistakes=(
            Mistake(value=lambda: ceil(75 / 4), reply="That is all tokens over four rows: what full rows would take."),
            Mistake(value=lambda: 30, reply="That is the longest answer of all. The second batch begins after it."),
            Mistake(value=lambda: 75, reply="Those are all tokens. A step writes one for each row."),
        ),
    ),
    Numeric(
        id="batching-uniform",
        title="every length as likely",
        label="Gain in steps",
        answer=gain_of_the_explained_lengths,
        unit="times",
        tolerance=0.01,
        facts=lambda: {"far": number(gain_uniform(1024), 4)},
        hint="Where does the longest of B lengths lie, on average, when all from 0 to a largest one are as likely?",
        solution="""
            B points cut the range into B + 1 parts that are equal on average, so the longest lies at B/(B + 1) of the
            largest, and the mean at half of it: 2 × 16 / 17. Even 1,024 rows would give only {{far}}.
            """,
        mistakes=(
            Mistake(value=lambda: 2.0, reply="That is the limit of many rows. The longest of 16 falls a little short."),
            Mistake(
                value=lambda: gain_exponential(16), reply="That is the harmonic number, which exponential lengths give."
            ),
            Mistake(value=lambda: 16 / 17, reply="That is the longest over the largest. Divide by the mean."),
        ),
    ),
    Numeric(
        id="batching-rows-at-work",
        title="rows at work",
        label="Share of rows that write",
        answer=rows_that_work,
        unit="%",
        facts=lambda: {"sum": number(gain_exponential(8), 4)},
        hint="The batch runs for the longest of 8, each row works for its own length. What is their ratio on average?",
        solution="1 + 1/2 + … + 1/8 is {{sum}}, and the mean row works for one part of that.",
        mistakes=(
            Mistake(value=lambda: 1 - rows_that_work(), reply="That is the share that idles."),
            Mistake(value=lambda: 1 / gain_uniform(8), reply="That is for uniform lengths."),
            Mistake(value=lambda: 1 / 8, reply="That would be one row at work and seven idle for the whole batch."),
        ),
    ),
    Choice(
        id="batching-nothing",
        title="where nothing is gained",
        options=(
            Option(key="chat", text="A chat service.", reply="Its answers spread: at 32 rows it gains {{chat}} times."),
            Option(
                key="code",
                text="Completion of code, mostly a dozen tokens.",
                reply="Most are short, a few are far longer, and a batch waits for those: {{code}} times.",
            ),
            Option(
                key="labels",
                text="A classifier that answers with one token.",
                reply="Yes: all answers are equal, so no row ever waits for another.",
            ),
        ),
        answer=what_gains_nothing,
        facts=gain_facts,
        hint="The gain is the longest of a batch over the mean. Where are they the same?",
        solution="""
            With equal lengths static batches are full to their end. What continuous batching still gives is a shorter
            wait for those that come while a batch runs.
            """,
    ),
    Choice(
        id="batching-loop",
        title="what the loop walks over",
        options=(
            Option(key="works", text="a, b and c", reply="The list has moved up by one when the walk goes on."),
            Option(key="skips", text="a and c", reply="Yes: b now stands where a stood, and the walk is past it."),
            Option(key="first", text="Only a", reply="Python does not stop: it goes on at the next place."),
        ),
        answer=what_the_printed_loop_does,
        hint="Write down the list and the place of the walk after each removal.",
        solution="""
            Place 0 holds a, which leaves. Place 1 now holds c. So b is not looked at, and where a step's results are
            read by place, c is judged by those of b.
            """,
    ),
    Numeric(
        id="batching-prompts",
        title="long prompts, short answers",
        label="Gain in time",
        answer=gain_with_long_prompts,
        unit="times",
        hint="Let the answers take 1 under continuous batching. What do they take under static, and the prompts?",
        solution="""
            Static batching takes 3 for prompts and 4 for answers, continuous batching 3 and 1: 7 over 4. What batching
            does not touch dilutes what it gains, as in Amdahl's law.
            """,
        mistakes=(
            Mistake(value=lambda: 4.0, reply="That is the gain of the answers alone. Prompts take their time in both."),
            Mistake(value=lambda: 4 / 3, reply="You divided by the prompts. Add them to both times."),
            Mistake(value=lambda: 7 / 3, reply="You left the answers out of the time of continuous batching."),
        ),
    ),
    Numeric(
        id="batching-budget",
        title="a budget for a promise",
        label="Most tokens of a step",
        answer=budget_for_a_promise,
        unit="tokens",
        facts=budget_facts,
        hint="Above the ridge the arithmetic sets the time. How many tokens fit into it, at two FLOP a weight?",
        solution="""
            {{peak}} for that time is {{flop}}; a token takes {{token}}. That is above the ridge of {{ridge}} rows, so
            the arithmetic does bind. On a true chip, which reaches two thirds of its peak, take two thirds of it.
            """,
        mistakes=(
            Mistake(value=lambda: 2 * budget_for_a_promise(), reply="You counted one FLOP a weight. It is two."),
            Mistake(
                value=lambda: ridge(chip("h100-sxm"), "bf16"),
                reply="That is the ridge, where a step begins to last longer.",
            ),
            Mistake(
                value=lambda: 0.020 * chip("h100-sxm").peak("bf16") / (2 * model("llama-3.1-8b").num_params),
                reply="You counted the table of embeddings too. A row of it is looked up, and nothing multiplied.",
            ),
            Mistake(
                value=lambda: budget_for_a_promise() * 2.5, reply="That is for a promise two and a half times as long."
            ),
        ),
    ),
    Numeric(
        id="batching-chunks",
        title="a prompt in pieces",
        label="Steps until its first token",
        answer=steps_of_a_prompt_in_chunks,
        unit="steps",
        tolerance=0.005,
        facts=lambda: {"free": str(512 - 48)},
        hint="Each of the others takes one token of the budget, and takes it first.",
        solution="{{free}} tokens a step are left for the prompt, and the last piece takes a step too.",
        mistakes=(
            Mistake(value=lambda: ceil(12_000 / 512), reply="You gave the prompt all 512. The answers come first."),
            Mistake(value=lambda: 12_000 // (512 - 48), reply="You left out the last piece, which takes a step too."),
            Mistake(value=lambda: 12_000 // 48, reply="You divided by the answers. The prompt has the rest."),
        ),
    ),
    Numeric(
        id="batching-swap",
        title="swap it, or compute it again",
        label="Time of the swap",
        answer=seconds_of_a_swap,
        unit="ms",
        facts=swap_facts,
        hint="A token of this model has {{token}} of cache. It has to go, and to come back.",
        solution="""
            {{cache}} out and {{cache}} in. Computing the tokens again would take {{again}} at the peak of an H100, of
            arithmetic, which steps that write have to spare. A swap takes none, but a link that has to be there.
            """,
        mistakes=(
            Mistake(value=lambda: seconds_of_a_swap() / 2, reply="That is one way. It has to come back, too."),
            Mistake(value=lambda: seconds_of_a_swap() * 8, reply="You took the link in bits a second."),
            Mistake(value=lambda: seconds_of_a_swap() * 4, reply="You forgot grouped heads: 8 key heads serve 32."),
        ),
    ),
    Numeric(
        id="batching-ten-thousand-caches",
        title="room for ten thousand",
        label="H100s for the caches alone",
        answer=chips_for_ten_thousand,
        unit="chips",
        tolerance=0.005,
        facts=chips_facts,
        hint="A sequence of 4,096 tokens takes {{one}}. The memory of an H100 is counted in powers of two.",
        solution="{{all}} over {{holds}} a chip. The weights come on top, and no exchange among so many is counted.",
        mistakes=(
            Mistake(
                value=lambda: ceil(10_000 * model("llama-3.1-70b").kv_bytes(4096, "bf16") / 80e9),
                reply="You read the GiB of the memory as GB.",
            ),
            Mistake(
                value=lambda: ceil(8 * 10_000 * model("llama-3.1-70b").kv_bytes(4096, "bf16") / (80 * 2**30)),
                reply="You forgot grouped heads: 8 key heads serve 64.",
            ),
            Mistake(
                value=lambda: ceil(10_000 * model("llama-3.1-70b").kv_bytes(4096, "bf16") / (80 * 2**30) / 2),
                reply="You counted keys or values. A cache has both.",
            ),
        ),
    ),
    Numeric(
        id="batching-six-rows",
        title="more rows for the same twelve",
        label="Steps",
        answer=steps_of_the_twelve,
        unit="steps",
        tolerance=0.005,
        facts=twelve_facts,
        hint="All twelve have {{tokens}} tokens, and the longest {{longest}}. With six rows, when does it begin?",
        solution="""
            {{tokens}} tokens in six rows would take {{least}} steps. But the longest answer, {{longest}} tokens, is the
            seventh to come: it begins with step {{begins}}, when the first row is free, and ends the schedule. With
            four rows it was {{four}}. More rows help until the longest answer is all that is left.
            """,
        mistakes=(
            Mistake(
                value=lambda: ceil(sum(_TWELVE) / 6), reply="That fills all rows to the end. Which answer is left over?"
            ),
            Mistake(
                value=lambda: steps_taken(_TWELVE, 6, policy="static")[0],
                reply="That is static batching, six at a time.",
            ),
            Mistake(value=lambda: steps_taken(_TWELVE, 4, policy="continuous")[0], reply="That is with four rows."),
        ),
    ),
)

# ---- The memo ------------------------------------------------------------------------------------------------------


def gain_for_the_two_services():
    chat = answer_lengths("azure-conversation")
    extract, talk = 1.0, gain_of(chat.slices, 32)
    return with_prompts((extract + talk) / 2, 1.0)


def memo_facts():
    chat = gain_of(answer_lengths("azure-conversation").slices, 32)
    return {
        "chat": number(chat, 2),
        "mixed": number((1 + chat) / 2, 2),
        "all": number(gain_for_the_two_services(), 2),
    }


MEMO = Memo(
    id="batching-memo",
    title="half a page for the person who pays",
    answer=gain_for_the_two_services,
    unit="times",
    facts=memo_facts,
    rubric=(
        "It says what the vendor's factor is made of, and which part of it you can expect.",
        "It gives a gain for each of the two services, from their lengths, and one for the whole.",
        "It says what the prompts take and how that dilutes the gain.",
        "It says what users will notice: the first token, and the gaps between tokens, with and without chunks.",
        "It names what to measure before signing: lengths, prompts, the batch you run today, and at which latency.",
    ),
    hint="A gain in steps is the longest over the mean. Which of your two services has a spread at all?",
    solution="""
        The vendor's factor was measured over a naive program: faster kernels made a factor of four, filling the rows
        again at every step about two, and room for more rows by paging the cache the rest. Extraction writes records
        of one length; its batches are full already, and it gains 1. The chat gains {{chat}} times in steps at 32
        rows, by the lengths of a public trace. With half the new steps each that is {{mixed}} times, and prompts, which
        take as long as all answers do, leave {{all}}. Users of the chat gain more than that: nobody waits for a batch
        to end. With prompts computed whole a long document holds up everyone's next token, so we want chunks and a
        budget that keeps a step below our promise. Before we sign I would log for a week the lengths of prompts and
        answers, the rows that we fill today, and the rate at the latency that we promise. A gain "at equal latency"
        says little about a service that is not held to that latency.
        """,
)

# ---- What earlier chapters taught ----------------------------------------------------------------------------------


def requests_of_2048_tokens():
    llama, gpu = model("llama-3.1-8b"), chip("h100-sxm")
    return concurrency(llama, gpu, tokens=2048).sequences


def least_time_of_a_token():
    llama, gpu = model("llama-3.1-8b"), chip("h100-sxm")
    read = llama.weight_bytes_read(1, "bf16")
    return read / gpu.memory_bytes_per_s


def token_facts():
    llama, gpu = model("llama-3.1-8b"), chip("h100-sxm")
    return {
        "bytes": si(llama.weight_bytes_read(1, "bf16"), "B"),
        "rate": si(gpu.memory_bytes_per_s, "B/s"),
    }


def share_of_empty_slots():
    empty = (32 - 1) / 2
    return empty / (240 + empty)


REVIEW = (
    Numeric(
        id="batching-review-room",
        title="how many rows there is room for",
        label="Requests at once",
        answer=requests_of_2048_tokens,
        unit="requests",
        facts=lambda: {
            "usable": si(0.9 * chip("h100-sxm").memory_bytes, "B"),
            "weights": si(2 * model("llama-3.1-8b").num_params, "B"),
            "each": si(model("llama-3.1-8b").kv_bytes(2048, "bf16"), "B"),
        },
        hint="What is usable, less the weights, over the cache of one request.",
        solution="{{usable}} less {{weights}}, over {{each}}. No scheduler can fill more rows than that.",
        mistakes=(
            Mistake(
                value=lambda: 0.9 * chip("h100-sxm").memory_bytes // model("llama-3.1-8b").kv_bytes(2048, "bf16"),
                reply="You left no room for the weights.",
            ),
            Mistake(value=lambda: requests_of_2048_tokens() // 4, reply="You took 32 heads. Keys and values have 8."),
            Mistake(
                value=lambda: (
                    (72e9 - model("llama-3.1-8b").weight_bytes("bf16")) // model("llama-3.1-8b").kv_bytes(2048, "bf16")
                ),
                reply="You read GiB as GB. Nine tenths of 80 × 2³⁰ bytes are {{usable}}.",
            ),
        ),
    ),
    Numeric(
        id="batching-review-token",
        title="one user's least wait",
        label="Time of a token",
        answer=least_time_of_a_token,
        unit="ms",
        hint="All weights that a token reads, over the bandwidth.",
        facts=token_facts,
        solution="{{bytes}}, the table of embeddings left out, over {{rate}}.",
        mistakes=(
            Mistake(
                value=lambda: least_time_of_a_token() / 2, reply="You gave each weight one byte. In bf16 it takes two."
            ),
            Mistake(
                value=lambda: model("llama-3.1-8b").weight_bytes("bf16") / chip("h100-sxm").memory_bytes_per_s,
                reply="You read the table of embeddings too. A token takes one row of it.",
            ),
            Mistake(
                value=lambda: model("llama-3.1-8b").flop_per_token(0) / chip("h100-sxm").peak("bf16"),
                reply="That is the arithmetic, which waits for the weights.",
            ),
        ),
    ),
    Numeric(
        id="batching-review-blocks",
        title="what last blocks leave empty",
        label="Share of the slots held that are empty",
        answer=share_of_empty_slots,
        unit="%",
        tolerance=0.012,
        hint="A last block has 0 to 31 empty slots, each number as likely as the others.",
        solution="15.5 slots are empty on average, beside 240 that hold tokens.",
        mistakes=(
            Mistake(value=lambda: 31 / (240 + 31), reply="That is the worst case. On average half of it is empty."),
            Mistake(value=lambda: 15.5 / 240, reply="That is over the tokens. Take the share of all slots held."),
            Mistake(
                value=lambda: 16 / (240 + 16),
                reply="You left half a block empty. From 0 to 31 slots are: half a slot less, on average.",
            ),
        ),
    ),
)

# ---- A batcher to write --------------------------------------------------------------------------------------------


def continuous_steps(lengths, batch):
    """Steps until all have answers, `batch` at once."""
    waiting, running, steps = list(lengths), [], 0
    while waiting or running:
        while waiting and len(running) < batch:
            running.append(waiting.pop(0))
        steps += 1
        running = [left - 1 for left in running if left > 1]
    return steps


def _draw_lengths(generator):
    batch = generator.randint(2, 4)
    return {"lengths": [generator.randint(1, 9) for _ in range(generator.randint(9, 16))], "batch": batch}


def _static(lengths, batch):
    return sum(max(lengths[at : at + batch]) for at in range(0, len(lengths), batch))


def _walked(lengths, batch):
    waiting, running, steps = [[n] for n in lengths], [], 0
    while waiting or running:
        while waiting and len(running) < batch:
            running.append(waiting.pop(0))
        steps += 1
        for left in running:
            left[0] -= 1
            if left[0] <= 0:
                running.remove(left)
    return steps


def _one_by_one(lengths, batch):
    waiting, running, steps = list(lengths), [], 0
    while waiting or running:
        if waiting and len(running) < batch:
            running.append(waiting.pop(0))
        steps += 1
        running = [left - 1 for left in running if left > 1]
    return steps


def _late(lengths, batch):
    waiting, running, steps = list(lengths), [], 0
    while waiting or running:
        while waiting and len(running) < batch:
            running.append(waiting.pop(0))
        steps += 1
        running = [left - 1 for left in running if left >= 1]
    return steps


CODE = (
    Code(
        id="batching-steps",
        title="a batcher in eight lines",
        answer=continuous_steps,
        draw=_draw_lengths,
        hint="""
            Two lists. Fill the rows from those that wait; take a step, which writes a token for each that runs; make a
            new list of those that have tokens left.
            """,
        solution="""
            Rows are filled before every step, one token is written for each, and those with nothing left drop out of a
            *new* list. The last tokens count as a step like any other.
            """,
        mutants=(
            Mutant(function=_static, reply="Yours is static: nobody begins until the whole batch has ended."),
            Mutant(
                function=_walked,
                reply="You remove from the list that you walk, so the next one is passed over and gets no token.",
            ),
            Mutant(
                function=lambda lengths, batch: ceil(sum(lengths) / batch),
                reply="You divided all tokens by the rows. At the end some rows stay empty.",
            ),
            Mutant(function=_one_by_one, reply="You let one request in at each step. Fill all the rows that are free."),
            Mutant(function=_late, reply="An answer leaves one step too late: with its last token it has ended."),
            Mutant(
                function=lambda lengths, batch: continuous_steps(lengths, batch + 1),
                reply="You let in one request too many.",
            ),
            Mutant(
                function=lambda lengths, batch: continuous_steps(lengths, 1),
                reply="You counted tokens. A step writes one for each row.",
            ),
            Mutant(
                function=lambda lengths, batch: continuous_steps(sorted(lengths), batch),
                reply="You served the shortest first. They come in order of arrival.",
            ),
        ),
    ),
)

QUESTIONS = (*GUESSES, *EXERCISES, MEMO, *REVIEW, *CODE)
