"""Supports written on the command line."""

import json
from pathlib import Path

import numpy as np

from errorfloor.errors import InputError, SupportError
from errorfloor.support import Ball, Box, HalfLine, Interval, Orthant, Polytope, Reals, Support, from_dict

GRAMMAR = (
    "-0.5..0.5 (an interval), 0.. or ..0 (a half-line), .. (the line), several of these with commas (a box, an "
    "orthant, Rᵐ, or a mixture), ball:DIMENSION:RADIUS, or @FILE with a support as JSON"
)


def parse_support(text: str) -> Support:
    """Read a support.

    >>> parse_support("-0.5..0.5"), parse_support("0..,0.."), parse_support("ball:2:1.5").radius
    (Interval(low=-0.5, high=0.5), Orthant(dimension=2), 1.5)
    >>> parse_support("wide")
    Traceback (most recent call last):
    errorfloor.errors.InputError: cannot read 'wide' as a support; write -0.5..0.5 (an interval), ...
    """
    if text.startswith("@"):
        return _from_file(Path(text[1:]))
    if text.startswith("ball:"):
        return _ball(text)
    sides = [_side(part.strip(), text) for part in text.split(",")]
    return sides[0] if len(sides) == 1 else _product(sides)


def parse_range(text: str) -> tuple[float, float]:
    """Read a bounded range such as 0..50.

    >>> parse_range("0..50")
    (0.0, 50.0)
    """
    side = _side(text, text)
    if not isinstance(side, Interval):
        raise InputError(f"a range has two ends, such as 0..50; got {text!r}")
    return side.low, side.high


def _refuse(text: str) -> InputError:
    return InputError(f"cannot read {text!r} as a support; write {GRAMMAR}")


def _side(part: str, text: str) -> Interval | HalfLine | Reals:
    low, separator, high = part.partition("..")
    try:
        ends = [float(end) if end.strip() else None for end in (low, high)]
    except ValueError:
        raise _refuse(text) from None
    if not separator:
        raise _refuse(text)
    if ends[0] is not None and ends[1] is not None:
        return Interval(ends[0], ends[1])
    return Reals(1) if ends == [None, None] else HalfLine(ends[0], ends[1])


def _product(sides: list[Interval | HalfLine | Reals]) -> Support:
    low, high = (np.concatenate(ends) for ends in zip(*(side.bounding_box for side in sides), strict=True))
    if all(isinstance(side, Interval) for side in sides):
        return Box(low, high)
    if all(isinstance(side, Reals) for side in sides):
        return Reals(len(sides))
    if all(isinstance(side, HalfLine) and side.low == 0 for side in sides):
        return Orthant(len(sides))
    blocks = [side.half_spaces for side in sides]
    rows = [np.insert(np.zeros((A.shape[0], len(sides) - 1)), k, A[:, 0], axis=1) for k, (A, _) in enumerate(blocks)]
    return Polytope(A=np.vstack(rows), b=np.concatenate([b for _, b in blocks]))


def _ball(text: str) -> Support:
    try:
        _, dimension, radius = text.split(":")
        return Ball(int(dimension), float(radius))
    except SupportError:
        raise
    except ValueError:
        raise _refuse(text) from None


def _from_file(path: Path) -> Support:
    try:
        return from_dict(json.loads(path.read_text()))
    except FileNotFoundError:
        raise InputError(f"there is no file {path} to read a support from") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise InputError(f'{path} is not JSON; a support looks like {{"type": "Ball", "dimension": 2, …}}') from None
