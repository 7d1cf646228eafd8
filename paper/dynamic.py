"""Section 4: trajectories, and the traffic example."""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.dynamics import LinearSystem
from paper.model import Claim, Drawing, Shown

STATE, OUTPUT = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])


def stacked(horizon: int) -> Array:
    """Ψ of the vehicle: rows C Aᵏ, k = 0 … T.

    >>> stacked(2)
    array([[1., 0.],
           [1., 1.],
           [1., 2.]])
    """
    rows = [OUTPUT]
    for _ in range(horizon):
        rows.append(rows[-1] @ STATE)
    return np.vstack(rows)


def best_covariance(horizon: int, weight: float = 1.0) -> Array:
    """Σ = (ΨᵀΨ)^(−½)/√ϱ, the noise on the initial state.

    >>> bool(np.allclose(best_covariance(1) @ best_covariance(1), np.linalg.inv([[2, 1], [1, 1]])))
    True
    """
    return LinearSystem(STATE, OUTPUT, horizon).protect(loss_weight=weight).covariance


def loss_and_floor(horizon: int, weight: float = 1.0) -> tuple[float, float]:
    """Q and Tr I⁻¹ in closed form, from e₊ and e₋ without the cancelling difference.

    >>> [round(number, 6) for number in loss_and_floor(1)]
    [2.236068, 2.236068]
    """
    T = float(horizon)
    D = 4 * T**4 + 4 * T**3 + 13 * T**2 - 12 * T + 36
    plus = math.sqrt((T + 1) * (2 * T**2 + T + 6 + math.sqrt(D)))
    minus = (T + 1) * math.sqrt(12 * T * (T + 2)) / plus
    root = math.sqrt(weight)
    return (plus + minus) / (2 * math.sqrt(3) * root), 2 * math.sqrt(3) / root * (1 / plus + 1 / minus)


def by_matrices(horizon: int, weight: float = 1.0) -> tuple[float, float]:
    """Q = E‖Ψz‖² and Tr I⁻¹ by matrices alone; the small eigenvalue comes from the determinant.

    >>> [round(number, 6) for number in by_matrices(1)]
    [2.236068, 2.236068]
    """
    gramian = stacked(horizon).T @ stacked(horizon)
    product = math.sqrt(float(gramian[0, 0] * gramian[1, 1] - gramian[0, 1] * gramian[1, 0]))
    total = math.sqrt(float(np.trace(gramian)) + 2 * product)  # (Tr √G)² = Tr G + 2√det G for 2×2 matrices
    return total / math.sqrt(weight), total / product / math.sqrt(weight)


def dynamic_bound() -> Claim:
    """The factor (T + 1)²."""
    horizon = 10
    found = LinearSystem(STATE, OUTPUT, horizon).protect(loss_weight=1.0).floor
    loss, error = by_matrices(horizon)
    lower = 4 / float(np.trace(found.information))
    return Claim(
        "Section 4, bound on the initial state",
        "Cramér–Rao for trajectories",
        "E‖x̂₀ − x₀‖² ≥ Tr I⁻¹ ≥ (T + 1)²n²/Tr I",
        "Tr I⁻¹ ≥ n²/Tr I: x₀ has n entries, however many answers there are. (And γ is a density on R^{m(T+1)}, not "
        "R^{n(T+1)})",
        "corrected",
        (
            Shown(
                "n²/Tr I for the vehicle, T = 10, ϱ = 1",
                lower,
                4 / loss,
                "Tr I = Q at ϱ = 1, by matrices",
                printed=121 * lower,
            ),
            Shown("Tr I⁻¹ itself: the printed bound is above it", found.total**2, error, "matrices"),
        ),
        "The printed bound promises (T + 1)² too much, here 121 times, and contradicts the bound it is derived from.",
    )


