"""Questions and claims in a page: built by the extension alone from a chapter that asks everything, then used.

The whole book is built elsewhere; here a small one holds every row of chapter 2 and every question of the package: on a
page those of chapter 2, with which most tests do, and on another all the rest.
"""

import ast
import inspect
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from book.serve import serve
from hwlab.exercises import check, check_source, question, questions
from hwlab.exercises.base import Choice, Code, Memo, Numeric, Prediction
from hwlab.specs.claims import claims
from hwlab.specs.quantities import SYMBOLS
from hwlab.studies.trials import try_claim
from tests.book.project import ROOT, make

CONF = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "book/_ext")!r}]
project, root_doc, extensions = "practice", "index", ["myst_parser", "sphinx_book_theme", "given", "reader"]
html_theme, myst_enable_extensions = "sphinx_book_theme", ["colon_fence", "dollarmath"]
html_static_path, html_css_files = ["_static"], ["web/book.css"]
html_js_files = [("web/practice.mjs", {{"type": "module"}})]
"""
DIRECTIVES = {Prediction: "predict", Numeric: "exercise", Choice: "exercise", Memo: "exercise", Code: "exercise"}


def ask(q):
    return f":::{{{DIRECTIVES[type(q)]}}} {q.id}\nPrompt of {q.id}.\n:::\n\n"


def ask_all(asked):
    """Every question, those of a review last, and the machines that their hints lead to."""
    machines = sorted(set(re.findall(r"#hw:([\w-]+):", repr(asked))))
    return "".join(
        [
            *(ask(q) for q in asked if "review" not in q.id),
            *(f":::{{review}} {q.id}\nPrompt.\n:::\n\n" for q in asked if "review" in q.id),
            *(f'```{{raw}} html\n<div id="hw-{name}"></div>\n```\n\n' for name in machines),
        ]
    )


MATMUL = [q for q in questions() if q.id.startswith("matmul-")]
OTHERS = [q for q in questions() if not q.id.startswith("matmul-")]
CHAPTER = "".join(
    [
        "# MatMul\n\n",
        ask_all(MATMUL),
        ":::{claims} C030 C033\n:quote:\n:::\n\n",
        ":::{claims} C003 C007\n:title: two of them\n:::\n\n",
        ":::{claims}\n:::\n\n",
        "The end.\n",
    ]
)
PROGRESS = "# Your progress\n\n:::{progress}\n:::\n"


def sphinx(folder, builder, pages):
    """Build a small book; returns its output folder and what Sphinx said."""
    folder.mkdir(exist_ok=True)
    if builder == "html" and (ROOT / "book/_web/dist").exists():
        shutil.copytree(ROOT / "book/_web/dist", folder / "_static/web")
    (folder / "_static").mkdir(exist_ok=True)
    (folder / "conf.py").write_text(CONF)
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text)
    contents = "".join(f"{name}\n" for name in pages)
    (folder / "index.md").write_text(f"# Practice\n\n```{{toctree}}\n{contents}```\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", builder, str(folder), str(folder / builder)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    return folder / builder, done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    make("book/_web/dist/ready")
    pages = {"02-matmul": CHAPTER, "others": f"# The rest\n\n{ask_all(OTHERS)}", "progress": PROGRESS}
    return sphinx(tmp_path_factory.mktemp("practice"), "html", pages)


@pytest.fixture(scope="module")
def address(built):
    server = serve(built[0])
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def visit(browser, address):
    contexts = []

    def visit(name="02-matmul", context=None, script=None, **options):
        if context is None:
            context = browser.new_context(**options)
            context.set_default_timeout(10_000)
            contexts.append(context)
        if script:
            context.add_init_script(script)
        page = context.new_page()
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto(f"{address}/{name}.html", wait_until="load")
        return page

    yield visit
    for context in contexts:
        assert [error for page in context.pages for error in page.errors] == []
        context.close()


def block(page, id):
    return page.locator(f"#q-{id}")


# ---- What is built ---------------------------------------------------------------------------------------------------


def test_a_page_with_every_question_and_claim_builds_without_a_warning(built):
    out, said = built
    assert said == ""
    html = (out / "02-matmul.html").read_text()
    for asked, page in ((MATMUL, html), (OTHERS, (out / "others.html").read_text())):
        assert [q.id for q in asked if f'id="q-{q.id}"' not in page] == []
    rows = re.findall(r'<tr[^>]* id="claim-(C\d+)"', html)
    assert sorted(rows) == [c.id for c in claims(chapter=2)]  # each once; those quoted carry no anchor
    for c in claims(chapter=2):
        assert try_claim(c.id).recomputed.split(";")[0] in html.replace("&amp;", "&")
    assert html.count("Told in full in chapter 4.") == 2


def test_prompts_hints_replies_and_buttons_reach_the_translator(tmp_path):
    out, said = sphinx(tmp_path, "gettext", {"02-matmul": CHAPTER})
    assert said == ""
    catalogue = (out / "02-matmul.pot").read_text().replace('"\n"', "")
    for text in (
        "Prompt of matmul-layer-bytes.",
        "Three arrays cross: the row in, the weights, the row out. One byte an element.",
        "Those are bits. Eight bits are one byte: divide by eight.",
        "The {fact}`matmul-layer-bytes elements` weights are {fact}`matmul-layer-bytes weights` in FP8.",
        "You said {guess}; the answer is {answer}: {factor} times apart.",
        "Reveal",
        "Told in full in chapter 4.",
    ):
        assert text in catalogue, text
    assert "0.339 %" not in catalogue  # a number is computed, never translated


FAULTS = {
    ":::{predict} matmul-one-tokn\n:::": "no question 'matmul-one-tokn'; nearest: matmul-one-token",
    ":::{predict} matmul-layer-bytes\n:::": "is a Numeric, which predict does not show",
    ":::{review} matmul-memo\n:::": "is a Memo, which review does not show",
    ":::{claims} C999\n:::": "no claim 'C999'",
    ":::{claims} C030\n:::": "C030 belongs to chapter 4",
    ":::{claims} C003\n:::\n\n:::{claims} C003\n:::": "shown twice: ['C003']",
    ask(questions()[0]) * 2: f"{questions()[0].id} is asked in 02-matmul already",
    ":::{exercise} matmul-gate-flop\nIt is {{nothing}}.\n:::": "no fact 'matmul-gate-flop nothing'",
}


def test_a_fault_in_a_page_is_an_error_with_file_and_line(tmp_path):
    text = "# MatMul\n\n" + "\n\n".join(FAULTS) + "\n"
    _, said = sphinx(tmp_path, "html", {"02-matmul": text})
    for fault, says in FAULTS.items():
        first = text[: text.index(fault)].count("\n") + 1
        found = re.search(rf"02-matmul\.md:(\d+): ERROR: [^\n]*{re.escape(says)}", said)
        assert found and first <= int(found[1]) <= first + fault.count("\n"), (says, said)


def test_a_link_to_a_state_stays_as_it_is_and_names_a_figure_of_its_page(built, tmp_path):
    html = (built[0] / "02-matmul.html").read_text()
    assert 'href="#hw:blocked:v1:scene=large;at=2"' in html
    _, said = sphinx(tmp_path, "html", {"page": "# Page\n\n[see it](#hw:nothing:v1:at=2)\n"})
    assert re.search(r"page\.md:3: WARNING: #hw:nothing:v1:at=2 leads to no live figure of this page", said)


def test_a_claim_is_shown_on_one_page_only(tmp_path):
    pages = {"02-matmul": "# MatMul\n\n:::{claims} C003\n:::\n", "02-lab": "# Lab\n\n:::{claims} C003\n:::\n"}
    _, said = sphinx(tmp_path, "html", pages)
    assert said.count("shown twice: ['C003']") == 1


def test_every_question_of_a_chapter_in_the_book_is_asked_in_it():
    for page in (ROOT / "book").glob("[0-9][0-9]-*.md"):
        number, _, topic = page.stem.partition("-")
        lab = ROOT / "notebooks" / f"{number}-{topic}.ipynb"
        text = page.read_text() + (lab.read_text() if lab.exists() else "")
        asked = re.findall(r"\{(?:predict|exercise|review)\} ([\w-]+)", text)
        checked = re.findall(r"check\(\\?[\"']([\w-]+)", text)
        unused = {q.id for q in questions() if q.id.startswith(f"{topic}-")} - set(asked) - set(checked)
        assert not unused, f"{page.name} and its lab leave out {', '.join(sorted(unused))}"


# ---- The page and Python judge alike ---------------------------------------------------------------------------------

TEXTS = [
    "58.7 MB", "58.74", "5.87e7", "5.87e7 B", "470 Mbit", "470 MB", "56", "117", "18.4 kB", "58.7 GB", "0.0587",
    "40,1", "40.1 µs", "40 us", "many", "", "-3", "3 mb", "3 gflops", "9 parsec", "1.4 x 10^14 FLOP", "1.4×10^14",
    "1.66 PFLOP", "0.433 PFLOP/s", "831 TFLOP", "352", "241", "256", "4.36 GB", "4.29", "33.6 MB",
    "591 FLOP / byte", "295 flop/b", "153", "159 rows", "331", "5.19", "5.19 ms",
    "41.5 ms", "0.00519 s", "50", "400 Gb", "3,200", "85.9 GB", "80 GiB", "1.4", "0.714 s", "1e3", "1e999", ".5",
    "1,02,4",
]  # fmt: skip


JUDGE = """async ([texts, symbols]) => {
    const { judge, Page } = await import("./_static/web/practice.mjs");
    const page = new Page(document);
    const found = {};
    for (const script of document.querySelectorAll('.block > script[type="application/json"]')) {
        const question = JSON.parse(script.textContent);
        if (question.kind !== "numeric") continue;
        const block = script.parentElement;
        found[question.id] = texts.map(text => {
            const { right, say, fields, mistake } = judge(question, text, symbols);
            const said = mistake === undefined
                ? page.say(say, fields)
                : block.querySelector(`[data-reply="${mistake}"]`).textContent.trim();
            return [right, said];
        });
    }
    return found;
}"""


def test_the_page_judges_every_answer_as_python_does(visit):
    numeric = [q for q in questions() if isinstance(q, Numeric)]
    judged = {}
    for name in ("02-matmul", "others"):
        judged |= visit(name).evaluate(JUDGE, [TEXTS, json.loads(json.dumps(dict(SYMBOLS)))])
    assert set(judged) == {q.id for q in numeric}
    for q in numeric:
        for text, (right, said) in zip(TEXTS, judged[q.id], strict=True):
            found = check(q.id, text)
            assert right == found.right, (q.id, text)
            assert " ".join(said.split()) == found.says, (q.id, text)


# ---- Use -------------------------------------------------------------------------------------------------------------


def test_a_guess_is_revealed_beside_the_truth_with_the_factor_between(visit):
    page = visit()
    guess = block(page, "matmul-one-token")
    assert not guess.locator(".answer").is_visible()
    guess.get_by_label("Your guess").last.fill("20")
    guess.get_by_role("button", name="Reveal").click()
    assert guess.locator(".reply p").inner_text() == "You said 20 %; the answer is 0.339 %: 59 times apart."
    assert "take 40.1 µs to arrive" in guess.locator(".answer").inner_text()
    scale = guess.locator(".guess-scale")
    you, truth = (
        float(scale.evaluate(f"e => parseFloat(e.style.getPropertyValue('--{name}'))")) for name in ("you", "truth")
    )
    assert (you, truth) == (pytest.approx(76.7, abs=0.1), pytest.approx(17.7, abs=0.1))  # log10(200)/3, log10(3.39)/3
    marks = scale.locator(".axis span").all_inner_texts()
    assert marks == ["0.1 %", "1 %", "10 %", "100 %"]


def test_a_guess_is_kept_in_this_browser_and_can_be_changed(visit):
    page = visit()
    guess = block(page, "matmul-ridge-tokens")
    guess.locator(".field input").fill("32")
    guess.get_by_role("button", name="Reveal").click()
    kept = page.evaluate("JSON.parse(localStorage.getItem('hw:progress'))")
    assert kept["questions"]["matmul-ridge-tokens"]["state"] == "guessed"
    page.reload()
    assert guess.locator(".reply p").inner_text().startswith("You said 32 tokens; the answer is 319 tokens")
    guess.get_by_role("button", name="Change").click()
    assert not guess.locator(".answer").is_visible() and guess.locator(".reply").inner_text() == ""
    page.reload()
    assert guess.get_by_role("button", name="Reveal").is_visible()


def test_the_ruler_fills_the_field_and_the_field_moves_the_ruler(visit):
    page = visit()
    guess = block(page, "matmul-ridge-tokens")
    ruler, field = guess.get_by_role("slider", name="Your guess"), guess.locator(".field input")
    ruler.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert 31 <= float(field.input_value()) <= 35  # the middle of 1 to 1000 and a little more
    assert ruler.get_attribute("aria-valuetext").endswith(" tokens")
    field.fill("100")
    assert float(ruler.input_value()) == pytest.approx(2 / 3, abs=0.001)


def test_a_guess_can_be_skipped_and_one_without_a_number_is_asked_for(visit):
    page = visit()
    guess = block(page, "matmul-products")
    guess.get_by_role("button", name="Reveal").click()
    assert guess.locator(".reply").inner_text() == "Give a number first, or skip."
    guess.locator(".field input").fill("3 MB")
    guess.get_by_role("button", name="Reveal").click()
    assert "You gave bytes; this asks for products." in guess.locator(".reply").inner_text()
    guess.get_by_role("button", name="Skip").click()
    assert guess.locator(".reply").inner_text() == "The answer is 721 products."
    assert guess.locator(".answer").is_visible()
    guess.get_by_role("button", name="Guess after all").click()
    assert guess.locator(".field input").is_visible() and not guess.locator(".answer").is_visible()


def test_an_exercise_answers_each_mistake_by_keyboard_alone(visit):
    page = visit()
    work = block(page, "matmul-layer-bytes")
    work.get_by_label("Bytes that cross").focus()
    page.keyboard.type("470 MB")
    page.keyboard.press("Enter")
    assert work.get_by_role("status").inner_text() == "Those are bits. Eight bits are one byte: divide by eight."
    assert work.locator(".reply").get_attribute("data-right") == "no"
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("58.7 MB")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert work.get_by_role("status").inner_text() == "Right: 58.7 MB."
    kept = page.evaluate("JSON.parse(localStorage.getItem('hw:progress')).questions['matmul-layer-bytes']")
    assert kept == {"state": "right", "value": "58.7 MB", "tries": 2}
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the hint opens
    assert "Three arrays cross" in work.inner_text()


def test_a_solution_shows_the_code_and_what_it_gives(visit):
    page = visit()
    work = block(page, "matmul-layer-bytes")
    work.get_by_text("Solution").click()
    assert 'return matmul_bytes(1, k, n, dtype="fp8")' in work.inner_text()
    assert ">>> bytes_of_the_layer()\n5.87387e+07" in work.inner_text()


def test_a_choice_explains_what_was_chosen(visit):
    page = visit()
    work = block(page, "matmul-second-request")
    work.get_by_role("button", name="Check").click()
    assert work.get_by_role("status").inner_text() == "Choose one first."
    work.get_by_label("It stays almost the same").check()
    work.get_by_role("button", name="Check").click()
    assert "the longer of the two times?" in work.get_by_role("status").inner_text()
    work.get_by_label("It doubles: twice the FLOP.").check()
    work.get_by_role("button", name="Check").click()
    assert work.get_by_role("status").inner_text().startswith("Yes: from 139 µs to 278 µs.")
    page.reload()
    assert work.get_by_label("It doubles: twice the FLOP.").is_checked()


def test_a_memo_is_kept_and_held_against_its_rubric(visit):
    page = visit()
    work = block(page, "matmul-memo")
    work.get_by_label("Your memo").fill("First fill the batch.")
    work.get_by_text("Rubric").click()
    work.get_by_role("checkbox").nth(1).check()
    assert work.get_by_role("status").inner_text() == "1 of 5 met."
    page.reload()
    assert work.get_by_label("Your memo").input_value() == "First fill the batch."
    assert work.locator(".rubric input").nth(1).is_checked()


# ---- Functions -------------------------------------------------------------------------------------------------------

RIGHT = "def product_bytes(m, k, n, itemsize):\n    return (m * k + k * n + m * n) * itemsize\n"


def code_with(record, mutant):
    """A program that does what a planted mutant does: its own text under the reference's name."""
    own = rf"\b{record.name}\b"  # a mutant may call the reference, which then needs a name of its own
    right = re.sub(own, "right", inspect.getsource(record.answer))
    function = mutant.function
    if function.__name__ != "<lambda>":
        return f"import math\n\n\n{right}\n\n{inspect.getsource(function).replace(function.__name__, record.name)}"
    source = inspect.getsource(sys.modules[function.__module__])
    found = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Lambda) and node.lineno == function.__code__.co_firstlineno
    ]
    arguments = ", ".join(inspect.signature(record.answer).parameters)
    body = re.sub(own, "right", ast.unparse(found[0].body))
    return f"import math\n\n\n{right}\n\ndef {record.name}({arguments}):\n    return {body}\n"


