"""How the shipped pair was trained: a character model of Shakespeare, and a draft that learns to guess what it writes.

``python -m hwlab.kernels.train TEXT [FOLDER]`` trains both on a text, given by path or URL, and writes a checkpoint and
a model card for each. The text's last tenth is held out. The draft is trained on the target's probabilities, not on the
letters: what speculation needs is a draft that agrees (*distillation*: G. Hinton, O. Vinyals and J. Dean,
arXiv:1503.02531, 2015).
"""

from __future__ import annotations

import argparse
import json
import math
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from hwlab.kernels.attention import grouped_attention
from hwlab.kernels.checkpoints import FOLDER, SHIPPED, characters, save
from hwlab.kernels.transformer import Config, Weights, decoder, logits, random_weights

SIZES = {
    "tiny-shakespeare": {
        "hidden_size": 128,
        "intermediate_size": 352,
        "num_hidden_layers": 6,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    },
    "tiny-shakespeare-draft": {
        "hidden_size": 96,
        "intermediate_size": 256,
        "num_hidden_layers": 1,
        "num_attention_heads": 3,
        "num_key_value_heads": 1,
    },
}
CONTEXT = 512
TOKENS_A_STEP = 2048


def configuration(name: str, vocab_size: int) -> dict:
    """``config.json`` of one of the pair.

    Examples
    --------
    >>> configuration("tiny-shakespeare", 65)["head_dim"]
    32
    """
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        **SIZES[name],
        "head_dim": 32,
        "vocab_size": vocab_size,
        "max_position_embeddings": CONTEXT,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "torch_dtype": "float16",
    }


def learning_rate(step: int, steps: int, peak: float) -> float:
    """Up to `peak` over the first twentieth, then down to nothing along half a cosine.

    Examples
    --------
    >>> [round(learning_rate(step, 100, 1.0), 3) for step in (0, 4, 5, 52, 99)]
    [0.2, 1.0, 1.0, 0.508, 0.0]
    """
    warm = max(1, steps // 20)
    if step < warm:
        return peak * (step + 1) / warm
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warm) / (steps - warm)))


def adamw(weights, gradients, state, step, rate, *, decay=0.1, beta1=0.9, beta2=0.98, most=1.0):
    """One update: (weights, state). I. Loshchilov and F. Hutter, arXiv:1711.05101, 2019.

    Gradients longer than `most` in all are shortened to it. Matrices decay, vectors do not.
    """
    length = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
    gradients = jax.tree.map(lambda g: g * jnp.minimum(1.0, most / length), gradients)
    mean = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state[0], gradients)
    square = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, state[1], gradients)

    def new(path, w, m, v):
        move = m / (1 - beta1**step) / (jnp.sqrt(v / (1 - beta2**step)) + 1e-8)
        return w - rate * (move + (0.0 if path[0].name == "norms" else decay) * w)

    return jax.tree_util.tree_map_with_path(new, weights, mean, square), (mean, square)


def train(
    config: Config, loss: Callable, batches: Iterator, *, steps: int, peak: float, seed: int, says: Callable = print
) -> Weights:
    """Weights after `steps` batches of ``loss(weights, *batch)``, rounded to float16 as they will be stored."""
    weights = random_weights(config, seed)
    state = (jax.tree.map(jnp.zeros_like, weights),) * 2

    @partial(jax.jit, donate_argnums=(0, 1))
    def update(weights, state, step, rate, *batch):
        value, gradients = jax.value_and_grad(loss)(weights, *batch)
        return *adamw(weights, gradients, state, step, rate), value

    state, began = jax.tree.map(jnp.copy, state), time.perf_counter()
    for step in range(steps):
        rate = learning_rate(step, steps, peak)
        weights, state, value = update(weights, state, step + 1.0, rate, *next(batches))
        if step % 50 == 49:
            says(f"step {step + 1} of {steps}: loss {value:.3f}, {time.perf_counter() - began:.0f} s")
    return jax.tree.map(lambda array: array.astype(jnp.float16), weights)


