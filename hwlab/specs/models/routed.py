"""Which layers hold routed experts, and of what shape: one function for each way of writing it down.

Each returns the feed-forward block of every layer, None where the layer is dense.
"""

from __future__ import annotations

from hwlab.specs.models import parts
from hwlab.specs.models.config import Fields
from hwlab.specs.models.parts import Part

_CHOSEN = ("num_experts_per_tok", "experts_per_token", "num_experts_per_token", "moe_k")


def routing(f: Fields) -> dict[str, int]:
    """How many experts there are and how many a token uses."""
    num = f.integer("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", kind="experts")
    chosen = f.integer(*_CHOSEN, kind="experts")
    if chosen > num:
        raise f.error(
            next(name for name in _CHOSEN if f.raw.get(name) is not None),
            f"a token cannot use more experts than the {num} there are",
        )
    return {"num": num, "chosen": chosen}


def everywhere(f: Fields, hidden: int, layers: int) -> list[Part | None]:
    """Mixtral, MiniMax: every layer routed, experts as wide as `intermediate_size`."""
    return [parts.experts(hidden, f.integer("intermediate_size"), **routing(f))] * layers


def biased(f: Fields, hidden: int, layers: int) -> list[Part | None]:
    """gpt-oss: likewise, with biases in experts and router."""
    width = f.integer("intermediate_size")
    return [parts.experts(hidden, width, **routing(f), bias=True, router_bias=True)] * layers


def stepped(f: Fields, hidden: int, layers: int) -> list[Part | None]:
    """Qwen: fine-grained experts in every `decoder_sparse_step`-th layer but `mlp_only_layers`."""
    block = parts.experts(hidden, f.integer("moe_intermediate_size"), **routing(f))
    step = f.integer("decoder_sparse_step", kind="layers", default=1)
    dense = set(f.layer_numbers("mlp_only_layers", layers, default=[]))
    return [block if (i + 1) % step == 0 and i not in dense else None for i in range(layers)]


def stepped_with_gated_shared(f: Fields, hidden: int, layers: int) -> list[Part | None]:
    """Qwen2-MoE, Qwen3-Next, Qwen3.5: likewise, beside one shared expert behind a gate."""
    shared = parts.mlp(hidden, f.integer("shared_expert_intermediate_size"), label="shared_")
    shared += parts.weights(("shared_expert_gate", hidden, 1), kind="router")
    return [block and block + shared for block in stepped(f, hidden, layers)]


def after_dense(f: Fields, hidden: int, layers: int) -> list[Part | None]:
    """DeepSeek, GLM, Kimi, MiMo: dense layers first, then fine-grained experts beside shared ones."""
    width = f.integer("moe_intermediate_size")
    block = parts.experts(hidden, width, **routing(f))
    shared = f.integer("n_shared_experts", "num_shared_experts", kind="experts", low=0, default=None)
    if shared is None:
        shared = 0
        f.assume("n_shared_experts", "no shared expert assumed")
    if shared:
        block += parts.mlp(hidden, shared * width, label="shared_")
    return [block if routed else None for routed in _after_dense(f, layers)]


def _after_dense(f: Fields, layers: int) -> list[bool]:
    if isinstance(f.raw.get("moe_layer_freq"), (list, tuple)):
        return [bool(routed) for routed in f.sequence("moe_layer_freq", layers, (0, 1))]
    step = f.integer("moe_layer_freq", kind="layers", default=1)
    if "first_k_dense_replace" not in f.raw:
        raise f.error(
            "first_k_dense_replace", "give how many layers are dense, or moe_layer_freq as a list, one a layer"
        )
    first = f.integer("first_k_dense_replace", kind="layers", low=0)
    if first > layers:
        raise f.error("first_k_dense_replace", f"there are only {layers} layers")
    return [i >= first and i % step == 0 for i in range(layers)]


def interleaved(f: Fields, hidden: int, layers: int) -> list[Part | None]:
    """Llama 4: every `interleave_moe_layer_step`-th layer, one shared expert as wide as a routed one."""
    width = f.integer("intermediate_size")
    block = parts.experts(hidden, width, **routing(f)) + parts.mlp(hidden, width, label="shared_")
    step = f.integer("interleave_moe_layer_step", kind="layers", default=None)
    if f.has("moe_layers"):
        routed = set(f.layer_numbers("moe_layers", layers))
    elif step is None:
        raise f.error("interleave_moe_layer_step", "give it, or moe_layers: which layers are routed")
    else:
        routed = set(range(step - 1, layers, step))
    return [block if i in routed else None for i in range(layers)]
