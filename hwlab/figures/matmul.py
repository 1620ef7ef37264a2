"""Charts of the matrix product: where a model's products stand on the roofline, and what a machine makes of them.

Each function turns data into an Altair chart whose ``description`` says what is to be seen; `hwlab.figures.show` puts
it in a page. No number is typed here: all come from `hwlab.specs` and `hwlab.costs`, or from a measurement handed in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import altair as alt

from hwlab.costs.roofline import achieved_flop_per_s, arithmetic_intensity, matmul_time, ridge
from hwlab.figures.theme import DASHES, SERIES
from hwlab.formula import number, si
from hwlab.specs.chips import Chip, chip
from hwlab.specs.measurements import Measurement
from hwlab.specs.models import ModelSpec, model
from hwlab.studies.flop_shares import attention_overtakes, attention_share
from hwlab.units import bytes_per_element

CLASSES = ("xeon-8480plus", "a100-sxm-80gb", "h100-sxm", "b200", "mi300x", "tpu-v5p", "tpu-v7", "groq-lpu", "wse-3")
"""A CPU, GPUs, TPUs, an LPU and a wafer."""

_SHAPES = ("circle", "square", "triangle-up", "cross", "stroke", "triangle-down")
_PREFIXED = "replace(format(datum.value, '~s'), regexp('([a-zA-Zµ])$'), ' $1')"


def layer_on_roofline(
    of: ModelSpec | None = None, on: Chip | None = None, tokens: Sequence[int] = (1, 32, 512), dtype: str = "bf16"
) -> alt.LayerChart:
    """The products of one layer of a model on a chip's roofline, for steps of several sizes.

    Parameters
    ----------
    of : ModelSpec
        By default Llama 2 70B.
    on : Chip
        By default the H100 SXM.
    tokens : sequence of int
        Tokens in a step.
    dtype : str

    Examples
    --------
    >>> layer_on_roofline().description
    'The 7 products of a layer of Llama 2 70B reach this share of the arithmetic of an H100 SXM5: 0.34 % with ...
    """
    of, on = of or model("llama-2-70b"), on or chip("h100-sxm")
    products = [product for product in of.matmuls() if product.kind != "head"]
    peak, bandwidth, size = on.peak(dtype), on.memory_bytes_per_s, bytes_per_element(dtype)
    rows = [
        {
            "tokens": _tokens(m),
            "product": product.name,
            "shape": f"{product.k} × {product.n}",
            "FLOP a byte": arithmetic_intensity(m, product.k, product.n, dtype=dtype),
            "FLOP/s": achieved_flop_per_s(m, product.k, product.n, peak, bandwidth, size),
        }
        for m in tokens
        for product in products
    ]
    corner = ridge(on, dtype)
    ends = [0.5, corner, max(corner * 8, 2 * max(row["FLOP a byte"] for row in rows))]
    roof = [{"FLOP a byte": x, "FLOP/s": min(peak, x * bandwidth)} for x in ends]
    order = [_tokens(m) for m in tokens]
    x = alt.X(
        "FLOP a byte:Q", title="FLOP a byte moved", scale=_log(ends[0], ends[-1]), axis=_decades(ends[0], ends[-1])
    )
    low, high = ends[0] * bandwidth / 2, peak * 3
    y = alt.Y(
        "FLOP/s:Q",
        title="Rate the roofline allows, FLOP/s",
        scale=_log(low, high),
        axis=_decades(low, high, prefixed=True),
    )
    legend = alt.Legend(title="Tokens in a step", columns=2)
    series = {
        "color": alt.Color(
            "tokens:N", sort=order, scale=alt.Scale(domain=order, range=list(SERIES[: len(order)])), legend=legend
        ),
        "shape": alt.Shape(
            "tokens:N", sort=order, scale=alt.Scale(domain=order, range=list(_SHAPES[: len(order)])), legend=legend
        ),
    }
    points = alt.Chart(alt.Data(values=rows)).mark_point(size=110).encode(x, y, **series)
    line = alt.Chart(alt.Data(values=roof)).mark_line(style="roof").encode(x, y)
    turn = alt.Chart(alt.Data(values=[{"FLOP a byte": corner, "says": f"ridge {number(corner)}"}]))
    marks = [
        turn.mark_rule(style="threshold").encode(x),
        turn.mark_text(style="note", align="right", baseline="bottom", dx=-6).encode(
            x, text="says:N", y=alt.value("height")
        ),
    ]
    shares = {m: [row["FLOP/s"] / peak for row in rows if row["tokens"] == _tokens(m)] for m in tokens}
    finding = ", ".join(f"{_between(share)} with {_tokens(m)}" for m, share in shares.items())
    return alt.layer(
        line,
        *marks,
        points,
        height=300,
        data=alt.Data(values=rows),
        description=f"The {len(products)} products of a layer of {of.name} reach this share of the arithmetic of "
        f"{_an(_short(on))}: {finding}.",
    )


def flop_by_context(of: ModelSpec | None = None, longest: int = 1_048_576) -> alt.LayerChart:
    """Where the FLOP of one forward pass go, weights or attention, against the length of the prompt.

    Parameters
    ----------
    of : ModelSpec
        By default Llama 2 70B.
    longest : int
        Longest prompt drawn, in tokens.

    Examples
    --------
    >>> flop_by_context().description
    'The weights of Llama 2 70B take 96.2 % ...; from 104,8... tokens on attention takes more.'
    """
    of = of or model("llama-2-70b")
    prompts = [round(2 ** (i / 2)) for i in range(20, 2 * longest.bit_length() - 1)]
    rows = [
        {"tokens": n, "part": part, "share, %": 100 * share}
        for n in prompts
        for part, share in (("weights", 1 - attention_share(of, n)), ("attention", attention_share(of, n)))
    ]
    meet = attention_overtakes(of)
    x = alt.X(
        "tokens:Q",
        title="Tokens in the prompt",
        scale=_log(prompts[0], prompts[-1]),
        axis=_decades(prompts[0], prompts[-1]),
    )
    y = alt.Y("share, %:Q", title="Share of the FLOP, %", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5))
    parts, rest = ["weights", "attention"], {"sort": None, "title": None}
    lines = (
        alt.Chart(alt.Data(values=rows))
        .mark_line()
        .encode(
            x,
            y,
            alt.Color("part:N", scale=alt.Scale(domain=parts, range=list(SERIES[:2])), **rest),
            alt.StrokeDash("part:N", scale=alt.Scale(domain=parts, range=list(DASHES[:2])), **rest),
        )
    )
    cross = alt.Chart(alt.Data(values=[{"tokens": meet, "says": number(meet)}]))
    marks = [
        cross.mark_rule(style="threshold").encode(x),
        cross.mark_text(style="note", baseline="top", dx=6).encode(x, text="says:N", y=alt.value(0)),
    ]
    return alt.layer(
        lines,
        *marks,
        height=280,
        data=alt.Data(values=rows),
        description=f"The weights of {of.name} take {number(100 - 100 * attention_share(of, 4096))} % of the FLOP of "
        f"a prompt of 4,096 tokens and attention the rest; from {number(meet)} tokens on attention takes more.",
    )


def share_of_one_token(ids: Iterable[str] = CLASSES, width: int = 8192) -> alt.LayerChart:
    """Share of a chip's arithmetic that one token uses, and the ridge, across classes of chips, at 16 bits.

    Parameters
    ----------
    ids : iterable of str
        Ids of the catalogue.
    width : int
        Of the square matrix that the token is multiplied with.

    Examples
    --------
    >>> share_of_one_token(["h100-sxm", "groq-lpu"]).description
    'One token uses 0.34 % of the arithmetic where the weights lie off the chip, and 29 % ... on the chip.'
    """
    rows = []
    for id in ids:
        of = chip(id)
        dtype = "bf16" if "bf16" in of.peak_flop_per_s else "fp16"
        peak = of.peak(dtype)
        share = achieved_flop_per_s(1, width, width, peak, of.memory_bytes_per_s, bytes_per_element(dtype)) / peak
        rows.append(
            {
                "chip": _short(of),
                "memory": "on the chip" if "SRAM" in of.memory_kind else "off the chip",
                "share, %": 100 * share,
                "ridge, FLOP a byte": ridge(of, dtype),
            }
        )
    rows.sort(key=lambda row: row["share, %"])
    for row in rows:
        row["says"] = f"{row['chip']}: {number(row['share, %'], 2)} %"
    found = []
    for place in ("off the chip", "on the chip"):
        shares = [row["share, %"] / 100 for row in rows if row["memory"] == place]
        if shares:
            of_it = "" if found else " of the arithmetic"
            found.append(f"{_between(shares)}{of_it} where the weights lie {place}")
    y = alt.Y("chip:N", sort=[row["chip"] for row in rows], title=None, axis=None)
    scale = alt.Scale(type="log", domain=[0.1, 100], nice=False)
    ticks = alt.Axis(values=[0.1, 1, 10, 100], labelExpr="format(datum.value, '~r')")
    x = alt.X("share, %:Q", title="Arithmetic that one token uses, %", scale=scale, axis=ticks)
    data = alt.Chart(alt.Data(values=rows))
    places = ["off the chip", "on the chip"]
    colour = alt.Color("memory:N", sort=None, scale=alt.Scale(domain=places, range=list(SERIES[:2])), title="Weights")
    shape = alt.Shape("memory:N", sort=None, scale=alt.Scale(domain=places, range=list(_SHAPES[:2])), title="Weights")
    return alt.layer(
        data.mark_rule(strokeWidth=3).encode(x, y, colour, x2=alt.datum(0.1)),
        data.mark_point(size=110).encode(x, y, colour, shape),
        data.mark_text(style="note", dy=-6).encode(y=y, text="says:N", x=alt.value(0)),
        height=alt.Step(44),
        data=alt.Data(values=[{key: row[key] for key in row if key != "says"} for row in rows]),
        description="One token uses " + ", and ".join(found) + ".",
    )


def ladder(rates: Mapping[str, float], peak: float | None = None) -> alt.LayerChart:
    """Rates of several ways to compute one product on one machine, slowest first as given.

    Parameters
    ----------
    rates : mapping of str to float
        FLOP/s by the name of the kernel, as measured.
    peak : float, optional
        What the machine can do at most, FLOP/s.

    Examples
    --------
    >>> ladder({"three loops": 2e6, "BLAS": 2e10}, peak=8e10).description
    'The fastest way, BLAS, is 10,000 times as fast as the slowest, three loops, and reaches 25 % of the peak.'
    """
    rows = [
        {"kernel": kernel, "FLOP/s": rate, "says": f"{kernel}: {si(rate, 'FLOP/s')}"} for kernel, rate in rates.items()
    ]
    low, high = min(rates.values()) / 5, max([*rates.values(), peak or 0]) * 2
    x = alt.X("FLOP/s:Q", title="Measured rate, FLOP/s", scale=_log(low, high), axis=_decades(low, high, prefixed=True))
    y = alt.Y("kernel:N", sort=list(rates), title=None, axis=None)
    data = alt.Chart(alt.Data(values=rows))
    layers = [
        data.mark_bar(height=12).encode(x, y, x2=alt.datum(low)),
        data.mark_text(style="note", dy=-9).encode(y=y, text="says:N", x=alt.value(0)),
    ]
    slowest, *_, fastest = sorted(rows, key=lambda row: row["FLOP/s"])
    limit = ""
    if peak is not None:
        top = alt.Chart(alt.Data(values=[{"FLOP/s": peak, "says": "peak"}]))
        layers += [
            top.mark_rule(style="threshold").encode(x),
            top.mark_text(style="note", align="right", dx=-6, baseline="bottom").encode(
                x, text="says:N", y=alt.value("height")
            ),
        ]
        limit = f", and reaches {number(100 * fastest['FLOP/s'] / peak, 2)} % of the peak"
    return alt.layer(
        *layers,
        height=alt.Step(44),
        data=alt.Data(values=[{"kernel": kernel, "rate": si(rate, "FLOP/s")} for kernel, rate in rates.items()]),
        description=f"The fastest way, {fastest['kernel']}, is {number(fastest['FLOP/s'] / slowest['FLOP/s'], 2)} "
        f"times as fast as the slowest, {slowest['kernel']}{limit}.",
    )


def gemm_times(measured: Sequence[Measurement]) -> alt.LayerChart:
    """Published times of matrix products on one chip beside the roofline's bound, against the tokens.

    Parameters
    ----------
    measured : sequence of Measurement
        Of the regime "matmul", all on one chip at one dtype, of five shapes of weight at most.

    Raises
    ------
    ValueError
        If they are of several chips or dtypes, or of more shapes than can be told apart.

    Examples
    --------
    >>> from hwlab.specs.measurements import measurements
    >>> rows = [m for m in measurements("matmul", chip="h100-sxm", dtype="bf16") if (m.k, m.n) == (8192, 8192)]
    >>> gemm_times(rows).description
    'On an H100 SXM5 at bf16, products of 8 to 8,192 tokens took 1.21 to 1.37 times the least that the roofline allows.'
    """
    kinds = {(m.chip, m.dtype) for m in measured}
    shapes = list(dict.fromkeys((m.k, m.n) for m in measured))
    if len(kinds) != 1 or len(shapes) > 5:
        raise ValueError(
            f"{len(measured)} measurements of {len(kinds)} pairs of chip and dtype, of {len(shapes)} shapes; "
            "give some of one chip and dtype, of five shapes at most"
        )
    ((id, dtype),) = kinds
    on, least, most = chip(id), min(m.tokens for m in measured), max(m.tokens for m in measured)

    def bound(m, k, n):
        return matmul_time(m, k, n, dtype=dtype, chip=on).seconds

    rows = [
        {
            "weight": f"{m.k} × {m.n}",
            "tokens": m.tokens,
            "measured, µs": m.seconds * 1e6,
            "bound, µs": bound(m.tokens, m.k, m.n) * 1e6,
            "factor": m.seconds / bound(m.tokens, m.k, m.n),
        }
        for m in measured
    ]
    grid = [least * (most / least) ** (i / 60) for i in range(61)]
    bounds = [{"weight": f"{k} × {n}", "tokens": m, "bound, µs": bound(m, k, n) * 1e6} for k, n in shapes for m in grid]
    names = [f"{k} × {n}" for k, n in shapes]
    times = [row[key] for row in rows for key in ("measured, µs", "bound, µs")]
    low, high = min(times) / 1.5, max(times) * 1.5
    x = alt.X(
        "tokens:Q", title="Tokens in the product", scale=_log(least / 1.3, most * 1.3), axis=_decades(least, most)
    )
    y = {"scale": _log(low, high), "axis": _decades(low, high), "title": "Time, µs; the lines are the bound"}
    series = {
        channel: encoding(
            "weight:N",
            sort=None,
            title="Weight, k × n",
            scale=alt.Scale(domain=names, range=list(values)),
            legend=alt.Legend(columns=2),
        )
        for channel, encoding, values in (
            ("color", alt.Color, SERIES[: len(names)]),
            ("shape", alt.Shape, _SHAPES[: len(names)]),
        )
    }
    line = alt.Chart(alt.Data(values=bounds)).mark_line(strokeWidth=1.5)
    points = alt.Chart(alt.Data(values=rows)).mark_point()
    factors = [row["factor"] for row in rows]
    return alt.layer(
        line.encode(x, alt.Y("bound, µs:Q", **y), series["color"]),
        points.encode(x, alt.Y("measured, µs:Q", **y), **series),
        height=300,
        data=alt.Data(values=rows),
        description=f"On {_an(_short(on))} at {dtype}, products of {least:,} to {most:,} tokens took "
        f"{number(min(factors))} to {number(max(factors))} times the least that the roofline allows.",
    )


# --- scales ---------------------------------------------------------------------------------------------------------


def _log(low, high):
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _decades(low, high, prefixed=False):
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first + 1) / 6))
    label = _PREFIXED if prefixed else "format(datum.value, ',~r')"
    return alt.Axis(values=[10.0**power for power in range(first, last + 1, every)], labelExpr=label)


def _between(shares):
    least, most = (f"{number(100 * share, 2)} %" for share in (min(shares), max(shares)))
    return least if least == most else f"{least} to {most}"


def _tokens(count):
    return f"{count:,} token" + "s" * (count != 1)


def _an(name: str) -> str:
    return ("an " if name[0] in "AEIOUHX" else "a ") + name


def _short(of: Chip) -> str:
    return of.name.partition(" (")[0].removesuffix(" 80GB")
