"""Charts and the explorer of chapter 8 hold the numbers of the cost models, and say what they show."""

import pytest

from hwlab.costs.roofline import decode_step_time, decode_step_work, prefill_time, prefill_work, ridge
from hwlab.figures import prefill, show
from hwlab.figures.prefill import EACH_USER, ONE_PROMPT, step_explorer
from hwlab.specs.chips import chip
from hwlab.specs.measurements import measurements
from hwlab.specs.models import experts_touched, model

LLAMA, H100 = model("llama-3.1-8b"), chip("h100-sxm")


def rows(chart):
    return chart.to_dict()["data"]["values"]


def test_the_explorer_is_the_cost_model_of_a_prompt_and_of_a_step():
    explorer = step_explorer()
    for id in prefill.MODELS:
        for tokens in (1, 7, 300, 4096):
            explorer.model, explorer.tokens, explorer.chips, explorer.chip = id, tokens, 4, "h100-sxm"
            of, explorer.whose = model(id), ONE_PROMPT
            took = prefill_time(of, H100, prompt_tokens=tokens, dtype="bf16").seconds / 4
            assert explorer.value() == pytest.approx(tokens / took, rel=1e-9)
            explorer.whose, explorer.context = EACH_USER, 256
            took = decode_step_time(of, H100, context=256, batch=tokens, dtype="bf16").seconds / 4
            if not explorer.refusal():
                assert explorer.value() == pytest.approx(tokens / took, rel=1e-9)


def test_the_flip_that_it_names_is_where_the_sentence_turns():
    explorer = step_explorer()
    explorer.tokens = 317
    assert "Arithmetic binds, by 1×. Below 317 tokens memory would." in explorer.says()
    explorer.tokens = 316
    assert "Memory binds, by 1×. Arithmetic would bind from 317 tokens on." in explorer.says()
    explorer.whose, explorer.context, explorer.chips = EACH_USER, 128, 2
    explorer.tokens = 438
    assert "Arithmetic would bind from 439 users on" in explorer.says()
    explorer.tokens = 439
    assert "Arithmetic binds" in explorer.says() and "Below 439 users memory would" in explorer.says()
    explorer.context, explorer.tokens = 1024, 32
    assert (
        "No number of users would flip it" in explorer.says() and "22.2 % of what it reads is cache" in explorer.says()
    )


def test_what_does_not_fit_is_refused():
    explorer = step_explorer()
    explorer.model = "llama-3.1-70b"
    assert explorer.refusal().startswith("Llama 3.1 70B and the cache take 141 GB, and 1 × H100 SXM5 hold 85.9 GB.")
    explorer.chips = 2
    assert explorer.refusal() == ""


def test_steps_stand_on_the_roofline_where_their_work_puts_them():
    found = {row["step"]: row for row in rows(prefill.steps_on_roofline())}
    prompt = prefill_work(LLAMA, prompt_tokens=512, dtype="bf16")
    step = decode_step_work(LLAMA, context=1024, batch=8, dtype="bf16")
    assert found["reads 512"]["FLOP a byte"] == pytest.approx(prompt.flop / prompt.memory_bytes)
    assert found["writes for 8"]["FLOP a byte"] == pytest.approx(step.flop / step.memory_bytes)
    assert found["reads 512"]["share of the peak, %"] == pytest.approx(100)
    assert found["reads 64"]["share of the peak, %"] < 25


def test_the_cache_of_a_batch_does_what_one_does():
    found = rows(prefill.intensity_by_batch())
    cache = {row["FLOP a byte"] for row in found if row["part"] == "cache"}
    assert len(cache) == 1 and cache.pop() == pytest.approx(32 / 8)
    both = [row["FLOP a byte"] for row in found if row["part"] == "both"]
    assert both == sorted(both) and both[-1] < ridge(H100, "bf16")
    weights = {row["users"]: row["FLOP a byte"] for row in found if row["part"] == "weights"}
    assert weights[64] == pytest.approx(64, rel=1e-3)


def test_experts_are_counted_as_the_models_do():
    found = {
        (row["model"], row["tokens"]): row for row in rows(prefill.experts_by_tokens({"a": (384, 6), "b": (8, 2)}))
    }
    assert found["a", 64]["experts"] == pytest.approx(experts_touched(384, 6, 64))
    assert found["b", 1]["share, %"] == pytest.approx(25)


def test_a_chunk_is_free_as_long_as_memory_takes_longer():
    found = rows(prefill.chunk_times())
    times = {}
    for row in found:
        times.setdefault(row["tokens"], {})[row["part"]] = row["ms"]
    free = [tokens for tokens, parts in times.items() if parts["arithmetic"] <= parts["memory"]]
    assert max(free) <= 371 < max(free) + 16 and free == sorted(free)


def test_the_chips_of_sram_stand_apart():
    found = {row["chip"]: row for row in rows(prefill.read_while_one_is_written())}
    assert {row["memory"] for name, row in found.items() if row["tokens"] < 5} == {"on the die"}
    assert all(row["tokens"] > 100 for row in found.values() if row["memory"] == "off the die")


def test_nobody_measured_less_than_the_bound():
    found = rows(prefill.published_steps([*measurements("prefill"), *measurements("decode")]))
    assert len(found) == 47 and all(row["measured, ms"] > row["bound, ms"] for row in found)
    only = prefill.published_steps(measurements("decode"))
    assert only.description.startswith("What was measured took 1.39 to 4.98 times the bound in decode (20 cases).")


def test_the_table_of_loads_adds_up():
    text = str(prefill.requests_table(LLAMA, H100, ((1024, 128),), batch=2))
    assert "1,024 and 128" in text and "for 2 users" in text


def test_every_chart_says_what_it_shows():
    charts = [
        prefill.steps_on_roofline(),
        prefill.intensity_by_batch(),
        prefill.experts_by_tokens({"a": (384, 6)}),
        prefill.chunk_times(),
        prefill.read_while_one_is_written(),
        prefill.passes_measured({1: 0.01, 64: 0.1}),
    ]
    for chart in charts:
        assert len(show(chart).alt.split()) > 10
