"""How far noise takes an answer from the truth: the quality that a custodian pays for privacy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, positive_definite
from errorfloor.errors import InputError
from errorfloor.values import Value

KINDS = "'squared', 'absolute', a positive definite matrix or a convex function"


@dataclass(frozen=True, eq=False)
class Loss(Value):
    """A loss ℓ(w): wᵀRw with ``weight`` R, a convex ``function`` of w, or Σ|wᵢ| when both are None.

    >>> Loss.parse("squared", 2)([3.0, 4.0]), Loss.parse("absolute", 2)([3.0, 4.0])
    (25.0, 7.0)
    >>> Loss.parse(np.cosh, 1)([[0.0]])
    array([1.])
    """

    weight: Array | None
    function: Callable[[Any], Any] | None = None

    @classmethod
    def parse(cls, loss: Any, dimension: int) -> "Loss":
        """Give the loss meant by "squared", "absolute", a positive definite matrix R, or a function.

        A function takes an array of numbers in one dimension, points along the last axis otherwise, and gives a number
        for each; one that only takes a single point is called for each in turn.

        >>> Loss.parse("median", 1)
        Traceback (most recent call last):
        errorfloor.errors.InputError: loss must be 'squared', 'absolute', a positive definite matrix or a convex
        function, got 'median'
        """
        if isinstance(loss, Loss):
            return loss if loss.weight is None else cls(positive_definite("loss", loss.weight, dimension))
        if isinstance(loss, str):
            if loss not in ("squared", "absolute"):
                raise InputError(f"loss must be {KINDS}, got {loss!r}")
            return cls(np.eye(dimension) if loss == "squared" else None)
        if callable(loss):
            return cls(None, loss)
        return cls(positive_definite("loss", loss, dimension))

    @property
    def is_absolute(self) -> bool:
        """Whether this is Σ|wᵢ|."""
        return self.weight is None and self.function is None

    def __call__(self, w: Any) -> Any:
        """Evaluate ℓ at points along the last axis."""
        w = np.asarray(w, dtype=float)
        if self.function is not None:
            value = _called(self.function, w)
        elif self.weight is None:
            value = np.abs(w).sum(axis=-1)
        else:
            value = np.einsum("...i,ij,...j", w, self.weight, w)
        return float(value) if value.ndim == 0 else value


def _called(function: Callable[[Any], Any], w: Array) -> Array:
    """Call a function that a user wrote, which may or may not take arrays, and check what comes back."""
    given = w[..., 0] if w.shape[-1] == 1 else w
    shape = w.shape[:-1]
    value: Any = None
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(function(given), dtype=float)
    except (TypeError, ValueError, IndexError, ArithmeticError):
        value = None
    if value is None or value.shape != shape:
        value = _point_by_point(function, given, shape)
    return np.asarray(value)


def _point_by_point(function: Callable[[Any], Any], given: Array, shape: tuple[int, ...]) -> Array:
    flat = given.reshape(-1) if given.shape == shape else given.reshape(-1, given.shape[-1])
    try:
        with np.errstate(all="ignore"):
            return np.array([_number(function, point) for point in flat]).reshape(shape)
    except (TypeError, ValueError, IndexError, ArithmeticError) as problem:
        raise InputError(f"loss must give a number for a point of the support, but it failed: {problem}") from None


def _number(function: Callable[[Any], Any], point: Any) -> float:
    try:
        return float(function(point))
    except OverflowError:  # larger than any double
        return float("inf")
