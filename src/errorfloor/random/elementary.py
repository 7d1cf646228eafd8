"""Logarithm, cosine and sine in plain double operations: the same bits give the same digits on every machine.

Libraries of mathematics differ in the last digit from one processor to the next. Sums, products, quotients and square
roots of doubles do not, so draws that must be the same everywhere are made of these alone.
"""

import numpy as np

from errorfloor.checks import Array

PART = 8_192


def _doubles(*texts: str) -> tuple[float, ...]:
    return tuple(float.fromhex(text) for text in texts)


# log((1 + s)/(1 − s)) = s·Σ 2/(2k+1)·s²ᵏ; what is left out is below 10⁻¹⁸ of it for |s| ≤ 3 − √8
_LOGARITHM = tuple(2.0 / (2 * k + 1) for k in range(11))
_LOG_TWO = _doubles("0x1.62e42fee00000p-1", "0x1.a39ef35793c76p-33")  # the first part times any exponent is exact
_ROOT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1")
# sin(πr/2)/r and cos(πr/2) by powers of r²; what is left out is below 2·10⁻¹⁸ for |r| ≤ 1/2
_SINE = _doubles(
    "0x1.921fb54442d18p+0",
    "-0x1.4abbce625be53p-1",
    "0x1.466bc6775aae2p-4",
    "-0x1.32d2cce62bd86p-8",
    "0x1.50783487ee782p-13",
    "-0x1.e3074fde8871fp-19",
    "0x1.e8f434d018d63p-25",
    "-0x1.6fadb9f155744p-31",
    "0x1.aaec32af93359p-38",
)
_COSINE = _doubles(
    "0x1.0000000000000p+0",
    "-0x1.3bd3cc9be45dep+0",
    "0x1.03c1f081b5ac4p-2",
    "-0x1.55d3c7e3cbffap-6",
    "0x1.e1f506891babbp-11",
    "-0x1.a6d1f2a204a8cp-16",
    "0x1.f9d38a3763cc3p-22",
    "-0x1.b6e24f44b128fp-28",
    "0x1.20c62c2f2d7f5p-34",
    "-0x1.2a0c591af8314p-41",
)


def logarithm(x: Array) -> Array:
    """Give the natural logarithm of positive doubles.

    Guarantee: the same double for the same argument on every machine, within 3 units in the last place of the truth.

    >>> logarithm(np.array([1.0, 0.5, 2.0**-53])).round(6).tolist()
    [0.0, -0.693147, -36.736801]
    """
    return np.concatenate([_logarithm(part) for part in _parts(x)])


def _logarithm(x: Array) -> Array:
    fraction, exponent = np.frexp(x)
    small = fraction < _ROOT_HALF
    fraction = np.where(small, 2.0 * fraction, fraction)  # now between √½ and √2, and the quotient below at most 3 − √8
    twos = (exponent - small).astype(np.float64)
    s = (fraction - 1.0) / (fraction + 1.0)
    value: Array = twos * _LOG_TWO[0] + (twos * _LOG_TWO[1] + s * _polynomial(_LOGARITHM, s * s))
    return value


def circle(turns: Array) -> tuple[Array, Array]:
    """Give cos(2πt) and sin(2πt) for a number of turns t between 0 and 1.

    Guarantee: the same doubles for the same argument on every machine, within 3·10⁻¹⁶ of the truth.

    >>> [part.tolist() for part in circle(np.array([0.0, 0.25, 0.5, 1.0]))]
    [[1.0, 0.0, -1.0, 1.0], [0.0, 1.0, 0.0, 0.0]]
    """
    across, up = zip(*(_circle(part) for part in _parts(turns)), strict=True)
    return np.concatenate(across), np.concatenate(up)


def _circle(turns: Array) -> tuple[Array, Array]:
    quarters = 4.0 * turns
    nearest = np.floor(quarters + 0.5)
    r = quarters - nearest  # exact, and between −½ and ½
    square = r * r
    sine, cosine = r * _polynomial(_SINE, square), _polynomial(_COSINE, square)
    quarter = nearest.astype(np.int64) & 3
    swapped = (quarter & 1) == 1
    across, up = np.where(swapped, sine, cosine), np.where(swapped, cosine, sine)
    left, down = (quarter == 1) | (quarter == 2), quarter >= 2
    return np.where(left, 0.0 - across, across), np.where(down, 0.0 - up, up)


def _parts(x: Array) -> list[Array]:
    """Cut a vector so that each part stays in a processor's cache between passes."""
    return [x[start : start + PART] for start in range(0, max(len(x), 1), PART)]


def _polynomial(coefficients: tuple[float, ...], z: Array) -> Array:
    value = np.full_like(z, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value *= z
        value += coefficient
    return value
