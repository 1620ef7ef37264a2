"""Code exercises: the reader's function is what runs, within bounds, and every planted mistake is told by name."""

import ast
import inspect
import linecache
import random
import re
import sys
import threading
import time
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.exercises import bounds, check, check_source, question, questions
from hwlab.exercises.base import Code

CODE = [q for q in questions() if isinstance(q, Code)]
HEAD = "def product_bytes(m, k, n, itemsize):\n"
each = pytest.mark.parametrize("q", CODE, ids=[q.id for q in CODE])


@pytest.fixture
def short(monkeypatch):
    """Bounds that a test need not wait for."""
    monkeypatch.setattr(bounds.bounded.__wrapped__, "__defaults__", (0.2, 2**24))


# ---- Mutants ---------------------------------------------------------------------------------------------------------


@each
def test_the_reference_passes_and_five_mutants_at_least_are_caught_by_name(q):
    assert check(q.id, q.answer)
    assert len(q.mutants) >= 5 and len({mutant.reply for mutant in q.mutants}) == len(q.mutants)
    for mutant in q.mutants:
        reply = check(q.id, mutant.function)
        assert not reply and reply.says.startswith(f"{mutant.reply} For "), reply


@each
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_on_any_random_inputs_the_mutants_differ_from_the_reference_and_from_each_other(q, seed):
    generator = random.Random(seed)
    cases = [q.draw(generator) for _ in range(40)]
    programs = [q.answer, *(mutant.function for mutant in q.mutants)]
    results = [tuple(float(program(**case)) for case in cases) for program in programs]
    assert len(set(results)) == len(programs)


class Rewrite(ast.NodeTransformer):
    """The same arithmetic in another order, with other names and other kinds of number."""

    def __init__(self, generator):
        self.generator = generator

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, (ast.Add, ast.Mult)) and self.generator.random() < 0.5:
            node.left, node.right = node.right, node.left
        if isinstance(node.op, ast.Mult) and isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Add):
            terms = [ast.BinOp(node.left, ast.Mult(), term) for term in (node.right.left, node.right.right)]
            return ast.BinOp(terms[0], ast.Add(), terms[1])
        around = self.generator.choice(["{}", "({} + 0)", "({} * 1.0)", "sum([{}])", "(lambda x: x)({})"])
        return ast.parse(around.format(ast.unparse(node)), mode="eval").body

    def visit_Name(self, node):
        return ast.Name(f"my_{node.id}", node.ctx) if node.id in self.names else node

    def visit_FunctionDef(self, node):
        self.names = {argument.arg for argument in node.args.args}
        for argument in node.args.args:
            argument.arg = f"my_{argument.arg}"
        node.body = [self.visit(statement) for statement in node.body]
        return node


@each
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_random_correct_rewrite_of_the_reference_is_right(q, seed):
    tree = Rewrite(random.Random(seed)).visit(ast.parse(inspect.getsource(q.answer)))
    source = "import math\n" + ast.unparse(ast.fix_missing_locations(tree))
    reply = check_source(q.id, source)
    assert reply, f"{source}\n{reply}"


@each
def test_a_mistake_that_was_not_planted_is_wrong_too_and_shown_by_an_example(q):
    reply = check(q.id, lambda *arguments: q.answer(*arguments) + 1)
    assert not reply
    assert re.fullmatch(
        r"Wrong on 40 of 40 random inputs. For \w+=.+ you return [\d,.-]+; right is [\d,.-]+\.", reply.says
    )


@each
def test_a_stub_is_the_head_of_the_reference_and_asks_to_be_completed(q):
    assert q.stub.startswith(f"def {q.name}{inspect.signature(q.answer)}:")
    assert q.stub.count('"""') == 2 and max(map(len, q.stub.splitlines())) <= 62
    assert "returned Ellipsis, of type ellipsis; return a number" in check_source(q.id, q.stub).says


# ---- What runs -------------------------------------------------------------------------------------------------------


def test_the_readers_own_function_is_what_runs_and_its_prints_are_seen(capsys):
    calls = []

    def mine(m, k, n, itemsize):
        calls.append((m, k, n, itemsize))
        print("seen")
        return (m * k + k * n + m * n) * itemsize

    assert check("matmul-bytes", mine)
    assert len(calls) == 40 and len(set(calls)) > 35
    assert capsys.readouterr().out == "seen\n" * 40


def test_any_kind_of_real_number_is_judged_by_its_value():
    for kind in (float, Fraction, np.int64, np.float64, np.array):
        assert check("matmul-bytes", lambda m, k, n, itemsize, kind=kind: kind((m * k + k * n + m * n) * itemsize))


RETURNS = {
    "returned None: end it with `return` and the number.": None,
    "returned the text '12'; return a number, without quotes.": "12",
    "returned True; return a number, not true or false.": True,
    "returned False; return a number, not true or false.": np.bool_(False),
    "returned 1j, a complex number; return a real one.": 1j,
    "returned (1+0j), a complex number; return a real one.": np.complex64(1),
    "returned nan; return a finite number.": float("nan"),
    "returned -inf; return a finite number.": np.float32("-inf"),
    "returned an array of shape (3,); return one number.": np.zeros(3),
    "returned an integer of more than 300 digits.": 10**400,
    "returned [0, 1, 2, 3, 4, 5, ...], of type list; return a number.": list(range(100)),
    "returned <class 'int'>, of type type; return a number.": int,
}


