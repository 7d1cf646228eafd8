"""What all answers of a trajectory tell: about the initial state, a function of it, or the state at any step."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, symmetric
from errorfloor.floors import Floor
from errorfloor.floors.build import parsed_ranges
from errorfloor.noise.information import matrix_root

ROUNDING = 1e-12  # relative size of a singular value that is taken for it
NEGLIGIBLE = 1e-9  # relative length of a part of a vector that is taken for rounding


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Information WᵀW about n numbers, W = ``root``, along the directions in ``free`` and those in ``unseen``.

    Directions orthogonal to both are released exactly. ``root`` vanishes on ``unseen``, which no answer depends on.

    >>> half = Knowledge(np.array([[2.0, 0.0]]), np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]]))
    >>> half.floor().per_entry
    array([0.5, inf])
    """

    root: Array
    free: Array
    unseen: Array

    @property
    def entries(self) -> int:
        """The number n."""
        return int(self.root.shape[1])

    def floor(self, *, ranges: Any = None, side_information: Any = None) -> Floor:
        """State what nobody can learn about the n numbers themselves."""
        inside = self.free @ self.free.T + self.unseen @ self.unseen.T
        outside = np.linalg.norm(np.eye(self.entries) - inside, axis=0)
        low, high = parsed_ranges(ranges, self.entries)
        known = np.zeros((0, self.entries))
        if side_information is not None:
            known = matrix_root(symmetric("side_information", side_information, self.entries))
        exposed = outside > NEGLIGIBLE
        return Floor(
            root=np.where(exposed, 0.0, self.root),
            exposed=exposed,
            known=known,
            low=low,
            high=high,
            why_infinite=_WHY if exposed.any() else None,
        )

    @property
    def spread(self) -> Array:
        """B with BBᵀ = I⁻¹ along ``free``: no unbiased estimator of the n numbers has a smaller covariance.

        >>> Knowledge(np.array([[2.0, 0.0]]), np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])).spread
        array([[0.5],
               [0. ]])
        """
        return np.asarray(self.free @ np.linalg.pinv(self.root @ self.free))

    def left_by(self, answers: Array) -> Array:
        """Give the floors that are left if a linear function of the n numbers becomes known, for each of several.

        ``answers`` has shape (…, m, q), m rows of H times ``spread``; the result (…, n). An unbiased estimator that
        knows H x exactly has at least the covariance B(Id − P⁺P)Bᵀ, P = HB, whatever the noise: the information
        about x along what H does not see is the same as before.
        """
        seen = np.linalg.pinv(answers, rcond=ROUNDING) @ answers
        left = self.spread @ (np.eye(seen.shape[-1]) - seen)
        return np.asarray(np.linalg.norm(left, axis=-1))


_WHY = "it is not among what is protected, and is released exactly"
