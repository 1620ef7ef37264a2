"""What is kept of a token, layer by layer and token by token: to scale, for each way of sharing keys and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hwlab.figures.own import Number, Own, Pick
from hwlab.formula import number

LAYERS = 4
"""Layers of the small model that is weighed."""

HEAD = 64
"""Numbers in one key, or in one value, of one head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A small model, and a sequence that it writes.

    Parameters
    ----------
    heads, kv_heads : int
        Of queries, and of keys and values.
    latent : int
        Numbers that stand for keys and values of all heads together; 0: keys and values themselves are kept.
    window : int
        Tokens that a layer looks back, itself included; 0: all of them.
    full_every : int
        With a window, every so-manieth layer looks back at everything; 0: none does.
    tokens : int
    bits : int
        Of one number.

    Raises
    ------
    ValueError
        If the query heads cannot share the key heads evenly, or a number is out of range.

    Examples
    --------
    >>> Scene(heads=8, kv_heads=3)
    Traceback (most recent call last):
    ...
    ValueError: 8 query heads cannot share 3 key heads evenly; give a divisor of 8
    """

    heads: int = 8
    kv_heads: int = 8
    latent: int = 0
    window: int = 0
    full_every: int = 2
    tokens: int = 12
    bits: int = 16

    def __post_init__(self):
        if self.heads < 1 or self.kv_heads < 1 or self.heads % self.kv_heads:
            raise ValueError(
                f"{self.heads} query heads cannot share {self.kv_heads} key heads evenly; give a divisor of "
                f"{self.heads}"
            )
        if not 1 <= self.tokens <= 24 or self.bits not in (4, 8, 16) or self.window < 0 or self.latent < 0:
            raise ValueError(
                f"tokens is {self.tokens}, bits {self.bits}, window {self.window} and latent {self.latent}; give 1 to "
                "24 tokens, 4, 8 or 16 bits, and no negative number"
            )

    @property
    def entry(self) -> int:
        """Bytes of one token in one layer."""
        return (self.latent or 2 * self.kv_heads * HEAD) * self.bits // 8

    @property
    def plain_entry(self) -> int:
        """The same with a key head for each query head, in 16 bits."""
        return 2 * self.heads * HEAD * 2

    def windowed(self, layer: int) -> bool:
        """Whether layer number `layer`, counted from 0, forgets."""
        return self.window > 0 and (self.full_every == 0 or (layer + 1) % self.full_every != 0)

    def kept(self, layer: int, tokens: int) -> tuple[int, int]:
        """First token and end of what the layer keeps after `tokens` tokens."""
        return (max(tokens - self.window, 0) if self.windowed(layer) else 0), tokens


SCENES: Mapping[str, tuple[str, Scene]] = {
    "mha": ("A head for each query (MHA)", Scene()),
    "gqa": ("Four queries a head (GQA)", Scene(kv_heads=2)),
    "mqa": ("One head for all (MQA)", Scene(kv_heads=1)),
    "mla": ("One latent for all (MLA)", Scene(latent=4 * HEAD + HEAD // 2)),
    "window": ("GQA, windows of four", Scene(kv_heads=2, window=4)),
}
"""Eight query heads in four layers, twelve tokens. The latent is as wide, measured in heads, as that of DeepSeek-V3."""


def _scene(*, heads: str, kv_heads: str, full_every: str, bits: str, **rest) -> Scene:
    return Scene(heads=int(heads), kv_heads=int(kv_heads), full_every=int(full_every), bits=int(bits), **rest)


OWN = Own(
    build=_scene,
    fields=(
        Pick("heads", "Query heads", {n: n for n in ("4", "8", "16")}, "8"),
        Pick("kv_heads", "Key heads", {n: n for n in ("1", "2", "4", "8", "16")}, "4"),
        Number("window", "Window (0: none)", 0, 12, 6, 1, "tokens"),
        Pick("full_every", "Layers without a window", {"0": "none", "2": "every second", "4": "every fourth"}, "4"),
        Number("tokens", "Tokens", 1, 24, 16),
        Pick("bits", "Bits of a number", {n: n for n in ("16", "8", "4")}, "8"),
    ),
)
"""A model and a sequence of the reader's own, as large as a phone can draw legibly."""


def frames(scene: Scene) -> Iterator[dict]:
    """The first token layer by layer, then a token a frame, at last what comes next.

    A frame is plain data, ready for JSON:

    - ``heads``, ``kv_heads``, ``share``: numbers kept of a token in a layer over those of a head for each query;
      ``latent``: whether it is one latent; ``tokens``: of the whole scene; ``token``: written so far;
    - ``layers``: for each layer the first token that it keeps and the end; ``new``: the layers that took a token;
    - ``bytes``: kept in all; ``plain``: the same tokens with a head for each query in 16 bits, nothing forgotten;
    - ``most``: that of the whole scene; ``says`` and ``arithmetic``.

    Examples
    --------
    >>> found = list(frames(SCENES["gqa"][1]))
    >>> found[-1]["bytes"], found[-1]["plain"]
    (24576, 98304)
    >>> found[-1]["says"]
    'After 12 tokens 24,576 B are kept, a quarter of the 98,304 B of a head for each query. The next token adds ...'
    """
    for layer in range(LAYERS):
        yield _frame(scene, 1, layer + 1, [layer], _says_layer(scene, layer))
    for token in range(2, scene.tokens + 1):
        yield _frame(scene, token, LAYERS, list(range(LAYERS)), _says_token(scene, token))
    yield _frame(scene, scene.tokens, LAYERS, [], _says_end(scene))


