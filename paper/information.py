"""Section 2 and the first appendix: Fisher information, the Cramér–Rao bound, and what follows from it."""

import math

import numpy as np

from errorfloor.floors import floor
from errorfloor.noise import Gaussian, RaisedCosine
from errorfloor.noise.quadrature import integrate
from paper.model import Claim, Shown


def density_of_answer() -> Claim:
    """p(y|x) = γ(y − f(x)), not γ(w − f(x))."""
    noise, answer, error, step = RaisedCosine(-0.5, 0.5), 10.0, 0.2, 1e-5
    y = answer + error
    by_difference = (noise.cdf(y - answer + step) - noise.cdf(y - answer - step)) / (2 * step)
    return Claim(
        "Section 2, density of the answer",
        "the law of y given x",
        "p(y|x) = γ(w − f(x)|x) in the argument about one entry",
        "p(y|x) = γ(y − f(x)|x), as the source has it a page earlier",
        "corrected",
        (
            Shown(
                "p(10.2|x) where f(x) = 10, noise on ±½",
                float(noise.pdf(y - answer)),
                float(by_difference),
                "difference quotient of P(Y ≤ y)",
                printed=float(noise.pdf(error - answer)),
                tolerance=1e-7,
            ),
        ),
        "A slip of the pen; nothing depends on it.",
    )


def unbiased_bound() -> Claim:
    """Cramér and Rao's inequality for unbiased estimators."""
    noise = RaisedCosine(0.0, 1.0)
    C, S = np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([[1.0, 0.3], [0.3, 0.5]])
    inverse = np.linalg.inv(C)
    return Claim(
        "Proposition 1, unbiased estimators",
        "the Cramér–Rao bound",
        "E‖x̂ − x‖² ≥ Tr I(x)⁻¹ for every unbiased x̂, if I(x) is invertible",
        "the same. It binds unbiased estimators of a continuum of values only; if I is singular no unbiased "
        "estimator of finite variance exists at all",
        "holds",
        (
            Shown(
                "I_w·Var(w) of the raised cosine: at least 1",
                float(noise.information[0, 0] * noise.covariance[0, 0]),
                (math.pi**2 - 6) / 3,
                "(π² − 6)/3",
                stated="1.29",
            ),
            Shown(
                "Tr I⁻¹ for two linear answers with Gaussian noise: attained by C⁻¹y",
                floor(Gaussian(S), C).total ** 2,
                float(np.trace(inverse @ S @ inverse.T)),
                "variance of C⁻¹y",
            ),
        ),
    )


def biased_bound() -> Claim:
    """The order of the factors in the bound for a known bias."""
    S, G = np.diag([1.0, 9.0]), np.array([[1.0, 2.0], [0.0, 1.0]])
    draws = Gaussian(S).sample(200_000, rng=1) @ G.T
    return Claim(
        "Proposition 1, biased estimators",
        "the bound for a known bias",
        "E‖x̂ − x‖² ≥ Tr(Gᵀ I⁻¹ G) + ‖x − g(x)‖², G the Jacobian of g(x) = E x̂",
        "Tr(G I⁻¹ Gᵀ) in place of Tr(Gᵀ I⁻¹ G)",
        "corrected",
        (
            Shown(
                "bound for G = [[1, 2], [0, 1]] and answers x + w, Cov w = diag(1, 9)",
                floor(Gaussian(S), np.eye(2)).biased(G) ** 2,
                float((G**2 @ np.diag(S)).sum()),
                "variances of the entries of Gy, by hand",
                stated="46",
                printed=float(np.trace(G.T @ S @ G)),
            ),
            Shown(
                "the same, from draws",
                floor(Gaussian(S), np.eye(2)).biased(G) ** 2,
                float(draws.var(axis=0).sum()),
                "200 000 draws of Gw with a fixed seed",
                printed=float(np.trace(G.T @ S @ G)),
                tolerance=0.01,
            ),
        ),
        "The printed bound says 14 where the estimator Gy, which attains the right one, has 46; with the two "
        "entries in the other order it would promise too much. The inequality with λ_min(GGᵀ) that follows it is "
        "true either way, for a square G has the same λ_min on both sides.",
    )


def worst_entry() -> Claim:
    """One entry, all others known."""
    from scipy.integrate import quad

    noise, C = RaisedCosine(-0.5, 0.5), np.array([[0.5, 0.3, 0.2]])
    found = floor(noise, C)
    score_squared = float(quad(lambda w: 8 * (math.pi * math.sin(math.pi * w)) ** 2, -0.5, 0.5, epsrel=1e-12)[0])
    return Claim(
        "Section 2, worst-case entry",
        "one entry when all others are known",
        "min over i of E(x̂_i − x_i)² ≥ 1/max_i I_ii ≥ 1/Tr I, without any assumption on the rank",
        "the same, for unbiased x̂_i",
        "holds",
        (
            Shown(
                "1/max I_ii for weights 0.5, 0.3, 0.2 and noise of width 1",
                float(found.worst_entry) ** 2,
                1 / (0.25 * score_squared),
                "quadrature of 4u′²",
            ),
            Shown("1/Tr I", 1 / float(np.trace(found.information)), 1 / (0.38 * score_squared), "the same quadrature"),
        ),
    )


