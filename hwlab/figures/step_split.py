"""The time of a decode step, part by part, as one setting after another changes: where MFU goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hwlab.costs.step_split import PARTS, split_step
from hwlab.figures.own import Number, Own, Pick
from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.models import model
from hwlab.studies.launches import kernel_start

UNFUSED, FUSED = 20, 9  # launches in a layer: each operation its own; the products and attention only
ETHERNET = 50e9  # byte/s of a GPU to another server: 400 Gbit/s
TELLS = {
    "compute": "Most of the step is the model's own arithmetic",
    "memory": "Arithmetic waits for weights and cache",
    "launch": "Starting kernels takes longest",
    "network": "The chips wait for each other's sums",
    "idle": "Most of the arithmetic is for rows whose sequence has ended",
}
FLIPS = {
    "compute": "only a larger share of the peak would help.",
    "memory": "more sequences in the step would share what is read.",
    "launch": "fused kernels, or a graph launched as one, would remove it.",
    "network": "fewer chips in a group, or faster links between them, would shorten it.",
    "idle": "giving free rows to waiting requests would fill them.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Steps of one model on one kind of chip, one setting after another.

    Parameters
    ----------
    model, chip : str
        Ids in the catalogues.
    settings : sequence of (str, mapping)
        A label, and what it sets of `split_step`.
    common : mapping
        What all of them set.

    Raises
    ------
    ValueError
        As `split_step` does for what it cannot price.
    """

    model: str
    chip: str
    settings: Sequence[tuple[str, Mapping]]
    common: Mapping = field(default_factory=dict)

    def __post_init__(self):
        for _ in self.splits():
            pass

    def splits(self):
        """(label, split, sequences) of each setting."""
        of, on = model(self.model), chip(self.chip)
        for label, values in self.settings:
            asked = {"kernels": 1, "start_s": kernel_start(), **self.common, **values}
            yield label, split_step(of, on, **asked), asked["batch"]


def _batches(most: int) -> list[int]:
    doubled = [1]
    while doubled[-1] * 2 <= most:
        doubled.append(doubled[-1] * 2)
    return doubled if doubled[-1] == most else [*doubled, most]


SCENES: Mapping[str, tuple[str, Scene]] = {
    "batch": (
        "Small batches",
        Scene(
            model="llama-3.1-8b",
            chip="h100-sxm",
            settings=[(f"batch {n}", {"batch": n}) for n in (1, 4, 16, 64, 256)],
            common={"context": 1024},
        ),
    ),
    "static": (
        "A static batch runs out",
        Scene(
            model="llama-3.1-8b",
            chip="h100-sxm",
            settings=[(f"{n} of 512 left", {"batch": n, "rows": 512}) for n in (512, 384, 256, 128, 32)],
            common={"context": 256},
        ),
    ),
    "fusion": (
        "No fusion",
        Scene(
            model="llama-3.2-1b",
            chip="h100-sxm",
            settings=[
                ("all in one launch", {"kernels": 0}),
                ("1 launch a layer", {"kernels": 1}),
                (f"{FUSED} launches a layer", {"kernels": FUSED}),
                (f"{UNFUSED} launches a layer", {"kernels": UNFUSED}),
            ],
            common={"batch": 16, "context": 1024},
        ),
    ),
    "parallel": (
        "Misplaced parallelism",
        Scene(
            model="llama-3.1-70b",
            chip="h100-sxm",
            settings=[
                *((f"{n} chips, NVLink", {"tensor": n}) for n in (4, 8)),
                *((f"{n} chips, 400 Gbit/s", {"tensor": n, "link_bytes_per_s": ETHERNET}) for n in (8, 16, 32)),
            ],
            common={"batch": 64, "context": 1024},
        ),
    ),
}
"""The causes of low MFU as settings of a step; one that wastes its cache cannot have large batches."""

CHIPS = ("h100-sxm", "a100-sxm-80gb", "h200-sxm", "b200", "mi300x", "tpu-v5p")
MODELS = ("llama-3.1-8b", "llama-3.2-1b", "llama-3.1-70b", "qwen3-32b", "mixtral-8x7b")


def _own(*, model: str, chip: str, batch: float, left: float, context: float, tensor: str, kernels: float) -> Scene:
    batches = _batches(int(batch))
    settings = [(f"batch {n}", {"batch": max(1, round(n * left / 100)), "rows": n}) for n in batches]
    common = {"context": int(context), "tensor": int(tensor), "kernels": int(kernels)}
    return Scene(model=model, chip=chip, settings=settings, common=common)


OWN = Own(
    build=_own,
    fields=(
        Pick("model", "Model", {id: model(id).name for id in MODELS}, MODELS[0]),
        Pick("chip", "Chip", {id: chip(id).name for id in CHIPS}, CHIPS[0]),
        Number("batch", "Rows in the step, at most", 1, 1024, 256),
        Number("left", "Rows with a sequence", 5, 100, 100, 5, "%"),
        Number("context", "Context of each", 256, 16384, 1024, 256, "tokens"),
        Pick("tensor", "Chips that share a layer", {str(n): str(n) for n in (1, 2, 4, 8)}, "1"),
        Number("kernels", "Launches in a layer", 0, 30, 9),
    ),
)
"""A decode step of the reader's own, for rows from 1 up to as many as set."""


