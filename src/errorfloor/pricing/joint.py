"""What some outputs of a question cost together: the most that one entry, or one owner, can do to all of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from errorfloor.accounts import PLACES, Account, Charge, Profile, cell_text
from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.pricing.bounding import Bounds, OutputBounds, RowCurve
from errorfloor.pricing.interval import largest_at, quiet, up

SLACK = 1 + 2.0**-48  # more than the roundings of a product of a few factors
MOST_EXACT = 2**22  # products of groups, outputs and places up to which each group has a supremum of its own
MOST_PLACES = 2**19  # numbers of pairs of pieces of a range, over all outputs
MOST_PROFILES = 128  # accounts of a column that a question has profiles for; a ledger keeps each of them
LEAST_PART = 2.0**-30  # of the largest number of a profile: what is charged everywhere, and more than underflows lose
FLAT = 0.5  # a profile that is nowhere below this part of its largest number is not worth keeping
DIGITS = 8  # binary digits of the numbers of a profile, which are rounded up to them


@dataclass(frozen=True, eq=False)
class Noised:
    """Noise of some information on one output, by its number; ``apart`` if it is booked as raised-cosine noise.

    ``rounding`` is what the value is rounded by before noise is added. That and the information may be one number for
    all groups, or an array with one for each kind of group; information 0 is a group whose value is not looked up.
    ``across`` groups noises are dependent: what an owner moves in all of them is added up before it is squared.

    >>> Noised(0, 4.0).rounding
    0.0
    """

    output: int
    information: float | Array
    rounding: float | Array = 0.0
    apart: bool = False
    across: bool = False


@quiet
def charges(bounds: Bounds, noised: Sequence[Noised]) -> dict[Account, Charge]:
    """Give what some outputs of a question cost each account together, with noise on them.

    η is the evaluation error and the rounding. For an entry, A = max over parts, and over where in its range it is, of
    Σ over outputs of I·L², and E = max over parts of Σ I·η², over the parts in the account's cell: a row is in one
    group. For owners, A = max over owners of Σ over groups of (n·M + 2√(Σ I·η²))², n the owner's rows in the group and
    M the largest √(Σ over outputs of I·Δ²), Δ how far one row moves each of them; E = 0, since A holds the error. Where
    they have an allowance for each period, there is one A for each, n being the rows in it.
    Information of either kind is summed apart. Where outputs are known along the range of an entry, its charge has a
    profile: for each place, the most over parts and over where in the place it is.

    *Guarantee*: each number is rounded up, and is what it would be without profiles; ``joint.proof.md``.

    Raises ``InputError`` for an information that is not a number above 0 anywhere, or below it somewhere.

    >>> from errorfloor.pricing.bounding import example
    >>> charges(example(), [Noised(0, 4.0)])[Account("meters", "kwh", "")].information > 4.0 * 0.5**2
    True
    """
    live = [(one.apart, *_live(bounds, one)) for one in noised]
    result: dict[Account, Charge] = {}
    for column in sorted({column for _, bound, _ in live for column in bound.slopes}):
        moved = [(apart, bound, each) for apart, bound, each in live if column in bound.slopes]
        kinds = [[(bound, each) for apart, bound, each in moved if apart is kind] for kind in (False, True)]
        spent = [_by_entry(bounds, kind, column) for kind in kinds]
        spent.insert(1, _errors(bounds, [(bound, each) for _, bound, each in moved]))
        worst = [largest_at(bounds.cell, values, len(bounds.cells)) for values in spent]
        along = [_along(bounds, kind, column, most) for kind, most in zip(kinds, worst[::2], strict=True)]
        reached = np.logical_or.reduce([bound.defined for _, bound, _ in moved])[bounds.group]
        for place in np.flatnonzero(np.bincount(bounds.cell[reached])).tolist():
            account = Account(bounds.table, column, cell_text(bounds.cells[place]))
            information, evaluation, apart = (float(values[place]) for values in worst)
            profile = _profile(bounds.version, [(information, along[0]), (apart, along[1])], place)
            result[account] = Charge(information, evaluation, apart, profile)
    if bounds.owners is not None:
        moving = [(one.apart, one.across, bound, each) for one, (_, bound, each) in zip(noised, live, strict=True)]

        def informed(apart: bool, across: bool) -> list[Informed]:
            return [(bound, each) for *how, bound, each in moving if how == [apart, across] and bound.is_moved]

        others, aparts = (
            _by_owner(bounds, informed(kind, False)) + _by_owner_across(bounds, informed(kind, True))
            for kind in (False, True)
        )
        for cell, other, apart in zip(bounds.owners.cells, others.tolist(), aparts.tolist(), strict=True):
            if other > 0 or apart > 0:
                result[bounds.owner_account(cell)] = Charge(other, 0.0, apart)
    return result


@quiet
def dearest(bounds: Bounds, noised: Sequence[Noised], account: Account) -> int:
    """Give the kind of group by which noise on some outputs costs an account most.

    >>> from errorfloor.pricing.bounding import example
    >>> dearest(example(), [Noised(0, 4.0)], Account("meters", "kwh", ""))
    0
    """
    live = [_live(bounds, one) for one in noised]
    if account.column:
        cells, cell, kind = bounds.cells, bounds.cell, bounds.group
        moved = [
            each[kind] * bound.slopes[account.column].values ** 2
            for bound, each in live
            if account.column in bound.slopes
        ]
    else:
        assert bounds.owners is not None
        pair, count, alike = bounds.pairs
        cells, cell, kind = bounds.owners.cells, bounds.owners.cell[bounds.owners.owner], pair[alike]
        moved = [(each[pair] * _moved_by_owner(count, b.owner[pair], b.error[pair]) ** 2)[alike] for b, each in live]
    here = np.array([cell_text(one) == account.cell for one in cells])
    return int(kind[np.argmax(np.where(here[cell], sum(moved), 0.0))])


def _live(bounds: Bounds, one: Noised) -> tuple[OutputBounds, Array]:
    """Give the bounds of an output with its rounding, defined where it is looked up, and the information there."""
    bound = bounds.outputs[one.output]
    each = np.broadcast_to(np.asarray(one.information, dtype=float), bound.error.shape)
    if not ((each >= 0) & (each < np.inf)).all() or not each.any():
        raise InputError(f"information must be a positive number, got {one.information}")
    bound = replace(bound, error=up(bound.error + one.rounding), defined=bound.defined & (each > 0))
    return bound, np.where(bound.defined, each, 0.0)


Informed = tuple[OutputBounds, Array]  # an output's bounds, and the information on it for each kind of group


def _errors(bounds: Bounds, outputs: Sequence[Informed]) -> Array:
    """Give Σ I·η² for each part."""
    terms = [each[bounds.group] * bound.error[bounds.group] ** 2 * SLACK for bound, each in outputs]
    return np.asarray(sum(terms) * _roundings(len(outputs)))


def _by_entry(bounds: Bounds, outputs: Sequence[Informed], column: str) -> Array:
    """Give, for each part, the most of Σ I·L² over where in its range an entry of the column is."""
    if not outputs:
        return np.zeros(len(bounds.group))
    squares = [each[bounds.group] * bound.slopes[column].values ** 2 * SLACK for bound, each in outputs]
    apart: Array = sum(squares) * _roundings(len(outputs))
    curved = _curved(outputs, column)
    if len(curved) < 2:
        return apart
    weights, steep, others = _by_curve(bounds, outputs, curved)
    together = largest_sums(weights, steep)
    for i in others:
        together = together + squares[i]
    return np.minimum(apart, together * SLACK * _roundings(len(outputs)))


def _by_curve(
    bounds: Bounds, outputs: Sequence[Informed], curved: Sequence[tuple[int, RowCurve]]
) -> tuple[Array, Array, list[int]]:
    """Give weights of the parts and squares of slopes on the pieces, and the outputs that are on no curve."""
    weights = np.stack([outputs[i][1][bounds.group] * curve.scale**2 for i, curve in curved])
    steep = np.stack([curve.slope**2 for _, curve in curved])
    return weights, steep, sorted(set(range(len(outputs))) - {i for i, _ in curved})


def _along(bounds: Bounds, outputs: Sequence[Informed], column: str, worst: Array) -> Array | None:
    """Bound Σ I·L² at each place of the range of a column, for each cell of accounts; None if it is not known.

    ``worst`` are the largest numbers of each cell, which the profile has where it is largest and never exceeds.
    """
    curved = _curved(outputs, column)
    if not curved or len(bounds.cells) > MOST_PROFILES or not all(_is_divided(curve) for _, curve in curved):
        return None
    weights, steep, others = _by_curve(bounds, outputs, curved)
    flat = np.zeros(len(bounds.group))
    for i in others:
        flat = flat + outputs[i][1][bounds.group] * outputs[i][0].slopes[column].values ** 2
    found = np.empty((len(bounds.cells), PLACES))
    for cell in range(len(bounds.cells)):
        here = bounds.cell == cell
        by_piece = _pieces(weights[:, here], steep, flat[here])
        found[cell] = by_piece.reshape(PLACES, -1).max(axis=1)
    if not np.isfinite(found).all():
        return None
    top = found.argmax(axis=1)
    mantissa, exponent = np.frexp(found * SLACK**2 * _roundings(2 * len(outputs) + 16))
    found = np.asarray(np.ldexp(np.ceil(mantissa * 2**DIGITS), exponent - DIGITS))
    found = np.minimum(np.maximum(found, worst[:, None] * LEAST_PART), worst[:, None])
    found[np.arange(len(found)), top] = worst
    return found


def _pieces(weights: Array, steep: Array, flat: Array) -> Array:
    """Bound, on each piece of a range, the most over parts of Σ_o weights[o]·steep[o] + flat."""
    if not flat.size:
        return np.zeros(steep.shape[1])
    if len(weights) > 1 and weights.size * steep.shape[1] <= MOST_EXACT:
        return np.asarray((weights.T @ steep + flat[:, None]).max(axis=0))
    return np.asarray(weights.max(axis=1) @ steep + flat.max())


def _is_divided(curve: RowCurve) -> bool:
    """Whether the pieces of a curve make up places exactly, and its slopes have squares."""
    pieces = len(curve.slope)
    halved = pieces % PLACES == 0 and (pieces // PLACES).bit_count() == 1  # doubles halve a range without rounding
    return halved and 2.0**-450 < float(curve.slope.max()) < 2.0**450


def _profile(version: str, kinds: Sequence[tuple[float, Array | None]], cell: int) -> Profile | None:
    """Give the profile of a charge, if it is worth keeping: somewhere less than half of where it is largest."""
    found = [(most,) * PLACES if along is None else tuple(along[cell].tolist()) for most, along in kinds]
    if not any(min(numbers) < FLAT * max(numbers) < math.inf for numbers in found):
        return None
    return Profile(version, found[0], found[1])


def _by_owner(bounds: Bounds, outputs: Sequence[Informed]) -> Array:
    """Give the most over owners of Σ over groups of how far an owner moves all the outputs there, squared.

    There is one for each period, of what the owner's rows in it move.
    """
    counts = bounds.owners
    assert counts is not None
    if not outputs:
        return np.zeros(len(counts.cells))
    kind, count, alike = bounds.pairs
    most = max(float(each.max()) for _, each in outputs)
    squares = [
        each[kind] / most * _moved_by_owner(count, bound.owner[kind], bound.error[kind]) ** 2 for bound, each in outputs
    ]
    joint: Array = np.zeros(len(kind))
    for column in sorted({bound.curve.column for bound, _ in outputs if bound.curve is not None}):
        curved = _curved(outputs, column)
        if len(curved) > 1:
            chosen = [outputs[i] for i, _ in curved]
            scales = [largest_at(bounds.group, curve.scale, len(bounds.rows)) for _, curve in curved]
            weights = np.stack([each / most * scale**2 for (_, each), scale in zip(chosen, scales, strict=True)])
            moved = np.sqrt(largest_sums(weights, distances([curve for _, curve in curved])))
            error = np.sqrt(sum(each / most * bound.error**2 for bound, each in chosen))
            together = _moved_by_owner(count, moved[kind], error[kind]) ** 2
            joint += np.minimum(together * SLACK, sum(squares[i] for i, _ in curved))
            for i, _ in curved:
                squares[i] = np.zeros(len(kind))
    joint += sum(squares)
    roundings = 1 + (len(bounds.groups) + len(outputs) + 15) * 2.0**-52  # of a sum over groups, and of its terms
    return np.asarray(counts.largest(joint[alike]) * most * SLACK * roundings)


def _by_owner_across(bounds: Bounds, outputs: Sequence[Informed]) -> Array:
    """Give the sum over outputs of the most over owners of how far an owner moves an output in all groups, squared."""
    counts = bounds.owners
    assert counts is not None
    total = np.zeros(len(counts.cells))
    kind, count, alike = bounds.pairs
    for bound, each in outputs:
        roots = np.sqrt(each[kind]) * _moved_by_owner(count, bound.owner[kind], bound.error[kind])
        total += counts.largest(roots[alike]) ** 2
    return total * SLACK * (1 + (2 * len(bounds.groups) + len(outputs) + 15) * 2.0**-52)


def _moved_by_owner(count: Array, moved: Array, error: Array) -> Array:
    """Bound how far an owner moves what is computed for a group: the rows' moves add up before they are squared."""
    total: Array = count * moved + 2 * error
    return total


