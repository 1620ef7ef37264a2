"""The reader that most decoders share, and what sets one `Family` apart from Llama.

Facts about biases, norms and defaults are those of the model classes of transformers 5.24.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hwlab.specs.models import parts
from hwlab.specs.models.config import Fields
from hwlab.specs.models.parts import Part

__all__ = ["Family", "attention_shape", "layer_limits", "read_transformer", "sizes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How an architecture differs from Llama; a text names the configuration's field that decides."""

    tied: bool = False  # the output head is the embedding table, when the configuration does not say
    norms: int = 2  # of hidden_size, in a layer
    parallel: bool | str = False  # attention and feed-forward block read the same input and are added up together
    norm_width: int = 1  # 1: a scale; 2: a scale and a bias; 0: nothing learned
    embedding_norm: bool = False
    gated: bool = True
    qkv_bias: bool | str = False
    out_bias: bool | str = False
    mlp_bias: bool | str = False
    bias_default: bool = False  # of those fields, when absent
    head_bias: bool | str = False
    qk_norm: str = ""  # "head": head_dim for q and for k; "width": as wide as q and k
    qk_norm_switch: str = ""  # the field that turns it on
    qk_norm_default: bool = False  # of that field, when absent
    sinks: bool = False  # one learned logit a head
    kv_heads: int | str = "heads"  # when absent: as many as heads; "given": it must not be absent; "no": not a field
    head_dim: int | str | None = None  # when absent; None: hidden_size / heads; "given": it must not be absent
    windows: str = "none"  # see `layer_limits`
    positions: int | None = None  # learned position rows beyond the context; None: no table
    mlp_multiple: int | None = None  # intermediate_size in hidden sizes, when absent
    dense_width: str = "intermediate_size"
    moe: Callable[[Fields, int, int], list[Part | None]] | None = None  # block of each layer; None: dense
    mixers: Callable[[Fields, int, int], tuple[list[Part], dict]] | None = None  # in place of attention
    fixed: Mapping[str, object] = field(default_factory=dict)  # what these fields must say, or say nothing
    weightless: tuple[str, ...] = ()  # fields that turn on something without weights
    stated: tuple[str, ...] = ()  # what a reader must know


def sizes(f: Fields) -> dict:
    """The three numbers that every model has, under any of their names."""
    return {
        "hidden_size": f.integer("hidden_size", "n_embd", "d_model", "n_embed"),
        "num_layers": f.integer("num_hidden_layers", "n_layer", "n_layers", "num_layers", kind="layers"),
        "vocab_size": f.integer("vocab_size", kind="vocab"),
    }


def attention_shape(f: Fields, hidden: int, family: Family) -> dict:
    """Heads, KV heads and head_dim, each possible and fitting the others."""
    heads = kv_heads = f.integer("num_attention_heads", "n_head", "n_heads", "num_heads", kind="heads")
    names = ("num_key_value_heads", "num_kv_heads")
    if family.kv_heads != "no":
        name = next((n for n in names if n in f.raw), names[0])
        if isinstance(family.kv_heads, int) and name not in f.raw:
            kv_heads = family.kv_heads
            f.assume(name, f"{kv_heads} assumed, the default of its class")
        elif family.kv_heads == "heads":
            kv_heads = f.integer(*names, kind="heads", default=heads, assume=f"{heads} assumed, as many as heads")
        else:
            kv_heads = f.integer(*names, kind="heads")
        if heads % kv_heads:
            raise f.error(name, f"give a divisor of the {heads} heads")
    names = ("head_dim", "attention_head_dim")
    if family.head_dim == "given":
        head_dim = f.integer(*names)
    else:
        assume = f"{family.head_dim} assumed, the default of its class" if family.head_dim else ""
        head_dim = f.integer(*names, default=family.head_dim, assume=assume)
    if head_dim is None:
        if hidden % heads:
            raise f.error(
                "head_dim", f"give it, for hidden_size {hidden} is no multiple of num_attention_heads {heads}"
            )
        head_dim = hidden // heads
    return {"num_heads": heads, "num_kv_heads": kv_heads, "head_dim": head_dim}


