"""A formula gives the same in Python, in NumPy, under JAX and in the page's own Vega."""

import itertools
import math
import random
import struct

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hwlab import formula as f
from hwlab.formula import Sym, lookup, number, si, text, vega, where

NAMES = ("x", "y", "z")


def field(name, kind="number"):
    return Sym("var", f"datum.{name}", kind=kind)


# --- numbers --------------------------------------------------------------------------------------------------------


class TooClose(Exception):
    """The value lies where rounding alone decides: on a step of floor, or after cancellation."""


def _steady(a, b):
    if a != b and abs(a - b) <= 1e-6 * max(abs(a), abs(b)):
        raise TooClose
    return a, b


def _off_the_step(a):
    if abs(a - round(a)) < 1e-7 * max(1, abs(a)):
        raise TooClose
    return a


def _guarded(function, guard):
    return lambda *xs: function(*(xs if any(isinstance(x, Sym) for x in xs) else guard(*xs)))


def _one(check):
    return lambda a: (check(a),)


OPERATIONS = {  # name: (function of values or Syms, number of arguments)
    "add": (lambda a, b: a + b, 2),
    "subtract": (_guarded(lambda a, b: a - b, _steady), 2),
    "multiply": (lambda a, b: a * b, 2),
    "divide": (lambda a, b: a / b, 2),
    "floor divide": (lambda a, b: f.floor(OPERATIONS["step"][0](a / b)), 2),
    "remainder": (lambda a, b: (OPERATIONS["step"][0](a / b), a % b)[1], 2),
    "negate": (lambda a: -a, 1),
    "absolute": (abs, 1),
    "power": (lambda a, b: abs(a) ** where(abs(b) > 4, 0.5, b), 2),
    "square": (lambda a: a**2, 1),
    "step": (_guarded(lambda a: a, _one(_off_the_step)), 1),
    "floor": (lambda a: f.floor(OPERATIONS["step"][0](a)), 1),
    "ceil": (lambda a: f.ceil(OPERATIONS["step"][0](a)), 1),
    "maximum": (f.maximum, 2),
    "minimum": (f.minimum, 2),
    "sqrt": (lambda a: f.sqrt(abs(a)), 1),
    "exp": (lambda a: f.exp(f.minimum(a, 20)), 1),
    "log": (lambda a: f.log(abs(a) + 0.1), 1),
    "log2": (lambda a: f.log2(abs(a) + 0.1), 1),
    "where less": (_guarded(lambda a, b, c: where(a < b, c, a), lambda a, b, c: (*_steady(a, b), c)), 3),
    "where both": (
        _guarded(lambda a, b, c: where((a >= b) & (b > c), a, c), lambda a, b, c: (*_steady(a, b), _steady(b, c)[1])),
        3,
    ),
    "where either": (
        _guarded(lambda a, b, c: where((a <= b) | (a == c), b, c), lambda a, b, c: (*_steady(a, b), _steady(a, c)[1])),
        3,
    ),
}

leaves = (
    st.sampled_from(NAMES)
    | st.integers(-9, 9)
    | st.floats(-1e3, 1e3, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-3)
)
trees = st.recursive(
    leaves,
    lambda inner: st.sampled_from(sorted(OPERATIONS)).flatmap(
        lambda name: st.tuples(st.just(name), *[inner] * OPERATIONS[name][1])
    ),
    max_leaves=24,
)


def grow(tree, state):
    """The value (or record) of a random formula: the same code for both."""
    if isinstance(tree, str):
        return state[tree]
    if not isinstance(tree, tuple):
        return tree
    value = OPERATIONS[tree[0]][0](*(grow(t, state) for t in tree[1:]))
    if not isinstance(value, Sym) and not abs(value) < 1e60:
        raise TooClose
    return value