def _curved(outputs: Sequence[Informed], column: str) -> list[tuple[int, RowCurve]]:
    """Give the outputs that are known along one column, with the pieces of its range, and their numbers."""
    found = [(i, bound.curve) for i, (bound, _) in enumerate(outputs) if bound.curve is not None]
    mine = [(i, curve) for i, curve in found if curve.column == column]
    return [(i, curve) for i, curve in mine if len(curve.low) == len(mine[0][1].low)]


@quiet
def largest_sums(weights: Array, table: Array) -> Array:
    """Give, for each column of ``weights``, the largest of Σ_o weights[o]·table[o, place] over all places, rounded up.

    Where there are very many it is one bound for all of them: sharp if the columns differ by a factor only.

    >>> largest_sums(np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([[4.0, 1.0], [0.0, 5.0]])).round(6).tolist()
    [6.0, 10.0]
    """
    roundings = 1 + (2 * len(weights) + 16) * 2.0**-52
    if weights.size * table.shape[1] <= MOST_EXACT:
        return np.asarray((weights.T @ table).max(axis=1) * roundings)
    most = weights.max(axis=1)
    parts = np.divide(weights, most[:, None], out=np.zeros_like(weights), where=most[:, None] > 0)
    return np.asarray(parts.max(axis=0) * (most @ table).max() * roundings)


