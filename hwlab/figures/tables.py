"""Tables of a page: a few rows computed by `hwlab`, to be read on a phone too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from hwlab.costs.estimate import estimate
from hwlab.costs.roofline import matmul_bytes, matmul_flop, matmul_time
from hwlab.formula import number, si


@dataclass(frozen=True)
class Table:
    """Rows of text under a head, with a caption that says what they show.

    The first column names the row and stays in view when the others scroll. Figures stand to the right of their column;
    words, where a column has no figure, to the left and in several lines.

    Raises
    ------
    ValueError
        If a row has not as many cells as the head.

    Examples
    --------
    >>> print(Table(["chip", "ridge"], [["H100", "295"]], caption="One chip."))
    chip  ridge
    H100  295
    One chip.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str

    def __post_init__(self):
        for row in self.rows:
            if len(row) != len(self.head):
                raise ValueError(f"row {row!r} has {len(row)} cells; the head has {len(self.head)}: {self.head!r}")

    def __repr__(self):
        lines = [self.head, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.head))]
        text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        return "\n".join([*text, self.caption])

    def _repr_html_(self):
        figures = [i == 0 or any(row[i][:1].isdigit() for row in self.rows) for i in range(len(self.head))]
        kind = ["" if figure else ' class="words"' for figure in figures]
        head = "".join(f'<th scope="col"{k}>{escape(cell)}</th>' for k, cell in zip(kind, self.head, strict=True))
        body = "".join(
            f'<tr><th scope="row">{escape(row[0])}</th>'
            + "".join(f"<td{k}>{escape(cell)}</td>" for k, cell in zip(kind[1:], row[1:], strict=True))
            + "</tr>"
            for row in self.rows
        )
        return (
            f'<div class="pst-scrollable-table-container"><table class="table figures">'
            f'<caption><span class="caption-text">{escape(self.caption)}</span></caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def products_table(model, chip, *, dtype: str = "bf16", many: int = 512) -> Table:
    """The products of one forward pass with weights: shapes, work and least times on a chip.

    Parameters
    ----------
    model : ModelSpec
    chip : Chip
    dtype : str
        Type of weights and activations.
    many : int
        Tokens in the larger of the two steps shown.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> products_table(model("llama-3.1-70b"), chip("h100-sxm")).rows[1]
    ['k', '8,192 × 1,024', '16.8 MFLOP', '16.8 MB', '5.01 µs', '8.68 µs']
    """
    rows = []
    for product in model.matmuls():
        k, n = product.k, product.n
        rows.append(
            [
                product.name,
                f"{k:,} × {n:,}",
                si(matmul_flop(1, k, n), "FLOP"),
                si(matmul_bytes(1, k, n, dtype=dtype), "B"),
                si(matmul_time(1, k, n, dtype=dtype, chip=chip).seconds, "s"),
                si(matmul_time(many, k, n, dtype=dtype, chip=chip).seconds, "s"),
            ]
        )
    head = [
        "Matrix",
        "Shape, k × n",
        "Work, 1 token",
        f"Moved, {dtype}",
        "Time, 1 token",
        f"Time, {many} tokens",
    ]
    each = f"each {model.num_layers} times in a pass, the head once"
    caption = f"The products of {model.name} that have weights, {each}, and their least times on {chip.name}."
    return Table(head, rows, caption)


def batch_table(
    model, chip, *, chips: int, batches: Sequence[int], prompt_tokens: int = 1024, output_tokens: int = 128
) -> Table:
    """What `hwlab.estimate` says of a model on several chips, batch by batch.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> batch_table(model("llama-3.1-70b"), chip("h100-sxm"), chips=8, batches=[1, 64]).head[:3]
    ['Users', 'Time per token', 'Tokens a second']
    """
    rows = []
    for batch in batches:
        e = estimate(model, chip, chips=chips, batch=batch, prompt_tokens=prompt_tokens, output_tokens=output_tokens)
        weights = model.weight_bytes_read(batch, e.dtype) / e.tensor
        rows.append(
            [
                f"{batch:,}",
                si(e.tpot_s, "s"),
                number(batch / e.tpot_s),
                f"{number(100 * e.decode.mfu, 2)} %",
                f"{number(100 * e.decode.mbu, 2)} %",
                f"{number(100 * (1 - weights / e.decode.memory_bytes), 2)} %",
            ]
        )
    head = ["Users", "Time per token", "Tokens a second", "MFU", "MBU", "Cache, share of bytes read"]
    length = f"{prompt_tokens:,} tokens of prompt, {output_tokens} of answer"
    caption = f"Decode of {model.name} on {chips} × {chip.name}: {length}."
    return Table(head, rows, caption)
