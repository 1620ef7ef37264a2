"""Rounds of guesses and verdicts: what a draft guesses, what the target thinks of it, what chance decides."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from hwlab.figures.own import Number, Own, Pick
from hwlab.formula import number
from hwlab.serving.ngrams import RHYME, SONNET, NGrams
from hwlab.serving.speculative import (
    acceptance,
    drawn_from,
    judge,
    looked_up,
    residual,
    softened,
)

TEXTS = {
    "rhyme": ("a rhyme that repeats itself", RHYME, "peter piper picked a peck of pickled peppers. "),
    "sonnet": ("a sonnet", SONNET, "shall i compare thee to a summer's day? "),
}
"""Title, what both models have read, and the prompt."""

MEMORY = 5
"""Letters that the target looks back."""

ROUNDS = 6
"""Rounds of a scene."""

ROWS = 6
"""Letters that have bars of their own; the others share one."""

TAIL = 20
"""Letters of the text so far that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Two models of letters, how far the draft guesses ahead, and the generator's seed.

    Parameters
    ----------
    text : {"rhyme", "sonnet"}
        What both have read.
    draft : str
        Letters that the draft looks back, "0" to "4", or "look-up": it offers what followed last time.
    guesses : int
        A round.
    temperature : float
        Of both models; 0 is greedy.
    seed : int

    Raises
    ------
    ValueError
        If a value is none of those.
    """

    text: str = "rhyme"
    draft: str = "2"
    guesses: int = 4
    temperature: float = 1.0
    seed: int = 1

    def __post_init__(self):
        if self.text not in TEXTS:
            raise ValueError(f"text is {self.text!r}; choose one of {', '.join(TEXTS)}")
        if self.draft not in DRAFTS:
            raise ValueError(f"draft is {self.draft!r}; choose one of {', '.join(DRAFTS)}")
        if not 1 <= self.guesses <= 8:
            raise ValueError(f"guesses is {self.guesses}; give a number from 1 to 8")

    def models(self):
        """The target, a function of a text, and the drafter."""
        target = _model(self.text, MEMORY)
        if self.draft == "look-up":
            return self._at_temperature(target), looked_up(len(target.letters))
        return self._at_temperature(target), drawn_from(self._at_temperature(_model(self.text, int(self.draft))))

    def _at_temperature(self, model):
        return lambda text: softened(model(text), self.temperature)


DRAFTS = {
    "0": "counts letters",
    "1": "1 letter back",
    "2": "2 letters back",
    "3": "3 letters back",
    "4": "4 letters back",
    "look-up": "looks up",
}

SCENES: Mapping[str, tuple[str, Scene]] = {
    "good": ("A good draft", Scene(draft="3", seed=4)),
    "bad": ("A bad draft", Scene(draft="0", seed=4)),
    "greedy": ("Greedy", Scene(draft="2", temperature=0.0, seed=4)),
    "look-up": ("Look-up", Scene(draft="look-up", seed=4)),
}
"""The target looks back five letters. The drafts: three letters back, none, two at temperature 0, and no model."""

OWN = Own(
    build=lambda temperature, **values: Scene(temperature=float(temperature), **values),
    fields=(
        Pick("text", "Both have read", {key: title for key, (title, *_) in TEXTS.items()}, "sonnet"),
        Pick("draft", "The draft", DRAFTS, "2"),
        Number("guesses", "Guesses a round", 1, 8, 4),
        Pick("temperature", "Temperature", {t: t for t in ("0", "0.5", "1", "1.5")}, "1"),
        Number("seed", "Seed of the draws", 1, 50, 1),
    ),
)
"""A draft, a text and a temperature of the reader's own."""


@cache
def _model(text, memory):
    return NGrams(TEXTS[text][1], memory)


def frames(scene: Scene) -> Iterator[dict]:
    """Each guess, the target's one step, each verdict, and the letter that ends the round.

    A frame is plain data, ready for JSON:

    - ``text``: the last letters of the text before this round;
    - ``rounds``: for each round so far, the present one last, ``[[letter, state], …]`` of its guesses and
      ``[letter, kind]`` of the letter that ended it, or None; states are "guessed", "taken", "refused" and "dropped",
      kinds "instead" and "more";
    - ``bars``: None, or the letters shown, what the draft gives each, what the target does (None while it has not
      looked) and what is left of the target where a letter is drawn from that;
    - ``letter``: whose turn it is;
    - ``draw``: None, or the number drawn and the limit below which a guess is taken;
    - ``counts``: steps of the target, letters written, guesses made, guesses taken;
    - ``says`` and ``arithmetic``.

    Examples
    --------
    >>> found = list(frames(SCENES["good"][1]))
    >>> found[0]["says"]
    'Round 1. The draft guesses “a”, to which it gives 80.6 %.'
    >>> found[-1]["counts"]
    {'steps': 6, 'written': 24, 'guessed': 24, 'taken': 18}
    """
    return _Play(scene).frames()


