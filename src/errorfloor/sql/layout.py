"""The integers of a row: how large they can be, so that no type overflows, and polynomials in whole numbers of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from errorfloor.arithmetic.polynomial import Monomial, Node, Polynomial
from errorfloor.sql.plan import Call, DatePart, RoundedDown, TableColumn
from errorfloor.sql.question import Question, walk

if TYPE_CHECKING:
    from errorfloor.vault import Snapshot

# What a call's stored integer m promises (compile.proof.md): m·2^-bits = function(x̃)·(1 + φ) + ρ·2^-bits, where
ARGUMENT_ERROR = 2.0**-50  # |x̃ − x| ≤ this·|x|; none for above, whose FUNCTION_ERROR covers it
FUNCTION_ERROR = 2.0**-49  # |φ| ≤ this, for every function but power
POWER_ERROR = 2.0**-43  # |φ| ≤ this for power, whose exponent is rounded to a double
ROUNDING_ERROR = 0.5 + 2.0**-12  # |ρ| ≤ this, while |function|·2^bits ≤ MOST_CALL
MOST_CALL = 2**40
MOST_BITS = 900

LARGEST_PART = {
    "year": 10**6,
    "quarter": 4,
    "month": 12,
    "week": 53,
    "day": 31,
    "dayofyear": 366,
    "isodow": 7,
    "hour": 23,
    "minute": 59,
}


@dataclass(frozen=True, eq=False)
class Layout:
    """Bounds on stored integers, from declared ranges and public facts.

    ``largest`` bounds the absolute value of the integer stored for each atom; ``bits`` says for each call that its
    integer is the function's value times 2^bits, rounded; ``rows`` bounds the number of rows of a group. Two
    layouts are equal if they are the same object.

    >>> Layout({}, {}, rows=10).rows
    10
    """

    largest: Mapping[TableColumn | DatePart | RoundedDown | Call, int]
    bits: Mapping[Call, int]
    rows: int


def stored_layout(question: Question, snapshots: "Sequence[Snapshot]") -> Layout:
    """Bound every atom of a question that is no call (nor made of one), from declarations and extents alone.

    Guarantee: private columns are bounded by their declared range, public ones by their extent in the snapshot, and
    so on upwards; no private value is looked at.

    >>> from errorfloor.sql.plan import Always
    >>> class Snapshot:
    ...     rows = 12
    >>> stored_layout(Question("t", "1", (), Always(), (), (), (), (), None), [Snapshot()]).rows
    12
    """
    largest: dict[TableColumn | DatePart | RoundedDown | Call, int] = {}
    for atom in _upwards(question):
        match atom:
            case TableColumn(type="number"):
                largest[atom] = _of_column(atom, snapshots[atom.place])
            case DatePart():
                largest[atom] = LARGEST_PART[atom.part]
            case RoundedDown() if not any(isinstance(part, Call) for part in walk(atom.of)):
                largest[atom] = _of_floor(atom, largest)
    return Layout(largest, {}, snapshots[0].rows)


def with_columns(layout: Layout, columns: Sequence[TableColumn], snapshots: "Sequence[Snapshot]") -> Layout:
    """Add bounds on the stored integers of further columns."""
    largest = dict(layout.largest)
    largest |= {column: _of_column(column, snapshots[column.place]) for column in columns if column.type == "number"}
    return Layout(largest, layout.bits, layout.rows)


def completed(
    layout: Layout, question: Question, snapshots: "Sequence[Snapshot]", also: Sequence[TableColumn] = ()
) -> Layout:
    """Add bounds on the stored integers that a layout leaves out, and on further columns."""
    stored = with_columns(stored_layout(question, snapshots), also, snapshots)
    return Layout({**stored.largest, **layout.largest}, layout.bits, layout.rows)


def _of_column(column: TableColumn, snapshot: "Snapshot") -> int:
    if column.name in snapshot.table.private:
        return max(map(abs, snapshot.table.private[column.name].steps))
    return max(map(abs, snapshot.extent.get(column.name, (0, 0))))


def _of_floor(floor: RoundedDown, largest: Mapping[TableColumn | DatePart | RoundedDown | Call, int]) -> int:
    total = Fraction(0)
    for monomial, coefficient in floor.of.terms:
        term = abs(coefficient)
        for atom, power in monomial:
            if isinstance(atom, TableColumn | DatePart | RoundedDown):
                step = atom.step if isinstance(atom, TableColumn) and atom.step is not None else 1
                term *= (largest[atom] * step) ** power
        total += term
    return math.ceil(total)


def _upwards(node: Node) -> Iterator[Node]:
    """Give all nodes of a plan, parts before what they are part of."""
    return reversed(list(walk(node)))


def scale(monomial: Monomial, layout: Layout) -> Fraction:
    """Give what the product of a monomial's stored integers is to be multiplied by.

    >>> column = TableColumn(0, "kwh", "number", private=True, step=Fraction(1, 1000))
    >>> scale(((column, 2),), Layout({column: 50_000}, {}, rows=10))
    Fraction(1, 1000000)
    """
    return math.prod((_scale(atom, layout) ** power for atom, power in monomial), start=Fraction(1))


def denominator(polynomial: Polynomial, layout: Layout) -> int:
    """Give the least D for which D times the polynomial is a whole number on every row, by its form alone.

    >>> denominator(Polynomial.constant(Fraction(3, 4)), Layout({}, {}, rows=10))
    4
    """
    return math.lcm(*(coefficient.denominator for _, coefficient in scaled(polynomial, layout)))


def scaled(polynomial: Polynomial, layout: Layout) -> list[tuple[Monomial, Fraction]]:
    """Give the coefficients that belong to the stored integers.

    >>> scaled(Polynomial.constant(2), Layout({}, {}, rows=10))
    [((), Fraction(2, 1))]
    """
    return [(monomial, coefficient * scale(monomial, layout)) for monomial, coefficient in polynomial.terms]


def largest(monomial: Monomial, layout: Layout) -> int:
    """Bound the absolute value of the product of a monomial's stored integers, and of every part of that product.

    >>> column = TableColumn(0, "kwh", "number", private=True, step=Fraction(1, 1000))
    >>> largest(((column, 2),), Layout({column: 50_000}, {}, rows=10))
    2500000000
    """
    return math.prod(
        max(1, layout.largest[atom]) ** power
        for atom, power in monomial
        if isinstance(atom, TableColumn | DatePart | RoundedDown | Call)
    )


def _scale(atom: Node, layout: Layout) -> Fraction:
    if isinstance(atom, TableColumn):
        assert atom.step is not None, "only numbers are atoms"
        return atom.step
    return Fraction(2) ** -layout.bits[atom] if isinstance(atom, Call) else Fraction(1)
