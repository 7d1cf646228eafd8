"""Numbers as they are written: decimal, exact, of a size that double precision can follow."""

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator

SMALLEST, LARGEST = Fraction(1, 10**30), Fraction(10**30)
WRITTEN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,2})?|[+-]?\d+/0*[1-9]\d*", re.IGNORECASE)


def exact(value: Any) -> Fraction:
    """Read a number as it is written: 0.1 is one tenth.

    >>> exact(0.1), exact("1e-3")
    (Fraction(1, 10), Fraction(1, 1000))
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Fraction)):
        raise ValueError("must be a number")
    if isinstance(value, (float, str)):
        text = str(value).strip()
        if len(text) > 80 or not WRITTEN.fullmatch(text):  # so that "1e999999999" is never expanded
            raise ValueError("must be a finite number")
        value = text
    number = Fraction(value)
    if number and not SMALLEST <= abs(number) <= LARGEST:
        raise ValueError("must be 0 or between 1e-30 and 1e30 in size: use another unit")
    return number


def double(value: Any) -> float:
    """Read a number for which double precision will do; a text is none, since nothing needs to be written so.

    >>> double(2.5)
    2.5
    """
    if isinstance(value, str):
        raise ValueError("must be a number without quotes")
    return float(exact(value))


def written(text: str) -> str | None:
    """Give the number that a text in quotes was perhaps meant to be, as a file writes it; a comma can mean two things.

    >>> written("500"), written("1 000.50"), written("1,000"), written("much")
    ('500', '1000.5', None, None)
    """
    plain = "".join(text.split())
    return f"{float(plain):.12g}" if len(plain) <= 40 and "/" not in plain and WRITTEN.fullmatch(plain) else None


Exact = Annotated[Fraction, BeforeValidator(exact)]
Double = Annotated[float, BeforeValidator(double)]
