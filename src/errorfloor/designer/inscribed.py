"""Ellipsoids in four dimensions: polynomials that vanish on the boundary, or the best box inside; bounds by inclusion.

A loss may be so steep that polynomials in the whole ellipsoid do not resolve the noise. It then stays far from the
boundary, and the best noise on a box inside is a good one: its information is its own, and it never leaves the support.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer import finite_elements, spectral
from errorfloor.designer.around import split_bound
from errorfloor.designer.ground_state import GroundState, Progress
from errorfloor.designer.potential import least_on_box
from errorfloor.errors import ConvergenceError
from errorfloor.noise import BesselBall, Loss
from errorfloor.support import Ball, Ellipsoid, Interval, Support

TOLERANCE = 1e-5  # finer would be wasted beside what is lost between the boxes
CLOSE = 1e-2  # the gap above which other lower bounds are tried


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The box that was chosen, and what its solver keeps."""

    form: spectral.Form
    memory: Any


def ground_state_in_ellipsoid(
    support: Support,
    sensitivity: Array,
    loss: Loss | None,
    loss_weight: float,
    *,
    tolerance: float,
    progress: Progress | None = None,
    start: GroundState | None = None,
    certify: bool = True,
) -> GroundState:
    """Solve by polynomials where they resolve the loss, else on the inscribed box of least cost, and bound from below.

    >>> body = Ball(4, 1.0)
    >>> found = ground_state_in_ellipsoid(body, np.eye(4), Loss.parse("squared", 4), 1.0, tolerance=1e-4)
    >>> round(found.value, 3), bool(found.gap < 1e-3), body.contains(found.noise.sample(100)).all()
    (59.061, True, np.True_)
    """
    assert isinstance(support, (Ball, Ellipsoid)), "sets with flat faces have meshes"
    weight = 0.0 if loss is None else loss_weight
    found = None
    if start is None or not isinstance(start.memory, _Chosen):
        try:
            found = finite_elements.ground_state(
                support,
                sensitivity,
                loss,
                weight,
                tolerance=tolerance,
                progress=progress,
                start=start,
                certify=certify,
            )
        except ConvergenceError:
            if loss is None:
                raise
    if found is None:
        assert loss is not None, "polynomials resolve every problem without a loss, or nothing does"
        found = _in_a_box(support, sensitivity, loss, weight, progress, start)
    if not certify or (found.gap is not None and found.gap <= CLOSE):
        return found
    lower, how = max(_inclusions(support, sensitivity, loss, weight), default=(-math.inf, ""))
    if lower <= (-math.inf if found.lower_bound is None else found.lower_bound):
        return found
    method = f"{found.method.split(';')[0]}; lower bound by {how}"
    return replace(found, lower_bound=min(lower, found.value), method=method)


def _in_a_box(
    body: Ball | Ellipsoid,
    sensitivity: Array,
    loss: Loss,
    weight: float,
    progress: Progress | None,
    start: GroundState | None,
) -> GroundState:
    if start is not None and isinstance(start.memory, _Chosen):
        form = start.memory.form
        start = replace(start, memory=start.memory.memory)
    else:
        form, start = _inside(body, sensitivity), None
    found = spectral.ground_state(
        form, sensitivity, loss, weight, tolerance=TOLERANCE, progress=progress, start=start, certify=False
    )
    method = f"{found.method.split(';')[0]} on the best box inside the support; no lower bound was asked for"
    return replace(found, method=method, memory=_Chosen(form, found.memory))


def _inclusions(
    body: Ball | Ellipsoid, sensitivity: Array, loss: Loss | None, weight: float
) -> list[tuple[float, str]]:
    """Numbers below J + ϱQ of every noise in the body, and how they were found."""
    _, stretch = _frame(body, sensitivity)
    unit = BesselBall(body.dimension, 1.0)
    free = [
        (4 * float(stretch[0]) * unit.zero**2 * (1 - 1e-9), "a larger query in line with the ellipsoid"),
        (math.pi**2 * float(stretch.sum()) * (1 - 1e-9), "a box around the support"),
    ]
    if loss is None:
        return free
    known = finite_elements.ground_state(body, sensitivity)
    least = max([*free, (known.lower_bound or 0.0, "what is least without the loss")])
    if loss.function is not None:  # convex and finite around the body too, or nothing is said
        N, _ = _frame(body, sensitivity)
        middle, back = N @ body.middle, np.linalg.inv(N)
        lowest = least_on_box(lambda x: np.asarray(loss(x @ back.T)), middle - 1, middle + 1)
        return [(least[0] + weight * lowest, f"{least[1]}, and the least loss")] if math.isfinite(lowest) else []
    around = spectral.ground_state(_around(body, sensitivity), sensitivity, loss, weight, tolerance=TOLERANCE)
    return [
        (around.lower_bound or 0.0, "a box around the support"),
        (split_bound(least[0], sensitivity, loss, weight) * (1 - 1e-9), f"{least[1]}, and all of space"),
    ]


def _inside(body: Ball | Ellipsoid, sensitivity: Array) -> spectral.Form:
    """The box in whose frame K is diagonal that has the least Σ stretch/half² on the unit ball."""
    N, stretch = _frame(body, sensitivity)
    half = stretch**0.25 / np.sqrt(np.sqrt(stretch).sum()) * (1 - 1e-12)
    return _box(N, N @ body.middle, 2 * half)


def _frame(body: Ball | Ellipsoid, sensitivity: Array) -> tuple[Array, Array]:
    """Coordinates N w in which the body is a unit ball and K is diagonal, and that diagonal."""
    whiten = np.linalg.inv(np.linalg.cholesky(body.shape))
    stretch, vectors = np.linalg.eigh(whiten @ sensitivity @ whiten.T)
    return np.asarray(vectors.T @ whiten), stretch


def _box(N: Array, middle: Array, width: Array) -> spectral.Form:
    ends = zip(middle - width / 2, middle + width / 2, strict=True)
    return np.asarray(N), tuple(Interval(float(a), float(b)) for a, b in ends)


def _around(body: Ball | Ellipsoid, sensitivity: Array) -> spectral.Form:
    """The box around in whose frame K is diagonal."""
    N, _ = _frame(body, sensitivity)
    return _box(N, N @ body.middle, np.full(len(N), 2.0))
