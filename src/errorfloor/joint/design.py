"""From the answers that are wanted and their bounds to the noise that tells least about any cell."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from errorfloor.checks import Array, broadcast, positive
from errorfloor.errors import InputError
from errorfloor.joint.design_tree import design_tree
from errorfloor.joint.noise import JointNoise, moves_of
from errorfloor.joint.one_block import OneBlock, Rows
from errorfloor.joint.solver import best_covariance, best_size
from errorfloor.joint.structure import as_tree, merged, square_root_covariance
from errorfloor.joint.table import Margins, design_table
from errorfloor.joint.taper import best_start
from errorfloor.noise import Certificate

MOST_CELLS, MOST_NUMBERS = 400, 4_000_000  # of answers without a structure: cells, and coefficients
MOST_RUNNING = 2000  # cells of running totals and ranges
LEAST_ACCEPTED = 0.5
INSIDE = 1 - 1e-9  # of a bound: sums of cells are rounded
FINE = 2.0**-14  # of the largest number of a factor, whose digits are the same on every machine
REFERENCE = "errorfloor.joint, noise.proof.md"


def design_joint(answers: Any, max_error: Any, *, moves: Any = None) -> JointNoise:
    """Give noise on cells that keeps every one of many linear answers within its bound, and tells least about a cell.

    Answers are T·s, s the sums of disjoint cells; the noise is T·v, so that what adds up in the truth adds up in the
    answers. Minimises the largest δᵀĪδ over the ``moves`` δ, Ī the certified bound on the information.

    Guarantee: |T_jv| ≤ ``max_error`` for every answer in every draw; ``certificate.value`` is not exceeded by the
    information about any of the moves; no noise with these bounds has less than ``certificate.lower_bound``.

    Parameters
    ----------
    answers
        T, one row per answer and one column per cell, dense or sparse; or ``Margins(shape, sets)`` of a full table.
    max_error
        One bound for all answers, or one per answer (per set of margins).
    moves
        How one unit can move the cells, a row each; one cell by 1 without them.

    Raises
    ------
    InputError
        No way to draw such noise is known: too many answers that only overlap, or numbers of too different sizes. Or no
        move changes any answer.

    Examples
    --------
    >>> total_and_parts = design_joint([[1, 1], [1, 0], [0, 1]], max_error=1.0)
    >>> round(total_and_parts.certificate.value / math.pi**2, 2)  # independent noise: 2
    1.51
    >>> running = design_joint(np.tril(np.ones((8, 8))), max_error=1.0)
    >>> round(running.certificate.value / math.pi**2, 1)  # independent noise: 8
    3.0
    """
    if isinstance(answers, Margins):
        chain = sorted(answers.sets, key=len, reverse=True)
        nested = all(set(inner) <= set(outer) for outer, inner in pairwise(chain))
        each = broadcast("max_error", max_error, len(answers.sets))
        if nested:
            max_error, answers = np.repeat(each, answers.sizes), answers.matrix
    if isinstance(answers, Margins):
        bounds = _bounds(each, len(answers.sets))
        cells = math.prod(answers.shape)
        _check_moves(moves, answers.matrix)
        found = JointNoise(design_table(answers, bounds * INSIDE), np.arange(cells))
        return _certified(found, answers.matrix, np.repeat(bounds, answers.sizes), moves, "a variance per interaction")
    rows = Rows.of(np.atleast_2d(answers) if not sparse.issparse(answers) else answers)
    bounds = _bounds(max_error, rows.count)
    matrix = rows.matrix
    if not matrix.nnz:
        raise InputError("answers have no coefficient but 0: there is nothing to add noise to")
    for size in (np.abs(matrix.data).min(), np.abs(matrix.data).max()):
        positive("the size of a coefficient", float(size))
    _check_moves(moves, matrix)
    less, place = merged(matrix)
    changes = None if moves is None else _merged_moves(moves_of(moves, rows.cells), place, less.shape[1])
    candidates, tried = [], False
    try:
        for method, form in _forms(less, bounds * INSIDE, changes):
            tried = True
            if form.accepted >= LEAST_ACCEPTED:
                candidates.append(_certified(JointNoise(form, place), matrix, bounds, moves, method))
    except (np.linalg.LinAlgError, FloatingPointError):
        tried = True
    if tried and not candidates:
        raise InputError("the bounds, or the coefficients of answers, are of too different sizes: ask in parts")
    if not candidates:
        raise InputError(
            f"{rows.count} answers about {less.shape[1]} cells overlap without containing each other: ask for up to "
            f"{MOST_CELLS} cells, for sums that contain each other (ROLLUP), or for all margins of a full table"
        )
    return min(candidates, key=lambda one: one.certificate.value if one.certificate else math.inf)


def _bounds(max_error: Any, count: int) -> Array:
    bounds = broadcast("max_error", max_error, count)
    for bound in np.unique(bounds):
        positive("max_error", float(bound))
    return bounds


def _check_moves(moves: Any, answers: Any) -> None:
    if moves is not None and not (answers @ moves_of(moves, answers.shape[1]).T).count_nonzero():
        raise InputError("no move changes any answer, so that nothing has to be hidden: give moves that change some")


def _merged_moves(moves: sparse.csr_matrix, place: Array, count: int) -> sparse.csr_matrix:
    known = np.flatnonzero(place >= 0)
    found = moves @ sparse.csr_matrix((np.ones(known.size), (known, place[known])), (place.size, count))
    return found[found.getnnz(axis=1) > 0]  # those that cells of no answer make change nothing


def _forms(matrix: sparse.csr_matrix, bounds: Array, moves: sparse.csr_matrix | None) -> Iterator[tuple[str, Any]]:
    """Give every form of noise that can keep the bounds, with the name of its method."""
    n = matrix.shape[1]
    filled = np.flatnonzero(np.diff(matrix.indptr))
    matrix, bounds = matrix[filled], bounds[filled]
    tree = as_tree(matrix, bounds)
    if tree is not None:
        yield "tree, from the top down", design_tree(*tree)
    running = square_root_covariance(matrix) if n <= MOST_RUNNING else None
    small = n <= MOST_CELLS and matrix.shape[0] * n <= MOST_NUMBERS
    if n > (100 if tree is not None else MOST_RUNNING) or (running is None and not small):
        return
    scaled = sparse.diags(1 / bounds) @ matrix
    changes = np.eye(n) if moves is None else np.asarray(moves.todense()).T
    if running is not None:
        yield "square root of the running totals", _block(matrix, bounds, _fitted(scaled, running, changes))
    if small:
        covariance = best_covariance(np.asarray(scaled.todense()), changes, running)
        yield "convex search", _block(matrix, bounds, covariance)


def _fitted(scaled: sparse.csr_matrix, covariance: Array, moves: Array) -> Array:
    shown = np.asarray(scaled @ moves) ** 2
    deviation = np.sqrt(np.asarray((scaled @ np.linalg.cholesky(covariance)) ** 2).sum(axis=1))
    precise = (np.linalg.solve(np.linalg.cholesky(covariance), moves) ** 2).sum(axis=0)
    return best_size(precise, deviation, shown)[1] ** 2 * covariance


def _block(matrix: sparse.csr_matrix, bounds: Array, covariance: Array) -> OneBlock:
    factor = np.linalg.cholesky(covariance)
    unit = FINE * 2.0 ** math.ceil(math.log2(float(np.abs(factor).max())))
    factor = np.tril(np.rint(factor / unit)) * unit
    factor[np.diag_indices(len(factor))] = np.maximum(np.diag(factor), unit)
    rough = OneBlock(Rows.of(matrix), bounds, np.full(len(bounds), 0.5), factor)
    while True:
        block = replace(rough, starts=best_start(rough.deviations))
        if block.accepted >= LEAST_ACCEPTED:
            return block
        rough = replace(rough, factor=rough.factor * 0.96875)


def _certified(noise: JointNoise, matrix: Any, bounds: Array, moves: Any, method: str) -> JointNoise:
    shown = sparse.diags(math.pi / bounds) @ matrix
    if moves is not None:
        shown = shown @ moves_of(moves, noise.cells).T
    alone = float(shown.power(2).max()) if shown.nnz else 0.0  # an answer's noise on ±b tells at least π²/b²
    value = float(noise.information_along(moves).max())
    return replace(noise, certificate=Certificate(value, alone, method, REFERENCE))
