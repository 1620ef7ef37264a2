"""Numbers and units, formulas and punctuation: what a line must not part, and what is left alone."""

import pytest
import typography

NO_BREAK = "\xa0"


@pytest.mark.parametrize(
    "kept",
    ["3.35 TB/s", "40.1 µs", "14 %", "1.38 TFLOP", "10² bytes", "1.25 times", "989\nTFLOP/s", "8 × 8"],
)
def test_a_number_keeps_its_unit(kept):
    assert typography.keep(f"<p>A {kept}, or</p>") == f"<p>A {NO_BREAK.join(kept.split())}, or</p>"


@pytest.mark.parametrize(
    "text",
    [
        "<p>chapter 2 has 12 products and 4 Starts</p>",
        "<p>the <em>MB</em> and 2 <em>MB</em></p>",
        "<pre><span>2</span> 3 MB</pre>",
        "<p><code>2 MB</code></p>",
        '<img alt="2 MB > 1 MB" /><script>2 MB</script>',
        '<div class="math notranslate nohighlight" data-tex="2 s"><span class="eqno">(1)</span>\\[2 s\\]</div>',
        '<p class="hw-say" aria-live="polite">2 MB</p>',
        '<p>\n<span class="math notranslate nohighlight" data-tex="n">\\(n\\)</span> and</p>',
    ],
)
def test_what_needs_nothing_is_left_alone(text):
    assert typography.keep(text) == text


def test_prose_after_code_is_prose_again():
    assert typography.keep("<pre>1 s</pre><p>1 s</p>") == "<pre>1 s</pre><p>1\xa0s</p>"


def test_what_scripts_hold_opens_no_tag():
    less, more = (f'<script type="application/json">"a {sign} 2 s"</script>' for sign in "<>")
    assert typography.keep(f"{less}<p>1 s</p>{more}<p>1 s</p>") == f"{less}<p>1\xa0s</p>{more}<p>1\xa0s</p>"
