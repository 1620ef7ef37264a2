"""The look of the book, held against small pictures of a specimen. After a change that was meant: `make look`."""

import pytest

from book.serve import serve
from tests.book import look
from tests.book.look import VIEWS

CHAPTER = "book/02-matmul"

# What a slip of the hand does to a style sheet, and the block in which it shows
PLANTED = {
    "copper a shade lighter": ("html:root { --copper: #a5541c !important; }", "guess"),
    "the ground a shade darker": ("html:root { --panel: #f6f6f6 !important; }", "work"),
    "a border gone": (".block.work { border-color: transparent !important; }", "work"),
    "the pins gone": (".block.move::before { display: none; }", "move"),
    "a line between rows gone": ("tbody :is(th, td) { border-color: transparent !important; }", "table"),
    "six pixels more inside": (".block.keep { padding-top: 30px !important; }", "keep"),
    "six pixels less between": (".block:is(.breaks, .keep) { margin-block: 42px !important; }", "keep"),
    "another typeface": (".opening { font-family: var(--sign) !important; }", "opening"),
    "a title in a heavier hand": (".question { font-weight: 600 !important; }", "opening"),
    "a symbol lost": (".block.trial { --symbol: none !important; }", "trial"),
    "a series recoloured": (".block.measure .mark-rect path { fill: #008a64 !important; }", "measure"),
    "a label over another": (".block.move .hw-name { translate: 0 -14px; }", "move"),
    "a control moved": (".block.guess .ruler { translate: 8px; }", "guess"),
}


@pytest.fixture(scope="module")
def specimen(site, tmp_path_factory):
    """Address of the specimen, which needs what `make book` has bundled."""
    server = serve(look.build(tmp_path_factory.mktemp("specimen")))
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_the_book_looks_as_it_did(browser, specimen):
    told = []
    for view, pieces in look.take(browser, specimen).items():
        before = look.kept(view)
        found = look.compare(pieces, before)
        if found:
            told.append(f"Pictures are in {look.show(view, pieces, before, found)}")
        told += [f"{view}: {name} {what}" for name, whats in found.items() for what in whats]
    assert not told, "\n".join([*told, "If that was meant: make look"])


def test_what_a_slip_of_the_hand_does_is_seen(browser, specimen):
    page = look.new_page(browser, VIEWS["1280-light"][0])
    look.visit(page, f"{specimen}/{CHAPTER}.html")
    before = {name: look.reduce(piece) for name, piece in look.pieces(page, CHAPTER, "1280-light").items()}
    unseen = []
    for change, (style, where) in PLANTED.items():
        tag = page.add_style_tag(content=style)
        found = look.compare(look.pieces(page, CHAPTER, "1280-light"), before)
        unseen += [change] if not any(where in name for name in found) else []
        tag.evaluate("tag => tag.remove()")
    assert look.compare(look.pieces(page, CHAPTER, "1280-light"), before) == {}  # and nothing else is
    assert unseen == []
    backwards = look.pieces(page, CHAPTER, "1280-light")
    assert look.compare(dict(reversed(backwards.items())), before)
    page.context.close()
