"""The Python of a page: the same frames as here, told and called off as they come, and honest where it cannot run."""

import json
import random
import re
import zipfile

import pytest

from hwlab.costs.blocking import ORDERS
from hwlab.figures import Machine, blocked_matmul, blocked_product, cache, cache_under_loops
from hwlab.figures.live import source
from hwlab.figures.own import Pick
from hwlab.page import frames
from tests.book.live import PATIENT, open_live
from tests.book.project import ROOT


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


def test_the_site_serves_the_package_as_it_stands_and_what_python_starts_from(site):
    served = site / "_static" / "web"
    (wheel,) = served.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        there = {name: packed.read(name) for name in packed.namelist() if ".dist-info/" not in name}
    left = {"__pycache__", "weights"}  # no page runs a model of ours
    files = (path for path in (ROOT / "hwlab").rglob("*") if path.is_file() and not left & set(path.parts))
    whole = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in files}
    assert there.keys() == whole.keys()
    told = {name for name, source in whole.items() if source != there[name]}
    assert told == {name for name, source in whole.items() if b"\nimport jax\n" in source}
    for name in told:
        module = name.removesuffix(".py").replace("/", ".")
        with pytest.raises(ImportError, match=f"^{re.escape(module)} needs JAX"):
            exec(there[name])
    parts = {path.name: path.stat().st_size for path in (served / "pyodide").iterdir() if path.stat().st_size}
    assert set(parts) == {"pyodide.asm.js.packed", "pyodide.asm.wasm.packed", "python_stdlib.zip.packed"}
    assert sum(parts.values()) + wheel.stat().st_size < 6.5e6


def second():
    """Another machine for the same page."""
    scenes = {"small": blocked_matmul.SCENES["small"]}
    rest = {"columns": {}, "picture": blocked_matmul._totals, "alt": "A product.", "own": blocked_matmul.OWN}
    return Machine("second", "blocked_matmul", blocked_matmul.frames, scenes, scene="small", **rest)


def answer(values, module="blocked_matmul"):
    """What CPython says to `values`: frames, or the sentence of a refusal."""
    try:
        return list(frames(module, values))
    except ValueError as refusal:
        return str(refusal)


def scenes_at_random(generator):
    """Modules and values for their fields, some of which are refused."""
    for _ in range(20):
        values = {axis: generator.randint(1, 12) for axis in "mkn"}
        values |= {f"block_{axis}": generator.randint(1, values[axis]) for axis in "mkn"}
        if generator.random() < 0.2:
            values["block_k"] = 12
        yield "blocked_matmul", values | {"order": generator.choice(ORDERS), "itemsize": generator.choice("1248")}
    for _ in range(5):
        values = {axis: generator.randint(1, 8) for axis in "mkn"}
        picks = (field for field in cache.OWN.fields if isinstance(field, Pick))
        yield "cache", values | {pick.name: generator.choice(list(pick.options)) for pick in picks}


LONG = {"m": 8, "k": 64, "n": 32, "block": "2", "ways": "0"}  # of the cache: seconds, in a browser

CALL = """async ([module, values]) => {
  const { python } = await import('/_static/web/python.mjs');
  return python.call('frames', { module, values }).catch(error => `${error.name}: ${error.message}`);
}"""


def choose_own(live):
    live.get_by_role("radio", name="Your own").check()


def run(live):
    """Press the button, unless Python starts by itself: it may, in idle time, once the reader has touched a figure."""
    shown = "button => !button.hidden && button.textContent !== 'Stop'"
    live.evaluate(f"el => [...el.querySelectorAll('.hw-own button')].find({shown})?.click()")


def wait_for_own(page, name):
    page.wait_for_function(
        f"document.getElementById('hw-{name}').model?.get('scene') === 'own'"
        f" && document.querySelector('#hw-{name} .hw-status').textContent.includes('computed by')",
        timeout=PATIENT,
    )


