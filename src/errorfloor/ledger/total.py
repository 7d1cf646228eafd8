"""Totals: exact sums of what has been charged; ``total.proof.md`` says why they are kept as fractions."""

import math
from dataclasses import dataclass
from fractions import Fraction

from errorfloor.pricing.accounts import Charge


@dataclass(frozen=True)
class Total:
    """The exact sums of the charges to one account.

    Guarantee: a total is the true sum of the doubles that were charged, whatever their number, order and sizes; shown
    as a double it is never less.

    >>> total = Total().plus(Charge(0.1, 0.0)).plus(Charge(0.2, 0.0))
    >>> total.information == Fraction(0.1) + Fraction(0.2), total.rounded_up().information
    (True, 0.30000000000000004)
    """

    information: Fraction = Fraction(0)
    evaluation: Fraction = Fraction(0)

    def plus(self, charge: Charge) -> "Total":
        """Add a charge, exactly."""
        return Total(self.information + Fraction(charge.information), self.evaluation + Fraction(charge.evaluation))

    def rounded_up(self) -> Charge:
        """Give the least doubles that are not below the sums."""
        return Charge(round_up(self.information), round_up(self.evaluation))


def round_up(value: Fraction) -> float:
    """Give the least double that is at least ``value``.

    >>> round_up(Fraction(1, 3)) > Fraction(1, 3) > math.nextafter(round_up(Fraction(1, 3)), 0)
    True
    """
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def round_down(value: Fraction) -> float:
    """Give the greatest double that is at most ``value``, which is not negative."""
    nearest = round_up(value)
    return nearest if nearest == value else math.nextafter(nearest, 0.0)
