"""Totals: exact sums of what has been charged; ``total.proof.md`` says why they are kept as fractions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby

from errorfloor.accounts import KINDS, PLACES, Charge, Profile
from errorfloor.errors import LedgerError

BOOKED = {"raised_cosine": "A1", "information": "A2", "evaluation": "E"}  # where each part of a charge is booked
COORDINATES = tuple(BOOKED.values())
PROFILED = tuple(BOOKED[kind] for kind in KINDS)  # those that may depend on where in its range an entry is
Places = Mapping[tuple[str, str], tuple[Fraction, ...]]


@dataclass(frozen=True)
class Total:
    """The exact sums of the charges to one account, by coordinate; a coordinate without a charge is left out.

    A1 is information of answers with raised-cosine noise, for accounts that count them apart, A2 of all others, E
    evaluation error. ``amounts`` hold wherever an entry is in its range; ``places`` are what comes on top at each place
    of the range, by coordinate and version of the table.

    Guarantee: a total is the true sum of the doubles that were charged, whatever their number, order and sizes; shown
    as a double it is never less.

    >>> total = Total().plus(Charge(0.1, 0.0)).plus(Charge(0.2, 0.0))
    >>> total.face("information") == Fraction(0.1) + Fraction(0.2), total.rounded_up().information
    (True, 0.30000000000000004)
    >>> Total.of(Charge(0.5, 0.0)).to_json()
    {'A2': '1/2'}
    >>> left, right, none = (0.5,) * 32 + (0.0,) * 32, (0.0,) * 32 + (0.25,) * 32, (0.0,) * 64
    >>> total = Total.of(Charge(0.5, 0.0, 0.0, Profile("1", left, none)))
    >>> total = total.plus(Charge(0.25, 0.0, 0.0, Profile("1", right, none)))
    >>> total.to_json(), total.rounded_up().information
    ({'A2@1': '32*1/2 32*1/4'}, 0.5)
    """

    amounts: Mapping[str, Fraction] = field(default_factory=dict)
    places: Places = field(default_factory=dict)

    @classmethod
    def of(cls, charge: Charge) -> "Total":
        """Give a charge as a total."""
        amounts, places = {}, {}
        for face, amount in charge.amounts().items():
            if charge.version is not None and min(here := charge.places(face)) < amount:
                exact = {number: Fraction(number) for number in set(here)}
                places[BOOKED[face], charge.version] = tuple(exact[number] for number in here)
            elif amount:
                amounts[BOOKED[face]] = Fraction(amount)
        return cls(amounts, places)

    def plus(self, more: "Charge | Total") -> "Total":
        """Add a charge, exactly; its profile place by place to those of the same version."""
        added = Total.of(more) if isinstance(more, Charge) else more
        amounts, places = dict(self.amounts), dict(self.places)
        for coordinate, amount in added.amounts.items():
            amounts[coordinate] = amounts.get(coordinate, Fraction(0)) + amount
        for where, here in added.places.items():
            before = places.get(where)
            places[where] = here if before is None else tuple(map(Fraction.__add__, before, here))
        return Total(amounts, places)

    def __bool__(self) -> bool:
        return bool(self.amounts or self.places)

    def face(self, name: str) -> Fraction:
        """Give one part of the charge that this total is shown as: what is booked where most is, in every version."""
        return self.taken_by(self, name)

    def taken_by(self, part: "Total", name: str) -> Fraction:
        """Give what a part of this total takes of one coordinate, at the places where this total is largest."""
        coordinate, found = BOOKED[name], part.amounts.get(BOOKED[name], Fraction(0))
        for where, here in part.places.items():
            if where[0] == coordinate:
                whole = self.places[where]
                found += here[whole.index(max(whole))]
        return found

    def rounded_up(self, version: str | None = None) -> Charge:
        """Give the least doubles that are not below the sums; with the profile of a version, if it has one."""
        whole = Charge.of({face: round_up(self.face(face)) for face in BOOKED})
        if version is None or not any(where[1] == version for where in self.places):
            return whole
        information, apart = (self._rounded_places(kind, version) for kind in KINDS)
        return Charge.of(whole.amounts(), Profile(version, information, apart))

    def _rounded_places(self, kind: str, version: str) -> tuple[float, ...]:
        here, whole = self.places.get((BOOKED[kind], version), (Fraction(0),) * PLACES), self.face(kind)
        rest = whole - max(here)
        rounded = {amount: round_up(rest + amount) for amount in set(here)}
        return tuple(rounded[amount] for amount in here)

    def to_json(self) -> dict[str, str]:
        """Give the amounts as texts, which keep every digit; those of places under the coordinate and the version."""
        found = {coordinate: str(amount) for coordinate, amount in self.amounts.items()}
        found |= {f"{coordinate}@{version}": _text(here) for (coordinate, version), here in self.places.items()}
        return dict(sorted(found.items()))

    @classmethod
    def from_json(cls, plain: Mapping[str, str]) -> "Total":
        """Read what ``to_json`` gave.

        Raises ValueError or TypeError if it is not that, LedgerError for a coordinate of a later version.
        """
        amounts, places = {}, {}
        for name, text in plain.items():
            coordinate, at, version = name.partition("@")
            if coordinate not in (PROFILED if at else COORDINATES):
                raise LedgerError(
                    f"the ledger has a sum {name!r} and this program knows {', '.join(COORDINATES)}: install a "
                    f"newer errorfloor"
                )
            if not isinstance(text, str):
                raise ValueError("an amount is a text")
            if at:
                places[coordinate, version] = _places(text)
            else:
                amounts[coordinate] = Fraction(text)
        if not all(amount > 0 for amount in (*amounts.values(), *map(max, places.values()))):
            raise ValueError("an amount is a positive fraction, as a text")
        return cls(amounts, places)


def _text(places: tuple[Fraction, ...]) -> str:
    """Write the amounts of all places, equal neighbours once with their number.

    >>> _text((Fraction(0),) * 63 + (Fraction(1, 2),))
    '63*0 1*1/2'
    """
    return " ".join(f"{len(list(equal))}*{amount}" for amount, equal in groupby(places))


def _places(text: str) -> tuple[Fraction, ...]:
    runs = [run.partition("*") for run in text.split(" ")]
    counts = [int(count) for count, _, _ in runs]
    amounts = [Fraction(amount) for _, _, amount in runs]
    if sum(counts) != PLACES or min(counts) < 1 or min(amounts) < 0:
        raise ValueError("the amounts of all places are not negative, and each has its number of places")
    return tuple(amount for count, amount in zip(counts, amounts, strict=True) for _ in range(count))


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
