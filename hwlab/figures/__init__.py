"""How it is shown: data, chart, widget. Names load what they need when first used."""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

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
    "rounds": ("guesses_and_verdicts",),
    "roofline": ("batch_explorer",),
    "step_split": ("split_of_a_step",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME)


def _put_off(name: str, function: str) -> None:
    """Let ``from name import function`` import the module `name` only when the function is first called.

    Altair loads jsonschema, and that rfc3987_syntax where it is installed, as with Jupyter. Its import builds two
    parsers of addresses that no chart asks for, and takes three times as long as all the rest of Altair.
    """
    if name in sys.modules or find_spec(name) is None:
        return
    stand_in = ModuleType(name)

    def real(attribute: str) -> object:
        if attribute.startswith("__"):  # what importing itself asks
            raise AttributeError(attribute)
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return getattr(import_module(name), attribute)

    stand_in.__getattr__ = real
    setattr(stand_in, function, lambda *args: real(function)(*args))
    sys.modules[name] = stand_in


_put_off("rfc3987_syntax", "is_valid_syntax")


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
