"""What one answer with raised-cosine noise does to an adversary's odds: a convolution, its multiplier in closed form.

Two hypotheses move the answer by d; the noise has information I; the answer costs a = I·d² and φ = ½√a. Write the
adversary's error as √(π(1−π))·r(x), x the logarithm of the odds of π. After the answer it is √(π(1−π))·(μ_a ∗ r)(x):

    μ_a(dl) = sin³φ / (4π (cosh(l/2) − cos φ)²) dl      (outcomes that decide for certain count 0),
    ∫ cos(kl) μ_a(dl) = [cos φ · sinh(2k(π − φ)) + 2k sin φ · cosh(2k(π − φ))] / sinh(2πk).

`certificate.proof.md` derives both.
"""

import math

import numpy as np

from errorfloor.checks import Array


def multiplier(charge: Array, frequency: Array) -> Array:
    """Give ∫ cos(kl) μ_a(dl) for each charge a (a row) and each frequency k (a column); 0 from a = 4π² on.

    *Guarantee*: within 2⁻⁴⁸ of the exact value, where ``exp`` and ``sin`` are within 4 units in the last place.

    >>> float(multiplier(np.array([1.0]), np.array([0.0]))[0, 0].round(4))  # the affinity
    0.8905
    """
    root = np.sqrt(charge)[:, None]
    angle = 0.5 * root
    cos, sin = np.cos(angle), np.sin(angle)
    k = frequency[None, :]
    near, far = np.exp(-k * root), np.exp(-k * (4 * math.pi - root))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (cos * (near - far) + 2 * k * sin * (near + far)) / -np.expm1(-4 * math.pi * k)
    affinity = (1 - angle / math.pi) * cos + sin / math.pi
    found = np.where(k == 0, affinity, found)
    return np.where(angle < math.pi, found, 0.0)


def one_answer(charge: float, odds: Array) -> Array:
    """Give r after a single answer: the error of the best test, over √(π(1−π)), at the logarithms of ``odds``.

    >>> float(one_answer(1.0, np.zeros(1))[0].round(4))  # 1 − total variation
    0.6882
    """
    shift = math.sqrt(charge) / math.pi
    if shift >= 2:
        return np.zeros_like(odds)
    turn = math.pi * shift / 2
    edge = 1 - 2 / math.pi * np.arctan2(math.sin(turn), np.exp(-odds / 2) - math.cos(turn))
    return np.asarray(np.exp(odds / 2) * _below(edge - shift) + np.exp(-odds / 2) * _below(-edge))


def _below(value: Array) -> Array:
    inside = np.clip(value, -1.0, 1.0)
    return np.asarray((1 + inside) / 2 + np.sin(math.pi * inside) / (2 * math.pi))
