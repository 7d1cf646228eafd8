"""Whether what is derived from released parts may come back null, which is known before anything is charged.

Where a divisor may be 0 as far as released parts show, nothing bounds the quotient. Released intervals lie in what
public facts allow: what has an interval at the whole ranges of its parts is *never* null. What has none wherever parts
are tried, at both ends of what they can be and in the middle, is *always* null: it is refused before it is charged.
"""

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np

from errorfloor.checks import Array
from errorfloor.engines.allotment import allotment
from errorfloor.errors import RefusedError
from errorfloor.floors.words import rounded_down
from errorfloor.preparing.derived import enclosed
from errorfloor.pricing.interval import Enclosure
from errorfloor.pricing.words import words
from errorfloor.sql.plan import Apply, Covariance, Formula, Quotient, Sum, WeightedMean
from errorfloor.sql.question import Derived, is_private, walk

if TYPE_CHECKING:
    from errorfloor.preparing.preparation import Prepared

Nullness = Literal["never", "perhaps", "always"]
MOST_PLACES = 4  # noisy parts that are tried in all combinations; more are moved together
FINEST = 40  # halvings of a bound until one is given up on


def is_null(derived: Derived, prepared: "Prepared") -> Nullness:
    """Say whether what is derived is null in a group that has rows: never, perhaps, or always, from public facts."""
    parts = _Parts(derived, prepared)
    if parts.everywhere:
        return "never"
    if prepared.table.hides_records:  # how many there are has no public end: enough of them show anything
        return "perhaps"
    return "perhaps" if parts.somewhere(1.0) else "always"


def check_not_always_null(prepared: "Prepared") -> None:
    """Refuse a question that would be charged for a column without any number, with a bound that would give some."""
    for derived in prepared.question.quantiles:
        if not isinstance(derived, Derived) or is_null(derived, prepared) != "always":
            continue
        parts = _Parts(derived, prepared)
        fits = next((0.5**k for k in range(1, FINEST) if parts.somewhere(0.5**k)), None)
        if fits is None:
            advice = "whatever its bound: ask for groups with more rows, or leave it out"
        elif prepared.spend is not None:
            advice = "at this spend: ask with a larger one, for groups with more rows, or leave it out"
        else:
            bounds = (prepared.scale(one) * one.added.widest.high for one in parts.noisy if one.added is not None)
            advice = f"at this bound: ask with a max_error of at most {rounded_down(fits * max(bounds))} for it"
        raise RefusedError(
            f"{derived.name} would be null, since its released parts could not show {needs(derived.formula)}, {advice}",
            reason="null",
        )


def needs(formula: Formula) -> str:
    """Say what released parts have to show, so that the formula has an interval.

    >>> from errorfloor.sql.plan import Always, Count
    >>> needs(Quotient(Count(Always()), Count(Always())))
    'that it has a value'
    """
    found: dict[str, None] = {}
    for node in walk(formula):
        match node:
            case Quotient(denominator=divisor) if is_private(divisor) or isinstance(divisor, (Sum, Covariance)):
                found[f"{words(divisor)} to differ from 0"] = None
            case WeightedMean(weight=weight) if is_private(weight):
                found[f"sum({words(weight)}) to differ from 0"] = None
            case Apply(function="ln", argument=argument):
                found[f"{words(argument)} to be above 0"] = None
            case Covariance(sample=True):
                found["that there are two rows"] = None
    return " and ".join(found) or "that it has a value"


class _Parts:
    """The parts of what is derived, by kind of group: what public facts let them be, and how far off they are."""

    def __init__(self, derived: Derived, prepared: "Prepared") -> None:
        self.derived, self.domains = derived, prepared.plan.domains
        own = [one for one in prepared.outputs if one.output.part_of == derived]
        bounds = [prepared.bounds_of(one) for one in own]
        self.noisy = [one for one in own if one.added is not None]
        self.live: Array = np.all([each.defined for each in bounds], axis=0)
        self._ranges = {
            one.output.formula: Enclosure.of(each.low[self.live], each.high[self.live])
            for one, each in zip(own, bounds, strict=True)
        }
        self._off = {one.output.formula: one.added.of_kind("high")[self.live] for one in self.noisy if one.added}

    @property
    def everywhere(self) -> bool:
        """Whether there is an interval in every group whatever is released."""
        return bool(self._has_ends(self._ranges).all())

    def somewhere(self, factor: float) -> bool:
        """Whether there is one in any group with bounds so many times as wide, wherever parts are tried."""
        for places in self._places():
            allotment().check()
            if self._has_ends(self._at(places, factor)).any():
                return True
        return False

    def _has_ends(self, parts: dict[Formula, Enclosure]) -> Array:
        found = enclosed(self.derived, parts, self.domains)
        there = np.isfinite(found.low) & np.isfinite(found.high) & (found.low <= found.high)
        return np.broadcast_to(there, (int(self.live.sum()),))

    def _places(self) -> Iterator[dict[Formula, float]]:
        names, shares = list(self._off), (1.0, 0.5, 0.0)
        if len(names) > MOST_PLACES:
            yield from (dict.fromkeys(names, share) for share in shares)
        else:
            yield from (dict(zip(names, chosen, strict=True)) for chosen in product(shares, repeat=len(names)))

    def _at(self, places: dict[Formula, float], factor: float) -> dict[Formula, Enclosure]:
        found = dict(self._ranges)
        for name, share in places.items():
            whole, off = self._ranges[name], factor * self._off[name]
            at = whole.low + share * (whole.high - whole.low)
            found[name] = Enclosure.of(np.maximum(at - off, whole.low), np.minimum(at + off, whole.high))
        return found
