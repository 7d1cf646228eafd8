"""Noise without bounds: regularity at the edge, Problems 3 and 4, Theorem 3, Corollary 6."""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer import design
from errorfloor.errors import IllPosedError
from errorfloor.noise import Gaussian, TruncatedLaplace
from errorfloor.noise.quadrature import integrate
from errorfloor.support import HalfLine, Interval, Reals
from paper.model import Claim, Drawing, Shown

ANSWERS = 100
JACOBIAN = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 1.0]])


def assumption_two() -> Claim:
    """When the density must vanish at the edge."""
    exponential = TruncatedLaplace(1.0, low=0.0, high=60.0)  # nothing of e^{−w} is left beyond 60
    second_moment = integrate(lambda t: 2 * t * (1 - exponential.cdf(t)) ** ANSWERS, (0.0, 0.1, 1.0, 60.0))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    tapers = (nodes + 1) / 2
    return Claim(
        "Assumption 2 (iii) (label assum:1)",
        "γ = 0 on the boundary",
        "automatic if W is unbounded, necessary for the Cramér–Rao bound otherwise; densities that vanish "
        "approximate all others",
        "not automatic: exponential noise on [0, ∞) violates it. Not needed when the answer, not the noise, is "
        "confined (family ii). Vanishing is not enough either: √γ must be in H¹, near an edge γ ~ t^α with α > 1. "
        "An approximation of a density that jumps has information without bound",
        "corrected",
        (
            Shown(
                f"variance of the unbiased min(y) − 1/K from K = {ANSWERS} answers with exponential noise",
                second_moment - 1 / ANSWERS**2,
                1 / ANSWERS**2,
                "1/K²; the printed bound would be 1/K",
                printed=1 / ANSWERS,
                tolerance=1e-6,
            ),
            Shown(
                "family (ii), p(y|x) = 1 + x(2y − 1) on [0, 1], x = 0: variance of the unbiased 3(2y − 1) times I",
                9 * float((weights / 2) @ (2 * tapers - 1) ** 2) * float((weights / 2) @ (2 * tapers - 1) ** 2),
                1.0,
                "the bound is attained although p does not vanish at 0 and 1",
            ),
            Shown(
                "information of a uniform density on [0, 1] tapered over 1 % at each end: π²/(t(1 − t))",
                _tapered(0.01),
                math.pi**2 / (0.01 * 0.99),
                "closed form, unbounded as t → 0",
            ),
        ),
        "Noise with a jump has no floor: the extremes of repeated answers give the truth away at rate 1/K.",
        (
            Drawing(
                "repeated_answers",
                "Root-mean-square error of the mid-range of K repeated answers, 4000 simulated runs, all noises "
                "within ±½. Jumps give the truth away at rate 1/K. Against the raised cosine nobody without bias "
                "gets below its floor (dashed); the plain mean comes close.",
            ),
        ),
    )


def problems_three_and_four() -> Claim:
    """Whether every bound on the loss has a weight."""
    noise = design(Interval(-0.5, 0.5), max_loss=0.1)
    try:
        design(Interval(1.0, 2.0), max_loss=0.9)
        smallest = math.nan
    except IllPosedError as refusal:
        smallest = float(str(refusal.fields["smallest"]))
    return Claim(
        "Problems 3 and 4",
        "a bound on the loss and a weight on it",
        "equivalent: every ϱ > 0 has a ϑ > 0, and vice versa",
        "every ϱ has a ϑ. A bound ϑ at or above the loss of Problem 2's solution is inactive (ϱ = 0), and one at or "
        "below inf_W wᵀw cannot be met at all",
        "corrected",
        (
            Shown(
                "Q of the solution on [−½, ½] for ϑ = 0.1: the bound does not bind",
                noise.expected_loss(),
                1 / 12 - 1 / (2 * math.pi**2),
                "variance of the raised cosine",
                stated="0.0327",
                printed=0.1,
            ),
            Shown(
                "least E w² on [1, 2]: ϑ = 0.9 is refused", smallest, 1.0, "the square of the nearer end", printed=0.9
            ),
        ),
    )


