"""P1: the largest Tr I⁻¹ under a cap, by ascent from several starts.

Without a cap there is in general no maximum. With one, a maximum under caps c_k(I) ≤ 0 is stationary (theorem 1 with
multipliers): its noise is the ground state for K = C G Cᵀ, G = I⁻² + Σ μ_k ∇c_k, μ_k ≥ 0, and μ_k = 0 where c_k < 0.
Every noise worth having is the ground state of some G, so the ascent runs over G; solving the conditions themselves,
self-consistently, finishes it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.optimize import root as find_root

from errorfloor.checks import Array
from errorfloor.designer.numerical import solve
from errorfloor.designer.problem import ErrorProblem, GroundState, Progress, longest_direction
from errorfloor.errors import ConvergenceError, IllPosedError
from errorfloor.noise import ErrorCertificate, Noise

STATIONARY = 1e-6
AGREE = 1e-4  # values of two ascents that are taken for one
COARSE, FINE = 1e-2, 1e-5  # relative changes of a ground state at which its refinement stops


def largest_error(asked: ErrorProblem, progress: Progress | None = None) -> Noise:
    """Give the noise of largest Tr I⁻¹ that was found, with its report; the best of several starts."""
    coarse = Ascent(asked, COARSE)
    least = coarse.at(np.eye(len(asked.C)))[1]
    frame = np.linalg.inv(least) * float(np.trace(least)) / len(least)  # of about unit size, in which I is about Id
    ends: list[Candidate] = []
    for tried, G in enumerate(_starts(asked, least)):
        if progress is not None:
            progress("ascent", tried / 5)
        if len(ends) == 2 and tried == 2 and abs(ends[0].value / ends[1].value - 1) < AGREE:
            break  # two unlike starts lead to one place
        found = coarse.climb(G, frame)
        if found is not None:
            ends.append(found)
    best = max(ends, key=lambda end: end.value, default=None)
    if best is None:
        what = "every I_ii" if asked.information_cap else "the condition number of I"
        raise IllPosedError(
            f"no noise was found that keeps {what} at or below the cap of "
            f"{asked.information_cap or asked.condition_cap:g}; noise of least information exceeds it by a factor of "
            f"{1 + float(asked.excess(least).max()):.6g}: raise the cap"
        )
    fine = Ascent(asked, FINE)
    final = fine.polished(best)
    if final is None or final.residual > STATIONARY:
        raise ConvergenceError("the conditions for a maximum of Tr I⁻¹ were not met to 1e-6: try another cap")
    plain = Ascent(asked, FINE).at(np.eye(len(asked.C)))[1]
    report = ErrorCertificate(
        value=final.value,
        method=f"ascent from {len(ends)} starts; {final.state.method}",
        reference="theorem 1, with multipliers for the cap",
        supremum=asked.supremum,
        least_information_value=float(np.trace(np.linalg.inv(plain))),
        cap_binds=bool(final.multipliers.max() > 1e-6),
        stationarity=final.residual,
        per_entry=1 / np.sqrt(np.diag(final.information)),
    )
    return replace(final.state.noise, certificate=report)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Where an ascent ended: Tr I⁻¹, M = I⁻², and estimates of the caps' multipliers."""

    value: float
    M: Array
    multipliers: Array


@dataclass(frozen=True, eq=False)
class Stationary:
    """A noise that meets the conditions for a maximum to ``residual``."""

    state: GroundState
    information: Array
    multipliers: Array
    residual: float

    @property
    def value(self) -> float:
        """Tr I⁻¹."""
        return float(np.trace(np.linalg.inv(self.information)))


