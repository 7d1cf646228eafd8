"""What every support knows about itself."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from errorfloor.checks import Array, invertible, points, vector
from errorfloor.errors import SupportError
from errorfloor.values import Value

ROUNDING = 1e-12  # relative to a set's size: what computed facets and axes may be off by


class Support(Value, ABC):
    """A closed set with interior in Rᵐ, where noise or an answer may live.

    In one dimension points are plain numbers; otherwise they lie along the last axis of an array.
    """

    if TYPE_CHECKING:  # a field in some supports, a property in others

        @property
        def dimension(self) -> int:
            """The number m of coordinates."""

    @property
    @abstractmethod
    def bounding_box(self) -> tuple[Array, Array]:
        """Least and greatest value of each coordinate; infinite where the set is unbounded."""

    @property
    @abstractmethod
    def volume(self) -> float:
        """Length, area, volume …; infinite for an unbounded set."""

    @property
    def is_bounded(self) -> bool:
        """Whether the set fits in a box."""
        low, high = self.bounding_box
        return bool(np.isfinite(low).all() and np.isfinite(high).all())

    def contains(self, w: Any) -> Any:
        """Tell for each point whether it lies in the set, its boundary included."""
        answer = self._contains(points("w", w, self.dimension))
        return bool(answer) if answer.ndim == 0 else answer

    def image(self, matrix: Any, shift: Any = None) -> "Support":
        """Give the set {matrix·w + shift : w in this set}; the matrix must be invertible, or the image is flat."""
        A = invertible("matrix", matrix, self.dimension, SupportError)
        b = np.zeros(self.dimension) if shift is None else vector("shift", shift, SupportError)
        if b.shape != (self.dimension,):
            raise SupportError(f"shift must have {self.dimension} entries, got {b.size}")
        return self._image(A, b)

    @property
    def half_spaces(self) -> tuple[Array, Array] | None:
        """The pair (A, b) with the set equal to {w : A w ≤ b}, or None if it is no intersection of half-spaces."""
        return None

    @property
    def product_form(self) -> "tuple[Array, tuple[Support, ...]] | None":
        """Coordinates N w in which the set is a product of one-dimensional sets, or None.

        A box is one with N = Id; a parallelepiped, a half-space, or a cone with m facets at most, becomes one.
        """
        return None

    @abstractmethod
    def _contains(self, w: Array) -> Array: ...

    @abstractmethod
    def _image(self, A: Array, b: Array) -> "Support": ...


def is_diagonal(matrix: Array) -> bool:
    """Tell whether a symmetric matrix has off-diagonal entries that vanish but for rounding, whatever its units.

    >>> is_diagonal(np.diag([1.0, 1e-30]))
    True
    """
    scale = np.sqrt(np.abs(np.diag(matrix)))
    off = np.abs(matrix - np.diag(np.diag(matrix)))
    return bool((off <= ROUNDING * np.outer(scale, scale)).all())
