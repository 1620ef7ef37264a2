"""An explorer: a formula drawn over one of its arguments, the others on sliders, the result said in words.

`explore` traces a plain Python formula to Vega expressions, so that a page computes it as the reader moves a control.
The sentence, the arithmetic and the labels are formulas too (`hwlab.formula.text`) and are computed there as well,
character for character as Python would. In a kernel the same object is an ipywidgets widget:

>>> from hwlab.formula import minimum, text
>>> def reach(seconds, gear):
...     return minimum(3 * seconds * gear, 40)
>>> explorer = explore(
...     reach,
...     x=Axis("seconds", 0, 10, 2, title="Time", unit="s"),
...     y=Result("Distance", "m", low=0, high=50),
...     sliders=[Choice("gear", {"low": 1, "high": 2}, "low", title="Gear")],
...     says=lambda seconds, gear: text("You are {metres} m away.", metres=reach(seconds, gear)),
... )
>>> explorer.value(), explorer.says()
(6.0, 'You are 6 m away.')
>>> explorer.gear = "high"                                  # set one control, by name
>>> explorer.state, explorer.value()
({'seconds': 2.0, 'gear': 'high'}, 12.0)
>>> explorer.observe(lambda change: print(change["name"], "is now", change["new"]), "seconds")
>>> explorer.seconds = 9.0                                  # as when the reader drags the slider
seconds is now 9.0
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import traitlets

from hwlab.figures import theme
from hwlab.figures.live import Live, arithmetic_markup, compiled, data_markup, slot
from hwlab.formula import Sym, lookup, number, si, text, vega

SLIDER_STOPS = 240  # of a slider without a step: finer than a finger or a pixel
CURVE_POINTS = 240
TABLE_ROWS = 12


@dataclass(frozen=True)
class Slider:
    """A number that the reader moves.

    Parameters
    ----------
    name : str
        The formula's argument.
    low, high, default : float
        Its range, ends included, and where it starts.
    step : float, optional
        Grid of the slider's stops; without one they are dense. The state itself may take any value in the range.
    scale : {"linear", "log"}
    title, unit : str
        What the reader sees: ``title`` above the slider, ``unit`` after the value.
    prefix : bool
        Whether the value takes an SI prefix (3.35 TB/s) or stands in full (8,192).

    Raises
    ------
    ValueError
        If the range is empty, the default outside it, or a logarithmic one not above zero.

    Examples
    --------
    >>> Slider("tokens", 1, 4096, 1, step=1, scale="log").stops()[:6]
    [1, 2, 3, 4, 5, 6]
    >>> Slider("tokens", 1, 4096, 5000)
    Traceback (most recent call last):
    ...
    ValueError: tokens starts at 5000, outside its range of 1 to 4096
    """

    name: str
    low: float
    high: float
    default: float
    step: float | None = None
    scale: str = "linear"
    title: str = ""
    unit: str = ""
    prefix: bool = False

    def __post_init__(self):
        _check_name(self.name)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"{self.name} ranges from {self.low} to {self.high}; give two numbers, the lower first")
        if self.scale not in ("linear", "log"):
            raise ValueError(f"{self.name} has the scale {self.scale!r}; give 'linear' or 'log'")
        if self.scale == "log" and self.low <= 0:
            raise ValueError(f"{self.name} is logarithmic from {self.low}; a logarithmic range begins above 0")
        if not self.low <= self.default <= self.high:
            raise ValueError(f"{self.name} starts at {self.default}, outside its range of {self.low} to {self.high}")
        if self.step is not None and not 0 < self.step <= self.high - self.low:
            raise ValueError(f"{self.name} has the step {self.step}; give one above 0 and within its range")

    def stops(self) -> list[float]:
        """The values that the slider stops at, the ends and the default among them."""
        if self.step is not None and self.scale == "linear":
            count = math.floor((self.high - self.low) / self.step)
            found = [self.low + i * self.step for i in range(count + 1)]
        else:
            grid = [self._at(i / (SLIDER_STOPS - 1)) for i in range(SLIDER_STOPS)]
            found = [round(x / self.step) * self.step for x in grid] if self.step else [float(f"{x:.4g}") for x in grid]
        inside = {x for x in found if self.low <= x <= self.high}
        return sorted(inside | {self.low, self.default, self.high})

    def _at(self, share):
        if self.scale == "log":
            return self.low * (self.high / self.low) ** share
        return self.low + (self.high - self.low) * share

    def shown(self, value):
        """`value` (a number or a symbol) as the reader sees it."""
        return _shown(self, value)

    def trait(self):
        return traitlets.Float(float(self.default), min=self.low, max=self.high).tag(sync=True)

    def symbol(self, name):
        return Sym("var", name)

    def argument(self, value):
        return value

    def facts(self):
        return {"name": self.name, "title": self.title or self.name, "stops": self.stops()}


@dataclass(frozen=True)
class Axis(Slider):
    """The horizontal axis, on which the reader's point moves: a `Slider` that starts at its low end unless told.

    Examples
    --------
    >>> Axis("tokens", 1, 4096, scale="log", title="Tokens in a step").default
    1
    """

    default: float | None = None

    def __post_init__(self):
        if self.default is None:
            object.__setattr__(self, "default", self.low)
        super().__post_init__()


@dataclass(frozen=True)
class Result:
    """What the formula gives: the vertical axis.

    Parameters
    ----------
    title, unit : str
    low, high : float, optional
        Ends of the axis; without them it fits what is drawn. With them the reader sees the curve move, not the axis.
    scale : {"linear", "log"}
    prefix : bool
        Whether values take an SI prefix (3.35 TB/s) or stand in full (8,192).
    """

    title: str = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    scale: str = "linear"
    prefix: bool = False

    def __post_init__(self):
        if (self.low is None) != (self.high is None):
            raise ValueError(f"the axis {self.title!r} has one end only; give low and high, or neither")

    def shown(self, value):
        return _shown(self, value)


@dataclass(frozen=True)
class Choice:
    """One of several: chips, dtypes, policies.

    Parameters
    ----------
    name : str
        The formula's argument.
    options : mapping or sequence of str
        Of a mapping the formula receives the value: a number, or a record such as a `Chip`, of which it reads fields,
        items and method results. Of a sequence it receives the string.
    default : str
        Key of the option at the start.
    title : str

    Raises
    ------
    ValueError
        If there are no two options or the default is none of them.

    Examples
    --------
    >>> Choice("dtype", ["bf16", "fp8"], "fp4")
    Traceback (most recent call last):
    ...
    ValueError: dtype starts at 'fp4'; its options are bf16, fp8
    """

    name: str
    options: Mapping[str, object] | Sequence[str]
    default: str
    title: str = ""

    def __post_init__(self):
        _check_name(self.name)
        if len(self.options) < 2:
            raise ValueError(f"{self.name} offers {len(self.options)} option(s); a choice needs two")
        if self.default not in self.options:
            raise ValueError(f"{self.name} starts at {self.default!r}; its options are {', '.join(self.options)}")

    def trait(self):
        return traitlets.Enum(list(self.options), self.default).tag(sync=True)

    def symbol(self, name):
        key = Sym("var", name, kind="text")
        return lookup(self.options, key) if isinstance(self.options, Mapping) else key

    def argument(self, value):
        return self.options[value] if isinstance(self.options, Mapping) else value

    def facts(self):
        return {"name": self.name, "title": self.title or self.name, "options": self._labels()}

    def _labels(self):
        if not isinstance(self.options, Mapping):
            return [[key, key] for key in self.options]
        return [[key, getattr(record, "name", key)] for key, record in self.options.items()]

    def shown(self, key):
        return dict(self._labels())[key]


@dataclass(frozen=True)
class Rule:
    """A threshold that moves with the state: a line across the chart and its label.

    Parameters
    ----------
    at : function
        Of the formula's arguments: where the line crosses its axis.
    label : function
        Of the same arguments: the words beside it; ``""`` hides the rule.
    axis : {"x", "y"}
        The axis that the line crosses.
    """

    at: Callable
    label: Callable
    axis: str = "x"

    def __post_init__(self):
        if self.axis not in ("x", "y"):
            raise ValueError(f"a rule crosses the axis {self.axis!r}; give 'x' or 'y'")


class Explorer(Live):
    """A formula under the reader's hand; `explore` makes one.

    Every control is a trait under its own name: read it, set it, `observe` it, link it to another widget.
    """

    kind = "explorer"
    module = "explorer"

    @property
    def state(self) -> dict:
        """The controls' values by name."""
        return {control.name: getattr(self, control.name) for control in self._controls}

    def value(self) -> float:
        """The formula at the present state.

        Raises
        ------
        ValueError
            If the state is one that the explorer refuses; the message is `refusal`.
        """
        if refusal := self.refusal():
            raise ValueError(refusal)
        return self._formula(**self._arguments())

    def refusal(self) -> str:
        """Why the present state has no answer (a figure never published, a model that does not fit), or ``""``."""
        return self._refuses(**self._arguments()) if self._refuses else ""

    def says(self) -> str:
        """The sentence beneath the figure at the present state."""
        return self.refusal() or self._says(**self._arguments())

    def arithmetic(self) -> list[str]:
        """The calculation at the present state, line by line, with numbers and units."""
        return [] if self.refusal() or not self._arithmetic else list(self._arithmetic(**self._arguments()))

    def _arguments(self):
        return {control.name: control.argument(getattr(self, control.name)) for control in self._controls}

    def page_state(self) -> dict:
        return self.state

    def __repr__(self):
        state = ", ".join(f"{name}={value!r}" for name, value in self.state.items())
        return f"Explorer({self.name}: {state})"


