"""The blocked matrix product, step by step: which tiles are at hand, and how many bytes have moved so far."""

from __future__ import annotations

from collections.abc import Mapping

from hwlab.costs.blocking import ORDERS, Scene, steps
from hwlab.figures.own import Number, Own, Pick

_SIDE, _MOST = 6, 12
SCENES: Mapping[str, tuple[str, Scene]] = {
    key: (title, Scene(m=_SIDE, k=_SIDE, n=_SIDE, block_m=tile, block_k=tile, block_n=tile, itemsize=4, order=order))
    for key, title, tile, order in (
        ("none", "No tiles", 1, "mnk"),
        ("small", "Tiles of 2 × 2", 2, "mnk"),
        ("large", "Tiles of 3 × 3", 3, "mnk"),
        ("order", "3 × 3, k outermost", 3, "kmn"),
    )
}
"""One product of 6 x 6 matrices in float32, four ways; the last has the tiles of the third and another loop order."""


def _scene(*, itemsize: str, **sizes) -> Scene:
    return Scene(itemsize=int(itemsize), **sizes)


OWN = Own(
    build=_scene,
    fields=(
        Number("m", "m, rows of A", 1, _MOST, 8),
        Number("k", "k, columns of A", 1, _MOST, 8),
        Number("n", "n, columns of B", 1, _MOST, 8),
        Number("block_m", "Tile along m", 1, _MOST, 4),
        Number("block_k", "Tile along k", 1, _MOST, 1),
        Number("block_n", "Tile along n", 1, _MOST, 4),
        Pick("order", "Loops, outer to inner", {order: ", ".join(order) for order in ORDERS}, "mnk"),
        Pick("itemsize", "Element", {"1": "1 byte", "2": "2 bytes", "4": "4 bytes", "8": "8 bytes"}, "4"),
    ),
)
"""A product of the reader's own, up to 12 in each dimension: what a phone can still draw legibly."""


def frames(scene: Scene) -> list[dict]:
    """The steps of `scene`, each with the matrices' sizes, the bytes that single elements would move, the arithmetic.

    Examples
    --------
    >>> last = frames(SCENES["large"][1])[-1]
    >>> last["bytes"], last["naive_bytes"], last["arithmetic"][1]
    (720, 1872, '432 FLOP / 720 B = 0.6 FLOP/B')
    """
    naive = Scene(m=scene.m, k=scene.k, n=scene.n, block_m=1, block_k=1, block_n=1, itemsize=scene.itemsize)
    facts = {"shape": [scene.m, scene.k, scene.n], "naive_bytes": naive.traffic.total}
    found = [frame | facts | {"arithmetic": _arithmetic(frame)} for frame in steps(scene)]
    found[-1]["says"] += " " + _verdict(scene, naive)
    return found


def _verdict(scene: Scene, naive: Scene) -> str:
    moved, without = scene.traffic.total, naive.traffic.total
    if moved == without:
        return f"In all {moved:,} bytes have moved for {scene.flop:,} FLOP: no tile is larger than an element."
    return f"In all {moved:,} bytes have moved; without tiles {without:,} would, {without / moved:.2g} times as many."


def _arithmetic(frame: dict) -> list[str]:
    read, written = frame["read"], frame["written"]
    rate = f" = {frame['intensity']:.3g} FLOP/B" if frame["bytes"] else ""
    return [
        f"A {read['A']:,} + B {read['B']:,} + C {read['C']:,} read, {written['C']:,} written = {frame['bytes']:,} B",
        f"{frame['flop']:,} FLOP / {frame['bytes']:,} B{rate}",
    ]


def blocked_product(scenes: Mapping[str, tuple[str, Scene]] = SCENES):
    """A stepper of the blocked product that counts the bytes moved.

    Parameters
    ----------
    scenes : mapping of str to (title, `Scene`)
        What the reader may choose from; the second is shown at the start.

    Returns
    -------
    Machine

    Examples
    --------
    >>> machine = blocked_product()
    >>> machine.frame["bytes"], machine.frame["naive_bytes"]
    (1008, 1872)
    """
    from hwlab.figures.machine import Machine  # here, so that frames() needs no widgets: it runs in a browser's Python

    return Machine(
        "blocked",
        "blocked_matmul",
        frames,
        scenes,
        columns={
            "A, bytes": lambda frame: f"{frame['read']['A']:,}",
            "B, bytes": lambda frame: f"{frame['read']['B']:,}",
            "C, bytes": lambda frame: f"{frame['read']['C'] + frame['written']['C']:,}",
            "All, bytes": lambda frame: f"{frame['bytes']:,}",
            "FLOP a byte": lambda frame: f"{frame['intensity']:.3g}",
        },
        picture=_totals,
        scene=list(scenes)[min(1, len(scenes) - 1)],
        alt="Matrices A, B and C with the tile of each that is in fast memory, and bars of the bytes moved so far.",
        own=OWN,
    )


def _totals(last: dict[str, dict]):
    import altair as alt

    from hwlab.figures.theme import SERIES

    rows = [
        {"scene": title, "array": array, "bytes": frame["read"][array] + frame["written"].get(array, 0)}
        for title, frame in last.items()
        for array in "ABC"
    ]
    return (
        alt.Chart(alt.Data(values=rows), height=180)
        .mark_bar()
        .encode(
            alt.X("bytes:Q", title="Bytes moved in the whole product", axis=alt.Axis(tickCount=5)),
            alt.Y("scene:N", title=None, sort=list(last)),
            alt.Color("array:N", title="Array", scale=alt.Scale(domain=list("ABC"), range=list(SERIES[:3]))),
        )
    )
