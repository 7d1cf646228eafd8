"""Integrals over the line, piece by piece between the points where a density is not smooth."""

from collections.abc import Callable, Iterable

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError

TOLERANCE = 1e-13


def integrate(function: Callable[[Array], Array], knots: Iterable[float], unit: float = 1.0) -> float:
    """Integrate ``function`` from the least to the greatest knot by tanh–sinh quadrature on every piece.

    Knots may be infinite at the ends; ``unit`` is then the length over which the function changes. Raises
    ConvergenceError if a piece does not converge.

    >>> round(integrate(lambda x: np.exp(-np.abs(x)), [-np.inf, 0.0, np.inf]), 12)
    2.0
    """
    from scipy.integrate import tanhsinh

    ends = np.unique(np.asarray(list(knots), dtype=float)) / unit

    def scaled(z: Array) -> Array:
        value = function(unit * z)
        return np.where(np.isfinite(value), value, 0.0)  # 0·log 0 and the like, exactly at an edge or at infinity

    with np.errstate(all="ignore"):
        found = tanhsinh(scaled, ends[:-1], ends[1:], rtol=TOLERANCE, atol=1e-300, maxlevel=12)
    total = float(found.integral.sum())
    # a piece may miss the relative tolerance when it is negligible beside the others, and pieces may cancel
    if not float(found.error.sum()) <= 1e-9 * float(np.abs(found.integral).sum()) + 1e-280:
        raise ConvergenceError(f"quadrature reached {total:.6g} with an error of {float(found.error.sum()):.2g}")
    return unit * total
