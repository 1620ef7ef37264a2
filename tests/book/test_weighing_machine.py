"""The weighing in a real browser: a block for each entry, as high as what is kept, dashed where it was dropped."""

import pytest

from hwlab.figures import cache_by_token
from tests.book.live import open_live, show


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


DRAWN = """slot => {
  const [layers, bars] = slot.querySelectorAll('svg');
  const rects = [...layers.querySelectorAll('rect')];
  const outlines = rects.filter((rect) => rect.getAttribute('fill') === 'none');
  const [kept] = bars.querySelectorAll('rect');
  return {
    dropped: outlines.filter((rect) => rect.hasAttribute('stroke-dasharray')).length,
    kept: outlines.filter((rect) => !rect.hasAttribute('stroke-dasharray')).map((rect) => +rect.getAttribute('height')),
    fresh: outlines.filter((rect) => rect.getAttribute('stroke-width') === '2').length,
    bar: +kept.getAttribute('width'), texts: [...bars.querySelectorAll('text')].map((text) => text.textContent),
  };
}"""
HIGH, WIDE = 44, 248  # of a block that keeps everything, and of the bar of a whole scene that does


def test_blocks_and_bars_are_those_of_the_frame(open_page):
    machine = cache_by_token()
    page = open_live(open_page, machine)
    for scene, found in machine.payload["frames"].items():
        for frame, seen in show(page, machine, scene, range(0, len(found), 3), also=DRAWN):
            assert len(seen["kept"]) == sum(end - first for first, end in frame["layers"])
            assert seen["dropped"] == sum(first for first, _ in frame["layers"])
            assert seen["fresh"] == len(frame["new"])
            assert seen["kept"] == pytest.approx([HIGH * frame["share"]] * len(seen["kept"]))
            assert seen["bar"] == pytest.approx(WIDE * frame["bytes"] / frame["most"])
            assert f"{frame['bytes']:,} B" in seen["texts"] and f"{frame['plain']:,} B" in seen["texts"]
    assert page.problems == [] and page.foreign == []
