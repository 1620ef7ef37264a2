"""What only the whole book can tell."""

from dataclasses import replace

import pytest

from book.lint.page import Page, Piece, parse
from book.lint.whole import Book, asked_once, bibliography, faults_of, question_whole, unused_term
from hwlab.exercises import question
from hwlab.exercises.base import Choice, Code, Memo, Numeric, Prediction

IDS = ("matmul-gate-flop", "matmul-memo")
QUESTIONS = Page(
    "hwlab/exercises/matmul.py", "questions", tuple(Piece("label", i + 1, i + 1, id) for i, id in enumerate(IDS))
)


def chapter(text, path="book/02-matmul.md"):
    return Page(path, "chapter", tuple(parse(text)))


def test_a_question_is_asked_once():
    both = ":::{exercise} matmul-gate-flop\n:::\n\n:::{exercise} matmul-memo\n:::\n"
    assert list(asked_once(Book((chapter(both), QUESTIONS)))) == []
    found = [
        (path, line) for path, line, _ in asked_once(Book((chapter(both), chapter(both, "book/03-a.md"), QUESTIONS)))
    ]
    assert found == [("book/03-a.md", 1), ("book/03-a.md", 4)]
    ((path, line, says),) = asked_once(Book((chapter(":::{exercise} matmul-gate-flop\n:::\n"), QUESTIONS)))
    assert (path, line) == ("hwlab/exercises/matmul.py", 2) and "matmul-memo" in says


def test_the_questions_of_the_book_lack_nothing():
    assert list(question_whole(Book((QUESTIONS,)))) == []


def first(kind):
    from hwlab.exercises import questions

    return next(q for q in questions() if isinstance(q, kind))


@pytest.mark.parametrize(
    ("kind", "change", "says"),
    [
        (Prediction, {"reveal": " "}, "without a reveal"),
        (Numeric, {"hint": ""}, "without a hint"),
        (Numeric, {"solution": ""}, "without a solution"),
        (Numeric, {"mistakes": ()}, "with 0 mistakes"),
        (Choice, {"options": ()}, "with 0 options"),
        (Choice, {"answer": lambda: "none"}, "not among its options"),
        (Memo, {"rubric": ("One.",)}, "with 1 rubric"),
        (Code, {"mutants": ()}, "with 0 mutants"),
    ],
)
def test_what_a_question_lacks_is_found(kind, change, says):
    record = first(kind)
    assert list(faults_of(record)) == []
    assert any(says in fault for fault in faults_of(replace(record, **change)))


def test_a_fault_of_a_question_stands_where_the_question_does(monkeypatch):
    poor = replace(question("matmul-memo"), hint="")
    monkeypatch.setattr("book.lint.whole.question", lambda id: poor if id == "matmul-memo" else question(id))
    assert [(path, line) for path, line, _ in question_whole(Book((QUESTIONS,)))] == [("hwlab/exercises/matmul.py", 2)]


ENTRY = "@misc{{{key},\n  author = {{{author}}}, title = {{{title}}}, year = {{{year}}},\n  url = {{{url}}}\n}}\n"
KAPLAN = {
    "key": "kaplan2020scaling",
    "author": "Jared Kaplan and others",
    "title": "Scaling Laws for Neural Language Models",
    "year": "2020",
    "url": "https://arxiv.org/abs/2001.08361",
}


@pytest.fixture
def faults_of_bib(tmp_path):
    """Lines and messages for an entry that differs from the paper's record, cited once by a page."""

    def run(text="It is {cite}`kaplan2020scaling`.\n", **change):
        path = tmp_path / "references.bib"
        path.write_text("\n" + ENTRY.format(**KAPLAN | change))
        return [(where, line, says) for where, line, says in bibliography(Book((chapter(text),)), path)]

    return run


def test_a_bibliography_that_agrees_passes(faults_of_bib):
    assert faults_of_bib() == []


@pytest.mark.parametrize(
    ("field", "wrong"), [("year", "2021"), ("title", "Scaling Laws"), ("author", "Jordan Hoffmann and others")]
)
def test_an_entry_that_contradicts_the_papers_on_trial_is_found(faults_of_bib, field, wrong):
    ((where, line, says),) = faults_of_bib(**{field: wrong})
    assert (where, line) == ("references.bib", 2) and "papers.toml" in says


def test_what_is_cited_exists_and_what_exists_is_cited(faults_of_bib):
    assert [(where, line) for where, line, _ in faults_of_bib(text="No.\n")] == [("references.bib", 2)]
    found = faults_of_bib(text="One {cite}`kaplan2020scaling`\nand {cite:t}`nobody2020`.\n")
    assert [(where, line) for where, line, _ in found] == [("book/02-matmul.md", 2)]


GLOSSARY = (
    "```{glossary}\nstep\n  One pass over a {term}`batch`.\nbatch\n  Some.\ntile\n  A part of a {term}`tile`.\n```\n"
)


def test_a_term_is_used_on_a_page_or_in_the_definition_of_one_that_is():
    def unused(text):
        return [
            (line, says.split("'")[1])
            for _, line, says in unused_term(
                Book((chapter(text), Page("book/glossary.md", "page", tuple(parse(GLOSSARY)))))
            )
        ]

    assert unused("A {term}`step` of a {term}`tile`.\n") == []
    assert unused("A {term}`step`.\n") == [(6, "tile")]
    assert unused("Nothing.\n") == [(2, "step"), (4, "batch"), (6, "tile")]
