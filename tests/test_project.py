"""What the files at the root promise: one environment, a light import, nothing of the machine it was made on."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = [Requirement(pin) for pin in re.findall(r"^([a-z0-9].*?) \\$", (ROOT / "requirements.lock").read_text(), re.M)]
HEAVY = {"numpy", "scipy", "pandas", "jax", "jaxlib", "altair", "anywidget", "ipywidgets", "traitlets", "matplotlib"}


def pinned(**environment):
    """Version by name of all that the lock installs here, or on a machine that differs in `environment`."""
    chosen = [pin for pin in PINS if pin.marker is None or pin.marker.evaluate(environment)]
    versions = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in chosen}
    assert len(versions) == len(chosen), "a name is pinned twice for one Python"
    return versions


def asked():
    """Everything that pyproject.toml asks of others, the extras included but the compiler for TPUs."""
    extras = PROJECT["optional-dependencies"]
    lists = [PROJECT["dependencies"], *(extras[name] for name in extras if name != "tpu")]
    found = [Requirement(text) for texts in lists for text in texts]
    return [requirement for requirement in found if requirement.name != "hwlab"]


@pytest.mark.parametrize("python", ["3.11.0", "3.11.9", "3.12.0", "3.13.0"])
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_lock_pins_whatever_the_project_asks_for(python, platform):
    assert python in SpecifierSet(PROJECT["requires-python"])
    versions = pinned(python_full_version=python, python_version=python[:4], sys_platform=platform)
    for requirement in asked():
        assert versions[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_every_pin_has_its_hashes():
    blocks = re.split(r"^(?=[a-z0-9])", (ROOT / "requirements.lock").read_text(), flags=re.M)[1:]
    assert len(blocks) == len(PINS)
    assert [block for block in blocks if "--hash=sha256:" not in block] == []


def test_the_compiler_for_tpus_is_pinned_apart():
    (compiler,) = (Requirement(text) for text in PROJECT["optional-dependencies"]["tpu"] if "hwlab" not in text)
    lock = (ROOT / "tpu.lock").read_text()
    ((name, version),) = re.findall(r"^([a-z]+)==(\S+) \\$", lock, re.M)
    assert (name, "--hash=sha256:" in lock) == (compiler.name, True) and version in compiler.specifier
    assert name not in pinned()


def test_this_environment_is_the_locked_one():
    versions = pinned()
    assert {name: metadata.version(name) for name in versions} == versions


def test_conda_takes_python_and_pip_and_leaves_the_rest_to_the_lock():
    python, pip, rest = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    assert python.split("=")[0] == "python" and python.split("=")[1] in SpecifierSet(PROJECT["requires-python"])
    assert pip == "pip"
    assert rest == {"pip": ["-r requirements.lock"]}
    assert "pip install --quiet --no-deps" in (ROOT / "postBuild").read_text()


def test_the_core_needs_numpy_only():
    assert [Requirement(text).name for text in PROJECT["dependencies"]] == ["numpy"]


def loaded(code):
    """Heavy packages in `sys.modules` after a fresh interpreter ran `code`."""
    script = f"{code}\nimport sys; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return HEAVY & set(result.stdout.split())


def test_importing_hwlab_loads_nothing_heavy():
    assert loaded("import hwlab") == set()


def test_what_the_browser_runs_loads_nothing_heavy():
    """formula, units, specs and costs run in the browser's Python, which has no NumPy."""
    files = [ROOT / "hwlab" / "formula.py", ROOT / "hwlab" / "units.py"]
    files += [path for folder in ("specs", "costs") for path in sorted((ROOT / "hwlab" / folder).rglob("*.py"))]
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in files]
    assert "hwlab.formula" in modules and "hwlab.costs" in modules
    assert loaded(f"import {', '.join(modules)}") == set()
    assert loaded("import numpy") == {"numpy"}


def test_the_reference_shows_every_module():
    """What lies inside a package that is on the page comes through the package; `live` is the figures' own plumbing."""
    shown = set(re.findall(r"automodule:: (\S+)", (ROOT / "book" / "reference.md").read_text()))
    files = {path for path in (ROOT / "hwlab").rglob("*.py") if re.search(r"^(def|class) [^_]", path.read_text(), re.M)}
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in files}
    assert {name for name in modules - shown if name.rpartition(".")[0] not in shown} == {"hwlab.figures.live"}
    assert {name for name in shown if find_spec(name) is None} == set()


def test_no_tracked_file_names_a_registry():
    """Installers follow their own configuration, so that a mirror works; a lock file holds hashes only."""
    hosts = ["py" + "pi.org", "registry.npm" + "js", "python" + "hosted.org", "deb." + "debian.org"]
    pattern = [argument for host in hosts for argument in ("-e", host)]
    found = subprocess.run(["git", "grep", "-nIF", *pattern], cwd=ROOT, capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (1, "")


def test_what_an_extra_brings_is_named_where_it_is_missing():
    """The core alone, NumPy and hwlab, says which extra a name needs."""
    code = """
import sys
for name in ("altair", "anywidget", "ipywidgets", "traitlets", "pandas", "vl_convert", "IPython"):
    sys.modules[name] = None
import hwlab
for ask in (lambda: hwlab.figures.explore, hwlab.chips_frame):
    try:
        ask()
    except ImportError as error:
        print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == [
        "hwlab.figures needs traitlets: pip install 'hwlab[figures]'",
        "chips_frame() needs pandas: pip install 'hwlab[figures]'; chips() needs nothing",
    ]
