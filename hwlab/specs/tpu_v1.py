"""What Google's first TPU reached on six applications: the one table of its kind, by rate and by where cycles went.

N. P. Jouppi et al., "In-datacenter performance analysis of a tensor processing unit", ISCA 2017, Tables 1 and 3.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from hwlab.specs.figure import DATA, UnknownId


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """One application as the paper describes it, and what a TPU v1 reached, the host's time left out.

    Attributes
    ----------
    name, layers : str
    matrices : int
        Layers that hold weights.
    weights : int
        Of one byte each.
    batch : int
    intensity : int
        Multiply-adds for each byte of weights: the batch in a fully connected layer; more in a convolution.
    op_per_s : float
        Operations a second, two a multiply-add, in production.
    shares : mapping of str to float
        Of the cycles, by performance counter: "active" (the array works; "useful" leaves out padding),
        "weight_stall" and "weight_shift" (it waits for weights, or shifts them in), "non_matrix" (neither).
    side : int or None
        Of the square matrix of a layer, where the paper names one.
    """

    name: str
    layers: str
    matrices: int
    weights: int
    batch: int
    intensity: int
    op_per_s: float
    shares: Mapping[str, float]
    side: int | None = None

    @property
    def op(self) -> int:
        """Operations of one batch."""
        return 2 * self.weights * self.intensity


@cache
def measurements() -> tuple[Application, ...]:
    """The six applications, in the order of the paper.

    Examples
    --------
    >>> [application.name for application in measurements()]
    ['MLP0', 'MLP1', 'LSTM0', 'LSTM1', 'CNN0', 'CNN1']
    """
    found = tomllib.loads((DATA / "tpu_v1.toml").read_text(encoding="utf-8"))
    return tuple(Application(**record) for record in found["application"])


def application(name: str) -> Application:
    """The application of that name.

    Raises
    ------
    UnknownId
        If there is none.

    Examples
    --------
    >>> application("CNN0").op_per_s
    86000000000000.0
    """
    for record in measurements():
        if record.name == name:
            return record
    raise UnknownId("application", name, [record.name for record in measurements()])