_TAKEN = {name for name in dir(Explorer) if not name.startswith("_")} | {"payload", "markup"}


def _shown(quantity, value):
    if quantity.prefix:
        return si(value, quantity.unit)
    return text("{value} {unit}", value=number(value), unit=quantity.unit) if quantity.unit else number(value)


def _check_name(name):
    if not re.fullmatch(r"[A-Za-z]\w*", name):
        raise ValueError(
            f"a control is named {name!r}; give the name of one of the formula's arguments, such as 'tokens'"
        )
    if name in _TAKEN:
        raise ValueError(f"a control cannot be named {name!r}: every widget has an attribute of that name already")


def explore(
    formula: Callable,
    x: Axis,
    sliders: Sequence[Slider | Choice] = (),
    *,
    says: Callable,
    y: Result = Result(),  # noqa: B008 (frozen)
    arithmetic: Callable | None = None,
    refuses: Callable | None = None,
    rules: Sequence[Rule] = (),
    also: Mapping[str, Callable] | None = None,
    name: str | None = None,
    version: int = 1,
    alt: str | None = None,
) -> Explorer:
    """Draw ``formula(x, **sliders)`` over `x`, with the reader's point on the curve and a sentence beneath.

    Every function here takes the formula's arguments by name and is made of what `hwlab.formula` offers, so that Python
    and the page give the same numbers and the same words.

    Parameters
    ----------
    formula : function
        Returns a number.
    x : Axis
        The argument on the horizontal axis; it has a slider too.
    sliders : sequence of Slider or Choice
        The other arguments, in the order in which the reader meets them.
    says : function
        Returns the sentence: what binds, by how much, what would flip it.
    y : Result, optional
        Title, unit and ends of the vertical axis.
    arithmetic : function, optional
        Returns a list of lines, the calculation with numbers and units in it.
    refuses : function, optional
        Returns why a state has no answer, or ``""``. The reader is told so, and nothing is drawn.
    rules : sequence of Rule
        Thresholds.
    also : mapping of label to function, optional
        More curves, to compare with.
    name : str, optional
        Identifies the explorer in the page and in links to a state of it; by default the formula's name.
    version : int
        Raise it when old links would be misread.
    alt : str, optional
        What is to be seen, for those who cannot.

    Raises
    ------
    ValueError
        If a control is no argument of the formula, or an argument has no control.
    TypeError
        If a function does what a page could not repeat; the message says what to write.

    Examples
    --------
    >>> explore(lambda a: 2 * a, x=Axis("b", 0, 1), says=lambda a: "")
    Traceback (most recent call last):
    ...
    ValueError: the formula has no argument 'b'; it takes a
    """
    controls = [x, *sliders]
    _check_arguments(formula, controls)
    name = name or formula.__name__.strip("_").replace("_", "-")
    if not re.fullmatch(r"[A-Za-z][\w-]*", name):
        raise ValueError(f"an explorer is named {name!r}; give letters, digits and hyphens, beginning with a letter")
    traits = {control.name: control.trait() for control in controls}
    explorer = type("Explorer", (Explorer,), traits | {"name": name})()
    explorer._controls, explorer._formula, explorer._says = controls, formula, says
    explorer._arithmetic, explorer._refuses = arithmetic, refuses
    if refusal := explorer.refusal():
        raise ValueError(f"the explorer starts in a state that it refuses: {refusal}")

    here = {control.name: control.symbol(f"in_{control.name}") for control in controls}
    value = formula(**here)
    outputs = {
        "out_value": _number(value),
        "out_you": y.shown(value),
        "out_says": says(**here),
        "out_refusal": refuses(**here) if refuses else "",
    }
    outputs |= {f"out_line{i}": line for i, line in enumerate(arithmetic(**here) if arithmetic else ())}
    outputs |= {f"out_at{i}": rule.at(**here) for i, rule in enumerate(rules)}
    outputs |= {f"out_label{i}": rule.label(**here) for i, rule in enumerate(rules)}
    outputs |= {f"shown_{c.name}": c.shown(here[c.name]) for c in controls if isinstance(c, Slider)}
    expressions, lets = vega(outputs, prefix="part_")
    also = dict(also or {})
    curves = {"": formula} | also
    along = here | {x.name: Sym("var", "datum.x")}

    spec = compiled(_chart(x, y, along, curves, rules))
    if y.low is not None:
        _hold_the_point(spec, y)
    spec["signals"] = [
        *({"name": f"in_{control.name}", "value": getattr(explorer, control.name)} for control in controls),
        *({"name": part, "update": expression} for part, expression in lets),
        *({"name": output, "update": expression} for output, expression in expressions.items()),
        *spec.get("signals", ()),
    ]
    titles = [_title(x), _title(y), *also]
    cells, lets = vega(
        [x.shown(along[x.name]), *(y.shown(curve(**along)) for curve in curves.values())], prefix="datum.p"
    )
    spec["data"].append(
        {
            "name": "table",
            "values": [{"x": stop} for stop in _some(x.stops())],
            "transform": [
                *({"type": "formula", "as": part.removeprefix("datum."), "expr": e} for part, e in lets),
                *({"type": "formula", "as": f"cell{i}", "expr": e} for i, e in enumerate(cells)),
            ],
        }
    )
    explorer.payload = {
        "name": name,
        "version": version,
        "controls": [control.facts() for control in controls],
        "lines": sum(output.startswith("out_line") for output in outputs),
        "columns": titles,
        "spec": spec,
    }
    explorer.markup = _markup(explorer, spec, y, curves, titles, alt or f"{_title(y)} against {_title(x)}.")
    return explorer


