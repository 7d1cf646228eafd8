"""A noise table for counts: for each true count the exact probabilities of what is published."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errorfloor.checks import Array, whole
from errorfloor.errors import InputError
from errorfloor.noise import Certificate
from errorfloor.policies.counts.floor import CountFloor
from errorfloor.policies.counts.rules import CountRules
from errorfloor.policies.counts.weights import WHOLE, Thresholds, as_counts, as_keys, thresholds
from errorfloor.random import bits_from
from errorfloor.values import Value

KEPT = 1e-10  # how far a table may be from its rules
AIMS = {
    "average": "tells neighbouring counts apart least, added up over small counts",
    "worst": "keeps the most exposed pair of neighbouring counts closest together, for units in many cells",
    "distinguish": "tells the most exposed pair of neighbouring counts apart least, from one cell",
    "entropy": "has the greatest entropy at each count",
}


@dataclass(frozen=True, eq=False)
class CountTable(Value):
    """Rows 0 … ``last``; larger counts use the last row, moved along.

    ``weights[i][k + D]``/2⁶⁴ is the probability that the true count i is published as i + k: whole numbers, so that
    everything stated (``information``, ``floor()``, bias, variance) is computed from exactly what is drawn.

    Guarantee: 0 ≤ published count, |published − true| ≤ D, and the ``rules`` hold to 1e-10, or the table is refused.

    >>> from errorfloor.policies.counts import design_counts
    >>> table = design_counts(max_noise=2, variance=1.0, keep_zero=True)
    >>> table.sample([0, 3, 1000], rng=1).tolist() == table.sample([0, 3, 1000], rng=1).tolist()
    True
    >>> round(table.variance_at(1000), 9), round(table.bias_at(3), 9)
    (1.0, 0.0)
    """

    weights: tuple[tuple[int, ...], ...]
    rules: CountRules | None = None
    objective: str | None = None
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        rows = tuple(tuple(int(weight) for weight in row) for row in self.weights)
        self._set(weights=rows)
        if not rows or any(len(row) != len(rows[0]) for row in rows) or len(rows[0]) % 2 == 0:
            raise InputError("a table needs rows of one odd length, for the noises −D … D")
        for i, row in enumerate(rows):
            if sum(row) != WHOLE or min(row) < 0:
                raise InputError(f"the weights of the true count {i} must be whole numbers ≥ 0 that add up to 2⁶⁴")
            if any(row[: max(0, self.max_noise - i)]):
                raise InputError(f"the table publishes a count below 0 for the true count {i}")
        if self.rules is not None:
            _check_rules(self, self.rules)

    @property
    def max_noise(self) -> int:
        """D: the published count is never further from the true one."""
        return (len(self.weights[0]) - 1) // 2

    @property
    def last(self) -> int:
        """The last count with a row of its own; larger ones use that row, moved along."""
        return len(self.weights) - 1

    @cached_property
    def probabilities(self) -> Array:
        """The weights as doubles, one row for each count 0 … ``last``, one column for each noise −D … D."""
        return np.array([[weight / WHOLE for weight in row] for row in self.weights])

    def pmf(self, published: Any, count: Any) -> Array:
        """Give the probability of publishing one count when another is true; both may be arrays.

        >>> from errorfloor.policies.counts import design_counts
        >>> table = design_counts(max_noise=2, variance=1.0, keep_zero=True)
        >>> float(table.pmf([0, 1], 0).sum()), float(table.pmf(np.arange(998, 1003), 1000).sum().round(12))
        (1.0, 1.0)
        """
        j, i = np.broadcast_arrays(as_counts("published", published), as_counts("count", count))
        noise = j - i
        inside = np.abs(noise) <= self.max_noise
        column = np.where(inside, noise + self.max_noise, 0)
        return np.where(inside, self.probabilities[np.minimum(i, self.last), column], 0.0)

    def dense(self, low: int, high: int) -> Array:
        """Give the laws of the true counts ``low`` … ``high`` as rows over the published counts from 0 on."""
        low, high = whole("low", low, least=0), whole("high", high, least=low)
        return self.pmf(np.arange(high + self.max_noise + 1)[None, :], np.arange(low, high + 1)[:, None])

    def bias_at(self, count: int) -> float:
        """E j − i, from the exact weights; a function of the true count, for the designer."""
        return self._moment(count, 1)

    def variance_at(self, count: int) -> float:
        """The variance of the published count, from the exact weights."""
        return self._moment(count, 2) - self.bias_at(count) ** 2

    def mean_square_at(self, count: int) -> float:
        """E(j − i)²: the variance where there is no bias."""
        return self._moment(count, 2)

    @cached_property
    def angles(self) -> Array:
        """The angle between the laws of i and i + 1 for i = 0 … ``last``; the last one holds for all larger counts."""
        laws = self.dense(0, self.last + 1)
        chords = np.linalg.norm(np.diff(np.sqrt(laws), axis=0), axis=1)
        return np.asarray(2 * np.arcsin(chords / 2))

    def information(self, count: Any = None) -> Any:
        """4·angle²: what the published count tells of i against i + 1; the greatest over all counts by default.

        It is the Fisher information of the smoothest interpolation between the two laws, and at most π².

        >>> from errorfloor.policies.counts import design_counts
        >>> table = design_counts(max_noise=3, variance=2.0, keep_zero=True)
        >>> bool(table.information(0) == table.information() > table.information(10**9))
        True
        """
        if count is None:
            return float(4 * self.angles.max() ** 2)
        i = as_counts("count", count)
        found = 4 * self.angles[np.minimum(i, self.last)] ** 2
        return float(found) if found.ndim == 0 else found

    @cached_property
    def _thresholds(self) -> Thresholds:
        return thresholds(self.weights)

    def sample(self, counts: Any, rng: Any = None) -> NDArray[np.int64]:
        """Draw published counts, independently of one another; ``rng`` None is secure bits."""
        i = as_counts("counts", counts)
        return self._thresholds.chosen(i, bits_from(rng).words(i.size).reshape(i.shape))

    def publish(self, counts: Any, keys: Any) -> NDArray[np.int64]:
        """Look published counts up by cell keys, uniform 64-bit words: the same cell, the same noise.

        >>> from errorfloor.policies.counts import design_counts
        >>> table = design_counts(max_noise=2, variance=1.0, keep_zero=True)
        >>> table.publish([5, 5, 0], np.array([7, 7, 8], dtype=np.uint64)).tolist()
        [3, 3, 0]
        """
        i, words = as_counts("counts", counts), as_keys("keys", keys)
        if words.shape != i.shape:
            raise InputError(f"keys must be one for each count: got {words.shape} keys for {i.shape} counts")
        empty = words[i == 0]
        if self._thresholds.used[0] > 1 and len(np.unique(empty)) < len(empty):
            raise InputError(
                "empty cells share a key, and this table moves zeros: all of them would get the same noise; "
                "give each empty cell a key of its own (cell_words(…, labels=…))"
            )
        return self._thresholds.chosen(i, words)

    def floor(self) -> CountFloor:
        """What nobody who sees published counts can beat."""
        return CountFloor(self)

    def explain(self) -> str:
        """Say in words what the table does, what it costs, and what a published count tells."""
        sentences = [
            f"A published count is a whole number of at least 0, never more than {self.max_noise} away from the true "
            f"one; counts above {self.last} have the noise of {self.last}."
        ]
        rules = self.rules
        if rules is not None:
            mean = "mean zero and variance" if rules.unbiased else "a mean square of"
            sentences.append(f"Its noise has {mean} at most {rules.variance:g}.")
            if rules.least_positive > 1:
                sentences.append(f"No count from 1 to {rules.least_positive - 1} is ever published.")
            sentences += [f"Exception: {remark}." for remark in rules.remarks]
            reached = self.mean_square_at(self.last)
            if reached < rules.variance * (1 - 1e-6):
                sentences.append(
                    f"Large counts use a variance of {reached:.4g} only: more within ±{self.max_noise} would tell more."
                )
        if self.objective in AIMS:
            gap = "" if self.certificate is None else f" (proved to {max(1e-12, self.certificate.gap or 0.0):.1g})"
            sentences.append(f"Among such tables it {AIMS[self.objective]}{gap}.")
        return " ".join([*sentences, self.floor().explain()])

    def to_text(self) -> str:
        """Write the table as plain text for use with cell keys; ``from_text`` reads it back exactly."""
        from errorfloor.policies.counts import text

        return text.to_text(self)

    def plot(self, *, most: int | None = None) -> Any:
        """Draw the rows of small counts, and how well neighbouring counts can be told apart."""
        from errorfloor.plots import count_tables

        return count_tables({"what a count becomes": self}, most=most)

    def __repr__(self) -> str:
        return f"CountTable(max_noise={self.max_noise}, rows 0 … {self.last}, objective={self.objective!r})"

    def _moment(self, count: int, power: int) -> float:
        row = self.weights[min(whole("count", count, least=0), self.last)]
        total: int = sum((m - self.max_noise) ** power * weight for m, weight in enumerate(row))
        return total / WHOLE


def _check_rules(table: CountTable, rules: CountRules) -> None:
    if rules.max_noise != table.max_noise or table.last < rules.first_whole:
        raise InputError(
            f"rules for max_noise {rules.max_noise} need rows for the noises ±{rules.max_noise} and the counts "
            f"0 … {rules.first_whole} at least; the table has ±{table.max_noise} and 0 … {table.last}"
        )
    for i, row in enumerate(table.weights):
        allowed = rules.row(i)
        used = {i + m - table.max_noise for m, weight in enumerate(row) if weight}
        if not used <= set(allowed.published):
            stray = sorted(used - set(allowed.published))
            raise InputError(f"the rules do not allow the true count {i} to be published as {stray[0]}")
        if allowed.mean and not math.isclose(table.bias_at(i), 0.0, abs_tol=KEPT):
            raise InputError(f"the rules ask for noise of mean zero at the true count {i}, got {table.bias_at(i):g}")
        if table.mean_square_at(i) > rules.variance + KEPT:
            raise InputError(
                f"the rules allow a mean square of {rules.variance:g} at the true count {i}, "
                f"got {table.mean_square_at(i):g}"
            )
