"""Presence at stake: whether an owner is in a table that protects records, all other rows being known."""

from dataclasses import dataclass

import pyarrow as pa

from errorfloor.attacks.owner_secret import SecretOfAnOwner
from errorfloor.attacks.secret import literal
from errorfloor.catalogue import Table

OTHERS = 1000  # rows of other owners, at most


@dataclass(frozen=True, eq=False)
class PresenceSecret(SecretOfAnOwner):
    """An owner who is in the table, with as many rows as count, or is not, at even odds.

    ``rows`` are those of all others; ``mine`` the owner's. ``values`` are the numbers of rows under either.
    """

    mine: pa.Table

    @property
    def unit(self) -> str:
        """What is counted."""
        return "rows"

    def rows_with(self, coin: int) -> pa.Table:
        """Give the table without or with the owner."""
        return pa.concat_tables([self.rows, self.mine]) if coin else self.rows

    def condition(self, rows: list[int] | None = None) -> str:
        """Give a condition that picks rows that are like the owner's."""
        row = self.mine.slice(0, 1).to_pylist()[0]
        return " AND ".join(f"{name} = {literal(row[name])}" for name in self.declared.columns)

    def question(self, rows: list[int] | None = None, *, times: int = 1) -> str:
        """Give the question for a multiple of the number of all rows: far from 0, where answers would be cut off."""
        return f"SELECT sum({times}) AS answer FROM {self.table}"


def presence_at_stake(table: str, declared: Table, rows: pa.Table) -> PresenceSecret:
    """Put a new owner at stake, whose rows are all like the first one of the table."""
    assert declared.owner is not None
    count = declared.owner.most_rows
    others = rows.slice(0, min(OTHERS, declared.most_rows // 2))
    mine = pa.concat_tables([rows.slice(0, 1)] * count)
    if declared.owner.column:
        place = mine.column_names.index(declared.owner.column)
        mine = mine.set_column(place, declared.owner.column, pa.array(["the one at stake"] * count))
    return PresenceSecret(
        table, declared, "", others, 0, (float(others.num_rows), float(others.num_rows + count)), mine
    )
