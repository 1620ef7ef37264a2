"""What a built page holds, for the editions that are not pages: the PDF and the plain text."""

from pathlib import Path

from bs4 import BeautifulSoup, Tag

FOR_A_SCREEN = (
    "script, .no-print, .headerlink, .copybtn, .spec-note, .hw-says, .reply:empty, .replies, .ask button, .ask .ruler"
)


def page(path: Path) -> BeautifulSoup:
    """A page of the site."""
    return BeautifulSoup(path.read_text("utf8"), "html.parser")


def article(soup: BeautifulSoup) -> Tag:
    """What a page says, without what surrounds it and what only a screen needs.

    >>> text = '<nav>x</nav><article class="bd-article"><h1>A<a class="headerlink">#</a></h1></article>'
    >>> article(BeautifulSoup(text, "html.parser"))
    <article class="bd-article"><h1>A</h1></article>
    """
    found = soup.find("article", class_="bd-article")
    for tag in found.select(FOR_A_SCREEN):
        tag.decompose()
    return found


def words(tag: Tag) -> str:
    """The text of an element in one line."""
    return " ".join(tag.get_text().split())


def address(soup: BeautifulSoup) -> str:
    """Where a page is published; empty when that is not known."""
    link = soup.select_one('link[rel="canonical"]')
    return link["href"] if link else ""


def answers_last(found: Tag, where: str) -> None:
    """Move hints, answers and solutions to the end of an article: who reads from the top meets each question first.

    >>> text = ('<article><section><div class="block guess" id="q-a"><p class="admonition-title">Guess</p>'
    ...         '<p>How many?</p><details class="fold answer"><summary>Answer</summary><p>7</p></details></div>'
    ...         '</section></article>')
    >>> soup = BeautifulSoup(text, "html.parser")
    >>> answers_last(soup.article, "page")
    >>> for tag in soup.section.find_all(recursive=False): print(tag.get_text(" "))
    Guess How many? Answer at the end of the page
    Answers
    Guess Answer 7
    """
    folds = found.select(".block > details.fold")
    if not folds:
        return
    end = BeautifulSoup('<section id="answers"><h2>Answers</h2></section>', "html.parser").section
    for block in dict.fromkeys(fold.parent for fold in folds):
        id, title = block["id"], ": ".join(block.select_one(".admonition-title").stripped_strings)
        text = f'<div class="answer-of" id="{id}-answer"><p class="answer-title"><a href="#{id}"></a></p></div>'
        answer = BeautifulSoup(text, "html.parser").div
        answer.a.string = title
        answer.extend(fold.extract() for fold in block.find_all("details", "fold", recursive=False))
        end.append(answer)
        link = BeautifulSoup(
            f'<p class="to-answer"><a href="#{id}-answer">Answer at the end of the {where}</a></p>', "html.parser"
        )
        block.append(link.p)
    found.find("section").append(end)
