"""Rows: a tag for each row of a table, from its key, a whole column at a time.

Each key column becomes words: an integer, date or moment one word, a text two words that are its keyed digest. A row's
tag is the CBC-MAC of its words under AES-256. The words of a row are decodable from the left and their number is fixed
by the columns, so no message is the beginning of another, and the tags of different rows are independent to whoever
lacks the key.
"""

import hashlib
import hmac
from collections.abc import Sequence

import numpy as np

from errorfloor.checks import Array
from errorfloor.random.sticky import BlockCipher

MASKS = np.array([2 ** (8 * there) - 1 for there in range(9)], dtype="<u8")  # of a word's first bytes


def row_tags(derived: bytes, columns: Sequence[Array]) -> Array:
    """Give an (n, 2) array of tags from arrays of words, each of shape (n,) or (n, 2).

    >>> tags = row_tags(bytes(32), [np.arange(3, dtype="<u8"), np.zeros(3, dtype="<u8")])
    >>> tags.shape, len(np.unique(tags[:, 0]))
    ((3, 2), 3)
    """
    width = sum(1 if column.ndim == 1 else column.shape[1] for column in columns)
    words = np.zeros((len(columns[0]), width + width % 2), dtype="<u8")
    place = 0
    for column in columns:
        size = 1 if column.ndim == 1 else column.shape[1]
        words[:, place : place + size] = column.reshape(-1, size)
        place += size
    cipher = BlockCipher(derived)
    state = cipher.encrypt(words[:, :2])
    for start in range(2, words.shape[1], 2):
        state = cipher.encrypt(state ^ words[:, start : start + 2])
    return state


def text_words(derived: bytes, content: Array, offsets: Array) -> Array:
    """Give two words for each text, a keyed digest; text i is ``content[offsets[i] : offsets[i + 1]]``, as bytes.

    The digest is the CBC-MAC of the text's length and its bytes, padded with zeros; the length comes first, so that no
    message is the beginning of another.

    >>> content, offsets = np.frombuffer(b"abca", dtype=np.uint8), np.array([0, 1, 3, 4])
    >>> words = text_words(bytes(32), content, offsets)
    >>> bool((words[0] == words[2]).all()), bool((words[0] == words[1]).all())
    (True, False)
    """
    cipher = BlockCipher(hmac.new(derived, b"text", hashlib.sha256).digest())
    starts, lengths = np.asarray(offsets[:-1], dtype=np.int64), np.diff(offsets).astype(np.int64)
    blocks = (lengths + 8 + 15) // 16  # the length takes the first eight bytes
    state = np.zeros((len(lengths), 2), dtype="<u8")
    left, padded = np.flatnonzero(blocks > 0), np.concatenate([content, np.zeros(8, dtype=np.uint8)])
    for block in range(int(blocks.max(initial=0))):
        left = left[blocks[left] > block]
        message = _window(padded, starts[left], lengths[left], 16 * block - 8)
        if block == 0:
            message[:, 0] = lengths[left]
        state[left] = cipher.encrypt(state[left] ^ message)
    return state


def _window(padded: Array, starts: Array, lengths: Array, offset: int) -> Array:
    """Give sixteen bytes of each text from ``offset`` on, zeros where it has none, as two words.

    ``padded`` are all texts, and eight bytes more.
    """
    everywhere = np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))  # the word at each byte
    message = np.zeros((len(starts), 2), dtype="<u8")
    for half, place in enumerate((offset, offset + 8)):
        if place >= 0:
            there = np.clip(lengths - place, 0, 8)
            message[:, half] = everywhere[np.minimum(starts + place, len(padded) - 8)] & MASKS[there]
    return message
