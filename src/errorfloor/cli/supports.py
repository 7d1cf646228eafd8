"""Supports written on the command line."""

import json
from pathlib import Path

from errorfloor.errors import InputError, SupportError
from errorfloor.support import Ball, HalfLine, Interval, Polygon, Reals, Support, from_dict, product_of

GRAMMAR = (
    "-0.5..0.5 (an interval), 0.. or ..0 (a half-line), .. (the line), several of these separated by commas (a box, an "
    "orthant, Rᵐ, or a mixture), ball:DIMENSION:RADIUS, polygon:X,Y;X,Y;X,Y (corners in order), or @FILE with a "
    "support as JSON"
)


def parse_support(text: str) -> Support:
    """Read a support.

    >>> parse_support("-0.5..0.5"), parse_support("0..,0.."), parse_support("ball:2:1.5").radius
    (Interval(low=-0.5, high=0.5), Orthant(dimension=2), 1.5)
    >>> parse_support("polygon:0,0;1,0;0,1").volume
    0.5
    >>> parse_support("wide")
    Traceback (most recent call last):
    errorfloor.errors.InputError: cannot read 'wide' as a support; write -0.5..0.5 (an interval), ...
    """
    if text.startswith("@"):
        return _from_file(Path(text[1:]))
    kind, _, rest = text.partition(":")
    try:
        if kind == "ball":
            dimension, radius = rest.split(":")
            return Ball(int(dimension), float(radius))
        if kind == "polygon":
            return Polygon([[float(x) for x in corner.split(",")] for corner in rest.split(";")])
    except SupportError:
        raise
    except ValueError:
        raise _refuse(text) from None
    sides = [_side(part.strip(), text) for part in text.split(",")]
    return product_of(sides)


def parse_range(text: str) -> tuple[float, float]:
    """Read a bounded range such as 0..50.

    >>> parse_range("0..50")
    (0.0, 50.0)
    """
    side = parse_side(text)
    if not isinstance(side, Interval):
        raise InputError(f"a range has two ends, such as 0..50; got {text!r}")
    return side.low, side.high


def parse_side(text: str) -> Interval | HalfLine | Reals | None:
    """Read an interval, a half-line or the line; None if it is none of them.

    >>> parse_side("0.."), parse_side("wide")
    (HalfLine(low=0.0, high=None), None)
    """
    try:
        return _side(text.strip(), text)
    except SupportError:
        raise
    except InputError:
        return None


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


def _from_file(path: Path) -> Support:
    try:
        return from_dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"there is no file {path} to read a support from") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise InputError(f'{path} is not JSON; a support looks like {{"type": "Ball", "dimension": 2, …}}') from None
