"""How it is served: pager, scheduler, and what is built on them. Names load what they need when they are first used."""

import importlib

_HOMES = {
    "contiguous": ("Contiguous",),
    "engine": ("Engine", "Generation", "StepRecord"),
    "pager": ("Copy", "NeverFits", "Opened", "OutOfBlocks", "Pager", "UnknownSequence", "Waste"),
    "scheduler": ("Executor", "Request", "Scheduler", "Served", "Stalled", "Step", "serve"),
    "speculative": ("judge",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    try:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    except ModuleNotFoundError as missing:
        if missing.name.startswith("hwlab"):
            raise
        raise ImportError(f"hwlab.serving.{name} needs {missing.name}: pip install 'hwlab[engine]'") from missing
    globals()[name] = value
    return value


def __dir__():
    return __all__
