"""The least eigenpair of a symmetric operator that is only ever applied, by Davidson's method."""

import math
from collections.abc import Callable

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError

MOST_VECTORS = 24
KEPT = 6


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
