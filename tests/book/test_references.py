"""The references as they are printed: no source of TeX in them, and each work once."""

import html
import re
from collections import Counter

from tests.book.project import ROOT


def test_each_reference_is_set_and_listed_once(site):
    page = (site / "book/references.html").read_text("utf-8")
    entries = re.findall(r'<div class="citation"[^>]*>.*?<p>(.*?)</p>', page, re.DOTALL)
    assert len(entries) > 100
    printed = [" ".join(html.unescape(re.sub(r"<[^>]+>", "", entry)).split()) for entry in entries]
    assert [entry for entry in printed if re.search(r"[$\\{}]", entry)] == []
    titles = re.findall(r"^ *title = (.*)$", (ROOT / "book/references.bib").read_text("utf-8"), re.MULTILINE)
    times = Counter(re.sub(r"[{},]", "", title).casefold() for title in titles)
    assert len(titles) >= len(entries) and times.most_common(1)[0][1] == 1
