"""The claims about FlashAttention: what it does and saves, who wrote which of the three and when, how much faster.

What it does is read off the stepper of `hwlab.costs.attention_steps`, bytes off `hwlab.costs.attention`, speeds off the
authors' own charts (`hwlab.specs.flash_attention`).
"""

from __future__ import annotations

from itertools import groupby
from random import Random
from statistics import median

from hwlab.costs.attention import blocked_traffic, naive_traffic
from hwlab.costs.attention_steps import blocked_steps
from hwlab.formula import number, si
from hwlab.specs.claims import claim
from hwlab.specs.flash_attention import speedups
from hwlab.specs.models import model as model_of
from hwlab.specs.papers import paper
from hwlab.studies.trials import Finding, judged, judged_by_choice, near, trial

LLAMA_2_70B = model_of("llama-2-70b")
FIRST, SECOND, THIRD = "dao-2022", "dao-2023", "shah-2024"
BLOCK_Q, BLOCK_K = 128, 128  # queries and keys of a block
LENGTHS = (1024, 2048, 4096, 8192, 16384)
FUSED = 2  # products in one kernel: scores, and weighted values
ROUNDED = 0.1  # what a factor with one digit allows


def _traffic(tokens, head_dim, heads=1, itemsize=2):
    """Bytes that three kernels move, and that blocks do."""
    shape = {"heads": heads, "kv_heads": heads, "head_dim": head_dim, "itemsize": itemsize}
    blocks = {"block_q": min(BLOCK_Q, tokens), "block_k": min(BLOCK_K, tokens)}
    return naive_traffic(tokens, tokens, **shape), blocked_traffic(tokens, tokens, **shape, **blocks)


def _run(kernel, tokens=8, head_dim=2):
    """The steps of a kernel on a small head."""
    random = Random(0).random
    q, k, v = ([[random() for _ in range(head_dim)] for _ in range(tokens)] for _ in "qkv")
    return list(kernel(q, k, v))


def _blocked(q, k, v):
    return blocked_steps(q, k, v, block_q=4, block_k=4)


def _held(scores: bool, tokens, head_dim=128):
    """Elements in slow memory: q, k, v, the output and, where they are written, the scores of all pairs."""
    return 4 * tokens * head_dim + (tokens**2 if scores else 0)


def _years(id: str) -> list[str]:
    return [figure.strip() for figure in claim(id).figures]


@trial("C047")
def who_wrote_the_second_and_the_third(second=None, third=None) -> Finding:
    """FlashAttention-2 and -3 are by Dao et al., 2022 and 2023."""
    found = second or paper(SECOND), third or paper(THIRD)
    told = "; ".join(f"{name}: {p.short}" for name, p in zip(("FlashAttention-2", "-3"), found, strict=True))
    right = [p.authors[0] == "Dao" and str(p.date.year) == year for p, year in zip(found, _years("C047"), strict=True)]
    return Finding(recomputed=f"{told}; the first is {paper(FIRST).short}", verdict=judged(all(right)))


@trial("C048")
def least_traffic(tokens=8192, head_dim=64) -> Finding:
    """It keeps HBM traffic down by fusing operations and working in SRAM."""
    naive, blocked = _traffic(tokens, head_dim)
    once = blocked.q + blocked.out + naive.k + naive.v
    told = f"{tokens:,} tokens, one head of {head_dim}, fp16: {si(naive.total, 'B')} in three kernels"
    return Finding(
        recomputed=f"{told}, {si(blocked.total, 'B')} in blocks of {BLOCK_Q}; each array once: {si(once, 'B')}",
        verdict=judged(blocked.scores == 0 and naive.total > 2 * blocked.total),
    )


@trial("C049")
def time_saved(pairs=None) -> Finding:
    """It cuts the time of attention by 2-4 times."""
    low, high = _range("C049")
    pairs = pairs or {
        "FlashAttention": speedups("flash-attention", "standard", chip="a100-sxm-80gb"),
        "-2": speedups("flash-attention-2", "standard", chip="a100-sxm-80gb"),
        "-3 (H100, forward)": speedups("flash-attention-3", "standard", chip="h100-sxm"),
    }
    told = "; ".join(
        f"{name}: {number(found[0], 2)} to {number(found[-1], 2)}, median {number(median(found), 2)}"
        for name, found in pairs.items()
    )
    return Finding(
        recomputed=f"Against PyTorch in three kernels, A100, both passes: {told}",
        verdict=judged_by_choice(*(low <= median(found) <= high for found in pairs.values())),
    )


