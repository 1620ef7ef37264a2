"""Chapter 12, speculative decoding: guesses, exercises, a memo, a review of chapters 2 to 5, and a verdict to write."""

from __future__ import annotations

from itertools import pairwise

from hwlab.costs.roofline import decode_step_time, ridge, verify_step_time
from hwlab.formula import number, si
from hwlab.serving.pager import Pager
from hwlab.serving.speculative import (
    acceptance,
    best_guesses,
    break_even_batch,
    residual,
    speedup,
    speedup_on,
    tokens_per_round,
)
from hwlab.specs.chips import chip
from hwlab.specs.models import experts_touched, model
from hwlab.specs.speculation import measurements

from .base import Choice, Code, Memo, Mistake, Mutant, Numeric, Option, Prediction

TARGET, DRAFT, H100 = model("llama-3.1-8b"), model("llama-3.2-1b"), chip("h100-sxm")

# ---- Guesses -------------------------------------------------------------------------------------------------------


def time_to_judge_four():
    load = {"context": 512, "dtype": "bf16"}
    one = decode_step_time(TARGET, H100, **load)
    five = verify_step_time(TARGET, H100, guesses=4, **load)
    return five.seconds / one.seconds


def tokens_of_eight_guesses():
    return tokens_per_round(0.8, 8)


def share_taken_of_an_early_exit():
    measured = measurements("hwlab-smollm2")
    return measured[0].acceptance


def sequences_at_which_guessing_stops():
    load = {"acceptance": 0.7, "guesses": 4, "context": 256}
    return break_even_batch(H100, TARGET, DRAFT, **load)


def judging_facts():
    load = {"context": 512, "dtype": "bf16"}
    one = decode_step_time(TARGET, H100, **load)
    five = verify_step_time(TARGET, H100, guesses=4, **load)
    return {
        "one": si(one.seconds, "s"),
        "weights": si(TARGET.weight_bytes_read(1, "bf16"), "B"),
        "rows": number(five.memory_s / five.compute_s, 2),
    }


def exit_facts():
    (trained,) = measurements("hwlab-smollm2", method="draft")
    return {"trained": f"{number(100 * trained.acceptance)} %"}


GUESSES = (
    Prediction(
        id="speculation-judge-time",
        title="before you read on",
        answer=time_to_judge_four,
        unit="times",
        low=0.1,
        high=100,
        facts=judging_facts,
        reveal="""
            The same, but for a hair. To write one token the chip reads {{weights}} of weights, which takes {{one}},
            and nearly all of its arithmetic stands idle. Five rows against the same weights use five times as much of
            it, and the weights still take {{rows}} times as long as they do.
            """,
    ),
    Prediction(
        id="speculation-eight-guesses",
        title="what eight guesses are worth",
        answer=tokens_of_eight_guesses,
        unit="tokens",
        low=0.1,
        high=100,
        facts=lambda: {"limit": number(1 / (1 - 0.8)), "four": number(tokens_per_round(0.8, 4))},
        reveal="""
            One refusal ends the round, so the eighth guess counts only if the seven before it were taken. Four guesses
            write {{four}}; without end of guesses it would be {{limit}}.
            """,
    ),
    Prediction(
        id="speculation-early-exit",
        title="a draft for nothing?",
        answer=share_taken_of_an_early_exit,
        unit="%",
        low=0.1,
        high=100,
        facts=exit_facts,
        reveal="""
            The tenth layer writes for the eleventh, and not for the head. A small model of its own, trained to guess,
            had {{trained}} of its guesses taken.
            """,
    ),
    Prediction(
        id="speculation-batch-end",
        title="where it stops to pay",
        answer=sequences_at_which_guessing_stops,
        unit="sequences",
        low=1,
        high=10_000,
        facts=lambda: {
            "one": number(speedup_on(H100, TARGET, DRAFT, acceptance=0.7, guesses=4, context=256)),
            "rows": f"{sequences_at_which_guessing_stops() * 5:,}",
            "ridge": number(ridge(H100, "bf16")),
        },
        reveal="""
            Alone, a user gains {{one}} times. At the limit {{rows}} rows go through the weights at once, more than the
            ridge of {{ridge}} asks for: arithmetic sets the pace, and what is refused was paid for.
            """,
    ),
)

# ---- Exercises -----------------------------------------------------------------------------------------------------

_DRAFT, _TARGET = [0.6, 0.3, 0.1], [0.2, 0.4, 0.4]


