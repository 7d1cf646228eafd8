"""Bits that nobody can predict."""

import os

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from errorfloor.random.bits import Bits, Words


class SecureBits(Bits):
    """AES-256 in counter mode under a key drawn from the operating system for each request.

    It keeps no state between requests, so forks and threads cannot share a stream and nothing in memory predicts or
    repeats a draw.

    >>> SecureBits().words(3).shape
    (3,)
    """

    def words(self, count: int) -> Words:
        """Give ``count`` words of a fresh key stream."""
        stream = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
        return np.frombuffer(stream.update(bytes(8 * count)), dtype="<u8").astype(np.uint64, copy=False)
