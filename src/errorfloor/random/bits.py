"""Where randomness comes from, and the few elementary draws that every sampler is built on.

Bits that anybody can repeat are for tests and studies, never for a release.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from errorfloor.checks import Array, whole
from errorfloor.random.elementary import circle, logarithm

Words = NDArray[np.uint64]


class Bits(ABC):
    """A source of uniform 64-bit words.

    Each number drawn uses at least 53 bits: a uniform is a multiple of 2⁻⁵³, off by at most one such step from a number
    that is uniform on the whole interval.
    """

    @abstractmethod
    def words(self, count: int) -> Words:
        """Give ``count`` independent uniform words."""

    def pairs(self, count: int) -> Words:
        """Give two words for each draw, side by side."""
        return self.words(2 * count).reshape(count, 2)

    def uniform(self, count: int) -> Array:
        """Give numbers uniform on the multiples of 2⁻⁵³ in (0, 1]: zero, which has no logarithm, is never drawn."""
        drawn: Array = ((self.words(count) >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53
        return drawn

    def exponential(self, count: int) -> Array:
        """Give standard exponential numbers, by inversion."""
        return 0.0 - logarithm(self.uniform(count))

    def sign(self, count: int) -> Array:
        """Give −1 or 1, evenly."""
        drawn: Array = 1.0 - 2.0 * (self.words(count) >> np.uint64(63)).astype(np.float64)
        return drawn

    def normal(self, count: int) -> Array:
        """Give standard normal numbers."""
        return np.asarray(self.normals(1, count)[0])

    def normals(self, rows: int, count: int) -> Array:
        """Give ``rows`` × ``count`` standard normal numbers, by Box and Muller's map of a disc's radius and angle."""
        pairs = (rows * count + 1) // 2
        return np.concatenate(self._two_normals(pairs))[: rows * count].reshape(rows, count)

    def _two_normals(self, count: int) -> tuple[Array, Array]:
        radius = np.sqrt(2.0 * self.exponential(count))
        across, up = circle(self.uniform(count))
        return radius * across, radius * up

    def lanes(self, chosen: Array) -> "Bits":
        """Give the bits for some of the draws that are being made together; all come from one stream here."""
        return self


class ReproducibleBits(Bits):
    """The Philox counter generator from a public seed: the same seed gives the same draws on every machine.

    >>> bool((ReproducibleBits(7).words(4) == ReproducibleBits(7).words(4)).all())
    True
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(whole("seed", seed, least=0))

    def words(self, count: int) -> Words:
        """Give the next ``count`` words of the seed's stream."""
        return np.asarray(self._generator.random_raw(count), dtype=np.uint64)


class GeneratorBits(Bits):
    """Bits of a NumPy ``Generator`` that the caller holds.

    >>> GeneratorBits(np.random.default_rng(7)).uniform(2).shape
    (2,)
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def words(self, count: int) -> Words:
        """Give the generator's next ``count`` words."""
        return self._generator.integers(0, 2**64 - 1, count, dtype=np.uint64, endpoint=True)