def chance_that_a_guess_is_taken():
    return acceptance(_DRAFT, _TARGET)


def chance_of_the_third_after_refusal():
    left = residual(_DRAFT, _TARGET)
    return left[2] / sum(left)


def gain_of_the_half_blank():
    return speedup(0.9, 5, draft_cost=0.1)


def guesses_that_are_best():
    return best_guesses(0.7, draft_cost=0.1)


def gain_where_arithmetic_binds():
    return tokens_per_round(0.8, 4) / 5


def blocks_before_a_round():
    pager = Pager(num_blocks=64, block_tokens=16)
    pager.grow("a sequence", 46 + 1 + 4)
    return len(pager.table("a sequence"))


def time_to_judge_with_experts():
    experts = model("qwen3-30b-a3b")
    load = {"context": 512, "dtype": "bf16"}
    one = decode_step_time(experts, H100, **load)
    five = verify_step_time(experts, H100, guesses=4, **load)
    return five.seconds / one.seconds


def gain_of_64(id):
    width = "fp16" if id == "wse-3" else "bf16"
    load = {"batch": 64, "context": 256, "dtype": width, "acceptance": 0.7, "guesses": 4}
    return speedup_on(chip(id), TARGET, DRAFT, **load)


def chip_that_gains_most():
    chips = "epyc-9755", "h100-sxm", "wse-3"
    return max(chips, key=gain_of_64)


def what_a_worse_draft_costs():
    good = acceptance(_TARGET, _TARGET)
    bad = acceptance(_DRAFT, _TARGET)
    return "time" if bad < good else "nothing"


def large_draft():
    measured = measurements("leviathan-2023")
    return next(s for s in measured if s.draft == "T5-large" and s.temperature == 0)


def cost_of_the_large_draft():
    large = large_draft()
    taken, guesses = large.acceptance, large.guesses
    written = tokens_per_round(taken, guesses)
    return (written / large.speedup - 1) / guesses


def expert_facts():
    experts = model("qwen3-30b-a3b")
    return {
        "one": si(experts.weight_bytes_read(1, "bf16"), "B"),
        "five": si(experts.weight_bytes_read(5, "bf16"), "B"),
        "gain": number(tokens_per_round(0.7, 4) / time_to_judge_with_experts()),
        "dense": number(tokens_per_round(0.7, 4)),
        "shared": si(bytes_for_all_tokens(), "B"),
        "chosen": si(experts.weight_bytes_read(1, "bf16") - bytes_for_all_tokens(), "B"),
        "awake": number(experts_touched(128, 8, 5)),
    }


def bytes_for_all_tokens():
    """Weights of Qwen3 30B A3B that every token uses: none of the experts'."""
    experts = model("qwen3-30b-a3b")
    more = experts.weight_bytes_read(5, "bf16") - experts.weight_bytes_read(1, "bf16")
    return experts.weight_bytes_read(1, "bf16") - more * 8 / (experts_touched(128, 8, 5) - 8)


def chip_facts():
    names = {"cpu": "epyc-9755", "gpu": "h100-sxm", "wafer": "wse-3"}
    return {name: number(gain_of_64(id)) for name, id in names.items()}


def large_facts():
    large = large_draft()
    return {
        "tokens": number(tokens_per_round(large.acceptance, large.guesses)),
        "taken": number(large.acceptance),
        "speed": number(large.speedup),
        "share": number(large.draft_params / large.target_params, 2),
        "round": number(tokens_per_round(large.acceptance, large.guesses) / large.speedup),
    }


