"""A systolic array at work: what each multiply-accumulate unit holds, what enters from the left, what leaves below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hwlab.costs.systolic import DATAFLOWS, cycles, stream_utilization, utilization
from hwlab.costs.systolic import steps as fold_steps
from hwlab.figures.own import Number, Own, Pick
from hwlab.formula import number, whole

MOST_SIZE, MOST_SIDE = 8, 6
"""Largest m, k, n, and most rows and columns of the array: what a phone can draw legibly."""

AHEAD = 3
"""Values shown in front of the array that are about to enter."""

ROLES: Mapping[str, dict[str, str]] = {
    "weight": {"held": "B", "passing": "A", "falling": "C"},
    "output": {"held": "C", "passing": "A", "falling": "B"},
    "input": {"held": "A", "passing": "B", "falling": "C"},
}
"""Of C = A B: what stays in the array, what passes to the right, what moves down."""

_TITLES = {"weight": "B, the weights", "output": "C, the sums", "input": "A, the inputs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A product C[m, n] = A[m, k] B[k, n] on an array of `rows` x `columns` multiply-accumulate units (MACs).

    Parameters
    ----------
    m, k, n : int
        From 1 to `MOST_SIZE`.
    rows, columns : int
        From 1 to `MOST_SIDE`. What does not fill the array is padded with zeros, what does not fit is cut into tiles.
    dataflow : {"weight", "output", "input"}
        What stays in the array, as in `hwlab.costs.systolic`.

    Raises
    ------
    ValueError
        If a size is out of bounds, or there is no such dataflow.

    Examples
    --------
    >>> Scene(m=9, k=3, n=3, rows=3, columns=3)
    Traceback (most recent call last):
    ...
    ValueError: m is 9; give a number from 1 to 8
    """

    m: int
    k: int
    n: int
    rows: int
    columns: int
    dataflow: str = "weight"

    def __post_init__(self):
        sizes = {"m": self.m, "k": self.k, "n": self.n, "rows": self.rows, "columns": self.columns}
        for (name, value), most in zip(sizes.items(), [MOST_SIZE] * 3 + [MOST_SIDE] * 2, strict=True):
            whole(**{name: value})
            if value > most:
                raise ValueError(f"{name} is {value}; give a number from 1 to {most}")
        if self.dataflow not in DATAFLOWS:
            raise ValueError(f"dataflow is {self.dataflow!r}; choose one of {', '.join(DATAFLOWS)}")

    @property
    def matrices(self) -> tuple[list[list[int]], list[list[int]]]:
        """A and B, of digits from 1 to 9: sums keep to three digits."""
        a = [[(i * self.k + j) % 9 + 1 for j in range(self.k)] for i in range(self.m)]
        b = [[(5 * i + 2 * j) % 9 + 1 for j in range(self.n)] for i in range(self.k)]
        return a, b

    def cycles(self):
        """Where the cycles go, by the closed form: `hwlab.costs.systolic.Cycles`."""
        return cycles(self.m, self.k, self.n, rows=self.rows, columns=self.columns, dataflow=self.dataflow)


SCENES: Mapping[str, tuple[str, Scene]] = {
    "skew": ("Skewed inputs, 4 × 6", Scene(m=8, k=4, n=6, rows=4, columns=6)),
    "square": ("The printed list, 3 × 3", Scene(m=3, k=3, n=3, rows=3, columns=3)),
    "token": ("One row, 4 × 4", Scene(m=1, k=4, n=4, rows=4, columns=4)),
    "padded": ("Padded: 3 × 4 on 5 × 5", Scene(m=8, k=3, n=4, rows=5, columns=5)),
    "tiles": ("Four tiles, 3 × 3", Scene(m=6, k=6, n=6, rows=3, columns=3)),
    "output": ("Sums stay, 4 × 4", Scene(m=4, k=8, n=4, rows=4, columns=4, dataflow="output")),
}
"""Weights stay in all but the last."""


