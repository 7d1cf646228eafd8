"""Numbers become whole multiples of a step, clamped; the same ones on every engine.

A source number x is stored as k = clamp(⌊x·d/n + ½⌋, low, high), where the step is the fraction n/d and the arithmetic
is that of doubles, in this order. `fixed_point.proof.md` beside this file shows that the SQL computes it without
overflow, underflow or refusal, whatever x is.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from errorfloor.catalogue.model import MOST_STEPS
from errorfloor.engines.dialects import Dialect
from errorfloor.errors import CatalogueError

OUTSIDE = MOST_STEPS + 1  # stands for a public number that is too large to be kept
NOT_WHOLE = MOST_STEPS + 2  # stands for a public number that is declared whole and is not
MOST_DIGITS = Fraction(10) ** 100


@dataclass(frozen=True)
class StoredGrid:
    """The whole multiples of a step from ``low`` to ``high`` steps.

    *Guarantee*: what the SQL stores for a source number is ``steps`` of it, bit for bit, on every engine that has IEEE
    doubles.

    Raises CatalogueError if the step or the ends are out of the reach of doubles.

    >>> StoredGrid(Fraction(1, 1000), 0, 50_000).steps(1.2345)
    1235
    >>> StoredGrid(Fraction(1, 1000), 0, 50_000).steps(float("inf"))
    50000
    """

    step: Fraction
    low: int
    high: int

    def __post_init__(self) -> None:
        if max(self.step.numerator, self.step.denominator) > MOST_DIGITS:
            raise CatalogueError(
                f"a resolution is a fraction of whole numbers of at most 100 digits, got {float(self.step):.3g}: "
                "change the unit, or round the resolution"
            )

    def steps(self, x: float) -> int:
        """Give what is stored for x; x is not NaN."""
        if x <= self.least:
            return self.low
        if x >= self.greatest:
            return self.high
        return math.floor(x * float(self.step.denominator) / float(self.step.numerator) + 0.5)

    @property
    def least(self) -> float:
        """The double nearest to the lower end: what is not above it is stored as the lower end."""
        return float(self.low * self.step)

    @property
    def greatest(self) -> float:
        """The double nearest to the upper end."""
        return float(self.high * self.step)

    def sql(self, x: str, missing: int | None, dialect: Dialect) -> str:
        """Write ``steps`` for an engine: ``x`` is a column of doubles; NULL and NaN become ``missing``."""
        scaled = x
        if self.step.denominator != 1:
            scaled = f"{scaled} * {dialect.number(float(self.step.denominator))}"
        if self.step.numerator != 1:
            scaled = f"{scaled} / {dialect.number(float(self.step.numerator))}"
        cases = [
            f"WHEN {x} IS NULL OR {dialect.not_a_number(x)} THEN {'NULL' if missing is None else missing}",
            f"WHEN {x} <= {dialect.number(self.least)} THEN {self.low}",
            f"WHEN {x} >= {dialect.number(self.greatest)} THEN {self.high}",
        ]
        if self.step.numerator != 1:  # a quotient too small for a double would be refused by PostgreSQL
            cases.append(f"WHEN abs({x}) < {dialect.number(float(self.step / 4))} THEN 0")
        largest = max(abs(self.low), abs(self.high))
        return dialect.whole(f"CASE {' '.join(cases)} ELSE {dialect.to_whole(scaled)} END", largest)


def public_grid(step: Fraction) -> StoredGrid:
    """Give the grid of a public number; its two ends mean that the number is too large.

    >>> public_grid(Fraction(1)).steps(1e300) == OUTSIDE
    True
    """
    return StoredGrid(step, -OUTSIDE, OUTSIDE)


def whole_sql(x: str, dialect: Dialect) -> str:
    """Write the conversion of a public column of integers; what is too large becomes ``OUTSIDE``."""
    cases = f"WHEN {x} > {MOST_STEPS} THEN {OUTSIDE} WHEN {x} < -{MOST_STEPS} THEN -{OUTSIDE}"
    return dialect.whole(f"CASE {cases} ELSE {x} END", NOT_WHOLE)


def whole_from_double_sql(x: str, dialect: Dialect) -> str:
    """Write the conversion of a public column of doubles that should be whole."""
    nearest = public_grid(Fraction(1)).sql(x, None, dialect)
    broken = f"abs({x}) <= {dialect.number(float(MOST_STEPS))} AND floor({x}) <> {x}"
    return f"CASE WHEN {broken} THEN {NOT_WHOLE} ELSE {nearest} END"
