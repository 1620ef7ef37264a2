"""Models small enough to check an engine against, and what they answer unpaged and unbatched."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from hwlab.kernels.checkpoints import Checkpoint
from hwlab.kernels.transformer import Config, random_weights, whole
from hwlab.serving.engine import _TARGET, Sampling, _uniform
from hwlab.serving.speculative import draw
from hwlab.specs.models import ModelSpec

VOCAB, LONGEST = 11, 32


def checkpoint(*, layers=2, hidden=16, seed=0, stop_ids=(0,), dtype="float64", tokenizer=None, said=()):
    """A random model; its matrices are larger than usual, so that what it writes is not always the same.

    `said` is what its configuration says beside or instead of the usual.
    """
    raw = {
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": VOCAB,
        "max_position_embeddings": LONGEST,
        "tie_word_embeddings": True,
        "rope_theta": 100.0,
        **dict(said),
    }
    config = Config.of(raw)
    weights = random_weights(config, seed, dtype)
    weights = jax.tree.map(lambda x: 8 * x if x.ndim > 1 and x.shape[0] != 2 * layers + 1 else x, weights)
    if config.qkv_bias:  # random ones are zero
        bias = jnp.cos(jnp.arange(weights.layers[0].qkv_bias.size, dtype=dtype)).reshape(config.num_kv_heads, -1)
        weights = weights._replace(layers=tuple(layer._replace(qkv_bias=bias) for layer in weights.layers))
    return Checkpoint(
        name="tiny",
        config=config,
        spec=ModelSpec.from_config(raw),
        weights=weights,
        tokenizer=tokenizer,
        stop_ids=stop_ids,
    )


class Oracle:
    """The answers of a model to one request at a time, all tokens computed anew for each next one."""

    def __init__(self, model):
        self.model = model
        run = jax.jit(partial(whole, model.config))

        @cache
        def logits(tokens):
            padded = jnp.array(tokens + (0,) * (LONGEST - len(tokens)))
            return np.asarray(run(model.weights, padded)[len(tokens) - 1])

        self.logits = logits

    def next(self, tokens, sampling=None):
        """(the next token, by how much it is likelier than the one after it)."""
        logits = self.logits(tuple(tokens))
        second, best = np.sort(logits)[-2:]
        if not sampling or not sampling.temperature:
            return int(logits.argmax()), best - second
        shares = np.exp((logits - best) / sampling.temperature)
        uniform = _uniform(jnp.array([sampling.seed], jnp.uint32), jnp.array([len(tokens)]), _TARGET, logits.dtype)
        return draw((shares / shares.sum()).tolist(), float(uniform[0])), best - second

    def answer(self, prompt, max_new_tokens, sampling: Sampling | None = None, begun=()):
        """Tokens of an answer that has `begun`, and the smallest margin up to each of them."""
        tokens, margins = [*prompt, *begun], [np.inf] * len(begun)
        while len(tokens) < len(prompt) + max_new_tokens and not (
            len(tokens) > len(prompt) and tokens[-1] in self.model.stop_ids
        ):
            token, margin = self.next(tokens, sampling)
            tokens.append(token)
            margins.append(min(margin, margins[-1] if margins else np.inf))
        return tokens[len(prompt) :], margins
