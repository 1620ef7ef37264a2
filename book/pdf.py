"""The whole book as one PDF, printed by Chromium from the built site: `make pdf`.

The pages go one after another into a single document, under ids that carry the page's name, so that links lead to
places inside it. It is printed twice: the bookmarks of the first print tell the contents their page numbers.
"""

import argparse
import io
import json
import posixpath
from collections.abc import Collection, Iterator
from html import escape
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pikepdf
import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import sync_playwright

from book import chromium
from book.article import address, answers_last, article, page, words
from book.serve import serve
from book.toc import ROOT, pages, parts

REFERENCES = (
    "for",
    "aria-labelledby",
    "aria-describedby",
    "aria-controls",
    "headers",
    "list",
)  # attributes that hold ids
NUMBER_CONTENTS = """numbers => document.querySelectorAll(".contents .page-number")
    .forEach((place, i) => { place.textContent = numbers[i]; })"""
DOCUMENT = """<!doctype html>
<html lang="{language}" data-theme="light"><head><meta charset="utf-8"><title>{title}</title>{sheets}
<style>{rules}</style></head>
<body class="whole-book"><div class="bd-main"><div class="bd-content"><div class="bd-article-container">
{articles}
</div></div></div></body></html>
"""


def key(path: str) -> str:
    """What the ids of a page begin with.

    >>> key("book/02-matmul.html")
    'book-02-matmul'
    """
    return path.removesuffix(".html").replace("/", "-")


def name_ids(found: Tag, path: str) -> None:
    """Put the page's key before each id of an article, and before each reference to one.

    >>> text = '<article><label for="a">A</label><i id="a" style="fill:url(#b)"></i></article>'
    >>> soup = BeautifulSoup(text, "html.parser")
    >>> name_ids(soup.article, "book/x.html")
    >>> soup.article
    <article id="book-x"><label for="book-x--a">A</label><i id="book-x--a" style="fill:url(#book-x--b)"></i></article>
    """
    start = f"{key(path)}--"
    for tag in found.find_all(True):
        for name, value in tag.attrs.items():
            if name == "id":
                tag[name] = start + value
            elif name in REFERENCES:
                tag[name] = " ".join(
                    start + id for id in " ".join([value] if isinstance(value, str) else value).split()
                )
            elif isinstance(value, str) and "url(#" in value:
                tag[name] = value.replace("url(#", f"url(#{start}")
    found["id"] = key(path)


def lead_inside(found: Tag, path: str, published: str, known: Collection[str]) -> None:
    """Turn the links of an article to places of the book into links to places of this document.

    What is no page of the book, or a state that only a page can show, is linked where it is published; where that is
    not known, the link is dropped and its words stay.

    >>> soup = BeautifulSoup('<p><a href="../n/l.html#w">1</a> <a href="#hw:m:v1:at=3">2</a></p>', "html.parser")
    >>> lead_inside(soup.p, "book/x.html", "", {"book/x.html", "n/l.html"})
    >>> soup.p
    <p><a href="#n-l--w">1</a> 2</p>
    """
    for link in found.select("a[href]"):
        to = urlsplit(link["href"])
        if to.scheme or to.netloc:
            continue
        folder = posixpath.dirname(path)
        target = posixpath.normpath(posixpath.join(folder, unquote(to.path))) if to.path else path
        if target in known and not to.fragment.startswith("hw:"):
            link["href"] = f"#{key(target)}--{unquote(to.fragment)}" if to.fragment else f"#{key(target)}"
        elif published:
            link["href"] = urljoin(published, link["href"])
        else:
            link.unwrap()


def title_page(cover: Tag, author: str, build: str) -> None:
    """What a cover is on paper: title, wafer, what the book is and whose; doors and contents make way."""
    for part in cover.select(".how, .chapters, .cover-text p:has(.door)"):
        part.decompose()
    cover["class"] = [*cover["class"], "title-page"]
    imprint = BeautifulSoup(f'<p class="imprint">{escape(author)}<br>{escape(build)}</p>', "html.parser")
    cover.append(imprint)


def contents(articles: dict[str, Tag]) -> Tag:
    """Parts, pages and their sections, each a link with room for a page number."""
    lines = []
    for caption, paths in parts()[1:]:
        lines.append(f'<p class="part">{escape(caption)}</p>')
        lines += [
            f'<p class="level-{heading.name[1]}"><a href="#{place(heading)}">'
            f'<span>{escape(words(heading))}</span><span class="page-number"></span></a></p>'
            for path in paths
            if path in articles
            for heading in articles[path].select("h1, h2")
        ]
    text = f'<article class="bd-article contents" id="contents"><h1>Contents</h1>{"".join(lines)}</article>'
    return BeautifulSoup(text, "html.parser").article


def place(heading: Tag) -> str:
    """The id that a link to a heading names: its own, or its section's."""
    return heading.get("id") or heading.find_parent(id=True)["id"]


