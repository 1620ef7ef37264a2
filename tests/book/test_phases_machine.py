"""The machine of a request in a real browser: bars to scale, and the words of the frame."""

import pytest

from hwlab.figures import request_phases
from hwlab.figures.phases import SCENES
from tests.book.live import open_live, show


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


DRAWN = """slot => {
  const [request, pass] = slot.querySelectorAll('svg');
  const texts = (node) => [...node.querySelectorAll('text')].map((text) => text.textContent);
  const middle = ({ x, width }) => x.baseVal.value + width.baseVal.value / 2;
  return {
    request: texts(request), pass: texts(pass),
    cuts: [...request.querySelectorAll('g > path')].map((path) => parseFloat(path.getAttribute('d').slice(1))),
    now: [...request.querySelectorAll('.now')].map(middle),
  };
}"""


def test_bars_and_words_are_those_of_the_frame(open_page):
    machine = request_phases()
    page = open_live(open_page, machine)
    for scene in SCENES:
        for frame, seen in show(page, machine, scene, [0, 1, 31, 63], also=DRAWN):
            told, tokens, (reading, total) = frame["told"], frame["prompt"] + frame["answer"], frame["times"]
            assert f"{frame['prompt']:,} read, {frame['written']} of {frame['answer']} written" in seen["request"]
            assert f"{told['elapsed']} of {told['total']}" in seen["request"]
            assert {told[what] for what in ("seconds", "weights", "cache", "flop", "intensity")} <= set(seen["pass"])
            binds = 0 if frame["bound"] == "compute" else 1
            assert {f"{told['busy'][binds]}, binds", told["busy"][1 - binds]} <= set(seen["pass"])
            assert seen["cuts"] == pytest.approx([300 * frame["prompt"] / tokens, 300 * reading / total], abs=0.01)
            middle = 300 * (frame["elapsed"] - frame["seconds"] / 2) / total
            assert seen["now"][1] == pytest.approx(middle, abs=2.5)
    assert page.problems == [] and page.foreign == []
