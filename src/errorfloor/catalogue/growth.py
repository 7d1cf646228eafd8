"""Tables that grow: which public column divides their rows into parts, each of which is registered once and stays."""

import datetime
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field

from errorfloor.accounts import PERIODS
from errorfloor.catalogue.columns import Declaration, PublicColumn

Version = Annotated[str, Field(min_length=1, max_length=100)]

WRITTEN = {
    "day": re.compile(r"(\d{4})-(\d\d)-(\d\d)"),
    "week": re.compile(r"(\d{4})-W(\d\d)"),
    "month": re.compile(r"(\d{4})-(\d\d)"),
    "quarter": re.compile(r"(\d{4})-Q([1-4])"),
    "year": re.compile(r"(\d{4})"),
}


class Growth(Declaration):
    """By what a table grows: each day, week, month, quarter or year of a public date is a part, with its own version.

    Of other public columns, such as the number of a batch, each value is one. A part has the version of its table,
    unless it was ``corrected``: then the one that is declared here for it.

    >>> growth = Growth(column="day", part="month", corrected={"2024-01": "2"})
    >>> growth.version("2024-01", "1"), growth.version("2024-02", "1")
    ('2', '1')
    """

    column: str
    part: Literal["day", "week", "month", "quarter", "year"] | None = None
    corrected: dict[str, Version] = Field(default_factory=dict)

    @property
    def noun(self) -> str:
        """What a part is called in sentences."""
        return self.part or self.column

    def version(self, name: str, table_version: str) -> str:
        """Give the version in which a part is declared."""
        return self.corrected.get(name, table_version)

    def name(self, value: Any) -> str:
        """Name the part of a value that is stored in the column.

        >>> Growth(column="day", part="quarter").name(datetime.date(2024, 5, 31)), Growth(column="batch").name(7)
        ('2024-Q2', '7')
        """
        return str(value) if self.part is None else PERIODS[self.part](value)

    def days(self, name: str) -> tuple[datetime.date, datetime.date]:
        """Give the first and the last day of the part with a name.

        Raises ValueError if there is no such part.

        >>> [day.isoformat() for day in Growth(column="day", part="month").days("2024-02")]
        ['2024-02-01', '2024-02-29']
        """
        assert self.part is not None
        return days_of(self.part, name)

    def mistake_in(self, name: str) -> str | None:
        """Say what is wrong with the name of a part of dates; any value of another column may name one."""
        try:
            if self.part is not None:
                self.days(name)
        except (ValueError, OverflowError):
            example = PERIODS[self.part or "day"](datetime.date(2024, 1, 31))
            return f"names {name!r}, which is not a {self.part}: write it as {example!r}"
        return None


@lru_cache(maxsize=8192)  # every new question compares its condition with all parts
def days_of(part: str, name: str) -> tuple[datetime.date, datetime.date]:
    """Give the first and the last day of a named day, week, month, quarter or year; ValueError for any other name."""
    found = WRITTEN[part].fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} does not name a {part}")
    numbers = [int(text) for text in found.groups()]
    match part:
        case "day":
            first = last = datetime.date(numbers[0], numbers[1], numbers[2])
        case "week":
            first = datetime.date.fromisocalendar(numbers[0], numbers[1], 1)
            last = first + datetime.timedelta(days=6)
        case _:
            months = {"month": 1, "quarter": 3, "year": 12}[part]
            year, place = numbers[0], numbers[1] if len(numbers) > 1 else 1
            first = datetime.date(year, (place - 1) * months + 1, 1)
            after = first.replace(day=1) + datetime.timedelta(days=31 * months)
            last = after.replace(day=1) - datetime.timedelta(days=1)
    return first, last


def mistakes_in_growth(growth: Growth, declared: PublicColumn, *, in_key: bool) -> Iterator[tuple[str, str]]:
    """Give what is wrong with how a table is declared to grow; ``in_key`` says whether its row key has the column.

    >>> [where for where, _ in mistakes_in_growth(Growth(column="day"), PublicColumn(type="date"), in_key=True)]
    ['grows_by']
    """
    type, column = declared.type, growth.column
    if not in_key:
        yield "grows_by", f"needs its column in the row key, so that no row is in two parts: add {column!r} to row_key"
    if type in ("date", "moment"):
        if growth.part is None:
            spans = ", ".join(PERIODS)
            yield "grows_by", f'needs a part, since {column} is a {type}: part = "month", or another of {spans}'
        for name in growth.corrected if growth.part is not None else ():
            if mistake := growth.mistake_in(name):
                yield "grows_by.corrected", mistake
    elif type not in ("text", "whole"):
        yield "grows_by.column", f"names {column!r}, a {type}: parts are those of a date, a text or a whole number"
    elif growth.part is not None:
        yield (
            "grows_by.part",
            f"is for dates, and {column} is declared {type!r}: leave it out, and each value of {column} is a part; "
            f"or name a public date",
        )
