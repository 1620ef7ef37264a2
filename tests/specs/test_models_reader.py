"""The reader against counts that others made, values worked by hand, and faults seen in other tools."""

import csv
import json
from pathlib import Path

import pytest

from hwlab.specs.models import ConfigError, ModelSpec, experts_touched, model, models

DATA = Path(__file__).parents[1] / "data" / "hf_configs"
INDEX = {row["id"]: row for row in csv.DictReader((DATA / "index.csv").open(encoding="utf-8"))}
READ = [id for id, row in INDEX.items() if not row["refused_for"]]
SMALL = [json.loads(line) for line in (DATA / "small.jsonl").read_text(encoding="utf-8").splitlines()]


def read(id: str) -> ModelSpec:
    return ModelSpec.from_config(DATA / f"{id}.json")


def llama(**changes) -> dict:
    """Llama-2-7B, changed; None drops a field."""
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "vocab_size": 32000,
        "tie_word_embeddings": False,
    } | changes
    return {name: value for name, value in config.items() if value is not None}


# --- counts made by others --------------------------------------------------------------------------------------


def test_every_configuration_of_the_index_is_here_and_no_other():
    assert sorted(INDEX) == sorted(path.stem for path in DATA.glob("*.json"))
    assert len(READ) == 54


@pytest.mark.parametrize("id", READ)
def test_parameters_equal_the_count_of_the_reference_classes(id):
    assert read(id).num_params == int(INDEX[id]["counted_params"])


@pytest.mark.parametrize("id", [id for id in READ if INDEX[id]["published_as"] == "exact"])
def test_parameters_equal_the_published_total_where_that_is_exact(id):
    assert read(id).num_params == int(INDEX[id]["published_params"])


@pytest.mark.parametrize("id", [id for id in READ if INDEX[id]["published_as"] == "rounded"])
def test_parameters_are_within_the_rounding_of_the_card_where_that_is_rounded(id):
    assert read(id).num_params == pytest.approx(int(INDEX[id]["published_params"]), rel=0.01)


@pytest.mark.parametrize("id", [id for id in READ if INDEX[id]["kv_bytes_per_token_fp16"]])
def test_one_more_token_adds_the_expected_bytes(id):
    grown = read(id).kv_bytes_per_token("fp16")
    assert grown == int(INDEX[id]["kv_bytes_per_token_fp16"]) and isinstance(grown, int)


@pytest.mark.parametrize("case", SMALL, ids=[f"{c['config']['model_type']}-{c['params']}" for c in SMALL])
def test_small_variants_of_every_architecture_equal_their_count(case):
    assert ModelSpec.from_config(case["config"]).num_params == case["params"]


def test_path_folder_text_and_dict_read_alike(tmp_path):
    path = DATA / "llama-3.1-8b.json"
    text = path.read_text(encoding="utf-8")
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    specs = [ModelSpec.from_config(c) for c in (path, str(path), tmp_path, str(tmp_path), text, json.loads(text))]
    assert all(spec == specs[0] for spec in specs) and specs[0].num_params == 8_030_261_248


# --- worked by hand ---------------------------------------------------------------------------------------------


def test_llama_2_70b_by_hand():
    d, ff, layers, vocab, kv = 8192, 28672, 80, 32000, 8 * 128
    layer = 2 * d * d + 2 * d * kv + 3 * d * ff + 2 * d  # q and o, k and v, gate up down, two norms
    assert layer == 134_217_728 + 16_777_216 + 704_643_072 + 16_384
    assert read("llama-2-70b").num_params == 2 * vocab * d + layers * layer + d == 68_976_648_192


def test_gpt_2_by_hand():
    d = 768
    layer = 12 * d * d + (3 + 1 + 4 + 1) * d + 4 * d  # qkv o up down; their biases; two norms with bias
    assert model("gpt-2").num_params == (50257 + 1024) * d + 12 * layer + 2 * d == 124_439_808


