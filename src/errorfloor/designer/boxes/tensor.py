"""The operator −div(A∇u) + V u on a box, in products of one-dimensional modes: applied axis by axis, never formed."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from errorfloor.checks import Array
from errorfloor.designer.boxes.line import Curve, Line, Potential
from errorfloor.errors import ConvergenceError
from errorfloor.noise.spectral_axis import Axis, along

MOST_VECTORS = 24
KEPT = 6
MOST_STEPS = 3000


def least_eigenpair(
    apply: Callable[[Array], Array],
    diagonal: Array,
    start: Array,
    *,
    tolerance: float = 1e-10,
    most: int = 800,
) -> tuple[float, Array]:
    """Give (θ, x) with ‖D^{−½}(Hx − θx)‖ ≤ tolerance·√θ, D the diagonal; x has unit length and the sign of ``start``.

    This norm of the residual is the one in which rounding in high modes does not count for more than it costs; a
    tolerance below what rounding leaves of it is raised to that. The space is widened by the residual divided by
    (diagonal − θ), and cut back to its best few vectors when it is full. θ is a Rayleigh quotient, so it is an upper
    bound of the least eigenvalue whatever the tolerance.

    Raises ConvergenceError after ``most`` steps.

    >>> theta, x = least_eigenpair(lambda v: np.array([1.0, 2.0, 3.0]) * v, np.array([1.0, 2.0, 3.0]), np.ones(3))
    >>> round(theta, 12)
    1.0
    """
    shape = start.shape
    vectors = np.empty((MOST_VECTORS, start.size))
    images = np.empty_like(vectors)
    vectors[0] = start.ravel() / np.linalg.norm(start)
    images[0] = apply(vectors[0].reshape(shape)).ravel()
    small = np.zeros((MOST_VECTORS, MOST_VECTORS))
    small[0, 0] = vectors[0] @ images[0]
    used, flat, previous = 1, diagonal.ravel(), None
    weight = 1 / np.sqrt(flat)
    rounding = 64 * float(np.finfo(float).eps) * math.sqrt(float(flat.max()))
    for _ in range(most):
        values, mixing = np.linalg.eigh(small[:used, :used])
        theta, y = float(values[0]), mixing[:, 0]
        x = y @ vectors[:used]
        residual = y @ images[:used] - theta * x
        if np.linalg.norm(residual * weight) <= max(tolerance * math.sqrt(theta), rounding):
            length = float(np.linalg.norm(x))
            return theta, np.asarray((x if float(x @ start.ravel()) >= 0 else -x).reshape(shape) / length)
        if used == MOST_VECTORS:
            kept = _kept(mixing, previous)
            used = kept.shape[1]
            vectors[:used], images[:used] = kept.T @ vectors, kept.T @ images
            small[:used, :used] = vectors[:used] @ images[:used].T
            small[:used, :used] = (small[:used, :used] + small[:used, :used].T) / 2
            y = np.zeros(used)
            y[0] = 1.0
        previous = y
        distance = flat - theta
        widened = residual / np.where(distance > 0.05 * theta, distance, 0.05 * theta)
        for _ in range(2):
            widened = widened - (vectors[:used] @ widened) @ vectors[:used]
            length = float(np.linalg.norm(widened))
            widened /= length
        if not math.isfinite(length):
            break
        vectors[used] = widened
        images[used] = apply(widened.reshape(shape)).ravel()
        small[used, : used + 1] = small[: used + 1, used] = vectors[: used + 1] @ images[used]
        used += 1
        previous = np.append(previous, 0.0)
    raise ConvergenceError(
        f"the eigen-solver did not reach a relative residual of {tolerance:g} in {most} steps: the answers are too "
        f"strongly correlated, ask for fewer and compute the others from them"
    )


def _kept(mixing: Array, previous: Array | None) -> Array:
    """Coefficients of the best Ritz vectors and of the previous iterate, orthonormal."""
    kept = mixing[:, :KEPT]
    if previous is not None:
        padded = np.zeros(len(mixing))
        padded[: len(previous)] = previous
        rest = padded - kept @ (kept.T @ padded)
        if np.linalg.norm(rest) > 1e-12:
            rest /= np.linalg.norm(rest)
            rest -= kept @ (kept.T @ rest)  # twice, or a small rest would be far from orthogonal
            kept = np.column_stack([kept, rest / np.linalg.norm(rest)])
    return kept


@dataclass(frozen=True, eq=False)
class Tensor:
    """The operator with a constant positive definite matrix A and a convex potential, discretised on ``axes``.

    Along each axis the modes diagonalise −A_ii φ″ + V_i φ, so without coupling the operator is diagonal; what couples
    two axes is a product of two small dense matrices.
    """

    axes: tuple[Axis, ...]
    A: Array
    potential: Potential

    @cached_property
    def modes(self) -> list[tuple[Array, Array]]:
        """Values and vectors of the one-dimensional problems, orthonormal in L²."""
        out = []
        for i, axis in enumerate(self.axes):
            if self.potential.curves[i] == Curve():
                values, vectors = axis.modes
                out.append((float(self.A[i, i]) * values, vectors))
                continue
            line = Line(float(self.A[i, i]), self.potential.curves[i], float(axis.breaks[0]), float(axis.breaks[-1]))
            values, vectors = eigh(line.matrix(axis), axis.mass)
            out.append((values, vectors))
        return out

    @cached_property
    def diagonal(self) -> Array:
        """The operator without coupling."""
        total = np.zeros(())
        for values, _ in self.modes:
            total = np.add.outer(total, values)
        return np.asarray(total)

    @cached_property
    def _couplings(self) -> list[tuple[int, int, float, Array, Array]]:
        """Pairs of axes with a factor and a matrix on each."""
        out = []
        slopes = [v.T @ axis.transport @ v for axis, (_, v) in zip(self.axes, self.modes, strict=True)]
        places: list[Array] = []
        if self.potential.coupling.any():
            places = [v.T @ axis.weighted(lambda x: x) @ v for axis, (_, v) in zip(self.axes, self.modes, strict=True)]
        for i in range(len(self.axes)):
            for j in range(i):
                if self.A[i, j]:
                    # ∫∂ᵢu ∂ⱼu: the derivative is antisymmetric, hence the minus
                    out.append((i, j, -2 * float(self.A[i, j]), slopes[i], slopes[j]))
                if self.potential.coupling[i, j]:
                    out.append((i, j, 2 * float(self.potential.coupling[i, j]), places[i], places[j]))
        return out

    def apply(self, c: Array) -> Array:
        """Apply the operator to coefficients of products of modes."""
        out = self.diagonal * c
        images: dict[tuple[int, int], Array] = {}
        for i, j, factor, left, right in self._couplings:
            key = (i, id(left))
            if key not in images:
                images[key] = along(left, c, i)
            out += factor * along(right, images[key], j)
        return out

    def ground_state(self, start: Array | None = None, tolerance: float = 1e-10) -> tuple[float, Array]:
        """Give the least value and its coefficients in the conforming basis, starting from such coefficients."""
        if start is None:
            guess = np.zeros(self.diagonal.shape)
            guess[(0,) * guess.ndim] = 1.0
        else:
            guess = start
            for i, (axis, (_, v)) in enumerate(zip(self.axes, self.modes, strict=True)):
                guess = along(v.T @ axis.mass, guess, i)
        if guess.size == 1 or (self.potential.is_separable and not self._couplings):
            value, c = float(self.diagonal.flat[0]), np.zeros(self.diagonal.shape)
            c.flat[0] = 1.0
        else:
            value, c = least_eigenpair(self.apply, self.diagonal, guess, tolerance=tolerance, most=MOST_STEPS)
        for i, (_, v) in enumerate(self.modes):
            c = along(v, c, i)
        return value, c


def widened(c: Array, old: tuple[Axis, ...], new: tuple[Axis, ...]) -> Array:
    """Carry coefficients to a basis on the same breaks with a higher degree."""
    for i, (before, after) in enumerate(zip(old, new, strict=True)):
        e, n, p = before.pieces, before.degree, after.degree
        matrix = np.zeros((after.size, before.size))
        matrix[: e - 1, : e - 1] = np.eye(e - 1)
        for piece in range(e):
            rows = e - 1 + piece * (p - 1) + np.arange(min(n, p) - 1)
            matrix[rows, e - 1 + piece * (n - 1) + np.arange(min(n, p) - 1)] = 1.0
        c = along(matrix, c, i)
    return c
