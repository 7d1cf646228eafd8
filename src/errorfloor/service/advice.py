"""What to say when an answer would break a floor: which one, and which bound would keep it."""

import math
from collections.abc import Sequence

from errorfloor.service.noises import bound_for
from errorfloor.service.preparation import Prepared
from errorfloor.service.quota import QuotaStanding
from errorfloor.service.standing import Standing, entry_floor


def advice(prepared: Prepared, standings: Sequence[Standing], quotas: Sequence[QuotaStanding] = ()) -> str:
    """Say which floor or quota this answer would break and what to ask; all of it follows from public facts."""
    scarcest = max(standings, key=lambda standing: standing.used)
    if scarcest.used > 1 or not quotas:
        text, what = consequence(scarcest, "answer"), "allowance"
    else:
        text, what = exceeded(max(quotas, key=lambda quota: quota.used)), "quota"
    factor = room((*standings, *quotas))
    if factor <= 1e-9:
        return f"{text}: the {what} is used up; what was answered before can be asked again, free of charge"
    added = next(one.added for one in prepared.outputs if one.added is not None)
    if math.isinf(added.high):
        return f"{text}: what is left would pay for {100 * factor:.2g} % of it"
    width = 2 * bound_for(added.information * factor * (1 - 1e-9), 0.0)
    scale = width / (added.high - added.low)
    bound = float(f"{added.high * scale:.3g}")  # a plain number, to be typed again
    return f"{text}: ask with bounds at least {scale:.3g} times as wide (max_error {bound:g} here)"


def exceeded(broken: QuotaStanding) -> str:
    """Say which quota an answer would exceed, what it asks for and what is left."""
    remaining = max(0.0, 1 - (broken.used - broken.used_by_this))
    return (
        f"this answer would exceed {broken.name}: requested {100 * broken.used_by_this:.3g} % of it, remaining "
        f"{100 * remaining:.3g} %; the floor is not in danger"
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
        f"{entry_floor(column, broken.spent):.3g}{unit}, and its declared floor is {column.floor:g}{unit}"
    )