def test_a_function_is_judged_in_the_page_letter_by_letter_as_in_a_notebook(visit):
    programs = [(q, code_with(q, mutant)) for q in questions() if isinstance(q, Code) for mutant in q.mutants]
    programs += [
        (question("matmul-bytes"), source) for source in (RIGHT, "1 +", f"{RIGHT}    x", question("matmul-bytes").stub)
    ]
    page, others = visit(), visit("others")
    work = block(page, "matmul-bytes")
    assert work.get_by_role("button", name="Check (fetches Python, ").is_visible()
    for q, source in programs:
        work = block(page if q in MATMUL else others, q.id)
        work.get_by_label("Your function").fill(source)
        work.get_by_role("button", name="Check").click()
        work.locator(".go:not([aria-disabled])").wait_for(timeout=60_000)
        expected = check_source(q.id, source)
        assert work.locator(".reply").text_content() == expected.says
        assert work.locator(".reply").get_attribute("data-right") == ("yes" if expected else "no")
    # the last one is kept, and what a function prints is shown
    work.get_by_label("Your function").fill(f"print('seen')\n{RIGHT}")
    page.keyboard.press("Control+Enter")
    work.get_by_text("Right on 40 random inputs.").wait_for()
    assert work.locator(".printed").inner_text() == "seen\n"
    page.reload()
    work.locator(".go").wait_for()
    assert work.get_by_label("Your function").input_value() == f"print('seen')\n{RIGHT}"
    assert work.locator(".reply").inner_text() == "Right on 40 random inputs."
    work.get_by_role("button", name="Start again").click()
    assert work.get_by_label("Your function").input_value() == question("matmul-bytes").stub
    assert work.locator(".reply").inner_text() == ""


