"""The pager: the whole life of sequences with prefix hashes, and blocks taken and given back."""

import time

from benchmarks import Row
from hwlab.serving import Pager

SEQUENCES, PROMPT, ANSWER = 64, 128, 100


def lives():
    """Operations of a batch that opens, grows by a token a step, and ends: one for each call on a sequence."""
    pager = Pager(SEQUENCES * 16, 16)
    prompts = [list(range(i, i + PROMPT)) for i in range(SEQUENCES)]
    for seq in range(SEQUENCES):
        pager.open(seq, prompts[seq])
    pager.commit()
    for step in range(ANSWER):
        token = (step,)
        for seq in range(SEQUENCES):
            pager.grow(seq, token)
        pager.commit()
    for seq in range(SEQUENCES):
        pager.free(seq)
    return SEQUENCES * (ANSWER + 2)


def pairs():
    """Sequences of one block, begun and ended."""
    pager = Pager(65536, 16)
    for seq in range(20_000):
        pager.grow(seq, 1)
        pager.free(seq)
    return 20_000


def rate(run):
    """Operations a second of processor time, the best of 15 runs."""
    best = 0
    for _ in range(15):
        start = time.process_time()
        done = run()
        best = max(best, done / (time.process_time() - start))
    return best


def rows():
    """One row for each."""
    life, pair = rate(lives), rate(pairs)
    return [
        Row(
            "pager, whole life of a sequence, prefix hashes",
            f"{life / 1e6:.2f} M operations/s",
            "> 1 M operations/s",
            life > 1e6,
            "0.57-0.67 M nano-vllm",
        ),
        Row("pager, a block taken and given back", f"{pair / 1e6:.2f} M pairs/s", "", None, "1.1-4.8 M bare pools"),
    ]
