"""An owner at stake: every number at one end of what is declared, or every number at the other.

Of a table that protects records, whether the owner is there.
"""

from dataclasses import dataclass, replace

import pyarrow as pa

from errorfloor.accounts import Charge
from errorfloor.attacks.generated import with_values
from errorfloor.attacks.secret import Secret
from errorfloor.catalogue import Table, allowed
from errorfloor.errors import InputError
from errorfloor.floors.two_point import told_apart
from errorfloor.sql_text import literal

OTHERS = 1000  # rows of other owners, at most, beside one who is there or not


class SecretOfAnOwner(Secret):
    """Something about an owner, whose whole allowance may be spent on it."""

    @property
    def promised(self) -> float:
        """How often anybody may be right at most, when the whole allowance of the owner is spent."""
        return float(told_apart(1.0, **self.limit.amounts()))

    @property
    def limit(self) -> Charge:
        """The whole allowance of an owner."""
        return allowed(self.declared, "")

    @property
    def whole(self) -> float:
        """The same, in which what an owner moves is counted already."""
        return self.limit.raised_cosine or self.limit.information


@dataclass(frozen=True, eq=False)
class OwnerSecret(SecretOfAnOwner):
    """The rows of one owner, who has one of two histories at even odds; all other owners' rows are known.

    The histories are as far apart as the declarations allow, in every private column, and where each period has an
    allowance, in the rows of one period. ``values`` are the totals of
    ``column`` over the owner's rows under the first and the second one.
    """

    mine: tuple[int, ...]

    def rows_with(self, coin: int) -> pa.Table:
        """Give the table with the first or the second history."""
        found = self.rows
        for name in self.declared.private:
            found = with_values(found, name, dict.fromkeys(self.mine, self.ends(name)[coin]))
        return found

    def ends(self, column: str) -> tuple[float, float]:
        """Give two numbers of a private column, as far apart as its range or the distance of histories allows."""
        private = self.declared.private[column]
        low, high = private.steps
        apart = None if self.declared.owner is None else self.declared.owner.apart.get(column)
        if apart is not None:
            high = low + max(1, apart // private.resolution)
        return float(low * private.resolution), float(high * private.resolution)

    def condition(self, rows: list[int] | None = None) -> str:
        """Give a WHERE condition that picks rows by their keys; by default all of the owner's."""
        if rows is not None or self.declared.per is not None:
            return super().condition(rows or list(self.mine))
        assert self.declared.owner is not None
        name = self.declared.owner.column
        return f"{name} = {literal(self.rows[name][self.victim].as_py())}"

    def question_by_row(self, times: int) -> str:
        """Give the question for a multiple of each of the owner's numbers, a cell for each."""
        keys = ", ".join(self.declared.row_key)
        return f"{self.question(times=times).replace('SELECT', f'SELECT {keys},', 1)} GROUP BY {keys}"


def owner_at_stake(table: str, declared: Table, rows: pa.Table) -> OwnerSecret:
    """Put the owner of the middle row at stake."""
    if declared.owner is None:
        raise InputError(f"{table} declares no owner whose history could be told")
    column, victim = next(iter(declared.private)), rows.num_rows // 2
    owners, per = rows[declared.owner.column].to_pylist(), declared.per
    periods = [None] * len(owners) if per is None else [per.text(one) for one in rows[per.column].to_pylist()]
    mine = tuple(
        row for row, whose in enumerate(zip(owners, periods, strict=True)) if whose == (owners[victim], periods[victim])
    )
    secret = OwnerSecret(table, declared, column, rows, victim, (0.0, 0.0), mine)
    low, high = secret.ends(column)
    totals = len(mine) * low, len(mine) * high
    return replace(secret, rows=secret.rows_with(0), values=totals)


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
