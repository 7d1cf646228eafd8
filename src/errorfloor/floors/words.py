"""The floor and the promise in words a regulator can read; floors are rounded down, probabilities up."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

import numpy as np

from errorfloor.checks import positive
from errorfloor.floors.worst_case import minimax

if TYPE_CHECKING:
    from errorfloor.floors.bounds import Floor
from dataclasses import dataclass


def rounded_down(value: float, digits: int = 3) -> str:
    """Write a number with few digits, never above it.

    >>> rounded_down(0.20699), rounded_down(1999.9), rounded_down(0.9999999999999), rounded_down(0.3)
    ('0.206', '1990', '0.999', '0.3')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    nearest = float(f"{value:.{digits}g}")
    if nearest <= value:
        return f"{nearest:.12g}"
    exact = Decimal(value)
    return f"{float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_FLOOR)):.12g}"


def rounded_up(value: float, digits: int = 3) -> str:
    """Write a number with few digits, never below it.

    >>> rounded_up(0.20699), rounded_up(1999.9), rounded_up(-0.9999999), rounded_up(0.3)
    ('0.207', '2000', '-0.999', '0.3')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    mirrored = rounded_down(-value, digits)
    return mirrored[1:] if mirrored.startswith("-") else f"-{mirrored}"


def times_in_hundred(probability: float) -> str:
    """Write a probability as times in 100, never below it.

    >>> times_in_hundred(0.50801), times_in_hundred(1.0), times_in_hundred(0.5)
    ('50.9', '100', '50')
    """
    return f"{float((Decimal(probability) * 100).quantize(Decimal('0.1'), ROUND_CEILING)):.4g}"


def explain(floor: "Floor", *, unit: str, distance: float | None, stored: float | None = None) -> str:
    """Put the sentences together."""
    suffix = f" {unit}" if unit else ""
    sentences = [_headline(floor, suffix, distance, stored)]
    if floor.why_infinite:
        sentences.append(f"The answers carry infinite information: {floor.why_infinite}. No floor can be promised.")
        return " ".join(sentences)
    if floor.low is not None:
        sentences.append(_worst_case(floor, suffix))
    if not floor.rough.any():
        sentences.append(
            f"An unbiased estimator of a continuous entry, even one that knows every other entry, has a "
            f"root-mean-square error of at least {rounded_down(float(floor.worst_entry))}{suffix}; biased ones are not "
            f"bound by this number."
        )
    if floor.linear:
        rank = floor.identifiable.shape[1]
        if rank < floor.entries:
            sentences.append(
                f"The answers depend on {rank} of {floor.entries} directions of the data: no unbiased estimator of all "
                f"entries exists."
            )
    return " ".join(sentences)


def _headline(floor: "Floor", suffix: str, distance: float | None, stored: float | None) -> str:
    if distance is not None:
        h = positive("distance", distance)
    elif floor.low is not None and floor.high is not None:
        steps = 0.0 if floor.spacing is None else float(floor.spacing.max())
        h = max(float((floor.high - floor.low).max()) / 10, steps)
    else:
        h = float(floor.worst_entry) if 0 < floor.worst_entry < math.inf else 1.0
    h = float(f"{h:.3g}")  # the distance that is stated is the one that is meant
    probability = float(floor.distinguish(h if stored is None else max(h, positive("stored", stored))))
    return (
        f"Two values of an entry {h:.3g}{suffix} apart: whatever the test, and whatever is known about the other "
        f"entries, the answers name the right one at most {times_in_hundred(probability)} times in 100 at even odds."
    )


def _worst_case(floor: "Floor", suffix: str) -> str:
    weakest = int(np.argmin(floor.any_estimator))
    low, high = float(np.asarray(floor.low)[weakest]), float(np.asarray(floor.high)[weakest])
    step = None if floor.spacing is None else float(floor.spacing[weakest]) or None
    ignorance = math.sqrt(minimax(0.0, high - low, 0.0, step))
    return (
        f"Any estimator of an entry, biased or not, has a root-mean-square error of at least "
        f"{rounded_down(float(floor.any_estimator[weakest]))}{suffix} in the worst case over {low:g} … {high:g}"
        f"{suffix} (values lie there or are clamped; {rounded_down(ignorance)}{suffix} would mean that the answers "
        f"tell nothing). It is not the error against somebody who can already guess well."
    )


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
