"""Totals of groups, and running totals along some keys: put together from the released cells, so that they add up.

Noise is on the finest groups alone, which are charged; every other row is arithmetic on released numbers and public
counts. Of cells with noise of their own, a total is within k times their bound, so that sums are released within the
bound that was asked for, divided by the most cells of a total; of cells with joint noise it is as near as each of them
(``joint_noise.py``). Whichever costs less is given. Averages keep their bound.

*Guarantee* (``totals.proof.md``): a total, running or not, is the sum of its released parts, to the last digit; every
number that is shown is within the bound that was asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.errors import RefusedError
from errorfloor.preparing.rounding import FINEST, cut, multiples, rounded
from errorfloor.pricing import Bounds
from errorfloor.pricing.interval import quiet
from errorfloor.pricing.keys import GroupKeys
from errorfloor.sql.plan import Always, Count, Quotient
from errorfloor.sql.question import Question, QuestionOutput

if TYPE_CHECKING:
    from errorfloor.preparing.preparation import Prepared, PreparedOutput

NO_GROUP = -1  # the place of a row that is a total
MOST_STEPS = 2.0**62  # of a lattice, in whole numbers
UNIT = 2.0**-52
ROUNDING = 1 + 2.0**-40  # more than what sums of doubles are off by


@dataclass(frozen=True, eq=False)
class Totals:
    """The rows of coarser groupings: for each of them which row a finest group belongs to, and the keys it shows."""

    places: tuple[Array, ...]
    kept: tuple[tuple[str, ...], ...]
    sizes: tuple[int, ...]

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return sum(self.sizes)

    @property
    def parts(self) -> int:
        """The most finest groups of one row."""
        return max((int(np.bincount(place).max(initial=1)) for place in self.places if place.size), default=1)

    def keys(self, name: str, values: Any) -> Any:
        """Give the values of a key on these rows: null where it was not grouped by."""
        parts = []
        for place, kept, size in zip(self.places, self.kept, self.sizes, strict=True):
            first = np.full(size, -1)
            first[place[::-1]] = np.arange(len(place))[::-1]
            chosen = values.take(arrow.column(first)) if name in kept else pa.nulls(size, values.type)
            parts.append(chosen)
        return pa.concat_arrays([values, *parts])


def totals_of(question: Question, bounds: Bounds) -> Totals:
    """Give the rows of the coarser groupings of a question.

    Raises RefusedError where a total would lack rows, or could not be told from a group.
    """
    if question.sets and bounds.left_out:
        raise RefusedError(
            f"{bounds.left_out:,} groups have fewer than {question.least:,} rows and are left out, so that totals "
            f"would lack them: group by less, or ask for each grouping in a question of its own",
            reason="group",
        )
    found = [_placed(question, bounds.groups, kept) for kept in question.sets]
    return Totals(tuple(place for place, _ in found), question.sets, tuple(size for _, size in found))


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
        codes = _numbered(codes, _column(question, groups, name))
    order = order[np.argsort(codes[order], kind="stable")]
    return Chains(order, tuple(np.bincount(codes).tolist()) if len(groups) else ())


def _column(question: Question, groups: GroupKeys, name: str) -> Any:
    return next(column.values for key, column in zip(question.keys, groups.columns, strict=True) if key.name == name)


def _placed(question: Question, groups: GroupKeys, kept: Sequence[str]) -> tuple[Array, int]:
    codes = np.zeros(len(groups), dtype=np.int64)
    for key, column in zip(question.keys, groups.columns, strict=True):
        if key.name not in kept:
            if column.values.null_count:
                raise RefusedError(
                    f"{key.name} is null for some rows, which could not be told from totals: leave them out with WHERE "
                    f"{key.name} IS NOT NULL",
                    reason="group",
                )
            continue
        codes = _numbered(codes, column.values)
    return codes, max(int(codes.max(initial=-1)) + 1, int(not kept))  # all rows have a total, if there are none, too


def _numbered(codes: Array, values: Any) -> Array:
    """Number what differs in numbers that were given before, or in some values; NULL is a value."""
    encoded = values.dictionary_encode()
    each = arrow.values_of(encoded.indices.fill_null(arrow.scalar(len(encoded.dictionary)).cast(encoded.indices.type)))
    found: Array = np.unique(codes * (len(encoded.dictionary) + 1) + each, return_inverse=True)[1]
    return found


def columns_of(one: "PreparedOutput", shown: Mapping[str, Any], prepared: "Prepared") -> dict[str, Any]:
    """Add the rows of totals to the columns of an output: its numbers, and the ends of their certain intervals."""
    totals, name = prepared.totals, one.output.name
    weights = counted_rows(one.output, prepared)
    parts = [
        _together(one, weights, place, size, prepared.bounds.kind)
        for place, size in zip(totals.places, totals.sizes, strict=True)
    ]
    found = {name: _alike([shown[name], *(numbers for numbers, _ in parts)])}
    if one.added is None:
        return found
    bounds, step = prepared.bounds_of(one), one.added.narrowest.lattice.step
    ends = []
    for (numbers, half), place, size in zip(parts, totals.places, totals.sizes, strict=True):
        possible = [
            _possible(one, weights, place, size, each[prepared.bounds.kind], sign)
            for each, sign in ((bounds.low, -1.0), (bounds.high, 1.0))
        ]
        there = ~arrow.nulls(numbers)
        each = cut(arrow.values_of(arrow.without_nulls(numbers)), (-half, half), (possible[0], possible[1]), step)
        ends.append([arrow.column(side, there) for side in each])
    for index, end in enumerate(("_low", "_high")):
        found[f"{name}{end}"] = pa.concat_arrays([shown[f"{name}{end}"], *(each[index] for each in ends)])
    return found


def _alike(columns: Sequence[Any]) -> Any:
    """Put numbers one after the other: as integers only where all are whole, for averages of whole ones need not be."""
    first, *others = columns
    numbers = [arrow.values_of(arrow.without_nulls(one)) for one in others]
    if pa.types.is_integer(first.type) and not all((np.rint(one) == one).all() for one in numbers):
        first = first.cast(pa.float64(), safe=False)
    return pa.concat_arrays([first, *(one.cast(first.type) for one in others)])


def counted_rows(output: QuestionOutput, prepared: "Prepared") -> Array | None:
    """Give the rows of each group that an average is over; None for sums."""
    match output.formula:
        case Quotient(_, Count(Always())):
            return prepared.bounds.rows[prepared.bounds.kind].astype(float)
        case Quotient(_, Count() as count):
            counted = next(one for one in prepared.outputs if one.output.formula == count)
            return arrow.values_of(counted.kept).astype(float)
    return None


def running_columns(one: "PreparedOutput", prepared: "Prepared") -> dict[str, Any]:
    """Give the columns of a running total, or of a mean: its numbers, and the ends of their certain intervals."""
    name, chains = one.output.name, prepared.plan.chains
    there = ~arrow.nulls(one.kept)
    reached = chains.summed(there.astype(np.int64)) > 0
    cells = np.where(there, arrow.values_of(arrow.without_nulls(one.kept)), 0)
    count = np.maximum(chains.summed(there.astype(np.int64)), 1)
    is_mean = any(window.mean for window in prepared.question.running if window.name == name)
    if one.added is None:
        summed = chains.summed(addable(cells))
        return {name: arrow.column(summed / count if is_mean else summed, reached)}
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
    if is_mean:
        numbers, nowhere = rounded(numbers / count, lattice), np.zeros(1)
        low, high = (
            cut(end / count, (nowhere, nowhere), (nowhere - np.inf, nowhere + np.inf), lattice.step)[side]
            for side, end in enumerate((low, high))
        )
    columns = {name: numbers, f"{name}_low": low, f"{name}_high": high}
    return {each: arrow.column(values, reached) for each, values in columns.items()}


def addable(cells: Array) -> Array:
    """Give whole numbers as doubles where their sum might exceed 64 bits, as sums over so many rows leave.

    >>> addable(np.array([2**62, 2**62])).sum()
    np.float64(9.223372036854776e+18)
    """
    return cells.astype(float) if np.abs(cells.astype(float)).sum() >= 2.0**62 else cells


@quiet
def _possible(one: "PreparedOutput", weights: Array | None, place: Array, size: int, end: Array, sign: float) -> Array:
    """Put the ends of what cells can be together, rounded outwards: downwards where ``sign`` is -1."""
    there = ~arrow.nulls(one.kept)
    each = np.ones(len(there)) if weights is None else weights
    whole = np.bincount(place, each, size)  # rows of cells without a value count, too
    divisor = np.where(whole > 0, whole, 1.0) if weights is not None else 1.0
    total, parts = (np.bincount(place, np.where(there, of, 0.0), size) for of in (each * end, np.ones(len(there))))
    spread = np.bincount(place, np.where(there, each * np.abs(end), 0.0), size)
    return (total + sign * (parts + 8) * UNIT * spread) / divisor


def check_sums_stay_exact(prepared: "Prepared") -> None:
    """Refuse, by public bounds, sums that might have more steps of the finest lattice than an integer holds."""
    kind = prepared.bounds.kind
    for one in prepared.outputs:
        if one.added is None:
            continue
        bounds = prepared.bounds_of(one)
        largest = np.where(bounds.defined, np.maximum(np.abs(bounds.low), np.abs(bounds.high)), 0.0)
        reach = float((largest + one.added.of_kind("high"))[kind].sum())
        if not reach < MOST_STEPS * one.added.narrowest.lattice.size:
            raise RefusedError(
                f"{one.output.name} may reach {reach:.2g} in all, and its finest group is released in steps of "
                f"{one.added.narrowest.lattice.size:.2g}: sums stay exact up to {MOST_STEPS:.1g} steps. Ask for wider "
                "bounds, give max_error in place of spend, or ask for groups of such different sizes one by one",
                reason="too-large",
            )


def _together(one: "PreparedOutput", weights: Array | None, place: Array, size: int, kind: Array) -> tuple[Any, Array]:
    """Put the cells of an output together: the numbers, and how far off they can be."""
    there = ~arrow.nulls(one.kept)
    cells = np.where(there, arrow.values_of(arrow.without_nulls(one.kept)), 0)

    def total(values: Array) -> Array:
        return np.bincount(place, np.where(there, values, 0.0), size)

    parts = total(np.ones(len(cells)))
    bound = np.zeros(len(cells)) if one.added is None else one.added.of_kind("high")[kind]
    alike = one.added is not None and one.added.widest.keeps_sums
    if weights is None:
        if one.added is None:
            cells = addable(cells)
            found = np.zeros(size, dtype=cells.dtype)
            np.add.at(found, place, cells)
            return arrow.column(found, (parts > 0) | isinstance(one.output.formula, Count)), np.zeros(size)
        found = np.zeros(size, dtype=np.int64)
        lattice = one.added.narrowest.lattice  # steps are powers of ten: the smallest divides all
        np.add.at(found, place, np.rint(cells / lattice.size).astype(np.int64))
        half = np.full(size, one.added.widest.high) if alike else total(bound)
        return arrow.column(multiples(found, lattice), parts > 0), half
    whole = np.bincount(place, weights, size)  # rows of cells without a value count, too
    whole = np.where(whole > 0, whole, 1.0)
    off = (parts + 8) * UNIT * total(weights * np.abs(cells)) / whole
    mean, spare = total(weights * cells) / whole, 0.0
    if one.added is not None:
        lattice = one.added.narrowest.lattice
        mean, spare, off = rounded(mean, lattice), one.added.narrowest.spare, off + lattice.size / FINEST
    half = total(weights * bound) / whole
    half = np.where(off + (parts + 8) * UNIT * half <= spare, half, half + off)
    return arrow.column(mean, parts > 0), half
