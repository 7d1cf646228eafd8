"""The floor: what nobody who sees the answers can beat, entry by entry."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array, broadcast, matrix, numbers, symmetric, whole
from errorfloor.errors import InputError
from errorfloor.floors import words
from errorfloor.floors.privacy_loss import Shifted, loss_of
from errorfloor.floors.two_point import told_apart
from errorfloor.floors.worst_case import minimax

MOST_SQUARE = 5000  # entries for which an n×n matrix is formed
MOST_TRIED = 100  # entries, moved differently, for which an ε is looked for


@dataclass(frozen=True, eq=False)
class Floor:
    """Bounds on what the answers tell about n private entries; every one is stated in the entries' own units.

    ``root`` is a matrix G with information I = GᵀG about the entries, and ``known`` the same for what the adversary has
    from elsewhere; ``exposed`` marks entries about which the information is infinite. ``low`` and ``high`` are the
    declared ranges, ``spacing`` the step between an entry's possible values (0 for a continuum), ``evaluation`` the
    information Σ I_k η_k² of errors in evaluating the query. ``linear`` is False where G holds bounds on derivatives:
    then only the diagonal of GᵀG bounds anything. ``raised_cosine`` is the part of the information about each entry
    that comes from answers with raised-cosine or Gaussian noise, which tell values apart less well; ``counted_apart``
    says that all of G does. ``answers`` has each of them; None if there are others, or they are not known one by one.

    Bounds for a continuum (``per_entry``, ``total``, ``biased``, ``bayes``) promise nothing, that is 0, where values
    lie on a lattice or the query is evaluated with errors.

    >>> import errorfloor as ef
    >>> floor = ef.floor(ef.design(ef.Interval(-1.5, 1.5)), [[1.0]], ranges=(0, 1))
    >>> float(floor.any_estimator[0].round(4)), float(floor.worst_entry.round(3))
    (0.2235, 0.477)
    """

    root: Array
    exposed: Array
    known: Array
    low: Array | None = None
    high: Array | None = None
    spacing: Array | None = None
    evaluation: float = 0.0
    linear: bool = True
    why_infinite: str | None = None
    raised_cosine: Array | None = None
    counted_apart: bool = False
    answers: tuple[Shifted, ...] | None = None

    @property
    def entries(self) -> int:
        """The number n of private entries."""
        return int(self.root.shape[1])

    @property
    def _all(self) -> Array:
        return np.vstack([self.root, self.known])

    @property
    def information(self) -> Array:
        """The n×n Fisher information of all answers about the entries; the query must be linear."""
        self._needs_linear("information")
        self._needs_few("information")
        total = self._all.T @ self._all
        total[np.ix_(self.exposed, self.exposed)] = math.inf
        return np.asarray(total)

    @cached_property
    def entry_information(self) -> Array:
        """The diagonal of the information, or a bound on it."""
        return np.where(self.exposed, math.inf, (self.root**2).sum(axis=0) + (self.known**2).sum(axis=0))

    @cached_property
    def counted(self) -> tuple[Array, Array]:
        """The information A₁ about each entry from answers with raised-cosine or Gaussian noise, and A₂ of all else."""
        if self.counted_apart:
            return np.where(self.exposed, math.inf, (self.root**2).sum(axis=0)), (self.known**2).sum(axis=0)
        cosines = np.zeros(self.entries) if self.raised_cosine is None else self.raised_cosine
        return cosines, np.maximum(self.entry_information - cosines, 0.0)

    @property
    def rough(self) -> Array:
        """Entries for which no bound for a continuum holds: on a lattice, or behind errors of evaluation."""
        lattice = np.zeros(self.entries, dtype=bool) if self.spacing is None else self.spacing > 0
        return lattice | (self.evaluation > 0)

    @property
    def per_entry(self) -> Array:
        """1/√I_ii: root-mean-square error of any *unbiased* estimator, even knowing every other entry."""
        with np.errstate(divide="ignore"):
            return np.where(self.rough, 0.0, 1 / np.sqrt(self.entry_information))

    @property
    def worst_entry(self) -> float:
        """The least of ``per_entry``."""
        return np.float64(self.per_entry.min())

    @cached_property
    def any_estimator(self) -> Array:
        """Root-mean-square error of *any* estimator of each entry, in the worst case over its declared range."""
        widths = self._widths("any_estimator")
        spacing = np.zeros(self.entries) if self.spacing is None else self.spacing
        cases = np.stack([*self.counted, widths, spacing], axis=1)
        different, place = cases[:1], np.zeros(len(cases), dtype=int)
        if not (cases == cases[0]).all():
            different, place = np.unique(cases, axis=0, return_inverse=True)
        squares = [
            minimax(other, width, self.evaluation, step or None, cosine)
            for cosine, other, width, step in different.tolist()
        ]
        return np.sqrt(squares)[place.reshape(-1)]

    def distinguish(self, distance: Any, *, entry: int | None = None, odds: float = 1.0) -> Any:
        """Best probability of telling two values of an entry ``distance`` apart at prior ``odds`` (0.5 is a coin).

        For the most exposed entry unless one is named; odds lie between 1 : 20 and 20 : 1. Guarantee: no test does
        better, whatever it knows of the other entries, smooth query or not, continuous entry or not.
        """
        h = numbers("distance", distance)
        if not (np.isfinite(h) & (h >= 0)).all():
            raise InputError(f"distance must be finite and not negative, got {distance!r}")
        chosen = np.arange(self.entries) if entry is None else np.array([self._index(entry)])
        cases = {(float(cosine), float(other)) for cosine, other in np.stack(self.counted, axis=1)[chosen]}
        # left out are cases that another one dominates: no less in either sum, or all that counts less booked in A₂
        worst = [
            one for one in cases if not any(two != one and sum(two) >= sum(one) and two[1] >= one[1] for two in cases)
        ]
        found = [told_apart(h, other, self.evaluation, cosine, odds=odds) for cosine, other in worst]
        return found[0] if len(found) == 1 else np.max(found, axis=0)[()]

    def epsilon(self, delta: float, distance: float, *, entry: int | None = None) -> float:
        """Give an ε for which values ``distance`` apart are (ε, δ)-indistinguishable by the answers; maybe infinite.

        For the most exposed entry unless one is named. It is about the answers alone: raised-cosine or Gaussian noise,
        one or many. Guarantee (``privacy_loss.proof.md``): it is never too small if the questions were fixed in
        advance; for questions that follow from answers it holds at limits fixed in advance, not at what was answered.

        >>> import errorfloor as ef
        >>> one = ef.floor(ef.design(ef.Interval(-0.5, 0.5)), [[0.01]])
        >>> round(one.epsilon(1e-3, 1.0), 2), round(one.after(100).epsilon(1e-2, 1.0), 2)
        (0.18, 1.75)
        """
        if not (isinstance(delta, (int, float)) and 0 < delta < 1):
            raise InputError(f"delta must lie between 0 and 1, got {delta!r}")
        if not (np.ndim(distance) == 0 and np.isfinite(distance) and distance >= 0):
            raise InputError(f"distance must be one finite number that is not negative, got {distance!r}")
        if self.answers is None:
            raise InputError(
                "epsilon is for answers with raised-cosine or Gaussian noise that are known one by one; "
                "errorfloor.dp.epsilon gives it for one answer with any noise"
            )
        chosen = slice(None) if entry is None else [self._index(entry)]
        different = np.unique(np.stack([one.slopes for one in self.answers])[:, chosen], axis=1).T
        if len(different) > MOST_TRIED:
            raise InputError(f"the answers move {len(different)} entries differently: name one (entry=…)")
        return max(loss_of(self.answers, slopes, distance, delta).epsilon for slopes in different)

    def owner(self, entries: Any = None) -> float:
        """Best probability of telling any two histories of one owner apart, all of ``entries`` changing together.

        They are told apart like two values 1 apart of an entry with the information RᵀJR, R the widths of the ranges
        and J the absolute values of the information; where derivatives are only bounded, with Σ_k I_k(Σ_i L_ki R_i)².

        >>> import errorfloor as ef
        >>> floor = ef.floor(ef.design(ef.Interval(-10, 10)), [[0.1, 0.1]], ranges=(0, 5))
        >>> round(floor.owner([0, 1]), 6), round(float(floor.distinguish(10.0)), 6)
        (0.567105, 0.567105)
        """
        widths = self._widths("owner")
        listed = range(self.entries) if entries is None else np.atleast_1d(np.asarray(entries, dtype=object)).tolist()
        chosen = [self._index(i) for i in listed]
        if self.exposed[chosen].any():
            return 1.0
        if self.counted_apart:
            moved = [self._moved(rows[:, chosen], widths[chosen]) for rows in (self.known, self.root)]
            return float(told_apart(1.0, moved[0], self.evaluation, moved[1]))
        return float(told_apart(1.0, self._moved(self._all[:, chosen], widths[chosen]), self.evaluation))

    def _moved(self, G: Array, R: Array) -> float:
        if self.linear and len(R) <= MOST_SQUARE:
            return float(R @ np.abs(G.T @ G) @ R)
        return float(((np.abs(G) @ R) ** 2).sum())

    @cached_property
    def _factors(self) -> tuple[Array, Array, Array]:
        """Scale of each entry, and singular values and directions of G in entries of that scale, rounding left out."""
        self._needs_linear("this bound")
        G = np.where(self.exposed, 0.0, self._all)
        scale = np.linalg.norm(G, axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        _, values, directions = np.linalg.svd(G / scale, full_matrices=False)
        live = values > 4 * np.finfo(float).eps * max(G.shape) * values.max(initial=0.0)
        return scale, values[live], directions[live]

    @property
    def identifiable(self) -> Array:
        """An orthonormal basis, one a column, of the directions of the data about which the answers tell anything."""
        scale, _, directions = self._factors
        axes = np.zeros((int(self.exposed.sum()), self.entries))
        axes[np.arange(len(axes)), np.flatnonzero(self.exposed)] = 1.0
        spanned = np.vstack([axes, directions * scale])
        if not len(spanned):
            return np.zeros((self.entries, 0))
        lengths = np.linalg.norm(spanned, axis=1, keepdims=True)
        basis: Array = np.linalg.qr((spanned / lengths).T)[0]
        return basis

    @property
    def total(self) -> float:
        """√Tr I⁻¹: root-mean-square error over the whole record of any unbiased estimator.

        Infinite when I is singular: then no unbiased estimator of finite variance exists, and ``identifiable`` spans
        what the answers depend on. Where derivatives are only bounded, n/√Tr I.
        """
        if self.exposed.any() or self.rough.any():
            return 0.0
        if not self.linear:
            return self.entries / math.sqrt(float(self.entry_information.sum()))
        scale, values, directions = self._factors
        if len(values) < self.entries:
            return math.inf
        return float(np.linalg.norm(directions / values[:, None] / scale))

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
        offset = broadcast("bias", bias, J.shape[0])
        if J.shape[1] != self.entries:
            raise InputError(f"G must have {self.entries} columns, one per entry, got {J.shape[1]}")
        floor_of_bias = float(np.linalg.norm(offset))
        if self.exposed.any() or self.rough.any():
            return floor_of_bias
        scale, values, directions = self._factors
        scaled = J / scale
        inside = scaled @ directions.T
        outside = np.linalg.norm(scaled - inside @ directions)
        if outside > 1e-8 * np.linalg.norm(scaled):
            raise InputError(
                f"G is not the bias of any estimator of finite variance: part of it ({outside:.3g}) lies outside the "
                f"{len(values)} directions that the answers depend on (see identifiable)"
            )
        return math.hypot(float(np.linalg.norm(inside / values)), floor_of_bias)

    def bayes(self, prior_information: Any) -> float:
        """√Tr((I + I_prior)⁻¹): root-mean-square error over the record of *any* estimator, averaged under a prior.

        ``prior_information`` is the prior's n×n Fisher information, or its diagonal, or one number for all entries; the
        prior must vanish at its edges. Where derivatives are only bounded, n/√Tr(I + I_prior).

        >>> import errorfloor as ef
        >>> ef.floor(ef.noise.Gaussian(1.0), [[1.0]]).bayes(3.0)
        0.5
        """
        self._needs_few("bayes")
        given = numbers("prior_information", prior_information)
        if given.ndim < 2:
            given = np.diag(broadcast("prior_information", given, self.entries))
        prior = symmetric("prior_information", given, self.entries)
        if self.exposed.any() or self.rough.any():
            return 0.0
        if not self.linear:
            return self.entries / math.sqrt(float(self.entry_information.sum() + np.trace(prior)))
        total = self.information + prior
        scale = np.sqrt(np.diag(total))
        if not scale.all():
            return math.inf
        values, directions = np.linalg.eigh(total / scale / scale[:, None])
        if values[0] <= 4 * np.finfo(float).eps * self.entries * values[-1]:
            return math.inf
        return float(np.linalg.norm(directions.T / np.sqrt(values)[:, None] / scale))

    def after(self, answers: int) -> "Floor":
        """Give the floor when that many independent answers of this kind have been seen.

        >>> import errorfloor as ef
        >>> one = ef.floor(ef.noise.Gaussian(1.0), [[1.0]])
        >>> float(one.after(4).worst_entry)
        0.5
        """
        count = whole("answers", answers)
        if count > 10**30:
            raise InputError("answers must be at most 10³⁰")
        cosine = None if self.raised_cosine is None else self.raised_cosine * count
        told = None if self.answers is None else tuple(one._replace(times=one.times * count) for one in self.answers)
        return replace(
            self,
            root=self.root * math.sqrt(count),
            evaluation=self.evaluation * count,
            raised_cosine=cosine,
            answers=told,
        )

    def explain(self, *, unit: str = "", distance: float | None = None, stored: float | None = None) -> str:
        """Say in the data's units what nobody can learn, each sentence with its quantifier.

        Floors are rounded down and probabilities up. ``distance`` is the gap of the headline; a tenth of the widest
        range by default. ``stored`` is how far apart two such values may be once they are rounded to be stored.
        """
        return words.explain(self, unit=unit, distance=distance, stored=stored)

    def _widths(self, purpose: str) -> Array:
        if self.low is None or self.high is None:
            raise InputError(f"{purpose} needs the entries' declared ranges: floor(…, ranges=(low, high))")
        return self.high - self.low

    def _needs_linear(self, purpose: str) -> None:
        if not self.linear:
            raise InputError(f"{purpose} needs the derivatives of a linear query, not bounds on them")

    def _needs_few(self, purpose: str) -> None:
        if self.entries > MOST_SQUARE:
            raise InputError(f"{purpose} forms an n×n matrix, for at most {MOST_SQUARE} entries; got {self.entries}")

    def _index(self, entry: int) -> int:
        if isinstance(entry, bool) or not isinstance(entry, (int, np.integer)) or not 0 <= entry < self.entries:
            raise InputError(f"entry must be one of 0 … {self.entries - 1}, got {entry!r}")
        return int(entry)
