"""How a model is laid out on chips: into how many its layers are cut, and how many of them hold weights and cache.

Layers are cut by tensor parallelism, sequences shared among replicas; pipelines of layers are not modelled. A machine
whose memory does not hold the model is refused (`DoesNotFit`), never simulated.
"""

from __future__ import annotations

import math
from functools import cache

from hwlab.costs.efficiency import Efficiency, efficiency_of
from hwlab.costs.roofline import cache_dtype, kv_bytes_per_chip, why_not_cut
from hwlab.formula import ceil, life_of, number, real, si, whole
from hwlab.specs.chips import Chip
from hwlab.specs.models import ModelSpec


class DoesNotFit(ValueError):
    """The weights and the cache do not fit in the memory of the chips.

    Attributes
    ----------
    needed, available : float
        Bytes on the fullest chip, and bytes that a chip has for them.
    chips_required : int or None
        Least number of these chips that would do; None if no number would, because one layer cannot be cut finer.
    """

    def __init__(self, message, needed, available, chips_required):
        super().__init__(message)
        self.needed, self.available, self.chips_required = needed, available, chips_required


def check_records(model, chip, efficiency=None):
    """Refuse ids, and arguments in the wrong order, before they are taken for records."""
    if not isinstance(model, ModelSpec):
        raise TypeError(f'model is {_short(model)}; give a ModelSpec, such as hwlab.model("llama-3.1-8b")')
    if not isinstance(chip, Chip):
        raise TypeError(f'chip is {_short(chip)}; give a Chip, such as hwlab.chip("h100-sxm")')
    if efficiency is not None and not isinstance(efficiency, Efficiency):
        raise TypeError(f"efficiency is {_short(efficiency)}; give an Efficiency, such as hwlab.costs.efficiency.IDEAL")


def _short(value):
    return f"{value!r:.60} ({type(value).__name__})"


def checked(name, value):
    """`value`, if it is a whole number of at least 1 or an array of them, then in floating point.

    Arrays of one number become numbers.
    """
    if type(value) is int and 1 <= value < 2**53:
        return value
    life = life_of(value)
    if life in ("jax", "sym"):
        return real(value)
    if life == "numpy":
        if value.dtype.kind not in "iuf" or not (value >= 1).all() or not (value < 2**53).all():
            raise ValueError(f"{name} holds {value!r}; every element must be a number of at least 1")
        if value.dtype.kind == "f" and not (value == value.round()).all():
            raise ValueError(f"{name} holds {value!r}; every element must be whole")
        return value.item() if value.shape == () else real(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}); give a whole number of at least 1, or an array")
    if not 1 <= value < 2**53 or value != int(value):
        raise ValueError(f"{name} is {value!r}; give a whole number of at least 1")
    return value


def tensor_sizes(model, chip) -> tuple[int, ...]:
    """Into how many chips the layers of `model` can be cut: heads and widths must come out whole.

    Never more than the chip's scale-up fabric joins (`scale_up_chips`), and one where the chip has no published
    link, where the record does not say how many chips its links join, and where it is a whole system.

    Examples
    --------
    >>> import hwlab
    >>> tensor_sizes(hwlab.model("llama-3.1-8b"), hwlab.chip("h100-sxm"))
    (1, 2, 4, 8)
    """
    if chip.link_bytes_per_s is None or chip.scale_up_chips is None or chip.kind == "system":
        return (1,)
    return _sizes(
        model.num_heads or model.hidden_size, model.num_kv_heads, model.intermediate_size, chip.scale_up_chips
    )


@cache
def _sizes(heads, kv_heads, width, most):
    return tuple(t for t in range(1, min(heads, most) + 1) if why_not_cut(heads, kv_heads, width, t) is None)


def split(model, chip, chips, tensor, data, load, available):
    """(tensor, data, weight bytes, cache bytes) with tensor * data == chips.

    Unless told otherwise, the largest tensor with which the fullest chip holds its share of `load`, its batch,
    tokens and dtypes; the largest of all where none does.
    """
    if tensor is not None or data is not None:
        tensor, data = _checked_split(model, chip, chips, tensor, data)
        return tensor, data, *needed_bytes(model, *load, tensor, data)
    most = None
    for tensor in reversed(tensor_sizes(model, chip)):
        if chips % tensor == 0:
            found = tensor, chips // tensor, *needed_bytes(model, *load, tensor, chips // tensor)
            held = found[2] + found[3] <= available
            if held is True or (life_of(held) == "numpy" and held.all()):
                return found
            most = most or found
    return most


