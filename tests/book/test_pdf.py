"""The whole book in one PDF."""

import re
import subprocess
import sys

import pikepdf
import pypdfium2
import pytest

from book import pdf
from book.article import article, page, words
from book.toc import ROOT, pages

PRINTED = [path for path in pages() if path != "book/progress.html"]  # which says nothing to another than its reader


@pytest.fixture(scope="module")
def file(site, browser, tmp_path_factory):
    """The PDF. The fixture `browser` tells that a browser is there; the book starts one of its own."""
    out = tmp_path_factory.mktemp("pdf") / "book.pdf"
    subprocess.run([sys.executable, "-m", "book.pdf", site, out], cwd=ROOT, check=True)
    return out


@pytest.fixture(scope="module")
def printed(file):
    with pikepdf.open(file) as found:
        yield found


@pytest.fixture(scope="module")
def sheets(file):
    """What each sheet says."""
    with pypdfium2.PdfDocument(file) as found:
        return [sheet.get_textpage().get_text_range() for sheet in found]


@pytest.fixture(scope="module")
def articles(site):
    """What each page of the site says."""
    return {path: article(page(site / path)) for path in PRINTED}


def squeezed(text):
    """Text without the spaces and line ends that paper sets as it likes."""
    return re.sub(r"\s+", "", text)


def test_bookmarks_are_the_headings_of_the_pages_in_order(printed, articles):
    expected = [(1, "Silicon to Token"), (1, "Contents")]
    for path in PRINTED[1:]:
        expected += [(int(h.name[1]), words(h)) for h in articles[path].select("h1, h2, h3, h4, h5, h6")]
        if articles[path].select(".block > details.fold"):
            expected.append((2, "Answers"))
    assert [(level, title) for level, title, _ in pdf.bookmarks(printed)] == expected


def test_a_bookmark_and_the_contents_lead_to_the_page_that_the_heading_is_on(printed, sheets):
    marks = pdf.bookmarks(printed)
    assert [title for _, title, n in marks if squeezed(title) not in squeezed(sheets[n - 1])] == []
    listed = squeezed("".join(sheets[1 : marks[2][2] - 1]))
    assert [title for level, title, n in marks[2:] if level < 3 and f"{squeezed(title)}{n}" not in listed] == []
    running = [title for level, title, _ in marks if level == 1]  # at the foot, which comes first
    spaced = "|".join(r"\s*".join(map(re.escape, squeezed(title))) for title in running)
    feet = {n: rf"(?:{spaced})\s*" + r"\s*".join(str(n)) + r"\s" for n in range(2, len(sheets) + 1)}
    assert [n for n, foot in feet.items() if not re.match(foot, sheets[n - 1])] == []


def test_every_link_inside_leads_to_a_place_in_it_and_none_to_the_machine_that_printed_it(printed):
    links = [note for sheet in printed.pages for note in sheet.get("/Annots", []) if note.Subtype == "/Link"]
    inside = [link.Dest for link in links if "/Dest" in link]
    outside = [str(link.A.URI) for link in links if "/A" in link]
    assert len(inside) > 100 and outside
    assert {str(place) for place in inside if isinstance(place, pikepdf.Name)} <= set(printed.Root.Dests.keys())
    assert [uri for uri in outside if not uri.startswith("https://") or "127.0.0.1" in uri] == []


def test_no_line_of_code_is_cut(sheets, articles):
    text = squeezed("".join(sheet.partition("\r\n")[2] for sheet in sheets))
    lines = [
        line for found in articles.values() for pre in found.select(".cell pre") for line in pre.get_text().splitlines()
    ]
    assert len(lines) > 200
    assert [line for line in lines if squeezed(line) not in text] == []


def test_fonts_are_in_the_file_and_no_page_is_empty(printed, sheets):
    fonts = [font for sheet in printed.pages for font in sheet.Resources.get("/Font", pikepdf.Dictionary()).values()]
    named = [font for font in fonts if font.Subtype != "/Type3"]  # which is drawn in the file itself
    descriptors = [font.DescendantFonts[0].FontDescriptor for font in named]
    assert {"Source Serif", "Barlow", "Source Code"} <= {
        name
        for name in ("Source Serif", "Barlow", "Source Code")
        for font in named
        if name.replace(" ", "") in str(font.BaseFont)
    }
    assert all({"/FontFile2", "/FontFile3"} & set(descriptor.keys()) for descriptor in descriptors)
    last_of_contents = pdf.bookmarks(printed)[2][2] - 1  # which may hold a line or two
    assert [n for n, sheet in enumerate(sheets, 1) if len(sheet) < (30 if n == last_of_contents else 60)] == []
