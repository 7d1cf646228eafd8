"""The functions of one variable: enclosures of their values and derivatives, and where they have any.

Values of exp, ln, sin, cos, tanh and powers come from the C library; its results are trusted to 2^-46 of themselves,
many times what it is known to be off by, and then every end is where the mathematics puts it: monotone functions have
their extremes at the ends, sin and cos also where they turn.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from errorfloor.checks import Array
from errorfloor.pricing.interval import UNIT, Enclosure, down, quiet, up

TRUST = 2.0**-46  # relative error granted to the C library
TINY = 2.0**-1000  # keeps what is never zero from rounding to it
TURNS = 2.0**30  # beyond it, sin and cos are only known to lie between −1 and 1

HALF = Enclosure.of(0.5, 0.5)

Parameters = tuple[Fraction, ...]
Rule = Callable[[Enclosure, Parameters], Enclosure]
Domain = Callable[[Enclosure, Parameters], Array]


@dataclass(frozen=True)
class Function:
    """A function of one variable: ``value`` and ``slope`` enclose it and its derivative on intervals inside ``domain``.

    ``needs`` says in words what arguments must be for the derivative to have a bound.
    """

    value: Rule
    slope: Rule
    domain: Domain
    needs: str


@quiet
def trusted(low: Array, high: Array) -> Enclosure:
    """Give the interval between numbers from the C library, wider by what they may be off by."""
    below, above = low - np.abs(low) * TRUST - TINY, high + np.abs(high) * TRUST + TINY
    return Enclosure(np.where(np.isnan(below), -np.inf, below), np.where(np.isnan(above), np.inf, above))


@quiet
def _exp(x: Enclosure, _: Parameters) -> Enclosure:
    result = trusted(np.exp(x.low), np.exp(x.high))
    return Enclosure(np.maximum(result.low, 0.0), result.high)


@quiet
def _ln(x: Enclosure, _: Parameters) -> Enclosure:
    return trusted(np.log(x.low), np.log(x.high))


@quiet
def _sqrt(x: Enclosure, _: Parameters) -> Enclosure:
    low, high = np.sqrt(x.low), np.sqrt(x.high)
    return Enclosure(np.where(low == 0, 0.0, down(low)), np.where(high == 0, 0.0, up(high)))


@quiet
def _power(x: Enclosure, parameters: Parameters) -> Enclosure:
    """x^p for x ≥ 0, the exponent a double p̂ with |p − p̂| ≤ 2^-53|p|: x^p = x^p̂·exp((p − p̂) ln x)."""
    exponent = float(parameters[0])
    ends = np.power(x.low, exponent), np.power(x.high, exponent)
    low, high = ends if exponent > 0 else ends[::-1]
    where_low, where_high = (x.low, x.high) if exponent > 0 else (x.high, x.low)
    result = trusted(low, high)
    spare = [
        np.abs(exponent) * 2.0**-50 * np.abs(end * np.where(at > 0, np.log(at), 0.0))
        for end, at in ((low, where_low), (high, where_high))
    ]
    return Enclosure(np.maximum(result.low - spare[0], 0.0), result.high + spare[1])


@quiet
def _sin(x: Enclosure, _: Parameters) -> Enclosure:
    return _wave(np.sin(x.low), np.sin(x.high), x, 0.25)


@quiet
def _cos(x: Enclosure, _: Parameters) -> Enclosure:
    return _wave(np.cos(x.low), np.cos(x.high), x, 0.0)


def _wave(first: Array, second: Array, x: Enclosure, crest: float) -> Enclosure:
    """Enclose a wave of period 2π with a crest at that share of its period, from its values at both ends."""
    ends = trusted(np.minimum(first, second), np.maximum(first, second))
    begin, end = x.low / (2 * np.pi) - crest, x.high / (2 * np.pi) - crest
    slack = 2.0**-48 * (np.abs(begin) + np.abs(end) + 1)
    top = np.floor(end + slack) >= np.ceil(begin - slack)
    bottom = np.floor(end + slack - 0.5) >= np.ceil(begin - slack - 0.5)
    far = ~(x.magnitude < TURNS)
    return Enclosure(
        np.where(bottom | far, -1.0, np.maximum(ends.low, -1.0)), np.where(top | far, 1.0, np.minimum(ends.high, 1.0))
    )


@quiet
def _tanh(x: Enclosure, _: Parameters) -> Enclosure:
    ends = trusted(np.tanh(x.low), np.tanh(x.high))
    return Enclosure(np.maximum(ends.low, -1.0), np.minimum(ends.high, 1.0))


def _tanh_slope(x: Enclosure, _: Parameters) -> Enclosure:
    slope = UNIT - _tanh(x, ()) ** 2
    return Enclosure(np.maximum(slope.low, 0.0), np.minimum(slope.high, 1.0))


def _share(x: Enclosure, parameters: Parameters) -> Enclosure:
    """Enclose s = (x − threshold)/width + ½, cut to 0 … 1."""
    threshold, width = (Enclosure.exact(parameter) for parameter in parameters)
    share = (x - threshold) / width + HALF
    return Enclosure(np.clip(share.low, 0.0, 1.0), np.clip(share.high, 0.0, 1.0))


def _above(x: Enclosure, parameters: Parameters) -> Enclosure:
    share = _share(x, parameters)
    low, high = (end**2 * (3 - 2 * end) for end in (share.low, share.high))
    result = trusted(low, high)
    return Enclosure(np.clip(result.low, 0.0, 1.0), np.clip(result.high, 0.0, 1.0))


def _above_slope(x: Enclosure, parameters: Parameters) -> Enclosure:
    """6s(1 − s)/width: it rises to s = ½ and falls from there."""
    share = _share(x, parameters)
    low, high = (6 * end * (1 - end) for end in (share.low, share.high))
    steepest = np.where((share.low <= 0.5) & (share.high >= 0.5), 1.5, np.maximum(low, high))
    bump = trusted(np.minimum(low, high), steepest)
    return Enclosure(np.maximum(bump.low, 0.0), np.minimum(bump.high, 1.5)) / Enclosure.exact(parameters[1])


def _greatest(x: Enclosure, parameters: Parameters) -> Enclosure:
    bound = Enclosure.exact(parameters[0])
    return Enclosure(np.maximum(x.low, bound.low), np.maximum(x.high, bound.high))


def _greatest_slope(x: Enclosure, parameters: Parameters) -> Enclosure:
    """1 where the argument is known to be the greater, 0 where the constant is, and anything between elsewhere."""
    bound = Enclosure.exact(parameters[0])
    return Enclosure(np.where(x.low >= bound.high, 1.0, 0.0), np.where(x.high <= bound.low, 0.0, 1.0))


def _everywhere(x: Enclosure, _: Parameters) -> Array:
    return np.isfinite(x.low) & np.isfinite(x.high)


def _positive(x: Enclosure, _: Parameters) -> Array:
    return (x.low > 0) & np.isfinite(x.high)


FUNCTIONS: Mapping[str, Function] = {
    "exp": Function(_exp, _exp, _everywhere, "bounded"),
    "ln": Function(_ln, lambda x, _: UNIT / x, _positive, "above 0"),
    "sqrt": Function(_sqrt, lambda x, _: HALF / _sqrt(x, ()), _positive, "above 0"),
    "reciprocal": Function(
        lambda x, _: UNIT / x,
        lambda x, _: -(UNIT / x**2),
        lambda x, _: ~x.has_zero & _everywhere(x, ()),
        "all on one side of 0",
    ),
    "power": Function(
        _power,
        lambda x, p: Enclosure.exact(p[0]) * _power(x, (p[0] - 1,)),
        lambda x, p: (x.low >= 0) & np.isfinite(x.high) if p[0] > 1 else _positive(x, ()),
        "above 0",
    ),
    "sin": Function(_sin, _cos, _everywhere, "bounded"),
    "cos": Function(_cos, lambda x, _: -_sin(x, ()), _everywhere, "bounded"),
    "tanh": Function(_tanh, _tanh_slope, _everywhere, "bounded"),
    "above": Function(_above, _above_slope, _everywhere, "bounded"),
    "greatest": Function(_greatest, _greatest_slope, _everywhere, "bounded"),
    "least": Function(
        lambda x, p: -_greatest(-x, (-p[0],)), lambda x, p: _greatest_slope(-x, (-p[0],)), _everywhere, "bounded"
    ),
}
