"""The page of the measurements, written from what the sections found when each was last run."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.report import Report, Table

TARGET = Path(__file__).parents[1] / "docs" / "performance.md"
OPENING = """# Measurements

Ratios, not times: whatever is compared was measured in one run on one machine. `make bench` measures and
writes this page; `python -m benchmarks {example}` repeats sections of it. Peers run in environments of their own.
*Load* is how many processes wanted to run when a section was done; more than there are cores make it rough."""


def page(reports: Iterable[Report]) -> str:
    """Give the page of the sections that were run."""
    found = list(reports)
    example = " ".join(report.section for report in found[:2]) or "draws"
    parts = [OPENING.format(example=example)]
    machines = list({str(report.machine): report.machine for report in found}.values())
    parts += ["## Machine" + "s" * (len(machines) > 1)] if machines else []
    for number, machine in enumerate(machines, 1):
        lead = f"{number}. " if len(machines) > 1 else ""
        parts.append(f"{lead}{_listed(machine)}.")
    shared = dict(set.intersection(*(set(report.versions.items()) for report in found)) if found else ())
    if shared:
        parts.append(f"Packages: {_listed({name: shared[name] for name in sorted(shared)})}.")
    for report in found:
        where = f", machine {machines.index(report.machine) + 1}" if len(machines) > 1 else ""
        parts += [f"## {report.section.replace('_', ' ').capitalize()}", report.about]
        for table in report.tables:
            parts += _table(table)
        own = {name: version for name, version in report.versions.items() if name not in shared} | report.peers
        busy = f", load {report.load}" if report.load else ""
        parts.append(f"<sub>Measured on {report.date}{where}{busy}{f', with {_listed(own)}' if own else ''}.</sub>")
    return "\n\n".join(part for part in parts if part) + "\n"


def _listed(named: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in named.items())


def _table(table: Table) -> list[str]:
    parts = [f"**{table.title}**"] if table.title else []
    parts += [table.picture] if table.picture else []
    if table.columns:
        lines = [table.columns, ["---", *["---:"] * (len(table.columns) - 1)], *table.rows]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    if table.notes:
        parts.append("\n".join(f"- {note}" for note in table.notes))
    return parts
