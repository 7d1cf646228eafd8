"""Short versions of what ``make bench`` does at length: kills under load, a race for what is left, order of syncs."""

import json
import subprocess
import sys
from itertools import groupby
from pathlib import Path

from repeated import rounds

ROOT = Path(__file__).parents[2]


def run(module, *arguments):
    command = [sys.executable, "-W", "error", "-m", f"benchmarks.{module}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_answer_that_was_received_is_charged_whenever_the_server_is_killed(ledger_place, tmp_path):
    """Eight clients, killed at random moments; every ledger that is left verifies."""
    ledger = ledger_place.place if "://" in ledger_place.place else "ledger.sqlite"
    found = run("kills", tmp_path, ledger, 20261115, rounds(3))
    assert found["wrong"] == []
    assert found["rounds"] == rounds(3)
    assert found["answers"] and found["answers"] + found["refused"] >= rounds(3)  # it was under load
    assert 0 < found["used"] <= 1


def test_sixty_four_clients_of_two_processes_never_overspend_the_last_hundredth(tmp_path):
    """On SQLite; on PostgreSQL two processes of a server race."""
    found = run("race", tmp_path, "ledger.sqlite", 2, 32)
    assert found["answered"] == found["charged"] == 10  # each costs a little less than a thousandth
    assert found["refused"] == 54
    assert 0.99 < found["used"] <= 1
    assert found["records"] == 12  # with that of the registration
    assert "its declared floor is 0.5 kWh" in found["words"]


def test_the_ledger_is_on_disk_before_the_scan_and_the_anchor_before_the_reply(traced_database):
    """Kills cannot show a missing sync: the operating system writes what a dead process left. System calls can."""
    found = run("sync_order", traced_database)
    assert len(found["safe"]) == 3
    for part in found["safe"]:  # scan and anchor do not wait for each other; what is released is kept after both
        assert part[:2] == ["dirty", "ledger"] and part[-1] == "reply"
        rest = part[2:-1]
        assert rest.count("scan") == rest.count("anchor") == 1
        without = [what for what in rest if what != "anchor"]  # which may come between two writes of one record
        assert [what for what, _ in groupby(without)] == ["scan", "dirty", "ledger"]
    assert len(found["unsafe"]) == 3
    assert not any("ledger" in answer for answer in found["unsafe"])  # a missing sync would show
    assert found["in_order"] == [[True] * 3, [False] * 3]
