"""The rows of a question as pricing sees them, how they are stored, and what is known of sums over them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, frexp, log2

import numpy as np

from errorfloor.arithmetic.double_words import LARGEST, ROUNDING, UNDERFLOW
from errorfloor.arithmetic.polynomial import Monomial, Polynomial, order_of
from errorfloor.checks import Array
from errorfloor.pricing.facts import EVERY_ROW, Facts, Request, multiplied
from errorfloor.pricing.interval import (
    UNIT,
    ZERO,
    Enclosure,
    grouped_hull,
    grouped_sum,
    integer_intervals,
    largest_at,
    quiet,
    up,
)
from errorfloor.pricing.rows import MOST_NUMBERS, PricedRows, Ranges, calls_of, form_of
from errorfloor.pricing.words import too_large
from errorfloor.sql.plan import Aggregate, Call, Condition, Covariance, Formula, Sum, WeightedMean
from errorfloor.sql.question import Question, aggregates
from errorfloor.sql.sums import MOST_CALL, Layout, Stored, largest, scaled

MOST_SUM_BITS = 122  # a little less than 10^37
MOST_BITS = 80  # of a function inside another's argument; with a column of 40 bits it still is below 10^37


@dataclass
class Storage:
    """The bits and the largest stored integer of each function; ``fewer`` are the bits that some have to do without.

    >>> Storage.bits_for(1.0), Storage.bits_for(3.0)
    (39, 38)
    """

    fewer: Mapping[Call, int] = field(default_factory=dict)
    bits: dict[Call, int] = field(default_factory=dict)
    largest: dict[Stored, int] = field(default_factory=dict)

    @staticmethod
    def bits_for(reach: float) -> int:
        """Give the largest number of bits for which the value, rounded, stays within 2^40."""
        exponent = frexp(reach)[1] if reach else -MOST_BITS  # reach < 2^exponent
        return min(MOST_CALL.bit_length() - 1 - exponent, MOST_BITS)

    def fill(self, rows: Sequence[PricedRows]) -> None:
        """Decide the bits of every function of the polynomials, inner ones first.

        One function has the same bits wherever it occurs: they follow from the largest of its values on all rows.

        Raises ``RefusedError`` for a function that may exceed 2^40.
        """
        calls = {call: None for one in rows for call in one.calls}
        for depth in range(1, 1 + max(map(_depth, calls), default=0)):
            for call in (call for call in calls if _depth(call) == depth):
                reach = max(one.reach(call) for one in rows if call in one.calls)
                if not reach < MOST_CALL:
                    raise too_large(call, reach, float(MOST_CALL))
                self.bits[call] = self.bits_for(reach) - self.fewer.get(call, 0)
                self.largest[call] = int(np.ceil(reach * 2.0 ** self.bits[call])) + 1

    def layout(self, stored: Layout, rows: int) -> Layout:
        """Add the functions to what is known of the other atoms; ``rows`` bounds the rows of a group."""
        return Layout({**stored.largest, **self.largest}, {**stored.bits, **self.bits}, max(rows, 1))


def crowded(sums: Iterable[Monomial], layout: Layout) -> dict[Call, int]:
    """Say how many bits fewer the functions must have whose products would exceed what engines add up exactly.

    >>> crowded([()], Layout({}, {}, rows=10))
    {}
    """
    fewer: dict[Call, int] = {}
    for monomial in sums:
        sizes = ((layout.largest.get(atom, 1) if isinstance(atom, Stored) else 1, power) for atom, power in monomial)
        size = log2(layout.rows) + sum(power * log2(max(1, most)) for most, power in sizes)
        calls = [(atom, power) for atom, power in monomial if isinstance(atom, Call)]
        excess = size - MOST_SUM_BITS
        if excess > 0 and calls:
            each = ceil(excess / sum(power for _, power in calls))
            for call, _ in calls:
                fewer[call] = max(fewer.get(call, 0), each)
    return fewer


def _depth(call: Call) -> int:
    return 1 + max((_depth(atom) for atom in call.argument.atoms if isinstance(atom, Call)), default=0)


@dataclass(frozen=True, eq=False)
class FormulaBound:
    """What is known of a formula.

    ``value`` encloses, for each group, the exact value and the computed one; ``slopes`` encloses, for each part and by
    private column, the derivative by any one entry of the part (a column that does not occur is left out); ``move``
    bounds, for each part, how far the formula moves when all private entries of one of its rows change; ``error``
    bounds |computed − exact|; ``defined`` is False where public facts make the formula NULL, and there the value is 1.
    ``rise`` are the rows of one polynomial g and, for each part, how far the formula moves at most per |Δg| when one of
    its rows changes; None where there is no such polynomial.
    """

    value: Enclosure
    slopes: Mapping[str, Enclosure]
    move: Array
    error: Array
    defined: Array
    rise: "Rise | None" = None


Rise = tuple[PricedRows, Array]


@dataclass
class Scene:
    """The rows of a question as pricing sees them; ``known`` are bounds of formulas that were found already.

    ``apart`` is by how much numbers of private columns differ at most in two histories of an owner, if by less than the
    range is wide.
    """

    facts: Facts
    ranges: Ranges
    storage: Storage
    most: int = MOST_NUMBERS
    apart: Mapping[str, float] = field(default_factory=dict)
    layout: Layout = field(default_factory=lambda: Layout({}, {}, rows=1))
    walked: dict[tuple[Polynomial, Condition], PricedRows] = field(default_factory=dict)
    known: dict[Formula, FormulaBound] = field(default_factory=dict)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.facts.groups)

    def reach(self, column: str) -> float:
        """Give by how much a number of a private column differs at most in two histories of an owner."""
        low, high = self.ranges[column]
        return min(self.apart.get(column, np.inf), float(Enclosure.exact(high - low).high))

    def rows(self, polynomial: Polynomial, where: Condition) -> PricedRows:
        """Give the walk over the rows of an aggregate, made once."""
        key = polynomial, where
        if key not in self.walked:
            self.walked[key] = PricedRows(polynomial, where, self.facts, self.ranges, self.storage.bits, self.most)
        return self.walked[key]

    def count(self, where: Condition) -> Array:
        """Give the number of rows of each group for which a condition holds, as doubles."""
        counts = np.bincount(self.facts.group, weights=self.facts.count(where), minlength=self.groups)
        return counts.astype(float)

    def at_parts(self, rows: PricedRows, found: Enclosure, where: Condition) -> Enclosure:
        """Spread what holds for a row that counts over all parts; 0 joins in where some rows do not count."""
        low, high = np.zeros(len(self.facts.rows)), np.zeros(len(self.facts.rows))
        low[rows.active], high[rows.active] = found.low, found.high
        some_do_not = self.facts.count(where) < self.facts.rows
        return Enclosure(
            np.where(some_do_not, np.minimum(low, 0.0), low), np.where(some_do_not, np.maximum(high, 0.0), high)
        )

    def moves(self, rows: PricedRows, found: Array) -> Array:
        """Spread how far a row that counts moves something over all parts."""
        moved = np.zeros(len(self.facts.rows))
        moved[rows.active] = found
        return moved

    def over_groups(self, rows: PricedRows, found: Enclosure) -> Enclosure:
        """Give the hull over the active parts of each group."""
        return grouped_hull(found, self.facts.group[rows.active], self.groups)

    def worst_error(self, rows: PricedRows) -> Array:
        """Give the largest error of one row in each group."""
        return largest_at(self.facts.group[rows.active], rows.error(), self.groups)


def where_defined(bound: FormulaBound) -> FormulaBound:
    """Put 1 where a formula is NULL, so that whatever is computed from it there does no harm."""
    if bound.defined.all():
        return bound
    error = np.where(bound.defined, bound.error, 0.0)
    return replace(bound, value=bound.value.where(bound.defined, UNIT), error=error)


def size(polynomial: Polynomial, scene: Scene) -> tuple[float, int]:
    """Give M, rounded up, and the number of terms.

    Every step that adds a term is off by at most ``ROUNDING`` of n·M, and so is the term itself.
    """
    terms = scaled(polynomial, scene.layout)
    total = sum((abs(factor) * largest(monomial, scene.layout) for monomial, factor in terms), Fraction(0))
    return float(Enclosure.exact(total).high), len(terms)


@quiet
def sum_rounding(polynomial: Polynomial, where: Condition, scene: Scene) -> Array:
    """Bound |computed − exact| of Σ polynomial on each group: (terms + 4)·ROUNDING·n·M."""
    most, terms = size(polynomial, scene)
    return _if_small(up(scene.count(where) * most), (terms + 4) * ROUNDING)


@quiet
def covariance_rounding(first: Polynomial, second: Polynomial, scene: Scene) -> Array:
    """Bound the same of Σgh/n − Σg·Σh/n², and of a sample's: every part of it is at most M_gh + M_g·M_h."""
    (one, few), (two, more), (both, most) = (size(polynomial, scene) for polynomial in (first, second, first * second))
    reach = np.full(scene.groups, both + one * two)
    return _if_small(up(reach), 8 * (few + more + most + 32) * ROUNDING)


