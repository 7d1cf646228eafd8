"""Many clients ask at once for the last hundredth of an allowance: it is never overspent.

``python -m benchmarks.race FOLDER LEDGER PROCESSES CLIENTS`` prints what came out as JSON. Each client, a thread of one
of the processes, asks for another answer that costs a thousandth of the allowance, when 99 hundredths are spent.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.kills import QUESTION, Readings, in_child
from errorfloor.errors import AllowanceError
from errorfloor.ledger import Charge, Entry


def spend_most(table: Readings, ledger: str) -> float:
    """Spend 99 hundredths; give the bound of an answer that costs a thousandth."""
    with table.open(ledger) as database:
        priced = database.price(QUESTION, spend=0.001)
        ((account, whole),) = priced.prepared.plan.allowances.items()
        most = Entry("ab" * 32, {account: Charge(0.99 * whole.information, 0.0, 0.99 * whole.raised_cosine)}, {})
        database.ledger.charge([most], {account: whole}, priced.prepared.terms)
        return priced.max_error["mean"]


def clients(table: Readings, ledger: str, numbers: range, bound: float, go: int) -> dict[str, list[str]]:
    """Ask from many threads once nobody holds the other end of ``go``; give who was answered and who was not."""
    answered: list[str] = []
    refused: list[str] = []
    with table.open(ledger) as database:
        start = threading.Event()

        def ask(number: int) -> None:
            start.wait()
            try:
                answer = database.ask(QUESTION.replace("kwh", f"kwh + {number}", 1), max_error=bound)
            except AllowanceError as problem:
                refused.append(str(problem))
                return
            label = answer.prepared.outputs[0].label
            assert label is not None
            answered.append(database._key.release_id(label))

        threads = [threading.Thread(target=ask, args=(number,)) for number in numbers]
        for thread in threads:
            thread.start()
        os.read(go, 1)
        start.set()
        for thread in threads:
            thread.join()
    return {"answered": answered, "refused": refused}


def race(folder: Path, ledger: str, processes: int, each: int) -> dict[str, Any]:
    """Let them race; give who was answered and how the ledger stands."""
    table = Readings(folder)
    bound = result(start(lambda: spend_most(table, ledger)))
    go, hold = os.pipe()

    def racer(first: int) -> dict[str, list[str]]:
        os.close(hold)
        return clients(table, ledger, range(first, first + each), bound, go)

    racers = [start(lambda first=n * each: racer(first)) for n in range(processes)]
    os.close(hold)
    results = [result(one) for one in racers]
    answered = [label for found in results for label in found["answered"]]
    with table.open(ledger) as database:
        return {
            "answered": len(answered),
            "refused": sum(len(found["refused"]) for found in results),
            "charged": len(database.ledger.known(answered)),
            "used": database.left()[0].used,
            "records": database.ledger.verify().head.sequence,
            "words": next(words for found in results for words in found["refused"]),
        }


def start(work: Callable[[], Any]) -> tuple[int, int]:
    """Start work in a process of its own."""

    def reporting(report: int) -> None:
        with os.fdopen(report, "w") as pipe:
            pipe.write(json.dumps(work()))
        os._exit(0)

    return in_child(reporting)


def result(child: tuple[int, int]) -> Any:
    """Wait for a process, and give the result of its work."""
    with os.fdopen(child[1]) as pipe:
        text = pipe.read()
    assert os.waitpid(child[0], 0)[1] == 0
    return json.loads(text)


if __name__ == "__main__":
    folder, ledger, processes, each = sys.argv[1:]
    print(json.dumps(race(Path(folder), ledger, int(processes), int(each))))
