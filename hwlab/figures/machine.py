"""A machine: frames that Python computes, a module that draws them, and one player for all.

A machine is a function ``frames(scene)`` that lists or yields dicts, beside a ``.mjs`` that draws one such dict. No
rule of the machine is written in JavaScript. The frames of a few scenes are in the page, so it moves at once and
without a kernel; in a kernel the machine is an ipywidgets widget whose `scene`, `own` and `at` can be read, set and
observed.

What the player asks of a frame: ``says``, its sentence. If given, ``arithmetic`` (lines) can be unfolded, and
``refusal`` (why the machine cannot go on) takes the place of the sentence. The rest is between function and drawing.

To make a new machine, write in `hwlab.figures`

1. ``name.py``, pure Python at import, since the page's Python runs it too: ``frames(scene)``, the ``SCENES`` to begin
   with, ``OWN`` (`hwlab.figures.own.Own`: the fields of a scene of the reader's own and the function that builds it),
   and a function that returns a `Machine` of them;
2. ``name.mjs``: ``export default machine((slot, frame) => …)``, which draws one frame into ``slot``.

`hwlab.figures.blocked_matmul` is one to go by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from html import escape

import traitlets

from hwlab.figures.live import Live, arithmetic_markup, compiled, data_markup, slot
from hwlab.figures.own import Own, computed


class Machine(Live):
    """A stepper over the frames of one of several scenes.

    Parameters
    ----------
    name : str
        Identifies the machine in the page and in links to a state of it.
    module : str
        The module that draws a frame, beside this file.
    frames : function
        Of a scene: its frames, plain data.
    scenes : mapping of str to (title, scene)
        What the reader may choose from. The key "own" is kept for the reader's own.
    columns : mapping of heading to function
        Of the last frame of a scene: a cell of the table of all scenes.
    picture : function
        Of {title: last frame}: the Altair chart that stands for the machine on paper and where no script runs.
    scene : str
        Where the reader starts; the first frame shown is the last of this scene, so that what it leads to is in view.
    alt : str
        What is to be seen, for those who cannot.
    own : Own, optional
        How the reader describes a scene of their own. It is the ``OWN`` of the module, where the page looks for it.
    version : int
        Raise it when old links would be misread.

    Raises
    ------
    ValueError
        If there is no scene, or a scene has no frame, or a frame has no sentence.
    TraitError
        From setting `scene` to no scene, `at` to no frame, or `own` to what its fields or the machine refuse.

    Examples
    --------
    >>> from hwlab.figures import blocked_product
    >>> machine = blocked_product()
    >>> machine.scene = "large"
    >>> machine.at, len(machine.frames), machine.frame["loaded"]
    (0, 9, ['A', 'B'])

    A scene of one's own; what is left out stays as the fields begin:

    >>> machine.own = {"m": 4, "k": 4, "n": 4, "block_k": 4}
    >>> machine.scene, len(machine.frames)
    ('own', 2)
    """

    kind = "machine"
    scene = traitlets.Unicode().tag(sync=True)
    own = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    at = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        name: str,
        module: str,
        frames: Callable[[object], Iterable[dict]],
        scenes: Mapping[str, tuple[str, object]],
        *,
        columns: Mapping[str, Callable[[dict], str]],
        picture: Callable[[dict[str, dict]], object],
        scene: str,
        alt: str,
        own: Own | None = None,
        version: int = 1,
    ):
        if not re.fullmatch(r"[A-Za-z][\w-]*", name):
            raise ValueError(f"a machine is named {name!r}; give letters, digits and hyphens, beginning with a letter")
        if scene not in scenes:
            raise ValueError(f"the machine starts at {scene!r}; its scenes are {', '.join(scenes) or 'none'}")
        if "own" in scenes:
            raise ValueError("a scene's key is 'own', which is kept for the reader's own; give it another")
        self._function, self._own = frames, own
        self._frames = {}
        for key, (title, of) in scenes.items():
            self._frames[key] = list(frames(of))
            if not self._frames[key] or not all(frame.get("says") for frame in self._frames[key]):
                raise ValueError(f"the scene {title!r} has no frame, or a frame without a sentence ('says')")
        self.name, self.module = name, module
        titles = {key: title for key, (title, _) in scenes.items()}
        super().__init__(
            scene=scene,
            at=len(self._frames[scene]) - 1,
            payload={
                "name": name,
                "version": version,
                "scenes": [[key, title] for key, title in titles.items()],
                "frames": dict(self._frames),
                "own": own and [field.control() for field in own.fields],
            },
        )
        self.on_msg(self._answer)
        last = {titles[key]: frames[-1] for key, frames in self._frames.items()}
        self.markup = self._markup(titles, last, columns, picture, alt)

    @property
    def frames(self) -> list[dict]:
        """All frames of the present scene."""
        return self._frames[self.scene]

    @property
    def frame(self) -> dict:
        """The frame in view."""
        return self.frames[self.at]

    @traitlets.validate("scene")
    def _known(self, proposal):
        if proposal["value"] not in self._frames:
            raise traitlets.TraitError(f"there is no scene {proposal['value']!r}; there are {', '.join(self._frames)}")
        return proposal["value"]

    @traitlets.validate("own")
    def _computed(self, proposal):
        if self._own is None:
            raise traitlets.TraitError(f"the machine {self.name} takes no scene of the reader's own")
        try:
            values = self._own.values(proposal["value"])
            self._frames["own"] = list(computed(self._function, self._own, values))
        except ValueError as refusal:
            raise traitlets.TraitError(str(refusal)) from refusal
        return values

    @traitlets.observe("own")
    def _show(self, change):
        if change["new"] is not None:
            self.scene, self.at = "own", 0
        else:
            if self.scene == "own":
                self.scene, self.at = next(iter(self._frames)), 0
            del self._frames["own"]

    def _answer(self, _, message, buffers):
        """Send frames of a scene of the reader's own, or why there are none, as the page's Python does."""
        if self._own is None or message.get("type") != "frames":
            return
        try:
            values = self._own.values(message["values"])
            if values != self.own:
                self.own = values
        except (ValueError, traitlets.TraitError) as refusal:
            self.send({"type": "refused", "id": message["id"], "says": str(refusal)})
        else:
            self.send({"type": "frames", "id": message["id"], "frames": self._frames["own"]})

    @traitlets.validate("at")
    def _within(self, proposal):
        if not 0 <= proposal["value"] < len(self.frames):
            raise traitlets.TraitError(
                f"there is no frame {proposal['value']}; the scene {self.scene!r} has 0 to {len(self.frames) - 1}"
            )
        return proposal["value"]

    @traitlets.observe("scene")
    def _rewind(self, change):
        if self.at >= len(self.frames):
            self.at = 0

    def page_state(self) -> dict:
        state = {"scene": self.scene, "own": self.own, "at": self.at}
        if self.scene == "own":  # a page shows it before its Python runs
            state["frames"] = self.frames
        return state

    def _markup(self, titles, last, columns, draw, alt):
        rows = [[title, *(cell(frame) for cell in columns.values())] for title, frame in last.items()]
        values = {"Scene": titles[self.scene], "Step": f"{self.at + 1} of {len(self.frames)}"}
        listed = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in values.items())
        arithmetic = arithmetic_markup(self.frame.get("arithmetic", []))
        return (
            f"{slot(compiled(draw(last)), alt)}"
            f'<div class="hw-controls"><dl class="hw-values">{listed}</dl></div>'
            f'<p class="hw-say" aria-live="polite">{escape(self.frame["says"])}</p>'
            f'<div class="hw-more">{arithmetic}{data_markup(["Scene", *columns], rows)}</div>'
        )

    def __repr__(self):
        return f"Machine({self.name}: scene={self.scene!r}, at={self.at})"