def _checked_split(model, chip, chips, tensor, data):
    """(tensor, data) of which one at least was asked for, the other follows."""
    sizes = tensor_sizes(model, chip)
    given = {name: whole(**{name: n}) for name, n in (("tensor", tensor), ("data", data)) if n is not None}
    for name, n in given.items():
        if chips % n:
            raise ValueError(
                f"{name} is {n}, but chips is {chips}; give a divisor of it, or chips={n * ceil(chips / n)}"
            )
    tensor, data = (
        given.get("tensor", chips // given.get("data", 1)),
        given.get("data", chips // given.get("tensor", 1)),
    )
    if tensor * data != chips:
        raise ValueError(f"chips is {chips}, tensor {tensor} and data {data}; give numbers with tensor x data = chips")
    if tensor in sizes:
        return tensor, data
    if chip.kind == "system":
        raise ValueError(
            f"tensor is {tensor}, but {chip.name} is a whole system; name the chip inside it, e.g. gb200 with chips=72"
        )
    reason = why_not_cut(model.num_heads or model.hidden_size, model.num_kv_heads, model.intermediate_size, tensor)
    if chip.link_bytes_per_s is None:
        reason = f"{chip.name} has no published link rate"
    elif reason is None and chip.scale_up_chips is None:
        return tensor, data  # the reader says what the record does not: that the links join so many
    elif reason is None:
        reason = f"the scale-up fabric of {chip.name} joins {chip.scale_up_chips} chips"
    raise ValueError(f"tensor is {tensor}, but {reason}; give one of {', '.join(map(str, sizes))}")


def usable_bytes(chip, efficiency):
    """Bytes of the memory of `chip` that weights and cache may take."""
    if chip.memory_bytes is None:
        raise ValueError(f"{chip.name} has no published memory size")
    return chip.memory_bytes * efficiency.usable_memory


def needed_bytes(model, batch, tokens, dtype, kv_dtype, tensor, data):
    """(weight bytes, cache bytes at its fullest) on the fullest chip."""
    sequences = batch if data == 1 else ceil(batch / data)
    kv = kv_bytes_per_chip(model, model.kv_bytes(tokens, kv_dtype), tensor) * sequences
    return model.weight_bytes(dtype) / tensor, kv


def chips_required(model, chip, *, batch=1, tokens=1, dtype="bf16", kv_dtype=None, efficiency=None) -> int | None:
    """Least number of `chip` that hold the weights and the cache of `batch` sequences of `tokens` tokens.

    Layers are cut as far as `tensor_sizes` allows, sequences shared among replicas.

    Returns
    -------
    int or None
        None if no number of them does.

    Raises
    ------
    ValueError
        If `batch` or `tokens` is an array, or the chip has no published memory size.

    Examples
    --------
    DeepSeek-V3 in bf16 weighs 1.34 TB, too much for the eight H100 that share a board:

    >>> import hwlab
    >>> print(*(chips_required(hwlab.model("deepseek-v3"), hwlab.chip(c), tokens=4096) for c in ("h100-sxm", "gb200")))
    None 8
    """
    check_records(model, chip, efficiency)
    for name, value in (("batch", batch), ("tokens", tokens)):
        if life_of(checked(name, value)) != "py":
            raise ValueError(f"{name} is an array; ask for one configuration at a time")
    available = usable_bytes(chip, efficiency or efficiency_of(chip))
    load = batch, tokens, dtype, kv_dtype or cache_dtype(dtype)
    return least_chips(model, chip, load, available, tensor_sizes(model, chip))[0]


def least_chips(model, chip, load, available, sizes):
    """(chips, tensor) of the smallest number of chips that hold the load, tensor one of `sizes`; None, None if none."""
    batch, *rest = load
    found = []
    for tensor in sizes:
        weights, kv = needed_bytes(model, 1, *rest, tensor, 1)
        sequences = batch if kv == 0 else math.floor((available - weights) / kv)
        if weights <= available and sequences >= 1:
            found.append((tensor * math.ceil(batch / sequences), tensor))
    return min(found, default=(None, None))


def does_not_fit(model, chip, tensor, data, load, needed, available):
    batch, tokens, dtype, _ = load
    chips = tensor * data
    required, of = least_chips(model, chip, load, available, tensor_sizes(model, chip))
    if required is None:
        remedy = "no cut of its layers among these chips is fine enough; pipelines of layers are not modelled"
        if chip.link_bytes_per_s is not None and chip.scale_up_chips is None:
            remedy += f"; the record does not say how many {chip.name} its links join: if you know, give tensor="
    elif required > chips:
        remedy = f"use {required} chips as tensor={of}, or fewer bits a weight"
    elif chips % of == 0:
        remedy = f"use tensor={of}"
    else:
        more = of * math.ceil(chips / of)
        remedy = f"{chips} chips cannot be shared out so that it does; use {required} or {more} as tensor={of}"
    return DoesNotFit(
        f"{model.name or model.id or model.architecture} in {dtype} with a cache for {number(batch)} x "
        f"{number(tokens)} tokens needs {si(needed, 'B', 4)} on each of {chips} {chip.name} (tensor {tensor} x data "
        f"{data}), which has {si(available, 'B', 4)} for it (of {si(chip.memory_bytes, 'B', 4)}): {remedy}",
        needed,
        available,
        required,
    )
