"""The attention machine in a real browser: each frame drawn as Python computed it, legible whatever the reader sets."""

import pytest

from hwlab.figures import attention_by_blocks
from hwlab.figures.attention import OWN, frames
from tests.book.live import open_live
from tests.book.test_cache_machine import PATIENT


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
    const [head, table] = el.querySelectorAll('.hw-slot > svg');
    const of = (array, what) => head.querySelectorAll(`[data-array=${array}] ${what}`).length;
    found.push({
      frame: el.frame, says: el.querySelector('.hw-say').textContent,
      lines: [...el.querySelectorAll('.hw-arithmetic li')].map((li) => li.textContent),
      texts: [...table.querySelectorAll('text')].map((text) => text.textContent),
      held: ['q', 'k', 'v', 'out'].filter((array) => of(array, '.held')),
      heavy: ['q', 'k', 'v'].filter((array) => of(array, 'rect[stroke-width="3.5"]')),
      tile: of('scores', '.tile'), stored: of('scores', '.stored'),
      inside: [head, table].every((svg) => {
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
        assert found["held"] == [a for a in ("q", "k", "v", "out") if a in frame["held"]]
        assert found["heavy"] == [a for a in ("q", "k", "v") if a in frame["fetched"]]
        assert found["tile"] == sum(cell is not None for row in frame["tile"] for cell in row)
        assert found["stored"] == sum(rows > 0 for rows in frame["stored"])
        moved = sum(frame["bytes"].values())
        assert f"{moved:,} of {frame['naive']:,} in three kernels" in found["texts"]
        assert f"{frame['fast']:,} bytes" in found["texts"]
        if frame["phase"] == "add":
            assert {f"{total:.2f}" for total in frame["total"]} <= set(found["texts"])
        assert found["inside"] and found["least"] >= 13


def corners():
    """The smallest and the largest that a reader may set."""
    one = dict.fromkeys(("q_len", "kv_len", "d", "block_q", "block_k"), 1)
    large = {"q_len": 12, "kv_len": 12, "d": 4, "block_q": 12, "block_k": 12, "causal": "yes"}
    flat, steep = {"q_len": 1, "kv_len": 12, "d": 4}, {"q_len": 12, "kv_len": 1, "d": 4}
    for i, values in enumerate((one, large, flat, steep, large | {"kernel": "three"}, one | {"kernel": "three"})):
        yield f"corner{i}", (str(values), OWN.build(**OWN.values(values)))


@pytest.mark.parametrize("width", [375, 1280])
def test_whatever_is_set_is_drawn_as_python_computed_it_and_legible(open_page, width):
    machine = attention_by_blocks() if width > 400 else attention_by_blocks(dict(corners()))
    page = open_live(open_page, machine, width=width)
    for scene, _ in machine.payload["scenes"]:
        machine.scene = scene
        steps = sorted({*range(0, len(machine.frames), 4), len(machine.frames) - 1})
        check(machine, page.evaluate(SHOW, [scene, steps]), steps)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.problems == [] and page.foreign == []


def test_a_link_leads_to_a_head_of_ones_own(open_page):
    values = {"q_len": 5, "block_k": 3, "causal": "yes"}
    wanted = list(frames(OWN.build(**OWN.values(values))))
    fragment = "#hw:attention:v1:scene=own;q_len=5;block_k=3;causal=yes;at=999"
    page = open_live(open_page, attention_by_blocks(), fragment=fragment)
    page.wait_for_function("document.querySelector('.hw-live').model.get('scene') === 'own'", timeout=PATIENT)
    page.wait_for_function("says => document.querySelector('.hw-say').textContent === says", arg=wanted[-1]["says"])
    found = page.evaluate(
        """async (values) => {
          const { python } = await import('/_static/web/python.mjs');
          return python.call('frames', { module: 'attention', values });
        }""",
        values,
    )
    assert found == wanted
    assert page.problems == [] and page.foreign == []
