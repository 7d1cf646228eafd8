"""Arithmetic of information matrices, some of whose entries may be infinite."""

import numpy as np

from errorfloor.checks import Array


def matrix_root(information: Array) -> Array:
    """Give G with GᵀG equal to a finite positive semi-definite matrix; each coordinate is factored in its own scale.

    >>> matrix_root(np.diag([4.0, 9.0]))
    array([[2., 0.],
           [0., 3.]])
    """
    scale = np.sqrt(np.diag(information))
    if np.array_equal(information, np.diag(np.diag(information))):
        return np.diag(scale)
    unit = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(information / unit / unit[:, None])
    return np.asarray(np.sqrt(np.clip(values, 0, None))[:, None] * vectors.T * unit)


def congruence(information: Array, jacobian: Array) -> Array:
    """Give FᵀIF, the information that answers carry about what they depend on through F; 0·∞ counts as 0.

    >>> congruence(np.array([[np.inf]]), np.array([[2.0, 0.0]]))
    array([[inf,  0.],
           [ 0.,  0.]])
    """
    if np.isfinite(information).all():
        product = jacobian.T @ information @ jacobian
        return np.asarray((product + product.T) / 2)
    terms = jacobian[:, None, :, None] * jacobian[None, :, None, :]
    with np.errstate(invalid="ignore"):
        weighted = np.where(terms == 0, 0.0, terms * information[:, :, None, None])
        total = np.asarray(weighted.sum(axis=(0, 1)))
    return np.where(np.isnan(total), 0.0, total)  # infinities that cancel say nothing about two entries together
