"""The least eigenvalue of a symmetric sparse pencil, by inverse iteration in Krylov spaces."""

from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError

DENSE = 300  # up to this size everything is computed at once


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
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

    symmetric = {"SymmetricMode": True}
    solver = splu(form.tocsc(), options=symmetric, diag_pivot_thresh=0.0, permc_spec="MMD_AT_PLUS_A")
    inverse = LinearOperator(form.shape, matvec=solver.solve, dtype=float)
    try:
        # the second one is asked for too, so that a pair of close ones does not hold up the first
        values, vectors = eigsh(form, 2, mass, sigma=0.0, OPinv=inverse, v0=mass @ start, tol=1e-13, maxiter=100)
    except ArpackNoConvergence:
        raise ConvergenceError("the eigenvalue iteration did not settle: rescale the support or the query") from None
    return np.asarray(vectors[:, int(values.argmin())])
