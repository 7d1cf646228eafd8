"""``errorfloor register``: make immutable snapshots of the declared tables, and suggest a first question."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from errorfloor.catalogue import Catalogue, load
from errorfloor.catalogue.near import meant as nearest
from errorfloor.cli.app import AsJson, app, command, counted, messages, print_json
from errorfloor.cli.misread import show_value
from errorfloor.cli.questions import CatalogueFile
from errorfloor.engines import open_engine
from errorfloor.engines.sources import file_paths
from errorfloor.errors import CatalogueError, ErrorFloorError, InputError
from errorfloor.service import Database, open_database
from errorfloor.service.registering import ledger_exists, registering
from errorfloor.vault.growing import PartsFound
from errorfloor.vault.report import source_report, write_for_owner

SHARE = 0.02  # of the allowance, that the question takes at most
MOST_NAMED = 12  # parts in a line


def first_question(declared: Catalogue, names: list[str], file: Path) -> str:
    """Say what could be asked first, as a command; nothing where something was charged before.

    Nor is one suggested where none of this price would be answered. It is priced, which is free and reads no private
    column. On Spark a session would have to be started for that.
    """
    if declared.place.engine == "spark":
        return ""
    try:
        with open_database(file) as database:
            return next(filter(None, (_about(declared, name, database, file) for name in names)), "")
    except ErrorFloorError:  # without a key, for instance: then there is more to do before a question
        return ""


def _about(declared: Catalogue, name: str, database: Database, file: Path) -> str:
    table = declared.tables[name]
    if table.is_public:
        return ""
    column = next(iter(table.private), None)
    counting = table.hides_records or column is None
    sql = f"SELECT {'count(*) AS n' if counting else f'avg({column}) AS mean'} FROM {name}"
    bound = rounded_up(max(database.price(sql, spend=SHARE).max_error.values()))
    if column is not None and not counting:
        width = float(table.private[column].high - table.private[column].low)
        bound = max(bound, rounded_up(width / 100))
        if bound > width / 2:
            return ""  # it would say nothing that the range does not
    price = database.price(sql, max_error=bound)
    if not price.affordable or any(one.used_before for one in price.standings):
        return ""
    where = "" if file == Path("errorfloor.toml") else f" --catalogue {file}"
    taken = 100 * max((one.used_by_this for one in price.standings), default=0.0)
    share = f"{math.ceil(taken * 10 - 1e-9) / 10:g} % of the allowance"
    return f'a first question, which would take {share}: {command()} ask "{sql}" --max-error {bound:g}{where}'


def rounded_up(bound: float) -> float:
    """Write a bound with two digits, never below what it was.

    >>> rounded_up(12.34), rounded_up(0.0501), rounded_up(1800.0)
    (13.0, 0.051, 1800.0)
    """
    step = 10.0 ** (math.floor(math.log10(bound)) - 1)
    return float(f"{math.ceil(bound / step - 1e-9) * step:.12g}")


@contextmanager
def _showing(declared: Catalogue) -> Iterator[None]:
    """Where a field of a file cannot be read, show it on the terminal."""
    try:
        yield
    except CatalogueError as problem:
        for table in declared.tables.values():
            paths = file_paths(table.source, declared.folder) or []
            if problem.fields.get("path") in [str(path) for path in paths]:
                show_value(problem, table.source, table.read, declared.folder)
        raise


def _parts(found: PartsFound) -> Iterator[str]:
    """Say which parts were made and which were there; of many the first and the last."""
    states = {"new": found.new, "corrected": found.corrected, "unchanged": found.unchanged}
    for state, parts in (states | {"not in the source, and kept as registered": found.absent}).items():
        if parts:
            named = ", ".join(parts) if len(parts) <= MOST_NAMED else f"{parts[0]} … {parts[-1]}"
            yield f"  {counted(len(parts), 'part')} {state}: {named}"


@app.command()
def register(
    catalogue: CatalogueFile = Path("errorfloor.toml"),
    table: Annotated[
        list[str] | None, typer.Option(help="A table to register; default: all that the catalogue declares.")
    ] = None,
    copy_from: Annotated[
        Path | None, typer.Option(help="Copy snapshots, with their identities, from the vault of this catalogue.")
    ] = None,
    corrections: Annotated[
        bool,
        typer.Option(
            "--corrections",
            help="Register new versions of parts of a table that grows; without this the command says what they cost.",
        ),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write to this new file (JSON) what clamping and rounding did. It is private: only its owner may read "
            "it, and nothing of it is said anywhere else."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a snapshot of each declared table in the vault: private values clamped, in fixed point; row keys checked.

    A version is registered once. When the source has changed, declare a new version in the catalogue first. The first
    registration of a vault also makes the ledger; later ones need it to exist. Of a table with grows_by the parts that
    are new are added, and those that are there must be unchanged.
    """
    if report is not None and report.exists():
        raise InputError(f"{report} exists already: name another file for the report")
    declared = load(catalogue)
    names = table or list(declared.tables)
    unknown = [name for name in names if name not in declared.tables]
    if unknown:
        raise CatalogueError(
            f"{catalogue} declares no table {unknown[0]!r}; it has {nearest(unknown[0], declared.tables)}"
        )
    done: list[dict[str, Any]] = []
    had_ledger = ledger_exists(declared)
    other = None if copy_from is None else load(copy_from)
    work = registering(declared, names, copied_from=other, corrections=corrections)
    with messages.status(f"registering {', '.join(names)} …"), _showing(declared):
        for made in work:
            name, version, rows = made.snapshot.table_name, made.snapshot.version, made.snapshot.rows
            done.append({"table": name, "version": version, "rows": rows, "fresh": made.fresh})
            if made.parts is not None:
                done[-1]["parts"] = asdict(made.parts)
            if not as_json:
                state = "registered" if made.fresh else "was registered already, and is unchanged"
                most = "at most " if made.snapshot.table.hides_records else ""
                print(f"{name} version {version}: {most}{counted(rows, 'row')}, {state}")
                if made.parts is not None:
                    print("\n".join(_parts(made.parts)))
                for column, rule in declared.tables[name].private.items():
                    low, high, step = (f"{float(one):.12g}" for one in (*rule.range, rule.resolution))
                    unit = f" {rule.unit}" if rule.unit else ""
                    print(f"  {column}: private; values outside {low} … {high}{unit} are clamped, kept to {step}")
    if report is not None:
        with open_engine(declared.place, declared.folder, read_only=False) as engine:
            found = {
                name: source_report(declared, name, engine) for name in names if not declared.tables[name].is_public
            }
        write_for_owner(report, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    if as_json:
        print_json(done)
    if not had_ledger:
        messages.say(
            "made a new ledger, in which nothing is charged. If these tables were asked before, restore the ledger "
            "that was in use instead"
        )
    if not as_json and any(one["fresh"] for one in done):
        suggested = first_question(declared, names, catalogue)
        if suggested:
            messages.say(suggested)
