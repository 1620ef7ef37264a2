"""Print what a model answers on one and on two devices, and what two exchange; with XLA's processor counted as two."""

from functools import partial

import jax

from hwlab.kernels.xla import compiled
from hwlab.serving import engine as module
from hwlab.serving.engine import Engine
from tests.serving.tiny import checkpoint


def main():
    jax.config.update("jax_enable_x64", True)
    options = {"block_tokens": 4, "max_batch": 2, "dtype": "float64"}
    model, draft = checkpoint(), checkpoint(layers=1, seed=1)
    for devices in (1, 2):
        engine = Engine(model, draft=draft, devices=devices, guesses=2, **options)
        answers = engine.generate([[1, 2, 3], [4, 5, 6, 7, 8]], max_new_tokens=10, temperature=0.7)
        pool = engine._pools[0][0]
        print([answer.ids for answer in answers], pool.addressable_shards[0].data.shape[2], len(pool.devices()))
    for said in ({}, {"tie_word_embeddings": False}, {"model_type": "qwen2"}):
        model = checkpoint(hidden=512, stop_ids=(), said=said)  # so wide that products go in halves
        answers = [Engine(model, devices=n, **options).generate([[1, 2, 3], [4, 5]], 3) for n in (1, 2)]
        print(*([answer.ids for answer in both] for both in answers), sep=";")
    print(*exchanged(Engine(model, devices=2, **options)), sep=";")


def exchanged(engine):
    """Of each program that two prompts need, what it exchanges between devices."""
    run, found = module._pass, []

    def watched(*arrays, **static):
        found.append(dict(compiled(partial(run.__wrapped__, **static), *arrays).collectives))
        return run(*arrays, **static)

    module._pass = watched
    engine.generate([[1, 2, 3], [4, 5]], max_new_tokens=2)
    return found


if __name__ == "__main__":
    main()