EXERCISES = (
    Numeric(
        id="speculation-overlap",
        title="what two opinions share",
        label="Chance that the guess is taken",
        answer=chance_that_a_guess_is_taken,
        unit="%",
        tolerance=0.01,
        hint="Token by token, the smaller of the two probabilities.",
        solution="0.2 + 0.3 + 0.1. The draft's excess on the first token, 0.4, is what is refused.",
        mistakes=(
            Mistake(
                value=lambda: 1 - acceptance(_DRAFT, _TARGET),
                reply="That is how much they differ: the chance that it is refused.",
            ),
            Mistake(
                value=lambda: sum(q * p for q, p in zip(_DRAFT, _TARGET, strict=True)),
                reply="That is the chance that two independent draws agree. The verdict looks at probabilities.",
            ),
        ),
    ),
    Numeric(
        id="speculation-residual",
        title="what is drawn after a refusal",
        label="Chance of the third token",
        answer=chance_of_the_third_after_refusal,
        unit="%",
        tolerance=0.01,
        hint="What does the target hold that the draft did not? Then make it sum to one.",
        solution="""
            What is left over is 0, 0.1 and 0.3, in all 0.4. The third token has 0.3 of 0.4. Check it: written as a
            guess with 0.1, and after a refusal with 0.4 × 0.75 = 0.3; together the 0.4 of the target.
            """,
        mistakes=(
            Mistake(
                value=lambda: _TARGET[2], reply="That is all of the target: the third would be written too seldom."
            ),
            Mistake(
                value=lambda: residual(_DRAFT, _TARGET)[2],
                reply="That is what is left over. What is drawn from must sum to one.",
            ),
            Mistake(
                value=lambda: 0.3 / 0.8,
                reply="You took the differences of either sign. Where the draft has more, nothing is left.",
            ),
        ),
    ),
    Numeric(
        id="speculation-gain",
        title="five guesses of a costlier draft",
        label="Speed-up",
        answer=gain_of_the_half_blank,
        unit="times",
        facts=lambda: {
            "tokens": number(tokens_per_round(0.9, 5)),
            "round": number(1 + 5 * 0.1),
        },
        hint="The powers of 0.9 up to the fifth, and one. Then the time: five guesses and one step.",
        solution="A round writes {{tokens}} tokens in the time of {{round}} steps.",
        mistakes=(
            Mistake(value=lambda: tokens_per_round(0.9, 5), reply="Those are the tokens. The guesses take time too."),
            Mistake(
                value=lambda: (1 + 5 * 0.9) / 1.5,
                reply="You counted 0.9 for each guess. A guess counts only if all before it were taken.",
            ),
            Mistake(
                value=lambda: tokens_per_round(0.9, 4) / 1.5,
                reply="The exponent is one more than the guesses: the target adds a token of its own.",
            ),
        ),
    ),
    Numeric(
        id="speculation-best-guesses",
        title="how far to guess ahead",
        label="Best number of guesses",
        answer=guesses_that_are_best,
        unit="guesses",
        tolerance=0.005,
        facts=lambda: {
            "best": str(guesses_that_are_best()),
            "before": number(speedup(0.7, guesses_that_are_best() - 1, draft_cost=0.1), 4),
            "there": number(speedup(0.7, guesses_that_are_best(), draft_cost=0.1), 4),
            "after": number(speedup(0.7, guesses_that_are_best() + 1, draft_cost=0.1), 4),
        },
        hint="""
            Divide the tokens of a round by its time for 1, 2, 3, … guesses, or
            [set it](#hw:guesses:v1:guesses=1;taken=0.7;cost=0.1;batch=1;chip=h100-sxm) and move the guesses.
            """,
        solution="""
            One guess fewer gives {{before}} times, {{best}} give {{there}}, one more {{after}}. The hump is flat: to be
            off by one costs little.
            """,
        mistakes=(
            Mistake(
                value=lambda: best_guesses(0.7, draft_cost=0.01),
                reply="That is for a draft of a hundredth of a step. This one takes a tenth.",
            ),
            Mistake(
                value=lambda: 1,
                reply="One guess gains, and a second one gains more.",
            ),
        ),
    ),
    Numeric(
        id="speculation-compute-bound",
        title="when arithmetic binds",
        label="Speed-up",
        answer=gain_where_arithmetic_binds,
        unit="times",
        hint="Five rows take five times as long as one. And what do they write?",
        solution="""
            3.36 tokens in the time of five. The refused guesses were computed for nothing, and now nothing is what they
            no longer cost.
            """,
        mistakes=(
            Mistake(value=lambda: tokens_per_round(0.8, 4), reply="That is where the five rows cost as much as one."),
            Mistake(value=lambda: 0.8, reply="That is the share of a guess that is judged. Many are dropped unjudged."),
            Mistake(
                value=lambda: tokens_per_round(0.8, 4) / 4,
                reply="There are five rows: four guesses and the token before them.",
            ),
        ),
    ),
    Numeric(
        id="speculation-experts",
        title="five tokens and their experts",
        label="Time to judge, against one token",
        answer=time_to_judge_with_experts,
        unit="times",
        facts=expert_facts,
        tolerance=0.03,
        hint="How many different experts do five tokens touch, of 128 with 8 a token, if they choose at random?",
        solution="""
            Five tokens touch {{awake}} experts of a layer and one token 8, so the experts' bytes grow in that
            proportion: a token reads {{one}} of weights in all, five tokens {{five}}. Free guesses, four a round and
            seven of ten taken, gain {{gain}} times, and not the {{dense}} of a dense model.
            """,
        mistakes=(
            Mistake(value=lambda: 5, reply="What all tokens use, attention and head, is read once; some experts too."),
            Mistake(value=time_to_judge_four, reply="That is a dense model. Here each token has its own experts."),
            Mistake(
                value=lambda: experts_touched(128, 8, 5) / 8,
                reply="That is the experts alone. Attention and head are read once, for all five.",
            ),
        ),
    ),
    Choice(
        id="speculation-worse-draft",
        title="a draft from another language",
        options=(
            Option(
                key="quality",
                text="Answers become worse, since more of their tokens come from a bad model.",
                reply="Fewer of its tokens come through. Those that do would have been written as often anyway.",
            ),
            Option(
                key="time",
                text="Answers are the same in distribution and come later.",
                reply="Yes: fewer guesses are taken, each written token still has the target's probability.",
            ),
            Option(
                key="nothing",
                text="Nothing: the target checks every token.",
                reply="It checks them, and refuses more. A refused guess has cost time.",
            ),
        ),
        answer=what_a_worse_draft_costs,
        hint="Compare the ends of [a bad draft](#hw:rounds:v1:scene=bad;at=42) and a good one.",
        solution="""
            The chance of each token is what the two ways of writing it sum to, and that sum is the target's whatever
            the draft is. Only the number of tokens a step changes.
            """,
    ),
    Choice(
        id="speculation-chip",
        title="the chip that gains most",
        options=(
            Option(
                key="epyc-9755",
                text="The EPYC 9755, where memory is slowest.",
                reply="Slow, but its arithmetic is slower still: its ridge is low, and 320 rows are far beyond it.",
            ),
            Option(
                key="h100-sxm",
                text="The H100.",
                reply="Yes: it gains {{gpu}} times, the CPU {{cpu}} and the wafer {{wafer}}.",
            ),
            Option(
                key="wse-3",
                text="The WSE-3, which reads its weights fastest.",
                reply="It waits for arithmetic even with one row, so each guess costs its full price.",
            ),
        ),
        answer=chip_that_gains_most,
        facts=chip_facts,
        hint="64 sequences with five rows each. Which chip still waits for its memory then?",
        solution="""
            What counts is the ridge: how much arithmetic lies idle while a byte comes. 64 sequences are {{gpu}} times
            faster on the H100; on the others they are slower.
            """,
    ),
    Numeric(
        id="speculation-slots",
        title="room for what may be refused",
        label="Blocks held before the step",
        answer=blocks_before_a_round,
        unit="blocks",
        tolerance=0.005,
        hint="How many keys and values does the step write, whatever becomes of the guesses?",
        solution="""
            The step writes the cache of the last token and of four guesses, behind 46: 51 tokens, or four blocks of 16.
            Afterwards the places of refused guesses are free to be written again, and the fourth block may go back.
            """,
        mistakes=(
            Mistake(
                value=lambda: 3, reply="That is the room for 47. The guesses are written too, before they are judged."
            ),
            Mistake(value=lambda: 7, reply="Guesses need places, not blocks of their own: they stand behind the text."),
        ),
    ),
    Numeric(
        id="speculation-large-draft",
        title="what a guess did cost",
        label="A guess, of a plain step",
        answer=cost_of_the_large_draft,
        unit="%",
        facts=large_facts,
        tolerance=0.03,
        hint="Tokens of a round over the speed-up is the time of a round. One step of it is the target's.",
        solution="""
            A round writes {{tokens}} tokens and was {{speed}} times as fast, so it took {{round}} steps. One of them is
            the target's; seven guesses share the rest. By parameters a guess would be {{share}} of a step.
            """,
        mistakes=(
            Mistake(
                value=lambda: 800e6 / 11e9,
                reply="That is its share of the parameters. The measured speed-up says that it takes longer.",
            ),
            Mistake(
                value=lambda: cost_of_the_large_draft() + 1 / 7,
                reply="The target's own step is part of the round; take it off first.",
            ),
            Mistake(
                value=lambda: large_draft().guesses * cost_of_the_large_draft(),
                reply="That is all seven guesses together.",
            ),
        ),
    ),
)

