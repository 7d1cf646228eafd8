"""Work that was given up may fail later: nobody waits for it, and nothing of it gets into a log."""

import asyncio
import gc
import logging
import threading
import time

import pytest

from errorfloor.access.failures import DoorError
from errorfloor.access.threads import Threads


def test_a_failure_after_the_time_is_over_is_not_logged(caplog):
    threads = Threads(1, waiting=1, time_limit=0.05)

    def fails():
        time.sleep(0.3)
        raise ValueError("17.231")

    async def given_up():
        with pytest.raises(DoorError, match="not done within"):
            await threads.run(fails)
        await asyncio.sleep(0.6)
        gc.collect()  # a future that nobody asked says so when it goes

    with caplog.at_level(logging.DEBUG):
        asyncio.run(given_up())
    threads.close()
    assert "17.231" not in caplog.text
    assert "never retrieved" not in caplog.text


def test_a_failure_just_as_the_client_goes_away_is_not_logged(caplog):
    threads, entered, go_on = Threads(1, waiting=1, time_limit=5.0), threading.Event(), threading.Event()

    def fails():
        entered.set()
        go_on.wait(5)
        raise ValueError("17.231")

    async def cut():
        working = asyncio.create_task(threads.run(fails))
        while not entered.is_set():
            await asyncio.sleep(0.005)
        working.cancel()
        go_on.set()
        time.sleep(0.2)  # it fails before this loop hears of the cancellation
        with pytest.raises(asyncio.CancelledError):
            await working
        await asyncio.sleep(0.05)
        del working
        gc.collect()

    with caplog.at_level(logging.DEBUG):
        asyncio.run(cut())
    threads.close()
    assert "17.231" not in caplog.text
    assert "never retrieved" not in caplog.text
