"""The noise of large counts: one row, moved along with the count; and rows of greatest entropy, for comparison."""

from collections.abc import Callable

import numpy as np

from errorfloor.checks import Array

ROOM = 1e-13  # relative distance kept from the bound on the variance
REACH = 40.0  # of slopes, besides what prices ask for


def tail_row(max_noise: int, variance: float) -> Array:
    """Find the noise r on −D … D that tells neighbouring counts apart least.

    Its roots u are the ground state of −½(u(k−1) + u(k+1)) + ν·k²·u(k), u = 0 beyond ±D, with no price ν if that keeps
    the variance, else with the one at which it is met.

    Guarantee: Σ√(r(k)r(k+1)) is the largest of any noise on −D … D with mean square at most the variance; in an endless
    chain of rows no average of affinities exceeds it.

    >>> row = tail_row(2, 1.0)
    >>> round(float((np.arange(-2, 3) ** 2 * row).sum()), 12), round(affinity(row), 4)
    (1.0, 0.8624)
    """
    squares = np.arange(-max_noise, max_noise + 1.0) ** 2
    price = _price(squares, variance, lambda price: _ground_state(squares, price))
    return _ground_state(squares, price)


def affinity(row: Array) -> float:
    """Σ√(r(k)r(k+1)): what a noise and its shift by one have in common."""
    return float(np.sqrt(row[1:] * row[:-1]).sum())


def widest_row(noise: Array, variance: float, *, mean: bool) -> tuple[Array, float]:
    """Give the row of greatest entropy, r(k) ∝ e^{−μk − νk²}, and a number that no row's entropy is above.

    The ``mean`` is zero, or free; ν is the least price ≥ 0 that keeps the variance V. The bound, log Σe^{−μk−νk²} + νV,
    holds for any μ and ν ≥ 0.

    >>> row, most = widest_row(np.arange(-2, 3), 1.0, mean=True)
    >>> round(float((np.arange(-2, 3) ** 2 * row).sum()), 12), round(affinity(row), 4)
    (1.0, 0.8622)
    >>> round(most + float((row * np.log(row)).sum()), 9)
    0.0
    """
    from scipy.optimize import brentq

    k = np.asarray(noise, dtype=float)

    def exponents(price: float) -> Array:
        level = -price * k**2
        if not mean:
            return level
        reach = REACH + price * float(np.ptp(k))
        return np.asarray(level - brentq(lambda slope: k @ _exponential(level - slope * k), -reach, reach) * k)

    price = _price(k**2, variance, lambda price: _exponential(exponents(price)))
    found = exponents(price)
    top = float(found.max())
    return _exponential(found), top + float(np.log(np.exp(found - top).sum())) + price * variance


def _exponential(exponents: Array) -> Array:
    weights = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())


def _ground_state(squares: Array, price: float) -> Array:
    from scipy.linalg import eigh_tridiagonal

    coupling = np.full(len(squares) - 1, -0.5)
    _, vector = eigh_tridiagonal(price * squares, coupling, select="i", select_range=(0, 0))
    roots = np.abs(vector[:, 0])
    return np.asarray(((roots + roots[::-1]) / np.linalg.norm(roots + roots[::-1])) ** 2)


def _price(squares: Array, variance: float, row: Callable[[float], Array]) -> float:
    """The least price at which a row's mean square is at most the variance."""
    from scipy.optimize import brentq

    def excess(price: float) -> float:
        return float(squares @ row(price)) - variance * (1 - ROOM)

    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 4
    return float(brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-14))
