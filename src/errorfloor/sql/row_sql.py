"""One row in SQL: its integers, its scalars, its conditions. Only physical names and our own constants are written.

The only floating-point step is a function of an exact integer over a known denominator, rounded to a grid:

    m = floor(function(N/D)·2^bits + ½)

Where the result would be far below the grid the argument is held at a place where it still is, so that no engine meets
an underflow (PostgreSQL makes an error of one).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from errorfloor.arithmetic.polynomial import Monomial, Node, Polynomial
from errorfloor.engines.dialects import Dialect
from errorfloor.errors import RefusedError
from errorfloor.sql import plan
from errorfloor.sql.sums import MOST_BITS, Layout, denominator, largest, scaled

if TYPE_CHECKING:
    from errorfloor.vault import Snapshot

MOST_CHARACTERS = 100_000
FAR_BELOW = 60  # bits below the grid at which a result counts as zero
MOST_SCALE = 10**100


@dataclass(frozen=True)
class Row:
    """Writes expressions over one row of the table and the rows joined to it.

    Guarantee: integer expressions are exact; every type holds every intermediate value, by the bounds of the layout.
    """

    names: Sequence[Mapping[str, str]]
    layout: Layout
    dialect: Dialect

    @classmethod
    def of(cls, snapshots: "Sequence[Snapshot]", layout: Layout, dialect: Dialect) -> "Row":
        """Take the physical names from the snapshots: the table's, then the joined ones'."""
        return cls([snapshot.columns for snapshot in snapshots], layout, dialect)

    # -- integers

    def column(self, column: plan.TableColumn) -> str:
        """Name a column as it is stored."""
        return f"t{column.place}.{self.names[column.place][column.name]}"

    def atom(self, atom: Node) -> str:
        """Write the integer of an atom."""
        match atom:
            case plan.TableColumn():
                return self.column(atom)
            case plan.DatePart(part=part, of=of):
                return self.dialect.part(part, self.scalar(of))
            case plan.Indicator(of=of):
                return f"CASE WHEN {self.condition(of)} THEN 1 ELSE 0 END"
            case plan.RoundedDown(of=of):
                sql, bound, divisor = self.polynomial(of)
                return f"({sql})" if divisor == 1 else self.dialect.floor_divide(sql, divisor, bound)
            case plan.Call():
                argument = prepared(atom)
                sql, _, divisor = self.polynomial(argument)
                return _of_length(call_sql(atom, sql, divisor, self.layout.bits[atom], self.dialect))
        raise TypeError(f"{type(atom).__name__} is no atom")

    def product(self, monomial: Monomial) -> str:
        """Write the product of a monomial's integers; where an indicator is 0 nothing else is computed."""
        flags = [atom.of for atom, _ in monomial if isinstance(atom, plan.Indicator)]
        factors = [self.atom(a) for a, power in monomial if not isinstance(a, plan.Indicator) for _ in range(power)]
        if len(factors) > 1:
            bound = largest(monomial, self.layout)
            factors = [self.dialect.whole(factor, bound) for factor in factors]
        sql = " * ".join(factors) or "1"
        return _of_length(f"CASE WHEN {self.condition(plan.all_of(flags))} THEN {sql} ELSE 0 END" if flags else sql)

    def polynomial(self, polynomial: Polynomial, divisor: int | None = None) -> tuple[str, int, int]:
        """Write the polynomial times its denominator, and give a bound on that integer, and the denominator.

        A larger denominator that it divides may be asked for.
        """
        divisor = divisor or denominator(polynomial, self.layout)
        terms = [(monomial, int(factor * divisor)) for monomial, factor in scaled(polynomial, self.layout)]
        bound = sum(abs(factor) * largest(monomial, self.layout) for monomial, factor in terms)
        if len(terms) == 1 and terms[0][1] == 1 and sum(power for _, power in terms[0][0]) == 1:
            return self.atom(terms[0][0][0][0]), bound, divisor
        if polynomial.value is not None:
            return self.dialect.integer(int(polynomial.value * divisor)), bound, divisor
        parts = [self._term(monomial, factor, bound) for monomial, factor in terms]
        return _of_length(f"({' + '.join(parts)})"), bound, divisor

    def _term(self, monomial: Monomial, factor: int, bound: int) -> str:
        factors = [self.dialect.whole(self.atom(atom), bound) for atom, power in monomial for _ in range(power)]
        if factor != 1 or not factors:
            factors.append(self.dialect.integer(factor))
        return " * ".join(factors)

    # -- scalars

    def scalar(self, scalar: plan.Scalar) -> str:
        """Write a scalar; a number as an integer in units of its denominator."""
        match scalar:
            case Polynomial():
                return self.polynomial(scalar)[0]
            case plan.TableColumn():
                return self.column(scalar)
            case plan.Literal(value=value):
                return self.dialect.literal(value)
            case plan.Truncated(unit=unit, of=of):
                return self.dialect.truncated(unit, self.scalar(of), of.type)
            case plan.AsDate(of=of):
                return self.dialect.as_date(self.scalar(of))
            case plan.Choice(branches=branches, otherwise=otherwise):
                cases = " ".join(f"WHEN {self.condition(when)} THEN {self.scalar(then)}" for when, then in branches)
                last = "NULL" if otherwise is None else self.scalar(otherwise)
                return _of_length(f"CASE {cases} ELSE {last} END")

    # -- conditions

    def condition(self, condition: plan.Condition) -> str:
        """Write a condition, three-valued."""
        match condition:
            case plan.Always():
                return "TRUE"
            case plan.And(parts=parts):
                return f"({' AND '.join(map(self.condition, parts))})"
            case plan.Or(parts=parts):
                return f"({' OR '.join(map(self.condition, parts)) or 'FALSE'})"
            case plan.Not(part=part):
                return f"(NOT {self.condition(part)})"
            case plan.Compare(operator=operator, left=left, right=right):
                first, second = self._side_by_side(left, right)
                if operator in ("<", "<=") and not isinstance(left, Polynomial) and left.type == "text":
                    first, second = self.dialect.by_bytes(first), self.dialect.by_bytes(second)
                return _of_length(f"({first} {operator} {second})")
            case plan.Among(value=value, choices=choices):
                first, *others = self._side_by_side(value, *choices)
                return _of_length(f"({first} IN ({', '.join(others)}))")
            case plan.Matches(value=value, pattern=pattern):
                return self.dialect.like(self.scalar(value), pattern)
            case plan.Missing(value=value):
                return f"({self.scalar(value)} IS NULL)"

    def _side_by_side(self, *scalars: plan.Scalar) -> list[str]:
        """Write scalars to be compared; numbers as integers in units of one common denominator."""
        numbers = [scalar for scalar in scalars if isinstance(scalar, Polynomial)]
        if not numbers:
            return [self.scalar(scalar) for scalar in scalars]
        divisor = math.lcm(*(denominator(number, self.layout) for number in numbers))
        return [self.polynomial(number, divisor)[0] for number in numbers]


