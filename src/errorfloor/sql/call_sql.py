"""The only floating-point step of a row: a function of an exact integer over a known denominator, rounded to a grid.

    m = floor(function(N/D)·2^bits + ½)

Where the result would be far below the grid the argument is held at a place where it still is, so that no engine meets
an underflow (PostgreSQL makes an error of one).
"""

import math
from fractions import Fraction

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.engines.dialects import Dialect
from errorfloor.errors import RefusedError
from errorfloor.sql.layout import MOST_BITS
from errorfloor.sql.plan import Call

FAR_BELOW = 60  # bits below the grid at which a result counts as zero
MOST_SCALE = 10**100


def prepared(call: Call) -> Polynomial:
    """Give the polynomial that is made a double: the argument, or for ``above`` the place within the step.

    Shifting and stretching before the conversion keeps the place exact to a relative error wherever the threshold is.

    >>> prepared(Call("above", (Fraction(3), Fraction(2)), Polynomial.constant(4))).value
    Fraction(1, 1)
    """
    if call.function != "above":
        return call.argument
    threshold, width = call.parameters
    return (call.argument - threshold) * (1 / width) + Fraction(1, 2)


def call_sql(call: Call, numerator: str, divisor: int, bits: int, dialect: Dialect) -> str:
    """Write the integer of a call whose prepared argument is ``numerator`` / ``divisor``.

    >>> from errorfloor.engines.dialects import DuckDBDialect
    >>> call_sql(Call("sqrt", (), Polynomial.constant(1)), "x0", 1, 0, DuckDBDialect())
    "CAST(floor(sqrt(CAST(x0 AS DOUBLE)) + CAST('0.5' AS DOUBLE)) AS BIGINT)"
    """
    lowest_bits = -MOST_BITS if call.function in ("exp", "power") else -MOST_BITS // 2
    if not lowest_bits <= bits <= MOST_BITS or divisor > MOST_SCALE:
        raise RefusedError(
            f"{call.function} needs units of 2^{-bits}, and its argument a denominator of {divisor.bit_length()} bits; "
            f"the limits are 2^{-MOST_BITS} … 2^{-lowest_bits} and 1e100: rescale the argument",
            reason="too-large",
        )
    argument = dialect.double(numerator)
    if divisor > 1:
        argument = f"({argument} / {dialect.number(float(divisor))})"
    name = "smoothstep" if call.function == "above" else call.function
    parameters = [] if call.function == "above" else [_double(parameter) for parameter in call.parameters]
    lowest, highest = _limits(name, parameters, bits)
    if highest is not None:
        argument = f"least({argument}, {dialect.number(highest)})"
    if lowest is not None:
        argument = f"greatest({argument}, {dialect.number(lowest)})"
    value = dialect.function(name, parameters, argument)
    return dialect.to_whole(value if bits == 0 else f"{value} * {dialect.number(2.0**bits)}")


def _limits(name: str, parameters: list[float], bits: int) -> tuple[float | None, float | None]:
    """Give between what the argument is held: outside, the result is below 2^-60 of the grid, or constant."""
    depth = bits + FAR_BELOW
    match name, parameters:
        case "exp", []:
            return -depth * math.log(2), None
        case "smoothstep", []:
            return 2.0 ** -((max(depth, 0) + 2) / 2), 1.0
        case "power", [exponent]:
            reach = depth / abs(exponent)
            if reach > 1000:
                return None, None
            edge = 2.0 ** max(reach, -1000)
            return (1 / edge, None) if exponent > 0 else (None, edge)
    return None, None


def _double(parameter: Fraction) -> float:
    if parameter and not Fraction(1, MOST_SCALE) <= abs(parameter) <= MOST_SCALE:
        raise RefusedError(
            "a constant inside a function lies outside 1e-100 … 1e100: rescale the argument", reason="constant"
        )
    return float(parameter)
