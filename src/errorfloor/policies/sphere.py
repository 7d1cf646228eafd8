"""Great circles between neighbouring laws, in arithmetic that is the same on every machine.

Between nodes v = √p moves on the great circle through its neighbours at constant speed ("slerp"): with θ their angle
and t from 0 to 1, v = αv₀ + βv₁, α = sin((1 − t)θ)/sin θ, β = sin(tθ)/sin θ. The law v² is a mixture of three fixed
laws, p₀, p₁ and √(p₀p₁)/ρ, with weights α², β² and 2αβρ, ρ = cos θ.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from errorfloor.checks import Array

# sin(x)/x in powers of x², to 2·10⁻¹⁷ on [0, π/2]
COEFFICIENTS = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(12))


def sine_ratio(square: Any) -> Array:
    """sin(x)/x from x², by Horner's rule in plain double operations, so that no library's sine decides a digit.

    >>> float(abs(sine_ratio(0.25) - math.sin(0.5) / 0.5)) < 2e-16
    True
    """
    square = np.asarray(square, dtype=float)
    total: Array = np.full_like(square, COEFFICIENTS[-1])
    for coefficient in COEFFICIENTS[-2::-1]:
        total *= square
        total += coefficient
    return total


def angles(roots: Array) -> Array:
    """The angles between neighbouring unit rows, from their distances; sums are correctly rounded.

    >>> angles(np.array([[1.0, 0.0], [0.0, 1.0]])).round(12).tolist()
    [1.570796326795]
    """
    distance = np.array([math.sqrt(math.fsum(row)) for row in (np.diff(roots, axis=0) ** 2).tolist()])
    half = distance / 2 * (1 + distance**2 / 24)
    for _ in range(4):  # Newton's method for sin(half) = distance/2
        sine = half * sine_ratio(half**2)
        half = half - (sine - distance / 2) / np.sqrt(1 - sine**2)
    return np.asarray(2 * half)


def weights(angle: Array, t: Array) -> tuple[Array, Array]:
    """α and β at the share t of the way along an angle.

    >>> a, b = weights(np.array(0.0), np.array(0.25))
    >>> float(a), float(b)
    (0.75, 0.25)
    """
    below = sine_ratio(angle**2)
    rest = 1 - t
    return rest * sine_ratio((rest * angle) ** 2) / below, t * sine_ratio((t * angle) ** 2) / below


def largest_between(laws: Array, angle: Array, costs: list[Array]) -> Array:
    """Bound from above, for each step, the largest mean cost on the way from one node to the next.

    ``costs[k]`` holds, for every step and cell, a cost that is convex in s at the share k/K of the way, k = 0 … K. On
    each of the K pieces the mean is at most the larger of its ends and ``bends`` above it.
    """
    ends, above = means(laws, angle, costs), bends(laws, angle, costs)
    return np.asarray((np.maximum(ends[:-1], ends[1:]) + above).max(axis=0) * (1 + 1e-12))


def means(laws: Array, angle: Array, costs: list[Array]) -> Array:
    """The mean cost at the shares k/K of the way along each step, (K + 1, steps)."""
    roots, pieces = np.sqrt(laws), len(costs) - 1
    found = []
    for k, cost in enumerate(costs):
        a, b = weights(angle, np.full_like(angle, k / pieces))
        v = a[:, None] * roots[:-1] + b[:, None] * roots[1:]
        found.append((cost * v**2).sum(axis=1))
    return np.stack(found)


def bends(laws: Array, angle: Array, costs: list[Array]) -> Array:
    """Bound by how much the mean cost can rise above its chord on each of the K pieces of every step, (K, steps).

    On a piece cost is at most its chord, so the mean is at most g(u) = (1 − u)⟨v, D v⟩ + u⟨v, D′ v⟩; g stays below its
    own chord plus ⅛ sup|g″|. On a great circle ⟨v, D v⟩ = m + ϱ cos(2φ + …) with ϱ the half difference of D's
    eigenvalues on the plane, so |g″| ≤ 4φ²max(ϱ_D, ϱ_D′) + 4φ ϱ_{D′−D}, φ the piece's angle.
    """
    roots = np.sqrt(laws)
    first, second = roots[:-1], roots[1:]
    across = second - np.cos(angle)[:, None] * first
    length = np.sqrt((across**2).sum(axis=1))
    across = np.where(length[:, None] > 0, across / np.where(length > 0, length, 1.0)[:, None], 0.0)

    def spread(cost: Array) -> Array:
        here = (cost * first**2).sum(axis=1)
        there = (cost * across**2).sum(axis=1)
        mixed = (cost * first * across).sum(axis=1)
        return np.asarray(np.hypot((here - there) / 2, mixed))

    phi = angle / (len(costs) - 1)
    spreads = [spread(cost) for cost in costs]
    turned = np.stack([np.maximum(one, other) for one, other in pairwise(spreads)])
    moved = np.stack([spread(other - one) for one, other in pairwise(costs)])
    return np.asarray((4 * phi**2 * turned + 4 * phi * moved) / 8)