def test_a_scene_of_ones_own_is_computed_in_the_page_as_it_is_here(open_page):
    page = open_live(open_page, blocked_product(), second())
    page.evaluate("""async () => {
      const { python } = await import('/_static/web/python.mjs');
      window.told = [];
      python.watch(({ state, says, done, of }) => told.push([state, says, done, of]));
    }""")
    asked = []
    page.context.on("request", lambda request: asked.append(request.url))
    live = page.locator("#hw-blocked")
    choose_own(live)
    start = blocked_matmul.OWN.start
    assert live.evaluate("el => el.model.get('scene')") == "small"  # until there is something to show
    run(live)
    wait_for_own(page, "blocked")
    last = answer(start)[-1]
    live.get_by_role("slider", name="Step", exact=True).press("End")
    page.wait_for_function("document.querySelector('#hw-blocked').frame.bytes > 1000")
    assert live.evaluate("el => el.frame") == last
    assert live.locator(".hw-say").inner_text() == last["says"]
    assert f"{last['bytes']:,} bytes" in live.locator(".hw-slot").inner_text()

    told = page.evaluate("told")
    states = [state for i, (state, *_) in enumerate(told) if not i or told[i - 1][0] != state]
    assert states == ["off", "starting", "ready", "busy", "ready"]
    counts = [done for state, _, done, _ in told if state == "starting"]
    assert counts == sorted(counts) and counts[-1] == told[-1][3] and len(set(counts)) > 2
    assert any(says.startswith("Fetching Python: ") and says.endswith(" MB") for _, says, _, _ in told)
    fetched = {url.split("/")[-1].split("?")[0] for url in asked if "/part-" not in url}
    assert fetched == {
        "python_worker.mjs",
        "pyodide.asm.js.packed",
        "pyodide.asm.wasm.packed",
        "python_stdlib.zip.packed",
        "hwlab-0.1.0-py3-none-any.whl",
    }

    refused = 0
    for module, values in scenes_at_random(random.Random(7)):
        there, here = page.evaluate(CALL, [module, values]), answer(values, module)
        refused += isinstance(here, str)
        assert there == (f"ValueError: {here}" if isinstance(here, str) else here), (module, values)
    assert 0 < refused < 10

    other = page.locator("#hw-second")
    choose_own(other)  # no button: Python is there
    wait_for_own(page, "second")
    other.get_by_role("slider", name="Tile along m").press("Home")
    page.wait_for_function("document.querySelector('#hw-second').model.get('own').block_m === 1", timeout=PATIENT)
    first = answer(start | {"block_m": 1})[0]
    page.wait_for_function("told => document.querySelector('#hw-second').frame.says === told", arg=first["says"])
    other.get_by_role("slider", name="Tile along m").press("End")
    other.get_by_text("block_m is 12, but m is only 8; choose a tile of 1 to 8").wait_for()
    assert other.evaluate("el => el.frame") == first
    assert len(page.workers) == 1
    assert page.problems == [] and page.foreign == []


def test_a_call_can_be_called_off_and_the_next_one_is_answered(open_page):
    page = open_live(open_page, blocked_product())
    workers = []
    page.on("worker", lambda worker: workers.append(worker))
    big = cache.OWN.start | LONG
    outcome = page.evaluate(
        """async ([big, small]) => {
          const { python } = await import('/_static/web/python.mjs');
          const module = values => (values.ways ? 'cache' : 'blocked_matmul');
          const ask = (values, rest) => python.call('frames', { module: module(values), values }, rest)
            .then(frames => frames.length, error => error.name);
          const off = new AbortController(), waits = new AbortController();
          let seen = 0;
          const first = ask(big, { signal: off.signal, onprogress: items => { seen += items.length; off.abort(); } });
          const second = ask(big, { signal: waits.signal });
          const third = ask(small);
          waits.abort();
          return [await first, await second, await third, seen, await ask({ n: 13 }), python.state];
        }""",
        [big, blocked_matmul.OWN.start],
    )
    assert outcome[:3] == ["AbortError", "AbortError", len(answer(blocked_matmul.OWN.start))]
    assert 0 < outcome[3] < len(answer(big, "cache"))
    assert outcome[4:] == ["ValueError", "ready"]
    assert len(workers) == 1  # frames end by themselves: no new start
    again = page.evaluate(
        """async values => {
          const { python } = await import('/_static/web/python.mjs');
          const call = python.call('frames', { module: 'cache', values });
          python.stop();
          return [await call.catch(error => error.name), python.state];
        }""",
        big,
    )
    assert again == ["AbortError", "off"]
    small = blocked_matmul.OWN.start
    assert page.evaluate(CALL, ["blocked_matmul", small]) == answer(small)
    assert len(workers) == 2
    assert page.problems == []


