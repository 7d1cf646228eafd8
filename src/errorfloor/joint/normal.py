"""Normal noise on cells whose sums add up, cut off so far out that the exact account may count it as normal.

What it costs an entry is δᵀΣ⁻¹δ, counted with raised cosines; and beside it, for the bounds, a five-hundredth of that
and a constant, counted with all other noises. Where the cut has to be follows from both: `normal.proof.md`.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import sparse
from scipy.special import ndtr

from errorfloor.checks import Array
from errorfloor.floors.adversary.table import value_table
from errorfloor.joint.one_block import OneBlock, Rows
from errorfloor.joint.structure import roots_of_running
from errorfloor.joint.table import Margins, TableNoise, spread_of, subsets
from errorfloor.joint.tree import TreeNoise

START = 127 / 128  # of a bound: where its taper begins
BESIDE = 1 / 500  # of the information: what is counted beside it, for the bounds
CONSTANT = 1e-9  # and this, however small the move
DIGITS = 16  # a cut is a multiple of 1/16 of a deviation
FINE = 2.0**20  # the widest deviation is rounded up to so many parts of 1: the same on every machine
ROUNDING = 1 + 1e-9
BLOCKS = 32  # of neighbouring cells, whose moves are bounded together
STEPS = np.append(0.0, 0.001 * 1.05 ** np.arange(175))  # moves that are looked at, in deviations: up to 4.85


@dataclass(frozen=True, eq=False)
class NormalSums:
    """Noise for sums of cells, each within ±1: ``form`` draws it, and ``information`` bounds δᵀΣ⁻¹δ of one cell's move.

    ``cut`` is where the widest sum is cut off, in deviations, and ``deviations`` are those of all sums, cells first; of
    a table, those of its sets.

    Guarantee: a move by δ of the cells, of which each has |δ_i| ≤ d_i, tells no more than a normal answer of charge a =
    information·(Σd_i)² and another one, of any noise, of charge (√(a·BESIDE) + √CONSTANT)².

    >>> noise = totals(2, (bytes(16),))  # two cells, and one sum of both
    >>> round(noise.cut, 1), round(noise.information / math.pi**2, 1)
    (8.2, 9.2)
    """

    form: OneBlock | TableNoise | TreeNoise
    information: float
    cut: float
    deviations: Array


@lru_cache(maxsize=64)
def totals(cells: int, groupings: tuple[bytes, ...], together: float = 0.0) -> NormalSums:
    """Give noise for cells and for their sums by groupings, each the number of every cell's sum as 64-bit integers.

    ``together`` is the largest deviation by which somebody moves several cells at once, 0 if nobody does. Every cell is
    in one sum of each grouping, so that all weigh alike: Σ⁻¹ = (1/k) Σ_g B_gᵀB_g, k of them with the cells.
    """
    places, each = [np.frombuffer(one, dtype=np.int64) for one in groupings], np.arange(cells)
    summed = [sparse.csr_matrix((np.ones(cells), (one, each)), (int(one.max()) + 1, cells)) for one in places]
    rows = [sparse.identity(cells, format="csr"), *summed]
    precision = sum((one.T @ one).toarray() for one in rows) / len(rows)
    shown = sparse.vstack(rows).tocsr()
    moves = (shown @ sparse.diags(1 / np.sqrt(np.diag(precision)))).tocsc()
    return _noise(shown, _factor(precision), np.diag(precision), moves, together)


@lru_cache(maxsize=8)
def nested(cells: int, groupings: tuple[bytes, ...], together: float = 0.0) -> NormalSums | None:
    """Give the noise of ``totals`` where every sum lies in one of the next grouping, for very many cells; else None.

    The law is that of ``totals``, accepted family by family. Of a node, given nothing but what is below it, the
    variance is k for a cell and 1/(1/k + 1/Σu) above parts of variances u; given their sum, parts are independent of
    all else.

    >>> noise, same = nested(6, (bytes(48),)), totals(6, (bytes(48),))
    >>> noise.cut == same.cut, bool(np.allclose(np.sort(noise.deviations), np.sort(same.deviations)))
    (True, True)
    """
    places = sorted((np.frombuffer(one, dtype=np.int64) for one in groupings), key=lambda one: int(one.max()))
    places.append(np.arange(cells))
    sizes = [int(place.max()) + 1 for place in places]
    starts = np.cumsum([0, *sizes])
    parents, weight = np.full(int(starts[-1]), -1), len(places)
    for level in range(1, len(places)):
        above = np.full(sizes[level], -1)
        above[places[level]] = places[level - 1]
        if (above[places[level]] != places[level - 1]).any():
            return None
        parents[starts[level] : starts[level + 1]] = above + starts[level - 1]
    up = np.full(len(parents), 1.0 * weight)
    for level in range(len(places) - 2, -1, -1):
        here, below = slice(starts[level], starts[level + 1]), slice(starts[level + 1], starts[level + 2])
        up[here] = 1 / (1 / weight + 1 / np.bincount(parents[below] - starts[level], up[below], sizes[level]))
    square = up.copy()
    for level in range(1, len(places)):
        own, over = slice(starts[level], starts[level + 1]), parents[starts[level] : starts[level + 1]]
        share = up[own] / np.bincount(over, up[own], len(parents))[over]
        square[own] = share**2 * square[over] + up[own] * (1 - share)
    deviations = np.sqrt(square)
    largest = [
        int(starts[level] + np.argmax(square[starts[level] : starts[level + 1]])) for level in range(len(places))
    ]
    moves = np.zeros((len(parents), 1))
    moves[largest, 0] = 1 / deviations[largest]  # a cell moves one sum a level, at most as far as the widest one
    cut, scale = _cut_and_scale(deviations, sparse.csc_matrix(moves), together)
    ones = np.ones(len(parents))
    form = TreeNoise(parents, ones, START * ones, up * scale**2, places[-1] + starts[-2])
    return NormalSums(form, ROUNDING / scale**2, cut, deviations * scale)


@lru_cache(maxsize=8)
def table(shape: tuple[int, ...], sets: tuple[tuple[int, ...], ...], together: float = 0.0) -> NormalSums:
    """Give the noise of ``totals`` for a full table and sets of its margins, for very many cells.

    ``sets`` are the axes that each grouping keeps, that of the cells first. The law is that of ``totals``: on the
    interaction of the axes in S, BᵀB of a grouping that keeps S is the number of cells of its sums, and else 0.

    >>> noise = table((2, 3), ((0, 1), (0,), (1,), ()))
    >>> places = [np.repeat([0, 1], 3), np.tile([0, 1, 2], 2), np.zeros(6)]
    >>> same = totals(6, tuple(place.astype("<i8").tobytes() for place in places))
    >>> noise.cut == same.cut, bool(np.isclose(noise.information, same.information))
    (True, True)
    """
    margins = Margins(shape, sets)
    parts = math.prod(shape) / np.array(margins.sizes)
    precise = [
        sum(n for kept, n in zip(margins.sets, parts, strict=True) if set(one) <= set(kept))
        for one in subsets(len(shape))
    ]
    variances = len(margins.sets) / np.array(precise)
    deviations = np.sqrt(spread_of(margins) @ variances)
    both = np.repeat(deviations, 2)  # of each set the sum that a cell is in, and all others
    times = np.array([count for size in margins.sizes for count in (1.0, size - 1.0)])
    first = np.arange(0, len(both), 2)
    moves = sparse.csc_matrix((1 / deviations, (first, np.zeros_like(first))), (len(both), 1))
    cut, scale = _cut_and_scale(both, moves, together, times)
    ones = np.ones(len(margins.sets))
    form = TableNoise(margins, ones, START * ones, variances * scale**2)
    return NormalSums(form, ROUNDING / scale**2, cut, deviations * scale)


@lru_cache(maxsize=64)
def running(lengths: tuple[int, ...], together: float = 0.0) -> NormalSums:
    """Give noise for cells in rows one after another, of so many each, and for the running totals of every row.

    Σ⁻¹ = CᵀC, with C·C the running totals: C has the coefficients of (1 − x)^−½, its inverse those of (1 − x)^½.

    >>> noise = running((100,))
    >>> round(noise.information / math.pi**2)  # a hundred running totals with noise of their own: 100
    32
    """
    longest, cells = max(lengths), sum(lengths)
    root, inverse = roots_of_running(longest)
    ends = np.cumsum(lengths)
    place = np.arange(cells)
    first = np.repeat(ends - lengths, lengths)
    factor, shown = np.zeros((cells, cells)), sparse.lil_matrix((cells, cells))
    for row, begin in zip(place.tolist(), first.tolist(), strict=True):
        factor[row, begin : row + 1] = inverse[: row - begin + 1][::-1]
        shown[row, begin : row + 1] = 1.0
    squares = np.cumsum(root**2)
    precise = squares[np.repeat(ends, lengths) - place - 1]
    rows = sparse.vstack([sparse.identity(cells, format="csr"), shown.tocsr()]).tocsr()
    blocks = _neighbours(rows, np.sqrt(precise), first)
    return _noise(rows, factor, precise, blocks, together)


def together_in_row(length: int) -> float:
    """Give how many times as much as one cell's move it tells when all cells of a row of ``running`` move by as much.

    No entry of Σ⁻¹ = CᵀC is negative, so that moves |δ_i| ≤ d tell at most d²·1ᵀΣ⁻¹1 = d²·|C1|²; the first cell alone
    tells the most of all, d²·Σc².

    >>> round(together_in_row(1), 6), round(together_in_row(60) / 60**2, 2)  # all of them: not 60² times as much
    (1.0, 0.27)
    """
    root = roots_of_running(length)[0]
    return float((np.cumsum(root) ** 2).sum() / (root**2).sum()) * ROUNDING


def _neighbours(rows: sparse.csr_matrix, root: Array, first: Array) -> sparse.csc_matrix:
    """Bound the moves of neighbouring cells together: what any of them changes, by the last one's, the largest."""
    size = max(1, len(root) // BLOCKS)
    block = np.cumsum((np.arange(len(root)) == first) | ((np.arange(len(root)) - first) % size == 0)) - 1
    least = np.full(block[-1] + 1, math.inf)
    np.minimum.at(least, block, root)
    changed = rows @ sparse.csr_matrix((np.ones(len(root)), (np.arange(len(root)), block)))
    changed.data[:] = 1.0
    return (changed @ sparse.diags(1 / least)).tocsc()


def _factor(precision: Array) -> Array:
    """Give the lower triangular L with LLᵀ the inverse of a matrix, in operations whose order no library decides."""
    n = len(precision)
    rest = precision[::-1, ::-1].copy()  # from the last cell on, so that the inverse is lower triangular
    inverse = np.zeros((n, n))
    for k in range(n):
        pivot = np.sqrt(rest[k, k])
        column = rest[k + 1 :, k] / pivot
        rest[k + 1 :, k + 1 :] -= column[:, None] * column[None, :]
        inverse[k, k] += 1.0
        inverse[k, : k + 1] /= pivot
        inverse[k + 1 :, : k + 1] -= column[:, None] * inverse[k, : k + 1][None, :]
    return np.ascontiguousarray(inverse.T[::-1, ::-1])


def _noise(
    rows: sparse.csr_matrix, factor: Array, precise: Array, moves: sparse.csc_matrix, together: float
) -> NormalSums:
    deviations = np.sqrt(np.asarray(((rows @ factor) ** 2).sum(axis=1)).ravel())
    cut, scale = _cut_and_scale(deviations, (sparse.diags(1 / deviations) @ moves).tocsc(), together)
    form = OneBlock(Rows.of(rows), np.ones(rows.shape[0]), np.full(rows.shape[0], START), factor * scale)
    return NormalSums(form, float(precise.max()) / scale**2 * ROUNDING, cut, deviations * scale)


def _cut_and_scale(
    deviations: Array, moves: sparse.csc_matrix, together: float, times: Array | float = 1.0
) -> tuple[float, float]:
    """Give the least cut, and the factor with which the widest sum is cut off at its bound."""
    widest = math.ceil(float(deviations.max()) * FINE) / FINE
    cut = least_cut(deviations / widest, moves, together, times)
    return cut, START / (cut * widest)


def least_cut(deviations: Array, moves: sparse.csc_matrix, together: float = 0.0, times: Array | float = 1.0) -> float:
    """Give the least cut, in deviations of the widest sum, at which bounds cost no more than is counted for them.

    ``deviations`` are parts of the widest one, each of so many ``times`` sums that a move changes alike. Each column of
    ``moves`` bounds |T_jδ| as a part of σ_j√(δᵀΣ⁻¹δ) for some moves of one cell; up to ``together``, all of them are
    taken for 1.
    """
    low, high = DIGITS, 64 * DIGITS
    while low < high:
        middle = (low + high) // 2
        fits = _fits(middle / DIGITS, deviations, moves, together, times)
        low, high = (low, middle) if fits else (middle + 1, high)
    return low / DIGITS


def _fits(cut: float, deviations: Array, moves: sparse.csc_matrix, together: float, times: Array | float) -> bool:
    most = math.sqrt(float(value_table().levels[-1]))
    all_rows = sparse.csc_matrix(np.ones((len(deviations), 1)))
    for part, reach in ((moves, most), (all_rows, together)):
        last = int(np.searchsorted(STEPS, reach)) + 1
        if last > 1:
            told = revealed(cut, deviations, part, STEPS[1:last], times)
            counted = 2 * np.sin((math.sqrt(BESIDE) * STEPS[: last - 1] + math.sqrt(CONSTANT)) / 4) ** 2
            if not (told * ROUNDING <= counted).all():
                return False
    return True


def revealed(
    cut: float, deviations: Array, moves: sparse.csc_matrix, sizes: Array, times: Array | float = 1.0
) -> Array:
    """Give τ: how often one who knew the normal answer would have to be told the truth beside it, by size of a move.

    >>> one = sparse.csc_matrix([[1.0]])
    >>> revealed(6.0, np.ones(1), one, np.array([1e-9, 1.0])).round(12).tolist()
    [3.946e-09, 4.67733e-07]
    """
    away = cut / deviations
    still, count = ndtr(-away), np.broadcast_to(times, away.shape)
    moved = moves.data[:, None] * sizes[None, :]
    far = away[moves.indices][:, None]
    more = ndtr(moved - far) + ndtr(-moved - far) - 2 * still[moves.indices][:, None]
    column = np.repeat(np.arange(moves.shape[1]), np.diff(moves.indptr))
    worst = np.zeros((moves.shape[1], sizes.size))
    np.add.at(worst, column, more * count[moves.indices][:, None])
    outside = 4 * (still * count).sum() + worst.max(axis=0)
    common = 2 * ndtr(-sizes / 2) - outside
    return np.asarray(np.where(common > 0, outside / np.where(common > 0, common, 1.0), math.inf))
