"""How it is served: the pager, and what is built on it. Names load what they need when they are first used."""

import importlib

_HOME = {
    "Copy": "pager",
    "NeverFits": "pager",
    "Opened": "pager",
    "OutOfBlocks": "pager",
    "Pager": "pager",
    "UnknownSequence": "pager",
    "Waste": "pager",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return __all__
