"""Totals: exact sums of what has been charged; ``total.proof.md`` says why they are kept as fractions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from errorfloor.accounts import Charge
from errorfloor.errors import LedgerError

BOOKED = {"raised_cosine": "A1", "information": "A2", "evaluation": "E"}  # where each part of a charge is booked
COORDINATES = tuple(BOOKED.values())


@dataclass(frozen=True)
class Total:
    """The exact sums of the charges to one account, by coordinate; a coordinate without a charge is left out.

    A1 is information of answers with raised-cosine noise, for accounts that count them apart, A2 of all others, E
    evaluation error.

    Guarantee: a total is the true sum of the doubles that were charged, whatever their number, order and sizes; shown
    as a double it is never less.

    >>> total = Total().plus(Charge(0.1, 0.0)).plus(Charge(0.2, 0.0))
    >>> total.information == Fraction(0.1) + Fraction(0.2), total.rounded_up().information
    (True, 0.30000000000000004)
    >>> Total.of(Charge(0.5, 0.0)).to_json()
    {'A2': '1/2'}
    """

    amounts: Mapping[str, Fraction] = field(default_factory=dict)

    @classmethod
    def of(cls, charge: Charge) -> "Total":
        """Give a charge as a total."""
        booked = {BOOKED[face]: Fraction(amount) for face, amount in charge.amounts().items()}
        return cls({coordinate: amount for coordinate, amount in booked.items() if amount})

    def plus(self, more: "Charge | Total") -> "Total":
        """Add a charge, exactly."""
        amounts = dict(self.amounts)
        for coordinate, amount in (Total.of(more) if isinstance(more, Charge) else more).amounts.items():
            amounts[coordinate] = amounts.get(coordinate, Fraction(0)) + amount
        return Total(amounts)

    @property
    def information(self) -> Fraction:
        """The information that is booked in A2."""
        return self.face("information")

    @property
    def evaluation(self) -> Fraction:
        """The evaluation error."""
        return self.face("evaluation")

    def face(self, name: str) -> Fraction:
        """Give one part of the charge that this total is shown as."""
        return self.amounts.get(BOOKED[name], Fraction(0))

    def rounded_up(self) -> Charge:
        """Give the least doubles that are not below the sums."""
        return Charge(**{face: round_up(self.face(face)) for face in BOOKED})

    def to_json(self) -> dict[str, str]:
        """Give the amounts as texts, which keep every digit."""
        return {coordinate: str(self.amounts[coordinate]) for coordinate in sorted(self.amounts)}

    @classmethod
    def from_json(cls, plain: Mapping[str, str]) -> "Total":
        """Read what ``to_json`` gave.

        Raises ValueError or TypeError if it is not that, LedgerError for a coordinate of a later version.
        """
        for coordinate in plain:
            if coordinate not in COORDINATES:
                raise LedgerError(
                    f"the ledger has a sum {coordinate!r} and this program knows {', '.join(COORDINATES)}: install a "
                    f"newer errorfloor"
                )
        amounts = {coordinate: Fraction(text) for coordinate, text in plain.items() if isinstance(text, str)}
        if len(amounts) != len(plain) or not all(amount > 0 for amount in amounts.values()):
            raise ValueError("an amount is a positive fraction, as a text")
        return cls(amounts)


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
