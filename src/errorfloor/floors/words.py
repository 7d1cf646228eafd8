"""The floor in words a regulator can read; floors are rounded down, probabilities up."""

import math
from typing import TYPE_CHECKING

import numpy as np

from errorfloor.checks import positive

if TYPE_CHECKING:
    from errorfloor.floors.bounds import Floor


def rounded_down(value: float, digits: int = 3) -> str:
    """Write a number with few digits, never above it.

    >>> rounded_down(0.20699), rounded_down(1999.9)
    ('0.206', '1990')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(value))
    return f"{math.floor(value * 10.0**places * (1 + 1e-12)) / 10.0**places:.12g}"


def times_in_hundred(probability: float) -> str:
    """Write a probability as times in 100, never below it.

    >>> times_in_hundred(0.50801), times_in_hundred(1.0)
    ('50.9', '100')
    """
    tenths = min(math.ceil(probability * 1000 - 1e-9), 1000)
    return f"{tenths / 10:.4g}"


def explain(floor: "Floor", *, unit: str, distance: float | None) -> str:
    """Put the sentences together."""
    suffix = f" {unit}" if unit else ""
    sentences = [_headline(floor, suffix, distance)]
    if floor.why_infinite:
        sentences.append(f"The answers carry infinite information: {floor.why_infinite}. No floor can be promised.")
        return " ".join(sentences)
    if floor.low is not None:
        sentences.append(_worst_case(floor, suffix))
    if floor.spacing is None:
        sentences.append(
            f"An unbiased estimator of a continuous entry, even one that knows every other entry, has a "
            f"root-mean-square error of at least {rounded_down(float(floor.worst_entry))}{suffix}; biased ones are not "
            f"bound by this number."
        )
    rank = floor.identifiable.shape[1]
    if rank < floor.entries:
        sentences.append(
            f"The answers depend on {rank} of {floor.entries} directions of the data: no unbiased estimator of all "
            f"entries exists."
        )
    return " ".join(sentences)


def _headline(floor: "Floor", suffix: str, distance: float | None) -> str:
    if distance is not None:
        h = positive("distance", distance)
    elif floor.low is not None and floor.high is not None:
        h = float((floor.high - floor.low).max()) / 10
    else:
        h = float(floor.worst_entry) if 0 < floor.worst_entry < math.inf else 1.0
    probability = float(floor.distinguish(h))
    return (
        f"Two values of an entry {h:.3g}{suffix} apart: whatever the test, and whatever is known of the other entries, "
        f"the answers name the right one at most {times_in_hundred(probability)} times in 100 at even odds."
    )


def _worst_case(floor: "Floor", suffix: str) -> str:
    weakest = int(np.argmin(floor.any_estimator))
    low, high = float(np.asarray(floor.low)[weakest]), float(np.asarray(floor.high)[weakest])
    ignorance = (high - low) / math.sqrt(12)
    return (
        f"Any estimator of an entry, biased or not, has a root-mean-square error of at least "
        f"{rounded_down(float(floor.any_estimator[weakest]))}{suffix} in the worst case over {low:g} … {high:g}"
        f"{suffix} (values outside are clamped; {rounded_down(ignorance)}{suffix} would mean that the answers tell "
        f"nothing). "
        f"It is not the error against somebody who can already guess well."
    )
