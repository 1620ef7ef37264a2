"""The plain-text edition of the built book, and llms.txt."""

import re
from urllib.parse import unquote, urlsplit

import pytest

from book.article import article, page, words
from book.toc import pages
from hwlab.exercises.base import Prediction
from hwlab.exercises.matmul import QUESTIONS

FENCED = re.compile(r"^[ ]*```.*?^[ ]*```$", re.M | re.S)
LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^() ]*(?:\([^()]*\)[^() ]*)*)\)|<(https?://[^>]*)>")


@pytest.fixture(scope="module")
def texts(site):
    """The Markdown of each page."""
    return {path: (site / path).with_suffix(".md").read_text("utf8") for path in pages()}


@pytest.fixture(scope="module")
def soups(site):
    """The pages it was made from."""
    return {path: page(site / path) for path in pages()}


def bare(text):
    """Letters and digits only: what Markdown adds or escapes is gone."""
    return re.sub(r"[\W_]+", "", text)


@pytest.mark.parametrize("path", pages())
def test_a_page_and_its_text_say_the_same(path, texts, soups):
    text, soup = texts[path], soups[path]
    assert soup.select_one('link[rel="alternate"][type="text/markdown"]')["href"] == path.rsplit("/")[-1][:-5] + ".md"
    found = soup.find("article")
    for letters in found.select("details.letters"):  # what stands beside a formula stands on the notation page whole
        letters.decompose()
    formulas = [formula["data-tex"].strip() for formula in found.find_all(attrs={"data-tex": True})]
    kept = bare(text)
    assert [tex for tex in formulas if bare(tex.replace("|", r"\vert")) not in kept and bare(tex) not in kept] == []
    article(soup)
    for formula in found.find_all(class_="math"):
        formula.replace_with(formula["data-tex"])
    for table in found.find_all("table"):
        cells = [cell for cell in table.find_all(["td", "th"]) if not cell.find(["details", "table"])]
        assert [words(cell) for cell in cells if bare(cell.get_text()) not in kept] == []
    assert [pre.get_text() for pre in found.find_all("pre") if pre.get_text().strip() not in text] == []
    headings = [words(heading) for heading in found.find_all(re.compile(r"h\d"))]
    assert [heading for heading in headings if bare(heading) not in kept] == []


@pytest.mark.parametrize("path", pages())
def test_no_html_is_left_and_every_link_leads_somewhere(path, texts, soups, site):
    prose = re.sub(r"`[^`\n]*`", "", FENCED.sub("", texts[path]))
    assert re.findall(r"</?[a-z][\w-]*(?: [^<>]*)?>", prose) == []
    foreign = {unquote(link["href"]) for link in soups[path].find_all("a", href=True) if "://" in link["href"]}
    slugs = {
        re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", h.lower())) for h in re.findall(r"^#+ (.*)$", texts[path], re.M)
    }
    links = [one or other for one, other in LINK.findall(prose)]
    for link in links:
        to = urlsplit(link)
        if to.scheme:
            assert unquote(link) in foreign, link
        elif to.path:
            assert ((site / path).parent / to.path).resolve().is_file(), link
        else:
            assert to.fragment in slugs, link
    assert links or path != "book/02-matmul.html"


def test_answers_stand_below_all_questions(texts):
    text = texts["book/02-matmul.html"]
    questions, answers = text.split("\n## Answers\n")
    guesses = [record for record in QUESTIONS if isinstance(record, Prediction)]
    assert all(record.show(record.answer()) in answers for record in guesses)
    assert questions.count("**Guess: ") == len(guesses) == answers.count("### Guess: ")


def test_llms_txt_lists_every_page(site):
    text = (site / "llms.txt").read_text("utf8")
    title, _, summary = text.splitlines()[:3]
    assert title == "# Silicon to Token" and summary.startswith("> ")
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S.*$", text, re.M)
    assert len(links) == text.count("](")
    assert [link for link in links if not (site / link).is_file()] == []
    told = [
        path for path in pages()[1:] if path != "book/progress.html"
    ]  # which says nothing to another than its reader
    assert [path for path in told if f"{path[:-5]}.md" not in links] == []
    whole = (site / "llms-full.txt").read_text("utf8")
    assert [path for path in pages() if (site / path).with_suffix(".md").read_text("utf8") not in whole] == []
