"""How often somebody may fail to sign in: a window of a quarter of an hour, for each address and for each token."""

import ipaddress
import math
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from errorfloor.access.failures import DoorError
from errorfloor.access.store import Store

WINDOW = 900.0  # seconds
CLAIMED = re.compile(r"ef_([0-9a-f]{12})_")


@dataclass(frozen=True)
class Attempts:
    """Counts failures by name, in every process of a server; a limit of 0 counts nothing.

    *Guarantee*: of the attempts under one name at most ``limit`` within a quarter of an hour are looked at and fail;
    processes that look at the same instant may add one each.

    >>> now = [0.0]
    >>> attempts = Attempts(Store(None), 2, clock=lambda: now[0])
    >>> for _ in range(2):
    ...     attempts.check(["from 10.0.0.1"])
    ...     attempts.fail(["from 10.0.0.1"])
    >>> attempts.check(["from 10.0.0.1"])
    Traceback (most recent call last):
    errorfloor.access.failures.DoorError: too many failed attempts to sign in: wait 900 s
    >>> now[0] = 900.0
    >>> attempts.check(["from 10.0.0.1"])
    """

    store: Store
    limit: int
    clock: Callable[[], float] = time.time

    def check(self, names: Iterable[str]) -> None:
        """Raise DoorError (429), with the time to wait, if one of these has failed too often."""
        if self.limit <= 0:
            return
        now = self.clock()
        for name in names:
            rows = self.store.rows(
                "SELECT at FROM attempts WHERE who = ? AND at > ? ORDER BY at DESC LIMIT ?",
                (name, now - WINDOW, self.limit),
            )
            if len(rows) >= self.limit:
                wait = max(1, math.ceil(rows[-1][0] + WINDOW - now))
                raise DoorError(
                    429,
                    "attempts",
                    f"too many failed attempts to sign in: wait {wait} s",
                    headers={"Retry-After": str(wait)},
                    wait=wait,
                )

    def fail(self, names: Iterable[str]) -> None:
        """Count a failure."""
        if self.limit <= 0:
            return
        now = self.clock()
        self.store.change("DELETE FROM attempts WHERE at <= ?", (now - WINDOW,))
        for name in names:
            self.store.change("INSERT INTO attempts VALUES (?, ?)", (name, now))


def attempted(kind: str, address: str | None, text: str) -> list[str]:
    """Name an attempt by where it comes from and by the token that it claims to be, whether there is one or not.

    One household of the newer Internet has 2⁶⁴ addresses, and counts as one.

    >>> attempted("sign-in", "2001:db8::7", "ef_0123456789ab_guess")
    ['sign-in from 2001:db8::/64', 'sign-in as 0123456789ab']
    >>> attempted("bearer", "10.0.0.1", "nonsense")
    ['bearer from 10.0.0.1']
    """
    claimed = CLAIMED.match(text)
    return [f"{kind} from {_place(address)}", *([f"{kind} as {claimed[1]}"] if claimed else [])]


def _place(address: str | None) -> str:
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        return "elsewhere"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
    return str(found)
