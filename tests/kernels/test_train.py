"""Training: each part does what its name says, and a small run writes a pair that loads."""

import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hwlab.kernels import train
from hwlab.kernels.checkpoints import SHIPPED, load_checkpoint
from hwlab.kernels.transformer import Config, random_weights, whole

SMALL = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
}


@pytest.fixture
def small(monkeypatch):
    """Windows of 16 letters and models that train in a moment."""
    monkeypatch.setattr(train, "CONTEXT", 16)
    monkeypatch.setattr(train, "TOKENS_A_STEP", 128)
    monkeypatch.setattr(train, "SIZES", dict.fromkeys(SHIPPED, SMALL))
    return Config.of(train.configuration(SHIPPED[0], 4))


def test_the_shares_by_quarters_are_those_of_the_whole(small):
    weights, tokens = random_weights(small), np.arange(24).reshape(2, 12) % 4
    right = jax.jit(lambda rows: jax.nn.log_softmax(jax.vmap(partial(whole, small, weights))(rows)))(tokens)
    assert jax.jit(train.log_shares, static_argnums=0)(small, weights, tokens) == pytest.approx(
        np.asarray(right), abs=1e-5
    )


def test_the_first_step_goes_by_the_rate_whatever_the_gradient_and_matrices_decay():
    """m / (1 - beta1) = g and v / (1 - beta2) = g^2, so the move is the sign of g; decay takes 0.1 of the weight."""
    weights = random_weights(Config.of(train.configuration(SHIPPED[1], 4) | SMALL), seed=1)
    gradients = jax.tree.map(lambda array: jnp.full_like(array, -1e-3), weights)
    zeros = jax.tree.map(jnp.zeros_like, weights)
    moved, _ = jax.jit(train.adamw)(weights, gradients, (zeros, zeros), 1.0, 0.5)
    assert moved.head == pytest.approx(np.asarray(weights.head + 0.5 * (1 - 0.1 * weights.head)), abs=1e-4)
    assert moved.norms == pytest.approx(np.asarray(weights.norms + 0.5), abs=1e-4)


def test_a_long_gradient_is_shortened():
    weights = random_weights(Config.of(train.configuration(SHIPPED[1], 4) | SMALL))
    zeros = jax.tree.map(jnp.zeros_like, weights)
    many = sum(array.size for array in jax.tree.leaves(weights))
    _, (mean, _) = jax.jit(train.adamw)(weights, jax.tree.map(jnp.ones_like, weights), (zeros, zeros), 1.0, 0.5)
    assert mean.norms == pytest.approx(0.1 / np.sqrt(many), rel=1e-5)


def test_what_repeats_is_learnt(small):
    ids = np.tile([0, 1, 2, 3, 3], 40)
    config, steps = small, 40
    rows = train.cut(ids)[:7]
    weights = train.train(
        config,
        partial(train.letter_loss, config),
        iter([(rows,)] * steps),
        steps=steps,
        peak=3e-2,
        seed=0,
        says=lambda line: None,
    )
    before = train.letter_loss(config, random_weights(config), rows)
    after = train.letter_loss(config, train.widened(weights), rows)
    assert weights.head.dtype == jnp.float16 and before > 1.2 and after < 0.25


def test_windows_grow_to_the_context_for_the_last_fifth(small):
    lengths = [batch[0].shape for batch in train.letter_batches(np.arange(100), 10, 0)]
    assert lengths == [(16, 9)] * 8 + [(8, 17)] * 2


def test_a_draft_that_is_the_target_costs_no_more_than_the_target_is_unsure(small):
    weights, tokens = random_weights(small, seed=2), np.arange(32).reshape(2, 16) % 4
    shares = train.shares_of(small, weights, tokens).astype(np.float64)
    unsure = -(shares * np.log(shares)).sum(axis=2).mean()
    loss = jax.jit(train.share_loss, static_argnums=0)
    assert loss(small, weights, tokens, shares) == pytest.approx(unsure, abs=1e-3)
    assert loss(small, random_weights(small, seed=3), tokens, shares) > unsure + 1e-3


def test_the_command_writes_a_pair_with_cards(small, tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("to be or not\n" * 60)
    arguments = ["train", str(tmp_path / "text.txt"), str(tmp_path / "out"), "--steps", "1", "--draft-steps", "1"]
    monkeypatch.setattr("sys.argv", arguments)
    untrained = lambda config, loss, batches, *, seed, **_: random_weights(config, seed, jnp.float16)  # noqa: E731
    monkeypatch.setattr(train, "train", untrained)  # another test trains
    train.main()
    for name in SHIPPED:
        found, folder = load_checkpoint(tmp_path / "out" / name), tmp_path / "out" / name
        assert found.tokenizer.decode(found.tokenizer.encode("to be\n")) == "to be\n"
        record, card = json.loads((folder / "training.json").read_text()), (folder / "README.md").read_text()
        assert record["letters"] == 780 and record["held"] == 702 and f"{found.spec.num_params:,}" in card
        results = [record[key] for key in ("loss", "acceptance", "acceptance_greedy") if key in record]
        assert results and all(f"| {value:.4g} |" in card for value in results)
