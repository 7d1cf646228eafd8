"""Numbers that agree with each other, from answers that were released apart: parts and a total, one sum by two keys.

What is kept of the same rows is put side by side: wherever two answers have the same sum, by the keys that both have,
their intervals bound each other. *Guarantee* (``reconciling.proof.md``): every truth is still between its ends, and
nothing is charged or learnt: it is arithmetic on what was released.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from errorfloor.answering.keeping import Keeper, is_seen
from errorfloor.answering.kept import KeptColumn
from errorfloor.answering.unions import weights_of
from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.engines.allotment import allotment
from errorfloor.errors import InputError
from errorfloor.noise.lattice import Lattice
from errorfloor.preparing.noises import QuestionWish
from errorfloor.preparing.preparation import ReadQuestion
from errorfloor.preparing.rounding import cut, rounded
from errorfloor.pricing.keys import GroupKeys
from errorfloor.sql.question import QuestionOutput, is_private

if TYPE_CHECKING:
    from errorfloor.answering.answer import Answer

MOST_CELLS = 4000  # of all answers together
MOST_ANSWERS = 12  # the newest of them
MOST_PLACES = 500_000  # of the matrix of all sums that two answers have in common: as many rows, by as many cells
PASSES = 50  # over all sums, in which ends bound each other
STEPS = 20_000  # towards the nearest numbers that agree
CLOSE = 1e-10  # of a standard error: how near that is enough
SLACK = 1e-12  # of what is added up: more than its roundings
ENDLESS = (np.array([-np.inf]), np.array([np.inf]))


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of one released output: what they are multiplied by in sums, released numbers, ends, deviations."""

    names: tuple[str, ...]
    groups: GroupKeys
    rows: Array
    weights: Array
    released: Array
    low: Array
    high: Array
    deviation: Array
    step: str


@dataclass(frozen=True, eq=False)
class KeptBy:
    """Who keeps an answer, what was asked, how exactly, and for whom: ``analyst`` is None for the custodian.

    *Guarantee*: nothing that is kept of somebody else's question changes a number, unless it is shared, however many
    there are; what a full shelf has forgotten is no longer compared with.
    """

    keeper: Keeper
    read: ReadQuestion
    wish: QuestionWish
    analyst: str | None

    def beside(self, output: QuestionOutput, place: int) -> list[KeptColumn]:
        """Give what was released for an output, and what else is kept of the same rows; nothing if it is not kept."""
        own = self.keeper.find(self.read, self.wish)[place]
        if own is None:
            return []
        kept = self.keeper.beside(self.read.over(output), self._is_seen)
        others = (one for one in kept if one.facts["asked"] != own.facts["asked"])
        found, cells = [own], own.answer.facts["cells"]
        for one in islice(others, MOST_ANSWERS - 1):  # each is read when the loop comes to it
            cells += one.answer.facts["cells"]
            if cells > MOST_CELLS:
                raise InputError(
                    f"{cells:,} released cells, or more, are too many to reconcile; at most {MOST_CELLS:,} are"
                )
            found.append(one)
        return found

    def _is_seen(self, said: Mapping[str, Any]) -> bool:
        allotment().check()  # answers of others are passed over, however many there are
        return is_seen(said, self.analyst)


def reconciled(answer: "Answer", by: KeptBy) -> pa.Table:
    """Give the table of an answer with numbers that agree with all that is kept, and the ends that are left.

    Raises InputError for totals and running totals, which agree within their answer, and where there are too many
    cells.
    """
    read = by.read
    question = read.question
    if question.sets or question.running:
        raise InputError("totals in one answer agree already: ask for the groups alone, and reconcile that answer")
    table = answer.to_arrow()
    for place, output in enumerate(question.outputs):
        if output.part_of is None and is_private(output.formula) and output.name in table.column_names:
            found = _agreeing(output, by.beside(output, place), read)
            if found is not None:
                for name, values in zip(("", "_low", "_high"), found, strict=True):
                    table = _replaced(table, f"{output.name}{name}", values[answer.places])
    return table


def _replaced(table: pa.Table, name: str, values: Array) -> pa.Table:
    place = table.column_names.index(name)
    there = ~arrow.nulls(table.column(place).combine_chunks())
    return table.set_column(place, name, arrow.column(values, there))


def _agreeing(
    output: QuestionOutput, columns: Sequence[KeptColumn], read: ReadQuestion
) -> tuple[Array, Array, Array] | None:
    """Give numbers and ends for the groups of the first column; None where nothing was kept to compare with."""
    each = [_cells(output, one, read) for one in columns]
    cells = [one for one in each if one is not None]
    if len(cells) < 2 or each[0] is None:
        return None
    first = np.concatenate([[0], np.cumsum([len(one.released) for one in cells])])
    sums = _sums(cells, first, hides_records=read.table.hides_records)
    low, high = _bounded(sums, np.concatenate([one.low for one in cells]), np.concatenate([one.high for one in cells]))
    released, deviation = (np.concatenate([getattr(one, name) for one in cells]) for name in ("released", "deviation"))
    numbers = _nearest(sums, released, deviation, low, high)
    mine = slice(first[0], first[1])
    step = min((one.step for one in cells), key=float)
    low, high = (cut(end[mine], (np.zeros(1),) * 2, ENDLESS, step)[side] for side, end in enumerate((low, high)))
    return rounded(np.clip(numbers[mine], low, high), Lattice(step)), low, high


