"""Noise in a box: Theorem 2, the smart-meter example, Corollaries 1 and 2."""

import math

import numpy as np

from errorfloor.designer import design
from errorfloor.floors import floor
from errorfloor.noise import RaisedCosine
from errorfloor.support import Box, Interval
from paper.chain import Chain
from paper.model import Claim, Drawing, Shown


def smart_meter() -> Claim:
    """One noisy reading a household."""
    noise = design(Box([0.0] * 3, [1.0] * 3))
    found = floor(noise, np.eye(3))
    return Claim(
        "Example 1",
        "releasing every meter reading",
        "f(x) = x and W = [w̲, w̄]ⁿ fit the framework",
        "they do: each household's reading keeps an (unbiased) floor of Δ/2π, its own noise being independent of "
        "the others'",
        "holds",
        (
            Shown(
                "floor of a household's reading, noise 0 … 1 kWh",
                float(found.worst_entry),
                1 / (2 * math.pi),
                "Δ/2π",
                stated="0.159",
            ),
            Shown("Tr I⁻¹ for three households", found.total**2, 3 / (4 * math.pi**2), "3Δ²/4π²"),
        ),
    )


def corollary_one() -> Claim:
    """The raised cosine: best among oblivious noises, not among all."""
    noise = design(Interval(0.0, 1.0))
    assert noise.certificate is not None, "every design has a certificate"
    chain = Chain(0.0, 3.0, np.zeros_like)
    best = chain.optimum()
    return Claim(
        "Corollary 1",
        "the raised cosine",
        "γ* = Π(2/Δ)cos²(π(w_i − c)/Δ) solves Problem 2 for f(x) = x on a cube and constant p",
        "it is optimal among oblivious policies (those that do not look at x). A data-dependent policy wins "
        "whenever f(X) has ends: where X ends, nothing pulls the policy from one side",
        "corrected",
        (
            Shown(
                "J of the raised cosine, Δ = 1: least among oblivious policies",
                noise.certificate.value,
                _least_eigenvalue(),
                "4 × least eigenvalue of −d²/dw² by Richardson-extrapolated differences",
                stated="39.478",
                tolerance=1e-7,
            ),
            Shown(
                "least J of any policy on a grid of step 1/20, X of length 3",
                chain.energy(best),
                chain.lower_bound(),
                "a lower bound proved by duality",
                stated="27.62",
                printed=chain.energy(chain.raised_cosine()),
                tolerance=1e-4,
            ),
        ),
        "The claim is too strong. The raised cosine keeps its merit: its information is the same at every x, while "
        "a floor needs the supremum over x, not the average that J is.",
        (
            Drawing(
                "raised_cosine",
                "The raised cosine of Corollaries 1, 3 and 5 on an interval of width 1, against two bounded noises "
                "in common use whose density jumps at the edge and whose information is therefore infinite.",
            ),
        ),
    )


def corollary_two_floor() -> Claim:
    """κ of Tr I⁻¹ = κΔ²."""
    found = floor(design(Box([0.0, 0.0], [1.0, 1.0])), np.eye(2))
    # the proof's integral lacks the factor 4 of I = 4∫u′u′ᵀ: it is π² Id on the unit square
    return Claim(
        "Corollary 2 (i)",
        "privacy grows with the square of the width",
        "Tr I⁻¹ = κΔ², κ from I = ∫u′u′ᵀ/Δ²",
        "Tr I⁻¹ = κΔ² with κ = m/(4π²), since I = 4∫u′u′ᵀ",
        "corrected",
        (
            Shown(
                "κ for m = 2",
                found.total**2,
                2 / (4 * _squared_slope()),
                "quadrature of 4∫u′²",
                stated="0.0507",
                printed=2 / _squared_slope(),
            ),
        ),
        "Read literally, the proof promises a floor four times too high (twice, as a root-mean-square error).",
        (
            Drawing(
                "tradeoff",
                "Corollary 2: floor against quality, in root-mean-square terms, as the width runs from 0 to 2. "
                "One-sided noise pays for its mean; the source's Q holds for it alone, and its κ promises twice the "
                "floor.",
            ),
        ),
    )


