"""What processes count together outlives its folder, and holds between processes."""

import asyncio
import hashlib
import shutil
import subprocess
import sys
from itertools import islice

import pytest

from errorfloor.access.audit import AuditLog, VisitorsBook
from errorfloor.access.failures import DoorError
from errorfloor.access.limits import Rates, UnderWay
from errorfloor.access.metrics import Metrics
from errorfloor.access.shared import PROBES, SLOTS, SharedNumbers, SharedSeats
from errorfloor.access.visit import visit_of
from errorfloor.server import Settings
from errorfloor.server.gate import Gate

HOLDER = """
import sys
from pathlib import Path
from errorfloor.access.shared import SharedSeats

print(SharedSeats(Path(sys.argv[1])).take("anna", 1), flush=True)
sys.stdin.read()
"""


def test_a_seat_is_free_again_when_its_process_is_killed(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "True\n"
    seats = SharedSeats(tmp_path)
    assert not seats.take("anna", 1)
    holder.kill()
    holder.communicate()
    assert seats.take("anna", 1)
    seats.leave("anna")


def test_a_folder_that_somebody_cleaned_stops_nobody(tmp_path):
    folder = tmp_path / "counts"
    rates, seats = Rates(1.0, 2, folder), SharedSeats(folder)
    shutil.rmtree(folder)
    rates.take("anna")
    assert seats.take("anna", 1)
    seats.leave("anna")
    Rates(1.0, 2, folder).close()  # as a process does that is started anew
    rates.close()


@pytest.mark.parametrize("is_shared", [False, True])
def test_nobody_can_choose_names_that_push_out_another(tmp_path, is_shared):
    """Requests without a token are counted by address, of which anybody has many in the newer Internet."""

    def first(name):
        return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % SLOTS

    rates = Rates(1e-3, 1, tmp_path if is_shared else None)
    rates.take("anna")
    near = (f"from 2001:db8::{number:x}" for number in range(10**6))
    for name in islice((one for one in near if abs(first(one) - first("anna")) < PROBES), 3 * PROBES):
        rates.take(name)
    with pytest.raises(DoorError, match="requests per second"):
        rates.take("anna")
    rates.close()


def test_more_names_than_there_is_room_for_push_out_the_oldest(tmp_path, monkeypatch):
    monkeypatch.setattr("errorfloor.access.shared.SLOTS", 8)
    numbers = SharedNumbers(tmp_path / "numbers")
    for then in range(1, 10):
        numbers.change(f"name {then}", lambda count, _, then=then: (count + 1, float(then)))
    assert numbers.change("name 9", lambda count, then: (count, then)) == (1.0, 9.0)
    assert numbers.change("name 1", lambda count, then: (count, 10.0)) == (0.0, 10.0)
    numbers.close()


def test_a_reply_that_never_begins_is_counted_off(tmp_path):
    """The client stops reading before the head of a large reply is sent."""

    async def app(scope, receive, send):
        visit_of(scope).ended.append(under_way.enter("anna"))
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def stuck(_):
        raise asyncio.CancelledError

    under_way = UnderWay(1)
    gate = Gate(app, Settings(), VisitorsBook(Metrics(), AuditLog(tmp_path / "audit.log")))
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "http_version": "1.1", "scheme": "http"}
    for _ in range(2):
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(gate(dict(scope), None, stuck))