def _of_length(sql: str) -> str:
    if len(sql) > MOST_CHARACTERS:
        raise RefusedError(
            f"an expression needs {len(sql):,} characters of SQL; at most {MOST_CHARACTERS:,} are run: "
            f"ask for its parts",
            reason="too-long",
        )
    return sql


def prepared(call: plan.Call) -> Polynomial:
    """Give the polynomial that is made a double: the argument, or for ``above`` the place within the step.

    Shifting and stretching before the conversion keeps the place exact to a relative error wherever the threshold is.

    >>> prepared(plan.Call("above", (Fraction(3), Fraction(2)), Polynomial.constant(4))).value
    Fraction(1, 1)
    """
    if call.function != "above":
        return call.argument
    threshold, width = call.parameters
    return (call.argument - threshold) * (1 / width) + Fraction(1, 2)


def call_sql(call: plan.Call, numerator: str, divisor: int, bits: int, dialect: Dialect) -> str:
    """Write the integer of a call whose prepared argument is ``numerator`` / ``divisor``.

    >>> from errorfloor.engines.dialects import DuckDBDialect
    >>> call_sql(plan.Call("sqrt", (), Polynomial.constant(1)), "x0", 1, 0, DuckDBDialect())
    "CAST(floor(sqrt(CAST(x0 AS DOUBLE)) + CAST('0.5' AS DOUBLE)) AS BIGINT)"
    """
    lowest_bits = -MOST_BITS if call.function in ("exp", "power") else -MOST_BITS // 2
    if not lowest_bits <= bits <= MOST_BITS or divisor > MOST_SCALE:
        raise RefusedError(
            f"{call.function} needs units of 2^{-bits}, and its argument a denominator of {divisor.bit_length()} bits; "
            f"the limits are 2^{-MOST_BITS} … 2^{-lowest_bits} and 1e100: rescale the argument",
            reason="too-large",
        )
    argument = dialect.double(numerator)
    if divisor > 1:
        argument = f"({argument} / {dialect.number(float(divisor))})"
    name = "smoothstep" if call.function == "above" else call.function
    parameters = [] if call.function == "above" else [_double(parameter) for parameter in call.parameters]
    lowest, highest = _limits(name, parameters, bits)
    if highest is not None:
        argument = f"least({argument}, {dialect.number(highest)})"
    if lowest is not None:
        argument = f"greatest({argument}, {dialect.number(lowest)})"
    value = dialect.function(name, parameters, argument)
    return dialect.to_whole(value if bits == 0 else f"{value} * {dialect.number(2.0**bits)}")


def _limits(name: str, parameters: list[float], bits: int) -> tuple[float | None, float | None]:
    """Give between what the argument is held: outside, the result is below 2^-60 of the grid, or constant."""
    depth = bits + FAR_BELOW
    match name, parameters:
        case "exp", []:
            return -depth * math.log(2), None
        case "smoothstep", []:
            return 2.0 ** -((max(depth, 0) + 2) / 2), 1.0
        case "power", [exponent]:
            reach = depth / abs(exponent)
            if reach > 1000:
                return None, None
            edge = 2.0 ** max(reach, -1000)
            return (1 / edge, None) if exponent > 0 else (None, edge)
    return None, None


def _double(parameter: Fraction) -> float:
    if parameter and not Fraction(1, MOST_SCALE) <= abs(parameter) <= MOST_SCALE:
        raise RefusedError(
            "a constant inside a function lies outside 1e-100 … 1e100: rescale the argument", reason="constant"
        )
    return float(parameter)
