"""Orthogonal polynomials on the unit ball, with derivatives, from three-term recurrences.

With s_j² = 1 − y₁² − … − y_{j−1}² and Gegenbauer polynomials C_k^λ made homogeneous, H_k^λ(y, s²) = s^k C_k^λ(y/s), the
products Π_j H_{α_j}^{λ_j}(y_j, s_j²), λ_j = 5/2 + Σ_{i>j} α_i + (m−j)/2, are orthogonal with the weight (1 − |y|²)²:
times 1 − |y|² they are an orthogonal basis of functions that vanish on the sphere (Dunkl and Xu, section 5.2).
"""

import itertools
import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.simplices import sealed

MU = 2.5
SLICE = 1 << 12  # points that are worked on at once


@lru_cache(maxsize=64)
def total_degrees(dimension: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """All exponents of at most this total degree.

    >>> total_degrees(2, 1)
    ((0, 0), (0, 1), (1, 0))
    """
    return tuple(a for a in itertools.product(range(degree + 1), repeat=dimension) if sum(a) <= degree)


def squared_norm(alpha: tuple[int, ...]) -> float:
    """∫ of the square of 1 − |y|² times the basis polynomial, over the unit ball."""
    logarithm = 0.0
    for j, k in enumerate(alpha):
        parameter = MU + sum(alpha[j + 1 :]) + (len(alpha) - 1 - j) / 2
        logarithm += (
            math.log(math.pi)
            + (1 - 2 * parameter) * math.log(2)
            + math.lgamma(k + 2 * parameter)
            - math.lgamma(k + 1)
            - math.log(k + parameter)
            - 2 * math.lgamma(parameter)
        )
    return math.exp(logarithm)


def basis_jets(y: Array, degree: int, order: int, every: int = 1) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Every exponent with the values of (1 − |y|²)·polynomial at points y of shape (m, points), and derivatives.

    Only exponents that are multiples of ``every`` in each coordinate are given. ``order`` 0 gives values, 1 gradients
    after them, 2 the second derivatives (1,1), (1,2) … after those; all along the first axis.
    """
    coordinates, squares = _frame(y, order)
    yield from _factors(coordinates, squares, degree, len(y), (), squares[-1], every)


def _factors(
    coordinates: list[Array],
    squares: list[Array],
    degree: int,
    j: int,
    later: tuple[int, ...],
    so_far: Array,
    every: int,
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Multiply in the factors of the coordinates from the last to the first."""
    if j == 0:
        yield later, so_far
        return
    m, power = len(coordinates), sum(later)
    factors = _homogeneous(coordinates[j - 1], squares[j - 1], degree - power, MU + power + (m - j) / 2, m)
    for k in range(0, len(factors), every):
        yield from _factors(coordinates, squares, degree, j - 1, (k, *later), _times(so_far, factors[k], m), every)


def combination(coefficients: Array, y: Array, degree: int, order: int = 0) -> Array:
    """Sum basis functions with coefficients in the order of ``total_degrees``.

    A factor depends on its own exponent and on the sum of the later ones only, so the sum over α_1 is taken first, for
    all others at once, then that over α_2, and so on. What has no coefficients is left out.

    >>> combination(np.array([1.0, 0.0, 1.0]), np.array([[0.5], [0.0]]), 1).tolist()  # (1 − |y|²)(1 + 6 y₁)
    [[3.0]]
    """
    parts = [
        _combined(coefficients, np.ascontiguousarray(y[:, k : k + SLICE]), degree, order)
        for k in range(0, max(1, y.shape[1]), SLICE)
    ]
    return np.concatenate(parts, axis=1) if len(parts) != 1 else parts[0]


def _combined(coefficients: Array, y: Array, degree: int, order: int) -> Array:
    m = len(y)
    coordinates, squares = _frame(y, order)
    along = [0, 1, m + 1][: order + 1]  # all that the first coordinate's factors have
    partial: dict[tuple[int, ...], Array] = {}
    for power, (group, table) in enumerate(_grouped(m, degree)):
        present = np.flatnonzero(coefficients[table].any(axis=1))
        if present.size:
            factors = _homogeneous(coordinates[0], squares[0], degree - power, MU + power + (m - 1) / 2, m)
            sums = np.tensordot(coefficients[table[present]], np.array([f[along] for f in factors]), axes=1)
            partial.update((group[row], total) for row, total in zip(present.tolist(), sums, strict=True))
    for j in range(1, m):
        gathered: dict[tuple[int, ...], Array] = {}
        by_power: dict[int, list[tuple[int, ...]]] = {}
        for alpha in partial:
            by_power.setdefault(sum(alpha[1:]), []).append(alpha)
        for power, alphas in by_power.items():
            factors = _homogeneous(coordinates[j], squares[j], degree - power, MU + power + (m - 1 - j) / 2, m)
            for k, *later in alphas:
                term = _times(_whole(partial[k, *later], along, factors[k]), factors[k], m)
                so_far = gathered.get(tuple(later))
                gathered[tuple(later)] = term if so_far is None else so_far + term
        partial = gathered
    return _times(_whole(partial[()], along, squares[-1]), squares[-1], m)


@lru_cache(maxsize=64)
def _grouped(dimension: int, degree: int) -> tuple[tuple[tuple[tuple[int, ...], ...], Array], ...]:
    """By the sum of all exponents but the first: these exponents, and places of the polynomials with each first one."""
    where = {alpha: k for k, alpha in enumerate(total_degrees(dimension, degree))}
    out = []
    for power in range(degree + 1):
        group = tuple(later for later in total_degrees(dimension - 1, degree) if sum(later) == power)
        out.append((group, np.array([[where[k, *later] for k in range(degree - power + 1)] for later in group])))
    return tuple(out)


def _homogeneous(y: Array, square: Array, degree: int, parameter: float, m: int) -> list[Array]:
    """H_k^λ(y, s²) for k up to a degree, as jets."""
    factors = [np.zeros_like(y)]
    factors[0][0] = 1.0
    for k in range(degree):
        # (k+1) H_{k+1} = 2(k+λ) y H_k − (k+2λ−1) s² H_{k−1}
        ahead = 2 * (k + parameter) / (k + 1) * _times(y, factors[k], m)
        if k:
            ahead = ahead - (k + 2 * parameter - 1) / (k + 1) * _times(square, factors[k - 1], m)
        factors.append(ahead)
    return factors


def _whole(jet: Array, along: list[int], like: Array) -> Array:
    """A jet with all derivatives, from one that has those along the first coordinate only."""
    if len(jet) == len(like):
        return jet
    out = np.zeros_like(like)
    out[along] = jet
    return out


def projected(coefficients: Array, dimension: int, degree: int) -> Array:
    """The jet of second order of a combination, each row in the polynomials themselves, without 1 − |y|².

    Only rows of at most this degree, the second derivatives, are whole; the others are projections.
    """
    nodes, weights = ball_rule(dimension, degree + 3)
    indices = total_degrees(dimension, degree)
    norms = np.array([squared_norm(alpha) for alpha in indices])
    where = {alpha: k for k, alpha in enumerate(indices)}
    out = np.zeros((_channels(dimension, 2), len(indices)))
    for start in range(0, nodes.shape[1], SLICE):
        part = np.ascontiguousarray(nodes[:, start : start + SLICE])
        # (1 − |y|²)·polynomial and one more such factor make the weight of the orthogonality
        jet = combination(coefficients, part, degree, 2) * weights[start : start + SLICE] * (1 - (part**2).sum(axis=0))
        for alpha, values in basis_jets(part, degree, 0):
            out[:, where[alpha]] += jet @ values[0]
    return np.asarray(out / norms)


def on_angles(series: Array, angles: Array, dimension: int, degree: int) -> Array:
    """A sum of the polynomials, without 1 − |y|², where every y_j = cos θ_j · sin θ_1 ⋯ sin θ_{j−1} with these angles.

    Along θ_j the polynomials with exponents α are Gegenbauer's C_k(cos θ_j), k = α_j, times sin θ_j to the power of the
    later exponents' sum; so the sum is taken one angle after the other.

    >>> on_angles(np.array([1.0, 0.0, 1.0]), np.array([0.0]), 2, 1).item()  # 1 + 6 y₁ at y = (1, 0)
    7.0
    """
    cosine, sine = np.cos(angles), np.sin(angles)
    partial: dict[tuple[int, ...], Array] = {
        alpha: np.asarray(value) for alpha, value in zip(total_degrees(dimension, degree), series, strict=True)
    }
    for j in range(dimension):
        gathered: dict[tuple[int, ...], Array] = {}
        for later in {alpha[1:] for alpha in partial}:
            power = sum(later)
            parameter = MU + power + (dimension - 1 - j) / 2
            before, now = np.zeros_like(cosine), sine**power
            total = np.multiply.outer(partial[0, *later], now)
            for k in range(degree - power):
                ahead = (2 * (k + parameter) * cosine * now - (k + 2 * parameter - 1) * before) / (k + 1)
                before, now = now, ahead
                total += np.multiply.outer(partial[k + 1, *later], now)
            gathered[later] = total
        partial = gathered
    return partial[()]


@lru_cache(maxsize=32)
def ball_rule(dimension: int, points: int) -> tuple[Array, Array]:
    """Nodes (m, points) and weights on the unit ball, exact for polynomials of degree 2·points − 1.

    >>> nodes, weights = ball_rule(2, 4)
    >>> round(float(weights.sum()), 12) == round(math.pi, 12)
    True
    """
    from scipy.special import roots_jacobi

    nodes, weights = np.zeros((0, 1)), np.ones(1)
    for j in range(dimension):
        power = (dimension - 1 - j) / 2
        t, weight = roots_jacobi(points, power, power)
        radius = np.sqrt(1 - (nodes**2).sum(axis=0))
        nodes = np.concatenate([np.repeat(nodes, points, axis=1), np.outer(radius, t).reshape(1, -1)])
        weights = np.outer(weights, weight).reshape(-1)
    return sealed(nodes), sealed(weights)


def second_places(dimension: int) -> list[tuple[int, int]]:
    """The pairs of coordinates of the second derivatives, in the order of a jet."""
    return [(i, j) for i in range(dimension) for j in range(i, dimension)]


def _channels(dimension: int, order: int) -> int:
    return (1, 1 + dimension, 1 + dimension + dimension * (dimension + 1) // 2)[order]


def _frame(y: Array, order: int) -> tuple[list[Array], list[Array]]:
    """The coordinates y_j, and the s_j², as jets."""
    m, coordinates = len(y), []
    squares = [np.zeros((_channels(m, order), y.shape[1]))]
    squares[0][0] = 1.0
    for j in range(m):
        jet = np.zeros_like(squares[0])
        jet[0] = y[j]
        jet[1 + j : 2 + j] = 1.0  # nothing where only values are wanted
        coordinates.append(jet)
        squares.append(squares[-1] - _times(jet, jet, m))
    return coordinates, squares


def _times(a: Array, b: Array, m: int) -> Array:
    """The product rule, to the order that both carry."""
    if len(a) == 1:
        return np.asarray(a * b)
    out = np.empty_like(a)
    out[0] = a[0] * b[0]
    out[1 : m + 1] = a[1 : m + 1] * b[0] + a[0] * b[1 : m + 1]
    for place, (i, j) in enumerate(second_places(m), m + 1):
        if place >= len(a):
            break
        out[place] = a[place] * b[0] + a[1 + i] * b[1 + j] + a[1 + j] * b[1 + i] + a[0] * b[place]
    return out
