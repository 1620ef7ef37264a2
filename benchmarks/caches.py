"""A cache of 32 KiB under ten million accesses of a product in tiles: replayed by NumPy, and stepped through."""

import time
from itertools import islice

from benchmarks import Row
from hwlab.costs.cache_replay import product_lines, replay_lines
from hwlab.costs.caches import Cache, Level, product_accesses

SIDE, LINES, WAYS, LINE_BYTES = 150, 512, 8, 64
PRODUCT = {"block": 48}
STEPPED = 200_000


def rows():
    """Processor time of the replay in tiles and in both plain orders of a row of A; and of the stepper."""
    found = []
    for name, product in (
        ("tiles of 48", PRODUCT),
        ("order mkn", {"order": "mkn"}),
        ("order mnk", {"order": "mnk"}),
    ):
        stream = list(product_lines(SIDE, SIDE, SIDE, line_bytes=LINE_BYTES, **product))
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            (counts,) = replay_lines(stream, [Level("L1", LINES, WAYS)], LINE_BYTES)
            best = min(best, time.process_time() - start)
        seconds = best * 1e7 / counts.accesses
        found.append((f"10^7 accesses to 32 KiB, 8 ways: {name}", seconds))
    cache = Cache(LINES, WAYS, LINE_BYTES)
    accesses = list(islice(product_accesses(SIDE, SIDE, SIDE, **PRODUCT), STEPPED))
    start = time.process_time()
    for access in accesses:
        cache.touch(access.address, write=access.write)
    stepped = (time.process_time() - start) * 1e7 / STEPPED
    (first, seconds), *others = found
    peer = f"{stepped:.1f} s by the stepper: {stepped / seconds:.0f} times"
    return [
        Row(first, f"{seconds:.2f} s", "< 2 s", seconds < 2, peer),
        *(Row(name, f"{seconds:.2f} s", "< 2 s", seconds < 2) for name, seconds in others),
    ]