@quiet
def distances(curves: Sequence[RowCurve]) -> Array:
    """Bound (g(x) − g(x′))² of each curve, x and x′ in any two pieces of the range; a column for each pair of pieces.

    Pairs of pieces that are farther from each other than an owner's two histories are left out. Where rows move from
    group to group, g(x) is taken away in one and g(x′) added in another: twice the larger of the squares bounds it, and
    there is a column for each piece.

    >>> one = RowCurve("x", np.array([0.0, 2.0]), np.array([1.0, 3.0]), np.ones(2), np.ones(1))
    >>> distances([one]).round(9).tolist()
    [[1.0, 9.0, 1.0]]
    """
    low, high = np.stack([one.low for one in curves]), np.stack([one.high for one in curves])
    while len(curves) * low.shape[1] * (low.shape[1] + 1) // 2 > MOST_PLACES and low.shape[1] % 2 == 0:
        low, high = np.minimum(low[:, ::2], low[:, 1::2]), np.maximum(high[:, ::2], high[:, 1::2])
    one, two = _pairs(low.shape[1], min(low.shape[1], math.floor(curves[0].reach * low.shape[1]) + 1))
    far = np.maximum(high[:, one] - low[:, two], high[:, two] - low[:, one]) * SLACK
    if curves[0].move:
        alone = np.maximum(np.abs(low), np.abs(high)) * (math.sqrt(2) * SLACK)
        far = np.hstack([far, alone])
    return np.asarray(far * far)


@lru_cache(maxsize=8)
def _pairs(count: int, farthest: int) -> tuple[Array, Array]:
    one, two = np.triu_indices(count)
    near = two - one <= farthest
    return one[near], two[near]


def _roundings(terms: int) -> float:
    return 1 + (terms - 1) * 2.0**-52
