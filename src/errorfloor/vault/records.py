"""Registration of a table that protects records: every value in its declared domain, and a cap on each owner's rows.

Nothing that is noted of the snapshot depends on a row, but for a hash of its source, by which a copy is known: its size
is the declared one, its extents are those of the domains. Beside its columns it has one that is 1 on every row: who is
there. What groups there are follows from the domains, too: every combination of their values.
"""

from collections.abc import Sequence
from typing import Any

from errorfloor.catalogue.columns import PublicType
from errorfloor.catalogue.model import RecordColumn, Table
from errorfloor.catalogue.near import meant
from errorfloor.engines import Engine, Source
from errorfloor.engines.dialects import Dialect
from errorfloor.errors import CatalogueError
from errorfloor.vault.fixed_point import StoredGrid

PRESENCE = ""  # the name of the column of ones: no question can spell it
ONES = "x0"
SPLIT = "|"
KINDS = {
    "text": ("text", "whole"),
    "whole": ("whole", "number", "decimal"),
    "number": ("whole", "number", "decimal"),
    "date": ("date", "moment"),
}


def record_names(table: Table) -> dict[str, str]:
    """Give each column its name on the engine.

    >>> owned = {"owner": {"floor": 0.4}, "columns": {"age": {"range": [0, 110]}}}
    >>> record_names(Table.model_validate({"source": "p", "version": "1", "protects": "records", **owned}))
    {'age': 'p0', '': 'x0'}
    """
    return {name: f"p{i}" for i, name in enumerate(table.columns)} | {PRESENCE: ONES}


def record_columns_read(table: Table) -> dict[str, PublicType]:
    """Name the columns as the source does, the owner's among them, each with what it is to be read as."""
    assert table.owner is not None
    types: dict[str, PublicType] = {name: read_as(one) for name, one in table.columns.items()}
    if table.owner.column:
        types[table.owner.column] = "text"
    return {table.read.called(name): kind for name, kind in types.items()}


def record_conversion_sql(table_name: str, table: Table, source: Source, engine: Engine, order: str) -> str:
    """Write the SELECT: each value in its domain, and of each owner at most as many rows as count.

    Which of them count follows from a hash of ``order``, the owner and the row's own content, so that the rows of one
    owner never decide which rows of another count. Rows without an owner are those of one owner.
    """
    assert table.owner is not None
    dialect, names = engine.dialect, record_names(table)
    read, stored = [], []
    for name, column in table.columns.items():
        called = _found(table_name, table, name, read_as(column), source)
        read.append(f"{common_type(called, read_as(column), source, engine)} AS {names[name]}")
        stored.append(f"{_stored(names[name], column, dialect)} AS {names[name]}")
    columns = [*stored, f"{dialect.whole('1', 1)} AS {ONES}"]
    if not table.owner.column:
        return f"SELECT {', '.join(columns)} FROM (SELECT {', '.join(read)} FROM {source.relation}) AS source"
    called = _found(table_name, table, table.owner.column, "text", source)
    read.append(f"{dialect.by_bytes(dialect.text(dialect.identifier(called)))} AS o")
    inner = f"SELECT {', '.join([*columns, 'o'])} FROM (SELECT {', '.join(read)} FROM {source.relation}) AS source"
    kept = ", ".join(names.values())
    content = [f"coalesce({dialect.text(one)}, '')" for one in ("o", *(names[name] for name in table.columns))]
    hashed = f"md5(concat({dialect.literal(order)}, {f', {dialect.literal(SPLIT)}, '.join(content)}))"
    by = ", ".join([dialect.by_bytes(hashed), *names.values()])  # rows alike in all of them are the same row
    place = f"row_number() OVER (PARTITION BY o ORDER BY {by})"
    counted = f"SELECT {kept}, {place} AS place FROM ({inner}) AS stored"
    return f"SELECT {kept} FROM ({counted}) AS placed WHERE place <= {table.owner.most_rows}"


def record_facts(table_name: str, table: Table, relation: str, engine: Engine) -> dict[str, Any]:
    """Check a new snapshot, and give what is noted of it: nothing that depends on a row.

    What a refusal says is for the custodian alone, who has the source.
    """
    names = record_names(table)
    wanted = [f"count({physical}) AS n_{physical}" for physical in names.values()]
    facts = engine.query(f"SELECT {', '.join(wanted)} FROM {relation}").to_pylist()[0]
    rows = facts[f"n_{ONES}"]
    if rows > table.most_rows:
        raise CatalogueError(
            f"the source of {table_name} has more rows than most_rows = {table.most_rows}, which everybody may know: "
            f"declare a larger round number. Nothing was registered",
            table=table_name,
        )
    for name, one in table.columns.items():
        if facts[f"n_{names[name]}"] < rows:
            raise CatalogueError(
                f"{table_name}.{name} is missing in some row of the source: declare what stands for it, rest = …, in "
                f"{'its range' if one.range else 'its values'}. Nothing was registered",
                table=table_name,
                column=name,
            )
    extent = {name: list(one.steps) for name, one in table.columns.items() if one.public.step is not None}
    return {"rows": table.most_rows, "extent": extent | {PRESENCE: [0, 1]}}


