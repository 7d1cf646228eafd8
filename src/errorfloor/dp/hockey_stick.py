"""The hockey-stick curve of one shifted noise on the line: by formula, or by quadrature below the crossing point.

For log-concave γ and a shift h > 0 the loss L(w) = log γ(w) − log γ(w − h) never increases, so the set where it
exceeds ε is everything below one crossing point c, and

    H(ε) = ∫(γ(w) − e^ε γ(w − h))₊ dw = F(c) − e^ε F(c − h).

A shift to the left is the same thing seen in a mirror. Proof: ``hockey_stick.proof.md``.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from errorfloor.checks import Array
from errorfloor.dp import closed_forms
from errorfloor.dp.shifts import Part
from errorfloor.noise import Gaussian, Laplace, Noise, RaisedCosine, Uniform
from errorfloor.noise.quadrature import integrate

FORMULAS = {
    Gaussian: closed_forms.gaussian,
    Laplace: closed_forms.laplace,
    RaisedCosine: closed_forms.raised_cosine,
    Uniform: closed_forms.uniform,
}
SHORT = 1e-2  # below this shift a difference of two log-densities loses digits, and the score is integrated instead
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
UNDERFLOW = -760.0  # the logarithm of a number that a double takes for zero
FARTHEST = 1e4  # a longer shift of Airy or Maxwell noise shows a loss above 10⁶, up to the last digit of one
RUNGS = 2.0 ** np.arange(-2, 21)  # how far from the mean a crossing point is looked for, in scales


@dataclass(frozen=True)
class Side:
    """A noise on the line seen from the side that makes its shift positive."""

    noise: Noise
    mirrored: bool

    @property
    def _sign(self) -> float:
        return -1.0 if self.mirrored else 1.0

    @cached_property
    def knots(self) -> tuple[float, ...]:
        """Ends of the support and points where the density is not smooth, in ascending order."""
        return tuple(sorted(self._sign * knot for knot in self.noise.knots))

    @cached_property
    def mean(self) -> float:
        """The mean, from this side."""
        return self._sign * float(self.noise.mean[0])

    def logpdf(self, v: Array) -> Array:
        """Logarithm of the density."""
        return np.asarray(self.noise.logpdf(self._sign * v))

    def cdf(self, v: Array) -> Array:
        """Probability below v; v may be infinite."""
        finite = np.isfinite(v)
        below = self.noise.cdf(self._sign * np.where(finite, v, 0.0))
        return np.where(finite, 1 - below if self.mirrored else below, np.where(v > 0, 1.0, 0.0))

    def loss(self, v: Array, shift: float) -> Array:
        """L(v) at points of the support: infinite where only the shifted density vanishes."""
        here, there = self.logpdf(v), self.logpdf(v - shift)
        with np.errstate(invalid="ignore"):
            loss = np.where(there == -math.inf, math.inf, here - there)
        small = np.abs(loss) < SHORT
        if shift < SHORT and small.any():
            loss[small] = self._loss_by_score(v[small], shift)
        return loss

    def _loss_by_score(self, v: Array, shift: float) -> Array:
        """L(v) as the integral of the score from v − h to v, between knots: a short shift keeps its digits."""
        total = np.zeros_like(v)
        for start, stop in pairwise(self.knots):
            low = np.clip(v - shift, start, stop)
            whole = (v - shift >= start) & (v <= stop)
            half = np.where(whole, shift, np.clip(v, start, stop) - low)[..., None] / 2
            score = self._sign * self.noise.score(self._sign * (low[..., None] + half * (1 + NODES)))
            total += np.where(half > 0, half * WEIGHTS * score, 0.0).sum(axis=-1)
        return total

    def breaks(self, shift: float) -> list[float]:
        """Points of the line where either density is not smooth."""
        return sorted({*self.knots, *(knot + shift for knot in self.knots)})


def side_of(part: Part) -> tuple[Side, float]:
    """Look at a part from the side where its shift is positive.

    >>> from errorfloor.noise import Maxwell
    >>> side_of(Part(Maxwell(1.0), -2.0))[0].knots
    (-inf, -0.0)
    """
    return Side(part.noise, part.shift < 0), abs(part.shift)


def crossing(side: Side, shift: float, epsilon: Array) -> Array:
    """The point c below which the loss exceeds ε, for any real or infinite ε.

    Where the loss exceeds ε nowhere on the overlap of the two supports, it is the overlap's lower end.

    >>> from errorfloor.noise import Laplace
    >>> round(float(crossing(Side(Laplace(1.0), False), 1.0, np.array(0.5))), 12)
    0.25
    """
    from scipy.optimize.elementwise import find_root

    low, high = side.knots[0] + shift, side.knots[-1]
    if low >= high:
        return np.full(np.shape(epsilon), high)

    def excess(v: Array, level: Array) -> Array:
        return np.asarray(np.clip(side.loss(v, shift) - level, -1e3, 1e3))

    left = _rung(side, shift, epsilon, low, -1.0)
    right = _rung(side, shift, epsilon, high, 1.0)
    inside = np.isfinite(epsilon) & np.isfinite(left) & np.isfinite(right)
    start, stop, level = (np.where(inside, x, y) for x, y in ((left, 0.0), (right, 1.0), (epsilon, 0.0)))
    never = inside & (excess(start, level) <= 0)
    always = inside & (excess(stop, level) >= 0)
    with np.errstate(all="ignore"):
        root = find_root(excess, (start, stop), args=(level,)).x
    solved = np.where(never, start, np.where(always, stop, root))
    edge = np.where((epsilon == -math.inf) | (right == math.inf), high, low)
    return np.asarray(np.where(inside, solved, edge))


def _rung(side: Side, shift: float, epsilon: Array, end: float, direction: float) -> Array:
    """A point on one side of each crossing: the end of the overlap, or on an infinite side the first far enough."""
    if math.isfinite(end):
        return np.full_like(epsilon, end)
    ladder = side.mean + shift / 2 + direction * (RUNGS + shift)
    loss = side.loss(ladder, shift)
    reached = direction * (epsilon[..., None] - loss) >= 0
    return np.where(reached.any(axis=-1), ladder[reached.argmax(axis=-1)], end)


def gain(epsilon: float, loss: Array) -> Array:
    """1 − e^{ε − L} where the loss L exceeds ε, zero elsewhere; one where L is infinite, even at ε = ∞.

    >>> gain(np.inf, np.array([3.0, np.inf]))
    array([0., 1.])
    """
    with np.errstate(invalid="ignore"):
        return np.where(loss == math.inf, 1.0, np.abs(np.expm1(np.minimum(epsilon - loss, 0.0))))


def curve(part: Part, epsilon: Array) -> Array:
    """H(ε) of a part for ε ≥ 0, with its digits kept where it is far below one.

    >>> from errorfloor.noise import Maxwell
    >>> curve(Part(Maxwell(1.0), 0.5), np.array([0.0, np.inf])).round(6)
    array([0.287511, 0.03086 ])
    """
    formula = FORMULAS.get(type(part.noise))
    if formula is not None:
        return np.asarray(formula(part.shift, epsilon))
    if abs(part.shift) > FARTHEST and not np.isfinite(part.noise.knots).all():
        side, shift = side_of(part)
        return np.where(epsilon == math.inf, side.cdf(np.array(side.knots[0] + shift)), 1.0)
    each = [curve_by_quadrature(part, float(level)) for level in epsilon.flat]
    return np.asarray(np.minimum(np.reshape(each, epsilon.shape), 1.0))


def curve_by_quadrature(part: Part, epsilon: float) -> float:
    """∫ γ(w)(1 − e^{ε − L(w)}) dw below the crossing point, for ε ≥ 0: nothing in it cancels.

    The density is taken relative to its greatest value there, so that the quadrature works on numbers near one
    however small the result is.
    """
    side, shift = side_of(part)
    point = float(crossing(side, shift, np.array(epsilon)))
    peak = min(point, side.mean)  # the density below the crossing point is greatest here, up to a factor e
    height = float(side.logpdf(np.array(peak))) if point > -math.inf else -math.inf
    if height < UNDERFLOW:
        return 0.0
    step = 1 / max(abs(float(side.noise.score(side._sign * peak))), 1.0)
    origin = side.knots[0] if math.isfinite(side.knots[0]) else peak

    def integrand(t: Array) -> Array:
        v = origin + step * t
        return np.asarray(np.exp(side.logpdf(v) - height) * gain(epsilon, side.loss(v, shift)))

    breaks = [b for b in (*side.breaks(shift), peak) if side.knots[0] <= b < point]
    pieces = [(b - origin) / step for b in (*breaks, point)]
    if origin == peak:
        pieces += [-40.0, -1.0]  # below the peak the density falls at least as fast as e^t
    return math.exp(height) * step * integrate(integrand, _apart(pieces))


def _apart(pieces: list[float]) -> list[float]:
    """Sort points and drop those a few units in the last place from another: no quadrature fits between."""
    kept: list[float] = []
    for t in sorted(pieces):
        if not kept or t - kept[-1] > 1e-13 * abs(t):
            kept.append(t)
    return kept