def frames(scene: Scene) -> list[dict]:
    """One frame for each setting: its parts, and the bars of all before it.

    Examples
    --------
    >>> found = frames(SCENES["batch"][1])
    >>> found[0]["says"]
    'Batch 1: arithmetic waits for weights and cache, 97 % of 4.64 ms. MFU is 0.34 %, MBU 97 %. To change ...'
    >>> [round(bar["mfu"], 4) for bar in found[-1]["bars"]][:2]
    [0.0034, 0.0132]
    """
    found, bars = [], []
    for label, split, batch in scene.splits():
        parts = {name: split.part(name) for name in PARTS}
        bars.append(
            {
                "label": label,
                "seconds": split.seconds,
                "took": si(split.seconds, "s"),
                "shares": [parts[name] / split.seconds for name in PARTS],
                "mfu": split.mfu,
                "mbu": split.mbu,
            }
        )
        most = split.largest
        share = number(100 * parts[most] / split.seconds, 2)
        told = f"{TELLS[most][0].lower()}{TELLS[most][1:]}, {share} % of {si(split.seconds, 's')}"
        found.append(
            {
                "says": f"{label[0].upper()}{label[1:]}: {told}. MFU is {_percent(split.mfu)}, "
                f"MBU {_percent(split.mbu)}. To change that: {FLIPS[most]}",
                "arithmetic": [
                    " + ".join(f"{name} {si(seconds, 's')}" for name, seconds in parts.items() if seconds)
                    + f" = {si(split.seconds, 's')}",
                    f"MFU = {si(split.compute_s, 's')} / {si(split.seconds, 's')} = {_percent(split.mfu)}",
                    f"{batch:,} {'token' if batch == 1 else 'tokens'} / {si(split.seconds, 's')} = "
                    f"{number(batch / split.seconds)} tokens a second",
                ],
                "parts": [
                    [name, si(seconds, "s"), f"{number(100 * seconds / split.seconds, 2)} %"]
                    for name, seconds in parts.items()
                ],
                "bars": [dict(bar) for bar in bars],
                "tokens_per_s": batch / split.seconds,
            }
        )
    return found


def _percent(share: float) -> str:
    return f"{number(100 * share, 2)} %"


def split_of_a_step(scenes: Mapping[str, tuple[str, Scene]] = SCENES):
    """A stepper: the bar of a decode step's time, setting after setting.

    Parameters
    ----------
    scenes : mapping of str to (title, `Scene`)
        What the reader may choose from; the first is shown at the start.

    Returns
    -------
    Machine

    Examples
    --------
    >>> machine = split_of_a_step()
    >>> len(machine.frame["bars"])
    5
    >>> machine.own = {"model": "llama-3.1-8b", "batch": 4}
    >>> [bar["label"] for bar in machine.frames[-1]["bars"]]
    ['batch 1', 'batch 2', 'batch 4']
    """
    from hwlab.figures.machine import Machine  # here, so that frames() needs no widgets: it runs in a browser's Python

    return Machine(
        "split",
        "step_split",
        frames,
        scenes,
        columns={
            "Last setting": lambda frame: frame["bars"][-1]["label"],
            "Step": lambda frame: frame["bars"][-1]["took"],
            "MFU": lambda frame: _percent(frame["bars"][-1]["mfu"]),
            "MBU": lambda frame: _percent(frame["bars"][-1]["mbu"]),
            "Tokens a second": lambda frame: number(frame["tokens_per_s"]),
        },
        picture=_last_bars,
        scene=next(iter(scenes)),
        alt="One bar for each setting, cut into compute, memory, launch, network and idle; the share of compute is the "
        "MFU. Below them each part of the last one in seconds and percent.",
        own=OWN,
    )


def _last_bars(last: dict[str, dict]):
    import altair as alt

    from hwlab.figures.theme import SERIES

    rows = [
        {"setting": f"{title}: {bar['label']}", "part": name, "order": i, "share, %": 100 * share}
        for title, frame in last.items()
        for bar in frame["bars"][-1:]
        for i, (name, share) in enumerate(zip(PARTS, bar["shares"], strict=True))
    ]
    return (
        alt.Chart(alt.Data(values=rows), height=alt.Step(34))
        .mark_bar(height=16)
        .encode(
            alt.X("share, %:Q", title="Share of the step, %", scale=alt.Scale(domain=[0, 100])),
            alt.Y("setting:N", title=None, sort=None, axis=alt.Axis(labelLimit=220)),
            alt.Color("part:N", title="Part", scale=alt.Scale(domain=list(PARTS), range=list(SERIES[:5])), sort=None),
            alt.Order("order:Q"),
        )
    )
