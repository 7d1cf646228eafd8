"""The periods of a public date that a standing question is answered for."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from errorfloor.accounts import PERIODS
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
        try:
            first, last = (int(str(name)[:4]) for name in (since, until))
            day, end = datetime.date(first - 1, 12, 20), datetime.date(last + 1, 1, 12)
        except (ValueError, OverflowError):
            raise _no_period(part, since, until) from None
        if last - first > MOST_PARTS:
            raise _no_period(part, since, until)
        found: dict[str, tuple[datetime.date, datetime.date]] = {}
        while day <= end:
            name = PERIODS[part](day)
            found[name] = (found.get(name, (day, day))[0], day)
            day += datetime.timedelta(days=1)
        names = list(found)
        if since not in found or until not in found:
            raise _no_period(part, since, until)
        chosen = names[names.index(since) : names.index(until) + 1]
        if not 2 <= len(chosen) <= MOST_PARTS:
            raise _no_period(part, since, until)
        return cls(column, part, {name: found[name] for name in chosen})

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


def _no_period(part: str, since: str, until: str) -> InputError:
    example = PERIODS[part](datetime.date(2030, 12, 31))
    return InputError(
        f"since and until name the first and the last {part}, such as {example!r}, with 2 to {MOST_PARTS} of them in "
        f"all; got {since!r} and {until!r}"
    )
