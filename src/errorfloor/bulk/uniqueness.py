"""Are all row keys different? Checked from their tags, in bounded memory."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from errorfloor.checks import Array

PARTS = 64


class SeenTags:
    """Tags seen so far, kept on disk in parts by their leading bits; ``repeated`` tells whether any came twice.

    Only the first word of a tag is kept: two of N different rows share it with probability below N²/2⁶⁵. Where some are
    shared, ``suspects`` gives them, to be compared in full.

    >>> with SeenTags() as seen:
    ...     seen.add(np.array([[1, 2], [3, 4], [1, 9]], dtype="<u8"))
    ...     seen.suspects().tolist()
    [1]
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix=".errorfloor-tags-", dir=folder)
        self._parts = [open(Path(self._folder.name) / str(i), "wb") for i in range(PARTS)]  # noqa: SIM115, PTH123
        self._edges = (np.arange(1, PARTS, dtype=np.uint64)) << np.uint64(64 - 6)

    def __enter__(self) -> "SeenTags":
        return self

    def __exit__(self, *_: object) -> None:
        for part in self._parts:
            part.close()
        self._folder.cleanup()

    def add(self, tags: Array) -> None:
        """Keep the first words of some tags."""
        words = np.sort(np.asarray(tags, dtype="<u8")[:, 0])
        for part, piece in zip(self._parts, np.split(words, np.searchsorted(words, self._edges)), strict=True):
            part.write(piece.tobytes())

    def suspects(self) -> Array:
        """Give the first words that came more than once."""
        return np.concatenate(list(self._repeated()))

    def _repeated(self) -> Iterator[Array]:
        for part in self._parts:
            part.flush()
            words = np.fromfile(part.name, dtype="<u8")
            words.sort()
            yield np.unique(words[1:][words[1:] == words[:-1]])
