"""Bits that nobody can predict."""

import os

from errorfloor.random.bits import Bits, Words
from errorfloor.random.sticky import key_stream


class SecureBits(Bits):
    """AES-256 in counter mode under a key drawn from the operating system for each request.

    It keeps no state between requests, so forks and threads cannot share a stream and nothing in memory predicts or
    repeats a draw.

    >>> SecureBits().words(3).shape
    (3,)
    """

    def words(self, count: int) -> Words:
        """Give ``count`` words of a fresh key stream."""
        return key_stream(os.urandom(32), count)
