"""The attention machine in a real browser: what is drawn is what the frame says."""

import pytest

from hwlab.figures import attention_by_blocks
from hwlab.figures.attention import OWN
from hwlab.page import frames
from tests.book.live import open_live, show


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


HEAD = """slot => {
  const [head, table] = slot.querySelectorAll('svg');
  const of = (array, what) => head.querySelectorAll(`[data-array=${array}] ${what}`).length;
  return {
    texts: [...table.querySelectorAll('text')].map((text) => text.textContent),
    held: ['q', 'k', 'v', 'out'].filter((array) => of(array, '.held')),
    heavy: ['q', 'k', 'v'].filter((array) => of(array, 'rect[stroke-width="3.5"]')),
    tile: of('scores', '.tile'), stored: of('scores', '.stored'),
  };
}"""


def check(shown):
    for frame, seen in shown:
        assert seen["held"] == [a for a in ("q", "k", "v", "out") if a in frame["held"]]
        assert seen["heavy"] == [a for a in ("q", "k", "v") if a in frame["fetched"]]
        assert seen["tile"] == sum(cell is not None for row in frame["tile"] for cell in row)
        assert seen["stored"] == sum(rows > 0 for rows in frame["stored"])
        moved = sum(frame["bytes"].values())
        assert f"{moved:,} of {frame['naive']:,} in three kernels" in seen["texts"]
        assert f"{frame['fast']:,} bytes" in seen["texts"]
        if frame["phase"] == "add":
            assert {f"{total:.2f}" for total in frame["total"]} <= set(seen["texts"])


def test_tiles_and_bytes_are_those_of_the_frame(open_page):
    machine = attention_by_blocks()
    page = open_live(open_page, machine)
    for scene, found in machine.payload["frames"].items():
        check(show(page, machine, scene, {*range(0, len(found), 4), len(found) - 1}, also=HEAD))
    assert page.problems == [] and page.foreign == []


def corners():
    """The smallest and the largest that a reader may set."""
    one = dict.fromkeys(("q_len", "kv_len", "d", "block_q", "block_k"), 1)
    large = {"q_len": 12, "kv_len": 12, "d": 4, "block_q": 12, "block_k": 12, "causal": "yes"}
    flat, steep = {"q_len": 1, "kv_len": 12, "d": 4}, {"q_len": 12, "kv_len": 1, "d": 4}
    for values in (one, large, flat, steep, large | {"kernel": "three"}, one | {"kernel": "three"}):
        yield list(frames("attention", OWN.values(values)))


def test_heads_of_every_kind_are_drawn_on_a_phone(open_page):
    machine = attention_by_blocks()
    page = open_live(open_page, machine, width=375)
    scene = next(iter(machine.payload["frames"]))
    for found in corners():
        check(show(page, machine, scene, {*range(0, len(found), 4), len(found) - 1}, also=HEAD, frames=found))
    assert page.problems == [] and page.foreign == []
