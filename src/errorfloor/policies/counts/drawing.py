"""Drawing from a table by whole-number thresholds: a uniform 64-bit word chooses the noise, exactly as weighed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.random import bits_from

MOST_COUNT = 2**62


@dataclass(frozen=True, eq=False)
class Thresholds:
    """For each row the noises that occur, and the first of the words that choose each of them."""

    first: NDArray[np.uint64]  # rows × most, padded with the greatest word
    noise: NDArray[np.int64]
    used: NDArray[np.int64]  # how many of a row are not padding


def thresholds(weights: tuple[tuple[int, ...], ...]) -> Thresholds:
    """Cut the words 0 … 2⁶⁴ − 1 of each row into runs as long as its weights.

    >>> cut = thresholds(((0, 2**64, 0), (2**62, 2**63, 2**62)))
    >>> cut.noise.tolist(), cut.first[1].tolist() == [0, 2**62, 2**62 + 2**63]
    ([[0, 0, 0], [-1, 0, 1]], True)
    """
    width = max(sum(1 for weight in row if weight) for row in weights)
    reach = (len(weights[0]) - 1) // 2
    first = np.full((len(weights), width), 2**64 - 1, dtype=np.uint64)
    noise = np.zeros((len(weights), width), dtype=np.int64)
    used = np.zeros(len(weights), dtype=np.int64)
    for i, row in enumerate(weights):
        below = 0
        for m, weight in enumerate(row):
            if weight:
                first[i, used[i]], noise[i, used[i]] = below, m - reach
                used[i] += 1
                below += weight
    return Thresholds(first, noise, used)


def publish(cut: Thresholds, counts: Any, keys: Any) -> NDArray[np.int64]:
    """Give the published counts that uniform words choose."""
    i = as_counts("counts", counts)
    words = as_keys("keys", keys)
    if words.shape != i.shape:
        raise InputError(f"keys must be one for each count: got {words.shape} keys for {i.shape} counts")
    if cut.used[0] > 1:
        empty = words[i == 0]
        if len(np.unique(empty)) < len(empty):
            raise InputError(
                "empty cells share a key, and this table moves zeros: all of them would get the same noise; "
                "give each empty cell a key of its own (cell_words(…, labels=…))"
            )
    return _chosen(cut, i, words)


def sample(cut: Thresholds, counts: Any, rng: Any) -> NDArray[np.int64]:
    """Draw with fresh words."""
    i = as_counts("counts", counts)
    return _chosen(cut, i, bits_from(rng).words(i.size).reshape(i.shape))


def _chosen(cut: Thresholds, i: Array, words: Array) -> NDArray[np.int64]:
    row = np.minimum(i, len(cut.used) - 1)
    place = np.zeros(i.shape, dtype=np.int64)
    for column in range(1, cut.first.shape[1]):
        place += words >= cut.first[row, column]
    place = np.minimum(place, cut.used[row] - 1)  # the greatest word reaches the padding too
    return np.asarray(i + cut.noise[row, place])


def as_counts(name: str, value: Any) -> NDArray[np.int64]:
    """Give whole numbers ≥ 0, or say what they are instead.

    >>> as_counts("counts", [1.0, 2.5])
    Traceback (most recent call last):
    errorfloor.errors.InputError: counts must be whole numbers from 0 on
    """
    given = np.asarray(value)
    if given.dtype == np.bool_ or given.dtype.kind not in "iuf" or not _whole(given):
        raise InputError(f"{name} must be whole numbers from 0 on")
    return given.astype(np.int64)


def as_keys(name: str, value: Any) -> NDArray[np.uint64]:
    """Give 64-bit words; numbers in [0, 1), as other software has them, are taken for their first 53 bits.

    >>> as_keys("keys", [0.5]).tolist() == [2**63]
    True
    """
    given = np.asarray(value)
    if given.dtype.kind == "f":
        if not ((given >= 0) & (given < 1)).all():
            raise InputError(f"{name} must be 64-bit words, or fractions in [0, 1)")
        return (given * 2.0**53).astype(np.uint64) << np.uint64(11)
    if given.dtype.kind == "O" and all(isinstance(key, int) and 0 <= key < 2**64 for key in given.flat):
        return given.astype(np.uint64)
    if given.dtype.kind not in "iu" or (given.dtype.kind == "i" and (given < 0).any()):
        raise InputError(f"{name} must be 64-bit words from 0 to 2⁶⁴ − 1, or fractions in [0, 1)")
    return given.astype(np.uint64)


def _whole(given: Array) -> bool:
    if given.dtype.kind == "f" and not (np.isfinite(given).all() and (given == np.floor(given)).all()):
        return False
    return bool((given >= 0).all() and (given <= MOST_COUNT).all())
