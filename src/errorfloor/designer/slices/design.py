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
from errorfloor.designer.slices.geometry import Slice, center_of, longest_chord, slice_at
from errorfloor.designer.slices.restricted import on_slice
from errorfloor.designer.slices.search import searched
from errorfloor.noise import Certificate, Flat, Noise
from errorfloor.support import Reals

SHORTENED = 5e-12  # what a bound may be off by since chords end a little inside
SEARCHED = "no lower bound: the slice was found by a search, and no proof says that no other is better"
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
    found, inner, offset = on_slice(problem, found)
    noise = solve_regular(inner, progress)
    own = noise.certificate
    assert own is not None, "every design carries its certificate"
    words = WORDS.format(rank=problem.rank, m=problem.support.dimension)
    more = 0.0 if problem.loss_weight is None else problem.loss_weight * offset
    lower = None
    if found.proved and own.lower_bound is not None:
        lower = own.lower_bound * (1 - SHORTENED) + more
    certificate = Certificate(
        value=own.value + more,
        lower_bound=None if lower is None else min(lower, own.value + more),
        method="; ".join((words, own.method, *(() if found.proved else (SEARCHED,)))),
        reference=own.reference,
        loss=None if own.loss is None else own.loss + offset,
        loss_weight=own.loss_weight,
    )
    return Flat(replace(noise, certificate=None), found.basis, found.shift, problem.support, certificate=certificate)


def _best_slice(problem: Problem, B: Array) -> Slice:
    support = problem.support
    even = problem.loss is None or problem.loss.function is None  # a given loss need not be
    if isinstance(support, Reals) and even:
        return Slice(B, np.zeros(support.dimension), Reals(B.shape[1]), True)
    symmetric = center_of(support)
    if problem.loss is None and B.shape[1] == 1:
        return longest_chord(support, B[:, 0])
    if symmetric is not None and even and (problem.loss is None or not symmetric.any()):
        return slice_at(support, B, symmetric, proved=True)
    return searched(problem, B)