class Ascent:
    """Ground states for K = C G Cᵀ on one discretisation."""

    def __init__(self, asked: ErrorProblem, tolerance: float) -> None:
        self.asked, self.tolerance = asked, tolerance
        self._kept: GroundState | None = None

    def at(self, G: Array) -> tuple[GroundState, Array]:
        """The ground state and its information about the data."""
        C = self.asked.C
        K = C @ G @ C.T
        options: dict[str, Any] = {"tolerance": self.tolerance, "certify": False}
        state = solve(self.asked.support, (K + K.T) / 2, start=self._kept, **options)
        self._kept = state
        information = C.T @ state.noise.information @ C
        return state, np.asarray((information + information.T) / 2)

    def climb(self, G: Array, frame: Array) -> Candidate | None:
        """Ascend over G = frame·LLᵀ·frameᵀ, L lower triangular with a first entry of 1, from G on.

        None where the caps cannot be kept, or the way leads into weights that no ground state is found for.
        """
        n = len(G)
        lower = np.tril_indices(n)
        inverse = np.linalg.inv(frame)
        L = np.linalg.cholesky(inverse @ G @ inverse.T)
        seen: dict[bytes, Array] = {}

        def weight(x: Array) -> Array:
            root = np.zeros((n, n))
            root[lower] = np.insert(x, 0, 1.0)
            return np.asarray(frame @ (root @ root.T + 1e-5 * np.eye(n)) @ frame.T)

        def information(x: Array) -> Array:
            if x.tobytes() not in seen:
                seen[x.tobytes()] = self.at(weight(x))[1]
            return seen[x.tobytes()]

        start = (L[lower] / L[0, 0])[1:]
        try:
            unit = float(np.trace(np.linalg.inv(information(start))))
            found = minimize(
                lambda x: -float(np.trace(np.linalg.inv(information(x)))) / unit,
                start,
                method="SLSQP",
                constraints={"type": "ineq", "fun": lambda x: -self.asked.excess(information(x))},
                options={"maxiter": 60, "ftol": 1e-6, "eps": 1e-5},
            )
            reached = information(found.x)
        except ConvergenceError:
            return None
        if (self.asked.excess(reached) > 1e-3).any():
            return None
        M = np.linalg.inv(reached @ reached)
        return Candidate(float(np.trace(np.linalg.inv(reached))), M, self._multipliers(weight(found.x), reached))

    def _multipliers(self, G: Array, information: Array) -> Array:
        """The μ ≥ 0 with I⁻² + Σ μ∇c nearest to a multiple of G, seen in coordinates in which I = Id."""
        near = self.asked.excess(information) > -1e-2
        turned = [
            information @ slope @ information * here
            for slope, here in zip(self.asked.slopes(information), near, strict=True)
        ]
        size = [float(np.linalg.norm(t)) or 1.0 for t in turned]
        weight = information @ G @ information
        columns = np.column_stack(
            [(weight / np.trace(weight)).ravel(), *(-(t / s).ravel() for t, s in zip(turned, size, strict=True))]
        )
        return np.asarray(nnls(columns, np.eye(len(G)).ravel())[0][1:] / size)

    def polished(self, candidate: Candidate) -> Stationary | None:
        """Solve M = I⁻² and the caps' conditions by quasi-Newton steps, in coordinates in which M is about Id.

        The residual is that of these conditions: relative in every direction, however flat the noise.
        """
        n = len(candidate.M)
        values, vectors = np.linalg.eigh(candidate.M)
        B, inverse = (np.asarray(vectors * np.sqrt(values) ** sign) for sign in (1, -1))  # M = BBᵀ, inverseᵀ·B = Id
        sizes = [np.linalg.norm(inverse.T @ slope @ inverse) for slope in self.asked.slopes(_inverse_root(candidate.M))]
        upper = np.triu_indices(n)
        count = len(upper[0])
        last: list[tuple[GroundState, Array]] = []

        def parts(x: Array) -> tuple[Array, Array]:
            half = np.zeros((n, n))
            half[upper] = x[:count]
            return half + np.triu(half, 1).T, x[count:]

        def conditions(x: Array) -> Array:
            X, nu = parts(x)
            if np.linalg.eigvalsh(X)[0] <= 0:
                return np.full(x.size, 1.0)
            M = B @ X @ B.T
            slopes = zip(nu, sizes, self.asked.slopes(_inverse_root(M)), strict=True)
            G = M + sum((v / size * slope for v, size, slope in slopes), np.zeros((n, n)))
            if np.linalg.eigvalsh(G)[0] <= 1e-9 * float(np.trace(G)):
                return np.full(x.size, 1.0)
            try:
                last[:] = [self.at(G / np.trace(G))]
            except ConvergenceError:  # a step into nearly singular weights: turn back
                return np.full(x.size, 1.0)
            information = last[0][1]
            wanted = inverse.T @ np.linalg.inv(information @ information) @ inverse
            room = -self.asked.excess(information)
            # Fischer and Burmeister: zero where ν ≥ 0, room ≥ 0 and one of them is zero
            together = nu + room - np.sqrt(nu**2 + room**2)
            return np.concatenate([(X - wanted)[upper], together])

        start = np.concatenate([np.eye(n)[upper], candidate.multipliers * sizes])
        for _ in range(3):  # a fresh Jacobian where quasi-Newton steps stalled
            found = find_root(conditions, start, method="hybr", options={"xtol": 1e-10, "eps": 1e-6, "maxfev": 120})
            start, residual = found.x, conditions(found.x)
            if np.abs(residual).max() <= STATIONARY / 10:
                break
        state, information = last[0]
        if not np.isfinite(residual).all() or (self.asked.excess(information) > 1e-7).any():
            return None
        return Stationary(state, information, np.maximum(parts(found.x)[1], 0.0), float(np.abs(residual).max()))


def _inverse_root(M: Array) -> Array:
    """The information I that M = I⁻² stands for."""
    values, vectors = np.linalg.eigh(M)
    return np.asarray((vectors * np.maximum(values, 1e-300) ** -0.5) @ vectors.T)


def _starts(asked: ErrorProblem, least: Array) -> list[Array]:
    """The self-consistent weight of the least informative noise, weights along the longest chord, and the identity."""
    n = len(least)
    d = longest_direction(asked.support, asked.C)
    along = np.outer(d, d)
    consistent = np.linalg.inv(least @ least)
    chords = [along + share**2 * (np.eye(n) - along) for share in (0.3, 0.1)]
    return [consistent / np.trace(consistent) * n, chords[0], np.eye(n), chords[1]]
