"""A new version of a table goes on with the accounts of the earlier ones: names and cells keep their meaning.

Accounts go by the names of private columns and, where they are divided, by the cells or periods that rows are in, or by
when their owner joined. A row, or an owner, that came back under another name or in another cell would have a second
allowance. So would owners of two tables that seem to be about the same people.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from errorfloor.catalogue.model import Table
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError
from errorfloor.vault.conversion import physical_names
from errorfloor.vault.parts import part_of
from errorfloor.vault.snapshot import notes, settled

SHARED = 10  # one of so many owners of the smaller table is enough


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
    alike = True
    if table.owner is not None and table.joined is not None:  # owners and parts are compared, too
        columns.add(table.owner.column)
        alike = now.get("grows_by") == then.get("grows_by")
    return bool(
        alike
        and now["row_key"] == then["row_key"]
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


def check_owners_stay(
    table_name: str, table: Table, relations: Iterable[str], earlier: Mapping[str, Mapping[str, Any]], engine: Engine
) -> None:
    """Refuse rows if some owner has joined in two periods, in them or in them and snapshots that are there already.

    NULL is a period like any other, and rows without an owner are one owner's. Owners whose names differ in capitals,
    or in spaces before and after, are taken for one: a name that was spelled anew would have another allowance.
    Snapshots that are not comparable are passed over: they are never charged to the same accounts.
    """
    if table.owner is None or table.joined is None:
        return
    owner, joined, now = table.owner.column, table.joined, physical_names(table)
    read = [(relation, now) for relation in relations]
    read += [(engine.relation(key), note["columns"]) for key, note in earlier.items() if is_comparable(table, note)]
    type, text = table.public[joined.column].type, engine.dialect.text

    def pairs(relation: str, columns: Mapping[str, str]) -> str:
        when = columns[joined.column]
        cut = when if joined.period is None else engine.dialect.truncated(joined.period, when, type)
        return f"SELECT DISTINCT lower(trim({text(columns[owner])})) AS o, {text(cut)} AS j FROM {relation} AS r"

    every = " UNION ALL ".join(pairs(relation, columns) for relation, columns in read)
    twice = "count(DISTINCT j) > 1 OR (count(j) > 0 AND count(j) < count(*))"
    if engine.query(f"SELECT 1 AS one FROM ({every}) AS p GROUP BY o HAVING {twice} LIMIT 1").num_rows:
        by = joined.column if joined.period is None else f"{joined.period} of {joined.column}"
        raise CatalogueError(
            f"some {owner} of {table_name} has more than one {by}, in these rows or in them and what is registered: "
            f"that divides the owners' accounts, and an owner who has two of them would have two allowances. Give "
            f"each {owner} the {by} with which it came first, in every row (capitals, and spaces before and after, "
            f"make no other {owner}). Nothing was registered",
            table=table_name,
        )


def check_parts_stay(
    table_name: str, table: Table, fresh: Mapping[str, str], earlier: Mapping[str, Mapping[str, Any]], engine: Engine
) -> None:
    """Refuse parts whose rows, or whose owners, are in other cells of accounts than before.

    ``fresh`` has the rows of each part as they go after FROM. Rows of different parts are different ones, so that each
    part is compared with its own versions; owners are compared with those of all parts.
    """
    for part, relation in fresh.items():
        versions = {key: note for key, note in earlier.items() if part_of(note) == part}
        check_cells_stay(table_name, table, relation, versions, engine)
    check_owners_stay(table_name, table, fresh.values(), earlier, engine)


def check_no_copy(table_name: str, table: Table, relation: str, others: Mapping[str, str], engine: Engine) -> None:
    """Refuse rows whose owners are, a tenth of them or more, those of another table; ``others`` has its owner column.

    Owners are the same if their column has one type and resolution, and equal values. Those of tables that protect
    records are not compared: their snapshots do not say whose rows are whose.
    """
    if table.owner is None or table.hides_records:
        return
    type, mine = settled(table)["public"][table.owner.column], physical_names(table)[table.owner.column]
    for key, note in notes(engine).items():
        column = others.get(note["table"])
        if column is None or note["declaration"]["public"].get(column) != type:
            continue
        there = engine.relation(key)
        one, two = (
            f"SELECT DISTINCT {named} AS o FROM {rows} WHERE {named} IS NOT NULL"
            for named, rows in ((mine, relation), (note["columns"][column], there))
        )
        both = f"SELECT a.o FROM ({one}) AS a JOIN ({two}) AS b ON a.o = b.o"
        shared, *each = (_count(sql, engine) for sql in (both, one, two))
        if shared and shared * SHARED >= min(each):
            raise _likely_copy(table_name, table, str(note["table"]))


def _count(sql: str, engine: Engine) -> int:
    return int(engine.query(f"SELECT count(*) AS n FROM ({sql}) AS owners").column("n")[0].as_py())


def _likely_copy(table_name: str, table: Table, other: str) -> CatalogueError:
    assert table.owner is not None
    register = table.owner.register or f"{table.owner.column}s"
    return CatalogueError(
        f"owners of {table_name} are owners of {other}, too, a tenth of them or more: under two names the same people "
        f'would have two allowances. Declare register = "{register}" under owner for {table_name} and for {other}, so '
        f"that they have one account; if they are other people who happen to have the same names or numbers, declare "
        f"a register of its own for each. Nothing was registered",
        table=table_name,
        other=other,
    )
