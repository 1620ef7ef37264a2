"""What importing the figures costs."""

import subprocess
import sys

from hwlab.figures import _put_off


def test_altair_builds_no_parser_of_addresses():
    """It would, through jsonschema, where rfc3987_syntax is installed; it takes seconds."""
    told = "import sys, hwlab.figures, altair, jsonschema; print('rfc3987_syntax.syntax_helpers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True).stdout == "False\n"


def test_what_is_put_off_is_there_when_asked_for(tmp_path, monkeypatch):
    for name in ("late_one", "late_two"):
        (tmp_path / f"{name}.py").write_text("def judge(term, value):\n    return term == value\n\n\nlimit = 3\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    _put_off("late_one", "judge")
    from late_one import judge

    assert not hasattr(sys.modules["late_one"], "__file__")
    assert judge("a", "a") and not judge("a", "b") and judge("c", "c")
    assert sys.modules["late_one"].__file__.startswith(str(tmp_path))

    _put_off("late_two", "judge")
    from late_two import limit

    assert limit == 3 and sys.modules["late_two"].__file__.startswith(str(tmp_path))


def test_what_is_not_installed_or_is_loaded_already_is_left_alone():
    _put_off("no_such_module", "judge")
    assert "no_such_module" not in sys.modules
    _put_off("json", "loads")
    import json

    assert json.__file__
