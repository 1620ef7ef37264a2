"""The energy of arithmetic and of the bytes it needs, by where the bytes come from and by process node.

A multiplication costs a tenth of a picojoule to a few; a byte costs more the farther away it lay. So the energy of a
product is decided by its traffic, as its time is, only sooner: `break_even` is the roofline's ridge in joules.

The figures are those of two talks and papers, each with its grade, in `specs/data/energy.toml`: M. Horowitz,
"Computing's energy problem (and what we can do about it)", ISSCC 2014 (45 nm); N. P. Jouppi et al., "Ten lessons from
three generations shaped Google's TPUv4i", ISCA 2021 (7 nm). A read and a write are taken to cost the same. Control,
clocks, leakage, conversion losses and cooling are outside: a whole chip draws several times as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hwlab.costs.roofline import cache_dtype, matmul_flop
from hwlab.formula import positive
from hwlab.specs.figure import Figure
from hwlab.specs.technology import operation
from hwlab.units import compute_dtype

NODES = ("45 nm", "7 nm", "5 nm")

# level -> node -> operation in the table, and the qualifiers of its lowest and highest figure
_READS = {
    "sram-8kb": {node: ("sram-8kb-read-64b", node, node) for node in NODES[:2]},
    "sram-32kb": {node: ("sram-32kb-read-64b", node, node) for node in NODES[:2]},
    "sram-1mb": {node: ("sram-1mb-read-64b", node, node) for node in NODES[:2]},
    "hbm": {"7 nm": ("hbm2-read-64b", "7 nm, low end", "7 nm, high end")},
    "gddr": {"7 nm": ("gddr6-read-64b", "7 nm, low end", "7 nm, high end")},
    "dram": {
        "45 nm": ("dram-read-64b", "45 nm, low end", "45 nm, high end"),
        "7 nm": ("ddr3-4-read-64b", "7 nm", "7 nm"),
    },
}
LEVELS = tuple(_READS)
"""Where a byte may lie, the nearest first: SRAM of three sizes on the die, then memory beside or off the package."""

# dtype of the inputs -> (multiplication, addition of the sum): tensor units add in more bits than they multiply
_MACS = {
    "fp32": ("fp32-mul", "fp32-add"),
    "bf16": ("bf16-mul", "fp32-add"),
    "fp16": ("fp16-mul", "fp32-add"),
    "int8": ("int8-mul", "int32-add"),
    "int4": ("int4-mac",),  # of a whole prototype, its SRAM included: nothing nearer is published at 5 nm
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """An energy between two bounds, in joules: its sources give a range, or one figure."""

    low: float
    high: float
    figures: tuple[Figure, ...]

    def __post_init__(self):
        if not 0 < self.low <= self.high:
            raise ValueError(f"an energy of {self.low} to {self.high} J; give 0 < low <= high")


def mac_joules(dtype: str, node: str = "7 nm") -> Range:
    """Energy of one multiply-accumulate on inputs of `dtype`: the multiplication, and the addition to a wider sum.

    Raises
    ------
    ValueError
        If nobody has published the operation for that dtype at that node.

    Examples
    --------
    >>> mac_joules("bf16").low == 0.21e-12 + 0.38e-12
    True

    At 5 nm there is one figure in print, measured on a whole accelerator at two voltages, for four bits:

    >>> mac = mac_joules("int4", "5 nm")
    >>> round(mac.low * 1e15, 1), round(mac.high * 1e15, 1)  # femtojoules
    (20.9, 51.7)
    """
    _known_node(node)
    wanted = compute_dtype(dtype)
    if wanted not in _MACS:
        raise ValueError(f"no energy is published for arithmetic in {wanted}; there is {', '.join(_MACS)}")
    parts = [
        [figure for figure in operation(name).figures["joules"] if figure.qualifier.split(",")[0] == node]
        for name in _MACS[wanted]
    ]
    if not all(parts):
        raise ValueError(f"no energy is published for {wanted} at {node}; try another of {', '.join(NODES)}")
    return Range(
        low=sum(min(figure.value for figure in part) for part in parts),
        high=sum(max(figure.value for figure in part) for part in parts),
        figures=tuple(figure for part in parts for figure in part),
    )


def byte_joules(level: str, node: str = "7 nm") -> Range:
    """Energy to read or write one byte at `level`, one of `LEVELS`, as an eighth of an access of 64 bits.

    Raises
    ------
    ValueError
        If there is no such level, or no figure of it at that node.

    Examples
    --------
    A byte from HBM costs 18 to 32 times one from a megabyte of SRAM on the die:

    >>> near, far = byte_joules("sram-1mb"), byte_joules("hbm")
    >>> round(far.low / near.low), round(far.high / near.low)
    (18, 32)
    """
    _known_node(node)
    if level not in _READS:
        raise ValueError(f"no level is called {level!r}; there are {', '.join(LEVELS)}")
    if node not in _READS[level]:
        raise ValueError(f"no energy of {level} is published at {node}; there is {', '.join(_READS[level])}")
    name, low, high = _READS[level][node]
    read = operation(name)
    figures = tuple(read.figure("joules", qualifier) for qualifier in dict.fromkeys((low, high)))
    values = [figure.value / (read.bits / 8) for figure in figures]
    return Range(low=min(values), high=max(values), figures=figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Where the joules of a piece of work go; each a pair of bounds (low, high), numbers, arrays or Sym.

    Attributes
    ----------
    arithmetic : pair
    traffic : mapping of level to pair
    """

    arithmetic: tuple
    traffic: Mapping[str, tuple]

    @property
    def low(self):
        """Least of all, in joules."""
        return self.arithmetic[0] + sum(low for low, _ in self.traffic.values())

    @property
    def high(self):
        """Most of all, in joules."""
        return self.arithmetic[1] + sum(high for _, high in self.traffic.values())

    @property
    def arithmetic_share(self):
        """Share of the arithmetic in the whole: (least, most)."""
        return self.arithmetic[0] / self.high, self.arithmetic[1] / self.low


