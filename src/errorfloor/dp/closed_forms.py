"""Hockey-stick curves that have a formula: Gaussian, Laplace, raised cosine, uniform.

Each function gives H(ε) = ∫(γ(w) − e^ε γ(w − h))₊ dw at ε ≥ 0 for noise of scale one shifted by h > 0, written so
that values far below one keep their digits. The derivations are in ``hockey_stick.proof.md``.
"""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.raised_cosine import minus_sine

SHORT = 0.1  # below this shift a difference of two Mills ratios loses digits, and is integrated instead
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


def gaussian(shift: float, epsilon: Array) -> Array:
    """Φ(−x) − e^ε Φ(−x − h), x = ε/h − h/2, for standard normal noise.

    With the Mills ratio R(x) = Φ(−x)/φ(x) it is φ(x)(R(x) − R(x + h)), which keeps its digits in the tail.

    >>> float(gaussian(1.0, np.array(0.0)))  # Φ(½) − Φ(−½)
    0.38292492254802...
    >>> float(gaussian(1.0, np.array(12.0)))
    5.2084...e-32
    """
    from scipy.special import erfcx, log_ndtr

    def mills(x: Array) -> Array:
        return np.asarray(math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2)))

    with np.errstate(over="ignore"):
        x = np.minimum(epsilon / shift - shift / 2, 1e150)
    if shift < SHORT:
        points = x[..., None] + shift * (NODES + 1) / 2
        difference = (1 - points * mills(points)) @ WEIGHTS * shift / 2  # −R′ = 1 − xR
        return np.asarray(np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * difference)
    right = np.maximum(x, 0.0)
    tail = np.exp(-right * right / 2) / math.sqrt(2 * math.pi) * (mills(right) - mills(right + shift))
    left, small = np.minimum(x, 0.0), np.where(x < 0, epsilon, 0.0)
    log_share = log_ndtr(-left)
    body = np.exp(log_share) * -np.expm1(np.minimum(small + log_ndtr(-left - shift) - log_share, 0.0))
    return np.asarray(np.where(x >= 0, tail, body))


def laplace(shift: float, epsilon: Array) -> Array:
    """1 − e^{(ε − h)/2} for ε ≤ h, and zero from there on, for noise ½e^{−|w|}.

    >>> laplace(1.0, np.array([0.0, 1.0, 2.0])).round(6)
    array([0.393469, 0.      , 0.      ])
    """
    return np.abs(np.expm1(np.minimum(epsilon - shift, 0.0) / 2))


def raised_cosine(shift: float, epsilon: Array) -> Array:
    """(φ + k sin φ − (k² − 1)ψ)/π, k = e^{ε/2}, φ = πh, for noise 2 sin²(πw) on [0, 1].

    ψ = arctan(sin φ/(k − cos φ)) is the angle from the shifted edge to the crossing point. Where the formula
    cancels, the difference of distribution functions at θ = φ + ψ is taken instead.

    >>> raised_cosine(0.5, np.array([0.0, np.inf])).round(6)  # ½ + 1/π, ½
    array([0.81831, 0.5    ])
    """
    if shift >= 1:
        return np.ones_like(epsilon)
    angle = math.pi * shift
    inverse = np.exp(-epsilon / 2)  # 1/k
    gap = -np.expm1(-epsilon / 2) + 2 * inverse * math.sin(angle / 2) ** 2  # 1 − cos φ/k, nothing cancels
    psi = np.arctan2(inverse * math.sin(angle), gap)
    theta = angle + psi
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        k = 1 / inverse
        whole = (angle + k * math.sin(angle)) / math.pi
        direct = whole - np.expm1(epsilon) * psi / math.pi
        below = np.where(inverse > 1e-100, minus_sine(2 * psi) / inverse**2, 0.0) / (2 * math.pi)
    share = minus_sine(2 * theta) / (2 * math.pi)
    difference = share - below
    return np.clip(np.where(whole < share, direct, difference), 0.0, 1.0)


def uniform(shift: float, epsilon: Array) -> Array:
    """h, whatever ε ≥ 0 is, for uniform noise on [0, 1].

    >>> uniform(0.25, np.array([0.0, np.inf]))
    array([0.25, 0.25])
    """
    return np.full_like(epsilon, min(shift, 1.0))
