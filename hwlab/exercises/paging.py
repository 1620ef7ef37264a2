"""Chapter 10, paging: guesses, exercises, a memo, a review of chapters 3 and 5, and a count of blocks to write."""

from __future__ import annotations

from functools import cache
from math import ceil

from hwlab.costs.caches import Cache
from hwlab.costs.energy import byte_joules
from hwlab.formula import number, si
from hwlab.serving.pager import Pager
from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.specs.paging import measured
from hwlab.units import KiB

from .base import Choice, Code, Memo, Mistake, Mutant, Numeric, Option, Prediction

USABLE = 0.9  # of a chip's memory

# ---- Guesses -------------------------------------------------------------------------------------------------------


def pool(of, on):
    """Tokens of cache beside the weights."""
    left = USABLE * chip(on).memory_bytes
    left -= model(of).weight_bytes("bf16")
    return left // model(of).kv_bytes_per_token("bf16")


def requests_with_room_for_the_longest():
    longest = model("llama-3.1-8b").max_context_tokens
    return pool("llama-3.1-8b", "h100-sxm") // longest


def empty_slots_of_a_sequence():
    lengths = range(1, 16 * 64 + 1)
    empty = [-length % 16 for length in lengths]
    return sum(empty) / len(empty)


@cache
def blocks_of_a_family(prompt, answers, tokens, block):
    """Blocks that forks of one prompt hold, each with an answer of its own."""
    pager = Pager(4096, block)
    pager.grow("a", prompt)
    for i in range(1, answers):
        pager.fork("a", i)
    for name in pager.sequences:
        for _ in range(tokens):
            pager.grow(name, 1)
    return pager.num_blocks - pager.num_free


def blocks_of_eight_answers():
    return blocks_of_a_family(1000, 8, 200, 16)


def share_that_ten_thousand_blocks_find():
    return measured("mooncake-hits-10000")


