"""One formula, four lives: floats, NumPy, JAX and the reader's browser.

A formula is a plain Python function made of arithmetic operators and the helpers below. Called with
numbers or arrays it computes. Called with `Sym` it records itself, and `vega` writes the record down as
Vega expressions, which a page evaluates when the reader moves a control.

What agrees, and how well. ``+ - * /``, comparisons, `minimum`, `maximum`, `floor`, `ceil`, `sqrt` and
`where` give the same bits in the browser. ``**``, `exp`, `log` and `log2` may differ in the last bit or
two (`log2` of a power of two is exact, so ``ceil(log2(n))`` is safe). Text is equal character for character.

What does not: where Python raises (``1 / 0``, ``sqrt(-1)``, ``exp(1000)``) a browser and NumPy go on with
infinity or NaN. A formula guards its own domain with `where` and `maximum`.

Everything else that a browser could not repeat (branching, chained comparison, ``round``, f-strings,
``dict[key]``, iteration, ``math`` functions) raises TypeError and says what to write.
"""

from __future__ import annotations

import json
import math
import operator
import string
from collections.abc import Mapping
from dataclasses import is_dataclass
from decimal import ROUND_HALF_UP, Decimal

_INFIX = frozenset(("+", "-", "*", "/", "<", "<=", ">", ">=", "===", "!==", "&&", "||"))
_MAX_DEPTH = 100  # nesting of one emitted expression; deeper parts are named, so that no parser overflows


def _refusal(what, instead):
    def refuse(self, *_args):
        raise TypeError(f"{what} a value that only the page will know; {instead}")

    return refuse


class Sym:
    """A value that is recorded now and computed in the browser. `kind` is "number", "bool" or "text".

    ``Sym("var", name)`` is a number the page supplies under `name`; ``Sym("var", name, kind="text")`` a
    string, such as the state of a drop-down. All other instances come from operators and helpers.
    """

    __array_ufunc__ = None  # NumPy scalars and arrays then defer to the reflected operator
    __slots__ = ("args", "kind", "op")

    def __init__(self, op, *args, kind="number"):
        self.op, self.args, self.kind = op, args, kind

    def __repr__(self):
        return f"Sym({self.op!r}, {', '.join(map(repr, self.args))})"

    __bool__ = _refusal(
        "the formula branches on",
        "use where(condition, a, b) for if, & and | for and/or and chained comparisons, "
        "minimum and maximum for min and max, where(condition, b, a) for not",
    )
    __float__ = _refusal(
        "the formula asks for the float of", "use sqrt, exp, log, log2 … of hwlab.formula, not of math"
    )
    __int__ = __trunc__ = _refusal("the formula truncates", "use floor or ceil of hwlab.formula")
    __round__ = _refusal("the formula rounds", "Python and browsers round halves differently; use floor(x + 0.5)")
    __floor__ = _refusal("the formula calls math.floor on", "use floor of hwlab.formula")
    __ceil__ = _refusal("the formula calls math.ceil on", "use ceil of hwlab.formula")
    __index__ = _refusal("the formula counts or indexes with", "use lookup(table, key), or a closed form for a sum")
    __iter__ = __len__ = _refusal("the formula iterates over", "it is one value, not a sequence")
    __contains__ = _refusal("the formula searches in", "compare with == and join with |")
    __getitem__ = _refusal("the formula indexes", "only a record that lookup(table, key) returns has fields")
    __hash__ = _refusal("the formula uses as a key", "use lookup(table, key)")
    __format__ = __str__ = _refusal("the formula prints", 'use text("{x}", x=...), number(x) or si(x, "B/s")')
    __invert__ = _refusal("the formula inverts", "use where(condition, b, a) or the opposite comparison")

    def __add__(a, b):
        return _arithmetic("+", a, b)

    def __radd__(a, b):
        return _arithmetic("+", b, a)

    def __sub__(a, b):
        return _arithmetic("-", a, b)

    def __rsub__(a, b):
        return _arithmetic("-", b, a)

    def __mul__(a, b):
        return _arithmetic("*", a, b)

    def __rmul__(a, b):
        return _arithmetic("*", b, a)

    def __truediv__(a, b):
        return _arithmetic("/", a, b)

    def __rtruediv__(a, b):
        return _arithmetic("/", b, a)

    def __pow__(a, b):
        return _arithmetic("pow", a, b)

    def __rpow__(a, b):
        return _arithmetic("pow", b, a)

    def __floordiv__(a, b):
        return floor(a / b)

    def __rfloordiv__(a, b):
        return floor(b / a)

    def __mod__(a, b):  # Python's sign rule, not JavaScript's
        return a - b * floor(a / b)

    def __rmod__(a, b):
        return b - a * floor(b / a)

    def __neg__(a):
        return _arithmetic("neg", a)

    def __pos__(a):
        return _arithmetic("+", 0, a)

    def __abs__(a):
        return _arithmetic("abs", a)

    def __lt__(a, b):
        return _order("<", a, b)

    def __le__(a, b):
        return _order("<=", a, b)

    def __gt__(a, b):
        return _order(">", a, b)

    def __ge__(a, b):
        return _order(">=", a, b)

    def __eq__(a, b):
        return _equality("===", a, b)

    def __ne__(a, b):
        return _equality("!==", a, b)

    def __and__(a, b):
        return _logic("&&", a, b)

    def __rand__(a, b):
        return _logic("&&", b, a)

    def __or__(a, b):
        return _logic("||", a, b)

    def __ror__(a, b):
        return _logic("||", b, a)


