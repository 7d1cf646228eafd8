"""The release of a declared, registered table: charged to its accounts like any other answer."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from errorfloor.bulk.by_part import ReleasedPart, entry_of, parts_of
from errorfloor.bulk.charging import evaluation_error
from errorfloor.bulk.columns import ReleasedColumn
from errorfloor.bulk.files import Copying, check_target
from errorfloor.bulk.request import ChargedRelease, Column, Request, Wanted, as_column, plan_columns
from errorfloor.bulk.ruled import RuledColumn
from errorfloor.bulk.snapshots import SnapshotTable
from errorfloor.bulk.tables import TableFile, workplace
from errorfloor.catalogue import Table, stored_distance
from errorfloor.charging.refusal import check_none_is_lost, lost_parts, refusal
from errorfloor.charging.settling import Charging, Stand, look, terms_of
from errorfloor.charging.standing import allowances_of
from errorfloor.engines.sources import file_paths
from errorfloor.errors import CatalogueError, ErrorFloorError, InputError
from errorfloor.floors.words import rounded_down, rounded_up
from errorfloor.support import Interval
from errorfloor.vault import Snapshot, snapshot
from errorfloor.vault.snapshot import name_of

if TYPE_CHECKING:
    from errorfloor.service.database import Database


def release_table(
    database: "Database",
    table: str,
    target: str | Path,
    *,
    columns: Mapping[str, Wanted],
    batch: str,
    overwrite: bool,
    progress: Callable[[int], None] | None,
) -> ChargedRelease:
    """Charge the release of a table to its accounts, durably, and only then read its private columns.

    Guarantee: what was charged before under the same table, version, batch, noise and key is free, and gives the same
    numbers; nothing is charged and nothing written if an allowance does not suffice.
    """
    catalogue = database.catalogue
    if table not in catalogue.tables:
        raise CatalogueError(f"there is no table {table!r}; declared are {', '.join(catalogue.tables) or 'none'}")
    if catalogue.tables[table].hides_records:
        raise InputError(
            f"{table} protects records, and a release has one row for each: ask for counts and sums instead"
        )
    if catalogue.place.engine != "duckdb":
        raise InputError(
            f"the snapshots are on {catalogue.place.engine}, and tables are released from DuckDB vaults only: ask for "
            f"the rows in aggregates, or register the table in a DuckDB vault"
        )
    outlet = TableFile.of(target)
    sources = [
        path
        for one in catalogue.tables.values()
        for path in file_paths(one.source, catalogue.folder) or [catalogue.folder / one.source[0].partition("::")[0]]
    ]
    vault = (catalogue.folder / catalogue.place.snapshots).resolve()
    check_target(outlet, [vault, *sources], overwrite=overwrite)
    taken = snapshot(catalogue, table, database._engine)
    check_none_is_lost(table, lost_parts(database.ledger, taken))
    ruled = {name: _declared(name, as_column(one), taken) for name, one in columns.items()}
    request = Request(
        columns=tuple(_ruled(column, taken.table) for column in plan_columns(ruled, taken.table.row_key, batch)),
        key=taken.table.row_key,
        batch=batch,
        public=tuple(taken.table.public),
        overwrite=overwrite,
        progress=progress,
        declared=taken.whose,
    )
    file = vault / f"{name_of(table, taken.version)}.duckdb" if vault.is_dir() else vault
    parts = parts_of(request, taken, vault) or (ReleasedPart("", request, SnapshotTable(file, taken)),)
    return _released(request, parts, outlet, columns, database)


def _declared(name: str, column: Column, taken: Snapshot) -> Column:
    """Give a column with what the catalogue declares of it, which nobody else may say."""
    table = taken.table
    if name not in table.private:
        kind = "public" if name in table.public else "not declared"
        raise InputError(
            f"{taken.table_name}.{name} is {kind}: only private columns get noise, which are "
            f"{', '.join(table.private) or 'none here'}"
        )
    said = [one.name for one in fields(column) if one.name not in ("noise", "step")]
    if extra := [one for one in said if getattr(column, one) != getattr(Column(column.noise), one)]:
        raise InputError(f"the catalogue decides how a declared table is released: leave out {', '.join(extra)}")
    private = table.private[name]
    return replace(column, range=(float(private.low), float(private.high)), unit=private.unit, out_of_range="clamp")


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


def _released(
    request: Request,
    parts: tuple[ReleasedPart, ...],
    outlet: TableFile,
    wanted: Mapping[str, Wanted],
    database: "Database",
) -> ChargedRelease:
    schema = parts[0].source.schema(database._engine)
    chosen, left_out = request.choose(schema)
    taken = parts[0].snapshot
    report = ChargedRelease(
        target=outlet.path,
        rows=0,
        batch=request.batch,
        key_id=database._key.id,
        columns=request.columns,
        unchanged=tuple(name for name in chosen if name in taken.table.public),
        left_out=left_out,
        table=taken.table_name,
        version=taken.version,
    )
    charging = _charging(request, parts, schema, wanted, database)
    with workplace(outlet.path) as scratch:
        charging.check_question()
        settled = charging.settle()
        sources = [(part.request, part.source) for part in parts]
        copying = Copying(sources, outlet, scratch, tuple(chosen), database._key, report)
        rows = look(copying.run, said=(ErrorFloorError,))
    fresh = _by_column(settled.fresh, request)
    drawn = [part.name for place, part in enumerate(parts) if part.name and any(one[place] for one in fresh)]
    return replace(
        report,
        rows=rows,
        fresh=tuple(map(any, fresh)),
        new_parts=tuple(drawn) if taken.parts else None,
        standings=charging.stand(settled, charged=True).accounts,
    )


def _by_column(fresh: Sequence[bool], request: Request) -> list[Sequence[bool]]:
    """Say of each column which of its labels, one for each part, are new."""
    each = len(fresh) // len(request.columns)
    return [fresh[start : start + each] for start in range(0, len(fresh), each)]


def _charging(
    request: Request,
    parts: Sequence[ReleasedPart],
    schema: pa.Schema,
    wanted: Mapping[str, Wanted],
    database: "Database",
) -> Charging:
    """Price a release; public columns only are read."""
    taken = parts[0].snapshot
    note = {"batch": request.batch, "table": taken.table_name, "version": taken.version, "key": database._key.id}
    entries = [entry_of(column, parts, schema, note | {"release": column.name}, database) for column in request.columns]
    accounts = [account for entry in entries for account in entry.charges]

    def words(stand: Stand, fresh: Sequence[bool]) -> str:
        new = zip(request.columns, _by_column(fresh, request), strict=True)
        return advice(wanted, [column for column, one in new if any(one)], stand)

    return Charging(
        database.ledger,
        taken.table,
        entries,
        allowances_of(taken.table, accounts),
        terms_of(taken.table_name, taken.table, accounts, [part.snapshot for part in parts]),
        words,
        database._grant.quotas({}, None),
        database._grant,
    )


def advice(wanted: Mapping[str, Wanted], columns: Sequence[RuledColumn], stand: Stand) -> str:
    """Say which floor a release would break and what would keep all of them, from public facts alone."""

    def instead(factor: float) -> str:
        noisy = [column for column in columns if isinstance(column, ReleasedColumn)]
        ways = [_wider_noise(wanted, noisy, factor)] if noisy else []
        for column in columns:
            if not isinstance(column, ReleasedColumn):  # other answers, other roundings: a little less than the factor
                most = rounded_down(column.information * factor * (1 - 1e-4))
                ways.append(f"a policy for {column.name} whose largest information is at most {most}")
        return f"release it with {' and '.join(ways)}"

    return refusal("release", *stand, again="you can repeat earlier releases", instead=instead)


def _wider_noise(wanted: Mapping[str, Wanted], columns: Sequence[ReleasedColumn], factor: float) -> str:
    scale = float(rounded_up(1 / math.sqrt(factor)))
    while not all(_fits(column, wanted, scale, factor * (1 - 1e-9)) for column in columns):
        scale = float(rounded_up(scale * 1.001))
    ends = {one.name: _wider(one, scale) for one in columns if _bounded(one)}
    wider = [f"{name} {end.low:.15g} … {end.high:.15g}" for name, end in ends.items()]
    here = f" ({', '.join(wider)})" if wider else ""
    return f"noise at least {scale:.15g} times as wide{here}"  # 1130 and not 1.13e+03


def _fits(column: ReleasedColumn, wanted: Mapping[str, Wanted], scale: float, factor: float) -> bool:
    """Tell whether a column with wider noise takes at most that share of what it would take now."""
    given = as_column(wanted[column.name])
    if not isinstance(given.noise, Interval):
        return scale**2 * factor >= 1
    wider = ReleasedColumn.plan(
        column.name, _wider(column, scale), step=given.step, out_of_range="refuse", nulls="keep"
    )
    return wider.information <= factor * column.information


def _wider(column: ReleasedColumn, scale: float) -> Interval:
    """Scale the interval of a column, to the digits that are shown."""
    return Interval(float(f"{column.low * scale:g}"), float(f"{column.high * scale:g}"))


def _bounded(column: ReleasedColumn) -> bool:
    return math.isfinite(column.high - column.low)
