"""The law of the noise on the initial state: a noise on few coordinates, and where they lie in the state."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array, whole
from errorfloor.dynamics.state_space import combined
from errorfloor.noise import Gaussian, LinearImage, Noise
from errorfloor.random import Bits, bits_from


@dataclass(frozen=True, eq=False)
class Start:
    """z = ``embedding``·s, s drawn from ``noise``; its information about the initial state is WᵀW, W = ``weights``.

    ``weights`` is meant on the directions that stay uncertain; see ``errorfloor.dynamics.knowledge``. The product is
    formed term by term in a fixed order, so that one draw and a thousand together are the same to the last bit.

    >>> start = Start(Gaussian(1.0), np.array([[2.0], [0.0]]), np.array([[0.5, 0.0]]))
    >>> start.covariance
    array([[4., 0.],
           [0., 0.]])
    """

    noise: Noise
    embedding: Array
    weights: Array

    @cached_property
    def covariance(self) -> Array:
        """Σ, n×n."""
        inner = self.noise.covariance
        product = self.embedding @ inner @ self.embedding.T
        return np.asarray((product + product.T) / 2)

    @property
    def mean(self) -> Array:
        """E z."""
        return np.asarray(self.embedding @ self.noise.mean)

    @property
    def repeatable(self) -> bool:
        """Whether the same bits give the same z on every machine."""
        return isinstance(self._simple[0], _Standard) or self._simple[0].repeatable

    @property
    def law(self) -> dict[str, Any]:
        """What decides the draw, as plain JSON types."""
        return {"noise": self.noise.law, "embedding": self.embedding.tolist()}

    def draw(self, count: int, rng: Any = None) -> Array:
        """Draw z, of shape (count, n)."""
        number = whole("count", count, least=0)
        noise, embedding = self._simple
        drawn = noise._sample(number, bits_from(rng)).reshape(number, noise.dimension)
        return combined(embedding, drawn.T).T

    @cached_property
    def _simple(self) -> tuple["Noise | _Standard", Array]:
        """The noise without the matrices in front of it, which are gathered in one."""
        noise: Any = self.noise
        embedding = self.embedding
        while isinstance(noise, LinearImage):
            noise, embedding = noise.base, embedding @ noise.matrix
        if isinstance(noise, Gaussian) and np.array_equal(noise.covariance, np.eye(noise.dimension)):
            noise = _Standard(noise.dimension)
        return noise, embedding


@dataclass(frozen=True)
class _Standard:
    """Standard normal numbers, each coordinate from the bits of its own draw."""

    dimension: int
    repeatable: bool = True

    def _sample(self, count: int, bits: Bits) -> Array:
        return bits.normals(self.dimension, count).T
