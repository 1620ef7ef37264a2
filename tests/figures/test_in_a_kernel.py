"""In a kernel an explorer is a widget; in a notebook that is to become a page it leaves no widget behind."""

import nbformat
import pytest
from nbclient import NotebookClient

CELLS = [
    "import os; os.environ['HWLAB_STATIC'] = '1'\nfrom hwlab.figures.roofline import batch_explorer\nbatch_explorer()",
    "del os.environ['HWLAB_STATIC']\nexplorer = batch_explorer()\nexplorer",
    "explorer.tokens = 64\nprint(explorer.says(), len(explorer._esm) > 500_000)",
    "from hwlab.figures import blocked_product\nmachine = blocked_product()\nmachine.own = {'m': 4, 'k': 4, 'n': 4}\n"
    "print(machine.scene, len(machine.frames), 'ownScene' in machine._esm)",
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


def test_a_machine_takes_a_scene_of_ones_own(executed):
    assert executed.cells[3].outputs[0].text == "own 5 True\n"  # 4 steps along k and the way home


def test_only_the_kernel_widgets_are_stored(executed):
    state = executed.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    explorer, machine = (model["state"] for model in state.values() if model["model_name"] == "AnyModel")
    assert explorer["tokens"] == 64.0
    assert (machine["scene"], machine["own"]["n"], "own" in machine["payload"]["frames"]) == ("own", 4, False)
    assert len(state) == 4  # and a layout each
