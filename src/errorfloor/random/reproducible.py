"""Bits that anybody can repeat: for tests and studies, never for a release."""

import numpy as np

from errorfloor.checks import whole
from errorfloor.random.bits import Bits, Words


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
