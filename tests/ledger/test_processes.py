"""Processes that charge the same ledger at once, and processes that die while they charge."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from errorfloor.ledger import Account, FileAnchor
from repeated import rounds

WORKER = Path(__file__).with_name("worker.py")
KWH = Account("meters", "kwh", "")


def start(*arguments):
    command = [sys.executable, "-W", "error", str(WORKER), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def finish(*arguments):
    process = start(*arguments)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0
    return json.loads(output)


def test_four_processes_never_exceed_the_allowance(ledger_place):
    racers = [
        start("race", *ledger_place.arguments, name, 20, 50) for name in "abcd"
    ]  # they make the ledger at once too
    assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * 4
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    results = [json.loads(racer.communicate(timeout=300)[0]) for racer in racers]
    written = [label for result in results for label in result["written"]]
    assert len(written) == 50
    assert sum(result["refused"] for result in results) == 30
    with ledger_place.open() as ledger:
        assert ledger.spent([KWH])[KWH].information == 50.0
        assert ledger.known(written) == set(written)
        assert ledger.verify().head.sequence == 50
        assert FileAnchor(ledger_place.anchor).read() == ledger.head()


def test_what_was_reported_survives_a_kill_at_any_moment(ledger_place):
    kills = finish("crash", *ledger_place.arguments, 20260724, rounds(10))
    assert len(kills) == rounds(10)
    records = 0
    for left in kills:
        assert left["in_order"]
        assert left["halves"] == 0
        assert 1 <= left["reported"] <= left["present"] <= left["reported"] + 1
        records += 2 * left["present"]
        assert left["records"] == records == left["spent"] == left["anchored_now"]
        assert left["behind"] in (0, 2)


@pytest.mark.parametrize(
    ("point", "present", "behind"),
    [("before-commit", 1, 0), ("after-commit", 2, 2), ("during-anchor", 2, 2)],
)
def test_charge_survives_kill_before_answer(ledger_place, point, present, behind):
    with ledger_place.open():
        pass
    left = finish("crash-at", *ledger_place.arguments, point)
    assert (left["reported"], left["present"], left["halves"]) == (1, present, 0)
    assert left["behind"] == behind
    assert left["anchored_now"] == left["records"] == 2 * present
