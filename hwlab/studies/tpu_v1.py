"""The table of the TPU v1 paper, predicted: six applications by a roofline, and by tiles that stream to the array."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hwlab.costs.systolic import overlapped_cycles
from hwlab.specs.chips import Chip, chip
from hwlab.specs.tpu_v1 import Application, measurements

TPU_V1 = chip("tpu-v1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One application predicted from batch, weights and the chip, beside what the paper measured.

    Attributes
    ----------
    application : Application
    roofline_op_per_s : float
        The lower of the peak and twice the intensity times the bandwidth of the weights.
    array_op_per_s : float
        By cycles of the array: tiles padded and loaded while another works, each layer filled and emptied.
    stalled : float
        Share of those cycles in which the array waits for weights.
    filled : float
        Share of the tiles that is no padding.
    """

    application: Application
    roofline_op_per_s: float
    array_op_per_s: float
    stalled: float
    filled: float

    @property
    def roofline_factor(self) -> float:
        """Roofline over measured: 1 is exact."""
        return self.roofline_op_per_s / self.application.op_per_s

    @property
    def array_factor(self) -> float:
        """Array over measured."""
        return self.array_op_per_s / self.application.op_per_s

    @property
    def counters_factor(self) -> float:
        """The paper's own counter of useful multiply-adds, as a rate, over its measured rate: how far they agree."""
        return self.application.shares["useful"] * TPU_V1.peak("int8") / self.application.op_per_s


def predict(application: Application, chip: Chip = TPU_V1) -> Prediction:
    """Predict one application.

    Notes
    -----
    Shapes of layers are not published. Every layer counts as a square matrix that holds its share of the weights, or as
    many matrices of the side that the paper names; `intensity` rows pass each tile of weights. Nothing is fitted.

    Examples
    --------
    >>> from hwlab.specs.tpu_v1 import application
    >>> found = predict(application("MLP0"))
    >>> [round(rate / 1e12, 1) for rate in (found.roofline_op_per_s, found.array_op_per_s, 12.3e12)]
    [13.6, 12.9, 12.3]
    """
    rows, columns, clock = chip.counts["mxu_rows"], chip.counts["mxu_cols"], chip.clock_hz
    side = application.side or round(math.sqrt(application.weights / application.matrices))
    took = overlapped_cycles(
        application.intensity,
        side,
        side,
        rows=rows,
        columns=columns,
        bytes_per_cycle=chip.memory_bytes_per_s / clock,
    )
    cycles = took.total * application.weights / side**2
    return Prediction(
        application=application,
        roofline_op_per_s=min(chip.peak("int8"), 2 * application.intensity * chip.memory_bytes_per_s),
        array_op_per_s=application.op / cycles * clock,
        stalled=took.stalled / took.total,
        filled=side**2 / (math.ceil(side / rows) * rows * math.ceil(side / columns) * columns),
    )


def predictions(chip: Chip = TPU_V1) -> tuple[Prediction, ...]:
    """All six, in the order of the paper.

    Examples
    --------
    >>> [f"{p.application.name} {p.array_factor:.2f}" for p in predictions()]
    ['MLP0 1.05', 'MLP1 0.88', 'LSTM0 1.07', 'LSTM1 1.36', 'CNN0 0.84', 'CNN1 5.01']
    """
    return tuple(predict(application, chip) for application in measurements())
