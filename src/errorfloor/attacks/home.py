"""Servers at home: what an adversary sets up who knows every entry but one."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Self, final

import numpy as np

from errorfloor.attacks.attack import Door, outcome
from errorfloor.attacks.probes import Probe
from errorfloor.attacks.world import World
from errorfloor.checks import Array
from errorfloor.errors import AllowanceError
from errorfloor.identity import Key

SPENT = AllowanceError.__name__


@final
class Home:
    """Shadows of the attacked server, half with the first value and half with the second, each with a key of its own.

    Nobody keeps an account of them: where one has nothing left to spend it is opened again, with the same key. Even
    shadows have the first value, odd ones the second.
    """

    def __init__(self, world: World, *, pairs: int) -> None:
        self.kinds = np.arange(2 * pairs) % 2
        self._world = world
        self._keys: list[Key] = [world.fresh_key() for _ in self.kinds]
        self._kept: dict[Probe, Array] = {}
        self._doors: dict[int, Door] = {}
        self._stack = ExitStack()

    def all_seen(self, probes: Sequence[Probe]) -> Array:
        """Give what every shadow answers to some questions: a row for each, two features a question."""
        return np.hstack([self.seen(probe) for probe in probes])

    def seen(self, probe: Probe) -> Array:
        """Give what every shadow answers to a question; it is kept, for a shadow answers the same again."""
        if probe not in self._kept:
            self._kept[probe] = np.array([self._seen(shadow, probe) for shadow in range(len(self.kinds))])
        return self._kept[probe]

    def _seen(self, shadow: int, probe: Probe) -> tuple[float, float]:
        sql = probe.asked_of(self._world.secret.table)
        answer = asked(self._doors[shadow], sql, probe.share) if shadow in self._doors else SPENT
        if isinstance(answer, str) and answer.startswith(SPENT):
            server = self._world.server(int(self.kinds[shadow]), key=self._keys[shadow])
            self._doors[shadow] = self._stack.enter_context(server)
            answer = asked(self._doors[shadow], sql, probe.share)
        return features(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def asked(door: Door, sql: str, share: float) -> Any:
    """Ask a question; give the answer, or the error that a user would read."""
    return outcome(partial(door.ask, sql, spend=share))


def features(answer: Any) -> tuple[float, float]:
    """Give the number that came back, and whether none did: a refusal, or NULL."""
    number = None if isinstance(answer, str) else answer.to_arrow()["answer"][0].as_py()
    return (0.0, 1.0) if number is None else (float(number), 0.0)


def all_features(door: Door, table: str, probes: Sequence[Probe]) -> Array:
    """Ask one question after the other; give the features of all in a row."""
    answers = [asked(door, probe.asked_of(table), probe.share) for probe in probes]
    return np.array([feature for answer in answers for feature in features(answer)])