def test_200_random_formulas_agree_in_the_page_to_a_billionth(in_vega):
    asked, expected = [], []

    @settings(max_examples=600, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(trees, st.tuples(*[st.floats(0.01, 500)] * 3))
    def collect(tree, values):
        state = dict(zip(NAMES, values, strict=True))
        if len(asked) == 200 or not isinstance(tree, tuple) or not any(name in repr(tree) for name in NAMES):
            return
        try:
            value = grow(tree, state)
        except (TooClose, ZeroDivisionError, OverflowError):
            return
        asked.append((grow(tree, {name: field(name) for name in NAMES}), state))
        expected.append(value)

    collect()
    assert len(asked) == 200
    for got, want, (out, state) in zip(in_vega(asked), expected, asked, strict=True):
        assert got == pytest.approx(want, rel=1e-9, abs=1e-12), (vega(out), state)


@given(trees, st.tuples(*[st.floats(0.01, 500)] * 3))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_arrays_agree_with_numbers(tree, values):
    state = dict(zip(NAMES, values, strict=True))
    try:
        want = grow(tree, state)
    except (TooClose, ZeroDivisionError, OverflowError):
        return
    with np.errstate(all="ignore"):
        got = _grow_arrays(tree, {k: np.full(2, v) for k, v in state.items()})
    assert np.broadcast_to(got, 2) == pytest.approx(want, rel=1e-9, abs=1e-12)


def _grow_arrays(tree, state):
    if isinstance(tree, str):
        return state[tree]
    if not isinstance(tree, tuple):
        return np.float64(tree)
    return _ARRAY_OPERATIONS[tree[0]](*(_grow_arrays(t, state) for t in tree[1:]))


_ARRAY_OPERATIONS = {
    **{name: function for name, (function, _) in OPERATIONS.items()},
    "subtract": lambda a, b: a - b,
    "floor divide": lambda a, b: f.floor(a / b),
    "remainder": lambda a, b: a - b * f.floor(a / b),
    "step": lambda a: a,
    "floor": f.floor,
    "ceil": f.ceil,
    "where less": lambda a, b, c: where(a < b, c, a),
    "where both": lambda a, b, c: where((a >= b) & (b > c), a, c),
    "where either": lambda a, b, c: where((a <= b) | (a == c), b, c),
}


def test_log2_of_every_power_of_two_is_exact_in_the_page(in_vega):
    powers = [2.0**k for k in range(-40, 60)]
    got = in_vega([(f.ceil(f.log2(field("x"))), {"x": p}) for p in powers])
    assert got == list(range(-40, 60))


def test_floor_division_and_remainder_keep_pythons_sign(in_vega):
    pairs = list(itertools.product((-7, 7, -6, 0), (2, -2, 3)))
    got = in_vega([(field("a") // field("b") * 100 + field("a") % field("b"), {"a": a, "b": b}) for a, b in pairs])
    assert got == [a // b * 100 + a % b for a, b in pairs]


def test_reflected_operators_put_the_constant_first(in_vega):
    x = field("x")
    outs = [
        7 - x,
        7 / x,
        7**x,
        7 // x,
        7 % x,
        7 + x,
        7 * x,
        np.float64(7) < x,
        np.int64(7) >= x,
        True & (x > 1),
        False | (x > 1),
        +x,
    ]
    want = [4, 7 / 3, 343, 2, 1, 10, 21, False, True, True, True, 3]
    assert in_vega([(out, {"x": 3}) for out in outs]) == pytest.approx(want)


def test_numpy_scalars_and_arrays_defer_to_a_symbol():
    assert isinstance(np.float64(2) * Sym("var", "x"), Sym)
    with pytest.raises(TypeError, match="cannot be part of a formula"):
        np.ones(3) * Sym("var", "x")
    with pytest.raises(TypeError, match="cannot be part of a formula"):
        jnp.ones(3) * Sym("var", "x")


def test_jax_differentiates_through_the_helpers():
    def roof(bandwidth):  # d/dw of max(5, 12/w) is -12/w^2 where memory binds
        return f.maximum(5.0, 12.0 / bandwidth) + where(bandwidth > 100.0, 1.0, 0.0) * f.floor(bandwidth)

    assert jax.grad(roof)(2.0) == pytest.approx(-3.0)
    assert jax.grad(roof)(4.0) == 0.0
    assert f.log2(jnp.asarray(8.0)) == 3


def test_nan_wins_a_comparison_as_in_numpy():
    for pick, array_pick in ((f.maximum, np.maximum), (f.minimum, np.minimum)):
        for a, b in ((math.nan, 1.0), (1.0, math.nan)):
            assert math.isnan(pick(a, b)) and np.isnan(array_pick(a, b))


# --- lookups --------------------------------------------------------------------------------------------------------

ROWS = {
    "small": {"rate": 1.5, "name": "Small", "peaks": {"bf16": 10, "fp8": 20}},
    "big": {"rate": 4, "name": "Big", "peaks": {"bf16": 100, "fp8": 300}},
}


def test_a_record_is_looked_up_field_by_field(in_vega):
    for key in ROWS:
        row = lookup(ROWS, field("row", "text"))
        peaks = [row["peaks"]["bf16"], row["peaks"][field("dtype", "text")]]
        got = in_vega([(out, {"row": key, "dtype": "fp8"}) for out in (row["rate"] * 2, row["name"], *peaks)])
        assert got == [ROWS[key]["rate"] * 2, ROWS[key]["name"], ROWS[key]["peaks"]["bf16"], ROWS[key]["peaks"]["fp8"]]


class Machine:
    def __init__(self, watts, peaks):
        self.watts, self._peaks = watts, peaks

    def peak(self, dtype):
        return self._peaks[dtype]

    _fields = ()


def test_attributes_and_methods_of_a_record_are_looked_up_too(in_vega):
    machines = {"a": Machine(100, {"bf16": 1e12}), "b": Machine(700, {"bf16": 9e14})}
    chosen = lookup(machines, field("id", "text"))
    assert in_vega([(chosen.watts / chosen.peak("bf16"), {"id": "b"})]) == [700 / 9e14]
    assert lookup(machines, "b").watts == 700


def test_number_keys_choose_too(in_vega):
    table = {1: 10.0, 8: 20.0, 0.5: 30.0, -2: 40.0}
    assert in_vega([(lookup(table, field("n")), {"n": n}) for n in table]) == list(table.values())


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: lookup({"a": 1}, "b"), KeyError, "'b' is not in the table; it has a"),
        (lambda: lookup({}, Sym("var", "k")), ValueError, "at least one row"),
        (lambda: lookup({"a": 1}, Sym("var", "k")), TypeError, "keys are text, the key is number"),
        (lambda: lookup({"a": 1, "b": None}, Sym("var", "k", kind="text")), TypeError, "'b' has no value"),
        (lambda: lookup({"a": 1, "b": "x"}, Sym("var", "k", kind="text")), TypeError, "number and text"),
        (lambda: lookup({"a": {"x": 1}, "b": {}}, Sym("var", "k", kind="text"))["x"], KeyError, "'b' has no 'x'"),
        (
            lambda: lookup({"a": {"x": 1}, "b": {}}, Sym("var", "k", kind="text"))[Sym("var", "j", kind="text")],
            TypeError,
            "not every row has x",
        ),
    ],
)
def test_a_lookup_that_the_page_could_not_answer_is_refused(ask, error, message):
    with pytest.raises(error, match=message):
        ask()


# --- refusals -------------------------------------------------------------------------------------------------------

x, y, label = Sym("var", "x"), Sym("var", "y"), Sym("var", "label", kind="text")


@pytest.mark.parametrize(
    ("attempt", "instead"),
    [
        (lambda: 1 if x > 3 else 2, "use where"),
        (lambda: 1 < x < 3, "chained"),
        (lambda: x > 1 and y > 1, "&"),
        (lambda: not x, "where"),
        (lambda: max(x, 3), "maximum"),
        (lambda: min(x, 3), "minimum"),
        (lambda: math.sqrt(x), "sqrt"),
        (lambda: math.floor(x), "floor of hwlab"),
        (lambda: math.ceil(x), "ceil of hwlab"),
        (lambda: float(x), "not of math"),
        (lambda: int(x), "floor or ceil"),
        (lambda: math.trunc(x), "floor or ceil"),
        (lambda: round(x), r"floor\(x \+ 0.5\)"),
        (lambda: range(x), "closed form"),
        (lambda: [1, 2][x], "lookup"),
        (lambda: {1: 2}[x], "lookup"),
        (lambda: list(x), "one value"),
        (lambda: len(x), "one value"),
        (lambda: 3 in x, "=="),
        (lambda: x[0], "record"),
        (lambda: f"{x}", "text"),
        (lambda: str(x), "si"),
        (lambda: "%s" % x, "text"),  # noqa: UP031
        (lambda: ~(x > 1), "where"),
        (lambda: "a" + x, "text"),
        (lambda: label + 1, "text"),
        (lambda: x * "ab", "text"),
        (lambda: label < "b", "=="),
        (lambda: label == 3, "never equal"),
        (lambda: x == "fp8", 'kind="text"'),
        (lambda: x & y, "conditions"),
        (lambda: (x > 1) | 1, "conditions"),
        (lambda: where(x > 1, "a", 2), "two numbers or two texts"),
        (lambda: where(label, 1, 2), "condition"),
        (lambda: x + None, "cannot be part"),
        (lambda: number(label), "formats a number"),
        (lambda: si(x > 1, "s"), "formats a number"),
        (lambda: text("{c}", c=x > 1), "where"),
    ],
)
def test_what_a_browser_could_not_repeat_is_refused_with_what_to_use(attempt, instead):
    with pytest.raises(TypeError, match=instead):
        attempt()


@pytest.mark.parametrize(
    ("attempt", "error", "message"),
    [
        (lambda: vega(x + math.inf), ValueError, "inf and nan"),
        (lambda: vega(x + (2**53 + 1)), OverflowError, "write it as a float"),
        (lambda: number(3, digits=0), ValueError, "digits"),
        (lambda: number(3, digits=True), ValueError, "digits"),
        (lambda: number("3"), TypeError, "one number"),
        (lambda: number(True), TypeError, "one number"),
        (lambda: number(np.bool_(1)), TypeError, "one number"),
        (lambda: number(np.ones(2)), TypeError, "one number"),
        (lambda: si(None, "s"), TypeError, "one number"),
        (lambda: si(3, 4), TypeError, "unit"),
        (lambda: text("{a:.2f}", a=3), ValueError, "number or si"),
        (lambda: text("{b}", a=3), ValueError, "names {b}"),
        (lambda: text("a", a=3), ValueError, "does not use a"),
        (lambda: text("{a}", a=True), TypeError, "condition"),
        (lambda: text("{a}", a=None), TypeError, "one number"),
    ],
)
def test_other_mistakes_say_what_is_wrong(attempt, error, message):
    with pytest.raises(error, match=message):
        attempt()


# --- text -----------------------------------------------------------------------------------------------------------


def _awkward_numbers():
    rng = random.Random(20)
    ties = [k / 8 for k in range(-20, 20)] + [
        10.0**k * m for k in (-2, 0, 2, 5) for m in (0.5, 1.5, 2.5, 1.25, 9.995, 99.95)
    ]
    edges = [0.0, -0.0, 1e-30, 3.456e-26, 1.23456e-24, 9.995e-25, 999.9999, 999.5, 1e3, 1e15, 1e15 - 1, 1e21, 1.5e27]
    edges += [1e300, 5e-324, 123456789.123, 0.1 + 0.2, 2**53, 8192, -1234.5, 1e-7, 1.234e-7]
    spread = [rng.choice((-1, 1)) * 10 ** rng.uniform(-29, 29) for _ in range(150)]
    bits = [struct.unpack("d", struct.pack("Q", rng.getrandbits(63)))[0] for _ in range(60)]
    return [v for v in ties + edges + spread + bits if math.isfinite(v)]


def test_numbers_read_the_same_in_the_page_character_for_character(in_vega):
    values = _awkward_numbers()
    formats = [(write, digits) for digits in (1, 3, 6, 15) for write in (number, lambda v, d: si(v, "B/s", d))]
    got = in_vega([(write(field("v"), digits), {"v": v}) for write, digits in formats for v in values])
    assert got == [write(v, digits) for write, digits in formats for v in values]


def test_infinity_and_nan_read_the_same_too(in_vega):
    outs = [g(v / field("zero")) for v in (1, -1, 0) for g in (number, lambda v: si(v, "s"))]
    got = in_vega([(out, {"zero": 0}) for out in outs])
    assert got == [g(v) for v in (math.inf, -math.inf, math.nan) for g in (number, lambda v: si(v, "s"))]
    assert got == ["Infinity", "Infinity s", "−Infinity", "−Infinity s", "NaN", "NaN s"]


def test_worked_readings():
    assert number(1234) == "1,234"
    assert number(0.0034) == "0.0034"
    assert number(0.00341592) == "0.00342"
    assert number(99.96) == "100"
    assert number(-2.5, digits=1) == "−3"  # halves go away from zero
    assert number(np.float32(0.5)) == "0.5"
    assert si(3.35e12, "B/s") == "3.35 TB/s"
    assert si(999.9999, "FLOP") == "1 kFLOP"
    assert si(40.1e-6, "s") == "40.1 µs"


def sentence(compute, memory, dtype):
    ratio = f.maximum(compute, memory) / f.minimum(compute, memory)
    bound = where(memory > compute, "memory", "compute")
    return text(
        'In {dtype} it is "{bound}"-bound by {ratio}×: {{{t}}} \\ a step',
        dtype=dtype,
        bound=bound,
        ratio=ratio,
        t=si(f.maximum(compute, memory), "s"),
    )


def test_a_sentence_is_one_text_in_python_and_in_the_page(in_vega):
    states = [(0.5e-3, 40e-3, "fp8"), (3.0, 2.0, "bf16"), (1e-9, 2.5e-6, "nvfp4")]
    traced = sentence(field("c"), field("m"), field("d", "text"))
    got = in_vega([(traced, {"c": c, "m": m, "d": d}) for c, m, d in states])
    assert got == [sentence(*s) for s in states]
    assert got[0] == 'In fp8 it is "memory"-bound by 80×: {40 ms} \\ a step'


# --- the record, written down ---------------------------------------------------------------------------------------


def test_a_part_used_twice_is_written_once():
    t = Sym("var", "x")
    for _ in range(60):  # as a tree this would have 2^60 leaves
        t = t * t
    expression, lets = vega(t)
    assert len(lets) == 59
    assert len(expression) + sum(len(e) for _, e in lets) < 1000


def test_equal_parts_built_twice_are_one():
    expression, lets = vega((x + 1) * (x + 1))
    assert (expression, lets) == ("(_t0*_t0)", [("_t0", "(x+1)")])
    assert vega((x + 1) * (x + 1), share=False) == ("((x+1)*(x+1))", [])


def test_several_outputs_share_their_parts():
    cost = x * 3
    expressions, lets = vega({"ms": cost * 1e3, "both": cost + y, "cost": cost, "plain": 2})
    assert lets == [("_t0", "(x*3)")]
    assert expressions == {"ms": "(_t0*1000)", "both": "(_t0+y)", "cost": "_t0", "plain": "2"}
    assert vega([cost, y]) == (["(x*3)", "y"], [])


def grown_sum(x):
    total = x
    for i in range(1000):
        total = total + x * i
    return total


def test_a_sum_of_a_thousand_terms_stays_shallow(in_vega):
    expression, lets = vega(grown_sum(x))
    nesting = max(e.count("(") for e in (expression, *(e for _, e in lets)))
    assert len(lets) >= 9 and nesting <= 210
    assert in_vega([(grown_sum(field("x")), {"x": 2})]) == [2 + 2 * sum(range(1000))]
