"""The machine of a request in a real browser: what Python told is what is drawn, bars to scale, legible on a phone."""

import pytest

from hwlab.figures import request_phases
from hwlab.figures.phases import OWN, SCENES, frames
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
    const svgs = [...el.querySelectorAll('.hw-slot > svg')];
    const texts = (node) => [...node.querySelectorAll('text')].map((text) => text.textContent);
    found.push({
      frame: el.frame, says: el.querySelector('.hw-say').textContent,
      lines: [...el.querySelectorAll('.hw-arithmetic li')].map((li) => li.textContent),
      request: texts(svgs[0]), pass: texts(svgs[1]),
      cuts: [...svgs[0].querySelectorAll('g > path')].map((path) => parseFloat(path.getAttribute('d').slice(1))),
      now: [...svgs[0].querySelectorAll('.now')].map((rect) => rect.x.baseVal.value + rect.width.baseVal.value / 2),
      inside: svgs.every((svg) => {
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


def check(wanted, shown):
    for frame, found in zip(wanted, shown, strict=True):
        assert found["frame"] == frame
        assert found["says"] == frame["says"] and found["lines"] == frame["arithmetic"]
        told, all_tokens = frame["told"], frame["prompt"] + frame["answer"]
        assert f"{frame['prompt']:,} read, {frame['written']} of {frame['answer']} written" in found["request"]
        assert f"{told['elapsed']} of {told['total']}" in found["request"]
        for what in ("seconds", "weights", "cache", "flop", "intensity"):
            assert told[what] in found["pass"]
        binds = 0 if frame["bound"] == "compute" else 1
        assert f"{told['busy'][binds]}, binds" in found["pass"] and told["busy"][1 - binds] in found["pass"]
        reading, total = frame["times"]
        assert found["cuts"] == pytest.approx([300 * frame["prompt"] / all_tokens, 300 * reading / total], abs=0.01)
        middle = 300 * (frame["elapsed"] - frame["seconds"] / 2) / total
        assert found["now"][1] == pytest.approx(middle, abs=2.5)
        assert found["inside"] and found["least"] >= 12.5


def test_every_frame_shown_is_the_frame_of_python(open_page):
    machine = request_phases()
    page = open_live(open_page, machine, width=375)
    for scene in SCENES:
        machine.scene = scene
        steps = [0, 1, 31, 63]
        check([machine.frames[at] for at in steps], page.evaluate(SHOW, [scene, steps]))
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert page.problems == [] and page.foreign == []


def test_a_link_leads_to_a_scene_of_ones_own(open_page):
    values = {"chip": "mi300x", "model": "llama-3.1-70b", "prompt": 4096, "answer": 8, "batch": 3}
    wanted = list(frames(OWN.build(**OWN.values(values))))
    fragment = "#hw:phases:v1:scene=own;chip=mi300x;model=llama-3.1-70b;prompt=4096;answer=8;batch=3;at=2"
    page = open_live(open_page, request_phases(), fragment=fragment)
    page.wait_for_function("document.querySelector('.hw-live').model.get('scene') === 'own'", timeout=PATIENT)
    page.wait_for_function("says => document.querySelector('.hw-say').textContent === says", arg=wanted[2]["says"])
    assert page.evaluate("document.querySelector('.hw-live').frame") == wanted[2]
    assert page.problems == [] and page.foreign == []
