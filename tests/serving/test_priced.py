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


def test_what_is_no_record_is_refused():
    for ask, says in (
        (lambda: Priced("llama-3.1-8b", chip("h100-sxm")), "model is 'llama-3.1-8b'"),
        (lambda: Priced(model("llama-3.1-8b"), None), "chip is None"),
        (lambda: Priced(model("llama-3.1-8b"), chip("h100-sxm"), chips=1.5), "chips is 1.5"),
    ):
        with pytest.raises(TypeError, match=says):
            ask()