def room_facts():
    llama = model("llama-3.1-8b")
    tokens = pool("llama-3.1-8b", "h100-sxm")
    mean = measured("azure-prompt-mean") + measured("azure-answer-mean")
    return {
        "longest": f"{llama.max_context_tokens:,}",
        "each": si(llama.max_context_tokens * llama.kv_bytes_per_token("bf16"), "B"),
        "pool": f"{number(tokens)}",
        "mean": number(mean, 4),
        "paged": number(tokens // (mean + 7.5)),
    }


def family_facts():
    return {
        "alone": f"{8 * ceil(1200 / 16)}",
        "full": f"{1000 // 16}",
        "each": f"{ceil(1200 / 16) - 1000 // 16}",
    }


def hits_facts():
    llama = model("llama-3.1-70b")
    block = 512 * llama.kv_bytes_per_token("bf16")
    return {
        "small": number(100 * measured("mooncake-hits-1000")),
        "all": number(100 * measured("mooncake-hits-all")),
        "bytes": si(10_000 * block, "B"),
    }


GUESSES = (
    Prediction(
        id="paging-longest",
        title="before you read on",
        answer=requests_with_room_for_the_longest,
        unit="requests",
        low=1,
        high=1000,
        facts=room_facts,
        reveal="""
            A request of {{longest}} tokens takes {{each}} of cache, and {{pool}} tokens fit in all. Chats on a public
            trace have {{mean}} tokens on average, prompt and answer together: of those about {{paged}} would fit.
            """,
    ),
    Prediction(
        id="paging-half-block",
        title="what is left empty",
        answer=empty_slots_of_a_sequence,
        unit="tokens",
        low=0.1,
        high=1000,
        reveal="""
            The last block has 0 to 15 empty slots, each as likely as the other, and no other block has any. Beside a
            sequence of some hundred tokens that is next to nothing.
            """,
    ),
    Prediction(
        id="paging-eight-answers",
        title="eight answers to one prompt",
        answer=blocks_of_eight_answers,
        unit="blocks",
        low=10,
        high=10_000,
        facts=family_facts,
        reveal="""
            Without sharing it would be {{alone}}. The {{full}} full blocks of the prompt are held once, and each answer
            has {{each}} of its own: the half-filled one, copied for all but the last who writes, and the new ones.
            """,
    ),
    Prediction(
        id="paging-found-again",
        title="what the cache finds again",
        answer=share_that_ten_thousand_blocks_find,
        unit="%",
        low=0.1,
        high=100,
        facts=hits_facts,
        reveal="""
            A tenth as many blocks find {{small}} %, which is little more than the one block that all prompts begin
            with, and a cache without limit {{all}} %. For Llama 3.1 70B in bf16 those 10,000 blocks would be {{bytes}}:
            more than any chip's memory has beside the weights.
            """,
    ),
)

# ---- Exercises -----------------------------------------------------------------------------------------------------


def bytes_of_a_table():
    entries = 131_072 / 16
    return entries * 4


def table_facts():
    kv = 131_072 * model("llama-3.1-8b").kv_bytes_per_token("bf16")
    return {"entries": f"{131_072 // 16:,}", "cache": si(kv, "B"), "times": number(kv / bytes_of_a_table(), 2)}


def share_empty_in_blocks_of_64():
    empty = (64 - 1) / 2
    return empty / (78 + empty)


def short_facts():
    return {"empty": number((64 - 1) / 2), "small": number(100 * 7.5 / (78 + 7.5))}


def sequences_in_blocks():
    tokens = pool("llama-2-13b", "a100-sxm-40gb")
    return tokens // (500 + (16 - 1) / 2)


def thirteen_facts():
    llama, a100 = model("llama-2-13b"), chip("a100-sxm-40gb")
    return {
        "each": si(llama.kv_bytes_per_token("bf16"), "B"),
        "usable": si(USABLE * a100.memory_bytes, "B"),
        "weights": si(llama.weight_bytes("bf16"), "B"),
        "pool": f"{int(pool('llama-2-13b', 'a100-sxm-40gb')):,}",
        "reserved": f"{int(pool('llama-2-13b', 'a100-sxm-40gb') // 4096)}",
    }


def blocks_with_a_system_prompt():
    full = 1500 // 16
    own = ceil((1500 + 300) / 16) - full
    return full + 200 * own


def system_facts():
    full = 1500 // 16
    return {
        "full": f"{full}",
        "in_full": f"{full * 16:,}",
        "rest": f"{1500 - full * 16}",
        "own": f"{ceil(1800 / 16) - full}",
        "alone": f"{200 * ceil(1800 / 16):,}",
    }


def copies_of_three_writers():
    pager = Pager(16, 4)
    pager.grow("a", 10)
    pager.fork("a", "b")
    pager.fork("a", "c")
    copies = [pager.grow(name, 1) for name in "abc"]
    made = sum(copy is not None for copy in copies)
    return {0: "none", 1: "one", 2: "two", 3: "three"}[made]


def tokens_computed_anew():
    shared, own = list(range(1000)), list(range(5000, 5100))
    pager = Pager(64, 256)
    pager.open("first", [*shared, 1])
    pager.commit()
    return pager.open("second", [*shared, *own]).new


def granularity_facts():
    return {"full": f"{1000 // 256}", "found": f"{1000 // 256 * 256}", "small": f"{1100 - 1000 // 16 * 16}"}


_PROMPTS = ("a", 8), ("b", 8), ("c", 8), ("b", 9), ("a", 9)


def found_one_after_the_other(num_blocks):
    pager, found = Pager(num_blocks, 4), 0
    for name, own in _PROMPTS:  # 4 tokens are those of all
        ids = [1000 * ord(name) + i for i in range(own)]
        found += pager.open(name, [1, 2, 3, 4, *ids]).found
        pager.commit()
        pager.free(name)
    return found


def prompt_tokens_found_with_six_blocks():
    return found_one_after_the_other(6)


def evict_facts():
    return {"found": f"{found_one_after_the_other(8)}", "asked": f"{sum(4 + own for _, own in _PROMPTS)}"}


def blocks_of_three_tenants():
    from hwlab.studies.trials.paging import blocks_of_requests

    return blocks_of_requests(60, 2048, 32, tenants=3)


def tenant_facts():
    return {"full": f"{2048 // 16}", "own": f"{32 // 16}", "one": f"{2048 // 16 + 60 * 2}"}


def share_of_a_padded_table():
    blocks = ceil(5000 / 16)
    entries = 1 << (blocks - 1).bit_length()
    return 1 - blocks / entries


def padded_facts():
    blocks = ceil(5000 / 16)
    return {"blocks": f"{blocks}", "entries": f"{1 << (blocks - 1).bit_length()}"}


def why_tokens_are_compared():
    def rolling(tokens):
        value = 0
        for token in tokens:
            value = value * 31 + token
        return value

    same = rolling([5, 40]) == rolling([6, 9])
    return "collide" if same else "slow"


EXERCISES = (
    Numeric(
        id="paging-table-bytes",
        title="what a table weighs",
        label="Bytes of the table",
        answer=bytes_of_a_table,
        unit="kB",
        tolerance=0.01,
        facts=table_facts,
        hint="One entry for each block, however many layers the model has.",
        solution="""
            131,072 / 16 = {{entries}} entries of four bytes. The cache that it describes is {{cache}} for Llama 3.1 8B,
            {{times}} times as much. One table serves all layers, since all of them have the same tokens.
            """,
        mistakes=(
            Mistake(value=lambda: 131_072 * 4, reply="That is an entry a token. A block has sixteen."),
            Mistake(
                value=lambda: 131_072 / 16 * 4 * 32,
                reply="You counted a table for each of 32 layers. They all use the same one.",
            ),
            Mistake(value=lambda: 131_072 / 16 * 4 * 8, reply="Those are bits."),
            Mistake(
                value=lambda: 131_072 / 16 * 4 * 1000 / KiB,
                reply="You divided by 2¹⁰: that many KiB. In kB, which are decimal, it is more.",
            ),
        ),
    ),
    Numeric(
        id="paging-short",
        title="large blocks, short sequences",
        label="Share of the slots held that are empty",
        answer=share_empty_in_blocks_of_64,
        unit="%",
        facts=short_facts,
        hint="Half a block less half a slot is empty, beside the tokens themselves.",
        solution="""
            (64 - 1) / 2 = {{empty}} slots are empty on average, beside 78 tokens. In blocks of 16 it would be
            {{small}} %. The waste depends on one ratio only: the block to the length.
            """,
        mistakes=(
            Mistake(
                value=lambda: 31.5 / 78, reply="That is a share of the tokens. The slots held are more than those."
            ),
            Mistake(value=lambda: 7.5 / (78 + 7.5), reply="That is a block of 16."),
            Mistake(value=lambda: 63 / (78 + 63), reply="You took the worst case. On average it is half of that."),
        ),
    ),
    Numeric(
        id="paging-thirteen",
        title="another chip, another model",
        label="Sequences in blocks",
        answer=sequences_in_blocks,
        unit="sequences",
        facts=thirteen_facts,
        hint="Usable memory less weights, over the bytes of a token; then over the slots of a sequence.",
        solution="""
            {{usable}} less {{weights}}, over {{each}}, are {{pool}} tokens. A sequence costs 500 and 7.5 slots, and
            whole sequences fit. With {{reserved}} sequences, room for the longest would fill the pool.
            """,
        mistakes=(
            Mistake(
                value=lambda: pool("llama-2-13b", "a100-sxm-40gb") // 4096,
                reply="That many fit if each reserves 4,096 tokens.",
            ),
            Mistake(
                value=lambda: 0.9 * chip("a100-sxm-40gb").memory_bytes // (819_200 * 507.5),
                reply="The weights lie in the same memory. Take them off first.",
            ),
            Mistake(
                value=lambda: pool("llama-2-13b", "a100-sxm-80gb") // 507.5,
                reply="That is the A100 with twice the memory.",
            ),
            Mistake(
                value=lambda: (36e9 - model("llama-2-13b").weight_bytes("bf16")) / (819_200 * 507.5),
                reply="You read GiB as GB. Nine tenths of 40 × 2³⁰ bytes are {{usable}}.",
            ),
        ),
    ),
    Numeric(
        id="paging-system-prompt",
        title="one beginning for all",
        label="Blocks held",
        answer=blocks_with_a_system_prompt,
        unit="blocks",
        tolerance=0.002,
        facts=system_facts,
        hint="Only full blocks are shared. How many tokens of the common beginning lie in full blocks?",
        solution="""
            {{full}} full blocks hold {{in_full}} tokens, once. The other {{rest}} stand in front of the 300 in each
            request's own blocks, of which it needs {{own}}. Without sharing it would be {{alone}}.
            """,
        mistakes=(
            Mistake(value=lambda: 200 * ceil(1800 / 16), reply="That is without sharing."),
            Mistake(
                value=lambda: 94 + 200 * ceil(300 / 16),
                reply="You shared the block that is not full. Each request has its own copy of those tokens.",
            ),
            Mistake(
                value=lambda: 200 * (ceil(1800 / 16) - 93),
                reply="The shared blocks are held too, once.",
            ),
        ),
    ),
    Choice(
        id="paging-three-writers",
        title="three who share a block that is not full",
        options=(
            Option(
                key="three", text="Three: each of them copies.", reply="Who writes last, and who else holds it then?"
            ),
            Option(
                key="two",
                text="Two: the last writer has the block to itself.",
                reply="Yes. After two copies the block has one user, who writes in place.",
            ),
            Option(
                key="none",
                text="No one copies: each writes into a slot of its own.",
                reply="They would write into the same slot: all have ten tokens.",
            ),
        ),
        answer=copies_of_three_writers,
        hint="Step through [the scene of forks](#hw:pager:v1:scene=fork;at=6), and read who holds block 2.",
        solution="""
            A writer copies if anybody else holds the block. The first and the second find others there; the third is
            alone by then. Full blocks are never written again, so they are never copied.
            """,
    ),
    Numeric(
        id="paging-granularity",
        title="what is computed anew",
        label="Tokens of the second prompt to compute",
        answer=tokens_computed_anew,
        unit="tokens",
        tolerance=0.005,
        facts=granularity_facts,
        hint="How many blocks of 256 do the 1,000 common tokens fill?",
        solution="""
            {{full}} blocks are full, so {{found}} tokens are found and the rest of 1,100 is computed. In blocks of 16
            it would be {{small}}. That is what a large block costs beside its empty slots.
            """,
        mistakes=(
            Mistake(
                value=lambda: 100, reply="That would be right if tokens were found one by one. Only full blocks are."
            ),
            Mistake(value=lambda: 1100 - 1024, reply="You counted the fourth block. It is not full of common tokens."),
            Mistake(value=lambda: 1100, reply="That is without a prefix cache."),
        ),
    ),
    Numeric(
        id="paging-evict",
        title="two blocks fewer",
        label="Prompt tokens found",
        answer=prompt_tokens_found_with_six_blocks,
        unit="tokens",
        tolerance=0.005,
        facts=evict_facts,
        hint="Write down the list of free blocks after each step, the one left longest ago in front.",
        solution="""
            Now c can only come if blocks of a are given up, and when b comes again, with a block more than before,
            the cache has to give up the rest. Block 0 is found each time, since it is always the one used last; of the
            others only those of b come back in time.
            """,
        mistakes=(
            Mistake(
                value=lambda: 32,
                reply="That is with eight blocks. With six, something has to leave before it is asked for.",
            ),
            Mistake(value=lambda: 16, reply="You found block 0 only. Does b come back before its blocks are given up?"),
            Mistake(value=lambda: 62, reply="That is all that was asked for."),
        ),
    ),
    Numeric(
        id="paging-tenants",
        title="a salt for each tenant",
        label="Blocks held",
        answer=blocks_of_three_tenants,
        unit="blocks",
        tolerance=0.005,
        facts=tenant_facts,
        hint="What do the requests of one tenant hold? Tenants find nothing of each other.",
        solution="""
            Each tenant holds the {{full}} blocks of the beginning once, and each request {{own}} of its own. Without
            salts it would be {{one}}: safety costs {{full}} blocks a tenant, not a request.
            """,
        mistakes=(
            Mistake(value=lambda: 128 + 60 * 2, reply="That is without salts: all share one copy."),
            Mistake(value=lambda: 60 * (128 + 2), reply="You gave each request its own copy. A salt is a tenant's."),
            Mistake(value=lambda: 3 * 128 + 3 * 2, reply="Sixty requests are running, not three."),
        ),
    ),
    Numeric(
        id="paging-padded-table",
        title="a table of a fixed size",
        label="Share of the entries that point nowhere",
        answer=share_of_a_padded_table,
        unit="%",
        facts=padded_facts,
        hint="How many blocks, and which power of two is the next?",
        solution="""
            {{blocks}} blocks in a table of {{entries}} entries. Attention that gathers by the whole table reads for
            nothing; a kernel that stops at the true length does not, and that is what ragged ones are for.
            """,
        mistakes=(
            Mistake(
                value=lambda: 1 - ceil(5000 / 16) / 1024,
                reply="You took the next power of two but one: 313 entries fit into 512.",
            ),
            Mistake(value=lambda: ceil(5000 / 16) / 512, reply="That is the share in use."),
        ),
    ),
    Choice(
        id="paging-compare",
        title="why a hit compares tokens",
        options=(
            Option(
                key="slow",
                text="Because hashing is slow.",
                reply="Hashing costs little. What happens if two different prompts have one hash?",
            ),
            Option(
                key="collide",
                text="Because two different blocks can have one hash, and somebody may look for them.",
                reply="Yes: with the hash of the question, adding 1 to a token and taking 31 off the next does it.",
            ),
            Option(
                key="order",
                text="Because a hash forgets the order of the tokens.",
                reply="This one does not: each token is multiplied by another power of 31.",
            ),
        ),
        answer=why_tokens_are_compared,
        hint="Try [5, 40] and [6, 9] by hand.",
        solution="""
            5 × 31 + 40 = 6 × 31 + 9. Who knows one prompt can write another with its hash, and gets an answer computed
            from somebody else's keys and values. A cryptographic hash makes this hard, a secret seed harder; to compare
            the tokens makes it impossible.
            """,
    ),
)

# ---- The memo ------------------------------------------------------------------------------------------------------


def loss_of_large_blocks():
    def slots(size):
        return 800 % size + 500 + (size - 1) / 2

    return slots(256) / slots(16)


def memo_facts():
    full_16, full_256 = 800 // 16 * 16, 800 // 256 * 256
    return {
        "empty_16": number(7.5),
        "empty_256": number(127.5),
        "loss": number(100 * (1 - 1 / loss_of_large_blocks()), 2),
        "found_16": f"{full_16}",
        "found_256": f"{full_256}",
        "more": f"{full_16 - full_256}",
    }


MEMO = Memo(
    id="paging-memo",
    title="half a page for the person who pays",
    answer=loss_of_large_blocks,
    unit="times",
    facts=memo_facts,
    rubric=(
        "It says what the larger block costs in sequences at once, as a number, and how that was found.",
        "It says what becomes of the common beginning of 800 tokens: what is stored and computed for each request.",
        "It says for which traffic neither matters, and what to look up to know which traffic this is.",
        "It sets the faster attention against these, in the same unit: tokens a second of the whole service.",
        "It says how to share the cache between customers, and what that costs.",
    ),
    hint="Two costs: slots that stay empty, and tokens of the common beginning that lie in no full block.",
    solution="""
        Of the 800 tokens that all begin with, {{found_16}} lie in full blocks of 16, which are held once, and
        {{found_256}} in full blocks of 256. The other {{more}} each request keeps and computes itself, beside its own
        500; and its last block leaves {{empty_256}} slots empty on average instead of {{empty_16}}. So {{loss}} % fewer
        of them fit. Since memory is what limits our batch, throughput falls by nearly that, and a faster attention,
        which is a part of a step only, does not bring it back. Neither matters for prompts of tens of thousands of
        tokens, so look at the distribution of lengths before deciding; a middle size such as 32 or 64 may have most of
        the gain. Customers get a salt each, so that nobody finds what another wrote; it costs one copy of the common
        beginning for each of them. Measure both sizes on a day of real traffic, at the same latency.
        """,
)

# ---- What chapters 3 and 5 taught ----------------------------------------------------------------------------------


def misses_of_five_lines():
    cache = Cache(num_lines=4, ways=4, line_bytes=16)
    for line in [0, 1, 2, 3, 4] * 2:
        cache.touch(16 * line)
    return cache.counts.misses


def padded_rows():
    rows, padded = 140, 256
    return 1 - rows / padded


def joules_of_a_tokens_cache():
    llama = model("llama-3.1-8b")
    each = llama.kv_bytes_per_token("bf16")
    return each * byte_joules("hbm").low


REVIEW = (
    Numeric(
        id="paging-review-lru",
        title="a loop that is one too long",
        label="Misses",
        answer=misses_of_five_lines,
        unit="misses",
        tolerance=0.005,
        hint="What is in the cache when line 0 is wanted again?",
        solution="""
            All ten. Each line leaves before it is wanted again. A prefix cache does the same to prompts that come round
            in turn, if it is one too small.
            """,
        mistakes=(
            Mistake(value=lambda: 5, reply="The second round finds nothing: line 0 had to leave for line 4."),
            Mistake(
                value=lambda: 6, reply="You kept three of the four. LRU gives up line 0 first, then line 1, and so on."
            ),
        ),
    ),
    Numeric(
        id="paging-review-padding",
        title="rows that are not there",
        label="Share of the rows that are padding",
        answer=padded_rows,
        unit="%",
        hint="140 rows go into two passes of 128.",
        solution="140 of 256 rows are real. What has a fixed shape is paid for whole.",
        mistakes=(
            Mistake(value=lambda: 116 / 140, reply="That is a share of the real rows. Take it of all that pass."),
            Mistake(value=lambda: 140 / 256, reply="That is the share of rows that are real."),
        ),
    ),
    Numeric(
        id="paging-review-energy",
        title="what reading one token's cache costs",
        label="Energy",
        answer=joules_of_a_tokens_cache,
        unit="µJ",
        tolerance=0.03,
        facts=lambda: {
            "bytes": si(model("llama-3.1-8b").kv_bytes_per_token("bf16"), "B"),
            "each": si(byte_joules("hbm").low, "J"),
        },
        hint="The bytes of one token in all layers, times the energy of a byte.",
        solution="{{bytes}} × {{each}}. A step of decode reads this for each token before.",
        mistakes=(
            Mistake(
                value=lambda: 8 * joules_of_a_tokens_cache(),
                reply="You took the energy of a byte for each bit.",
            ),
            Mistake(
                value=lambda: joules_of_a_tokens_cache() / 32,
                reply="That is one layer. There are 32.",
            ),
        ),
    ),
)

# ---- A count of blocks to write ------------------------------------------------------------------------------------


def blocks_held(prompts, block_tokens):
    """Blocks that these lists of tokens hold at once."""
    written, held = set(), 0
    for prompt in prompts:
        begun, finds = (), True
        for token in prompt:
            begun = (*begun, token)
            full = len(begun) % block_tokens == 0
            last = len(begun) == len(prompt)
            if full or last:
                known = begun in written and not last
                finds = finds and known
                held += not finds
            if full:
                written.add(begun)
    return held


def _draw_prompts(generator):
    block_tokens = generator.choice((2, 3, 4))
    prompts = []
    for _ in range(generator.randint(4, 7)):
        start = generator.choice(prompts) if prompts and generator.random() < 0.7 else []
        kept = len(start)
        if generator.random() < 0.5:
            kept = kept // block_tokens * block_tokens  # it ends where a block does
        elif generator.random() < 0.5:
            kept = generator.randint(0, kept)
        fresh = generator.choices((0, 1), k=generator.choice((0, 0, 1, 2, 4, 6)))
        prompts.append([*start[:kept], *fresh] or [0])
    return {"prompts": prompts, "block_tokens": block_tokens}


def _mutant(prompts, block_tokens, *, up=True, partial=False, whole=False, chained=True, first=False):
    written, held = set(), 0
    for prompt in prompts:
        starts = range(0, len(prompt), block_tokens)
        blocks = [tuple(prompt[(0 if chained else start) : start + block_tokens]) for start in starts]
        full = [len(prompt) - start >= block_tokens for start in starts]
        may = len(blocks) if whole else (len(prompt) - 1) // block_tokens
        found = 0
        for i, block in enumerate(blocks[: len(blocks) if partial else may]):
            if block not in written or not (full[i] or partial):
                break
            found += 1
        held += (len(blocks) if up else len(prompt) // block_tokens) - found
        if not first or not written:
            written |= {block for block, is_full in zip(blocks, full, strict=True) if is_full or partial}
    return held


CODE = (
    Code(
        id="paging-blocks-held",
        title="blocks held, sharing and all",
        answer=blocks_held,
        draw=_draw_prompts,
        hint="""
            Keep a set of all full beginnings that have been written: the first block, the first two, and so on. A
            prompt walks through its own beginnings until one is not there.
            """,
        solution="""
            A block can be shared if it is full and it and all before it were written already. So what is looked up is
            the whole beginning up to its end, not the block. The block of the last token is never taken from the cache:
            the step needs one token to compute.
            """,
        mutants=(
            Mutant(
                function=lambda prompts, block_tokens: sum(ceil(len(p) / block_tokens) for p in prompts),
                reply="You shared nothing.",
            ),
            Mutant(
                function=lambda prompts, block_tokens: _mutant(prompts, block_tokens, up=False),
                reply="You left out the last block where it is not full. It is held too.",
            ),
            Mutant(
                function=lambda prompts, block_tokens: _mutant(prompts, block_tokens, chained=False),
                reply="You compared blocks without what stands before them. The same tokens elsewhere have other keys.",
            ),
            Mutant(
                function=lambda prompts, block_tokens: _mutant(prompts, block_tokens, partial=True),
                reply="You shared blocks that are not full. Whoever holds one may still write to it.",
            ),
            Mutant(
                function=lambda prompts, block_tokens: _mutant(prompts, block_tokens, whole=True),
                reply="You found all of a prompt. At least one token is computed anew, so its block is not taken.",
            ),
            Mutant(
                function=lambda prompts, block_tokens: _mutant(prompts, block_tokens, first=True),
                reply="You looked at the first prompt only. Any prompt before may have written a block.",
            ),
            Mutant(
                function=lambda prompts, block_tokens: sum(len(p) for p in prompts),
                reply="You counted tokens.",
            ),
        ),
    ),
)

QUESTIONS = (*GUESSES, *EXERCISES, MEMO, *REVIEW, *CODE)
