"""The table of the adversary's value: its format, and what one answer does to an adversary's odds.

Two hypotheses move an answer by d; the noise, a raised cosine, has information I; the answer costs a = I·d², φ = ½√a.
Write the adversary's error as √(π(1−π))·r(x), x the logarithm of the odds of π. After the answer it is
√(π(1−π))·(μ_a ∗ r)(x):

    μ_a(dl) = sin³φ / (4π (cosh(l/2) − cos φ)²) dl      (outcomes that decide for certain count 0),
    ∫ cos(kl) μ_a(dl) = [cos φ · sinh(2k(π − φ)) + 2k sin φ · cosh(2k(π − φ))] / sinh(2πk).

`table.proof.md` derives both. ``scripts/value_table.py`` makes the table, and certifies it.
"""

import lzma
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError

FILE = "value.table"
MAGIC = b"errorfloor value table 1\n"
UNIT = 2.0**-36  # of the coefficients
STEP = 2.0**-30  # of the levels
ROUNDING = 2.0**-40  # more than a sum over all frequencies in doubles can be off by


@dataclass(frozen=True, eq=False)
class ValueTable:
    """1 − W(A, π) = √(π(1−π)) · max(0, r(A, x)), x = ln(π/(1−π)), for |x| ≤ L, and 0 beyond.

    r is linear in A between ``levels``; at level i it is Σ_n coefficients[i, n]·cos(πnx/L). All numbers are exact.

    Guarantee: W bounds how often anybody names the right one of two hypotheses of prior π and 1 − π from answers with
    raised-cosine noise, chosen one after the other and stopped at will, whose charges sum to at most A on every
    transcript; `table.proof.md`.

    >>> table = value_table()
    >>> table.coefficients.shape, float(table.levels[-1].round(2))
    ((579, 1597), 22.39)
    """

    levels: Array
    coefficients: Array
    half_period: float

    def curve(self, charge: float) -> Array:
        """Give the coefficients of r(A, ·), for A up to the last level."""
        j = min(max(int(np.searchsorted(self.levels, charge, side="right")) - 1, 0), len(self.levels) - 2)
        part = (charge - self.levels[j]) / (self.levels[j + 1] - self.levels[j])
        return np.asarray(self.coefficients[j] * (1 - part) + self.coefficients[j + 1] * part)

    @cached_property
    def frequencies(self) -> Array:
        """πn/L."""
        return np.asarray(np.pi / self.half_period * np.arange(self.coefficients.shape[1]))

    def to_bytes(self) -> bytes:
        """Write the table: whole numbers, second differences over the levels, low bytes first, compressed."""
        whole = np.rint(self.coefficients / UNIT).astype(np.int64)
        levels = np.rint(self.levels / STEP).astype(np.int64)
        if not ((whole * UNIT == self.coefficients).all() and (levels * STEP == self.levels).all()):
            raise InputError("a value table is made of whole units: round it first")
        head = np.array([*whole.shape, round(self.half_period / STEP)], dtype="<i8").tobytes()
        return MAGIC + lzma.compress(head + levels.astype("<i8").tobytes() + _packed(whole), preset=9)

    @classmethod
    def from_bytes(cls, content: bytes) -> "ValueTable":
        """Read what ``to_bytes`` wrote."""
        if not content.startswith(MAGIC):
            raise InputError("this is not a value table")
        plain = lzma.decompress(content[len(MAGIC) :])
        rows, columns, period = np.frombuffer(plain, "<i8", 3).tolist()
        levels = np.frombuffer(plain, "<i8", rows, offset=24)
        whole = _unpacked(plain[24 + 8 * rows :], rows, columns)
        return cls(levels * STEP, whole * UNIT, period * STEP)


@lru_cache(maxsize=1)
def value_table() -> ValueTable:
    """Give the table that is part of the package."""
    return ValueTable.from_bytes(resources.files("errorfloor.floors.adversary").joinpath(FILE).read_bytes())


def multiplier(charge: Array, frequency: Array) -> Array:
    """Give ∫ cos(kl) μ_a(dl) for each charge a (a row) and each frequency k (a column); 0 from a = 4π² on.

    *Guarantee*: within 2⁻⁴⁸ of the exact value, where ``exp`` and ``sin`` are within 4 units in the last place.

    >>> float(multiplier(np.array([1.0]), np.array([0.0]))[0, 0].round(4))  # the affinity
    0.8905
    """
    root = np.sqrt(charge)[:, None]
    angle = 0.5 * root
    cos, sin = np.cos(angle), np.sin(angle)
    k = frequency[None, :]
    near, far = np.exp(-k * root), np.exp(-k * (4 * math.pi - root))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (cos * (near - far) + 2 * k * sin * (near + far)) / -np.expm1(-4 * math.pi * k)
    affinity = (1 - angle / math.pi) * cos + sin / math.pi
    found = np.where(k == 0, affinity, found)
    return np.where(angle < math.pi, found, 0.0)


def _packed(whole: Array) -> bytes:
    second = np.diff(np.diff(whole, axis=0, prepend=0), axis=0, prepend=0)
    return np.ascontiguousarray(second.astype("<i8").view(np.uint8).reshape(-1, 8).T).tobytes()


def _unpacked(content: bytes, rows: int, columns: int) -> Array:
    low_first = np.frombuffer(content, np.uint8).reshape(8, rows * columns).T
    second = np.ascontiguousarray(low_first).view("<i8").reshape(rows, columns)
    return np.asarray(second.cumsum(axis=0).cumsum(axis=0))