OWN = Own(
    build=Scene,
    fields=(
        Number("m", "m, rows of A", 1, MOST_SIZE, 8),
        Number("k", "k, columns of A", 1, MOST_SIZE, 4),
        Number("n", "n, columns of B", 1, MOST_SIZE, 4),
        Number("rows", "Rows of the array", 1, MOST_SIDE, 4),
        Number("columns", "Columns of the array", 1, MOST_SIDE, 4),
        Pick("dataflow", "What stays", _TITLES, "weight"),
    ),
)
"""A product and an array of the reader's own."""


def frames(scene: Scene) -> Iterator[dict]:
    """The array in every cycle: loading, working and draining, tile after tile.

    A frame is plain data, ready for JSON:

    - ``shape``: m, k, n; ``array``: rows and columns; ``used``: how many of them hold what is no padding;
    - ``roles``: which matrix is ``held``, ``passing`` and ``falling``; each of these by row and column of the array,
      None where there is nothing;
    - ``left``: by row the next values that will enter from the left, the nearest first; ``above`` by column;
    - ``active``: ``[row, column]`` of each unit that does a multiply-add of the product in this cycle;
    - ``leaving``: by column what leaves the array below in this cycle;
    - ``product``: C so far; ``fresh``: ``[row, column]`` of what changed in it;
    - ``cycle`` of ``cycles``, ``macs`` of the product so far, ``utilization`` so far; ``says`` and ``arithmetic``.

    Examples
    --------
    Three cycles load the weights; then a row begins one cycle after the row above it:

    >>> found = list(frames(SCENES["square"][1]))
    >>> for frame in found[3:5]:
    ...     print(frame["says"])
    Cycle 1 of 7: one of 9 MACs multiplies. Row 0 has A[0,0].
    Cycle 2 of 7: 3 of 9 MACs multiply. Row 0 has A[1,0], A[0,0]; row 1 A[0,1].
    >>> found[-1]["cycle"], found[-1]["product"][0]
    (10, [19, 31, 25])
    """
    return _Walk(scene).frames()


