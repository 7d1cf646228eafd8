"""What to say when an answer would break a floor: which one, and which bound would keep it."""

import math
from collections.abc import Mapping, Sequence

from errorfloor.floors.words import rounded_down
from errorfloor.service.noises import MOST_ERROR, bound_for, rounded_up
from errorfloor.service.preparation import Prepared, PreparedOutput
from errorfloor.service.quota import QuotaStanding
from errorfloor.service.standing import Standing, entry_floor


def advice(
    prepared: Prepared,
    standings: Sequence[Standing],
    quotas: Sequence[QuotaStanding] = (),
    fresh: Sequence[bool] | None = None,
) -> str:
    """Say which floor or quota this answer would break and what to ask; all of it follows from public facts.

    ``fresh`` says which of the outputs that have noise would be charged; the others are free as they are, and stay so.
    """
    scarcest = max(standings, key=lambda standing: standing.used)
    if scarcest.used > 1 or not quotas:
        text, what = consequence(scarcest, "answer"), "allowance"
    else:
        text, what = exceeded(max(quotas, key=lambda quota: quota.used)), "quota"
    every: list[Standing | QuotaStanding] = [*standings, *quotas]
    factor = room(every)
    if max((one.used - one.used_by_this for one in every if one.used_by_this > 0), default=1.0) >= 1 - 1e-9:
        return f"{text}: the {what} is used up; what was answered before can be asked again, free of charge"
    noisy = [one for one in prepared.outputs if one.added is not None]
    wider = [one for one, is_new in zip(noisy, fresh or [True] * len(noisy), strict=True) if is_new]
    if any(math.isinf(one.added.high) for one in wider if one.added is not None):
        return f"{text}: what is left would pay for {100 * factor:.2g} % of it"
    bounds = {one.output.name: _half_width(one) for one in noisy}
    bounds |= {one.output.name: _wide_enough(one, factor) for one in wider}
    scale = max(bounds[one.output.name] / _half_width(one) for one in wider)
    return f"{text}: ask with bounds at least {plain(scale)} times as wide (max_error {_typed(bounds)} here)"


def plain(number: float) -> str:
    """Write a number to three digits, not below it, without an exponent where a person would write none.

    >>> plain(1.1601), plain(1130.2), plain(2.5e8), plain(3e-9)
    ('1.17', '1140', '250000000', '3e-09')
    """
    return f"{rounded_up(number):.15g}"


def _half_width(one: PreparedOutput) -> float:
    assert one.added is not None
    return (one.added.high - one.added.low) / 2


def _wide_enough(one: PreparedOutput, factor: float) -> float:
    """Give the least round bound whose noise has at most this share of the information of the one that was wished."""
    assert one.added is not None
    error = 2 * MOST_ERROR * _half_width(one)  # more than this is refused, so that it is an upper bound
    return bound_for(one.added.information * factor * (1 - 1e-9), error)


def _typed(bounds: Mapping[str, float]) -> str:
    """Write bounds as they can be typed again: one number if it serves all outputs, and otherwise each by name.

    >>> _typed({"mean": 24500.0}), _typed({"mean": 50.0, "total": 2.5e6})
    ('24500', 'mean=50, total=2500000')
    """
    if len(set(bounds.values())) == 1:
        return f"{next(iter(bounds.values())):.15g}"
    return ", ".join(f"{name}={bound:.15g}" for name, bound in bounds.items())


def exceeded(broken: QuotaStanding) -> str:
    """Say which quota an answer would exceed, what it asks for and what is left."""
    remaining = max(0.0, 1 - (broken.used - broken.used_by_this))
    return (
        f"this answer would exceed {broken.name}: requested {rounded_up(100 * broken.used_by_this):g} % of it, "
        f"remaining {rounded_down(100 * remaining)} %; the floor is not in danger"
    )


def room(standings: Sequence[Standing | QuotaStanding]) -> float:
    """Give which part of a charge the scarcest of its accounts would cover."""
    parts = [(1 - (one.used - one.used_by_this)) / one.used_by_this for one in standings if one.used_by_this > 0]
    return min(parts, default=0.0)


def consequence(broken: Standing, what: str) -> str:
    """Say which floor ``what`` (an answer, a release) would break, and by how much."""
    column = broken.column
    if column is None:
        assert broken.table.owner is not None
        return (
            f"this {what} would let two histories of one {broken.table.owner.column} be told apart more often than the "
            f"declared {100 * (1 - broken.table.owner.floor):g} times in 100"
        )
    unit = f" {column.unit}" if column.unit else ""
    return (
        f"this {what} would let an entry of {broken.name} be estimated to "
        f"{rounded_down(entry_floor(column, broken.spent))}{unit}, and its declared floor is {column.floor:g}{unit}"
    )
