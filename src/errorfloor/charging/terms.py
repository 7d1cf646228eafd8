"""What the accounts of a table or a stream mean: all that gives a floor its meaning, as the ledger pins it."""

from collections.abc import Iterable, Mapping

from errorfloor.accounts import Account
from errorfloor.catalogue import PrivateColumn, Table
from errorfloor.catalogue.model import PublicColumn
from errorfloor.ledger.entry import JSON
from errorfloor.vault import Snapshot

Terms = dict[str | tuple[str, ...], object]


def terms_of(name: str, table: Table, accounts: Iterable[Account], snapshots: Iterable[Snapshot]) -> Terms:
    """Say what must never change, as the ledger keeps it.

    What the accounts of a table and of the columns that are charged mean; the floors that were promised, which may
    rise and not fall; and which snapshot a version is: its noise belongs to that snapshot, and is never drawn for
    another.
    """
    columns = sorted({account.column for account in accounts if account.column})
    return {
        **table_terms(name, table),
        **column_terms(name, {column: table.private[column] for column in columns}),
        **{(name, "snapshot", one.table_name, one.version): {"identity": one.identity} for one in snapshots},
    }


def table_terms(name: str, table: Table) -> Terms:
    """Say what the accounts of a table are: one per cell of its partition, entries by row key, owners by a column."""
    fixed: Terms = {
        (name,): {
            "row_key": [_key(column, table.public[column]) for column in sorted(table.row_key)],
            "account_by": [_key(column, table.public[column]) for column in table.account_by],
            "owner": None if table.owner is None else _key(table.owner.column, table.public[table.owner.column]),
        }
    }
    if table.owner is not None:
        fixed[name, "owner floor"] = {"floor": table.owner.floor}
    return fixed


def column_terms(name: str, columns: Mapping[str, PrivateColumn]) -> Terms:
    """Say what the floors of columns, or of states of a stream, are about, and what they are."""
    fixed: Terms = {}
    for column, declared in columns.items():
        fixed[name, "column", column] = {**meaning(declared), "unit": declared.unit}
        fixed[name, "floor", column] = {"floor": declared.floor}
    return fixed


def meaning(column: PrivateColumn) -> dict[str, JSON]:
    """Say which numbers a column holds.

    >>> meaning(PrivateColumn(range=(0, 50), resolution="0.5", floor=2.0))["resolution"]
    '1/2'
    """
    return {
        "range": [str(column.low), str(column.high)],
        "outside": "clamped",
        "resolution": str(column.resolution),
        "nulls": column.nulls,
        "impute": None if column.impute is None else str(column.impute),
    }


def _key(name: str, column: PublicColumn) -> list[JSON]:
    return [name, column.type, None if column.resolution is None else str(column.resolution)]
