"""Processes that charge one ledger, and are killed: run by the tests of crashes and of processes.

race PLACE ANCHOR NAME ATTEMPTS LIMIT     charge one unit ATTEMPTS times; print what was written and what was refused
profiles PLACE ANCHOR SEED COUNT LIMIT    charge COUNT random profiles; print the numbers of those that were written
crash PLACE ANCHOR SEED ROUNDS            kill a charging process ROUNDS times, anywhere; print what each round left
crash-at PLACE ANCHOR POINT               kill a charging process at one point of its second charge
"""

import hashlib
import json
import math
import os
import random
import signal
import sys
import time

from errorfloor.accounts import PLACES, Profile
from errorfloor.errors import AllowanceError
from errorfloor.ledger import Account, Charge, Entry, FileAnchor, SqlLedger
from errorfloor.ledger.book import Book

KWH = Account("meters", "kwh", "")
TERMS = {"meters": {"account_by": []}}


STEP = Profile("1", (1.0,) * 10 + (0.25,) * (PLACES - 10), (0.0,) * PLACES)


def entry(name, charge=None):
    """One unit; of the second of a pair, at some places only."""
    one = charge or Charge(1.0, 0.0, 0.0, STEP if name.endswith("b") else None)
    return Entry(hashlib.sha256(name.encode()).hexdigest(), {KWH: one}, {"output": name})


def drawn(seed, count):
    """Charges of two versions, most of them with a profile: numbers of all sizes, zero at many places."""
    chance = random.Random(seed)
    for _ in range(count):
        sizes = [10.0 ** chance.uniform(-9, 0) if chance.random() < 0.5 else 0.0 for _ in range(2 * PLACES)]
        kinds = tuple(sizes[:PLACES]), tuple(sizes[PLACES:])
        profile = Profile(chance.choice("12"), *kinds) if chance.random() < 0.8 else None
        yield Charge(max(kinds[0]), chance.random() * 1e-3, max(kinds[1]), profile)


def profiles(place, anchor, seed, count, limit):
    written = []
    with SqlLedger(place, FileAnchor(anchor), create=True) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        for number, charge in enumerate(drawn(int(seed), int(count))):
            try:
                room = {KWH: Charge(float(limit), 1.0, float(limit))}
                ledger.charge([entry(f"{seed}-{number}", charge)], room, TERMS)
                written.append(number)
            except AllowanceError:
                pass
    print(json.dumps(written))


def race(place, anchor, name, attempts, limit):
    written, refused = [], 0
    with SqlLedger(place, FileAnchor(anchor), create=True) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(attempts)):
            one = entry(f"{name}-{number}")
            try:
                ledger.charge([one], {KWH: Charge(float(limit), 0.0)}, TERMS)
                written.append(one.label)
            except AllowanceError:
                refused += 1
    print(json.dumps({"written": written, "refused": refused}))


def charge_forever(place, anchor, name, report):
    """Charge two entries at a time, and report them once they are charged."""
    with SqlLedger(place, FileAnchor(anchor), create=True) as ledger:
        os.write(report, b"open\n")
        for number in range(10**9):
            ledger.charge([entry(f"{name}-{number}-{half}") for half in "ab"], {KWH: Charge(1e9, 0.0)}, TERMS)
            os.write(report, f"{number}\n".encode())


def killed(place, anchor, name, *, after=None, point=None):
    """Start a process, kill it, and say what it reported and what the ledger holds.

    ``after`` counts charges, so that a slow machine does not matter: 2.7 waits for three, and then for up to two more.
    """
    receive, report = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        if point is not None:
            kill_at(point)
        charge_forever(place, anchor, name, report)
    os.close(report)
    with os.fdopen(receive) as reports:
        assert reports.readline() == "open\n"
        reported = []
        if after is not None:
            started = time.monotonic()
            reported = [int(reports.readline()) for _ in range(math.ceil(after))]
            each = (time.monotonic() - started) / len(reported)
            time.sleep(each * (after - math.floor(after)) * 2)
            os.kill(child, signal.SIGKILL)
        reported += [int(line) for line in reports]
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    anchored = FileAnchor(anchor).read()
    with SqlLedger(place, FileAnchor(anchor), create=True) as ledger:
        replay = ledger.verify()
        pairs = [
            [half in ledger.known([half]) for half in (entry(f"{name}-{n}-a").label, entry(f"{name}-{n}-b").label)]
            for n in range(len(reported) + 2)
        ]
        spent = ledger.spent([KWH])[KWH].information
    return {
        "reported": len(reported),
        "in_order": reported == list(range(len(reported))),
        "present": sum(pair == [True, True] for pair in pairs),
        "halves": sum(pair[0] != pair[1] for pair in pairs),
        "records": replay.head.sequence,
        "spent": spent,
        "behind": replay.head.sequence - anchored.sequence,
        "anchored_now": FileAnchor(anchor).read().sequence,
    }


def kill_at(point):
    """Die at one point of the second charge: before or after its commit, or while the anchor is replaced."""

    def second(times=[]):  # noqa: B006 (it counts)
        times.append(1)
        if len(times) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    if point == "before-commit":
        append = Book.append
        Book.append = lambda self, *given: (append(self, *given), second())[0]
    elif point == "after-commit":
        advance = FileAnchor._write
        FileAnchor._write = lambda self, head: (second() if head.sequence else None, advance(self, head))[1]
    else:
        write = os.pwrite
        halves = []

        def torn(descriptor, block, offset):
            halves.append(block)
            if len(halves) == 2:  # half of it reaches the file
                write(descriptor, block[:60], offset)
                os.kill(os.getpid(), signal.SIGKILL)
            return write(descriptor, block, offset)

        os.pwrite = torn


if __name__ == "__main__":
    command, place, anchor, *rest = sys.argv[1:]
    if command == "race":
        race(place, anchor, *rest)
    elif command == "profiles":
        profiles(place, anchor, *rest)
    elif command == "crash":
        seed, rounds = map(int, rest)
        moments = random.Random(seed)
        print(json.dumps([killed(place, anchor, f"{n}", after=moments.uniform(0, 4)) for n in range(rounds)]))
    else:
        print(json.dumps(killed(place, anchor, "once", point=rest[0])))
