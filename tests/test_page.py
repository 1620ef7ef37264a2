"""What a page may ask of Python: checked functions and run cells, as plain data."""

import json

import pytest

from hwlab.exercises import check_source
from hwlab.page import ENTRIES, MOST_PRINTED, Call, check, run


def test_a_function_is_judged_as_in_a_notebook_and_what_it_prints_comes_along(capsys):
    source = "def product_bytes(m, k, n, itemsize):\n    print(m)\n    return (m * k + k * n) * itemsize\n"
    found = check("matmul-bytes", source)
    assert found["printed"].count("\n") == 40
    expected = check_source("matmul-bytes", source)
    assert (found["right"], found["says"]) == (expected.right, expected.says)
    assert capsys.readouterr().out == found["printed"]  # of the second, in the notebook


def test_cells_share_names_in_order_and_nothing_outlives_the_call():
    assert run(["a = 1", "a += 1\nprint(a)", "a * 2"]) == {
        "printed": "", "text": "4", "html": None, "error": None, "cell": 3,
    }  # fmt: skip
    assert "NameError: name 'a' is not defined" in run(["a"])["error"]


@pytest.mark.parametrize(
    ("source", "text"), [("", None), ("a = 1", None), ("None", None), ("'x'", "'x'"), ("1; 2", "2"), ("# 3", None)]
)
def test_the_value_of_the_last_line_is_shown_where_it_is_an_expression(source, text):
    assert run([source])["text"] == text


def test_a_table_comes_as_html_too():
    found = run(["from hwlab.figures.tables import Table", "Table(['a'], [['<b>']], caption='c')"])
    assert found["text"] == "a\n<b>\nc" and "&lt;b&gt;" in found["html"]
    assert run(["from hwlab.figures.tables import Table\nTable"])["html"] is None  # the class itself


ERRORS = {
    "x = (": ["'(' was never closed"],
    "def f():\n    return g()\n\nf()": ['File "<cell 2>", line 4', "return g()", "NameError: name 'g' is not defined"],
    "import sys; sys.exit(3)": ["SystemExit: 3"],
    "class A:\n    def __repr__(self): return 1 / 0\n\nA()": ["line 2, in __repr__", "ZeroDivisionError"],
}


@pytest.mark.parametrize("source", ERRORS)
def test_an_error_shows_the_readers_frames_alone_and_ends_the_run(source):
    found = run(["print('before')", source, "print('after')"])
    assert found["cell"] == 2 and found["printed"] == "" and found["text"] is None
    assert all(part in found["error"] for part in ERRORS[source])
    assert "page.py" not in found["error"]


def test_what_is_printed_is_cut_at_a_limit_and_kept_before_an_error():
    found = run([f"for i in range({MOST_PRINTED}): print(i)\n1 / 0"])
    assert len(found["printed"]) == MOST_PRINTED and "ZeroDivisionError" in found["error"]


def test_the_entries_answer_a_page_in_json():
    assert {"check", "run"} <= set(ENTRIES)
    answer = json.loads(Call("run", json.dumps({"cells": ["1 + 1"]})).advance(1))
    assert answer["value"]["text"] == "2" and answer["done"]
    answer = json.loads(Call("check", json.dumps({"id": "nothing", "source": ""})).advance(1))
    assert answer["error"]["type"] == "UnknownId" and answer["error"]["says"].startswith("no question 'nothing'")
