"""A page of the built site that holds live elements of a test's own, and what a machine on it shows."""

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules

from hwlab import figures

PATIENT = 180_000
"""Milliseconds to wait for the page's Python: it starts in seconds, on a busy machine in minutes."""

HEAD = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Live</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="_static/web/book.css">
<main class="bd-main"><div class="bd-content"><div class="bd-article-container"><article class="bd-article">"""
TAIL = '</article></div></div></main><script type="module" src="_static/web/live.mjs"></script></html>'

QUICK = """
  // A frame of the page that comes as soon as what is asked for is done, not with the next sixtieth of a second.
  await new Promise(requestAnimationFrame); // what the page has asked for already
  const asked = [], { port1, port2 } = new MessageChannel(), unhurried = window.requestAnimationFrame;
  window.requestAnimationFrame = (action) => asked.push(action);
  const frame = () => new Promise((done) => {
    port1.onmessage = done;
    for (const action of asked.splice(0)) action(performance.now());
    port2.postMessage(0);
  });
  const unhurry = () => {
    window.requestAnimationFrame = unhurried;
    for (const action of asked.splice(0)) unhurried(action);
  };
"""
"""JavaScript: ``await frame()`` until ``unhurry()``. What the page does in a frame it does then, in the same order."""

SHOW = (
    f"async ([name, scene, frames, steps, also]) => {{{QUICK}"
    + """
  const el = document.getElementById(`hw-${name}`), slot = el.querySelector('.hw-slot'), found = [];
  const arithmetic = el.querySelector('.hw-arithmetic'), look = eval(also);
  if (arithmetic) arithmetic.open = true;
  if (frames) el.model.get('payload').frames[scene] = frames;
  el.model.set('scene', scene);
  el.model.set('at', -1); // so that each step is a change
  const within = (start, end, low, size) => start >= low - 1 && end <= low + size + 1;
  const whole = (part) => {
    const drawing = part.viewBox?.baseVal;
    const box = drawing ? part.getBBox() : part.getBoundingClientRect(), all = drawing ?? slot.getBoundingClientRect();
    return within(box.x, box.x + box.width, all.x, all.width)
      && (!drawing || within(box.y, box.y + box.height, all.y, all.height));
  };
  const text = (node) => node.nodeType === Node.TEXT_NODE && node.data.trim();
  const says = (node) => !node.closest('title, desc, style') && [...node.childNodes].some(text);
  const size = (node) =>
    parseFloat(getComputedStyle(node).fontSize) * (node.ownerSVGElement?.getScreenCTM().a ?? 1);
  for (const at of steps) {
    el.model.set('at', at);
    await frame();
    found.push({
      frame: el.frame, says: el.querySelector('.hw-say').textContent,
      lines: [...el.querySelectorAll('.hw-arithmetic li')].map((line) => line.textContent),
      outside: [...slot.children].filter((part) => !whole(part)).map((part) => {
        const { x, y, width, height } = part.getBBox?.() ?? part.getBoundingClientRect();
        return [x, y, width, height];
      }),
      least: Math.min(...[...slot.querySelectorAll('*')].filter(says).map(size)),
      wide: document.documentElement.scrollWidth,
      ...look(slot),
    });
  }
  unhurry();
  return found;
}"""
)


def open_live(open_page, *elements, fragment="", meta="", **options):
    """A page with `elements` (explorers, machines, charts), ready; `meta` comes first, the address ends in `fragment`.

    It stands at the root of the built site, whose style and modules it loads, and records what `open_page` records.
    """
    blocks = (
        f'<div class="admonition block move">{element._repr_mimebundle_()["text/html"]}</div>' for element in elements
    )
    html = HEAD + meta + "".join(blocks) + TAIL
    page = open_page(f"live-elements.html{fragment}", html=html, **options)
    if options.get("java_script_enabled", True):
        page.wait_for_function(
            "[...document.querySelectorAll('.hw-live')].every(el => el.dataset.ready || el.dataset.failed)"
        )
        assert page.locator("[data-failed]").count() == 0, page.problems
    return page


def machines():
    """{name of a function of `hwlab.figures`: the module that it and the page's Python take the machine from}."""
    homes = {name: import_module(f"hwlab.figures.{figures._HOME[name]}") for name in figures.__all__}
    return {name: module for name, module in homes.items() if hasattr(module, "SCENES")}


def explorers():
    """{name: function} of the explorers of the book: what is called ..._explorer in a module of `hwlab.figures`."""
    modules = [import_module(found.name) for found in iter_modules(figures.__path__, "hwlab.figures.")]
    return {
        name: make
        for module in modules
        for name, make in vars(module).items()
        if name.endswith("_explorer") and make.__module__ == module.__name__
    }


def show(page, machine, scene, steps, *, also="slot => ({})", frames=None):
    """Show frames of a machine's scene one after another, and hold what every machine owes against `machine`'s own.

    Each frame shown is the frame of Python, with its sentence and its arithmetic; the drawing is whole in its box, no
    word of it smaller than 13 px, the page no wider than its window.

    Parameters
    ----------
    page : Page
        From `open_live`.
    machine : Machine
        The one that the page was opened with.
    scene : str
        Key of the scene.
    steps : iterable of int
        Numbers of the frames to show.
    also : str
        A JavaScript function of the machine's slot (the element that holds its drawing): whatever else to look at, as
        an object.
    frames : list of dict, optional
        Takes the place of the frames of the scene.

    Returns
    -------
    list of (frame, dict)
        By step the frame of Python and what `also` gave.

    Examples
    --------
    To see in the page's drawing what the frame says::

        count = "slot => ({ lines: slot.querySelectorAll('.held').length })"
        for frame, seen in show(page, machine, "small", [0, 3], also=count):
            assert seen["lines"] == len(frame["lines"])
    """
    steps = sorted(steps)
    wanted = frames or machine.payload["frames"][scene]
    found = page.evaluate(SHOW, [machine.name, scene, frames, steps, also])
    width = page.viewport_size["width"]
    for at, seen in zip(steps, found, strict=True):
        frame, where = wanted[at], f"{machine.name}, {scene}, frame {at}"
        assert seen.pop("frame") == frame, where
        assert seen.pop("says") == frame.get("refusal", frame["says"]), where
        assert seen.pop("lines") == frame.get("arithmetic", []), where
        assert seen.pop("outside") == [], f"{where}: these drawings (x, y, width, height) leave their boxes"
        least = seen.pop("least")
        assert least >= 13, f"{where}: a word is {least:.2f} px high, and 13 are needed"
        assert seen.pop("wide") <= width, f"{where}: the page is wider than its window"
    return [(wanted[at], seen) for at, seen in zip(steps, found, strict=True)]


def spread(count: int, most: int) -> Iterable[int]:
    """At most `most` numbers from 0 to `count` - 1, evenly apart, both ends among them."""
    return sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})
