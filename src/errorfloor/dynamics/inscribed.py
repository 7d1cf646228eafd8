"""Noise inside a polytope {α : g_i·α ≤ 1} of any dimension by closed forms, and a proved bound on the best possible.

All sets contain the origin. K = LLᵀ; in the coordinates β = L⁻¹α, where the faces are h_i = Lᵀg_i, the cost Tr(K I) of
a noise is the trace of its information. Λ(P) is the least cost on P.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.noise import BesselBall, Certificate, LinearImage, Noise, Product, RaisedCosine, Translation

PADDING = 1e-6  # relative, on the solutions of linear programmes that a proof uses
TOUCHING = 1e-9  # relative distance that closed forms keep from the polytope's faces
ROUNDS = 2000
VOLUMES = 4  # dimensions in which corners are listed


def inscribed(rows: Array, sensitivity: Array, *, method: str) -> Noise:
    """Give the better of the best noises of two shapes inside a polytope: an ellipsoid, and a box along its axes.

    With ``method`` "product" the box alone is used. The certificate's lower bound holds for every noise on the
    polytope.

    >>> square = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> noise = inscribed(square, np.eye(2), method="best")
    >>> round(noise.certificate.value / (2 * math.pi**2), 6), round(noise.certificate.gap, 6)
    (1.0, 0.0)
    """
    L = np.linalg.cholesky(sensitivity)
    polytope = Whitened.of(rows @ L)
    found: list[Noise] = [_box(polytope, axes, L) for axes in (polytope.axes, np.eye(len(L)))]
    if method == "best" and len(L) > 1:
        values, around = np.linalg.eigh(polytope.shape)
        image = LinearImage(BesselBall(len(L), 1.0 - TOUCHING), L @ (around * np.sqrt(values)))
        found.append(Translation(image, L @ polytope.center) if polytope.center.any() else image)
    costs = [float(np.trace(sensitivity @ noise.information)) for noise in found]
    best = int(np.argmin(costs))
    kind = "ellipsoid" if best == 2 else "box"
    certificate = Certificate(
        value=costs[best],
        lower_bound=min(costs[best], least_cost(polytope)),
        method=f"closed form on an inscribed {kind}; lower bound by chords",
        reference="Poincaré's inequality along chords; Faber and Krahn's",
    )
    return replace(found[best], certificate=certificate)


@dataclass(frozen=True)
class Whitened:
    """{β : rows·β ≤ 1}, a deep ``center`` of it, and the ``shape`` of the best ellipsoid around that centre."""

    rows: Array
    center: Array
    shape: Array

    @classmethod
    def of(cls, rows: Array) -> "Whitened":
        """Find the centre and the shape."""
        center = np.zeros(rows.shape[1]) if _is_symmetric(rows) else deepest(rows, np.ones(len(rows)))[0]
        return cls(rows, center, _best_shape(rows / (1 - rows @ center)[:, None]))

    @property
    def axes(self) -> Array:
        """The main axes of the ellipsoid."""
        return np.asarray(np.linalg.eigh(self.shape)[1])

    def chord(self, direction: Array) -> float:
        """Bound the longest chord along a unit direction from above."""
        along = self.rows @ direction
        if _is_symmetric(self.rows):
            return 2 / float(along.max())
        from scipy.optimize import linprog

        # the chord from β to β + t·direction; its dual bounds t by Σλ + Σμ with rowsᵀ(λ + μ) = 0, along·μ = 1
        k, n = self.rows.shape
        equal = np.vstack([np.hstack([self.rows.T, self.rows.T]), np.concatenate([np.zeros(k), along])[None]])
        found = linprog(np.ones(2 * k), A_eq=equal, b_eq=np.concatenate([np.zeros(n), [1.0]]), bounds=(0, None))
        if found.status != 0:
            raise ConvergenceError("the longest chord of the set of allowed starts was not found: rescale the states")
        return float(found.fun) * (1 + PADDING)


def least_cost(polytope: Whitened) -> float:
    """Bound from below the cost of every noise on a polytope.

    Along any orthonormal axes u_j, Λ ≥ Σ 4π²/c_j², c_j the longest chord along u_j: on each line the root of a density
    vanishes at both ends of a chord. In few dimensions also Λ ≥ that of the ball of the same volume.
    """
    n = polytope.rows.shape[1]
    tried = (polytope.axes, np.eye(n), _greedy(polytope.rows))
    found = [sum(4 * math.pi**2 / polytope.chord(axis) ** 2 for axis in axes.T) for axes in tried]
    if 2 <= n <= VOLUMES:
        found.append(_by_volume(polytope.rows))
    return max(found) * (1 - PADDING**2)


def _greedy(rows: Array) -> Array:
    """Axes along the face nearest to the origin, then along the nearest of what is left across it, and so on."""
    left, axes = rows.copy(), []
    for _ in range(rows.shape[1]):
        lengths = np.linalg.norm(left, axis=1)
        axis = left[int(np.argmax(lengths))] / lengths.max()
        axes.append(axis)
        left = left - np.outer(left @ axis, axis)
    return np.linalg.qr(np.array(axes).T)[0]


def _by_volume(rows: Array) -> float:
    from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

    n = rows.shape[1]
    try:
        corners = HalfspaceIntersection(np.column_stack([rows, -np.ones(len(rows))]), np.zeros(n)).intersections
        volume = float(ConvexHull(corners).volume) * (1 + PADDING)
    except QhullError:
        return 0.0
    radius = (volume / (math.pi ** (n / 2) / math.gamma(n / 2 + 1))) ** (1 / n)
    return float(4 * BesselBall(n, 1.0).zero ** 2 / radius**2)


def _is_symmetric(rows: Array) -> bool:
    ordered = rows[np.lexsort(rows.T)]
    return bool(np.allclose(ordered, -ordered[::-1], rtol=0, atol=1e-12 * np.abs(rows).max()))


def deepest(rows: Array, room: Array) -> tuple[Array, float]:
    """Give the centre and the radius of a largest ball in {x : rows·x ≤ room}.

    >>> center, radius = deepest(np.array([[1.0], [-1.0]]), np.array([3.0, 1.0]))
    >>> center.round(9), round(radius, 9)
    (array([1.]), 2.0)
    """
    from scipy.optimize import linprog

    n = rows.shape[1]
    across = np.column_stack([rows, np.linalg.norm(rows, axis=1)])
    found = linprog(np.append(np.zeros(n), -1.0), A_ub=across, b_ub=room, bounds=(None, None))
    if found.status != 0:
        raise ConvergenceError("no centre of the set of allowed starts was found: rescale the states")
    return np.asarray(found.x[:n]), float(found.x[n])


def _best_shape(rows: Array) -> Array:
    """Give S of least Tr S⁻¹ with rows·S·rowsᵀ ≤ 1 on the diagonal: S = (Σ λ_i h_i h_iᵀ)^(−½), λ ≥ 0.

    Multiplicative updates raise the multiplier of each face that is exceeded; S is then scaled to be feasible, so
    that an early end costs size, never the bound.
    """
    weights = np.full(len(rows), 1.0 / len(rows))
    best, least = np.eye(rows.shape[1]) / float((rows**2).sum(axis=1).max()), math.inf
    for _ in range(ROUNDS):
        values, axes = np.linalg.eigh((rows.T * weights) @ rows)
        values = np.maximum(values, 1e-300)
        used = ((rows @ axes) ** 2 / np.sqrt(values)).sum(axis=1)
        cost = float(np.sqrt(values).sum() * used.max())
        if cost < least * (1 - 1e-12):
            least, best = cost, (axes / np.sqrt(values)) @ axes.T / used.max()
        weights = weights * used
        weights /= weights.sum()
        keep = weights > 1e-14
        if not keep.all() and keep.sum() >= rows.shape[1]:
            weights = np.where(keep, weights, 1e-14)
        if used.max() * weights.sum() <= (1 + 1e-9) * float(used @ weights):
            break
    return np.asarray((best + best.T) / 2)


def _box(polytope: Whitened, axes: Array, L: Array) -> Noise:
    """Give independent raised cosines along axes, with the half-widths d of least Σ π²/d_j²."""
    room = 1 - polytope.rows @ polytope.center
    halves = _best_halves(np.abs(polytope.rows @ axes) / room[:, None]) * (1 - TOUCHING)
    middle = axes.T @ polytope.center
    sides = tuple(RaisedCosine(float(c - d), float(c + d)) for c, d in zip(middle, halves, strict=True))
    return LinearImage(Product(sides), L @ axes)


def _best_halves(across: Array) -> Array:
    """Minimise Σ 1/d_j² subject to across·d ≤ 1: 2/d_j³ = Σ_i λ_i·across_ij, λ ≥ 0, by the same kind of updates."""
    weights = np.full(len(across), 1.0 / len(across))
    best = np.full(across.shape[1], 1 / float(across.sum(axis=1).max()))
    for _ in range(ROUNDS):
        halves = np.cbrt(1 / np.maximum(weights @ across, 1e-300))
        used = across @ halves
        feasible = halves / float(used.max())
        if (1 / feasible**2).sum() < (1 / best**2).sum() * (1 - 1e-12):
            best = feasible
        weights = weights * used
        weights /= weights.sum()
        if used.max() <= (1 + 1e-9) * float(used @ weights):
            break
    return best
