"""Which noises may be counted in A₁: those whose answers the table covers at their own charge I·d²."""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.floors.adversary.table import ValueTable
from errorfloor.noise import Gaussian, Noise, Product, RaisedCosine, Translation
from errorfloor.noise.base import ScalarNoise

GRID = 6001  # points of the quadrature over answers
FAR = 14.0  # logarithms of odds that are tried


def counted_apart(noise: Noise) -> bool:
    """Say whether answers with this noise are covered by the table at the charge I·d².

    Raised cosines and normal laws are, by `certificate.proof.md`, parts 1 and 6; so are they moved, and several of them
    drawn independently, one per coordinate: each is an answer of its own. Any other noise is counted in A₂, also one
    that ``excess`` finds harmless at the charges that it tries: what is tried is not proved.

    >>> from errorfloor.noise import Maxwell
    >>> counted_apart(RaisedCosine(-1.0, 1.0)), counted_apart(Maxwell(1.0))
    (True, False)
    """
    match noise:
        case Translation():
            return counted_apart(noise.base)
        case Product():
            return all(counted_apart(one) for one in noise.factors)
        case _:
            return isinstance(noise, RaisedCosine | Gaussian)


def excess(noise: ScalarNoise, factor: float, table: ValueTable, *, total: float, charge: float) -> float:
    """Try one answer against the table: by how much its success, charged factor·I·d², exceeds W, at the worst odds.

    The answer is moved by d with I·d² = ``charge``, ``total`` is what may be spent in all. Positive: it does not fit.
    """
    moved = math.sqrt(charge / float(noise.information[0, 0]))
    low, high = noise.icdf(1e-12), noise.icdf(1 - 1e-12)
    y = np.linspace(float(low), float(high) + moved, GRID)
    with np.errstate(divide="ignore", invalid="ignore"):
        still, shifted = noise.logpdf(y), noise.logpdf(y - moved)
    both = np.isfinite(still) & np.isfinite(shifted)
    weight = np.exp(0.5 * (still[both] + shifted[both])) * (y[1] - y[0])
    ratio = (shifted - still)[both]
    x = np.linspace(-FAR, FAR, 281)
    far = np.linspace(0, table.half_period, 2001)
    left = _curve(table, total - factor * charge, far)
    after = np.interp(np.abs(x[:, None] + ratio), far, left, right=0.0) @ weight
    before = np.interp(np.abs(x), far, _curve(table, total, far))
    return float(((before - after) / (2 * np.cosh(x / 2))).max())


def _curve(table: ValueTable, charge: float, x: Array) -> Array:
    return np.asarray((np.cos(np.outer(x, table.frequencies)) @ table.curve(charge)).clip(min=0))
