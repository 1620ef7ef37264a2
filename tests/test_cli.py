"""The command line: what it prints, and how it fails."""

import subprocess
import sys

import pytest

from hwlab.cli import main


def test_one_chip_is_shown_with_grade_source_and_rivals(capsys):
    assert main(["chips", "b200"]) == 0
    out = capsys.readouterr().out
    assert "7.7 TB/s" in out and "but also" in out and "8 TB/s" in out
    assert "cross-referenced: Blackwell datasheet 3384703, NVIDIA, 2024" in out


def test_the_list_is_filtered(capsys):
    assert main(["chips", "--kind", "gpu", "--vendor", "apple"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["id", "name", "year", "peak", "memory", "speed"]
    assert len(lines) > 10 and all(line.startswith("m") for line in lines[1:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chips", "h100"], "nearest: h100-sxm"),
        (["chips", "--kind", "fpga"], "kinds are cpu"),
        (["chips", "--vendor", "nobody"], "vendors are AMD"),
        (["generate", "To be", "--model", "tiny"], "'tiny' is no model"),
        (["generate", "To be", "--max-new-tokens", "0"], "max_new_tokens is 0"),
    ],
)
def test_errors_go_to_stderr_with_status_2(arguments, message, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.startswith("hwlab: ") and captured.out == ""


def test_what_generate_needs_is_named_where_it_is_missing():
    code = "import sys; sys.modules['jax'] = None; from hwlab.cli import main; sys.exit(main(['generate', 'To be']))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "hwlab: hwlab.serving.Engine needs jax: pip install 'hwlab[engine]'\n"


def test_an_unknown_command_ends_with_status_2(capsys):
    with pytest.raises(SystemExit) as end:
        main(["chip"])
    assert end.value.code == 2 and "invalid choice" in capsys.readouterr().err


def test_it_starts_without_the_heavy_libraries():
    heavy = "sorted({'numpy', 'jax', 'pandas'} & set(sys.modules))"
    code = f"import sys; from hwlab.cli import main; main(['chips']); print({heavy})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]" and len(out.splitlines()) > 120
