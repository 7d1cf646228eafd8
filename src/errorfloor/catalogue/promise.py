"""What is promised whatever is asked: the figures at the allowance, which is fixed before the first question."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from errorfloor.catalogue.allowance import allowance, owner_allowance
from errorfloor.catalogue.believed import believed
from errorfloor.catalogue.columns import PrivateColumn
from errorfloor.catalogue.model import Table
from errorfloor.floors.prior import ziv_zakai_under
from errorfloor.floors.two_point import angle, success
from errorfloor.floors.words import rounded_down, times_in_hundred

TIES = Fraction(1, 256)  # of a step: more than doubles can be off by before they are rounded to steps


@dataclass(frozen=True)
class Promise:
    """How well anybody can ever do, whatever is asked, in whatever order, and whenever it stops.

    ``told_apart`` bounds the success of any test of two values as far apart as the example in words, or of two
    histories of an owner; ``floor`` the root-mean-square error of any estimator of an entry, in the worst case over its
    range; ``against_prior`` the same on average under the declared prior.

    Guarantee: all hold at the allowance (A, E), a cap that every transcript keeps; see `allowance.proof.md`, part 5. At
    the amount spent so far the same formulas give figures that hold only for questions that were fixed beforehand.

    >>> Promise(0.7999, 2.0).times, Promise(0.7999, 1.99999).least
    ('80', '1.99')
    """

    told_apart: float
    floor: float | None = None
    against_prior: float | None = None

    @property
    def times(self) -> str:
        """How often two values or histories are told apart at most, in 100, rounded up."""
        return times_in_hundred(self.told_apart)

    @property
    def least(self) -> str:
        """The floor, rounded down."""
        return "" if self.floor is None else rounded_down(self.floor)


def promise(table: Table, column: str) -> Promise:
    """Give what is promised of the entries of a private column of a table or, for "", of its owners.

    Two values of an entry are two histories of its owner, so that the owner's figure bounds the entry's, too.

    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
    >>> owned = {"owner": {"column": "home", "floor": 0.2}, "public": {"id": "whole", "home": "whole"}}
    >>> table = Table(source="-", version="1", row_key=["id"], private={"kwh": kwh}, **owned)
    >>> promise(table, "").times, promise(table, "kwh").times, promise(table, "kwh").least
    ('80', '80', '2')
    """
    told = 1.0 if table.owner is None else float(success(angle(1.0, *owner_allowance(table.owner))))
    if not column:
        return Promise(told)
    found = entry_promise(table.private[column])
    return Promise(min(found.told_apart, told), found.floor, found.against_prior)


def entry_promise(column: PrivateColumn) -> Promise:
    """Give what is promised of an entry by its own allowance.

    >>> found = entry_promise(PrivateColumn(range=(0, 50), resolution=0.001, floor=2.0))
    >>> found.times, found.least
    ('86.6', '2')
    """
    information, evaluation = allowance(column)
    law = believed(column)
    return Promise(
        told_apart=float(success(angle(stored_distance(column), information, evaluation))),
        floor=column.floor,
        against_prior=None if law is None else math.sqrt(ziv_zakai_under(law, information, evaluation)),
    )


def stored_distance(column: PrivateColumn) -> float:
    """Give how far apart two values can be stored that are as far apart as the example in words.

    Values h apart on the two sides of rounding ties are stored up to ⌊h/s⌋ + 1 steps of s apart, though never wider
    than the range; `vault/fixed_point.proof.md`, part 6.

    >>> stored_distance(PrivateColumn(range=(0, 50), resolution="0.01", floor=2.0, distance=0.01))
    0.02
    """
    lowest, highest = column.steps
    return _stored_distance(column.example, column.resolution, highest - lowest)


@lru_cache(maxsize=1024)  # exact arithmetic, the same for every cell of every answer
def _stored_distance(example: float, resolution: Fraction, most: int) -> float:
    exact = min(math.floor(Fraction(example) / resolution + TIES) + 1, most) * resolution
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
