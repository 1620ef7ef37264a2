"""The claims about speculative decoding: what one pass of the large model verifies, what it gains, what is accepted."""

from __future__ import annotations

import random

from hwlab.formula import number
from hwlab.serving.ngrams import RHYME, SONNET, NGrams
from hwlab.serving.speculative import drawn_from, rounds, speedup, tokens_per_round
from hwlab.studies.trials import Finding, judged, judged_by_choice, trial

MEMORY = 5  # letters that the target looks back
TOKENS = 2_000
GUESSES = 4
SEVERAL = 2  # tokens for the cost of one
HIGH = 0.5  # share of guesses: more are accepted than refused


def _share(text: str, memory: int, guesses: int = GUESSES) -> tuple[float, int, int]:
    """Share of judged guesses that were accepted, tokens written, and passes of the target."""
    model, small = NGrams(text, MEMORY), NGrams(text, memory)
    write = {"guesses": guesses, "tokens": TOKENS, "uniform": random.Random(1).random}
    found = list(rounds(drawn_from(small), model, model.ids(text[:20]), **write))
    accepted = sum(r.accepted for r in found)
    refused = sum(r.accepted < guesses for r in found)
    return accepted / (accepted + refused), sum(len(r.tokens) for r in found), len(found)


@trial("C127")
def verified_in_one_pass(text=RHYME, draft_memory=2, guesses=GUESSES) -> Finding:
    """A draft proposes tokens and the large model verifies them in one pass."""
    _, tokens, passes = _share(text, draft_memory, guesses)
    told = f"{tokens:,} letters in {passes:,} passes of the target, each over {guesses} guesses"
    return Finding(recomputed=f"{told}: {number(tokens / passes)} a pass", verdict=judged(tokens / passes > 1.1))


@trial("C128")
def several_for_one(rates=(0.6, 0.9), guesses=7, draft_cost=0.05) -> Finding:
    """Accepted tokens mean several tokens for the cost of one."""
    steps = [tokens_per_round(rate, guesses) for rate in rates]
    gains = [speedup(rate, guesses, draft_cost=draft_cost) for rate in rates]
    told = [
        f"{number(step)} tokens a step of the target and {number(gain)} for its time at {number(100 * rate)} % accepted"
        for rate, step, gain in zip(rates, steps, gains, strict=True)
    ]
    return Finding(
        recomputed="; ".join(told), verdict=judged_by_choice(*(found >= SEVERAL for found in (*steps, *gains)))
    )


@trial("C331")
def accepted_on_predictable_text(texts=(RHYME, SONNET), memories=(3, 0)) -> Finding:
    """Draft tokens are accepted at a high rate on predictable text."""
    shares = {memory: [_share(text, memory)[0] for text in texts] for memory in memories}
    told = [
        f"{' and '.join(number(100 * share, 2) for share in found)} % from a draft that looks back {memory} letters"
        for memory, found in shares.items()
    ]
    predictable = [found[0] for found in shares.values()]
    return Finding(
        recomputed=f"On a rhyme that repeats itself and on a sonnet: {'; '.join(told)}",
        verdict=judged_by_choice(*(share >= HIGH for share in predictable)),
    )
