"""What is promised whatever is asked, in numbers and rounded for words."""

from dataclasses import dataclass

from errorfloor.floors.words import rounded_down, times_in_hundred


@dataclass(frozen=True)
class Promise:
    """How well anybody can ever do, whatever is asked, in whatever order, and whenever it stops.

    ``told_apart`` bounds the success of any test of two values as far apart as the example in words, or of two
    histories of an owner; ``floor`` the root-mean-square error of any estimator of an entry, in the worst case over its
    range; ``against_prior`` the same on average under the declared prior; ``epsilon`` is ε at a declared δ.

    Guarantee: all hold at the allowance (A, E), a cap that every transcript keeps; see `catalogue/allowance.proof.md`,
    part 5. At the amount spent so far the same formulas give figures that hold only for questions that were fixed
    beforehand.

    >>> Promise(0.7999, 2.0).times, Promise(0.7999, 1.99999).least
    ('80', '1.99')
    """

    told_apart: float
    floor: float | None = None
    against_prior: float | None = None
    epsilon: float | None = None

    @property
    def times(self) -> str:
        """How often two values or histories are told apart at most, in 100, rounded up."""
        return times_in_hundred(self.told_apart)

    @property
    def least(self) -> str:
        """The floor, rounded down."""
        return "" if self.floor is None else rounded_down(self.floor)
