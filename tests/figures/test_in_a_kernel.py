"""In a kernel an explorer is a widget; in a notebook that is to become a page it leaves no widget behind."""

import nbformat
import pytest
from nbclient import NotebookClient

CELLS = [
    "import os; os.environ['HWLAB_STATIC'] = '1'\nfrom hwlab.figures.roofline import batch_explorer\nbatch_explorer()",
    "del os.environ['HWLAB_STATIC']\nexplorer = batch_explorer()\nexplorer",
    "explorer.tokens = 64\nprint(explorer.says(), len(explorer._esm) > 500_000)",
]


@pytest.fixture(scope="module")
def executed():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    return NotebookClient(notebook, timeout=120, kernel_name="python3").execute()


def test_a_page_shows_the_fragment(executed):
    (output,) = executed.cells[0].outputs
    assert set(output.data) == {"text/html", "text/plain"}


def test_a_kernel_shows_the_widget(executed):
    (output,) = executed.cells[1].outputs
    assert "application/vnd.jupyter.widget-view+json" in output.data
    assert executed.cells[2].outputs[0].text.endswith("True\n")


def test_only_the_kernel_widget_is_stored(executed):
    state = executed.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    explorers = [model["state"] for model in state.values() if model["model_name"] == "AnyModel"]
    assert [model["tokens"] for model in explorers] == [64.0]
    assert len(state) == 2  # the explorer and its layout
