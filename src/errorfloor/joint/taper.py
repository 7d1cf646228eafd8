"""The taper c of a bounded answer, in units of its bound: 1 up to a start, then a quarter of a cosine down to 0.

    c(x) = 1 for |x| ≤ t,   cos(κ(|x| − t)) for t ≤ |x| ≤ 1,   κ = π/(2(1 − t)),   0 beyond.

What a tapered normal number costs beyond its normal part is 2κ²·P(t ≤ |N| ≤ 1)/E c(N)², with N normal.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from errorfloor.checks import Array
from errorfloor.noise.base import rejection
from errorfloor.random import Bits
from errorfloor.random.elementary import circle

AT_ONCE = 2**21  # numbers that a batch of draws may hold
STEPS = 128  # starts are multiples of 1/128, the same on every machine
ROUNDING = 1e-9  # of a certified figure: far more than its quadrature and its rounding
_NODES, _WEIGHTS = (np.asarray(part) for part in np.polynomial.legendre.leggauss(48))


def accepted_share(x: Array, start: Array) -> Array:
    """Give Π c(x_j)² over the last axis, in sums and products of doubles of a fixed order: equal on every machine.

    >>> accepted_share(np.array([[0.1, 0.75], [0.1, 1.0]]), np.array([0.5, 0.5])).round(6).tolist()
    [0.5, 0.0]
    """
    turns = np.minimum(np.maximum(np.abs(x) - start, 0.0) / (4.0 * (1.0 - start)), 0.25)
    cosine = circle(turns.ravel())[0].reshape(turns.shape)
    return np.asarray(np.multiply.accumulate(cosine * cosine, axis=-1)[..., -1])


def kept(deviation: Array, start: Array) -> Array:
    """Give E c(N)² of a normal number N.

    >>> float(kept(np.array(0.3), np.array(0.0)).round(6)), float(kept(np.array(0.01), np.array(0.5)))
    (0.820667, 1.0)
    """
    s, t = np.broadcast_arrays(deviation, start)
    width = (1 - t)[..., None]
    x = t[..., None] + width * (1 + _NODES) / 2
    density = 2 * np.exp(-((x / s[..., None]) ** 2) / 2) / math.sqrt(2 * math.pi)
    falling = (np.cos(math.pi / 4 * (1 + _NODES)) ** 2 * density * _WEIGHTS).sum(axis=-1)
    return np.asarray(_between(-t, t, s) + falling * width[..., 0] / (2 * s))


def falling(deviation: Array, start: Array) -> Array:
    """Give P(t ≤ |N| ≤ 1) of a normal number N."""
    one = np.ones_like(start)
    return np.asarray(_between(start, one, deviation) + _between(-one, -start, deviation))


def curvature(start: Array) -> Array:
    """Give 2κ²."""
    return np.asarray(math.pi**2 / (2 * (1 - start) ** 2))


def drawn(count: int, cells: int, held: int, bits: Bits, propose: Callable[[int, Bits], tuple[Array, Array]]) -> Array:
    """Draw vectors of so many cells by rejection, in batches; one attempt holds so many numbers."""
    batch = max(1, AT_ONCE // held)
    parts = [np.arange(at, min(at + batch, count)) for at in range(0, count, batch)]
    return np.concatenate([np.zeros((0, cells)), *(rejection(part.size, bits.lanes(part), propose) for part in parts)])


def taper_cost(deviation: Array, start: Array) -> Array:
    """Give 2κ²·P(t ≤ |N| ≤ 1)/E c(N)² for a centred normal number."""
    return np.asarray(curvature(start) * falling(deviation, start) / kept(deviation, start))


def best_start(deviation: Array) -> Array:
    """Give the start, a multiple of 1/128, with the least cost for a deviation.

    >>> best_start(np.array([0.3])).tolist()
    [0.8359375]
    """
    grid, best, _, _ = _table()
    return np.asarray(best[np.abs(grid[:, None] - np.ravel(deviation)).argmin(axis=0)].reshape(np.shape(deviation)))


def cost_and_loss(deviation: Array) -> tuple[Array, Array]:
    """Give the cost at the best start, and −ln E c(N)² there, both interpolated: for searches, not for promises."""
    grid, _, cost, loss = _table()
    return np.interp(deviation, grid, cost), np.interp(deviation, grid, loss)


@lru_cache(maxsize=1)
def _table() -> tuple[Array, Array, Array, Array]:
    grid = np.geomspace(0.05, 4.0, 300)
    starts = np.arange(STEPS - 1) / STEPS
    cost = taper_cost(grid[:, None], starts[None, :])
    chosen = np.where(grid < 0.12, STEPS // 2, cost.argmin(axis=1))  # far tails cost nothing, wherever the taper starts
    rows = np.arange(grid.size)
    smooth = cost[rows, chosen]
    return grid, starts[chosen], smooth, -np.log(kept(grid, starts[chosen]))


def _between(low: Array, high: Array, deviation: Array) -> Array:
    a, b = low / deviation, high / deviation
    return np.asarray(np.where(a > 0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a)))
