"""Finite elements, and polynomials in ellipsoids: the ground state where no closed form and no product form is at hand.

====================  ===================================================================================
``region``              from a support to a mesh: ``polygon_mesh``, ``polytope_mesh``, ``polyhedra``, ``truncation``
``adaptive``            solve, measure the residual by a balanced ``flux``, refine (``bisection``)
``ellipsoid``           polynomials that vanish on the boundary, without a mesh
``lower_bound``         the proof: ``flux`` or Temple, above ``enclosure`` or ``hybrid`` elements
====================  ===================================================================================
"""

from collections import OrderedDict
from threading import Lock
from typing import Any

import numpy as np

from errorfloor.checks import positive_definite
from errorfloor.designer.finite_elements.adaptive import Trial
from errorfloor.designer.finite_elements.ellipsoid import BallTrial, EllipsoidSolver
from errorfloor.designer.finite_elements.lower_bound import Bound
from errorfloor.designer.finite_elements.problem import Isotropic
from errorfloor.designer.finite_elements.region import bounded_region
from errorfloor.designer.finite_elements.solver import Solver, TruncatedSolver
from errorfloor.designer.ground_state import GroundState, Progress
from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Loss
from errorfloor.support import Ball, Ellipsoid, Polygon, Support

__all__ = ["ground_state"]

RESIDUAL = 1.0  # the squared residual is about this many times the error of the value, or more
FINEST = {2: 1e-12, 3: 5e-6, 4: 2e-5}  # squared relative residuals that are within reach
KINKED = 3e-5  # the same in space for a loss with kinks
KEPT = 8  # solvers that are kept in memory
_solvers: "OrderedDict[Any, Any]" = OrderedDict()
_lock = Lock()


def ground_state(
    support: Support,
    sensitivity: Any,
    loss: Loss | None = None,
    loss_weight: float = 0.0,
    *,
    tolerance: float = 2e-8,
    progress: Progress | None = None,
    start: GroundState | None = None,
    certify: bool = True,
) -> GroundState:
    """Minimise Tr(K I_w) + ϱ E ℓ(w) over noises on a support in two or three dimensions, in an ellipsoid also in four.

    Guarantee: ``value`` is that of the density that the noise samples; ``lower_bound`` is proved for every noise on the
    whole support, in double precision (rounding is allowed for, but not by interval arithmetic).

    Parameters
    ----------
    support
        A polygon (convex or not), a polytope, a box, a ball or an ellipsoid; with a loss also an orthant, a half-space
        or any other unbounded intersection of half-spaces, and the whole space.
    sensitivity
        K, positive definite.
    loss, loss_weight
        ℓ and ϱ; both may be left out. Of a given ℓ only that it is convex is used.
    tolerance
        About the relative error of the value at which refinement ends; in three dimensions 1e-6 at best.
    progress
        Told what is being done and how much of it is done.
    start
        An earlier result for the same support, K and loss: its mesh and matrices are used again as they are, without
        further refinement. They are also kept in memory for the problems solved last.
    certify
        Whether to prove a lower bound; False saves its cost while a weight is being searched for.

    Raises
    ------
    InputError
        A support, K or loss that is not covered.
    IllPosedError
        An unbounded support without a loss.
    ConvergenceError
        A support too thin, or a loss too steep, for the number of unknowns that is allowed.

    Examples
    --------
    >>> from errorfloor.support import Polygon
    >>> triangle = Polygon([[0, 0], [1, 0], [0, 1]])
    >>> found = ground_state(triangle, np.eye(2))
    >>> round(found.value / 4 / np.pi**2, 7), bool(found.gap < 1e-6)
    (5.0, True)
    """
    problem, weight = _checked(support, sensitivity, loss, loss_weight)
    solver = _solver(problem, start)
    if start is not None and start.memory is solver and solver.serves(weight):
        trial = solver.again(weight, measured=certify)
    else:
        kinked = problem.dimension == 3 and loss is not None and loss.is_absolute
        wanted = max(RESIDUAL * tolerance, KINKED if kinked else FINEST[problem.dimension])
        trial = solver.solve(weight, wanted, progress or (lambda what, share: None))
    noise = solver.noise(trial)
    if certify or not isinstance(trial, BallTrial) or trial.loss is None:
        value = float(np.trace(problem.sensitivity @ noise.information))
        value += weight * noise.expected_loss(loss) if weight else 0.0
    else:
        value = 4 * trial.quotient  # the same, from matrices that are at hand
    bound = solver.bound(weight, trial) if certify else None
    lower = None if bound is None else min(4 * bound.value * (1 - problem.rounding), value)
    without = "no lower bound is proved for this loss" if certify else "no lower bound was asked for"
    reference = "Rayleigh–Ritz; designer/finite_elements/lower_bound.proof.md"
    known = trial.loss if isinstance(trial, BallTrial) else None
    return GroundState(noise, value, lower, _method(trial, bound, without), reference, memory=solver, loss=known)


def _checked(support: Any, sensitivity: Any, loss: Loss | None, loss_weight: float) -> tuple[Isotropic, float]:
    if not isinstance(support, Support):
        raise InputError(f"support must be a support, got {type(support).__name__}")
    round_ = isinstance(support, (Ball, Ellipsoid))
    covered = round_ or isinstance(support, Polygon) or support.half_spaces is not None
    if support.dimension not in FINEST or not covered or (support.dimension == 4 and not round_):
        raise InputError(
            f"finite elements cover supports in 2 and 3 dimensions, and ellipsoids in 4, got {type(support).__name__} "
            f"in {support.dimension}"
        )
    if not (np.isfinite(loss_weight) and loss_weight >= 0):
        raise InputError(f"loss_weight must be a finite number of at least 0, got {loss_weight}")
    weight = float(loss_weight) if loss is not None else 0.0
    if weight == 0 and not support.is_bounded:
        raise IllPosedError("noise of infinite variance is optimal: set max_loss or loss_weight")
    K = positive_definite("sensitivity", sensitivity, support.dimension)
    return Isotropic(support, K, loss), weight


def _method(trial: Trial | BallTrial, bound: Bound | None, without: str) -> str:
    if isinstance(trial, Trial):
        how = f"finite elements of degree {trial.space.degree}, {len(trial.space.free)} unknowns"
    else:
        how = f"polynomials of degree {trial.degree} that vanish on the boundary"
    return f"{how}; {bound.method}" if bound else f"{how}; {without}"


def _solver(problem: Isotropic, start: GroundState | None) -> Any:
    """The solver of this problem: the one that ``start`` came from, one in memory, or a new one."""
    earlier = start.memory if start is not None else None
    if isinstance(earlier, (Solver, TruncatedSolver, EllipsoidSolver)) and earlier.problem.key == problem.key:
        return earlier
    with _lock:
        if problem.key not in _solvers:
            _solvers[problem.key] = _new_solver(problem)
        _solvers.move_to_end(problem.key)
        while len(_solvers) > KEPT:
            _solvers.popitem(last=False)
        return _solvers[problem.key]


def _new_solver(problem: Isotropic) -> Solver | TruncatedSolver | EllipsoidSolver:
    if isinstance(problem.support, (Ball, Ellipsoid)):
        return EllipsoidSolver(problem)
    return Solver(problem, bounded_region(problem)) if problem.support.is_bounded else TruncatedSolver(problem)
