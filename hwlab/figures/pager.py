"""A pool of blocks as requests come, grow, split and end: what the real pager takes, finds, copies and gives up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hwlab.figures.own import Number, Own, Pick
from hwlab.formula import number, whole
from hwlab.serving.pager import OutOfBlocks, Pager

NAMES = "abcdefgh"
"""What sequences may be called."""

MOST_BLOCKS = 24
"""Blocks that the drawing has room for."""

MOST_TOKENS = 8
"""Tokens of a block, likewise."""

_OPERATION = re.compile(
    rf"(?:(open) ([{NAMES}]) (\d+)\+(\d+)(?: tenant (\w+))?|(grow) ([{NAMES}]) (\d+)"
    rf"|(fork) ([{NAMES}]) ([{NAMES}])|(free) ([{NAMES}]))"
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing done to the pager: what, to which sequence, how much."""

    what: str
    name: str
    shared: int = 0
    tokens: int = 0
    other: str = ""

    def __str__(self) -> str:
        if self.what == "open":
            tenant = f" tenant {self.other}" if self.other else ""
            return f"open {self.name} {self.shared}+{self.tokens}{tenant}"
        return " ".join(filter(None, (self.what, self.name, str(self.tokens or ""), self.other)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A pool and a script of operations, separated by semicolons.

    ``open a 8+3`` begins sequence a with a prompt of 8 tokens that all prompts begin with and 3 of its own; with
    ``tenant x`` behind it, it finds only what was written for x. ``grow a 2`` adds tokens, ``fork a b`` begins b with
    all of a, ``free a`` ends a. The tokens of a name are always the same ones, so that to open it again is to ask
    again. After each operation the step that it was for has run.

    Parameters
    ----------
    num_blocks, block_tokens : int
        As for `hwlab.serving.Pager`; at most `MOST_BLOCKS` and `MOST_TOKENS`.
    script : str

    Raises
    ------
    ValueError
        If a line is no operation, or the pool is larger than what can be drawn.

    Examples
    --------
    >>> Scene(num_blocks=8, block_tokens=4, script="open a 4+2; grow a 3; free a").operations[1]
    Operation(what='grow', name='a', shared=0, tokens=3, other='')
    >>> Scene(num_blocks=8, block_tokens=4, script="drop a")
    Traceback (most recent call last):
    ...
    ValueError: 'drop a' is no operation; write open a 8+3, grow a 2, fork a b or free a, with names from a to h
    """

    num_blocks: int
    block_tokens: int
    script: str

    def __post_init__(self):
        whole(num_blocks=self.num_blocks, block_tokens=self.block_tokens)
        if self.num_blocks > MOST_BLOCKS or self.block_tokens > MOST_TOKENS:
            raise ValueError(
                f"{self.num_blocks} blocks of {self.block_tokens} tokens cannot be drawn; "
                f"give at most {MOST_BLOCKS} of {MOST_TOKENS}"
            )
        _ = self.operations  # it refuses what is none

    @property
    def operations(self) -> list[Operation]:
        """The script, line by line."""
        return [_operation(line.strip()) for line in self.script.split(";")]

    def pager(self) -> Pager:
        """The pager, empty."""
        return Pager(self.num_blocks, self.block_tokens, seed=b"a scene is the same each time")


def _operation(line: str) -> Operation:
    match = _OPERATION.fullmatch(line)
    if not match:
        raise ValueError(
            f"{line!r} is no operation; write open a 8+3, grow a 2, fork a b or free a, "
            f"with names from {NAMES[0]} to {NAMES[-1]}"
        )
    opened, name, shared, tokens, tenant, grown, *rest = match.groups()
    if opened:
        return Operation("open", name, int(shared), int(tokens), tenant or "")
    if grown:
        return Operation("grow", rest[0], 0, int(rest[1]))
    if rest[2]:
        return Operation("fork", rest[3], other=rest[4])
    return Operation("free", rest[6])


SCENES: Mapping[str, tuple[str, Scene]] = {
    "prefix": (
        "A shared beginning",
        Scene(
            num_blocks=12,
            block_tokens=4,
            script="open a 8+3; open b 8+5; grow a 2; free a; open c 8+2; free b; free c; open d 8+4; open a 8+5",
        ),
    ),
    "holes": (
        "Fill and free",
        Scene(
            num_blocks=12,
            block_tokens=4,
            script="open a 0+14; open b 0+9; open c 0+13; free b; open d 0+15; grow a 1; free c; grow d 6; grow a 7",
        ),
    ),
    "fork": (
        "Fork and copy",
        Scene(
            num_blocks=12,
            block_tokens=4,
            script="open a 0+10; fork a b; fork a c; grow a 1; grow b 1; grow c 1; grow b 3; free a; free b; grow c 2",
        ),
    ),
    "evict": (
        "The oldest gives way",
        Scene(
            num_blocks=8,
            block_tokens=4,
            script="open a 4+8; free a; open b 4+8; free b; open c 4+8; free c; open b 4+9; free b; open a 4+9",
        ),
    ),
    "full": (
        "No block left",
        Scene(
            num_blocks=8,
            block_tokens=4,
            script="open a 0+14; open b 0+11; open c 0+7; grow b 1; grow b 6; free a; open c 0+7; open d 0+40; "
            "grow b 6",
        ),
    ),
    "tenants": (
        "Two tenants",
        Scene(
            num_blocks=12,
            block_tokens=4,
            script="open a 8+2 tenant x; open b 8+2 tenant x; open c 8+2 tenant y; open d 8+2 tenant y; free a; "
            "free c; open e 8+3 tenant x",
        ),
    ),
}
"""What happens with prompts that begin alike, holes, forks, eviction, refusal, and a salt for each tenant."""


def _scene(*, num_blocks, block_tokens, requests, shared, own, answer, at_once, forks, again) -> Scene:
    """Requests one after the other; when one more would be too many, or does not fit, the oldest has ended."""
    script: list[str] = []
    world = _World(Scene(num_blocks=int(num_blocks), block_tokens=int(block_tokens), script="open a 1+1"))

    def do(line: str) -> bool:
        """Do it, room being made where others can go."""
        done = _operation(line)
        while True:
            script.append(line)
            try:
                world.do(done)
            except OutOfBlocks:
                others = [name for name in world.pager.sequences if name != done.name]
                fits = -(-(world.length(done.name) + done.shared + done.tokens) // world.size) <= num_blocks
                if not others or not fits:
                    return False
                end = f"free {others[0]}"
                script.append(end)
                world.do(_operation(end))
            else:
                return True

    names = iter(NAMES)
    for _ in range(int(requests)):
        if len(world.pager.sequences) >= at_once:
            do(f"free {world.pager.sequences[0]}")
        name = next(names)
        if not do(f"open {name} {int(shared)}+{int(own)}"):
            continue
        family = [name]
        for _ in range(int(forks) if name == "a" else 0):
            family.append(next(names))
            do(f"fork {name} {family[-1]}")
        for member in family:
            if answer and member in world.pager.sequences:
                do(f"grow {member} {int(answer)}")
    if again == "yes":
        for name in world.pager.sequences:
            do(f"free {name}")
        do(f"open a {int(shared)}+{int(own + answer + 1)}")
    return Scene(num_blocks=int(num_blocks), block_tokens=int(block_tokens), script="; ".join(script))


OWN = Own(
    build=_scene,
    fields=(
        Number("num_blocks", "Blocks in the pool", 4, MOST_BLOCKS, 12),
        Pick("block_tokens", "Tokens a block", {size: size for size in "1248"}, "4"),
        Number("requests", "Requests", 1, 6, 4),
        Number("shared", "Tokens that all begin with", 0, 24, 8),
        Number("own", "Tokens of each one's own", 1, 16, 3),
        Number("answer", "Tokens of each answer", 0, 12, 4),
        Number("at_once", "Sequences at once", 1, 5, 2),
        Number("forks", "Forks of the first", 0, 2, 0),
        Pick("again", "Then the first asks again", {"no": "no", "yes": "yes"}, "no"),
    ),
)
"""A pool and a line of requests of the reader's own, as large as a phone can draw legibly."""


class _World:
    """A pager, and beside it the tokens that the operations have put there."""

    def __init__(self, scene: Scene):
        self.pager, self.size = scene.pager(), scene.block_tokens
        self.ids: dict[str, list[tuple[str, int]]] = {}  # token -> whose, and which
        self.slots: list[str] = [""] * scene.num_blocks  # letters in each block
        self.asked = self.found = 0

    def length(self, name):
        return len(self.ids.get(name, ()))

    def do(self, operation: Operation):
        """What the pager answers."""
        pager, name = self.pager, operation.name
        match operation.what:
            case "open":
                ids = [("s", i) for i in range(operation.shared)]
                ids += [(name, operation.shared + i) for i in range(operation.tokens)]
                tokens = [_number(*token) for token in ids]
                answer = pager.open(name, tokens, salt=operation.other.encode())
                self.asked, self.found = self.asked + len(ids), self.found + answer.found
                self.ids[name] = ids
            case "grow":
                length = self.length(name)
                ids = [(name, length + i) for i in range(operation.tokens)]
                answer = pager.grow(name, [_number(*token) for token in ids])
                self.ids[name] = [*self.ids.get(name, ()), *ids]
            case "fork":
                answer = pager.fork(name, operation.other)
                self.ids[operation.other] = list(self.ids[name])
            case "free":
                answer = pager.free(name)
                del self.ids[name]
        pager.commit()
        for seq in pager.sequences:
            letters = "".join(letter for letter, _ in self.ids[seq])
            for i, block in enumerate(pager.table(seq)):
                self.slots[block] = letters[i * self.size : (i + 1) * self.size]
        waste = pager.waste()
        for block in pager.free_blocks[: waste.free // self.size]:
            self.slots[block] = ""
        return answer


def _number(letter: str, i: int) -> int:
    return i if letter == "s" else 1000 * (1 + NAMES.index(letter)) + i


def frames(scene: Scene) -> Iterator[dict]:
    """The empty pool, then the pool after each operation.

    A frame is plain data, ready for JSON:

    - ``size``: blocks, and tokens a block; ``operation``: what was done;
    - ``slots``: for each block the letters of its tokens: whose they are, ``s`` if all prompts begin with them;
    - ``users``: for each block the names of the sequences that hold it;
    - ``kept``: blocks that nobody holds and the prefix cache keeps; ``order``: free blocks, the next one first;
    - ``taken``, ``found``, ``copied``: blocks of this operation, the last one with its source;
    - ``tables``: ``[name, tokens, blocks]`` of each sequence; ``room``: lines that the tables take at most;
    - ``waste``: tokens, empty slots of last blocks, slots kept, slots free;
    - ``prompts``: tokens found and tokens asked for so far;
    - ``says``, ``arithmetic``, and ``refusal`` where the pager refused.

    Examples
    --------
    >>> found = list(frames(SCENES["prefix"][1]))
    >>> found[2]["says"]
    'open b 8+5: of 13 tokens 8 are found, in blocks 0 and 1, shared with a. It takes 3 and 4 for the other 5 tokens.'
    >>> found[-1]["prompts"]
    [36, 59]
    """
    world = _World(scene)
    size = f"{scene.num_blocks} blocks of {_count(scene.block_tokens, 'token')}"
    made = [_frame(scene, world, "", f"The pool is empty: {size}, and nobody holds any.")]
    for operation in scene.operations:
        made.append(_after(scene, world, operation))
    room = max(sum(_lines(table) for table in frame["tables"]) for frame in made)
    for frame in made:
        frame["room"] = room
        yield frame


PER_LINE = 8
"""Blocks of a table on one line of the drawing."""


def _lines(table) -> int:
    return -(-len(table[2]) // PER_LINE)


def _after(scene, world, operation) -> dict:
    pager, name = world.pager, operation.name
    before = {seq: pager.table(seq) for seq in pager.sequences}
    kept = set(pager.free_blocks[pager.waste().free // world.size :])
    try:
        answer = world.do(operation)
    except (OutOfBlocks, LookupError, ValueError) as refusal:
        says = f"{operation}: refused. {str(refusal)[0].upper()}{str(refusal)[1:]}. Nothing has changed."
        return _frame(scene, world, str(operation), says) | {"refusal": says}
    held = {block for table in before.values() for block in table}
    marks: dict[str, list[int]] = {"taken": [], "found": [], "copied": []}
    if operation.what in ("open", "grow"):
        table, old = pager.table(name), before.get(name, ())
        if operation.what == "open":
            marks["found"] = list(table[: answer.found // world.size])
        elif answer:
            marks["copied"] = list(answer)
        known = {*old, *marks["found"]}
        marks["taken"] = [block for block in table if block not in known]
    tell = {"open": _says_open, "grow": _says_grow, "fork": _says_fork, "free": _says_free}[operation.what]
    says = f"{operation}: {tell(world, operation, answer, marks, before, held)}"
    if lost := [block for block in marks["taken"] if block in kept]:
        says += f" To make room the cache gives up {_blocks(lost)}, left longest ago."
    return _frame(scene, world, str(operation), says) | marks


def _says_open(world, operation, answer, marks, before, held):
    length, taken = operation.shared + operation.tokens, marks["taken"]
    if not answer.found:
        says = f"nothing of its {_count(length, 'token')} is found. It takes {_blocks(taken)}"
        spare = len(taken) * world.size - length
        return says + (f", the last with {_count(spare, 'empty slot')}." if spare else ", full to the last slot.")
    shared = [seq for seq, table in before.items() if table[:1] == tuple(marks["found"][:1])]
    whose = f"shared with {_and(shared)}" if shared else "which nobody held and the cache had kept"
    return (
        f"of {_count(length, 'token')} {answer.found} are found, in {_blocks(marks['found'])}, {whose}. "
        f"It takes {_and(taken)} for the other {_count(answer.new, 'token')}."
    )


def _says_grow(world, operation, copy, marks, before, held):
    name = operation.name
    if copy:
        says = f"its last block, {copy.source}, is shared, so it is copied to {copy.target} before {name} writes."
        more = [block for block in marks["taken"] if block != copy.target]
        return says + (f" It takes {_blocks(more)} besides." if more else "")
    if marks["taken"]:
        return f"its last block has no room for all of it; it takes {_blocks(marks['taken'])}."
    return f"there is room in its last block, {world.pager.table(name)[-1]}."


def _says_fork(world, operation, answer, marks, before, held):
    table = world.pager.table(operation.other)
    count = _count(len(table), "block")
    return f"{operation.other} has the table of {operation.name}. No block is taken; {count} have one more user."


def _says_free(world, operation, answer, marks, before, held):
    old = before[operation.name]
    still = [block for block in old if any(block in world.pager.table(seq) for seq in world.pager.sequences)]
    order = world.pager.free_blocks
    kept = set(order[world.pager.waste().free // world.size :])
    gone = [block for block in old if block not in still]
    stay, empty = [b for b in gone if b in kept], [b for b in gone if b not in kept]
    says = []
    if still:
        says.append(f"others go on with {_blocks(still)}")
    if stay:
        says.append(f"{_blocks(stay)} {'is' if len(stay) == 1 else 'are'} free and kept for prompts that begin so")
    if empty:
        says.append(f"{_blocks(empty)} {'is' if len(empty) == 1 else 'are'} empty")
    return f"{'; '.join(says)}."


def _frame(scene, world, operation, says) -> dict:
    pager, size = world.pager, world.size
    waste = pager.waste()
    tables = [[seq, pager.length(seq), list(pager.table(seq))] for seq in pager.sequences]
    order = list(pager.free_blocks)
    return {
        "says": says,
        "arithmetic": _arithmetic(scene, world, waste, tables),
        "operation": operation,
        "size": [scene.num_blocks, size],
        "slots": list(world.slots),
        "users": ["".join(seq for seq, _, table in tables if block in table) for block in range(scene.num_blocks)],
        "kept": order[waste.free // size :],
        "order": order,
        "taken": [],
        "found": [],
        "copied": [],
        "tables": tables,
        "waste": [waste.tokens, waste.internal, waste.cached, waste.free],
        "prompts": [world.found, world.asked],
    }


def _arithmetic(scene, world, waste, tables):
    slots = waste.tokens + waste.internal
    lines = [
        f"{waste.tokens} tokens + {waste.internal} empty in last blocks + {waste.cached} kept + {waste.free} free "
        f"= {scene.num_blocks * world.size} slots"
    ]
    if slots:
        lines.append(f"wasted: {waste.internal} of {slots} slots held = {number(100 * waste.internal / slots)} %")
    listed, held = sum(len(table) for _, _, table in tables), slots // world.size
    if listed > held:
        lines.append(f"tables list {listed} blocks; {held} are held: sharing saves {listed - held}")
    if world.asked:
        share = number(100 * world.found / world.asked)
        lines.append(f"found: {world.found} of {world.asked} prompt tokens = {share} %")
    return lines


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _and(items) -> str:
    *first, last = map(str, items)
    return f"{', '.join(first)} and {last}" if first else last


def _blocks(blocks) -> str:
    return f"block{'' if len(blocks) == 1 else 's'} {_and(blocks)}"


def pager_machine(scenes: Mapping[str, tuple[str, Scene]] = SCENES):
    """A stepper of a pool of blocks: tables, shared blocks, copies, what is kept, and what is refused.

    Parameters
    ----------
    scenes : mapping of str to (title, `Scene`)
        What the reader may choose from; the first is shown at the start.

    Returns
    -------
    Machine

    Examples
    --------
    >>> machine = pager_machine()
    >>> machine.scene, machine.at = "fork", 5
    >>> machine.frame["copied"], machine.frame["tables"]
    ([2, 4], [['a', 11, [0, 1, 3]], ['b', 11, [0, 1, 4]], ['c', 10, [0, 1, 2]]])
    """
    from hwlab.figures.machine import Machine  # here, so that frames() needs no widgets: it runs in a browser's Python

    return Machine(
        "pager",
        "pager",
        frames,
        scenes,
        columns={
            "Tokens": lambda frame: str(frame["waste"][0]),
            "Empty in last blocks": lambda frame: str(frame["waste"][1]),
            "Kept": lambda frame: str(frame["waste"][2]),
            "Free": lambda frame: str(frame["waste"][3]),
            "Prompt tokens found": lambda frame: "{} of {}".format(*frame["prompts"]),
        },
        picture=_picture,
        scene=next(iter(scenes)),
        alt="A pool of numbered blocks with a letter for each token and the names of the sequences that hold it, "
        "the block tables, the free blocks in order of use, and what the slots of the pool hold.",
        own=OWN,
    )


STATES = ("tokens", "empty in last blocks", "kept", "free")


def _picture(last: dict[str, dict]):
    import altair as alt

    from hwlab.figures.theme import SERIES

    rows = [
        {"scene": title, "state": state, "slots": slots, "order": i}
        for title, frame in last.items()
        for i, (state, slots) in enumerate(zip(STATES, frame["waste"], strict=True))
    ]
    return (
        alt.Chart(alt.Data(values=rows), height=220)
        .mark_bar()
        .encode(
            alt.X("slots:Q", title="Slots of the pool at the end", axis=alt.Axis(tickCount=5)),
            alt.Y("scene:N", title=None, sort=list(last)),
            alt.Color(
                "state:N",
                title=None,
                sort=None,
                scale=alt.Scale(domain=list(STATES), range=list(SERIES[:4])),
                legend=alt.Legend(columns=2),
            ),
            alt.Order("order:Q"),
        )
    )
