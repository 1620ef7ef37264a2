"""Causes of slow runs, told from logs whose losses are known."""

from types import SimpleNamespace

import pytest

from hwlab.costs.diagnosis import CAUSES, LEAST, diagnose


def step(writes=4, **said):
    usual = {
        "seconds": 0.01,
        "compiled": False,
        "prefill_tokens": 0,
        "prefill_sequences": 0,
        "recomputed_tokens": 0,
        "decode_sequences": writes,
        "idle": 0,
        "waiting": 0,
        "preempted": 0,
        "devices": 1,
    }
    return SimpleNamespace(**usual | said)


def test_places_are_shared_out_by_hand():
    """Five steps of four places: 4 used; 1 and 3 idle; 2 and 2 short; 1 read and 3 behind it; 3 and 1 unasked."""
    log = [
        step(4, waiting=1),
        step(1, idle=3, waiting=1),
        step(2, waiting=1),
        step(0, prefill_tokens=9, prefill_sequences=1, waiting=2),
        step(3),
    ]
    found = diagnose(log, max_batch=4)
    assert found.steps == 5
    assert (found.used, found.idle, found.short, found.queued, found.unasked) == (
        11 / 20,
        3 / 20,
        2 / 20,
        3 / 20,
        1 / 20,
    )
    assert found.factors["static batch"] == pytest.approx(14 / 11)
    assert found.factors["cache pressure"] == pytest.approx(13 / 11)
    assert found.factors["few requests"] == pytest.approx(12 / 11)
    assert found.cause == "static batch"


def test_tokens_computed_again_weigh_on_what_the_lack_of_blocks_costs():
    """Of 10 + 6 tokens computed 4 are computed again, so that 3/4 of the work counts; 3 places are short, 7 used."""
    log = [
        step(3, prefill_tokens=10, prefill_sequences=1, recomputed_tokens=4, preempted=1),
        step(2),
        step(1, waiting=1),
    ]
    found = diagnose(log, max_batch=4)
    assert (found.recomputed, found.preempted, found.short) == (4 / 16, 1, 3 / 12)
    assert found.factors["cache pressure"] == pytest.approx((1 + 3 / 7) / 0.75)
    assert found.cause == "cache pressure"


def test_a_step_that_takes_longer_on_one_device_pays_for_starts():
    well = [step(seconds=s) for s in (0.01, 0.02, 0.03)]
    found = diagnose([step(seconds=s) for s in (0.5, 0.06, 0.05)], max_batch=4, than=well)
    assert (found.longer, found.devices, found.cause) == (pytest.approx(3.0), 1.0, "launches")
    assert found.factors["exchange"] == 1.0


def test_a_step_on_two_devices_that_is_no_shorter_pays_for_exchange():
    found = diagnose([step(devices=2)] * 3, max_batch=4, than=[step()] * 3)
    assert (found.longer, found.factors["exchange"], found.cause) == (1.0, 2.0, "exchange")
    halved = diagnose([step(devices=2, seconds=0.0055)] * 3, max_batch=4, than=[step()] * 3)
    assert halved.factors["exchange"] == pytest.approx(1.1) and halved.cause is None


def test_steps_are_compared_where_they_only_write_and_compiled_nothing():
    log = [step(seconds=9.0, compiled=True), step(seconds=5.0, prefill_tokens=3, prefill_sequences=1, writes=1), step()]
    assert diagnose(log, max_batch=4, than=log).longer == 1.0
    with pytest.raises(ValueError, match="than has no step that only writes"):
        diagnose(log, max_batch=4, than=log[:2])
    with pytest.raises(ValueError, match="log has no step that only writes"):
        diagnose(log[:2], max_batch=4, than=log)


def test_a_run_that_is_well_has_no_cause():
    found = diagnose([step()] * 8 + [step(3)] * 2, max_batch=4)
    assert max(found.factors.values()) < LEAST and found.cause is None and set(found.factors) == set(CAUSES)
    assert diagnose([step(1)] * 3, max_batch=4).cause == "few requests"


def test_what_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match="the log is empty"):
        diagnose([], max_batch=4)
    with pytest.raises(ValueError, match="max_batch is 3 and a step of the log has 4 rows"):
        diagnose([step()], max_batch=3)
    with pytest.raises(ValueError, match="nothing to diagnose"):
        diagnose([step(0)], max_batch=3)
    with pytest.raises(TypeError, match=r"max_batch is 3\.5"):
        diagnose([step()], max_batch=3.5)


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"seconds": float("nan")}, ValueError, "record 1 of the log: seconds is nan; give a finite number above 0"),
        ({"idle": -1}, ValueError, "record 1 of the log: idle is -1; give a finite number from 0 on"),
        ({"waiting": None}, TypeError, "record 1 of the log: waiting is None; give a number from 0 on"),
        ({"devices": 0}, ValueError, "devices is 0; give a whole number of at least 1"),
        ({"recomputed_tokens": 2}, ValueError, "recomputed_tokens is 2 and prefill_tokens 0; those computed again"),
    ],
)
def test_a_number_of_a_log_that_cannot_be_is_named_with_its_step(wrong, error, says):
    with pytest.raises(error, match=says):
        diagnose([step(), step(**wrong)], max_batch=4)
    with pytest.raises(error, match=says.replace("the log", "than")):
        diagnose([step()], max_batch=4, than=[step(), step(**wrong)])


def test_a_record_without_what_is_read_of_it_is_named():
    with pytest.raises(TypeError, match="record 0 of the log is a dict without seconds, compiled, prefill_tokens"):
        diagnose([vars(step())], max_batch=4)
    with pytest.raises(ValueError, match="than is empty"):
        diagnose([step()], max_batch=4, than=[])


def test_a_run_that_only_computed_again_took_longer_without_bound():
    again = step(0, prefill_tokens=8, prefill_sequences=4, recomputed_tokens=8)
    found = diagnose([again], max_batch=4)
    assert (found.factors["cache pressure"], found.cause) == (float("inf"), "cache pressure")
