"""The plain text of a page: what must be in it, in which order, and that nothing of HTML is left."""

import doctest

import plain_text
import pytest
from bs4 import BeautifulSoup

PAGE = """<html><body><nav>Navigation</nav><article class="bd-article"><section id="a-title">
<h1>A title<a class="headerlink" href="#a-title">#</a></h1>
<p>See <a class="reference internal" title="far" href="other.html#there">the other</a>, <a href="#deeper">below</a>,
<a href="#q-one">a question</a>, <a href="../_static/chips.csv">a file</a>, <a href="https://example.org/x_y">a site</a>
and <span class="spec">3.35 TB/s<span class="spec-note">HBM3, dense</span></span>: <span class="math"
data-tex="a_1 * b">set</span>.</p>
<div class="math" data-tex="x | y"><span class="eqno">(4)<a class="headerlink" href="#e">#</a></span>set</div>
<div class="block guess admonition" id="q-one"><p class="admonition-title"><span class="name">Guess</span>
<span class="asks">the number</span></p><div class="prompt"><p>How many?</p></div>
<div class="ask"><label for="f">Your guess</label><input class="ruler" type="range"><span class="field"><input id="f">
<span class="unit">tokens</span></span><button>Reveal</button></div><div class="reply" role="status"></div>
<div class="replies" hidden><p>You divided by bits.</p></div>
<details class="fold answer"><summary>Answer</summary><p>319 tokens</p></details>
<script type="application/json">{}</script></div>
<div class="hw-live" id="hw-batch" data-kind="explorer"><div class="hw-slot" role="img" aria-label="The rate rises.">
<svg><text>1 T</text></svg></div><div class="hw-controls"><dl class="hw-values"><div><dt>Chip</dt><dd>H100</dd></div>
</dl></div><p class="hw-say">The memory binds.</p><div class="hw-more"><details class="hw-data">
<summary>Show the data</summary>
<div class="hw-table"><table><thead><tr><th>tokens</th><th>rate</th></tr></thead><tbody><tr><td>1</td><td>3.35</td></tr>
</tbody></table></div></details></div></div>
<table class="claims"><thead><tr><th>Claim</th><th>Verdict</th></tr></thead><tbody><tr><td><p>It has 60 cores.</p>
<details class="why"><summary>Why</summary><p>Four tiles, <span class="math" data-tex="|a|">set</span>.</p></details>
</td><td><span class="verdict corrected">corrected</span></td></tr></tbody></table>
<div class="highlight-ipython3"><div class="highlight"><pre><span class="k">if</span> a &lt; b: _x_ = "*"
</pre></div><button class="copybtn">Copy</button></div>
<section id="deeper"><h2>2NT, deeper<a class="headerlink" href="#deeper">#</a></h2><p>Text.</p></section>
</section></article></body></html>"""


@pytest.fixture(scope="module")
def text():
    return plain_text.markdown(BeautifulSoup(PAGE, "html.parser"), "book/a.html", frozenset({"book/other.html"}))


@pytest.mark.parametrize(
    "kept",
    [
        "# A title\n",
        "## 2NT, deeper\n",
        "[the other](other.md)",
        "[below](#2nt-deeper)",
        "a question,",  # a question has no anchor in Markdown
        "[a file](../_static/chips.csv)",
        "[a site](https://example.org/x_y)",
        "and 3.35 TB/s: $a_1 * b$.",
        "$$\nx | y \\tag{4}\n$$",
        "**Guess: the number**",
        "Your guess, in tokens: …",
        "Figure: The rate rises.",
        "- Chip: H100\n",
        "The memory binds.",
        "| tokens | rate |\n| --- | --- |\n| 1 | 3.35 |",
        "[It moves in the page](a.html#hw-batch)",
        "| It has 60 cores.",
        r"Four tiles, $\vert a\vert $. | corrected |",  # a bar would end the cell
        '```python\nif a < b: _x_ = "*"\n```',
    ],
)
def test_what_the_page_says_is_in_it(text, kept):
    assert kept in text


def test_nothing_is_in_it_that_only_a_screen_needs(text):
    for lost in (
        "Navigation",
        "#\n",
        "Reveal",
        "Copy",
        "HBM3",
        "1 T",
        "You divided",
        "far",
        "Show the data",
        "{}",
        "<",
    ):
        assert lost not in text.replace("a < b", ""), lost


def test_a_question_comes_before_all_answers(text):
    assert (
        text.index("Text.") < text.index("## Answers") < text.index("### Guess: the number") < text.index("319 tokens")
    )


def test_the_doctests_of_the_extension_hold():
    result = doctest.testmod(plain_text)
    assert result.attempted and not result.failed
