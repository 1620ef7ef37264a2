"""A reader on a phone, with no network but the book: guesses, moves, runs a scene, answers, shares, prints."""

import pypdfium2

from hwlab.exercises import question
from hwlab.page import frames
from tests.book.live import PATIENT
from tests.book.test_python import choose_own, run, wait_for_own

CHAPTER = "book/02-matmul.html"
PHONE = {"width": 375, "height": 720, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


def test_a_reader_on_a_phone_does_all_that_the_chapter_asks(open_page):
    page = open_page(CHAPTER, **PHONE, permissions=["clipboard-read", "clipboard-write"])

    guess = page.locator("#q-matmul-one-token")  # guess first
    guess.get_by_label("Your guess").last.fill("50")
    guess.get_by_role("button", name="Reveal").tap()
    truth = question("matmul-one-token")
    assert truth.show(truth.answer()) in guess.locator(".reply").inner_text()

    explorer = page.locator(".hw-live[data-kind=explorer]").first  # move
    explorer.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('.hw-live[data-kind=explorer]').dataset.ready")
    before = explorer.locator(".hw-say").inner_text()
    slider = explorer.get_by_role("slider").first
    slider.scroll_into_view_if_needed()
    track = slider.bounding_box()
    page.touchscreen.tap(track["x"] + 0.9 * track["width"], track["y"] + track["height"] / 2)
    page.wait_for_function(
        "before => document.querySelector('.hw-live[data-kind=explorer] .hw-say').textContent !== before", arg=before
    )

    machine = page.locator("#hw-blocked")  # a scene of their own
    machine.scroll_into_view_if_needed()
    page.wait_for_function("document.getElementById('hw-blocked').dataset.ready")
    choose_own(machine)
    run(machine)
    wait_for_own(page, "blocked")
    machine.get_by_role("slider", name="k, columns of A").press("Home")
    page.wait_for_function("document.getElementById('hw-blocked').model.get('own').k === 1", timeout=PATIENT)
    machine.get_by_role("button", name="Step", exact=True).tap()
    page.wait_for_function("document.getElementById('hw-blocked').frame.step === 2")
    own = machine.evaluate("el => el.model.get('own')")
    computed = list(frames("blocked_matmul", own))
    assert machine.evaluate("el => el.frame") == computed[1]

    exercise = page.locator("#q-matmul-layer-bytes")  # an exercise, wrong and right
    asked = question("matmul-layer-bytes")
    field = exercise.get_by_role("textbox")
    for value in (asked.mistakes[0].value(), asked.answer()):
        field.fill(f"{value / 1e6:.6g}")
        exercise.get_by_role("button", name="Check").tap()
        assert asked.judge(f"{value / 1e6:.6g} MB").says in exercise.locator(".reply").inner_text()

    machine.get_by_role("button", name="Copy link").tap()  # shared, and followed elsewhere
    page.wait_for_function("document.querySelector('#hw-blocked .hw-note').textContent === 'Link copied'")
    address = page.evaluate("navigator.clipboard.readText()")
    other = open_page(address.split("/", 3)[3], **PHONE)
    wait_for_own(other, "blocked")
    other.wait_for_function("document.getElementById('hw-blocked').frame.step === 2")
    assert other.locator("#hw-blocked").evaluate("el => [el.model.get('own'), el.frame]") == [own, computed[1]]

    page.reload()  # what was done is kept
    page.wait_for_function(
        "document.querySelector('#q-matmul-layer-bytes .reply [data-right], #q-matmul-layer-bytes .reply[data-right]')"
    )
    paper = pypdfium2.PdfDocument(other.pdf())
    text = "\n".join(sheet.get_textpage().get_text_range() for sheet in paper)
    assert " ".join(computed[1]["says"].split()[:4]) in " ".join(text.split())
    assert (page.foreign, page.problems, other.foreign, other.problems) == ([], [], [], [])
