"""Every request is answered, as if it were alone: under every policy, shared prefixes, preemption and swap."""

import random
from time import process_time

import numpy as np
import pytest

from hwlab.serving.pager import NeverFits, Pager
from hwlab.serving.scheduler import Chunk, Request, Scheduler, Stalled, serve
from tests.serving.histories import Model, alone, scheduled


def workload(seed, num=12, rate=20.0):
    draw = random.Random(seed)
    now, requests = 0.0, []
    systems = [[draw.randrange(3) for _ in range(draw.randint(0, 14))] for _ in range(3)]
    for i in range(num):
        now += draw.expovariate(rate)
        prompt = [*draw.choice(systems), *(draw.randrange(3) for _ in range(draw.randint(1, 8)))]
        requests.append(
            Request(
                id=i,
                prompt=prompt,
                max_new_tokens=draw.randint(1, 20),
                arrival_s=now,
                priority=draw.choice([0, 0, 1, -1]),
                salt=draw.choice([b"", b"", b"tenant"]),
            )
        )
    return requests


POLICIES = {
    "static": {"policy": "static", "max_batch": 3},
    "continuous": {"policy": "continuous", "max_batch": 6, "max_tokens": 20},
    "chunked": {"policy": "chunked", "max_batch": 6, "max_tokens": 7},
    "swap": {"policy": "continuous", "max_batch": 6, "max_tokens": 20, "preemption": "swap"},
    "chunked swap": {"policy": "chunked", "max_batch": 6, "max_tokens": 7, "preemption": "swap"},
}


def run(requests, name, num_blocks=15, block_tokens=3, **changed):
    options = {**POLICIES[name], **changed}
    if options.get("preemption") == "swap":
        options["host"] = Pager(10, block_tokens)
    scheduler = Scheduler(Pager(num_blocks, block_tokens), **options)
    model = Model(scheduler)
    served = serve(requests, scheduler, model)
    assert not scheduler.running and not scheduler.waiting
    assert scheduler.pager.num_free == num_blocks
    assert scheduler.host is None or scheduler.host.num_free == 10
    return served, model


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("seed", range(30))
def test_every_answer_is_that_of_the_request_alone(seed, name):
    requests = workload(seed)
    served, model = run(requests, name)
    assert [s.answer for s in served] == [alone(request) for request in requests]
    assert [s.tokens for s in served] == [len(s.answer) for s in served]
    assert all(s.ttft_s > 0 and s.first_s <= s.last_s for s in served)
    most, tokens = POLICIES[name]["max_batch"], POLICIES[name].get("max_tokens")
    assert all(len(step.prefill) + len(step.decode) + step.idle <= most for step in model.steps)
    if name.startswith("chunked"):
        assert all(step.tokens <= tokens for step in model.steps)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("seed", range(6))
def test_guesses_change_no_answer(seed, name):
    requests = workload(seed)
    served, model = run(requests, name, guesses=1 + seed % 3, **({} if name == "static" else {"max_tokens": 24}))
    assert [s.answer for s in served] == [alone(request) for request in requests]
    drawn = [len(step.output[id]) for step in model.steps for id in step.guesses]
    assert sum(tokens > 1 for tokens in drawn) > 10


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_shared_or_answered_wrongly_through_5000_random_operations(seed):
    assert scheduled(5000, seed=seed) >= 5000


def test_the_workloads_above_meet_what_they_are_to_test():
    seen = {name: [run(workload(seed), name) for seed in range(30)] for name in POLICIES}
    for name, runs in seen.items():
        steps = [step for _, model in runs for step in model.steps]
        assert any(s.found for served, _ in runs for s in served), name
        assert any(step.preempted for step in steps) == (name != "static"), name
        assert any(step.recomputed for step in steps) == (name != "static"), name
        assert any(step.swap_in for step in steps) == ("swap" in name), name
        assert any(step.idle for step in steps) == (name == "static"), name
        assert any(step.prefill and step.decode for step in steps) == (name != "static"), name


@pytest.mark.parametrize("name", POLICIES)
def test_equal_seeds_give_equal_runs(name):
    first, second = (run(workload(5), name) for _ in range(2))
    assert first[0] == second[0]
    assert [str(step) for step in first[1].steps] == [str(step) for step in second[1].steps]


def test_a_static_batch_waits_for_its_longest_and_nobody_joins():
    requests = [Request(id=i, prompt=[1], max_new_tokens=n) for i, n in enumerate([1, 4, 2])]
    scheduler = Scheduler(Pager(30, 3), policy="static", max_batch=2)
    seen = []
    for request in requests:
        scheduler.add(request)
    while step := scheduler.step():
        seen.append((len(step.prefill), len(step.decode), step.idle))
        scheduler.finish(step)
    assert seen == [(2, 0, 0), (0, 1, 1), (0, 1, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0)]


