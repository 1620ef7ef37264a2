"""The questions of chapter 9: answers by code, known mistakes, and what to say to those who make them."""

from __future__ import annotations

from hwlab.costs.kv_cache import allocated_bytes, cache_bytes, concurrency
from hwlab.exercises.base import Choice, Code, Memo, Mistake, Mutant, Numeric, Option, Prediction
from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.units import GiB, bytes_per_element

# ---- Guesses -------------------------------------------------------------------------------------------------------


def bytes_of_a_token():
    return model("llama-3.1-70b").kv_bytes_per_token("bf16")


def requests_on_eight():
    llama = model("llama-3.1-70b")
    h100 = chip("h100-sxm")
    held = concurrency(llama, h100, chips=8, tokens=4096)
    return held.sequences


def latent_saves():
    deepseek = model("deepseek-v3")
    heads, key, value = 128, 128 + 64, 128
    plain = deepseek.num_layers * heads * (key + value) * 2
    return plain / deepseek.kv_bytes_per_token("bf16")


def tokens_of_a_state():
    qwen = model("qwen3-next-80b-a3b")
    return qwen.state_bytes / qwen.kv_bytes_per_token("bf16")


def token_facts():
    llama = model("llama-3.1-70b")
    return {
        "layers": f"{llama.num_layers}",
        "heads": f"{llama.num_kv_heads}",
        "dim": f"{llama.head_dim}",
        "million": si(1e6 * bytes_of_a_token(), "B"),
        "size": si(2, "B"),
        "text": si(4, "B"),
        "times": number(bytes_of_a_token() / 4, 2),
    }


def eight_facts():
    llama, h100 = model("llama-3.1-70b"), chip("h100-sxm")
    held = concurrency(llama, h100, chips=8, tokens=4096)
    return {
        "usable": si(held.memory_bytes, "B"),
        "weights": si(held.weight_bytes, "B"),
        "each": si(held.kv_bytes, "B"),
        "shared": f"{held.sequences // 8}",
    }


def latent_facts():
    deepseek = model("deepseek-v3")
    return {
        "each": si(deepseek.kv_bytes_per_token("bf16"), "B"),
        "plain": si(latent_saves() * deepseek.kv_bytes_per_token("bf16"), "B"),
        "shared": number(128 / 8),
    }


def state_facts():
    qwen = model("qwen3-next-80b-a3b")
    return {
        "state": si(qwen.state_bytes, "B"),
        "each": si(qwen.kv_bytes_per_token("bf16"), "B"),
        "long": si(qwen.kv_bytes(131_072, "bf16"), "B"),
    }


GUESSES = (
    Prediction(
        id="kvcache-token",
        title="before you read on",
        answer=bytes_of_a_token,
        unit="kB",
        low=1,
        high=10_000,
        facts=token_facts,
        reveal="""
            2 × {{layers}} layers × {{heads}} heads × {{dim}} numbers × {{size}}. As text the token takes about
            {{text}}: what the model keeps of it is {{times}} times that. A million tokens, of all users together, take
            {{million}}.
            """,
    ),
    Prediction(
        id="kvcache-eight",
        title="how many fit on a board",
        answer=requests_on_eight,
        unit="requests",
        low=1,
        high=10_000,
        facts=eight_facts,
        reveal="""
            Each card gives {{usable}} to weights and cache. Its share of the weights takes {{weights}}, and each
            request {{each}}. With a key head for each query head it would be {{shared}}.
            """,
    ),
    Prediction(
        id="kvcache-latent",
        title="128 heads in one latent",
        answer=latent_saves,
        unit="times",
        low=1,
        high=1000,
        facts=latent_facts,
        reveal="""
            {{plain}} a token would be, and {{each}} are. Eight heads shared by 128 queries would save {{shared}}
            times; the latent saves more and, by the paper's own comparison, loses nothing.
            """,
    ),
    Prediction(
        id="kvcache-state",
        title="what a state weighs, in tokens",
        answer=tokens_of_a_state,
        unit="tokens",
        low=10,
        high=100_000,
        facts=state_facts,
        reveal="""
            Its state takes {{state}} whether the sequence has one token or a million, and each token {{each}} more.
            Below that length most of the cache is state. At 128k tokens, {{long}} in all, the state is small change.
            """,
    ),
)

# ---- Exercises -----------------------------------------------------------------------------------------------------


def gemma_at_8k():
    return cache_bytes(28, 16, 256, 2, 8192)