def _check_arguments(formula, controls):
    names = [control.name for control in controls]
    parameters = inspect.signature(formula).parameters
    known = ", ".join(parameters) or "none"
    for name in names:
        if name not in parameters:
            raise ValueError(f"the formula has no argument {name!r}; it takes {known}")
        if names.count(name) > 1:
            raise ValueError(f"{name!r} has two controls; an argument takes one")
    for name, parameter in parameters.items():
        if name not in names and parameter.default is parameter.empty:
            raise ValueError(f"the formula needs {name!r}, which no control sets; add a Slider or a Choice for it")


def _number(value):
    if isinstance(value, Sym) and value.kind == "number":
        return value
    raise TypeError(f"the formula returned {value!r}; an explorer draws a number that depends on its controls")


def _title(axis):
    title = axis.title or getattr(axis, "name", "Value")
    return f"{title}, {axis.unit}" if axis.unit else title


def _some(stops):
    last = len(stops) - 1
    return [stops[i] for i in sorted({round(row * last / (TABLE_ROWS - 1)) for row in range(TABLE_ROWS)})]


# --- the picture ----------------------------------------------------------------------------------------------------


def _chart(x, y, along, curves, rules):
    import altair as alt

    share = f"datum.i/{CURVE_POINTS - 1}"
    grid = f"{x.low}*pow({x.high / x.low},{share})" if x.scale == "log" else f"{x.low}+{x.high - x.low}*{share}"
    answers = "out_refusal === ''"
    here = alt.Data(values=[{}])
    encode_x = alt.X("x:Q", title=_title(x), scale=_scale(alt, x), axis=_axis(alt, x))
    encode_y = alt.Y("y:Q", title=_title(y), scale=_scale(alt, y), axis=_axis(alt, y))
    layers = []
    for i, (label, curve) in enumerate(curves.items()):
        expression, lets = vega(curve(**along), prefix="datum.p")
        line = alt.Chart(alt.sequence(0, CURVE_POINTS, as_="i")).transform_calculate(x=grid)
        for part, e in lets:
            line = line.transform_calculate(**{part.removeprefix("datum."): e})
        line = line.transform_calculate(y=expression).transform_filter(answers).encode(encode_x, encode_y)
        if not label:
            layers.append(line.mark_line(style="roof", clip=True))
            continue
        look = {"color": theme.SERIES[i - 1], "strokeDash": theme.DASHES[i]}
        end = line.transform_filter(f"datum.i === {CURVE_POINTS - 1}")
        layers += [
            line.mark_line(clip=True, **look),
            end.mark_text(style="note", align="right", dy=-6, color=look["color"], text=label),
        ]
    for i, rule in enumerate(rules):
        line = (
            alt.Chart(here)
            .transform_calculate(at=f"out_at{i}", label=f"out_label{i}")
            .transform_filter(f"{answers} && datum.label !== ''")
        )
        across = alt.X("at:Q") if rule.axis == "x" else alt.Y("at:Q")
        # the label stands on the side of the line that has room
        left = f"scale('x', out_at{i}) > width / 2"
        place = (
            {"y": alt.value(0), "align": alt.expr(f"{left} ? 'right' : 'left'"), "dx": alt.expr(f"{left} ? -6 : 6")}
            if rule.axis == "x"
            else {"x": alt.value(0), "align": "left", "dx": 6}
        )
        channel = {key: place.pop(key) for key in ("x", "y") if key in place}
        layers += [
            line.mark_rule(style="threshold", clip=True).encode(across),
            line.mark_text(style="note", baseline="top" if rule.axis == "x" else "bottom", clip=True, **place).encode(
                across, text="label:N", **channel
            ),
        ]
    you = alt.Chart(here).transform_calculate(x=f"in_{x.name}", y="out_value").transform_filter(answers)
    # the value stands to the right of the point where there is room, else above it: a curve that rises lies below there
    right = f"scale('x', in_{x.name}) > width - 120"
    above = f"({right} || scale('y', out_value) > height - 40)"
    layers += [
        you.mark_rule(style="drop").encode(alt.X("x:Q"), alt.Y("y:Q"), y2=alt.value("height")),
        you.mark_point(style="you").encode(alt.X("x:Q"), alt.Y("y:Q")),
        you.mark_text(
            style="you-label",
            align=alt.expr(f"{right} ? 'right' : 'left'"),
            dx=alt.expr(f"{right} ? -12 : 12"),
            baseline=alt.expr(f"{above} ? 'bottom' : 'top'"),
            dy=alt.expr(f"{above} ? -6 : 6"),
            text=alt.expr("out_you"),
        ).encode(alt.X("x:Q"), alt.Y("y:Q")),
    ]
    return alt.layer(*layers, height=300)


