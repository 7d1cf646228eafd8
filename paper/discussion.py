"""Section 5, first half: mutual information, other losses, Laplace against Gaussian at equal quality."""

import math
from itertools import product
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer import design
from errorfloor.floors import floor
from errorfloor.noise import Gaussian, Laplace
from errorfloor.noise.quadrature import integrate
from errorfloor.support import Reals
from paper import shannon
from paper.model import Claim, Drawing, Shown

WEIGHTS = np.array([0.5, 0.3, 0.2])
LOW, HIGH = 1.0, 2.0


def mutual_information() -> Claim:
    """Gaussian noise does not minimise it for every prior."""
    loss = 0.25
    spread = 0.1
    narrow = [(0.94, Gaussian(spread**2)), (0.03, Gaussian(spread**2, -2.0)), (0.03, Gaussian(spread**2, 2.0))]
    variance = sum(share * (spread**2 + float(noise.mean[0]) ** 2) for share, noise in narrow)
    assert math.isclose(variance, loss), "both noises are compared at equal variance"

    def mixture(w: Array) -> Array:
        return np.asarray(sum(share * noise.pdf(w) for share, noise in narrow))

    knots = [float(k) for k in range(-4, 5)]
    tails = [-6.0, *knots, 6.0]
    return Claim(
        "Section 5, mutual information",
        "does Gaussian noise also minimise mutual information?",
        "the optimal policy also minimises the mutual information between data and answer",
        "for a Gaussian prior, where any noise of that variance leaves at least ½log₂(1 + SNR) bits. For a number "
        "that is 1 or −1 at even odds other noise of the same variance leaks less",
        "corrected",
        (
            Shown(
                "bits in an answer, Gaussian prior and noise of variances 1 and ¼",
                float(shannon.mutual_information(Gaussian(loss), slope=1.0, prior=Gaussian(1.0))),
                0.5 * math.log2(1 + 1 / loss),
                "½log₂(1 + SNR)",
                tolerance=1e-6,
            ),
            Shown(
                "bits about a sign, three narrow peaks at −2, 0, 2 with variance ¼ together",
                _bits_about_a_sign(mixture, tails),
                _bits_by_sum(mixture),
                "trapezoidal sum; the printed claim is the Gaussian's as the least",
                printed=_bits_about_a_sign(lambda w: np.asarray(Gaussian(loss).pdf(w)), tails),
                tolerance=1e-6,
            ),
        ),
        "Information in the sense of Shannon is a property of noise and prior together; a floor from Fisher "
        "information needs no prior.",
    )


def other_losses() -> Claim:
    """The footnote on E|w|."""
    noise = design(Reals(1), loss="absolute", max_loss=1.0)
    return Claim(
        "Section 5, footnote on the 1-norm",
        "another measure of quality",
        "with the expected 1-norm in place of the mean square one gets other densities",
        "one does: an Airy function, not the Laplace density",
        "holds",
        (
            Shown(
                "I_w·(E|w|)² of the optimum",
                float(noise.information[0, 0]),
                _airy_product(),
                "quadrature of Airy's function",
                "0.626634",
            ),
            Shown(
                "I_w·(E|w|)² of Laplace noise",
                float(Laplace(1.0).information[0, 0]) * Laplace(1.0).expected_loss("absolute") ** 2,
                1.0,
                "b²/b²",
                "1.000",
            ),
            Shown(
                "I_w·(E|w|)² of Gaussian noise",
                float(Gaussian(1.0).information[0, 0]) * Gaussian(1.0).expected_loss("absolute") ** 2,
                2 / math.pi,
                "2/π",
                "0.63662",
            ),
        ),
    )