def gemma_facts():
    return {"each": si(cache_bytes(28, 16, 256, 2, 1), "B")}


def why_sixteen():
    llama = model("llama-3.1-70b")
    layers, hidden = llama.num_layers, llama.hidden_size
    slip = cache_bytes(layers, 1, hidden, 4, 1)
    right = llama.kv_bytes_per_token("bf16")
    return "both" if slip == 16 * right else "heads"


def windows_at_32k():
    return model("gemma-3-27b").kv_bytes(32_768, "bf16")


def window_facts():
    alike = allocated_bytes(model("gemma-3-27b"), 32_768, "bf16")
    return {
        "alike": si(alike, "B"),
        "times": number(alike / windows_at_32k(), 2),
        "full": si(10 * 2 * 16 * 128 * 2 * 32_768, "B"),
        "windows": si(52 * 2 * 16 * 128 * 2 * 1024, "B"),
    }


def sequences_in_a_budget():
    oss = model("gpt-oss-20b")
    return 12 * GiB // oss.kv_bytes(8192, "bf16")


def budget_facts():
    oss = model("gpt-oss-20b")
    return {
        "each": si(oss.kv_bytes(8192, "bf16"), "B"),
        "taken": si(allocated_bytes(oss, 8192, "bf16"), "B"),
        "alike": number(12 * GiB / allocated_bytes(oss, 8192, "bf16")),
    }


def share_of_a_card():
    qwen, h100 = model("qwen3-235b-a22b"), chip("h100-sxm")
    ask = {"chips": 8, "tokens": 4096, "dtype": "fp8"}
    return concurrency(qwen, h100, **ask).kv_bytes


def card_facts():
    qwen = model("qwen3-235b-a22b")
    return {"heads": f"{qwen.num_kv_heads}", "whole": si(qwen.kv_bytes(4096, "bf16"), "B")}


def requests_in_fp8():
    llama, h100 = model("llama-3.1-70b"), chip("h100-sxm")
    ask = {"chips": 8, "tokens": 4096, "kv_dtype": "fp8"}
    return concurrency(llama, h100, **ask).sequences


def fp8_facts():
    return {"before": f"{requests_on_eight()}", "holds": si(chip("h100-sxm").memory_bytes, "B")}


def room_if_decimal():
    """What weights leave on each of the eight cards if a GiB were a GB."""
    held = concurrency(model("llama-3.1-70b"), chip("h100-sxm"), chips=8, tokens=4096)
    return held.memory_bytes * 1e9 / GiB - held.weight_bytes


def time_of_a_full_cache():
    llama, h100 = model("llama-3.1-70b"), chip("h100-sxm")
    held = concurrency(llama, h100, chips=8, tokens=4096)
    room = held.memory_bytes - held.weight_bytes
    return room / h100.memory_bytes_per_s


def time_of_the_weights():
    held = concurrency(model("llama-3.1-70b"), chip("h100-sxm"), chips=8, tokens=4096)
    return held.weight_bytes / chip("h100-sxm").memory_bytes_per_s


def full_facts():
    llama, h100 = model("llama-3.1-70b"), chip("h100-sxm")
    held = concurrency(llama, h100, chips=8, tokens=4096)
    return {
        "room": si(held.memory_bytes - held.weight_bytes, "B"),
        "usable": si(held.memory_bytes, "B"),
        "rate": si(h100.memory_bytes_per_s, "B/s"),
        "reading": si(least_time_of_a_token(), "s"),
    }


def what_keeps_its_memory():
    oss = model("gpt-oss-20b")
    taken = allocated_bytes(oss, 100_000, "bf16")
    each = oss.kv_bytes_per_token("bf16")
    return "window" if taken == 100_000 * each else "other"


