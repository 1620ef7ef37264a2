"""Inputs under which the claims about the compiler fare otherwise."""

import dataclasses

import jax
import jax.numpy as jnp

from hwlab.kernels.programs import attention, stored
from hwlab.kernels.xla import compiled


def _eager():
    """Arithmetic of NumPy's, which compiles nothing."""
    return {"call": lambda x: x * x}


def _on_a_cpu():
    shapes = [(64, 32), *[(32, 16)] * 3]
    return {"report": compiled(attention, *(jax.ShapeDtypeStruct(shape, "float32") for shape in shapes))}


def _real_layer(x, wq, wk, wv):
    scores = x @ wq @ (x @ wk).T
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape, bool)), scores, -jnp.inf)
    values = jax.nn.softmax(scores) @ (x @ wv)
    return x + values @ jnp.ones((values.shape[1], x.shape[1]))


# claim: inputs under which its verdict is another
TURNED = {
    "C077": (_eager, "corrected"),
    "C078": (_eager, "corrected"),
    "C079": (lambda: {"transform": lambda function: function}, "corrected"),
    "C080": (lambda: {"chips": ()}, "corrected"),
    "C081": (lambda: {"report": stored("append")}, "corrected"),
    "C082": (lambda: {"narrow": stored("attention-wide")}, "corrected"),
    "C083": (_on_a_cpu, "corrected"),
    "C084": (lambda: {"report": dataclasses.replace(stored("attention"), temporary_bytes=0)}, "confirmed"),
    "C085": (lambda: {"report": stored("attention")}, "corrected"),
    "C086": (lambda: {"whole": stored("mlp-divided")}, "confirmed"),
    "C087": (lambda: {"gap": 2048}, "confirmed"),
    "C088": (lambda: {"layer": _real_layer}, "confirmed"),
    "C096": (lambda: {"lengths": (8, 8, 8)}, "corrected"),
}
