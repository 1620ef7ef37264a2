"""The cache machine in a real browser: each frame drawn as Python computed it, legible whatever the reader sets."""

import itertools

import pytest

from hwlab.figures import cache_under_loops
from hwlab.figures.cache import OWN, frames
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
    const texts = (svg) => [...svg.querySelectorAll('text')].map((text) => text.textContent);
    const [memory, bars] = el.querySelectorAll('.hw-slot > svg');
    found.push({
      frame: el.frame, says: el.querySelector('.hw-say').textContent,
      lines: [...el.querySelectorAll('.hw-arithmetic li')].map((li) => li.textContent),
      memory: texts(memory), bars: texts(bars),
      inside: [memory, bars].every((svg) => {
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


def check(machine, shown, steps):
    for at, found in zip(steps, shown, strict=True):
        frame = machine.frames[at]
        assert found["frame"] == frame
        assert found["says"] == frame["says"] and found["lines"] == frame["arithmetic"]
        title, *letters = found["memory"]
        num_lines, ways, _ = frame["cache"]
        assert title.startswith(f"Cache: {num_lines // ways} set") and f" of {ways} way" in title
        starts = dict(zip("ABC", frame["starts"], strict=True))
        owners = [max(a for a in "ABC" if starts[a] <= line) for line in frame["lines"] if line >= 0]
        assert letters == [*owners, "B", "A", "C"]  # the places, then the names of the matrices
        for array, misses, accesses in zip("ABC", frame["misses"], frame["accesses"], strict=True):
            assert found["bars"][found["bars"].index(array) + 1] == f"{misses:,} of {accesses:,}"
        assert f"{frame['bytes']:,} bytes" in found["bars"]
        assert found["inside"] and found["least"] >= 13


def test_every_frame_shown_is_the_frame_of_python(open_page):
    machine = cache_under_loops()
    page = open_live(open_page, machine)
    for scene, _ in machine.payload["scenes"]:
        machine.scene = scene
        steps = sorted({*range(0, len(machine.frames), 9), len(machine.frames) - 1})
        check(machine, page.evaluate(SHOW, [scene, steps]), steps)
    assert page.problems == [] and page.foreign == []


def corners():
    """The smallest and the largest sizes that a reader may set, each with another cache, element and order."""
    rest = itertools.cycle(
        itertools.product(("16", "32", "64"), ("1", "2", "4", "8", "0"), ("mnk", "knm"), ("0", "8"), ("2", "8"))
    )
    sizes = {"m": (1, 8), "k": (1, 64), "n": (1, 32)}
    for i, (m, k, n) in enumerate(itertools.product(*sizes.values())):
        num_lines, ways, order, block, itemsize = next(itertools.islice(rest, 22, 23))
        values = {"m": m, "k": k, "n": n, "num_lines": num_lines, "ways": ways, "order": order, "block": block}
        yield f"corner{i}", (str(values), OWN.build(**OWN.values(values | {"itemsize": itemsize})))


def test_whatever_the_reader_sets_is_drawn_whole_and_legible_on_a_phone(open_page):
    machine = cache_under_loops(dict(corners()))
    page = open_live(open_page, machine, width=375)
    for scene, _ in machine.payload["scenes"]:
        machine.scene = scene
        steps = sorted({0, len(machine.frames) // 2, len(machine.frames) - 2, len(machine.frames) - 1})
        check(machine, page.evaluate(SHOW, [scene, steps]), steps)
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert page.problems == []


def test_what_is_in_the_cache_is_lit_where_it_belongs(open_page):
    machine = cache_under_loops()
    machine.scene, machine.at = "mkn", 23
    page = open_live(open_page, machine, fragment="#hw:cache:v1:scene=mkn;at=23", width=1280)
    lit = page.evaluate(
        """() => [...document.querySelectorAll('.hw-slot > svg:first-child g')].slice(1).map((group) =>
          [group.querySelector('text').textContent, [...group.querySelectorAll('rect[fill-opacity]')].map((rect) =>
            ['x', 'y', 'width'].map((name) => +rect.getAttribute(name)))])"""
    )
    cell = 220 / 64
    # after eight multiply-adds of order mkn: A[0, 0:4], B[0, 0:8] and C[0, 0:8], in lines of four
    wanted = {"A": [0], "B": [0, 4], "C": [0, 4]}
    for array, rects in lit:
        assert sorted(rects) == [pytest.approx([x * cell, 0, 4 * cell]) for x in wanted[array]]


def test_a_link_leads_to_a_product_and_a_cache_of_ones_own(open_page):
    values = {"k": 32, "order": "mnk", "ways": "0"}
    wanted = list(frames(OWN.build(**OWN.values(values))))
    page = open_live(open_page, cache_under_loops(), fragment="#hw:cache:v1:scene=own;k=32;order=mnk;ways=0;at=999")
    page.wait_for_function("document.querySelector('.hw-live').model.get('scene') === 'own'", timeout=PATIENT)
    page.wait_for_function("says => document.querySelector('.hw-say').textContent === says", arg=wanted[-1]["says"])
    assert sum(wanted[-1]["misses"]) == 560  # what the exercise of the chapter asks for
    found = page.evaluate(
        """async (values) => {
          const { python } = await import('/_static/web/python.mjs');
          return python.call('frames', { module: 'cache', values });
        }""",
        values,
    )
    assert found == wanted
    assert page.problems == [] and page.foreign == []
