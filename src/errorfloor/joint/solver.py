"""The best normal part of a joint noise in one block, for any answers of up to a few hundred cells.

Minimises max_m δ_mᵀ(Σ⁻¹ + Σ_j F(s_j)T_jᵀT_j)δ_m over covariances Σ, with s_j² = T_jΣT_jᵀ in units of the bounds and
F(s) what a taper costs, and with Σ_j ℓ(s_j) ≤ ln 2 for the attempts. At weights p on the moves it is stationary where

    Σ M Σ = P,   P = Σ p_m δ_mδ_mᵀ,   M = Σ_j λ_j T_jᵀT_j,
    λ_j = (w_j F′(s_j) + μ ℓ′(s_j))/(2s_j),   w_j = Σ p_m (T_jδ_m)²,

which the geometric mean of M⁻¹ and P solves; weights and multipliers are found by repetition. Nothing here needs to
be exact: what is promised is computed afterwards from the factor that is drawn with.
"""

import math

import numpy as np

from errorfloor.blas import one_thread
from errorfloor.checks import Array
from errorfloor.joint.taper import cost_and_loss

ATTEMPTS = 0.9 * math.log(2)  # −ln of the guaranteed share of accepted attempts, at most
DAMPING, ROUNDS = 0.12, 240
MODERATE = 150  # cells: with more of them there are fewer rounds
ENOUGH, PATIENCE = 2e-4, 40  # it ends once forty rounds have gained less than this share
WIDE, NEAR = np.geomspace(0.15, 0.6, 61), np.geomspace(0.94, 1.06, 7)  # sizes against the bounds; around the last one


@one_thread()
def best_covariance(rows: Array, moves: Array, first: Array | None = None) -> Array:
    """Give Σ for answers ``rows`` (q × n, in units of their bounds) and ``moves`` (n × m), the best that is met.

    >>> both = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> covariance = best_covariance(both, np.eye(2))
    >>> bool(covariance[0, 1] < 0 < covariance[0, 0])
    True
    """
    n, m = moves.shape
    shown = (rows @ moves) ** 2
    weights = np.full(m, 1 / m)
    pull = np.ones(len(rows))
    found, sizes, wish, since = (math.inf, np.eye(n)), WIDE, 1e-3, 0
    covariance = _geometric_mean(rows, np.ones(len(rows)), moves, weights) if first is None else first
    for _ in range(max(40, min(ROUNDS, int(ROUNDS * (MODERATE / n) ** 2)))):
        deviation = np.sqrt(((rows @ covariance) * rows).sum(axis=1))
        precise = (np.linalg.solve(np.linalg.cholesky(covariance), moves) ** 2).sum(axis=0)
        value, scale, each = best_size(precise, deviation, shown, sizes)
        since = 0 if value < (1 - ENOUGH) * found[0] else since + 1
        if value < found[0]:
            found = (value, scale**2 * covariance)
        if since > PATIENCE:
            break
        s = scale * deviation
        sizes = s.max() * NEAR
        cost, loss = cost_and_loss(s)
        more_cost, more_loss = cost_and_loss(1.01 * s)
        wish *= math.exp(min(0.2, 0.2 * (float(loss.sum()) / ATTEMPTS - 0.99)))
        bend = (shown @ weights) * (more_cost - cost) + wish * value * (more_loss - loss)
        wanted = np.maximum(bend, 1e-12 * bend.max()) / (0.02 * s * s)
        pull = pull ** (1 - DAMPING) * wanted**DAMPING
        weights = weights * (each / each.max()) ** (4 * DAMPING)
        weights /= weights.sum()
        covariance = _geometric_mean(rows, pull, moves, weights)
    return found[1]


def best_size(precise: Array, deviation: Array, shown: Array, sizes: Array = WIDE) -> tuple[float, float, Array]:
    """Give the least worst information over sizes of the noise, the factor to that size, and each move's information.

    ``precise`` is δᵀΣ⁻¹δ of each move, ``deviation`` that of each answer, ``shown`` (T_jδ)²; a size is the largest
    deviation in units of the bounds.
    """
    best: tuple[float, float, Array] | None = None
    for scale in sizes / deviation.max():
        cost, loss = cost_and_loss(scale * deviation)
        each = precise / scale**2 + cost @ shown
        value = float(each.max()) * max(1.0, float(loss.sum()) / ATTEMPTS)  # too many attempts are paid for
        if best is None or value < best[0]:
            best = (value, float(scale), each)
    assert best is not None
    return best


def _geometric_mean(rows: Array, pull: Array, moves: Array, weights: Array) -> Array:
    scale = np.trace(rows.T @ (rows * pull[:, None])) / rows.shape[1]
    below = np.linalg.cholesky(rows.T @ (rows * pull[:, None]) + 1e-7 * scale * np.eye(rows.shape[1]))
    spread = moves @ (moves * weights).T
    spread += 1e-7 * np.trace(spread) / len(spread) * np.eye(len(spread))
    values, vectors = np.linalg.eigh(below.T @ spread @ below)
    across = np.linalg.solve(below.T, vectors * np.sqrt(np.sqrt(np.maximum(values, 0.0))))
    return np.asarray(across @ across.T)
