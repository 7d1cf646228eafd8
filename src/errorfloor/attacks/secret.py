"""What is at stake in an attack: one entry that has one of two values, all others being known."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.accounts import Charge
from errorfloor.attacks.generated import with_values
from errorfloor.catalogue import PrivateColumn, Table, allowance, allowed
from errorfloor.floors.two_point import told_apart
from errorfloor.sql_text import literal

ANGLE = 0.35  # between the two laws when the whole allowance is spent: right at most 67 times in 100 by the promise


@dataclass(frozen=True, eq=False)
class Secret:
    """One entry of a private column, known to be one of two values at even odds; all other entries are known.

    ``rows`` is the table as the adversary knows it: every column, and in the victim's own cell the first value.
    """

    table: str
    declared: Table
    column: str
    rows: pa.Table
    victim: int
    values: tuple[float, float]

    @property
    def private(self) -> PrivateColumn:
        """What is declared of the column."""
        return self.declared.private[self.column]

    @property
    def unit(self) -> str:
        """What the two values are in."""
        return self.private.unit

    @property
    def distance(self) -> float:
        """How far apart the two values are."""
        return self.values[1] - self.values[0]

    @property
    def promised(self) -> float:
        """How often anybody may be right at most, when the whole allowance is spent."""
        return float(told_apart(self.distance, **self.limit.amounts()))

    @property
    def limit(self) -> Charge:
        """The whole allowance of what is at stake."""
        return allowed(self.declared, self.column)

    @property
    def whole(self) -> float:
        """I·d² of all answers of the usual noise that the allowance covers: what they tell of which one it is."""
        return (self.limit.raised_cosine or self.limit.information) * self.distance**2

    def rows_with(self, coin: int) -> pa.Table:
        """Give the table with the first or the second value in the victim's cell."""
        return with_values(self.rows, self.column, {self.victim: self.values[coin]})

    @property
    def known(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The column's numbers, the victim's as if it were the first value."""
        return np.asarray(self.rows[self.column].to_numpy(zero_copy_only=False), dtype=np.float64)

    @property
    def neighbour(self) -> int:
        """The first row with a number that is not the victim's."""
        return next(row for row, value in enumerate(self.known) if row != self.victim and np.isfinite(value))

    def key(self, row: int) -> tuple[Any, ...]:
        """Give the key of a row."""
        return tuple(self.rows[name][row].as_py() for name in self.declared.row_key)

    def condition(self, rows: list[int] | None = None) -> str:
        """Give a WHERE condition that picks rows by their keys; by default the victim's alone."""
        picked = [self.victim] if rows is None else rows
        each = [
            " AND ".join(f"{n} = {literal(v)}" for n, v in zip(self.declared.row_key, self.key(row), strict=True))
            for row in picked
        ]
        return " OR ".join(f"({one})" for one in each)

    def question(self, rows: list[int] | None = None, *, times: int = 1) -> str:
        """Give the question for the total of some rows, or a multiple of it; by default for the victim's own number."""
        summed = self.column if times == 1 else f"{times} * {self.column}"
        return f"SELECT sum({summed}) AS answer FROM {self.table} WHERE {self.condition(rows)}"

    def truths(self, times: int = 1) -> tuple[float, float]:
        """Give the true answers to that question for the victim's own number, under the first and the second value."""
        return times * self.values[0], times * self.values[1]


def entry_at_stake(table: str, declared: Table, column: str, rows: pa.Table) -> Secret:
    """Put the entry of a private column in the middle row at stake."""
    values, victim = two_values(declared.private[column]), rows.num_rows // 2
    return Secret(table, declared, column, with_values(rows, column, {victim: values[0]}), victim, values)


def two_values(column: PrivateColumn) -> tuple[float, float]:
    """Give two values about the middle of the range whose laws are ANGLE apart when the allowance is spent.

    >>> two_values(PrivateColumn(range=(0, 50), resolution=0.001, floor=2.0, unit="kWh"))
    (23.935, 26.065)
    """
    information, evaluation = allowance(column)
    wanted = (2 * ANGLE - 2 * math.sqrt(evaluation)) / math.sqrt(information)
    low, high = column.steps
    steps = min(max(1, round(wanted / float(column.resolution))), high - low)
    first = low + (high - low - steps) // 2
    return float(first * column.resolution), float((first + steps) * column.resolution)