def steps_of(scheduler, requests):
    for request in requests:
        scheduler.add(request)
    while step := scheduler.step():
        yield step
        scheduler.finish(step)


def test_continuous_batching_fills_a_place_at_the_next_step():
    requests = [Request(id=i, prompt=1, max_new_tokens=n) for i, n in enumerate([1, 4, 2])]
    scheduler = Scheduler(Pager(30, 3), max_batch=2)
    seen = [(len(step.prefill), len(step.decode)) for step in steps_of(scheduler, requests)]
    assert seen == [(2, 0), (1, 1), (0, 2), (0, 1)]


def test_whole_prompts_share_a_step_up_to_the_budget_and_a_longer_one_has_its_own():
    requests = [Request(id=id, prompt=n, max_new_tokens=1) for id, n in [("a", 12), ("b", 8), ("c", 1), ("d", 50)]]
    scheduler = Scheduler(Pager(30, 4), max_batch=9, max_tokens=20)
    seen = [[chunk.id for chunk in step.prefill] for step in steps_of(scheduler, requests)]
    assert seen == [["a", "b"], ["c"], ["d"]]


def test_the_last_in_order_makes_room_though_it_began_first():
    scheduler = Scheduler(Pager(4, 2), max_batch=9)
    scheduler.add(Request(id="low", prompt=2, max_new_tokens=6, priority=1))
    scheduler.finish(scheduler.step())
    preempted = []
    for step in steps_of(scheduler, [Request(id="high", prompt=2, max_new_tokens=6)]):
        preempted += step.preempted
    assert set(preempted) == {"low"}


def test_tokens_that_nobody_named_are_found_by_nobody_else():
    scheduler = Scheduler(Pager(30, 2))
    first = Request(id="a", prompt=[1, 2, 3, 4], max_new_tokens=7)
    assert [served.answer for served in serve([first], scheduler, Counter())] == [None]
    again = [Request(id=token, prompt=[1, 2, 3, 4, *[token] * 6], max_new_tokens=1) for token in range(3)]
    assert [served.found for served in serve(again, scheduler, Counter())] == [4, 4, 4]


def test_the_budget_is_shared_between_a_long_prompt_and_the_short_ones_behind_it():
    requests = [Request(id="long", prompt=400, max_new_tokens=1)]
    requests += [Request(id=i, prompt=2, max_new_tokens=1) for i in range(10)]
    scheduler = Scheduler(Pager(1000, 16), policy="chunked", max_batch=12, max_tokens=20)
    step = next(steps_of(scheduler, requests))
    assert [(chunk.id, chunk.tokens) for chunk in step.prefill] == [
        ("long", 1),
        (0, 1),
        *((i, 2) for i in range(1, 10)),
    ]


def test_short_prompts_that_come_while_a_long_one_is_computed_do_not_wait_for_its_end():
    scheduler = Scheduler(Pager(1000, 16), policy="chunked", max_batch=12, max_tokens=512)
    scheduler.add(Request(id="long", prompt=6000, max_new_tokens=1))
    scheduler.finish(scheduler.step())
    for id in "abc":
        scheduler.add(Request(id=id, prompt=64, max_new_tokens=1))
    done = {}
    for at in range(12):
        step = scheduler.step()
        assert step.tokens == 512 or at == 11  # nothing of the budget is lost by it
        done |= {ended.id: at for ended in scheduler.finish(step)}
    assert max(done[id] for id in "abc") <= 2 < done["long"]


def test_one_answer_goes_on_at_every_step_whatever_arrives():
    """A prefill-first policy lets steady arrivals stop those that are being answered; here every step decodes."""
    scheduler = Scheduler(Pager(4000, 16), policy="chunked", max_batch=64, max_tokens=128)
    scheduler.add(Request(id="first", prompt=16, max_new_tokens=50))
    for at in range(50):
        step = scheduler.step()
        assert "first" in step.draws
        assert step.tokens <= 128
        scheduler.finish(step)
        scheduler.add(Request(id=at, prompt=600, max_new_tokens=50))


def test_a_prompt_seen_whole_still_draws_its_token():
    prompt = [1, 2, 3, 4] * 8
    scheduler = Scheduler(Pager(64, 4))
    for id in "ab":
        step = next(steps_of(scheduler, [Request(id=id, prompt=prompt, max_new_tokens=1)]))
        scheduler.finish(step)
    assert step.prefill == [Chunk("b", 28, 4)]


