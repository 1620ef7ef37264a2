"""One request on one chip, step by step: the prompt in one pass, then a token a pass, and what each pass waits for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hwlab.costs.roofline import Work, decode_step_work, prefill_work, price, rates
from hwlab.figures.own import Number, Own, Pick
from hwlab.formula import number, si, whole
from hwlab.specs.chips import chip
from hwlab.specs.models import model

CHIPS = {
    "h100-sxm": "H100 SXM",
    "a100-sxm-80gb": "A100",
    "b200": "B200",
    "mi300x": "MI300X",
    "tpu-v7": "TPU7x",
    "xeon-8480plus": "Xeon 8480+",
    "wse-3": "WSE-3",
}
"""GPUs, a TPU, a CPU and a wafer: id to a short name."""

MODELS = {
    "llama-3.1-8b": "Llama 3.1 8B",
    "llama-3.1-70b": "Llama 3.1 70B",
    "qwen3-30b-a3b": "Qwen3 30B-A3B",
    "smollm2-135m": "SmolLM2 135M",
}
"""Three dense models and one of experts: id to a short name."""

MOST_PROMPT, MOST_ANSWER, MOST_BATCH = 65_536, 256, 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """`batch` equal requests that arrive together on one chip, in 16 bits.

    Parameters
    ----------
    chip, model : str
        Ids of `CHIPS` and `MODELS`.
    prompt, answer : int
        Tokens that each request brings and gets; the first one of the answer comes out of the prompt's pass.
    batch : int

    Raises
    ------
    ValueError
        If a number is out of bounds, an id is unknown, or the chip does not hold weights and cache.

    Examples
    --------
    >>> Scene(chip="h100-sxm", model="llama-3.1-70b", prompt=1024, answer=64)
    Traceback (most recent call last):
    ...
    ValueError: Llama 3.1 70B and its cache take 141 GB, and H100 SXM holds 85.9 GB; choose a smaller model, ...
    """

    chip: str
    model: str
    prompt: int
    answer: int
    batch: int = 1

    def __post_init__(self):
        bounds = {"prompt": MOST_PROMPT, "answer": MOST_ANSWER, "batch": MOST_BATCH}
        for name, most in bounds.items():
            value = getattr(self, name)
            whole(**{name: value})
            if value > most:
                raise ValueError(f"{name} is {value:,}; give a number from 1 to {most:,}")
        for name, known in (("chip", CHIPS), ("model", MODELS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}; choose one of {', '.join(known)}")
        of, on, tokens = model(self.model), chip(self.chip), self.prompt + self.answer
        if of.max_context_tokens and tokens > of.max_context_tokens:
            raise ValueError(
                f"prompt and answer are {tokens:,} tokens; {MODELS[self.model]} takes at most "
                f"{of.max_context_tokens:,}, so give fewer"
            )
        needed = of.weight_bytes(self.dtype) + self.batch * of.kv_bytes(tokens, self.dtype)
        if needed > on.memory_bytes:
            raise ValueError(
                f"{MODELS[self.model]} and its cache take {si(needed, 'B')}, and {CHIPS[self.chip]} holds "
                f"{si(on.memory_bytes, 'B')}; choose a smaller model, a shorter prompt, fewer requests or another chip"
            )

    @property
    def dtype(self) -> str:
        """The 16-bit type whose peak the vendor publishes."""
        return "bf16" if "bf16" in chip(self.chip).peak_flop_per_s else "fp16"


SCENES: Mapping[str, tuple[str, Scene]] = {
    "one": ("One user", Scene(chip="h100-sxm", model="llama-3.1-8b", prompt=1024, answer=64)),
    "short": ("A prompt of 64 tokens", Scene(chip="h100-sxm", model="llama-3.1-8b", prompt=64, answer=64)),
    "batch": ("64 users", Scene(chip="h100-sxm", model="llama-3.1-8b", prompt=1024, answer=64, batch=64)),
    "long": ("A prompt of 65,536", Scene(chip="h100-sxm", model="llama-3.1-8b", prompt=65_536, answer=64)),
    "experts": ("A model of experts", Scene(chip="h100-sxm", model="qwen3-30b-a3b", prompt=1024, answer=64)),
    "wafer": ("One user, a wafer", Scene(chip="wse-3", model="llama-3.1-8b", prompt=1024, answer=64)),
}

OWN = Own(
    build=Scene,
    fields=(
        Pick("chip", "Chip", CHIPS, "h100-sxm"),
        Pick("model", "Model", MODELS, "llama-3.1-8b"),
        Number("prompt", "Tokens in the prompt", 64, MOST_PROMPT, 1024, 64),
        Number("answer", "Tokens in the answer", 8, MOST_ANSWER, 64, 8),
        Number("batch", "Users at once", 1, MOST_BATCH, 1),
    ),
)
"""A chip, a model and a load of the reader's own."""