EXERCISES = (
    Numeric(
        id="kvcache-gemma",
        title="a model with wide heads",
        label="Cache of one sequence",
        answer=gemma_at_8k,
        unit="GB",
        facts=gemma_facts,
        hint="A key and a value, of all heads, in all layers. Its 16 query heads have 16 key heads.",
        solution="""
            A token weighs 2 × 28 × 16 × 256 × 2, or {{each}}, and 8,192 of them are wanted. The width of a head stands
            in the configuration: 3,072 over 16 would be 192, and wrong.
            """,
        mistakes=(
            Mistake(
                value=lambda: cache_bytes(28, 16, 192, 2, 8192),
                reply="You took 3,072 / 16 = 192 as the width of a head. Here it is 256, as given.",
            ),
            Mistake(value=lambda: gemma_at_8k() / 2, reply="Keys and values are two: you counted one of them."),
            Mistake(value=lambda: gemma_at_8k() * 8, reply="You gave bits for bytes."),
            Mistake(
                value=lambda: gemma_at_8k() / GiB * 1e9,
                reply="You divided by 2³⁰: that many GiB. In GB, which are decimal, it is more.",
            ),
        ),
    ),
    Choice(
        id="kvcache-sixteenfold",
        title="how to be sixteen times too high",
        options=(
            Option(
                key="heads",
                text="Only the grouped heads: it counted 64 heads where 8 are kept.",
                reply="That makes eight times. Where does the other factor of two come from?",
            ),
            Option(
                key="both",
                text="It took the hidden size as the width of the keys, and four bytes a number.",
                reply="Yes: the width of all 64 query heads instead of 8, and four bytes instead of two: 8 × 2.",
            ),
            Option(
                key="bits",
                text="It gave bits for bytes, and counted two bytes as four.",
                reply="That makes sixteen too, but it would have made sixteen of Llama 2 7B too; there it made two.",
            ),
        ),
        answer=why_sixteen,
        hint="The same calculator is only two times too high for Llama 2 7B, which has a key head for each query head.",
        solution="""
            For a model without groups the hidden size *is* the width of all keys, so only the four bytes show. With
            groups of eight the other factor appears. Test a calculator on a model with groups and one without.
            """,
    ),
    Numeric(
        id="kvcache-windows",
        title="windows at 32k tokens",
        label="Bytes that must be kept",
        answer=windows_at_32k,
        unit="GB",
        facts=window_facts,
        hint="Ten layers keep all tokens and 52 keep the last 1,024. Each keeps 2 × 16 × 128 numbers of a token.",
        solution="""
            Ten layers keep {{full}}, the other 52 only {{windows}}. An engine that pages all layers alike takes
            {{alike}} for it, {{times}} times as much.
            """,
        mistakes=(
            Mistake(
                value=lambda: allocated_bytes(model("gemma-3-27b"), 32_768, "bf16"),
                reply="You let all 62 layers keep everything. 52 of them forget.",
            ),
            Mistake(
                value=lambda: 10 * 2 * 16 * 128 * 2 * 32_768,
                reply="You left the windows out. Each of 52 layers still keeps 1,024 tokens.",
            ),
            Mistake(
                value=lambda: cache_bytes(52, 16, 128, 2, 32_768) + cache_bytes(10, 16, 128, 2, 1024),
                reply="You turned them round: ten layers see everything, 52 the last 1,024 tokens.",
            ),
            Mistake(
                value=lambda: 2 * windows_at_32k(),
                reply="You counted 32 heads. Its 32 query heads share 16 key heads.",
            ),
        ),
    ),
    Numeric(
        id="kvcache-budget",
        title="sequences in a budget",
        label="Sequences, at best",
        answer=sequences_in_a_budget,
        unit="sequences",
        tolerance=0.008,
        facts=budget_facts,
        hint="First one sequence: 12 layers keep 8,192 tokens and 12 keep 128, of 2 × 8 × 64 numbers each.",
        solution="""
            One must keep {{each}}. Turn the whole size round, and not the cost of the first token: that times the
            tokens is {{taken}}, the price where all layers are paged alike, and then {{alike}} fit.
            """,
        mistakes=(
            Mistake(
                value=lambda: 12 * GiB / allocated_bytes(model("gpt-oss-20b"), 8192, "bf16"),
                reply="You took what one token adds at first for what each adds. Half the layers stop at 128.",
            ),
            Mistake(
                value=lambda: 12e9 // model("gpt-oss-20b").kv_bytes(8192, "bf16"),
                reply="You read GiB as GB: the budget is 12 × 2³⁰ bytes.",
            ),
            Mistake(
                value=lambda: 12 * GiB // (model("gpt-oss-20b").kv_bytes(8192, "bf16") * 8),
                reply="You counted 64 heads. Eight are kept.",
            ),
        ),
    ),
    Numeric(
        id="kvcache-copies",
        title="more cards than heads",
        label="Cache on each card",
        answer=share_of_a_card,
        unit="MB",
        facts=card_facts,
        hint="How many ways can {{heads}} key heads be shared out?",
        solution="""
            {{whole}} in all, over {{heads}} cards at most. The other half of the cards hold copies: eight cards keep no
            more sequences of it than the cache alone would let four.
            """,
        mistakes=(
            Mistake(
                value=lambda: share_of_a_card() / 2,
                reply="A key head cannot be cut by heads any further: two cards hold the same one.",
            ),
            Mistake(value=lambda: 4 * share_of_a_card(), reply="That is the whole cache. The cards share it out."),
            Mistake(
                value=lambda: 16 * share_of_a_card(),
                reply="You counted 64 heads. It has {{heads}} of keys.",
            ),
        ),
    ),
    Numeric(
        id="kvcache-fp8",
        title="the same board, a cache in FP8",
        label="Requests held",
        answer=requests_in_fp8,
        unit="requests",
        tolerance=0.01,
        facts=fp8_facts,
        hint="Weights stay as they are. What does each request weigh now?",
        solution="Half the bytes, twice the requests: {{before}} before. Scales by tensor or head are too few to show.",
        mistakes=(
            Mistake(value=lambda: requests_on_eight(), reply="That is the cache in bf16."),
            Mistake(
                value=lambda: (
                    concurrency(
                        model("llama-3.1-70b"), chip("h100-sxm"), chips=8, tokens=4096, dtype="fp8", kv_dtype="fp8"
                    ).sequences
                ),
                reply="You put the weights into FP8 as well. Only the cache is.",
            ),
            Mistake(value=lambda: 4 * requests_on_eight(), reply="That is four bits a number, scales forgotten."),
            Mistake(
                value=lambda: room_if_decimal() * 8 // (model("llama-3.1-70b").kv_bytes(4096, "bf16") / 2),
                reply="You read GiB as GB: a card holds {{holds}}, nine tenths of which are usable.",
            ),
        ),
    ),
    Numeric(
        id="kvcache-step",
        title="a full house, read once a step",
        label="Least time to read the cache",
        answer=time_of_a_full_cache,
        unit="ms",
        facts=full_facts,
        hint="Each step of decode reads every live sequence's cache once. All eight cards read at the same time.",
        solution="""
            {{room}} over {{rate}}. The weights take {{reading}}: with a full house it is the cache that sets the pace.
            """,
        mistakes=(
            Mistake(
                value=time_of_the_weights,
                reply="That is the weights. The cache takes what they leave.",
            ),
            Mistake(
                value=lambda: (
                    concurrency(model("llama-3.1-70b"), chip("h100-sxm"), chips=8, tokens=4096).memory_bytes
                    / chip("h100-sxm").memory_bytes_per_s
                ),
                reply="You let the cache fill all of it, weights included.",
            ),
            Mistake(value=lambda: time_of_a_full_cache() * 8, reply="Eight cards share it and read at once."),
            Mistake(
                value=lambda: room_if_decimal() / chip("h100-sxm").memory_bytes_per_s,
                reply="You read GiB as GB: a card gives {{usable}} to weights and cache.",
            ),
        ),
    ),
    Choice(
        id="kvcache-alike",
        title="what saves reading and no memory",
        options=(
            Option(
                key="grouped",
                text="Grouped heads.",
                reply="Fewer heads are fewer numbers in every block, so memory falls with them.",
            ),
            Option(
                key="bits",
                text="A cache in FP8.",
                reply="Each number takes half the bytes in every block.",
            ),
            Option(
                key="window",
                text="A sliding window in half the layers.",
                reply="Yes: what lies behind the window is not read, but its blocks are given to the sequence all the "
                "same.",
            ),
        ),
        answer=what_keeps_its_memory,
        hint="Which of them changes how long a token must stay, and not what it weighs?",
        solution="""
            A block of a table stands for the same tokens in all layers. Unless the engine keeps tables apart for layers
            that forget, it can give nothing back.
            """,
    ),
)


