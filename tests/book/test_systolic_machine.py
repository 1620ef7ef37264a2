"""The systolic machine in a real browser: each frame drawn as Python computed it, legible whatever the reader sets."""

import itertools

import pytest

from hwlab.figures import systolic_array
from hwlab.figures.systolic import OWN, SCENES, frames
from tests.book.live import open_live

PATIENT = 180_000  # ms: Python starts in seconds, on a busy machine in minutes


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


SHOW = """async ([scene, steps]) => {
  const el = document.querySelector('.hw-live'), found = [];
  el.querySelector('.hw-arithmetic').open = true;
  el.model.set('scene', scene);
  for (const at of steps) {
    el.model.set('at', at);
    await new Promise(requestAnimationFrame);
    const texts = (node) => [...node.querySelectorAll('text')].map((text) => text.textContent);
    const [array, product] = el.querySelectorAll('.hw-slot > svg');
    found.push({
      frame: el.frame, says: el.querySelector('.hw-say').textContent,
      lines: [...el.querySelectorAll('.hw-arithmetic li')].map((li) => li.textContent),
      units: [...array.querySelectorAll('g')].map((unit) => [unit.getAttribute('class'), texts(unit)]),
      array: texts(array), product: texts(product),
      inside: [array, product].every((svg) => {
        const { x, y, width, height } = svg.getBBox(), view = svg.viewBox.baseVal;
        const within = (start, end, low, size) => start >= low - 1 && end <= low + size + 1;
        return within(x, x + width, view.x, view.width) && within(y, y + height, view.y, view.height);
      }),
      least: Math.min(...[...el.querySelectorAll('.hw-slot text')].map((text) =>
        parseFloat(getComputedStyle(text).fontSize) * text.ownerSVGElement.getScreenCTM().a)),
    });
  }
  return found;
}"""


def texts(*values):
    return [str(value) for value in values if value is not None]


def check(wanted, shown):
    for frame, found in zip(wanted, shown, strict=True):
        assert found["frame"] == frame
        assert found["says"] == frame["says"] and found["lines"] == frame["arithmetic"]
        rows, columns = frame["array"]
        roles = frame["roles"]
        inside = 0
        for (kind, drawn), (r, c) in zip(found["units"], itertools.product(range(rows), range(columns)), strict=True):
            pads = r >= frame["used"][0] or c >= frame["used"][1]
            assert kind == ("hw-busy" if [r, c] in frame["active"] else "hw-pads" if pads else "hw-idle")
            value = {roles[part]: frame[part][r][c] for part in ("held", "passing", "falling")}
            beside = roles["falling"] if roles["held"] == "C" else roles["held"]
            assert drawn == ([] if pads else texts(value[roles["passing"]], value[beside], value["C"]))
            inside += len(drawn)
        outside = [value for row in frame["left"][: frame["used"][0]] for value in row]
        outside += [value for column in frame["above"][: frame["used"][1]] for value in column] + frame["leaving"]
        assert len(found["array"]) == 2 + inside + len(texts(*outside))
        shares = [f"{len(frame['active'])} of {rows * columns}", f"{100 * frame['utilization']:.1f} %"]
        head = ["Cycle", f"{frame['cycle']} of {frame['cycles']}", "MACs busy", shares[0], "Utilisation so far"]
        assert found["product"][:5] == head
        assert float(found["product"][5].split()[0]) == pytest.approx(100 * frame["utilization"], abs=0.051)
        assert found["product"][7:] == texts(*(value for row in frame["product"] for value in row))
        assert found["inside"] and found["least"] >= 13


def test_every_frame_shown_is_the_frame_of_python(open_page):
    machine = systolic_array()
    page = open_live(open_page, machine)
    for scene in SCENES:
        machine.scene = scene
        steps = sorted({*range(0, len(machine.frames), 3), len(machine.frames) - 1})
        check([machine.frames[at] for at in steps], page.evaluate(SHOW, [scene, steps]))
    assert page.problems == [] and page.foreign == []


def corners():
    """The smallest and the largest sizes that a reader may set, under each dataflow."""
    rest = itertools.cycle(["weight", "output", "input"])
    for i, (m, k, rows, columns) in enumerate(itertools.product((1, 8), (1, 8), (1, 6), (1, 6))):
        values = {"m": m, "k": k, "n": 9 - k, "rows": rows, "columns": columns, "dataflow": next(rest)}
        yield f"corner{i}", (str(values), OWN.build(**OWN.values(values)))


def test_whatever_the_reader_sets_is_drawn_whole_and_legible_on_a_phone(open_page):
    machine = systolic_array(dict(corners()))
    page = open_live(open_page, machine, width=375)
    for scene, _ in machine.payload["scenes"]:
        machine.scene = scene
        last = len(machine.frames) - 1
        steps = sorted({0, last // 3, last // 2, last})
        check([machine.frames[at] for at in steps], page.evaluate(SHOW, [scene, steps]))
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert page.problems == []


def test_a_link_leads_to_an_array_of_ones_own(open_page):
    values = {"m": 3, "k": 5, "rows": 2, "dataflow": "input"}
    wanted = list(frames(OWN.build(**OWN.values(values))))
    page = open_live(
        open_page, systolic_array(), fragment="#hw:systolic:v1:scene=own;m=3;k=5;rows=2;dataflow=input;at=7"
    )
    page.wait_for_function("document.querySelector('.hw-live').model.get('scene') === 'own'", timeout=PATIENT)
    page.wait_for_function("says => document.querySelector('.hw-say').textContent === says", arg=wanted[7]["says"])
    assert page.evaluate("document.querySelector('.hw-live').frame") == wanted[7]
    assert page.problems == [] and page.foreign == []


def test_the_array_is_stepped_by_the_keyboard(open_page):
    page = open_live(open_page, systolic_array(), fragment="#hw:systolic:v1:scene=square;at=3")
    slot = page.locator(".hw-slot")
    slot.focus()
    slot.press("ArrowRight")
    wanted = list(frames(SCENES["square"][1]))
    page.wait_for_function("says => document.querySelector('.hw-say').textContent === says", arg=wanted[4]["says"])
    slot.press("End")
    page.wait_for_function("says => document.querySelector('.hw-say').textContent === says", arg=wanted[-1]["says"])
