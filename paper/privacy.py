"""Section 5, second half: differential privacy and entropy of Laplace and Gaussian noise."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from errorfloor import dp
from errorfloor.noise import Gaussian, Laplace
from paper.model import Claim, Drawing, Shown
from paper.shannon import entropy_bits


def laplace_proposition() -> Claim:
    """The scale of Laplace noise."""
    sensitivity, epsilon, loss = 100.0, 0.5, 800.0
    noise = dp.laplace(sensitivity=sensitivity, epsilon=epsilon)
    same_quality = Laplace(math.sqrt(loss / 2))
    return Claim(
        "Proposition 3",
        "Laplace noise and ε-differential privacy",
        "b = ε/s with s = (x̄ − x̲)max|c_i|; at Q = ϑ it is s√(ϑ/2)-differentially private; max c_i in places",
        "b = s/ε; at Q = ϑ it is s√(2/ϑ)-differentially private; max|c_i| throughout",
        "corrected",
        (
            Shown(
                "scale b for s = 100, ε = 0.5",
                noise.scale,
                sensitivity / epsilon,
                "s/ε",
                "200",
                printed=epsilon / sensitivity,
            ),
            Shown(
                "ε that this scale really has",
                float(dp.epsilon(noise, sensitivity, 0.0)),
                _largest_log_ratio(noise.scale, sensitivity),
                "largest log-ratio of densities on a grid; the printed scale has 20 000",
                "0.5",
                printed=_largest_log_ratio(epsilon / sensitivity, sensitivity),
                tolerance=1e-6,
            ),
            Shown(
                "ε at Q = 800, s = 100",
                float(dp.epsilon(same_quality, sensitivity, 0.0)),
                sensitivity * math.sqrt(2 / loss),
                "s√(2/ϑ)",
                printed=sensitivity * math.sqrt(loss / 2),
                tolerance=1e-6,
            ),
            Shown("I_w at Q = 800: 2/ϑ", float(same_quality.information[0, 0]), 2 / loss, "2/ϑ"),
        ),
        "The printed noise shrinks as more privacy is asked for.",
    )


def entropies() -> Claim:
    """Entropy at equal variance."""
    loss = 0.7
    both = (Laplace(math.sqrt(loss / 2)), Gaussian(loss))
    b = math.sqrt(loss / 2)
    by_quadrature = (
        _entropy(lambda w: math.exp(-w / b) / (2 * b)),
        _entropy(lambda w: math.exp(-w * w / (2 * loss)) / math.sqrt(2 * math.pi * loss)),
    )
    return Claim(
        "Section 5, entropies",
        "entropy at equal variance",
        "log₂(e√(2ϑ)) bits for Laplace noise, log₂√(2πeϑ) for Gaussian, which is not less",
        "the same; the difference is ½log₂(π/e) ≈ 0.104 bits for every ϑ",
        "holds",
        (
            Shown(
                "Laplace, ϑ = 0.7",
                entropy_bits(both[0]),
                by_quadrature[0],
                "quadrature",
                printed=math.log2(math.e * math.sqrt(2 * loss)),
            ),
            Shown(
                "Gaussian, ϑ = 0.7",
                entropy_bits(both[1]),
                by_quadrature[1],
                "quadrature",
                printed=math.log2(math.sqrt(2 * math.pi * math.e * loss)),
            ),
            Shown(
                "difference",
                entropy_bits(both[1]) - entropy_bits(both[0]),
                0.5 * math.log2(math.pi / math.e),
                "½log₂(π/e)",
                "0.104",
            ),
        ),
    )


def gaussian_proposition() -> Claim:
    """A condition on the standard deviation, not on the variance."""
    sensitivity, epsilon, delta = 100.0, 0.5, 1e-3
    condition = sufficient(sensitivity, epsilon, delta)
    as_printed, as_corrected = Gaussian(condition), Gaussian(condition**2)
    return Claim(
        "Proposition 4",
        "Gaussian noise and (ε, δ)-differential privacy",
        "δ ≤ ½ and ϑ ≥ s(√(2 ln(1/2δ))/ε + 1/√(2ε)) suffice, ϑ the variance",
        "δ ≤ ½ and √ϑ ≥ the same. The complementary error function in the proof must have e^{−u²} under its "
        "integral, not e^{−u²/2}",
        "corrected",
        (
            Shown(
                "least ϑ by the proposition, s = 100, ε = 0.5, δ = 10⁻³",
                float(
                    dp.gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta, method="classical").covariance[
                        0, 0
                    ]
                ),
                condition**2,
                "square of the right-hand side",
                printed=condition,
            ),
            Shown(
                "real δ of the printed variance, target 0.001",
                float(dp.delta(as_printed, sensitivity, epsilon)),
                exact_delta(sensitivity / math.sqrt(condition), epsilon),
                "Φ(s/2σ − εσ/s) − e^ε Φ(−s/2σ − εσ/s)",
                "0.90",
                printed=delta,
            ),
            Shown(
                "share of the target that the corrected one uses: at most 1",
                float(dp.delta(as_corrected, sensitivity, epsilon)) / delta,
                exact_delta(sensitivity / condition, epsilon) / delta,
                "the same formula",
                tolerance=1e-6,
            ),
            Shown(
                "½erfc(0), to be at most δ = ½ in the proof",
                0.5 * math.erfc(0.0),
                0.5,
                "½; with e^{−u²/2} it is √½",
                printed=0.5 * 2 / math.sqrt(math.pi) * math.sqrt(math.pi / 2),
            ),
        ),
        "With the printed variance two databases that differ in one entry are told apart almost surely.",
    )


def figure_two() -> Claim:
    """The region of (ε, δ)."""
    epsilon, delta, sensitivity = 1.0, 0.49, 100.0
    # at ϑ = s the condition as printed holds for ε = 1, δ = 0.49; what noise of variance s does depends on s
    return Claim(
        "Figure 2 (label fig:1)",
        "the (ε, δ) that the condition grants",
        "the region for ϑ/s = 1",
        "the region is that of √ϑ/s = 1; for ϑ/s = 1 the variance is s and the real δ depends on s, close to 1 for "
        "large s. The exact region is larger than the sufficient one",
        "corrected",
        (
            Shown(
                "right-hand side over s at ε = 1, δ = 0.49: below 1, so granted",
                math.sqrt(
                    float(
                        dp.gaussian(sensitivity=1.0, epsilon=epsilon, delta=delta, method="classical").covariance[0, 0]
                    )
                ),
                sufficient(1.0, epsilon, delta),
                "formula",
            ),
            Shown(
                "real δ there when ϑ = s = 100",
                float(dp.delta(Gaussian(sensitivity), sensitivity, epsilon)),
                exact_delta(math.sqrt(sensitivity), epsilon),
                "exact formula",
                printed=delta,
            ),
            Shown(
                "real δ there when √ϑ = s",
                float(dp.delta(Gaussian(sensitivity**2), sensitivity, epsilon)),
                exact_delta(1.0, epsilon),
                "exact formula",
                "0.1269",
            ),
        ),
        "The printed axes carry no scale: a reader cannot see that the region is empty for most queries.",
        (
            Drawing(
                "region",
                "Shaded: granted by the condition; really had is what lies above an exact curve. Left as printed, at "
                "ϑ = s: right for s = 1 by accident, false for s = 4 between shade and curve, and for s = 100, where "
                "the curve lies at δ ≈ 1, almost everywhere. Right as corrected, at √ϑ = s.",
            ),
        ),
    )


def sufficient(sensitivity: float, epsilon: Any, delta: Any) -> Any:
    """s(√(2 ln(1/2δ))/ε + 1/√(2ε)).

    >>> round(float(sufficient(100.0, 0.5, 1e-3)), 2)
    805.1
    """
    return sensitivity * (np.sqrt(2 * np.log(1 / (2 * delta))) / epsilon + 1 / np.sqrt(2 * epsilon))


def exact_delta(ratio: float, epsilon: Any) -> Any:
    """The least δ of Gaussian noise, ``ratio`` = s/σ, from the normal distribution function.

    >>> round(float(exact_delta(100 / 28.374, 0.5)), 2)
    0.9
    """
    from scipy.special import log_ndtr, ndtr

    return ndtr(ratio / 2 - epsilon / ratio) - np.exp(epsilon + log_ndtr(-ratio / 2 - epsilon / ratio))


def _largest_log_ratio(scale: float, sensitivity: float) -> float:
    w = np.linspace(-3 * sensitivity, 3 * sensitivity, 6001)
    return float((np.abs(w - sensitivity) / scale - np.abs(w) / scale).max())


def _entropy(density: Callable[[float], float]) -> float:
    """The entropy of a symmetric density in bits, of which nothing is left beyond 25."""
    from scipy.integrate import quad

    return -2 * float(quad(lambda w: density(w) * math.log2(density(w)), 0, 25, epsabs=1e-14, epsrel=1e-12)[0])
