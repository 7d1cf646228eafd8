"""Questions whose groups each lie in one part of a table that grows: parts are asked one by one, and charged together.

*Guarantee* (``by_part.proof.md``): the numbers of a part's groups, their label and what is kept of them follow from
that part alone, so that they stay the same, and free, when other parts come; and the charge of several parts bounds
what one entry, or one owner, can do to all of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.answering.releasing import Released, laid_out
from errorfloor.arithmetic import arrow
from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.catalogue.model import Growth
from errorfloor.checks import Array
from errorfloor.preparing.cell_noise import CellNoise
from errorfloor.preparing.noises import Added, QuestionWish
from errorfloor.preparing.preparation import Prepared, ReadQuestion
from errorfloor.pricing.keys import GroupKeys, KeyColumn
from errorfloor.sql.plan import AsDate, TableColumn, Truncated
from errorfloor.sql.question import GroupKey

WITHIN = {  # units of which each lies in one part
    "day": ("hour", "day"),
    "week": ("hour", "day", "week"),
    "month": ("hour", "day", "month"),
    "quarter": ("hour", "day", "month", "quarter"),
    "year": ("hour", "day", "month", "quarter", "year"),
}


def key_of_part(read: ReadQuestion, wish: QuestionWish) -> int | None:
    """Give the number of a key that says in which part a group is; None if the question is asked as a whole.

    That is also where one part is read, where totals or running totals are made of groups of several parts, and where
    the bounds of cells follow from a share that all of them take together.
    """
    growth, question = read.table.grows_by, read.question
    if growth is None or len(read.snapshots[0].parts) < 2 or question.sets or question.running:
        return None
    if wish.spend is not None or not read.private:
        return None
    return next((place for place, key in enumerate(question.keys) if _lies_within(key, growth)), None)


def _lies_within(key: GroupKey, growth: Growth) -> bool:
    value: Any = key.value
    if isinstance(value, Polynomial) and len(value.atoms) == 1:
        (atom,) = value.atoms
        value = atom if value == Polynomial.atom(atom) else None
    if isinstance(value, Truncated) and growth.part is not None:
        value = value.of if value.unit in WITHIN[growth.part] else None
    if isinstance(value, AsDate):
        value = value.of
    return isinstance(value, TableColumn) and value.place == 0 and value.name == growth.column


def groups_by_part(whole: Prepared, key: int) -> dict[str, Array]:
    """Give the places of the groups of each part that has any, in the order of the parts."""
    growth, groups = whole.table.grows_by, whole.bounds.groups
    assert growth is not None
    names, part = _named(groups.columns[key], growth)
    there = set(names)
    known = [part.name for part in whole.plan.snapshots[0].parts if part.name in there]
    order = {name: place for place, name in enumerate(known)}
    rank = np.array([order[name] for name in names], dtype=np.int64)[part]
    ends = np.cumsum(np.bincount(rank, minlength=len(known)))
    return dict(zip(known, np.split(np.argsort(rank, kind="stable"), ends[:-1]), strict=True)) if known else {}


def _named(column: KeyColumn, growth: Growth) -> tuple[list[str], Array]:
    """Give the names of parts, and the place among them of the one that each key lies in."""
    values = arrow.flat(column.shown)
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp("us")).cast(pa.date32(), safe=False)  # many moments, few days
    each = values.dictionary_encode(null_encoding="encode")
    return [growth.name(value) for value in each.dictionary.to_pylist()], arrow.values_of(each.indices)


def reading_part(read: ReadQuestion, name: str) -> ReadQuestion:
    """Give the same question of one part alone."""
    return replace(read, snapshots=(read.snapshots[0].reading([name]), *read.snapshots[1:]))


def are_alike(whole: Prepared, parts: Iterable[Prepared]) -> bool:
    """Say whether what is stated of the whole covers its parts: noise on the same outputs, or on fewer."""
    return all(
        mine.added is not None or one.added is None
        for part in parts
        for mine, one in zip(whole.outputs, part.outputs, strict=True)
    )


def as_drawn(whole: Prepared, parts: Sequence[tuple[Array, Prepared]]) -> Prepared:
    """State of each cell the noise that its own part has, where bounds differ from part to part.

    They do for what is derived: its parts are as near as it takes where they are as large as rows of that part can
    make them. Kinds of groups are told apart by part then.
    """
    chosen = [place for place in range(len(whole.outputs)) if len(_ends(place, whole, parts)) > 1]
    if not chosen:
        return whole
    number = np.empty(len(whole.bounds.groups), dtype=np.int64)
    for which, (places, _) in enumerate(parts):
        number[places] = which
    codes, kind = np.unique(whole.bounds.kind * len(parts) + number, return_inverse=True)
    before, which_part = np.divmod(codes, len(parts))
    scales, outputs = {}, []
    for place, one in enumerate(whole.outputs):
        if one.constant is not None:
            public = one.constant
            numbers = replace(public, numbers=public.numbers[before], defined=public.defined[before])
            one = replace(one, constant=numbers)
        elif one.added is not None and place not in chosen:
            one = replace(one, added=replace(one.added, level=one.added.level[before]))
        elif one.added is not None:
            added = [_added(place, whole, part) for _, part in parts]
            each = sorted({noise.law: noise for noise in added}.values(), key=lambda noise: noise.high)
            level = np.array([[noise.law for noise in each].index(own.law) for own in added])[which_part]
            one = replace(one, added=CellNoise.differing(each, level, kind))
            reach = max(part.plan.scale(one.output) * own.high for own, (_, part) in zip(added, parts, strict=True))
            scales[one.output.name] = reach / each[-1].high
        outputs.append(one)
    plan = replace(whole.plan, bounds=whole.bounds.of_kinds(before, kind))
    return replace(whole, plan=plan, outputs=tuple(outputs), scales=scales)


def _ends(place: int, whole: Prepared, parts: Sequence[tuple[Array, Prepared]]) -> set[tuple[float, float, str]]:
    """Give the different intervals and lattices of an output, of the whole and of its parts; none without noise."""
    if whole.outputs[place].added is None:
        return set()
    each = (_added(place, whole, one) for one in (whole, *(part for _, part in parts)))
    return {(one.low, one.high, one.lattice.step) for one in each}


def _added(place: int, whole: Prepared, part: Prepared) -> Added:
    """Give what is added to an output of a part; where that is nothing, what is stated of the whole covers it."""
    own = part.outputs[place].added or whole.outputs[place].added
    assert own is not None
    return own.widest


def assembled(whole: Prepared, parts: Sequence[tuple[Array, Prepared]]) -> Prepared | None:
    """Give the question with the numbers that were released for its parts; None if their groups are not its own."""
    places = np.concatenate([place for place, _ in parts])
    groups: GroupKeys = whole.bounds.groups
    if len(places) != len(groups) or (np.bincount(places, minlength=len(groups)) != 1).any():
        return None
    if not all(groups.taken(place).are(part.bounds.groups) for place, part in parts):
        return None
    order = arrow.column(_inverse(places))
    outputs = []
    for number, one in enumerate(whole.outputs):
        kept = [part.outputs[number].kept for _, part in parts]
        kinds = {column.type for column in kept}
        if len(kinds) > 1:  # whole numbers in one part, and others in another
            kept = [column.cast(pa.float64()) for column in kept]
        outputs.append(replace(one, kept=pa.concat_arrays([_flat(column) for column in kept]).take(order)))
    return replace(whole, outputs=tuple(outputs))


def _inverse(places: Array) -> Array:
    found = np.empty_like(places)
    found[places] = np.arange(len(places))
    return found


def laid_out_together(whole: Prepared, parts: Sequence[tuple[Any, Prepared]]) -> Released | None:
    """Give the released table of a question from what was released for its parts; None if they do not fit."""
    found = assembled(whole, parts)
    return None if found is None else laid_out(found)


def _flat(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