def corollary_two_quality() -> Claim:
    """Q of one-sided and of centred noise."""
    from scipy.integrate import quad

    def loss(low: float) -> float:
        return float(
            quad(lambda w: 2 * math.sin(math.pi * (w - low)) ** 2 * w * w, low, low + 1, epsabs=0, epsrel=1e-12)[0]
        )

    share = (2 * math.pi**2 - 3) / (6 * math.pi**2)
    return Claim(
        "Corollary 2 (ii)",
        "the price in quality",
        "Q = mΔ²(2π² − 3)/(6π²) ≈ 0.2827 mΔ² for every interval [w̲, w̄]",
        "Q = m(Var + c²) with Var = Δ²(1/12 − 1/2π²) and c the mid-point; the printed number is the case w̲ = 0",
        "corrected",
        (
            Shown(
                "Q on [0, 1]",
                RaisedCosine(0, 1).expected_loss(),
                loss(0.0),
                "quadrature",
                stated="0.2827",
                printed=share,
            ),
            Shown(
                "Q on [−½, ½]",
                RaisedCosine(-0.5, 0.5).expected_loss(),
                loss(-0.5),
                "quadrature",
                stated="0.0327",
                printed=share,
            ),
        ),
        "Centred noise of the same privacy has less than an eighth of the printed loss.",
    )


def after_corollary_two() -> Claim:
    """Q as a multiple of Tr I⁻¹, and whether privacy always costs quality."""
    noise, wider = RaisedCosine(0.0, 1.0), RaisedCosine(-0.2, 1.0)
    ratio = 2 / 3 * (2 * math.pi**2 - 3)
    kappa = 1 / (4 * math.pi**2)
    loss = 1.2**2 * (1 / 12 - 1 / (2 * math.pi**2)) + 0.4**2
    return Claim(
        "Text after Corollary 2",
        "quality against privacy",
        "Q = (6π²κ/(2π² − 3)) Tr I⁻¹; whatever raises privacy degrades quality",
        "Q = ⅔(2π² − 3) Tr I⁻¹ for w̲ = 0 (the printed factor is upside down). Moving w̲ below 0 widens the "
        "interval and improves Q as long as the mean falls faster than the spread grows",
        "corrected",
        (
            Shown(
                "Q/Tr I⁻¹ on [0, 1]",
                noise.expected_loss() / floor(noise, [[1.0]]).total ** 2,
                ratio,
                "⅔(2π² − 3)",
                stated="11.16",
                printed=6 * math.pi**2 * kappa / (2 * math.pi**2 - 3),
            ),
            Shown(
                "Q on [−0.2, 1]: wider and better; the printed claim is at least the 0.2827 of [0, 1]",
                wider.expected_loss(),
                loss,
                "Var + c² by hand",
                stated="0.2070",
                printed=noise.expected_loss(),
            ),
        ),
        "A one-sided constraint costs twice: quality for the mean, privacy for the narrower interval.",
        further=True,
    )


def _squared_slope() -> float:
    """∫u′² for u = √2 sin πw."""
    from scipy.integrate import quad

    return float(quad(lambda w: 2 * math.pi**2 * math.cos(math.pi * w) ** 2, 0, 1, epsabs=0, epsrel=1e-12)[0])


def _least_eigenvalue() -> float:
    """4 × the least Dirichlet eigenvalue of −d²/dw² on [0, 1], from two difference matrices."""
    from scipy.linalg import eigh_tridiagonal

    def on_grid(cells: int) -> float:
        diagonal, beside = np.full(cells - 1, 2.0 * cells**2), np.full(cells - 2, -1.0 * cells**2)
        return 4 * float(eigh_tridiagonal(diagonal, beside, eigvals_only=True, select="i", select_range=(0, 0))[0])

    return (4 * on_grid(400) - on_grid(200)) / 3
