"""Charts of paging hold what they were given, and the explorer what the pager does."""

import random

import pytest

from hwlab.figures import paging
from hwlab.serving.pager import OutOfBlocks, Pager
from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.specs.paging import measurements


def rows(chart):
    return chart.to_dict()["data"]["values"]


def test_the_states_of_an_allocator_fill_its_bar():
    states = {"tokens": 0.2, "reserved": 0.1, "internal": 0.3, "external": 0.4}
    found = rows(paging.token_states({"oracle": states, "paged": states}, measurements("tokens")))
    for name in ("the true length", "blocks of 16"):
        assert sum(row["share, %"] for row in found if row["allocator"] == name) == pytest.approx(100)


def test_half_a_block_is_what_the_pager_leaves_empty():
    """Lengths of all remainders alike: the mean over a pager is the formula's, exactly."""
    for size in (1, 4, 16):
        pager, lengths = Pager(4096, size), range(5 * size, 9 * size)
        for length in lengths:
            pager.grow(length, length)
        waste, mean = pager.waste(), sum(lengths) / len(lengths)
        assert waste.internal / (waste.internal + waste.tokens) == pytest.approx(paging.empty_share(mean, size))


def test_the_explorer_agrees_with_a_pager_that_is_filled():
    """Sequences around 200 tokens, the first 64 alike for eight of them, until no block is left: within two percent."""
    chance, size, users = random.Random(0), 16, 8
    setup = paging.Setup(name="a pool", pool=4000 * size, longest=512)
    pager, count, family = Pager(4000, size), 0, list(range(64))
    try:
        while True:
            if count % users == 0:
                family = [1_000_000 + count * 64 + i for i in range(64)]
            own = [10_000_000 + count * 1000 + i for i in range(chance.randint(56, 215))]
            pager.open(count, [*family, *own])
            pager.commit()
            count += 1
    except OutOfBlocks:
        pass
    told = paging.sequences(size, setup, 64 + 135.5, 64, users)
    assert count == pytest.approx(told, rel=0.02)


def test_the_explorer_refuses_what_the_setup_does_not_allow():
    explorer = paging.block_explorer()
    explorer.setup, explorer.tokens = "a100-sxm-40gb", 5000
    assert explorer.refusal().startswith("A request may have 4,096 tokens here.")


def test_larger_blocks_never_hold_more():
    explorer = paging.block_explorer()
    explorer.shared, explorer.users = 300, 16
    fits = []
    for power in range(13):
        explorer.block_tokens = 2**power
        fits.append(explorer.value())
    assert fits == sorted(fits, reverse=True) and fits[0] > 5 * fits[-1]


def test_a_chip_that_does_not_hold_the_weights_has_no_pool():
    llama = model("llama-3.1-8b")
    assert paging.pool_tokens(llama, chip("groq-lpu")) == 0
    chart = paging.sequences_by_chip(llama, longest=131_072, mean=1366)
    found = {(row["chip"], row["how"]): row["sequences"] for row in rows(chart)}
    h100 = (0.9 * 80 * 2**30 - 2 * llama.num_params) / 131_072
    assert found["H100 SXM5", "in blocks"] == int(h100 / 1373.5)
    assert found["H100 SXM5", "each reserves the longest"] == int(h100 / 131_072)
    assert chart.description.endswith("The weights alone do not fit TPU v5e and GroqChip 1.")


def test_shares_side_by_side_say_how_far_they_are_apart():
    chart = paging.beside([("a", 0.5, 0.4), ("b", 0.2, 0.21)])
    assert chart.description == "Computed and published shares differ by 10 points at most."
    assert [row["%"] for row in rows(chart)] == pytest.approx([50, 40, 20, 21])