def theorem_four() -> Claim:
    """The covariance of the noise on the initial state."""
    from scipy.optimize import minimize

    horizon, weight = 5, 2.0
    gramian = stacked(horizon).T @ stacked(horizon)

    def cost(S: Array) -> float:
        return float(np.trace(np.linalg.inv(S)) + weight * np.trace(gramian @ S))

    def of_entries(entries: Array) -> float:
        L = np.array([[math.exp(entries[0]), 0.0], [entries[1], math.exp(entries[2])]])
        return cost(L @ L.T)

    best = best_covariance(horizon, weight)
    found = minimize(of_entries, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    return Claim(
        "Theorem 4",
        "noise for a trajectory",
        "w = Ψz with z ~ N(0, Σ), Σ = 2(ΨᵀΨ)^(−½)/√ϱ",
        "Σ = (ΨᵀΨ)^(−½)/√ϱ: a factor ¼ is lost in the proof when D²ū is taken. One z for the whole trajectory is "
        "right. Optimal among oblivious policies",
        "corrected",
        (
            Shown(
                "J + ϱQ at the optimum, T = 5, ϱ = 2",
                cost(best),
                float(found.fun),
                "numerical minimisation over Σ",
                printed=cost(2 * best),
            ),
            Shown(
                "cost of the printed Σ over the optimum",
                cost(2 * best) / cost(best),
                (0.5 + 2) / 2,
                "(½ + 2)/2",
                "1.25",
            ),
        ),
        "The printed noise costs a quarter more than the optimum.",
    )


def remark_eight() -> Claim:
    """How long a horizon makes the Gramian invertible."""
    chain = np.eye(4) + np.diag(np.ones(3), 1)  # four states in a row, the first one seen
    enough = min(T for T in range(1, 5) if LinearSystem(chain, np.eye(1, 4), T).observable.shape[1] == 4)
    least = min(T for T in range(1, 3) if LinearSystem(STATE, OUTPUT, T).observable.shape[1] == 2)
    return Claim(
        "Remark 8",
        "when ΨᵀΨ is invertible",
        "if (A, C) is observable and T ≥ n; in the traffic example, if T > 2",
        "T ≥ n − 1 is enough, since Ψ then holds C, CA, …, CA^{n−1}; in the traffic example T ≥ 1",
        "corrected",
        (
            Shown("least horizon for four states in a row", float(enough), 4.0 - 1, "n − 1", "3", printed=4.0),
            Shown("least horizon for the vehicle", float(least), 2.0 - 1, "n − 1", "1", printed=3.0),
        ),
    )


def traffic_formulas() -> Claim:
    """Quality and floor in closed form."""
    horizon = 20
    loss, error = loss_and_floor(horizon)
    matrix_loss, matrix_error = by_matrices(horizon)
    path = stacked(horizon) @ best_covariance(horizon) @ stacked(horizon).T
    return Claim(
        "Example 4, quality and privacy",
        "traffic crowd-sensing in closed form",
        "Q = (e₊ + e₋)/√(3ϱ) and floor 4√3/√ϱ·(1/e₊ + 1/e₋)",
        "half of each: Q = (e₊ + e₋)/(2√(3ϱ)), floor 2√3/√ϱ·(1/e₊ + 1/e₋), as T4's 2 goes. For long horizons use "
        "e₋ = (T + 1)√(12T(T + 2))/e₊; the printed difference cancels",
        "corrected",
        (
            Shown(
                "Q for T = 20, ϱ = 1", loss, float(np.trace(path)), "trace of the covariance of Ψz", printed=2 * loss
            ),
            Shown("… by the determinant", loss, matrix_loss, "matrices", printed=2 * loss),
            Shown("floor Tr I⁻¹", error, matrix_error, "matrices", printed=2 * error),
        ),
        "Quality and floor are both printed twice too large.",
        (
            Drawing(
                "traffic",
                "Traffic example, ϱ = 1: quality and floor over the horizon, printed and corrected, with the "
                "asymptotic slopes. The printed rate T^(−3/2) for the floor is not that of its own formula.",
            ),
        ),
    )


def traffic_growth() -> Claim:
    """Growth with the horizon."""
    far = 10**6
    loss, error = loss_and_floor(far)
    slope = math.log(loss_and_floor(2 * far)[1] / error, 2)
    kept = [by_matrices(T, weight=4 / T) for T in (20_000, 40_000)]
    rule = [by_matrices(T, weight=T**-1.5) for T in (20_000, 40_000)]
    return Claim(
        "Example 4, growth with the horizon",
        "what a constant floor costs",
        "the floor is O(T^(−3/2)/√ϱ); ϱ ∝ T^(−3/2) keeps it constant, and then Q = O(T³)",
        "Q ~ T^(3/2)/√(3ϱ) and the floor ~ 2/√(ϱT): a constant floor needs ϱ ∝ 1/T, and then Q ∝ T². Under the "
        "printed rule the floor grows as T^¼ and Q as T^(9/4); and the printed floor would have needed ϱ ∝ T^(−3), "
        "not T^(−3/2)",
        "corrected",
        (
            Shown("exponent of the floor in T", slope, -0.5, "limit", "-0.50", printed=-1.5, tolerance=1e-5),
            Shown("floor·√(ϱT) for T = 10⁶: 2", error * math.sqrt(far), 2.0, "limit", "2.00", tolerance=1e-5),
            Shown(
                "Q·√(3ϱ)/T^(3/2) for T = 10⁶: 1", loss * math.sqrt(3) / far**1.5, 1.0, "limit", "1.00", tolerance=1e-5
            ),
            Shown(
                "floor for T = 40 000 over that for 20 000, ϱ = 4/T",
                kept[1][1] / kept[0][1],
                1.0,
                "limit",
                "1.00",
                tolerance=1e-4,
            ),
            Shown(
                "exponent of Q then",
                math.log2(kept[1][0] / kept[0][0]),
                2.0,
                "limit",
                "2.00",
                printed=3.0,
                tolerance=1e-4,
            ),
            Shown(
                "exponent of the floor under the printed rule",
                math.log2(rule[1][1] / rule[0][1]),
                0.25,
                "limit",
                "0.25",
                printed=0.0,
                tolerance=1e-3,
            ),
            Shown(
                "exponent of Q under the printed rule",
                math.log2(rule[1][0] / rule[0][0]),
                2.25,
                "limit",
                "2.25",
                printed=3.0,
                tolerance=1e-3,
            ),
        ),
        "Keeping a driver's home private over a long trip is much cheaper than printed.",
        further=True,
    )
