"""Averages, ratios, variances and what else follows from parts that are released: their numbers and certain intervals.

Arithmetic on what anybody may know, so it costs nothing beyond the parts. *Guarantee* (``derived.proof.md``): if it has
a value for the rows that count, that lies between the two ends.

Where a divisor may be 0 as far as released parts show, nothing bounds the quotient. Released intervals lie in what
public facts allow: what has an interval at the whole ranges of its parts is *never* null. What has none wherever parts
are tried, at both ends of what they can be and in the middle, is *always* null: it is refused before it is charged.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from errorfloor.arithmetic import arrow
from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.catalogue import PrivateColumn
from errorfloor.checks import Array
from errorfloor.engines.allotment import allotment
from errorfloor.errors import RefusedError
from errorfloor.floors.words import rounded_down, rounded_up
from errorfloor.pricing.functions import FUNCTIONS
from errorfloor.pricing.interval import Enclosure, quiet
from errorfloor.pricing.words import number, words
from errorfloor.sql import plan
from errorfloor.sql.question import CountedQuantile, Derived, combined, is_private, walk
from errorfloor.sql.record_ranges import Domains, value_range
from errorfloor.sql.records import with_presence

if TYPE_CHECKING:
    from errorfloor.preparing.preparation import Prepared, PreparedOutput

NOT_NEGATIVE = Enclosure.of(0.0, np.inf)
NEAR = 1e-4  # of a part: where slopes are taken
NO_DERIVATIVE = "its own derivative has no bound"
Nullness = Literal["never", "perhaps", "always"]
MOST_PLACES = 4  # noisy parts that are tried in all combinations; more are moved together
FINEST = 40  # halvings of a bound until one is given up on


@dataclass(frozen=True, eq=False)
class Bounded:
    """A number for each group, and where the truth certainly is."""

    number: Array
    around: Enclosure

    def __add__(self, other: "Bounded") -> "Bounded":
        return Bounded(self.number + other.number, self.around + other.around)

    def __mul__(self, other: "Bounded") -> "Bounded":
        return Bounded(self.number * other.number, self.around * other.around)

    def __truediv__(self, other: "Bounded") -> "Bounded":
        return Bounded(self.number / other.number, self.around / other.around)

    def __pow__(self, exponent: int) -> "Bounded":
        return Bounded(self.number**exponent, self.around**exponent)


def derived_from(parts: Mapping[plan.Formula, Bounded], derived: Derived, domains: Domains) -> Bounded:
    """Give what is derived from its parts."""
    return _Walk(parts, domains).of(derived.formula)


@quiet
def enclosed(derived: Derived, parts: Mapping[plan.Formula, Enclosure], domains: Domains) -> Enclosure:
    """Enclose what is derived, for all values of its parts in intervals; endless where nothing bounds it."""
    known = {part: Bounded((ends.low + ends.high) / 2, ends) for part, ends in parts.items()}
    return derived_from(known, derived, domains).around


@quiet
def scales(
    derived: Derived, parts: Mapping[plan.Formula, tuple[float, bool]], domains: Domains
) -> dict[plan.Formula, float]:
    """Say by how much what is derived is farther off than each of its parts, all of them together.

    That is where every part is as far from 0 as it can be, a number that is given with whether the part is private. It
    follows from public facts, and is rounded up to three digits, by which bounds are divided.
    """

    def at(values: Mapping[plan.Formula, float]) -> float:
        known = {part: Bounded(np.array(value), Enclosure.of(value, value)) for part, value in values.items()}
        return float(derived_from(known, derived, domains).number)

    values = {part: value for part, (value, _) in parts.items()}
    noisy = [part for part, (_, is_noisy) in parts.items() if is_noisy]
    found = {}
    for part in noisy:
        by = abs(values[part]) * NEAR
        rise = at({**values, part: values[part] + by}) - at({**values, part: values[part] - by})
        scale = len(noisy) * abs(rise / (2 * by)) if by else 0.0  # a part that is 0 everywhere has no noise
        found[part] = float(rounded_up(scale)) if 0 < scale < np.inf else 1.0
    return found


@dataclass(frozen=True)
class _Walk:
    """A walk over a formula, from what was released."""

    parts: Mapping[plan.Formula, Bounded]
    domains: Domains

    def of(self, formula: plan.Formula) -> Bounded:
        if formula in self.parts:
            return self.parts[formula]
        match formula:
            case plan.Constant(value=value):
                return Bounded(np.array(float(value)), Enclosure.exact(value))
            case plan.Count() | plan.Sum():
                return self.parts[with_presence(formula)]
            case plan.Covariance(first=first, second=second, where=where, sample=sample):
                return self._covariance(first, second, where, sample=sample)
            case plan.Quotient(plan.Sum(of, where), plan.Count(counted)) if where == counted:
                return self._mean(of, where)
            case plan.Quotient(plan.Covariance() as one, plan.Apply("sqrt", argument=plan.Times()) as two):
                return _within(self._quotient(one, two), Enclosure.of(-1.0, 1.0))  # a correlation
            case plan.WeightedMean(value=value, weight=weight, where=where):
                return self._quotient(plan.Sum(value * weight, where), plan.Sum(weight, where))
        found: Bounded = combined(formula, self.of, self._applied)
        return found

    def _quotient(self, numerator: plan.Formula, denominator: plan.Formula) -> Bounded:
        return self.of(numerator) / self.of(denominator)

    def _mean(self, of: Polynomial, where: plan.Condition) -> Bounded:
        """A mean lies in the range of what is averaged, if there are rows at all."""
        return _within(self._quotient(plan.Sum(of, where), plan.Count(where)), _range(of, self.domains))

    def _covariance(self, first: Polynomial, second: Polynomial, where: plan.Condition, *, sample: bool) -> Bounded:
        one, two, both = (self._mean(of, where) for of in (first, second, first * second))
        product = one.around**2 if first == second else one.around * two.around
        found = Bounded(both.number - one.number * two.number, both.around - product)
        halves = [(high - low) / 2 for low, high in (value_range(of, self.domains) for of in (first, second))]
        most = Enclosure.exact(halves[0] * halves[1])  # both ends are reached by half of the rows each
        found = _within(found, Enclosure(np.zeros(()) if first == second else -most.high, most.high))
        if not sample:
            return found
        count = self.of(plan.Count(where))
        fewer = Bounded(count.number - 1, count.around - Enclosure.exact(1))
        return Bounded(found.number * count.number / fewer.number, found.around * (count.around / fewer.around))

    def _applied(self, name: str, parameters: tuple[Fraction, ...], inner: Bounded) -> Bounded:
        function = FUNCTIONS[name]
        argument = inner.around.meet(NOT_NEGATIVE) if name == "sqrt" else inner.around
        value = function.value(argument, parameters)
        point = function.value(Enclosure(inner.number, inner.number), parameters)
        return Bounded((point.low + point.high) / 2, value)


def _within(found: Bounded, most: Enclosure) -> Bounded:
    return Bounded(found.number, found.around.meet(most))


def _range(of: Polynomial, domains: Domains) -> Enclosure:
    ends = Enclosure.around(value_range(of, domains))
    return Enclosure(ends.low[0], ends.high[1])


@quiet
def derived_columns(derived: Derived, prepared: "Prepared") -> dict[str, Any]:
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


def released(one: "PreparedOutput", prepared: "Prepared") -> Bounded:
    """Give the released numbers of a part, and where the truth certainly is."""
    numbers = arrow.values_of(arrow.without_nulls(one.kept)).astype(float)
    if one.added is None:
        off = 0.0 if one.constant is None else one.constant.error
        return Bounded(numbers, Enclosure(numbers - off, numbers + off).widened(0.0))
    # numbers follow from the ends, which are therefore cut to no finer ones
    ends = one.added.interval(numbers, prepared.bounds_of(one), prepared.bounds.kind, fine=False)
    return Bounded(numbers, Enclosure(*ends))


def derived_where(derived: Derived, one: "PreparedOutput", prepared: "Prepared") -> str:
    """Say what is certain of what is derived, from one of its sums."""
    if not derived.in_rows:
        return _by_parts(derived, prepared)
    rows = rounded_up((0.0 if one.added is None else one.added.widest.high) * one.output.span, 6)
    return (
        f"{derived.name} is certainly between {derived.name}_low and {derived.name}_high, if there are rows at all: it "
        f"follows from released counts within ±{rows} rows, and from sums within ±{rows} times what one row can add."
        f"{_null(derived, prepared)}"
    )


def _by_parts(derived: Derived, prepared: "Prepared") -> str:
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


def _null(derived: Derived, prepared: "Prepared") -> str:
    if is_null(derived, prepared) == "never":
        return ""
    return f" It is null where the released parts do not show {needs(derived.formula)}."


def _columns(formula: plan.Formula) -> set[str]:
    return {
        node.name for node in walk(formula, stop=plan.Missing) if isinstance(node, plan.TableColumn) and node.private
    }


def _clamped(name: str, one: PrivateColumn) -> str:
    return f"{name} clamped to {number(one.low)} … {number(one.high)}{f' {one.unit}' if one.unit else ''}"


def derived_facts(derived: Derived | CountedQuantile, one: "PreparedOutput") -> dict[str, Any]:
    """Give what is stated of what is derived beforehand, as plain JSON types."""
    rows = (0.0 if one.added is None else one.added.widest.high) * one.output.span
    by_parts = {"by_parts": True, "way": "parts", "why": NO_DERIVATIVE}
    made = {"rows": rows} if isinstance(derived, CountedQuantile) or derived.in_rows else by_parts
    return {"name": derived.name, "unit": derived.unit, "exact": False, **made, "low": None, "high": None}


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
