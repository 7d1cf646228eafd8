"""What all answers of a trajectory tell: about the initial state, a function of it, or the state at any step."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errorfloor.checks import Array, matrix, symmetric
from errorfloor.errors import InputError
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
    >>> float(half.floor_for([[4.0, 0.0]]).worst_entry)
    2.0
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
        known = np.zeros((0, self.entries)) if side_information is None else self._side(side_information)
        exposed = outside > NEGLIGIBLE
        return Floor(
            root=np.where(exposed, 0.0, self.root),
            exposed=exposed,
            known=known,
            low=low,
            high=high,
            why_infinite=_WHY if exposed.any() else None,
        )

    def floor_for(self, function: Any, *, ranges: Any = None, side_information: Any = None) -> Floor:
        """State what nobody can learn about H x, the rest of x being unknown: its information is (H I⁻¹ Hᵀ)⁻¹.

        A row of H that no unbiased estimator follows has no information; one that is released exactly is exposed. Two
        values of H x are told apart as well as the bound says for the pair of x that is hardest to tell.
        """
        H = matrix("function", np.atleast_2d(np.asarray(function, dtype=float)))
        if H.shape[1] != self.entries:
            raise InputError(f"function must have {self.entries} columns, one a state, got {H.shape[1]}")
        uncertain = np.hstack([self.free, self.unseen])
        J = self.root @ uncertain
        if side_information is not None:
            J = np.vstack([J, self._side(side_information) @ uncertain])
        low, high = parsed_ranges(ranges, len(H))
        D = H @ uncertain
        D[np.linalg.norm(D, axis=1) <= NEGLIGIBLE * np.linalg.norm(H, axis=1)] = 0.0
        exposed, root = _efficient(D, J)
        floor = Floor(root=root, exposed=exposed, known=np.zeros((0, len(H))), low=low, high=high)
        return replace(floor, why_infinite=_WHY) if exposed.any() else floor

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

    def _side(self, side_information: Any) -> Array:
        return matrix_root(symmetric("side_information", side_information, self.entries))


_WHY = "it is not among what is protected, and is released exactly"


def _efficient(D: Array, J: Array) -> tuple[Array, Array]:
    """Give which of the values D v are known exactly, and a root of the information about the others, J that of v."""
    scale = np.linalg.norm(J, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    _, values, directions = np.linalg.svd(J / scale, full_matrices=True)
    rank = int((values > 4 * np.finfo(float).eps * max(J.shape) * values.max(initial=0.0)).sum())
    D = D / scale
    spread = D @ directions[:rank].T / values[:rank]  # its Gram matrix is the covariance of the best estimates of D v
    unit = _lengths(spread)
    estimable = _estimable(D, directions[rank:], unit)
    left, sizes, right = np.linalg.svd(estimable.T @ (spread / unit), full_matrices=False)
    live = sizes > NEGLIGIBLE * max(sizes.max(initial=0.0), NEGLIGIBLE)
    reached = left[:, live]
    root = (right[live].T / sizes[live]) @ reached.T @ estimable.T / unit.T
    axes = estimable.T  # each column is an axis of the values, as far as it can be estimated
    hidden = np.linalg.norm(axes - reached @ (reached.T @ axes), axis=0)
    exposed = hidden > NEGLIGIBLE
    return exposed, np.where(exposed, 0.0, root)


def _estimable(D: Array, lost: Array, unit: Array) -> Array:
    """Give an orthonormal basis of the combinations of D v/unit that do not depend on the directions in ``lost``."""
    count = len(D)
    lengths = _lengths(D)
    left, sizes, _ = np.linalg.svd((D / lengths) @ lost.T, full_matrices=True)
    rank = int((sizes > NEGLIGIBLE).sum())
    return np.eye(count) if rank == 0 else np.linalg.qr(left[:, rank:] * (unit / lengths))[0]


def _lengths(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > 0, lengths, 1.0)
