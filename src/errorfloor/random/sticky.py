"""Bits of a key stream: that of a key nobody can predict; or of one that follows from a label, the same every time."""

import os

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.random.bits import Bits, Words

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


class StickyBits(Bits):
    """The key stream of a derived key: the same 32 bytes give the same words, from the first on.

    >>> bool((StickyBits(bytes(32)).words(4) == StickyBits(bytes(32)).words(4)).all())
    True
    """

    def __init__(self, derived: bytes) -> None:
        if len(derived) != 32:
            raise InputError(f"sticky bits need a derived key of 32 bytes, got {len(derived)}")
        self._derived = derived
        self._used = 0

    def words(self, count: int) -> Words:
        """Give the next ``count`` words of the label's stream."""
        words = key_stream(self._derived, count, self._used)
        self._used += count + count % 2  # whole blocks only, so that no half of one is given twice
        return words


class _ByLane(Bits):
    """Streams side by side, one for each draw: both words of a pair come from one of them."""

    def pairs(self, count: int) -> Words:
        """Give the next two words of every stream."""
        return np.stack([self.words(count), self.words(count)], axis=1)

    def normals(self, rows: int, count: int) -> Array:
        """Give normal numbers, each from words of its own stream, by Box and Muller's map."""
        pairs = [self._two_normals(count) for _ in range((rows + 1) // 2)]
        return np.stack([part for pair in pairs for part in pair][:rows])


class RowBits(_ByLane):
    """One sticky stream for each row of a table: row i's words follow from the derived key and the row's tag alone.

    Word k of a row is half of AES(tag ⊕ ⌊k/2⌋): rows may be cut into batches, reordered or spread over machines, and
    each keeps its own noise.

    >>> tags = np.array([[1, 2], [3, 4]], dtype="<u8")
    >>> together = RowBits(bytes(32), tags).words(2)
    >>> bool((RowBits(bytes(32), tags[1:]).words(1) == together[1:]).all())
    True
    """

    def __init__(self, derived: bytes, tags: Array) -> None:
        self._cipher = BlockCipher(derived)
        self._tags = np.ascontiguousarray(tags, dtype="<u8").reshape(-1, 2)
        self._drawn: int | Array = 0  # words used so far: by all rows alike, or by each once they have parted ways
        self._block = self._tags  # the block that the latest words came from

    def words(self, count: int) -> Words:
        """Give the next word of every row; ``count`` must be the number of rows."""
        if count != len(self._tags):
            raise InputError(f"row bits give one word per row: asked for {count} of {len(self._tags)} rows")
        if not isinstance(self._drawn, int):
            return self._next(np.arange(count))
        half = self._drawn % 2
        if half == 0:
            blocks = self._tags
            if self._drawn:
                blocks = blocks.copy()
                blocks[:, 1] ^= np.uint64(self._drawn // 2)
            self._block = self._cipher.encrypt(blocks)
        self._drawn += 1
        return self._block[:, half].astype(np.uint64)

    def pairs(self, count: int) -> Words:
        """Give the next two words of every row."""
        if isinstance(self._drawn, int) and self._drawn == 0 and count == len(self._tags):
            self._drawn = 2
            return self._cipher.encrypt(self._tags)
        return super().pairs(count)

    def lanes(self, chosen: Array) -> Bits:
        """Give the streams of some rows, which go on where they are."""
        return _Lanes(self, chosen)

    def _next(self, rows: Array) -> Words:
        if isinstance(self._drawn, int):
            self._drawn = np.full(len(self._tags), self._drawn, dtype=np.uint64)
            self._block = self._block.copy()
        drawn = self._drawn[rows]
        half = (drawn & np.uint64(1)).astype(np.intp)
        starting = rows[half == 0]
        if starting.size:
            blocks = self._tags[starting]
            blocks[:, 1] ^= self._drawn[starting] >> np.uint64(1)
            self._block[starting] = self._cipher.encrypt(blocks)
        self._drawn[rows] = drawn + np.uint64(1)
        return np.asarray(self._block[rows, half], dtype=np.uint64)


class _Lanes(_ByLane):
    """Some rows of a ``RowBits``."""

    def __init__(self, whole: RowBits, rows: Array) -> None:
        self._whole = whole
        self._rows = rows

    def words(self, count: int) -> Words:
        if count != len(self._rows):
            raise InputError(f"row bits give one word per row: asked for {count} of {len(self._rows)} rows")
        return self._whole._next(self._rows)

    def lanes(self, rows: Array) -> Bits:
        return _Lanes(self._whole, self._rows[rows])