# ---- The memo ------------------------------------------------------------------------------------------------------


def agents_on_eight():
    llama, h100 = model("llama-3.1-70b"), chip("h100-sxm")
    held = concurrency(llama, h100, chips=8, tokens=131_072)
    return held.sequences


def memo_facts():
    llama, h100, h200 = model("llama-3.1-70b"), chip("h100-sxm"), chip("h200-sxm")
    ask = {"chips": 8, "tokens": 131_072}
    return {
        "now": f"{agents_on_eight()}",
        "each": si(llama.kv_bytes(131_072, "bf16"), "B"),
        "fp8": f"{concurrency(llama, h100, kv_dtype='fp8', **ask).sequences}",
        "both": f"{concurrency(llama, h100, dtype='fp8', kv_dtype='fp8', **ask).sequences}",
        "h200": f"{concurrency(llama, h200, **ask).sequences}",
        "oss": f"{concurrency(model('gpt-oss-120b'), h100, dtype='mxfp4', **ask).sequences}",
        "alike": si(allocated_bytes(model("gpt-oss-120b"), 131_072, "bf16"), "B"),
        "ideal": si(model("gpt-oss-120b").kv_bytes(131_072, "bf16"), "B"),
        "read": si(llama.kv_bytes(131_072, "bf16") / (8 * h100.memory_bytes_per_s), "s"),
    }