def _kind_of(x):
    if isinstance(x, Sym):
        return x.kind
    if isinstance(x, str):
        return "text"
    if isinstance(x, bool) or type(x).__name__ in ("bool", "bool_"):
        return "bool"
    if isinstance(x, int | float) or (life_of(x) == "numpy" and getattr(x, "shape", None) == ()):
        return "number"
    raise TypeError(
        f"{x!r} ({type(x).__name__}) cannot be part of a formula for the page; use numbers, strings or booleans"
    )


def _arithmetic(op, *xs):
    for x in xs:
        if _kind_of(x) == "text":
            raise TypeError(f"{op!r} got text where a number is needed; build sentences with text(template, ...)")
    return Sym(op, *xs)


def _order(op, a, b):
    if "text" in (_kind_of(a), _kind_of(b)):
        raise TypeError(f"{op!r} orders text, which Python and browsers do differently; compare with == or != only")
    return Sym(op, a, b, kind="bool")


def _equality(op, a, b):
    if ("text" in (_kind_of(a), _kind_of(b))) and _kind_of(a) != _kind_of(b):
        raise TypeError(
            f"text is compared with a {_kind_of(b) if _kind_of(a) == 'text' else _kind_of(a)}, which is never equal; "
            'a drop-down of strings is Sym("var", name, kind="text")'
        )
    return Sym(op, a, b, kind="bool")


def _logic(op, a, b):
    if (_kind_of(a), _kind_of(b)) != ("bool", "bool"):
        raise TypeError(f"{'&' if op == '&&' else '|'} joins conditions; it got {_kind_of(a)} and {_kind_of(b)}")
    return Sym(op, a, b, kind="bool")


_PLAIN = frozenset((float, int, bool, str))


def life_of(*xs):
    """Which of the four lives these arguments lead: "py", "numpy", "jax" or "sym"."""
    life = "py"
    for x in xs:
        if type(x) in _PLAIN:
            continue
        if isinstance(x, Sym):
            return "sym"
        module = type(x).__module__.partition(".")[0]
        if module in ("jax", "jaxlib"):
            life = "jax"
        elif life == "py" and (module == "numpy" or hasattr(x, "__array_namespace__")):
            life = "numpy"
    return life


def real(x, *others):
    """The arguments, in floating point where any of them is an array, so that no product of integers wraps round.

    JAX counts in 32 bits and NumPy in whatever it was given; a prompt of 65,536 tokens has 2**31 pairs. Plain
    numbers among themselves and `Sym` values come back as they are.

    Examples
    --------
    >>> real(3), real(2, 3)
    (3, (2, 3))
    >>> import numpy as np
    >>> tokens = np.array([2**17], np.int32)
    >>> int((tokens * tokens)[0]), float((real(tokens) * real(tokens))[0])
    (0, 17179869184.0)
    """
    if not others and type(x) in _PLAIN:
        return x
    xs = (x, *others)
    life = life_of(*xs)
    if life in ("numpy", "jax"):
        xs = tuple(_floating(x) for x in xs)
    return xs if others else xs[0]