def _cells(output: QuestionOutput, column: KeptColumn, read: ReadQuestion) -> _Cells | None:
    packed, added = column.answer.cells, column.noises
    rows = packed.rows[packed.kind]
    weights = weights_of(output, column, rows, read)
    if added is None or weights is None:
        return None
    defined = packed.bounds[column.place].defined[packed.kind]
    values = np.where(defined, arrow.values_of(arrow.without_nulls(column.numbers)).astype(float), 0.0)
    low, high = added.interval(values, packed.bounds[column.place], packed.kind)
    if not (np.isfinite(low) & np.isfinite(high)).all():
        return None
    return _Cells(
        tuple(column.answer.facts["keys"]),
        packed.groups,
        rows,
        np.where(defined, weights, 0.0),
        values,
        np.where(defined, low, 0.0),
        np.where(defined, high, 0.0),
        added.of_kind("standard_error")[packed.kind],
        added.narrowest.lattice.step,
    )


def _sums(cells: Sequence[_Cells], first: Array, *, hides_records: bool) -> Array:
    """Give the sums that two answers have in common, as rows of a matrix whose product with all truths is 0."""
    found: list[tuple[tuple[int, int], tuple[Array, Array], int]] = []
    for one, two in combinations(range(len(cells)), 2):
        allotment().check()
        codes = _common(cells[one], cells[two])
        if codes is None:
            continue
        count = 1 + int(max(code.max(initial=0) for code in codes))
        rows = [np.bincount(code, cells[at].rows, count) for code, at in zip(codes, (one, two), strict=True)]
        if hides_records or (rows[0] == rows[1]).all():  # otherwise groups were left out of one of them
            found.append(((one, two), codes, count))
    total = sum(count for *_, count in found)
    if total * first[-1] > MOST_PLACES:
        raise InputError(
            f"{total:,} sums that answers have in common, of {first[-1]:,} released cells, are too many to reconcile; "
            f"at most {MOST_PLACES // first[-1]:,} of so many cells are: ask for fewer groups"
        )
    sums, start = np.zeros((total, first[-1])), 0
    for pair, codes, count in found:
        for code, at, sign in zip(codes, pair, (1.0, -1.0), strict=True):
            sums[start + code, first[at] + np.arange(len(code))] = sign * cells[at].weights
        start += count
    return sums


def _common(one: _Cells, two: _Cells) -> tuple[Array, Array] | None:
    """Number the groups by the keys that two answers have in common; None if their values cannot be compared."""
    codes = np.zeros(len(one.released) + len(two.released), dtype=np.int64)
    for name in one.names:
        if name not in two.names:
            continue
        pair = [each.groups.columns[each.names.index(name)] for each in (one, two)]
        if pair[0].unit != pair[1].unit or pair[0].values.type != pair[1].values.type:
            return None
        both = pa.concat_arrays([each.values for each in pair]).dictionary_encode(null_encoding="encode")
        values = arrow.values_of(both.indices).astype(np.int64)
        _, codes = np.unique(codes * (len(both.dictionary) + 1) + values, return_inverse=True)
    return codes[: len(one.released)], codes[len(one.released) :]


def _bounded(sums: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Let ends bound each other: in each sum, what one cell can be follows from what all others can be."""
    for _ in range(PASSES if len(sums) else 0):
        allotment().check()
        before = low, high
        least, most = (np.where(sums > 0, sums * a, sums * b) for a, b in ((low, high), (high, low)))
        size = SLACK * (np.abs(least).sum(axis=1) + np.abs(most).sum(axis=1))[:, None]
        rest_least, rest_most = least.sum(axis=1)[:, None] - least - size, most.sum(axis=1)[:, None] - most + size
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = [-rest_most / sums, -rest_least / sums]  # exchanged where the cell counts negative
        lower = np.where(sums > 0, ends[0], np.where(sums < 0, ends[1], -np.inf)).max(axis=0)
        upper = np.where(sums > 0, ends[1], np.where(sums < 0, ends[0], np.inf)).min(axis=0)
        low, high = np.maximum(low, lower), np.minimum(high, upper)
        if np.array_equal(before[0], low) and np.array_equal(before[1], high):
            break
    return low, high


def _nearest(sums: Array, released: Array, deviation: Array, low: Array, high: Array) -> Array:
    """Give the numbers between the ends that agree and are nearest to what was released, in standard errors.

    Dykstra's alternating projections: onto the sums, and onto the ends.
    """
    scale = np.where(deviation > 0, deviation, 1.0)
    matrix, first, last = sums * scale, low / scale, high / scale
    sizes = np.linalg.norm(matrix, axis=1)
    matrix = matrix[sizes > 0] / sizes[sizes > 0, None]
    if not len(matrix):
        return np.clip(released, low, high)
    _, values, basis = np.linalg.svd(matrix, full_matrices=False)
    basis = basis[values > values[0] * 1e-9]

    def agreeing(point: Array) -> Array:
        return np.asarray(point - basis.T @ (basis @ point))

    point, beyond = released / scale, np.zeros(len(released))
    for _ in range(STEPS):
        allotment().check()
        inside = np.clip(point + beyond, first, last)
        beyond = point + beyond - inside
        nearer = agreeing(inside)
        if np.abs(nearer - point).max() < CLOSE and np.abs(nearer - inside).max() < CLOSE:
            break
        point = nearer
    return np.asarray(nearer * scale)
