"""The catalogue of problems whose best noise is known in closed form.

Each form looks at a problem and either gives its solution or None: ``bounded_separable`` and ``ellipsoidal`` solve P2
(least information on a bounded support), ``normal`` and ``unbounded_separable`` solve P3 and P4 (with quality).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.problem import Problem
from errorfloor.errors import InputError, NoClosedFormError
from errorfloor.noise import (
    Airy,
    BesselBall,
    Gaussian,
    LinearImage,
    Maxwell,
    Noise,
    Product,
    RaisedCosine,
    Translation,
)
from errorfloor.support import Ball, Ellipsoid, HalfLine, Interval, Reals, Support
from errorfloor.support.base import ROUNDING, is_diagonal


@dataclass(frozen=True)
class Solution:
    """A noise, and the weight ϱ for which it minimises Tr(K I_w) + ϱ E ℓ(w)."""

    noise: Noise
    form: str
    reference: str
    cost: float  # Tr(K I_w), computed where the problem is simplest
    loss_weight: float = 0.0


def bounded_separable(problem: Problem) -> Solution | None:
    """Intervals, boxes and parallelepipeds whose own coordinates make K diagonal: raised cosines."""
    form = problem.support.product_form
    if form is None or not problem.support.is_bounded:
        return None
    N, sides = form
    if not is_diagonal(N @ problem.sensitivity @ N.T):
        return None
    factors = [RaisedCosine(side.low, side.high) for side in sides if isinstance(side, Interval)]
    cost = _cost(N @ problem.sensitivity @ N.T, factors)
    if len(factors) == 1:
        return Solution(factors[0], "raised cosine", "corollaries 1, 3 and 5", cost)
    return Solution(_in_coordinates(N, factors), "product of raised cosines", "corollary 1", cost)


def ellipsoidal(problem: Problem) -> Solution | None:
    """Balls with K ∝ Id and ellipsoids with K ∝ shape: the Bessel ground state, pushed and moved."""
    body = problem.support
    if not isinstance(body, (Ball, Ellipsoid)) or body.dimension == 1:
        return None
    A = np.linalg.cholesky(body.shape)
    whitened = np.linalg.solve(A, np.linalg.solve(A, problem.sensitivity).T)
    level = float(np.trace(whitened)) / body.dimension
    if not np.allclose(whitened, level * np.eye(body.dimension), rtol=0, atol=ROUNDING * level * body.dimension):
        return None
    round_body = isinstance(body, Ball)
    noise: Noise = BesselBall(body.dimension, body.radius if isinstance(body, Ball) else 1.0)
    noise = noise if round_body else LinearImage(noise, A)
    noise = Translation(noise, body.middle) if body.middle.any() else noise
    cost = level * 4 * BesselBall(body.dimension, 1.0).zero ** 2
    return Solution(noise, "Bessel function of the radius", "ground state of the ball", cost)


def normal(problem: Problem) -> Solution | None:
    """All of Rᵐ with a squared loss wᵀRw: the Gaussian with covariance (R⁻¹ # K)/√ϱ."""
    if not isinstance(problem.support, Reals) or problem.loss is None or problem.loss.weight is None:
        return None
    R, K = problem.loss.weight, problem.sensitivity
    shape = geometric_mean(R, K)  # the covariance at ϱ = 1, where the loss is Tr(R·shape)
    at_one = float(np.trace(R @ shape))
    weight = _weight(problem, at_one, 2)
    residual = shape @ R @ shape - K
    if not (np.abs(residual) <= 1e-8 * np.sqrt(np.diag(K)) * np.sqrt(np.diag(K))[:, None]).all():
        raise InputError(
            "sensitivity and loss are too ill-conditioned for double precision: rescale or decorrelate them"
        )
    covariance = shape / math.sqrt(weight) if problem.max_loss is None else shape * (problem.max_loss / at_one)
    cost = at_one * math.sqrt(weight)  # Tr(K Σ⁻¹) = √ϱ Tr(R·shape), as shape·R·shape = K
    return Solution(Gaussian((covariance + covariance.T) / 2), "Gaussian", "corollary 6, corrected", cost, weight)


def unbounded_separable(problem: Problem) -> Solution | None:
    """Half-lines and lines, and products of them in coordinates that make K and the loss diagonal."""
    form, loss = problem.support.product_form, problem.loss
    if form is None or loss is None:
        return None
    N, sets = form
    inverse = np.linalg.inv(N)
    K = N @ problem.sensitivity @ N.T
    R = np.abs(inverse) if loss.weight is None else inverse.T @ loss.weight @ inverse
    if not (is_diagonal(K) and is_diagonal(R)):
        return None
    k, r, absolute = np.diag(K), np.diag(R), loss.weight is None
    families = [_on_line(side, absolute=absolute) for side in sets]
    if any(family is None for family in families):
        return None
    power = 3 if absolute else 2
    at_one = [family(ki, ri, 1.0) for family, ki, ri in zip(families, k, r, strict=True) if family]
    kind = "absolute" if absolute else "squared"
    total = sum(ri * noise.expected_loss(kind) for noise, ri in zip(at_one, r, strict=True))
    weight = _weight(problem, total, power)
    factors = [family(ki, ri, weight) for family, ki, ri in zip(families, k, r, strict=True) if family]
    if len(factors) == 1:
        name = "Airy" if absolute else "Maxwell"
        return Solution(factors[0], name, "ground state of the line or half-line", _cost(K, factors), weight)
    noise, how = _in_coordinates(N, factors), "product of one-dimensional ground states"
    return Solution(noise, how, "separation of variables", _cost(K, factors), weight)


def geometric_mean(R: Array, K: Array) -> Array:
    """Give R⁻¹ # K, the positive definite S with S R S = K.

    With R = LLᵀ it is L⁻ᵀ(LᵀKL)^½L⁻¹; coordinates are first scaled so that R has a unit diagonal.

    >>> geometric_mean(np.diag([1.0, 4.0]), np.diag([9.0, 16.0]))
    array([[3., 0.],
           [0., 2.]])
    """
    unit = 1 / np.sqrt(np.diag(R))
    L = np.linalg.cholesky(R * unit * unit[:, None])
    values, vectors = np.linalg.eigh(L.T @ (K / unit / unit[:, None]) @ L)
    root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    half = np.linalg.solve(L.T, root)
    return np.asarray(np.linalg.solve(L.T, half.T) * unit * unit[:, None])


def _cost(K: Array, factors: list[RaisedCosine] | list[Noise]) -> float:
    """Tr(K I_w) of independent factors."""
    return float(sum(k * f.information[0, 0] for k, f in zip(np.diag(K), factors, strict=True)))


def _on_line(side: Support, *, absolute: bool) -> Callable[[float, float, float], Noise] | None:
    """Give the family (K, R, ϱ) ↦ noise of least K·I_w + ϱR·E ℓ on a one-dimensional set, if it is known."""
    if isinstance(side, Reals):
        if absolute:
            return lambda k, r, weight: Airy((4 * k / (weight * r)) ** (1 / 3))
        return lambda k, r, weight: Gaussian(math.sqrt(k / (weight * r)))
    if isinstance(side, HalfLine) and side.end == 0 and not absolute:
        sign = 1.0 if side.high is None else -1.0

        def maxwell(k: float, r: float, weight: float) -> Noise:
            noise = Maxwell((k / (weight * r)) ** 0.25)
            return noise if sign > 0 else LinearImage(noise, [[-1.0]])

        return maxwell
    return None


def _weight(problem: Problem, loss_at_one: float, power: int) -> float:
    """Give ϱ: the one asked for, or the one at which a loss that falls as ϱ^(−1/power) meets its bound."""
    if problem.loss_weight is not None:
        return problem.loss_weight
    assert problem.max_loss is not None, "a quality problem has a weight or a bound"
    return (loss_at_one / problem.max_loss) ** power


def _in_coordinates(N: Array, factors: list[RaisedCosine] | list[Noise]) -> Noise:
    """Give the noise whose coordinates N w are independent draws of the factors."""
    product = Product(tuple(factors))
    return product if np.array_equal(N, np.eye(len(factors))) else LinearImage(product, np.linalg.inv(N))


def closed_form(problem: Problem) -> Noise | None:
    """Give the certified noise from the catalogue, or None."""
    solution = _without_weight(problem)
    if solution is None and problem.loss is not None:  # P3, or P4 when its bound binds
        solution = normal(problem) or unbounded_separable(problem)
    return None if solution is None else _certified(problem, solution)


def _without_weight(problem: Problem) -> Solution | None:
    """Solve P2, or P4 when its bound does not bind."""
    if problem.loss_weight is not None or not problem.support.is_bounded:
        return None
    solution = bounded_separable(problem) or ellipsoidal(problem)
    if solution is None or problem.max_loss is None:
        return solution
    try:
        slack = solution.noise.expected_loss(problem.loss) <= problem.max_loss
    except NoClosedFormError:  # the noise is known but not this mean: a numerical one knows its own
        return None
    return replace(solution, form=f"{solution.form}; the bound on the loss does not bind") if slack else None


def _certified(problem: Problem, solution: Solution) -> Noise:
    information = float(np.trace(problem.sensitivity @ solution.noise.information))
    if not abs(information - solution.cost) <= 1e-8 * solution.cost:
        raise InputError("support and query are too ill-conditioned for double precision: rescale or decorrelate them")
    value, method = problem.value_of(solution.noise), f"closed form: {solution.form}"
    return problem.certified(solution.noise, value, method, solution.reference, solution.loss_weight)