@pytest.mark.parametrize("says", RETURNS)
def test_what_is_no_number_is_named(says):
    reply = check("matmul-bytes", lambda m, k, n, itemsize: RETURNS[says])
    assert not reply and reply.says.endswith(says), reply
    assert reply.says.startswith("Your function with m=")


def test_a_function_of_other_arguments_is_told_the_right_ones():
    def mine(m, k):
        return m * k

    says = "mine takes (m, k); it is called with 4 values: m, k, n, itemsize, in this order."
    assert check("matmul-bytes", mine).says == says
    assert check("matmul-bytes", print).says.startswith("print(m=")  # built in, and takes anything


def test_an_error_names_the_line_of_the_readers_code_even_when_it_arises_deeper():
    source = (
        HEAD.replace("\n", "\n    import statistics\n", 1) + "    values = []\n    return statistics.mean(values)\n"
    )
    says = check_source("matmul-bytes", source).says
    assert "raised statistics.StatisticsError: mean requires at least one data point" in says
    assert says.endswith(", in line 4: `return statistics.mean(values)`.")

    def mine(m, k, n, itemsize):
        return m / 0

    line = inspect.getsourcelines(mine)[1] + 1
    assert check("matmul-bytes", mine).says.endswith(
        f"raised ZeroDivisionError: division by zero, in line {line}: `return m / 0`."
    )
    assert "raised SystemExit: 3" in check("matmul-bytes", lambda m, k, n, itemsize: sys.exit(3)).says


def test_the_source_of_a_function_is_refused_with_its_line():
    says = {
        f"{HEAD}    return m *\n": "Line 2 is no Python: invalid syntax, in `return m *`.",
        "product = 3": "There is no function called product_bytes: begin it with `def product_bytes(`.",
        "product_bytes = 3": "There is no function called product_bytes: begin it with `def product_bytes(`.",
        "import nothing_of_that_name": "The code raised ModuleNotFoundError: No module named 'nothing_of_that_name', "
        "in line 1: `import nothing_of_that_name`.",
    }
    for source, reply in says.items():
        assert check_source("matmul-bytes", source).says == reply
    with pytest.raises(TypeError, match="asks for no function"):
        check_source("matmul-memo", "")


def test_a_function_that_changes_its_inputs_changes_only_its_own(monkeypatch):
    q = question("matmul-bytes")
    lists = Code(
        id="test-lists",
        title="",
        answer=lambda values: sum(values),
        draw=lambda generator: {"values": [generator.randint(1, 9) for _ in range(3)]},
        mutants=(q.mutants[0].__class__(function=lambda values: max(values), reply="That is the largest."),),
        hint="",
        solution="",
    )

    def greedy(values):
        total = 0
        while values:
            total += values.pop()
        return total

    assert lists.judge(greedy)
    assert lists.judge(max).says.startswith("That is the largest. For values=[")


# ---- Bounds ----------------------------------------------------------------------------------------------------------

ENDLESS = {
    "one line": "    while True: pass\n",
    "more lines": "    while True:\n        m += 1\n",
    "a generator": "    return sum(1 for _ in iter(int, 1))\n",
    "a comprehension": "    return [0 for _ in iter(int, 1)]\n",
    "errors that it hides": "    while True:\n        try: m += 1\n        except Exception: pass\n",
}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_an_endless_loop_is_stopped_and_its_line_is_named(short, body):
    says = check_source("matmul-bytes", HEAD + body).says
    assert re.match(r"product_bytes\(m=\d+, .*\) was still running after 0.2 seconds, in line \d: `", says)
    assert sys.gettrace() is None and not tracemalloc.is_tracing()


def test_an_endless_loop_outside_the_function_is_stopped_too(short):
    assert check_source("matmul-bytes", "while True: pass").says == (
        "The code was still running after 0.2 seconds, in line 1: `while True: pass`."
    )


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("    held = [0]\n    while True:\n        held = held + held\n", "took more than 16 MiB of memory, in line"),
        ("    return [0] * 10**13\n", "raised MemoryError, in line 2: `return [0] * 10**13`."),
    ],
)
def test_memory_without_end_is_refused(short, body, says):
    assert says in check_source("matmul-bytes", HEAD + body).says


def test_the_bounds_hold_in_a_thread_and_leave_other_threads_alone(short):
    replies, other = [], threading.Thread(target=time.sleep, args=(0.3,))
    source = HEAD + ENDLESS["one line"]
    thread = threading.Thread(target=lambda: replies.append(check_source("matmul-bytes", source)))
    other.start()
    thread.start()
    thread.join()
    other.join()
    assert "was still running" in replies[0].says


def test_a_debugger_keeps_the_thread_and_sees_the_readers_lines(short):
    seen = []

    def debugger(frame, event, argument):
        if frame.f_code.co_name == "mine":
            seen.append(frame.f_lineno)
        return debugger

    def mine(m, k, n, itemsize):
        time.sleep(0.01)  # forty times this is more than the bound
        return (m * k + k * n + m * n) * itemsize

    sys.settrace(debugger)
    try:
        found = check("matmul-bytes", mine)
        kept = sys.gettrace() is debugger
    finally:
        sys.settrace(None)
    assert found and kept and len(set(seen)) == 3


def test_the_text_of_a_checked_function_can_be_looked_up_by_a_traceback():
    check_source("matmul-bytes", "first = 1\nsecond = 2\n")
    assert linecache.getline("<matmul-bytes>", 2) == "second = 2\n"