def test_an_endless_loop_can_be_stopped_and_ends_by_itself(visit):
    page = visit()
    work = block(page, "matmul-bytes")
    endless = "def product_bytes(m, k, n, itemsize):\n    while True:\n        m += 1\n"
    work.get_by_label("Your function").fill(endless)
    work.get_by_role("button", name="Check").click()
    work.locator(".told").get_by_text("Python is at work").wait_for(timeout=60_000)
    work.get_by_role("button", name="Stop").click()
    work.get_by_text("Stopped.").wait_for()
    work.get_by_role("button", name="Check").click()
    page.wait_for_function(
        "document.querySelector('#q-matmul-bytes .reply').textContent.includes('running after 5 seconds')",
        timeout=60_000,
    )
    assert re.search(r", in line (2: `while True:`|3: `m \+= 1`)\.$", work.locator(".reply").inner_text())


def test_without_webassembly_a_function_is_checked_in_the_lab(visit):
    page = visit(script="delete window.WebAssembly")
    work = block(page, "matmul-bytes")
    assert work.get_by_text('Check it in the lab: check("matmul-bytes", product_bytes).').is_visible()
    assert work.get_by_text("def product_bytes(m, k, n, itemsize):").first.is_visible()
    assert not work.get_by_label("Your function").is_visible()


