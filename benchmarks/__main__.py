"""Measure, side by side in one run, and write docs/performance.md: ``make bench``.

``python -m benchmarks`` runs every section, ``python -m benchmarks draws release`` these; ``--page`` writes the page
from what was found before. Each section is a module with a ``main(report)``; what it says of itself heads its part of
the page. A section that fails keeps what it found when it was last run, and the command fails at its end.
"""

import argparse
import datetime
import importlib
import os
import sys
import time
import traceback

from benchmarks.machine import machine, versions
from benchmarks.page import TARGET, page
from benchmarks.report import Report

SECTIONS = (
    *("draws", "peers", "library", "slopes", "attacks", "release", "questions", "cells"),
    *("peers_questions", "server", "ledger"),
    *("policies", "counts", "trajectories", "designs", "elements", "searched", "twins", "accounts", "cell_bounds"),
    *("joint_answers", "five_years", "peers_records"),
)


def measure(section: str) -> None:
    """Run one section and keep what it finds."""
    module = importlib.import_module(f"benchmarks.{section}")
    report = Report(section, about=(module.__doc__ or "").strip())
    module.main(report)
    report.date, report.load = f"{datetime.date.today()}", f"{os.getloadavg()[1]:.1f}"
    report.machine, report.versions = machine(), versions()
    report.keep()


def main(wanted: list[str]) -> int:
    """Run sections one after the other, show how far it is, write the page; give the exit code."""
    failed = []
    for number, section in enumerate(wanted, 1):
        print(f"\n[{number}/{len(wanted)}] {section}", file=sys.stderr, flush=True)
        start = time.perf_counter()
        try:
            measure(section)
        except Exception:
            traceback.print_exc()
            failed.append(section)
        print(f"[{number}/{len(wanted)}] {section}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    found = [report for section in SECTIONS if (report := Report.kept(section))]
    TARGET.write_text(page(found))
    print(f"\nwrote {TARGET}, {len(found)} of {len(SECTIONS)} sections", file=sys.stderr)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "sections", nargs="*", metavar="section", help=f"of {', '.join(SECTIONS)}; all if none is named"
    )
    parser.add_argument("--page", action="store_true", help="measure nothing; write the page")
    given = parser.parse_args()
    if unknown := [name for name in given.sections if name not in SECTIONS]:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    sys.exit(main([] if given.page else given.sections or list(SECTIONS)))