def test_a_request_that_never_fits_is_refused_and_the_others_are_served():
    requests = [
        Request(id="large", prompt=100, max_new_tokens=1),
        Request(id="grows", prompt=30, max_new_tokens=200),
        Request(id="just", prompt=62, max_new_tokens=3),  # 62 + 2 computed tokens fill the pool
        Request(id="one more", prompt=62, max_new_tokens=4),
        Request(id="small", prompt=3, max_new_tokens=3),
    ]
    served = serve(requests, Scheduler(Pager(4, 16)), Counter())
    assert [s.refused[:32] for s in served if s.refused] == [
        "request 'large' needs 7 blocks f",
        "request 'grows' needs 15 blocks ",
        "request 'one more' needs 5 block",
    ]
    assert [s.tokens for s in served] == [0, 0, 3, 0, 3]
    assert served[0].ttft_s is served[0].tpot_s is None
    with pytest.raises(NeverFits, match="for 100 tokens and an answer of up to 1; the pool has 4 in all"):
        Scheduler(Pager(4, 16)).add(requests[0])


class Counter:
    """An executor that only counts."""

    def __init__(self, seconds=1.0):
        self.seconds, self.computed = seconds, 0

    def run(self, step):
        self.computed += step.tokens
        return self.seconds


def test_time_to_first_token_is_waiting_and_one_step_where_nothing_else_goes_on():
    (served,) = serve([Request(id=0, prompt=5, max_new_tokens=3, arrival_s=2.5)], Scheduler(Pager(8, 4)), Counter(0.5))
    assert (served.ttft_s, served.tpot_s, served.answer) == (0.5, 0.5, None)


def test_many_requests_in_a_pool_just_too_small_end_and_compute_little_twice():
    """Groups that share prefixes, a pool below the demand: nothing is evicted and computed again over and over."""
    draw = random.Random(3)
    systems = [[draw.randrange(1000) for _ in range(160)] for _ in range(8)]
    requests = [
        Request(id=i, prompt=[*systems[i % 8], *range(i, i + draw.randint(1, 40))], max_new_tokens=draw.randint(1, 60))
        for i in range(400)
    ]
    executor = Counter()
    served = serve(requests, Scheduler(Pager(150, 16), policy="chunked", max_batch=32, max_tokens=256), executor)
    needed = sum(request.prompt_tokens - s.found + s.tokens - 1 for request, s in zip(requests, served, strict=True))
    assert all(s.tokens == request.max_new_tokens for request, s in zip(requests, served, strict=True))
    assert executor.computed < 1.2 * needed
    assert max(s.preemptions for s in served) <= 10


def test_a_low_priority_waits_no_longer_than_patience_arrivals():
    scheduler = Scheduler(Pager(8, 4), max_batch=1, patience=5)
    scheduler.add(Request(id="low", prompt=1, max_new_tokens=1, priority=1))
    order = []
    for i in range(10):
        scheduler.add(Request(id=i, prompt=1, max_new_tokens=1))
        step = scheduler.step()
        order += [done.id for done in scheduler.finish(step)]
    assert order == [0, 1, 2, 3, "low", 4, 5, 6, 7, 8]
    assert scheduler.waiting == (9,)


def test_blocks_for_guesses_are_those_of_length_and_guesses_and_go_back_when_they_are_wrong():
    pager = Pager(8, 16)
    scheduler = Scheduler(pager, max_batch=1, guesses=4)
    scheduler.add(Request(id="a", prompt=[1] * 14, max_new_tokens=9))
    scheduler.finish(scheduler.step())
    step = scheduler.step()
    assert (step.guesses, step.tokens, pager.length("a"), len(pager.table("a"))) == ({"a": 4}, 5, 15, 2)  # 15 + 4 > 16
    step.output["a"] = (7,)  # all wrong
    scheduler.finish(step)
    assert (len(pager.table("a")), pager.num_free) == (1, 7)
    step = scheduler.step()
    step.output["a"] = (7, 8, 9, 9, 9)  # all right
    scheduler.finish(step)
    assert (scheduler.tokens("a", 15), pager.length("a"), len(pager.table("a"))) == ([7, 7, 8, 9, 9, 9], 20, 2)
    assert scheduler.step().guesses == {"a": 1}  # of 9 tokens 7 are there, one comes anyway


def test_guesses_take_what_is_free_and_nobody_makes_room_for_them():
    pager = Pager(6, 4)
    scheduler = Scheduler(pager, max_batch=2, guesses=3)
    for id in "ab":
        scheduler.add(Request(id=id, prompt=[1] * 6, max_new_tokens=8))
    scheduler.finish(scheduler.step())
    pager.grow("somebody else's", 8)
    step = scheduler.step()
    assert (step.decode, step.guesses, step.preempted) == (["a", "b"], {"a": 1, "b": 1}, [])  # 7 of 8 slots are taken