def test_the_editor_indents_as_one_writes_and_lets_the_keyboard_pass(visit):
    page = visit()
    work = block(page, "matmul-bytes")
    area = work.get_by_label("Your function")
    area.press("Tab")  # nothing written: it moves on
    expect(work.locator(".go")).to_be_focused()
    area.fill("")
    area.focus()
    page.keyboard.type("def f(x):  # a comment\n")
    page.keyboard.type("if x:\nreturn 1\n")
    page.keyboard.press("Backspace")
    page.keyboard.type("y = 2")
    assert area.input_value() == "def f(x):  # a comment\n    if x:\n        return 1\n    y = 2"
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Tab")
    assert area.input_value().startswith("    def f(x):") and area.input_value().endswith("\n        y = 2")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")  # a line without indentation stays
    assert area.input_value() == "def f(x):  # a comment\nif x:\n    return 1\ny = 2"
    page.keyboard.press("ControlOrMeta+z")
    assert area.input_value() == "def f(x):  # a comment\n    if x:\n        return 1\n    y = 2"
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(work.locator(".go")).to_be_focused()


# ---- Progress --------------------------------------------------------------------------------------------------------

KEPT = {
    "version": 1,
    "questions": {
        "matmul-layer-bytes": {"state": "right", "value": "58.7 MB", "tries": 2},
        "matmul-one-token": {"state": "skipped"},
        "matmul-gate-flop": {"state": "tried", "value": "7", "tries": 1},
    },
    "read": {"2": "2026-11-02"},
}


