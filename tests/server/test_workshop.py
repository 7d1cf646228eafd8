"""Designs are made in a process that can be stopped, and that is made anew when it was."""

import os
import signal

import pytest

import errorfloor as ef
from errorfloor.access.failures import DoorError
from errorfloor.access.workshop import WantedDesign, Workshop
from errorfloor.errors import IllPosedError

INTERVAL = WantedDesign.model_validate({"support": {"kind": "Interval", "low": -0.5, "high": 0.5}})
LINE = WantedDesign.model_validate({"support": {"kind": "Reals", "dimension": 1}})


def test_process_is_made_when_needed_and_anew_when_it_died():
    workshop = Workshop(time_limit=60.0)
    try:
        assert workshop._process is None
        best = ef.design(ef.Interval(-0.5, 0.5))
        assert workshop.design(INTERVAL)["information"] == best.information.tolist()
        with pytest.raises(IllPosedError, match="noise of infinite variance is optimal"):
            workshop.design(LINE)
        first = workshop._process.pid
        assert first != os.getpid()
        os.kill(first, signal.SIGKILL)
        workshop._process.join()
        assert workshop.design(INTERVAL)["information"] == best.information.tolist()
        assert workshop._process.pid != first
    finally:
        workshop.close()
    assert workshop._process is None


def test_design_that_takes_too_long_is_stopped():
    workshop = Workshop(time_limit=0.01)  # less than a process takes to begin
    with pytest.raises(DoorError, match=r"not found within 0\.01 s") as late:
        workshop.design(INTERVAL)
    assert (late.value.status, late.value.code) == (503, "time")
    assert workshop._process is None


def test_a_process_that_cannot_be_started_is_tried_again(monkeypatch):
    workshop = Workshop(time_limit=60.0)
    with monkeypatch.context() as patched:
        patched.setattr("multiprocessing.context.SpawnProcess.start", _no_process_is_left)
        for _ in range(2):
            with pytest.raises(OSError, match="temporarily unavailable"):
                workshop._open()
    try:
        assert workshop.design(INTERVAL)["information"]
    finally:
        workshop.close()


def _no_process_is_left(_):
    raise BlockingIOError(11, "Resource temporarily unavailable")