@pytest.mark.parametrize(("num_blocks", "begins"), [(5, []), (6, ["b"])])
def test_who_begins_leaves_the_blocks_that_guesses_will_need(num_blocks, begins):
    scheduler = Scheduler(Pager(num_blocks, 4), max_batch=2, guesses=3)
    scheduler.add(Request(id="a", prompt=6, max_new_tokens=9))
    scheduler.finish(scheduler.step())
    scheduler.add(Request(id="b", prompt=4, max_new_tokens=1))
    step = scheduler.step()  # a has 7 tokens and room for 3 guesses in 3 blocks, and may need 2 more
    assert (step.decode, step.guesses, [chunk.id for chunk in step.prefill]) == (["a"], {"a": 3}, begins)


def test_guesses_count_among_the_tokens_of_a_step():
    scheduler = Scheduler(Pager(100, 4), policy="chunked", max_batch=4, max_tokens=16, guesses=3)
    scheduler.add(Request(id="a", prompt=5, max_new_tokens=50))
    scheduler.finish(scheduler.step())
    scheduler.add(Request(id="b", prompt=40, max_new_tokens=1))
    step = scheduler.step()
    assert (step.decode, step.guesses, step.prefill, step.tokens) == (["a"], {"a": 3}, [Chunk("b", 0, 12)], 16)


