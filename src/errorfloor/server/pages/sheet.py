"""The guarantee on one sheet: what is declared of every table, in the words that a regulator reads."""

from dataclasses import dataclass
from datetime import UTC, datetime

from errorfloor.catalogue import Catalogue, Owner, PrivateColumn, Table
from errorfloor.floors.two_point import angle, success
from errorfloor.floors.words import times_in_hundred
from errorfloor.pricing import Account
from errorfloor.service.preparation import allowances_of
from errorfloor.service.standing import stored_distance


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
    owner: str
    owner_times: str
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
    private = {name: table for name, table in catalogue.tables.items() if table.private}
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
        private=tuple(_column(name, table, column) for column in table.private),
        owner="" if table.owner is None else table.owner.column,
        owner_times="" if table.owner is None else _owner_times(table.owner),
        account_by=table.account_by,
    )


def _owner_times(owner: Owner) -> str:
    return f"{100 * (1 - owner.floor):g}"


def _column(table_name: str, table: Table, name: str) -> PromisedColumn:
    column: PrivateColumn = table.private[name]
    account = Account(table_name, name, "")
    whole = allowances_of(table, [account])[account]
    told = float(success(angle(stored_distance(column), whole.information, whole.evaluation)))
    times = times_in_hundred(told)
    if (
        table.owner is not None and told > 1 - table.owner.floor
    ):  # two values of an entry are two histories of its owner
        times = _owner_times(table.owner)
    return PromisedColumn(
        name=name,
        unit=column.unit,
        low=float(column.low),
        high=float(column.high),
        resolution=float(column.resolution),
        floor=column.floor,
        ignorance=column.ignorance,
        distance=column.example,
        times=times,
        nulls=column.nulls,
    )