def frames(scene: Scene) -> Iterator[dict]:
    """The pass of the prompt, then one pass for each further token of the answer, by the roofline alone.

    A frame is plain data, ready for JSON:

    - ``says``, ``arithmetic``; ``kind``: "prefill" or "decode"; ``bound``: "compute" or "memory";
    - ``prompt``, ``answer``, ``batch``; ``written``: tokens of the answer so far;
    - ``seconds`` of this pass and ``elapsed`` since the start; ``times``: of the pass of the prompt, and of all passes;
    - ``flop``; ``weights`` and ``cache``, the bytes of each; ``busy``: the share of this pass in which arithmetic, and
      in which memory is at work;
    - ``told``: these in words, with the FLOP a byte of the pass and those of the chip's ridge.

    Examples
    --------
    >>> found = list(frames(SCENES["one"][1]))
    >>> print(found[0]["says"])
    Pass 1 reads all 1,024 tokens at once, in 14.7 ms: arithmetic binds, and the memory is at work 30.7 % of the time.
    >>> print(found[1]["says"])
    Pass 2 writes token 2 of 64, in 4.52 ms: memory binds, and the arithmetic is at work 0.348 % of the time.
    """
    on, of = chip(scene.chip), model(scene.model)
    sustained = rates(on, scene.dtype)
    shared = {"batch": scene.batch, "dtype": scene.dtype}
    passes = [("prefill", scene.batch * scene.prompt, prefill_work(of, prompt_tokens=scene.prompt, **shared))]
    for written in range(1, scene.answer):
        passes.append(("decode", scene.batch, decode_step_work(of, context=scene.prompt + written, **shared)))
    times = [price(work, sustained) for _, _, work in passes]
    elapsed, total = 0.0, sum(time.seconds for time in times)
    for index, ((kind, tokens, work), time) in enumerate(zip(passes, times, strict=True)):
        elapsed += time.seconds
        weights = float(of.weight_bytes_read(tokens, scene.dtype))
        busy = [time.compute_s / time.seconds, time.memory_s / time.seconds]
        yield {
            "says": _says(scene, index, time, busy, elapsed if index + 1 == len(passes) else None, times[0].seconds),
            "arithmetic": _arithmetic(work, weights, time, sustained),
            "kind": kind,
            "bound": time.bound,
            "prompt": scene.prompt,
            "answer": scene.answer,
            "batch": scene.batch,
            "written": index + 1,
            "seconds": time.seconds,
            "elapsed": elapsed,
            "times": [times[0].seconds, total],
            "flop": work.flop,
            "weights": weights,
            "cache": work.memory_bytes - weights,
            "busy": busy,
            "told": {
                "seconds": si(time.seconds, "s"),
                "elapsed": si(elapsed, "s"),
                "total": si(total, "s"),
                "reading": f"{number(100 * times[0].seconds / total)} %",
                "busy": [f"{number(100 * share)} %" for share in busy],
                "weights": si(weights, "B"),
                "cache": si(work.memory_bytes - weights, "B"),
                "flop": si(work.flop, "FLOP"),
                "intensity": number(work.flop / work.memory_bytes),
                "ridge": number(sustained.flop_per_s / sustained.memory_bytes_per_s),
            },
        }


