"""An executor that carries out nothing: it says what a step would take on a chip, from its bytes and its FLOP.

As every bound of this book it takes the larger of two times, that of the memory and that of the arithmetic, and at the
peaks of the data sheet unless an efficiency is given.
"""

from __future__ import annotations

from collections.abc import Hashable

from hwlab.costs.efficiency import IDEAL, Efficiency
from hwlab.costs.placement import check_records
from hwlab.costs.roofline import Work, price, rates
from hwlab.formula import whole
from hwlab.serving.scheduler import Step


class Priced:
    """Prices the steps of a scheduler for a model on a chip, or on several that share each layer evenly.

    Parameters
    ----------
    model : ModelSpec
    chip : Chip
    dtype : str
        Of the weights; the cache has 16 bits an element.
    chips : int
        That share the weights, the cache and the work evenly. What they tell each other takes no time here.
    efficiency : Efficiency
        What the chip keeps of its peaks; by default all.

    Raises
    ------
    TypeError, ValueError
        If a record or a number is none, or the chip has no published rate for the dtype.

    Examples
    --------
    A prompt of 2,000 tokens, whole, beside one answer:

    >>> from hwlab.serving import Pager, Request, Scheduler
    >>> from hwlab.specs.chips import chip
    >>> from hwlab.specs.models import model
    >>> scheduler = Scheduler(Pager(1000, 16))
    >>> executor = Priced(model("llama-3.1-8b"), chip("h100-sxm"))
    >>> for id, prompt in (("short", 20), ("long", 2000)):
    ...     scheduler.add(Request(id=id, prompt=prompt, max_new_tokens=3))
    ...     step = scheduler.step()
    ...     print(step.tokens, "tokens:", round(executor.run(step) * 1000, 1), "ms")
    ...     _ = scheduler.finish(step)
    20 tokens: 4.5 ms
    2001 tokens: 29.3 ms
    """

    def __init__(self, model, chip, *, dtype: str = "bf16", chips: int = 1, efficiency: Efficiency = IDEAL):
        check_records(model, chip, efficiency)
        self.model, self.chips, self.dtype = model, whole(chips=chips), dtype
        self._rates = rates(chip, dtype, efficiency)
        self._length: dict[Hashable, int] = {}  # tokens that a sequence has in the cache
        self.work_done: Work | None = None  # what the last step asked of each chip

    def work(self, step: Step) -> Work:
        """What the step asks of each chip; rows that idle compute for nobody, and compute.

        A step is priced once, in order: the executor remembers how long each sequence has become. Guesses are priced as
        the target's work; whoever says how many are right notes it in `Step.accepted` before.

        Raises
        ------
        LookupError
            If a sequence is carried on of which no prompt was priced: a fork.
        """
        model, flop, cache = self.model, step.idle * self.model.flop_per_token(1), 0.0
        drawn = set(step.draws)
        for id, start, tokens in step.prefill:
            flop += model.flop(tokens, start, head_tokens=int(id in drawn))
            self._length[id] = start + tokens
            cache += model.kv_bytes_read(start + tokens, "bf16")
        for id in step.decode:
            if id not in self._length:
                raise LookupError(f"no step so far computed a prompt of sequence {id!r}; a fork cannot be priced")
            before, judged = self._length[id], 1 + step.guesses.get(id, 0)
            flop += model.flop(judged, before, head_tokens=judged)
            cache += model.kv_bytes_read(before + judged, "bf16")
            self._length[id] = before + 1 + step.accepted.get(id, 0)
        rows = step.tokens + step.idle
        read = model.weight_bytes_read(rows, self.dtype) if rows else 0
        return Work(flop=flop / self.chips, memory_bytes=(read + cache) / self.chips, layers=model.num_layers)

    def run(self, step: Step) -> float:
        """Seconds that the step takes."""
        self.work_done = self.work(step)
        return price(self.work_done, self._rates).seconds
