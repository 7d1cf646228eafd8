"""What is noted of a request while it is served: for the audit log and the metrics, and never anything private."""

import datetime
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

KEY = "errorfloor.visit"


@dataclass
class Visit:
    """Who came, and what became of it; ``facts`` are labels and charges, which follow from public facts.

    ``written`` is the status that is written down, where the one that is sent depends on something private; ``left`` is
    the time on the grid that is written down, by a steady clock and by the calendar, where a measured one might be.
    What is in ``ended`` is called when the request is over, also if its reply never began.

    >>> Visit("8f3a").code
    'done'
    """

    id: str
    who: str | None = None
    role: str | None = None
    code: str = "done"
    written: int | None = None
    left: tuple[float, datetime.datetime] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    ended: list[Callable[[], None]] = field(default_factory=list)


def visit_of(scope: MutableMapping[str, Any]) -> Visit:
    """Give the visit that a request belongs to."""
    visit = scope.setdefault(KEY, Visit("-"))
    assert isinstance(visit, Visit)
    return visit
