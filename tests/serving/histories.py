"""Random histories of the pager and of the scheduler, beside a store that knows what each block holds.

``python -m tests.serving.histories 10_000_000`` runs ten million operations of each (about half an hour).
"""

import argparse
import random

from hwlab.serving.pager import NeverFits, OutOfBlocks, Pager
from hwlab.serving.scheduler import Chunk, Request, Scheduler


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


def drawn(tokens):
    """A model of one line: the next token depends on every token before it, in order."""
    state = 7
    for token in tokens:
        state = (31 * state + token + 1) % 1009
    return state % 3


def ends(tokens):
    """Whether an answer ends with its last token."""
    return tokens[-1] == 2 and len(tokens) % 5 == 0


def alone(request):
    """The answer of the model to one request, computed from its tokens with nothing paged or shared."""
    tokens = list(request.prompt)
    for _ in range(request.max_new_tokens):
        tokens.append(drawn(tokens))
        if ends(tokens):
            break
    return tuple(tokens[len(request.prompt) :])


class Model:
    """An executor that computes `drawn` from what lies in the blocks, and keeps what each step did.

    Where there are blocks for guesses it writes some, of which each is right with a chance of two in three or so.
    """

    def __init__(self, scheduler, slow=0.01, seed=0):
        self.scheduler, self.pager, self.slow = scheduler, scheduler.pager, slow
        self.store = Store(scheduler.pager)
        self.host = scheduler.host and Store(scheduler.host)
        self.steps, self.chance = [], random.Random(seed)
        self.reach: dict = {}  # by sequence, how many of its first tokens have been in blocks of its

    def run(self, step):
        self.steps.append(step)
        for move in step.swap_out:
            for source, target in zip(move.source, move.target, strict=True):
                self.host.slots[target] = list(self.store.slots[source])
        for copy in step.copies:
            self.store.copy(copy)
        for move in step.swap_in:
            for source, target in zip(move.source, move.target, strict=True):
                self.store.slots[target] = list(self.host.slots[source])
        tokens = {id: self.scheduler.tokens(id) for id in [*(chunk.id for chunk in step.prefill), *step.decode]}
        pieces = list(step.prefill)
        pieces += [Chunk(id, len(tokens[id]) - 1, 1) for id in step.decode]
        assert len(tokens) == len(pieces), "a sequence twice in a step"
        again = {chunk.id: min(self.reach.get(chunk.id, 0) - chunk.start, chunk.tokens) for chunk in step.prefill}
        assert step.recomputed == {id: n for id, n in again.items() if n > 0}, "tokens computed again and not counted"
        for id, start, count in pieces:
            self.store.write(id, tokens[id][start : start + count], start)
        for id, start, count in pieces:
            known = tokens[id]
            assert self.store.read(id) == known[: start + count], "blocks that do not hold the sequence"
            assert (start + count == len(known)) == (id in step.draws)
            if id in step.draws:
                step.output[id] = self.draw(step, id, known)
            right = len(step.output[id]) - 1 if id in step.guesses else 0
            self.reach[id] = max(self.reach.get(id, 0), start + count + right)
        return self.slow * (1 + step.tokens / 8)

    def draw(self, step, id, known):
        """One token; or with guesses as many as are right and the one behind them."""
        guesses, tokens = step.guesses.get(id, 0), []
        while True:
            tokens.append(drawn([*known, *tokens]))
            if ends([*known, *tokens]):
                step.ended.add(id)
                break
            if len(tokens) > guesses or self.chance.random() < 1 / 3:
                break
        wrong = [-1] * (guesses - len(tokens))  # written behind those that are right, and never read
        self.store.write(id, [*tokens[:guesses], *wrong], len(known))
        return tokens if id in step.guesses else tokens[0]


def scheduled(operations, *, seed):
    """Run random operations on schedulers of all kinds, one after the other; return how many ran."""
    draw, done, name = random.Random(seed), 0, 0
    while done < operations:
        policy, swap = draw.choice(["static", "continuous", "chunked"]), draw.random() < 0.5
        pager = Pager(draw.randint(12, 20), 3)
        host = Pager(draw.randint(2, 12), 3) if swap else None
        scheduler = Scheduler(
            pager,
            policy=policy,
            max_batch=draw.randint(1, 6),
            max_tokens=draw.randint(24, 40),
            patience=draw.randint(1, 8),
            preemption="swap" if swap else "recompute",
            host=host,
            guesses=draw.choice([0, 0, 1, 3]),
        )
        model, asked = Model(scheduler, seed=draw.random()), {}
        end = done + draw.randint(100, 2000)
        while done < end or asked:
            done += 1
            kind = draw.random() if done < end else 1.0
            if kind < 0.25 and len(asked) < 12:
                name += 1
                asked[name] = Request(
                    id=name,
                    prompt=[draw.randrange(2) for _ in range(draw.randint(1, 16))],
                    max_new_tokens=draw.randint(1, 24),
                    priority=draw.choice([0, 0, 1, -1]),
                    salt=draw.choice([b"", b"", b"other"]),
                )
                try:
                    scheduler.add(asked[name])
                except NeverFits:
                    del asked[name]
            elif kind < 0.28 and asked:
                scheduler.cancel(draw.choice(list(asked)))
                asked = {id: asked[id] for id in (*scheduler.running, *scheduler.waiting) if id in asked}
            elif kind < 0.33 and asked and policy != "static":
                name += 1
                parent = draw.choice(list(asked))
                scheduler.fork(parent, name)
                model.reach[name] = model.reach.get(parent, 0)
                asked[name] = asked[parent]
            elif step := scheduler.step():
                model.run(step)
                for ended in scheduler.finish(step):
                    assert ended.answer == alone(asked.pop(ended.id)), f"request {ended.id} was not answered as alone"
                model.steps.clear()
                assert policy == "static" or not pager.waste().reserved, "blocks of guesses that were not given back"
            if done % 50 == 0:
                check(pager)
        check(pager)
        assert pager.num_free == pager.num_blocks and not scheduler.running and not scheduler.waiting
        assert host is None or host.num_free == host.num_blocks
    return done


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("operations", type=int)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    print(f"{history(asked.operations, seed=asked.seed, every=1000):,} operations on a pager, no violation")
    print(f"{scheduled(asked.operations, seed=asked.seed):,} operations on schedulers, no violation")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
