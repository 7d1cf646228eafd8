"""Functions of formulas in double words: the same steps whatever the argument, and the same bits on every machine."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from errorfloor.arithmetic.double_words import DoubleWord, quiet
from errorfloor.random.elementary import logarithm

FUNCTION_ERROR = 2.0**-90  # more than any function here is off by: of its value, or absolutely for ln and tanh
TERMS = 27
_ONE = DoubleWord.of(1)
_TWO = DoubleWord.of(2)
_HALF = DoubleWord.of(Fraction(1, 2))
_FACTORIALS = [DoubleWord.of(Fraction(1, math.factorial(n))) for n in range(TERMS)]
# ln 2 in two parts: the first has 33 digits, so that a whole number below 2²⁰ times it is a double
_LOG_TWO = (
    DoubleWord.of(Fraction(0x162E42FEF, 2**33)),
    DoubleWord.of(Fraction(108744740890354488058570184202009133862, 2**160)),
)
_SMALLEST_ARGUMENT = DoubleWord.of(-1500)  # of exp: what is below is 0 in double precision
_LARGEST_TANH = DoubleWord.of(40)  # 1 − tanh 40 < 2⁻¹¹⁴


def applied(function: str, parameters: tuple[Fraction, ...], value: DoubleWord) -> DoubleWord:
    """Give a function of numbers that lie in its domain.

    *Guarantee*: exp and sqrt are off by at most ``FUNCTION_ERROR`` of their value, ln and tanh by at most
    ``FUNCTION_ERROR`` times the larger of 1 and their value; greatest and least choose between the number and the
    double word nearest to the constant. The number of operations does not depend on the numbers
    (``double_functions.proof.md``).

    >>> float(applied("exp", (), DoubleWord.of(1)).high)
    2.718281828459045
    """
    match function, parameters:
        case "greatest", (other,):
            return value.at_least(DoubleWord.of(other))
        case "least", (other,):
            return value.at_most(DoubleWord.of(other))
        case (("exp" | "ln" | "sqrt" | "tanh"), ()):
            return FUNCTIONS[function](value)
    raise ValueError(f"no function of a formula is called {function} with {len(parameters)} numbers")


@quiet
def exponential(value: DoubleWord) -> DoubleWord:
    """e^x = 2^k · Σ rⁿ/n!, with r = x − k·ln 2 between −0.35 and 0.35."""
    cut = value.at_least(_SMALLEST_ARGUMENT)
    times = np.rint(cut.high * (1 / math.log(2)))
    count = DoubleWord(times, np.zeros_like(times))
    rest = (cut - count * _LOG_TWO[0]) - count * _LOG_TWO[1]
    total = _FACTORIALS[-1]
    for factor in reversed(_FACTORIALS[:-1]):
        total = total * rest + factor
    exponent = np.where(np.isfinite(times), times, 0).astype(np.int64)
    return total.scaled(exponent)


@quiet
def natural_logarithm(value: DoubleWord) -> DoubleWord:
    """Ln x = y + z − z²/2 + …, with y a double near it and z = x·e^−y − 1, which is below 2⁻⁴⁰."""
    start = logarithm(np.atleast_1d(value.high)).reshape(np.shape(value.high))
    near = DoubleWord(start, np.zeros_like(start))
    rest = value * exponential(-near) - _ONE
    return near + (rest - rest * rest * _HALF)


@quiet
def hyperbolic_tangent(value: DoubleWord) -> DoubleWord:
    """Tanh x = 1 − 2/(e²ˣ + 1), cut where it is 1 to all digits."""
    cut = value.at_most(_LARGEST_TANH).at_least(-_LARGEST_TANH)
    return _ONE - _TWO / (exponential(cut.scaled(1)) + _ONE)


FUNCTIONS: Mapping[str, Callable[[DoubleWord], DoubleWord]] = {
    "exp": exponential,
    "ln": natural_logarithm,
    "sqrt": DoubleWord.root,
    "tanh": hyperbolic_tangent,
}
