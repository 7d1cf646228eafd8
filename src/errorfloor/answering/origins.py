"""Where numbers may follow from: released cells whose unions, or some of which, are the groups of a question.

A question may have fewer keys than an answer, or the same ones and a wider bound; a condition that chooses whole cells;
or rows of several parts of a table that grows, each of which was released by itself. Which cells they are follows from
public facts alone.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow.compute as pc

from errorfloor.answering.keeping import Keeper
from errorfloor.answering.kept import KeptAnswer, KeptColumn
from errorfloor.arithmetic import arrow
from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError
from errorfloor.preparing.noises import QuestionWish
from errorfloor.preparing.preparation import ReadQuestion
from errorfloor.pricing import FactsCache
from errorfloor.pricing.facts import fetch
from errorfloor.pricing.keys import GroupKeys
from errorfloor.sql.plan import And, Condition, Scalar, TableColumn, all_of
from errorfloor.sql.question import GroupKey, Question, walk
from errorfloor.sql.sums import stored_layout

MOST_CONDITIONS = 4  # that are left out in every choice; of more, and of a part of more than two, one or all
MOST_PARTS = 120  # of a table that grows: each is looked up by itself, for every choice of conditions
Reading = Callable[[ReadQuestion, Question], ReadQuestion]  # reads another question of the same tables
ReadingPart = Callable[[ReadQuestion, str], ReadQuestion]  # reads a question of one part alone


def hexes(keys: Sequence[GroupKey]) -> list[str]:
    """Give the names by which the keys of kept answers are known."""
    return [key.value.encoded.hex() for key in keys]


def shown_of(column: KeptColumn) -> frozenset[frozenset[str]]:
    """Give the groupings that were shown together in a kept answer, each by its keys."""
    said = column.answer.facts
    return frozenset(map(frozenset, [said["keys"], *said.get("sets", ())]))


@dataclass(frozen=True, eq=False)
class Origin:
    """A released output over the same rows, or over more; ``read`` is the question as it was asked of these rows.

    Of more rows, ``cells`` are the groups, and how many rows are in each, that a condition chooses: by ``keys``. It may
    choose all rows of some groups without them.
    """

    column: KeptColumn
    read: ReadQuestion
    keys: tuple[str, ...] = ()
    cells: tuple[GroupKeys, Array] | None = None
    is_wider: bool = False

    def places(self, coarse: GroupKeys, keys: Sequence[str]) -> Array | None:
        """Give the group that each cell belongs to, −1 for one that is not chosen; None if they are no parts of them.

        A cell is chosen as a whole: of its rows the condition takes as many as there are, and so all of them.
        """
        fine, names = self.column.answer.cells, self.column.answer.facts["keys"]
        if self.cells is None:
            place = _places(fine.groups, names, coarse, keys)
            return None if place is None or (not self.is_wider and (place < 0).any()) else place
        groups, rows = self.cells
        if not len(groups):
            return np.full(len(fine.groups), -1)
        chosen, place = _places(fine.groups, names, groups, self.keys), _places(groups, self.keys, coarse, keys)
        if chosen is None or place is None:
            return None
        there = chosen >= 0
        found = np.bincount(chosen[there], fine.rows[fine.kind][there], len(groups))
        return np.where(there, place[chosen], -1) if (found == rows).all() else None


class OriginFinder:
    """Looks for the answers that the numbers of a question may follow from; the engine counts rows, if any."""

    def __init__(
        self, keeper: Keeper, engine: Engine, facts: FactsCache, reading: Reading, reading_part: ReadingPart
    ) -> None:
        self.keeper, self.engine, self._facts = keeper, engine, facts
        self._reading, self._reading_part = reading, reading_part
        self._opened: dict[int, KeptAnswer] = {}
        self._known: dict[int, tuple[ReadQuestion, list[tuple[ReadQuestion, list[GroupKey]]]]] = {}

    def of(self, read: ReadQuestion, place: int, bound: float) -> Iterator[tuple[Origin, ...]]:
        """Give what an output may follow from: one answer, or one for each part of a table that grows."""
        yield from ((one,) for one in self._one(read, place, bound, self._wider(read)))
        parts = [part.name for part in read.snapshots[0].parts]
        if 2 <= len(parts) <= MOST_PARTS:
            yield from self._of_parts(read, place, bound, parts, None)

    def by_part(
        self, read: ReadQuestion, place: int, bound: float, parts: Collection[str], wish: QuestionWish
    ) -> Iterator[tuple[Origin, ...]]:
        """Give what an output of a question that is asked part by part may follow from: of a part its own, if any."""
        if len(parts) <= MOST_PARTS:
            yield from self._of_parts(read, place, bound, parts, wish)

    def is_any(self, read: ReadQuestion, parts: Sequence[str] = ()) -> bool:
        """Whether anything was released that an output may follow from; said after as few questions as may be."""
        first = [self._reading_part(read, name) for name in parts[:1]]
        wider = [*self._wider(read), *(one for each in first for one in self._wider(each, apart=True))]
        some = [read, *first, *(one for one, _ in wider)]
        names = dict.fromkeys(name for one in some for name in one.found_over)
        return bool(self.keeper.ledger.kept_over(names, 1))

    def _of_parts(
        self, read: ReadQuestion, place: int, bound: float, parts: Collection[str], wish: QuestionWish | None
    ) -> Iterator[tuple[Origin, ...]]:
        """Take the oldest answer of each part, or the oldest whose bound is an equal share of that of their sum."""
        each = [self._reading_part(read, name) for name in parts]
        for near in dict.fromkeys((bound, bound / max(len(each), 1))):
            found: list[Origin] = []
            for part in each:
                one = self._of_part(part, place, near, wish)
                if one is None:
                    break
                found.append(one)
            if found and len(found) == len(each):
                yield tuple(found)

    def _of_part(self, part: ReadQuestion, place: int, bound: float, wish: QuestionWish | None) -> Origin | None:
        own = None if wish is None else self.keeper.find(part, wish)[place]
        if own is not None:
            return Origin(own, part)
        return next(self._one(part, place, bound, self._wider(part, apart=True)), None)

    def _one(
        self, read: ReadQuestion, place: int, bound: float, wider: Sequence[tuple[ReadQuestion, list[GroupKey]]]
    ) -> Iterator[Origin]:
        """Give the answers over the same rows, and then those over more, of which a condition chooses some cells."""
        keys = hexes(read.question.keys)
        yield from (Origin(one, read) for one in self.keeper.over(read.found_over[place], keys, bound, self._opened))
        for one, more in wider:
            every = [*keys, *hexes(more)] if more else keys
            for needed in (every, keys) if more else (every,):  # those with all keys first
                for column in self.keeper.over(one.found_over[place], needed, bound, self._opened):
                    told = [key for key in more if key.value.encoded.hex() in column.answer.facts["keys"]]
                    if needed is every or len(told) < len(more):
                        cells = self._chosen(read, told) if told else None
                        yield Origin(column, one, (*keys, *hexes(told)), cells, is_wider=True)

    def _wider(self, read: ReadQuestion, *, apart: bool = False) -> list[tuple[ReadQuestion, list[GroupKey]]]:
        """Give the same question without some of its conditions, and the keys that they need besides its own.

        Of a part it is a question of that part, ``apart`` from all others.
        """
        if id(read) not in self._known:  # with the question, whose place in memory nothing else has then
            self._known[id(read)] = read, self._without_conditions(read, apart=apart)
        return self._known[id(read)][1]

    def _without_conditions(self, read: ReadQuestion, *, apart: bool) -> list[tuple[ReadQuestion, list[GroupKey]]]:
        """Leave out every choice of conditions; none where records are protected, whose numbers nobody counts."""
        question, where = read.question, read.question.where
        every = where.parts if isinstance(where, And) else (where,)
        some = [one for one in every if _columns(one)]
        if not some or read.table.hides_records:
            return []
        few = 2 if apart else MOST_CONDITIONS
        sizes = range(1, len(some) + 1) if len(some) <= few else (1, len(some))
        known, found = set(hexes(question.keys)), []
        for size in sizes:
            for chosen in combinations(some, size):
                rest = all_of(one for one in every if one not in chosen)
                columns = dict.fromkeys(column for one in chosen for column in _columns(one))
                more = [GroupKey(f"key {number}", value) for number, value in enumerate(map(_key, columns))]
                more = [key for key in more if key.value.encoded.hex() not in known]
                asked = replace(question, where=rest)
                if read.snapshots[0].parts:  # of the same parts all rows
                    found.append((replace(read, question=asked), more))
                if apart:
                    continue
                try:
                    found.append((self._reading(read, asked), more))
                except CatalogueError:  # of parts that are lost
                    continue
        return found

    def _chosen(self, read: ReadQuestion, more: Sequence[GroupKey]) -> tuple[GroupKeys, Array]:
        """Count the rows of a question by more keys; public columns only are read."""
        keys = (*read.question.keys, *more)
        question = replace(read.question, keys=keys, outputs=(), selected=(), order=(), limit=None, sets=(), running=())
        stored = stored_layout(question, read.snapshots)
        found = fetch(question, (), (), read.snapshots, self.engine, stored, self._facts)
        return found.groups, found.by_group(found.rows)


def _columns(condition: Condition) -> list[TableColumn]:
    """Give the columns of a condition, all of which are public; none if it has none, or others."""
    found = [node for node in walk(condition) if isinstance(node, TableColumn)]
    return [] if any(one.private for one in found) else found


def _key(column: TableColumn) -> Scalar:
    return Polynomial.atom(column) if column.type == "number" else column


def _places(fine: GroupKeys, names: Sequence[str], coarse: GroupKeys, keys: Sequence[str]) -> Array | None:
    """Give the group that each cell belongs to, −1 if it is none of them; None if the cells have no such key."""
    here, there = np.zeros(len(coarse), dtype=np.int64), np.zeros(len(fine), dtype=np.int64)
    if not len(coarse):
        return there - 1
    for key, column in zip(keys, coarse.columns, strict=True):
        if key not in names:
            return None
        part = fine.columns[list(names).index(key)]
        if part.unit != column.unit or part.values.type != column.values.type:
            return None
        values = column.values.unique()
        ours, theirs = (_numbers(each.values, values) for each in (column, part))
        here, there = here * (len(values) + 1) + ours, there * (len(values) + 1) + theirs
        _, codes = np.unique(np.concatenate([here, there]), return_inverse=True)
        here, there = codes[: len(here)], codes[len(here) :]
    order = np.argsort(here)
    place = order[np.minimum(np.searchsorted(here[order], there), len(order) - 1)]
    return np.where(here[place] == there, place, -1)


def _numbers(column: Any, values: Any) -> Array:
    """Give the place of each value among some; one more than the last where it is none of them."""
    found = pc.index_in(column, value_set=values)
    return np.where(arrow.nulls(found), len(values), arrow.values_of(found))