def test_deepseek_v3_by_hand():
    d, heads, layers = 7168, 128, 61
    attention = (
        d * 1536 + 1536 * heads * 192  # query, by its rank
        + d * (512 + 64) + 512 * heads * (128 + 128)  # latent and rotary key; expansion to keys and values
        + heads * 128 * d + 1536 + 512 + 2 * d  # output; four norms
    )  # fmt: skip
    expert = 3 * d * 2048
    routed = 3 * 3 * d * 18432 + 58 * (257 * expert + d * 256)  # three dense layers; 256 + 1 experts and the router
    total = 2 * 129280 * d + layers * attention + routed + d
    spec = read("deepseek-v3")
    assert spec.num_params == total == 671_026_404_352
    assert spec.num_active_params == total - 58 * (256 - 8) * expert == 37_552_282_624
    assert spec.kv_bytes_per_token("bf16") == layers * (512 + 64) * 2 == 70_272


def test_nemotron_h_keeps_cache_in_its_ten_attention_layers_only():
    spec = read("nemotron-h-56b")
    assert spec.kv_bytes_per_token("bf16") == 10 * 2 * 8 * 128 * 2
    # 54 Mamba layers: 256 heads x 64 x 256 in float32; 3 past inputs of 16384 + 2 x 8 x 256 channels in 16 bits
    assert spec.state_bytes == 54 * (256 * 64 * 256 * 4 + 3 * (16384 + 4096) * 2)
    assert spec.kv_bytes(0, "bf16") == spec.state_bytes


def test_chips_that_share_a_layer_add_up_once_for_each_block_that_stands_alone():
    twice = ("llama-3.1-70b", "gpt-2", "mixtral-8x7b", "deepseek-v3", "deepseek-v4-flash", "jamba-v0.1")
    twice += ("qwen3-next-80b-a3b", "rwkv-4-169m", "minimax-text-01", "kimi-linear-48b-a3b")
    once = ("falcon-7b", "falcon-40b", "gpt-j-6b", "phi-2", "mamba-2.8b", "codestral-mamba-7b", "nemotron-h-56b")
    for sums, ids in ((2, twice), (1, once)):
        assert {id: model(id).body.reductions / model(id).num_layers for id in ids} == dict.fromkeys(ids, sums)
    assert all(m.body.reductions == m.num_layers for m in models() if m.architecture in ("cohere", "cohere2"))
    neox = model("gpt-neox-20b")
    assert neox.body.reductions == neox.num_layers
    assert all(m.body.reductions in (m.num_layers, 2 * m.num_layers) for m in models())


def test_active_parameters_agree_with_cards_that_leave_out_embeddings():
    active = {id: model(id).num_active_params for id in ("gpt-oss-20b", "gpt-oss-120b", "nemotron-3-nano-30b-a3b")}
    less = {id: (total - model(id).num_embedding_params) / 1e9 for id, total in active.items()}
    assert {id: round(x, 1) for id, x in less.items()} == {  # the cards say 3.6, 5.1 and 3.2
        "gpt-oss-20b": 3.6,
        "gpt-oss-120b": 5.1,
        "nemotron-3-nano-30b-a3b": 3.2,
    }


# --- faults of other tools, impossible here ---------------------------------------------------------------------


def test_cache_counts_kv_heads_not_query_heads():  # jranaraki/vllm-fit issue 2, hahnyuan/LLM-Viewer issue 12
    assert read("llama-2-7b").kv_bytes_per_token("fp16") == 524_288
    assert read("llama-3-8b").kv_bytes_per_token("fp16") == 131_072
    assert read("llama-3-8b").kv_bytes_read(4096, "fp16") == 512 * 2**20


@pytest.mark.parametrize(
    ("id", "head_dim", "naive"), [("mistral-small-24b", 128, 160), ("gpt-oss-20b", 64, 45), ("gemma-3-12b", 256, 240)]
)
def test_head_dim_is_read_and_not_divided_out(id, head_dim, naive):  # NVIDIA/Model-Optimizer issue 2482
    spec = model(id)
    assert spec.head_dim == head_dim and spec.hidden_size // spec.num_heads == naive
    assert spec.kv_bytes_per_token("bf16") == spec.num_layers * 2 * spec.num_kv_heads * head_dim * 2


def test_fine_grained_experts_have_their_own_width():  # genz-llm 0.0.16: every expert as wide as a dense block
    spec = model("deepseek-moe-16b")
    assert spec.num_params == 16_375_728_128 and round(spec.num_active_params / 1e9, 1) == 2.8
    assert spec.kv_bytes_per_token("fp16") == 229_376


