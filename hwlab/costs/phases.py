"""A model's two kinds of steps on one chip: reading a prompt, writing a token, and both in one; by the roofline alone.

All in 16 bits, without exchange between chips.
"""

from __future__ import annotations

from math import inf

from hwlab.costs.roofline import StepTime, decode_step_time, decode_step_work, prefill_time, price, rates
from hwlab.formula import inside


def two_byte(of) -> str:
    """The 16-bit type whose peak the vendor of a chip publishes: bf16, else fp16.

    Raises
    ------
    ValueError
        If there is neither.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> two_byte(chip("h100-sxm")), two_byte(chip("groq-lpu"))
    ('bf16', 'fp16')
    """
    for dtype in ("bf16", "fp16"):
        if dtype in of.peak_flop_per_s:
            return dtype
    raise ValueError(f"{of.name} has no published 16-bit peak; it has {', '.join(of.peak_flop_per_s) or 'none'}")


def read_for_one_written(of, on, prompt: int = 1024) -> float:
    """Tokens that a chip reads while it writes one for a single user, in 16 bits, whether the model fits or not.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> round(read_for_one_written(model("llama-3.1-8b"), chip("h100-sxm")))
    314
    """
    dtype = two_byte(on)
    reading = prefill_time(of, on, prompt_tokens=prompt, dtype=dtype).seconds
    return prompt * decode_step_time(of, on, context=prompt, dtype=dtype).seconds / reading


def mixed_step(of, on, *, users: int, context: int, chunk: int, before: int = 0) -> StepTime:
    """Seconds of arithmetic and of memory traffic in a step that writes for `users` and reads `chunk` prompt tokens.

    Parameters
    ----------
    of : ModelSpec
        A dense model.
    on : Chip
    users, context : int
        Sequences that are being written, and the tokens behind each.
    chunk, before : int
        Tokens of the prompt that this step reads (0 for none), and those of it that were read before.

    Returns
    -------
    StepTime
        By the roofline: weights are read once for both.

    Raises
    ------
    ValueError
        If a number is below 0, or the chip has no published 16-bit peak.

    Examples
    --------
    128 tokens of a prompt cost nothing beside 32 users, 1,024 cost three steps:

    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> llama, h100 = model("llama-3.1-8b"), chip("h100-sxm")
    >>> shape = {"users": 32, "context": 1024}
    >>> [round(mixed_step(llama, h100, **shape, chunk=n).seconds * 1e3, 1) for n in (0, 128, 1024)]
    [5.8, 5.8, 15.2]
    """
    inside(0, inf, users=users, context=context, chunk=chunk, before=before)
    dtype = two_byte(on)
    work = decode_step_work(of, context=context, batch=users, dtype=dtype)
    if chunk:
        moved = of.kv_bytes_read(before, dtype) if before else 0.0
        work = work._replace(
            flop=work.flop + of.flop(chunk, before, head_tokens=1),
            memory_bytes=work.memory_bytes + moved + of.kv_bytes(chunk, dtype),
        )
    return price(work, rates(on, dtype))


def free_chunk(of, on, *, users: int, context: int) -> int:
    """Most tokens of a prompt that ride along in a decode step without making it arithmetic-bound; 0 if none does.

    Examples
    --------
    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> free_chunk(model("llama-3.1-8b"), chip("h100-sxm"), users=1, context=1024)
    318
    """

    def free(chunk):
        time = mixed_step(of, on, users=users, context=context, chunk=chunk)
        return time.compute_s <= time.memory_s

    low, high = 0, 1
    while free(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if free(middle) else (low, middle)
    return low
