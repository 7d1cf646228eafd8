"""The release of a declared, registered table: charged to its accounts like any other answer."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from errorfloor.bulk.charging import charges, evaluation_error, exposure
from errorfloor.bulk.columns import ReleasedColumn
from errorfloor.bulk.files import Copying, check_target
from errorfloor.bulk.perturbation import noise_label
from errorfloor.bulk.report import ChargedRelease
from errorfloor.bulk.request import Request, plan_columns
from errorfloor.bulk.ruled import RuledColumn
from errorfloor.bulk.snapshots import SnapshotTable
from errorfloor.bulk.tables import TableFile
from errorfloor.bulk.workplace import workplace
from errorfloor.catalogue import Catalogue, Table, load, stored_distance
from errorfloor.engines import Engine, open_engine
from errorfloor.errors import AllowanceError, AnswerFailedError, ErrorFloorError, InputError
from errorfloor.floors.words import rounded_down
from errorfloor.identity import Key, KeyRing
from errorfloor.ledger import Entry, Ledger, open_ledger
from errorfloor.noise import Noise
from errorfloor.policies import Policy
from errorfloor.service.advice import consequence, room
from errorfloor.service.noises import rounded_up
from errorfloor.service.preparation import allowances_of
from errorfloor.service.standing import Standing, standings
from errorfloor.service.sticky import release_id
from errorfloor.service.terms import terms_of
from errorfloor.support import Interval
from errorfloor.vault import Snapshot, snapshot
from errorfloor.vault.snapshot import name_of


@dataclass(frozen=True)
class Wanted:
    """What the caller chooses; all else is declared."""

    columns: Mapping[str, Noise | Interval | Policy]
    batch: str
    steps: Mapping[str, str]
    overwrite: bool
    progress: Callable[[int], None] | None


def release_table(file: Path, table_name: str | None, outlet: TableFile, wanted: Wanted) -> ChargedRelease:
    """Charge the release of a table to its accounts, durably, and only then read its private columns.

    Guarantee: what was charged before under the same table, version, batch, noise and key is free, and gives the same
    numbers; nothing is charged and nothing written if an allowance does not suffice.
    """
    catalogue = load(file)
    if table_name is None:
        raise InputError(f"name the table to release; {file} declares {', '.join(catalogue.tables) or 'none'}")
    if catalogue.place.engine != "duckdb":
        raise InputError(
            f"{file} keeps its snapshots on {catalogue.place.engine}, and tables are released from DuckDB vaults only: "
            f"ask for the rows in aggregates, or register the table in a DuckDB vault"
        )
    sources = [catalogue.folder / table.source.partition("::")[0] for table in catalogue.tables.values()]
    vault = (catalogue.folder / catalogue.place.snapshots).resolve()
    check_target(outlet, [vault, *sources], overwrite=wanted.overwrite)
    ring = KeyRing(catalogue.folder / catalogue.place.keys)
    with (
        open_ledger(catalogue.place, catalogue.folder) as ledger,
        open_engine(catalogue.place, catalogue.folder, read_only=True) as engine,
    ):
        taken = snapshot(catalogue, table_name, engine)
        file = vault / f"{name_of(table_name, taken.version)}.duckdb" if vault.is_dir() else vault
        source = SnapshotTable(file, taken)
        request = _request(source.snapshot, wanted, ring)
        priced = _priced(request, source, catalogue, engine)
        return _released(request, source, outlet, wanted, priced, ledger)


def refuse_declared(given: Mapping[str, Any]) -> None:
    """Refuse what a catalogue settles: what it declares, that rows leave sorted, that a second draw is charged.

    >>> refuse_declared({"key": None, "ranges": {"kwh": (0, 50)}})
    Traceback (most recent call last):
    errorfloor.errors.InputError: a catalogue settles what a declared table is released with: leave out ranges
    """
    names = [name for name, value in given.items() if value]
    if names:
        raise InputError(f"a catalogue settles what a declared table is released with: leave out {', '.join(names)}")


def _request(taken: Snapshot, wanted: Wanted, ring: KeyRing) -> Request:
    table, table_name = taken.table, taken.table_name
    for name in wanted.columns:
        if name not in table.private:
            kind = "public" if name in table.public else "not declared"
            raise InputError(
                f"{table_name}.{name} is {kind}: noise goes to private columns, which are "
                f"{', '.join(table.private) or 'none here'}"
            )
    declared = {name: table.private[name] for name in wanted.columns}
    columns = plan_columns(
        wanted.columns,
        table.row_key,
        wanted.batch,
        {name: (float(column.low), float(column.high)) for name, column in declared.items()},
        {name: column.unit for name, column in declared.items()},
        wanted.steps,
        "clamp",
        "keep",
    )
    return Request(
        columns=tuple(_ruled(column, table) for column in columns),
        key=table.row_key,
        batch=wanted.batch,
        ring=ring,
        public=tuple(table.public),
        overwrite=wanted.overwrite,
        progress=wanted.progress,
        declared=taken.whose,
    )


def _ruled(column: RuledColumn, table: Table) -> RuledColumn:
    declared = table.private[column.name]
    coarse = declared.resolution > declared.floor / 10
    nulls = "keep" if declared.nulls == "public" else "refuse"
    return replace(
        column,
        nulls=nulls,
        spacing=float(declared.resolution) if coarse else None,
        evaluation_error=evaluation_error(column),
        distance=declared.example,
        stored=stored_distance(declared),
    )


@dataclass(frozen=True)
class _Priced:
    """A release as the ledger sees it, and what may be said of it before it is charged."""

    snapshot: Snapshot
    entries: tuple[Entry, ...]
    chosen: tuple[str, ...]
    report: ChargedRelease
    secret: Key

    @property
    def table(self) -> Table:
        """What is declared of it."""
        return self.snapshot.table

    def stand(self, ledger: Ledger, fresh: Sequence[bool], *, charged: bool) -> tuple[Standing, ...]:
        """Say how the accounts stand once this is charged."""
        limits = allowances_of(self.table, [account for entry in self.entries for account in entry.charges])
        return standings(ledger, self.table, self.entries, limits, fresh=fresh, charged=charged)


def _priced(request: Request, source: SnapshotTable, catalogue: Catalogue, engine: Engine) -> _Priced:
    """Price a release; public columns only are read."""
    taken, secret = source.snapshot, request.ring.current
    schema = source.schema(engine)
    chosen, left_out = request.choose(schema)
    entries = []
    for column in request.columns:
        shown = exposure(catalogue, taken, column.name, engine)
        cost = charges(column, taken.table.private[column.name], taken.table_name, shown)
        note = {"release": column.name, "batch": request.batch}
        note |= {"table": taken.table_name, "version": taken.version, "key": secret.id}
        label = noise_label(schema, column, request.key, request.naming)
        entries.append(Entry(release_id(secret, label), cost, note))
    unchanged = tuple(name for name in chosen if name in taken.table.public)
    report = ChargedRelease(
        target=Path(),
        rows=0,
        batch=request.batch,
        key_id=secret.id,
        columns=request.columns,
        unchanged=unchanged,
        left_out=left_out,
        table=taken.table_name,
        version=taken.version,
    )
    return _Priced(taken, tuple(entries), tuple(chosen), report, secret)


def _released(
    request: Request, source: SnapshotTable, outlet: TableFile, wanted: Wanted, priced: _Priced, ledger: Ledger
) -> ChargedRelease:
    report = replace(priced.report, target=outlet.path)
    with workplace(outlet.path) as scratch:
        fresh = _charge(wanted, priced, ledger)
        copying = Copying(request, source, outlet, scratch, priced.chosen, source.stamp(), priced.secret, report)
        rows = None
        try:
            rows = copying.run()
        except ErrorFloorError:
            raise  # in fixed words
        except Exception:  # leaving the block drops it, so that nothing of it stays in the error below
            rows = None
        if rows is None:
            raise AnswerFailedError
    return replace(report, rows=rows, fresh=tuple(fresh), standings=priced.stand(ledger, fresh, charged=True))


def _charge(wanted: Wanted, priced: _Priced, ledger: Ledger) -> list[bool]:
    accounts = [account for entry in priced.entries for account in entry.charges]
    terms = terms_of(priced.report.table, priced.table, accounts, [priced.snapshot])
    try:
        return ledger.charge(priced.entries, allowances_of(priced.table, accounts), terms)
    except AllowanceError as problem:
        known = ledger.known([entry.label for entry in priced.entries])
        fresh = [entry.label not in known for entry in priced.entries]
        new = [column for column, is_new in zip(priced.report.columns, fresh, strict=True) if is_new]
        words = advice(wanted, new, priced.stand(ledger, fresh, charged=False))
        raise AllowanceError(words, **problem.fields) from None


def advice(wanted: Wanted, columns: Sequence[RuledColumn], stand: Sequence[Standing]) -> str:
    """Say which floor a release would break and what would keep all of them, from public facts alone."""
    text = consequence(max(stand, key=lambda standing: standing.used), "release")
    factor = room(stand)
    if factor <= 1e-9:
        return f"{text}: the allowance is used up; what was released before can be released again, free of charge"
    noisy = [column for column in columns if isinstance(column, ReleasedColumn)]
    ways = [_wider_noise(wanted, noisy, factor)] if noisy else []
    for column in columns:
        if not isinstance(column, ReleasedColumn):  # other answers, other roundings: a little less than the factor
            most = rounded_down(column.information * factor * (1 - 1e-4))
            ways.append(f"a policy for {column.name} whose largest information is at most {most}")
    return f"{text}: release it with {' and '.join(ways)}"


def _wider_noise(wanted: Wanted, columns: Sequence[ReleasedColumn], factor: float) -> str:
    scale = rounded_up(1 / math.sqrt(factor))
    while not all(_fits(column, wanted, scale, factor * (1 - 1e-9)) for column in columns):
        scale = rounded_up(scale * 1.001)
    ends = {one.name: _wider(one, scale) for one in columns if _bounded(one)}
    wider = [f"{name} {end.low:.15g} … {end.high:.15g}" for name, end in ends.items()]
    here = f" ({', '.join(wider)})" if wider else ""
    return f"noise at least {scale:.15g} times as wide{here}"  # 1130 and not 1.13e+03


def _fits(column: ReleasedColumn, wanted: Wanted, scale: float, factor: float) -> bool:
    """Tell whether a column with wider noise takes at most that share of what it would take now."""
    if not isinstance(wanted.columns[column.name], Interval):
        return scale**2 * factor >= 1
    step = wanted.steps.get(column.name)
    wider = ReleasedColumn.plan(column.name, _wider(column, scale), step=step, out_of_range="refuse", nulls="keep")
    return wider.information <= factor * column.information


def _wider(column: ReleasedColumn, scale: float) -> Interval:
    """Scale the interval of a column, to the digits that are shown."""
    return Interval(float(f"{column.low * scale:g}"), float(f"{column.high * scale:g}"))


def _bounded(column: ReleasedColumn) -> bool:
    return math.isfinite(column.high - column.low)
