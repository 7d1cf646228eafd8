"""A new version of a table goes on with the accounts of the earlier ones: names and cells keep their meaning.

Accounts go by the names of private columns and, where they are divided, by the cells or periods that rows are in. A row
that came back under another name or in another cell would have a second allowance.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from errorfloor.catalogue.model import Table
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError
from errorfloor.vault.conversion import physical_names
from errorfloor.vault.snapshot import settled


def check_names_stay(table_name: str, table: Table, earlier: Iterable[Mapping[str, Any]]) -> None:
    """Refuse a version that seems to call a private column something else: one name is new, and another is gone.

    >>> table = Table.model_validate({
    ...     "source": "t", "version": "2", "row_key": ["id"], "public": {"id": "whole"},
    ...     "private": {"energy": {"range": [0, 50], "resolution": 1, "floor": 2}},
    ... })
    >>> check_names_stay("meters", table, [{"version": "1", "declaration": {"private": {"kwh": {}}}}])
    Traceback (most recent call last):
    errorfloor.errors.CatalogueError: version '1' of meters has a private column kwh, and version '2' has energy ...
    """
    versions = list(earlier)
    known = {name for note in versions for name in note["declaration"]["private"]}
    new = sorted(set(table.private) - known)
    for note in versions:
        gone = sorted(set(note["declaration"]["private"]) - set(table.private))
        if new and gone:
            raise renamed(table_name, table.version, f"version {note['version']!r}", gone[0], new[0])


def renamed(table_name: str, version: str, before: str, old: str, new: str) -> CatalogueError:
    """Say that a private column seems to have another name than it had before."""
    return CatalogueError(
        f"{before} of {table_name} has a private column {old}, and version {version!r} has {new} in its place: "
        f"accounts go by names, and the same numbers under another name would have a second allowance. Call it {old} "
        f"as before; if {new} holds other numbers, declare it in addition to {old}",
        table=table_name,
        column=new,
    )


def is_comparable(table: Table, note: Mapping[str, Any]) -> bool:
    """Say whether a version declares row key and cells as a table does: else it is never charged to the same accounts.

    >>> table = Table(source="t.csv", version="2", row_key=("id",), public={"id": "whole"})
    >>> is_comparable(table, {"declaration": settled(table) | {"row_key": {"columns": ["name"]}}})
    False
    """
    now, then = settled(table), note["declaration"]
    columns = {*table.row_key, *(column for column, _ in table.divided_by)}
    return bool(
        now["row_key"] == then["row_key"]
        and all(now["public"][column] == then["public"].get(column) for column in columns)
    )


def check_cells_stay(
    table_name: str, table: Table, relation: str, earlier: Mapping[str, Mapping[str, Any]], engine: Engine
) -> None:
    """Refuse rows that may be in other cells of accounts than in an earlier version: each cell has an allowance.

    Rows are the same if their keys are. Those of the earlier version must be in the same cell. Where some rows are gone
    and others are new, the new ones may be the old ones under other keys: that is accepted only if all of them are in
    one cell. A version that is not comparable is passed over: whoever keeps the ledger has to know that it was never
    charged, and the ledger never charges it to these accounts.
    """
    now = physical_names(table)
    by = " and ".join(column if period is None else f"{period} of {column}" for column, period in table.divided_by)
    for name, note in earlier.items():
        if not is_comparable(table, note):
            continue
        then = note["columns"]

        def part(sql: str, column: str, period: str | None) -> str:
            cut = sql if period is None else engine.dialect.truncated(period, sql, table.public[column].type)
            return engine.dialect.text(cut)

        same_row = " AND ".join(
            f"{part(f'a.{now[key]}', key, None)} = {part(f'b.{then[key]}', key, None)}" for key in table.row_key
        )
        here = [part(f"a.{now[column]}", column, period) for column, period in table.divided_by]
        there = [part(f"b.{then[column]}", column, period) for column, period in table.divided_by]
        other_cell = " OR ".join(
            f"{one} <> {two} OR ({one} IS NULL) <> ({two} IS NULL)" for one, two in zip(here, there, strict=True)
        )
        old = engine.relation(name)
        found = f"SELECT 1 AS one FROM {relation} AS a JOIN {old} AS b ON {same_row}"
        if engine.query(f"{found} WHERE {other_cell} LIMIT 1").num_rows:
            raise CatalogueError(
                f"some row of {table_name} has a different {by} than in version {note['version']!r}: that divides the "
                f"accounts, and a row that changed its cell would have two allowances. Keep the column as it was, "
                f"and add one with the new values. Nothing was registered",
                table=table_name,
            )
        new = _cells("a", here, relation, old, same_row, engine)
        gone = _cells("b", there, old, relation, same_row, engine)
        if new and gone and len(new | gone) > 1:
            raise CatalogueError(
                f"{table_name} has new rows, and rows of version {note['version']!r} are gone, in several cells of "
                f"{by}: if the row key has new values, the same rows would have a second allowance. Keep the "
                f"rows of earlier versions, under their keys, and add the new ones. Nothing was registered",
                table=table_name,
            )


def _cells(
    alias: str, cells: list[str], relation: str, other: str, same_row: str, engine: Engine
) -> set[tuple[str | None, ...]]:
    """Give cells, at most two, of the rows that only one of two tables has."""
    second = "b" if alias == "a" else "a"
    names = [f"c{place}" for place in range(len(cells))]
    shown = ", ".join(f"{cell} AS {name}" for cell, name in zip(cells, names, strict=True))
    only = f"NOT EXISTS (SELECT 1 FROM {other} AS {second} WHERE {same_row})"
    found = engine.query(f"SELECT DISTINCT {shown} FROM {relation} AS {alias} WHERE {only} LIMIT 2")
    return {tuple(row[name] for name in names) for row in found.to_pylist()}
