"""How well two values can be told apart: the bound that needs no prior, no smoothness and no unbiasedness."""

import math
from typing import Any

import numpy as np


def angle(distance: Any, information: float, evaluation: float = 0.0) -> Any:
    """Bound the angle between the laws of all answers at two values ``distance`` apart.

    a = ½(h√A + 2√E), with A = Σ I_k L_k² the information about the entry and E = Σ I_k η_k² that of evaluation errors.

    >>> float(angle(2.0, 4.0))
    2.0
    """
    if type(distance) is float:
        return 0.5 * ((abs(distance) * math.sqrt(information) if distance else 0.0) + 2 * math.sqrt(evaluation))
    h = np.abs(np.asarray(distance, dtype=float))
    with np.errstate(invalid="ignore"):
        moved = np.where(h == 0, 0.0, h * math.sqrt(information))
    return (0.5 * (moved + 2 * math.sqrt(evaluation)))[()]


def success(bound: Any) -> Any:
    """Give the best probability of telling two laws apart at even odds, ½(1 + sin min(a, π/2)), from their angle a.

    >>> success(0.0), success(10.0)
    (0.5, 1.0)
    """
    if type(bound) is float and not math.isnan(bound):
        return 0.5 * (1 + math.sin(min(bound, math.pi / 2)))
    probability = 0.5 * (1 + np.sin(np.minimum(bound, math.pi / 2)))
    return float(probability) if np.ndim(probability) == 0 else probability
