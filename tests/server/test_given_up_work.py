"""Work that was given up may fail later: nobody waits for it, and nothing of it gets into a log."""

import asyncio
import gc
import logging
import time

import pytest

from errorfloor.server.failures import DoorError
from errorfloor.server.threads import Threads


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
