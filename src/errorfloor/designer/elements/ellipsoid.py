"""The ground state in an ellipsoid, by polynomials that vanish on its boundary: no mesh, and convergence like eᶜⁿ.

With w = center + A y, A chosen so that A⁻¹KA⁻ᵀ is diagonal with entries m_i, the problem on the unit ball is
−Σ m_i ∂_i²u + ¼ϱℓ(w)u = μu, Λ = 4μ. The trial functions are smooth, so Temple's inequality bounds μ from below:
μ₁ ≥ μ − ‖−Σ m_i ∂_i²u + ¼ϱℓu − μu‖²/(ν − μ) for μ < ν ≤ μ₂.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh
from scipy.spatial import ConvexHull

from errorfloor.checks import Array
from errorfloor.designer.bounds.enclosure import level_in_box
from errorfloor.designer.bounds.residual import CEILING, ROUNDING, Bound, second_eigenvalue
from errorfloor.designer.elements.solver import DENSE
from errorfloor.designer.meshes.mesh import Mesh, cone
from errorfloor.designer.meshes.region import Isotropic, Region
from errorfloor.designer.problem import Progress
from errorfloor.errors import ConvergenceError
from errorfloor.noise import EllipsoidPolynomial
from errorfloor.noise.ball_polynomials import (
    ball_rule,
    basis_jets,
    combination,
    second_places,
    squared_norm,
    total_degrees,
)
from errorfloor.support import Ball, Ellipsoid

DEGREES = {2: (8, 12, 18, 26, 36, 48), 3: (6, 8, 11, 14, 18), 4: (4, 6, 8, 10, 12)}
MOST_POLYNOMIALS = 1400  # that matrices are formed for
FREE = 1e-8  # the relative change at which the degree is high enough without a loss
HOPELESS = 0.1  # a relative change at the third degree after which no other will do
CHUNK = 1 << 12
SIDES = 96  # of the polygon around an ellipse
MESHED = 3  # dimensions in which elements help where a box does not
RESOLVED = 1e-2  # a relative change at the last degree that will do


@dataclass(frozen=True)
class BallTrial:
    """A polynomial trial function, its Rayleigh quotient, and the mean of the loss if it is exact."""

    degree: int
    coefficients: Array
    quotient: float
    loss: float | None

    @property
    def method(self) -> str:
        """The discretisation, in words."""
        return f"polynomials of degree {self.degree} that vanish on the boundary"


class EllipsoidSolver:
    """One ellipsoid, query and loss; matrices of each degree are kept for other weights of the loss."""

    def __init__(self, problem: Isotropic) -> None:
        assert isinstance(problem.support, (Ball, Ellipsoid)), "nothing else is a ball in disguise"
        self.problem, self.body = problem, problem.support
        root = np.linalg.cholesky(self.body.shape)
        half = np.linalg.solve(root, problem.root)
        # the axes in which K is diagonal beside the ellipsoid
        directions, spread, _ = np.linalg.svd(half)
        self.frame, self.stretch = root @ directions, spread**2
        self._forms: dict[tuple[int, int], tuple[Array, Array | None]] = {}
        self._reached: int | None = None  # the degree of the last solution

    def solve(self, weight: float, tolerance: float, progress: Progress) -> BallTrial:
        """Raise the degree until the value does not change any more."""
        steps = DEGREES[self.problem.dimension]
        if weight == 0:
            tolerance = min(tolerance, FREE)  # few polynomials have the symmetry of the ground state
        trial, change = self._at_degree(weight, steps[0]), math.inf
        for number, degree in enumerate(steps[1:], 1):
            progress("polynomials in an ellipsoid", number / len(steps))
            if len(self._used(weight, degree)) > MOST_POLYNOMIALS or (number > 2 and change > HOPELESS):
                break
            finer = self._at_degree(weight, degree)
            change = (trial.quotient - finer.quotient) / abs(finer.quotient)
            trial = finer
            if change <= tolerance:
                break
        if change > RESOLVED:
            raise ConvergenceError(
                "polynomials in the whole ellipsoid do not resolve a loss this steep: design for a box inside it, "
                "around the place where the loss is least"
                if weight > 0
                else f"polynomials of degree {trial.degree} leave a relative change of {change:.2g}: the ellipsoid is "
                f"too thin beside the query for them"
            )
        progress("polynomials in an ellipsoid", 1.0)
        self._reached = trial.degree
        return trial

    def again(self, weight: float, *, measured: bool) -> BallTrial:
        """Solve with the degree that was reached before, so that what is found is a smooth function of the weight."""
        assert self._reached is not None, "only a weight like an earlier one is served"
        return self._at_degree(weight, self._reached)

    def noise(self, trial: BallTrial) -> EllipsoidPolynomial:
        """The noise whose density is the square of the trial function."""
        return EllipsoidPolynomial(self.body, self.frame, trial.degree, trial.coefficients)

    def bound(self, weight: float, trial: BallTrial) -> Bound:
        """Prove a lower bound by the residual above a second level, or by a box around the ellipsoid."""
        second, how = self._second(weight, trial.quotient)
        if second > trial.quotient:
            value = trial.quotient - self._residual(weight, trial) / (second - trial.quotient)
            if value > 0.9 * trial.quotient:
                proof = f"lower bound by Temple's inequality, {how} bounding the second eigenvalue"
                return Bound(value * (1 - ROUNDING), proof)
        box = level_in_box(self.problem, weight, self._reach, CEILING * trial.quotient, 0)
        return Bound(box * (1 - ROUNDING), "lower bound by a box around the ellipsoid")

    def _second(self, weight: float, quotient: float) -> tuple[float, str]:
        """A lower bound of the second eigenvalue: in a box, or by elements on a polytope around the ellipsoid."""
        second = (
            math.pi**2 / 4 * (float(self.stretch.sum()) + 8 * float(self.stretch.min()))
            if weight == 0
            else level_in_box(self.problem, weight, self._reach, CEILING * quotient, 1, even=self._is_even)
        )
        if second > quotient or self.problem.dimension > MESHED:
            return second, "a box around the ellipsoid"
        return second_eigenvalue(self.problem, Region(self._around, self._around), self._reach, weight, quotient)

    @property
    def _is_even(self) -> bool:
        """Whether w and −w are alike, so that the ground state is an even function."""
        return not self.body.middle.any()

    def _reach(self, axes: Array) -> tuple[Array, Array]:
        middle = self.body.middle @ self.problem.inverse.T @ axes
        half = np.linalg.norm(self.frame.T @ self.problem.inverse.T @ axes, axis=0)
        return middle - half, middle + half

    def _used(self, weight: float, degree: int) -> Array:
        """Which polynomials have the symmetry of the ground state: without a loss it is even in every coordinate."""
        powers = np.array(total_degrees(self.problem.dimension, degree))
        if weight == 0:
            return np.flatnonzero((powers % 2 == 0).all(axis=1))
        return np.flatnonzero(powers.sum(axis=1) % 2 == 0) if self._is_even else np.arange(len(powers))

    def _at_degree(self, weight: float, degree: int) -> BallTrial:
        used = self._used(weight, degree)
        stiffness, loss = self._matrices(weight, degree, used)
        form = stiffness if loss is None else stiffness + weight * loss
        vector = _ground_vector(form)
        quotient, known = float(vector @ form @ vector), None
        if loss is not None:
            known = 4 * float(vector @ loss @ vector)
        norms = self._norms(degree)
        raw = np.zeros(len(norms))
        raw[used] = vector / np.sqrt(norms[used])
        return BallTrial(degree, raw, quotient, known)

    def _norms(self, degree: int) -> Array:
        return np.array([squared_norm(alpha) for alpha in total_degrees(self.problem.dimension, degree)])

    def _matrices(self, weight: float, degree: int, used: Array) -> tuple[Array, Array | None]:
        """∫Σ m_i ∂_iφ ∂_iφ′, and ∫¼ℓφφ′ if it has a weight, for those polynomials φ of unit norm that are used."""
        if (degree, len(used)) not in self._forms:
            m, loss = self.problem.dimension, self.problem.loss
            rule = ball_rule(m, degree + 3)
            stiffness = self._gram(*rule, degree, used, list(enumerate(self.stretch, 1)))
            if loss is None or weight == 0:
                quality = None
            else:
                nodes, weights = ball_rule(m, degree + 4)
                quality = self._gram(nodes, weights * loss(self._place(nodes).T) / 4, degree, used, [(0, 1.0)])
            self._forms[degree, len(used)] = stiffness, quality
        return self._forms[degree, len(used)]

    def _place(self, nodes: Array) -> Array:
        return np.asarray(self.body.middle[:, None] + self.frame @ nodes)

    def _gram(self, nodes: Array, weights: Array, degree: int, used: Array, channels: list[tuple[int, float]]) -> Array:
        """Σ over channels of ∫ factor·(channel of φ)(channel of φ′)."""
        order = 1 if channels[0][0] else 0
        indices = total_degrees(len(nodes), degree)
        where = {indices[k]: place for place, k in enumerate(used.tolist())}
        unit = 1 / np.sqrt(self._norms(degree)[used])
        every = 2 if all(k % 2 == 0 for alpha in where for k in alpha) else 1
        total = np.zeros((len(where), len(where)))
        for start in range(0, nodes.shape[1], CHUNK):
            part = np.ascontiguousarray(nodes[:, start : start + CHUNK])
            table = np.empty((len(channels), len(where), part.shape[1]))
            for alpha, jet in basis_jets(part, degree, order, every):
                if alpha in where:
                    table[:, where[alpha]] = jet[[c for c, _ in channels]] * unit[where[alpha]]
            share = weights[start : start + CHUNK]
            for rows, (_, factor) in zip(table, channels, strict=True):
                rows *= np.sqrt(factor * share)
                total += rows @ rows.T
        return (total + total.T) / 2

    def _residual(self, weight: float, trial: BallTrial) -> float:
        """‖−Σ m_i ∂_i²u + ¼ϱℓu − μu‖² for a quadratic ℓ, an exact integral."""
        m, loss = self.problem.dimension, self.problem.loss
        nodes, weights = ball_rule(m, trial.degree + 5)
        square = mass = 0.0
        for start in range(0, nodes.shape[1], CHUNK):
            part = np.ascontiguousarray(nodes[:, start : start + CHUNK])
            jet = combination(trial.coefficients, part, trial.degree, 2)
            left = -trial.quotient * jet[0]
            for place, (i, j) in enumerate(second_places(m), m + 1):
                if i == j:
                    left = left - self.stretch[i] * jet[place]
            if weight and loss is not None:
                left = left + weight / 4 * loss(self._place(part).T) * jet[0]
            square += float(weights[start : start + CHUNK] @ left**2)
            mass += float(weights[start : start + CHUNK] @ jet[0] ** 2)
        return square / mass

    @cached_property
    def _around(self) -> Mesh:
        """A polytope around the ellipsoid, in isotropic coordinates, as a cone from its centre."""
        if self.problem.dimension == 2:
            angle = 2 * math.pi * np.arange(SIDES) / SIDES
            surface, inner = np.column_stack([np.cos(angle), np.sin(angle)]), math.cos(math.pi / SIDES)
        else:
            surface, inner = _sphere()
        points, cells = cone(surface / (inner * (1 - 1e-9)))
        return Mesh.of((self.body.middle + points @ self.frame.T) @ self.problem.inverse.T, cells)


def _ground_vector(form: Array) -> Array:
    """The eigenvector of the least eigenvalue of a symmetric matrix, of unit length."""
    count = len(form)
    if count <= DENSE:
        return np.asarray(eigh(form, subset_by_index=[0, 0])[1][:, 0])
    start = np.eye(1, count)[0]  # the lowest polynomial is most of it
    return np.asarray(eigsh(form, 1, sigma=0.0, v0=start, tol=1e-14)[1][:, 0])


def _sphere() -> tuple[Array, float]:
    """Points on the unit sphere, and the radius of the ball inside their hull."""
    golden = (1 + math.sqrt(5)) / 2
    signs = [(a, b) for a in (-1.0, 1.0) for b in (-golden, golden)]
    corners = np.array([p for a, b in signs for p in ((0, a, b), (a, b, 0), (b, 0, a))])
    hull = ConvexHull(corners)
    first, second = np.triu_indices(3, 1)
    middles = np.unique(
        (corners[hull.simplices[:, first]] + corners[hull.simplices[:, second]]).reshape(-1, 3).round(12), axis=0
    )
    points = np.vstack([corners, middles])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points, float(-ConvexHull(points).equations[:, -1].max())