def test_hybrid_with_mamba_keeps_cache_in_four_layers_and_a_constant_state():  # genz-llm 0.0.16
    spec = model("jamba-v0.1")
    assert spec.kv_bytes_per_token("bf16") == 4 * 2 * 8 * 128 * 2
    assert spec.kv_bytes(10_000, "bf16") == 10_000 * spec.kv_bytes_per_token("bf16") + spec.state_bytes
    assert spec.state_bytes == 28 * (8192 * 16 * 4 + 3 * 8192 * 2)


@pytest.mark.parametrize("width", [28672, 14336, 11008, 1])
def test_any_positive_feed_forward_width_is_read(width):  # llm-analysis 0.2.2 wants a multiple of hidden_size
    assert ModelSpec.from_config(llama(intermediate_size=width)).intermediate_size == width


def test_windowed_cache_is_the_ideal_one():  # alvarobartt/hf-mem pull 70: 32 sequences
    assert round(32 * read("gpt-oss-20b").kv_bytes(8192, "bf16") / 2**30, 2) == 6.09


@pytest.mark.parametrize("id", READ)
def test_capacity_is_the_inverse_of_size(id):  # ai-dynamo/aiconfigurator pull 1201
    spec = read(id)
    for tokens in (1, 127, 128, 129, 5000):
        budget = spec.kv_bytes(tokens, "bf16")
        fits = spec.kv_capacity_tokens(budget, "bf16")
        if fits is None:  # no layer keeps more than its window
            assert spec.kv_bytes(10**9, "bf16") == budget
        else:
            assert spec.kv_bytes(fits, "bf16") == budget < spec.kv_bytes(fits + 1, "bf16") and fits >= tokens


@pytest.mark.parametrize("id", READ)
def test_bytes_a_token_and_bytes_of_tokens_multiply_out(id):  # redhat-performance/configiq issue 112
    spec = read(id)
    if all(reach.limit is None for reach in spec.reaches):
        assert spec.kv_bytes(1000, "bf16") == 1000 * spec.kv_bytes_per_token("bf16") + spec.state_bytes


def test_hybrid_with_linear_attention_keeps_cache_in_a_quarter_of_its_layers():  # lmstudio-bug-tracker issue 1862
    spec = read("qwen3-next-80b-a3b")
    full = 2 * spec.num_kv_heads * spec.head_dim * 2 * spec.num_layers
    assert spec.kv_bytes_per_token("bf16") * 4 == full
    assert spec.state_bytes == 36 * (32 * 128 * 128 * 4 + 3 * 8192 * 2)


def test_tied_embeddings_are_counted_once():  # Megatron-DeepSpeed issue 99
    tied, untied = (ModelSpec.from_config(llama(tie_word_embeddings=tie)) for tie in (True, False))
    assert untied.num_params - tied.num_params == 32000 * 4096
    assert tied.flop(1) == untied.flop(1)


# --- what is not known is said ----------------------------------------------------------------------------------


@pytest.mark.parametrize("id", [id for id, row in INDEX.items() if row["refused_for"]])
def test_what_cannot_be_read_is_refused_for_its_reason(id):
    with pytest.raises(ConfigError) as refusal:
        read(id)
    assert refusal.value.field == INDEX[id]["refused_for"]


def test_the_refusals_say_why():
    for id, why in {"whisper-large-v3": "encoder-decoder", "bert-base-uncased": "encoder-only"}.items():
        with pytest.raises(ConfigError, match=f"model_type is .*{why}.*give a decoder-only model"):
            read(id)
    with pytest.raises(ConfigError, match=r"routed_expert_hidden_size is 3584.*attn_res_block_size is 12"):
        read("kimi-k3")


def test_an_unknown_architecture_is_read_only_when_told_how():
    with pytest.raises(ConfigError, match=r"model_type is 'llemma'; no reader.*assume='llama'") as refusal:
        ModelSpec.from_config(llama(model_type="llemma"))
    assert refusal.value.field == "model_type"
    spec = ModelSpec.from_config(llama(model_type="llemma"), assume="llama")
    assert spec.num_params == 6_738_415_616 and "assume='llama'" in spec.assumptions[0]
    with pytest.raises(ConfigError, match="assume is 'gpt'"):
        ModelSpec.from_config(llama(), assume="gpt")