def kept(page):
    return page.evaluate("JSON.parse(localStorage.getItem('hw:progress'))")


def put(page, record):
    page.evaluate("record => localStorage.setItem('hw:progress', JSON.stringify(record))", record)
    page.reload()


def test_progress_is_counted_saved_read_back_and_merged(visit, tmp_path):
    page = visit("progress")
    row = page.locator("table.done tbody tr")
    assert row.locator("td").nth(1).inner_text().strip() == f"0 of {len(MATMUL)}"
    assert page.get_by_role("button", name="Save as a file").is_disabled()
    put(page, KEPT)
    assert [cell.strip() for cell in row.locator("td").all_inner_texts()[1:]] == [
        f"2 of {len(MATMUL)}",
        "2026-11-02",
    ]
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a file").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert json.loads(path.read_text()) == KEPT
    ours = {
        "matmul-layer-bytes": {"state": "tried", "value": "1", "tries": 1},
        "matmul-one-token": {"state": "guessed", "value": "20", "factor": 59},
    }
    put(page, {"version": 1, "questions": ours, "read": {"2": "2026-11-30", "3": "2026-11-30"}})
    page.locator('input[type="file"]').set_input_files(path)
    page.locator(".reply").get_by_text("Read: 3 answers, of which the better of each was kept.").wait_for()
    assert kept(page) == {
        "version": 1,
        "questions": {**KEPT["questions"], "matmul-one-token": ours["matmul-one-token"]},
        "read": {"2": "2026-11-02", "3": "2026-11-30"},
    }


