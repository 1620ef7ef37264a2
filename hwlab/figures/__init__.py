"""How it is shown: data, chart, widget. Names load what they need when first used."""

from importlib import import_module

_HOMES = {
    "explorer": ("Axis", "Choice", "Explorer", "Result", "Rule", "Slider", "explore"),
    "chart": ("show",),
    "machine": ("Machine",),
    "blocked_matmul": ("blocked_product",),
    "attention": ("attention_by_blocks",),
    "cache": ("cache_under_loops",),
    "weighing": ("cache_by_token",),
    "pager": ("pager_machine",),
    "systolic": ("systolic_array",),
    "phases": ("request_phases",),
    "timeline": ("schedule_timeline",),
    "roofline": ("batch_explorer",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"hwlab.figures has no {name!r}; it has {', '.join(__all__)} and one module a topic")
    try:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    except ModuleNotFoundError as missing:
        if missing.name.startswith("hwlab"):
            raise
        raise ImportError(f"hwlab.figures needs {missing.name}: pip install 'hwlab[figures]'") from missing


def __dir__():
    return [*globals(), *__all__]
