"""The systolic machine in a real browser: what is drawn is what the frame says."""

import itertools

import pytest

from hwlab.figures import systolic_array
from hwlab.figures.systolic import OWN
from hwlab.page import frames
from tests.book.live import open_live, show


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


UNITS = """slot => {
  const texts = (node) => [...node.querySelectorAll('text')].map((text) => text.textContent);
  const [array, product] = slot.querySelectorAll('svg');
  const units = [...array.querySelectorAll('g')].map((unit) => [unit.getAttribute('class'), texts(unit)]);
  return { units, array: texts(array), product: texts(product) };
}"""


def texts(*values):
    return [str(value) for value in values if value is not None]


def check(shown):
    for frame, seen in shown:
        rows, columns = frame["array"]
        roles = frame["roles"]
        inside = 0
        for (kind, drawn), (r, c) in zip(seen["units"], itertools.product(range(rows), range(columns)), strict=True):
            pads = r >= frame["used"][0] or c >= frame["used"][1]
            assert kind == ("hw-busy" if [r, c] in frame["active"] else "hw-pads" if pads else "hw-idle")
            value = {roles[part]: frame[part][r][c] for part in ("held", "passing", "falling")}
            beside = roles["falling"] if roles["held"] == "C" else roles["held"]
            assert drawn == ([] if pads else texts(value[roles["passing"]], value[beside], value["C"]))
            inside += len(drawn)
        outside = [value for row in frame["left"][: frame["used"][0]] for value in row]
        outside += [value for column in frame["above"][: frame["used"][1]] for value in column] + frame["leaving"]
        assert len(seen["array"]) == 2 + inside + len(texts(*outside))
        shares = [f"{len(frame['active'])} of {rows * columns}", f"{100 * frame['utilization']:.1f} %"]
        head = [
            "Cycle since the start",
            f"{frame['cycle']} of {frame['cycles']}",
            "MACs busy",
            shares[0],
            "Utilisation so far",
        ]
        assert seen["product"][:5] == head
        assert float(seen["product"][5].split()[0]) == pytest.approx(100 * frame["utilization"], abs=0.051)
        assert seen["product"][7:] == texts(*(value for row in frame["product"] for value in row))


def test_units_and_product_are_those_of_the_frame(open_page):
    machine = systolic_array()
    page = open_live(open_page, machine)
    for scene, found in machine.payload["frames"].items():
        check(show(page, machine, scene, {*range(0, len(found), 3), len(found) - 1}, also=UNITS))
    assert page.problems == [] and page.foreign == []


def corners():
    """The smallest and the largest sizes that a reader may set, under each dataflow."""
    rest = itertools.cycle(["weight", "output", "input"])
    for m, k, rows, columns in itertools.product((1, 8), (1, 8), (1, 6), (1, 6)):
        values = {"m": m, "k": k, "n": 9 - k, "rows": rows, "columns": columns, "dataflow": next(rest)}
        yield list(frames("systolic", OWN.values(values)))


def test_sizes_and_arrays_of_every_kind_are_drawn_on_a_phone(open_page):
    machine = systolic_array()
    page = open_live(open_page, machine, width=375)
    for found in corners():
        last = len(found) - 1
        check(show(page, machine, "skew", {0, last // 3, last // 2, last}, also=UNITS, frames=found))
    assert page.problems == []
