"""The cache machine in a real browser: what is drawn is what the frame says."""

import itertools

import pytest

from hwlab.figures import cache_under_loops
from hwlab.figures.cache import OWN
from hwlab.page import frames
from tests.book.live import open_live, show


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


TEXTS = """slot => {
  const [memory, bars] = [...slot.querySelectorAll('svg')].map((svg) =>
    [...svg.querySelectorAll('text')].map((text) => text.textContent));
  return { memory, bars };
}"""


def check(shown):
    for frame, seen in shown:
        title, *letters = seen["memory"]
        num_lines, ways, _ = frame["cache"]
        assert title.startswith(f"Cache: {num_lines // ways} set") and f" of {ways} way" in title
        starts = dict(zip("ABC", frame["starts"], strict=True))
        owners = [max(a for a in "ABC" if starts[a] <= line) for line in frame["lines"] if line >= 0]
        assert letters == [*owners, "B", "A", "C"]  # the places, then the names of the matrices
        for array, misses, accesses in zip("ABC", frame["misses"], frame["accesses"], strict=True):
            assert seen["bars"][seen["bars"].index(array) + 1] == f"{misses:,} of {accesses:,}"
        assert f"{frame['bytes']:,} bytes" in seen["bars"]


def test_places_and_misses_are_those_of_the_frame(open_page):
    machine = cache_under_loops()
    page = open_live(open_page, machine)
    for scene, found in machine.payload["frames"].items():
        check(show(page, machine, scene, {*range(0, len(found), 9), len(found) - 1}, also=TEXTS))
    assert page.problems == [] and page.foreign == []


def corners():
    """The smallest and the largest sizes that a reader may set, each with another cache, element and order."""
    rest = itertools.cycle(
        itertools.product(("16", "32", "64"), ("1", "2", "4", "8", "0"), ("mnk", "knm"), ("0", "8"), ("2", "8"))
    )
    sizes = {"m": (1, 8), "k": (1, 64), "n": (1, 32)}
    for m, k, n in itertools.product(*sizes.values()):
        num_lines, ways, order, block, itemsize = next(itertools.islice(rest, 22, 23))
        values = {"m": m, "k": k, "n": n, "num_lines": num_lines, "ways": ways, "order": order, "block": block}
        yield list(frames("cache", OWN.values(values | {"itemsize": itemsize})))


def test_sizes_and_caches_of_every_kind_are_drawn_on_a_phone(open_page):
    machine = cache_under_loops()
    page = open_live(open_page, machine, width=375)
    for found in corners():
        few = [found[0], found[len(found) // 2], found[-2], found[-1]]
        check(show(page, machine, "mnk", range(4), also=TEXTS, frames=few))
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


def test_the_scene_that_the_exercise_asks_for_has_its_misses():
    assert sum(list(frames("cache", {"k": 32, "order": "mnk", "ways": "0"}))[-1]["misses"]) == 560
