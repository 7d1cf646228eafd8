"""Noise that is bounded at every step of a trajectory: a start in a polytope."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errorfloor.checks import Array, numbers
from errorfloor.designer import design
from errorfloor.dynamics.inscribed import TOUCHING, deepest, inscribed
from errorfloor.dynamics.optimum import best_gaussian
from errorfloor.dynamics.state_space import Start, StateSpace
from errorfloor.errors import ConvergenceError, IllPosedError, InputError, NoClosedFormError, SupportError
from errorfloor.noise import Certificate, LinearImage, Noise
from errorfloor.noise.lattice import Lattice
from errorfloor.support import Box, Interval, Polytope, Support

MOST_FACES = 32  # of a polytope that is handed to the numerical designer
NUMERICAL = 3  # dimensions in which there is one
CLOSE = 1e-2  # a proved gap that is not compared with anything simpler


@dataclass(frozen=True)
class BoundedWish:
    """What is asked of bounded noise: K, the root of the loss in the same coordinates, the quality, the method."""

    sensitivity: Array
    loss_root: Array
    loss_weight: float | None
    max_loss: float | None
    method: str

    @property
    def has_quality(self) -> bool:
        """Whether a loss counts beside the bound."""
        return self.loss_weight is not None or self.max_loss is not None


def bounded_start(
    system: StateSpace, basis: Array, bound: Any, lattice: Lattice | None, wish: BoundedWish
) -> tuple[Start, Certificate, Array | None]:
    """Give the law of z, how good it is, and a public offset, such that offset[k] + C_k Φ_k z stays in every bound."""
    offset, faces, room = _faces(system, bound, lattice)
    paths = np.moveaxis(system.carry(basis.T), 0, -1)  # (T + 1, m, q)
    rows = (faces @ paths / room[..., None]).reshape(-1, basis.shape[1]) * (1 + TOUCHING)
    rows = _few(rows[np.abs(rows).max(axis=1) > 0])
    if offset is not None and wish.has_quality:
        raise IllPosedError(
            "bounds that are not centred on zero move every answer by a public offset, and are designed for least "
            "information alone: leave loss_weight and max_loss out"
        )
    noise = _design(rows, wish)
    certificate = noise.certificate
    assert certificate is not None, "every design comes with a certificate"
    return Start(noise, basis, noise.information_root @ basis.T), certificate, offset


def _design(rows: Array, wish: BoundedWish) -> Noise:
    if rows.shape[1] == 1 or (wish.method == "best" and rows.shape[1] <= NUMERICAL):
        found = _designed(rows, wish)
        if found is not None:
            return found if wish.has_quality else _compared(found, rows, wish)
    noise = inscribed(rows, wish.sensitivity, method=wish.method)
    return _with_quality(noise, wish) if wish.has_quality else noise


def _compared(found: Noise, rows: Array, wish: BoundedWish) -> Noise:
    """Take the closed form inside instead where a numerical design is worse, and the better of both lower bounds."""
    certificate = found.certificate
    assert certificate is not None
    if certificate.gap is not None and certificate.gap <= CLOSE:
        return found
    simple = inscribed(rows, wish.sensitivity, method=wish.method)
    assert simple.certificate is not None
    lower = max(certificate.lower_bound or 0.0, simple.certificate.lower_bound or 0.0)
    best, kept = (found, certificate) if certificate.value <= simple.certificate.value else (simple, simple.certificate)
    return replace(best, certificate=replace(kept, lower_bound=min(lower, kept.value)))


def _designed(rows: Array, wish: BoundedWish) -> Noise | None:
    """Ask the designer; None where it knows no answer."""
    quality: dict[str, Any] = {}
    if wish.has_quality:
        quality = {"loss": wish.loss_root.T @ wish.loss_root}
        quality |= {"loss_weight": wish.loss_weight, "max_loss": wish.max_loss}
    if rows.shape[1] == 1:
        ends = rows[:, 0]
        support: Support = Interval(float(1 / ends.min()), float(1 / ends.max()))
        shrink = 1.0
    else:
        outer = _needed(_fewer(rows))
        support = Polytope(A=outer, b=np.ones(len(outer)))
        corners = support.facets.center + support.facets.size * support.facets.corners
        most = float((corners @ rows.T).max())
        shrink = 1.0 if most <= 1 + TOUCHING / 2 else 1 / most  # faces were moved inwards by more than that
    try:
        noise = design(support, sensitivity=wish.sensitivity, **quality)
    except (NoClosedFormError, ConvergenceError):
        return None
    if shrink == 1.0:
        return noise
    # the polytope has more faces than are handed on: the noise on fewer of them, made smaller, keeps inside all
    certificate = noise.certificate
    assert certificate is not None
    smaller = LinearImage(noise, shrink * np.eye(rows.shape[1]))
    if wish.has_quality:
        loss = smaller.expected_loss(quality["loss"])
        cost = float(np.trace(wish.sensitivity @ smaller.information))
        value = cost if wish.loss_weight is None else cost + wish.loss_weight * loss
    else:
        loss, value = None, certificate.value / shrink**2
    return replace(smaller, certificate=replace(certificate, value=value, loss=loss))


def _with_quality(noise: Noise, wish: BoundedWish) -> Noise:
    """Make a noise on the whole set as much smaller as its quality asks for."""
    certificate = noise.certificate
    assert certificate is not None
    loss = float(np.linalg.norm(wish.loss_root @ np.linalg.cholesky(noise.covariance)) ** 2)
    loss += float(np.linalg.norm(wish.loss_root @ noise.mean) ** 2)
    free = best_gaussian(wish.loss_root, wish.sensitivity, loss_weight=wish.loss_weight, max_loss=wish.max_loss)
    cost = certificate.value
    if wish.loss_weight is not None:
        scale = min(1.0, (cost / (wish.loss_weight * loss)) ** 0.25)
        value = cost / scale**2 + wish.loss_weight * scale**2 * loss
        lower = max(certificate.lower_bound or 0.0, 2 * free.information)
    else:
        assert wish.max_loss is not None
        scale = min(1.0, math.sqrt(wish.max_loss / loss))
        value = cost / scale**2
        lower = max(certificate.lower_bound or 0.0, free.information)
    smaller = LinearImage(replace(noise, certificate=None), scale * np.eye(noise.dimension))
    method = f"{certificate.method}, made {scale:.3g} times as wide"
    found = Certificate(value, min(lower, value), method, certificate.reference, scale**2 * loss, wish.loss_weight)
    return replace(smaller, certificate=found)


def _faces(system: StateSpace, bound: Any, lattice: Lattice | None) -> tuple[Array | None, Array, Array]:
    """Give a public offset, normals (T + 1, f, m) and room (T + 1, f): offset[k] + v is allowed if normals·v ≤ room."""
    steps, m = system.horizon + 1, system.outputs
    if isinstance(bound, Support) or (isinstance(bound, Sequence) and any(isinstance(one, Support) for one in bound)):
        given = [bound] * steps if isinstance(bound, Support) else list(bound)
        if len(given) != steps or not all(isinstance(one, Support) for one in given):
            raise InputError(f"bound must be a support, or {steps} supports, one for each step; got {len(given)}")
        parts = {id(one): _faces_of(one, m, lattice) for one in given}
        chosen = [parts[id(one)] for one in given]
        most = max(len(room) for _, _, room in chosen)
        offset = np.stack([center for center, _, _ in chosen])
        normals = np.stack([np.vstack([N, np.zeros((most - len(N), m))]) for _, N, _ in chosen])
        rooms = np.stack([np.concatenate([room, np.ones(most - len(room))]) for _, _, room in chosen])
        return (offset if offset.any() else None), normals, rooms
    half = numbers("bound", bound)
    if half.shape not in ((), (m,)) or not (np.isfinite(half).all() and (half > 0).all()):
        raise InputError(f"bound must be a positive number, {m} of them, or supports; got {bound!r}")
    return _faces(system, Box(-np.broadcast_to(half, (m,)), np.broadcast_to(half, (m,))), lattice)


def _faces_of(support: Support, outputs: int, lattice: Lattice | None) -> tuple[Array, Array, Array]:
    if support.dimension != outputs:
        raise SupportError(f"a bound must have dimension {outputs}, as the answers, got {support.dimension}")
    faces = support.half_spaces
    if faces is None or not support.is_bounded:
        raise SupportError(
            f"a bound must be a bounded set with flat faces (Interval, Box, Polygon, Polytope), "
            f"got {type(support).__name__}"
        )
    N, b = faces
    if lattice is not None:
        # an answer's rounding moves each coordinate by half a step, and a face by as much along its normal
        b = b - lattice.size / 2 * (1 + TOUCHING) * np.abs(N).sum(axis=1)
    center = _middle(support, N, b)
    room = b - N @ center
    if not (room > 0).all():
        raise SupportError(f"a bound leaves no room for noise once answers are rounded to steps of {lattice}")
    return center, N, room


def _middle(support: Support, N: Array, b: Array) -> Array:
    """The centre of symmetry of an interval or box, whose slice is the best; elsewhere that of an inscribed ball."""
    low, high = support.bounding_box
    if isinstance(support, (Interval, Box)):
        return np.asarray((low + high) / 2)
    center, radius = deepest(N, b)
    if radius <= 0:
        raise SupportError("a bound leaves no room for noise")
    # zero is kept where it is as deep: then the answers need no offset
    return np.zeros_like(center) if float((b / np.linalg.norm(N, axis=1)).min()) >= radius * (1 - 1e-9) else center


def _few(rows: Array) -> Array:
    """Leave out faces {g·α ≤ 1} that cannot be reached: a face matters if g is a corner of the hull of all of them."""
    rows = np.unique(np.round(rows / np.abs(rows).max(), 14), axis=0) * np.abs(rows).max()
    if not 2 <= rows.shape[1] <= 5 or len(rows) <= rows.shape[1] + 1:
        return rows
    from scipy.spatial import ConvexHull, QhullError

    scale = np.abs(rows).max(axis=0)
    try:
        kept = np.sort(ConvexHull(rows / scale).vertices)
    except QhullError:
        return rows
    return np.asarray(rows[kept])


def _fewer(rows: Array) -> Array:
    """Choose well-spread faces where there are very many; the set they bound contains the given one."""
    if len(rows) <= MOST_FACES:
        return rows
    scale = np.abs(rows).max(axis=0)
    unit = rows / scale
    chosen = [int(np.argmax(np.linalg.norm(unit, axis=1)))]
    far = np.linalg.norm(unit - unit[chosen[0]], axis=1)
    while len(chosen) < MOST_FACES - 1:
        new = int(np.argmax(far))
        opposite = int(np.argmin(np.linalg.norm(unit + unit[new], axis=1)))
        for one in (new, opposite):
            chosen.append(one)
            far = np.minimum(far, np.linalg.norm(unit - unit[one], axis=1))
    return rows[sorted(set(chosen))]


def _needed(rows: Array) -> Array:
    """Leave out faces that the others keep clear of but for touching: a mesh has no use for sides without length.

    g_i is not needed if it is a combination Σλ_j g_j of the others with λ ≥ 0 and Σλ ≤ 1.
    """
    from scipy.optimize import linprog

    kept = list(range(len(rows)))
    scale = np.abs(rows).max(axis=0)
    unit = rows / scale
    for i in range(len(rows)):
        others = [k for k in kept if k != i]
        found = linprog(np.ones(len(others)), A_eq=unit[others].T, b_eq=unit[i], bounds=(0, None))
        if found.status == 0 and found.fun <= 1 + TOUCHING / 10:
            kept = others
    return np.asarray(rows[kept])
