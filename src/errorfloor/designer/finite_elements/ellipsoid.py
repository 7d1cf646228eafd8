"""The ground state in an ellipsoid, by polynomials that vanish on its boundary: no mesh, and convergence like eᶜⁿ.

With w = center + A y, A chosen so that A⁻¹KA⁻ᵀ is diagonal with entries m_i, the problem on the unit ball is
−Σ m_i ∂_i²u + ¼ϱℓ(w)u = μu, Λ = 4μ. The trial functions are smooth, so Temple's inequality bounds μ from below:
μ₁ ≥ μ − ‖−Σ m_i ∂_i²u + ¼ϱℓu − μu‖²/(ν − μ) for μ < ν ≤ μ₂.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.finite_elements.adaptive import Trial
from errorfloor.designer.finite_elements.lower_bound import ROUNDING, Bound, second_eigenvalue
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.designer.finite_elements.problem import Isotropic
from errorfloor.designer.finite_elements.region import Region, aligned
from errorfloor.designer.finite_elements.solver import Solver
from errorfloor.designer.ground_state import Progress
from errorfloor.errors import ConvergenceError
from errorfloor.noise import EllipsoidPolynomial, Piecewise
from errorfloor.noise.ball_polynomials import (
    ball_rule,
    basis_jets,
    combination,
    second_places,
    split_rule,
    squared_norm,
    total_degrees,
)
from errorfloor.support import Ball, Ellipsoid

DEGREES = {2: (8, 12, 18, 26, 36, 48), 3: (6, 8, 11, 14, 18)}
SIDES = 96  # of the polygon around an ellipse
CHUNK = 1 << 12


@dataclass(frozen=True)
class BallTrial:
    """A polynomial trial function, its Rayleigh quotient, and the square of its residual if it is at hand."""

    degree: int
    coefficients: Array
    quotient: float
    residual: float | None


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
        self._forms: dict[int, tuple[Array, Array | None]] = {}
        self._reached: int | None = None  # the degree of the last solution
        self._steep = math.inf  # the least weight at which polynomials were found not to resolve the loss

    def solve(self, weight: float, tolerance: float, progress: Progress) -> BallTrial | Trial:
        """Raise the degree until the value does not change any more; for a steep loss use elements inside instead."""
        if weight < self._steep:
            found = self._by_polynomials(weight, tolerance, progress)
            if found is not None:
                self._reached = found.degree
                return found
            self._steep = weight
        return self._inside.solve(weight, max(tolerance, 1e-6), progress)

    def serves(self, weight: float) -> bool:
        """Whether the degree that was reached for another weight will do."""
        return self._reached is not None if weight < self._steep else self._inside.serves(weight)

    def again(self, weight: float, *, measured: bool) -> BallTrial | Trial:
        """Solve with the degree that was reached before, so that what is found is a smooth function of the weight."""
        if weight >= self._steep:
            return self._inside.again(weight, measured=measured)
        assert self._reached is not None, "only a weight like an earlier one is served"
        return self._at_degree(weight, self._reached, measured=measured)

    def _by_polynomials(self, weight: float, tolerance: float, progress: Progress) -> BallTrial | None:
        steps = DEGREES[self.problem.dimension]
        trial = self._at_degree(weight, steps[0])
        for number, degree in enumerate(steps[1:], 1):
            progress("polynomials in an ellipsoid", number / len(steps))
            finer = self._at_degree(weight, degree)
            change = (trial.quotient - finer.quotient) / finer.quotient
            trial = finer
            if change <= tolerance:
                progress("polynomials in an ellipsoid", 1.0)
                return trial
        if change > 1e-2 and weight > 0:
            return None
        if change > 1e-2:
            raise ConvergenceError(
                f"polynomials of degree {trial.degree} leave a relative change of {change:.2g}: the ellipsoid is too "
                f"thin beside the query for them"
            )
        return trial

    def noise(self, trial: BallTrial | Trial) -> EllipsoidPolynomial | Piecewise:
        """The noise whose density is the square of the trial function."""
        if isinstance(trial, Trial):
            return self._inside.noise(trial)
        return EllipsoidPolynomial(self.body, self.frame, trial.degree, trial.coefficients)

    def bound(self, weight: float, trial: BallTrial | Trial) -> Bound | None:
        """Prove a lower bound by Temple's inequality, or by elements on a polytope around the ellipsoid."""
        if isinstance(trial, BallTrial) and trial.residual is not None:
            if weight:
                second, how = second_eigenvalue(self.problem, self._around, self._reach, weight, trial.quotient)
            else:  # among functions that are even in every coordinate, as the trial function is
                second = math.pi**2 / 4 * (float(self.stretch.sum()) + 8 * float(self.stretch.min()))
                how = "a box around the ellipsoid"
                if second <= trial.quotient:
                    second, how = second_eigenvalue(self.problem, self._around, self._reach, weight, trial.quotient)
            if second > trial.quotient:
                value = trial.quotient - trial.residual / (second - trial.quotient)
                if value > 0.9 * trial.quotient:
                    method = f"lower bound by Temple's inequality, {how} bounding the second eigenvalue"
                    return Bound(value * (1 - ROUNDING), method)
        if self.problem.is_given and not np.isfinite(self.problem.least_potential(self._around)).all():
            return None  # the loss is not known around the ellipsoid
        around = Solver(self.problem, Region(self._around, self._around))
        found = around.bound(weight, around.solve(weight, 1e-4, lambda what, share: None))
        return None if found is None else Bound(found.value, f"{found.method}, on a polytope around the ellipsoid")

    @cached_property
    def _inside(self) -> Solver:
        """Elements on a polytope inside the ellipsoid, where a steep loss keeps the noise away from its boundary."""
        mesh = self._polytope(1 - 1e-9)
        return Solver(self.problem, Region(mesh, mesh))

    def _reach(self, axes: Array) -> tuple[Array, Array]:
        middle = self.body.middle @ self.problem.inverse.T @ axes
        half = np.linalg.norm(self.frame.T @ self.problem.inverse.T @ axes, axis=0)
        return middle - half, middle + half

    def _at_degree(self, weight: float, degree: int, *, measured: bool = True) -> BallTrial:
        from scipy.linalg import eigh

        stiffness, loss = self._matrices(degree)
        form = stiffness if loss is None or weight == 0 else stiffness + weight * loss
        powers = np.array(total_degrees(self.problem.dimension, degree))
        # without a loss the ground state is even in every coordinate
        used = np.flatnonzero((powers % 2 == 0).all(axis=1) | (weight != 0))
        small = form[np.ix_(used, used)]
        vector = eigh(small, subset_by_index=[0, 0])[1][:, 0]
        quotient = float(vector @ small @ vector) / float(vector @ vector)
        raw = np.zeros(len(powers))
        raw[used] = vector / np.sqrt(self._norms(degree)[used])
        residual = self._residual(weight, degree, raw, quotient) if measured else None
        return BallTrial(degree, raw, quotient, residual)

    def _norms(self, degree: int) -> Array:
        return np.array([squared_norm(alpha) for alpha in total_degrees(self.problem.dimension, degree)])

    def _matrices(self, degree: int) -> tuple[Array, Array | None]:
        """∫Σ m_i ∂_iφ ∂_iφ′, and ∫¼ℓφφ′, for polynomials φ of unit norm."""
        if degree not in self._forms:
            m = self.problem.dimension
            nodes, weights = ball_rule(m, degree + 4)
            loss = self.problem.loss
            stiffness = self._gram(nodes, weights, degree, list(enumerate(self.stretch, 1)))
            if loss is None:
                quality = None
            elif loss.weight is not None or loss.function is not None:
                if loss.function is not None:
                    nodes, weights = ball_rule(m, degree + 24)
                quality = self._gram(nodes, weights * loss(self._place(nodes).T) / 4, degree, [(0, 1.0)])
            else:
                quality = sum(
                    (self._gram(*self._absolute_rule(i, degree), degree, [(0, 0.25)]) for i in range(m)),
                    np.zeros_like(stiffness),
                )
            self._forms[degree] = stiffness, quality
        return self._forms[degree]

    def _absolute_rule(self, i: int, degree: int) -> tuple[Array, Array]:
        """Nodes and weights for |w_i| times polynomials."""
        row, middle = self.frame[i], float(self.body.middle[i])
        length = float(np.linalg.norm(row))
        nodes, weights = split_rule(row / length, -middle / length, degree + 24)
        return nodes, weights * np.abs(row @ nodes + middle)

    def _place(self, nodes: Array) -> Array:
        return np.asarray(self.body.middle[:, None] + self.frame @ nodes)

    def _gram(self, nodes: Array, weights: Array, degree: int, channels: list[tuple[int, float]]) -> Array:
        """Σ over channels of ∫ factor·(channel of φ)(channel of φ′)."""
        order = 1 if channels[0][0] else 0
        where = {alpha: k for k, alpha in enumerate(total_degrees(len(nodes), degree))}
        unit = 1 / np.sqrt(self._norms(degree))
        total = np.zeros((len(where), len(where)))
        for start in range(0, nodes.shape[1], CHUNK):
            part = np.ascontiguousarray(nodes[:, start : start + CHUNK])
            table = np.empty((len(channels), len(where), part.shape[1]))
            for alpha, jet in basis_jets(part, degree, order):
                table[:, where[alpha]] = jet[[c for c, _ in channels]] * unit[where[alpha]]
            for rows, (_, factor) in zip(table, channels, strict=True):
                total += (rows * (factor * weights[start : start + CHUNK])) @ rows.T
        return (total + total.T) / 2

    def _residual(self, weight: float, degree: int, raw: Array, quotient: float) -> float | None:
        """‖−Σ m_i ∂_i²u + ¼ϱℓu − μu‖²; a loss with kinks would need other quadrature, and has none here."""
        m, loss = self.problem.dimension, self.problem.loss
        if weight and loss is not None and loss.weight is None:
            return None
        nodes, weights = ball_rule(m, degree + 6)
        jet = combination(raw, nodes, degree, 2)
        left = -quotient * jet[0]
        for place, (i, j) in enumerate(second_places(m), m + 1):
            if i == j:
                left = left - self.stretch[i] * jet[place]
        if weight and loss is not None:
            left = left + weight / 4 * loss(self._place(nodes).T) * jet[0]
        return float((weights * left**2).sum() / (weights * jet[0] ** 2).sum())

    @cached_property
    def _around(self) -> Mesh:
        """A polytope around the ellipsoid, in isotropic coordinates."""
        inner = math.cos(math.pi / SIDES) if self.problem.dimension == 2 else _sphere()[2]
        return self._polytope(1 / (inner * (1 - 1e-9)))

    def _polytope(self, size: float) -> Mesh:
        """A polytope with its corners on the surface of the ellipsoid, times a factor."""
        if self.problem.dimension == 2:
            angle = 2 * math.pi * np.arange(SIDES) / SIDES
            surface = np.column_stack([np.cos(angle), np.sin(angle)])
            faces = np.column_stack([np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES])
        else:
            surface, faces, _ = _sphere()
        points = np.vstack([np.zeros(self.problem.dimension), surface * size])
        cells = np.column_stack([np.zeros(len(faces), dtype=int), faces + 1])
        placed = (self.body.middle + points @ self.frame.T) @ self.problem.inverse.T
        return aligned(self.problem, Mesh.of(placed, cells))


def _sphere() -> tuple[Array, Array, float]:
    """Points on the unit sphere, the triangles of their hull, and the radius of the ball inside."""
    from scipy.spatial import ConvexHull

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
    hull = ConvexHull(points)
    return points, hull.simplices, float(-hull.equations[:, -1].max())
