"""Keys that the tests draw follow from the test's name, so that a run tries what the run before it tried.

Noise follows from a house's key. With a key from the operating system a test would meet other noise in every run, and
one that fails once in a hundred runs would stop somebody who changed nothing. ``make soak`` chooses another seed each
time and prints it; ``ERRORFLOOR_SEED=… pytest …`` repeats what it found. Programs that a test starts, and processes
that it forks, draw from the operating system as always.
"""

import os
import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from errorfloor.random import sticky

SEED = os.environ.get("ERRORFLOOR_SEED", "0")
REAL = secrets.token_bytes


class Chance:
    """What draws keys, identities and fresh noise in this process, under a seed that can be set."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._bits = random.Random(SEED)

    def begin(self, name: str) -> None:
        """Draw from here on what follows from the name."""
        self._bits = random.Random(f"{SEED} {name}")

    @contextmanager
    def aside(self, name: str) -> Iterator[None]:
        """Draw what follows from the name for a while, then go on where it was."""
        before = self._bits
        self.begin(name)
        try:
            yield
        finally:
            self._bits = before

    def urandom(self, count: int | None = None) -> bytes:
        """Give bytes, as ``os.urandom`` and ``secrets.token_bytes`` do."""
        return self._bits.randbytes(count or 32) if os.getpid() == self._process else REAL(count)


chance = Chance()


def install() -> None:
    """Let this process draw from ``chance``; the other functions of ``secrets`` that give bytes follow."""
    secrets.token_bytes = chance.urandom
    sticky.os = chance  # type: ignore[attr-defined, assignment]
