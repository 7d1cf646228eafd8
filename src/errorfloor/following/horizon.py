"""The periods of a public date that a standing question is answered for."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from errorfloor.accounts import PERIODS
from errorfloor.catalogue.growth import days_of
from errorfloor.errors import InputError

MOST_PARTS = 500


@dataclass(frozen=True)
class Horizon:
    """The periods of a public date, from the first to the last, that a standing question is answered for.

    >>> Horizon.of("day", "month", "2024-11", "2025-02").names
    ('2024-11', '2024-12', '2025-01', '2025-02')
    """

    column: str
    part: str
    days: Mapping[str, tuple[datetime.date, datetime.date]]

    @classmethod
    def of(cls, column: str, part: str, since: str, until: str) -> "Horizon":
        """Give the periods between two names; raises InputError if one is none, or there are too many."""
        if part not in PERIODS:
            raise InputError(f"part must be one of {', '.join(PERIODS)}, got {part!r}")
        days = _days(part, str(since), str(until))
        if days is None:
            raise _no_period(part, since, until)
        return cls(column, part, days)

    @classmethod
    def after(cls, column: str, part: str, last: str, until: str) -> "Horizon":
        """Give the periods that come after one, up to a later one.

        >>> Horizon.after("day", "month", "2024-11", "2025-01").names
        ('2024-12', '2025-01')
        """
        try:
            found = list(cls.of(column, part, last, until).days)
            return cls.of(column, part, found[1], until)
        except InputError:
            raise InputError(
                f"until names a later {part} than {last}, and at least the second one after it, got {str(until)[:40]!r}"
            ) from None

    @property
    def first(self) -> datetime.date:
        """The first day of it."""
        return self.days[self.names[0]][0]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the periods, in order."""
        return tuple(self.days)


@lru_cache(maxsize=2048)
def _days(part: str, since: str, until: str) -> Mapping[str, tuple[datetime.date, datetime.date]] | None:
    """Give the first and the last day of each period between two; None if these are none, or there are too many.

    >>> [len(_days("year", "0002", "0500")), _days("year", "0002", "0502"), _days("month", "2024-13", "2025-01")]
    [499, None, None]
    """
    found: dict[str, tuple[datetime.date, datetime.date]] = {}
    name = since
    try:
        _, end = days_of(part, until)
        while name != until and len(found) < MOST_PARTS - 1 and days_of(part, name)[1] < end:
            found[name] = days_of(part, name)
            name = PERIODS[part](found[name][1] + datetime.timedelta(days=1))
    except (ValueError, OverflowError):
        return None
    return MappingProxyType(found | {until: days_of(part, until)}) if found and name == until else None


def _no_period(part: str, since: str, until: str) -> InputError:
    example = PERIODS[part](datetime.date(2030, 12, 31))
    return InputError(
        f"since and until name the first and the last {part}, such as {example!r}, with 2 to {MOST_PARTS} of them in "
        f"all; got {since!r} and {until!r}"
    )