@trial("C050")
def memory_saved(lengths=LENGTHS, head_dim=64) -> Finding:
    """It cuts memory for long sequences by 5-20 times."""
    low, high = _range("C050")
    ratios = {n: (n**2 + 4 * n * head_dim) / (4 * n * head_dim + 2 * n) for n in lengths}
    told = "; ".join(f"{number(ratio, 2)} at {n:,}" for n, ratio in ratios.items())
    return Finding(
        recomputed=f"One head of {head_dim}, maximum and sum kept: {told} tokens",
        verdict=judged_by_choice(*(low <= ratio <= high for ratio in ratios.values())),
    )


@trial("C056")
def one_kernel(model=LLAMA_2_70B, fused=FUSED) -> Finding:
    """FlashAttention-3 fuses the whole attention block into one kernel."""
    projections = sum(p.count // model.num_layers for p in model.matmuls() if p.kind == "attention")
    told = f"{fused} products (scores, weighted values) and the softmax between them"
    return Finding(
        recomputed=f"{told}; the {projections} projections of the block stay outside, the backward pass is apart",
        verdict=judged_by_choice(fused >= FUSED, fused >= FUSED + projections),
    )


@trial("C057")
def no_scores_in_slow_memory(kernel=_blocked, tokens=8192, heads=8) -> Finding:
    """It avoids materialising the N x N matrix in HBM."""
    naive, _ = _traffic(tokens, 128, heads=heads)
    moved = _run(kernel)[-1].traffic.scores
    told = f"{moved} bytes of scores leave fast memory; in three kernels {heads} heads of {tokens:,} tokens write"
    return Finding(recomputed=f"{told} {naive.scores // 4 / 2**20:,.0f} MiB in fp16", verdict=judged(moved == 0))


@trial("C058")
def order_of_the_loops(kernel=_blocked) -> Finding:
    """Load a block of queries, loop over keys and values with the online softmax, add up in SRAM, write once."""
    steps = _run(kernel)
    turns = [[step.phase for step in turn] for _, turn in groupby(steps, key=lambda step: step.rows)]
    inner = ["scores", "rescale", "add"]
    listed = all(
        turn[0] == "queries" and turn[-1] == "output" and turn[1:-1] == inner * ((len(turn) - 2) // 3) for turn in turns
    )
    traffic = steps[-1].traffic
    once = traffic.q == traffic.out and traffic.scores == 0
    told = f"{len(turns)} blocks of queries; each: {', '.join(dict.fromkeys(phase for t in turns for phase in t))}"
    return Finding(
        recomputed=f"{told}. The listing leaves out the division by the sum at the end",
        verdict=judged(listed and once),
    )


@trial("C059")
def growth_of_memory(tokens=8192) -> Finding:
    """Memory is O(N) instead of O(N²)."""
    naive, blocked = (_held(scores, 2 * tokens) / _held(scores, tokens) for scores in (True, False))
    told = f"Twice the tokens, {tokens:,} to {2 * tokens:,}, take {number(naive)} times the memory in three kernels"
    return Finding(recomputed=f"{told}, {number(blocked)} times in blocks", verdict=judged(blocked == 2 and naive > 3))


@trial("C060")
def third_against_second(found=None) -> Finding:
    """FlashAttention-3 is 1.5-3 times as fast as FlashAttention-2 on an H100."""
    low, high = _range("C060")
    found = found or speedups("flash-attention-3", "flash-attention-2", chip="h100-sxm")
    gives = paper(THIRD).gives
    told = f"{number(found[0])} to {number(found[-1])}, median {number(median(found))}, over {len(found)} shapes"
    said = f"{gives['over_flash_attention_2_low']:g} to {gives['over_flash_attention_2_high']:g}"
    return Finding(
        recomputed=f"{told} in fp16; the paper says {said}",
        verdict=judged(low <= median(found) <= high and near(found[-1], high, within=ROUNDED)),
    )


@trial("C061")
def who_wrote_the_third(found=None) -> Finding:
    """FlashAttention-3 is by Dao, 2023."""
    found = found or paper(THIRD)
    told = f"{', '.join(found.authors)}, {found.date.year}"
    return Finding(
        recomputed=told, verdict=judged(found.authors == ("Dao",) and str(found.date.year) == _years("C061")[0])
    )


def _range(id: str) -> tuple[float, float]:
    low, high = claim(id).figures[0].rstrip("x").split("-")
    return float(low), float(high)