class _Walk:
    """A walk through a scene that keeps what frames are made of."""

    def __init__(self, scene: Scene):
        self.scene, self.roles = scene, ROLES[scene.dataflow]
        self.count, self.cycle, self.macs = scene.cycles(), 0, 0
        self.product = [[None] * scene.n for _ in range(scene.m)]

    def frames(self):
        scene, flow = self.scene, self.scene.dataflow
        down, across = {"weight": "kn", "output": "mn", "input": "km"}[flow]
        starts = [
            (top, left)
            for left in range(0, getattr(scene, across), scene.columns)
            for top in range(0, getattr(scene, down), scene.rows)
        ]
        for index, (top, left) in enumerate(starts, 1):
            self.tile = f"Tile {index} of {len(starts)}, " if len(starts) > 1 else ""
            self.top, self.left, self.fresh = top, left, []
            self.used = [min(scene.rows, getattr(scene, down) - top), min(scene.columns, getattr(scene, across) - left)]
            last = index == len(starts)
            work = list(fold_steps(*self.operands(), dataflow=flow))
            if flow != "output":
                yield from self.loading(work)
            for at, step in enumerate(work):
                yield self.working(step, work[at + 1 : at + 1 + AHEAD], last and flow != "output" and step is work[-1])
            if flow == "output":
                yield from self.draining(work[-1]["held"], last)

    def operands(self):
        """A and B of the present tile, padded with zeros to fill the array."""
        a, b = self.scene.matrices
        rows, columns = slice(self.top, self.top + self.used[0]), slice(self.left, self.left + self.used[1])
        flow, height, width = self.scene.dataflow, self.scene.rows, self.scene.columns
        if flow == "output":
            return _padded(a[rows], height, None), _padded([row[columns] for row in b], None, width)
        if flow == "weight":
            return _padded([row[rows] for row in a], None, height), _padded(
                [r[columns] for r in b[rows]], height, width
            )
        return _padded([row[rows] for row in a[columns]], width, height), _padded(b[rows], height, None)

    def loading(self, work):
        """What stays is shifted in from above, its last row first."""
        rows, columns = self.scene.rows, self.scene.columns
        stays, nothing = work[0]["held"], [[None] * columns for _ in range(rows)]
        for done in range(1, rows + 1):
            held = [stays[rows - done + r] if r < done else [None] * columns for r in range(rows)]
            coming = [[stays[r][c] for r in range(rows - done - 1, -1, -1)][:AHEAD] for c in range(columns)]
            says = (
                f"{self.where('loading')} {done} of {rows}: a row of {self.roles['held']} enters from above, and those "
                "before it move down. No MAC multiplies."
            )
            yield self.frame(says, held, nothing, nothing, work[:AHEAD], above=coming, entering=done == rows)

    def working(self, step, coming, last):
        flow, (rows, columns) = self.scene.dataflow, self.used
        active = [[r, c] for r, c, _ in step["active"] if r < rows and c < columns]
        self.macs += len(active)
        leaving, self.fresh = [None] * self.scene.columns, []
        if flow != "output":
            for i, j, value in step["done"]:
                column, (row, at) = (j, (i, self.left + j)) if flow == "weight" else (i, (self.left + i, j))
                if column < columns:
                    leaving[column] = value
                    self.product[row][at] = (self.product[row][at] or 0) + value
                    self.fresh.append([row, at])
        says = self.says_working(step, active, leaving, last)
        return self.frame(says, step["held"], step["passing"], step["falling"], coming, active=active, leaving=leaving)

    def draining(self, sums, last):
        """Sums that stayed are shifted out below."""
        rows, columns = self.scene.rows, self.scene.columns
        nothing = [[None] * columns for _ in range(rows)]
        for done in range(1, rows + 1):
            held = [sums[r - done] if r >= done else [None] * columns for r in range(rows)]
            row, leaving = rows - done, [None] * columns
            self.fresh = [[self.top + row, self.left + c] for c in range(self.used[1])] if row < self.used[0] else []
            for i, j in self.fresh:
                self.product[i][j] = leaving[j - self.left] = sums[row][j - self.left]
            what = f"row {self.top + row} of C leaves below" if self.fresh else "a row of padding leaves below"
            end = self.says_end() if last and done == rows else "No MAC multiplies."
            says = f"{self.where('draining')} {done} of {rows}: {what}. {end}"
            yield self.frame(says, held, nothing, nothing, [], leaving=leaving)

    def frame(self, says, held, passing, falling, coming, *, above=None, entering=True, active=(), leaving=None):
        scene = self.scene
        self.cycle += 1
        left = [[step["passing"][r][0] for step in coming] for r in range(scene.rows)]
        if above is None:
            above = [[step["falling"][0][c] for step in coming] for c in range(scene.columns)]
            if scene.dataflow != "output":
                above = [[] for _ in range(scene.columns)]
        return {
            "says": says,
            "arithmetic": self.arithmetic(len(active)),
            "shape": [scene.m, scene.k, scene.n],
            "array": [scene.rows, scene.columns],
            "used": list(self.used),
            "roles": self.roles,
            "held": held,
            "passing": passing,
            "falling": falling,
            "left": left if entering else [[] for _ in range(scene.rows)],
            "above": above,
            "active": [list(place) for place in active],
            "leaving": leaving or [None] * scene.columns,
            "product": [list(row) for row in self.product],
            "fresh": self.fresh,
            "cycle": self.cycle,
            "cycles": self.count.total,
            "macs": self.macs,
            "utilization": self.macs / (scene.rows * scene.columns * self.cycle),
        }

    def arithmetic(self, active):
        scene, count = self.scene, self.count
        units = scene.rows * scene.columns
        return [
            f"{active} of {scene.rows} × {scene.columns} = {units} MACs busy in this cycle",
            f"{self.macs} multiply-adds / ({units} MACs × {self.cycle} cycles) = "
            f"{number(100 * self.macs / (units * self.cycle))} %",
            f"in all {scene.m} × {scene.k} × {scene.n} = {scene.m * scene.k * scene.n} multiply-adds, "
            f"{count.load} + {count.stream} + {count.skew} + {count.drain} = {count.total} cycles "
            "(load + stream + skew + drain)",
        ]

    def where(self, phase):
        return self.tile + phase if self.tile else phase.capitalize()

    def says_working(self, step, active, leaving, last):
        units = self.scene.rows * self.scene.columns
        busy = {0: f"none of {units} MACs multiplies more than padding", 1: f"one of {units} MACs multiplies"}
        busy = busy.get(len(active), f"{len(active)} of {units} MACs multiply")
        says = f"{self.where('cycle')} {step['cycle']} of {step['cycles']}: {busy}"
        left = len([value for value in leaving if value is not None])
        if last:
            return f"{says}. {self.says_end()}"
        if left:
            what = "sum leaves" if left == 1 else "sums leave"
            says += f", {left} {what} below"
        if self.scene.rows > 3 or self.tile:
            return f"{says}."
        names = []
        for r in range(self.used[0]):
            there = [self.name(r, c, i) for row, c, i in step["active"] if row == r]
            if there:
                names.append(f"{'Row' if not names else 'row'} {r} {'has ' if not names else ''}{', '.join(there)}")
        return f"{says}. {'; '.join(names)}."

    def name(self, row, column, index):
        """The element that passes through a unit."""
        at = (self.top + row, index) if self.scene.dataflow != "weight" else (index, self.top + row)
        return f"{self.roles['passing']}[{at[0]},{at[1]}]"

    def says_end(self):
        scene, count = self.scene, self.count
        sizes = {"rows": scene.rows, "columns": scene.columns}
        share = utilization(scene.m, scene.k, scene.n, **sizes, dataflow=scene.dataflow)
        passing = {"weight": scene.m, "output": scene.k, "input": scene.n}[scene.dataflow]
        name = {"weight": "m", "output": "k", "input": "n"}[scene.dataflow]
        hidden = stream_utilization(passing, **sizes)
        held = scene.m * scene.k * scene.n / (count.folds * scene.rows * scene.columns * passing)
        says = (
            f"Done in {count.total} cycles, {number(100 * share)} % of what the MACs could do. "
            f"With {'draining' if scene.dataflow == 'output' else 'loading'} hidden, {name}/({name} + r + c − 2) = "
            f"{passing}/{passing + scene.rows + scene.columns - 2} = {number(100 * hidden)} %"
        )
        if held < 1:
            says += f", of which padding leaves {number(100 * held)} %: {number(100 * hidden * held)} %"
        return says + "."


