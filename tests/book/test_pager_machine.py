"""The pager machine in a real browser: each frame drawn as Python computed it, legible whatever the reader sets."""

import pytest

from hwlab.figures import pager_machine
from hwlab.figures.pager import OWN, frames
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
    const [pool, tables] = el.querySelectorAll('.hw-slot > svg');
    found.push({
      frame: el.frame, says: el.querySelector('.hw-say').textContent,
      lines: [...el.querySelectorAll('.hw-arithmetic li')].map((li) => li.textContent),
      blocks: [...pool.querySelectorAll('g')].map(texts), tables: texts(tables),
      inside: [pool, tables].every((svg) => {
        const { x, y, width, height } = svg.getBBox(), view = svg.viewBox.baseVal;
        const within = (start, end, low, size) => start >= low - 2 && end <= low + size + 2;
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
        assert found["says"] == frame.get("refusal", frame["says"]) and found["lines"] == frame["arithmetic"]
        assert len(found["blocks"]) == frame["size"][0]
        for i, (number, users, *letters) in enumerate(found["blocks"]):
            held = frame["users"][i]
            assert number == str(i) and "".join(letters) == frame["slots"][i]
            assert users == (f"{len(held)} users" if len(held) > 4 else held or ("kept" if i in frame["kept"] else ""))
        for name, length, blocks in frame["tables"]:
            place = found["tables"].index(name)
            assert found["tables"][place + 1] == str(length)
            listed = " ".join(found["tables"][place + 2 :])
            assert listed.startswith(" ".join(map(str, blocks[:8])))
        for name, slots in zip(
            ("tokens", "empty in last blocks", "kept by the cache", "free"), frame["waste"], strict=True
        ):
            assert found["tables"][found["tables"].index(name) + 1] == str(slots)
        assert found["inside"] and found["least"] >= 13


def test_every_frame_shown_is_the_frame_of_python(open_page):
    machine = pager_machine()
    page = open_live(open_page, machine)
    for scene, _ in machine.payload["scenes"]:
        machine.scene = scene
        steps = list(range(len(machine.frames)))
        check(machine, page.evaluate(SHOW, [scene, steps]), steps)
    assert page.problems == [] and page.foreign == []


def corners():
    """The smallest and the largest that a reader may set, with every size of block."""
    large = {"num_blocks": 24, "requests": 6, "shared": 24, "own": 16, "answer": 12, "at_once": 5, "forks": 2}
    small = {"num_blocks": 4, "requests": 1, "shared": 0, "own": 1, "answer": 0, "at_once": 1}
    for i, size in enumerate("1248"):
        for name, values in (("large", large), ("small", small)):
            scene = OWN.build(**OWN.values(values | {"block_tokens": size, "again": "yes"}))
            yield f"{name}{i}", (f"{name}, blocks of {size}", scene)


def test_whatever_the_reader_sets_is_drawn_whole_and_legible_on_a_phone(open_page):
    machine = pager_machine(dict(corners()))
    page = open_live(open_page, machine, width=375)
    for scene, _ in machine.payload["scenes"]:
        machine.scene = scene
        steps = sorted({0, len(machine.frames) // 2, len(machine.frames) - 2, len(machine.frames) - 1})
        check(machine, page.evaluate(SHOW, [scene, steps]), steps)
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert page.problems == []


def test_a_link_leads_to_a_pool_of_ones_own(open_page):
    values = {"num_blocks": 6, "forks": 2, "again": "yes"}
    wanted = list(frames(OWN.build(**OWN.values(values))))
    page = open_live(
        open_page, pager_machine(), fragment="#hw:pager:v1:scene=own;num_blocks=6;forks=2;again=yes;at=999"
    )
    page.wait_for_function("document.querySelector('.hw-live').model.get('scene') === 'own'", timeout=PATIENT)
    page.wait_for_function("says => document.querySelector('.hw-say').textContent === says", arg=wanted[-1]["says"])
    assert page.evaluate("document.querySelector('.hw-live').frame") == wanted[-1]
    assert page.problems == [] and page.foreign == []
