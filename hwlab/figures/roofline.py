"""How much of a chip a step of few tokens uses: the roofline under the reader's hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hwlab.costs.roofline import achieved_flop_per_s, matmul_flop
from hwlab.figures.explorer import Axis, Choice, Explorer, Result, Rule, Slider, explore
from hwlab.formula import ceil, lookup, maximum, number, si, text, where
from hwlab.specs.chips import Chip, chip

CHIPS = ("h100-sxm", "a100-sxm-80gb", "b200", "mi300x", "tpu-v5p", "tpu-v7", "groq-lpu", "wse-3", "xeon-8480plus")
"""A CPU, GPUs, TPUs, an LPU and a wafer."""

_FORMATS = {"16 bits": ("bf16", "fp16"), "8 bits": ("fp8", "int8"), "4 bits": ("fp4",)}
_BYTES = {"16 bits": 2, "8 bits": 1, "4 bits": 0.5}


@dataclass(frozen=True, kw_only=True)
class _Roof:
    name: str
    bytes_per_s: float
    peaks: Mapping[str, float]  # by width; 0 where the vendor publishes none


def _roof(chip: Chip) -> _Roof:
    peaks = {
        width: max((chip.peak_flop_per_s.get(dtype, 0) for dtype in dtypes), default=0)
        for width, dtypes in _FORMATS.items()
    }
    return _Roof(name=chip.name.partition(" (")[0], bytes_per_s=chip.memory_bytes_per_s, peaks=peaks)


def achieved(tokens, chip, width, d_model):
    """FLOP/s that the roofline allows ``x[tokens, d_model] @ w[d_model, d_model]``, all elements `width` wide."""
    return achieved_flop_per_s(tokens, d_model, d_model, chip.peaks[width], chip.bytes_per_s, lookup(_BYTES, width))


def _memory_rate(tokens, chip, width, d_model):
    """FLOP/s that the memory alone would allow."""
    return matmul_flop(tokens, d_model, d_model) / _moved(tokens, width, d_model) * chip.bytes_per_s


def _moved(tokens, width, d_model):
    return (2 * tokens * d_model + d_model * d_model) * lookup(_BYTES, width)


def _flip(chip, width, d_model):
    """Tokens at which arithmetic begins to bind; 0 where none do, as x and y alone keep the memory busy."""
    ridge = chip.peaks[width] / chip.bytes_per_s * lookup(_BYTES, width)
    room = maximum(d_model - ridge, 0)
    return where(room > 0, ridge * d_model / (2 * maximum(room, 1)), 0)


def batch_sentence(tokens, chip, width, d_model):
    """What binds, by how much, and what would flip it."""
    memory = _memory_rate(tokens, chip, width, d_model)
    peak, flip = maximum(chip.peaks[width], 1), ceil(_flip(chip, width, d_model))
    bound = where(
        memory < peak,
        text(
            "the memory binds, by {ratio}: {share} % of the arithmetic of {chip} is at work. {next}",
            ratio=where(peak < 1.005 * memory, "a hair", text("{x}×", x=number(peak / memory))),
            share=number(100 * memory / peak),
            chip=chip.name,
            next=where(
                flip > 0,
                text("It flips at {flip} tokens.", flip=number(flip)),
                "No batch flips it: reading x and writing y alone keep the memory busy.",
            ),
        ),
        text(
            "the arithmetic binds, and the memory of {chip} rests {rest} % of the time. "
            "From {flip} on, a larger batch buys no more tokens a second.",
            chip=chip.name,
            rest=number(100 * (1 - peak / memory)),
            flip=where(flip <= 1, "the first token", text("{flip} tokens", flip=number(flip))),
        ),
    )
    return text("With {tokens} in a step {bound}", tokens=_count(tokens, "token"), bound=bound)


def _count(x, noun):
    return text("{x} {noun}", x=number(x), noun=where(x == 1, noun, noun + "s"))


def _flip_label(tokens, chip, width, d_model):
    flip = ceil(_flip(chip, width, d_model))
    return where((flip > 1) & (flip < 4096), text("flips at {flip}", flip=number(flip)), "")


def batch_arithmetic(tokens, chip, width, d_model):
    """The time of the arithmetic, the time of the memory, and the rate that the longer one leaves."""
    size = lookup(_BYTES, width)
    flop, moved = matmul_flop(tokens, d_model, d_model), _moved(tokens, width, d_model)
    peak = maximum(chip.peaks[width], 1)
    m, d = number(tokens), number(d_model)
    return [
        text("work = 2 × {m} × {d} × {d} = {flop}", m=m, d=d, flop=si(flop, "FLOP")),
        text("moved = (2 × {m} × {d} + {d} × {d}) × {b} B = {moved}", m=m, d=d, b=number(size), moved=si(moved, "B")),
        text(
            "arithmetic takes {flop} / {peak} = {t}",
            flop=si(flop, "FLOP"),
            peak=si(peak, "FLOP/s"),
            t=si(flop / peak, "s"),
        ),
        text(
            "memory takes {moved} / {rate} = {t}",
            moved=si(moved, "B"),
            rate=si(chip.bytes_per_s, "B/s"),
            t=si(moved / chip.bytes_per_s, "s"),
        ),
        text(
            "rate = {flop} / {t} = {rate}",
            flop=si(flop, "FLOP"),
            t=si(maximum(flop / peak, moved / chip.bytes_per_s), "s"),
            rate=si(achieved(tokens, chip, width, d_model), "FLOP/s"),
        ),
    ]


def batch_refusal(tokens, chip, width, d_model):
    """Some chips do not compute in some widths, or their vendors do not say how fast."""
    return where(
        chip.peaks[width] > 0,
        "",
        text(
            "No {width} peak of {chip} is published. Choose another width or chip.", width=_kind(width), chip=chip.name
        ),
    )


def _kind(width):
    return lookup({"16 bits": "16-bit", "8 bits": "8-bit", "4 bits": "4-bit"}, width)


def batch_explorer(chips: Sequence[str] = CHIPS) -> Explorer:
    """Rate against tokens in a step, for one d x d matrix, on a chip of the reader's choice.

    Parameters
    ----------
    chips : sequence of str
        Ids of the catalogue, the first one shown at the start.

    Examples
    --------
    >>> explorer = batch_explorer()
    >>> print(explorer.says())
    With 1 token in a step the memory binds, by 295×: ...
    """
    roofs = {id: _roof(chip(id)) for id in chips}
    return explore(
        achieved,
        x=Axis("tokens", 1, 4096, step=1, scale="log", title="Tokens in a step"),
        y=Result("Rate", "FLOP/s", low=2e11, high=4e16, scale="log", prefix=True),
        sliders=[
            Choice("chip", roofs, chips[0], title="Chip"),
            Choice("width", list(_BYTES), "16 bits", title="Width of an element"),
            Slider("d_model", 1024, 16384, 8192, step=1024, title="Model width d (matrix d × d)"),
        ],
        says=batch_sentence,
        arithmetic=batch_arithmetic,
        refuses=batch_refusal,
        rules=[
            Rule(
                lambda tokens, chip, width, d_model: maximum(_flip(chip, width, d_model), 1),
                _flip_label,
            ),
            Rule(
                lambda tokens, chip, width, d_model: chip.peaks[width],
                lambda tokens, chip, width, d_model: text("peak {peak}", peak=si(chip.peaks[width], "FLOP/s")),
                axis="y",
            ),
        ],
        name="batch",
        alt="The rate rises with the tokens in a step until it meets the peak of the chip, and then stays there.",
    )
