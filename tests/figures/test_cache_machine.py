"""The frames of the cache machine are what the stepper does; the scenes hold the lesson; bounds refuse in words."""

import json
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.costs.caches import replay
from hwlab.figures.cache import MOST_TURNS, OWN, SCENES, SLOW, Scene, cache_under_loops, frames
from hwlab.figures.own import Pick


@st.composite
def own(draw):
    """Values that a reader may set, small enough for many of them."""
    values = {
        field.name: draw(st.sampled_from(sorted(field.options))) for field in OWN.fields if isinstance(field, Pick)
    }
    return values | {"m": draw(st.integers(1, 5)), "k": draw(st.integers(1, 12)), "n": draw(st.integers(1, 9))}


def check(scene, found):
    """Replay `scene` access by access and hold every frame against what has happened by then."""
    cache, accesses = scene.cache(), Counter()
    stream = iter(scene.accesses())
    misses = Counter()
    for frame in found[:-1]:
        fetched, used = set(), {}
        for _ in range(sum(frame["accesses"]) - accesses.total()):
            access = next(stream)
            outcome = cache.touch(access.address, write=access.write)
            accesses[access.array] += 1
            used.setdefault(access.array, []).append((access.row, access.column))
            if outcome.kind != "hit":
                misses[access.array] += 1
                fetched.add(outcome.place)
        assert frame["lines"] == [-1 if line is None else line for line in cache.places]
        assert frame["fetched"] == sorted(fetched)
        assert frame["misses"] == [misses[array] for array in "ABC"]
        assert frame["bytes"] == cache.counts.bytes_moved
        assert frame["touched"] == {
            array: [min(r for r, _ in at), max(r for r, _ in at) + 1, min(c for _, c in at), max(c for _, c in at) + 1]
            for array, at in used.items()
        }
        assert frame["place"] == (outcome.place if sum(frame["accesses"]) <= SLOW and len(used) == 1 else None)
    assert next(stream, None) is None
    counts = scene.counts()
    assert sum(found[-1]["misses"]) == counts.misses and found[-1]["bytes"] == counts.bytes_moved
    assert found[-1]["accesses"] == [scene.num_accesses // 3] * 3 == [found[-1]["each"]] * 3


@settings(max_examples=60)
@given(own())
def test_frames_are_those_of_the_stepper(values):
    scene = OWN.build(**OWN.values(values))
    found = list(frames(scene))
    check(scene, found)
    assert all(frame["says"] and len(frame["arithmetic"]) == 3 for frame in found)
    assert len(found) <= SLOW + MOST_TURNS + 1
    assert json.loads(json.dumps(found)) == found


def test_the_shipped_scenes_are_right_frame_by_frame():
    for _, scene in SCENES.values():
        found = list(frames(scene))
        assert 50 <= len(found) <= 400
        check(scene, found)


def test_the_scenes_hold_the_lesson():
    last = {key: list(frames(scene))[-1] for key, (_, scene) in SCENES.items()}
    # by hand: 64 passes walk 16 lines of A and 64 of B and keep none, 16 lines of C; with n innermost A and C once and
    # B, 256 lines, for each of 4 rows; tiles fetch A for each of 4 columns of tiles and all else once
    assert {key: frame["misses"] for key, frame in last.items() if key != "direct"} == {
        "mnk": [64 * 16, 64 * 64, 16],
        "mkn": [64, 4 * 256, 16],
        "tiles": [4 * 64, 256, 16],
    }
    assert "In order m, k, n without tiles 1,104 would miss. Each line once would be 336." in last["mnk"]["says"]
    assert "1,104 of 12,288 accesses missed, and 17,920 bytes moved. Each line" in last["mkn"]["says"]
    assert "If a line could go anywhere, 528 would miss." in last["direct"]["says"]
    conflicts = replay(SCENES["direct"][1].accesses(), SCENES["direct"][1].cache()).conflict
    assert f"+ {conflicts:,} conflict" in last["direct"]["arithmetic"][1] and conflicts > 500


def test_sentences_say_what_happened_and_why():
    says = [frame["says"] for frame in frames(SCENES["direct"][1])]
    assert says[0].startswith("Access 1 of 12,288: A[0, 0] misses, its line is new; it brings A[0, 0] to A[0, 3].")
    assert says[0].endswith(" 1 of 1 has missed.")
    assert "brings B[0, 0] to B[0, 3], and a line of A leaves. 2 of 2 have missed." in says[1]
    assert "A[0, 1] misses, its line had to leave for another of its set" in says[3]
    naive = [frame["says"] for frame in frames(SCENES["mnk"][1])]
    assert naive[3] == "Access 4 of 12,288: A[0, 1] hits: its line is in the cache. 3 of 4 have missed."
    assert "Pass 2 of 64: 80 of 192 accesses miss, 16 of A and 64 of B, all lines that were here" in naive[SLOW + 1]
    assert [frame["says"] for frame in frames(SCENES["mkn"][1])][SLOW + 1].startswith("Passes 5 to 8 of 256: 17 of 192")
    tiny = [frame["says"] for frame in frames(Scene(m=1, k=1, n=1))]
    assert tiny[0] == "Access 1 of 3: A[0, 0] misses, its line is new. 1 of 1 has missed."
    assert len(tiny) == 4 and tiny[3].startswith("Done: 1 dirty line of C goes home. In all 3 of 3 accesses missed")
    all_hit = [frame["says"] for frame in frames(Scene(m=2, k=4, n=8, num_lines=64))]
    assert any("accesses hit." in sentence for sentence in all_hit)


def test_a_scene_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="a line of 16 bytes holds no whole number of elements of 3"):
        Scene(m=2, k=2, n=2, itemsize=3)
    with pytest.raises(ValueError, match="makes 50,001 accesses; at most 50,000 are stepped through"):
        Scene(m=1, k=7 * 2381, n=1)
    with pytest.raises(ValueError, match="ways is 3, which does not divide the 64 lines"):
        Scene(m=2, k=2, n=2, ways=3)


def test_the_largest_scene_of_the_readers_own_is_allowed():
    for ways in ("0", "8"):
        values = {"m": 8, "k": 64, "n": 32, "num_lines": "16", "ways": ways, "itemsize": "8"}
        assert OWN.build(**OWN.values(values)).num_accesses == 3 * 8 * 64 * 32


def test_the_machine_starts_where_the_first_order_ends():
    machine = cache_under_loops()
    assert (machine.scene, machine.at) == ("mnk", len(machine.frames) - 1)
    machine.scene, machine.at = "tiles", SLOW
    assert machine.frame == list(frames(SCENES["tiles"][1]))[SLOW]


def test_frames_need_neither_widgets_nor_charts():
    code = (
        "import sys; from hwlab.figures.cache import SCENES, frames; list(frames(SCENES['mkn'][1]))\n"
        "print([m for m in ('anywidget', 'altair', 'numpy', 'ipywidgets', 'vl_convert') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
