"""A server that is killed in the middle of a trip, again and again: run by the test of restarts.

python stream_worker.py FOLDER STEP STEP …     answer a trip, killed before each of these steps, and then to its end
"""

import os
import signal
import sys
from fractions import Fraction
from pathlib import Path

from errorfloor.catalogue import PrivateColumn
from errorfloor.dynamics import LinearSystem
from errorfloor.identity import KeyRing
from errorfloor.ledger import FileAnchor, SqlLedger
from errorfloor.streams import Stream

HORIZON = 400


def vehicle(horizon=HORIZON):
    step = [[1.0, 0.1, 0.0, 0.0], [0.0, 0.99, 0.0, 0.0], [0.0, 0.0, 1.0, 0.1], [0.0, 0.0, 0.0, 0.99]]
    seen = [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    return LinearSystem(step, seen, horizon, states=("east", "east speed", "north", "north speed"))


def place(floor=15):
    return PrivateColumn(range=(Fraction(-5000), Fraction(5000)), resolution=Fraction(1, 10), floor=floor, unit="m")


def open_stream(folder, **options):
    ledger = SqlLedger(Path(folder) / "ledger.sqlite", FileAnchor(Path(folder) / "anchor"), create=True)
    plan = options.pop("plan", None) or vehicle().protect(max_loss=400 * 1e4, protect=["east", "north"])
    states = {"east": place(), "north": place()}
    return Stream(plan, name="cars", states=states, keys=KeyRing(Path(folder) / "keys.json"), ledger=ledger, **options)


def truth(k):
    return [0.3 * k, 20.0 + 0.01 * k * k]


def drive(folder, until, plan):
    """Go on where the file of answers ends, and write every answer before the next."""
    out = Path(folder) / "answers.txt"
    done = len(out.read_text().splitlines()) if out.exists() else 0
    trip = open_stream(folder, plan=plan).trip("car 7", "monday")
    trip.seek(done)
    with out.open("a") as file:
        for k in range(done, HORIZON + 1):
            if k == until:
                os.kill(os.getpid(), signal.SIGKILL)
            file.write(" ".join(float(value).hex() for value in trip.answer(truth(k))) + "\n")
            file.flush()


def main(folder, *steps):
    first = open_stream(folder)  # what is loaded and planned once need not be by every child
    first.ledger.close()
    for until in [*map(int, steps), HORIZON + 1]:
        child = os.fork()
        if child == 0:
            drive(folder, until, first.plan)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print("killed" if killed else os.WEXITSTATUS(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
