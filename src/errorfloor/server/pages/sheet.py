"""The guarantee on one sheet: what is declared of every table, in the words that a regulator reads."""

from dataclasses import dataclass
from datetime import UTC, datetime

from errorfloor.catalogue import Catalogue, PrivateColumn, Table, promise
from errorfloor.catalogue.promise import histories


@dataclass(frozen=True)
class PromisedColumn:
    """What is promised of the entries of one private column, whatever is asked."""

    name: str
    unit: str
    low: float
    high: float
    resolution: float
    floor: float
    ignorance: float
    distance: float
    times: str
    nulls: str


@dataclass(frozen=True)
class PromisedTable:
    """What is promised of one table."""

    name: str
    version: str
    row_key: tuple[str, ...]
    public: tuple[str, ...]
    private: tuple[PromisedColumn, ...]
    histories: str
    hidden: str
    owner_times: str
    life_times: str
    account_by: tuple[str, ...]


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
    >>> column.name, column.floor, column.distance
    ('kwh', 2.0, 5.0)
    """
    private = {name: table for name, table in catalogue.tables.items() if not table.is_public}
    return Sheet(
        tables=tuple(_table(name, table) for name, table in private.items()),
        open_tables=tuple(name for name in catalogue.tables if name not in private),
        day=datetime.now(UTC).date().isoformat(),
    )


def _table(name: str, table: Table) -> PromisedTable:
    return PromisedTable(
        name=name,
        version=table.version,
        row_key=table.row_key,
        public=tuple(table.public),
        private=tuple(_column(table, column) for column in table.private),
        histories="" if table.owner is None or table.hides_records else histories(table),
        hidden=table.owner.noun if table.owner is not None and table.hides_records else "",
        owner_times="" if table.owner is None else promise(table, "").times,
        life_times="" if table.owner is None or table.owner.life is None else promise(table.lifelong, "").times,
        account_by=table.account_by,
    )


def _column(table: Table, name: str) -> PromisedColumn:
    column: PrivateColumn = table.private[name]
    return PromisedColumn(
        name=name,
        unit=column.unit,
        low=float(column.low),
        high=float(column.high),
        resolution=float(column.resolution),
        floor=column.floor,
        ignorance=column.ignorance,
        distance=column.example,
        times=promise(table, name).times,
        nulls=column.nulls,
    )
