"""The rules that every row of a noise table for counts must keep, and which rows they tie down."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array, positive, whole
from errorfloor.errors import IllPosedError, InputError
from errorfloor.values import Value

MOST_NOISE = 20
LEAST_VARIANCE = 1e-6
TIED = 1e-12  # a variance this close, relatively, to the least possible one leaves no choice


@dataclass(frozen=True)
class CountRow:
    """What one true count allows: published counts, and whether the mean and the mean square of the noise are bound.

    >>> CountRow(count=3, published=(2, 3, 4), mean=True, limited=True).noise.tolist()
    [-1, 0, 1]
    """

    count: int
    published: tuple[int, ...]
    mean: bool
    limited: bool

    @property
    def noise(self) -> Array:
        """Published minus true count."""
        return np.asarray(self.published) - self.count

    @property
    def settled(self) -> bool:
        """Whether the rules leave no choice."""
        return len(self.published) <= 1 + self.mean

    @property
    def only_choice(self) -> Array:
        """Probabilities of a settled row: all on one count, or on two so that the mean is right."""
        if len(self.published) == 1:
            return np.ones(1)
        low, high = self.noise
        return np.asarray(np.array([high, -low]) / (high - low))


@dataclass(frozen=True, eq=False)
class CountRules(Value):
    """Rules of a table, for the published count j of every true count i.

    |j − i| ≤ ``max_noise``, j ≥ 0, j = 0 or j ≥ ``least_positive``, E(j − i)² ≤ ``variance``, and, if ``unbiased``,
    E j = i: all of these hold. A true zero stays zero if ``keep_zero``; if not, the row of zero alone is exempt from
    E j = i, for a count that cannot fall has noise of mean zero only if it never moves.

    >>> rules = CountRules(max_noise=3, variance=2.0, unbiased=True, keep_zero=True)
    >>> rules.row(1).published, rules.row(0).settled, rules.greatest_variance(1)
    ((0, 1, 2, 3, 4), True, 3.0)
    """

    max_noise: int
    variance: float
    unbiased: bool
    keep_zero: bool
    least_positive: int = 1

    def __post_init__(self) -> None:
        D = whole("max_noise", self.max_noise)
        if D > MOST_NOISE:
            raise InputError(f"max_noise must be at most {MOST_NOISE}, got {D}: larger counts need noise on a grid")
        V = positive("variance", self.variance)
        if V < LEAST_VARIANCE:
            raise InputError(f"variance must be at least {LEAST_VARIANCE:g}, got {V:g}: less would publish true counts")
        if V > D * D:
            raise InputError(
                f"variance {V:g} is too large for max_noise {D}: noise within ±{D} has a variance of at most {D * D}; "
                f"ask for less, or for max_noise ≥ {int(np.ceil(np.sqrt(V)))}"
            )
        for name in ("unbiased", "keep_zero"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be True or False, got {getattr(self, name)!r}")
        self._set(max_noise=D, variance=V, least_positive=whole("least_positive", self.least_positive))
        self._check_rows()

    @property
    def first_whole(self) -> int:
        """The least count from which on every noise from −D to D is allowed."""
        return self.max_noise + (self.least_positive if self.least_positive > 1 else 0)

    def row(self, count: int) -> CountRow:
        """Give what is allowed at a true count."""
        published, noise, mean = self._allowed(count)
        if mean and (noise[0] == 0 or noise[-1] == 0):
            return CountRow(count, (count,), mean, limited=False)
        least = self.least_variance(count)
        if least >= self.variance * (1 - TIED):
            ends = (int(noise[noise <= 0][-1]), int(noise[noise >= 0][0])) if mean else ()
            near = ends or tuple(int(k) for k in noise if k * k == least)
            return CountRow(count, tuple(count + k for k in near), mean, limited=False)
        return CountRow(count, published, mean, limited=True)

    def least_variance(self, count: int) -> float:
        """The least mean square of the noise at a true count: |a|·b between the nearest noises a ≤ 0 ≤ b."""
        _, noise, mean = self._allowed(count)
        if not mean:
            return float((noise**2).min())
        return float(-noise[noise <= 0][-1] * noise[noise >= 0][0])

    def greatest_variance(self, count: int) -> float:
        """The greatest: |a|·b between the farthest ones, so i·D for unbiased noise at a count i ≤ D."""
        _, noise, mean = self._allowed(count)
        if not mean:
            return float((noise**2).max())
        return float(-noise[0] * noise[-1])

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """Rows that cannot have what other rows have, and why."""
        found = []
        if self.keep_zero:
            why = " (mean zero would force this in any case: a published count cannot fall below 0)"
            found.append(f"a true 0 is always published as 0{why if self.unbiased else ''}")
        elif self.unbiased:
            found.append("the row of the true count 0 has a bias: noise of mean zero would never move it")
        low = [i for i in range(1, self.first_whole) if self.greatest_variance(i) < self.variance]
        if low:
            bounds = ", ".join(f"{self.greatest_variance(i):g} at {i}" for i in low)
            found.append(
                f"the variance {self.variance:g} is out of reach of the smallest counts, whose noise is confined to "
                f"what keeps the published count allowed: at most {bounds}"
            )
        settled = [i for i in range(1, self.first_whole) if self.row(i).settled]
        if settled:
            found.append(f"the rules leave no choice at the true count{_s(settled)} {_listed(settled)}")
        return tuple(found)

    def _allowed(self, count: int) -> tuple[tuple[int, ...], Array, bool]:
        """What may be published, how much noise that is, and whether its mean is bound."""
        low, high = max(0, count - self.max_noise), count + self.max_noise
        if count == 0 and self.keep_zero:
            high = 0
        published = tuple(j for j in range(low, high + 1) if j == 0 or j >= self.least_positive)
        return published, np.asarray(published) - count, self.unbiased and (count > 0 or self.keep_zero)

    def _check_rows(self) -> None:
        stuck, tight = [], {}
        for count in range(self.first_whole):
            _, noise, bound = self._allowed(count)
            if not noise.size or (bound and (noise[0] > 0 or noise[-1] < 0)):
                stuck.append(count)
            elif self.least_variance(count) > self.variance * (1 + TIED):
                tight[count] = self.least_variance(count)
        gap = f"least_positive={self.least_positive}"
        if stuck:
            what = "mean zero" if self.unbiased else "any value"
            raise IllPosedError(
                f"no noise within ±{self.max_noise} has {what} at the true count{_s(stuck)} {_listed(stuck)} with "
                f"{gap}: allow max_noise ≥ {self.least_positive - 1}, or a smaller least_positive",
                counts=tuple(stuck),
            )
        if tight:
            raise IllPosedError(
                f"variance {self.variance:g} cannot be kept at the true count{_s(tight)} {_listed(list(tight))} with "
                f"{gap}: allow a variance of at least {max(tight.values()):g}, or a smaller least_positive",
                counts=tuple(tight),
            )


def _listed(counts: Any) -> str:
    return ", ".join(str(i) for i in counts)


def _s(counts: Any) -> str:
    return "s" if len(counts) > 1 else ""
