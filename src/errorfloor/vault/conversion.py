"""The SELECT that turns a source into a snapshot: declared columns only, under physical names, in physical types."""

from errorfloor.catalogue.columns import PublicType
from errorfloor.catalogue.model import PrivateColumn, PublicColumn, Table
from errorfloor.engines import Engine, Source
from errorfloor.errors import CatalogueError
from errorfloor.vault.fixed_point import StoredGrid, public_grid, whole_from_double_sql, whole_sql
from errorfloor.vault.near import nearest
from errorfloor.vault.records import record_columns_read, record_conversion_sql, record_names

NUMBERS = ("whole", "number", "decimal")
ACCEPTED = {
    "text": ("text", "whole"),
    "whole": NUMBERS,
    "number": NUMBERS,
    "date": ("date", "moment"),
    "moment": ("moment", "date"),
    "flag": ("flag",),
}


def physical_names(table: Table) -> dict[str, str]:
    """Give each declared column its name on the engine.

    >>> table = Table(source="t", version="1", row_key=("id",), public={"id": "whole", "tariff": "text"})
    >>> physical_names(table)
    {'id': 'p0', 'tariff': 'p1'}
    """
    if table.hides_records:
        return record_names(table)
    return {name: f"p{i}" for i, name in enumerate(table.public)} | {
        name: f"x{i}" for i, name in enumerate(table.private)
    }


def columns_read(table: Table) -> dict[str, PublicType]:
    """Name the declared columns as the source does, each with what it is to be read as.

    >>> table = Table(source="t", version="1", row_key=("id",), public={"id": "whole"}, read={"names": {"id": "Nr."}})
    >>> columns_read(table)
    {'Nr.': 'whole'}
    """
    if table.hides_records:
        return record_columns_read(table)
    types: dict[str, PublicType] = {name: column.type for name, column in table.public.items()}
    types |= dict.fromkeys(table.private, "number")
    return {table.read.called(name): kind for name, kind in types.items()}


def conversion_sql(table_name: str, table: Table, source: Source, engine: Engine, order: str = "") -> str:
    """Write the SELECT; ``order`` decides which rows of an owner count, where not all do.

    The inner SELECT reads each column in a common type (numbers as doubles), the outer one stores it.

    Raises CatalogueError if the source lacks a declared column, or has one that cannot be what it is declared to be.
    """
    if table.hides_records:
        return record_conversion_sql(table_name, table, source, engine, order)
    read, stored = [], []
    for name, physical in physical_names(table).items():
        column = table.private.get(name) or table.public[name]
        called = table.read.called(name)
        _check_kind(table_name, name, called, column, source)
        read.append(f"{_read(called, column, source, engine)} AS {physical}")
        stored.append(f"{_stored(physical, called, column, source, engine)} AS {physical}")
    return f"SELECT {', '.join(stored)} FROM (SELECT {', '.join(read)} FROM {source.relation}) AS source"


def _check_kind(table_name: str, name: str, called: str, column: PrivateColumn | PublicColumn, source: Source) -> None:
    if called not in source.kinds:
        raise CatalogueError(
            f"the source of {table_name} has no column {called!r}; it has {nearest(called, source.kinds)}",
            table=table_name,
            column=name,
        )
    kind = source.kinds[called]
    wanted = column.type if isinstance(column, PublicColumn) else "number"
    if kind not in ACCEPTED[wanted]:
        as_what = f"public, of type {wanted!r}" if isinstance(column, PublicColumn) else "private, a number"
        raise CatalogueError(
            f"{table_name}.{name} is declared {as_what}, and its source holds another type ({kind})",
            table=table_name,
            column=name,
        )


def _read(name: str, column: PrivateColumn | PublicColumn, source: Source, engine: Engine) -> str:
    """Give a source column in a common type, by one cast."""
    sql = engine.dialect.identifier(name)
    dialect = engine.dialect
    if _is_integer(name, column, source):
        return dialect.whole(sql, 2**63 - 1)
    match column.type if isinstance(column, PublicColumn) else "number":
        case "number" | "whole":
            return engine.as_double(sql, source.kinds[name])
        case "moment":
            return f"CAST({sql} AS {dialect.moment_type})"
        case "date" if source.kinds[name] == "moment":
            return dialect.as_date(f"CAST({sql} AS {dialect.moment_type})")
        case "date":
            return dialect.as_date(sql)
        case "flag":
            return f"CAST({sql} AS {dialect.flag_type})"
        case "text":
            return dialect.by_bytes(dialect.text(sql))


def _stored(physical: str, name: str, column: PrivateColumn | PublicColumn, source: Source, engine: Engine) -> str:
    """Give a read column as it is stored."""
    if isinstance(column, PrivateColumn):
        missing = None if column.impute is None else int(column.impute / column.resolution)
        return StoredGrid(column.resolution, *column.steps).sql(physical, missing, engine.dialect)
    if _is_integer(name, column, source):
        return whole_sql(physical, engine.dialect)
    if column.type == "whole":
        return whole_from_double_sql(physical, engine.dialect)
    if column.resolution is not None:
        return public_grid(column.resolution).sql(physical, None, engine.dialect)
    return physical


def _is_integer(name: str, column: PrivateColumn | PublicColumn, source: Source) -> bool:
    declared = isinstance(column, PublicColumn) and column.type == "whole"
    return declared and source.kinds[name] == "whole"
