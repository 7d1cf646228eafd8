"""The operator −div(A∇u) + V u on a box, in products of one-dimensional modes: applied axis by axis, never formed."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, lobpcg

from errorfloor.checks import Array
from errorfloor.designer.boxes.line import Curve, Line, Potential
from errorfloor.errors import ConvergenceError
from errorfloor.noise.spectral_axis import Axis, along

MOST_STEPS = 3000
FOUND = 1e-6  # a relative residual, mode by mode beside its own energy, that is no solution


def least_eigenpair(apply: Callable[[Array], Array], diagonal: Array, start: Array, tolerance: float) -> Array:
    """Give x of unit length and the sign of ``start`` with Hx ≈ θx, θ the least eigenvalue, by LOBPCG.

    The residual is divided by the diagonal D where it is added to the space. Its norm is at most about 10·tolerance·θ,
    or what rounding leaves of it. Raises ConvergenceError where ‖D^{−½}(Hx − θx)‖ is above 10⁻⁶√θ.

    >>> x = least_eigenpair(lambda v: np.arange(1.0, 9.0) * v, np.arange(1.0, 9.0), np.ones(8), 1e-10)
    >>> abs(x).round(6).tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    shape, flat = start.shape, diagonal.ravel()
    applied = LinearOperator((flat.size,) * 2, lambda v: apply(v.reshape(shape)).ravel(), dtype=float)
    eased = LinearOperator((flat.size,) * 2, lambda r: r.ravel() / flat, dtype=float)
    with warnings.catch_warnings(action="ignore"):  # what it reached is judged below
        wanted = 10 * tolerance * float(flat.min())
        _, found = lobpcg(applied, start.reshape(-1, 1), M=eased, tol=wanted, maxiter=MOST_STEPS, largest=False)
    x = np.asarray(found[:, 0] / np.linalg.norm(found[:, 0]))
    image = applied.matvec(x)
    theta = float(x @ image)
    if not np.linalg.norm((image - theta * x) / np.sqrt(flat)) <= FOUND * math.sqrt(theta):
        raise ConvergenceError(
            f"the eigen-solver did not reach a relative residual of {FOUND:g} in {MOST_STEPS} steps: the answers are "
            f"too strongly correlated, ask for fewer and compute the others from them"
        )
    return (x if float(x @ start.ravel()) >= 0 else -x).reshape(shape)


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
            c = least_eigenpair(self.apply, self.diagonal, guess, tolerance)
            value = float((c * self.apply(c)).sum())
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
