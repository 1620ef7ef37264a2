"""Recorded traffic: when requests came, how long they were, and which blocks of their prompts had been seen before.

The recordings themselves are not part of the package. `read_mooncake` and `read_azure` read them from a path or a URL,
in the form in which their owners publish them. What was counted on them stands in `hwlab.specs.paging`;
`hwlab.studies.prefix_reuse` makes up traffic of the same kind.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import index
from pathlib import Path

from hwlab.formula import whole

MOONCAKE_BLOCK = 512
"""Tokens of a block in the Mooncake traces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One request of a trace.

    Attributes
    ----------
    arrival_s : float
        Since the trace began.
    prompt_tokens, output_tokens : int
    blocks : tuple of int
        Names of the blocks of the prompt, where the trace has them. Two requests share a name where they share the
        block and all before it. The last one may be partly filled.
    """

    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    blocks: tuple[int, ...] = ()


def read_mooncake(where: str | Path | Iterable[str]) -> list[Recorded]:
    """Requests of a trace in the form of Mooncake's: a line of JSON each.

    R. Qin et al., "Mooncake: Trading More Storage for Less Computation", FAST 2025; the traces lie in the repository
    kvcache-ai/Mooncake under FAST25-release/traces. Their time stamps stand on a grid of three seconds.

    Parameters
    ----------
    where : str, Path or iterable of str
        Path, URL, or the lines themselves.

    Raises
    ------
    ValueError
        If a line is no such record, or its prompt has another number of blocks than its length says.

    Examples
    --------
    >>> line = '{"timestamp": 3000, "input_length": 700, "output_length": 52, "hash_ids": [0, 9]}'
    >>> read_mooncake([line])
    [Recorded(arrival_s=3.0, prompt_tokens=700, output_tokens=52, blocks=(0, 9))]
    """
    found = []
    for number, line in enumerate(_lines(where), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            prompt, output = whole(input_length=row["input_length"], output_length=row["output_length"])
            record = Recorded(
                arrival_s=_seconds(row["timestamp"] / 1e3),
                prompt_tokens=prompt,
                output_tokens=output,
                blocks=tuple(index(block) for block in row["hash_ids"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"line {number} is no record of a Mooncake trace ({error!r}): {line[:60]!r}") from None
        if len(record.blocks) != -(-record.prompt_tokens // MOONCAKE_BLOCK):
            raise ValueError(
                f"line {number} names {len(record.blocks)} blocks for a prompt of {record.prompt_tokens} tokens; "
                f"blocks have {MOONCAKE_BLOCK}"
            )
        found.append(record)
    return found


def read_azure(where: str | Path | Iterable[str]) -> list[Recorded]:
    """Requests of a trace in the form of Azure's of 2023: CSV with TIMESTAMP, ContextTokens, GeneratedTokens.

    P. Patel et al., "Splitwise: Efficient Generative LLM Inference Using Phase Splitting", ISCA 2024; the traces lie in
    the repository Azure/AzurePublicDataset under data.

    Parameters
    ----------
    where : str, Path or iterable of str
        Path, URL, or the lines themselves, head first.

    Raises
    ------
    ValueError
        If the columns are others, or a row is no such record.

    Examples
    --------
    >>> head = "TIMESTAMP,ContextTokens,GeneratedTokens"
    >>> read_azure([head, "2023-11-16 18:15:46.5000000,374,44", "2023-11-16 18:15:50.9000000,396,109"])[1]
    Recorded(arrival_s=4.4, prompt_tokens=396, output_tokens=109, blocks=())
    """
    rows = csv.DictReader(_lines(where))
    columns = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
    if not set(columns) <= set(rows.fieldnames or ()):
        raise ValueError(f"the columns are {rows.fieldnames}; an Azure trace has {', '.join(columns)}")
    found, first = [], None
    for number, row in enumerate(rows, start=2):
        try:
            at = datetime.fromisoformat(row["TIMESTAMP"][:26])  # the seventh digit is beyond Python's microseconds
            first = first or at
            prompt, output = whole(ContextTokens=int(row["ContextTokens"]), GeneratedTokens=int(row["GeneratedTokens"]))
            at_s = _seconds((at - first).total_seconds())
            found.append(Recorded(arrival_s=at_s, prompt_tokens=prompt, output_tokens=output))
        except (ValueError, TypeError) as error:
            raise ValueError(f"line {number} is no record of an Azure trace: {error}") from None
    return found


def _seconds(since: float) -> float:
    if not 0 <= since < float("inf"):
        raise ValueError(f"it came {since} s after the trace began; give times from its beginning on")
    return since


def _lines(where) -> Iterator[str]:
    if not isinstance(where, str | Path):
        yield from where
    elif str(where).startswith(("http://", "https://")):
        from urllib.request import urlopen  # here: a browser's Python has no sockets

        with urlopen(str(where)) as reply:
            for line in reply:
                yield line.decode("utf-8")
    else:
        with Path(where).open(encoding="utf-8", newline="") as file:
            yield from file