def layer_limits(f: Fields, layers: int, rule: str) -> list[tuple[int | None, bool]]:
    """(limit, chunked) of each layer.

    `layer_types` decides where it is given. Else `rule`: "all" layers have the window, if there is one ("all 4096":
    that one if nothing is said); "switch": those from `max_window_layers` on, if `use_sliding_window`; "every N": all
    but each N-th, N being `sliding_window_pattern` where that is given; "chunk": chunks in all but each fourth layer,
    or in those that `no_rope_layers` marks with 1; "none": no layer.
    """
    if rule == "none":
        return [(None, False)] * layers
    full, window, chunk = "full_attention", "sliding_attention", "chunked_attention"
    names = ("sliding_window", "sliding_window_size")
    switched_off = rule == "switch" and not f.flag("use_sliding_window", False)
    kinds = f.sequence("layer_types", layers, (full, window, chunk), default=None)
    if kinds is not None:
        f.ignore("max_window_layers", "sliding_window_pattern", "no_rope_layer_interval")
    elif switched_off:
        f.ignore(*names, "max_window_layers")
        return [(None, False)] * layers
    elif rule == "switch":
        first = f.integer("max_window_layers", kind="layers", low=0)
        kinds = [window if i >= first else full for i in range(layers)]
    elif rule.startswith("all"):
        usual = rule.removeprefix("all").strip()
        if usual and "sliding_window" not in f.raw:
            f.assume("sliding_window", f"{usual} assumed, the default of its class")
            return [(int(usual), False)] * layers
        kinds = [full if f.integer(*names, kind="tokens", default=None) is None else window] * layers
    elif rule == "chunk" and "attention_chunk_size" in f.raw and not f.has("attention_chunk_size"):
        kinds = [full] * layers
    elif rule == "chunk" and f.raw.get("no_rope_layers"):
        kinds = [chunk if rotates else full for rotates in f.sequence("no_rope_layers", layers, (0, 1))]
    elif rule == "chunk":
        step = f.integer("no_rope_layer_interval", kind="layers", default=4)
        f.assume("layer_types", f"all but every {step}th layer attend in chunks, the default of its class")
        kinds = [full if (i + 1) % step == 0 else chunk for i in range(layers)]
    else:
        usual = int(rule.removeprefix("every "))
        assume = f"every {usual}th layer attends to all, the default of its class"
        step = f.integer("sliding_window_pattern", kind="layers", default=usual, assume=assume if usual > 2 else "")
        kinds = [full if (i + 1) % step == 0 else window for i in range(layers)]
    limits = {full: (None, False)}
    if window in kinds:
        limits[window] = (f.integer(*names, kind="tokens"), False)
    else:
        f.integer(*names, kind="tokens", default=None)
    if chunk in kinds:
        limits[chunk] = (f.integer("attention_chunk_size", kind="tokens"), True)
    return [limits[kind] for kind in kinds]


def _decided(f: Fields, by: bool | str, default: bool = False) -> bool:
    return f.flag(by, default) if isinstance(by, str) else by


def _attention_of_layers(f: Fields, family: Family, hidden: int, layers: int) -> tuple[list[Part], dict]:
    shape = attention_shape(f, hidden, family)
    heads, kv_heads, head_dim = shape["num_heads"], shape["num_kv_heads"], shape["head_dim"]
    extra = heads if family.sinks else 0
    if family.qk_norm and (not family.qk_norm_switch or f.flag(family.qk_norm_switch, family.qk_norm_default)):
        extra += 2 * head_dim if family.qk_norm == "head" else (heads + kv_heads) * head_dim
    biases = {n: _decided(f, getattr(family, n), family.bias_default) for n in ("qkv_bias", "out_bias")}
    limits = layer_limits(f, layers, family.windows)
    made = {
        (limit, chunked): parts.attention(
            hidden, heads, kv_heads, head_dim, limit=limit, chunked=chunked, extra=extra, **biases
        )
        for limit, chunked in set(limits)
    }
    return [made[limit] for limit in limits], shape


def _check_fixed(f: Fields, family: Family, facts: dict) -> None:
    f.ignore(*family.weightless)
    for name, wanted in family.fixed.items():
        if not f.has(name):
            continue
        inner, wanted = (f.inner(name), wanted) if isinstance(wanted, dict) else (f, {name: wanted})
        for key, value in wanted.items():
            value = facts.get(value, value) if isinstance(value, str) else value
            if inner.has(key) and inner.raw[key] != value:
                raise inner.error(key, f"this reader knows such models with {value} only; give that or leave it out")


def read_transformer(f: Fields, family: Family) -> dict:
    """Attention or another mixer, then a dense or routed block, in each layer."""
    facts = sizes(f)
    hidden, layers = facts["hidden_size"], facts["num_layers"]
    _check_fixed(f, family, facts)
    if family.mixers is None:
        mixers, shape = _attention_of_layers(f, family, hidden, layers)
    else:
        mixers, shape = family.mixers(f, hidden, layers)
    facts |= shape

    blocks = [None] * layers if family.moe is None else family.moe(f, hidden, layers)
    if family.moe is not None:
        routed = next((block for block in blocks if block is not None), None)
        expert = next((m for m in routed.matmuls if m.name == "expert_up"), None) if routed else None
        if expert is not None:
            facts |= {"num_experts": expert.stored, "experts_per_token": expert.count}
    if None in blocks:
        default = {"default": family.mlp_multiple * hidden} if family.mlp_multiple else {}
        width = f.integer(family.dense_width, "n_inner", "ffn_dim", **default)
        dense = parts.mlp(hidden, width, gated=family.gated, bias=_decided(f, family.mlp_bias, family.bias_default))
        blocks = [dense if block is None else block for block in blocks]
    else:
        f.ignore("intermediate_size", family.dense_width)
        width = expert.n
    facts["intermediate_size"] = width

    if family.positions is not None:
        context = f.integer("max_position_embeddings", "n_positions", kind="tokens")
        facts["position_rows"] = context + family.positions
    if _decided(f, family.head_bias):
        facts["head_vectors"] = facts["vocab_size"]
    norm = family.norm_width * hidden
    reductions = 1 if _decided(f, family.parallel, True) else 2
    body = Part(vectors=norm * (2 if family.embedding_norm else 1))
    for (mixer, block), count in Counter(zip(mixers, blocks, strict=True)).items():
        body += (mixer + block + Part(vectors=family.norms * norm, reductions=reductions)).times(count)
    f.assumptions.extend(family.stated)
    return facts | {"body": body}
