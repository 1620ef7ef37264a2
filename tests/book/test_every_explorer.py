"""Every explorer of `hwlab.figures` in a real browser: the page computes what Python computes, legibly.

An explorer is found here by its name, NAME_explorer, and needs no test of its own for this.
"""

import random
import re

import pytest

from tests.book.live import QUICK, explorers, open_live
from tests.book.project import pages
from tests.book.test_explorers import CUT, SMALL, TINY, everything

STATES = 200
EXPLORERS = explorers() | {"everything": everything}


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


def test_the_explorers_of_the_book_are_among_them(site):
    shown = re.compile(r'<div class="hw-live" id="hw-([\w-]+)" data-kind="explorer"')
    names = {name for path in pages() for name in shown.findall((site / path).read_text("utf-8"))}
    assert names and names <= {make().name for make in EXPLORERS.values()}


def random_state(explorer, rng):
    state = {}
    for control in explorer.payload["controls"]:
        name = control["name"]
        if "options" in control:
            state[name] = rng.choice(control["options"])[0]
        else:
            low, high = control["stops"][0], control["stops"][-1]
            drawn = rng.choice(["evenly", "by ratio", "whole"])
            between = low * (high / low) ** rng.random() if drawn == "by ratio" and low > 0 else rng.uniform(low, high)
            between = float(round(between)) if drawn == "whole" else between
            state[name] = min(max(between, low), high)
    return state


READ = (
    f"async states => {{{QUICK}"
    + """
  const el = document.querySelector('.hw-live'), found = [];
  for (const details of el.querySelectorAll('details')) details.open = true;
  for (const state of states) {
    for (const [key, value] of Object.entries(state)) el.model.set(key, value);
    await frame(); await frame();
    found.push({
      value: el.view.signal('out_value'),
      height: el.view.scale('y')(el.view.signal('out_value')) / el.view.height(),
      says: el.querySelector('.hw-say').textContent,
      refused: el.querySelector('.hw-say').hasAttribute('data-refused'),
      lines: [...el.querySelectorAll('.hw-arithmetic:not([hidden]) li')].map(li => li.textContent),
      curves: el.querySelectorAll('.hw-slot .mark-line path').length,
    });
  }
  unhurry();
  return found;
}"""
)


@pytest.mark.parametrize("name", EXPLORERS)
def test_the_page_agrees_with_python_in_200_random_states(name, open_page):
    explorer, rng = EXPLORERS[name](), random.Random(20)
    states = [random_state(explorer, rng) for _ in range(STATES)]
    page = open_live(open_page, explorer)
    found = page.evaluate(READ, states)
    refused = 0
    for state, shown in zip(states, found, strict=True):
        for name, value in state.items():
            setattr(explorer, name, value)
        assert shown["says"] == explorer.says(), state
        if explorer.refusal():
            refused += 1
            assert shown["refused"] and shown["lines"] == [] and shown["curves"] == 0, state
        else:
            assert shown["value"] == pytest.approx(explorer.value(), rel=1e-9), state
            assert not shown["refused"] and shown["lines"] == explorer.arithmetic(), state
            assert shown["curves"] >= 1, state
            assert -1e-9 <= shown["height"] <= 1 + 1e-9, state  # the reader's point is never off the chart
    assert refused < STATES / 2 and bool(refused) == (explorer._refuses is not None)  # both kinds, where there are two
    assert page.problems == [] and page.foreign == []


@pytest.mark.parametrize("width", [320, 1280])
def test_every_explorer_fits_its_page(open_page, width):
    elements = [make() for make in EXPLORERS.values()]
    page = open_live(open_page, *elements, width=width, height=1500 * len(elements))
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(CUT) == []
    assert page.evaluate(SMALL) == []
    assert page.evaluate(TINY) == []
    assert page.problems == []
