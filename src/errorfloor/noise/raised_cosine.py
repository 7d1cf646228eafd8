"""The least informative noise on an interval (corollaries 1, 3 and 5)."""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.noise.base import NoiseOnInterval, where_inside
from errorfloor.random import Bits
from errorfloor.random.bits import Words

CHUNK = 16_384  # draws that stay in a processor's cache between passes
# sin²(πt/2)/t² as a polynomial in t², by interpolation at the eleven Chebyshev points of [0, 1]
COEFFICIENTS = tuple(
    float.fromhex(text)
    for text in (
        "0x1.3bd3cc9be45dep+1",
        "-0x1.03c1f081b5ac4p+1",
        "0x1.55d3c7e3cbfe0p-1",
        "-0x1.e1f506891ade2p-4",
        "0x1.a6d1f2a1d1395p-7",
        "-0x1.f9d38a285e056p-11",
        "0x1.b6e24c88112dcp-15",
        "-0x1.20c5da23a6e8dp-19",
        "0x1.29fffc1a192fcp-24",
        "-0x1.ed1c002db3909p-30",
        "0x1.32e890dd7e0dbp-35",
    )
)
RESOLUTION = 2.0**-32  # a support this narrow beside its ends still holds a million doubles


@dataclass(frozen=True, eq=False)
class RaisedCosine(NoiseOnInterval):
    """Noise on [low, high] with density γ(w) = (2/Δ) cos²(π(w − c)/Δ), Δ the width and c the mid-point.

    Guarantee: among all densities on the interval whose root is in H¹₀, this one has the least Fisher information,
    I_w = 4π²/Δ².

    >>> noise = RaisedCosine(-0.5, 0.5)
    >>> float(noise.information[0, 0]) == 4 * math.pi**2
    True
    >>> float(noise.pdf(0.0)), float(noise.pdf(0.5)), float(noise.cdf(0.0))
    (2.0, 0.0, 0.5)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width < RESOLUTION * max(abs(self.low), abs(self.high)):
            raise InputError(
                f"noise between {self.low!r} and {self.high!r} would be lost in the rounding of doubles that large: "
                f"add the offset to the answer instead"
            )

    @property
    def information(self) -> Array:
        """4π²/Δ²."""
        return np.array([[4 * math.pi**2 / self.width**2]])

    @property
    def mean(self) -> Array:
        """The mid-point."""
        return np.array([self.support.center])

    @property
    def covariance(self) -> Array:
        """Δ²(1/12 − 1/(2π²))."""
        return np.array([[self.width**2 * (1 / 12 - 1 / (2 * math.pi**2))]])

    @property
    def entropy(self) -> float:
        """ln(2Δ) − 1."""
        return math.log(2 * self.width) - 1

    def total_variation(self, shift: float) -> float:
        """Total variation between the noise and its shift by h: h/Δ + sin(πh/Δ)/π for h ≤ Δ, else 1.

        >>> RaisedCosine(0, 1).total_variation(1.0)
        1.0
        """
        ratio = min(abs(shift) / self.width, 1.0)
        return ratio + math.sin(math.pi * ratio) / math.pi

    def _log_density(self, w: Array) -> Array:
        # cos(π(w − c)/Δ) is the sine of the distance to the nearer end, exact where the density vanishes
        edge = np.minimum(w - self.low, self.high - w)
        value = math.log(2 / self.width) + 2 * np.log(np.sin(math.pi * edge / self.width))
        return where_inside(self, w, value, -math.inf)

    def _slope(self, w: Array) -> Array:
        edge = np.minimum(w - self.low, self.high - w)
        side = np.where(w - self.low <= self.high - w, 1.0, -1.0)
        slope = side * (2 * math.pi / self.width) / np.tan(math.pi * edge / self.width)
        return where_inside(self, w, slope, math.nan)

    def _cdf(self, w: Array) -> Array:
        w = np.clip(w, self.low, self.high)
        edge = np.minimum(w - self.low, self.high - w)
        tail = minus_sine(2 * math.pi * edge / self.width) / (2 * math.pi)
        return np.where(w - self.low <= self.high - w, tail, 1 - tail)

    def _icdf(self, q: Array) -> Array:
        tail = np.minimum(q, 1 - q)
        edge = self.width * angle_by_newton(2 * math.pi * tail) / (2 * math.pi)
        return np.where(q <= 0.5, self.low + edge, self.high - edge)

    @property
    def repeatable(self) -> bool:
        """Draws are made of sums and products of doubles alone."""
        return True

    def _sample(self, count: int, bits: Bits) -> Array:
        # θ uniform on (−π, π), moved by π with probability (1 − cos θ)/2, has the density (1 + cos φ)/2π
        return cosine_draws(bits.pairs(count), self.low, self.high)


def cosine_draws(pairs: Words, low: float, high: float) -> Array:
    """Give one draw on [low, high] from each row of two words: the same on every machine.

    θ = πt with t uniform on (−1, 1) is moved by π towards the other side with probability sin²(πt/2). That sine is a
    polynomial of our own in t², evaluated by Horner's rule in plain double operations, so that no library's cosine and
    no fused multiplication decides a digit. With its coefficients rounded to doubles it is within 6·10⁻¹⁶ of the truth.

    >>> words = np.array([0, 2**62, 2**63, 2**64 - 1], dtype=np.uint64)
    >>> cosine_draws(np.stack([words, words[::-1]], axis=1), -1.0, 1.0).round(6).tolist()
    [0.0, -0.5, 0.0, 1.0]
    """
    center, half = low + (high - low) / 2, (high - low) / 2
    out = np.empty(len(pairs))
    for start in range(0, len(out), CHUNK):
        part = slice(start, start + CHUNK)
        first, second = pairs[part, 0], pairs[part, 1]
        t = ((first.astype(np.int64) >> 11).astype(np.float64) + 0.5) * 2.0**-52
        z = t * t
        p = np.full_like(z, COEFFICIENTS[-1])
        for coefficient in COEFFICIENTS[-2::-1]:
            p *= z
            p += coefficient
        p *= z
        moved = (second >> np.uint64(11)).astype(np.float64) * 2.0**-53 < p
        t -= np.where(moved, np.copysign(1.0, t), 0.0)
        t *= half
        t += center
        np.clip(t, low, high, out=out[part])
    return out


def minus_sine(x: Array) -> Array:
    """X − sin x, without cancellation at small x.

    >>> float(minus_sine(np.array(1e-5)) / 1e-15 * 6)
    0.99999999999...
    """
    square = x * x
    series = np.ones_like(x)
    for k in (9, 8, 7, 6, 5, 4, 3, 2):
        series = 1 - square / ((2 * k) * (2 * k + 1)) * series
    return np.where(np.abs(x) < 1, x * square / 6 * series, x - np.sin(x))


def angle_by_newton(area: Array) -> Array:
    """Solve x − sin x = area for x in [0, π]: Newton steps from the cubic that it starts as.

    >>> x = angle_by_newton(np.array([1e-20, 0.1, np.pi]))
    >>> bool(np.allclose(minus_sine(x), [1e-20, 0.1, np.pi], rtol=1e-14))
    True
    """
    x = np.minimum(np.cbrt(6 * area), math.pi)
    for _ in range(8):
        slope = np.maximum(2 * np.sin(x / 2) ** 2, 1e-300)
        x = np.clip(x - (minus_sine(x) - area) / slope, 0, math.pi)
    return np.where(area > 0, x, 0.0)