GARBAGE = {
    "{": "That file is not JSON, so it holds no progress.",
    "[]": "That file holds no progress of this book.",
    "null": "That file holds no progress of this book.",
    '{"version": 2, "questions": {}, "read": {}}': "That file is of version 2; this page reads version 1.",
    '{"version": 1, "questions": {"a": {"state": "right"}}, "read": {}}': "That file holds no progress of this book.",
    '{"version": 1, "questions": {"a-b": {"state": "best"}}, "read": {}}': "That file holds no progress of this book.",
    '{"version": 1, "questions": {"a-b": {"state": "right", "value": 1}}, "read": {}}': "That file holds no progress",
    '{"version": 1, "questions": {}, "read": {"2": 5}}': "That file holds no progress of this book.",
    '{"version": 1, "questions": {}, "read": {"__proto__": "2026-01-01"}}': "That file holds no progress of this book.",
    " " * 2**21: "That file is larger than a file of progress can be.",
}


def test_a_file_that_is_none_of_ours_is_refused_and_changes_nothing(visit):
    page = visit("progress")
    put(page, KEPT)
    for text, says in GARBAGE.items():
        file = {"name": "progress.json", "mimeType": "application/json", "buffer": text.encode()}
        page.locator('input[type="file"]').set_input_files(file)
        page.locator(".reply").get_by_text(says).wait_for()
        assert kept(page) == KEPT, text
        page.evaluate("document.querySelector('.your-progress .reply').textContent = ''")