@quiet
def computed(bound: FormulaBound) -> Enclosure:
    """Enclose what is computed for a formula, beside its exact value."""
    return bound.value.widened(bound.error)


@quiet
def rounded(value: Enclosure, error: Array, steps: int = 1) -> Array:
    """Add what some steps of arithmetic are off by to an error; it is infinite where a number is too large for them."""
    reach = up(value.magnitude + error)
    return up(error + up(_if_small(reach, 2 * steps * ROUNDING)))


def _if_small(reach: Array, share: float) -> Array:
    """Give a share of what numbers may reach, and what underflows of hundreds of steps lose; infinite if too large."""
    return np.where(reach < LARGEST, up(up(reach * share) + UNDERFLOW), np.inf)


def sum_bound(node: Sum, scene: Scene) -> FormulaBound:
    """Enclose a sum; its derivative by an entry is that of the entry's own row, and errors of rows and steps add up."""
    rows = scene.rows(node.of, node.where)
    group = scene.facts.group[rows.active]
    many = scene.facts.count(node.where)[rows.active].astype(float)
    errors = Enclosure(many, many) * ZERO.widened(rows.error())
    slopes = {column.name: scene.at_parts(rows, rows.slope(column.name), node.where) for column in rows.columns}
    return where_defined(
        FormulaBound(
            value=total(node.of, node.where, scene),
            slopes=slopes,
            move=scene.moves(rows, rows.move()),
            error=up(grouped_sum(errors, group, scene.groups).high + sum_rounding(node.of, node.where, scene)),
            defined=scene.count(node.where) > 0,
            rise=(rows, scene.moves(rows, np.ones(rows.active.shape))),
        )
    )


