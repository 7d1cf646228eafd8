"""The columns that follow from released parts: their numbers and certain intervals, and whether they may be null.

Where a divisor may be 0 as far as released parts show, nothing bounds the quotient. Released intervals lie in what
public facts allow: what has an interval at the whole ranges of its parts is *never* null. What has none wherever parts
are tried, at both ends of what they can be and in the middle, is *always* null: it is refused before it is charged.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, Literal

import numpy as np

from errorfloor.arithmetic import arrow
from errorfloor.catalogue import PrivateColumn
from errorfloor.checks import Array
from errorfloor.engines.allotment import allotment
from errorfloor.errors import RefusedError
from errorfloor.floors.words import rounded_down, rounded_up
from errorfloor.preparing.derived import Bounded, derived_from, enclosed
from errorfloor.preparing.preparation import Prepared, PreparedOutput
from errorfloor.pricing.interval import Enclosure, quiet
from errorfloor.pricing.words import number, words
from errorfloor.sql import plan
from errorfloor.sql.question import CountedQuantile, Derived, is_private, walk

NO_DERIVATIVE = "its own derivative has no bound"
Nullness = Literal["never", "perhaps", "always"]
MOST_PLACES = 4  # noisy parts that are tried in all combinations; more are moved together
FINEST = 40  # halvings of a bound until one is given up on


@quiet
def derived_columns(derived: Derived, prepared: Prepared) -> dict[str, Any]:
    """Give the columns of what is derived; NULL where nothing bounds it."""
    parts = {one.output.formula: released(one, prepared) for one in prepared.outputs if one.output.part_of == derived}
    found = derived_from(parts, derived, prepared.plan.domains)
    shape = (len(prepared.bounds.groups),)
    low, high = (np.broadcast_to(end, shape) for end in (found.around.low, found.around.high))
    there = np.isfinite(low) & np.isfinite(high) & (low <= high)
    for one in prepared.outputs:
        if one.output.part_of == derived:
            there &= ~arrow.nulls(one.kept)
    low, high = np.where(there, low, 0.0), np.where(there, high, 0.0)
    number = np.broadcast_to(found.number, shape)
    middle = np.where((low <= number) & (number <= high), number, (low + high) / 2)
    ends = {"": middle, "_low": low, "_high": high}
    return {f"{derived.name}{end}": arrow.column(values, there) for end, values in ends.items()}


def released(one: PreparedOutput, prepared: Prepared) -> Bounded:
    """Give the released numbers of a part, and where the truth certainly is."""
    numbers = arrow.values_of(arrow.without_nulls(one.kept)).astype(float)
    if one.added is None:
        off = 0.0 if one.constant is None else one.constant.error
        return Bounded(numbers, Enclosure(numbers - off, numbers + off).widened(0.0))
    # numbers follow from the ends, which are therefore cut to no finer ones
    ends = one.added.interval(numbers, prepared.bounds_of(one), prepared.bounds.kind, fine=False)
    return Bounded(numbers, Enclosure(*ends))


def derived_where(derived: Derived, one: PreparedOutput, prepared: Prepared) -> str:
    """Say what is certain of what is derived, from one of its sums."""
    if not derived.in_rows:
        return _by_parts(derived, prepared)
    rows = rounded_up((0.0 if one.added is None else one.added.widest.high) * one.output.span, 6)
    return (
        f"{derived.name} is certainly between {derived.name}_low and {derived.name}_high, if there are rows at all: it "
        f"follows from released counts within ±{rows} rows, and from sums within ±{rows} times what one row can add."
        f"{_null(derived, prepared)}"
    )


def _by_parts(derived: Derived, prepared: Prepared) -> str:
    """Say what the parts are, and how far off each of them is."""
    parts = [one for one in prepared.outputs if one.output.part_of == derived and one.added is not None]
    said = [f"{words(one.output.formula)} within ±{rounded_up(one.added.widest.high)}" for one in parts if one.added]
    private = {name: one for name, one in prepared.table.private.items() if name in _columns(derived.formula)}
    said += [_clamped(name, one) for name, one in private.items()]
    return (
        f"{derived.name} is certainly between {derived.name}_low and {derived.name}_high: it is computed from released "
        f"parts, {', '.join(said)}, since {NO_DERIVATIVE}. How far off that leaves it depends "
        f"on the values.{_null(derived, prepared)}"
    )


def _null(derived: Derived, prepared: Prepared) -> str:
    if is_null(derived, prepared) == "never":
        return ""
    return f" It is null where the released parts do not show {needs(derived.formula)}."


def _columns(formula: plan.Formula) -> set[str]:
    return {
        node.name for node in walk(formula, stop=plan.Missing) if isinstance(node, plan.TableColumn) and node.private
    }


def _clamped(name: str, one: PrivateColumn) -> str:
    return f"{name} clamped to {number(one.low)} … {number(one.high)}{f' {one.unit}' if one.unit else ''}"


def derived_facts(derived: Derived | CountedQuantile, one: PreparedOutput) -> dict[str, Any]:
    """Give what is stated of what is derived beforehand, as plain JSON types."""
    rows = (0.0 if one.added is None else one.added.widest.high) * one.output.span
    by_parts = {"by_parts": True, "way": "parts", "why": NO_DERIVATIVE}
    made = {"rows": rows} if isinstance(derived, CountedQuantile) or derived.in_rows else by_parts
    return {"name": derived.name, "unit": derived.unit, "exact": False, **made, "low": None, "high": None}


def is_null(derived: Derived, prepared: Prepared) -> Nullness:
    """Say whether what is derived is null in a group that has rows: never, perhaps, or always, from public facts."""
    parts = _Parts(derived, prepared)
    if parts.everywhere:
        return "never"
    if prepared.table.hides_records:  # how many there are has no public end: enough of them show anything
        return "perhaps"
    return "perhaps" if parts.somewhere(1.0) else "always"


def check_not_always_null(prepared: Prepared) -> None:
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


def needs(formula: plan.Formula) -> str:
    """Say what released parts have to show, so that the formula has an interval.

    >>> from errorfloor.sql.plan import Always, Count
    >>> needs(plan.Quotient(Count(Always()), Count(Always())))
    'that it has a value'
    """
    found: dict[str, None] = {}
    for node in walk(formula):
        match node:
            case plan.Quotient(denominator=divisor) if is_private(divisor) or isinstance(
                divisor, (plan.Sum, plan.Covariance)
            ):
                found[f"{words(divisor)} to differ from 0"] = None
            case plan.WeightedMean(weight=weight) if is_private(weight):
                found[f"sum({words(weight)}) to differ from 0"] = None
            case plan.Apply(function="ln", argument=argument):
                found[f"{words(argument)} to be above 0"] = None
            case plan.Covariance(sample=True):
                found["that there are two rows"] = None
    return " and ".join(found) or "that it has a value"


class _Parts:
    """The parts of what is derived, by kind of group: what public facts let them be, and how far off they are."""

    def __init__(self, derived: Derived, prepared: Prepared) -> None:
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

    def _has_ends(self, parts: dict[plan.Formula, Enclosure]) -> Array:
        found = enclosed(self.derived, parts, self.domains)
        there = np.isfinite(found.low) & np.isfinite(found.high) & (found.low <= found.high)
        return np.broadcast_to(there, (int(self.live.sum()),))

    def _places(self) -> Iterator[dict[plan.Formula, float]]:
        names, shares = list(self._off), (1.0, 0.5, 0.0)
        if len(names) > MOST_PLACES:
            yield from (dict.fromkeys(names, share) for share in shares)
        else:
            yield from (dict(zip(names, chosen, strict=True)) for chosen in product(shares, repeat=len(names)))

    def _at(self, places: dict[plan.Formula, float], factor: float) -> dict[plan.Formula, Enclosure]:
        found = dict(self._ranges)
        for name, share in places.items():
            whole, off = self._ranges[name], factor * self._off[name]
            at = whole.low + share * (whole.high - whole.low)
            found[name] = Enclosure.of(np.maximum(at - off, whole.low), np.minimum(at + off, whole.high))
        return found