def record_settled(table: Table) -> dict[str, Any]:
    """Give, as plain JSON, what a snapshot of records depends on: domains, the owner, and how many rows count."""
    assert table.owner is not None
    return {
        "columns": {name: one.model_dump(mode="json", exclude={"unit"}) for name, one in table.columns.items()},
        "owner": table.owner.column,
        "rows": table.owner.most_rows,
        "most_rows": table.most_rows,
    }


def read_as(column: RecordColumn) -> PublicType:
    """Give what a column of records is read as from its source."""
    kind = column.public.type
    return "number" if kind == "whole" else kind


def _found(table_name: str, table: Table, name: str, wanted: PublicType, source: Source) -> str:
    called = called_in(table_name, table, name, source)
    if name in table.columns and source.kinds[called] not in KINDS[wanted]:
        raise CatalogueError(
            f"{table_name}.{name} is declared with {'values' if wanted == 'text' else f'a range ({wanted})'}, and its "
            f"source holds another type ({source.kinds[called]})",
            table=table_name,
            column=name,
        )
    return called


def called_in(table_name: str, table: Table, name: str, source: Source) -> str:
    """Give what a declared column is called in the source, or say that it is not there."""
    called = table.read.called(name)
    if called not in source.kinds:
        raise CatalogueError(
            f"the source of {table_name} has no column {called!r}; it has {meant(called, source.kinds)}",
            table=table_name,
            column=name,
        )
    return called


def common_type(called: str, wanted: PublicType, source: Source, engine: Engine) -> str:
    """Give a source column in the type that it is compared in; numbers as doubles."""
    dialect, sql = engine.dialect, engine.dialect.identifier(called)
    if wanted in ("number", "whole"):
        return engine.as_double(sql, source.kinds[called])
    if wanted == "date" and source.kinds[called] == "moment":
        sql = dialect.typed(sql, "moment")
    return dialect.typed(sql, wanted)


def _stored(x: str, column: RecordColumn, dialect: Dialect) -> str:
    match column.public.type:
        case "text":
            listed = ", ".join(dialect.literal(text) for text in column.texts)
            return f"CASE WHEN {x} IN ({listed}) THEN {x} ELSE {dialect.literal(str(column.rest))} END"
        case "date":
            first, last = map(dialect.literal, column.days)
            rest = "NULL" if column.rest is None else dialect.literal(column.rest)  # type: ignore[arg-type]
            return (
                f"CASE WHEN {x} IS NULL THEN {rest} WHEN {x} < {first} THEN {first} "
                f"WHEN {x} > {last} THEN {last} ELSE {x} END"
            )
    return StoredGrid(column.resolution, *column.steps).sql(x, column.missing, dialect)


def outside_sql(x: str, column: RecordColumn, dialect: Dialect) -> str:
    """Write whether a value that is not missing lies outside its domain."""
    if column.range is None:
        return f"{x} NOT IN ({', '.join(dialect.literal(text) for text in column.texts)})"
    if column.public.type == "date":
        low, high = map(dialect.literal, column.days)
    else:
        low, high = (dialect.number(float(step * column.resolution)) for step in column.steps)
    return f"{x} < {low} OR {x} > {high}"


def domain_sql(table: Table, columns: Sequence[str], dialect: Dialect) -> str:
    """Write a relation with every combination of values that some columns can have, and presence 0.

    The other columns have one value that they can have: no sum reads it, since presence is 0.

    *Guarantee*: it follows from the declaration alone.
    """
    names = record_names(table)
    shown, parts = [], []
    for place, (name, one) in enumerate(table.columns.items()):
        if name in columns:
            shown.append(f"{_typed(f'd{place}.v', one, dialect)} AS {names[name]}")
            parts.append(_domain(one, f"d{place}", dialect))
        else:
            shown.append(f"{_typed(_first(one, dialect), one, dialect)} AS {names[name]}")
    shown.append(f"{dialect.whole('0', 1)} AS {ONES}")
    return f"SELECT {', '.join(shown)}{' FROM ' + ' CROSS JOIN '.join(parts) if parts else ''}"


def _domain(one: RecordColumn, alias: str, dialect: Dialect) -> str:
    match one.public.type:
        case "text":
            rows = ", ".join(f"({dialect.literal(text)})" for text in one.texts)
            return f"(VALUES {rows}) AS {alias}(v)"
        case "date":
            days = (one.days[1] - one.days[0]).days
            inner = f"SELECT {dialect.day_after(one.days[0], 'n')} AS v FROM {dialect.series(0, days, 'n')}"
            return f"({inner}) AS {alias}"
    return f"(SELECT n AS v FROM {dialect.series(*one.steps, 'n')}) AS {alias}"


def _first(one: RecordColumn, dialect: Dialect) -> str:
    match one.public.type:
        case "text":
            return dialect.literal(one.texts[0])
        case "date":
            return dialect.literal(one.days[0])
    return dialect.integer(one.steps[0])


def _typed(value: str, one: RecordColumn, dialect: Dialect) -> str:
    """Give a value in the type in which the snapshot has it."""
    type = one.public.type
    return dialect.typed(value, type) if type in ("text", "date") else dialect.whole(value, max(map(abs, one.steps)))
