"""What some rows of a column hold: their number, the sum of their tags, and tags by which a row is known again."""

from dataclasses import dataclass, field

import numpy as np

from errorfloor.checks import Array

MODULUS = 1 << 128
MOST = 1 << 20  # words that are kept of a column: eight megabytes


@dataclass(frozen=True)
class Holding:
    """What rows hold, in parts that can be added up in any order.

    ``sum`` is that of all tags, modulo 2¹²⁸. ``words`` are the first words of the tags of rows that have a value, as
    far as they are less than 2⁶⁴⁻ʰ with h = ``halvings``: of few rows all of them; of more than ``MOST`` a part, chosen
    by the tags themselves and so the same part of the same rows.

    Guarantee: two tables of at most ``MOST`` values that share a row share a word; larger ones that share s rows do
    not with probability at most (1 − 2⁻ʰ)ˢ, h the greater of theirs. See content.proof.md.

    >>> tags = np.array([[5, 0], [2**63, 1], [7, 0]], dtype="<u8")
    >>> one = Holding.of(tags, np.array([True, True, False]))
    >>> one.rows, one.sum == (1 << 64) + 12 + 2**63, one.words.tolist()
    (3, True, [5, 9223372036854775808])
    >>> (one + one).thinned(1).words.tolist()
    [5, 5]
    """

    rows: int = 0
    sum: int = 0
    words: Array = field(default_factory=lambda: np.zeros(0, dtype="<u8"), repr=False)
    halvings: int = 0

    @classmethod
    def of(cls, tags: Array, has_value: Array) -> "Holding":
        """Take the tags of some rows."""
        return cls(len(tags), total(tags), np.ascontiguousarray(tags[has_value, 0]))

    def __add__(self, other: "Holding") -> "Holding":
        """Add the rows of both, and keep no more words than ``MOST``."""
        halvings = max(self.halvings, other.halvings)
        words = np.concatenate([self.thinned(halvings).words, other.thinned(halvings).words])
        both = Holding(self.rows + other.rows, (self.sum + other.sum) % MODULUS, words, halvings)
        while both.words.size > MOST:
            both = both.thinned(both.halvings + 1)
        return both

    def thinned(self, halvings: int) -> "Holding":
        """Keep the words that are small enough."""
        if halvings <= self.halvings:
            return self
        words = self.words[self.words >> np.uint64(64 - halvings) == 0]
        return Holding(self.rows, self.sum, words, halvings)


def total(tags: Array) -> int:
    """Add up tags as numbers of 128 bits, modulo 2¹²⁸.

    >>> total(np.array([[2**64 - 1, 2**64 - 1], [2, 0]], dtype="<u8"))
    1
    """
    quarters = np.ascontiguousarray(tags, dtype="<u8").view("<u4").reshape(-1, 4).sum(axis=0, dtype=np.uint64)
    return sum(int(quarter) << (32 * place) for place, quarter in enumerate(quarters)) % MODULUS
