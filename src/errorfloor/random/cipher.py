"""AES-256, the one keyed function behind all secure and sticky bits."""

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from errorfloor.checks import Array
from errorfloor.random.bits import Words

BLOCK = 16  # bytes


def key_stream(key: bytes, count: int, start: int = 0) -> Words:
    """Give ``count`` words of the counter-mode key stream, from word ``start`` on (an even number).

    >>> bool((key_stream(bytes(32), 6)[2:] == key_stream(bytes(32), 4, start=2)).all())
    True
    """
    counter = (start // 2).to_bytes(BLOCK, "big")
    out = np.zeros(count + 2, dtype="<u8")  # room for the block that update_into insists on
    stream = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    view = out.data.cast("B")
    stream.update_into(view[: 8 * count], view)
    return out[:count].astype(np.uint64, copy=False)


class BlockCipher:
    """AES-256 applied to many blocks at once.

    >>> BlockCipher(bytes(32)).encrypt(np.zeros((1, 2), dtype="<u8")).shape
    (1, 2)
    """

    def __init__(self, key: bytes) -> None:
        # each block is a message of its own, so the electronic code book is what is wanted here
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())

    def encrypt(self, blocks: Array) -> Array:
        """Give the encryption of each row of an (n, 2) array of little-endian words."""
        plain = np.ascontiguousarray(blocks, dtype="<u8")
        if not len(plain):
            return plain
        out = np.empty((len(plain) + 1, 2), dtype="<u8")
        self._cipher.encryptor().update_into(plain.data.cast("B"), out.data.cast("B"))
        return out[:-1]