class _Play:
    """A scene as it goes on, and what its frames are made of."""

    def __init__(self, scene: Scene):
        self.scene = scene
        self.target, self.draft = scene.models()
        self.model = _model(scene.text, MEMORY)
        self.tokens = self.model.ids(TEXTS[scene.text][2])
        self.uniform = random.Random(scene.seed).random
        self.counts = {"steps": 0, "written": 0, "guessed": 0, "taken": 0}
        self.past: list[list] = []

    def frames(self):
        for _ in range(ROUNDS):
            yield from self.round()
        yield self.frame(self.says_end(), self.sums())

    def round(self):
        made, opinions = self.draft(self.tokens, self.scene.guesses, self.uniform)
        states = ["guessed"] * len(made)
        self.counts["guessed"] += len(made)
        first = f"Round {len(self.past) + 1}. "
        for i, (guess, opinion) in enumerate(zip(made, opinions, strict=True)):
            says = f"{first}The draft guesses {self.named(guess)}, to which it gives {self.share(opinion[guess])}."
            if self.scene.draft == "look-up":
                says = f"{first}Last time {self.named(guess)} came next, so that is guessed."
            row = [self.cells(made[: i + 1], states[: i + 1]), None]
            yield self.frame(says, self.sums(), row, self.bars(opinion, None, guess), guess)
            first = ""
        behind = [self.target([*self.tokens, *made[:i]]) for i in range(len(made) + 1)]
        self.counts["steps"] += 1
        what = "one guess" if len(made) == 1 else f"{len(made)} guesses"
        looked = f"One step of the target gives its opinion behind each of {what}, and behind all of them."
        if not made:
            looked = f"{first}The text has not ended like this before: no guess. The target takes a step by itself."
        yield self.frame(looked, self.sums(), [self.cells(made, states), None])

        draws: list[float] = []

        def uniform():
            draws.append(self.uniform())
            return draws[-1]

        found = judge(made, opinions, behind, uniform)
        for i in range(min(found.accepted + 1, len(made))):
            taken = i < found.accepted
            q, p = opinions[i][made[i]], behind[i][made[i]]
            states[i] = "taken" if taken else "refused"
            self.counts["taken"] += taken
            if not taken:
                states[i + 1 :] = ["dropped"] * (len(made) - i - 1)
            yield self.frame(
                self.says_verdict(made[i], q, p, draws[i], taken, len(made) - i - 1),
                [
                    f"min(1, {number(p)} / {number(q)}) = {number(min(1, p / q))}; drawn: {number(draws[i])}",
                    f"overlap here: {number(acceptance(opinions[i], behind[i]))}",
                    *self.sums(),
                ],
                [self.cells(made, states), None],
                self.bars(opinions[i], behind[i], made[i]),
                made[i],
                [round(draws[i], 4), round(min(1, p / q), 4)],
            )
        written = found.tokens[-1]
        refused = found.accepted < len(made)
        here = behind[found.accepted]
        opinion = opinions[found.accepted] if refused else None
        left = residual(opinion, here) if refused else None
        self.counts["written"] += len(found.tokens)
        ended = [self.model.letters[written], "instead" if refused else "more"]
        self.past = [*self.past, [self.cells(made, states), ended]]
        yield self.frame(
            self.says_written(written, left, len(made), len(found.tokens)),
            self.sums(),
            bars=self.bars(opinion, here, written, left),
            letter=written,
        )
        self.tokens = [*self.tokens, *found.tokens]

    def frame(self, says, arithmetic, row=None, bars=None, letter=None, draw=None):
        return {
            "says": says,
            "arithmetic": arithmetic,
            "text": self.model.text(self.tokens[-TAIL:]),
            "rounds": [*self.past, *([row] if row else [])],
            "bars": bars,
            "letter": None if letter is None else self.model.letters[letter],
            "draw": draw,
            "counts": dict(self.counts),
        }

    def cells(self, made, states):
        return [[self.model.letters[id], state] for id, state in zip(made, states, strict=True)]

    def bars(self, draft, target, letter, left=None):
        weights = [max(pair) for pair in zip(draft or target, target or draft, strict=True)]
        order = sorted(range(len(weights)), key=lambda id: (id != letter, -weights[id]))[:ROWS]
        order.sort(key=lambda id: -weights[id])

        def rows(of):
            shown = [round(of[id], 4) for id in order] if of else []
            return of and [*shown, round(max(0.0, sum(of) - sum(shown)), 4)]

        return {
            "letters": [self.model.letters[id] for id in order],
            "draft": rows(draft),
            "target": rows(target),
            "left": rows(left),
        }

    def sums(self):
        c = self.counts
        found = [f"{c['taken']} of {c['guessed']} guesses taken, {c['written']} letters written"]
        if c["written"]:
            each, steps = number(c["written"] / len(self.past)), "step" if len(self.past) == 1 else "steps"
            found.append(f"{c['written']} letters / {len(self.past)} {steps} of the target = {each} a step")
        return found

    def named(self, id):
        letter = self.model.letters[id]
        return "a space" if letter == " " else f"“{letter}”"

    def share(self, probability):
        return f"{number(100 * probability)} %"

    def says_verdict(self, guess, q, p, drawn, taken, behind):
        gave = f"To {self.named(guess)} the draft gave {self.share(q)} and the target gives {self.share(p)}"
        if p >= q:
            return f"{gave}, not less: it is taken, whatever is drawn."
        ratio = f"{number(p / q)} of that"
        if taken:
            return f"{gave}, {ratio}. The draw, {number(drawn)}, lies below: it is taken."
        rest = "" if not behind else f", and {'what was' if behind == 1 else f'the {behind}'} guessed behind it dropped"
        return f"{gave}, {ratio}. The draw, {number(drawn)}, does not lie below: it is refused{rest}."

    def says_written(self, written, left, made, letters):
        total = f"The round has written {letters} letter{'s' if letters > 1 else ''} in one step of the target."
        if left is not None:
            share = self.share(sum(left))
            return (
                f"Instead {self.named(written)} is drawn from what the target holds and the draft did not, "
                f"{share} in all. {total}"
            )
        if not made:
            return f"The target writes {self.named(written)} itself. {total}"
        which = "The guess was" if made == 1 else f"All {made} were"
        return f"{which} taken, so one more letter comes free: {self.named(written)}. {total}"

    def says_end(self):
        c = self.counts
        each = number(c["written"] / c["steps"])
        few = f"{c['taken'] or 'None'} of {c['guessed']} guesses {'was' if c['taken'] < 2 else 'were'} taken"
        taken = few if c["guessed"] else "Nothing was guessed"
        return (
            f"Done: {c['steps']} steps of the target have written {c['written']} letters, {each} a step, where without "
            f"guesses each would write one. {taken}."
        )