def theorem_three() -> Claim:
    """The equation with a quality term."""
    weight = 3.0
    gaussian = design(Reals(2), jacobian=JACOBIAN, loss_weight=weight)
    maxwell = design(HalfLine(0.0), jacobian=[[2.0]], loss_weight=weight)
    assert gaussian.certificate is not None and maxwell.certificate is not None, "every design has a certificate"
    K = JACOBIAN @ JACOBIAN.T
    point, step = np.array([0.4, -0.7]), 1e-4

    def root(w: Array) -> float:
        return float(np.sqrt(gaussian.pdf(w)))

    axes = step * np.eye(2)
    hessian = np.array(
        [
            [(root(point + a + b) - root(point + a - b) - root(point - a + b) + root(point - a - b)) for b in axes]
            for a in axes
        ]
    ) / (4 * step**2)
    value = -4 * float(np.trace(K @ hessian)) / root(point) + weight * float(point @ point)
    return Claim(
        "Theorem 3",
        "stationarity for Problem 3",
        "Theorem 2's equation with (μ − (ϱ/4)wᵀw)u and the blocks [[FFᵀ, Fᵀ], [F, Id]]",
        "the quality term is right; the blocks are F above and Fᵀ below the diagonal, with the signs and "
        "derivatives corrected as in Theorem 2. For oblivious noise and f = Cx it reads −4 div(K∇u) + ϱwᵀw u = Λu, "
        "Λ = J + ϱQ",
        "corrected",
        (
            Shown("rows of the upper right block, m = 2 and n = 3", float(JACOBIAN.shape[0]), 2.0, "m", printed=3.0),
            Shown(
                "Λ on R², from the equation at one point",
                gaussian.certificate.value,
                value,
                "difference quotients of √γ",
                tolerance=1e-6,
            ),
            Shown(
                "Λ on [0, ∞), K = 4: 6√(Kϱ)",
                maxwell.certificate.value,
                _half_line_eigenvalue(4.0, weight),
                "least eigenvalue of Richardson-extrapolated differences",
                tolerance=1e-6,
            ),
        ),
        "As in Theorem 2.",
    )


def corollary_six() -> Claim:
    """The covariance of the best Gaussian."""
    from scipy.optimize import minimize

    weight = 3.0
    K = JACOBIAN @ JACOBIAN.T
    noise = design(Reals(2), jacobian=JACOBIAN, loss_weight=weight)
    bounded = design(Reals(2), jacobian=JACOBIAN, max_loss=1.5)
    assert noise.certificate is not None and bounded.certificate is not None, "every design has a certificate"

    def cost(entries: Array) -> float:
        L = np.array([[math.exp(entries[0]), 0.0], [entries[1], math.exp(entries[2])]])
        S = L @ L.T
        return float(np.trace(K @ np.linalg.inv(S)) + weight * np.trace(S))

    found = minimize(cost, np.zeros(3), method="BFGS", options={"gtol": 1e-10})
    printed = Gaussian(2 * noise.covariance)
    printed_cost = float(np.trace(K @ printed.information)) + weight * printed.expected_loss()
    root_trace = float(np.sqrt(np.linalg.eigvalsh(K)).sum())
    return Claim(
        "Corollary 6",
        "Gaussian noise without bounds",
        "Σ = 2(CCᵀ)^½/√ϱ for Problem 3; Σ = ϑ(CCᵀ)^½/Tr(CCᵀ)^½ for Problem 4",
        "Σ = (CCᵀ)^½/√ϱ for Problem 3, as the text below the corollary says; Problem 4's Σ is right, with J = "
        "(Tr(CCᵀ)^½)²/ϑ. The normalisation of u in the proof needs the power −¼. Optimal among oblivious policies",
        "corrected",
        (
            Shown(
                "J + ϱQ at the optimum",
                noise.certificate.value,
                float(found.fun),
                "numerical minimisation over Σ",
                printed=printed_cost,
            ),
            Shown(
                "cost of the printed Σ over the optimum",
                printed_cost / noise.certificate.value,
                (0.5 + 2) / 2,
                "(½ + 2)/2",
                "1.25",
            ),
            Shown("J of Problem 4, ϑ = 1.5", bounded.certificate.value, root_trace**2 / 1.5, "(Tr K^½)²/ϑ"),
        ),
        "The printed noise costs a quarter more than the optimum.",
        (
            Drawing(
                "corollary_six",
                "Left: the optimal Gaussian for f(x) = x, ϱ = 1, and the printed one of twice its variance. Right: "
                "what multiplying the covariance by a factor does to J + ϱQ.",
            ),
        ),
    )


def _tapered(t: float) -> float:
    """4∫u′²/∫u² for u rising as a sine over length t at both ends of [0, 1] and constant between."""
    from scipy.integrate import quad

    slope = quad(lambda w: (math.pi / (2 * t) * math.cos(math.pi * w / (2 * t))) ** 2, 0, t, epsabs=0, epsrel=1e-12)[0]
    mass = quad(lambda w: math.sin(math.pi * w / (2 * t)) ** 2, 0, t, epsabs=0, epsrel=1e-12)[0]
    return float(4 * 2 * slope / (2 * mass + 1 - 2 * t))


def _half_line_eigenvalue(K: float, weight: float) -> float:
    """The least eigenvalue of −4Ku″ + ϱw²u on [0, 12σ] with u = 0 at both ends, σ⁴ = K/ϱ."""
    from scipy.linalg import eigh_tridiagonal

    reach = 12 * (K / weight) ** 0.25

    def on_grid(cells: int) -> float:
        h = reach / cells
        w = h * np.arange(1, cells)
        beside = np.full(cells - 2, -4 * K / h**2)
        return float(
            eigh_tridiagonal(8 * K / h**2 + weight * w**2, beside, eigvals_only=True, select="i", select_range=(0, 0))[
                0
            ]
        )

    return (4 * on_grid(1600) - on_grid(800)) / 3
