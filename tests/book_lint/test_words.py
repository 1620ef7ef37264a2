"""Plain words, short sentences, linked terms."""

import pytest

from book.lint.page import Page, parse
from book.lint.words import AMERICAN, abbreviation, heading_case, plain_words, sentence, spelling, term_link

GLOSSARY = Page(
    "book/glossary.md",
    "page",
    tuple(parse("```{glossary}\nKV cache\n  Kept.\ncache\n  Fast.\nTPOT\n  Time.\nstep\n  Pass.\n```")),
)


# Planted: each is a word that the lint must find on a page.
@pytest.mark.parametrize("word", ["very", "Simply", "just", "obviously", "seamless", "TODO"])
def test_filler_hype_and_things_to_do_are_found(lines, word):
    assert lines(plain_words, f"One line.\nIt is {word} so.\n") == [2]


def test_code_may_say_what_it_likes(lines):
    assert lines(plain_words, "The name `just_very` is code, and so is\n\n```\nvery\n```\n") == []


@pytest.mark.parametrize("word", ["color", "behavior", "quantized", "optimization", "center", "analyze", "modeling"])
def test_american_spelling_is_found(lines, word):
    assert lines(spelling, f"The {word} counts.\n") == [1]


@pytest.mark.parametrize(
    "word", ["colour", "size", "utilization", "catalogue", "prize", "centre", "quantised", "realm"]
)
def test_british_spelling_and_names_of_the_field_are_not(word):
    assert not AMERICAN.search(f"The {word} counts.")


def test_a_long_sentence_is_found(lines):
    assert lines(sentence, " ".join(["word"] * 45) + ".\n") == []
    assert lines(sentence, "Short.\n\n" + " ".join(["word"] * 46) + ".\n") == [3]


@pytest.mark.parametrize("end", [". Then", "? `hwlab`", "! (It", ".) Then"])
def test_a_sentence_ends_where_another_begins(lines, end):
    half = " ".join(["word"] * 30)
    assert lines(sentence, f"{half}{end} {half}.\n") == []


def test_a_heading_has_small_letters_but_for_names(lines):
    assert lines(heading_case, "# The Memory Hierarchy\n\nText.\n") == [1, 1]
    assert lines(heading_case, "# The roofline of Groq\n\nA chip by Groq.\n") == []
    assert lines(heading_case, "# The products of a 70B model (BLAS)\n") == []


def test_the_first_use_of_a_term_is_a_link(faults):
    assert [(line, says.split("'")[1]) for line, says in faults(term_link, "A\nstep of it.\n", beside=[GLOSSARY])] == [
        (2, "step")
    ]
    assert not faults(term_link, "A {term}`step` and a step.\n", beside=[GLOSSARY])
    assert not faults(term_link, "{term}`Steps <step>` and steps.\n", beside=[GLOSSARY])
    assert len(faults(term_link, "Steps, and a {term}`step`.\n", beside=[GLOSSARY])) == 1


def test_a_term_within_a_longer_one_is_no_use_of_it(lines):
    assert lines(term_link, "The {term}`KV cache` and the KV cache.\n", beside=[GLOSSARY]) == []
    assert lines(term_link, "The {term}`KV cache` and the cache.\n", beside=[GLOSSARY]) == [1]


def test_headings_titles_and_code_need_no_link(lines):
    text = "# A step\n\n:::{keep} a step\n`step`\n:::\n"
    assert lines(term_link, text, beside=[GLOSSARY]) == []


def test_an_abbreviation_is_in_the_glossary_or_a_name(lines):
    assert lines(abbreviation, "A line.\nThe MTTF is long. So is MTTF.\n", beside=[GLOSSARY]) == [2]
    assert lines(abbreviation, "The {term}`TPOT` of an NVIDIA H100 in GB and KV.\n", beside=[GLOSSARY]) == []
