"""From a configuration to a `ModelSpec`: find the architecture, have its reader read, let nothing pass unread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from re import findall

from hwlab.specs.models import mixers, routed, whole
from hwlab.specs.models.config import ConfigError, Fields, load, shown
from hwlab.specs.models.spec import ModelSpec
from hwlab.specs.models.transformer import Family, read_transformer

__all__ = ["FAMILIES", "read"]

_LLAMA = Family(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias")
_PLAIN = {"norm_width": 2, "gated": False, "qkv_bias": True, "out_bias": True, "mlp_bias": True}
_OLD = {**_PLAIN, "kv_heads": "no"}
_ATTENTION_BIAS = {"qkv_bias": "attention_bias", "out_bias": "attention_bias"}
_HYBRID = {"mixers": mixers.delta_and_gated_attention}

_TRANSFORMERS = {
    "llama": _LLAMA,
    "mistral": Family(kv_heads="given", windows="all 4096"),
    "ministral3": Family(kv_heads="given", windows="all", head_dim=128),
    "mixtral": Family(kv_heads="given", windows="all", moe=routed.everywhere),
    "qwen2": Family(kv_heads="given", qkv_bias=True, windows="switch"),
    "qwen2_moe": Family(
        kv_heads="given", qkv_bias="qkv_bias", bias_default=True, windows="switch", moe=routed.stepped_with_gated_shared
    ),
    "qwen3": Family(kv_heads="given", **_ATTENTION_BIAS, qk_norm="head", head_dim=128, windows="switch"),
    "qwen3_moe": Family(
        kv_heads="given", head_dim="given", **_ATTENTION_BIAS, qk_norm="head", windows="switch", moe=routed.stepped
    ),
    "qwen3_next": Family(**_HYBRID, moe=routed.stepped_with_gated_shared),
    "qwen3_5": Family(**_HYBRID),
    "qwen3_5_moe": Family(**_HYBRID, moe=routed.stepped_with_gated_shared),
    "gemma": Family(kv_heads="given", **_ATTENTION_BIAS, tied=True, head_dim=256),
    "gemma2": Family(kv_heads="given", **_ATTENTION_BIAS, tied=True, head_dim=256, norms=4, windows="every 2"),
    "gemma3": Family(
        **_ATTENTION_BIAS, tied=True, head_dim=256, kv_heads=4, norms=4, qk_norm="head", windows="every 6"
    ),
    "phi": Family(**_PLAIN, norms=1, parallel=True, head_bias=True),
    "phi3": Family(windows="all"),
    "phimoe": Family(
        kv_heads="given",
        **_ATTENTION_BIAS,
        norm_width=2,
        head_bias="lm_head_bias",
        windows="all",
        moe=routed.everywhere,
    ),
    "opt": Family(
        **_OLD,
        tied=True,
        positions=2,
        fixed={
            "word_embed_proj_dim": "hidden_size",
            "do_layer_norm_before": True,
            "enable_bias": True,
            "layer_norm_elementwise_affine": True,
            "_remove_final_layer_norm": False,
        },
    ),
    "gpt2": Family(**_OLD, tied=True, positions=0, mlp_multiple=4, fixed={"add_cross_attention": False}),
    "gptj": Family(
        kv_heads="no", norms=1, parallel=True, norm_width=2, gated=False, mlp_bias=True, head_bias=True, mlp_multiple=4
    ),
    "gpt_neox": Family(
        kv_heads="no",
        parallel="use_parallel_residual",
        norm_width=2,
        gated=False,
        mlp_bias=True,
        bias_default=True,
        **_ATTENTION_BIAS,
    ),
    "bloom": Family(**_OLD, tied=True, embedding_norm=True, mlp_multiple=4),
    "mpt": Family(
        kv_heads="no",
        tied=True,
        gated=False,
        mlp_multiple=4,
        fixed={"expansion_ratio": 4, "no_bias": True, "attn_config": {"attn_type": "multihead_attention"}},
    ),
    "stablelm": Family(kv_heads="given", norm_width=2, qkv_bias="use_qkv_bias", fixed={"use_parallel_residual": False}),
    "starcoder2": Family(
        kv_heads="given",
        norm_width=2,
        gated=False,
        tied=True,
        windows="all",
        qkv_bias="use_bias",
        out_bias="use_bias",
        mlp_bias="use_bias",
        bias_default=True,
    ),
    "olmo": Family(**_ATTENTION_BIAS, norm_width=0),
    "olmo2": Family(**_ATTENTION_BIAS, qk_norm="width"),
    "olmoe": Family(**_ATTENTION_BIAS, qk_norm="width", moe=routed.everywhere),
    "granite": _LLAMA,
    "smollm3": Family(
        qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", tied=True, windows="switch"
    ),
    "cohere": Family(
        **_ATTENTION_BIAS, tied=True, norms=1, parallel=True, qk_norm="width", qk_norm_switch="use_qk_norm"
    ),
    "cohere2": Family(**_ATTENTION_BIAS, tied=True, norms=1, parallel=True, windows="every 4"),
    "glm": Family(qkv_bias="attention_bias", bias_default=True, head_dim=128),
    "glm4": Family(kv_heads="given", qkv_bias="attention_bias", bias_default=True, head_dim=128, norms=4),
    "glm4_moe": Family(
        kv_heads="given",
        qkv_bias="attention_bias",
        qk_norm="head",
        qk_norm_switch="use_qk_norm",
        moe=routed.after_dense,
    ),
    "llama4": Family(
        kv_heads="given",
        **_ATTENTION_BIAS,
        head_dim=128,
        windows="chunk",
        moe=routed.interleaved,
        dense_width="intermediate_size_mlp",
        weightless=("use_qk_norm",),
        stated=("the dense layers are intermediate_size_mlp wide, experts and the shared expert intermediate_size",),
    ),
    "gpt_oss": Family(
        kv_heads="given",
        **_ATTENTION_BIAS,
        bias_default=True,
        head_dim=64,
        sinks=True,
        windows="every 2",
        moe=routed.biased,
    ),
    "minimax_m2": Family(
        kv_heads="given",
        head_dim="given",
        qk_norm="width",
        qk_norm_switch="use_qk_norm",
        qk_norm_default=True,
        moe=routed.everywhere,
    ),
    "minimax": Family(mixers=mixers.lightning_and_attention, moe=routed.everywhere),
    "deepseek": Family(moe=routed.after_dense),
    "deepseek_v2": Family(mixers=mixers.latent, moe=routed.after_dense),
    "deepseek_v3": Family(mixers=mixers.latent, moe=routed.after_dense),
    "deepseek_v32": Family(mixers=mixers.sparse_latent, moe=routed.after_dense),
    "kimi_linear": Family(mixers=mixers.delta_and_latent, moe=routed.after_dense),
    "mimo_v2_flash": Family(mixers=mixers.wide_and_windowed, moe=routed.after_dense),
}

FAMILIES: dict[str, tuple[Callable[[Fields, Family], dict], Family]] = {
    **{name: (read_transformer, family) for name, family in _TRANSFORMERS.items()},
    "falcon": (whole.falcon, Family(tied=True)),
    "rwkv": (whole.rwkv, Family()),
    "mamba": (whole.mamba, Family(tied=True)),
    "mamba2": (whole.mamba2, Family()),
    "nemotron_h": (whole.nemotron_h, Family()),
    "jamba": (whole.jamba, Family()),
    "deepseek_v4": (whole.deepseek_v4, Family()),
}

_ENCODERS = ("bert", "roberta", "xlm_roberta", "distilbert", "albert", "electra", "deberta_v2", "modernbert", "vit")
_ENCODER_DECODERS = ("whisper", "t5", "mt5", "umt5", "bart", "mbart", "pegasus", "marian", "m2m_100", "nllb_moe", "led")
_HEADS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForMaskedLM", "Model")

# Fields that shape a model. One of them that no reader looked at would make the counts silently wrong.
_SHAPING = findall(
    r"\w+",
    """
    num_experts num_local_experts n_routed_experts moe_num_experts moe_intermediate_size n_shared_experts
    num_shared_experts shared_expert_intermediate_size shared_intermediate_size moe_shared_expert_intermediate_size
    first_k_dense_replace moe_layer_freq decoder_sparse_step mlp_only_layers moe_layers interleave_moe_layer_step
    moe_latent_size routed_expert_hidden_size latent_moe_use_norm intermediate_size_mlp mlp_layer_types
    kv_lora_rank q_lora_rank o_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim
    mla_use_output_gate use_full_rank_gate
    index_topk index_n_heads index_head_dim compress_ratios compress_rates hc_mult attn_res_block_size
    layer_types layers_block_type hybrid_override_pattern hybrid_layer_pattern block_configs attn_type_list
    sliding_window sliding_window_size sliding_window_pattern use_sliding_window attention_chunk_size
    swa_head_dim swa_v_head_dim swa_num_attention_heads swa_num_key_value_heads window_size
    head_dim attention_head_dim num_key_value_heads num_kv_heads num_global_key_value_heads global_head_dim
    linear_num_key_heads linear_num_value_heads linear_key_head_dim linear_value_head_dim linear_conv_kernel_dim
    linear_attn_config full_attention_interval attn_output_gate ssm_state_size state_size mamba_num_heads
    mamba_head_dim mamba_d_state mamba_d_conv mamba_expand mamba_n_heads attn_layer_period expert_layer_period
    num_kv_shared_layers hidden_size_per_layer_input vocab_size_per_layer_input altup_num_inputs
    cross_attention_layers use_bidirectional_attention kv_n_heads n_kv_heads n_head_kv num_kv_head
    multi_query_group_num num_query_groups qk_layernorm use_qk_norm parallel_block
    num_experts_per_tok
    attention_bias mlp_bias use_bias attention_out_bias lm_head_bias num_ln_in_parallel_attn
    """,
)
_MTP = ("num_nextn_predict_layers", "num_mtp_modules", "num_mtp_layers", "mtp_num_hidden_layers")
_TEXT = ("text_config", "llm_config", "language_config")
_CONTEXT = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "context_length",
    "max_sequence_length",
)


def read(
    config, *, id: str = "", name: str = "", assume: str | None = None, published: Mapping[str, object] | None = None
) -> ModelSpec:
    """`ModelSpec.from_config`, with the reader that the architecture asks for."""
    if assume not in (None, "llama"):
        raise ConfigError("assume", f"assume is {shown(assume)}; give 'llama' or leave it out")
    outer = Fields(load(config))
    inner = _text_part(outer)
    _refuse_other_kinds(outer)
    architecture = _architecture(outer, inner, assume)
    reader, family = FAMILIES[architecture]
    facts = reader(inner, family)
    facts["tied_embeddings"] = _tied(outer, inner, family, architecture)
    facts["max_context_tokens"] = inner.integer(*_CONTEXT, kind="tokens", default=None)
    facts["weight_dtype"], facts["kept_kinds"] = _published_dtype(outer, inner)
    inner.refuse_unread(_SHAPING, architecture)
    for field in _MTP:
        layers = inner.integer(field, kind="layers", low=0, default=0)
        if layers:
            inner.assumptions.append(f"{field} {layers}: layers that draft further tokens are not counted")
    spec = ModelSpec(
        id=id,
        name=name or id or architecture,
        architecture=architecture,
        assumptions=tuple(inner.assumptions),
        published=published or {},
        **facts,
    )
    if spec.num_params > 10**15:
        said = ", ".join(f"{n} is {getattr(spec, n)}" for n in ("hidden_size", "num_layers", "intermediate_size"))
        raise ConfigError(
            "hidden_size",
            f"{said}, num_experts is {spec.num_experts}: {spec.num_params:.1e} parameters "
            "in all; give the sizes of a model below 1e15",
        )
    return spec


def _text_part(outer: Fields) -> Fields:
    for field in _TEXT:
        if field in outer.raw:
            inner = outer.inner(field)
            inner.assumptions.append("the text decoder only: towers and projectors for images or sound are not counted")
            return inner
    return outer


def _model_type(f: Fields) -> str | None:
    value = f.raw.get("model_type")
    if value is not None and not isinstance(value, str):
        raise f.error("model_type", "give the name of an architecture, such as 'llama'")
    return value


def _class_names(f: Fields) -> list[str]:
    value = f.raw.get("architectures")
    if value is None:
        return []
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        raise f.error("architectures", "give a list of class names, such as ['LlamaForCausalLM']")
    return list(value)


def _refuse_other_kinds(f: Fields) -> None:
    """Encoders are refused by name, whatever else the configuration holds."""
    known = (*_ENCODERS, *_ENCODER_DECODERS)
    classes = [("architectures", _of_class(name, known) or name) for name in _class_names(f)]
    for field, kind in [("model_type", _model_type(f) or ""), *classes]:
        if kind in _ENCODER_DECODERS or (field == "model_type" and f.flag("is_encoder_decoder", False)):
            raise f.error(
                field if kind in _ENCODER_DECODERS else "is_encoder_decoder",
                "an encoder-decoder model, whose decoder also attends to an encoding of fixed length: its FLOP and "
                "cache follow other formulas; give a decoder-only model",
            )
        if kind in _ENCODERS or kind.endswith("ForMaskedLM"):
            raise f.error(
                field,
                "an encoder-only model, which generates no tokens and keeps no KV cache; give a decoder-only model",
            )


def _of_class(name: str, known) -> str | None:
    """'DeepseekV3ForCausalLM' -> 'deepseek_v3'."""
    for head in _HEADS:
        name = name.removesuffix(head)
    plain = name.lower().replace("_", "")
    return next((kind for kind in known if kind.replace("_", "") == plain), None)


def _architecture(outer: Fields, inner: Fields, assume: str | None) -> str:
    found: dict[str, tuple[Fields, str]] = {}
    for f in (inner, outer):
        kind = _model_type(f)
        if kind is not None and (known := kind.removesuffix("_text")) in FAMILIES:
            found.setdefault(known, (f, "model_type"))
        for name in _class_names(f):
            if known := _of_class(name, FAMILIES):
                found.setdefault(known, (f, "architectures"))
    if len(found) == 1:
        return next(iter(found))
    if len(found) > 1:
        (one, _), (other, (f, field)) = list(found.items())[:2]
        raise f.error(field, f"that says {other}, elsewhere the configuration says {one}; keep the one that is true")
    if assume == "llama":
        inner.assumptions.append("an unknown architecture, read as Llama-like because assume='llama' was given")
        return "llama"
    f = inner if _model_type(inner) or _class_names(inner) else outer
    field = "model_type" if _model_type(f) is not None or not _class_names(f) else "architectures"
    raise f.error(
        field,
        f"no reader for that architecture; known are {', '.join(sorted(FAMILIES))}. "
        "If it is built like Llama, give assume='llama'",
    )


def _tied(outer: Fields, inner: Fields, family: Family, architecture: str) -> bool:
    said = {f.path: f.flag("tie_word_embeddings") for f in (outer, inner) if "tie_word_embeddings" in f.raw}
    if len(set(said.values())) > 1:
        raise inner.error("tie_word_embeddings", "outside the text part the configuration says otherwise")
    if said:
        return next(iter(said.values()))
    inner.assume("tie_word_embeddings", f"{str(family.tied).lower()} assumed, the default of {architecture}")
    return family.tied


_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


def _published_dtype(outer: Fields, inner: Fields) -> tuple[str | None, frozenset[str]]:
    """In which dtype the weights are published, and which matrices stay at 16 bits nonetheless."""
    for f in (inner, outer):
        if not f.has("quantization_config"):
            continue
        scheme = f.inner("quantization_config")
        method, kept = scheme.raw.get("quant_method"), scheme.raw.get("modules_to_not_convert")
        if not isinstance(method, str) or not method:
            raise scheme.error(
                "quant_method", "give the name of a format, such as 'fp8', or leave quantization_config out"
            )
        if kept is not None and not (isinstance(kept, (list, tuple)) and all(isinstance(m, str) for m in kept)):
            raise scheme.error("modules_to_not_convert", "give a list of names")
        kinds = frozenset({"attention"}) if any("self_attn" in m for m in kept or ()) else frozenset()
        bits = scheme.raw.get("bits")
        if method == "fp8":
            return "fp8", kinds
        if method == "mxfp4":
            return "mxfp4", kinds
        if method in ("awq", "gptq") and bits == 4 and scheme.raw.get("group_size") == 128:
            return "int4-g128", kinds
        inner.assumptions.append(f"quantization_config of method {shown(method)} is not read: weight_dtype is None")
        return None, kinds
    for f in (inner, outer):
        for field in ("torch_dtype", "dtype"):
            if f.has(field) and isinstance(f.raw[field], str):
                return _DTYPES.get(f.raw[field].removeprefix("torch.")), frozenset()
    return None, frozenset()
