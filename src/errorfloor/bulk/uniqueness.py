"""Are all row keys different? Checked from their tags, in bounded memory.

Tags are random numbers to whoever lacks the key, so their leading bits cut them into parts of about equal size. Each
part is looked at alone, by putting its words into a hash table (compiled, where Numba is installed) or by sorting them.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.bulk.request import Request
from errorfloor.bulk.rowkey import RowKey
from errorfloor.checks import Array
from errorfloor.errors import ErrorFloorError

PARTS = 128
LEADING = np.uint64(57)  # shift that leaves the number of a part
ONE_AT_A_TIME = 500_000_000  # rows from which parts are so large that two tables at once would need too much memory


class SeenTags:
    """Tags seen so far, kept on disk; ``suspects`` tells which may have come twice.

    Only the first word of a tag is kept: two of N different rows share it with probability below N²/2⁶⁵. Where some are
    shared, ``suspects`` gives them, to be compared in full. The folder is removed at the end.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, SeenTags(Path(folder) / "tags") as seen:
    ...     seen.add(arrange(np.array([[1, 2], [3, 4], [1, 9]], dtype="<u8")))
    ...     seen.suspects().tolist()
    [1]
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700)
        self._file = (folder / "words").open("wb+")
        self._counts: list[Array] = []

    def __enter__(self) -> "SeenTags":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, arranged: tuple[Array, Array]) -> None:
        """Keep the first words of some tags, as ``arrange`` gives them."""
        words, counts = arranged
        self._file.write(words.data)
        self._counts.append(counts)

    def suspects(self) -> Array:
        """Give the first words that came more than once."""
        self._file.flush()
        counts = np.array(self._counts, dtype=np.int64).reshape(-1, PARTS)
        if not counts.sum():
            return np.zeros(0, dtype="<u8")
        starts = (np.cumsum(counts) - counts.ravel()).reshape(counts.shape)

        def repeated(part: int) -> Array:
            words = np.empty(counts[:, part].sum(), dtype="<u8")
            room, filled = words.data.cast("B"), 0
            for start, count in zip(8 * starts[:, part], 8 * counts[:, part], strict=True):
                filled += os.preadv(self._file.fileno(), [room[filled : filled + count]], start)
            if filled != words.nbytes:
                raise ErrorFloorError("the tags of the rows were not stored completely: is the disk full?")
            return _repeated(words)

        with ThreadPoolExecutor(2 if counts.sum() < ONE_AT_A_TIME else 1) as pool:
            return np.concatenate(list(pool.map(repeated, range(PARTS))))


class TagWatch:
    """Looks at the tags of all rows, in whatever order they come; suspects are read again and compared in full."""

    def __init__(
        self, request: Request, seen: SeenTags, row_key: RowKey, keys: Callable[[], Iterator[pa.RecordBatch]]
    ) -> None:
        self._request, self._seen, self._row_key, self._keys = request, seen, row_key, keys

    def look(self, batch: pa.RecordBatch, tags: Array) -> tuple[Array, Array]:
        """Arrange the tags of a batch."""
        return arrange(tags)

    def take(self, found: tuple[Array, Array]) -> None:
        """Keep them."""
        self._seen.add(found)

    def settle(self) -> None:
        """Refuse a table in which two tags are equal."""
        suspects = self._seen.suspects()
        if not suspects.size:
            return
        parts = [tags[np.isin(tags[:, 0], suspects)] for tags in map(self._row_key.tags, self._keys())]
        full = np.concatenate(parts)
        if len(np.unique(full, axis=0)) < len(full):
            raise self._request.not_unique()


def arrange(tags: Array) -> tuple[Array, Array]:
    """Give the first words of tags in the order of their parts, and how many each part has."""
    kernels = compiled()
    if kernels is None:
        words = np.ascontiguousarray(tags[:, 0], dtype="<u8")
        part = (words >> LEADING).astype(np.uint8)
        return words[np.argsort(part, kind="stable")], np.bincount(part, minlength=PARTS)
    words, counts = np.empty(len(tags), dtype="<u8"), np.zeros(PARTS, dtype=np.int64)
    kernels[0](np.ascontiguousarray(tags, dtype="<u8"), words, counts)
    return words, counts


def _repeated(words: Array) -> Array:
    kernels = compiled()
    if kernels is None:
        words = np.sort(words)
        return np.unique(words[1:][words[1:] == words[:-1]])
    bits = max(4, int(np.ceil(np.log2(max(words.size, 1) * 1.6))))
    found: Array = kernels[1](words, np.zeros(1 << bits, dtype=np.uint64), np.uint64(64 - bits))
    return np.unique(found)


@cache
def compiled() -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """Give ``arrange`` and the hash table compiled by Numba, or None where Numba is not installed."""
    try:
        from numba import njit
    except ModuleNotFoundError:
        return None

    @njit("void(u8[:,::1], u8[::1], i8[::1])", nogil=True, cache=True)
    def scatter(tags, words, counts):  # type: ignore[no-untyped-def]
        for i in range(words.size):
            counts[tags[i, 0] >> LEADING] += 1
        place = np.cumsum(counts) - counts
        for i in range(words.size):
            part = tags[i, 0] >> LEADING
            words[place[part]] = tags[i, 0]
            place[part] += 1

    @njit("u8[:](u8[::1], u8[::1], u8)", nogil=True, cache=True)
    def table(words, places, shift):  # type: ignore[no-untyped-def]
        # zero marks a free place, so the word zero is kept apart
        last = places.size - 1
        found = np.empty(words.size, dtype=np.uint64)
        count, zeros = 0, 0
        for word in words:
            if word == 0:
                zeros += 1
                continue
            place = np.int64((word * np.uint64(0x9E3779B97F4A7C15)) >> shift)
            while places[place] != 0 and places[place] != word:
                place = (place + 1) & last
            if places[place] == word:
                found[count] = word
                count += 1
            else:
                places[place] = word
        if zeros > 1:
            found[count] = 0
            count += 1
        return found[:count]

    return scatter, table
