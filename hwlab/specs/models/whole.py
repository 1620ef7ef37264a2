"""Readers of models whose layers are not one mixer and one feed-forward block alike: a function for each."""

from __future__ import annotations

from hwlab.specs.models import parts
from hwlab.specs.models.config import Fields
from hwlab.specs.models.mixers import state_itemsize
from hwlab.specs.models.parts import Part, Reach
from hwlab.specs.models.routed import routing
from hwlab.specs.models.transformer import Family, attention_shape, sizes


def falcon(f: Fields, _: Family) -> dict:
    """Falcon: one or two norms before parallel attention and MLP; KV heads by generation."""
    facts = sizes(f)
    hidden = facts["hidden_size"]
    heads = f.integer("num_attention_heads", "n_head", kind="heads")
    if hidden % heads:
        raise f.error("num_attention_heads", f"give a divisor of hidden_size {hidden}")
    new, bias = f.flag("new_decoder_architecture"), f.flag("bias", False)
    multi_query, parallel = f.flag("multi_query"), f.flag("parallel_attn")
    if new:
        kv_heads = f.integer("num_kv_heads", "n_head_kv", kind="heads")
    else:
        kv_heads = 1 if multi_query else heads
        f.ignore("num_kv_heads", "n_head_kv")
    if heads % kv_heads:
        raise f.error("num_kv_heads", f"give a divisor of the {heads} heads")
    norms = f.integer("num_ln_in_parallel_attn", default=2 if new else 1) if parallel else 2
    width = f.integer("ffn_hidden_size", default=4 * hidden)
    layer = parts.attention(hidden, heads, kv_heads, hidden // heads, qkv_bias=bias, out_bias=bias)
    layer += parts.mlp(hidden, width, gated=False, bias=bias) + Part(
        vectors=2 * norms * hidden, reductions=1 if parallel else 2
    )
    return facts | {
        "num_heads": heads,
        "num_kv_heads": kv_heads,
        "head_dim": hidden // heads,
        "intermediate_size": width,
        "body": layer.times(facts["num_layers"]) + Part(vectors=2 * hidden),
    }


def rwkv(f: Fields, _: Family) -> dict:
    """RWKV-4 (arXiv 2305.13048): a decayed average a channel in place of attention; five numbers a channel remain."""
    facts = sizes(f)
    hidden, layers = facts["hidden_size"], facts["num_layers"]
    assume = f"hidden_size, {hidden}, assumed"
    inner = f.integer("attention_hidden_size", default=hidden, assume=assume)
    width = f.integer("intermediate_size", default=4 * hidden, assume=f"4 x hidden_size, {4 * hidden}, assumed")
    layer = (
        parts.weights(("k", hidden, inner), ("v", hidden, inner), ("receptance", hidden, inner), kind="recurrent")
        + parts.weights(("o", inner, hidden), kind="recurrent")
        + parts.weights(("mlp_receptance", hidden, hidden), kind="mlp")
        + parts.mlp(hidden, width, gated=False)
        + Part(
            # decay, first and five mixes; two norms
            vectors=2 * inner + 5 * hidden + 4 * hidden,
            # two last inputs and, in float32, numerator, denominator and largest exponent
            state_bytes=2 * hidden * 2 + 3 * inner * 4,
            scan_flop=11 * inner,
            reductions=2,
        )
    )
    f.assumptions.append("recurrent state is held in float32, the last inputs in 16 bits")
    return facts | {"intermediate_size": width, "body": layer.times(layers) + Part(vectors=4 * hidden)}


def _rank(f: Fields, name: str, hidden: int) -> int:
    return -(-hidden // 16) if f.raw.get(name) == "auto" else f.integer(name)


def mamba(f: Fields, _: Family) -> dict:
    """Mamba: a selective state space, and nothing else."""
    facts = sizes(f)
    hidden = facts["hidden_size"]
    inner = f.integer("expand", low=1) * hidden
    given = f.integer("intermediate_size", "d_inner", default=inner)
    if given != inner:
        raise f.error("intermediate_size", f"expand x hidden_size is {inner}")
    f.ignore("time_step_rank")
    layer = parts.mamba(
        hidden,
        inner=inner,
        state_dim=f.integer("state_size"),
        rank=_rank(f, "time_step_rank", hidden),
        conv=f.integer("conv_kernel"),
        conv_bias=f.flag("use_conv_bias"),
        bias=f.flag("use_bias"),
        state_itemsize=state_itemsize(f),
    ) + Part(vectors=hidden, reductions=1)
    return facts | {"intermediate_size": inner, "body": layer.times(facts["num_layers"]) + Part(vectors=hidden)}


def mamba2(f: Fields, _: Family) -> dict:
    """Mamba-2: a scalar decay a head."""
    facts = sizes(f)
    hidden = facts["hidden_size"]
    heads, head_dim = f.integer("num_heads", kind="heads"), f.integer("head_dim")
    if heads * head_dim != f.integer("expand") * hidden:
        raise f.error("head_dim", f"with {heads} heads it must make expand x hidden_size, {f.raw['expand'] * hidden}")
    layer = parts.mamba2(
        hidden,
        heads=heads,
        head_dim=head_dim,
        state_dim=f.integer("state_size"),
        groups=f.integer("n_groups"),
        conv=f.integer("conv_kernel"),
        conv_bias=f.flag("use_conv_bias"),
        bias=f.flag("use_bias"),
        state_itemsize=state_itemsize(f),
    ) + Part(vectors=hidden, reductions=1)
    body = layer.times(facts["num_layers"]) + Part(vectors=hidden)
    return facts | {"intermediate_size": heads * head_dim, "body": body}


def nemotron_h(f: Fields, _: Family) -> dict:
    """Nemotron-H: one block a layer, by letter: M Mamba-2, * attention, - MLP, E experts. Squared ReLU, no gate."""
    facts = sizes(f)
    hidden, layers = facts["hidden_size"], facts["num_layers"]
    letters = {"mamba": "M", "linear_attention": "M", "attention": "*", "full_attention": "*", "mlp": "-", "moe": "E"}
    if f.has("layers_block_type"):
        pattern = "".join(letters[kind] for kind in f.sequence("layers_block_type", layers, tuple(letters)))
        f.ignore("hybrid_override_pattern")
    else:
        pattern = f.raw.get("hybrid_override_pattern")
        f.ignore("hybrid_override_pattern")
        if not isinstance(pattern, str) or len(pattern) != layers or set(pattern) - set("M*-E"):
            raise f.error("hybrid_override_pattern", f"give {layers} letters, one a layer, of M, *, - and E")
    shape = attention_shape(f, hidden, Family(kv_heads="given", head_dim=128))
    bias = f.flag("mlp_bias", False)
    width = f.integer("intermediate_size")
    made = {"*": parts.attention(hidden, *shape.values()), "-": parts.mlp(hidden, width, gated=False, bias=bias)}
    if f.flag("attention_bias", False):
        raise f.error("attention_bias", "attention of these models has none; give false")
    made["M"] = parts.mamba2(
        hidden,
        heads=f.integer("mamba_num_heads", kind="heads"),
        head_dim=f.integer("mamba_head_dim"),
        state_dim=f.integer("ssm_state_size"),
        groups=f.integer("n_groups"),
        conv=f.integer("conv_kernel"),
        conv_bias=f.flag("use_conv_bias", True),
        bias=f.flag("use_bias", False),
        state_itemsize=state_itemsize(f, "mamba_ssm_cache_dtype"),
    )
    if "E" not in pattern:
        f.ignore("n_routed_experts", "num_experts_per_tok", "n_shared_experts")
        f.ignore("moe_intermediate_size", "moe_shared_expert_intermediate_size")
    else:
        route = routing(f)
        shared = f.integer("moe_shared_expert_intermediate_size")
        if f.integer("n_shared_experts", kind="experts") != 1:
            raise f.error("n_shared_experts", "these models have one, as wide as moe_shared_expert_intermediate_size")
        made["E"] = parts.experts(hidden, f.integer("moe_intermediate_size"), gated=False, **route)
        made["E"] += parts.mlp(hidden, shared, gated=False, bias=bias, label="shared_")
        facts |= {"num_experts": route["num"], "experts_per_token": route["chosen"]}
    body = Part(vectors=hidden)
    for letter in sorted(set(pattern)):
        body += (made[letter] + Part(vectors=hidden, reductions=1)).times(pattern.count(letter))
    return facts | shape | {"intermediate_size": width, "body": body}


def jamba(f: Fields, _: Family) -> dict:
    """Jamba (arXiv 2403.19887): Mamba layers with some attention, and experts in every second block."""
    facts = sizes(f)
    hidden, layers = facts["hidden_size"], facts["num_layers"]
    shape = attention_shape(f, hidden, Family(kv_heads="given"))
    width, conv = f.integer("intermediate_size"), f.integer("mamba_d_conv")
    state_dim, rank = f.integer("mamba_d_state"), _rank(f, "mamba_dt_rank", hidden)
    f.ignore("mamba_dt_rank")
    route = routing(f)

    def hits(kind: str) -> set[int]:
        period = f.integer(f"{kind}_layer_period", kind="layers")
        offset = f.integer(f"{kind}_layer_offset", kind="layers", low=0)
        if offset >= period:
            raise f.error(f"{kind}_layer_offset", f"give a number below {kind}_layer_period, {period}")
        return {i for i in range(layers) if i % period == offset}

    attends, routes = hits("attn"), hits("expert")
    if route["num"] == 1:
        routes = set()
    full = parts.attention(hidden, *shape.values())
    scan = parts.mamba(
        hidden,
        inner=f.integer("mamba_expand") * hidden,
        state_dim=state_dim,
        rank=rank,
        conv=conv,
        conv_bias=f.flag("mamba_conv_bias"),
        bias=f.flag("mamba_proj_bias"),
        extra=rank + 2 * state_dim,
        state_itemsize=state_itemsize(f),
    )
    body = Part(vectors=hidden) + Part(vectors=2 * hidden, reductions=2).times(layers)
    body += full.times(len(attends)) + scan.times(layers - len(attends))
    body += parts.mlp(hidden, width).times(layers - len(routes))
    if routes:
        body += parts.experts(hidden, width, **route).times(len(routes))
        facts |= {"num_experts": route["num"], "experts_per_token": route["chosen"]}
    return facts | shape | {"intermediate_size": width, "body": body}


def deepseek_v4(f: Fields, _: Family) -> dict:
    """DeepSeek-V4: each layer has a short window; most also look at one entry for every 4 or 128 tokens.

    A layer of ratio 4 chooses `index_topk` of its entries by an indexer, one of ratio 128 visits all. Keys and
    values are one shared vector of `head_dim`. `hc_mult` residual streams are mixed around each block.
    """
    facts = sizes(f)
    hidden, layers = facts["hidden_size"], facts["num_layers"]
    heads, head_dim = f.integer("num_attention_heads", kind="heads"), f.integer("head_dim")
    if f.integer("num_key_value_heads", kind="heads") != 1:
        raise f.error("num_key_value_heads", "these models share one; give 1")
    q_rank, o_rank, groups = f.integer("q_lora_rank"), f.integer("o_lora_rank"), f.integer("o_groups")
    if heads * head_dim % groups:
        raise f.error("o_groups", f"give a divisor of {heads} heads x {head_dim}")
    window, topk = f.integer("sliding_window", kind="tokens"), f.integer("index_topk", kind="tokens")
    index_heads, index_dim = f.integer("index_n_heads", kind="heads"), f.integer("index_head_dim")
    streams = f.integer("hc_mult")
    f.ignore("qk_rope_head_dim")  # a slice of head_dim
    extra = f.integer("num_nextn_predict_layers", kind="layers", low=0, default=0)
    given = f.raw.get("compress_ratios")
    if not isinstance(given, (list, tuple)) or len(given) not in (layers, layers + extra):
        raise f.error(
            "compress_ratios", f"give {layers} entries, one a layer, or {extra} more: num_nextn_predict_layers"
        )
    ratios = f.sequence("compress_ratios", len(given), (0, 4, 128))[:layers]

    pair, width = 2 * heads * 2 * head_dim, f.integer("moe_intermediate_size")
    core = (
        parts.weights(("q_a", hidden, q_rank), ("q_b", q_rank, heads * head_dim), kind="attention")
        + parts.weights(("kv", hidden, head_dim), kind="attention")
        + parts.weights(("o_a", heads * head_dim // groups, o_rank), kind="attention", count=groups, stored=groups)
        + parts.weights(("o_b", groups * o_rank, hidden), kind="attention")
        + Part(vectors=q_rank + head_dim + heads, reaches=(Reach(limit=window, pair_flop=pair, kv_elements=head_dim),))
    )

    def compressor(dim: int, ratio: int, series: int) -> Part:
        made = parts.weights(
            ("compress_kv", hidden, series * dim), ("compress_gate", hidden, series * dim), kind="attention"
        )
        return made + Part(vectors=ratio * series * dim + dim)

    chosen = Reach(limit=topk, stride=4, keeps_all=True, pair_flop=pair, kv_elements=head_dim)
    scored = Reach(stride=4, pair_flop=2 * index_heads * index_dim, index_elements=index_dim)
    every = Reach(stride=128, pair_flop=pair, kv_elements=head_dim)
    added = {
        0: Part(),
        4: compressor(head_dim, 4, 2)
        + compressor(index_dim, 4, 2)
        + parts.weights(("index_q", q_rank, index_heads * index_dim), kind="attention")
        + parts.weights(("index_weights", hidden, index_heads), kind="attention")
        + Part(reaches=(chosen, scored)),
        128: compressor(head_dim, 128, 1) + Part(reaches=(every,)),
    }
    mixes = (2 + streams) * streams
    connection = parts.weights(("streams", streams * hidden, mixes), kind="router") + Part(vectors=mixes + 3)
    route = routing(f)
    shared = f.integer("n_shared_experts", kind="experts")
    if shared != 1:
        raise f.error("n_shared_experts", "these models have one")
    block = parts.experts(hidden, width, **route) + parts.mlp(hidden, width, label="shared_")
    layer = core + block + connection.times(2) + Part(vectors=2 * hidden, reductions=2)
    body = (
        Part(vectors=hidden)
        + Part(vectors=streams + 1)
        + parts.weights(("streams_out", streams * hidden, streams), kind="router")
    )
    for ratio in (0, 4, 128):
        body += (layer + added[ratio]).times(ratios.count(ratio))
    f.assumptions.append(
        "compressed attention is read as in transformers 5.24.0: kv_bytes counts the window, the compressed entries "
        "and the indexer's keys, not the few tokens that wait to be compressed; kv_bytes_per_token is an average"
    )
    return facts | {
        "num_heads": heads,
        "num_kv_heads": 1,
        "head_dim": head_dim,
        "intermediate_size": width,
        "num_experts": route["num"],
        "experts_per_token": route["chosen"],
        "body": body,
    }