def _padded(matrix, height, width):
    """`matrix` with zeros up to `height` rows and `width` columns; None leaves a side as it is."""
    width = width or len(matrix[0])
    rows = [[*row, *[0] * (width - len(row))] for row in matrix]
    return rows + [[0] * width for _ in range((height or len(rows)) - len(rows))]


def systolic_array(scenes: Mapping[str, tuple[str, Scene]] = SCENES):
    """A stepper of a systolic array while a matrix product passes through it.

    Parameters
    ----------
    scenes : mapping of str to (title, `Scene`)
        What the reader may choose from; the first is shown at the start.

    Returns
    -------
    Machine

    Examples
    --------
    >>> machine = systolic_array()
    >>> machine.frame["cycle"], round(machine.frame["utilization"], 2)
    (20, 0.4)
    >>> machine.scene = "token"
    >>> machine.at, machine.frames[-1]["cycle"]
    (0, 11)
    """
    from hwlab.figures.machine import Machine  # here, so that frames() needs no widgets: it runs in a browser's Python

    return Machine(
        "systolic",
        "systolic",
        frames,
        scenes,
        columns={
            "MACs": lambda frame: f"{frame['array'][0] * frame['array'][1]}",
            "Cycles": lambda frame: f"{frame['cycles']}",
            "Multiply-adds": lambda frame: f"{frame['macs']}",
            "Utilisation, %": lambda frame: number(100 * frame["utilization"]),
        },
        picture=_totals,
        scene=next(iter(scenes)),
        alt="An array of multiply-accumulate units, each with the value that passes, the one that stays and the sum. "
        "Values wait on the left, each row one cycle behind the row above; sums leave below and fill the product.",
        own=OWN,
    )


def _totals(last: dict[str, dict]):
    import altair as alt

    rows = [{"scene": title, "percent": 100 * frame["utilization"]} for title, frame in last.items()]
    return (
        alt.Chart(alt.Data(values=rows), height=220)
        .mark_bar()
        .encode(
            alt.X("percent:Q", title="Utilisation over all cycles, %", scale=alt.Scale(domain=[0, 100])),
            alt.Y("scene:N", title=None, sort=list(last), axis=alt.Axis(labelLimit=200)),
        )
    )
