"""What stands in place of plain attention: latents, sparse choices, linear attention, windows of another shape.

Each function returns the mixer of every layer, and the head counts that describe the model.
"""

from __future__ import annotations

from hwlab.specs.models import parts
from hwlab.specs.models.config import Fields
from hwlab.specs.models.parts import Part, Reach
from hwlab.specs.models.transformer import Family, attention_shape


def state_itemsize(f: Fields, *names: str) -> int:
    """Bytes an element of recurrent state, as the configuration says or in float32."""
    for name in names:
        if f.has(name):
            return {"float32": 4, "bfloat16": 2, "float16": 2}[f.choice(name, ("float32", "bfloat16", "float16"))]
    f.assumptions.append("recurrent state is held in float32, the inputs of convolutions in 16 bits")
    return 4


def _latent(f: Fields, hidden: int, topk: int | None = None) -> tuple[Part, dict]:
    heads = f.integer("num_attention_heads", kind="heads")
    nope, rope = f.integer("qk_nope_head_dim"), f.integer("qk_rope_head_dim")
    f.ignore("head_dim")  # of the rotary part only, where it is given
    part = parts.latent_attention(
        hidden,
        heads,
        q_rank=f.integer("q_lora_rank", default=None),
        kv_rank=f.integer("kv_lora_rank"),
        nope_dim=nope,
        rope_dim=rope,
        value_dim=f.integer("v_head_dim"),
        bias=f.flag("attention_bias", False),
        topk=topk,
    )
    kv_heads = f.integer("num_key_value_heads", kind="heads", default=heads)
    if kv_heads != heads:
        raise f.error("num_key_value_heads", f"latent attention expands to as many as heads, {heads}")
    return part, {"num_heads": heads, "num_kv_heads": heads, "head_dim": nope + rope}


def latent(f: Fields, hidden: int, layers: int) -> tuple[list[Part], dict]:
    """DeepSeek-V2 and V3; `q_lora_rank` null where the query is not compressed."""
    if "q_lora_rank" not in f.raw:
        raise f.error("q_lora_rank", "give the rank of the query, or null where it has none")
    part, shape = _latent(f, hidden)
    return [part] * layers, shape


def sparse_latent(f: Fields, hidden: int, layers: int) -> tuple[list[Part], dict]:
    """DeepSeek-V3.2: an indexer scores every earlier token with small keys; attention visits the best ones."""
    heads, dim = f.integer("index_n_heads", kind="heads"), f.integer("index_head_dim")
    rank = f.integer("q_lora_rank")
    part, shape = _latent(f, hidden, topk=f.integer("index_topk", kind="tokens"))
    indexer = parts.weights(
        ("index_q", rank, heads * dim), ("index_k", hidden, dim), ("index_weights", hidden, heads), kind="attention"
    ) + Part(vectors=2 * dim, reaches=(Reach(pair_flop=2 * heads * dim, index_elements=dim),))
    f.assumptions.append(
        f"the sparse-attention indexer caches {dim} numbers a layer and token beside the latent: counted in "
        "kv_bytes and index_bytes_per_token, not in kv_bytes_per_token"
    )
    return [part + indexer] * layers, shape


def delta_and_gated_attention(f: Fields, hidden: int, layers: int) -> tuple[list[Part], dict]:
    """Qwen3-Next, Qwen3.5: gated delta nets, and attention with a gated output in every fourth layer."""
    linear, full = "linear_attention", "full_attention"
    if f.has("layer_types"):
        kinds = f.sequence("layer_types", layers, (linear, full))
        f.ignore("full_attention_interval")
    else:
        assume = "every 4th layer attends, the default of its class"
        every = f.integer("full_attention_interval", kind="layers", default=4, assume=assume)
        kinds = [full if (i + 1) % every == 0 else linear for i in range(layers)]
    key_heads = f.integer("linear_num_key_heads", kind="heads")
    value_heads = f.integer("linear_num_value_heads", kind="heads")
    if value_heads % key_heads:
        raise f.error("linear_num_value_heads", f"give a multiple of the {key_heads} key heads")
    if not f.flag("attn_output_gate", True):
        raise f.error("attn_output_gate", "attention of these models has one; give true or leave it out")
    shape = attention_shape(f, hidden, Family(kv_heads="given", head_dim=256))
    bias = f.flag("attention_bias", False)
    made = {
        linear: parts.gated_delta_net(
            hidden,
            key_heads=key_heads,
            value_heads=value_heads,
            key_dim=f.integer("linear_key_head_dim"),
            value_dim=f.integer("linear_value_head_dim"),
            conv=f.integer("linear_conv_kernel_dim"),
            state_itemsize=state_itemsize(f, "mamba_ssm_dtype"),
        ),
        full: parts.attention(
            hidden,
            *shape.values(),
            output_gate=True,
            extra=2 * shape["head_dim"],
            qkv_bias=bias,
            out_bias=bias,
        ),
    }
    return [made[kind] for kind in kinds], shape


