"""How far noise takes an answer from the truth: the quality that a custodian pays for privacy."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, positive_definite
from errorfloor.errors import InputError
from errorfloor.values import Value

KINDS = "'squared', 'absolute' or a positive definite matrix"


@dataclass(frozen=True, eq=False)
class Loss(Value):
    """A loss ℓ(w): wᵀRw with ``weight`` R, or Σ|wᵢ| when that is None.

    >>> Loss.parse("squared", 2)([3.0, 4.0]), Loss.parse("absolute", 2)([3.0, 4.0])
    (25.0, 7.0)
    """

    weight: Array | None

    @classmethod
    def parse(cls, loss: Any, dimension: int) -> "Loss":
        """Give the loss meant by "squared", "absolute" or a positive definite matrix R.

        >>> Loss.parse("median", 1)
        Traceback (most recent call last):
        errorfloor.errors.InputError: loss must be 'squared', 'absolute' or a positive definite matrix, got 'median'
        """
        if isinstance(loss, Loss):
            return loss if loss.weight is None else cls(positive_definite("loss", loss.weight, dimension))
        if isinstance(loss, str):
            if loss not in ("squared", "absolute"):
                raise InputError(f"loss must be {KINDS}, got {loss!r}")
            return cls(np.eye(dimension) if loss == "squared" else None)
        if callable(loss):
            raise InputError(f"loss must be {KINDS}: let a matrix R with a wᵀRw above a function stand for it")
        return cls(positive_definite("loss", loss, dimension))

    def __call__(self, w: Any) -> Any:
        """Evaluate ℓ at points along the last axis."""
        w = np.asarray(w, dtype=float)
        value = np.abs(w).sum(axis=-1) if self.weight is None else np.einsum("...i,ij,...j", w, self.weight, w)
        return float(value) if value.ndim == 0 else value
