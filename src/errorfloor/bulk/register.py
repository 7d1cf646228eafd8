"""The register of releases: what has been released of which rows, so that noise is neither shared nor drawn twice.

It lies beside the key file and holds no data: keyed digests, names, what decides the draws, and a word for each row,
which says nothing to whoever lacks the key.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from errorfloor.bulk.content import Holding, digest
from errorfloor.bulk.request import Request
from errorfloor.bulk.ruled import RuledColumn
from errorfloor.checks import Array
from errorfloor.errors import ErrorFloorError, InputError
from errorfloor.identity import Key, KeyRing, Label, private_file

Entry = dict[str, Any]


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
        private_file.put(self.folder / name, np.sort(words).astype("<u8").tobytes())
        private_file.settle(self.folder.parent)

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


def file_digest(path: Path, table: str | None, ring: KeyRing) -> str:
    """Give a digest of a file's bytes that says nothing to whoever lacks the key."""
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").digest()
    return ring.keys[0].derive(Label("release source", (content, table))).hex()


class Register:
    """The register as one release sees it.

    A source is known by the rows of each column that is released. Another column of a batch may have other rows: no two
    columns share noise.

    Guarantee: rows that were entered get the noise that they had; under another batch a row with the same key and value
    is refused unless ``again`` allows it, always among up to ``MOST`` rows and otherwise as ``Holding`` says.

    Entries of earlier versions know a file by its bytes alone, or a frame by a sum. They stand until their batch is
    released once more, which records its rows; until then no other batch of their columns passes without ``again``.
    """

    def __init__(self, request: Request) -> None:
        self._request, self._ring, self._columns = request, request.keys, request.columns
        self._path = self._ring.path.with_name(f"{self._ring.path.name}.releases")
        self._rows = RecordedRows(self._path.with_name(f"{self._path.name}.rows"))
        self._written: list[Entry] = []

    def secret(self) -> Key:
        """Give the key to draw with: that of the batch, if it was drawn before; refuse what its entries rule out."""
        with self._opened() as (_, entries):
            return self._ring.find(self._key_id(entries))

    @contextmanager
    def pending(self) -> Iterator[None]:
        """Take back what was entered if the release is refused after all; one that is killed stays written."""
        try:
            yield
        except ErrorFloorError:
            with self._opened() as (file, entries):
                for entry in self._written:
                    _append(file, {"withdrawn": entry})
                    entries.remove(entry)
                    if all(old.get("rows") != entry["rows"] for old in entries):
                        self._rows.drop(entry["rows"])
            raise

    def enter(self, held: Mapping[str, Holding], secret: Key, known_as: Collection[str] = ()) -> None:
        """Check what is held against all entries, and write it down durably; nothing has been published yet.

        ``known_as`` are further digests of the same source, by which other entries may know it.

        Raises InputError if the batch names other rows, or if rows were released under another batch and ``again`` does
        not allow that.
        """
        with self._opened() as (file, entries):
            if self._key_id(entries) != secret.id:
                raise InputError(
                    f"batch {self._request.batch} was released with another key in the meantime: try again"
                )
            new = {column.name: self._entry(column, held[column.name], secret, known_as) for column in self._columns}
            for name, entry in new.items():
                self._check(entries, entry, name, held[name])
            for name, entry in new.items():
                if not self._rows.intact(entry["rows"], entry["words"]):
                    self._rows.keep(entry["rows"], held[name].words)
                if entry not in entries:
                    _append(file, entry)
                    self._written.append(entry)

    def _entry(self, column: RuledColumn, held: Holding, secret: Key, known_as: Collection[str]) -> Entry:
        source = digest(column.name, held, self._ring.keys[0])
        return {
            "batch": self._request.batch,
            "source": source,
            "known_as": sorted(known_as),
            "key": list(self._request.key),
            "columns": {column.name: column.fingerprint},
            "rows": hashlib.sha256(
                Label("recorded rows", (self._request.batch, column.name, source)).encoded
            ).hexdigest(),
            "words": int(held.words.size),
            "key_id": secret.id,
        }

    def _key_id(self, entries: list[Entry]) -> str:
        """Refuse another row key or other noise under a batch; give the id of the key that it is drawn with."""
        batch, key = self._request.batch, list(self._request.key)
        same = [old for old in entries if old["batch"] == batch]
        for old in same:
            if old["key"] != key:
                raise InputError(f"batch {batch} was released with the row key {', '.join(old['key'])}: keep it")
            for column in self._columns:
                if old["columns"].get(column.name, column.fingerprint) != column.fingerprint:
                    raise InputError(
                        f"column {column.name} of batch {batch} was released with another noise, step or range: a "
                        f"second draw would reveal more; release it as it was"
                    )
        return str(same[0]["key_id"]) if same else self._ring.current.id

    def _check(self, entries: list[Entry], entry: Entry, name: str, held: Holding) -> None:
        """Refuse rows that would share noise with others, or be drawn a second time."""
        batch, names = self._request.batch, _names(entry)
        earlier = [old for old in entries if name in old["columns"]]
        same = [old for old in earlier if old["batch"] == batch]
        if same and not any(names & _names(old) for old in same):  # these all hold the same rows
            raise InputError(
                f"batch {batch} names other data: its noise would be shared, and differences would be exact; choose a "
                f"new batch name for this table, and release only the changed rows of a corrected table"
            )
        if same or self._request.again or not held.words.size:
            return
        recorded = {old["batch"] for old in earlier if "rows" in old}
        for old in earlier:
            if names & _names(old):
                raise InputError(
                    f"{name} of this table was released as batch {old['batch']}: a second draw would reveal more; "
                    f"allow it "
                    f"with again, and count it as another answer"
                )
            if "rows" in old:
                if self._rows.share(old["rows"], old["words"], held.words):
                    raise InputError(
                        f"rows of this table, with the same key and the same {name}, were released as batch "
                        f"{old['batch']}: a second draw would reveal more; release only the others, or name in the "
                        f"key what "
                        f"sets other readings apart (such as their day), or allow it with again, and count it as "
                        f"another answer"
                    )
            elif old["batch"] not in recorded:
                raise InputError(
                    f"{name} was released as batch {old['batch']} by a version that did not record its rows, so it "
                    f"cannot be told whether they are among these: make that release once more from its own source, "
                    f"which gives the same numbers and records them, or allow a second draw with again"
                )

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, list[Entry]]]:
        """Open the register for one process at a time, and read the entries that stand."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            entries: list[Entry] = []
            for line in file:
                entry = json.loads(line)
                if "withdrawn" in entry:
                    entries.remove(entry["withdrawn"])
                else:
                    entries.append(entry)
            yield file, entries


def _names(entry: Entry) -> set[str]:
    """Give all digests that an entry knows its source by."""
    return {entry["source"], *entry.get("known_as", ())}


def _append(file: Any, entry: Entry) -> None:
    file.write(json.dumps(entry) + "\n")
    file.flush()
    os.fsync(file.fileno())
