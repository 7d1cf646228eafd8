"""The rows that were released, kept beside the register: words that say nothing to whoever lacks the key."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError


@dataclass(frozen=True)
class RecordedRows:
    """A folder with a file of sorted words for each released column of a batch.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = RecordedRows(Path(folder) / "rows")
    ...     rows.keep("one", np.array([7, 3, 5], dtype="<u8"))
    ...     rows.share("one", 3, np.array([2, 5], dtype="<u8")), rows.share("one", 3, np.array([4], dtype="<u8"))
    (True, False)
    """

    folder: Path

    def keep(self, name: str, words: Array) -> None:
        """Write words down durably; nothing of an interrupted attempt stands under the name."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        partial = self.folder / f"{name}.partial"
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(np.sort(words).astype("<u8").tobytes())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.folder / name)
        for place in (self.folder, self.folder.parent):
            self._settle(place)

    def intact(self, name: str, count: int) -> bool:
        """Whether so many words stand under a name."""
        file = self.folder / name
        return file.is_file() and file.stat().st_size == 8 * count

    def drop(self, name: str) -> None:
        """Forget words that nothing was released with."""
        (self.folder / name).unlink(missing_ok=True)

    def share(self, name: str, count: int, words: Array) -> bool:
        """Whether one of ``words`` is among those that were kept; InputError if these are not there as they were."""
        if not self.intact(name, count):
            raise InputError(
                f"{self.folder / name} is missing or was cut, so rows that were released cannot be told from new ones: "
                f"restore the folder {self.folder.name} from the backup of the key file, or make the earlier releases "
                f"once more, which records their rows"
            )
        kept = np.fromfile(self.folder / name, dtype="<u8")
        if not kept.size:
            return False
        found = kept[np.minimum(np.searchsorted(kept, words), kept.size - 1)]
        return bool((found == words).any())

    @staticmethod
    def _settle(folder: Path) -> None:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
