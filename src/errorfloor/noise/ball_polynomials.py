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

MU = 2.5


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
        parameter = _parameter(alpha, j)
        logarithm += (
            math.log(math.pi)
            + (1 - 2 * parameter) * math.log(2)
            + math.lgamma(k + 2 * parameter)
            - math.lgamma(k + 1)
            - math.log(k + parameter)
            - 2 * math.lgamma(parameter)
        )
    return math.exp(logarithm)


def basis_jets(y: Array, degree: int, order: int) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Every exponent with the values of (1 − |y|²)·polynomial at points y of shape (m, points), and derivatives.

    ``order`` 0 gives values, 1 gradients after them, 2 the second derivatives (1,1), (1,2) … after those; all along the
    first axis.
    """
    m = len(y)
    coordinates = [_coordinate(y, j, order) for j in range(m)]
    squares = [_constant(y, order)]
    for j in range(m):
        squares.append(squares[-1] - _times(coordinates[j], coordinates[j], m))
    yield from _factors(coordinates, squares, degree, m, (), squares[-1])


def _factors(
    coordinates: list[Array], squares: list[Array], degree: int, j: int, later: tuple[int, ...], so_far: Array
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Multiply in the factors of the coordinates from the last to the first."""
    if j == 0:
        yield later, so_far
        return
    m = len(coordinates)
    parameter = MU + sum(later) + (m - j) / 2
    before, now = np.zeros_like(so_far), _constant_like(so_far)
    for k in range(degree - sum(later) + 1):
        yield from _factors(coordinates, squares, degree, j - 1, (k, *later), _times(so_far, now, m))
        # (k+1) H_{k+1} = 2(k+λ) y H_k − (k+2λ−1) s² H_{k−1}
        ahead = 2 * (k + parameter) / (k + 1) * _times(coordinates[j - 1], now, m)
        if k:
            ahead = ahead - (k + 2 * parameter - 1) / (k + 1) * _times(squares[j - 1], before, m)
        before, now = now, ahead


def combination(coefficients: Array, y: Array, degree: int, order: int = 0) -> Array:
    """Sum basis functions with coefficients in the order of ``total_degrees``, in one fixed order of operations."""
    where = {alpha: i for i, alpha in enumerate(total_degrees(len(y), degree))}
    total: Array | None = None
    for alpha, jet in basis_jets(y, degree, order):
        term = coefficients[where[alpha]] * jet
        total = term if total is None else total + term
    assert total is not None, "there is always the constant"
    return total


@lru_cache(maxsize=32)
def ball_rule(dimension: int, points: int) -> tuple[Array, Array]:
    """Nodes (m, points) and weights on the unit ball, exact for polynomials of degree 2·points − 1.

    >>> nodes, weights = ball_rule(2, 4)
    >>> round(float(weights.sum()), 12) == round(math.pi, 12)
    True
    """
    return _nested_rule(dimension, points, dimension)


def lines_rule(dimension: int, points: int) -> tuple[Array, Array]:
    """Places (m − 1, lines) where lines along the last axis cross the unit ball, and weights.

    ∫f over the ball is Σ weight·∫f(place, √(1 − |place|²)·t)dt with t from −1 to 1.

    >>> places, weights = lines_rule(3, 4)
    >>> round(2 * float(weights.sum()), 12) == round(4 * math.pi / 3, 12)
    True
    """
    return _nested_rule(dimension, points, dimension - 1)


def _nested_rule(dimension: int, points: int, depth: int) -> tuple[Array, Array]:
    """The first ``depth`` coordinates, one after the other, each on what the ones before leave of the unit ball."""
    from scipy.special import roots_jacobi

    nodes, weights = np.zeros((0, 1)), np.ones(1)
    for j in range(depth):
        power = (dimension - 1 - j) / 2
        t, weight = roots_jacobi(points, power, power)
        radius = np.sqrt(1 - (nodes**2).sum(axis=0))
        nodes = np.concatenate([np.repeat(nodes, points, axis=1), np.outer(radius, t).reshape(1, -1)])
        weights = np.outer(weights, weight).reshape(-1)
    for array in (nodes, weights):
        array.setflags(write=False)
    return nodes, weights


def _parameter(alpha: tuple[int, ...], j: int) -> float:
    return MU + sum(alpha[j + 1 :]) + (len(alpha) - 1 - j) / 2


def second_places(dimension: int) -> list[tuple[int, int]]:
    """The pairs of coordinates of the second derivatives, in the order of a jet."""
    return [(i, j) for i in range(dimension) for j in range(i, dimension)]


def _channels(dimension: int, order: int) -> int:
    return (1, 1 + dimension, 1 + dimension + dimension * (dimension + 1) // 2)[order]


def _constant(y: Array, order: int) -> Array:
    jet = np.zeros((_channels(len(y), order), y.shape[1]))
    jet[0] = 1.0
    return jet


def _constant_like(jet: Array) -> Array:
    one = np.zeros_like(jet)
    one[0] = 1.0
    return one


def _coordinate(y: Array, j: int, order: int) -> Array:
    jet = np.zeros((_channels(len(y), order), y.shape[1]))
    jet[0] = y[j]
    if order:
        jet[1 + j] = 1.0
    return jet


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


def split_rule(axis: Array, kink: float, points: int) -> tuple[Array, Array]:
    """Nodes and weights on the unit ball for a polynomial times a function of axis·y that is smooth but at ``kink``.

    Along the unit vector ``axis`` y = sin φ, in which all integrands are analytic on either side of the kink.
    """
    from scipy.special import roots_legendre

    m = axis.size
    x, weight = roots_legendre(points)
    ends = np.unique([-math.pi / 2, math.asin(min(1.0, max(-1.0, kink))), math.pi / 2])
    half = np.diff(ends) / 2
    phi = (ends[:-1] + half)[:, None] + half[:, None] * x
    along = np.outer(half, weight).reshape(-1) * np.cos(phi.reshape(-1)) ** m
    inner, inner_weights = ball_rule(m - 1, points) if m > 1 else (np.zeros((0, 1)), np.ones(1))
    height, radius = np.sin(phi.reshape(-1)), np.cos(phi.reshape(-1))
    nodes = np.concatenate(
        [
            np.repeat(height, inner.shape[1])[None],
            (radius[None, :, None] * inner[:, None, :]).reshape(m - 1, -1),
        ]
    )
    frame = np.linalg.qr(np.column_stack([axis, np.eye(m)]))[0][:, :m]
    frame[:, 0] = axis
    return frame @ nodes, np.outer(along, inner_weights).reshape(-1)
