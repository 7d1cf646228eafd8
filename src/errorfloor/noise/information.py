"""Arithmetic of information matrices, some of whose entries may be infinite."""

import numpy as np

from errorfloor.checks import Array


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
    weighted[np.isnan(weighted)] = 0.0
    return np.asarray(weighted.sum(axis=(0, 1)))
