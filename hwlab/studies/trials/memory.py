"""The claims about memory: what SRAM, DRAM and HBM hold, how fast and how far they are, and what nearness buys."""

from __future__ import annotations

from hwlab.costs.efficiency import efficiency_of
from hwlab.costs.energy import byte_joules
from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.claims import claim
from hwlab.specs.models import model as model_of
from hwlab.specs.technology import memory
from hwlab.studies.trials import Finding, judged, judged_by_choice, near, trial, within_factor
from hwlab.units import bytes_per_element

SERVERS = tuple(chip(id) for id in ("xeon-8480plus", "epyc-9654", "epyc-9755", "epyc-9965", "xeon-6980p"))
GROQ_3, RUBIN, GROQ, H100 = chip("groq-3-lpu"), chip("rubin"), chip("groq-lpu"), chip("h100-sxm")
SRAM, DDR4, DDR5, HBM2E, HBM3E, HBM4 = (memory(id) for id in ("sram", "ddr4", "ddr5", "hbm2e", "hbm3e", "hbm4"))
LLAMA_2_70B = model_of("llama-2-70b")
LAYERS_OF_A_STACK = 12  # dies of the 36 GiB stack
ABOUT = 2  # an order of magnitude counts as right up to this factor
MOSTLY = 0.5  # share from which a part rules the whole
_WHERE = {
    "sram-8kb": "8 KB of SRAM",
    "sram-32kb": "32 KB of SRAM",
    "sram-1mb": "1 MB of SRAM",
    "hbm": "HBM",
    "dram": "DRAM on modules",
}


def _range(id: str, unit: float) -> tuple[float, float]:
    """Both ends of a figure such as "50-100 ns", in SI units."""
    low, high = claim(id).figures[0].split()[0].split("-")
    return float(low) * unit, float(high) * unit


@trial("C023")
def bandwidth_of_server_memory(chips=SERVERS) -> Finding:
    """Server DDR5 has typically 200 to 400 GB/s."""
    low, high = _range("C023", 1e9)
    rates = [chip.memory_bytes_per_s for chip in chips]
    within = sum(low <= rate <= high for rate in rates)
    told = f"{si(min(rates), 'B/s')} to {si(max(rates), 'B/s')} a socket; {within} of {len(rates)} lies within"
    return Finding(recomputed=told, verdict=judged(within > len(rates) / 2))


@trial("C191")
def hbm_against_sram(near_memory=GROQ_3, far_memory=RUBIN) -> Finding:
    """HBM holds more and is farther; SRAM is costly and hard to scale, but fast."""
    holds = far_memory.memory_bytes / near_memory.memory_bytes
    refills = [c.memory_bytes_per_s / c.memory_bytes for c in (near_memory, far_memory)]
    told = f"{far_memory.name} holds {number(holds)} times as much as {near_memory.name}"
    return Finding(
        recomputed=f"{told}, which can read all that it holds {number(refills[0] / refills[1])} times as often",
        verdict=judged(holds > 1 and refills[0] > refills[1]),
    )


@trial("C192")
def nearness_and_the_next_token(model=LLAMA_2_70B, chip=H100, chips=8, near_memory=GROQ) -> Finding:
    """Data closer to the arithmetic directly shorten the wait for the next token."""
    rest = model.num_layers * efficiency_of(chip).layer_s
    each = model.num_params * bytes_per_element("bf16") / chips
    shares = [read / (read + rest) for read in (each / c.memory_bytes_per_s for c in (chip, near_memory))]
    told = f"Reading the weights is {number(100 * shares[0], 2)} % of a step on {chips} H100s, their exchange left out"
    return Finding(
        recomputed=f"{told}; at the {si(near_memory.memory_bytes_per_s, 'B/s')} of SRAM {number(100 * shares[1], 2)} %",
        verdict=judged_by_choice(*(share > MOSTLY for share in shares)),
    )


@trial("C246")
def distance_and_technology(levels=("sram-1mb", "hbm", "dram")) -> Finding:
    """What is viable depends on the distance and the technology of the weights' storage."""
    joules = [byte_joules(level).low for level in levels]
    told = ", ".join(f"{si(cost, 'J', 2)} from {_WHERE[level]}" for level, cost in zip(levels, joules, strict=True))
    return Finding(recomputed=f"A byte costs {told}, at 7 nm", verdict=judged(max(joules) / min(joules) >= 10))


