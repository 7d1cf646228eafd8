"""The guarantee on one sheet: what is declared of every table, in the words that a regulator reads."""

from dataclasses import dataclass
from datetime import UTC, datetime

from errorfloor.catalogue import Catalogue, PrivateColumn, Table, promise
from errorfloor.catalogue.promise import histories


@dataclass(frozen=True)
class PromisedColumn:
    """A private column, and how many times in 100 two values of it are told apart at most, whatever is asked."""

    name: str
    declared: PrivateColumn
    times: str


@dataclass(frozen=True)
class PromisedTable:
    """A table, and what is promised of its columns and of its owners, empty where it declares none."""

    name: str
    declared: Table
    private: tuple[PromisedColumn, ...]
    histories: str
    owner_times: str
    life_times: str


@dataclass(frozen=True)
class Sheet:
    """The guarantee: the tables with private columns, and the day on which it was printed."""

    tables: tuple[PromisedTable, ...]
    open_tables: tuple[str, ...]
    day: str


def guarantee(catalogue: Catalogue) -> Sheet:
    """State what the declarations promise once every allowance is used up to the last; nothing else is read.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     column = guarantee(db.catalogue).tables[0].private[0]
    >>> column.name, column.declared.floor, column.declared.example
    ('kwh', 2.0, 5.0)
    """
    private = {name: table for name, table in catalogue.tables.items() if not table.is_public}
    return Sheet(
        tables=tuple(_table(name, table) for name, table in private.items()),
        open_tables=tuple(name for name in catalogue.tables if name not in private),
        day=datetime.now(UTC).date().isoformat(),
    )


def _table(name: str, table: Table) -> PromisedTable:
    owner = table.owner
    return PromisedTable(
        name,
        table,
        tuple(PromisedColumn(each, one, promise(table, each).times) for each, one in table.private.items()),
        histories="" if owner is None or table.hides_records else histories(table),
        owner_times="" if owner is None else promise(table, "").times,
        life_times="" if owner is None or owner.life is None else promise(table.lifelong, "").times,
    )