MEMO = Memo(
    id="kvcache-memo",
    title="half a page for the person who pays",
    answer=agents_on_eight,
    unit="requests",
    facts=memo_facts,
    rubric=(
        "It says how many requests fit now, with the weights, the cache of one and the reserve as numbers.",
        "It compares at least three ways out, each with the number that then fits.",
        "It names what each costs: accuracy, another model, money, or work on the engine.",
        "It says that memory is half the matter: a longer cache is also read in each step.",
        "It says what to measure first: true lengths, quality of a cache in few bits, what the engine takes.",
    ),
    hint="What does one request of 128k tokens weigh, and what do eight cards leave beside the weights?",
    solution="""
        One request of 128k tokens keeps {{each}}, and beside the weights in bf16 eight H100s hold {{now}} of them. A
        cache in FP8 makes it {{fp8}}; with the weights in FP8 too, {{both}}. That is days of work and an evaluation on
        our own long tasks. Eight H200s hold {{h200}} as it is, for the price of the cards. A model built for long
        contexts changes more: gpt-oss-120b must keep {{ideal}} of such a request, so that by bytes {{oss}} fit, if our
        engine gives back what its windows have passed; if it pages all layers alike it takes {{alike}}. It is another
        model, and our tasks must say whether it will do. Whatever we choose, each step reads the cache of all: {{read}}
        a request now. I propose FP8 for the cache first. Before that we log true lengths for a week, since most
        requests will be far from the limit, and compare answers on fifty of our longest tasks.
        """,
)

# ---- What earlier chapters taught ----------------------------------------------------------------------------------


def least_time_of_a_token():
    llama, h100 = model("llama-3.1-70b"), chip("h100-sxm")
    read = llama.weight_bytes_read(1, "bf16")
    return read / (8 * h100.memory_bytes_per_s)


def least_time_of_a_prompt():
    flop = 2 * model("llama-3.1-8b").num_params * 2048
    return flop / chip("h100-sxm").peak("bf16")


def bits_with_scales():
    return 8 * bytes_per_element("int4-g64")


REVIEW = (
    Numeric(
        id="kvcache-review-weights",
        title="what a token waits for",
        label="Least time of a token",
        answer=least_time_of_a_token,
        unit="ms",
        tolerance=0.03,
        facts=lambda: {
            "rate": si(chip("h100-sxm").memory_bytes_per_s, "B/s"),
            "read": si(model("llama-3.1-70b").weight_bytes_read(1, "bf16"), "B"),
        },
        hint="All weights are read once, by eight cards at the same time.",
        solution="{{read}} over eight times {{rate}}.",
        mistakes=(
            Mistake(value=lambda: 8 * least_time_of_a_token(), reply="That is one card. Eight read at once."),
            Mistake(value=lambda: least_time_of_a_token() / 2, reply="A bf16 weight takes two bytes."),
        ),
    ),
    Numeric(
        id="kvcache-review-prompt",
        title="what a prompt waits for",
        label="Least TTFT",
        answer=least_time_of_a_prompt,
        unit="ms",
        facts=lambda: {
            "flop": si(2 * model("llama-3.1-8b").num_params * 2048, "FLOP"),
            "peak": si(chip("h100-sxm").peak("bf16"), "FLOP/s"),
        },
        hint="A prompt of this length is bound by arithmetic: 2NT over the dense peak.",
        solution="{{flop}} over {{peak}}. The cache that the prompt leaves behind is what this chapter weighs.",
        mistakes=(
            Mistake(value=lambda: least_time_of_a_prompt() / 2, reply="You took the peak with sparsity, or NT."),
            Mistake(
                value=lambda: model("llama-3.1-8b").weight_bytes_read(1, "bf16") / chip("h100-sxm").memory_bytes_per_s,
                reply="That is one reading of the weights: the time of a token that is written.",
            ),
        ),
    ),
    Numeric(
        id="kvcache-review-bits",
        title="what a scale costs",
        label="Bits of a number, its scale included",
        answer=bits_with_scales,
        unit="bits",
        tolerance=0.01,
        hint="Sixteen bits, shared by 64.",
        solution="4 + 16/64. The finer the groups, the less an outlier spoils and the more the scales weigh.",
        mistakes=(
            Mistake(value=lambda: 8 * bytes_per_element("int4-g32"), reply="That is groups of 32."),
            Mistake(
                value=lambda: 4 * bytes_per_element("int8"), reply="That is the codes alone: the scales weigh too."
            ),
        ),
    ),
)