def data_processing() -> Claim:
    """Rounding an answer loses information."""
    noise, x, step = RaisedCosine(-0.5, 0.5), 0.1, 1e-5
    edges = np.arange(-3, 4) * 0.25

    def below(shift: float) -> np.ndarray:
        w = np.clip(edges - shift, -0.5, 0.5)
        return np.asarray(0.5 + w + np.sin(2 * math.pi * w) / (2 * math.pi))

    share, slope = np.diff(noise.cdf(edges - x)), np.diff(-noise.pdf(edges - x))
    by_hand = np.diff(below(x))
    by_difference = (np.diff(below(x + step)) - np.diff(below(x - step))) / (2 * step)
    live = share > 0
    return Claim(
        "Remark 3",
        "data processing inequality",
        "what is done to an answer afterwards can only lower its information, and so raise Tr I⁻¹",
        "the same",
        "holds",
        (
            Shown(
                "share of I left when an answer (noise ±½) is rounded to cells of ¼: at most 1",
                float((slope[live] ** 2 / share[live]).sum() / noise.information[0, 0]),
                float((by_difference[live] ** 2 / by_hand[live]).sum() / (4 * math.pi**2)),
                "difference quotients of the cells' probabilities",
                tolerance=1e-7,
            ),
        ),
    )


def side_information() -> Claim:
    """What the adversary knows already adds its own matrix."""
    known, C, S = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.0, 1.0]]), 0.25
    stacked = np.vstack([C, np.eye(2)])
    weight = np.linalg.inv(np.block([[np.full((1, 1), S), np.zeros((1, 2))], [np.zeros((2, 1)), np.linalg.inv(known)]]))
    return Claim(
        "Remark 4",
        "side channels",
        "the framework is fragile to side information, and could be generalised to estimators of y and z",
        "it generalises at once: independent side information adds its own positive semi-definite matrix to I",
        "holds",
        (
            Shown(
                "Tr (I + I_side)⁻¹, one answer about two entries",
                floor(Gaussian(S), C, side_information=known).total ** 2,
                float(np.trace(np.linalg.inv(stacked.T @ weight @ stacked))),
                "covariance of generalised least squares on answer and side channel together",
            ),
        ),
    )


def convexity() -> Claim:
    """J is convex in the density."""
    from scipy.integrate import quad

    left, right = Gaussian(1.0, -1.0), Gaussian(1.0, 1.0)

    def score_squared(w: np.ndarray) -> np.ndarray:
        a, b = left.pdf(w), right.pdf(w)
        return np.asarray((a * left.score(w) + b * right.score(w)) ** 2 / (2 * (a + b)))

    def by_hand(w: float) -> float:
        mixture = (math.exp(-((w - 1) ** 2) / 2) + math.exp(-((w + 1) ** 2) / 2)) / math.sqrt(8 * math.pi)
        return (w - math.tanh(w)) ** 2 * mixture

    return Claim(
        "Proposition 2 and Problem 2",
        "convexity of J",
        "J is convex in γ, so that stationary densities are minimisers",
        "the same. Stationarity must hold against all policies in the class, and at the ends of X too: see Corollary 4",
        "holds",
        (
            Shown(
                "I of the even mixture of N(−1, 1) and N(1, 1): at most 1, the mean of theirs",
                integrate(score_squared, (-math.inf, -1.0, 1.0, math.inf)),
                2 * quad(by_hand, 0, 40, epsabs=1e-14, epsrel=1e-12)[0],
                "E(w − tanh w)²",
            ),
        ),
    )


def trace_inequality() -> Claim:
    """Tr I⁻¹ ≥ n²/Tr I, and its average."""
    from scipy.integrate import quad

    noise, C = RaisedCosine(0.0, 1.0), np.array([[1.0, 0.0], [1.0, 2.0]])
    nodes, weights = np.polynomial.legendre.leggauss(20)
    information = np.array(
        [float(floor(noise, [[3.0 + t]]).information[0, 0]) for t in nodes]
    )  # f′ = 2x, x = (3 + t)/2
    both = floor(Gaussian(np.eye(2)), C)
    return Claim(
        "Proposition 5 (appendix)",
        "the relaxation from Problem 1 to Problem 2",
        "J̄ = ∫p Tr I⁻¹ ≥ n²/J, with Tr I⁻¹ ≥ n²/Tr I at every x",
        "the same",
        "holds",
        (
            Shown(
                "Tr I⁻¹ for C = [[1, 0], [1, 2]] and unit noise",
                both.total**2,
                float(np.sum(1 / np.linalg.eigvalsh(C.T @ C))),
                "eigenvalues of CᵀC",
            ),
            Shown("n²/Tr I there: not more", 4 / float(np.trace(both.information)), 4 / 6, "Σ of squares of C is 6"),
            Shown(
                "J̄·J/n² for f(x) = x², x uniform on [1, 2]: at least 1",
                float((weights / 2) @ information * ((weights / 2) @ (1 / information))),
                quad(lambda x: 1 / (4 * x * x), 1, 2)[0] * quad(lambda x: 4 * x * x, 1, 2)[0],
                "quadrature of both averages",
            ),
        ),
    )
