"""Keys of servers that hold generated rows: they follow from a seed, so that an audit can be repeated."""

import hashlib
from typing import final

from errorfloor.identity import Key


@final
class SeededKeys:
    """Keys in a row that follow from a seed and a word; without a seed each is drawn at random.

    Whoever knows the seed knows the noise. That is harmless where rows were generated, and only such servers get these
    keys; adversaries make no use of it.

    >>> one, two = SeededKeys(7, "differencing"), SeededKeys(7, "differencing")
    >>> first = one.next()
    >>> first == two.next(), first == two.next(), SeededKeys(None, "").next() == SeededKeys(None, "").next()
    (True, False, False)
    """

    def __init__(self, seed: int | None, word: str) -> None:
        self._seed, self._word, self._made = seed, word, 0

    def next(self) -> Key:
        """Give the next key."""
        if self._seed is None:
            return Key.fresh()
        self._made += 1
        secret = hashlib.sha256(f"errorfloor audit {self._seed} {self._word} {self._made}".encode()).digest()
        return Key(id=hashlib.sha256(secret).hexdigest()[:16], created="", secret=secret)