# ---- A cache to reckon ---------------------------------------------------------------------------------------------


def cache_size(model, tokens):
    """Bytes that must be kept of a sequence.

    `model` is a dict: "layers", "heads" (of queries),
    "kv_heads", "head_dim", "itemsize" (bytes), "window",
    "full_every": of so many layers the last keeps all tokens,
    the others those of a window.
    """
    full = model["layers"] // model["full_every"]
    near = min(tokens, model["window"])
    entries = full * tokens + (model["layers"] - full) * near
    width = model["kv_heads"] * model["head_dim"]
    return 2 * width * model["itemsize"] * entries


def _draw_model(generator):
    kv_heads = generator.choice((1, 2, 4))
    of = {
        "layers": generator.randint(5, 13),
        "heads": kv_heads * generator.choice((2, 4, 8)),
        "kv_heads": kv_heads,
        "head_dim": generator.choice((8, 16)),
        "itemsize": generator.choice((1, 2, 4)),
        "window": generator.choice((8, 16, 32)),
        "full_every": generator.choice((2, 3, 4)),
    }
    return {"model": of, "tokens": generator.randint(4, 60)}


def _size(model, tokens, *, heads="kv_heads", both=2, full=None, near=min, scale=1):
    """As `cache_size`, with one part of it another."""
    layers, every = model["layers"], model["full_every"]
    whole = layers // every if full is None else full(layers, every)
    entries = whole * tokens + (layers - whole) * near(tokens, model["window"])
    return scale * both * model[heads] * model["head_dim"] * model["itemsize"] * entries


CODE = (
    Code(
        id="kvcache-size",
        title="a size in five lines",
        answer=cache_size,
        draw=_draw_model,
        hint="""
            Count the layers that keep everything, then the entries of both kinds, then the bytes of an entry. A window
            that is not full yet keeps what there is.
            """,
        solution="""
            Of every `full_every` layers one keeps all tokens, and what is left over at the end has a window. An entry
            is a key and a value of each key head. How many heads ask does not matter.
            """,
        mutants=(
            Mutant(
                function=lambda model, tokens: _size(model, tokens, heads="heads"),
                reply="You counted the query heads. Only keys and values are kept, and several queries share them.",
            ),
            Mutant(
                function=lambda model, tokens: _size(model, tokens, both=1),
                reply="Keys and values are two.",
            ),
            Mutant(
                function=lambda model, tokens: _size(model, tokens, full=lambda layers, every: layers),
                reply="Yours forgets nothing: layers with a window keep its last tokens only.",
            ),
            Mutant(
                function=lambda model, tokens: _size(model, tokens, full=lambda layers, every: 0),
                reply="You gave every layer a window. One of every `full_every` keeps all tokens.",
            ),
            Mutant(
                function=lambda model, tokens: _size(model, tokens, near=lambda tokens, window: window),
                reply="A window that is not full holds what there is: the smaller of the tokens and the window.",
            ),
            Mutant(
                function=lambda model, tokens: _size(model, tokens, full=lambda layers, every: -(-layers // every)),
                reply="You rounded the layers that keep all up. The first of them is number `full_every`.",
            ),
            Mutant(
                function=lambda model, tokens: _size(model, tokens, full=lambda n, every: n - n // every),
                reply="You turned the two kinds of layers round.",
            ),
            Mutant(
                function=lambda model, tokens: _size(model, tokens, scale=8),
                reply="Those are bits.",
            ),
        ),
    ),
)

QUESTIONS = (*GUESSES, *EXERCISES, MEMO, *REVIEW, *CODE)
