"""Reading fields of a ``config.json`` so that a wrong one is named and never used."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path

__all__ = ["ConfigError", "Fields", "load"]

# Above these a value is a slip of the keyboard, not a model. Largest in the catalogue: 126 layers, 232 heads,
# blocks 73,728 wide, 512 experts, a vocabulary of 262,208, contexts of ten million tokens.
MOST = {"layers": 10_000, "heads": 65_536, "size": 2**20, "experts": 65_536, "vocab": 2**27, "tokens": 10**9}


class ConfigError(ValueError):
    """A configuration that cannot be read; `field` is the culprit's name."""

    def __init__(self, field: str, message: str):
        super().__init__(message)
        self.field = field


def shown(value) -> str:
    """`value` as an error message shows it: short whatever it is."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**20:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value) if not isinstance(value, (dict, list)) else f"a {type(value).__name__} of {len(value)}"
    return text if len(text) <= 60 else text[:57] + "..."


def load(config) -> dict:
    """The configuration object of a path, a folder, a mapping or JSON text.

    Examples
    --------
    >>> load('{"model_type": "llama"}')
    {'model_type': 'llama'}
    """
    if isinstance(config, Mapping):
        return dict(config)
    if isinstance(config, PathLike) or (isinstance(config, str) and not config.lstrip().startswith(("{", "["))):
        try:
            path = Path(config)
            text = (path / "config.json" if path.is_dir() else path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ConfigError(
                "config",
                f"config is {shown(str(config))}, which cannot be read ({error}); give the path of a "
                "config.json or of its folder, a dict, or the JSON text",
            ) from None
    elif isinstance(config, str):
        text = config
    else:
        raise ConfigError(
            "config", f"config is a {type(config).__name__}; give a path, a dict or JSON text of a config.json"
        )
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError("config", f"config is not JSON ({error}); give the text of a config.json") from None
    if not isinstance(parsed, dict):
        raise ConfigError(
            "config", f"config is a JSON {type(parsed).__name__}; a config.json holds one object, {{...}}"
        )
    return parsed


REQUIRED = object()


class Fields:
    """A configuration object that remembers which fields were read and what had to be assumed.

    `names` are one field under its names in different architectures; two that disagree are an error. null
    counts as absent for whatever has a default.
    """

    def __init__(self, raw: Mapping, *, path: str = "", assumptions: list[str] | None = None):
        self.raw, self.path = raw, path
        self.seen: set[str] = set()
        self.inners: list[Fields] = []
        self.assumptions: list[str] = [] if assumptions is None else assumptions

    def error(self, name: str, wanted: str) -> ConfigError:
        if name not in self.raw:
            said = "is missing"
        elif self.raw[name] is None:
            said = "is null"
        else:
            said = f"is {shown(self.raw[name])}"
        return ConfigError(name, f"{self.path}{name} {said}; {wanted}")

    def has(self, name: str) -> bool:
        self.seen.add(name)
        return self.raw.get(name) is not None

    def ignore(self, *names: str) -> None:
        """These fields do not bear on what is counted."""
        self.seen.update(names)

    def _find(self, names):
        self.seen.update(names)
        given = [name for name in names if self.raw.get(name) is not None]
        for other in given[1:]:
            if self.raw[other] != self.raw[given[0]]:
                raise self.error(other, f"but {given[0]} is {shown(self.raw[given[0]])} and both name the same thing")
        return given[0] if given else None

    def integer(self, *names: str, kind: str = "size", low: int = 1, default=REQUIRED, assume: str = ""):
        """A whole number from `low` to the most of its `kind`; `assume` is told when the default is taken."""
        name, most = self._find(names), MOST[kind]
        if name is None:
            if default is REQUIRED:
                named = next((n for n in names if n in self.raw), names[0])
                others = ", ".join(n for n in names if n != named)
                or_else = f" (elsewhere called {others})" if others else ""
                raise self.error(named, f"give a whole number from {low} to {most}{or_else}")
            if assume:
                self.assume(names[0], assume)
            return default
        value = self.raw[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= most:
            raise self.error(name, f"give a whole number from {low} to {most}")
        return value

    def flag(self, name: str, default=REQUIRED, assume: str = ""):
        """true or false; null is neither."""
        self.seen.add(name)
        if name not in self.raw and default is not REQUIRED:
            if assume:
                self.assume(name, assume)
            return default
        value = self.raw.get(name)
        if not isinstance(value, bool):
            raise self.error(name, "give true or false")
        return value

    def choice(self, name: str, known, default=REQUIRED):
        """One of the texts in `known`."""
        self.seen.add(name)
        if self.raw.get(name) is None and default is not REQUIRED:
            return default
        value = self.raw.get(name)
        if not isinstance(value, str) or value not in known:
            raise self.error(name, f"give one of {', '.join(known)}")
        return value

    def sequence(self, name: str, length: int, known, default=REQUIRED):
        """A list of `length` entries, each in `known`."""
        self.seen.add(name)
        value = self.raw.get(name)
        if value is None and default is not REQUIRED:
            return default
        if not isinstance(value, (list, tuple)) or len(value) != length:
            raise self.error(name, f"give a list of {length} entries, one a layer")
        for entry in value:
            if isinstance(entry, (bool, list, dict)) or entry not in known:
                raise self.error(name, f"its entry {shown(entry)} is none of {', '.join(map(str, known))}")
        return list(value)

    def layer_numbers(self, name: str, layers: int, low: int = 0, default=REQUIRED):
        """A list of different layer numbers, counted from `low`."""
        self.seen.add(name)
        value = self.raw.get(name)
        if value is None and default is not REQUIRED:
            return default
        if (
            not isinstance(value, (list, tuple))
            or any(isinstance(i, bool) or not isinstance(i, int) or not low <= i < low + layers for i in value)
            or len(set(value)) != len(value)
        ):
            raise self.error(name, f"give a list of different layer numbers from {low} to {low + layers - 1}")
        return list(value)

    def refuse_unread(self, names: Iterable[str], reader: str) -> None:
        """Fields that shape a model but that no reader looked at are an error, unless they are off or empty."""
        unread = []
        for f in (self, *self.inners):
            unread += [(f, n) for n in names if n not in f.seen and f.raw.get(n) not in (None, False, 0, [], {}, "")]
        if unread:
            said = ", ".join(f"{f.path}{n} is {shown(f.raw[n])}" for f, n in unread)
            raise ConfigError(
                unread[0][1],
                f"{said}; that shapes a model in a way the reader of {reader} does not know. Its counts would be "
                "wrong, so none are given; remove what does not apply",
            )

    def inner(self, name: str) -> Fields:
        """The object under `name`, with its own fields."""
        self.seen.add(name)
        value = self.raw.get(name)
        if not isinstance(value, Mapping):
            raise self.error(name, "give an object, {...}")
        inner = Fields(value, path=f"{self.path}{name}.", assumptions=self.assumptions)
        self.inners.append(inner)
        return inner

    def assume(self, name: str, what: str) -> None:
        said = "null" if name in self.raw else "absent"
        self.assumptions.append(f"{self.path}{name} is {said}: {what}")