def test_deleting_asks_first_and_can_be_taken_back_by_keyboard_alone(visit):
    page = visit("progress")
    put(page, KEPT)
    page.get_by_role("button", name="Delete all").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Keep it"
    page.keyboard.press("Enter")
    assert kept(page) == KEPT and page.evaluate("document.activeElement.textContent") == "Delete all"
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert kept(page) == {"version": 1, "questions": {}, "read": {}}
    assert page.evaluate("document.activeElement.textContent") == "Bring it back"
    page.keyboard.press("Enter")
    assert kept(page) == KEPT
    assert page.get_by_role("status").inner_text() == "It is back."


def test_two_tabs_keep_what_is_done_in_either(visit):
    one = visit()
    two = visit(context=one.context)
    table = visit("progress", context=one.context)
    for page, id, value in ((one, "matmul-gate-flop", "352"), (two, "matmul-layer-bytes", "58.7")):
        block(page, id).locator(".field input").fill(value)
        block(page, id).get_by_role("button", name="Check").click()
    block(one, "matmul-layer-bytes").get_by_text("Right: 58.7 MB.").wait_for()
    block(two, "matmul-gate-flop").get_by_text("Right: 352 MFLOP.").wait_for()
    table.get_by_text(f"2 of {len(MATMUL)}").wait_for()
    assert set(kept(one)["questions"]) == {"matmul-gate-flop", "matmul-layer-bytes"}
    table.get_by_role("button", name="Delete all").click()
    table.get_by_role("button", name="Delete", exact=True).click()
    one.wait_for_function("!document.querySelector('#q-matmul-layer-bytes .reply').textContent")


REFUSES = """for (const name of %s) {
    const works = Storage.prototype[name]; // for the theme
    Storage.prototype[name] = function (key, ...rest) {
        if (key === "hw:progress") throw new DOMException("refused");
        return works.call(this, key, ...rest);
    };
}"""
BLOCKED = {"blocked": REFUSES % '["getItem", "setItem"]', "full": REFUSES % '["setItem"]'}


