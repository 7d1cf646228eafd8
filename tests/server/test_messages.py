"""The server's messages reach whoever reads them, and stop nobody if nobody does."""

import logging
import os
import threading

from errorfloor.server import messages
from errorfloor.server.messages import MOST, Messages


def test_a_pipe_that_nobody_reads_holds_nobody_up(monkeypatch):
    monkeypatch.setattr(messages, "PATIENCE", 0.1)
    reading, writing = os.pipe()
    log = logging.Logger("unread")
    handler = Messages(writing)
    log.addHandler(handler)
    logging_thread = threading.Thread(target=lambda: [log.error("x" * 1000) for _ in range(3 * MOST)], daemon=True)
    logging_thread.start()
    logging_thread.join(30)
    assert not logging_thread.is_alive()
    handler.close()
    os.close(reading)
    os.close(writing)


def test_a_served_catalogue_says_what_is_wrong_on_the_standard_error(capfd):
    log = logging.Logger("read")
    handler = Messages()
    log.addHandler(handler)
    log.error("the ledger is away: %s", "no such host")
    handler.close()
    assert capfd.readouterr().err == "the ledger is away: no such host\n"