def guesses_and_verdicts(scenes: Mapping[str, tuple[str, Scene]] = SCENES):
    """A stepper through rounds of speculative decoding, with two models of letters.

    Parameters
    ----------
    scenes : mapping of str to (title, `Scene`)
        What the reader may choose from; the first is shown at the start.

    Returns
    -------
    Machine

    Examples
    --------
    >>> machine = guesses_and_verdicts()
    >>> machine.frame["counts"]["written"]
    24
    >>> machine.scene, machine.at = "bad", 42
    >>> machine.frame["counts"]["written"]
    6
    """
    from hwlab.figures.machine import Machine  # here, so that frames() needs no widgets: it runs in a browser's Python

    return Machine(
        "rounds",
        "rounds",
        frames,
        scenes,
        columns={
            "Steps of the target": lambda frame: str(frame["counts"]["steps"]),
            "Guesses": lambda frame: str(frame["counts"]["guessed"]),
            "Taken": lambda frame: str(frame["counts"]["taken"]),
            "Written": lambda frame: str(frame["counts"]["written"]),
            "A step": lambda frame: number(frame["counts"]["written"] / frame["counts"]["steps"]),
        },
        picture=_totals,
        scene=next(iter(scenes)),
        alt="Rows of letters, one a round: guesses that were taken, the first refused, those dropped behind it, and "
        "the letter that ended the round; bars of what draft and target give to each letter.",
        own=OWN,
    )


def _totals(last: dict[str, dict]):
    import altair as alt

    from hwlab.figures.theme import SERIES

    kinds = ("guesses taken", "from the target")
    rows = [
        {"scene": title, "letters": kind, "written": count}
        for title, frame in last.items()
        for kind, count in zip(kinds, (frame["counts"]["taken"], frame["counts"]["steps"]), strict=True)
    ]
    return (
        alt.Chart(alt.Data(values=rows), height=180)
        .mark_bar()
        .encode(
            alt.X("written:Q", title=f"Letters written in {ROUNDS} steps of the target", axis=alt.Axis(tickCount=5)),
            alt.Y("scene:N", title=None, sort=list(last)),
            alt.Color("letters:N", title=None, scale=alt.Scale(domain=list(kinds), range=list(SERIES[1:3]))),
        )
    )
