"""The SELECT that turns a source into a snapshot: declared columns only, under physical names, in physical types."""

from errorfloor.catalogue.columns import PublicType
from errorfloor.catalogue.model import PrivateColumn, PublicColumn, Table
from errorfloor.engines import Engine, Source
from errorfloor.errors import CatalogueError
from errorfloor.vault.fixed_point import StoredGrid, public_grid, whole_from_double_sql, whole_sql
from errorfloor.vault.records import called_in, common_type, record_columns_read, record_conversion_sql, record_names

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
        called = called_in(table_name, table, name, source)
        _check_kind(table_name, name, source.kinds[called], column)
        read.append(f"{_read(called, column, source, engine)} AS {physical}")
        stored.append(f"{_stored(physical, called, column, source, engine)} AS {physical}")
    return f"SELECT {', '.join(stored)} FROM (SELECT {', '.join(read)} FROM {source.relation}) AS source"


def _check_kind(table_name: str, name: str, kind: str, column: PrivateColumn | PublicColumn) -> None:
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
    if _is_integer(name, column, source):
        return engine.dialect.whole(engine.dialect.identifier(name), 2**63 - 1)
    return common_type(name, column.type if isinstance(column, PublicColumn) else "number", source, engine)


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