def lightning_and_attention(f: Fields, hidden: int, layers: int) -> tuple[list[Part], dict]:
    """MiniMax-Text-01: linear attention with a fixed decay, softmax attention in some layers."""
    kinds = f.sequence("layer_types", layers, ("linear_attention", "full_attention"))
    shape = attention_shape(f, hidden, Family(kv_heads="given", head_dim="given"))
    made = {
        "linear_attention": parts.lightning_attention(
            hidden, shape["num_heads"], shape["head_dim"], state_itemsize=state_itemsize(f)
        ),
        "full_attention": parts.attention(hidden, *shape.values()),
    }
    return [made[kind] for kind in kinds], shape


def wide_and_windowed(f: Fields, hidden: int, layers: int) -> tuple[list[Part], dict]:
    """MiMo-V2: windowed layers (1 in `hybrid_layer_pattern`) have KV heads of their own; values narrower than keys."""
    kinds = f.sequence("hybrid_layer_pattern", layers, (0, 1))
    bias = f.flag("attention_bias", False)
    window = f.integer("sliding_window", "sliding_window_size", "attention_chunk_size", kind="tokens") + 1
    f.assumptions.append(f"a windowed layer attends to {window - 1} earlier tokens and to the token itself")

    def layer(prefix: str, limit: int | None, sinks: str) -> tuple[Part, dict]:
        heads = f.integer(f"{prefix}num_attention_heads", kind="heads")
        kv_heads = f.integer(f"{prefix}num_key_value_heads", kind="heads")
        head_dim = f.integer(f"{prefix}head_dim")
        if heads % kv_heads:
            raise f.error(f"{prefix}num_key_value_heads", f"give a divisor of the {heads} heads")
        part = parts.attention(
            hidden,
            heads,
            kv_heads,
            head_dim,
            value_dim=f.integer(f"{prefix}v_head_dim"),
            limit=limit,
            qkv_bias=bias,
            extra=heads if f.flag(sinks) else 0,
        )
        return part, {"num_heads": heads, "num_kv_heads": kv_heads, "head_dim": head_dim}

    full, shape = layer("", None, "add_full_attention_sink_bias")
    windowed, _ = layer("swa_", window, "add_swa_attention_sink_bias")
    return [windowed if kind else full for kind in kinds], shape


def delta_and_latent(f: Fields, hidden: int, layers: int) -> tuple[list[Part], dict]:
    """Kimi-Linear (arXiv 2510.26692): delta attention with a decay a channel, latent attention in some layers."""
    inner = f.inner("linear_attn_config")
    heads, dim = inner.integer("num_heads", kind="heads"), inner.integer("head_dim")
    conv = inner.integer("short_conv_kernel_size")
    full = set(inner.layer_numbers("full_attn_layers", layers, low=1))
    linear = set(inner.layer_numbers("kda_layers", layers, low=1))
    if full & linear or len(full | linear) != layers:
        raise inner.error("kda_layers", f"with full_attn_layers it must name each of the {layers} layers once")
    width, state = heads * dim, heads * dim * dim
    delta = (
        parts.weights(("q", hidden, width), ("k", hidden, width), ("v", hidden, width), kind="recurrent")
        + parts.weights(("f_a", hidden, dim), ("f_b", dim, width), ("beta", hidden, heads), kind="recurrent")
        + parts.weights(("g_a", hidden, dim), ("g_b", dim, width), ("o", width, hidden), kind="recurrent")
        + Part(
            vectors=3 * width * conv + width + heads + dim,
            state_bytes=state * state_itemsize(f) + 3 * width * (conv - 1) * 2,
            scan_flop=7 * state + 6 * conv * width,
        )
    )
    part, shape = _latent(f, hidden)
    return [part if i in full else delta for i in range(1, layers + 1)], shape
