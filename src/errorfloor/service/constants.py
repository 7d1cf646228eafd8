"""Outputs that no private value moves: their numbers follow from public facts, and no private column is read."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from errorfloor.pricing import OutputBounds
from errorfloor.pricing.interval import up
from errorfloor.service.noises import Added


@dataclass(frozen=True)
class Constant:
    """The number of every group, None where it is NULL, and a bound on |number − truth|.

    >>> Constant((0.33, None), 0.0034).is_empty, Constant((None,), 0.0).is_empty
    (False, True)
    """

    numbers: tuple[float | None, ...]
    error: float

    @property
    def is_empty(self) -> bool:
        """Whether it is NULL everywhere: there are no rows to compute it from."""
        return all(number is None for number in self.numbers)


def empty(bounds: OutputBounds) -> Constant:
    """Give the constant that is NULL everywhere."""
    return Constant((None,) * len(bounds.defined), 0.0)


def constant_of(bounds: OutputBounds, added: Added) -> Constant | None:
    """Give the numbers of an output, if all private values together move no cell of it by a grain; else None.

    Each is the lattice point nearest to the middle of what the output can be; the least one that is not below it, if
    answers must never be too small.

    *Guarantee*: the truth, whatever the private values are, is within ``error`` of the number, and not above it where
    ``added`` is one-sided. All is public.
    """
    if not (up(bounds.high - bounds.low)[bounds.defined] < added.grain).all():
        return None
    numbers: list[float | None] = []
    error = Fraction(0)
    for low, high, defined in zip(bounds.low.tolist(), bounds.high.tolist(), bounds.defined.tolist(), strict=True):
        number = _number(Fraction(low), Fraction(high), added) if defined else None
        numbers.append(number)
        if number is not None:
            error = max(error, abs(Fraction(number) - Fraction(low)), abs(Fraction(number) - Fraction(high)))
    return Constant(tuple(numbers), float(up(float(error))) if error else 0.0)


def _number(low: Fraction, high: Fraction, added: Added) -> float:
    step = Fraction(added.lattice.step)
    if math.isfinite(added.high):
        return float(math.floor((low + high) / 2 / step + Fraction(1, 2)) * step)
    number = float(math.ceil(high / step) * step)
    return number if Fraction(number) >= high else float(np.nextafter(number, math.inf))