def test_a_long_run_says_how_far_it_is_and_stops_at_a_button(open_page):
    big = cache.OWN.start | LONG
    fragment = "#hw:cache:v1:scene=own;" + ";".join(f"{key}={value}" for key, value in big.items())
    page = open_live(open_page, cache_under_loops(), fragment=fragment)
    live = page.locator("#hw-cache")
    before = live.evaluate("el => el.frame")
    page.evaluate(
        """() => {
          const { model } = document.querySelector('#hw-cache');
          model.on('msg:custom', ({ type, count }) => { // the button as soon as there is something to stop
            if (type !== 'progress' || window.count) return;
            window.count = count;
            stop(document.querySelector('#hw-cache .hw-own'));
          });
          const stop = own => [...own.querySelectorAll('button')].find(button => button.textContent === 'Stop').click();
        }"""
    )
    live.get_by_text("Stopped", exact=True).wait_for(timeout=PATIENT)
    assert 0 < page.evaluate("count") < len(answer(big, "cache"))
    assert live.evaluate("el => [el.frame, el.model.get('scene')]") == [before, next(iter(cache.SCENES))]
    live.get_by_role("slider", name="m, rows of A").press("Home")
    live.get_by_role("slider", name="k, columns of A").press("Home")
    wait_for_own(page, "cache")
    page.wait_for_function("document.querySelector('#hw-cache').model.get('own').k === 1", timeout=PATIENT)
    assert live.evaluate("el => el.frame") == answer(big | {"m": 1, "k": 1}, "cache")[0]
    assert len(page.workers) == 1
    assert page.problems == []


def test_a_link_leads_to_a_scene_of_ones_own(open_page):
    values = {"m": 3, "k": 5, "n": 2, "block_m": 1, "block_k": 5, "block_n": 2, "order": "kmn", "itemsize": "2"}
    fragment = "#hw:blocked:v1:scene=own;" + ";".join(f"{key}={value}" for key, value in values.items()) + ";at=2"
    page = open_live(open_page, blocked_product(), fragment=fragment)
    wait_for_own(page, "blocked")
    live = page.locator("#hw-blocked")
    page.wait_for_function("document.querySelector('#hw-blocked').frame.step === 3")
    assert live.evaluate("el => el.frame") == answer(values)[2]
    assert live.get_by_role("slider", name="k, columns of A").get_attribute("aria-valuetext") == "5"
    page.wait_for_function("told => location.hash === told", arg=fragment)
    # an old link: what it does not say, or what no field can hold, stays as it was
    page.evaluate("location.hash = '#hw:blocked:v1:scene=own;m=99;n=4;order=nnn;at=0'")
    page.wait_for_function("document.querySelector('#hw-blocked').model.get('own').n === 4", timeout=PATIENT)
    assert live.evaluate("el => el.model.get('own')") == values | {"n": 4}
    page.get_by_role("button", name="Start again").click()
    page.wait_for_function("document.querySelector('#hw-blocked').model.get('scene') === 'small'")
    assert not live.get_by_role("slider", name="k, columns of A").is_visible()


def failing(page):
    """Ask for a scene of one's own; the sentence that says why there is none, and proof that the rest goes on."""
    live = page.locator("#hw-blocked")
    choose_own(live)
    run(live)
    live.get_by_text("Python could not run here: ").wait_for(timeout=PATIENT)
    live.get_by_role("button", name="Try again").wait_for()
    why = live.locator(".hw-status").inner_text()
    live.get_by_role("radio", name="Tiles of 3 × 3").check()
    live.get_by_role("button", name="Step", exact=True).click()
    assert live.evaluate("el => [el.model.get('scene'), el.model.get('at')]") == ["large", 1]
    return why


@pytest.mark.parametrize(
    ("missing", "why"),
    [
        ("python_worker.mjs", "its worker could not be fetched"),
        ("pyodide.asm.wasm.packed", "pyodide.asm.wasm could not be fetched (the server answers 404)"),
    ],
)
def test_a_file_that_cannot_be_fetched_is_named_and_the_shipped_scenes_go_on(open_page, missing, why):
    page = open_live(open_page, blocked_product())
    page.context.route(f"**/{missing}*", lambda route: route.fulfill(status=404))
    assert failing(page) == f"Python could not run here: {why}"
    page.context.unroute(f"**/{missing}*")
    choose_own(page.locator("#hw-blocked"))
    page.get_by_role("button", name="Try again").click()
    wait_for_own(page, "blocked")