def test_an_executor_that_counts_says_how_many_guesses_were_right():
    class Half(Counter):
        def run(self, step):
            step.accepted = {id: guesses // 2 for id, guesses in step.guesses.items()}
            return super().run(step)

    scheduler = Scheduler(Pager(100, 4), guesses=4)
    (served,) = serve([Request(id=0, prompt=5, max_new_tokens=10)], scheduler, Half())
    assert (served.tokens, served.last_s) == (10, 5.0)  # 1 of the prompt, 1 + 2, 1 + 2, 1 + 1, 1


@pytest.mark.parametrize("tokens", [(), (1, 2, 3)])
def test_more_tokens_than_guesses_and_one_are_refused_and_the_step_is_still_open(tokens):
    scheduler = Scheduler(Pager(100, 4), guesses=1)
    scheduler.add(Request(id="a", prompt=[1, 2], max_new_tokens=9))
    scheduler.finish(scheduler.step())
    step = scheduler.step()
    step.output["a"] = tokens
    with pytest.raises(ValueError, match=rf"'a' drew {len(tokens)} tokens in step 1; it may draw from 1 to 2"):
        scheduler.finish(step)
    step.output["a"] = (5, 6)
    scheduler.finish(step)
    assert scheduler.tokens("a") == [1, 2, *scheduler.tokens("a", 2, 3), 5, 6]


@pytest.mark.parametrize(
    ("token", "error", "says"),
    [
        (2.5, TypeError, "sequence 'a' in step 0: tokens are 2.5"),
        ("7", TypeError, "sequence 'a' in step 0: tokens are '7'"),
        (-1, ValueError, "sequence 'a' drew the token id -1 in step 0; ids are from 0 on"),
    ],
)
def test_what_is_no_token_id_is_not_taken_from_an_executor(token, error, says):
    scheduler = Scheduler(Pager(100, 4))
    scheduler.add(Request(id="a", prompt=[1, 2], max_new_tokens=2))
    step = scheduler.step()
    step.output["a"] = token
    with pytest.raises(error, match=says):
        scheduler.finish(step)
    step.output["a"] = 5
    scheduler.finish(step)
    assert scheduler.tokens("a") == [1, 2, 5]


def test_who_serves_is_told_of_each_step_its_end_and_who_ended_with_it():
    told = []
    requests = [Request(id="a", prompt=5, max_new_tokens=1), Request(id="b", prompt=1, max_new_tokens=2, arrival_s=3.0)]
    served = serve(
        requests,
        Scheduler(Pager(8, 4)),
        Counter(0.5),
        after=lambda step, now, finished: told.append((step.number, now, [done.id for done in finished])),
    )
    assert told == [(0, 0.5, ["a"]), (1, 3.5, []), (2, 4.0, ["b"])]
    assert [s.last_s for s in served] == [0.5, 4.0]


def test_two_requests_of_one_id_one_after_the_other_are_two():
    requests = [Request(id="a", prompt=5, max_new_tokens=n, arrival_s=at) for n, at in ((2, 0.0), (3, 50.0))]
    served = serve(requests, Scheduler(Pager(8, 4)), Counter())
    assert [(s.request, s.tokens, s.first_s) for s in served] == [(requests[0], 2, 1.0), (requests[1], 3, 51.0)]


@pytest.mark.parametrize("salt", [b"", b"tenant"])
def test_what_comes_back_from_the_other_memory_is_still_its_tenants_own(salt):
    pager = Pager(8, 4, seed=b"")
    scheduler = Scheduler(pager, preemption="swap", host=Pager(8, 4))
    first, second = list(range(100, 108)), list(range(8))
    back = []
    for step in steps_of(
        scheduler,
        [
            Request(id="first", prompt=first, max_new_tokens=12),
            Request(id="second", prompt=second, max_new_tokens=16, salt=salt),
        ],
    ):
        step.output.update(dict.fromkeys(step.draws, 7))
        back += [move.id for move in step.swap_in]
    assert back == ["second"]
    for other, found in ((salt, 8), (b"other", 0), (b"", 0 if salt else 8)):
        assert pager.open("later", [*second, 9], salt=other).found == found
        pager.free("later")


def test_a_swap_brings_back_only_what_the_prefix_cache_has_not_got():
    """Both begin with the same three blocks, which the first still holds when the second comes back."""
    scheduler = Scheduler(Pager(8, 2), preemption="swap", host=Pager(8, 2))
    requests = [Request(id=id, prompt=[0, 1, 0, 1, 0, 1, id], max_new_tokens=9 - 4 * id) for id in (0, 1)]
    model, answers, moved = Model(scheduler), {}, []
    scheduler.add(requests[0])
    while step := scheduler.step():
        model.run(step)
        moved += [("out", len(move.source)) for move in step.swap_out]
        moved += [("in", len(move.source)) for move in step.swap_in]
        answers |= {done.id: done.answer for done in scheduler.finish(step)}
        if step.number == 0:
            scheduler.add(requests[1])
    assert answers == {request.id: alone(request) for request in requests}
    assert moved == [("out", 5), ("in", 2)]


def test_a_fork_goes_on_from_where_its_parent_stands_in_the_same_blocks():
    pager = Pager(8, 4)
    scheduler = Scheduler(pager, max_batch=2)
    scheduler.add(Request(id="a", prompt=[1, 2, 3, 4, 5], max_new_tokens=4))
    step = scheduler.step()
    step.output["a"] = 6
    scheduler.finish(step)
    scheduler.fork("a", "b")
    assert (pager.table("b"), scheduler.running) == (pager.table("a"), ("a", "b"))
    step = scheduler.step()
    assert (step.decode, len(step.copies), step.copies[0].source) == (["a", "b"], 1, 1)
    step.output.update(a=7, b=8)
    scheduler.finish(step)
    assert (scheduler.tokens("a", 5), scheduler.tokens("b", 5)) == ([6, 7], [6, 8])
    scheduler.fork("b", "c")  # the batch is full
    assert scheduler.waiting == ("c",)
    with pytest.raises(ValueError, match="request 'c' is being served"):
        scheduler.fork("a", "c")
    with pytest.raises(LookupError, match="no request 'z'"):
        scheduler.fork("z", "d")
    with pytest.raises(ValueError, match="a static batch takes no forks"):
        static = Scheduler(Pager(8, 4), policy="static")
        static.add(REQUEST)
        static.fork(0, 1)


def test_a_fork_has_made_room_for_nobody_yet():
    scheduler = Scheduler(Pager(4, 2), max_batch=2)
    scheduler.add(Request(id="low", prompt=2, max_new_tokens=6, priority=1))
    scheduler.finish(scheduler.step())
    scheduler.add(Request(id="high", prompt=2, max_new_tokens=6))
    ended = {}
    while step := scheduler.step():
        ended |= {done.id: done.preemptions for done in scheduler.finish(step)}
        if "high" in ended and "twin" not in (*ended, *scheduler.running, *scheduler.waiting):
            scheduler.fork("low", "twin")
            scheduler.cancel("low")
    assert ended == {"high": 0, "twin": 0}


def test_a_stall_names_its_cause():
    pager = Pager(8, 4)
    pager.grow("somebody else's", 20)
    scheduler = Scheduler(pager)
    scheduler.add(Request(id="a", prompt=14, max_new_tokens=5))
    with pytest.raises(Stalled, match=r"request 'a' needs 4 blocks to go on; 3 of 8 are free and 0 requests run; "):
        scheduler.step()
    pager.free("somebody else's")
    assert scheduler.step().prefill == [Chunk("a", 0, 14)]


def test_steps_that_compute_the_same_over_and_over_are_a_stall_too():
    """Somebody else takes the blocks for each second piece of a prompt, and gives them back when it begins anew."""
    pager = Pager(4, 4)
    scheduler = Scheduler(pager, policy="chunked", max_batch=1, max_tokens=4)
    scheduler.add(Request(id="a", prompt=12, max_new_tokens=1))
    with pytest.raises(Stalled, match=r"17 steps in a row computed only what had been computed before; 1 request runs"):
        for _ in range(99):
            step = scheduler.step()
            assert step.prefill == [Chunk("a", 0, 4)]
            scheduler.finish(step)
            pager.grow("somebody else's", 12)
            with pytest.raises(Stalled, match="request 'a' needs 3 blocks to go on; 1 of 4 is free"):
                scheduler.step()
            pager.free("somebody else's")


def test_a_prompt_that_was_swapped_out_in_the_middle_comes_back_where_there_is_room_for_all_of_it():
    pager = Pager(8, 2)
    scheduler = Scheduler(pager, policy="chunked", max_batch=1, max_tokens=4, preemption="swap", host=Pager(8, 2))
    scheduler.add(Request(id="a", prompt=10, max_new_tokens=1))
    scheduler.finish(scheduler.step())
    pager.grow("somebody else's", 12)
    step = scheduler.step()
    assert [move.id for move in step.swap_out] == ["a"]
    scheduler.finish(step)
    pager.free("somebody else's")
    pager.grow("somebody else's", 8)  # leaves 4 blocks: enough for 5 tokens, not for 10
    with pytest.raises(Stalled, match="request 'a' needs 5 blocks to go on; 4 of 8 are free"):
        scheduler.step()
    pager.free("somebody else's")
    step = scheduler.step()
    assert ([len(move.source) for move in step.swap_in], step.prefill) == ([2], [Chunk("a", 4, 1)])


def test_what_was_found_at_a_try_that_failed_is_looked_for_again():
    """A prompt finds its beginning and has to wait; the beginning is evicted meanwhile."""
    pager = Pager(8, 2)
    scheduler, prompt = Scheduler(pager), [0, 1] * 4
    model = Model(scheduler)
    serve([Request(id="before", prompt=prompt, max_new_tokens=1)], scheduler, model)
    pager.grow("somebody else's", 8)
    scheduler.add(Request(id="again", prompt=[*prompt, 1, 1, 1], max_new_tokens=2))
    with pytest.raises(Stalled):
        scheduler.step()
    pager.free("somebody else's")
    pager.grow("somebody else's", 16)  # in all blocks
    pager.free("somebody else's")
    answers = []
    while step := scheduler.step():
        model.run(step)
        answers += scheduler.finish(step)
    assert (answers[0].found, answers[0].answer) == (
        0,
        alone(Request(id=0, prompt=[*prompt, 1, 1, 1], max_new_tokens=2)),
    )


def test_the_time_of_a_request_does_not_grow_with_the_number_of_those_that_wait():
    def seconds(num):
        requests = [Request(id=i, prompt=40, max_new_tokens=4) for i in range(num)]
        began = process_time()
        serve(requests, Scheduler(Pager(256, 16), policy="chunked", max_batch=64, max_tokens=512), Counter())
        return process_time() - began

    few, many = (min(seconds(num) for _ in range(2)) for num in (500, 5000))
    assert many < 25 * few  # ten times as many; a scheduler that looks at all who wait takes 44 times as long


def test_a_swap_whose_step_serves_nobody_is_still_carried_out():
    pager, host = Pager(4, 2), Pager(4, 2)
    scheduler = Scheduler(pager, preemption="swap", host=host)
    request = Request(id="a", prompt=[0, 0, 0], max_new_tokens=6)
    model = Model(scheduler)
    scheduler.add(request)
    step = scheduler.step()
    model.run(step)
    scheduler.finish(step)
    pager.grow("somebody else's", 4)  # 4 of 8 slots; a's next token fits, the one after does not
    for _ in range(2):
        step = scheduler.step()
        model.run(step)
        scheduler.finish(step)
    assert (step.tokens, [move.id for move in step.swap_out], scheduler.waiting) == (0, ["a"], ("a",))
    with pytest.raises(Stalled):
        scheduler.step()
    pager.free("somebody else's")
    while step := scheduler.step():
        model.run(step)
        done = scheduler.finish(step)
    assert done[0].answer == alone(request)


@pytest.mark.parametrize("policy", ["static", "continuous", "chunked"])
def test_a_cancelled_request_is_forgotten_and_its_blocks_are_free(policy):
    scheduler = Scheduler(Pager(8, 4), policy=policy, max_batch=2)
    for id in "abc":
        scheduler.add(Request(id=id, prompt=3, max_new_tokens=2 if id == "a" else 9))
    scheduler.finish(scheduler.step())
    scheduler.cancel("c")
    scheduler.finish(scheduler.step())
    scheduler.cancel("b")
    assert (scheduler.running, scheduler.waiting, scheduler.pager.num_free) == ((), (), 8)
    assert scheduler.step() is None
    with pytest.raises(LookupError, match="no request 'b' is being served; 0 are"):
        scheduler.cancel("b")


def test_a_cancelled_request_that_was_swapped_out_leaves_the_other_memory():
    host = Pager(8, 2)
    scheduler = Scheduler(Pager(4, 2), preemption="swap", host=host)
    steps = steps_of(scheduler, [Request(id=id, prompt=2, max_new_tokens=5) for id in "ab"])
    next(step for step in steps if step.swap_out)
    steps.send(None)
    scheduler.finish(scheduler._open)
    scheduler.cancel("b")
    assert host.num_free == 8


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: Request(id=0, prompt=[], max_new_tokens=1), ValueError, "request 0: the prompt is empty"),
        (lambda: Request(id=0, prompt=0, max_new_tokens=1), ValueError, "request 0: prompt is 0"),
        (lambda: Request(id=0, prompt=None, max_new_tokens=1), TypeError, "request 0: prompt is None"),
        (lambda: Request(id=0, prompt=2.5, max_new_tokens=1), TypeError, "request 0: prompt is 2.5"),
        (lambda: Request(id=0, prompt="abc", max_new_tokens=1), TypeError, "request 0: tokens are 'abc'"),
        (lambda: Request(id=0, prompt=b"abc", max_new_tokens=1), TypeError, "request 0: tokens are b'abc'"),
        (lambda: Request(id=0, prompt=[1, 2.5], max_new_tokens=1), TypeError, r"request 0: tokens are \[1, 2.5\]"),
        (lambda: Request(id=0, prompt=[2**70], max_new_tokens=1), TypeError, "request 0: tokens are"),
        (
            lambda: Request(id=0, prompt=[1, -2], max_new_tokens=1),
            ValueError,
            "request 0: the prompt has the token id -2",
        ),
        (lambda: Request(id=0, prompt=iter([1]), max_new_tokens=1), TypeError, "request 0: prompt is <list_iterator"),
        (lambda: Request(id=[0], prompt=[1], max_new_tokens=1), TypeError, r"the id of a request is \[0\]"),
        (
            lambda: Request(id=0, prompt=[1], max_new_tokens=1, salt="a"),
            TypeError,
            "request 0: salt is 'a'; give bytes",
        ),
        (lambda: Request(id=0, prompt=[1], max_new_tokens=1, arrival_s="1"), ValueError, "arrival_s is '1'"),
        (lambda: Request(id=0, prompt=[1], max_new_tokens=1, arrival_s=None), ValueError, "arrival_s is None"),
        (lambda: Request(id=0, prompt=[1], max_new_tokens=0), ValueError, "request 0: max_new_tokens is 0"),
        (lambda: Request(id=0, prompt=[1], max_new_tokens=1.5), TypeError, "request 0: max_new_tokens is 1.5"),
        (lambda: Request(id=0, prompt=[1], max_new_tokens=1, arrival_s=-1), ValueError, "arrival_s is -1"),
        (lambda: Request(id=0, prompt=[1], max_new_tokens=1, arrival_s=float("nan")), ValueError, "arrival_s is nan"),
        (lambda: Request(id=0, prompt=[1], max_new_tokens=1, priority=0.5), TypeError, "priority is 0.5"),
        (lambda: Scheduler(Pager(8, 4), policy="best"), ValueError, "must be one of static, continuous, chunked"),
        (lambda: Scheduler(Pager(8, 4), max_batch=0), ValueError, "max_batch is 0"),
        (lambda: Scheduler(Pager(8, 4), max_batch=9, max_tokens=8), ValueError, "needs one for each of max_batch = 9"),
        (lambda: Scheduler(Pager(8, 4), max_batch=4, max_tokens=15, guesses=3), ValueError, "needs one and 3 guesses"),
        (lambda: Scheduler(Pager(8, 4), guesses=-1), ValueError, "guesses is -1"),
        (lambda: Scheduler(Pager(8, 4)).tokens(3), LookupError, "no request 3 is being served"),
        (lambda: Scheduler(Pager(8, 4), preemption="swap"), ValueError, "swap needs a host"),
        (lambda: Scheduler(None), TypeError, "pager is None; give a Pager"),
        (lambda: Scheduler(Pager(8, 4), preemption="swap", host=3), TypeError, "host is 3; give a Pager"),
        (lambda: Scheduler(POOL, preemption="swap", host=POOL), ValueError, "host is the pager itself"),
        (lambda: Scheduler(Pager(8, 4), host=Pager(8, 4)), ValueError, "swap needs a host, and only swap"),
        (lambda: Scheduler(Pager(8, 4), preemption="swap", host=Pager(8, 2)), ValueError, "host has 2 tokens"),
        (lambda: serve([REQUEST], Scheduler(Pager(8, 4)), Counter(float("nan"))), ValueError, "Counter took nan s"),
        (lambda: serve([REQUEST], Scheduler(Pager(8, 4)), Counter(-1.0)), ValueError, "Counter took -1.0 s"),
        (lambda: serve([LATER, REQUEST], Scheduler(Pager(8, 4)), Counter()), ValueError, "in order of arrival"),
        (lambda: serve([REQUEST, REQUEST], Scheduler(Pager(8, 4)), Counter()), ValueError, "request 0 is being served"),
        (lambda: serve([REQUEST], busy(), Counter()), ValueError, "has 1 requests already, such as 'somebody'"),
    ],
)
def test_what_cannot_be_is_refused(make, error, says):
    with pytest.raises(error, match=says):
        make()