# ---- The memo ------------------------------------------------------------------------------------------------------


def gain_of_the_pair():
    load = {"acceptance": 0.7, "guesses": 4, "context": 256}
    return speedup_on(H100, TARGET, DRAFT, **load)


def memo_facts():
    load = {"acceptance": 0.7, "guesses": 4, "context": 256}
    crowd = speedup_on(H100, TARGET, DRAFT, batch=256, **load)
    return {
        "one": number(gain_of_the_pair()),
        "eight": number(speedup_on(H100, TARGET, DRAFT, batch=8, **load)),
        "crowd": number(crowd),
        "end": str(sequences_at_which_guessing_stops()),
        "draft": si(DRAFT.weight_bytes("bf16"), "B"),
        "fewer": str(int(DRAFT.weight_bytes("bf16") / TARGET.kv_bytes(256, "bf16"))),
        "best": number(
            max(speedup_on(H100, TARGET, DRAFT, acceptance=0.7, guesses=g, batch=128, context=256) for g in range(1, 9))
        ),
    }


MEMO = Memo(
    id="speculation-memo",
    title="half a page for the head of the product",
    answer=gain_of_the_pair,
    unit="times",
    facts=memo_facts,
    rubric=(
        "It says that answers keep their quality, and why that is a theorem and not a hope.",
        "It gives the gain for a user at night and what becomes of it at noon, as numbers.",
        "It names what the draft costs besides time: memory, and a second model to maintain.",
        "It proposes to guess less, or not at all, when the batch is large, with a threshold.",
        "It says what to measure first: acceptance on the product's own traffic, and the time of a round.",
    ),
    hint="Two loads, one formula. Where does the arithmetic of the chip begin to bind?",
    solution="""
        Turn it on at night, and let the load turn it off. The draft changes no answer: each token is written with the
        probability that the large model gives it, or is the same one when we decode greedily. With one user it
        makes us {{one}} times as fast, with eight {{eight}} times. At noon, with 256 sequences in a step, the chip's
        arithmetic is busy, refused guesses are paid for, and we would be at {{crowd}} of our present speed; the limit
        lies near {{end}} sequences. So guess four tokens below half of that, fewer above, none beyond: with the best
        number of guesses 128 sequences still gain {{best}} times. The draft takes {{draft}} of memory, the cache of
        {{fewer}} short sequences, and must be trained again when the large model is. Before we decide: a week of
        acceptance rates on our own traffic, by kind of request and temperature, since seven of ten is assumed; and
        the time of a whole round on our engine, which the roofline flatters.
        """,
)

