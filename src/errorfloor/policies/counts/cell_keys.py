"""Cell keys: the units in a cell choose its noise, so the same cell has the same noise in every table.

A record key is a uniform word for each unit; a cell's key is the sum of its units' keys modulo 2⁶⁴. Sums of cells that
are put together from one another are related: key(A ∪ B) = key(A) + key(B) for disjoint A and B. ``cell_words`` breaks
that relation with a keyed function, so that noises of different cells are independent, all of them together.
"""

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errorfloor.checks import whole
from errorfloor.errors import InputError
from errorfloor.policies.counts.weights import as_counts, as_keys
from errorfloor.random.sticky import BlockCipher


def record_keys(secret: bytes, identifiers: Any) -> NDArray[np.uint64]:
    """Give each unit a key that follows from its identifier and a secret, for custodians who keep no keys of their own.

    ``secret`` is 32 bytes, best ``Key.derive(Label("record keys", (…)))``; identifiers are whole numbers or texts, and
    a unit must have the same one in every table.

    >>> keys = record_keys(bytes(32), [1001, 1002, 1003])
    >>> bool((record_keys(bytes(32), [1002]) == keys[1:2]).all()), len(set(keys.tolist()))
    (True, 3)
    >>> len(record_keys(bytes(32), ["ada", "alan"]))
    2
    """
    given = np.asarray(identifiers)
    if given.ndim == 1 and given.dtype.kind in "iu":
        blocks = np.zeros((len(given), 2), dtype="<u8")
        blocks[:, 0] = given.astype(np.int64 if given.dtype.kind == "i" else np.uint64).view(np.uint64)
        return BlockCipher(_derived(secret, b"records, whole numbers")).encrypt(blocks)[:, 0].astype(np.uint64)
    if given.ndim == 1 and all(isinstance(one, str) for one in given.tolist()):
        return _digests(_derived(secret, b"records, texts"), given.tolist())
    raise InputError("identifiers must be a list of whole numbers, or of texts")


def cell_keys(records: Any, cells: Any, number: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Count the units of each cell and add up their keys modulo 2⁶⁴; ``cells[n]`` is the cell 0 … number − 1 of unit n.

    >>> counts, keys = cell_keys(np.array([1, 2, 2**64 - 1], dtype=np.uint64), [0, 0, 2], 3)
    >>> counts.tolist(), keys.tolist() == [3, 0, 2**64 - 1]
    ([2, 0, 1], True)
    """
    words, place, size = as_keys("records", records), as_counts("cells", cells), whole("number", number)
    if words.shape != place.shape or words.ndim != 1:
        raise InputError(f"cells must name one cell for each record: got {place.shape} for {words.shape} records")
    if place.size and place.max() >= size:
        raise InputError(f"cells must be numbered 0 … {size - 1}, got {int(place.max())}")
    sums = np.zeros(size, dtype=np.uint64)
    np.add.at(sums, place, words)  # words wrap around, which is the sum modulo 2⁶⁴
    return np.bincount(place, minlength=size).astype(np.int64), sums


def cell_words(secret: bytes, counts: Any, keys: Any, *, labels: Sequence[str] | None = None) -> NDArray[np.uint64]:
    """Turn cell keys into words that are independent of one another, all together, for ``table.publish``.

    Empty cells have no units, so they are known by their ``labels``: a text for each cell, the same in every table.
    They are needed only where a table moves zeros.

    >>> words = cell_words(bytes(32), [2, 1, 3], np.array([5, 6, 11], dtype=np.uint64))
    >>> len(set(words.tolist()))
    3
    """
    i, sums = as_counts("counts", counts), as_keys("keys", keys)
    if i.shape != sums.shape or i.ndim != 1:
        raise InputError(f"keys must be one for each cell: got {sums.shape} for {i.shape} counts")
    blocks = np.zeros((len(i), 2), dtype="<u8")
    blocks[:, 0] = sums
    empty = np.flatnonzero(i == 0)
    if labels is not None:
        if len(labels) != len(i) or not all(isinstance(label, str) for label in labels):
            raise InputError(f"labels must be one text for each of the {len(i)} cells")
        blocks[empty, 0] = _digests(_derived(secret, b"labels"), [labels[int(n)] for n in empty])
    blocks[empty, 1] = 1  # an empty cell is never taken for one whose keys happen to add up to its label
    return BlockCipher(_derived(secret, b"cells")).encrypt(blocks)[:, 0].astype(np.uint64)


def _derived(secret: bytes, purpose: bytes) -> bytes:
    if not isinstance(secret, bytes) or len(secret) != 32:
        raise InputError("secret must be 32 bytes, such as Key.derive gives")
    return hmac.new(secret, b"errorfloor counts: " + purpose, hashlib.sha256).digest()


def _digests(key: bytes, texts: Sequence[str]) -> NDArray[np.uint64]:
    content = b"".join(hashlib.blake2b(text.encode(), digest_size=8, key=key).digest() for text in texts)
    return np.frombuffer(content, dtype="<u8").astype(np.uint64)
