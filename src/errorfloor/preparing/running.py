"""Running totals of the groups of a question: put together from the released cells, so that they add up.

*Guarantee* (``totals.proof.md``): a running total is the sum of the released cells up to it, to the last digit, within
the bound that was asked for.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.errors import RefusedError
from errorfloor.preparing.ends import cut, rounded
from errorfloor.preparing.rounding import multiples
from errorfloor.pricing import Bounds
from errorfloor.pricing.keys import GroupKeys
from errorfloor.sql.question import Question

if TYPE_CHECKING:
    from errorfloor.preparing.preparation import Prepared, PreparedOutput

ROUNDING = 1 + 2.0**-40  # more than what sums of doubles are off by


@dataclass(frozen=True, eq=False)
class Chains:
    """The groups in the order in which they are summed: ``order`` has their numbers, ``lengths`` those of the chains.

    >>> Chains(np.array([2, 0, 1]), (2, 1)).first.tolist()
    [0, 0, 2]
    """

    order: Array
    lengths: tuple[int, ...]

    @property
    def parts(self) -> int:
        """The most groups of a running total."""
        return max(self.lengths, default=1)

    @property
    def first(self) -> Array:
        """The place of the first group of each one's chain."""
        ends = np.cumsum(self.lengths)
        return np.repeat(ends - self.lengths, self.lengths)

    def only(self, kept: Array) -> "Chains":
        """Give the chains of some of the groups."""
        chain = np.repeat(np.arange(len(self.lengths)), self.lengths)[kept[self.order]]
        lengths = np.bincount(chain, minlength=len(self.lengths))
        return Chains(self.order[kept[self.order]], tuple(lengths[lengths > 0].tolist()))

    def summed(self, cells: Array) -> Array:
        """Give the running totals of numbers of the groups, in the order of the groups."""
        found = np.empty_like(cells)
        for begin, length in zip(np.unique(self.first).tolist(), self.lengths, strict=True):
            chain = self.order[begin : begin + length]
            found[chain] = np.cumsum(cells[chain])
        return found


def chains_of(question: Question, bounds: Bounds) -> Chains:
    """Give the groups of a question in the order of its running totals.

    Raises RefusedError where a total would lack rows, or the order is not the same everywhere.
    """
    if bounds.left_out:
        raise RefusedError(
            f"{bounds.left_out:,} groups have fewer than {question.least:,} rows and are left out, so that running "
            f"totals would lack them: group by less, or leave the running totals out",
            reason="group",
        )
    window, groups = question.running[0], bounds.groups
    order = np.arange(len(groups))
    for name, falls in reversed(window.order):
        values = _column(question, groups, name)
        if values.null_count:
            raise RefusedError(
                f"{name} is null for some rows, and systems disagree where those come in order: leave them out with "
                f"WHERE {name} IS NOT NULL",
                reason="group",
            )
        way = "descending" if falls else "ascending"
        order = order[arrow.values_of(pc.array_sort_indices(values.take(arrow.column(order)), order=way))]
    codes = np.zeros(len(groups), dtype=np.int64)
    for name in window.partition:
        encoded = _column(question, groups, name).dictionary_encode()
        each = arrow.values_of(encoded.indices.fill_null(len(encoded.dictionary)))
        codes = np.unique(codes * (len(encoded.dictionary) + 1) + each, return_inverse=True)[1]
    order = order[np.argsort(codes[order], kind="stable")]
    return Chains(order, tuple(np.bincount(codes).tolist()) if len(groups) else ())


def _column(question: Question, groups: GroupKeys, name: str) -> Any:
    return next(column.values for key, column in zip(question.keys, groups.columns, strict=True) if key.name == name)


def running_columns(one: "PreparedOutput", prepared: "Prepared") -> dict[str, Any]:
    """Give the columns of a running total, or of a mean: its numbers, and the ends of their certain intervals."""
    name, chains = one.output.name, prepared.plan.chains
    there = ~arrow.nulls(one.kept)
    reached = chains.summed(there.astype(np.int64)) > 0
    cells = np.where(there, arrow.values_of(one.kept.fill_null(0)), 0)
    if one.added is None:
        return {name: arrow.column(chains.summed(cells), reached)}
    lattice = one.added.narrowest.lattice
    numbers = multiples(chains.summed(np.rint(cells / lattice.size).astype(np.int64)), lattice)
    kind, bounds = prepared.bounds.kind, prepared.bounds_of(one)
    if one.added.widest.keeps_sums:
        half = np.full(len(cells), one.added.widest.high)
    else:
        half = chains.summed(np.where(there, one.added.of_kind("high")[kind], 0.0)) * ROUNDING
    least, most = (np.where(there, end[kind], 0.0) for end in (bounds.low, bounds.high))
    spread = (ROUNDING - 1) * chains.summed(np.maximum(np.abs(least), np.abs(most)))
    possible = chains.summed(least) - spread, chains.summed(most) + spread
    low, high = cut(numbers, (-half, half), possible, lattice.step)
    if any(window.mean for window in prepared.question.running if window.name == name):
        count = np.maximum(chains.summed(there.astype(np.int64)), 1)
        numbers, nowhere = rounded(numbers / count, lattice), np.zeros(1)
        low, high = (
            cut(end / count, (nowhere, nowhere), (nowhere - np.inf, nowhere + np.inf), lattice.step)[side]
            for side, end in enumerate((low, high))
        )
    columns = {name: numbers, f"{name}_low": low, f"{name}_high": high}
    return {each: arrow.column(values, reached) for each, values in columns.items()}