def _total(scene, token, layers=LAYERS):
    entries = sum(end - first for first, end in (scene.kept(i, token) for i in range(layers)))
    return entries * scene.entry


def _frame(scene, token, layers, new, says):
    kept = [scene.kept(i, token) if i < layers else (0, 0) for i in range(LAYERS)]
    entries = sum(end - first for first, end in kept)
    return {
        "says": says,
        "arithmetic": _arithmetic(scene, token, entries, layers),
        "heads": scene.heads,
        "kv_heads": scene.kv_heads,
        "latent": bool(scene.latent),
        "share": scene.entry / scene.plain_entry,
        "tokens": scene.tokens,
        "token": token,
        "layers": [list(span) for span in kept],
        "new": new,
        "bytes": entries * scene.entry,
        "plain": token * layers * scene.plain_entry,
        "most": scene.tokens * LAYERS * scene.plain_entry,
    }


def _arithmetic(scene, token, entries, layers):
    if scene.latent:
        one = f"{scene.latent} numbers of latent × {scene.bits}/8 B = {scene.entry:,} B a token and layer"
    else:
        one = f"2 × {scene.kv_heads} heads × {HEAD} × {scene.bits}/8 B = {scene.entry:,} B a token and layer"
    return [
        one,
        f"{entries} entries in {layers} layers × {scene.entry:,} B = {entries * scene.entry:,} B",
        f"a head for each query, 16 bits: {token} × {layers} × {scene.plain_entry:,} B = "
        f"{token * layers * scene.plain_entry:,} B",
    ]


def _count(n, what):
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _says_layer(scene, layer):
    if scene.latent:
        kept = f"one latent of {scene.latent} numbers is kept, and keys and values are made of it when they are wanted"
    else:
        kept = f"{_count(scene.kv_heads, 'key')} and {_count(scene.kv_heads, 'value')} of {HEAD} numbers are kept"
    look = f" This layer looks back {scene.window} tokens." if scene.windowed(layer) else ""
    return f"Token 1, layer {layer + 1}: {scene.heads} queries are used and dropped; {kept}, {scene.entry:,} B.{look}"


def _says_token(scene, token):
    added = _total(scene, token) - _total(scene, token - 1)
    full = sum(scene.windowed(i) and token > scene.window for i in range(LAYERS))
    says = f"Token {token} adds {added:,} B, {_total(scene, token):,} B in all."
    if full:
        says += f" In {_count(full, 'layer')} the window is full, and token {token - scene.window} leaves."
    return says


def _says_end(scene):
    kept, plain = _total(scene, scene.tokens), scene.tokens * LAYERS * scene.plain_entry
    after = _total(scene, scene.tokens + 1) - kept
    if kept == plain:
        compared = "all that its keys and values are"
    else:
        parts = {2: "half", 4: "a quarter", 8: "an eighth", 16: "a sixteenth"}
        ratio = plain / kept
        part = parts.get(ratio, f"1/{number(ratio)}")
        compared = f"{part} of the {plain:,} B of a head for each query"
    bits = "" if scene.bits == 16 else " in 16 bits"
    return (
        f"After {_count(scene.tokens, 'token')} {kept:,} B are kept, {compared}{bits if kept != plain else ''}. "
        f"The next token adds {after:,} B."
    )


def cache_by_token(scenes: Mapping[str, tuple[str, Scene]] = SCENES):
    """A stepper that weighs what is kept of each token.

    Parameters
    ----------
    scenes : mapping of str to (title, `Scene`)
        What the reader may choose from; the second is shown at the start.

    Returns
    -------
    Machine

    Examples
    --------
    >>> machine = cache_by_token()
    >>> machine.frame["bytes"]
    24576
    >>> machine.scene = "window"
    >>> machine.at = len(machine.frames) - 1
    >>> machine.frame["layers"], machine.frame["bytes"]
    ([[8, 12], [0, 12], [8, 12], [0, 12]], 16384)
    """
    from hwlab.figures.machine import Machine  # here, so that frames() needs no widgets: it runs in a browser's Python

    return Machine(
        "weighing",
        "weighing",
        frames,
        scenes,
        columns={
            "Kept, bytes": lambda frame: f"{frame['bytes']:,}",
            "A head for each query": lambda frame: f"{frame['plain']:,}",
            "Share, %": lambda frame: number(100 * frame["bytes"] / frame["plain"]),
        },
        picture=_totals,
        scene=list(scenes)[min(1, len(scenes) - 1)],
        alt="A row for each layer and a column for each token: blocks as high as what is kept of it, dashed where it "
        "was dropped; bars of the bytes kept so far.",
        own=OWN,
    )


def _totals(last: dict[str, dict]):
    import altair as alt

    rows = [{"scene": title, "bytes": frame["bytes"]} for title, frame in last.items()]
    return (
        alt.Chart(alt.Data(values=rows), height=180)
        .mark_bar()
        .encode(
            alt.X("bytes:Q", title="Bytes kept at the end", axis=alt.Axis(tickCount=4)),
            alt.Y("scene:N", title=None, sort=list(last), axis=alt.Axis(labelLimit=190)),
        )
    )
