"""How well two values can be told apart: the bound that needs no prior, no smoothness and no unbiasedness."""

import math
from typing import Any

import numpy as np

from errorfloor.floors.adversary.value import best_success


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


def told_apart(
    distance: Any, information: float, evaluation: float = 0.0, raised_cosine: float = 0.0, *, odds: float = 1.0
) -> Any:
    """Bound how often two values ``distance`` apart are told apart, whatever is asked, at prior ``odds``.

    ``raised_cosine`` is the information A₁ of answers with raised-cosine or Gaussian noise, ``information`` that of all
    others, A₂. Without the first, at even odds, ½(1 + sin a) of the angle; else the smaller of that and the value of
    the adversary's game, min(U, sine), at (h√A₁ + 2√E)² and (h√A₂ + 2√E)².

    Guarantee: `adversary/value.proof.md`, part 5: it holds for sums that every transcript keeps.

    >>> round(told_apart(1.0, 2.0), 4), round(float(told_apart(1.0, 0.0, 0.0, 2.0)), 4)
    (0.8248, 0.7661)
    """
    if not raised_cosine and odds == 1:
        return success(angle(distance, information, evaluation))
    if math.isinf(information) or math.isinf(raised_cosine):
        found = best_success(np.where(np.asarray(distance) == 0, 0.0, math.inf), odds=odds)
    else:
        zero = np.zeros(np.shape(distance))
        cosines = (2 * angle(distance, raised_cosine, evaluation)) ** 2 if raised_cosine else zero
        others = (2 * angle(distance, information, evaluation)) ** 2 if information or not raised_cosine else zero
        found = best_success(cosines, others, odds=odds)
    return float(found) if np.ndim(found) == 0 else found
