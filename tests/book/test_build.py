"""The book builds without a warning, and its strings can be drawn out for a translation."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.book.project import ROOT, make, pages


class Anchors(HTMLParser):
    """What an HTML page points to, and what can be pointed to in it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        self.links += [attributes[name] for name in ("href", "src") if attributes.get(name)]


def broken_links(site):
    """``page: link`` for each link inside the folder `site` whose file, or whose anchor in that file, is missing."""
    site = Path(site).resolve()
    read = {path: Anchors(path) for path in site.rglob("*.html") if "_static" not in path.relative_to(site).parts}
    for path, anchors in read.items():
        for link in anchors.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            start = site if parts.path.startswith("/") else path.parent
            target = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if anchor.startswith("hw:"):  # a state of the live element hw-ID, as #hw:ID:v1:…
                anchor = f"hw-{anchor.split(':')[1]}"
            if not target.is_file() or (anchor and target in read and anchor not in read[target].ids):
                yield f"{path.relative_to(site)}: {link}"


def test_the_book_builds_and_has_every_page_of_its_contents():
    make("book")
    site = ROOT / "_build/html"
    assert not [page for page in pages() if not (site / page).is_file()]


def test_every_internal_link_and_anchor_leads_somewhere(site):
    assert list(broken_links(site)) == []


@pytest.mark.parametrize("link", ["gone.html", "b.html#gone", "#gone", "#hw:gone:v1:at=1", "folder/", "img.png"])
def test_a_broken_link_is_found(tmp_path, link):
    (tmp_path / "b.html").write_text('<a name="there">')
    (tmp_path / "a.html").write_text(f'<i id="here"><a href="{link}"><a href="#here"><a href="b.html#there">')
    assert list(broken_links(tmp_path)) == [f"a.html: {link}"]


def test_the_strings_of_every_page_can_be_extracted(site):
    make("strings")
    strings = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "_build" / "gettext").rglob("*.pot"))
    sources = {line.split(":")[1] for line in strings.splitlines() if line.startswith("#:")}
    for page in pages():
        assert any(page.removesuffix(".html") in source for source in sources), page
