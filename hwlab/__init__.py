"""Chips, models, kernels and serving of AI inference: the package behind the book *Silicon to Token*.

Names load what they need when they are first used, so that importing the package costs next to nothing:

>>> import hwlab
>>> hwlab.chip("h100-sxm").memory_bytes_per_s / 1e12  # TB/s
3.35
"""

import importlib

__version__ = "0.1.0"

_HOME = {
    "Chip": "specs.chips",
    "chip": "specs.chips",
    "chips": "specs.chips",
    "chips_frame": "specs.chips",
    "ModelSpec": "specs.models",
    "model": "specs.models",
    "models": "specs.models",
    "DoesNotFit": "costs.placement",
    "Estimate": "costs.estimate",
    "estimate": "costs.estimate",
    "fits": "costs.estimate",
    "measure_host": "kernels.host",
}
_PARTS = ("costs", "exercises", "figures", "formula", "kernels", "serving", "specs", "studies", "units")

__all__ = ["__version__", *_HOME, *_PARTS]


def __getattr__(name):
    if name in _PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'hwlab' has no attribute {name!r}; it has {', '.join(sorted((*_HOME, *_PARTS)))}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value  # found once, a plain attribute ever after
    return value


def __dir__():
    return sorted(__all__)
