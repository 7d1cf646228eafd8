"""Trace the system calls of a process that answers: what is charged is on disk before anything private is read.

``python -m benchmarks.sync_order sqlite`` (or ``postgresql``) prints, for each answer, what happened in which order:
``ledger`` the ledger's log reached the disk, ``anchor`` the anchor did, ``scan`` the private columns are about to be
read, ``reply`` the answer is handed over. A write to the ledger's log that is not yet on disk shows as ``dirty``.
It does so twice: the second time the ledger's database is told not to wait for the disk, and the trace must show it.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.cluster import cluster
from benchmarks.kills import QUESTION, Readings
from errorfloor.answering import releasing

CALLS = "trace=fsync,fdatasync,pwrite64,write"
LINE = re.compile(r"^(?:\d+ +)?(\d+\.\d+) (\w+)\((?:\d+<([^>]*)>)?,? ?(.*)$")


def answer(folder: str, ledger: str, count: str, unsafe: str) -> None:
    """Ask some questions; mark in the trace when the private columns are read and when the answer is there."""
    marks = os.open(Path(folder) / "marks", os.O_WRONLY | os.O_CREAT)
    look = releasing.scanned

    def looked(*given: Any) -> Any:
        os.write(marks, b"scan")
        return look(*given)

    releasing.scanned = looked
    with Readings(Path(folder)).open(ledger) as database:
        if unsafe == "unsafe" and "://" not in ledger:  # PostgreSQL was started without fsync
            connections = database.ledger._database.connections  # type: ignore[attr-defined]
            with connections.lend() as first:  # all its questions are asked on this one
                first.run("PRAGMA synchronous=OFF")
        for number in range(int(count)):
            database.ask(QUESTION, max_error=0.3 / (1 + number / 1000))
            os.write(marks, b"reply")


def events(trace: str) -> list[tuple[float, str]]:
    """Give what matters of a trace: when, and what."""
    found = []
    for line in trace.splitlines():
        matched = LINE.match(line.replace(" (deleted)", ""))
        if matched is None:
            continue
        time, call, path, rest = float(matched[1]), matched[2], Path(matched[3] or ""), matched[4]
        log = path.name.endswith("-wal") or path.parent.name == "pg_wal"
        if path.name == "marks":
            found.append((time, "scan" if '"scan"' in rest else "reply"))
        elif call in ("fsync", "fdatasync") and (log or path.name == "ledger.anchor"):
            found.append((time, "ledger" if log else "anchor"))
        elif log:
            found.append((time, "dirty"))
    return found


def by_answer(found: list[tuple[float, str]]) -> list[list[str]]:
    """Cut the events at the replies; the first part, in which the ledger is made, is left out."""
    parts: list[list[str]] = [[]]
    for _, what in sorted(found):
        if not (parts[-1] and parts[-1][-1] == what == "dirty"):
            parts[-1].append(what)
        if what == "reply":
            parts.append([])
    return parts[1:-1]


def in_order(part: list[str]) -> bool:
    """Say whether the ledger was on disk before the scan began and the anchor followed, and both before the reply."""
    before = part[: part.index("scan")]
    if part[-1] != "reply" or "ledger" not in before or "anchor" not in part:
        return False
    written = [place for place, what in enumerate(before) if what == "dirty"]
    synced = max(place for place, what in enumerate(before) if what == "ledger")
    return bool(written) and min(written) < synced < part.index("anchor")


def traced(ledger: str, *, count: int = 4, unsafe: bool = False) -> list[list[str]]:
    """Trace a process that asks, with a ledger on either database; give the events of each answer but the first."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        Readings(here)

        def run(place: str) -> list[tuple[float, str]]:
            trace = here / "trace"
            command = [*strace(trace), sys.executable, "-m", "benchmarks.sync_order", "answer", folder, place]
            subprocess.run([*command, str(count), "unsafe" if unsafe else "safe"], check=True)
            return events(trace.read_text())

        if ledger == "sqlite":
            return by_answer(run("ledger.sqlite"))
        there = Path(tempfile.mkdtemp(prefix="errorfloor-trace-"))
        there.chmod(0o777)
        options = ["fsync=off"] if unsafe else []
        with cluster(options=options, under=strace(there / "trace")) as url:
            ours = run(url)
        theirs = events((there / "trace").read_text())
        (there / "trace").unlink()
        there.rmdir()
        return by_answer(ours + theirs)


def strace(output: Path) -> list[str]:
    """Give the command that traces another one, with times, and with paths in place of descriptors."""
    return ["strace", "-f", "-ttt", "-y", "-s", "16", "-e", CALLS, "-o", str(output)]


if __name__ == "__main__":
    if sys.argv[1] == "answer":
        answer(*sys.argv[2:])
    else:
        parts = {name: traced(sys.argv[1], unsafe=name == "unsafe") for name in ("safe", "unsafe")}
        print(json.dumps(parts | {"in_order": [[in_order(part) for part in parts[name]] for name in parts]}))
