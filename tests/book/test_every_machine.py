"""What every machine of `hwlab.figures` owes its reader, in a real browser.

A machine is found here by its name in `hwlab.figures` and the ``SCENES`` and ``OWN`` of its module; a file of its own,
test_NAME_machine.py, need only hold what is drawn against the frame (`tests.book.live.show`).
"""

import json
import re
from math import isclose

import pytest

from hwlab import figures
from hwlab.figures.own import Number
from hwlab.page import frames as answered
from tests.book.live import PATIENT, machines, open_live, show, spread
from tests.book.project import pages

MACHINES = machines()


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


def test_the_machines_of_the_book_are_among_them(site):
    shown = set()
    for path in pages():
        for data in re.findall(r'data-kind="machine" data-module="(\w+)"', (site / path).read_text("utf-8")):
            shown.add(data)
    assert shown and shown <= {module.__name__.rpartition(".")[2] for module in MACHINES.values()}


@pytest.mark.parametrize("name", MACHINES)
def test_every_frame_shown_is_the_frame_of_python_whole_and_legible(open_page, name):
    machine = getattr(figures, name)()
    page = open_live(open_page, machine)
    for scene, _ in machine.payload["scenes"]:
        show(page, machine, scene, spread(len(machine.payload["frames"][scene]), 24))
    page.set_viewport_size({"width": 375, "height": 800})
    for scene, _ in machine.payload["scenes"]:
        show(page, machine, scene, spread(len(machine.payload["frames"][scene]), 6))
    assert page.problems == [] and page.foreign == []


def corners(own):
    """Where the reader's fields begin and end: all at once, and one after another from the start."""
    ends = {
        field.name: (field.low, field.high) if isinstance(field, Number) else [*field.options] for field in own.fields
    }
    yield from ({name: end[i] for name, end in ends.items()} for i in (0, -1))
    yield {}
    yield from ({name: value} for name, end in ends.items() for value in end)


def answer(module, values):
    """What CPython says to `values`: frames, or the sentence of a refusal."""
    try:
        return json.loads(json.dumps(list(answered(module.__name__.rpartition(".")[2], values))))
    except ValueError as refusal:
        return str(refusal)


@pytest.mark.parametrize("name", MACHINES)
def test_whatever_the_reader_sets_is_drawn_whole_and_legible_on_a_phone(open_page, name):
    machine = getattr(figures, name)()
    page = open_live(open_page, machine, width=375)
    scene = machine.payload["scenes"][0][0]
    drawn = 0
    for values in corners(MACHINES[name].OWN):
        frames = answer(MACHINES[name], values)
        if isinstance(frames, str):
            continue  # these ends do not go together, and the machine says so
        few = [frames[len(frames) * i // 4] for i in range(4)] + frames[-1:]
        show(page, machine, scene, range(len(few)), frames=few)
        drawn += 1
    assert drawn > len(MACHINES[name].OWN.fields)
    assert page.problems == []


def test_a_scene_of_ones_own_is_computed_in_the_page_as_it_is_here(open_page):
    """All machines on one page: its Python starts once."""
    elements = {name: getattr(figures, name)() for name in MACHINES}
    page = open_live(open_page, *elements.values(), height=1500 * len(elements))  # what is far from view waits
    for name, machine in elements.items():
        module = MACHINES[name]
        asked = [{}, *({field.name: field.read(_other(field))} for field in module.OWN.fields), {"nothing": 1}]
        asked.append({module.OWN.fields[0].name: -1})
        found = page.evaluate(
            """async ([module, asked]) => {
              const { python } = await import('/_static/web/python.mjs');
              const answers = [];
              for (const values of asked) {
                answers.push(await python.call('frames', { module, values }).catch(refusal => refusal.message));
              }
              return answers;
            }""",
            [machine.module, asked],
        )
        for values, seen in zip(asked, found, strict=True):
            assert alike(seen, answer(module, values)), (name, values)
        assert [isinstance(seen, str) for seen in (found[0], *found[-2:])] == [False, True, True]
        fields = ";".join(f"{key}={value}" for key, value in asked[1].items())
        page.evaluate("hash => { location.hash = hash; }", f"#hw:{machine.name}:v1:scene=own;{fields};at=1")
        page.wait_for_function(
            "name => document.getElementById(`hw-${name}`).model.get('scene') === 'own'",
            arg=machine.name,
            timeout=PATIENT,
        )
        page.wait_for_function(
            "([name, says]) => document.querySelector(`#hw-${name} .hw-say`).textContent === says",
            arg=[machine.name, found[1][1]["says"]],
        )
    assert page.problems == [] and page.foreign == []


def alike(one, other):
    """Whether two frames are equal, but for the last bits of fractions: other versions of Python sum otherwise."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == other or (isinstance(one, float) and isinstance(other, float) and isclose(one, other, rel_tol=1e-12))


def _other(field):
    """A value at which the field does not begin."""
    if isinstance(field, Number):
        return field.stops[max(0, field.stops.index(field.start) - 1)] if field.start != field.low else field.stops[1]
    return next(key for key in field.options if key != field.start)


@pytest.mark.parametrize("name", MACHINES)
def test_the_keyboard_steps_and_without_a_script_the_end_is_drawn_and_listed(open_page, name):
    machine = getattr(figures, name)()
    scene = machine.payload["scenes"][0][0]
    page = open_live(open_page, machine, fragment=f"#hw:{machine.name}:v1:scene={scene};at=0")
    slot = page.locator(".hw-slot")
    slot.focus()
    for key, at in (("ArrowRight", 1), ("End", -1), ("ArrowLeft", -2), ("Home", 0)):
        slot.press(key)
        says = machine.payload["frames"][scene][at]["says"]
        page.wait_for_function("says => document.querySelector('.hw-say').textContent === says", arg=says)
    still = open_live(open_page, machine, java_script_enabled=False)
    assert still.locator(".hw-slot > svg").is_visible()
    still.locator(".hw-data summary").click()
    assert still.locator(".hw-data tbody tr").count() == len(machine.payload["scenes"])
    assert still.locator(".hw-say").inner_text() == machine.frame["says"]
