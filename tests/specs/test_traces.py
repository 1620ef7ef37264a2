"""Traces are read as their owners publish them, and what is no trace is refused with its line."""

import pytest

from hwlab.specs.traces import Recorded, read_azure, read_mooncake

LINES = (
    '{"timestamp": 0, "input_length": 1025, "output_length": 500, "hash_ids": [0, 1, 2]}',
    "",
    '{"timestamp": 3000, "input_length": 512, "output_length": 1, "hash_ids": [0]}',
)


def test_a_trace_of_mooncake_is_read_from_lines_and_from_a_file(tmp_path):
    wanted = [
        Recorded(arrival_s=0.0, prompt_tokens=1025, output_tokens=500, blocks=(0, 1, 2)),
        Recorded(arrival_s=3.0, prompt_tokens=512, output_tokens=1, blocks=(0,)),
    ]
    (tmp_path / "trace.jsonl").write_text("\n".join(LINES))
    assert read_mooncake(LINES) == read_mooncake(tmp_path / "trace.jsonl") == wanted


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 4 is no record of a Mooncake trace"),
        ('{"timestamp": 0, "input_length": 9}', "line 4 is no record of a Mooncake trace"),
        (LINES[0].replace("1025", "1024"), "line 4 names 3 blocks for a prompt of 1024 tokens; blocks have 512"),
    ],
)
def test_a_line_that_is_none_is_named(line, says):
    with pytest.raises(ValueError, match=says):
        read_mooncake([*LINES, line])


def test_a_trace_of_azure_counts_from_its_first_request(tmp_path):
    text = (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 23:59:59.0000000,374,44\n2023-11-17 00:00:00.2500000,5,6\n"
    )
    (tmp_path / "trace.csv").write_text(text)
    found = read_azure(tmp_path / "trace.csv")
    assert [(r.arrival_s, r.prompt_tokens, r.output_tokens) for r in found] == [(0, 374, 44), (1.25, 5, 6)]
    with pytest.raises(ValueError, match="line 3 is no record of an Azure trace"):
        read_azure([*text.splitlines()[:2], "yesterday,1,2"])
    with pytest.raises(ValueError, match="an Azure trace has TIMESTAMP, ContextTokens, GeneratedTokens"):
        read_azure(["a,b", "1,2"])


@pytest.mark.parametrize(
    "changed",
    [
        ('"timestamp": 0', '"timestamp": -1'),
        ('"timestamp": 0', '"timestamp": NaN'),
        ('"timestamp": 0', '"timestamp": "0"'),
        ("1025", "1025.5"),
        ("1025", '"1025"'),
        ("500", "-1"),
        ("500", "null"),
        ("[0, 1, 2]", '"abc"'),
        ("[0, 1, 2]", "[0, 1, 2.5]"),
    ],
)
def test_a_number_that_cannot_be_is_named_with_its_line(changed):
    with pytest.raises(ValueError, match="line 1 is no record of a Mooncake trace"):
        read_mooncake([LINES[0].replace(*changed)])


@pytest.mark.parametrize("row", ["2023-11-15,1,2", "2023-11-17,-1,2", "2023-11-17,1,-2", "2023-11-17,1.5,2"])
def test_a_row_that_cannot_be_is_named(row):
    with pytest.raises(ValueError, match="line 3 is no record of an Azure trace"):
        read_azure(["TIMESTAMP,ContextTokens,GeneratedTokens", "2023-11-16,1,2", row])
