"""Which rows of the ledger a page may show: what code can check has to be computed."""

import pytest

from hwlab.specs.claims import claim
from hwlab.studies import trials


@pytest.fixture
def page(book):
    """A page that quotes one row."""
    return lambda id: book(f":::{{claims}} {id}\n:quote:\n:::", extensions=("practice",))


def test_what_can_only_be_looked_up_is_shown_with_the_verdict_of_its_sources(page):
    assert claim("C069").check == "lookup"
    shown = page("C069")
    assert "no trial computes" not in shown.warnings()
    assert claim("C069").explanation[-40:] in shown.html() and "10.1109/MC.1982.1653825" in shown.html()


def test_what_can_be_computed_and_is_not_is_an_error(page, monkeypatch):
    assert claim("C068").check == "formula"
    assert "no trial computes" not in page("C068").warnings()
    monkeypatch.setattr("practice.bound", lambda: tuple(id for id in trials.bound() if id != "C068"))
    assert "no trial computes: ['C068']" in page("C068").warnings()