def _floating(x):
    whole = type(x) is int or getattr(getattr(x, "dtype", None), "kind", "") in ("i", "u")
    return x * 1.0 if whole else x


def positive(**numbers):
    """Nothing, if every number, and every element of every NumPy array, is above 0.

    JAX and `Sym` values are not looked into: the former cannot be under `jax.jit`, the latter have no value yet.

    Raises
    ------
    ValueError
        With the name and the value of the first that is not.

    Examples
    --------
    >>> positive(tokens=3, width=-5)
    Traceback (most recent call last):
    ValueError: width is -5; give a number above 0
    """
    for name, value in numbers.items():
        if type(value) is int or type(value) is float:
            if value > 0:
                continue
        elif not isinstance(value, str | bool) and value is not None:
            life = life_of(value)
            if life in ("jax", "sym") or (value > 0 if life == "py" else (value > 0).all()):
                continue
        raise ValueError(f"{name} is {value!r}; give a number above 0")


def inside(low, high, **numbers):
    """Nothing, if every number, and every element of every NumPy array, lies from `low` to `high`, these included.

    JAX and `Sym` values are not looked into, as in `positive`.

    Raises
    ------
    ValueError
        With the name and the value of the first that does not.

    Examples
    --------
    >>> inside(0, 1, acceptance=0.8, share=1)
    >>> inside(0, 1, acceptance=1.2)
    Traceback (most recent call last):
    ValueError: acceptance is 1.2; give a number from 0 to 1
    >>> inside(0, math.inf, guesses=-1)
    Traceback (most recent call last):
    ValueError: guesses is -1; give a number from 0 on
    """
    for name, value in numbers.items():
        life = life_of(value)
        if life in ("jax", "sym"):
            continue
        if life == "numpy" or (isinstance(value, int | float) and not isinstance(value, bool)):
            fits = (low <= value) & (value <= high)
            if fits if life == "py" else fits.all():
                continue
        reach = f"from {low} on" if high == math.inf else f"from {low} to {high}"
        raise ValueError(f"{name} is {value!r}; give a number {reach}")


def whole(**numbers):
    """The numbers as int, if each is a whole one of at least 1, NumPy's among them: one alone, several as a tuple.

    Raises
    ------
    TypeError, ValueError
        With the name and the value of the first that is not.

    Examples
    --------
    >>> whole(rows=3, columns=5)
    (3, 5)
    >>> whole(rows=0)
    Traceback (most recent call last):
    ValueError: rows is 0; give a whole number of at least 1
    """
    counts = []
    for name, value in numbers.items():
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{name} is {value!r} ({type(value).__name__}); give a whole number of at least 1")
        counts.append(operator.index(value))
        if counts[-1] < 1:
            raise ValueError(f"{name} is {value!r}; give a whole number of at least 1")
    return counts[0] if len(counts) == 1 else tuple(counts)


def _numpy_of(life):
    if life == "jax":
        import jax.numpy as xp
    else:
        import numpy as xp
    return xp


def maximum(a, b):
    """The greater of two numbers, element by element for arrays.

    Examples
    --------
    >>> maximum(2, 3.5)
    3.5
    """
    if type(a) in _PLAIN and type(b) in _PLAIN:
        return a if a >= b or a != a else b  # NaN wins, as in NumPy and the page
    life = life_of(a, b)
    if life == "py":  # Fraction, Decimal
        return a if a >= b or a != a else b
    return _arithmetic("max", a, b) if life == "sym" else _numpy_of(life).maximum(a, b)


def minimum(a, b):
    """The lesser of two numbers, element by element for arrays."""
    if type(a) in _PLAIN and type(b) in _PLAIN:
        return a if a <= b or a != a else b
    life = life_of(a, b)
    if life == "py":
        return a if a <= b or a != a else b
    return _arithmetic("min", a, b) if life == "sym" else _numpy_of(life).minimum(a, b)


