"""The best Gaussian start: Theorem 4, corrected, for any part of the state and any quality weights."""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array, positive
from errorfloor.dynamics.gramian import graded_svd
from errorfloor.errors import IllPosedError


@dataclass(frozen=True)
class Optimum:
    """z = factor·s, s standard normal; ``inverse``·factor = Id; ``trace`` is Tr (R K Rᵀ)^½, R the root of the loss."""

    factor: Array
    inverse: Array
    trace: float
    loss_weight: float
    loss: float

    @property
    def information(self) -> float:
        """Tr(K I) = √ϱ·trace."""
        return math.sqrt(self.loss_weight) * self.trace


def best_gaussian(root: Array, sensitivity: Array, *, loss_weight: float | None, max_loss: float | None) -> Optimum:
    """Give the Gaussian z of least Tr(K Σ⁻¹) + ϱ Tr(GΣ), or of least Tr(K Σ⁻¹) with Tr(GΣ) ≤ ϑ, G = RᵀR.

    With K = NNᵀ and RN = U S Vᵀ it is Σ = N V S⁻¹ Vᵀ Nᵀ/√ϱ; then Tr(GΣ) = Tr S/√ϱ. That is the geometric mean
    G⁻¹ # K, and G^(−½) for K = Id, without G being formed or inverted.

    >>> best = best_gaussian(np.diag([2.0, 3.0]), np.eye(2), loss_weight=4.0, max_loss=None)
    >>> (best.factor @ best.factor.T).round(12), best.loss
    (array([[0.25      , 0.        ],
           [0.        , 0.16666667]]), 2.5)
    """
    if loss_weight is None and max_loss is None:
        raise IllPosedError("noise of infinite variance is optimal: set max_loss or loss_weight")
    N = np.linalg.cholesky(sensitivity)
    values, directions = graded_svd(root @ N)
    trace = float(values.sum())
    if loss_weight is not None:
        weight = positive("loss_weight", loss_weight)
    else:
        weight = (trace / positive("max_loss", max_loss)) ** 2
    scale = weight**-0.25
    factor = scale * (N @ directions) / np.sqrt(values)
    inverse = np.sqrt(values)[:, None] / scale * np.linalg.solve(N.T, directions).T
    return Optimum(factor, inverse, trace, weight, trace / math.sqrt(weight))
