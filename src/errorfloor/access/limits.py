"""How often somebody may ask, how many questions they may have in progress, and how often they may fail to sign in.

An idempotency key is for one question. Answers need not be stored for them: the same question has the same answer and
is charged once, with or without a key. What a key adds is that a mistake of the client's shows itself.
"""

import hashlib
import ipaddress
import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from errorfloor.access.failures import DoorError
from errorfloor.access.shared import SharedNumbers, SharedSeats
from errorfloor.access.store import Store
from errorfloor.errors import InputError

WINDOW = 900.0  # seconds in which failures are counted
CLAIMED = re.compile(r"ef_([0-9a-f]{12})_")
MOST = 100_000  # keys that are remembered, newest last; a restarted server remembers none
TEXT = re.compile(r"[\x21-\x7e]{1,200}")


class Rates:
    """At most ``burst`` requests at once and ``rate`` a second for long, for each name; a rate of 0 sets no limit.

    A bucket fills steadily, and each request takes one from it. All processes that are given the same folder count
    together.

    >>> import tempfile
    >>> now = [100.0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one, other = (Rates(1.0, 2, Path(folder), clock=lambda: now[0]) for _ in range(2))
    ...     one.take("anna"), other.take("anna"), one.take("otto")
    ...     now[0] += 1.0
    ...     one.take("anna")
    ...     other.take("anna")
    Traceback (most recent call last):
    errorfloor.access.failures.DoorError: more than 1 requests per second: wait 1 s
    """

    def __init__(
        self, rate: float, burst: int, folder: Path | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        # how much was taken, and when that was counted
        self._buckets = SharedNumbers(None if folder is None else folder / "rates")

    def take(self, name: str) -> None:
        """Count a request; raises DoorError (429) with the time to wait if it is one too many."""
        if self._rate <= 0:
            return
        left = 0.0

        def count(taken: float, then: float) -> tuple[float, float]:
            nonlocal left
            now = self._clock()  # the same for all processes of a machine
            taken = max(0.0, taken - self._rate * max(0.0, now - then))
            left = self._burst - taken
            return (taken + 1 if left >= 1 else taken), now

        self._buckets.change(name, count)
        if left < 1:
            raise _too_often("rate", f"more than {self._rate:g} requests per second", (1 - left) / self._rate)

    def close(self) -> None:
        """Close the file."""
        self._buckets.close()


class UnderWay:
    """Counts the questions in progress, so that nobody takes all the threads; each counts until its reply has left.

    All processes that are given the same folder count together.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     under_way = UnderWay(1, Path(folder))
    ...     with under_way.counted("anna"), under_way.counted("otto"):
    ...         under_way.enter("anna")
    Traceback (most recent call last):
    errorfloor.access.failures.DoorError: this token has 1 question in progress, but 1 is allowed: wait for an answer
    """

    def __init__(self, most: int, folder: Path | None = None) -> None:
        self._most, self._seats = most, SharedSeats(folder)

    def enter(self, token: str) -> Callable[[], None]:
        """Count one more, and give what counts it off again, once however often it is called.

        Raises DoorError (429) if that is too many.
        """
        if not self._seats.take(token, self._most):
            raise DoorError(
                429,
                "running",
                f"this token has {self._most} question{'s' if self._most != 1 else ''} in progress, but {self._most} "
                f"{'are' if self._most != 1 else 'is'} allowed: wait for an answer",
                headers={"Retry-After": "1"},
                running_per_token=self._most,
            )
        held = ExitStack()
        held.callback(self._seats.leave, token)
        return held.close

    @contextmanager
    def counted(self, token: str) -> Iterator[None]:
        """Count one in the block."""
        with ExitStack() as held:
            held.callback(self.enter(token))
            yield


@dataclass(frozen=True)
class Attempts:
    """Counts failures to sign in by name, in every process of a server; a limit of 0 counts nothing.

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
                raise _too_often("attempts", "too many failed attempts to sign in", rows[-1][0] + WINDOW - now)

    def fail(self, names: Iterable[str]) -> None:
        """Count a failure."""
        if self.limit <= 0:
            return
        now = self.clock()
        self.store.change("DELETE FROM attempts WHERE at <= ?", (now - WINDOW,))
        for name in names:
            self.store.change("INSERT INTO attempts VALUES (?, ?)", (name, now))

    def check_and_fail(self, names: list[str]) -> None:
        """Count a failure of what is refused in any case; raises DoorError as ``check`` does."""
        self.check(names)
        with suppress(DoorError):
            self.fail(names)


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


def _too_often(code: str, what: str, seconds: float) -> DoorError:
    wait = max(1, math.ceil(seconds))
    return DoorError(429, code, f"{what}: wait {wait} s", headers={"Retry-After": str(wait)}, wait=wait)


class Keys:
    """Remembers which question each key was used for, by token.

    >>> keys = Keys()
    >>> keys.check("token", "k1", b"question"), keys.check("token", "k1", b"question"), keys.check("other", "k1", b"x")
    (None, None, None)
    >>> keys.check("token", "k1", b"another")
    Traceback (most recent call last):
    errorfloor.access.failures.DoorError: this Idempotency-Key was used for another question: use a new one
    """

    def __init__(self) -> None:
        self._used: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, token: str, key: str, content: bytes) -> None:
        """Refuse a key that was used with another content."""
        if not TEXT.fullmatch(key):
            raise InputError("an Idempotency-Key is made of 1 to 200 printable ASCII characters without spaces")
        name = hashlib.sha256(f"{token} {key}".encode()).digest()
        digest = hashlib.sha256(content).digest()
        with self._lock:
            known = self._used.setdefault(name, digest)
            self._used.move_to_end(name)
            if len(self._used) > MOST:
                self._used.popitem(last=False)
        if known != digest:
            raise DoorError(409, "idempotency", "this Idempotency-Key was used for another question: use a new one")
