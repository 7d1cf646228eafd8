"""Questions whose groups each lie in one part of a table that grows: parts are asked one by one, and charged together.

*Guarantee* (``by_part.proof.md``): the numbers of a part's groups, their label and what is kept of them follow from
that part alone, so that they stay the same, and free, when other parts come; and the charge of several parts bounds
what one entry, or one owner, can do to all of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.answering.cells import most_rows
from errorfloor.answering.releasing import Released, in_order, laid_out
from errorfloor.arithmetic import arrow
from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.catalogue.model import Growth
from errorfloor.checks import Array
from errorfloor.preparing.cell_noise import CellNoise
from errorfloor.preparing.noises import Added, PublicNumbers, QuestionWish
from errorfloor.preparing.preparation import Prepared, PreparedOutput, ReadQuestion
from errorfloor.pricing import Bounds, OutputBounds
from errorfloor.pricing.bounding import RowSlopes
from errorfloor.pricing.keys import GroupKeys, KeyColumn
from errorfloor.pricing.owners import OwnerCounts
from errorfloor.sql.plan import AsDate, TableColumn, Truncated
from errorfloor.sql.question import GroupKey
from errorfloor.sql.sums import Layout

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


def beside(part: Prepared, read: ReadQuestion, there: Mapping[str, Array]) -> Prepared:
    """Note with a part which others have no rows of the question, if nothing was left out of them for being small."""
    if read.question.least > 1:
        return part
    return replace(part, empty=tuple(one.whose for one in read.snapshots[0].parts if one.name not in there))


def of_kept(read: ReadQuestion, parts: Sequence[Prepared]) -> Prepared | None:
    """Give a question as a whole from what was released for its parts; no row is looked at.

    None where that does not say all: of values that no row of some part has, another may have rows.
    """
    absent = {part.plan.absent for part in parts}
    if len(absent) > 1 or (absent != {()} and len(parts) < len(read.snapshots[0].parts)):
        return None
    each = [part.bounds for part in parts]
    columns = list(zip(*(one.groups.columns for one in each), strict=True))
    if any(len({(one.unit, one.values.type) for one in column}) > 1 for column in columns):
        return None
    joined = (KeyColumn(_concatenated([one.values for one in column]), column[0].unit) for column in columns)
    groups = GroupKeys(tuple(joined), sum(len(one.groups) for one in each))
    order = np.arange(len(groups))  # as engines sort
    for column in reversed(groups.columns):
        order = order[in_order(column.values, order, descending=False)]
    kinds = np.cumsum([0, *(len(one.rows) for one in each)])
    kind = np.concatenate([one.kind + before for one, before in zip(each, kinds, strict=False)])[order]
    place, every = np.arange(kinds[-1]), np.arange(len(order))
    most = [most_rows(one.owners, len(one.groups)) for one in each if one.owners is not None]
    bounds = Bounds(
        table=each[0].table,
        groups=groups.taken(order),
        cells=[()],
        group=place,
        cell=np.zeros_like(place),
        kind=kind,
        rows=np.concatenate([one.rows for one in each]),
        layout=Layout({}, {}, rows=0),
        outputs=tuple(map(_all_bounds, zip(*(one.outputs for one in each), strict=True))),
        owners=OwnerCounts(every, every, np.concatenate(most)[order]) if len(most) == len(each) else None,
        left_out=sum(one.left_out for one in each),
    )
    allowances = {account: limit for part in parts for account, limit in part.plan.allowances.items()}
    charges = {account: charge for part in parts for account, charge in part.charges.items()}
    plan = replace(parts[0].plan, snapshots=read.snapshots, bounds=bounds, allowances=allowances)
    outputs = (_all_of(same, order, kinds[-1]) for same in zip(*(part.outputs for part in parts), strict=True))
    return replace(parts[0], plan=plan, outputs=tuple(outputs), recorded=charges, shown=None)


def _all_bounds(each: Sequence[OutputBounds]) -> OutputBounds:
    """Give the bounds of an output in all parts, the kinds of one after those of another."""
    sizes = [len(one.error) for one in each]
    place = np.arange(sum(sizes))
    slopes = {
        name: RowSlopes(
            np.concatenate(
                [
                    one.slopes[name].by_group(size) if name in one.slopes else np.zeros(size)
                    for one, size in zip(each, sizes, strict=True)
                ]
            ),
            place,
            np.zeros_like(place),
            (len(place), 1),
        )
        for name in dict.fromkeys(name for one in each for name in one.slopes)
    }
    owner, error, low, high, defined = (
        np.concatenate([getattr(one, word) for one in each]) for word in ("owner", "error", "low", "high", "defined")
    )
    return OutputBounds(slopes, owner, error, low, high, defined)


def _all_of(each: Sequence[PreparedOutput], order: Array, kinds: int) -> PreparedOutput:
    """Give an output that was released for each part; of their noises, which may differ a little, the most telling."""
    noised = [(one.added.widest, one) for one in each if one.added is not None]
    added, first = max(noised, key=lambda one: one[0].information, default=(None, each[0]))
    constants = [one.constant for one in each if one.constant is not None]
    constant = None
    if not noised and constants:
        defined = np.concatenate([one.defined for one in constants])
        constant = PublicNumbers(np.zeros(len(defined)), defined, max(one.error for one in constants))
    return replace(
        first,
        added=None if added is None else CellNoise.same(added, kinds),
        constant=constant,
        kept=_concatenated([one.kept for one in each]).take(arrow.column(order)),
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
        outputs.append(replace(one, kept=_concatenated([part.outputs[number].kept for _, part in parts]).take(order)))
    return replace(whole, outputs=tuple(outputs))


def _inverse(places: Array) -> Array:
    found = np.empty_like(places)
    found[places] = np.arange(len(places))
    return found


def laid_out_together(whole: Prepared, parts: Sequence[tuple[Any, Prepared]]) -> Released | None:
    """Give the released table of a question from what was released for its parts; None if they do not fit."""
    found = assembled(whole, parts)
    return None if found is None else laid_out(found)


def _concatenated(columns: Sequence[Any]) -> Any:
    if len({column.type for column in columns}) > 1:  # whole numbers in one part, and others in another
        columns = [column.cast(pa.float64()) for column in columns]
    return pa.concat_arrays([arrow.flat(column) for column in columns])