def _says(scene, index, time, busy, elapsed, reading):
    of = "" if scene.batch == 1 else f" for each of {scene.batch} users"
    if index == 0:
        of = "" if scene.batch == 1 else f" of each of {scene.batch} prompts"
        what = f"reads all {scene.prompt:,} tokens{of} at once"
    else:
        what = f"writes token {index + 1} of {scene.answer}{of}"
    binds, rests, share = (
        ("memory", "arithmetic", busy[0]) if time.bound == "memory" else ("arithmetic", "memory", busy[1])
    )
    says = (
        f"Pass {index + 1} {what}, in {si(time.seconds, 's')}: {binds} binds, and the {rests} is at work "
        f"{number(100 * share)} % of the time."
    )
    if elapsed is not None:
        tokens = scene.prompt / (scene.prompt + scene.answer)
        says += (
            f" Done in {si(elapsed, 's')}: reading was {number(100 * tokens)} % of the tokens and took "
            f"{number(100 * reading / elapsed)} % of the time."
        )
    return says


def _arithmetic(work: Work, weights: float, time, sustained) -> list[str]:
    return [
        f"arithmetic: {si(work.flop, 'FLOP')} / {si(sustained.flop_per_s, 'FLOP/s')} = {si(time.compute_s, 's')}",
        f"bytes: {si(weights, 'B')} of weights + {si(work.memory_bytes - weights, 'B')} of cache = "
        f"{si(work.memory_bytes, 'B')}",
        f"memory: {si(work.memory_bytes, 'B')} / {si(sustained.memory_bytes_per_s, 'B/s')} = {si(time.memory_s, 's')}",
        f"the longer of the two: {si(time.seconds, 's')}",
        f"{si(work.flop, 'FLOP')} / {si(work.memory_bytes, 'B')} = {number(work.flop / work.memory_bytes)} FLOP a byte",
        f"the ridge: {number(sustained.flop_per_s / sustained.memory_bytes_per_s)} FLOP a byte",
    ]


def request_phases(scenes: Mapping[str, tuple[str, Scene]] = SCENES):
    """A stepper of one request: reading it, then writing the answer token by token.

    Parameters
    ----------
    scenes : mapping of str to (title, `Scene`)
        What the reader may choose from; the first is shown at the start.

    Returns
    -------
    Machine

    Examples
    --------
    >>> machine = request_phases()
    >>> machine.frame["written"], machine.frame["bound"]
    (64, 'memory')
    >>> machine.scene, machine.at = "wafer", 1
    >>> machine.frame["bound"]
    'compute'
    """
    from hwlab.figures.machine import Machine  # here, so that frames() needs no widgets: it runs in a browser's Python

    return Machine(
        "phases",
        "phases",
        frames,
        scenes,
        columns={
            "Reading": lambda frame: si(frame["times"][0], "s"),
            "A token, at the end": lambda frame: si(frame["seconds"], "s"),
            "All": lambda frame: si(frame["times"][1], "s"),
            "Reading, % of the time": lambda frame: number(100 * frame["times"][0] / frame["times"][1]),
        },
        picture=_shares,
        scene=next(iter(scenes)),
        alt="Two bars, one above the other: the tokens of a request, nearly all of them read, and its time, nearly all "
        "of it spent on writing. Beside them how busy arithmetic and memory are in this pass, and what it moves.",
        own=OWN,
    )


def _shares(last: dict[str, dict]):
    import altair as alt

    rows = [{"scene": title, "percent": 100 * frame["times"][0] / frame["times"][1]} for title, frame in last.items()]
    return (
        alt.Chart(alt.Data(values=rows), height=240)
        .mark_bar()
        .encode(
            alt.X("percent:Q", title="Share of the time that goes into reading, %", scale=alt.Scale(domain=[0, 100])),
            alt.Y("scene:N", title=None, sort=list(last), axis=alt.Axis(labelLimit=200)),
        )
    )
