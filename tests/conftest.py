"""What several tests need."""

import json
import re

import hypothesis
import pytest
import vl_convert

from hwlab.formula import vega

# A busy machine makes an example slow, not wrong.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Workers share the tests by file, in the order in which they stand; a file that visits pages, by page.

    So what a module or a visited page sets up is set up once, and the cells of a notebook stay together.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFileOrPage(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file, _, test = nodeid.partition("::")
            page = re.search(r"\[([\w/.-]+?\.html)", test)
            return f"{file} {page[1]}" if page else file

    config.option.loadscopereorder = False
    return ByFileOrPage(config, log)


@pytest.fixture
def in_vega():
    """A function that asks the real Vega, in this process and without a browser."""
    return _in_vega


def _in_vega(questions):
    """What Vega answers to [(Sym or literal, {variable: value}), ...]; all in one run of the real runtime."""
    tables = {}  # one data set a formula, one row a state
    for i, (out, state) in enumerate(questions):
        expression, lets = vega(out, prefix="datum._t")
        tables.setdefault((expression, tuple(lets)), []).append((i, state))
    data, where_is = [], {}
    for (expression, lets), asked in tables.items():
        # numbers enter as source text: the JSON reader in front of this Vega loses a last bit now and then
        rows = [{k: v if isinstance(v, str) else f"#{v!r}" for k, v in state.items()} for _, state in asked]
        names = [k for k, v in asked[0][1].items() if not isinstance(v, str)]
        steps = [{"type": "formula", "as": k, "expr": f"toNumber(slice(datum.{k}, 1))"} for k in names]
        steps += [{"type": "formula", "as": name.removeprefix("datum."), "expr": e} for name, e in lets]
        steps += [{"type": "formula", "as": "answer", "expr": expression}]
        where_is |= {i: (len(data), row) for row, (i, _) in enumerate(asked)}
        data.append({"name": f"q{len(data)}", "values": rows, "transform": steps})
    answers = "[" + ",".join(f"pluck(data('q{i}'),'answer')" for i in range(len(data))) + "]"
    mark = {"type": "rect", "encode": {"enter": {"description": {"signal": answers}}}}
    scene = vl_convert.vega_to_scenegraph(json.dumps({"data": data, "marks": [mark]}))

    def items(node):
        if isinstance(node, dict):
            yield from node["items"] if node.get("marktype") == "rect" else items(list(node.values()))
        elif isinstance(node, list):
            for child in node:
                yield from items(child)

    answers = next(items(scene))["description"]
    return [answers[table][row] for table, row in (where_is[i] for i in range(len(questions)))]
