"""The pager beside a model simple enough to check by eye, under long random histories."""

import random
from array import array

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from hwlab.serving import pager as module
from hwlab.serving.pager import Copy, NeverFits, Opened, OutOfBlocks, Pager, UnknownSequence, Waste
from tests.serving.histories import check, history


class PagerAgainstModel(RuleBasedStateMachine):
    """A Pager beside a dict {sequence: tokens}, through random beginnings, growth and ends."""

    sequences = Bundle("sequences")

    def __init__(self):
        super().__init__()
        self.pager, self.tokens = Pager(8, 2), {}

    @rule(target=sequences)
    def arrive(self):
        self.tokens[len(self.tokens)] = 0
        return len(self.tokens) - 1

    @rule(seq=sequences, tokens=st.integers(1, 6))
    def grow(self, seq, tokens):
        before = state(self.pager)
        try:
            self.pager.grow(seq, tokens)
            self.tokens[seq] += tokens
        except OutOfBlocks:
            assert state(self.pager) == before  # a refusal changes nothing

    @rule(seq=sequences)
    def finish(self, seq):
        if self.tokens[seq]:
            self.pager.free(seq)
            self.tokens[seq] = 0

    @invariant()
    def every_block_is_free_or_in_exactly_one_table(self):
        held = [b for seq, n in self.tokens.items() if n for b in self.pager.table(seq)]
        assert len(held) == len(set(held)) == 8 - self.pager.num_free
        assert len(held) == sum(-(-n // 2) for n in self.tokens.values())  # and none to spare


TestPager = PagerAgainstModel.TestCase


def state(pager):
    """All that a caller can see."""
    seqs = pager.sequences
    return pager.num_free, pager.waste(), [(s, pager.length(s), pager.table(s)) for s in seqs]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_stored_is_what_each_sequence_wrote_through_5000_random_operations(seed):
    assert history(5000, seed=seed) == 5000


@pytest.mark.parametrize("seed", range(4))
def test_no_history_shares_what_differs_even_where_all_hashes_collide(seed, monkeypatch):
    monkeypatch.setattr(module, "_digest", lambda before, tokens: b"the same")
    assert history(2000, seed=seed) == 2000


def opened(pager, seq, prompt, **options):
    """Open, as if the step had run."""
    found = pager.open(seq, prompt, **options).found
    pager.commit()
    return found


def test_sequences_that_begin_alike_share_full_blocks_also_after_the_first_has_ended():
    pager = Pager(8, 2)
    assert opened(pager, "a", [1, 2, 3, 4, 5]) == 0
    assert opened(pager, "b", [1, 2, 3, 4, 6]) == 4
    assert pager.table("b")[:2] == pager.table("a")[:2]
    assert pager.num_free == 8 - 4
    pager.free("a")
    pager.free("b")
    assert pager.num_free == 8
    assert pager.waste() == Waste(tokens=0, reserved=0, internal=0, external=0, cached=4, free=12)
    assert opened(pager, "c", [1, 2, 9, 9, 9]) == 2
    assert opened(pager, "d", [2, 1, 3, 4, 5]) == 0


def test_what_no_step_has_written_is_not_found():
    pager = Pager(8, 2)
    pager.open("a", [1, 2, 3])
    assert pager.open("b", [1, 2, 3]).found == 0  # the step that writes a's block has not run
    pager.free("a")  # and never will
    pager.commit()
    pager.free("b")
    assert opened(pager, "c", [1, 2, 3]) == 2  # b's, which ran


def test_a_prompt_seen_whole_still_computes_one_token():
    pager = Pager(8, 2)
    opened(pager, "a", [1, 2, 3, 4])
    assert pager.open("b", [1, 2, 3, 4]) == Opened(found=2, new=2)  # the last block is computed anew
    assert pager.table("b")[1] != pager.table("a")[1]


def test_a_long_prompt_comes_in_chunks():
    pager = Pager(8, 2)
    assert pager.open("a", range(9), most=4) == Opened(0, 4)
    pager.commit()
    pager.grow("a", range(4, 9))
    pager.commit()
    assert pager.open("b", range(9)) == Opened(8, 1)
    assert Pager(8, 2, seed=b"x").open("a", [1, 2, 3], most=1) == Opened(0, 1)


def test_generated_tokens_are_found_as_part_of_a_later_prompt():
    pager = Pager(8, 2)
    opened(pager, "turn 1", [1, 2, 3])
    for token in (4, 5, 6):
        pager.grow("turn 1", [token])
        pager.commit()
    pager.free("turn 1")
    assert pager.open("turn 2", [1, 2, 3, 4, 5, 6, 7]).found == 6


def test_tokens_without_ids_are_never_shared_nor_those_behind_them():
    pager = Pager(8, 2)
    opened(pager, "a", [1, 2])
    pager.grow("a", 2)
    pager.grow("a", [5, 6])
    pager.commit()
    pager.free("a")
    assert pager.open("b", [1, 2, 3, 4, 5, 6, 7]).found == 2


def test_two_salts_share_nothing():
    pager = Pager(8, 2)
    opened(pager, "a", [1, 2, 3], salt=b"tenant 1")
    assert opened(pager, "b", [1, 2, 3], salt=b"tenant 2") == 0
    assert opened(pager, "c", [1, 2, 3], salt=b"tenant 1") == 2


@pytest.mark.parametrize("salts", [(b"", b""), (b"one", b"two")])
def test_a_forced_collision_is_never_shared(salts, monkeypatch):
    monkeypatch.setattr(module, "_digest", lambda before, tokens: b"the same")
    pager = Pager(8, 2)
    opened(pager, "a", [1, 2, 3, 4, 5], salt=salts[0])
    assert opened(pager, "b", [9, 9, 9], salt=salts[1]) == 0
    assert opened(pager, "c", [3, 4, 5], salt=salts[1]) == 0  # a's second block, which is not where a prompt begins
    pager = Pager(8, 2)
    opened(pager, "a", [1, 2, 3], salt=salts[0])
    assert opened(pager, "b", [1, 2, 3], salt=salts[1]) == (2 if salts[0] == salts[1] else 0)


def test_what_stands_behind_a_collision_is_not_found_behind_the_other_beginning(monkeypatch):
    true = module._digest
    first = (array("q", [1, 2]).tobytes(), array("q", [3, 4]).tobytes())
    monkeypatch.setattr(module, "_digest", lambda before, tokens: b"x" if tokens in first else true(before, tokens))
    pager = Pager(16, 2)
    opened(pager, "a", [1, 2, 9])
    opened(pager, "b", [3, 4, 5, 6, 9])
    assert opened(pager, "c", [1, 2, 5, 6, 9]) == 0  # 5 and 6 were computed behind 3 and 4


def test_polynomial_neighbours_do_not_hit():
    pager = Pager(32, 2)
    opened(pager, "a", [100, 200, 1])
    assert all(opened(pager, k, [100 + 31 * k, 200 - k, 1]) == 0 for k in (-2, -1, 1, 2))


def test_pagers_draw_different_seeds_and_a_seed_gives_equal_digests():
    digests = [tuple(loaded._found) for loaded in (written(Pager(4, 2)), written(Pager(4, 2)))]
    assert digests[0] != digests[1]
    assert tuple(written(Pager(4, 2, seed=b"k"))._found) == tuple(written(Pager(4, 2, seed=b"k"))._found)


def written(pager):
    opened(pager, "a", [1, 2, 3])
    return pager


def test_the_block_left_longest_ago_goes_first_and_the_end_of_a_sequence_before_its_beginning():
    pager = Pager(4, 1)
    opened(pager, "old", [1, 2])
    opened(pager, "new", [3, 4])
    pager.free("old")
    pager.free("new")
    assert opened(pager, "again", [1, 2, 9]) == 2  # used again: now "new" is the one left longest ago
    pager.free("again")
    pager.grow("x", 1)  # an empty block is none: "again" took one of "new"
    assert opened(pager, "y", [1, 9]) == 1
    check(pager)


def test_found_blocks_are_pinned_before_others_are_taken():
    pager = Pager(3, 2)
    opened(pager, "a", [1, 2, 3, 4, 5, 6])
    pager.free("a")
    before = state(pager)
    with pytest.raises(NeverFits):
        pager.open("b", [1, 2, 3, 4, 7, 7, 7])
    assert state(pager) == before
    pager.grow("c", 1)  # takes the end of what a left
    with pytest.raises(OutOfBlocks, match=r"sequence 'b' needs 1 more block; 0 of 3 are free"):
        pager.open("b", [1, 2, 3, 4, 7])  # its two found blocks are not free
    assert pager.open("b", [1, 2, 3, 4]) == Opened(2, 2)
    check(pager)


def test_a_refused_beginning_leaves_the_order_of_leaving_as_it_was():
    pager = Pager(3, 1)
    opened(pager, "a", [1])
    opened(pager, "b", [2])
    opened(pager, "c", [3])
    for seq in "abc":
        pager.free(seq)
    pager.grow("x", 1)  # evicts 1
    with pytest.raises(OutOfBlocks):
        pager.open("y", [2, 7, 7])
    pager.grow("x", 1)  # evicts 2, though y has asked for it since
    assert pager.table("x") == (0, 1)


def test_a_fork_shares_all_and_copies_the_block_it_writes_to():
    pager = Pager(8, 2)
    pager.grow("a", [1, 2, 3])
    pager.fork("a", "b")
    assert pager.table("a") == pager.table("b") == (0, 1)
    assert pager.num_free == 6
    assert pager.grow("b", [4]) == Copy(source=1, target=2)
    assert pager.table("b") == (0, 2)
    assert pager.grow("a", [5]) is None  # nobody else holds it now
    assert pager.table("a") == (0, 1)
    pager.commit()
    pager.free("a")
    pager.free("b")
    assert pager.open("c", [1, 2, 3, 4, 9]).found == 4
    assert pager.open("d", [1, 2, 3, 5, 9]).found == 4


def test_a_fork_of_full_blocks_copies_nothing():
    pager = Pager(8, 2)
    pager.grow("a", 4)
    pager.fork("a", "b")
    assert pager.grow("a", 1) is pager.grow("b", 1) is None
    assert pager.table("a")[:2] == pager.table("b")[:2]
    assert pager.table("a")[2] != pager.table("b")[2]


def test_a_fork_leaves_its_parent_the_blocks_that_are_reserved():
    pager = Pager(8, 2)
    pager.grow("a", [1, 2, 3])
    pager.reserve("a", 4)
    pager.fork("a", "b")
    assert (pager.table("a"), pager.table("b"), pager.num_free) == ((0, 1, 2, 3), (0, 1), 4)
    assert pager.grow("b", [4, 5]) == Copy(1, 4) and pager.table("b") == (0, 4, 5)
    assert pager.grow("a", [6, 7, 8]) is None and pager.table("a") == (0, 1, 2, 3)
    check(pager)


def test_a_fork_that_cannot_copy_is_refused_and_nothing_changes():
    pager = Pager(2, 2)
    pager.grow("a", 3)
    pager.fork("a", "b")
    before = state(pager)
    with pytest.raises(OutOfBlocks, match="needs 1 more block; 0 of 2 are free"):
        pager.grow("b", 1)
    with pytest.raises(OutOfBlocks):
        pager.reserve("a", 1)
    assert state(pager) == before


def test_reserved_slots_are_there_when_the_guesses_are_taken():
    pager = Pager(8, 16)
    pager.grow("a", 14)
    pager.reserve("a", 1 + 4)  # one token and four guesses behind 14: a second block
    assert len(pager.table("a")) == 2
    assert pager.waste() == Waste(tokens=14, reserved=16, internal=2, external=0, cached=0, free=96)
    pager.grow("a", 2)  # one accepted
    pager.release("a")
    assert len(pager.table("a")) == 1
    pager.reserve("a", 5)
    pager.grow("a", 5)
    pager.release("a")
    assert (len(pager.table("a")), pager.num_free) == (2, 6)


def test_waste_counts_what_is_shared_once_and_adds_up_to_the_pool():
    pager = Pager(8, 4)
    pager.grow("a", 6)
    pager.fork("a", "b")
    assert pager.waste() == Waste(tokens=6, reserved=0, internal=2, external=0, cached=0, free=24)
    pager.grow("b", 1)
    assert pager.waste() == Waste(tokens=4 + 2 + 3, reserved=0, internal=3, external=0, cached=0, free=20)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda p: p.free("b"), UnknownSequence, "no sequence 'b' holds blocks; 1 do"),
        (lambda p: p.table("b"), UnknownSequence, "no sequence 'b'"),
        (lambda p: p.reserve("b", 1), UnknownSequence, "no sequence 'b'"),
        (lambda p: p.release("b"), UnknownSequence, "no sequence 'b'"),
        (lambda p: p.fork("b", "c"), UnknownSequence, "no sequence 'b'"),
        (lambda p: p.fork("a", "a"), ValueError, "'a' is open already"),
        (lambda p: p.open("a", [1]), ValueError, "'a' is open already"),
        (lambda p: p.open("b", []), ValueError, "the prompt is empty"),
        (lambda p: p.open("b", 0), ValueError, "prompt is 0"),
        (lambda p: p.open("b", [1], spare=6), OutOfBlocks, "needs 1 more block; 6 of 8 are free, and 6 must stay so"),
        (lambda p: p.open("b", range(15), spare=-9), ValueError, "spare is -9; give a whole number from 0 on"),
        (lambda p: p.open("b", [1], spare=float("nan")), ValueError, "spare is nan"),
        (lambda p: p.open("b", ["to"]), TypeError, "whole numbers as their ids"),
        (lambda p: p.open("b", b"tobeornot"), TypeError, "whole numbers as their ids"),
        (lambda p: p.open("b", [2**63]), TypeError, "whole numbers as their ids"),
        (lambda p: p.open("b", [1], most=0), ValueError, "most is 0"),
        (lambda p: p.open("b", [1], salt="x"), TypeError, "salt is 'x'; give bytes"),
        (lambda p: p.open("b", range(17)), NeverFits, "needs 9 blocks; the pool has 8 in all"),
        (lambda p: p.grow("a", 0), ValueError, "cannot grow by 0 tokens"),
        (lambda p: p.grow("a", -1), ValueError, "cannot grow by -1 tokens"),
        (lambda p: p.grow("b", []), ValueError, "cannot grow by 0 tokens"),
        (lambda p: p.grow("a", 1.5), TypeError, "tokens are 1.5"),
        (lambda p: p.grow("a", [1, "x"]), TypeError, "whole numbers as their ids"),
        (lambda p: p.grow("a", 14), NeverFits, "needs 9 blocks; the pool has 8 in all"),
        (lambda p: p.reserve("a", 14), NeverFits, "needs 9 blocks"),
        (lambda p: p.reserve("a", 0), ValueError, "tokens is 0"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(call, error, says):
    pager = Pager(8, 2)
    pager.grow("a", [1, 2, 3])
    before = state(pager)
    with pytest.raises(error, match=says):
        call(pager)
    assert state(pager) == before
    pager.commit()
    check(pager)


def test_a_double_free_is_refused():
    pager = Pager(8, 2)
    pager.grow("a", 3)
    pager.free("a")
    with pytest.raises(UnknownSequence, match="no sequence 'a' holds blocks; 0 do"):
        pager.free("a")
    assert pager.num_free == 8


@pytest.mark.parametrize("sizes", [(0, 16), (8, 0), (8, 2.5), (-1, 2)])
def test_a_pool_of_nothing_is_refused(sizes):
    with pytest.raises((TypeError, ValueError), match="give a whole number of at least 1"):
        Pager(*sizes)
    with pytest.raises(ValueError, match="give up to 64 bytes"):
        Pager(8, 2, seed="x")


def test_the_checks_of_these_tests_find_a_block_that_two_hold():
    pager = Pager(8, 2)
    pager.grow("a", 3)
    pager._empty.append(pager.table("a")[0])
    with pytest.raises(AssertionError):
        check(pager)


def test_a_prefix_found_in_a_free_block_looks_at_no_other_block():
    class Counted(dict):
        looks = 0

        def get(self, *key):
            Counted.looks += 1
            return super().get(*key)

    looked = []
    for num_blocks in (64, 4096):
        pager = Pager(num_blocks, 1)
        for seq in range(num_blocks):
            opened(pager, seq, [seq])
            pager.free(seq)
        pager._found, Counted.looks = Counted(pager._found), 0
        # Taking one from the middle of those that were left: an ordered dictionary unlinks it in constant time.
        assert pager.open("a", [num_blocks // 2, 1]) == Opened(1, 1)
        looked.append(Counted.looks)
    assert looked[0] == looked[1] == 2  # one find, and one page that the other block gives up


def test_long_histories_are_run_by_a_command():
    from tests.serving import histories

    assert histories.main(["3000", "--seed", str(random.randrange(10**6))]) == 0


def test_free_blocks_are_taken_in_the_order_told():
    pager = Pager(8, 2)
    for name, prompt in (("a", [1, 2, 3]), ("b", [4, 5, 6, 7]), ("c", [1, 2, 8])):
        pager.open(name, prompt)
        pager.commit()
    for name in "bca":
        pager.free(name)
    order = pager.free_blocks
    assert sorted(order) == list(range(8))
    pager.grow("d", 16)
    assert pager.table("d") == order and pager.free_blocks == ()