def test_a_browser_without_webassembly_says_so_and_the_shipped_scenes_go_on(open_page):
    page = open_live(open_page, blocked_product())
    page.evaluate("delete window.WebAssembly")
    assert failing(page) == "Python could not run here: this browser runs no WebAssembly"
    assert page.problems == []


def test_a_kernel_answers_the_same_module_with_the_same_frames(open_page):
    machine, sent = blocked_product(), []
    machine.send = sent.append

    def kernel(message):
        machine._handle_custom_msg(json.loads(message), [])
        return json.dumps([sent.pop(), {"own": machine.own, "scene": machine.scene, "at": machine.at}])

    page = open_page("genindex.html")
    page.expose_function("kernel", kernel)
    state = {"payload": machine.payload, "markup": machine.markup, "scene": "small", "at": 26, "own": None}
    page.evaluate(
        """async ([source, state]) => {
          const handlers = {};
          const fire = (event, ...given) => (handlers[event] ?? []).forEach(handler => handler(...given));
          const set = (key, value) => { state[key] = value; fire(`change:${key}`); };
          window.model = {
            get: key => state[key], set, save_changes() {},
            on: (event, handler) => (handlers[event] ??= []).push(handler),
            send: async message => {
              if (message.type !== 'frames') return;
              const [reply, traits] = JSON.parse(await kernel(JSON.stringify(message)));
              for (const [key, value] of Object.entries(traits)) set(key, value);
              fire('msg:custom', reply, []);
            },
          };
          const { default: view } = await import(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));
          document.body.replaceChildren(Object.assign(document.createElement('div'), { id: 'output' }));
          await view.render({ model, el: document.getElementById('output') });
        }""",
        [source("blocked_matmul"), state],
    )
    output = page.locator("#output")
    choose_own(output)
    page.wait_for_function("model.get('scene') === 'own'")
    output.get_by_role("slider", name="Tile along k").press("End")
    output.get_by_text("block_k is 12, but k is only 8; choose a tile of 1 to 8").wait_for()
    assert machine.own == blocked_matmul.OWN.start
    output.get_by_role("slider", name="Tile along k").press("Home")
    output.get_by_role("slider", name="Tile along k").press("ArrowRight")
    page.wait_for_function("document.querySelector('#output').frame.steps < 33")
    assert machine.own["block_k"] == 2 and machine.scene == "own"
    assert output.evaluate("el => el.frame") == machine.frames[0] == answer(machine.own)[0]

    machine.own = {"m": 2, "k": 2, "n": 2, "block_m": 1, "block_n": 1}  # Python sets it, the front end follows
    machine.at = 3
    page.evaluate(
        "([own, at]) => { model.set('own', own); model.set('at', at); model.set('scene', 'own'); }", [machine.own, 3]
    )
    page.wait_for_function("document.querySelector('#output').frame.step === 4")
    assert output.evaluate("el => el.frame") == machine.frame
    assert page.problems == []


EXTREMES = [(1, 1, 1), (12, 12, 12), (1, 12, 12), (12, 1, 12), (12, 12, 1), (1, 1, 12), (1, 12, 1), (12, 1, 1)]


def test_every_size_is_drawn_legibly_on_a_phone(open_page):
    page = open_live(open_page, blocked_product(), width=375)
    for m, k, n in EXTREMES:
        values = blocked_matmul.OWN.start | {"m": m, "k": k, "n": n} | {f"block_{axis}": 1 for axis in "mkn"}
        page.evaluate(
            """([frames, own]) => {
              const el = document.querySelector('.hw-live');
              el.model.get('payload').frames.small = frames;
              el.model.set('at', 0);
              el.model.set('at', frames.length - 1);
            }""",
            [answer(values)[-2:], values],
        )
        page.wait_for_function(
            "shape => String(document.querySelector('.hw-live').frame.shape) === shape", arg=f"{m},{k},{n}"
        )
        words = page.locator(".hw-slot text").evaluate_all(
            "texts => texts.map(t => t.getBoundingClientRect().toJSON())"
        )
        assert min(word["height"] for word in words) > 13, (m, k, n)
        for i, one in enumerate(words):
            assert one["left"] >= 0 and one["right"] <= 375, (m, k, n)
            for other in words[:i]:
                apart = one["left"] >= other["right"] or other["left"] >= one["right"]
                above = one["top"] >= other["bottom"] - 3 or other["top"] >= one["bottom"] - 3
                assert apart or above, (m, k, n)
    assert page.evaluate("document.documentElement.scrollWidth") == 375