def _scale(alt, axis):
    if axis.low is None:
        return alt.Scale(type=axis.scale, zero=False)
    return alt.Scale(type=axis.scale, domain=[axis.low, axis.high], nice=False)


def _hold_the_point(spec, y):
    """Let the vertical axis of `spec` reach as far as the reader's point, where that lies beyond its ends."""
    (scale,) = (scale for scale in spec["scales"] if scale["name"] == "y")
    ends = f"[min({y.low}, out_value), max({y.high}, out_value)]"
    scale["domain"] = {"signal": f"out_refusal === '' && isFinite(out_value) ? {ends} : [{y.low}, {y.high}]"}


def _axis(alt, axis):
    pattern = "~s" if axis.prefix else ",~r"
    label = f"replace(format(datum.value, '{pattern}'), regexp('([a-zA-Zµ])$'), ' $1')"
    if axis.scale != "log" or axis.low is None:
        return alt.Axis(labelExpr=label, tickCount=5)
    first, last = math.ceil(math.log10(axis.low) - 1e-9), math.floor(math.log10(axis.high) + 1e-9)
    every = max(1, math.ceil((last - first + 1) / 6))
    beyond = 4 * every  # the renderer leaves out what lies past the ends, until a point stretches the axis
    return alt.Axis(labelExpr=label, values=[10.0**power for power in range(first - beyond, last + beyond + 1, every)])


# --- the fragment ---------------------------------------------------------------------------------------------------


def _markup(explorer, spec, y, curves, titles, alt):
    x, *_ = explorer._controls
    arguments = explorer._arguments()
    rows = []
    for stop in _some(x.stops()):
        along = arguments | {x.name: stop}
        rows.append([x.shown(stop), *(y.shown(curve(**along)) for curve in curves.values())])
    values = "".join(
        f"<div><dt>{escape(control.facts()['title'])}</dt><dd>{escape(control.shown(value))}</dd></div>"
        for control, value in zip(explorer._controls, explorer.state.values(), strict=True)
    )
    return (
        f"{slot(spec, alt)}"
        f'<div class="hw-controls"><dl class="hw-values">{values}</dl></div>'
        f'<p class="hw-say" aria-live="polite">{escape(explorer.says())}</p>'
        f'<div class="hw-more">{arithmetic_markup(explorer.arithmetic())}{data_markup(titles, rows)}</div>'
    )
