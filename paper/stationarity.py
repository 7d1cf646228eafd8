"""Theorem 2: the equation that a policy of least information satisfies, and the information it starts from."""

import math
from typing import Any

import numpy as np

from errorfloor.floors import floor
from errorfloor.noise import Gaussian
from paper.model import Claim, Shown


def sign_of_derivative() -> Claim:
    """Differentiate at fixed y, not at fixed w."""
    from scipy.integrate import quad

    def information(sign: float) -> float:
        def integrand(w: float) -> float:  # x = 0, γ(w|x) = N(x, 1): ∂_w log γ = −w and ∂_x log γ = w
            return (sign * -w + w) ** 2 * math.exp(-w * w / 2) / math.sqrt(2 * math.pi)

        return 2 * float(quad(integrand, 0, 40, epsabs=1e-14, epsrel=1e-12)[0])

    return Claim(
        "Proof of Theorem 2, information of a data-dependent policy",
        "sign of the derivative",
        "∂ log p(y|x)/∂x = +Fᵀ ∂_w log γ + ∂_x log γ",
        "−Fᵀ ∂_w log γ + ∂_x log γ, since w = y − f(x) falls as f(x) rises",
        "corrected",
        (
            Shown(
                "information in y = x + w, w ~ N(x, 1): y is 2x plus noise",
                float(floor(Gaussian(1.0), [[2.0]]).information[0, 0]),
                information(-1.0),
                "quadrature with the minus sign",
                stated="4",
                printed=information(1.0),
            ),
        ),
        "Harmless for oblivious noise. For data-dependent noise the printed formula calls an answer that reveals 2x "
        "perfectly private, and one that does not depend on x at all (w ~ N(−x, 1)) revealing.",
    )


def theorem_two() -> Claim:
    """The stationarity equation of Problem 2."""
    points = np.array([1.0, 2.5, -0.5])
    hessian = _hessian_of_variance(points)

    def multiplier(w: float, *, printed: bool) -> float:
        # f(x) = x, p ∝ e^{−x}, u = e^{−w/2} sin πw: solves the corrected equation with μ = π² + ¼
        def u(t: float) -> float:
            return math.exp(-t / 2) * math.sin(math.pi * t)

        step = 1e-4
        first, second = (u(w + step) - u(w - step)) / (2 * step), (u(w + step) - 2 * u(w) + u(w - step)) / step**2
        drift = -2 * u(w) * first if printed else first  # p′/p = −1, against the derivative of γ = u² or of u
        return -(second + drift) / u(w)

    return Claim(
        "Theorem 2 with Remark 7",
        "stationarity for Problem 2",
        "Tr([[FFᵀ, F], [Fᵀ, Id]] D²u) + L·(∂_wγ, ∂_xγ) + μ(x)u = 0 with L = [(∇p/p)ᵀFᵀ + 𝟙ᵀD²f, (∇p/p)ᵀ]",
        "Tr([[FFᵀ, −F], [−Fᵀ, Id]] D²u) − ((∇p/p)ᵀFᵀ + Δf)·∂_wu + (∇p/p)·∂_xu + μ(x)u = 0: minus signs, derivatives "
        "of u and not of γ, Δf the vector of Laplacians of f's components, and ∂_xv = 0 at fixed y where X ends",
        "corrected",
        (
            Shown(
                "μ asked for by u = e^{−w/2} sin πw at w = 0.3, f(x) = x, p ∝ e^{−x}",
                math.pi**2 + 0.25,
                multiplier(0.3, printed=False),
                "difference quotients in the corrected equation",
                printed=multiplier(0.3, printed=True),
                tolerance=1e-6,
            ),
            Shown(
                "… and at w = 0.7: the same, as it must be",
                math.pi**2 + 0.25,
                multiplier(0.7, printed=False),
                "difference quotients in the corrected equation",
                printed=multiplier(0.7, printed=True),
                tolerance=1e-6,
            ),
            Shown(
                "the D²f term for the variance of three numbers",
                2.0,
                float(np.trace(hessian)),
                "trace of a difference Hessian; 𝟙ᵀD²f𝟙 for the printed one",
                printed=abs(round(float(np.ones(3) @ hessian @ np.ones(3)), 6)),
                tolerance=1e-5,
            ),
        ),
        "Without effect on oblivious noise with linear queries; otherwise the printed equation has other solutions.",
    )


def _hessian_of_variance(x: Any, step: float = 1e-3) -> Any:
    """Second differences of the sample variance."""
    n = len(x)
    axes = step * np.eye(n)

    def f(point: Any) -> float:
        return float(np.var(point, ddof=1))

    return np.array(
        [[(f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b)) / (4 * step**2) for b in axes] for a in axes]
    )