def where(condition, a, b):
    """`a` where `condition` holds, else `b`; both may be numbers or both text.

    Both sides are computed before one is chosen, so neither may fail: guard a division's divisor.

    Examples
    --------
    >>> where(3 > 2, "memory", "compute")
    'memory'
    """
    if type(condition) is bool:
        return a if condition else b
    life = life_of(condition, a, b)
    if life == "py":
        return a if condition else b
    if life == "sym":
        kinds = {_kind_of(a), _kind_of(b)}
        if "text" in kinds and len(kinds) > 1:
            raise TypeError(f"where needs two numbers or two texts, got {_kind_of(a)} and {_kind_of(b)}")
        if _kind_of(condition) == "text":
            raise TypeError("where needs a condition, got text")
        return Sym("if", condition, a, b, kind=kinds.pop() if len(kinds) == 1 else "number")
    return _numpy_of(life).where(condition, a, b)


def _function(name, python):
    def function(x):
        life = life_of(x)
        if life == "py":
            return python(x)
        return _arithmetic(name, x) if life == "sym" else getattr(_numpy_of(life), name)(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} of a number, an array (element by element) or a Sym."
    return function


sqrt = _function("sqrt", math.sqrt)
exp = _function("exp", math.exp)
log = _function("log", math.log)
floor = _function("floor", math.floor)
ceil = _function("ceil", math.ceil)


def log2(x):
    """Logarithm to base 2; exact for powers of two in every life.

    Examples
    --------
    >>> ceil(log2(8))
    3
    """
    life = life_of(x)
    if life == "py":
        return math.log2(x)
    if life != "sym":
        return _numpy_of(life).log2(x)
    # Vega has the natural logarithm only, and log(2**29) / LN2 is 29.000000000000004
    ratio = log(x) / Sym("var", "LN2")
    whole = floor(ratio + 0.5)
    return where(2**whole == x, whole, ratio)


class _Record:
    """One row of a table of records whose key only the page knows: fields are looked up one by one."""

    __slots__ = ("_key", "_table")

    def __init__(self, table, key):
        self._table, self._key = table, key

    def _project(self, field):
        return lookup({row: field(record) for row, record in self._table.items()}, self._key)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._project(lambda record: getattr(record, name))

    def __getitem__(self, name):
        if isinstance(name, Sym):
            return _lookup_nested(self._table, self._key, name)
        for row, record in self._table.items():
            if name not in record:
                raise KeyError(f"{row!r} has no {name!r}; it has {', '.join(map(str, record))}")
        return self._project(lambda record: record[name])

    def __call__(self, *args, **kwargs):
        return self._project(lambda method: method(*args, **kwargs))


def lookup(table, key):
    """``table[key]``, also when `key` is a drop-down of the page.

    Values may be numbers, strings, or records (mappings, dataclasses, …): of a record the formula then asks
    fields, items and method results, ``lookup(chips, key).peak("bf16")``, which are looked up in their turn.

    Raises
    ------
    KeyError
        If `key` is not in the table.
    TypeError
        If the table holds what a page cannot hold, such as None.

    Examples
    --------
    >>> lookup({"bf16": 2, "fp8": 1}, "fp8")
    1
    >>> lookup({"a": {"x": 3}}, Sym("var", "which", kind="text"))["x"]
    Sym('lookup', {'a': 3}, Sym('var', 'which'))
    """
    if not isinstance(key, Sym):
        try:
            return table[key]
        except KeyError:
            raise KeyError(f"{key!r} is not in the table; it has {', '.join(map(str, table))}") from None
    if not table:
        raise ValueError("lookup needs a table with at least one row")
    row_kinds = {_kind_of(row) for row in table}
    if row_kinds != {key.kind}:
        raise TypeError(
            f"the table's keys are {' and '.join(sorted(row_kinds))}, the key is {key.kind}; "
            'a drop-down of strings is Sym("var", name, kind="text")'
        )
    values = table.values()
    if any(isinstance(v, Mapping) or is_dataclass(v) or callable(v) or hasattr(v, "_fields") for v in values):
        return _Record(table, key)
    for row, value in table.items():
        if value is None:
            raise TypeError(f"{row!r} has no value here (None); leave it out of the table")
    kinds = {_kind_of(v) for v in values}
    if len(kinds) > 1:
        raise TypeError(f"the table's values are {' and '.join(sorted(kinds))}; use one kind")
    return Sym("lookup", dict(table), key, kind=kinds.pop())