def test_a_field_that_shapes_a_model_is_never_passed_over():
    with pytest.raises(ConfigError, match=r"num_experts is 8.*the reader of llama does not know"):
        ModelSpec.from_config(llama(num_experts=8))
    with pytest.raises(ConfigError, match="sliding_window is 512"):
        ModelSpec.from_config(llama(sliding_window=512))
    for field in ("n_kv_heads", "n_head_kv", "num_kv_head", "multi_query_group_num", "num_query_groups"):
        with pytest.raises(ConfigError, match=f"{field} is 8; that shapes"):  # else plain heads, four times the cache
            ModelSpec.from_config(llama(**{field: 8}))


@pytest.mark.parametrize(
    ("id", "changes", "message"),
    [
        ("opt-6.7b", {"word_embed_proj_dim": 512}, "word_embed_proj_dim is 512; .* with 4096 only"),
        ("opt-6.7b", {"do_layer_norm_before": False}, "do_layer_norm_before is False; .* with True only"),
        ("phi-2", {"qk_layernorm": True}, "qk_layernorm is True; that shapes"),
        ("qwen3.5-397b-a17b", {"num_local_experts": 3}, "num_local_experts is 3; but num_experts is 512"),
    ],
)
def test_variants_of_a_known_architecture_that_are_not_known_are_refused(id, changes, message):
    config = json.loads((DATA / f"{id}.json").read_text(encoding="utf-8"))
    config = config | {"text_config": config["text_config"] | changes} if "text_config" in config else config | changes
    with pytest.raises(ConfigError, match=message):
        ModelSpec.from_config(config)


def test_mpt_is_read_with_plain_heads_only():
    config = {"model_type": "mpt", "d_model": 4096, "n_layers": 32, "n_heads": 32, "vocab_size": 50432}
    assert ModelSpec.from_config(config | {"attn_config": {"attn_type": "multihead_attention"}}).num_params > 6e9
    with pytest.raises(ConfigError, match=r"attn_config.attn_type is 'grouped_query_attention'"):
        ModelSpec.from_config(config | {"attn_config": {"attn_type": "grouped_query_attention"}})


def test_llama_4_says_which_layers_attend_in_chunks_in_three_ways():
    config = json.loads((DATA / "llama-4-maverick.json").read_text(encoding="utf-8"))
    text, rotates = config["text_config"], [int((i + 1) % 4 != 0) for i in range(48)]
    kinds = ["chunked_attention" if r else "full_attention" for r in rotates]
    ways = [text, text | {"no_rope_layers": rotates}, text | {"layer_types": kinds}, text | {"use_qk_norm": True}]
    specs = [ModelSpec.from_config(config | {"text_config": way}) for way in ways]
    assert len({spec.kv_bytes(100_000, "bf16") for spec in specs}) == 1
    assert any("every 4th layer" in said for said in specs[0].assumptions)
    assert not any("every 4th layer" in said for spec in specs[1:3] for said in spec.assumptions)


def test_known_architectures_state_what_they_assume():
    assert ModelSpec.from_config(llama()).assumptions == ()
    said = ModelSpec.from_config(llama(num_key_value_heads=None, tie_word_embeddings=None)).assumptions
    assert [a.split()[0] for a in said] == ["num_key_value_heads", "tie_word_embeddings"]
    assert any("drafts" in a or "draft further" in a for a in read("deepseek-v3").assumptions)
    assert any("text decoder only" in a for a in read("gemma-3-27b").assumptions)


def test_a_class_name_serves_where_model_type_is_missing():
    config = llama(model_type=None, architectures=["LlamaForCausalLM"])
    assert ModelSpec.from_config(config).architecture == "llama"
    with pytest.raises(ConfigError, match=r"architectures is .*that says mixtral, elsewhere .* says llama"):
        ModelSpec.from_config(llama(architectures=["MixtralForCausalLM"]))
    assert ModelSpec.from_config(llama(model_type="a_new_name", architectures=["LlamaForCausalLM"])).num_layers == 32


def test_experts_touched_is_the_mean_of_a_simulation():
    import random

    draw, runs = random.Random(0), 2000
    seen = sum(len({e for _ in range(5) for e in draw.sample(range(16), 3)}) for _ in range(runs)) / runs
    assert experts_touched(16, 3, 5) == pytest.approx(seen, rel=0.02)
    assert experts_touched(8, 8, 1) == 8 and experts_touched(256, 8, 1) == pytest.approx(8)
