"""Print what a model answers on one and on two devices; run with XLA's processor counted as two."""

import jax

from hwlab.serving.engine import Engine
from tests.serving.tiny import checkpoint


def main():
    jax.config.update("jax_enable_x64", True)
    model = checkpoint()
    options = {"block_tokens": 4, "max_batch": 2, "dtype": "float64", "guesses": 2}
    for devices in (1, 2):
        engine = Engine(model, draft=checkpoint(layers=1, seed=1), devices=devices, **options)
        answers = engine.generate([[1, 2, 3], [4, 5, 6, 7, 8]], max_new_tokens=10, temperature=0.7)
        pool = engine._pools[0][0]
        print([answer.ids for answer in answers], pool.addressable_shards[0].data.shape[2], len(pool.devices()))


if __name__ == "__main__":
    main()