@pytest.mark.parametrize("script", BLOCKED.values(), ids=BLOCKED)
def test_a_browser_that_keeps_nothing_works_and_says_so_once(visit, script):
    page = visit(script=script)
    for id, value, says in (
        ("matmul-layer-bytes", "58.7", "Right: 58.7 MB."),
        ("matmul-gate-flop", "352", "Right: 352 MFLOP."),
    ):
        block(page, id).locator(".field input").fill(value)
        block(page, id).get_by_role("button", name="Check").click()
        assert block(page, id).get_by_role("status").first.inner_text() == says
    guess = block(page, "matmul-one-token")
    guess.get_by_role("button", name="Skip").click()
    guess.get_by_role("button", name="Guess after all").click()
    assert page.locator(".not-kept").count() == 1
    assert "keeps nothing" in block(page, "matmul-layer-bytes").locator(".not-kept").inner_text()


def test_paper_has_room_to_write_and_all_that_was_written(visit):
    page = visit()
    memo = block(page, "matmul-memo").get_by_label("Your memo")
    memo.fill("\n".join(f"Line {i} of a long memo." for i in range(40)))
    memo.evaluate("area => { area.style.minHeight = ''; dispatchEvent(new Event('beforeprint')) }")
    page.emulate_media(media="print")
    assert memo.evaluate("area => area.scrollHeight <= area.offsetHeight")
    work = block(page, "matmul-layer-bytes")
    assert work.locator(".field input").is_visible() and not work.get_by_role("button").first.is_visible()
    for part in (".prompt", "details.fold p", "details.solution pre"):
        assert work.locator(part).first.is_visible(), part
    assert not block(page, "matmul-bytes").locator(".keys").is_visible()


def test_reaching_the_end_marks_the_chapter_as_read_and_tells_the_page(visit):
    page = visit()
    assert page.evaluate("localStorage.getItem('hw:progress')") is None
    page.evaluate("document.addEventListener('hw:progress', (event) => { window.told = event.detail.read })")
    page.get_by_text("The end.").scroll_into_view_if_needed()
    page.wait_for_function("window.told")
    assert list(page.evaluate("window.told")) == ["2"]


def test_a_progress_record_that_is_not_ours_breaks_nothing(visit):
    page = visit()
    page.evaluate("localStorage.setItem('hw:progress', '{broken')")
    page.reload()
    work = block(page, "matmul-layer-bytes")
    work.locator(".field input").fill("58.7")
    work.get_by_role("button", name="Check").click()
    assert work.get_by_role("status").inner_text() == "Right: 58.7 MB."


def test_without_a_script_there_is_no_dead_control_and_every_answer_can_be_opened(visit):
    page = visit(java_script_enabled=False)
    assert not page.locator(".ask").first.is_visible()
    guess = block(page, "matmul-one-token")
    assert not guess.get_by_text("0.339 %").is_visible()
    guess.get_by_text("Answer", exact=True).click()
    assert guess.get_by_text("0.339 %").is_visible()
    block(page, "matmul-gate-flop").get_by_text("Solution").click()
    assert "MFLOP" in block(page, "matmul-gate-flop").inner_text()


@pytest.mark.parametrize("width", [320, 375, 1280])
def test_with_all_opened_nothing_scrolls_sideways_and_touch_targets_are_large(visit, width):
    page = visit(viewport={"width": width, "height": 900})
    page.evaluate("for (const details of document.querySelectorAll('.block details')) details.open = true")
    for id in ("matmul-one-token", "matmul-sgemm"):
        block(page, id).locator(".field input").fill("9000")
        block(page, id).get_by_role("button", name="Reveal").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(
        "[...document.querySelectorAll('table.claims')].every(t => t.scrollWidth <= t.parentElement.clientWidth + 1)"
    )
    targets = page.locator(
        ".block :is(button, summary, .field input, .ruler, textarea, .option input + label, .rubric label)"
    )
    small = targets.evaluate_all("all => all.filter(e => e.offsetHeight && e.offsetHeight < 24).map(e => e.outerHTML)")
    assert small == []
