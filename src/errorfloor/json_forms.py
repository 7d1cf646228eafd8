"""Forms in JSON of what JSON has no form for; nothing heavy is loaded for them."""

import datetime
from decimal import Decimal


def json_form(value: object) -> object:
    """Give what JSON has no form for as something that it has: dates and moments as ISO texts, decimals as numbers.

    >>> json_form(Decimal("7")), json_form(Decimal("0.5")), json_form(datetime.date(2024, 1, 31))
    (7, 0.5, '2024-01-31')
    """
    if isinstance(value, (datetime.date, datetime.datetime, datetime.time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
