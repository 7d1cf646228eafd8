"""Ellipsoids in four dimensions: the best box inside, and a box around for the lower bound.

The noise is the best on the box inside, so its information is its own and it never leaves the support; the certificate
says how far it may be from the best on the whole support, by domain inclusion.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer import spectral
from errorfloor.designer.ground_state import GroundState, Progress
from errorfloor.noise import BesselBall, LinearImage, Loss, Noise, Translation
from errorfloor.support import Ball, Ellipsoid, Interval, Support

TOLERANCE = 1e-5  # finer would be wasted beside what is lost between the boxes


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The box that was chosen, and what its solver keeps."""

    form: spectral.Form
    memory: Any


def ground_state_inside(
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
    """Solve on the inscribed box of least cost, and bound from below on a box around.

    >>> body = Ball(4, 1.0)
    >>> found = ground_state_inside(body, np.eye(4), Loss.parse("squared", 4), 1.0, tolerance=1e-6)
    >>> found.lower_bound < found.value, body.contains(found.noise.sample(100)).all()
    (True, np.True_)
    """
    assert isinstance(support, (Ball, Ellipsoid)), "sets with flat faces have meshes"
    if loss is None:
        return _of_the_ball(support, sensitivity)
    if start is not None and isinstance(start.memory, _Chosen):
        form = start.memory.form
        start = replace(start, memory=start.memory.memory)
    else:
        form = _inside(support, sensitivity)
    found = spectral.ground_state(
        form, sensitivity, loss, loss_weight, tolerance=TOLERANCE, progress=progress, start=start, certify=False
    )
    lower, how = None, "no lower bound was asked for"
    if certify:
        around = spectral.ground_state(
            _around(support, sensitivity), sensitivity, loss, loss_weight, tolerance=TOLERANCE
        )
        lower, how = around.lower_bound, "lower bound on a box around the support"
    method = f"{found.method.split(';')[0]} on the best box inside the support; {how}"
    return GroundState(found.noise, found.value, lower, method, found.reference, _Chosen(form, found.memory))


def _of_the_ball(body: Ball | Ellipsoid, sensitivity: Array) -> GroundState:
    """The noise that is best where K is proportional to the shape, and what it costs here."""
    m = body.dimension
    unit = BesselBall(m, 1.0)
    _, stretch = _frame(body, sensitivity)
    noise: Noise = LinearImage(unit, np.linalg.cholesky(body.shape))
    if body.middle.any():
        noise = Translation(noise, body.middle)
    value = float(np.trace(sensitivity @ noise.information))
    lower = max(4 * float(stretch[0]) * unit.zero**2, math.pi**2 * float(stretch.sum()))
    method = "the noise that is best for a query in line with the ellipsoid; lower bound by inclusion"
    return GroundState(noise, value, min(lower, value), method, "ground state of the ball")


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
