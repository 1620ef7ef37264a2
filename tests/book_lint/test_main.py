"""The command."""

from book.lint import BOOK_RULES, PAGE_RULES, Fault, __main__
from book.lint.page import ROOT


def test_every_rule_says_what_it_is(capsys):
    assert __main__.main(["--rules"]) == 0
    told = capsys.readouterr().out
    assert all(f"\n{rule} " in f"\n{told}" for rule in [*PAGE_RULES, *BOOK_RULES])
    assert "None" not in told


def test_faults_are_printed_with_file_and_line_and_fail(capsys, monkeypatch):
    faults = [Fault("book/index.md", 3, "sentence", "is long"), Fault("book/chips.md", 1, "image", "is a file")]
    monkeypatch.setattr(__main__, "lint", lambda book: faults)
    monkeypatch.setattr(__main__.Book, "load", lambda: None)
    assert __main__.main([]) == 1
    assert (
        capsys.readouterr().out == "book/index.md:3: sentence: is long\nbook/chips.md:1: image: is a file\n2 faults\n"
    )
    assert __main__.main([str(ROOT / "book/chips.md")]) == 1
    assert capsys.readouterr().out == "book/chips.md:1: image: is a file\n1 faults\n"
    assert __main__.main([str(ROOT / "book/notation.md")]) == 0
