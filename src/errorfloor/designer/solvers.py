"""Which numerical method solves which problem: products of intervals by spectral bases, other shapes by elements."""

from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.boxes import solver as boxes
from errorfloor.designer.elements import ground_state as elements
from errorfloor.designer.ground_state import GroundState, Progress
from errorfloor.errors import InputError
from errorfloor.noise import Loss
from errorfloor.support import Ball, Ellipsoid, Polytope, Reals, Support
from errorfloor.support.facets import paired
from errorfloor.support.lines import line_between

MOST_DIMENSIONS = 4  # of products of intervals, balls and ellipsoids
MESHED = 3  # of all other shapes
TOLERANCE = 2e-8  # relative change of the value at which refinement stops
ROUGHLY = 2e-2  # the same on the way to the weight of a loss


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
    """Give the noise of least Tr(K I_w) + ϱ E ℓ(w): on products, balls and ellipsoids in up to four dimensions.

    Other bounded shapes are solved in up to three. ``start`` keeps the discretisation of an earlier state; ``roughly``
    is for a search that has far to go.

    Raises InputError beyond that, with what to ask for instead.

    >>> from errorfloor.support import Box
    >>> found = solve(Box([0, 0], [1, 1]), np.array([[1.0, 0.3], [0.3, 1.0]]))
    >>> round(found.value, 5), bool(found.gap < 1e-7)
    (77.5028, True)
    """
    form = product_coordinates(support)
    _check_covered(support, form, loss)
    options: dict[str, Any] = {"tolerance": tolerance, "progress": progress, "start": start, "certify": certify}
    if roughly:
        options.update(start=None, tolerance=ROUGHLY)
    if form is None:
        return elements.ground_state(support, sensitivity, loss, loss_weight, **options)

    def second(value: float) -> float:
        unit = float(np.trace(sensitivity))
        return unit * elements.second_level(support, sensitivity / unit, loss, loss_weight / unit, value / unit)

    coupled = 1 < support.dimension <= MESHED
    return boxes.ground_state(form, sensitivity, loss, loss_weight, second=second if coupled else None, **options)


def _check_covered(support: Support, form: tuple[Array, tuple[Support, ...]] | None, loss: Loss | None) -> None:
    m = support.dimension
    if m > MOST_DIMENSIONS:
        raise InputError(
            f"a general problem in {m} dimensions is beyond the numerical designer, which goes up to "
            f"{MOST_DIMENSIONS}: ask for fewer answers at once, or for answers whose K is diagonal in the support's "
            f"own coordinates"
        )
    if form is None and not support.is_bounded:
        raise InputError(
            f"an unbounded {type(support).__name__} is designed for if it is a product of intervals, half-lines and "
            f"lines in some coordinates, such as a half-space or a wedge, and this one is not: design for one inside it"
        )
    if m > MESHED and form is None and not isinstance(support, (Ball, Ellipsoid)):
        raise InputError(
            f"a {type(support).__name__} that is no product is designed for in up to {MESHED} dimensions, not in {m}: "
            f"design for a box or an ellipsoid inside it, or ask for fewer answers at once"
        )


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
    rows, low, high = paired(*support.half_spaces)
    if len(rows) >= support.dimension or np.linalg.matrix_rank(rows) < len(rows):
        return None
    free = np.linalg.svd(rows)[2][len(rows) :]
    return np.vstack([rows, free]), (*map(line_between, low, high), *(Reals(1) for _ in free))
