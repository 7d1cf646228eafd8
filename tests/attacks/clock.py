"""Reading a number off the clock: a function that takes longer above a threshold, and a search for that threshold."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, final

import numpy as np

from errorfloor.attacks.attack import Attack, Door, Shadows, outcome
from errorfloor.attacks.secret import Secret

Meter = Callable[[Callable[[], Any]], float]
LOOKS = 2  # at the same answer; the least time is least disturbed
TRUSTED = 1.5  # how many times longer an answer must take at home before the adversary trusts its clock


def seconds(act: Callable[[], Any]) -> float:
    """Give the least time that something takes."""
    found = []
    for _ in range(LOOKS):
        start = time.perf_counter()
        act()
        found.append(time.perf_counter() - start)
    return min(found)


def slow_above(secret: Secret, place: float) -> str:
    """Ask for a number that is next to nothing, but needs hundreds of digits where the victim's exceeds a place."""
    tiny = f"1e-30 * 1e-30 * greatest(sum({secret.column}) - {place!r}, 0)"
    output = f"ln(1 + power(power({tiny}, 12), 2))"
    return f"SELECT {output} AS answer FROM {secret.table} WHERE {secret.condition()}"


@final
class Clock(Attack):
    """Finds the victim's number by halving: each answer takes long, or does not, as the number exceeds a threshold.

    ``meter`` says how long something takes. One that counts instead of timing has no noise, and may be ``trusted`` with
    any difference.
    """

    name = "clock"
    tries: ClassVar[str] = "halves the range by how long a function of the victim's number takes at a threshold"

    def __init__(self, meter: Meter = seconds, *, trusted: float = TRUSTED) -> None:
        self._meter, self._trusted = meter, trusted
        self._home: dict[Shadows, float | None] = {}

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Say on which side of the middle the number is that the clock shows; nothing if it shows none at home."""
        if shadows not in self._home:
            self._home[shadows] = self.limit(shadows)
        limit = self._home[shadows]
        return 0.0 if limit is None else self.read(door, secret, limit) - (secret.values[0] + secret.values[1]) / 2

    def read(self, door: Door, secret: Secret, limit: float) -> float:
        """Give the victim's number as the clock shows it, to a quarter of the distance between the two values."""
        low, high = map(float, secret.private.range)
        while high - low > secret.distance / 2:
            place = (low + high) / 2
            low, high = (place, high) if self._took(door, secret, place) > limit else (low, place)
        return (low + high) / 2

    def limit(self, shadows: Shadows) -> float | None:
        """Time thresholds above and below numbers that are known; None where that makes no difference."""
        short, long = [], []
        for open_one, coin in zip(shadows, range(2), strict=True):
            door, secret = open_one()
            value, span = secret.values[coin], secret.distance
            short += [self._took(door, secret, value + span * k) for k in (1.1, 2.3)]
            long += [self._took(door, secret, value - span * k) for k in (1.1, 2.3)]
        return (max(short) * min(long)) ** 0.5 if min(long) > self._trusted * max(short) else None

    def _took(self, door: Door, secret: Secret, place: float) -> float:
        return self._meter(partial(outcome, partial(door.ask, slow_above(secret, place), max_error=1.0)))


@final
class Timing(Attack):
    """Times questions here and on two servers at home."""

    name = "timing"
    tries: ClassVar[str] = "compares how long answers take with servers at home that hold either value"
    times: ClassVar[int] = 3

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Say which server at home took more nearly as long; the least of several times is least disturbed."""
        here, first, second = (self._least(*one) for one in ((door, secret), shadows[0](), shadows[1]()))
        return float(abs(np.log(here / first)) - abs(np.log(here / second)))

    def _least(self, door: Door, secret: Secret) -> float:
        sql = secret.question()
        return min(_seconds(partial(door.ask, sql, spend=0.01 + 0.001 * k)) for k in range(self.times))


def _seconds(act: Callable[[], Any]) -> float:
    start = time.perf_counter()
    outcome(act)
    return time.perf_counter() - start
