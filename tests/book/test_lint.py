"""The book keeps the contract of its chapters."""

from book.lint import lint
from book.lint.whole import Book


def test_the_book_keeps_its_contract(site):
    assert [str(fault) for fault in lint(Book.load())] == []
