"""Are all row keys different? Checked from their tags, in bounded memory."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from errorfloor.checks import Array

PARTS = 64


class SeenTags:
    """Tags seen so far, kept on disk in parts by their leading bits; ``repeated`` tells whether any came twice.

    Only the first word of a tag is kept: two of N different rows share it with probability below N²/2⁶⁵. Where some are
    shared, ``suspects`` gives them, to be compared in full.

    The folder is made anew and removed at the end; what a killed process left there is removed first.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, SeenTags(Path(folder) / "tags") as seen:
    ...     seen.add(np.array([[1, 2], [3, 4], [1, 9]], dtype="<u8"))
    ...     seen.suspects().tolist()
    [1]
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        self._parts = [(folder / str(part)).open("wb") for part in range(PARTS)]
        self._edges = (np.arange(1, PARTS, dtype=np.uint64)) << np.uint64(64 - 6)

    def __enter__(self) -> "SeenTags":
        return self

    def __exit__(self, *_: object) -> None:
        for part in self._parts:
            part.close()
        shutil.rmtree(self._folder, ignore_errors=True)

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