def log_shares(config: Config, weights: Weights, tokens: jax.Array) -> jax.Array:
    """Logarithms of the probabilities behind each of `tokens` [rows, tokens]: those of `whole`, in less time."""

    def attend(_, q, k, v):  # a quarter of the queries at a time, which passes over most of the keys that none may see
        k, v = k.swapaxes(1, 2), v.swapaxes(1, 2)
        length, parts = tokens.shape[1], []
        for end in range(length // 4, length + 1, length // 4):
            seen = jnp.arange(end) <= jnp.arange(end - length // 4, end)[:, None]
            parts.append(grouped_attention(q[:, end - length // 4 : end], k[:, :, :end], v[:, :, :end], seen))
        return jnp.concatenate(parts, axis=1)

    positions = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape)
    return jax.nn.log_softmax(logits(weights, decoder(config, weights, tokens, positions, attend)))


@partial(jax.jit, static_argnames="config")
def letter_loss(config: Config, weights: Weights, windows: jax.Array) -> jax.Array:
    """Mean nats that a letter of `windows` [rows, tokens + 1] costs behind those before it."""
    said = log_shares(config, weights, windows[:, :-1])
    return -jnp.take_along_axis(said, windows[:, 1:, None], axis=2).mean()


def share_loss(config: Config, weights: Weights, tokens: jax.Array, shares: jax.Array) -> jax.Array:
    """Mean cross-entropy in nats of the probabilities behind each token against the target's `shares`."""
    said = log_shares(config, weights, tokens)
    return -(shares.astype(said.dtype) * said).sum(axis=2).mean()


def letter_batches(ids: np.ndarray, steps: int, seed: int) -> Iterator:
    """Windows from anywhere in the text; over the last fifth of the steps as long as the context, before half of it."""
    random = np.random.default_rng(seed)
    for step in range(steps):
        length = CONTEXT if step >= steps * 4 // 5 else CONTEXT // 2
        begin = random.integers(0, len(ids) - length - 1, TOKENS_A_STEP // length)
        yield (jnp.asarray(ids[begin[:, None] + np.arange(length + 1)]),)


def share_batches(windows: np.ndarray, shares: np.ndarray, seed: int) -> Iterator:
    """Windows, and the target's probabilities behind each of their tokens."""
    random = np.random.default_rng(seed)
    while True:
        rows = random.integers(0, len(windows), TOKENS_A_STEP // windows.shape[1])
        yield jnp.asarray(windows[rows]), jnp.asarray(shares[rows])


def shares_of(config: Config, weights: Weights, windows: np.ndarray) -> np.ndarray:
    """Probabilities behind each token of `windows`, [rows, tokens, vocab] in float16."""
    weights = widened(weights)
    run = jax.jit(lambda tokens: jnp.exp(log_shares(config, weights, tokens)).astype(jnp.float16))
    return np.concatenate([run(windows[i : i + 4]) for i in range(0, len(windows), 4)])


def widened(weights: Weights) -> Weights:
    """Stored weights as the model computes with them."""
    return jax.tree.map(lambda array: array.astype(jnp.float32), weights)


def cut(ids: np.ndarray) -> np.ndarray:
    """The text in windows of the context and the letter behind it, [rows, context + 1]; what is left over is left out.

    Examples
    --------
    >>> cut(np.arange(1200)).shape
    (2, 513)
    """
    return ids[: len(ids) // (CONTEXT + 1) * (CONTEXT + 1)].reshape(-1, CONTEXT + 1)


def judged(target: np.ndarray, draft: np.ndarray) -> dict:
    """How a draft's probabilities go with the target's, over all places.

    Examples
    --------
    >>> judged(np.array([[0.5, 0.5]]), np.array([[0.2, 0.8]]))
    {'acceptance': 0.7, 'acceptance_greedy': 0.0}
    """
    target, draft = target.astype(np.float64), draft.astype(np.float64)
    same = target.argmax(axis=-1) == draft.argmax(axis=-1)
    overlap = np.minimum(target, draft).sum(axis=-1).mean()
    return {"acceptance": round(float(overlap), 4), "acceptance_greedy": round(float(same.mean()), 4)}


CARD = """# {name}

{what}

It knows {vocab} characters and {context} tokens of context, and writes verse that looks like Shakespeare and means
nothing. Made for a book on inference hardware; of no use for anything else.

| | |
| --- | --- |
| parameters | {params:,} |
| layers, width, width inside the feed-forward block | {layers}, {hidden}, {inter} |
| heads of queries, of keys and values, width of one | {heads}, {kv_heads}, {head_dim} |
| stored in | float16 |
{results}| steps, tokens in each | {steps:,}, {tokens:,} |
| optimiser | AdamW, peak rate {peak}, warm-up 5 %, cosine to nothing, seed {seed} |

Text: {text}, {letters:,} characters, in the public domain. The last tenth, from character {held:,} on, was held out.
Made by `python -m hwlab.kernels.train`.
"""


def write(folder: Path, name: str, config: dict, weights: Weights, text, facts: dict, results: dict) -> None:
    """The checkpoint, and its card from the same numbers; ``training.json`` has them for programs."""
    save(folder / name, config, weights, text)
    record = facts | results
    (folder / name / "training.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    names = {
        "loss": "nats a character, held out",
        "acceptance": "guesses accepted at temperature 1, held-out text",
        "acceptance_greedy": "guesses accepted at temperature 0, held-out text",
    }
    lines = "".join(f"| {names[key]} | {value:.4g} |\n" for key, value in results.items())
    card = CARD.format(
        name=name,
        what="A character model, served by the engine of this package."
        if name == SHIPPED[0]
        else f"Drafts for `{SHIPPED[0]}`, trained on that model's probabilities.",
        vocab=config["vocab_size"],
        context=CONTEXT,
        params=sum(array.size for array in jax.tree.leaves(weights)),
        layers=config["num_hidden_layers"],
        hidden=config["hidden_size"],
        inter=config["intermediate_size"],
        heads=config["num_attention_heads"],
        kv_heads=config["num_key_value_heads"],
        head_dim=config["head_dim"],
        results=lines,
        **facts,
    )
    (folder / name / "README.md").write_text(card, encoding="utf-8")


def main() -> None:
    """Train both and write them."""
    parser = argparse.ArgumentParser(prog="python -m hwlab.kernels.train", description=__doc__.split("\n")[0])
    parser.add_argument("text", help="path or URL of a text")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="where to write; the package by default")
    parser.add_argument("--steps", type=int, default=1400, help="of the target (default %(default)s)")
    parser.add_argument("--draft-steps", type=int, default=800, help="of the draft (default %(default)s)")
    parser.add_argument("--peak", type=float, default=3e-3, help="highest learning rate (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()

    if given.text.startswith(("http://", "https://")):
        with urllib.request.urlopen(given.text) as page:
            text = page.read().decode("utf-8")
    else:
        text = Path(given.text).read_text(encoding="utf-8")
    vocabulary = characters("".join(sorted(set(text))))
    ids = np.array(vocabulary.encode(text), np.int32)
    held = len(ids) * 9 // 10
    facts = {
        "text": Path(given.text).name,
        "letters": len(ids),
        "held": held,
        "tokens": TOKENS_A_STEP,
        "peak": given.peak,
        "seed": given.seed,
    }

    name, guesser = SHIPPED
    raw = configuration(name, len(set(text)))
    config = Config.of(raw)
    weights = train(
        config,
        partial(letter_loss, config),
        letter_batches(ids[:held], given.steps, given.seed),
        steps=given.steps,
        peak=given.peak,
        seed=given.seed,
    )
    windows, unseen = cut(ids[:held])[:, :-1], cut(ids[held:])
    right = shares_of(config, weights, unseen[:, :-1])
    cost = np.mean([letter_loss(config, widened(weights), row[None]) for row in unseen])
    write(given.folder, name, raw, weights, vocabulary, facts | {"steps": given.steps}, {"loss": round(float(cost), 4)})

    raw = configuration(guesser, len(set(text)))
    small = Config.of(raw)
    guesses = train(
        small,
        partial(share_loss, small),
        share_batches(windows, shares_of(config, weights, windows), given.seed),
        steps=given.draft_steps,
        peak=given.peak,
        seed=given.seed + 1,
    )
    found = judged(right, shares_of(small, guesses, unseen[:, :-1]))
    write(given.folder, guesser, raw, guesses, vocabulary, facts | {"steps": given.draft_steps}, found)


if __name__ == "__main__":
    main()
