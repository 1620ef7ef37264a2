"""Cells that run in the page: each gives there what CPython gave when the book was made."""

import json
import re

import nbformat
import pytest
from myst_nb.core.read import read_myst_markdown_notebook

from tests.book.project import ROOT

# What a cell shows, as one text: printed lines, values, tables; where the book keeps a unit with its number, a space
SHOWN = """output => [...output.querySelectorAll(".output")].map(part => {
    const table = part.querySelector("table");
    return table ? table.outerHTML.replace(/>\\s+</g, "><") : part.querySelector("pre").textContent.trim();
}).join("\\n").replaceAll("&nbsp;", " ").replaceAll("\\u00a0", " ")"""


def tagged():
    """Page -> its cells tagged run-here, from the sources."""
    found = {}
    for path in sorted([*ROOT.glob("book/[0-9]*.md"), *ROOT.glob("notebooks/*.ipynb")]):
        text = path.read_text("utf8")
        notebook = read_myst_markdown_notebook(text) if path.suffix == ".md" else nbformat.reads(text, as_version=4)
        cells = [cell for cell in notebook.cells if "run-here" in cell.metadata.get("tags", ())]
        if cells:
            found[f"{path.relative_to(ROOT).with_suffix('')}.html"] = [cell.source for cell in cells]
    return found


PAGES = tagged()


def run(page, index):
    """Press the button of a cell and wait for what it says."""
    cell = page.locator(".cell.tag_run-here").nth(index)
    cell.locator(".go").click()
    cell.locator(".go:not([aria-disabled])").wait_for(timeout=90_000)
    return cell


@pytest.mark.parametrize("path", PAGES)
def test_every_cell_gives_in_the_page_what_it_gave_in_cpython(open_page, path):
    page = open_page(path)
    cells = page.locator(".cell.tag_run-here")
    assert cells.count() == len(PAGES[path])
    assert not [
        url for url in page.evaluate("performance.getEntriesByType('resource').map(e => e.name)") if "pyodide" in url
    ]
    for index, source in enumerate(PAGES[path]):
        stored = cells.nth(index).locator(".cell_output:not(.own)")
        expected = stored.evaluate(SHOWN) if stored.count() else ""
        cell = run(page, index)
        assert cell.locator("textarea").input_value() == source.strip()
        assert cell.locator(".ran").inner_text() == "This is what your browser computed."
        assert cell.locator(".own").evaluate(SHOWN) == expected, source
    assert page.foreign == [] and page.problems == []


def test_a_cell_can_be_changed_fails_in_words_and_goes_back(open_page):
    page = open_page("notebooks/02-matmul.html", width=375, has_touch=True)
    names = PAGES["notebooks/02-matmul.html"]
    index = next(i for i, source in enumerate(names) if source.startswith("def naive"))
    cell = run(page, index)
    area = cell.get_by_label("Code of this cell")
    area.fill(area.input_value().replace("[[1, 2], [3, 4]]", "[[1, 0], [0, 1]]"))
    run(page, index)
    assert cell.locator(".own pre").inner_text() == "[[5, 6], [7, 8]]"
    area.fill("print('so far')\n1 / 0")
    run(page, index)
    assert cell.locator(".ran").inner_text() == "It ended in an error."
    shown = cell.locator(".own").inner_text()
    assert "so far" in shown and "ZeroDivisionError: division by zero" in shown and "page.py" not in shown
    later = run(page, index + 1)
    assert later.locator(".ran").inner_text() == "A cell above it ended in an error."
    area.fill("while True: pass")
    cell.locator(".go").click()
    cell.locator(".told").get_by_text("Python is at work").wait_for()
    cell.get_by_role("button", name="Stop").click()
    cell.get_by_text("Stopped.").wait_for()
    cell.get_by_role("button", name="As it was").click()
    assert area.input_value() == names[index].strip()
    assert cell.locator(".own").count() == 0 and cell.locator(".cell_output").evaluate(SHOWN) == "[[19, 22], [43, 50]]"
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_a_lab_says_which_cells_run_and_where_the_rest_does(open_page, site):
    page = open_page("notebooks/02-matmul.html", java_script_enabled=False)
    line = page.locator(".run-line")
    assert "Cells with a button below them run in this page" in line.inner_text()
    target = line.get_by_role("link", name="download this notebook").get_attribute("href")
    notebook = json.loads((site / "notebooks" / target).resolve().read_text("utf8"))
    assert notebook["cells"] and not re.search("colab|binder", line.inner_text(), re.IGNORECASE)


def test_an_exercise_leads_to_the_state_that_it_speaks_of(open_page):
    page = open_page("book/02-matmul.html")
    page.locator("#q-matmul-tiles summary").first.click()
    link = page.locator("#q-matmul-tiles a.state")
    for _ in range(2):  # also when the address is that already
        link.click()
        page.locator("#hw-blocked[data-ready]").wait_for()
        page.wait_for_function("document.querySelector('#hw-blocked').getBoundingClientRect().top < innerHeight")
        assert "writes a tile of C back" in page.locator("#hw-blocked .hw-say").inner_text()
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