# ---- What earlier chapters taught ----------------------------------------------------------------------------------


def gain_of_four_rows():
    return 1 + 1 / 2 + 1 / 3 + 1 / 4


def time_of_a_step_alone():
    small = model("llama-3.1-8b")
    weights = small.weight_bytes_read(1, "bf16")
    return weights / chip("tpu-v6e").memory_bytes_per_s


def cache_of_the_draft():
    return DRAFT.kv_bytes_per_token("bf16")


REVIEW = (
    Numeric(
        id="speculation-review-gain",
        title="four rows that are filled again",
        label="Gain in steps",
        answer=gain_of_four_rows,
        unit="times",
        hint="The longest of four exponential lengths, over their mean.",
        solution="1 + 1/2 + 1/3 + 1/4: the first ends after a quarter of the mean, the next a third later.",
        mistakes=(
            Mistake(value=lambda: 2 * 4 / 5, reply="That is the gain for lengths spread evenly."),
            Mistake(value=lambda: 1 / 2 + 1 / 3 + 1 / 4, reply="You left out the last of the four, which runs alone."),
        ),
    ),
    Numeric(
        id="speculation-review-step",
        title="the least time of a token",
        label="Time to read the weights",
        answer=time_of_a_step_alone,
        unit="ms",
        tolerance=0.03,
        facts=lambda: {
            "weights": si(TARGET.weight_bytes_read(1, "bf16"), "B"),
            "rate": si(chip("tpu-v6e").memory_bytes_per_s, "B/s"),
        },
        hint="Two bytes a parameter, once over the bus.",
        solution="{{weights}} over {{rate}}. The table of embeddings is not read whole: one row a token.",
        mistakes=(
            Mistake(value=lambda: time_of_a_step_alone() / 2, reply="In bf16 a parameter takes two bytes."),
            Mistake(
                value=lambda: TARGET.weight_bytes("bf16") / chip("tpu-v6e").memory_bytes_per_s,
                reply="You read the table of embeddings too. A token takes one row of it.",
            ),
            Mistake(value=lambda: time_of_a_step_alone() * 8, reply="The bandwidth is in bytes, not bits."),
        ),
    ),
    Numeric(
        id="speculation-review-cache",
        title="what a draft keeps of a token",
        label="KV cache of one token",
        answer=cache_of_the_draft,
        unit="kB",
        facts=lambda: {"target": si(TARGET.kv_bytes_per_token("bf16"), "B")},
        hint="A key and a value, for each layer and each head of keys.",
        solution="2 × 16 × 8 × 64 numbers of two bytes. The {{target}} that the 8B keeps of the token come on top.",
        mistakes=(
            Mistake(value=lambda: 4 * cache_of_the_draft(), reply="You took 32 heads. Keys and values have 8."),
            Mistake(value=lambda: cache_of_the_draft() / 2, reply="That is the key, or the value. Both are kept."),
        ),
    ),
)

