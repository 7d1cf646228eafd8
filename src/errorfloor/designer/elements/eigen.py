"""The least eigenvalue of a symmetric sparse pencil, by inverse iteration in Krylov spaces."""

from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.bounds.crouzeix_raviart import symmetric_factors
from errorfloor.errors import ConvergenceError

DENSE = 300  # up to this size everything is computed at once
WIDTHS = (20, 80)  # of the Krylov spaces that are tried


def least_pair(form: Any, mass: Any, start: Array | None = None) -> tuple[float, Array]:
    """Give the least λ with form·x = λ·mass·x, both positive definite, and its x, of unit mass and positive sum.

    Where two eigenvalues are too close to be told apart x may be a mixture; λ is its Rayleigh quotient all the same.

    >>> from scipy.sparse import diags, identity
    >>> value, vector = least_pair(diags([3.0, 1.0, 2.0, 5.0, 4.0], format="csc"), identity(5, format="csc"))
    >>> round(value, 12), int(abs(vector).argmax())
    (1.0, 1)
    """
    count = form.shape[0]
    if count <= DENSE:
        from scipy.linalg import eigh

        x = eigh(form.toarray(), mass.toarray(), subset_by_index=[0, 0])[1][:, 0]
    else:
        x = _by_lanczos(form, mass, np.ones(count) if start is None or start.shape != (count,) else start)
    x = x / np.sqrt(float(x @ (mass @ x)))
    return float(x @ (form @ x)), x if x.sum() >= 0 else -x


def _by_lanczos(form: Any, mass: Any, start: Array) -> Array:
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    count = form.shape[0]
    inverse = LinearOperator(form.shape, matvec=symmetric_factors(form).solve, dtype=float)
    for width in WIDTHS:
        try:
            # the second one is asked for too, so that a pair of close ones does not hold up the first
            values, vectors = eigsh(
                form, 2, mass, sigma=0.0, OPinv=inverse, v0=mass @ start, tol=1e-13, maxiter=100, ncv=min(width, count)
            )
        except ArpackNoConvergence as stuck:
            values, vectors = stuck.eigenvalues, stuck.eigenvectors  # of a crowd of close ones the first is enough
        if len(values):
            return np.asarray(vectors[:, int(values.argmin())])
    raise ConvergenceError(
        "the eigenvalue iteration did not settle: the support is so much longer than it is wide, as the query "
        "stretches it, that noise may lie anywhere along it; design for its widest part, or for a shorter support"
    )
