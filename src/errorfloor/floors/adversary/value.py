"""U(A₁, A₂, π): how often anybody names the right one of two hypotheses, whatever is asked, in what order, until when.

A₁ is the sum of the charges of answers with raised-cosine or Gaussian noise, A₂ that of all others.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.floors.adversary.table import ROUNDING, value_table

MOST_ODDS = 20.0
FARTHEST = 21.6  # in logarithms of odds: W is 1 from there on, whatever was asked


def best_success(information: Any, other: Any = 0.0, *, odds: float = 1.0) -> Any:
    """Give min(U, sine): the largest probability of naming the right one of two hypotheses of prior ``odds``.

    U = E W(A₁, π′) after an experiment of Hellinger affinity cos ½√A₂, the best there is; sine is
    ½(1 + √(1 − 4π(1−π)cos²½√(A₁+A₂))), which holds for every noise.

    Guarantee: nobody does better, asking adaptively and stopping at will, if on every transcript the charges I·d² of
    answers with raised-cosine or Gaussian noise sum to at most A₁ = ``information``, and all others to at most A₂ =
    ``other``; `value.proof.md`. Rounded up.

    Raises InputError for odds beyond 20 : 1 or negative charges.

    >>> best_success([2.0, 2.0, 0.0], [0.0, 0.05, 2.0]).round(4).tolist()
    [0.7661, 0.7743, 0.8248]
    >>> float(best_success(0.0, odds=4.0).round(9))
    0.8
    """
    A, B = np.broadcast_arrays(np.asarray(information, dtype=float), np.asarray(other, dtype=float))
    if not ((A >= 0) & (B >= 0)).all():
        raise InputError(f"charges must not be negative, got {information!r} and {other!r}")
    x = log_odds(odds)
    doubt = np.where(math.pi**2 > A + B, np.cos(np.minimum(0.5 * np.sqrt(A + B), math.pi / 2)), 0.0)
    sine = 0.5 * (1 + np.sqrt(1 - (doubt / math.cosh(x / 2)) ** 2))  # 1/cosh = 2√(π(1−π))
    if not B.any():
        r = np.interp(A, value_table().levels, _at_levels(x), right=0.0)
        return np.minimum(1 - 0.5 / math.cosh(x / 2) * r.clip(min=0), sine)[()]
    kept = _kept(A.ravel(), B.ravel(), np.array([x]))[:, 0].reshape(A.shape)
    return np.minimum(1 - 0.5 / math.cosh(x / 2) * kept, sine)[()]


def log_odds(odds: float) -> float:
    """Give the logarithm of odds, once they are found to be between 1 : 20 and 20 : 1."""
    if not 1 / MOST_ODDS <= odds <= MOST_ODDS:
        raise InputError(f"odds must lie between 1 : {MOST_ODDS:g} and {MOST_ODDS:g} : 1, got {odds!r}")
    return math.log(odds)


@lru_cache(maxsize=64)
def _at_levels(x: float) -> Array:
    """Give r at every level, rounded down; it is linear between them."""
    table = value_table()
    return np.asarray(table.coefficients @ np.cos(table.frequencies * x) - 4 * ROUNDING)


def mistaken(information: float, other: float, one: Array, two: Array) -> Array:
    """Bound from below the weight of the mistakes of anybody who tells hypotheses of weights p and p′ apart.

    (p + p′)(1 − min(U, sine)), from U at nodes of π: U is convex in π, so that it lies below the chords between them.

    >>> mistaken(2.0, 0.0, np.array([0.5]), np.array([0.5])).round(4).tolist()
    [0.2339]
    """
    _, spread, odd, _ = _nodes()
    kept = spread * _kept(np.full(1, information), np.full(1, other), _nodes()[0])[0]
    both = one + two
    rare = np.divide(np.minimum(one, two), both, out=np.zeros_like(both), where=both > 0)
    game = np.interp(rare, np.append(0.0, odd[::-1]), np.append(0.0, kept[::-1]))
    hidden = (
        4
        * rare
        * (1 - rare)
        * (math.cos(0.5 * math.sqrt(information + other)) ** 2 if information + other < math.pi**2 else 0.0)
    )
    return np.asarray(both * np.maximum(game, 0.5 * hidden / (1 + np.sqrt(np.maximum(1 - hidden, 0.0)))))


def _kept(information: Array, other: Array, x: Array) -> Array:
    """Integrate a majorant of W(A₁, ·), linear in π between nodes, over the posteriors of the experiment for A₂.

    Given is (1 − U)/√(π(1−π)) from below, for every pair of charges (a row) and logarithm of odds (a column).
    """
    levels = value_table().levels
    nodes, spread, odd, r = _nodes()
    j = np.clip(np.searchsorted(levels, information, side="right") - 1, 0, len(levels) - 2)
    part = ((information - levels[j]) / (levels[j + 1] - levels[j]))[:, None]
    error = spread * (r[j] * (1 - part) + r[j + 1] * part).clip(min=0)
    slope = np.diff(error, axis=1) / -np.diff(odd)  # against π, for π > ½
    left, right = np.hstack([-slope[:, :1], slope]), np.hstack([slope, -error[:, -1:] / odd[-1]])
    bend = (left - right) * spread
    cos2 = np.cos(0.5 * np.sqrt(np.minimum(other, math.pi**2)))[:, None] ** 2
    found = np.empty((len(information), len(x)))
    for place, one in enumerate(x.tolist()):
        doubt = _doubt(one - nodes, cos2) + np.where(nodes > 0, _doubt(one + nodes, cos2), 0.0)
        found[:, place] = (bend * doubt).sum(axis=1) - 2 * ROUNDING
    gone = (information > levels[-1]) | (other >= math.pi**2)
    return np.where(gone[:, None], 0.0, found.clip(min=0))


def _doubt(x: Array, cos2: Array) -> Array:
    cosh = np.cosh(x / 2)
    return np.asarray(cos2 / (cosh + np.sqrt(np.maximum(cosh**2 - cos2, 0.0))))


@lru_cache(maxsize=1)
def _nodes() -> tuple[Array, Array, Array, Array]:
    """Give logarithms of odds, √(π(1−π)) and 1 − π there, and r at every level, rounded down."""
    nodes = np.concatenate([0.02 * np.arange(20), 0.4 * (FARTHEST / 0.4) ** np.linspace(0, 1, 101)])
    table = value_table()
    waves = np.cos(np.outer(table.frequencies, nodes))
    # in a fixed order: what BLAS gives depends on its threads, and so would the last digits of what is allowed
    r = np.einsum("ij,jk->ik", table.coefficients, waves) - 4 * ROUNDING
    return nodes, 0.5 / np.cosh(nodes / 2), 1 / (1 + np.exp(nodes)), r