def busy():
    scheduler = Scheduler(Pager(8, 4))
    scheduler.add(Request(id="somebody", prompt=3, max_new_tokens=2))
    return scheduler


POOL = Pager(8, 4)
REQUEST = Request(id=0, prompt=3, max_new_tokens=2)
LATER = Request(id=1, prompt=3, max_new_tokens=2, arrival_s=1.0)


def test_steps_are_taken_and_finished_in_turn():
    scheduler = Scheduler(Pager(8, 4))
    scheduler.add(REQUEST)
    with pytest.raises(ValueError, match="request 0 is being served"):
        scheduler.add(REQUEST)
    step = scheduler.step()
    for early in (scheduler.step, lambda: scheduler.cancel(0)):
        with pytest.raises(RuntimeError, match="comes between steps; step 0 is not finished"):
            early()
    scheduler.finish(step)
    with pytest.raises(ValueError, match="the step that the scheduler gave last, once"):
        scheduler.finish(step)


class Says:
    """An executor that takes a millisecond a step and notes what it is told to."""

    def __init__(self, seconds=0.001, **notes):
        self.seconds, self.notes = seconds, notes

    def run(self, step):
        for name, note in self.notes.items():
            setattr(step, name, note)
        return self.seconds


@pytest.mark.parametrize(
    ("executor", "error", "says"),
    [
        (None, TypeError, r"executor is None; give an object whose run\(step\) says"),
        (Says, TypeError, "executor is <class .*; give an object"),
        (Says(None), TypeError, "Says gave None for a step; give the seconds that it took"),
        (Says("1"), TypeError, "Says gave '1' for a step"),
        (Says(float("nan")), ValueError, "Says took nan s for a step"),
        (Says(accepted={"a": None}), TypeError, "sequence 'a' in step 0: accepted is None; give a whole number"),
        (Says(output={0: 3}), ValueError, "output of step 0 names 0, which draws no token in it"),
        (Says(ended={"b"}), ValueError, "ended of step 0 names 'b', which draws no token in it"),
    ],
)
def test_what_an_executor_says_wrong_is_named_and_changes_nothing(executor, error, says):
    pager = Pager(8, 4)
    scheduler = Scheduler(pager)
    with pytest.raises(error, match=says):
        serve([Request(id="a", prompt=[1, 2], max_new_tokens=2)], scheduler, executor)
    assert scheduler.waiting == () and pager.num_free in (8, 7)
    if scheduler.running:  # the step is still open, and a right word ends it
        step = scheduler._open
        step.output, step.accepted, step.ended = {"a": 5}, {}, {"a"}
        assert [done.answer for done in scheduler.finish(step)] == [(5,)]
    assert pager.num_free == 8


def test_only_requests_are_served():
    for wrong in (5, {"id": 1}):
        with pytest.raises(TypeError, match=r"a request is .*; give a Request"):
            serve([wrong], Scheduler(Pager(8, 4)), Says())
        with pytest.raises(TypeError, match=r"a request is .*; give a Request"):
            Scheduler(Pager(8, 4)).add(wrong)


def test_arrays_are_ids_and_single_numbers_of_numpy_are_numbers():
    class Draws:
        def run(self, step):
            step.output = {id: np.arange(1 + step.guesses.get(id, 0)) for id in step.draws}
            return 0.001

    request = Request(id="a", prompt=np.array([4, 5]), max_new_tokens=4, priority=np.int64(1))
    (served,) = serve([request], Scheduler(Pager(8, 4), guesses=2), Draws())
    assert served.answer == (0, 0, 1, 2)
    for wrong in (np.array([1.0, 2.0]), np.array([[1, 2], [3, 4]])):
        with pytest.raises(TypeError, match="request 1: tokens are array"):
            Request(id=1, prompt=wrong, max_new_tokens=1)
        with pytest.raises(TypeError, match="tokens are array"):
            Pager(8, 4).open("a", wrong)