def equal_quality() -> Claim:
    """Laplace against Gaussian noise of the same variance."""
    loss = 0.02
    square = float(WEIGHTS @ WEIGHTS)
    C = WEIGHTS[None, :]
    projection = np.outer(WEIGHTS, WEIGHTS) / square
    least, most = residual_range()
    bounds = [floor(noise, C).biased(projection) ** 2 for noise in (Gaussian(loss), Laplace(math.sqrt(loss / 2)))]
    at_least, at_most = ((least + bounds[0]) / (least + bounds[1]), (most + bounds[0]) / (most + bounds[1]))
    line = np.linspace(LOW, HIGH, 101)
    box = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1)
    residual = (box**2).sum(axis=-1) - (box @ WEIGHTS) ** 2 / square
    ratio = (residual + loss / square) / (residual + loss / (2 * square))
    return Claim(
        "Section 5, floors at equal quality",
        "Gaussian against Laplace noise",
        "for any unbiased estimator, ‖(Id − C⁺C)x‖² + ϑ/(CCᵀ)² against ϑ/(2(CCᵀ)²); the best ratio is 1 + κ, "
        "κ = 1/(1 + 2(CCᵀ)² max‖(Id − C⁺C)x‖²/ϑ)",
        "ϑ/(CCᵀ) against ϑ/(2CCᵀ), for the bias C⁺Cx (no unbiased estimator exists; the printed I = CCᵀ/ϑ is the "
        "trace of CᵀC/ϑ). The supremum is at the minimum of ‖(Id − C⁺C)x‖²: κ = 1/(1 + 2CCᵀ min‖(Id − C⁺C)x‖²/ϑ), "
        "which is 1 whenever the box holds a multiple of Cᵀ",
        "corrected",
        (
            Shown(
                "variance part, Gaussian, ϑ = 0.02, weights 0.5, 0.3, 0.2",
                bounds[0],
                loss / square,
                "ϑ/CCᵀ",
                printed=loss / square**2,
            ),
            Shown("variance part, Laplace", bounds[1], loss / (2 * square), "ϑ/2CCᵀ", printed=loss / (2 * square**2)),
            Shown(
                "1 + κ on the box [1, 2]³",
                at_least,
                float(ratio.max()),
                "largest ratio at 101³ points of the box",
                printed=1 + 1 / (1 + 2 * square**2 * most / loss),
                tolerance=1e-4,
            ),
            Shown(
                "ratio at the maximum of ‖(Id − C⁺C)x‖²: the smallest",
                at_most,
                float(ratio.min()),
                "smallest ratio there",
                tolerance=1e-4,
            ),
            Shown("ratio of per-entry floors, in variance", _entry_ratio(C, loss), 2.0, "I_w of 1/ϑ and 2/ϑ", "2.00"),
        ),
        "The printed comparison undersells the Gaussian: about a single entry its floor is √2 times Laplace's in "
        "every case.",
        (
            Drawing(
                "equal_quality",
                "Left: Gaussian and Laplace noise of variance 1. Right: the ratio of their bounds for the "
                "least-squares estimate, between the minimum and the maximum of ‖(Id − C⁺C)x‖² over the box [1, "
                "2]³; 1 + κ is the upper curve.",
            ),
        ),
    )


def residual_range() -> tuple[float, float]:
    """The least and the greatest ‖(Id − C⁺C)x‖² over the box.

    >>> [round(value, 4) for value in residual_range()]
    [0.0345, 3.0789]
    """
    from scipy.optimize import lsq_linear

    away = np.eye(3) - np.outer(WEIGHTS, WEIGHTS) / (WEIGHTS @ WEIGHTS)
    least = lsq_linear(away, np.zeros(3), bounds=(LOW, HIGH), tol=1e-14)
    # a convex function is greatest at a corner
    return 2 * float(least.cost), max(float(np.sum((away @ corner) ** 2)) for corner in product((LOW, HIGH), repeat=3))


def _entry_ratio(C: Array, loss: float) -> float:
    floors = [float(floor(noise, C).worst_entry) for noise in (Gaussian(loss), Laplace(math.sqrt(loss / 2)))]
    return (floors[0] / floors[1]) ** 2


def _surprise(density: Any, y: Array) -> Array:
    """The integrand p log₂(2p/(p + p′)), with p, p′ the laws of y at 1 and −1."""
    here, there = density(y - 1), density(y + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(here > 0, here * np.log2(2 * here / (here + there)), 0.0))


def _bits_about_a_sign(density: Any, knots: list[float]) -> float:
    return integrate(lambda y: _surprise(density, y), knots)


def _bits_by_sum(density: Any) -> float:
    y = np.linspace(-7, 7, 140_001)
    return float(np.trapezoid(_surprise(density, y), y))


def _airy_product() -> float:
    """I_w(E|w|)² for u = Ai(|w| + a₁′)."""
    from scipy.integrate import quad
    from scipy.special import ai_zeros, airy

    turn = float(ai_zeros(1)[1][0])
    mass, slope, size = (
        quad(function, 0, 30, epsabs=0, epsrel=1e-12)[0]
        for function in (
            lambda w: airy(w + turn)[0] ** 2,
            lambda w: airy(w + turn)[1] ** 2,
            lambda w: w * airy(w + turn)[0] ** 2,
        )
    )
    return float(4 * slope / mass * (size / mass) ** 2)
