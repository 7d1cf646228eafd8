"""One number asked for: the average and the variance, Corollaries 3 and 5."""

import math

import numpy as np

from errorfloor.designer import design
from errorfloor.floors import floor
from errorfloor.noise import RaisedCosine
from errorfloor.support import Interval
from paper.chain import Chain
from paper.model import Claim, Drawing, Shown

WEIGHTS = np.array([[0.5, 0.3, 0.2]])
HOUSEHOLDS = 10


def averaging() -> Claim:
    """What the least-squares estimate from a weighted average is bound by."""
    noise = RaisedCosine(-0.5, 0.5)
    square = float((WEIGHTS**2).sum())
    pseudoinverse = WEIGHTS.T / square
    projection = pseudoinverse @ WEIGHTS
    x = np.array([1.0, 2.0, 3.0])
    bias = projection @ x - x
    estimate = (x @ WEIGHTS[0] + noise.sample(200_000, rng=2))[:, None] * pseudoinverse[:, 0]
    exact = float(bias @ bias) + float(noise.covariance[0, 0]) / square
    return Claim(
        "Example 2",
        "a weighted average and the least-squares estimate from it",
        "the rank assumption on G holds; the error is at least ‖(Id − C⁺C)x‖² + Tr(I⁻¹)/(CCᵀ)",
        "here G = C⁺C has rank m < n, so that the assumption fails, and I = CᵀI_wC is singular. The error of C⁺y is "
        "‖(Id − C⁺C)x‖² + E w²/(CCᵀ), at least ‖(Id − C⁺C)x‖² + 1/(I_w CCᵀ): the bound for the bias C⁺Cx, not for "
        "unbiased estimators, of which there are none",
        "corrected",
        (
            Shown(
                "rank of G = C⁺C for three entries",
                float(np.linalg.matrix_rank(projection)),
                float(np.trace(projection)),
                "trace of a projection",
                stated="1",
                printed=3.0,
            ),
            Shown(
                "bound for the bias C⁺Cx, weights 0.5, 0.3, 0.2, x = (1, 2, 3), noise ±½",
                floor(noise, WEIGHTS).biased(projection, bias) ** 2,
                float(bias @ bias) + 1 / (4 * math.pi**2 * square),
                "‖(Id − C⁺C)x‖² + 1/(I_w CCᵀ)",
            ),
            Shown(
                "error of C⁺y, not below it",
                exact,
                float(((estimate - x) ** 2).sum(axis=1).mean()),
                "200 000 draws with a fixed seed",
                tolerance=0.01,
            ),
        ),
        "An unbiased floor for all entries at once is infinite here; what protects a single entry is its own floor "
        "1/√I_ii.",
        (
            Drawing(
                "averaging",
                f"The average of {HOUSEHOLDS} readings between 0 and 50 kWh: its noise, never off by more than 3 kWh, "
                "and how the floors under the error about one household sink as independent answers accumulate.",
            ),
        ),
    )


def corollary_three() -> Claim:
    """The weights of a scalar linear query do not matter, among oblivious noises."""
    from scipy.integrate import quad

    low, high = -0.3, 0.9
    noise = design(Interval(low, high), jacobian=WEIGHTS)
    assert noise.certificate is not None, "every design has a certificate"
    slope = quad(
        lambda w: 2 / 1.2 * (math.pi / 1.2 * math.cos(math.pi * (w - low) / 1.2)) ** 2, low, high, epsrel=1e-12
    )[0]
    chain = Chain(0.0, 1.5, np.zeros_like)
    best = chain.optimum()
    return Claim(
        "Corollary 3",
        "raised cosine for every scalar linear query",
        "for f = Cx ≠ 0 and constant p the raised cosine solves Problem 2, whatever the weights",
        "optimal among oblivious policies, with J = CCᵀ·4π²/Δ²; a data-dependent one wins, the more the shorter "
        "f(X) is, and reaches J = 0 where f(X) is shorter than Δ",
        "corrected",
        (
            Shown(
                "J on [−0.3, 0.9] for weights 0.5, 0.3, 0.2",
                noise.certificate.value,
                0.38 * 4 * slope,
                "quadrature of 4∫u′²",
            ),
            Shown(
                "least J of any policy on a grid of step 1/20, f(x) = x, X of length 1.5, Δ = 1",
                chain.energy(best),
                chain.lower_bound(),
                "a lower bound proved by duality",
                stated="16.21",
                printed=chain.energy(chain.raised_cosine()),
                tolerance=1e-7,
            ),
        ),
        "The claim is too strong, as in Corollary 1.",
    )


def variance_query() -> Claim:
    """The variance of private numbers."""
    low, high = 0.0, 50.0
    x = np.linspace(low, high, HOUSEHOLDS)
    step = 1e-4
    by_difference = [
        (np.var(x + step * axis, ddof=1) - np.var(x - step * axis, ddof=1)) / (2 * step) for axis in np.eye(HOUSEHOLDS)
    ]
    jacobian = 2 * (x - x.mean()) / (HOUSEHOLDS - 1)
    noise = RaisedCosine(-5.0, 5.0)
    return Claim(
        "Example 3",
        "a query that is not linear",
        "the sample variance fits the framework",
        "it does, with F = 2(x − x̄)/(n − 1), which depends on x: what is promised about an entry must use the "
        "supremum of |∂f/∂x_i| over the declared ranges, not an average",
        "holds",
        (
            Shown(
                "information about the first of ten entries spread over 0 … 50, noise ±5",
                float(floor(noise, jacobian[None, :]).information[0, 0]),
                4 * math.pi**2 / 100 * float(by_difference[0]) ** 2,
                "difference quotients of the variance",
                tolerance=1e-7,
            ),
        ),
    )


def corollary_five() -> Claim:
    """The Laplacian that the proof drops."""
    x = np.array([1.0, 2.5, -0.5])
    slope = float((4 * (x - x.mean()) ** 2 / 4).sum())  # ‖∇f‖², f the sample variance of three numbers
    noise, step = RaisedCosine(-0.5, 0.5), 1e-4
    around = [np.var(x + sign * step * axis, ddof=1) for axis in np.eye(3) for sign in (-1, 1)]
    laplacian = float(sum(around) - 6 * np.var(x, ddof=1)) / step**2

    def root(w: float) -> float:
        return math.cos(math.pi * w)

    def multiplier(w: float) -> float:
        first, second = (root(w + step) - root(w - step)) / (2 * step), root(w + step) - 2 * root(w) + root(w - step)
        return -(slope * second / step**2 - laplacian * first) / root(w)

    def from_score(w: float) -> float:
        return slope * math.pi**2 + 2.0 * float(noise.score(w)) / 2

    return Claim(
        "Corollary 5",
        "raised cosine for every scalar query",
        "for m = 1, constant p and f ≠ 0 the raised cosine solves Problem 2 even if f is not linear",
        "optimal among oblivious policies, whatever p. Not in general: with Theorem 2's term Δf the equation asks "
        "for a multiplier that depends on w, unless Δf = 0. The hypothesis needed is F ≠ 0, not f ≠ 0",
        "corrected",
        (
            Shown(
                "multiplier asked for at w = ¼ less that at w = −¼, variance of three numbers",
                from_score(0.25) - from_score(-0.25),
                multiplier(0.25) - multiplier(-0.25),
                "difference quotients in the corrected equation",
                printed=0.0,
                tolerance=1e-5,
            ),
        ),
        "Also wrong for a constant f ≠ 0, where there is nothing to protect and no noise is needed.",
    )
