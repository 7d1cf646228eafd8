"""What a published count tells of the true one: exact for one cell, bounded for several."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from errorfloor.checks import Array, whole
from errorfloor.errors import InputError
from errorfloor.floors import Pair
from errorfloor.floors.words import rounded_down, times_in_hundred

if TYPE_CHECKING:
    from errorfloor.policies.counts.table import CountTable

MOST_RANGE = 2000  # counts for which the exact posterior is formed


@dataclass(frozen=True, eq=False)
class CountFloor:
    """Floors of a noise table, computed from the weights that are drawn.

    Guarantee: ``distinguish`` and ``pair`` hold for any test and any estimator by somebody who knows all but whether h
    units are there; several cells count as independent draws, which they are with ``cell_words`` unless two of them are
    the same cell without the units: then ``difference`` holds.

    >>> from errorfloor.policies.counts import design_counts
    >>> floor = design_counts(max_noise=5, variance=3.0, keep_zero=False, unbiased=False).floor()
    >>> 0.5 < floor.distinguish() < floor.distinguish(cells=10) < 1
    True
    """

    table: "CountTable"

    def distinguish(self, h: int = 1, *, count: int | None = None, cells: int = 1) -> float:
        """Best probability, at even odds, of telling i from i + h: ½(1 + TV) exactly; over all i unless one is named.

        For several cells that all gain h units, ½(1 + √(1 − ρ²ᴷ)) with the affinity ρ, a bound.
        """
        several = whole("cells", cells) > 1
        return max(
            1 - (pair.testing_error_after(cells) if several else pair.testing_error) for pair in self._pairs(h, count)
        )

    def difference(self, h: int = 1, *, count: int | None = None) -> float:
        """Best probability, at even odds, of telling h units by a cell with them and the same cell without them.

        Where the units are not there the two are one cell, whose published counts are equal for certain; else they are
        two draws: 1 − ½ Σ_j p_i(j) p_{i+h}(j), exactly; over all i unless one is named. Of cells that are empty without
        them, each with noise of its own label, it is a bound.

        >>> from errorfloor.policies.counts import design_counts
        >>> floor = design_counts(max_noise=5, variance=3.0, keep_zero=True).floor()
        >>> round(floor.difference(count=20), 2), round(floor.distinguish(count=20), 2)
        (0.93, 0.61)
        """
        counts = range(self.table.last + 1) if count is None else (whole("count", count, least=0),)
        laws = (self._laws(one, whole("h", h)) for one in counts)
        return max(1 - float(one @ two) / 2 for one, two in laws)

    def pair(self, count: int, h: int = 1) -> Pair:
        """Bounds for a count known to be ``count`` or ``count + h``.

        >>> from errorfloor.policies.counts import design_counts
        >>> floor = design_counts(max_noise=2, variance=1.0, keep_zero=True).floor()
        >>> round(floor.pair(0).testing_error, 3) == round(0.5 * float(floor.table.pmf(0, 1)), 3)
        True
        """
        return Pair.of_laws(float(h), *self._laws(whole("count", count, least=0), whole("h", h)))

    def any_estimator(self, low: int, high: int) -> float:
        """Root-mean-square error of any estimator of the count, in the worst case over ``low`` … ``high``.

        √Σ_k (k − ½)·(1/N)Σ_i ½(1 − TV(i, i + k)) over the N values: the lattice bound with exact distances.
        """
        first, last = self._range(low, high)
        number, total = last - first + 1, 0.0
        for k in range(1, min(number - 1, 2 * self.table.max_noise) + 1):
            doubt = np.array([pair.testing_error for pair in self._pairs(k)])
            own = doubt[first : min(last - k, self.table.last) + 1].sum()
            beyond = max(0, last - k - max(self.table.last, first - 1)) * doubt[-1]
            total += (k - 0.5) / number * float(own + beyond)
        return math.sqrt(total)

    def bayes(self, low: int, high: int) -> float:
        """Root-mean-square error of the best estimator, averaged over ``low`` … ``high`` at equal odds: exact."""
        first, last = self._range(low, high)
        if last - first >= MOST_RANGE:
            raise InputError(f"bayes forms the posterior of at most {MOST_RANGE} counts, got {last - first + 1}")
        joint = self.table.dense(first, last) / (last - first + 1)
        values = np.arange(last - first + 1.0)
        seen = joint.sum(axis=0)
        mean = np.divide(values @ joint, seen, out=np.zeros_like(seen), where=seen > 0)
        return math.sqrt(max(0.0, float((joint * (values[:, None] - mean) ** 2).sum())))

    def explain(self, *, cells: int = 10) -> str:
        """Say in words what one unit more or less changes, and what seeing it in several cells adds."""
        table = self.table
        right = np.array([self.distinguish(count=i) for i in range(table.last + 1)])
        worst = int(right.argmax())
        sentences = [
            f"Somebody who knows everything but whether one more unit is in a cell is right at most "
            f"{times_in_hundred(float(right.max()))} times in 100 at even odds (50 is a coin); the most exposed are "
            f"the true counts {worst} and {worst + 1}. For large counts it is {times_in_hundred(float(right[-1]))} in "
            f"100."
        ]
        if table.weights[0][table.max_noise] == 2**64:
            stays = float(table.pmf(0, 1))
            sentences.append(
                f"A true 0 is published as 0, so a positive count proves that somebody is there; a single unit is "
                f"hidden behind a published 0 in {rounded_down(100 * stays)} of 100 cases."
            )
        sentences.append(
            f"Any estimate of a count is off by at least {rounded_down(self.any_estimator(0, 100))} (root mean square, "
            f"worst case over 0 … 100)."
        )
        sentences.append(
            f"The same cell is published with the same noise in every table, so asking again tells nothing. Different "
            f"cells have noises of their own: a unit that is in {cells} of them, all else known, can be found out in "
            f"up to {times_in_hundred(self.distinguish(cells=cells))} of 100 cases at even odds. That holds where "
            f"noises of different cells are independent: bare sums of record keys make them so in pairs only, for the "
            f"key of a total is the sum of the keys of its parts. Two published cells that differ in one unit alone "
            f"are one cell without it, and equal for certain: they give it away in "
            f"{times_in_hundred(self.difference())} of 100 cases, and every other such pair again."
        )
        return " ".join(sentences)

    def _laws(self, count: int, h: int) -> tuple[Array, Array]:
        low = min(count, self.table.last)  # larger counts have the same laws, moved along
        laws = self.table.dense(low, low + h)
        return laws[0], laws[-1]

    def _pairs(self, h: int, count: int | None = None) -> list[Pair]:
        """The pair of i and i + h, for one count i or for all that differ."""
        step = min(whole("h", h), 2 * self.table.max_noise + 1)  # from there on laws have nothing in common
        if count is not None:
            return [self.pair(count, step)]
        laws = self.table.dense(0, self.table.last + step)
        return [Pair.of_laws(float(step), laws[i], laws[i + step]) for i in range(self.table.last + 1)]

    def _range(self, low: int, high: int) -> tuple[int, int]:
        first, last = whole("low", low, least=0), whole("high", high, least=0)
        if first >= last:
            raise InputError(f"a range of counts needs low < high, got {low} … {high}")
        return first, last
