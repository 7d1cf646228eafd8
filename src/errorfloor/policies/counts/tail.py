"""The row of large counts: one noise, moved along with the count."""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array

ROOM = 1e-13  # relative distance kept from the bound on the variance
NOTHING = 1e-30


@dataclass(frozen=True)
class Tail:
    """The noise on −D … D that tells neighbouring counts apart least, with the multipliers that prove it.

    Its roots u are the ground state of −½(u(k−1) + u(k+1)) + ``price``·k²·u(k) = −``level``·u(k), u = 0 beyond ±D.

    Guarantee: ``affinity`` Σ√(r(k)r(k+1)) = level + price·variance is the largest of any noise on −D … D with mean
    square at most the variance; in an endless chain of rows no average of affinities exceeds it.

    >>> row = tail_row(2, 1.0)
    >>> round(float((np.arange(-2, 3) ** 2 * row.probabilities).sum()), 12), round(row.affinity, 4)
    (1.0, 0.8624)
    """

    probabilities: Array
    affinity: float
    level: float
    price: float


def tail_row(max_noise: int, variance: float) -> Tail:
    """Find it: without a price if that keeps the variance, else with the price at which the variance is met."""
    from scipy.optimize import brentq

    squares = np.arange(-max_noise, max_noise + 1.0) ** 2
    target = variance * (1 - ROOM)

    def excess(price: float) -> float:
        return float(squares @ _ground_state(squares, price)[1] ** 2) - target

    price = 0.0
    if excess(0.0) > 0:
        high = 1.0
        while excess(high) > 0:
            high *= 4
        price = float(brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-14))
    level, roots = _ground_state(squares, price)
    return Tail(_above_nothing(roots**2), float(roots[1:] @ roots[:-1]), level, price)


def _ground_state(squares: Array, price: float) -> tuple[float, Array]:
    from scipy.linalg import eigh_tridiagonal

    coupling = np.full(len(squares) - 1, -0.5)
    value, vector = eigh_tridiagonal(price * squares, coupling, select="i", select_range=(0, 0))
    roots = np.abs(vector[:, 0])
    return -float(value[0]), (roots + roots[::-1]) / np.linalg.norm(roots + roots[::-1])


def widest_row(max_noise: int, variance: float) -> Tail:
    """Give the noise of greatest entropy instead: r(k) ∝ e^{−ck²} with the least c ≥ 0 that keeps the variance.

    >>> row = widest_row(2, 1.0)
    >>> round(float((np.arange(-2, 3) ** 2 * row.probabilities).sum()), 12), round(row.affinity, 4)
    (1.0, 0.8622)
    """
    from scipy.optimize import brentq

    squares = np.arange(-max_noise, max_noise + 1.0) ** 2
    target = variance * (1 - ROOM)

    def row(price: float) -> Array:
        weights = np.exp(-price * squares)
        return np.asarray(weights / weights.sum())

    price = 0.0
    if squares @ row(0.0) > target:
        high = 1.0
        while squares @ row(high) > target:
            high *= 4
        price = float(brentq(lambda c: squares @ row(c) - target, 0.0, high, xtol=1e-300, rtol=1e-14))
    found = row(price)
    level = float(np.log(np.exp(-price * squares).sum()))
    return Tail(_above_nothing(found), float(np.sqrt(found[1:] * found[:-1]).sum()), level, price)


def _above_nothing(probabilities: Array) -> Array:
    """Raise what is far below 2⁻⁶⁴, and never drawn, to a number whose root can be divided by."""
    raised = np.maximum(probabilities, NOTHING)
    return np.asarray(raised / raised.sum())
