"""Answers that depend on each other: K has a null space, and the best noise lives on a slice along its range.

The cost J = Tr(K I_w) only counts derivatives along range K, so it is the average over slices W ∩ (w₀ + range K) of
what each slice costs by itself, and the infimum is the least of them, approached but not attained by densities.
"""

from dataclasses import replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.ground_state import Progress
from errorfloor.designer.numerical import solve_regular
from errorfloor.designer.problem import Problem
from errorfloor.designer.slices.geometry import Slice, central_slice, longest_chord
from errorfloor.errors import InputError
from errorfloor.noise import Flat, Loss, Noise
from errorfloor.support import Ball, Box, Ellipsoid, Reals

SHORTENED = 5e-12  # what a bound may be off by since chords end a little inside
WORDS = "K has rank {rank} of {m}: no density is optimal, and the noise lives on the best slice along the range of K"


def range_of(K: Array, rank: int) -> Array:
    """An orthonormal basis of the range, computed in units in which K has a unit diagonal."""
    scale = np.sqrt(np.where(np.diag(K) > 0, np.diag(K), 1.0))
    vectors = np.linalg.eigh(K / scale / scale[:, None])[1][:, -rank:]
    basis = np.linalg.qr(scale[:, None] * vectors)[0]
    return np.asarray(basis * np.where(basis.sum(axis=0) < 0, -1.0, 1.0))


def slice_design(problem: Problem, progress: Progress | None = None) -> Noise:
    """Give the noise on the best slice, with the certificate of the slice's own problem and of all other slices."""
    assert problem.rank is not None, "asked only for a K without full rank"
    B = range_of(problem.sensitivity, problem.rank)
    found = _best_slice(problem, B)
    noise = solve_regular(_restricted(problem, found), progress)
    own = noise.certificate
    assert own is not None, "every design carries its certificate"
    words = WORDS.format(rank=problem.rank, m=problem.support.dimension)
    certificate = replace(
        own,
        lower_bound=None if own.lower_bound is None else own.lower_bound * (1 - SHORTENED),
        method=f"{words}; {own.method}",
    )
    return Flat(replace(noise, certificate=None), found.basis, found.shift, problem.support, certificate=certificate)


def _best_slice(problem: Problem, B: Array) -> Slice:
    """The slice that costs least, where a theorem names it: a central slice, or the longest chord."""
    support, loss = problem.support, problem.loss
    if isinstance(support, Reals):
        return Slice(B, np.zeros(support.dimension), Reals(B.shape[1]))
    low, high = support.bounding_box
    if isinstance(support, (Ball, Ellipsoid, Box)) and (loss is None or np.array_equal(low, -high)):
        return central_slice(support, B)
    if loss is None and B.shape[1] == 1:
        return longest_chord(support, B[:, 0])
    raise InputError(
        f"K has rank {problem.rank} of {support.dimension}, and no theorem names the best slice of this support: ask "
        f"for {problem.rank} independent answers and compute the others from them, or design for a box or an ellipsoid "
        f"around 0 inside it"
    )


def _restricted(problem: Problem, found: Slice) -> Problem:
    """The problem in the slice's own coordinates; where there is a loss, the slice passes through 0."""
    B, loss = found.basis, problem.loss
    pseudo = np.linalg.pinv(B)
    K = pseudo @ problem.sensitivity @ pseudo.T
    along = None
    if loss is not None and loss.weight is not None:
        R = B.T @ loss.weight @ B
        along = Loss((R + R.T) / 2)
    elif loss is not None:
        along = Loss(None, lambda z: loss((np.asarray(z)[..., None] if B.shape[1] == 1 else np.asarray(z)) @ B.T))
    return replace(problem, support=found.inner, sensitivity=(K + K.T) / 2, loss=along, rank=len(K))