# ---- A verdict to write --------------------------------------------------------------------------------------------


def verdict(guess, draft, target, first, second):
    """Token written: `first` decides, `second` redraws."""
    if first * draft[guess] < target[guess]:
        return guess
    pairs = zip(draft, target, strict=True)
    left = [max(0, p - q) for q, p in pairs]
    goal, token = second * sum(left), 0
    while goal >= left[token] and token < len(left) - 1:
        goal -= left[token]
        token += 1
    return token


def _parts(generator):
    cuts = [0, *sorted(generator.sample(range(1, 100), 5)), 100]
    return [(after - before) / 100 for before, after in pairwise(cuts)]


def _draw_verdict(generator):
    wanted = generator.choice(("refused", "refused", "by chance", "surely"))
    while True:
        draft, target = (_parts(generator) for _ in range(2))
        guess = generator.choices(range(6), draft)[0]
        first, second = (round(generator.randrange(1000) / 1000 + 0.0003, 4) for _ in range(2))
        taken = first * draft[guess] < target[guess]
        found = "refused" if not taken else "surely" if target[guess] >= draft[guess] else "by chance"
        if found == wanted:
            return {"guess": guess, "draft": draft, "target": target, "first": first, "second": second}


def _wrong(takes=lambda first, q, p: first * q < p, left=lambda q, p: max(0, p - q), normal=True):
    def mutant(guess, draft, target, first, second):
        if takes(first, draft[guess], target[guess]):
            return guess
        weights = [left(q, p) for q, p in zip(draft, target, strict=True)]
        goal = second * (sum(weights) if normal else 1)
        for token, share in enumerate(weights):
            if goal < share:
                return token
            goal -= share
        return len(weights) - 1

    return mutant


CODE = (
    Code(
        id="speculation-verdict",
        title="a verdict in six lines",
        answer=verdict,
        draw=_draw_verdict,
        hint="""
            Taken if `first` lies below target over draft, of the guess. Else draw from what the target has more, token
            by token: walk along those shares until `second` of their sum is used up.
            """,
        solution="""
            Multiplied out, `first * draft[guess] < target[guess]` needs no division. What is left over sums to less
            than one, so `second` is scaled by that sum.
            """,
        mutants=(
            Mutant(
                function=_wrong(left=lambda q, p: p),
                reply="After a refusal you draw from all of the target: what the draft likes comes too often.",
            ),
            Mutant(
                function=_wrong(takes=lambda first, q, p: first < p),
                reply="You take a guess with the target's probability. What counts is the ratio of the two.",
            ),
            Mutant(
                function=_wrong(takes=lambda first, q, p: first * p < q),
                reply="Your ratio is upside down: it is the target's over the draft's.",
            ),
            Mutant(
                function=_wrong(left=lambda q, p: abs(p - q)),
                reply="You draw from the difference of either sign. Where the draft has more, nothing is left.",
            ),
            Mutant(
                function=_wrong(normal=False),
                reply="What is left over sums to less than one. Scale `second` by its sum.",
            ),
            Mutant(
                function=_wrong(takes=lambda first, q, p: p >= q),
                reply="You refuse every guess of which the draft thinks more. Some of them are taken, by chance.",
            ),
            Mutant(
                function=_wrong(left=lambda q, p: max(0, q - p)),
                reply="You draw from what the draft has more. It is the target that is owed something.",
            ),
            Mutant(
                function=_wrong(left=lambda q, p: q),
                reply="After a refusal you ask the draft again. The target has to be asked.",
            ),
        ),
    ),
)

QUESTIONS = (*GUESSES, *EXERCISES, MEMO, *REVIEW, *CODE)
"""All questions of the chapter."""