def _lookup_nested(table, key, inner):
    columns = [set(row) for row in table.values()]
    if any(c != columns[0] for c in columns):
        shared, anywhere = set.intersection(*columns), set.union(*columns)
        raise TypeError(
            f"not every row has {', '.join(sorted(map(str, anywhere - shared)))}: the page could ask for what is "
            "missing; keep the rows and columns that are complete"
        )
    # one flat table a column: the column's key chooses among lookups by row
    by_column = {c: lookup({row: record[c] for row, record in table.items()}, key) for c in next(iter(table.values()))}
    first, *rest = by_column.items()
    result = first[1]
    for column, value in rest:
        result = where(inner == column, value, result)
    return result


# --- text -----------------------------------------------------------------------------------------------------------
# The page's formatter is d3-format inside Vega: ",.3~r", ",.0f" and ".3~s". Below is the same in Python. d3 rounds
# decimal halves away from zero on the exact binary value, as Decimal does, and writes the minus sign U+2212.

_PREFIXES = "yzafpnµm kMGTPEZY"


def _check_digits(digits):
    if not isinstance(digits, int) or isinstance(digits, bool) or not 1 <= digits <= 15:
        raise ValueError(f"digits must be a whole number from 1 to 15, got {digits!r}")


def _plain_number(x, caller):
    scalar = isinstance(x, int | float) or getattr(x, "shape", None) == ()
    if not scalar or isinstance(x, bool) or "bool" in str(getattr(x, "dtype", "")):
        raise TypeError(f"{caller} formats one number, got {x!r} ({type(x).__name__})")
    return float(x)


def _significant(x, digits):
    """(digits as a string, decimal exponent) of x >= 0, halves away from zero: d3's formatDecimalParts."""
    if x == 0:
        return "0" * digits, 0
    exact = Decimal(x)
    exponent = exact.adjusted()
    scaled = exact.scaleb(digits - 1 - exponent).quantize(Decimal(1), rounding=ROUND_HALF_UP)
    if scaled >= 10**digits:  # 9.996 became 10.00
        return str(scaled)[:-1], exponent + 1
    return str(scaled), exponent


def _place_point(coefficient, point):
    if point <= 0:
        return "0." + "0" * -point + coefficient
    if point >= len(coefficient):
        return coefficient + "0" * (point - len(coefficient))
    return coefficient[:point] + "." + coefficient[point:]


def _trim(body):
    return body.rstrip("0").rstrip(".") if "." in body else body


def _sign(x, body):
    return "−" + body if x < 0 and body.strip("0.") else body


def _group(body):
    whole, point, fraction = body.partition(".")
    return f"{int(whole):,}" + point + fraction


def number(x, digits=3):
    """`x` in plain notation with `digits` significant digits, whole units kept, trailing zeros dropped.

    Parameters
    ----------
    x : number or Sym
    digits : int
        Significant digits, 1 to 15. A number with more digits before the point keeps them all
        (up to 1e15), so that 8192 tokens never read as 8,190.

    Returns
    -------
    str or Sym
        The minus sign is U+2212, as in the page.

    Examples
    --------
    >>> number(1234.4), number(0.00340), number(2.5), number(-12.345)
    ('1,234', '0.0034', '2.5', '−12.3')
    """
    _check_digits(digits)
    if isinstance(x, Sym):
        if x.kind != "number":
            raise TypeError(f"number formats a number, got {x.kind}")
        size, whole, rounded = (
            abs(x),
            Sym("format", x, ",.0f", kind="text"),
            Sym("format", x, f",.{digits}~r", kind="text"),
        )
        return where((size >= 10**digits) & (size < 1e15), whole, rounded)
    x = _plain_number(x, "number")
    if not math.isfinite(x):
        return "NaN" if math.isnan(x) else _sign(x, "Infinity")
    size = abs(x)
    if 10**digits <= size < 1e15:
        return _sign(x, f"{int(Decimal(size).quantize(Decimal(1), rounding=ROUND_HALF_UP)):,}")
    coefficient, exponent = _significant(size, digits)
    return _sign(x, _group(_trim(_place_point(coefficient, exponent + 1))))


