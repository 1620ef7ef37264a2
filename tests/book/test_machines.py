"""Machines in a real browser: what is drawn is what Python computed, by mouse, by keyboard and without motion."""

import pytest

from hwlab.figures import blocked_product
from tests.book.live import open_live


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


def test_every_frame_shown_is_the_frame_of_python(open_page):
    machine = blocked_product()
    page = open_live(open_page, machine)
    for scene, _ in machine.payload["scenes"]:
        machine.scene = scene
        found = page.evaluate(
            """async ([scene, count]) => {
              const el = document.querySelector('.hw-live'), found = [];
              el.querySelector('.hw-arithmetic').open = true;
              el.model.set('scene', scene);
              for (let at = 0; at < count; at++) {
                el.model.set('at', at);
                await new Promise(requestAnimationFrame);
                const lines = [...el.querySelectorAll('.hw-arithmetic li')].map(li => li.textContent);
                const text = part => el.querySelector(part).textContent;
                found.push([el.frame, text('.hw-say'), lines, text('.hw-slot')]);
              }
              return found;
            }""",
            [scene, len(machine.frames)],
        )
        for frame, (shown, says, lines, drawn) in zip(machine.frames, found, strict=True):
            assert shown == frame
            assert says == frame["says"]
            assert lines == frame["arithmetic"]
            assert f"{frame['bytes']:,} bytes" in drawn and f"{frame['flop']:,} FLOP" in drawn
    assert page.problems == [] and page.foreign == []


def state(page):
    return page.evaluate("(m => [m.get('scene'), m.get('at')])(document.querySelector('.hw-live').model)")


def test_play_runs_to_the_end_and_is_silent_meanwhile(open_page):
    page = open_live(open_page, blocked_product())
    page.get_by_label("Tiles of 3 × 3").check()
    assert state(page) == ["large", 0]
    page.get_by_role("button", name="Play").click()
    assert page.locator(".hw-say").get_attribute("aria-live") == "off"
    page.wait_for_function("document.querySelector('.hw-live').model.get('at') === 8", timeout=15_000)
    page.get_by_role("button", name="Play").wait_for()
    assert page.locator(".hw-say").get_attribute("aria-live") == "polite"
    page.get_by_role("button", name="Step", exact=True).click()
    assert state(page) == ["large", 0]  # after the last frame comes the first


def test_the_keyboard_alone_steps_scrubs_and_chooses(open_page):
    page = open_live(open_page, blocked_product())
    page.keyboard.press("Tab")  # the figure
    for key, at in (("Home", 0), ("ArrowRight", 1), ("ArrowLeft", 0), ("ArrowLeft", 27), ("Control+Home", 27)):
        page.keyboard.press(key)
        assert state(page) == ["small", at]
    assert page.locator(".hw-keys").is_visible()
    page.keyboard.press("Space")
    page.wait_for_function("document.querySelector('.hw-live').model.get('at') === 2")
    page.keyboard.press("Space")
    assert page.get_by_role("button", name="Play").is_visible()
    page.keyboard.press("Tab")  # the scene
    assert not page.locator(".hw-keys").is_visible()
    page.keyboard.press("ArrowRight")
    assert state(page) == ["large", 0]
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # before the first frame lies the last, and the focus stays
    assert state(page) == ["large", 8] and page.evaluate("document.activeElement.textContent") == "Back"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert state(page) == ["large", 0] and page.evaluate("document.activeElement.textContent") == "Step"
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.textContent") == "Play"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert state(page) == ["large", 2]
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    page.wait_for_function("document.activeElement.getAttribute('aria-valuetext') === '9 of 9'")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert state(page) == ["large", 1]


def test_with_reduced_motion_there_is_nothing_to_play(open_page):
    page = open_live(open_page, blocked_product(), reduced_motion="reduce")
    assert not page.get_by_role("button", name="Play").is_visible()
    page.get_by_role("button", name="Back").click()
    assert state(page) == ["small", 26]


def test_the_address_holds_scene_and_frame(open_page):
    page = open_live(open_page, blocked_product(), fragment="#hw:blocked:v1:scene=order;at=4")
    assert state(page) == ["order", 4]
    page.get_by_role("button", name="Step", exact=True).click()
    page.wait_for_function("location.hash === '#hw:blocked:v1:scene=order;at=5'")
    for broken in ("#hw:blocked:v1:scene=none-such;at=1", "#hw:blocked:v1:at=2"):
        page.evaluate("hash => { location.hash = hash; }", broken)
        page.wait_for_timeout(50)
        assert state(page) == ["order", 5]
    page.evaluate("location.hash = '#hw:blocked:v1:scene=large;at=999'")
    page.wait_for_function("document.querySelector('.hw-live').model.get('at') === 8")
    assert page.problems == []


def test_a_scene_chosen_in_python_is_drawn_before_the_pages_python_runs(open_page):
    machine = blocked_product()
    machine.own = {"m": 4, "k": 4, "n": 4, "block_m": 2}
    machine.at = 3
    page = open_live(open_page, machine)
    frame = "document.querySelector('.hw-live').frame"
    assert page.evaluate(frame) == machine.frame and page.locator(".hw-slot > *").count()
    assert page.get_by_role("radio", name="Your own").is_checked()
    assert not page.get_by_role("button", name="Run it").is_visible()  # nothing is left to run
    page.get_by_role("button", name="Step", exact=True).click()
    page.wait_for_function(f"frame => {frame}.says === frame", arg=machine.frames[4]["says"])
    page.get_by_role("radio").first.check()
    page.get_by_role("button", name="Start again").click()
    page.wait_for_function(f"says => {frame}.says === says", arg=machine.frame["says"])
    assert state(page) == ["own", 3] and page.problems == []


@pytest.mark.parametrize(("width", "dark"), [(375, True), (1280, False)])
def test_the_machine_fits_its_page(open_page, width, dark):
    page = open_live(open_page, blocked_product(), width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    heights = page.locator(".hw-slot text").evaluate_all("texts => texts.map(t => t.getBoundingClientRect().height)")
    assert min(heights) > 13


def test_without_a_script_the_totals_are_drawn_and_listed(open_page):
    machine = blocked_product()
    page = open_live(open_page, machine, java_script_enabled=False)
    assert page.locator(".hw-slot > svg").is_visible()
    page.locator(".hw-data summary").click()
    assert page.locator(".hw-data tbody tr").count() == 4
    assert page.locator(".hw-say").inner_text() == machine.frame["says"]
