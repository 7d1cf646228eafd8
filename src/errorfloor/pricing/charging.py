"""From bounds and a noise's information to charges on accounts."""

from dataclasses import replace

import numpy as np

from errorfloor.accounts import Account, Charge, cell_text
from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.pricing.bounding import Bounds, OutputBounds
from errorfloor.pricing.interval import quiet, up

SLACK = 1 + 2.0**-48  # more than the roundings of a product of a few factors


@quiet
def charges(bounds: Bounds, output: int, information: float, *, rounding: float = 0.0) -> dict[Account, Charge]:
    """Give what one output costs each account, if noise of that information is added to it.

    ``rounding`` is what the value is rounded by before noise is added; η is the evaluation error and that.

    For an entry, A = max over groups of I·L² and E = max over groups of I·η², over the groups that have rows in the
    account's cell. For owners, A = max over owners of Σ over groups of I·(n·M + 2η)², n the owner's rows in the group
    and M the largest Σ |∂f/∂x|·width over the private columns of a row; E = 0, since A holds the error.

    *Guarantee*: each number is rounded up; ``formulas.proof.md``.

    Raises ``InputError`` for an information that is not a positive number.

    >>> from errorfloor.pricing.bounding import example
    >>> charges(example(), 0, 4.0)[Account("meters", "kwh", "")].information > 4.0 * 0.5**2
    True
    """
    if not 0 < information < np.inf:
        raise InputError(f"information must be a positive number, got {information}")
    bound = bounds.outputs[output]
    bound = replace(bound, error=up(bound.error + rounding))
    result: dict[Account, Charge] = {}
    live = bound.defined[bounds.group]
    errors = np.where(live, information * bound.error[bounds.group] ** 2 * SLACK, 0.0)
    for column, slopes in bound.slopes.items():
        moved = np.where(live, information * slopes.values**2 * SLACK, 0.0)
        worst, off = (_largest(values, bounds.cell, len(bounds.cells)) for values in (moved, errors))
        for place in np.unique(bounds.cell[live]).tolist():
            account = Account(bounds.table, column, cell_text(bounds.cells[place]))
            result[account] = Charge(float(worst[place]), float(off[place]))
    if bounds.owners is not None and bound.slopes:
        spent = _owner_charge(bounds, bound, information)
        if spent > 0:
            result[Account(bounds.table, "", "")] = Charge(spent, 0.0)
    return result


def _largest(values: Array, place: Array, count: int) -> Array:
    """Give the largest value at each place, 0 where there is none."""
    worst = np.zeros(count)
    np.maximum.at(worst, place, values)
    return worst


def _moved_by_owner(count: Array, moved: Array, error: Array) -> Array:
    """Bound how far an owner moves the computed output of a group: the rows' moves add up before they are squared."""
    total: Array = count * moved + 2 * error
    return total


def _owner_charge(bounds: Bounds, bound: OutputBounds, information: float) -> float:
    counts = bounds.owners
    assert counts is not None
    group = counts.group
    moved = _moved_by_owner(counts.count, bound.owner[group], bound.error[group])
    squares = np.where(bound.defined[group], moved**2, 0.0)
    each = np.bincount(counts.owner, weights=squares, minlength=counts.owners)
    roundings = 1 + (len(bounds.groups) + 16) * 2.0**-52  # of a sum over groups, and of its terms
    return float(each.max(initial=0.0) * information * SLACK * roundings)
