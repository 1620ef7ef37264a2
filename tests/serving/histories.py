"""Random histories of the pager beside a store that knows what each block holds.

``python -m tests.serving.histories 10_000_000`` runs ten million operations (about a quarter of an hour).
"""

import argparse
import random

from hwlab.serving.pager import OutOfBlocks, Pager


def check(pager):
    """Every invariant of the pager's own books: no block is lost, or shared unasked."""
    uses = [0] * pager.num_blocks
    for seq in pager.sequences:
        table = pager.table(seq)
        assert len(table) == len(set(table)), f"{seq!r} holds a block twice: {table}"
        assert 0 < pager.length(seq) <= len(table) * pager.block_tokens
        for block in table:
            uses[block] += 1
    free = [*pager._empty, *pager._left]
    assert uses == pager._users, "counts of users"
    assert sorted(free) == [block for block in range(pager.num_blocks) if not uses[block]], "each block free or held"
    assert pager.num_free == len(free)
    assert all(pager._pages[block] for block in pager._left)
    assert not any(pager._pages[block] for block in pager._empty)
    assert all(pager._pages[page.block] is page for page in pager._found.values()), "what can be found is in its block"
    waste = pager.waste()
    total = waste.tokens + waste.reserved + waste.internal + waste.external + waste.cached + waste.free
    assert total == pager.num_blocks * pager.block_tokens


class Store:
    """What the blocks hold: the tokens that steps wrote, slot by slot. A sequence must always read what it wrote."""

    def __init__(self, pager):
        self.pager = pager
        self.slots = [[None] * pager.block_tokens for _ in range(pager.num_blocks)]

    def write(self, seq, tokens, start):
        size, table = self.pager.block_tokens, self.pager.table(seq)
        for at, token in enumerate(tokens, start):
            self.slots[table[at // size]][at % size] = token

    def copy(self, copy):
        if copy:
            self.slots[copy.target] = list(self.slots[copy.source])

    def read(self, seq):
        table = self.pager.table(seq)
        return [token for block in table for token in self.slots[block]][: self.pager.length(seq)]


def history(operations, *, seed, num_blocks=24, block_tokens=3, every=50):
    """Run random operations on a small pool, with few tokens so that prefixes meet; return how many ran."""
    draw = random.Random(seed)
    pager = Pager(num_blocks, block_tokens)
    store, wrote, names = Store(pager), {}, 0

    def tokens(most):
        return [draw.randrange(2) for _ in range(draw.randint(1, most))]

    def step(seq, new):
        store.write(seq, new, len(wrote[seq]))
        wrote[seq] += new

    for done in range(operations):
        kind = draw.random()
        seqs = list(wrote)
        seq = draw.choice(seqs) if seqs else None
        try:
            if seq is None or kind < 0.25:
                prompt, names = tokens(20), names + 1
                most = draw.choice([None, 1, 4])
                salt = draw.choice([b"", b"", b"other"])
                opened = pager.open(names, prompt, most=most, salt=salt)
                assert opened.found < len(prompt) and 1 <= opened.new <= (most or len(prompt))
                wrote[names] = prompt[: opened.found]
                assert store.read(names)[: opened.found] == wrote[names], "a prefix that was not this prompt's"
                step(names, prompt[opened.found : opened.found + opened.new])
            elif kind < 0.6:
                new = tokens(5)
                store.copy(pager.grow(seq, new if draw.random() < 0.9 else len(new)))
                step(seq, new)
            elif kind < 0.7:
                store.copy(pager.reserve(seq, draw.randint(1, 7)))
            elif kind < 0.77:
                pager.release(seq)
            elif kind < 0.85:
                names += 1
                pager.fork(seq, names)
                wrote[names] = list(wrote[seq])
            else:
                pager.free(seq)
                del wrote[seq]
        except OutOfBlocks:
            pass
        if draw.random() < 0.7:
            pager.commit()
        if done % every == 0 or done == operations - 1:
            check(pager)
            assert set(pager.sequences) == set(wrote)
            for name, written in wrote.items():
                assert store.read(name) == written, f"sequence {name} does not read what it wrote"
    for seq in list(wrote):
        pager.free(seq)
    pager.commit()
    check(pager)
    assert pager.num_free == num_blocks, "blocks were lost"
    return operations


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("operations", type=int)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    print(f"{history(asked.operations, seed=asked.seed, every=1000):,} operations, no violation")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
