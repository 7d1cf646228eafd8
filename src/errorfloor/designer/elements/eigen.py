"""The least eigenvalue of a symmetric sparse pencil, by inverse iteration in Krylov spaces."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError

DENSE = 300  # up to this size everything is computed at once
WIDTHS = (20, 80)  # of the Krylov spaces that are tried
NEXT_STEPS = 40  # of an iteration with the factors of a pencil nearby
ACCURATE = 1e-13  # the relative residual at which it ends

Inverse = Callable[[Array], Array]


def least_pair(form: Any, mass: Any, start: Array | None = None) -> tuple[float, Array]:
    """Give the least λ with form·x = λ·mass·x, both positive definite, and its x, of unit mass and positive sum.

    Where two eigenvalues are too close to be told apart x may be a mixture; λ is its Rayleigh quotient all the same.

    >>> from scipy.sparse import diags, identity
    >>> value, vector = least_pair(diags([3.0, 1.0, 2.0, 5.0, 4.0], format="csc"), identity(5, format="csc"))
    >>> round(value, 12), int(abs(vector).argmax())
    (1.0, 1)
    """
    return least_pair_and_inverse(form, mass, start)[:2]


def least_pair_and_inverse(form: Any, mass: Any, start: Array | None = None) -> tuple[float, Array, Inverse | None]:
    """The same, and the inverse of the form if there was need of it."""
    count = form.shape[0]
    inverse: Inverse | None = None
    if count <= DENSE:
        from scipy.linalg import eigh

        x = eigh(form.toarray(), mass.toarray(), subset_by_index=[0, 0])[1][:, 0]
    else:
        x, inverse = _by_lanczos(form, mass, np.ones(count) if start is None or start.shape != (count,) else start)
    x = x / np.sqrt(float(x @ (mass @ x)))
    return float(x @ (form @ x)), x if x.sum() >= 0 else -x, inverse


def next_pair(form: Any, mass: Any, start: Array, inverse: Inverse) -> tuple[float, Array] | None:
    """The least pair with the ``inverse`` of a form nearby, and a ``start`` near the vector; None if they are not.

    The space of the vectors so far is widened by the inverse of their best residual (Davidson).
    """
    basis = [start / math.sqrt(float(start @ (mass @ start)))]
    images, weighted = [form @ basis[0]], [mass @ basis[0]]
    for _ in range(NEXT_STEPS):
        small = np.array([[float(v @ image) for image in images] for v in basis])
        mixing = np.linalg.eigh((small + small.T) / 2)[1][:, 0]
        x, image, heavy = (
            sum(c * v for c, v in zip(mixing, vectors, strict=True)) for vectors in (basis, images, weighted)
        )
        value = float(x @ image) / float(x @ heavy)
        residual = image - value * heavy
        step = inverse(residual)
        if float(residual @ step) <= ACCURATE**2 * value:
            x = x / math.sqrt(float(x @ heavy))
            return value, x if x.sum() >= 0 else -x
        for _ in range(2):
            step = step - sum(float(step @ heavy) * v for v, heavy in zip(basis, weighted, strict=True))
        step /= math.sqrt(float(step @ (mass @ step)))
        basis.append(step)
        images.append(form @ step)
        weighted.append(mass @ step)
    return None


def _by_lanczos(form: Any, mass: Any, start: Array) -> tuple[Array, Inverse]:
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

    count = form.shape[0]
    symmetric = {"SymmetricMode": True}
    solver = splu(form.tocsc(), options=symmetric, diag_pivot_thresh=0.0, permc_spec="MMD_AT_PLUS_A")
    inverse = LinearOperator(form.shape, matvec=solver.solve, dtype=float)
    for width in WIDTHS:
        try:
            # the second one is asked for too, so that a pair of close ones does not hold up the first
            values, vectors = eigsh(
                form, 2, mass, sigma=0.0, OPinv=inverse, v0=mass @ start, tol=1e-13, maxiter=100, ncv=min(width, count)
            )
        except ArpackNoConvergence as stuck:
            values, vectors = stuck.eigenvalues, stuck.eigenvectors  # of a crowd of close ones the first is enough
        if len(values):
            return np.asarray(vectors[:, int(values.argmin())]), solver.solve
    raise ConvergenceError(
        "the eigenvalue iteration did not settle: the support is so much longer than it is wide, as the query "
        "stretches it, that noise may lie anywhere along it; design for its widest part, or for a shorter support"
    )
