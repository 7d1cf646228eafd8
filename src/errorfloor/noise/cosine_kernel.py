"""Raised-cosine draws from raw words: the same bits give the same numbers on every machine, compiled or not.

θ = πt with t uniform on (−1, 1) is moved by π towards the other side with probability sin²(πt/2). That sine is a
polynomial of our own in t², evaluated by Horner's rule in plain double operations, so that no library's cosine and no
fused multiplication decides a digit. With its coefficients rounded to doubles it is within 6·10⁻¹⁶ of the truth.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.random.bits import Words

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
CHUNK = 16_384  # draws that stay in a processor's cache between passes
WORTH_COMPILING = 100_000  # draws; loading the compiler takes longer than drawing fewer without it


def cosine_draws(pairs: Words, low: float, high: float) -> Array:
    """Give one draw on [low, high] from each row of two words.

    >>> words = np.array([0, 2**62, 2**63, 2**64 - 1], dtype=np.uint64)
    >>> cosine_draws(np.stack([words, words[::-1]], axis=1), -1.0, 1.0).round(6).tolist()
    [0.0, -0.5, 0.0, 1.0]
    """
    center, half = low + (high - low) / 2, (high - low) / 2
    out = np.empty(len(pairs))
    kernel = compiled() if len(pairs) >= WORTH_COMPILING else None
    if kernel is None:
        by_numpy(pairs, center, half, low, high, out)
    else:
        kernel(pairs.reshape(-1), center, half, low, high, out)
    return out


def by_numpy(pairs: Words, center: float, half: float, low: float, high: float, out: Array) -> None:
    """Fill ``out`` with NumPy alone."""
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


@cache
def compiled() -> Callable[..., Any] | None:
    """Give the same compiled by Numba, or None where Numba is not installed."""
    try:
        from numba import njit
    except ModuleNotFoundError:
        return None
    coefficients = COEFFICIENTS

    @njit("void(u8[::1], f8, f8, f8, f8, f8[::1])", nogil=True, cache=True)
    def kernel(words, center, half, low, high, out):  # type: ignore[no-untyped-def]
        for i in range(out.size):
            t = (np.float64(np.int64(words[2 * i]) >> 11) + 0.5) * 2.0**-52
            z = t * t
            p = coefficients[10]
            p = p * z + coefficients[9]
            p = p * z + coefficients[8]
            p = p * z + coefficients[7]
            p = p * z + coefficients[6]
            p = p * z + coefficients[5]
            p = p * z + coefficients[4]
            p = p * z + coefficients[3]
            p = p * z + coefficients[2]
            p = p * z + coefficients[1]
            p = p * z + coefficients[0]
            p = p * z
            moved = np.float64(words[2 * i + 1] >> np.uint64(11)) * 2.0**-53 < p
            side = 1.0 if t > 0.0 else -1.0
            w = center + half * (t - side if moved else t)
            out[i] = min(max(w, low), high)

    return kernel
