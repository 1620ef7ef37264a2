"""The claims about batching: what static batches wait for, what continuous ones gain, and batches of ten thousand."""

from __future__ import annotations

from hwlab.costs.batching import gain_of
from hwlab.costs.roofline import decode_step_time
from hwlab.formula import number, si
from hwlab.serving.pager import Pager
from hwlab.serving.scheduler import Request, Scheduler
from hwlab.specs.answers import answer_lengths
from hwlab.specs.chips import chip
from hwlab.specs.claims import claim
from hwlab.specs.models import model
from hwlab.studies.batching import draw_lengths, loop_as_printed, loop_mended, wrong_lengths
from hwlab.studies.trials import Finding, claimed, judged, judged_by_choice, trial

LENGTHS = tuple(draw_lengths(64, "exponential", mean=20, seed=7))
ROWS = 8
EQUAL = ((1.0, 100.0),)  # one slice: all answers alike
LLAMA, DEEPSEEK = model("llama-3.1-70b"), model("deepseek-v3")
H100, H800 = chip("h100-sxm"), chip("h800-sxm")
NODE = 8  # GPUs
UNIT = 144  # GPUs of a decode unit: DeepSeek-V3/R1 Inference System Overview, 2025
CONTEXT = 4096
TEN_THOUSAND = claimed("C243")


def _joins(policy: str, lengths, rows: int) -> tuple[int, int]:
    """Steps in which somebody began beside sequences that ran on, and steps in which somebody began at all."""
    scheduler = Scheduler(Pager(1024, 16, seed=b""), policy=policy, max_batch=rows)
    for id, length in enumerate(lengths):
        scheduler.add(Request(id=id, prompt=1, max_new_tokens=length))
    beside = begun = 0
    while (step := scheduler.step()) is not None:
        begun += bool(step.prefill)
        beside += bool(step.prefill and (step.decode or step.idle))
        scheduler.finish(step)
    return beside, begun


@trial("C122")
def static_waits_for_all(policy="static", lengths=LENGTHS, rows=ROWS) -> Finding:
    """A static batch waits until every one of its requests has ended."""
    beside, begun = _joins(policy, lengths, rows)
    told = f"{len(lengths)} requests in {rows} rows: in {beside} of {begun} beginnings somebody still ran"
    return Finding(recomputed=told, verdict=judged(beside == 0))


@trial("C123")
def continuous_joins_at_each_step(policy="continuous", lengths=LENGTHS, rows=ROWS) -> Finding:
    """New requests join at each decode step, as slots become free."""
    beside, begun = _joins(policy, lengths, rows)
    told = f"{len(lengths)} requests in {rows} rows: in {beside} of {begun} beginnings others ran on"
    return Finding(recomputed=told, verdict=judged(beside == begun - 1))  # the first ones meet nobody


@trial("C124")
def gain_of_continuous_batching(
    services=("azure-conversation", "azure-code"), others=(("equal lengths", EQUAL),), batches=(8, 32, 128)
) -> Finding:
    """Continuous batching raises the use of the hardware two to five times on realistic lengths."""
    low, high = (float(end) for end in claim("C124").figures[0].rstrip("x").split("-"))
    found = {answer_lengths(id).name: answer_lengths(id).slices for id in services} | dict(others)
    gains = {name: [gain_of(slices, batch) for batch in batches] for name, slices in found.items()}
    told = "; ".join(
        f"{name} {number(min(g), 2)}{f' to {number(max(g), 2)}' if max(g) > min(g) else ''} times"
        for name, g in gains.items()
    )
    holds = (low <= gain <= high for each in gains.values() for gain in each)
    return Finding(
        recomputed=f"In steps, at batches of {batches[0]} to {batches[-1]}: {told}", verdict=judged_by_choice(*holds)
    )


@trial("C125")
def the_printed_loop(loop=loop_as_printed, lengths=LENGTHS, rows=ROWS, longest=200) -> Finding:
    """The printed loop of continuous batching works."""
    short, long = wrong_lengths(loop, lengths, rows, longest=longest)
    told = f"Of {len(lengths)} answers {short} are cut short by another's end and {long} run past their own"
    _, mended = wrong_lengths(loop_mended, lengths, rows, longest=longest)
    return Finding(
        recomputed=f"{told}; with a new list for those that go on, {mended}", verdict=judged(not short + long)
    )


def _cache_fits(of, card, chips, dtype) -> tuple[float, bool]:
    """Bytes that the caches of ten thousand sequences take, and whether they fit beside the weights."""
    cache = TEN_THOUSAND * of.kv_bytes(CONTEXT, "bf16")
    return cache, cache + of.weight_bytes(dtype) <= chips * card.memory_bytes


@trial("C243")
def batches_of_ten_thousand(wide=(DEEPSEEK, H800, UNIT, "fp8"), node=(LLAMA, H100, NODE, "bf16")) -> Finding:
    """Data centres batch ten thousand requests."""
    told = []
    for of, card, chips, dtype in (wide, node):
        cache, _ = _cache_fits(of, card, chips, dtype)
        there = chips * card.memory_bytes - of.weight_bytes(dtype)
        told.append(f"{of.name} needs {si(cache, 'B')} of cache, and {chips} {card.name} have {si(there, 'B')}")
    return Finding(
        recomputed=f"At {CONTEXT:,} tokens each: {'; '.join(told)} beside the weights",
        verdict=judged_by_choice(*(_cache_fits(*where)[1] for where in (wide, node))),
    )


@trial("C244")
def ten_thousand_in_one_pass(of=LLAMA, card=H100, chips=NODE) -> Finding:
    """The GPU computes one token of ten thousand users in each pass through memory."""
    flop = TEN_THOUSAND * of.flop_per_token(0) / (chips * card.peak("bf16"))
    one, all_of_them = (of.weight_bytes_read(tokens, "bf16") for tokens in (1, TEN_THOUSAND))
    read = all_of_them / (chips * card.memory_bytes_per_s)
    told = f"{of.name} on {chips} {card.name}: one reading of the weights, {si(read, 's')}, serves all"
    return Finding(
        recomputed=f"{told}; the arithmetic takes {si(flop, 's')}, {number(flop / read, 2)} times as long",
        verdict=judged_by_choice(all_of_them < 2 * one, flop <= read),
    )


@trial("C245")
def waiting_for_the_others(of=LLAMA, card=H100, chips=NODE, users=128) -> Finding:
    """Each user waits for the computation of all the other tokens."""
    times = {
        batch: decode_step_time(of, card, context=CONTEXT, batch=batch, dtype="bf16", tensor=chips).seconds
        for batch in (1, users)
    }
    longer = times[users] / times[1]
    told = f"A step of {of.name} on {chips} {card.name}: {si(times[1], 's')} for one user"
    return Finding(
        recomputed=f"{told}, {number(longer, 2)} times that for {users}; one after the other it would be {users} times",
        verdict=judged(longer > users / 2),
    )
