"""What is noted of a request while it is served: for the audit log and the metrics, and never anything private."""

import datetime
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

KEY = "errorfloor.visit"


@dataclass
class Visit:
    """Who came, and what became of it; ``facts`` are labels and charges, which follow from public facts.

    ``written`` is the status that is written down, where the one that is sent depends on something private; ``left`` is
    the time on the grid that is written down, by a steady clock and by the calendar, where a measured one might be.
    What is in ``ended`` is called when the request is over, also if its reply never began.
    """

    id: str
    who: str | None = None
    role: str | None = None
    code: str = "done"
    written: int | None = None
    left: tuple[float, datetime.datetime] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    ended: list[Callable[[], None]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def came(self, name: str, role: str) -> None:
        """Note who it is."""
        self.who, self.role = name, role

    @classmethod
    def fresh(cls) -> "Visit":
        """Give one with a name of its own."""
        return cls(secrets.token_hex(8))


@dataclass(frozen=True)
class Visitor:
    """Somebody at one of the doors: the visit, where it comes from, and what ends when they go away."""

    visit: Visit
    address: str | None
    gone: Callable[[], Awaitable[object]]


def visit_of(scope: MutableMapping[str, Any]) -> Visit:
    """Give the visit that a request belongs to."""
    visit = scope.setdefault(KEY, Visit("-"))
    assert isinstance(visit, Visit)
    return visit
