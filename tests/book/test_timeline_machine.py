"""The scheduler's timeline in a real browser: each run of cells lies in the columns of its steps, in its row."""

import pytest

from hwlab.figures import schedule_timeline
from tests.book.live import open_live, show

LEFT, WIDE = 24, 288  # where the columns begin, and how far they go, as the drawing has it

LOOK = """slot => ({
  rows: [...slot.querySelectorAll('[data-row]')].map((row) => [
    Number(row.querySelector('text').textContent),
    [...row.querySelectorAll('[data-letter]')].map((run) => {
      const { x, width } = run.getBBox();
      return [run.dataset.letter, x, width];
    }),
  ]),
  bars: [...slot.querySelectorAll('svg:first-child > rect')].map((bar) => bar.height.baseVal.value),
})"""


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


def cells(runs, column):
    """The letters of a row, put together from the places of its runs."""
    row = []
    for letter, x, width in runs:
        first = round((x - LEFT) / column)
        row += [" "] * (first - len(row)) + [letter] * (1 if letter == "e" else round(width / column))
    return "".join(row)


def test_each_run_lies_where_its_steps_are(open_page):
    machine = schedule_timeline()
    page = open_live(open_page, machine)
    for scene in ("static", "chunked", "recompute", "swap"):
        last = len(machine.payload["frames"][scene]) - 1
        for frame, seen in show(page, machine, scene, [0, last // 2, last], also=LOOK):
            column = WIDE / frame["steps"]
            assert [[id, cells(runs, column)] for id, runs in seen["rows"]] == frame["rows"]
            tallest = max(frame["seconds"])
            heights = [44 * seconds / frame["longest"] for seconds in frame["seconds"]]
            assert seen["bars"] == pytest.approx([max(1, height) for height in heights], abs=0.01)
            assert tallest <= frame["longest"]
    assert page.problems == [] and page.foreign == []
