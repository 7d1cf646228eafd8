"""The floor: what nobody who sees the answers can beat, entry by entry."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array, matrix, symmetric, vector, whole
from errorfloor.errors import InputError
from errorfloor.floors import words
from errorfloor.floors.two_point import angle, success
from errorfloor.floors.worst_case import minimax

RANK = 1e-12  # singular values below this share of the largest count as zero


@dataclass(frozen=True, eq=False)
class Floor:
    """Bounds on what the answers tell about n private entries; every one is stated in the entries' own units.

    ``root`` is a matrix G with information I = GᵀG about the entries; ``exposed`` marks entries about which it is
    infinite. ``low`` and ``high`` are the declared ranges, ``spacing`` the step between an entry's possible values,
    ``evaluation`` the information Σ I_k η_k² of errors in evaluating the query.

    >>> import errorfloor as ef
    >>> floor = ef.floor(ef.design(ef.Interval(-1.5, 1.5)), [[1.0]], ranges=(0, 1))
    >>> float(floor.any_estimator[0].round(4)), float(floor.worst_entry.round(3))
    (0.2069, 0.477)
    """

    root: Array
    exposed: Array
    low: Array | None = None
    high: Array | None = None
    spacing: Array | None = None
    evaluation: float = 0.0
    why_infinite: str | None = None

    @property
    def entries(self) -> int:
        """The number n of private entries."""
        return int(self.root.shape[1])

    @cached_property
    def information(self) -> Array:
        """The n×n Fisher information of all answers about the entries."""
        total = self.root.T @ self.root
        total[np.ix_(self.exposed, self.exposed)] = math.inf
        return np.asarray(total)

    @cached_property
    def entry_information(self) -> Array:
        """The diagonal of ``information``, without forming the matrix."""
        return np.where(self.exposed, math.inf, (self.root**2).sum(axis=0))

    @property
    def per_entry(self) -> Array:
        """1/√I_ii: root-mean-square error of any *unbiased* estimator, even knowing every other entry."""
        with np.errstate(divide="ignore"):
            return np.asarray(1 / np.sqrt(self.entry_information))

    @property
    def worst_entry(self) -> float:
        """The least of ``per_entry``."""
        return np.float64(self.per_entry.min())

    @cached_property
    def any_estimator(self) -> Array:
        """Root-mean-square error of *any* estimator of each entry, in the worst case over its declared range."""
        widths = self._widths("any_estimator")
        steps = [None] * self.entries if self.spacing is None else [float(d) for d in self.spacing]
        cases = [
            (float(i), float(width), self.evaluation, step)
            for i, width, step in zip(self.entry_information, widths, steps, strict=True)
        ]
        known = {case: math.sqrt(minimax(*case)) for case in set(cases)}
        return np.array([known[case] for case in cases])

    def distinguish(self, distance: Any, *, entry: int | None = None) -> Any:
        """Best probability of telling two values of an entry ``distance`` apart at even odds (0.5 is a coin).

        For the most exposed entry unless one is named. Guarantee: no test does better, whatever it knows of the other
        entries, smooth query or not, continuous entry or not.
        """
        h = np.asarray(distance, dtype=float)
        if not (np.isfinite(h) & (h >= 0)).all():
            raise InputError(f"distance must be finite and not negative, got {distance!r}")
        information = self.entry_information.max() if entry is None else self.entry_information[self._index(entry)]
        return success(angle(h, float(information), self.evaluation))

    def owner(self, entries: Any = None) -> float:
        """Best probability of telling any two histories of one owner apart, all of ``entries`` changing together.

        ½(1 + sin a) with a = ½(√(RᵀJR) + 2√E), J the absolute values of the information, R the widths of the ranges.

        >>> import errorfloor as ef
        >>> floor = ef.floor(ef.design(ef.Interval(-10, 10)), [[0.1, 0.1]], ranges=(0, 5))
        >>> floor.owner([0, 1]) == floor.distinguish(10.0)
        True
        """
        widths = self._widths("owner")
        chosen = list(range(self.entries)) if entries is None else [self._index(i) for i in entries]
        if self.exposed[chosen].any():
            return 1.0
        G, R = self.root[:, chosen], widths[chosen]
        moved = float(R @ np.abs(G.T @ G) @ R)
        return float(success(angle(1.0, moved, self.evaluation)))

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        """Singular values above rounding, and the directions (rows) that they belong to."""
        scale = np.sqrt(self.entry_information)
        if not np.isfinite(scale).all() or not scale.any():
            return np.zeros(0), np.zeros((0, self.entries))
        _, values, directions = np.linalg.svd(self.root, full_matrices=False)
        live = values > RANK * values[0]
        return values[live], directions[live]

    @property
    def identifiable(self) -> Array:
        """An orthonormal basis, one a column, of the directions of the data about which the answers tell anything."""
        return self._factors[1].T

    @property
    def total(self) -> float:
        """√Tr I⁻¹: root-mean-square error over the whole record of any unbiased estimator.

        Infinite when I is singular: then no unbiased estimator of finite variance exists, and ``identifiable`` spans
        what the answers depend on.
        """
        if self.exposed.any():
            return 0.0
        values, _ = self._factors
        return math.inf if len(values) < self.entries else float(np.sqrt((values**-2).sum()))

    def biased(self, G: Any, bias: Any = 0.0) -> float:
        """√(Tr(G I⁺ Gᵀ) + |bias|²): root-mean-square error of an estimator with E x̂ = g(x).

        ``G`` is the Jacobian of g and ``bias`` the vector g(x) − x. Rows of G must lie in the identifiable subspace, as
        those of every estimator of finite variance do.

        >>> import errorfloor as ef
        >>> floor = ef.floor(ef.noise.Gaussian([[1.0, 0.0], [0.0, 9.0]]), [[1.0, 0.0], [0.0, 1.0]])
        >>> round(floor.biased([[1.0, 2.0], [0.0, 1.0]]) ** 2, 9)
        46.0
        """
        J = matrix("G", G)
        offset = vector("bias", np.broadcast_to(np.asarray(bias, dtype=float), (J.shape[0],)))
        if J.shape[1] != self.entries:
            raise InputError(f"G must have {self.entries} columns, one an entry, got {J.shape[1]}")
        floor_of_bias = float(np.linalg.norm(offset))
        if self.exposed.any():
            return floor_of_bias
        values, directions = self._factors
        inside = J @ directions.T
        outside = np.linalg.norm(J - inside @ directions)
        if outside > 1e-8 * np.linalg.norm(J):
            raise InputError(
                f"G is not the bias of any estimator of finite variance: part of it ({outside:.3g}) lies outside the "
                f"{len(values)} directions that the answers depend on (see identifiable)"
            )
        return math.hypot(float(np.linalg.norm(inside / values)), floor_of_bias)

    def bayes(self, prior_information: Any) -> float:
        """√Tr((I + I_prior)⁻¹): root-mean-square error over the record of *any* estimator, averaged under a prior.

        ``prior_information`` is the prior's n×n Fisher information, or its diagonal, or one number for all entries; the
        prior must vanish at its edges.

        >>> import errorfloor as ef
        >>> ef.floor(ef.noise.Gaussian(1.0), [[1.0]]).bayes(3.0)
        0.5
        """
        given = np.asarray(prior_information, dtype=float)
        if given.ndim < 2:
            given = np.diag(np.broadcast_to(given, (self.entries,)))
        prior = symmetric("prior_information", given, self.entries)
        if self.exposed.any():
            return 0.0
        values = np.linalg.eigvalsh(self.information + prior)
        if values[0] <= RANK * values[-1]:
            return math.inf
        return float(np.sqrt((1 / values).sum()))

    def after(self, answers: int) -> "Floor":
        """Give the floor when that many independent answers of this kind have been seen.

        >>> import errorfloor as ef
        >>> one = ef.floor(ef.noise.Gaussian(1.0), [[1.0]])
        >>> float(one.after(4).worst_entry)
        0.5
        """
        count = whole("answers", answers)
        return replace(self, root=self.root * math.sqrt(count), evaluation=self.evaluation * count)

    def explain(self, *, unit: str = "", distance: float | None = None) -> str:
        """Say in the data's units what nobody can learn, each sentence with its quantifier.

        Floors are rounded down and probabilities up. ``distance`` is the gap of the headline; a tenth of the widest
        range by default.
        """
        return words.explain(self, unit=unit, distance=distance)

    def _widths(self, purpose: str) -> Array:
        if self.low is None or self.high is None:
            raise InputError(f"{purpose} needs the entries' declared ranges: floor(…, ranges=(low, high))")
        return self.high - self.low

    def _index(self, entry: int) -> int:
        if isinstance(entry, bool) or not isinstance(entry, (int, np.integer)) or not 0 <= entry < self.entries:
            raise InputError(f"entry must be one of 0 … {self.entries - 1}, got {entry!r}")
        return int(entry)