def energy(flop, traffic: Mapping[str, object], *, dtype: str, node: str = "7 nm") -> Energy:
    """Joules of `flop` FLOP in multiply-accumulates, and of the bytes that cross each level.

    Parameters
    ----------
    flop : number, array or Sym
    traffic : mapping of level to number, array or Sym
        Bytes read and written at each of `LEVELS` that takes part.
    dtype : str
        Of the arithmetic, one of `hwlab.units.BITS`.
    node : {"45 nm", "7 nm", "5 nm"}

    Raises
    ------
    ValueError
        If a figure is not published, or a number is not above 0.

    Examples
    --------
    One token against an 8192 x 8192 matrix, whose weights come from HBM: the arithmetic is a hundredth.

    >>> spent = energy(2 * 8192**2, {"hbm": 2 * 8192**2}, dtype="bf16")
    >>> [round(100 * share, 1) for share in spent.arithmetic_share]  # per cent
    [0.5, 0.9]
    """
    mac = mac_joules(dtype, node)
    each = {level: byte_joules(level, node) for level in traffic}
    positive(flop=flop, **{f"traffic of {level}": nbytes for level, nbytes in traffic.items()})
    return Energy(
        arithmetic=(flop / 2 * mac.low, flop / 2 * mac.high),
        traffic=MappingProxyType(
            {level: (nbytes * each[level].low, nbytes * each[level].high) for level, nbytes in traffic.items()}
        ),
    )


def matmul_energy(m, k, n, traffic: Mapping[str, object], *, dtype: str, node: str = "7 nm") -> Energy:
    """Joules of ``x[m, k] @ w[k, n]`` with the given bytes at each level; see `energy`.

    `hwlab.costs.blocking.blocked_bytes` and `hwlab.costs.caches` say how many bytes a schedule moves.

    Examples
    --------
    >>> fetched = {"hbm": 3 * 4096**2 * 2}  # each array once
    >>> round(matmul_energy(4096, 4096, 4096, fetched, dtype="bf16").low * 1e3)  # millijoules
    44
    """
    return energy(matmul_flop(m, k, n), traffic, dtype=dtype, node=node)


def token_energy(
    model, *, context, batch=1, dtype: str = "bf16", kv_dtype=None, weights_in="hbm", node="7 nm"
) -> Energy:
    """Joules to write one token for each of `batch` sequences, by where weights and cache lie.

    Parameters
    ----------
    model : ModelSpec
    context, batch : number, array or Sym
        Tokens that each new one attends to, itself included; sequences that share the reading of the weights.
    dtype, kv_dtype : str
        Of weights and cache.
    weights_in : str
        The level, one of `LEVELS`, from which weights and cache are read.

    Raises
    ------
    ValueError
        As `energy`.

    Examples
    --------
    Batches save energy as they save time, for the weights are fetched once for all:

    >>> from hwlab.specs.models import model
    >>> llama = model("llama-3.1-70b")
    >>> [round(token_energy(llama, context=1024, batch=b).low / b, 2) for b in (1, 64)]  # joules a token
    [4.4, 0.12]
    """
    positive(context=context, batch=batch)
    cache = model.kv_bytes_read(context, kv_dtype or cache_dtype(dtype)) * batch
    nbytes = model.weight_bytes_read(batch, dtype) + cache
    return energy(batch * model.flop_per_token(context), {weights_in: nbytes}, dtype=dtype, node=node)


def break_even(level: str, *, dtype: str, node: str = "7 nm") -> tuple[float, float]:
    """FLOP a byte at which arithmetic takes as much energy as its bytes from `level`: (least, most).

    Below it the joules go into moving, as below the ridge the seconds do. W. J. Dally's case for locality in a number.

    Examples
    --------
    >>> [round(x) for x in break_even("hbm", dtype="bf16")], round(break_even("sram-32kb", dtype="bf16")[0], 1)
    ([106, 191], 3.6)
    """
    mac, byte = mac_joules(dtype, node), byte_joules(level, node)
    return byte.low / (mac.high / 2), byte.high / (mac.low / 2)


def _known_node(node):
    if node not in NODES:
        raise ValueError(f"no energies are known at {node!r}; there are {', '.join(NODES)}")
