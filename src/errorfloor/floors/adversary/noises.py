"""Which noises may be counted in A₁: those whose answers the table covers at their own charge I·d², or at more."""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.floors.adversary.table import ValueTable
from errorfloor.noise import Airy, Gaussian, LinearImage, Maxwell, Noise, Product, RaisedCosine, Translation
from errorfloor.noise.base import ScalarNoise

MAXWELL, AIRY = 1.56, 1.76  # their charges over those of raised cosines that dominate them: 1.5499… and 1.7500…
GRID = 6001  # points of the quadrature over answers
FAR = 14.0  # logarithms of odds that are tried


def counted_as(noise: Noise) -> float | None:
    """Give c so that the table covers answers with this noise at the charge c·I·d²; None if nothing is proved.

    Raised cosines and normal laws are covered at their own charge, by `certificate.proof.md`, parts 1 and 6. Maxwell
    and Airy noise are dominated by raised cosines of 1.56 and 1.76 times the charge, by part 8. So are all of them
    moved, and several of them drawn independently, one per coordinate: each is an answer of its own. Any other noise is
    counted in A₂, also one that ``excess`` finds harmless at the charges that it tries: what is tried is not proved.

    >>> from errorfloor.noise import Laplace
    >>> counted_as(RaisedCosine(-1.0, 1.0)), counted_as(Maxwell(1.0)), counted_as(Laplace(1.0))
    (1.0, 1.56, None)
    """
    match noise:
        case Translation():
            return counted_as(noise.base)
        case LinearImage() if noise.dimension == noise.base.dimension == 1:  # mirrored, or of another scale
            return counted_as(noise.base)
        case Product():
            each = [counted_as(one) for one in noise.factors]
            known = [one for one in each if one is not None]
            return max(known) if len(known) == len(each) else None
        case RaisedCosine() | Gaussian():
            return 1.0
        case Maxwell():
            return MAXWELL
        case Airy():
            return AIRY
        case _:
            return None


def counted_apart(noise: Noise) -> bool:
    """Say whether answers with this noise are covered by the table at the charge I·d².

    >>> counted_apart(RaisedCosine(-1.0, 1.0)), counted_apart(Maxwell(1.0))
    (True, False)
    """
    return counted_as(noise) == 1


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
