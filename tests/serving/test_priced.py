"""The executor that prices: its seconds are the bytes and the FLOP of the step, by hand."""

import pytest

from hwlab.costs.roofline import decode_step_time, prefill_time
from hwlab.serving.pager import Pager
from hwlab.serving.priced import Priced
from hwlab.serving.scheduler import Request, Scheduler, serve
from hwlab.specs.chips import chip
from hwlab.specs.models import model

LLAMA, H100 = model("llama-3.1-8b"), chip("h100-sxm")


class Recorded(Priced):
    def run(self, step):
        self.seconds = [*getattr(self, "seconds", []), super().run(step)]
        return self.seconds[-1]


def served(requests, **scheduler):
    executor = Recorded(LLAMA, H100)
    answers = serve(requests, Scheduler(Pager(4096, 16), **scheduler), executor)
    return executor.seconds, answers


def test_a_prompt_and_its_answer_cost_what_the_roofline_says():
    seconds, answers = served([Request(id=0, prompt=2000, max_new_tokens=4)])
    assert seconds[0] == pytest.approx(prefill_time(LLAMA, H100, prompt_tokens=2000, dtype="bf16").seconds, rel=1e-3)
    for tokens, found in enumerate(seconds[1:], start=2001):
        assert found == pytest.approx(decode_step_time(LLAMA, H100, context=tokens, dtype="bf16").seconds, rel=1e-3)
    assert answers[0].ttft_s == seconds[0]


def test_a_long_prompt_whole_keeps_the_others_waiting_and_in_chunks_it_does_not():
    requests = [Request(id=i, prompt=64, max_new_tokens=40) for i in range(3)]
    requests.append(Request(id="long", prompt=8000, max_new_tokens=2, arrival_s=0.01))
    whole, _ = served(requests, policy="continuous")
    chunked, _ = served(requests, policy="chunked", max_tokens=512)
    assert max(whole) > 10 * max(chunked)
    assert sum(chunked) > sum(whole) * 0.5


def test_idle_rows_take_part_in_the_arithmetic_only():
    executor = Priced(LLAMA, H100)
    scheduler = Scheduler(Pager(64, 16), policy="static", max_batch=2)
    for id, tokens in (("a", 1), ("b", 3)):
        scheduler.add(Request(id=id, prompt=4, max_new_tokens=tokens))
    work = []
    while (step := scheduler.step()) is not None:
        work.append(executor.work(step))
        scheduler.finish(step)
    alone = LLAMA.flop_per_token(5)
    assert work[1].flop == pytest.approx(alone + LLAMA.flop_per_token(1))
    assert work[1].memory_bytes < work[2].memory_bytes * 1.001


def test_a_piece_of_a_prompt_that_draws_nothing_needs_no_head():
    scheduler, executor = Scheduler(Pager(64, 16), policy="chunked", max_batch=1, max_tokens=30), Priced(LLAMA, H100)
    scheduler.add(Request(id="a", prompt=50, max_new_tokens=1))
    flop = []
    while (step := scheduler.step()) is not None:
        flop.append(executor.work(step).flop)
        scheduler.finish(step)
    assert flop == [LLAMA.flop(30, 0, head_tokens=0), LLAMA.flop(20, 30, head_tokens=1)]


def test_idle_rows_touch_experts_too():
    experts = model("qwen3-30b-a3b")
    scheduler, executor = Scheduler(Pager(64, 16), policy="static", max_batch=2), Priced(experts, H100)
    for id, tokens in (("a", 1), ("b", 2)):
        scheduler.add(Request(id=id, prompt=4, max_new_tokens=tokens))
    executor.work(step := scheduler.step())
    scheduler.finish(step)
    work = executor.work(scheduler.step())
    cache = experts.kv_bytes_read(5, "bf16")
    assert (
        work.memory_bytes == experts.weight_bytes_read(2, "bf16") + cache > experts.weight_bytes_read(1, "bf16") + cache
    )


def test_guesses_are_the_targets_work_and_those_that_are_right_stay():
    scheduler, executor = Scheduler(Pager(64, 16), guesses=4), Priced(LLAMA, H100)
    scheduler.add(Request(id="a", prompt=10, max_new_tokens=9))
    executor.work(step := scheduler.step())
    scheduler.finish(step)
    length = 10
    for accepted in (2, 0):
        step = scheduler.step()
        step.accepted["a"] = accepted
        work = executor.work(step)
        assert work.flop == LLAMA.flop(5, length, head_tokens=5)
        read = LLAMA.weight_bytes_read(5, "bf16") + LLAMA.kv_bytes_read(length + 5, "bf16")
        assert work.memory_bytes == read
        scheduler.finish(step)
        length += 1 + accepted
        assert scheduler.pager.length("a") == length


def test_a_fork_is_not_priced_as_if_it_had_no_cache():
    scheduler, executor = Scheduler(Pager(64, 16)), Priced(LLAMA, H100)
    scheduler.add(Request(id="a", prompt=10, max_new_tokens=9))
    executor.work(step := scheduler.step())
    scheduler.finish(step)
    scheduler.fork("a", "b")
    with pytest.raises(LookupError, match="sequence 'b'; a fork cannot be priced"):
        executor.run(scheduler.step())


def test_what_is_no_record_is_refused():
    for ask, says in (
        (lambda: Priced("llama-3.1-8b", chip("h100-sxm")), "model is 'llama-3.1-8b'"),
        (lambda: Priced(model("llama-3.1-8b"), None), "chip is None"),
        (lambda: Priced(model("llama-3.1-8b"), chip("h100-sxm"), chips=1.5), "chips is 1.5"),
    ):
        with pytest.raises(TypeError, match=says):
            ask()
