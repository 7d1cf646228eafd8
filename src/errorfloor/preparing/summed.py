"""Which groups are added up: to the totals of coarser groupings, and to running totals along some keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.errors import RefusedError
from errorfloor.pricing import Bounds
from errorfloor.pricing.keys import GroupKeys
from errorfloor.sql.question import Question


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
    return codes, int(codes.max(initial=-1)) + 1


def _numbered(codes: Array, values: Any) -> Array:
    """Number what differs in numbers that were given before, or in some values; NULL is a value."""
    encoded = values.dictionary_encode()
    each = arrow.values_of(encoded.indices.fill_null(len(encoded.dictionary)))
    found: Array = np.unique(codes * (len(encoded.dictionary) + 1) + each, return_inverse=True)[1]
    return found
