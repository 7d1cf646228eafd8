"""What to ask instead when an answer would break a floor or exceed a quota, or when its bound promises nothing.

If an output is in [l, h] whatever the private values are, (l + h)/2 is within (h − l)/2 of the truth, free of charge. A
bound from there on is no promise. Such a question is answered as asked; whoever prices or asks it is told.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from errorfloor.accounts import percent
from errorfloor.charging.refusal import refusal
from errorfloor.charging.standing import QuotaStanding, Standing
from errorfloor.checks import Array
from errorfloor.floors.words import rounded_down, rounded_up
from errorfloor.preparing.cost import least_that_fits
from errorfloor.preparing.noises import MOST_ERROR
from errorfloor.preparing.preparation import Prepared, PreparedOutput
from errorfloor.sql.plan import Missing, Sum, TableColumn
from errorfloor.sql.question import Bin, CountedQuantile, Derived, Quantile, walk

AGAIN = "you can repeat earlier questions"
NEARLY = 1e-6  # of what is possible, which is enclosed with the errors of evaluation


def advice(
    prepared: Prepared,
    standings: Sequence[Standing],
    quotas: Sequence[QuotaStanding] = (),
    fresh: Sequence[bool] | None = None,
    limit: float | None = None,
) -> str:
    """Say which floor or quota this answer would break and what to ask; all of it follows from public facts.

    ``fresh`` says which of the outputs would be charged; the others are free as they are, and stay so. What is advised
    takes no more than ``limit``, the share of an allowance that one question may take.
    """

    def instead(factor: float) -> str:
        most = max(one.used_by_this for one in standings)
        within = "" if limit is None or limit >= factor * most else f"; one question may take {percent(limit)} of it"
        return affordable(prepared, standings, fresh, factor, limit) + (within and f"{within} ([limit] question)")

    return refusal("answer", standings, quotas, again=AGAIN, instead=instead)


def affordable(
    prepared: Prepared,
    standings: Sequence[Standing],
    fresh: Sequence[bool] | None,
    factor: float,
    limit: float | None = None,
) -> str:
    """Say what to ask that takes this part of the charge, and no more than ``limit`` of an allowance."""
    noisy = [one for one in prepared.outputs if one.added is not None]
    charged = prepared.charged
    wider = [one for one, is_new in zip(charged, fresh or [True] * len(charged), strict=True) if is_new]
    most = max(one.used_by_this for one in standings)
    left = 1 - max(one.used_before for one in standings)
    if limit is not None:
        factor, left = min(factor, limit / most), min(left, limit)
    if any(math.isinf(_half_width(one)) for one in wider):
        return f"what is left would cover {100 * factor:.2g} % of it"
    if prepared.spend is not None and any(one.added is not None and one.added.varies for one in wider):
        return f"ask with a spend of at most {rounded_down(prepared.spend * factor)}"
    needed = {one.output.name: _wide_enough(one, factor) for one in wider}
    bounds = {one.output.asked_as: _half_width(one) * prepared.scale(one) for one in noisy}
    bounds |= {one.output.asked_as: needed[one.output.name] * prepared.scale(one) for one in wider}
    scale = max(needed[one.output.name] / _half_width(one) for one in wider)
    if len(wider) == len(charged):  # what follows from them, such as the last bin of a histogram, widens with them
        widened = {_half_width(one): needed[one.output.name] for one in wider}
        following = [one for one in noisy if one not in charged]
        bounds |= {
            one.output.asked_as: widened.get(_half_width(one), scale * _half_width(one)) * prepared.scale(one)
            for one in following
        }
    if any(needed[one.output.name] > useful(prepared, one) for one in wider):
        return _larger_groups(prepared, left)
    part = max(_information(needed[one.output.name], one) for one in wider)
    return (
        f"ask with bounds at least {rounded_up(scale)} times as wide (max_error {_typed(bounds)} here), which takes "
        f"{percent(part * most)} of the allowance"
    )


def useful(prepared: Prepared, one: PreparedOutput) -> float:
    """Give the bound from which on an answer is worth nothing: the middle of what it can be is as near, and free."""
    bounds = prepared.bounds_of(one)
    return float((bounds.high - bounds.low)[bounds.defined].max(initial=0.0)) / 2


def vacuous(prepared: Prepared, shown: Iterable[PreparedOutput]) -> Iterator[str]:
    """Say of each output whose bound promises nothing, perhaps in some groups alone, from which bound on it would.

    *Guarantee*: it follows from the question, the bound and public facts.
    """
    named: dict[str, list[PreparedOutput]] = {}
    for one in shown:
        by_themselves = isinstance(one.output.part_of, Quantile | CountedQuantile)  # they say it in words of their own
        if one.added is not None and not by_themselves:
            named.setdefault(one.output.family or one.output.asked_as, []).append(one)
    return filter(None, (_said(prepared, name, parts) for name, parts in named.items()))


def _larger_groups(prepared: Prepared, left: float) -> str:
    """Say which groups could be asked about where no bound within the range of the answer is wide enough."""
    if prepared.table.hides_records:
        return (
            "no bound within the range of the answer is wide enough: ask for fewer numbers at once, or narrow what a "
            "row can add, as in sum(least(x, 100))"
        )
    summed = prepared.question.sets or prepared.question.running  # of which no group may be missing
    found = None if summed else least_that_fits(prepared, left)
    if found is None:
        return "no bound within the range of the answer is wide enough: ask about larger groups"
    least, taken = found
    return (
        f"no bound within the range of the answer is wide enough: ask about larger groups, such as those of at least "
        f"{least:,} rows (HAVING count(*) >= {least}), which takes {percent(taken)} of the allowance"
    )


def _half_width(one: PreparedOutput) -> float:
    assert one.added is not None
    return (one.added.widest.high - one.added.widest.low) / 2


def _information(bound: float, one: PreparedOutput) -> float:
    """Give the information of noise with a bound, as a part of that of the one that was wished."""
    assert one.added is not None
    error = 2 * MOST_ERROR * _half_width(one)
    return one.added.widest.information_at(bound, error) / one.added.widest.information


def _wide_enough(one: PreparedOutput, factor: float) -> float:
    """Give the least round bound whose noise has at most this share of the information of the one that was wished."""
    assert one.added is not None
    error = 2 * MOST_ERROR * _half_width(one)  # more than this is refused, so that it is an upper bound
    return one.added.widest.bound_at(factor * (1 - 1e-9), error)


def _typed(bounds: Mapping[str, float]) -> str:
    """Write bounds as they can be typed again: one number if it serves all outputs, and otherwise each by name.

    >>> _typed({"mean": 24500.0}), _typed({"mean": 50.0, "total": 2.5e6})
    ('24500', 'mean=50, total=2500000')
    """
    if len(set(bounds.values())) == 1:
        return f"{next(iter(bounds.values())):.15g}"
    return ", ".join(f"{name}={bound:.15g}" for name, bound in bounds.items())


def _said(prepared: Prepared, name: str, parts: Sequence[PreparedOutput]) -> str:
    """Say it of columns that were asked for together, or of what is derived from parts: if it is so of each."""
    there = np.logical_and.reduce([prepared.bounds_of(one).defined for one in parts])
    groups = np.where(there, np.bincount(prepared.bounds.kind, minlength=len(there)), 0)
    silent, width = there, np.zeros(len(there))
    for one in parts:
        assert one.added is not None
        scale = prepared.scale(one)  # by which what is asked for is divided
        possible = _possible(prepared, one, groups) * (scale if isinstance(one.output.part_of, Derived) else 1.0)
        asked = (one.added.of_kind("high") - one.added.of_kind("low")) * scale
        silent = silent & np.isfinite(asked) & (asked >= possible * (1 - NEARLY))
        width = np.maximum(width, possible)
    count, of = int(groups[silent].sum()), int(groups.sum())
    if not count:
        return ""
    of_what, added = parts[0].output.part_of, parts[0].added
    unit = of_what.unit if isinstance(of_what, Derived) and not of_what.in_rows else parts[0].output.unit
    least, is_symmetric = float(width[silent].max()), added is not None and added.widest.low == -added.widest.high
    less = f"below ±{rounded_down(least / 2, 6)}" if is_symmetric else f"narrower than {rounded_down(least, 6)}"
    where = "The" if count == of else f"In {count:,} of {of:,} groups the"
    said = f"{where} bound of {name} says nothing beyond {_declared(prepared, parts)}"
    return f"{said}; one {less}{f' {unit}' if unit else ''} would."


def _possible(prepared: Prepared, one: PreparedOutput, groups: Array) -> Array:
    """Give how far apart an output can be in each kind of group; of sums with totals, how far the whole can be."""
    bounds = prepared.bounds_of(one)
    if isinstance(one.output.part_of, Bin):  # it is made of several shares, and between none and all of the rows
        return prepared.bounds.rows.astype(float)
    possible = bounds.high - bounds.low
    if isinstance(one.output.formula, Sum) and (prepared.question.sets or prepared.question.running):
        return np.full(len(possible), float((possible * groups).sum()))
    return possible


def _declared(prepared: Prepared, parts: Sequence[PreparedOutput]) -> str:
    if prepared.table.hides_records:
        return "the declarations"
    nodes = (node for one in parts for node in walk(one.output.formula, stop=Missing))
    columns = {node.name for node in nodes if isinstance(node, TableColumn) and node.private}
    return f"the declared range{'s' if len(columns) > 1 else ''}"