@trial("C248")
def latency_of_dram(seen=None) -> Finding:
    """DRAM answers in 50 to 100 ns."""
    low, high = _range("C248", 1e-9)
    seen = seen or {
        "a laptop": DDR4.figure("latency_s", "4700U").value,
        "a server socket": DDR4.figure("latency_s", "7742").value,
        "an H100": HBM2E.figure("latency_s", "H100").value,
    }
    told = ", ".join(f"{si(wait, 's')} from the core of {where}" for where, wait in seen.items())
    return Finding(recomputed=told, verdict=judged_by_choice(*(low <= wait <= high for wait in seen.values())))


@trial("C249")
def buses_of_dram(chips=SERVERS) -> Finding:
    """The bandwidth of DRAM is limited by external buses."""
    explained = []
    for server in chips:
        kind, channels = server.figure("memory_bytes_per_s").qualifier.split(", ")
        bus = int(channels.split()[0]) * 8 * float(kind.rpartition("-")[2]) * 1e6
        explained.append(near(bus, server.memory_bytes_per_s, within=0.005))
    told = f"{kind}: {channels} × 8 B × {kind.rpartition('-')[2]} MT/s = {si(bus, 'B/s')}"
    return Finding(
        recomputed=f"{told}; so it is on {sum(explained)} of {len(chips)} sockets", verdict=judged(all(explained))
    )


@trial("C251")
def buses_of_hbm(stack=HBM4, channel_pins=64) -> Finding:
    """HBM gains its bandwidth through very wide buses."""
    pins = stack.figure("bus_width_bits").value
    rate = stack.figure("data_rate_bits_per_s_per_pin").value
    module = DDR5.figure("bandwidth_bytes_per_s", "6400").value * 8 / channel_pins
    told = f"{number(pins, 4)} pins × {si(rate, 'bit/s')} = {si(pins * rate / 8, 'B/s')} a stack"
    wider, faster = pins / channel_pins, rate / module
    return Finding(
        recomputed=f"{told}: {number(wider)} times the pins of a DDR5 channel, {number(faster)} times the rate of one",
        verdict=judged(wider > faster),
    )


@trial("C254")
def latency_of_sram(seen=None) -> Finding:
    """SRAM answers in 0.3 to 3 ns."""
    low, high = _range("C254", 1e-9)
    seen = seen or {
        f"{level} of {of}": SRAM.figure("latency_s", f"{of} {level}").value
        for of, level in (("EPYC 7742", "L1"), ("EPYC 7742", "L3"), ("H100 PCIe", "L1"))
    }
    told = ", ".join(f"{si(wait, 's')} from the {where}" for where, wait in seen.items())
    return Finding(recomputed=told, verdict=judged_by_choice(*(low <= wait <= high for wait in seen.values())))


@trial("C256")
def density_against_hbm(stack=HBM3E, cells=SRAM, layers=LAYERS_OF_A_STACK) -> Finding:
    """SRAM is about two orders of magnitude less dense than HBM."""
    stacked = stack.figure("density_bits_per_mm2").value
    ratios = [stacked / cells.figure("density_bits_per_mm2", node).value for node in ("N5", "N2")]
    flat = ratios[0] / layers
    told = f"By the area under a stack {number(ratios[1], 2)} (N2) to {number(ratios[0], 2)} times (N5)"
    return Finding(
        recomputed=f"{told}; by that of its {layers} dies {number(flat, 2)} times",
        verdict=judged_by_choice(*(within_factor(ratio, 100, ABOUT) for ratio in (*ratios, flat))),
    )


@trial("C308")
def locality_in_joules(near_level="sram-8kb", far_level="dram", node="45 nm") -> Finding:
    """Efficiency depends on keeping data close in space and time."""
    ratio = byte_joules(far_level, node).low / byte_joules(near_level, node).high
    told = f"At {node} a byte from DRAM costs at least {number(ratio)} times one from 8 KB of SRAM"
    return Finding(recomputed=told, verdict=judged(ratio >= 10))


@trial("C335")
def dense_and_far(stack=HBM3E, cells=SRAM, layers=LAYERS_OF_A_STACK, near_wait=None) -> Finding:
    """DRAM is dense and sits far from the compute chip."""
    denser = stack.figure("density_bits_per_mm2").value / layers / cells.figure("density_bits_per_mm2", "N5").value
    near_wait = near_wait or SRAM.figure("latency_s", "EPYC 7742 L1").value
    farther = DDR4.figure("latency_s", "7742").value / near_wait
    told = f"A die of a stack holds {number(denser, 2)} times the bits of SRAM for its area"
    return Finding(
        recomputed=f"{told}; memory answers an EPYC {number(farther)} times as late as its first cache",
        verdict=judged(denser > 1 and farther > 10),
    )
