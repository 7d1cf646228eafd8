"""Which numerical method solves which problem: products of intervals by spectral bases, other shapes by elements."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.ground_state import GroundState, Progress
from errorfloor.designer.potential import is_diagonal_matrix, is_smooth
from errorfloor.errors import ErrorFloorError, InputError
from errorfloor.noise import Loss
from errorfloor.support import HalfLine, Interval, Polytope, Reals, Support

MOST_DIMENSIONS = 4
WIDE = {2: 1e-4, 3: 1e-2}  # gaps above which a second method is asked for a lower bound, by dimension
POOR = 0.1  # the gap above which elements are not trusted to bound well
TOLERANCE = 2e-8  # relative change of the value at which refinement stops
ROUGHLY = 2e-2  # the same on the way to the weight of a loss
KINKED = 1e-4  # the same for polynomials in four dimensions and a loss with kinks, which they resolve slowly


def solve(
    support: Support,
    sensitivity: Array,
    loss: Loss | None = None,
    loss_weight: float = 0.0,
    *,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
    start: GroundState | None = None,
    certify: bool = True,
    roughly: bool = False,
) -> GroundState:
    """Give the noise of least Tr(K I_w) + ϱ E ℓ(w) on a support, in at most four dimensions.

    ``start`` keeps the discretisation of an earlier state; ``roughly`` is for a search that has far to go, where only
    four dimensions, in which a mesh costs most, are kept as long as they serve.

    Raises InputError in more dimensions, where only closed forms are known.

    >>> from errorfloor.support import Box
    >>> found = solve(Box([0, 0], [1, 1]), np.array([[1.0, 0.3], [0.3, 1.0]]))
    >>> round(found.value, 5), bool(found.gap < 1e-7)
    (77.5028, True)
    """
    options: dict[str, Any] = {"tolerance": tolerance, "progress": progress, "start": start, "certify": certify}
    if support.dimension > MOST_DIMENSIONS:
        raise InputError(
            f"a general problem in {support.dimension} dimensions is beyond the numerical designer, which goes up to "
            f"{MOST_DIMENSIONS}: ask for fewer answers at once, or for answers whose K is diagonal in the support's "
            f"own coordinates"
        )
    four = support.dimension == MOST_DIMENSIONS and support.half_spaces is not None
    form = product_coordinates(support)
    kinked = form is not None and _has_kinks_across(form[0], loss, support)
    if form is not None and not (kinked and support.dimension in WIDE):
        from errorfloor.designer import spectral

        if roughly:
            options.update(start=None, tolerance=ROUGHLY)
        elif kinked:
            options["tolerance"] = KINKED
        found = spectral.ground_state(form, sensitivity, loss, loss_weight, **options)
        return _sharpened(found, support, sensitivity, loss, loss_weight) if certify else found
    if four:
        from errorfloor.designer import four_dimensions

        return four_dimensions.ground_state(support, sensitivity, loss, loss_weight, **options)
    if roughly:
        options.update(start=None, tolerance=ROUGHLY)
    if support.dimension == MOST_DIMENSIONS:
        from errorfloor.designer.inscribed import ground_state_in_ellipsoid

        return ground_state_in_ellipsoid(support, sensitivity, loss, loss_weight, **options)
    from errorfloor.designer import finite_elements

    found = finite_elements.ground_state(support, sensitivity, loss, loss_weight, **options)
    return _bounded_around(found, support, sensitivity, loss, loss_weight) if certify else found


def _bounded_around(
    found: GroundState, support: Support, sensitivity: Array, loss: Loss | None, loss_weight: float
) -> GroundState:
    """Where elements bound poorly, take what larger shapes or all of space give if it is better: both hold."""
    if (found.gap is not None and found.gap <= POOR) or loss is None or support.half_spaces is None:
        return found
    from errorfloor.designer.around import bound_around

    lower, how = bound_around(support, sensitivity, loss, loss_weight)
    if lower is None or lower <= (found.lower_bound or 0.0):
        return found
    return replace(found, lower_bound=min(lower, found.value), method=f"{found.method.split(';')[0]}; {how}")


def _has_kinks_across(N: Array, loss: Loss | None, support: Support) -> bool:
    """Whether the loss has kinks that are not at fixed coordinates N w: polynomials in these would not resolve it."""
    if loss is None or loss.weight is not None:
        return False
    if loss.is_absolute:
        return not is_diagonal_matrix(np.linalg.inv(N))
    return not is_smooth(loss, support)


def _sharpened(
    found: GroundState, support: Support, sensitivity: Array, loss: Loss | None, loss_weight: float
) -> GroundState:
    """Where a spectral lower bound is poor, take that of finite elements if it is better: both hold."""
    poor = WIDE.get(support.dimension)
    if (
        poor is None
        or (found.gap is not None and found.gap <= poor)
        or (loss is not None and loss.function is not None and support.is_bounded)
    ):
        return found
    from errorfloor.designer import finite_elements

    try:
        other = finite_elements.ground_state(support, sensitivity, loss, loss_weight, tolerance=1e-4)
    except ErrorFloorError:  # a shape or a loss that they do not cover
        return found
    if other.lower_bound is None or (found.lower_bound is not None and other.lower_bound <= found.lower_bound):
        return found
    method = f"{found.method.split(';')[0]}; lower bound by {other.method}"
    return replace(found, lower_bound=min(other.lower_bound, found.value), method=method)


def product_coordinates(support: Support) -> tuple[Array, tuple[Support, ...]] | None:
    """Give coordinates N w in which the support is a product of intervals, half-lines and lines, or None.

    Unlike ``product_form`` this knows half-spaces, slabs and wedges: products with lines in the directions that they do
    not bound.

    >>> product_coordinates(Polytope(A=[[1.0, 0.0]], b=[2.0]))[1]
    (HalfLine(low=None, high=2.0), Reals(dimension=1))
    """
    if support.product_form is not None:
        return support.product_form
    if not isinstance(support, Polytope) or support.is_bounded:
        return None
    rows: list[Array] = []
    ends: list[list[float]] = []
    for normal, offset in zip(*support.half_spaces, strict=True):
        opposite = next((k for k, row in enumerate(rows) if np.linalg.norm(row + normal) < 1e-12), None)
        if opposite is None:
            rows.append(normal)
            ends.append([-math.inf, float(offset)])
        else:
            ends[opposite][0] = -float(offset)
    count = len(rows)
    if count >= support.dimension or np.linalg.matrix_rank(np.array(rows)) < count:
        return None
    free = np.linalg.svd(np.array(rows))[2][count:]
    sides = [Interval(low, high) if math.isfinite(low) else HalfLine(high=high) for low, high in ends]
    return np.vstack([np.array(rows), free]), (*sides, *(Reals(1) for _ in free))
