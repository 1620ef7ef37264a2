"""The models that ship with the package: `model` by id, `models` all of them.

`hwlab/specs/data/models.toml` holds, for each, the shaping fields of its ``config.json`` with their source, and
the published totals. A model is read when it is asked for.
"""

from __future__ import annotations

import re
import tomllib
from difflib import get_close_matches
from functools import cache

from hwlab.specs.figure import DATA
from hwlab.specs.models.families import read
from hwlab.specs.models.spec import ModelSpec

__all__ = ["model", "models"]


class UnknownModelError(ValueError, KeyError):
    """No model of that id in the catalogue."""

    __str__ = ValueError.__str__


_HEAD = re.compile(r'^\["?([^"\]]+)"?\]$', re.MULTILINE)  # of a table, not of a table inside it


@cache
def _blocks() -> dict[str, str]:
    """The text of each table of the catalogue by name, not yet parsed: one is read far sooner than all."""
    text = (DATA / "models.toml").read_text(encoding="utf-8")
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return {head[1]: text[head.start() : end] for head, end in zip(heads, ends, strict=True)}


@cache
def _sources() -> dict[str, str]:
    return tomllib.loads(_blocks()["sources"])["sources"]


def _ids() -> list[str]:
    return [id for id in _blocks() if id != "sources"]


@cache
def model(id: str) -> ModelSpec:
    """The catalogue's model of that id.

    Parameters
    ----------
    id : str
        The vendor's name in kebab case.

    Raises
    ------
    ValueError
        Unknown id (the error is a KeyError too); the message names the nearest ones.

    Examples
    --------
    >>> m = model("llama-3.1-70b")
    >>> m.num_params, m.num_layers, m.num_kv_heads
    (70553706496, 80, 8)
    >>> model("llama-70b")
    Traceback (most recent call last):
        ...
    hwlab.specs.models.catalogue.UnknownModelError: no model 'llama-70b'; nearest are llama-7b, ...
    """
    if id not in _ids():
        near = get_close_matches(str(id).lower(), _ids(), n=4, cutoff=0.3) or _ids()
        raise UnknownModelError(f"no model {id!r}; nearest are {', '.join(near)}")
    entry = tomllib.loads(_blocks()[id])[id]
    config = entry.pop("config") | dict.fromkeys(entry.pop("null", ()))
    entry["source"] = _sources()[entry["source"]]
    return read(config, id=id, name=entry.pop("name"), assume=entry.pop("assume", None), published=entry)


def models() -> tuple[ModelSpec, ...]:
    """Every model of the catalogue, in its order.

    Examples
    --------
    >>> [m.id for m in models() if m.num_experts == 0 and m.num_params > 200e9]
    ['llama-3.1-405b', 'palm-540b']
    """
    return tuple(model(id) for id in _ids())