def merged(site: Path, config: dict) -> tuple[str, list[Tag]]:
    """The document, and its headings in order.

    Raises
    ------
    FileNotFoundError
        If a page of the contents is not in `site`.
    """
    soups = {path: page(site / path) for path in pages()}
    # Paper knows nothing of what a reader has answered
    order = [path for path, soup in soups.items() if not soup.select_one(".your-progress")]
    articles, sheets, rules = {}, {}, []
    for path in order:
        soup = soups[path]
        for sheet in soup.select('link[rel="stylesheet"]'):
            sheet["href"] = posixpath.normpath(posixpath.join(posixpath.dirname(path), sheet["href"]))
            sheets[sheet["href"]] = str(sheet)
        published = address(soup)
        build = words(soup.select_one(".build")) if soup.select_one(".build") else ""
        found = articles[path] = article(soup)
        if path == order[0]:
            title_page(found, config["author"], build)
        else:
            answers_last(found, "chapter")
        for record in found.select(".chip-table > tbody > .record"):  # 3,000 figures, which paper leaves to the page
            record.decompose()
        for details in found.select("details:not(.hw-more > details)"):
            details["open"] = ""
        if published:
            for figure in found.select(".hw-live[id]"):
                figure.append(soup.new_tag("p", string=f"{published}#{figure['id']}", attrs={"class": "hw-address"}))
        lead_inside(found, path, published, order)
        name_ids(found, path)
        found["style"] = f"page: {key(path)}"
        running = json.dumps(words(found.find("h1")), ensure_ascii=False)
        rules.append(f"@page {key(path)} {{ @bottom-left {{ content: {running} }} }}")
    rules.append(f"@page {key(order[0])} {{ @bottom-left {{ content: none }} @bottom-right {{ content: none }} }}")
    cover, *rest = articles.values()
    printed = (cover, contents(articles), *rest)
    document = DOCUMENT.format(
        language=config["sphinx"]["config"]["language"],
        title=escape(config["title"]),
        sheets="\n".join(sheets.values()),
        rules="\n".join(rules),
        articles="\n".join(map(str, printed)),
    )
    return document, [heading for found in printed for heading in found.select("h1, h2, h3, h4, h5, h6")]


def outline(node: pikepdf.Dictionary, level: int = 1) -> Iterator[tuple[int, pikepdf.Dictionary]]:
    """The bookmarks below a node of a PDF with their levels, in order, as the objects they are."""
    child = node.get("/First")
    while child is not None:
        yield level, child
        yield from outline(child, level + 1)
        child = child.get("/Next")


def bookmarks(pdf: pikepdf.Pdf) -> list[tuple[int, str, int]]:
    """``[(level, text, page number), ...]`` in order; the first page is 1."""
    numbers = {sheet.objgen: n for n, sheet in enumerate(pdf.pages, 1)}
    return [(level, str(entry.Title), numbers[entry.Dest[0].objgen]) for level, entry in outline(pdf.Root.Outlines)]


def write(site: Path, out: Path) -> None:
    """Print the book in the folder `site` to the file `out`.

    Raises
    ------
    FileNotFoundError
        If a page of the contents is not in `site`, or there is no Chromium.
    """
    path = chromium.find()
    if path is None:
        raise FileNotFoundError(chromium.MISSING)
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    document, headings = merged(site, config)
    server = serve(site)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=chromium.FLAGS)
            view = browser.new_page()
            view.set_default_timeout(300_000)  # a busy machine takes its time over the whole book
            start = f"http://127.0.0.1:{server.server_port}/book.html"
            view.route(start, lambda route: route.fulfill(body=document, content_type="text/html"))
            view.goto(start)
            view.emulate_media(media="print")
            view.evaluate("document.fonts.ready.then(() => true)")

            def printed():
                return view.pdf(
                    format="A4", prefer_css_page_size=True, outline=True, tagged=True, print_background=True
                )

            with pikepdf.open(io.BytesIO(printed())) as first:
                numbers = [number for _, _, number in bookmarks(first)]
            shown = [n for heading, n in zip(headings, numbers, strict=True) if in_contents(heading)]
            view.evaluate(NUMBER_CONTENTS, shown)
            second = printed()
            browser.close()
    finally:
        server.shutdown()
        server.server_close()
    with pikepdf.open(io.BytesIO(second)) as pdf:
        for (_, entry), heading in zip(outline(pdf.Root.Outlines), headings, strict=True):
            entry.Title = pikepdf.String(words(heading))  # Chromium repeats one that opens a page
        pdf.docinfo["/Title"], pdf.docinfo["/Author"] = config["title"], config["author"]
        out.parent.mkdir(parents=True, exist_ok=True)
        pdf.save(out)


def in_contents(heading: Tag) -> bool:
    """Whether the contents list a heading: those of the first two levels, but not the cover's or their own."""
    around = heading.find_parent("article")["class"]
    return heading.name in ("h1", "h2") and not {"title-page", "contents"} & set(around)


def main():
    parser = argparse.ArgumentParser(prog="python -m book.pdf", description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    try:
        write(options.site, options.out)
    except FileNotFoundError as error:
        raise SystemExit(str(error)) from None
    print(f"The book is in {options.out}", flush=True)


if __name__ == "__main__":
    main()