def total(polynomial: Polynomial, where: Condition, scene: Scene) -> Enclosure:
    """Enclose Σ g over each group: exactly if g is public, else by Σ of each part's terms and by n·range(g)."""
    rows = scene.rows(polynomial, where)
    if rows.form.is_public:
        return public_total(polynomial, where, scene)
    active = rows.active
    many = Enclosure.of(*[scene.facts.count(where)[active].astype(float)] * 2)
    by_terms = ZERO.broadcast(active.shape)
    for term in rows.form.terms:
        constant = term.public.value
        if constant is not None:
            by_terms = by_terms + many * Enclosure.exact(constant) * rows.rest(term.rest)
            continue
        fact, rest = scene.facts.fact(term.public, where), rows.rest(term.rest)
        by_terms = by_terms + fact.positive[active] * rest + fact.negative[active] * rest
    return grouped_sum(by_terms.meet(many * rows.value()), scene.facts.group[active], scene.groups)


def public_total(polynomial: Polynomial, where: Condition, scene: Scene) -> Enclosure:
    """Enclose Σ of a public polynomial over each group as tightly as doubles can."""
    totals, denominator = exact_total(polynomial, where, scene)
    return integer_intervals(totals, denominator)


def exact_total(polynomial: Polynomial, where: Condition, scene: Scene) -> tuple[Array, int]:
    """Give Σ of a public polynomial over each group as integers over a denominator."""
    constant = polynomial.value
    if constant is not None:
        counts = scene.facts.by_group(scene.facts.count(where))
        return multiplied(counts, constant.numerator), constant.denominator
    fact = scene.facts.fact(polynomial, where)
    return scene.facts.by_group(fact.above) + scene.facts.by_group(fact.below), fact.denominator


def requested(question: Question) -> tuple[Request, ...]:
    """Give every public polynomial, with its condition, that the walk over the outputs asks about; in one order.

    >>> from errorfloor.sql.plan import Always
    >>> requested(Question("t", "1", (), Always(), (), (), (), (), None))
    ()
    """
    found: dict[tuple[bytes, bytes], Request] = {}
    for output in question.outputs:
        for aggregate in aggregates(output.formula):
            for polynomial, where in _of_aggregate(aggregate):
                found[order_of(polynomial), order_of(where)] = polynomial, where
    return tuple(found[key] for key in sorted(found))


def polynomials(aggregate: Aggregate) -> tuple[Polynomial, ...]:
    """Give the polynomials that are walked over the rows of an aggregate."""
    match aggregate:
        case Sum(of, _):
            return (of,)
        case Covariance(first, second, _, _):
            return (first, second)
        case WeightedMean(value, weight, _):
            return (value, weight)
        case _:
            return ()


def _of_aggregate(aggregate: Aggregate) -> Iterator[Request]:
    yield EVERY_ROW, aggregate.where
    for polynomial in polynomials(aggregate):
        yield from _of_polynomial(polynomial, aggregate.where)
        for call in calls_of(polynomial):
            yield from _of_polynomial(call.argument, aggregate.where)
    if isinstance(aggregate, Covariance):
        first, second = aggregate.first, aggregate.second
        for one, two in ((first, first), (second, second), (first, second)):
            if form_of(one).is_public and form_of(two).is_public:
                yield from _of_polynomial(one * two, aggregate.where)


def _of_polynomial(polynomial: Polynomial, where: Condition) -> Iterator[Request]:
    for term in form_of(polynomial).terms:
        if term.public.value is None:
            yield term.public, where
