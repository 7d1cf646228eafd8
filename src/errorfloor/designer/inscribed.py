"""Four-dimensional shapes without a basis of their own: the best box inside, and a box around for the lower bound.

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
from errorfloor.errors import ConvergenceError, InputError
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
    """Solve on the inscribed box of least cost among several frames, and bound from below on a box around.

    >>> from errorfloor.support import Polytope
    >>> simplex = Polytope(vertices=np.vstack([np.zeros(4), np.eye(4)]))
    >>> found = ground_state_inside(simplex, np.eye(4), None, 0.0, tolerance=1e-6)
    >>> found.lower_bound < found.value, simplex.contains(found.noise.sample(100)).all()
    (True, np.True_)
    """
    if not support.is_bounded:
        raise InputError(
            f"{type(support).__name__} is unbounded in {support.dimension} dimensions and no product of half-lines and "
            f"lines: give a bounded support, or ask for fewer answers"
        )
    if loss is None and isinstance(support, (Ball, Ellipsoid)):
        return _of_the_ball(support, sensitivity)
    if start is not None and isinstance(start.memory, _Chosen):
        form = start.memory.form
        start = replace(start, memory=start.memory.memory)
    else:
        form = min(_inside(support, sensitivity), key=lambda box: _cost(box, sensitivity))
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


def _inside(support: Support, sensitivity: Array) -> list[spectral.Form]:
    if isinstance(support, (Ball, Ellipsoid)):
        N, stretch = _frame(support, sensitivity)
        half = stretch**0.25 / np.sqrt(np.sqrt(stretch).sum()) * (1 - 1e-12)  # least Σ stretch/half² on the unit ball
        return [_box(N, N @ support.middle, 2 * half)]
    if support.half_spaces is None:
        raise InputError(f"{type(support).__name__} in {support.dimension} dimensions is beyond the designer")
    vectors = np.linalg.eigh(sensitivity)[1]
    boxes = [_inside_half_spaces(*support.half_spaces, N, sensitivity) for N in (np.eye(len(vectors)), vectors.T)]
    found = [box for box in boxes if box is not None]
    if not found:
        raise ConvergenceError("no box was found inside the support: it is too thin")
    return found


def _frame(body: Ball | Ellipsoid, sensitivity: Array) -> tuple[Array, Array]:
    """Coordinates N w in which the body is a unit ball and K is diagonal, and that diagonal."""
    whiten = np.linalg.inv(np.linalg.cholesky(body.shape))
    stretch, vectors = np.linalg.eigh(whiten @ sensitivity @ whiten.T)
    return np.asarray(vectors.T @ whiten), stretch


def _inside_half_spaces(A: Array, b: Array, N: Array, sensitivity: Array) -> spectral.Form | None:
    """The box {low ≤ N w ≤ high} inside {A w ≤ b} with the least Σ(NKNᵀ)ᵢᵢ/Δᵢ²."""
    from scipy.optimize import linprog, minimize

    rows, m = A @ np.linalg.inv(N), len(N)
    weight = np.diag(N @ sensitivity @ N.T)
    reach = np.abs(rows).sum(axis=1)
    cube = linprog(
        np.append(np.zeros(m), -1.0),
        A_ub=np.column_stack([rows, reach]),
        b_ub=b,
        bounds=[(None, None)] * m + [(0, None)],
    )
    if cube.status != 0 or cube.x[-1] <= 0:
        return None
    begin = np.append(cube.x[:m], np.full(m, np.log(2 * cube.x[-1])))
    scale = float((weight / np.exp(2 * begin[m:])).sum())
    found = minimize(
        lambda z: float((weight / np.exp(2 * z[m:])).sum()) / scale,
        begin,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda z: b - rows @ z[:m] - np.abs(rows) @ np.exp(z[m:]) / 2},
        options={"maxiter": 300},
    )
    middle, width = found.x[:m], np.exp(found.x[m:])
    room = float(((b - rows @ middle) / (np.abs(rows) @ width / 2)).min())
    return _box(N, middle, width * min(1.0, room) * (1 - 1e-12)) if room > 0 else None


def _box(N: Array, middle: Array, width: Array) -> spectral.Form:
    ends = zip(middle - width / 2, middle + width / 2, strict=True)
    return np.asarray(N), tuple(Interval(float(a), float(b)) for a, b in ends)


def _cost(form: spectral.Form, sensitivity: Array) -> float:
    N, sides = form
    width = np.array([float(side.volume) for side in sides])
    return float((np.diag(N @ sensitivity @ N.T) / width**2).sum())


def _around(support: Support, sensitivity: Array) -> spectral.Form:
    """The bounding box; of an ellipsoid, the one in whose frame K is diagonal."""
    if isinstance(support, (Ball, Ellipsoid)):
        N, _ = _frame(support, sensitivity)
        return _box(N, N @ support.middle, np.full(len(N), 2.0))
    low, high = support.bounding_box
    return _box(np.eye(len(low)), (low + high) / 2, high - low)
