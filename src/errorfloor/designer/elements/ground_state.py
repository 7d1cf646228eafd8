"""Ground states without a closed form or a product form: elements on a mesh, polynomials in ellipsoids."""

from dataclasses import replace
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.elements.ellipsoid import BallTrial, EllipsoidSolver
from errorfloor.designer.elements.solver import Solver
from errorfloor.designer.meshes.region import Isotropic, bounded_region, truncated_region
from errorfloor.designer.problem import NOT_ASKED, GroundState, Progress
from errorfloor.noise import Loss
from errorfloor.support import Ball, Ellipsoid, Support

REFERENCE = "Rayleigh–Ritz; designer/bounds/residual.proof.md"
FINEST = {2: 1e-12, 3: 5e-6, 4: 2e-5}  # squared relative residuals that are within reach
UNBOUNDED = "no lower bound: neither a box around the support nor elements put its levels above zero"
AnySolver = Solver | EllipsoidSolver


def ground_state(
    support: Support,
    sensitivity: Array,
    loss: Loss | None = None,
    loss_weight: float = 0.0,
    *,
    tolerance: float = 2e-8,
    progress: Progress | None = None,
    start: GroundState | None = None,
    anew: bool = False,
    certify: bool = True,
) -> GroundState:
    """Minimise Tr(K I_w) + ϱ E ℓ(w) over noises on a support in two or three dimensions, in an ellipsoid also in four.

    Guarantee: ``value`` is that of the density that the noise samples; ``lower_bound`` is proved for every noise on the
    whole support, in double precision (rounding is allowed for, but not by interval arithmetic).

    The support is a bounded polygon, polytope or box, or an ellipsoid. Refinement ends at a relative error of about
    ``tolerance``, in three dimensions at 1e-6 at best. From an earlier result ``start`` for the same support, K and
    loss, mesh and matrices are used again as they are; or are refined further, if the state is sought ``anew``.

    >>> from errorfloor.support import Polygon
    >>> triangle = Polygon([[0, 0], [1, 0], [0, 1]])
    >>> found = ground_state(triangle, np.eye(2))
    >>> round(found.value / 4 / np.pi**2, 7), bool(found.gap < 1e-6)
    (5.0, True)
    """
    problem, weight = Isotropic(support, sensitivity, loss), loss_weight if loss is not None else 0.0
    earlier = start.memory if start is not None else None
    kept = isinstance(earlier, AnySolver) and earlier.problem == problem
    solver: Any
    if kept:
        solver = earlier
    elif isinstance(support, (Ball, Ellipsoid)):
        solver = EllipsoidSolver(problem)
    else:
        solver = Solver(problem, bounded_region(problem))
    if kept and not anew:
        trial = solver.again(weight, measured=certify)
    else:
        # the squared residual is about the relative error of the value, or more
        wanted = max(tolerance, FINEST[problem.dimension])
        trial = solver.solve(weight, wanted, progress or (lambda what, share: None))
    noise = solver.noise(trial)
    if certify or not isinstance(trial, BallTrial) or trial.loss is None:
        value = float(np.trace(problem.sensitivity @ noise.information))
        value += weight * noise.expected_loss(loss) if weight else 0.0
    else:
        value = 4 * trial.quotient  # the same, from matrices that are at hand
    known = trial.loss if isinstance(trial, BallTrial) else None
    state = GroundState(noise, value, None, trial.method, NOT_ASKED, REFERENCE, memory=solver, loss=known)
    if not certify:
        return state
    bound = solver.bound(weight, trial)
    if bound.value <= 0:
        return replace(state, proof=UNBOUNDED)
    lower = 4 * bound.value * (1 - problem.rounding)
    return replace(state, lower_bound=min(lower, value), proof=bound.proof)


def second_level(support: Support, sensitivity: Array, loss: Loss | None, loss_weight: float, value: float) -> float:
    """A proved lower bound of the second eigenvalue of −4 div(K∇) + ϱℓ, sought above a ``value`` of the first.

    >>> from errorfloor.support import Box
    >>> bool(16 * np.pi**2 < second_level(Box([0, 0], [1, 1]), np.eye(2), None, 0.0, 8 * np.pi**2) <= 20 * np.pi**2)
    True
    """
    problem, weight = Isotropic(support, sensitivity, loss), loss_weight if loss is not None else 0.0
    region = bounded_region(problem) if support.is_bounded else truncated_region(problem, weight, value / 4)
    return 4 * Solver(problem, region).second(weight, value / 4) * (1 - problem.rounding)
