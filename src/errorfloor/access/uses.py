"""When a token was last used: noted once a minute at most, so that it costs a request nothing."""

import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from errorfloor.access.failures import DoorError
from errorfloor.access.store import Store

NOTED = 60.0  # seconds


@dataclass(frozen=True)
class Uses:
    """The last use of each token, exact to a minute.

    >>> uses = Uses(Store(None), clock=lambda: 86400.0)
    >>> uses.note("ab12")
    >>> uses.last()["ab12"].isoformat()
    '1970-01-02T00:00:00+00:00'
    """

    store: Store
    clock: Callable[[], float] = time.time
    _noted: dict[str, float] = field(default_factory=dict)

    def note(self, token: str) -> None:
        """Note that a token is used now; where that cannot be written down the request goes on."""
        now = self.clock()
        if now - self._noted.get(token, -NOTED) < NOTED:
            return
        self._noted[token] = now
        try:
            self.store.change("INSERT OR REPLACE INTO uses VALUES (?, ?)", (token, now))
        except DoorError:
            self._noted.pop(token, None)

    def last(self) -> dict[str, datetime.datetime]:
        """Give the last use of every token that was used."""
        found = self.store.rows("SELECT token, used FROM uses")
        return {token: datetime.datetime.fromtimestamp(used, datetime.UTC) for token, used in found}