def si(x, unit="", digits=3):
    """`x` with an SI prefix and its unit, `digits` significant digits, trailing zeros dropped.

    Examples
    --------
    >>> si(3.35e12, "B/s"), si(40.1e-6, "s"), si(0, "FLOP"), si(989.4e12, "FLOP/s", digits=4)
    ('3.35 TB/s', '40.1 µs', '0 FLOP', '989.4 TFLOP/s')
    """
    _check_digits(digits)
    if not isinstance(unit, str):
        raise TypeError(f"unit must be a string, got {unit!r}")
    if isinstance(x, Sym):
        if x.kind != "number":
            raise TypeError(f"si formats a number, got {x.kind}")
        prefixed = Sym("spaced", Sym("format", x, f".{digits}~s", kind="text"), kind="text")
        plain = Sym("text", Sym("format", x, "", kind="text"), " ", kind="text")  # infinity and NaN take no prefix
        return text("{value}{unit}", value=where(Sym("isFinite", x, kind="bool"), prefixed, plain), unit=unit)
    x = _plain_number(x, "si")
    if not math.isfinite(x):
        return ("NaN" if math.isnan(x) else _sign(x, "Infinity")) + " " + unit
    coefficient, exponent = _significant(abs(x), digits)
    step = max(-8, min(8, exponent // 3))
    point = exponent - 3 * step + 1
    if point <= 0:  # below 1e-24 d3 keeps the digits that the leading zeros leave room for, or all of them
        room = digits + point - 1
        coefficient = _significant(abs(x), room)[0] if room > 0 else _shortest(abs(x))
    return _sign(x, _trim(_place_point(coefficient, point))) + " " + _PREFIXES[8 + step].strip() + unit


def _shortest(x):
    return "".join(map(str, Decimal(repr(x)).as_tuple().digits)).rstrip("0")


def text(template, **fields):
    """`template` with each ``{name}`` replaced: strings as they are, numbers as `number` writes them.

    Returns
    -------
    str or Sym
        Sym when any field is one; the page then builds the sentence.

    Raises
    ------
    ValueError
        If names and fields do not match, or a ``{name:spec}`` asks for a format (use `number` or `si`).

    Examples
    --------
    >>> text("{bound}-bound by {ratio}×", bound=where(2 > 1, "memory", "compute"), ratio=147.66)
    'memory-bound by 148×'
    """
    parts, used = [], set()
    for literal, name, spec, conversion in string.Formatter().parse(template):
        if literal:
            parts.append(literal)
        if name is None:
            continue
        if spec or conversion:
            raise ValueError(f"{{{name}:{spec}}} asks for a format that a page does not know; use number or si")
        if name not in fields:
            raise ValueError(f"the template names {{{name}}}, the fields are {', '.join(fields) or 'none'}")
        used.add(name)
        parts.append(_as_text(name, fields[name]))
    if unused := fields.keys() - used:
        raise ValueError(f"the template does not use {', '.join(sorted(unused))}")
    if any(isinstance(p, Sym) for p in parts):
        return Sym("text", *parts, kind="text")
    return "".join(parts)


def _as_text(name, value):
    kind = value.kind if isinstance(value, Sym) else "text" if isinstance(value, str) else None
    if kind == "text":
        return value
    if kind == "bool" or isinstance(value, bool):
        raise TypeError(f"{name} is a condition; say it in words with where(condition, 'yes', 'no')")
    return number(value)


# --- the record, written down ---------------------------------------------------------------------------------------


def _literal(x):
    kind = _kind_of(x)
    if kind == "text":
        return json.dumps(x, ensure_ascii=False)
    if kind == "bool":
        return "true" if x else "false"
    if isinstance(x, int) and float(x) != x:
        raise OverflowError(f"{x} has more digits than a browser's number holds; write it as a float")
    x = float(x)
    if not math.isfinite(x):
        raise ValueError("inf and nan have no literal in a page; leave the row out or guard the formula with where")
    written = repr(int(x)) if x == int(x) and abs(x) < 1e15 else repr(x)
    return f"({written})" if written[0] == "-" else written  # a--9 would decrement


def _table(rows):
    def key(k):
        written = _literal(k)
        return f'"{written[1:-1]}"' if written[0] == "(" else written

    return "{" + ",".join(f"{key(k)}:{_literal(v)}" for k, v in rows.items()) + "}"


_PREFIX_AT_END = json.dumps("([yzafpnµmkMGTPEZY]?)$", ensure_ascii=False)


def _write(op, args):
    if op in _INFIX:
        return f"({args[0]}{op}{args[1]})"
    if op == "neg":
        return f"(-{args[0]})"
    if op == "lookup":
        return f"{args[0]}[{args[1]}]"
    if op == "text":
        return "(" + "+".join(args) + ")"
    if op == "spaced":  # "3.35T" becomes "3.35 T"
        return f"replace({args[0]},regexp({_PREFIX_AT_END}),' $1')"
    return f"{op}({','.join(args)})"


def vega(out, *, prefix="_t", share=True):
    """Write a recorded formula down as Vega expressions.

    Parameters
    ----------
    out : Sym, number, str, or a list, tuple or dict of them
        What the page needs; several outputs share their common parts.
    prefix : str
        Names of common parts are this and a number; ``"datum._t"`` makes them fields of a datum.
    share : bool
        Whether a part that is used more than once is named once. Off, the expression stands alone.

    Returns
    -------
    expression : str, or a list or dict of str as `out` was
    lets : list of (name, expression)
        Common parts in the order in which they must be computed.

    Examples
    --------
    >>> x = Sym("var", "x")
    >>> t = x * 2
    >>> vega(t + t**0.5)
    ('(_t0+pow(_t0,0.5))', [('_t0', '(x*2)')])
    """
    several = isinstance(out, list | tuple | dict)
    outs = list(out.values()) if isinstance(out, dict) else list(out) if several else [out]
    nodes, ids, seen = [], {}, {}  # equal parts get one id, so the record is a graph and not a tree

    def key_of(x):
        if not isinstance(x, Sym):
            return ("literal", _literal(x))
        if x.op == "var":
            return ("var", x.args[0])
        if x.op == "lookup":
            return ("lookup", _table(x.args[0]), seen[id(x.args[1])])
        return (x.op, *(seen[id(arg)] for arg in x.args))

    def intern(root):
        stack = [root]
        while stack:
            x = stack[-1]
            children = () if not isinstance(x, Sym) or x.op == "var" else x.args[1:] if x.op == "lookup" else x.args
            waiting = [c for c in children if id(c) not in seen]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            key = key_of(x)
            if key not in ids:
                ids[key] = len(nodes)
                nodes.append(key)
            seen[id(x)] = ids[key]
        return seen[id(root)]

    roots = [intern(x) for x in outs]
    uses = [0] * len(nodes)
    for _, *args in nodes:
        for arg in args:
            if isinstance(arg, int):
                uses[arg] += 1

    lets, written, depth = [], [], []
    for i, (op, *args) in enumerate(nodes):
        if op in ("literal", "var"):
            written.append(args[0])
            depth.append(0)
            continue
        expression = _write(op, [written[a] if isinstance(a, int) else a for a in args])
        deep = 1 + max(depth[a] for a in args if isinstance(a, int))
        if share and ((uses[i] > 1) or (deep >= _MAX_DEPTH) or (uses[i] and i in roots)):
            lets.append((f"{prefix}{len(lets)}", expression))
            expression, deep = lets[-1][0], 0
        written.append(expression)
        depth.append(deep)
    results = [written[i] for i in roots]
    if not several:
        return results[0], lets
    return (dict(zip(out, results, strict=True)) if isinstance(out, dict) else results), lets
